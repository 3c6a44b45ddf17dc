//! The seam to the engine: jobs in, events out. In tests a recorded list of events stands in for the engine.

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use engine::event::Event;
use engine::job::{Job, JobHandle};
use engine::{Engine, EngineOptions};

use crate::cli::ModelArgs;

/// What came from a job within the time one was willing to wait.
#[derive(Debug)]
pub enum Next {
    /// An event; `Finished` is the last.
    Event(Event),
    /// Nothing yet.
    Quiet,
    /// There will be no more, although `Finished` was not seen: the engine's thread is gone.
    Gone,
}

/// A job that runs.
pub trait Running {
    /// Waits for the next event, for at most so long.
    fn next(&mut self, patience: Duration) -> Next;
    /// Asks the job to stop; it still sends `Finished`.
    fn cancel(&self);
}

/// Called after each event, on the engine's threads.
pub type Waker = Box<dyn Fn() + Send>;

/// Whatever reads documents.
pub trait Reader {
    /// Starts a job. The error is a sentence for the user.
    fn start(&self, job: Job, waker: Waker) -> Result<Box<dyn Running>, String>;
}

/// The engine as a reader.
pub(crate) struct EngineReader {
    engine: Engine,
}

impl EngineReader {
    /// Loads the checkpoint that the arguments name. The error is a sentence for the user.
    pub(crate) fn start(args: &ModelArgs) -> Result<Self, String> {
        Self::open(args.options())
    }

    /// Loads the checkpoint that the options name. The error is a sentence for the user.
    pub(crate) fn open(options: EngineOptions) -> Result<Self, String> {
        Engine::start(options).map(|engine| Self { engine }).map_err(|error| error.to_string())
    }

    /// What was loaded and what computes.
    pub(crate) fn info(&self) -> &engine::EngineInfo {
        self.engine.info()
    }
}

impl Reader for EngineReader {
    fn start(&self, job: Job, waker: Waker) -> Result<Box<dyn Running>, String> {
        match self.engine.submit(job, waker) {
            Ok(handle) => Ok(Box::new(handle)),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Running for JobHandle {
    fn next(&mut self, patience: Duration) -> Next {
        match self.recv_timeout(patience) {
            Ok(event) => Next::Event(event),
            Err(RecvTimeoutError::Timeout) => Next::Quiet,
            Err(RecvTimeoutError::Disconnected) => Next::Gone,
        }
    }

    fn cancel(&self) {
        JobHandle::cancel(self);
    }
}

/// Recorded events, for tests of what listens to them.
#[cfg(test)]
pub(crate) mod testing {
    use std::cell::Cell;
    use std::collections::VecDeque;
    use std::rc::Rc;

    use engine::decode::{Committed, Origin, Round};
    use engine::event::{Outcome, Piece, RequestId};
    use engine::page::{Figure, PageResult, Reading, RegionResult, Status, Timings};
    use engine::region::{Label, Rect, Region, Task};

    use super::*;

    /// A round that committed so many tokens. One forward is a draft's (or AR), two are a draft's and a verifier's.
    pub(crate) fn round(index: u32, committed: usize, accepted: u32, forwards: u32) -> Round {
        Round {
            index,
            accepted,
            committed: (0..committed)
                .map(|n| Committed { id: n as u32, origin: origin(n, accepted as usize), confidence: 0.9 })
                .collect(),
            draft_forwards: forwards.min(1),
            verify_forwards: forwards.saturating_sub(1),
            ..Round::default()
        }
    }

    /// In a round the first token is causal, drafts follow, and the verifier's own ends it.
    fn origin(place: usize, accepted: usize) -> Origin {
        match place {
            0 => Origin::Causal,
            _ if place <= accepted => Origin::Accepted,
            _ => Origin::Correction,
        }
    }

    /// A finished request that spent 5 ms on vision and prompt and 20 ms on decoding.
    pub(crate) fn reading(rounds: Vec<Round>) -> Reading {
        Reading {
            bounds: Rect::new(0, 0, 280, 28),
            task: Task::Text,
            status: Status::Done,
            text: "Apple pie".to_owned(),
            rounds,
            timings: Timings { vision_ms: 4.0, prefill_ms: 1.0, draft_ms: 10.0, verify_ms: 10.0 },
            line: None,
        }
    }

    /// A page with one text region.
    pub(crate) fn page(index: usize, text: &str, status: Status) -> PageResult {
        let region = Region::new(Label::Text, Rect::new(0, 0, 280, 56));
        let readings = vec![reading(vec![round(0, 1, 0, 0), round(1, 5, 3, 2)]); 2];
        let regions = vec![RegionResult { region, status, text: text.to_owned(), readings }];
        PageResult { index, width: 300, height: 100, dpi: None, skew_degrees: 0.0, regions }
    }

    /// A page with text and one picture.
    pub(crate) fn page_with_figure(index: usize) -> Event {
        let mut page = page(index, "Text", Status::Done);
        page.regions.push(RegionResult {
            region: Region::new(Label::Image, Rect::new(0, 56, 280, 100)),
            status: Status::Picture,
            text: String::new(),
            readings: Vec::new(),
        });
        Event::PageFinished { page: Box::new(page), figures: vec![Figure { region: 1, png: b"PNG bytes".to_vec() }] }
    }

    pub(crate) fn finished(page: PageResult) -> Event {
        Event::PageFinished { page: Box::new(page), figures: Vec::new() }
    }

    pub(crate) fn opened(pages: usize) -> Event {
        Event::Opened { page_count: pages, pages: (0..pages).collect() }
    }

    pub(crate) fn over(outcome: Outcome) -> Event {
        Event::Finished { outcome }
    }

    /// A document of one page with two lines, from opening to end.
    pub(crate) fn two_lines() -> Vec<Event> {
        let page = page(0, "Apple pie Apple pie", Status::Done);
        let regions = page.regions.iter().map(|result| result.region.clone()).collect();
        let piece = |text: &str, round, origin| Piece { text: text.to_owned(), round, origin };
        let mut events =
            vec![opened(1), Event::PageStarted { page: 0, width: 300, height: 100, regions, notice: None }];
        for request in 0..2 {
            let id = RequestId { page: 0, region: 0, request };
            let committed = |round, drafted, accepted, tokens, forwards, pieces| Event::Committed {
                id,
                at_ms: 1.0,
                round,
                drafted,
                accepted,
                tokens,
                forwards,
                pieces,
            };
            events.extend([
                Event::RequestStarted { id, bounds: Rect::default() },
                committed(0, 0, 0, 1, 0, vec![piece("A", 0, Origin::Causal)]),
                Event::Drafted { id, at_ms: 1.0, round: 1, text: "pple".to_owned() },
                committed(
                    1,
                    32,
                    3,
                    5,
                    2,
                    vec![piece("pple ", 1, Origin::Accepted), piece("pie", 1, Origin::Correction)],
                ),
                Event::RequestFinished { id, status: Status::Done, timings: Timings::default() },
            ]);
        }
        let text = "Apple pie Apple pie".to_owned();
        events.push(Event::RegionFinished { page: 0, region: 0, status: Status::Done, text, readings: Vec::new() });
        events.extend([finished(page), over(Outcome::Completed)]);
        events
    }

    /// What is called before each event is handed out.
    type BeforeEach = Rc<dyn Fn(&Event)>;

    /// Plays one list of events per file, in order. Once cancelled it ends as the engine does.
    #[derive(Default)]
    pub(crate) struct Recorded {
        jobs: std::cell::RefCell<VecDeque<Result<Vec<Event>, String>>>,
        pub(crate) before_each: Option<BeforeEach>,
    }

    impl Recorded {
        pub(crate) fn new(jobs: impl IntoIterator<Item = Result<Vec<Event>, String>>) -> Self {
            Self { jobs: std::cell::RefCell::new(jobs.into_iter().collect()), before_each: None }
        }
    }

    impl Reader for Recorded {
        fn start(&self, _: Job, _: Waker) -> Result<Box<dyn Running>, String> {
            let events = self.jobs.borrow_mut().pop_front().unwrap_or(Err("no recording is left".to_owned()))?;
            let before_each = self.before_each.clone().unwrap_or(Rc::new(|_| ()));
            Ok(Box::new(Playing { events: events.into(), cancelled: Cell::new(false), before_each }))
        }
    }

    struct Playing {
        events: VecDeque<Event>,
        cancelled: Cell<bool>,
        before_each: BeforeEach,
    }

    impl Running for Playing {
        fn next(&mut self, _: Duration) -> Next {
            if self.cancelled.take() {
                self.events.clear();
                return Next::Event(over(Outcome::Cancelled));
            }
            match self.events.pop_front() {
                Some(event) => {
                    (self.before_each)(&event);
                    Next::Event(event)
                }
                None => Next::Gone,
            }
        }

        fn cancel(&self) {
            self.cancelled.set(true);
        }
    }
}
