//! What was measured of one way to decode.

use engine::page::Reading;

use crate::window::workspace::chart::{Figures, total_ms};
use crate::window::workspace::log::RequestLog;
use crate::window::workspace::replay::Replay;

/// One way's runs, and the replay of the one that counts.
#[derive(Default)]
pub(crate) struct Lane {
    pub(crate) runs: Vec<Measured>,
    pub(crate) replay: Option<Replay>,
}

/// One run.
#[derive(Debug, PartialEq)]
pub(crate) struct Measured {
    pub(crate) logs: Vec<RequestLog>,
    pub(crate) figures: Figures,
    /// The committed tokens of each request.
    ids: Vec<Vec<u32>>,
}

/// Whether both ways gave the same tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Same {
        tokens: usize,
    },
    /// The first place at which runs differ, both from 0.
    Differ {
        request: usize,
        token: usize,
    },
}

impl Measured {
    /// What was seen of a run, and the engine's record of it.
    pub(crate) fn new(logs: Vec<RequestLog>, readings: &[Reading]) -> Self {
        let committed = |reading: &Reading| -> Vec<u32> {
            reading.rounds.iter().flat_map(|round| &round.committed).map(|token| token.id).collect()
        };
        Self { figures: logs.iter().collect(), ids: readings.iter().map(committed).collect(), logs }
    }

    /// Time of the decoder's forwards, milliseconds; none when it was not taken.
    pub(crate) fn decode_ms(&self) -> Option<f64> {
        self.figures.times().map(|times| times.draft_ms + times.verify_ms).filter(|ms| *ms > 0.0)
    }

    /// Vision, prompt and decoding, milliseconds.
    pub(crate) fn whole_ms(&self) -> Option<f64> {
        self.figures.times().map(total_ms)
    }

    /// Committed tokens.
    pub(crate) fn tokens(&self) -> usize {
        self.ids.iter().map(Vec::len).sum()
    }

    /// The first place, as request and token, at which two runs committed different tokens.
    pub(crate) fn differs(&self, other: &Self) -> Option<(usize, usize)> {
        (0..self.ids.len().max(other.ids.len())).find_map(|request| {
            let ours = self.ids.get(request).map_or(&[][..], Vec::as_slice);
            let theirs = other.ids.get(request).map_or(&[][..], Vec::as_slice);
            let token = (0..ours.len().max(theirs.len())).find(|&token| ours.get(token) != theirs.get(token))?;
            Some((request, token))
        })
    }
}

impl Lane {
    /// The run that counts: the middle one by the time of decoding.
    pub(crate) fn median(&self) -> Option<&Measured> {
        let mut runs: Vec<&Measured> = self.runs.iter().collect();
        runs.sort_by(|a, b| a.decode_ms().unwrap_or(0.0).total_cmp(&b.decode_ms().unwrap_or(0.0)));
        runs.get(runs.len().checked_sub(1)? / 2).copied()
    }

    /// The shortest and the longest time of decoding, milliseconds; none while nothing was measured.
    pub(crate) fn range_ms(&self) -> Option<(f64, f64)> {
        let times: Vec<f64> = self.runs.iter().filter_map(Measured::decode_ms).collect();
        let shortest = times.iter().copied().min_by(f64::total_cmp)?;
        let longest = times.iter().copied().max_by(f64::total_cmp)?;
        Some((shortest, longest))
    }
}
