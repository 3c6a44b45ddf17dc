//! Whether a kernel may share its work between threads, and whether its work is still wanted.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` with kernels that stay on this thread. For callers that already run one small session on each thread: a
/// kernel that waits for shares of its work would otherwise pick up somebody's whole session in the meantime.
pub fn alone<T>(f: impl FnOnce() -> T) -> T {
    /// Puts the flag back, also when `f` panics.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    let _restore = Restore(ALONE.replace(true));
    f()
}

/// Threads that a kernel may use now.
pub(crate) fn threads() -> usize {
    if ALONE.get() { 1 } else { rayon::current_num_threads() }
}

/// Whether a flag was given and is set.
pub(crate) fn is_set(flag: Option<&AtomicBool>) -> bool {
    flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
}
