//! The seam between decoding and a model: prefill, forward a window under a mask, truncate the cache.

use super::{Committed, Drafter, Origin};
use crate::cancel::Cancelled;

/// What the rows of a window may attend to, besides the whole cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mask {
    /// Each row sees the rows before it and itself.
    Causal,
    /// Row 0 sees itself; the others see the whole window.
    Draft,
    /// Every row sees the whole window.
    Block,
}

impl Mask {
    /// How many of the `past + rows` keys row `row` sees: always a prefix.
    pub fn visible(self, past: usize, rows: usize, row: usize) -> usize {
        match self {
            Mask::Causal => past + row + 1,
            Mask::Draft if row == 0 => past + 1,
            Mask::Draft | Mask::Block => past + rows,
        }
    }
}

/// A row's arg-max.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// The token.
    pub id: u32,
    /// Its softmax probability, 0..=1.
    pub probability: f32,
}

impl Peak {
    pub(super) fn committed(self, origin: Origin) -> Committed {
        Committed { id: self.id, origin, confidence: self.probability }
    }
}

/// Why a forward gave nothing; displays as one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// It failed, for this reason.
    #[error("{0}")]
    Failed(String),
    /// It was no longer wanted. The target is of no more use: its cache holds a part of the forward.
    #[error("the request was cancelled")]
    Cancelled,
}

impl TargetError {
    /// A failure with its sentence.
    pub fn failed(sentence: impl Into<String>) -> Self {
        Self::Failed(sentence.into())
    }
}

impl From<Cancelled> for TargetError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// A draft, its verification and what was accepted, as a device gives it that does a whole round by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Fused {
    /// `a0` and `d_1 ..= d_L`: a device that serves many requests at once may draft fewer than B tokens.
    pub draft: Vec<Peak>,
    /// `a_1 ..= a_(L+1)`.
    pub verify: Vec<Peak>,
    /// How many drafts were accepted, at most L.
    pub accepted: usize,
    /// Time of the draft forward, milliseconds.
    pub draft_ms: f64,
    /// Time of the verify forward and of the acceptance, milliseconds.
    pub verify_ms: f64,
}

/// A model with one request's cache. A CPU session today; a device, or a script in tests.
pub trait Target {
    /// Runs the prompt, leaving its keys and values in the cache; predicts the first token.
    fn prefill(&mut self) -> Result<Peak, TargetError>;

    /// Runs `window` (at least one token) after the cached tokens and appends the keys and values of all its rows. Puts
    /// each row's arg-max over the vocabulary into `peaks`, row `j` predicting the token after `window[j]`.
    fn forward(&mut self, window: &[u32], mask: Mask, peaks: &mut Vec<Peak>) -> Result<(), TargetError>;

    /// Does a whole greedy round after the boundary token: drafts, verifies, accepts, and keeps in the cache the boundary,
    /// `a0` and the accepted drafts. At most `room` tokens are wanted of this round and the following ones, so that a
    /// target that works ahead knows when to stop. `None` where the target has no such thing; then the loop does it by
    /// forwards.
    fn round(&mut self, _boundary: u32, _drafter: Drafter, _room: usize) -> Result<Option<Fused>, TargetError> {
        Ok(None)
    }

    /// Does a greedy step after the boundary token, which it keeps in the cache: the next token, and the milliseconds of
    /// its forward. `room` as for [`round`](Self::round); `None` where the target has no such thing.
    fn token(&mut self, _boundary: u32, _room: usize) -> Result<Option<(Peak, f64)>, TargetError> {
        Ok(None)
    }

    /// Tokens in the cache.
    fn cached(&self) -> usize;

    /// Forgets all but the first `tokens` tokens of the cache.
    fn truncate(&mut self, tokens: usize);

    /// Whether the logits of forwards from now on are to be kept. They are not unless asked for: a window's are tens of
    /// megabytes on large vocabularies.
    fn keep_logits(&mut self, keep: bool);

    /// All logits of row `row` of the latest forward (of the prefill: row 0); empty when they were not kept.
    fn logits(&self, row: usize) -> &[f32];
}
