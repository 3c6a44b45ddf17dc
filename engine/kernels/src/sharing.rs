//! How many threads a kernel may share its work between, and whether its work is still wanted.

use std::sync::atomic::{AtomicBool, Ordering};

/// Threads that a kernel may use now: those of the pool it runs in.
pub(crate) fn threads() -> usize {
    rayon::current_num_threads()
}

/// Whether a flag was given and is set.
pub(crate) fn is_set(flag: Option<&AtomicBool>) -> bool {
    flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
}
