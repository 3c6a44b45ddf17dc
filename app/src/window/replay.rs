//! Playing a finished region again from its record, at any speed.

use super::log::{LiveText, RequestLog};
use super::project::RegionId;

/// A replay that is open.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    pub(crate) region: RegionId,
    logs: Vec<RequestLog>,
    /// Steps done, counted through all requests in reading order.
    at: usize,
    pub(crate) playing: bool,
    /// Times the measured pace.
    pub(crate) speed: f32,
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
    Speed(f32),
}

impl Replay {
    /// Opens a replay at its start.
    pub(crate) fn open(region: RegionId, logs: Vec<RequestLog>) -> Self {
        Self { region, logs, at: 0, playing: false, speed: 1.0 }
    }

    /// Does what a person asks.
    pub(crate) fn ask(&mut self, ask: ReplayAsk) {
        let _ = ask;
    }

    /// The text of each request as it stands at this moment of the replay; requests not begun have none.
    pub(crate) fn texts(&self) -> Vec<LiveText> {
        Vec::new()
    }
}
