//! The model on a card. Where there is none, the device kernels run on this processor, compiled by a C++ compiler
//! (`emulated`); where there is one, the same checks run on it too (`card`).

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![expect(clippy::print_stdout, reason = "what was measured, and what was skipped")]

mod ahead;
mod cancel;
mod card;
mod checks;
mod emulated;
mod fallback;
mod published;
mod reading;
#[path = "../../../tests/skipped.rs"]
mod skipped;
mod stepwise;
