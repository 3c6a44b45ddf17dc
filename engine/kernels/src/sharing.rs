//! Whether a kernel may share its work between threads.

use std::cell::Cell;

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
