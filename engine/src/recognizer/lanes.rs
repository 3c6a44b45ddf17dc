//! Threads that answer requests from one queue, each one request at a time.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::{Answer, Request, Sink};
use crate::cancel::Cancel;
use crate::engine::{EngineError, spawn};
use crate::page::Status;

/// A request on its way to a thread.
pub(super) struct Task {
    pub(super) request: Arc<Request>,
    pub(super) sink: Box<dyn Sink>,
    pub(super) cancel: Cancel,
}

/// Dropping it answers what waits with nothing, and waits for what is being read.
pub(super) struct Lanes {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    tasks: VecDeque<Task>,
    closed: bool,
}

impl Lanes {
    /// Starts one thread for each of `lanes`, which does with each task what that says.
    pub(super) fn start<L>(name: &str, lanes: Vec<L>) -> Result<Self, EngineError>
    where
        L: Fn(Task) + Send + 'static,
    {
        let mut started = Self { queue: Arc::default(), threads: Vec::new() };
        for (n, lane) in lanes.into_iter().enumerate() {
            let queue = Arc::clone(&started.queue);
            let thread = spawn(&format!("{name}-{n}"), move || {
                while let Some(task) = queue.next() {
                    // A fault of ours in one request must not take the others with it; its sink hears of it by its end.
                    let _ = catch_unwind(AssertUnwindSafe(|| lane(task)));
                }
            })?;
            started.threads.push(thread);
        }
        Ok(started)
    }

    pub(super) fn submit(&self, task: Task) {
        self.queue.state.lock().unwrap_or_else(PoisonError::into_inner).tasks.push_back(task);
        self.queue.changed.notify_one();
    }
}

impl Queue {
    /// The next task, once there is one; none when the queue is closed.
    fn next(&self) -> Option<Task> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = |state: &mut State| state.tasks.is_empty() && !state.closed;
        let mut state = self.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
        if state.closed { None } else { state.tasks.pop_front() }
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        let waiting = {
            let mut state = self.queue.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.closed = true;
            std::mem::take(&mut state.tasks)
        };
        self.queue.changed.notify_all();
        waiting.into_iter().for_each(|task| task.sink.answer(Ok(Answer::nothing(Status::Cancelled))));
        let own = std::thread::current().id();
        // The last owner may be one of the threads itself.
        self.threads.drain(..).filter(|thread| thread.thread().id() != own).for_each(|thread| drop(thread.join()));
    }
}
