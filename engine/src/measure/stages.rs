//! The stages of one request: vision, prefill, an AR forward, a draft and a verify forward after the prompt.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::work::{self, Work};
use super::{MeasureError, Prepared, go_on, milliseconds};
use crate::checkpoint::ModelConfig;
use crate::decode::{Drafter, Mask, Target};
use crate::model::Model;

/// How often the short stages are timed after each prefill.
const FORWARDS: usize = 3;

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

/// Every timed forward, by stage. All of them work after the prompt and leave nothing behind it in the cache.
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
}

/// Runs every stage of a request and adds its times.
pub(super) fn run(
    model: &Model,
    config: &ModelConfig,
    request: &Prepared,
    drafter: Option<Drafter>,
    cancel: &AtomicBool,
    stages: &mut Stages,
) -> Result<(), MeasureError> {
    go_on(cancel)?;
    let start = Instant::now();
    let image = model.encode_image(&request.patches);
    stages.vision.push(Sample { ms: milliseconds(start), work: work::vision(&config.vision, request.size.patches) });

    go_on(cancel)?;
    let past = request.prompt.len();
    let mut session = model.session(&request.prompt, &image);
    let start = Instant::now();
    let first = session.prefill()?.id;
    stages.prefill.push(Sample { ms: milliseconds(start), work: work::decoder(config, past, 0, Mask::Causal, 1) });

    let mut peaks = Vec::new();
    let mut forward = |window: &[u32], mask: Mask, samples: &mut Vec<Sample>| -> Result<Vec<u32>, MeasureError> {
        go_on(cancel)?;
        let start = Instant::now();
        session.forward(window, mask, &mut peaks)?;
        let ms = milliseconds(start);
        session.truncate(past);
        let rows = window.len();
        samples.push(Sample { ms, work: work::decoder(config, rows, past, mask, rows) });
        Ok(peaks.iter().map(|peak| peak.id).collect())
    };
    for _ in 0..FORWARDS {
        forward(&[first], Mask::Causal, &mut stages.ar)?;
        if let Some(Drafter { block, mask }) = drafter {
            let mut window = vec![mask; block + 1];
            window[0] = first;
            let drafted = forward(&window, Mask::Draft, &mut stages.draft)?;
            forward(&drafted, Mask::Causal, &mut stages.verify)?;
        }
    }
    Ok(())
}
