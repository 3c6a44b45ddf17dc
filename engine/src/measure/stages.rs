//! The stages of one request: vision, prefill, then after the prompt an AR forward, a draft and a verify forward; and
//! tokens and rounds as decoding waits for them where a card does them by itself, one ahead.

use std::time::Instant;

use super::backend::Backend;
use super::work::{self, Work};
use super::{MeasureError, Prepared, milliseconds};
use crate::cancel::Cancel;
use crate::checkpoint::ModelConfig;
use crate::decode::{Drafter, Fused, Mask, Target, TargetError};

/// How often each short stage is timed after a prefill.
const STEPS: usize = 3;

/// One timed forward.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Milliseconds.
    pub ms: f64,
    /// What it computed.
    pub work: Work,
}

/// A request's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestSize {
    /// Width of its picture, pixels.
    pub width: u32,
    /// Height of its picture, pixels.
    pub height: u32,
    /// Patches of the vision tower.
    pub patches: usize,
    /// Tokens of the prompt, those of the image among them.
    pub prompt_tokens: usize,
}

/// Every timed forward, by stage. All of them work after the prompt; whole tokens and rounds follow each other there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stages {
    /// The requests, one a picture.
    pub requests: Vec<RequestSize>,
    /// The vision tower and the merger.
    pub vision: Vec<Sample>,
    /// The prompt's forward.
    pub prefill: Vec<Sample>,
    /// A forward of one token.
    pub ar: Vec<Sample>,
    /// A draft forward, `[x0, MASK x B]`; none where the checkpoint does not draft.
    pub draft: Vec<Sample>,
    /// A verify forward, `[a0, d_1 ..= d_B]`.
    pub verify: Vec<Sample>,
    /// A token as decoding waits for it, where a card works ahead of what it is asked for.
    pub token: Vec<Sample>,
    /// A round as decoding waits for it: draft, verification and acceptance in one. None where rounds are made of forwards.
    pub round: Vec<Sample>,
    /// The round's draft, by the card's own clock.
    pub round_draft: Vec<Sample>,
    /// The round's verification and acceptance, by the card's own clock.
    pub round_verify: Vec<Sample>,
}

/// Runs every stage of a request and adds its times.
pub(super) fn run(
    backend: &Backend,
    config: &ModelConfig,
    request: &Prepared,
    drafter: Option<Drafter>,
    cancel: &Cancel,
    stages: &mut Stages,
) -> Result<(), MeasureError> {
    cancel.check()?;
    let start = Instant::now();
    let image = backend.encode_image(&request.patches, cancel)?;
    stages.vision.push(Sample { ms: milliseconds(start), work: work::vision(&config.vision, request.size.patches) });

    cancel.check()?;
    let past = request.prompt.len();
    let steps = (STEPS + 1) * drafter.map_or(1, |drafter| drafter.block + 2);
    let mut session = backend.session(&request.prompt, &image, steps, cancel)?;
    let start = Instant::now();
    let first = session.prefill()?.id;
    stages.prefill.push(Sample { ms: milliseconds(start), work: work::decoder(config, past, 0, Mask::Causal, 1) });

    let mut peaks = Vec::new();
    for _ in 0..STEPS {
        let mut forward = |window: &[u32], mask: Mask, samples: &mut Vec<Sample>| -> Result<Vec<u32>, MeasureError> {
            cancel.check()?;
            let start = Instant::now();
            session.forward(window, mask, &mut peaks)?;
            let ms = milliseconds(start);
            session.truncate(past);
            let rows = window.len();
            samples.push(Sample { ms, work: work::decoder(config, rows, past, mask, rows) });
            Ok(peaks.iter().map(|peak| peak.id).collect())
        };
        forward(&[first], Mask::Causal, &mut stages.ar)?;
        if let Some(Drafter { block, mask }) = drafter {
            let mut window = vec![mask; block + 1];
            window[0] = first;
            let drafted = forward(&window, Mask::Draft, &mut stages.draft)?;
            forward(&drafted, Mask::Causal, &mut stages.verify)?;
        }
    }
    let token =
        |session: &mut dyn Target, boundary| Ok(session.token(boundary, usize::MAX)?.map(|(next, _)| ((), next.id)));
    ahead(session.as_mut(), first, cancel, token, |(), ms, cached| {
        stages.token.push(Sample { ms, work: work::decoder(config, 1, cached, Mask::Causal, 1) });
    })?;
    let Some(drafter) = drafter else { return Ok(()) };
    let round = |session: &mut dyn Target, boundary| round(session, boundary, drafter);
    ahead(session.as_mut(), first, cancel, round, |done, ms, cached| {
        // The draft writes the boundary, the verifier's window comes after it.
        let rows = done.verify.len();
        let draft = work::decoder(config, rows, cached, Mask::Draft, rows);
        let verify = work::decoder(config, rows, cached + 1, Mask::Causal, rows);
        stages.round.push(Sample { ms, work: draft + verify });
        stages.round_draft.push(Sample { ms: done.draft_ms, work: draft });
        stages.round_verify.push(Sample { ms: done.verify_ms, work: verify });
    })
}

/// Decodes on, step by step, where a card takes such steps by itself, one ahead. `step` gives what it did and the next
/// boundary token; `note` hears of it with its milliseconds and the tokens that were in the cache.
fn ahead<T>(
    session: &mut dyn Target,
    first: u32,
    cancel: &Cancel,
    step: impl Fn(&mut dyn Target, u32) -> Result<Option<(T, u32)>, TargetError>,
    mut note: impl FnMut(T, f64, usize),
) -> Result<(), MeasureError> {
    let (past, mut boundary) = (session.cached(), first);
    for at in 0..=STEPS {
        cancel.check()?;
        let cached = session.cached();
        let start = Instant::now();
        let Some((done, next)) = step(session, boundary)? else { return Ok(()) };
        let ms = milliseconds(start);
        // Nothing was done ahead of the first.
        if at > 0 {
            note(done, ms, cached);
        }
        boundary = next;
    }
    // Waits for what is done ahead, so that nothing that is timed next waits for it.
    session.truncate(past);
    session.forward(&[first], Mask::Causal, &mut Vec::new())?;
    session.truncate(past);
    Ok(())
}

/// A round, and the boundary token of the next. `None` where rounds are made of forwards.
pub(super) fn round(
    session: &mut dyn Target,
    boundary: u32,
    drafter: Drafter,
) -> Result<Option<(Fused, u32)>, TargetError> {
    let Some(round) = session.round(boundary, drafter, usize::MAX)? else { return Ok(None) };
    let next = round.verify.get(round.accepted).map_or(boundary, |peak| peak.id);
    Ok(Some((round, next)))
}
