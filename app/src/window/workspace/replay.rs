//! Playing a finished region again from its record, at any speed. Its requests follow one another in reading order, each
//! at its own measured pace, also where they were read side by side.

use super::log::{RequestLog, RequestText, Step, What};
use super::project::RegionId;

/// A replay that is open.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    pub(crate) region: RegionId,
    logs: Vec<RequestLog>,
    /// For each request, the steps of all requests before it; one more entry for the steps of all.
    begins: Vec<usize>,
    /// For each round, the steps done when it stands committed.
    commits: Vec<usize>,
    /// For each step, when it happened by the measured clock, milliseconds.
    due: Vec<f64>,
    /// Steps done, counted through all requests.
    at: usize,
    /// How much of the wait for the next step is over, 0 to 1.
    waited: f64,
    /// The text of the requests that have begun.
    texts: Vec<RequestText>,
    pub(crate) playing: bool,
    pub(crate) pace: Pace,
}

/// How fast a replay goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pace {
    /// Times the measured pace.
    Measured(f32),
    /// So many rounds a second, however long they took: at its own pace a quick line is over before one sees it.
    Rounds(f32),
}

/// What a person asks of a replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ReplayAsk {
    Open(RegionId),
    Close,
    Play,
    Pause,
    /// To after so many steps.
    Seek(usize),
    /// One step on: the next draft, or the round that verifies it.
    Forward,
    /// One step back.
    Back,
    Pace(Pace),
}

impl Pace {
    /// What a person chooses from.
    pub(crate) const CHOICES: [Pace; 9] = [
        Pace::Rounds(1.0),
        Pace::Rounds(4.0),
        Pace::Rounds(16.0),
        Pace::Rounds(64.0),
        Pace::Measured(0.01),
        Pace::Measured(0.1),
        Pace::Measured(1.0),
        Pace::Measured(10.0),
        Pace::Measured(100.0),
    ];

    /// A pace that goes on and is no wilder than a thousand times slower or faster.
    fn sane(self) -> Self {
        let sane = |pace: f32| if pace.is_finite() { pace.clamp(0.001, 1000.0) } else { 1.0 };
        match self {
            Pace::Measured(times) => Pace::Measured(sane(times)),
            Pace::Rounds(rounds) => Pace::Rounds(sane(rounds)),
        }
    }
}

impl Default for Pace {
    fn default() -> Self {
        Pace::Rounds(4.0)
    }
}

impl Replay {
    /// A replay at its beginning.
    pub(crate) fn open(region: RegionId, logs: Vec<RequestLog>) -> Self {
        let mut begins = vec![0];
        let (mut commits, mut due) = (Vec::new(), Vec::new());
        let mut before_ms = 0.0;
        for log in &logs {
            let mut now_ms = 0.0;
            for step in &log.steps {
                // A clock does not go back, whatever a file says.
                now_ms = f64::max(now_ms, step.at_ms);
                due.push(before_ms + now_ms);
                if matches!(step.what, What::Committed { .. }) {
                    commits.push(due.len());
                }
            }
            before_ms += now_ms;
            begins.push(due.len());
        }
        let pace = Pace::default();
        Self { region, logs, begins, commits, due, at: 0, waited: 0.0, texts: Vec::new(), playing: false, pace }
    }

    /// Does what a person asks. Opening and closing is for whoever holds the replay.
    pub(crate) fn ask(&mut self, ask: ReplayAsk) {
        match ask {
            ReplayAsk::Open(_) => {}
            ReplayAsk::Close | ReplayAsk::Pause => self.playing = false,
            ReplayAsk::Play => {
                if self.is_at_end() {
                    self.seek(0);
                }
                self.playing = !self.is_at_end();
            }
            ReplayAsk::Seek(at) => self.seek(at),
            ReplayAsk::Forward => {
                self.playing = false;
                self.seek(self.at.saturating_add(1));
            }
            ReplayAsk::Back => {
                self.playing = false;
                self.seek(self.at.saturating_sub(1));
            }
            ReplayAsk::Pace(pace) => self.pace = pace.sane(),
        }
    }

    /// Lets so many seconds pass; whether it still moves.
    pub(crate) fn tick(&mut self, seconds: f64) -> bool {
        let mut left = if self.playing { seconds.max(0.0) } else { 0.0 };
        let mut to = self.at;
        while left > 0.0 && to < self.len() {
            let wait = self.wait(to);
            let rest = wait * (1.0 - self.waited);
            if left < rest {
                self.waited += left / wait;
                left = 0.0;
            } else {
                left -= rest;
                self.waited = 0.0;
                to += 1;
            }
        }
        if to > self.at {
            let waited = self.waited;
            self.seek(to);
            self.waited = waited;
        }
        self.playing &= !self.is_at_end();
        self.playing
    }

    /// Seconds between the step before and this one.
    fn wait(&self, step: usize) -> f64 {
        match self.pace {
            Pace::Measured(times) => (self.due_ms(step + 1) - self.due_ms(step)) / 1e3 / f64::from(times),
            Pace::Rounds(rounds) => {
                // A draft is shown half-way through its round.
                let drafted = |step: usize| self.step(step).is_some_and(|s| matches!(s.what, What::Drafted { .. }));
                let halves = if drafted(step) || step.checked_sub(1).is_some_and(drafted) { 0.5 } else { 1.0 };
                halves / f64::from(rounds)
            }
        }
    }

    /// When so many steps were done, by the measured clock.
    fn due_ms(&self, done: usize) -> f64 {
        done.checked_sub(1).and_then(|step| self.due.get(step).or(self.due.last())).copied().unwrap_or(0.0)
    }

    /// The request that a step belongs to.
    fn request_of(&self, step: usize) -> usize {
        self.begins.partition_point(|&begin| begin <= step).saturating_sub(1)
    }

    fn step(&self, step: usize) -> Option<&Step> {
        let request = self.request_of(step);
        self.logs.get(request)?.steps.get(step - self.begins.get(request)?)
    }

    /// Goes to after so many steps. Forward it only adds; back it composes one request anew.
    fn seek(&mut self, to: usize) {
        let to = to.min(self.len());
        let begun = |done: usize| match done {
            0 => 0,
            done if done == self.len() => self.logs.len(),
            done => self.request_of(done - 1) + 1,
        };
        let begun = begun(to);
        let mut from = self.at;
        if to < from {
            self.texts.truncate(begun.saturating_sub(1));
            // The steps of the requests that are kept are done.
            from = begun.checked_sub(1).and_then(|last| self.begins.get(last)).map_or(0, |&begin| begin.min(to));
        }
        self.texts.resize_with(begun, RequestText::default);
        for step in from..to {
            let request = self.request_of(step);
            let begin = self.begins.get(request).copied().unwrap_or(step);
            let step = self.logs.get(request).and_then(|log| log.steps.get(step - begin));
            if let (Some(step), Some(text)) = (step, self.texts.get_mut(request)) {
                text.apply(&step.what);
            }
        }
        self.at = to;
        self.waited = 0.0;
    }

    /// The text of each request as it stands at this moment of the replay; requests not begun have none.
    pub(crate) fn texts(&self) -> &[RequestText] {
        &self.texts
    }

    /// The requests that have begun, with their texts.
    pub(crate) fn requests(&self) -> impl Iterator<Item = (&RequestLog, &RequestText)> {
        self.logs.iter().zip(&self.texts)
    }

    /// The last step that was done, as request and step of the request; none at the beginning.
    #[cfg(test)]
    pub(crate) fn current(&self) -> Option<(usize, usize)> {
        let step = self.at.checked_sub(1)?;
        let request = self.request_of(step);
        Some((request, step - self.begins.get(request)?))
    }

    /// Steps of all requests.
    pub(crate) fn len(&self) -> usize {
        self.due.len()
    }

    /// Steps done.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Whether all steps are done.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.len()
    }

    /// Rounds committed so far, of all requests.
    pub(crate) fn rounds_done(&self) -> usize {
        self.commits.partition_point(|&commit| commit <= self.at)
    }

    /// Rounds of all requests.
    pub(crate) fn rounds(&self) -> usize {
        self.commits.len()
    }

    /// Where the measured clock stands, milliseconds.
    pub(crate) fn clock_ms(&self) -> f64 {
        let done = self.due_ms(self.at);
        done + (self.due_ms(self.at + 1) - done) * self.waited
    }

    /// Where the measured clock ends, milliseconds.
    pub(crate) fn length_ms(&self) -> f64 {
        self.due_ms(self.len())
    }
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod replay_tests;
