//! Which request goes next: jobs share the recognizer fairly, whatever their sizes.
//!
//! The next request is one of the job that was given least so far, and a new job begins level with that one, as the first
//! of the two. So one region that a person waits for goes before the 900th page of a batch, and the batch goes on.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::event::RequestId;
use crate::page::Status;
use crate::recognizer::{Answer, Fault, Recognizer, Sink, Step};
use crate::region::Rect;
use crate::run::{Outgoing, Run};

/// Jobs that may be under way.
const JOBS: usize = 64;

/// Jobs under way, and the requests that are being read.
#[derive(Default)]
pub(crate) struct Scheduler {
    state: Mutex<State>,
    changed: Condvar,
    /// Jobs under way, for those who must not wait for the lock.
    jobs: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// The newest last.
    jobs: Vec<Share>,
    reading: usize,
    closed: bool,
}

/// A job and what it was given.
struct Share {
    run: Arc<Run>,
    /// Pixels of the pictures that were read for it.
    given: u64,
}

impl Scheduler {
    /// Takes a job in; whether there was room.
    pub(crate) fn add(&self, run: &Arc<Run>) -> bool {
        let mut state = self.lock();
        self.drop_ended(&mut state);
        if state.closed || state.jobs.len() >= JOBS {
            return false;
        }
        let given = state.jobs.iter().map(|share| share.given).min().unwrap_or(0);
        state.jobs.push(Share { run: Arc::clone(run), given });
        self.jobs.store(state.jobs.len(), Ordering::Relaxed);
        true
    }

    /// Jobs under way.
    pub(crate) fn jobs(&self) -> usize {
        self.jobs.load(Ordering::Relaxed)
    }

    fn drop_ended(&self, state: &mut State) {
        state.jobs.retain(|share| !share.run.is_over());
        self.jobs.store(state.jobs.len(), Ordering::Relaxed);
    }

    /// There may be more to read.
    pub(crate) fn look(&self) {
        // Whoever looked before the change has let go of the lock, and waits.
        drop(self.lock());
        self.changed.notify_all();
    }

    /// Cancels all jobs and ends [`serve`](Self::serve).
    pub(crate) fn close(&self) {
        let runs: Vec<Arc<Run>> = {
            let mut state = self.lock();
            state.closed = true;
            state.jobs.drain(..).map(|share| share.run).collect()
        };
        self.changed.notify_all();
        runs.iter().for_each(|run| run.stop());
    }

    /// Hands requests to the recognizer, as many side by side as it answers, until [`close`](Self::close).
    pub(crate) fn serve(self: &Arc<Self>, recognizer: &dyn Recognizer) {
        let most = recognizer.abilities().concurrency.max(1);
        let mut state = self.lock();
        while !state.closed {
            self.drop_ended(&mut state);
            let next = if state.reading < most { state.next() } else { None };
            let Some((run, Outgoing { order, id, bounds, request })) = next else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.reading += 1;
            drop(state);
            let cancel = run.cancel().clone();
            let sink = RequestSink {
                scheduler: Arc::clone(self),
                run,
                order,
                id,
                bounds,
                started: Cell::new(false),
                answer: None,
            };
            recognizer.submit(request, Box::new(sink), cancel);
            state = self.lock();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The next request of the job that was given least and has one; of the newest among equals.
    fn next(&mut self) -> Option<(Arc<Run>, Outgoing)> {
        let mut order: Vec<&mut Share> = self.jobs.iter_mut().rev().collect();
        order.sort_by_key(|share| share.given); // stable: the newest stay first
        order.into_iter().find_map(|share| {
            let outgoing = share.run.next_request()?;
            let (width, height) = outgoing.request.image.dimensions();
            share.given += u64::from(width) * u64::from(height);
            Some((Arc::clone(&share.run), outgoing))
        })
    }
}

/// Where a request's steps and its answer go: to its job.
struct RequestSink {
    scheduler: Arc<Scheduler>,
    run: Arc<Run>,
    order: usize,
    id: RequestId,
    bounds: Rect,
    /// Whether it went to the model.
    started: Cell<bool>,
    answer: Option<Answer>,
}

impl Sink for RequestSink {
    fn step(&self, step: Step) {
        self.started.set(true);
        self.run.step(self.id, self.bounds, step);
    }

    fn answer(mut self: Box<Self>, answer: Result<Answer, Fault>) {
        self.answer = Some(answer.unwrap_or_else(|fault| Answer::nothing(Status::Failed(fault.to_string()))));
    }
}

impl Drop for RequestSink {
    fn drop(&mut self) {
        let internal = || Answer::nothing(Status::Failed("an internal error stopped this region".to_owned()));
        let answer = self.answer.take().unwrap_or_else(internal);
        // What was cancelled before it began is no news; everything else begins before it ends.
        let unread = answer.status == Status::Cancelled && !self.started.get();
        if !unread && !self.started.get() {
            self.run.step(self.id, self.bounds, Step::Started);
        }
        self.run.answered(self.order, self.id, (!unread).then_some(answer));
        self.scheduler.lock().reading -= 1;
        self.scheduler.changed.notify_all();
    }
}

#[cfg(test)]
#[path = "scheduler_tests.rs"]
mod tests;
