//! Decoding: autoregressive, self-speculative and by unverified diffusion, over one narrow seam to the model.
//!
//! The loops know no device and no model: they talk to a [`Target`]. What they commit goes through one `CommitLog`, which
//! alone knows about end tokens, the length limit and cancelling, so that these behave alike in every mode.

mod ar;
mod commit_log;
mod diffusion;
mod refine;
mod round;
mod sampling;
mod spec;
mod target;

pub use commit_log::{Limits, Observer, Stop};
pub use round::{Committed, FillStep, Origin, Round};
pub use sampling::Sampling;
pub use target::{Fused, Mask, Peak, Target, TargetError};

use std::time::Instant;

use commit_log::CommitLog;

/// How tokens are found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decode {
    /// One token per forward.
    Ar,
    /// Self-speculative: draft a block, verify it. `steps` forwards fill the draft (1: all at once, the default).
    Spec {
        /// Draft forwards per round, at least 1.
        steps: u32,
    },
    /// A block at a time without verification.
    Diffusion {
        /// A step commits every position whose probability exceeds this (and at least one).
        tau: f32,
        /// Whether the block's first row sees only the past and itself instead of the whole block.
        causal_seed: bool,
    },
}

impl Decode {
    /// Self-speculative decoding with full drafts.
    pub const SPEC: Decode = Decode::Spec { steps: 1 };
}

/// What drafting needs to know of a checkpoint (`block_diffusion.json`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drafter {
    /// Tokens per block, B.
    pub block: usize,
    /// The mask token.
    pub mask: u32,
}

/// The outcome of one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// Committed tokens, the end token (if reached) last.
    pub tokens: Vec<u32>,
    /// Why it stopped.
    pub stop: Stop,
    /// Every round, round 0 being the prefill.
    pub rounds: Vec<Round>,
}

impl Decoded {
    /// Decoder forwards, prefill not counted.
    pub fn forwards(&self) -> u32 {
        self.rounds.iter().map(|r| r.draft_forwards + r.verify_forwards).sum()
    }
}

/// Decodes one request to its end token, the length limit or a cancel.
///
/// Without `sampling` every mode is greedy, and [`Decode::Spec`] gives the tokens of [`Decode::Ar`]. `drafter` is needed
/// by every mode but AR. Diffusion, which verifies nothing, is greedy in any case. Fails when a forward fails; what was
/// committed by then was observed. A forward that was cancelled is no failure: it commits nothing, and the rounds before it
/// are what was decoded.
pub fn decode(
    target: &mut dyn Target,
    mode: Decode,
    drafter: Option<Drafter>,
    sampling: Option<Sampling>,
    limits: &Limits<'_>,
    observer: &mut dyn Observer,
) -> Result<Decoded, TargetError> {
    let mut log = CommitLog::new(limits, observer);
    let sampling = sampling.filter(|_| !matches!(mode, Decode::Diffusion { .. }));
    let chooser = sampling::Chooser::new(sampling);
    let drafter = match (mode, drafter) {
        (Decode::Ar, _) => None,
        (_, Some(drafter)) if drafter.block > 0 => Some(drafter),
        _ => {
            return Err(TargetError::failed(
                "this checkpoint cannot draft, so only autoregressive decoding is offered",
            ));
        }
    };
    target.keep_logits(chooser.samples());
    match run(target, mode, drafter, chooser, &mut log) {
        Ok(()) | Err(TargetError::Cancelled) => Ok(log.close()),
        Err(failed) => Err(failed),
    }
}

/// The rounds of a mode, until decoding is over.
fn run(
    target: &mut dyn Target,
    mode: Decode,
    drafter: Option<Drafter>,
    mut chooser: sampling::Chooser,
    log: &mut CommitLog<'_, '_>,
) -> Result<(), TargetError> {
    let Some(first) = prefill(target, log, &mut chooser)? else { return Ok(()) };
    match (mode, drafter) {
        (Decode::Spec { steps }, Some(drafter)) => spec::run(target, first, drafter, steps.max(1), &mut chooser, log),
        (Decode::Diffusion { tau, causal_seed }, Some(drafter)) => {
            let mask = if causal_seed { Mask::Draft } else { Mask::Block };
            diffusion::run(target, first, drafter, tau, mask, log)
        }
        _ => ar::run(target, first, &mut chooser, log),
    }
}

/// Round 0: the prompt's forward, which predicts the first token. None when decoding is already over.
fn prefill(
    target: &mut dyn Target,
    log: &mut CommitLog<'_, '_>,
    chooser: &mut sampling::Chooser,
) -> Result<Option<u32>, TargetError> {
    if log.is_over() {
        return Ok(None);
    }
    let start = Instant::now();
    let peak = target.prefill()?;
    let prefill_ms = start.elapsed().as_secs_f64() * 1e3;
    let first = chooser.choose(target, 0, peak);
    log.commit(Round { committed: vec![first.committed(Origin::Causal)], prefill_ms, ..Round::default() });
    Ok((!log.is_over()).then_some(first.id))
}

/// Runs a forward and says how many milliseconds it took.
fn timed(
    target: &mut dyn Target,
    window: &[u32],
    mask: Mask,
    peaks: &mut Vec<Peak>,
    ms: &mut f64,
) -> Result<(), TargetError> {
    let start = Instant::now();
    target.forward(window, mask, peaks)?;
    *ms += start.elapsed().as_secs_f64() * 1e3;
    Ok(())
}

#[cfg(test)]
mod decode_tests;
