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
    queue: VecDeque<Waiting<W>>,
    running: Vec<u64>,
    done: HashMap<u64, R>,
    next: u64,
    /// Requests that submit work one after the other.
    members: usize,
}

/// Work that has not run yet.
struct Waiting<W> {
    ticket: u64,
    work: W,
    /// Until when it waits for the other members'.
    until: Instant,
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

    /// Runs work, together with others' when `run` is called here; `run` hears whether other work waits meanwhile, and
    /// gives one result for each, or none for what is to wait for the next run. `None` when the run that took this work
    /// ended without a word about it.
    pub(super) fn submit(&self, work: W, run: impl Fn(&[W], bool) -> Vec<Option<R>>) -> Option<R> {
        let mut state = self.lock();
        let ticket = state.next;
        state.next += 1;
        state.queue.push_back(Waiting { ticket, work, until: Instant::now() + self.patience });
        self.changed.notify_all();
        loop {
            if let Some(result) = state.done.remove(&ticket) {
                return Some(result);
            }
            let until = state.queue.iter().find(|waiting| waiting.ticket == ticket).map(|waiting| waiting.until);
            let idle = state.running.is_empty();
            state = match until {
                None if !state.running.contains(&ticket) => return None,
                Some(until) if idle => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() || state.queue.len() >= state.members.min(self.most) {
                        let batch = state.take(self.most);
                        let more = !state.queue.is_empty();
                        drop(state);
                        self.run(batch, more, &run);
                        self.lock()
                    } else {
                        self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                    }
                }
                _ => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn run(&self, batch: Vec<(u64, W)>, more: bool, run: &impl Fn(&[W], bool) -> Vec<Option<R>>) {
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
        let results = run(&works, more);
        let mut state = self.lock();
        let until = Instant::now() + self.patience;
        for ((ticket, work), result) in tickets.into_iter().zip(works).zip(results).rev() {
            match result {
                Some(result) => drop(state.done.insert(ticket, result)),
                None => state.queue.push_front(Waiting { ticket, work, until }),
            }
        }
        drop(state);
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
        let Some(key) = self.queue.front().map(|waiting| waiting.work.key()) else { return Vec::new() };
        let (mut taken, mut rest) = (Vec::new(), VecDeque::new());
        for waiting in self.queue.drain(..) {
            if taken.len() < most && waiting.work.key() == key {
                self.running.push(waiting.ticket);
                taken.push((waiting.ticket, waiting.work));
            } else {
                rest.push_back(waiting);
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
                    let run = |batch: &[(char, u32)], _: bool| {
                        batches.lock().unwrap().push(batch.to_vec());
                        batch.iter().map(|(_, number)| Some(number * 10)).collect()
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
        assert_eq!(batcher.submit(('a', 1), |batch, _| vec![Some(batch.len())]), Some(1));
    }

    #[test]
    fn a_member_that_submits_nothing_is_not_waited_for_long() {
        let batcher: Batcher<(char, u32), usize> = Batcher::new(8);
        let (_busy, _member) = (batcher.join(), batcher.join());
        assert_eq!(batcher.submit(('a', 1), |batch, _| vec![Some(batch.len())]), Some(1));
    }

    #[test]
    fn a_run_that_panics_leaves_nobody_waiting() {
        let batcher: Batcher<(char, u32), u32> = Batcher::new(8);
        let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            batcher.submit(('a', 1), |_, _| std::panic::panic_any("the fault under test"))
        }));
        assert!(panics.is_err());
        assert_eq!(batcher.submit(('a', 2), |_, _| Vec::new()), None, "a run without results");
        assert_eq!(batcher.submit(('a', 3), |_, _| vec![Some(7)]), Some(7));
    }

    #[test]
    fn what_is_put_off_runs_with_the_next() {
        let batcher: Batcher<(char, u32), usize> = Batcher::new(8);
        let rounds = std::cell::Cell::new(0);
        let run = |batch: &[(char, u32)], more: bool| {
            assert!(!more, "nothing else waits");
            rounds.set(rounds.get() + 1);
            batch.iter().map(|_| (rounds.get() == 3).then_some(rounds.get())).collect()
        };
        assert_eq!(batcher.submit(('a', 1), run), Some(3));
    }

    #[test]
    fn a_run_hears_that_work_of_another_kind_waits() {
        let batcher = Batcher::with_patience(8, Duration::from_secs(86_400));
        let barrier = Barrier::new(2);
        let heard = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for kind in ['a', 'b'] {
                let (batcher, barrier, heard) = (&batcher, &barrier, &heard);
                scope.spawn(move || {
                    let _member = batcher.join();
                    barrier.wait();
                    batcher.submit((kind, 1), |batch: &[(char, u32)], more| {
                        heard.lock().unwrap().push((batch.len(), more));
                        vec![Some(0)]
                    })
                });
            }
        });
        // Both waited for each other; one ran while the other waited, and then that one, which waits for nobody.
        let mut heard = heard.into_inner().unwrap();
        heard.sort_unstable();
        assert_eq!(heard, [(1, false), (1, true)]);
    }
}
