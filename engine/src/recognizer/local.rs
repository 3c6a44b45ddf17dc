//! What the processor and a card do alike with a request: its picture becomes patches, its prompt ids, its tokens text.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use super::live::Live;
use super::{Abilities, Answer, Request, Sink};
use crate::assemble::cut_loop;
use crate::cancel::Cancel;
use crate::checkpoint::{Checkpoint, Unit};
use crate::decode::{Drafter, Limits, Round, Stop, Target, decode};
use crate::model::ImageFeatures;
use crate::model::image_processor::{ImageError, ImageProcessor, Patches};
use crate::page::Status;

/// A checkpoint's way to make requests of pictures, and text of tokens.
pub(super) struct Local {
    pub(super) checkpoint: Checkpoint,
    processor: ImageProcessor,
}

/// A request ready for the model.
pub(super) struct Prepared {
    /// When its reading began.
    pub(super) start: Instant,
    pub(super) patches: Patches,
    pub(super) prompt: Vec<u32>,
}

impl Local {
    pub(super) fn new(checkpoint: Checkpoint) -> Self {
        Self { processor: ImageProcessor::new(checkpoint.processor.clone()), checkpoint }
    }

    /// What the checkpoint takes, of which so many requests run side by side.
    pub(super) fn abilities(&self, concurrency: usize) -> Abilities {
        let traits = &self.checkpoint.traits;
        Abilities {
            unit: traits.unit,
            tasks: traits.tasks.clone(),
            free_prompts: traits.unit == Unit::Region,
            only_ar: self.checkpoint.why_not(),
            concurrency,
        }
    }

    /// The patches of a request's picture, and the ids of its prompt; none when it is cancelled meanwhile.
    pub(super) fn prepare(&self, request: &Request, cancel: &Cancel) -> Result<Option<Prepared>, String> {
        let start = Instant::now();
        let patches = match self.processor.process_until(&request.image, cancel) {
            Err(ImageError::Cancelled) => return Ok(None),
            patches => patches.map_err(|e| e.to_string())?,
        };
        let tokens = patches.tokens(self.processor.config().merge_size);
        let prompt = self.checkpoint.prompt_of(request.prompt.text(), tokens).map_err(|e| e.to_string())?;
        Ok(Some(Prepared { start, patches, prompt }))
    }

    /// The most tokens that an answer can sensibly have. A line's length is bounded by its strip: more than eight tokens
    /// on each 28 pixels is a loop.
    pub(super) fn max_tokens(request: &Request, image: &ImageFeatures) -> usize {
        let by_width = if request.is_line { 32 + 8 * image.grid[0] * image.grid[1] } else { usize::MAX };
        request.options.max_tokens.min(by_width)
    }

    /// Decodes a request, live; what was read is in `answer`, also when a forward fails.
    pub(super) fn converse(
        &self,
        target: &mut dyn Target,
        (drafter, max_tokens): (Option<Drafter>, usize),
        request: &Request,
        start: Instant,
        (sink, cancel): (&dyn Sink, &Cancel),
        answer: &mut Answer,
    ) -> Result<(), String> {
        let task = request.prompt.task();
        let limits = Limits { max_tokens, end_tokens: &self.checkpoint.end_tokens, cancel };
        let mut live = Live::new(start, task, &self.checkpoint, sink);
        let options = &request.options;
        let decoded = decode(target, options.decode, drafter, options.sampling, &limits, &mut live);
        answer.text = live.finish();
        let decoded = decoded.map_err(|e| e.to_string())?;

        let total = |ms: fn(&Round) -> f64| decoded.rounds.iter().map(ms).sum::<f64>();
        answer.timings.draft_ms = total(|round| round.draft_ms);
        answer.timings.verify_ms = total(|round| round.verify_ms);
        answer.timings.prefill_ms = decoded.rounds.first().map_or(0.0, |round| round.prefill_ms);
        answer.status = match decoded.stop {
            Stop::End => Status::Done,
            Stop::Length => Status::Truncated,
            Stop::Cancelled => Status::Cancelled,
            Stop::Observer => Status::LoopStopped,
        };
        answer.rounds = decoded.rounds;
        if let Some(cut) = cut_loop(&answer.text, task) {
            answer.text = cut;
            answer.status = Status::LoopStopped;
        }
        Ok(())
    }
}

/// Runs a part of the reading: a fault of ours in one request is its failure.
pub(super) fn guarded<T>(read: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let caught = catch_unwind(AssertUnwindSafe(read));
    caught.unwrap_or_else(|_| Err("an internal error stopped this region".to_owned()))
}

pub(super) fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}
