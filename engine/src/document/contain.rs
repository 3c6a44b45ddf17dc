//! Runs a parser of hostile files where it can do no harm: on a thread of its own with a deep stack, a time limit, and
//! nobody else's state to leave half changed when it panics.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::error::Fault;

/// Nested forms and page trees recurse in the renderers; only touched pages of the stack cost memory.
const STACK: usize = 64 << 20;

/// The job's result, or why there is none. A job that takes too long is left behind: it cannot be stopped, but nobody
/// waits for it.
pub(super) fn contained<T: Send + 'static>(
    patience: Duration,
    job: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::Builder::new()
        .name("document".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            // Nobody listens any more when the time was up.
            let _ = sender.send(job());
        })
        .map_err(|_| Fault::Broken("the system gave no thread to read it with".to_owned()))?;
    match receiver.recv_timeout(patience) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => {
            Err(Fault::Broken(format!("it takes longer than {} seconds", patience.as_secs())))
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => Err(Fault::Broken("its content makes the reader fail".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_and_endless_work_become_faults() {
        let hour = Duration::from_secs(3600);
        assert_eq!(contained(hour, || Ok(7)), Ok(7));
        let panicked = contained::<()>(hour, || panic!("on purpose, in a test"));
        assert!(matches!(panicked, Err(Fault::Broken(_))));
        let (_keep, never) = mpsc::sync_channel::<()>(0);
        let slow = contained(Duration::from_millis(20), move || never.recv().map_err(|_| Fault::EndsEarly));
        assert!(matches!(slow, Err(Fault::Broken(reason)) if reason.contains("longer than")));
    }
}
