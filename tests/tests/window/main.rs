//! The window as a person uses it: by the names of its controls, with the real engine and the bundled checkpoint, or with
//! a recorded list of events in the engine's place.

#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod support;

mod memory;
mod path;
#[cfg(target_os = "linux")]
mod real;
mod scene;
mod settings;
// What a test says that cannot run here.
#[cfg(target_os = "linux")]
#[path = "../../skipped.rs"]
mod skipped;
mod snapshots;
