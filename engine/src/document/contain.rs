//! Runs a parser of hostile files where it can do no harm: on a thread of its own with a deep stack, a time limit, and
//! nobody else's state to leave half changed when it panics.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
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
        Err(mpsc::RecvTimeoutError::Timeout) => Err(Fault::TimedOut(patience)),
        Err(mpsc::RecvTimeoutError::Disconnected) => Err(Fault::Broken("its content makes the reader fail".to_owned())),
    }
}

/// Runs the jobs of a library that does one thing at a time: each contained, and timed from when its turn comes. While a
/// job that took too long lasts, the library counts as hanging: every other job fails at once instead of waiting for it.
#[derive(Default)]
pub(super) struct Exclusive {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The job whose turn it is.
    running: Option<u64>,
    /// Whether that job was given up.
    hangs: bool,
    /// Jobs begun so far.
    begun: u64,
}

impl Exclusive {
    /// The job's result. It hangs, and everything else is refused, from the moment when `patience` is over.
    pub(super) fn run<T: Send + 'static>(
        self: &Arc<Self>,
        patience: Duration,
        job: impl FnOnce() -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let turn = self.turn()?;
        let number = turn.number;
        let result = contained(patience, move || {
            let _turn = turn;
            job()
        });
        match result {
            Err(Fault::TimedOut(waited)) => {
                let mut state = self.state();
                if state.running == Some(number) {
                    state.hangs = true;
                    self.changed.notify_all();
                }
                Err(Fault::Hangs { waited: Some(waited) })
            }
            result => result,
        }
    }

    /// Waits for the jobs before it, each of which ends or is given up.
    fn turn(self: &Arc<Self>) -> Result<Turn, Fault> {
        let mut state = self.state();
        loop {
            if state.hangs {
                return Err(Fault::Hangs { waited: None });
            }
            if state.running.is_none() {
                state.begun += 1;
                state.running = Some(state.begun);
                return Ok(Turn { library: Arc::clone(self), number: state.begun });
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A job's turn, which ends with the job.
struct Turn {
    library: Arc<Exclusive>,
    number: u64,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.library.state();
        state.running = None;
        state.hangs = false;
        self.library.changed.notify_all();
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
        assert_eq!(slow, Err(Fault::TimedOut(Duration::from_millis(20))));
    }

    /// Jobs that would wait for ever if anything made them wait.
    #[test]
    fn nobody_waits_behind_a_job_that_hangs() {
        let (hour, moment) = (Duration::from_secs(3600), Duration::from_millis(20));
        let library = Arc::new(Exclusive::default());
        let (begun, has_begun) = mpsc::sync_channel(1);
        let (end, ended) = mpsc::sync_channel::<()>(0);
        let first = thread::spawn({
            let library = Arc::clone(&library);
            move || {
                library.run(moment, move || {
                    let _ = begun.send(());
                    let _ = ended.recv();
                    Ok(())
                })
            }
        });
        assert_eq!(has_begun.recv(), Ok(()));
        // It came while the first was still waited for, or just after: either way it does not outlast the first's time.
        assert_eq!(library.run(hour, || Ok(())), Err(Fault::Hangs { waited: None }));
        assert!(matches!(first.join(), Ok(Err(Fault::Hangs { waited: Some(_) }))));
        assert_eq!(library.run(hour, || Ok(())), Err(Fault::Hangs { waited: None }));
        // Once the job has come to its end after all, the library is used again.
        drop(end);
        while library.run(hour, || Ok(())).is_err() {
            thread::yield_now();
        }
        assert!(matches!(library.run::<()>(hour, || panic!("on purpose, in a test")), Err(Fault::Broken(_))));
        assert_eq!(library.run(hour, || Ok(7)), Ok(7), "a job that panics ends its turn");
    }
}
