//! Requests that wait for the card are run together: whoever finds it idle takes all work of one kind that is waiting.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long work waits for work of the other members before it runs without them. A forward takes about ten times as
/// long; what it saves is running alone while the others just miss it.
const PATIENCE: Duration = Duration::from_micros(200);

/// Work that can run together with work of the same key.
pub(super) trait Batchable {
    /// What has to be equal.
    type Key: PartialEq;
    /// This work's.
    fn key(&self) -> Self::Key;
}

/// A queue in front of a card.
pub(super) struct Batcher<W, R> {
    state: Mutex<State<W, R>>,
    changed: Condvar,
    /// The most that runs together.
    most: usize,
    /// How long work waits for the other members'.
    patience: Duration,
}

struct State<W, R> {
    queue: VecDeque<(u64, W)>,
    running: Vec<u64>,
    done: HashMap<u64, R>,
    next: u64,
    /// Requests that submit work one after the other.
    members: usize,
}

/// A request that will submit work again and again; while it lives, others wait for its work.
pub(super) struct Membership<'b, W, R>(&'b Batcher<W, R>);

impl<W, R> Drop for Membership<'_, W, R> {
    fn drop(&mut self) {
        self.0.lock().members -= 1;
        self.0.changed.notify_all();
    }
}

impl<W: Batchable, R> Batcher<W, R> {
    pub(super) fn new(most: usize) -> Self {
        Self::with_patience(most, PATIENCE)
    }

    fn with_patience(most: usize, patience: Duration) -> Self {
        let state = State { queue: VecDeque::new(), running: Vec::new(), done: HashMap::new(), next: 0, members: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new(), most: most.max(1), patience }
    }

    /// Runs work, together with others' when `run` is called here; `run` gives one result for each. `None` when the run
    /// that took this work ended without a result.
    pub(super) fn submit(&self, work: W, run: impl Fn(&[W]) -> Vec<R>) -> Option<R> {
        let until = Instant::now() + self.patience;
        let mut state = self.lock();
        let ticket = state.next;
        state.next += 1;
        state.queue.push_back((ticket, work));
        self.changed.notify_all();
        loop {
            if let Some(result) = state.done.remove(&ticket) {
                return Some(result);
            }
            let queued = state.queue.iter().any(|&(number, _)| number == ticket);
            if !queued && !state.running.contains(&ticket) {
                return None;
            }
            let left = until.saturating_duration_since(Instant::now());
            let idle = state.running.is_empty();
            state = if queued && idle && (left.is_zero() || state.queue.len() >= state.members.min(self.most)) {
                let batch = state.take(self.most);
                drop(state);
                self.run(batch, &run);
                self.lock()
            } else if idle {
                self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
            } else {
                self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
            };
        }
    }

    fn run(&self, batch: Vec<(u64, W)>, run: &impl Fn(&[W]) -> Vec<R>) {
        // Also when `run` panics: nobody may wait for it then.
        struct Done<'b, W, R>(&'b Batcher<W, R>);
        impl<W, R> Drop for Done<'_, W, R> {
            fn drop(&mut self) {
                self.0.lock().running.clear();
                self.0.changed.notify_all();
            }
        }
        let done = Done(self);
        let (tickets, works): (Vec<u64>, Vec<W>) = batch.into_iter().unzip();
        let results = run(&works);
        self.lock().done.extend(tickets.into_iter().zip(results));
        drop(done);
    }
}

impl<W, R> Batcher<W, R> {
    /// Counts a request in.
    pub(super) fn join(&self) -> Membership<'_, W, R> {
        self.lock().members += 1;
        Membership(self)
    }

    fn lock(&self) -> MutexGuard<'_, State<W, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Batchable, R> State<W, R> {
    /// Takes the oldest work and what is like it, in order.
    fn take(&mut self, most: usize) -> Vec<(u64, W)> {
        let Some(key) = self.queue.front().map(|(_, work)| work.key()) else { return Vec::new() };
        let (mut taken, mut rest) = (Vec::new(), VecDeque::new());
        for (ticket, work) in self.queue.drain(..) {
            if taken.len() < most && work.key() == key {
                self.running.push(ticket);
                taken.push((ticket, work));
            } else {
                rest.push_back((ticket, work));
            }
        }
        self.queue = rest;
        taken
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use std::sync::Barrier;

    use super::*;

    impl Batchable for (char, u32) {
        type Key = char;

        fn key(&self) -> char {
            self.0
        }
    }

    #[test]
    fn members_run_together_by_kind_and_each_gets_its_own_result() {
        let batcher = Batcher::new(4);
        let batches = Mutex::new(Vec::new());
        let works = [('a', 1), ('b', 2), ('a', 3), ('a', 4)];
        let barrier = Barrier::new(works.len());
        std::thread::scope(|scope| {
            for work in works {
                let (batcher, batches, barrier) = (&batcher, &batches, &barrier);
                scope.spawn(move || {
                    let _member = batcher.join();
                    barrier.wait();
                    let run = |batch: &[(char, u32)]| {
                        batches.lock().unwrap().push(batch.to_vec());
                        batch.iter().map(|(_, number)| number * 10).collect()
                    };
                    assert_eq!(batcher.submit(work, run), Some(work.1 * 10));
                });
            }
        });
        let batches = batches.into_inner().unwrap();
        assert!(batches.iter().all(|batch| batch.iter().all(|work| work.0 == batch[0].0)), "{batches:?}");
        assert_eq!(batches.iter().map(Vec::len).sum::<usize>(), 4);
    }

    #[test]
    fn a_lone_request_waits_for_nobody() {
        // Were it to wait, this test would take a day.
        let batcher: Batcher<(char, u32), usize> = Batcher::with_patience(8, Duration::from_secs(86_400));
        let _member = batcher.join();
        assert_eq!(batcher.submit(('a', 1), |batch| vec![batch.len()]), Some(1));
    }

    #[test]
    fn a_member_that_submits_nothing_is_not_waited_for_long() {
        let batcher: Batcher<(char, u32), usize> = Batcher::new(8);
        let (_busy, _member) = (batcher.join(), batcher.join());
        assert_eq!(batcher.submit(('a', 1), |batch| vec![batch.len()]), Some(1));
    }

    #[test]
    fn a_run_that_panics_leaves_nobody_waiting() {
        let batcher: Batcher<(char, u32), u32> = Batcher::new(8);
        let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            batcher.submit(('a', 1), |_| std::panic::panic_any("the fault under test"))
        }));
        assert!(panics.is_err());
        assert_eq!(batcher.submit(('a', 2), |_| Vec::new()), None, "a run without results");
        assert_eq!(batcher.submit(('a', 3), |_| vec![7]), Some(7));
    }
}
