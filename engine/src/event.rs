//! What the engine tells its listeners: self-contained events, the same for a window, a terminal and a server. A
//! recorded list of them can stand in for the engine.

use serde::{Deserialize, Serialize};

use crate::decode::Origin;
use crate::page::{Figure, PageResult, Reading, Status, Timings};
use crate::recognizer::Step;
use crate::region::{Rect, Region};

/// Names one request of a job: page and region from 0, and which of the region's requests (a line reader makes several).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestId {
    /// Page number in the document, from 0.
    pub page: usize,
    /// Region number on the page, from 0, in reading order.
    pub region: usize,
    /// Request number in the region, from 0.
    pub request: usize,
}

/// A run of whole characters that one round committed in one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// The characters; never a part of one. Bytes of a character that is still incomplete wait for the round that
    /// completes it.
    pub text: String,
    /// The round that committed (the last byte of) each of them.
    pub round: u32,
    /// How.
    pub origin: Origin,
}

/// What happened to a job.
///
/// `Opened` comes first (a job whose file cannot be opened has none), `Finished` last. Pages start in order and end in
/// order, and so do the regions of a page; but the next page may start before one has ended, and requests interleave:
/// several are read side by side. A page that has started ends, also when the job is cancelled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The file was opened; `pages` are the page numbers that will be read, in order.
    Opened {
        /// Pages in the whole document.
        page_count: usize,
        /// The pages that will be read, from 0.
        pages: Vec<usize>,
    },
    /// A page was rasterised, its regions are known, and its reading begins.
    PageStarted {
        /// Page number, from 0.
        page: usize,
        /// Raster width, pixels.
        width: u32,
        /// Raster height, pixels.
        height: u32,
        /// Regions in reading order.
        regions: Vec<Region>,
        /// Something to tell about how the page was made, such as a reduced resolution.
        notice: Option<String>,
    },
    /// A request went to the model.
    RequestStarted {
        /// Which.
        id: RequestId,
        /// The part of the page being read.
        bounds: Rect,
    },
    /// A draft awaits its verification.
    Drafted {
        /// Which request.
        id: RequestId,
        /// Milliseconds since the request started.
        at_ms: f64,
        /// The round.
        round: u32,
        /// The drafted text (characters cut short at the end of the draft are left out), to be shown as a ghost.
        text: String,
    },
    /// A round was committed.
    Committed {
        /// Which request.
        id: RequestId,
        /// Milliseconds since the request started.
        at_ms: f64,
        /// The round.
        round: u32,
        /// Drafted tokens.
        drafted: u32,
        /// Accepted ones of them.
        accepted: u32,
        /// Tokens committed.
        tokens: u32,
        /// Decoder forwards that the round took, draft and verify alike; 0 for the prefill.
        forwards: u32,
        /// The new text; empty while a character is incomplete.
        pieces: Vec<Piece>,
    },
    /// What reads failed on a request: what was read of it is void, and another recognizer reads it from its beginning.
    RequestRestarted {
        /// Which.
        id: RequestId,
        /// The part of the page being read.
        bounds: Rect,
        /// One sentence: why, and who reads it now.
        reason: String,
    },
    /// A request ended.
    RequestFinished {
        /// Which.
        id: RequestId,
        /// How.
        status: Status,
        /// Where its time went.
        timings: Timings,
    },
    /// A region is complete: its text is cleaned up and joined.
    RegionFinished {
        /// Page number, from 0.
        page: usize,
        /// Region number on the page.
        region: usize,
        /// How it ended.
        status: Status,
        /// Its content, as in `RegionResult::text`.
        text: String,
        /// The requests it took, in reading order.
        readings: Vec<Reading>,
    },
    /// A page is complete. Figures are handed over here and not kept.
    PageFinished {
        /// The whole result.
        page: Box<PageResult>,
        /// Its pictures.
        figures: Vec<Figure>,
    },
    /// A page could not be read; the others go on.
    PageFailed {
        /// Page number, from 0.
        page: usize,
        /// One sentence: what and what to do.
        message: String,
    },
    /// The job is over. Always the last event.
    Finished {
        /// How.
        outcome: Outcome,
    },
}

impl Event {
    /// What a listener hears of a request's step.
    pub(crate) fn of_step(id: RequestId, bounds: Rect, step: Step) -> Self {
        match step {
            Step::Started => Event::RequestStarted { id, bounds },
            Step::Drafted { at_ms, round, text } => Event::Drafted { id, at_ms, round, text },
            Step::Committed { at_ms, round, drafted, accepted, tokens, forwards, pieces } => {
                Event::Committed { id, at_ms, round, drafted, accepted, tokens, forwards, pieces }
            }
            Step::Restarted { reason } => Event::RequestRestarted { id, bounds, reason },
        }
    }

    /// The step of a request that it tells, if it tells one.
    pub(crate) fn step(&self) -> Option<(RequestId, Step)> {
        match self.clone() {
            Event::RequestStarted { id, .. } => Some((id, Step::Started)),
            Event::Drafted { id, at_ms, round, text } => Some((id, Step::Drafted { at_ms, round, text })),
            Event::Committed { id, at_ms, round, drafted, accepted, tokens, forwards, pieces } => {
                Some((id, Step::Committed { at_ms, round, drafted, accepted, tokens, forwards, pieces }))
            }
            Event::RequestRestarted { id, reason, .. } => Some((id, Step::Restarted { reason })),
            _ => None,
        }
    }
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every selected page was read (pages may have failed one by one).
    Completed,
    /// The user cancelled it; finished regions were kept.
    Cancelled,
    /// The file could not be read at all; the sentence says why.
    Failed(String),
}
