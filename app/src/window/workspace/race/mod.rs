//! One region decoded by draft and verify and one token at a time, with true times: the ways run one after the other, so
//! that neither slows the other, and each several times, of which the median counts.

mod lane;

use std::time::{Duration, Instant};

use engine::decode::Decode;
use engine::event::{Event, Outcome};
use engine::job::Job;
use engine::page::{Reading, Status};

pub(crate) use lane::{Lane, Measured, Verdict};

use super::live::Live;
use super::log::{RequestText, What};
use super::notice::Notice;
use super::project::{PageKey, RegionId};
use super::replay::{Pace, Replay, ReplayAsk};
use crate::reader::{Next, Reader, Running, Waker};

/// Times that each way is measured.
pub(crate) const RUNS: usize = 3;

/// A race that is open.
pub(crate) struct Race {
    pub(crate) region: RegionId,
    pub(crate) page: PageKey,
    /// What is read, but for the way.
    job: Job,
    /// Why the checkpoint cannot draft, if it cannot.
    pub(crate) only_ar: Option<String>,
    pub(crate) spec: Lane,
    pub(crate) ar: Lane,
    pub(crate) phase: Phase,
    /// Times the measured pace at which the lanes are played.
    pub(crate) pace: f32,
}

/// A way to decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Draft and verify.
    Spec,
    /// One token at a time.
    Ar,
}

/// What a person asks of a race.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RaceAsk {
    Start(RegionId),
    /// Measure anew.
    Again,
    Stop,
    Close,
    /// Play both lanes on one clock.
    Play,
    Pause,
    /// Times the measured pace.
    Pace(f32),
}

/// How far a race is.
pub(crate) enum Phase {
    /// This way is to be measured next.
    Due(Way),
    Running(Box<Measuring>),
    Done,
    Stopped,
    /// It cannot be measured; the sentence says why.
    Failed(String),
}

/// A measurement that runs.
pub(crate) struct Measuring {
    pub(crate) way: Way,
    job: Box<dyn Running>,
    live: Live,
    /// The engine's own record, when the page is over.
    readings: Option<Vec<Reading>>,
    /// Why the page could not be read.
    failure: Option<String>,
}

impl Race {
    /// A race that measures nothing yet. The job orders exactly the region that is raced.
    pub(crate) fn new(region: RegionId, page: PageKey, job: Job) -> Self {
        let (spec, ar) = (Lane::default(), Lane::default());
        Self { region, page, job, only_ar: None, spec, ar, phase: Phase::Due(Way::Spec), pace: 0.1 }
    }

    /// Starts what is due and takes in what the engine has to say, until then; whether there is more.
    ///
    /// `only_ar` says why the reader cannot draft, if it cannot.
    pub(crate) fn drain(
        &mut self,
        reader: &dyn Reader,
        only_ar: Option<&str>,
        waker: &dyn Fn() -> Waker,
        until: Instant,
    ) -> bool {
        loop {
            match &mut self.phase {
                Phase::Due(way) => {
                    self.only_ar = only_ar.map(str::to_owned);
                    let way = if only_ar.is_some() { Way::Ar } else { *way };
                    let decode = Some(match way {
                        Way::Spec => Decode::SPEC,
                        Way::Ar => Decode::Ar,
                    });
                    self.phase = match reader.start(Job { decode, ..self.job.clone() }, waker()) {
                        Ok(job) => {
                            let mut live = Live::default();
                            live.wait(self.region);
                            Phase::Running(Box::new(Measuring { way, job, live, readings: None, failure: None }))
                        }
                        Err(message) => Phase::Failed(message),
                    };
                }
                Phase::Running(run) => match run.job.next(Duration::ZERO) {
                    Next::Event(Event::Finished { outcome }) => self.finish_run(outcome),
                    Next::Event(event) => run.hear(self.region, event),
                    Next::Quiet => return false,
                    Next::Gone => self.phase = Phase::Failed(Notice::RaceEngineGone.to_string()),
                },
                Phase::Done | Phase::Stopped | Phase::Failed(_) => return false,
            }
            if Instant::now() >= until {
                return true;
            }
        }
    }

    /// A run is over: its measurement counts if it is whole.
    fn finish_run(&mut self, outcome: Outcome) {
        let Phase::Running(run) = std::mem::replace(&mut self.phase, Phase::Stopped) else { return };
        let Measuring { way, mut live, readings, failure, .. } = *run;
        let logs = live.finish(self.region);
        let failed = logs.iter().find_map(|log| match &log.status {
            Some(Status::Failed(message)) => Some(message.clone()),
            _ => None,
        });
        let cancelled = logs.iter().any(|log| matches!(log.status, None | Some(Status::Cancelled)));
        self.phase = match (outcome, failure.or(failed), readings) {
            (Outcome::Failed(message), ..) | (_, Some(message), _) => Phase::Failed(message),
            (Outcome::Cancelled, ..) => Phase::Stopped,
            (Outcome::Completed, None, Some(readings)) if !logs.is_empty() && !cancelled => {
                let lane = self.lane_mut(way);
                lane.runs.push(Measured::new(logs, &readings));
                match way {
                    _ if lane.runs.len() < RUNS => Phase::Due(way),
                    Way::Spec => Phase::Due(Way::Ar),
                    Way::Ar => Phase::Done,
                }
            }
            (Outcome::Completed, ..) if cancelled => Phase::Stopped,
            (Outcome::Completed, ..) => Phase::Failed(Notice::NothingToRace.to_string()),
        };
        self.line_up(way);
        if matches!(self.phase, Phase::Done) {
            self.play();
        }
    }

    /// Makes a lane ready to be played: it stands at its end.
    fn line_up(&mut self, way: Way) {
        let (region, pace) = (self.region, self.pace);
        let lane = self.lane_mut(way);
        lane.replay = lane.median().map(|median| {
            let mut replay = Replay::open(region, median.logs.clone());
            replay.ask(ReplayAsk::Pace(Pace::Measured(pace)));
            replay.ask(ReplayAsk::Seek(usize::MAX));
            replay
        });
    }

    /// Does what a person asks. Starting a race is for whoever holds it.
    pub(crate) fn ask(&mut self, ask: RaceAsk) {
        match ask {
            RaceAsk::Start(_) => {}
            RaceAsk::Again => {
                self.stop();
                (self.spec, self.ar) = (Lane::default(), Lane::default());
                self.phase = Phase::Due(Way::Spec);
            }
            RaceAsk::Stop | RaceAsk::Close => self.stop(),
            RaceAsk::Play => self.play(),
            RaceAsk::Pause => self.replays().for_each(|replay| replay.ask(ReplayAsk::Pause)),
            RaceAsk::Pace(pace) => {
                self.pace = pace;
                self.replays().for_each(|replay| replay.ask(ReplayAsk::Pace(Pace::Measured(pace))));
            }
        }
    }

    /// Measures no more; what was measured stays. The engine ends the run behind our back before its next forward.
    fn stop(&mut self) {
        if let Phase::Running(run) = &self.phase {
            run.job.cancel();
        }
        if self.is_measuring() {
            self.phase = Phase::Stopped;
        }
    }

    /// Plays both lanes on, from their start when both are at their end.
    fn play(&mut self) {
        let over = self.replays().all(|replay| replay.is_at_end());
        for replay in self.replays().filter(|replay| over || !replay.is_at_end()) {
            replay.ask(ReplayAsk::Play);
        }
    }

    /// Lets so many seconds pass for the lanes that are played; whether any still moves.
    pub(crate) fn tick(&mut self, seconds: f64) -> bool {
        self.replays().fold(false, |moves, replay| replay.tick(seconds) | moves)
    }

    fn replays(&mut self) -> impl Iterator<Item = &mut Replay> {
        self.spec.replay.iter_mut().chain(&mut self.ar.replay)
    }

    /// Whether a measurement runs or is due.
    pub(crate) fn is_measuring(&self) -> bool {
        matches!(self.phase, Phase::Due(_) | Phase::Running(_))
    }

    /// Whether the lanes are being played.
    pub(crate) fn is_playing(&self) -> bool {
        [&self.spec, &self.ar].iter().any(|lane| lane.replay.as_ref().is_some_and(|replay| replay.playing))
    }

    /// What was measured of a way.
    pub(crate) fn lane(&self, way: Way) -> &Lane {
        match way {
            Way::Spec => &self.spec,
            Way::Ar => &self.ar,
        }
    }

    fn lane_mut(&mut self, way: Way) -> &mut Lane {
        match way {
            Way::Spec => &mut self.spec,
            Way::Ar => &mut self.ar,
        }
    }

    /// The text of each request of a lane as it now stands: while it is measured, and while it is played.
    pub(crate) fn texts(&self, way: Way) -> Vec<&RequestText> {
        match (&self.phase, &self.lane(way).replay) {
            (Phase::Running(run), _) if run.way == way => {
                run.live.region(self.region).into_iter().flat_map(|live| live.begun()).map(|r| &r.text).collect()
            }
            (_, Some(replay)) => replay.texts().iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Whether both ways committed the same tokens in all runs; none while one of them has none.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        let first = self.spec.runs.first()?;
        self.ar.runs.first()?;
        let mut others = self.spec.runs.iter().skip(1).chain(&self.ar.runs);
        Some(match others.find_map(|other| first.differs(other)) {
            Some((request, token)) => Verdict::Differ { request, token },
            None => Verdict::Same { tokens: first.tokens() },
        })
    }
}

impl Measuring {
    fn hear(&mut self, region: RegionId, event: Event) {
        match event {
            Event::RequestStarted { id, bounds } | Event::RequestRestarted { id, bounds, .. } => {
                self.live.start(region, id.request, bounds)
            }
            Event::Drafted { id, at_ms, round, text } => {
                self.live.step(region, id.request, at_ms, What::Drafted { round, text });
            }
            Event::Committed { id, at_ms, round, drafted, accepted, tokens, forwards, pieces } => {
                let what = What::Committed { round, drafted, accepted, tokens, forwards, pieces };
                self.live.step(region, id.request, at_ms, what);
            }
            Event::RequestFinished { id, status, timings } => self.live.end(region, id.request, status, timings),
            Event::PageFinished { page, .. } => {
                self.readings = page.regions.into_iter().next().map(|result| result.readings);
            }
            Event::PageFailed { message, .. } => self.failure = Some(message),
            Event::Opened { .. }
            | Event::PageStarted { .. }
            | Event::RegionFinished { .. }
            | Event::Finished { .. } => {}
        }
    }
}
