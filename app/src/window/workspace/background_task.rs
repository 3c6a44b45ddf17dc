//! Something done once on a thread of its own, such as writing a file, so that the window need not wait for it.

use std::sync::mpsc::{Receiver, sync_channel};

use super::notice::Notice;

/// Work under way. The error is a sentence.
pub(crate) struct BackgroundTask<T>(Receiver<Result<T, String>>);

impl<T: Send + 'static> BackgroundTask<T> {
    /// Starts the work on a thread of this name; `waker` is called when it is done.
    pub(crate) fn start(
        name: &str,
        waker: impl Fn() + Send + 'static,
        work: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) -> Self {
        let (sender, receiver) = sync_channel(1);
        let answer = sender.clone();
        let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            let work = std::panic::AssertUnwindSafe(work);
            let done = std::panic::catch_unwind(work).unwrap_or_else(|_| Err(Notice::Internal.to_string()));
            // Nobody waits any more once the window is closed.
            let _ = answer.send(done);
            waker();
        });
        if let Err(error) = spawned {
            let _ = sender.try_send(Err(crate::output::reason(&error)));
        }
        Self(receiver)
    }

    /// What came of it, once.
    pub(crate) fn done(&self) -> Option<Result<T, String>> {
        self.0.try_recv().ok()
    }

    /// Waits for it.
    #[cfg(test)]
    pub(crate) fn wait(&self) -> Result<T, String> {
        self.0.recv().unwrap_or_else(|_| Err("it is gone".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_inside_is_a_sentence() {
        let (sender, woken) = sync_channel(1);
        let task = BackgroundTask::<()>::start(
            "test",
            move || sender.send(()).unwrap_or_default(),
            || panic!("this panic belongs to the test"),
        );
        assert!(task.wait().is_err_and(|sentence| sentence.starts_with("an internal error")));
        assert_eq!(woken.recv(), Ok(()));
        assert!(task.done().is_none());
    }
}
