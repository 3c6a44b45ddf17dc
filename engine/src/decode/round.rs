//! The record of one draft-verify round: what the live view, the replay and the trace file show.

use serde::{Deserialize, Serialize};

/// How a token came to be committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The arg-max of a causal row: the first token of the prompt's forward, `a0` of a draft forward, every AR token.
    Causal,
    /// A drafted token that the verifier accepted.
    Accepted,
    /// The verifier's own token after the first rejected draft.
    Correction,
    /// The verifier's own token after a block accepted in full.
    Bonus,
    /// Committed by unverified diffusion.
    Diffusion,
}

/// One committed token.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Committed {
    /// Token id.
    pub id: u32,
    /// How it was committed.
    pub origin: Origin,
    /// Softmax probability that the committing row gave it, 0..=1.
    pub confidence: f32,
}

/// One forward of a draft that was filled step by step (unverified diffusion, draft refinement).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FillStep {
    /// Which positions of the block were still open before it, counted as in the block (diffusion: 1 is the first after
    /// the seed; refinement: 1 is `d_1`).
    pub open: Vec<u32>,
    /// The softmax probability offered for each of `open`.
    pub confidence: Vec<f32>,
    /// The positions that it filled.
    pub filled: Vec<u32>,
    /// The tokens put there.
    pub tokens: Vec<u32>,
}

/// One round. AR decoding records each token as a round without a draft; prefill's first token is round 0 of every trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Number in its request, from 0 (0 is the prefill).
    pub index: u32,
    /// The drafted tokens `d_1 ..= d_B`; empty where nothing was drafted.
    pub draft: Vec<u32>,
    /// The draft's softmax probabilities, one for each of `draft`.
    pub draft_confidence: Vec<f32>,
    /// The verifier's tokens `a_1 ..= a_(B+1)`; empty where nothing was verified.
    pub verify: Vec<u32>,
    /// How the block was filled, where that took several forwards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<FillStep>,
    /// How many drafts the verifier accepted (before any cut at an end token or limit).
    pub accepted: u32,
    /// What the round committed, in order, cut at an end token (kept as the last) or at the length limit.
    pub committed: Vec<Committed>,
    /// Decoder forwards spent on drafting (AR and diffusion count their forwards here).
    pub draft_forwards: u32,
    /// Decoder forwards spent on verifying.
    pub verify_forwards: u32,
    /// Time of the prompt's forward, milliseconds; round 0 only.
    #[serde(default)]
    pub prefill_ms: f64,
    /// Time of the draft forwards, milliseconds.
    pub draft_ms: f64,
    /// Time of the verify forward, milliseconds.
    pub verify_ms: f64,
}
