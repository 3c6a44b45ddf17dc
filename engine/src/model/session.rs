//! One request on a model: its cache and its latest logits.

use kernels::KeyValues;

use super::rope::prompt_positions;
use super::text::{Window, Workspace};
use super::vision::ImageFeatures;
use super::{Model, Probe};
use crate::cancel::Cancel;
use crate::decode::{Mask, Peak, Target, TargetError};

/// One request. Sessions of one model may run side by side on several threads.
pub struct Session<'m> {
    model: &'m Model,
    cancel: Cancel,
    cache: Vec<KeyValues>,
    /// Tokens in the cache.
    cached: usize,
    /// The prompt's embeddings with the image in place, and their positions.
    prompt: Vec<f32>,
    positions: Vec<[u32; 3]>,
    /// Position of the first token after the prompt, on all three axes.
    next_position: u32,
    work: Workspace,
    /// Logits of the latest forward, `[rows, vocab]`, where they are kept.
    logits: Vec<f32>,
    keep_logits: bool,
    /// Positions of the latest window.
    window: Vec<[u32; 3]>,
}

impl<'m> Session<'m> {
    pub(super) fn new(model: &'m Model, prompt: &[u32], image: &ImageFeatures, cancel: &Cancel) -> Self {
        let token = model.config.image_token_id;
        let (positions, next_position) = prompt_positions(prompt, token, image.grid);
        let hidden = model.config.text.hidden_size;
        let mut rows = Vec::new();
        model.text.embed(prompt, &mut rows);
        let places = prompt.iter().enumerate().filter(|&(_, &id)| id == token).map(|(at, _)| at);
        for (at, features) in places.zip(image.rows.chunks_exact(hidden)) {
            rows[at * hidden..(at + 1) * hidden].copy_from_slice(features);
        }
        Self {
            model,
            cancel: cancel.clone(),
            cache: model.text.cache(&model.kernel),
            cached: 0,
            prompt: rows,
            positions,
            next_position,
            work: Workspace::default(),
            logits: Vec::new(),
            keep_logits: false,
            window: Vec::new(),
        }
    }

    /// As [`Target::prefill`], telling intermediate results.
    pub fn prefill_probed(&mut self, probe: Probe<'_>) -> Result<Peak, TargetError> {
        if self.positions.is_empty() {
            return Err(TargetError::failed("the checkpoint's chat template gives an empty prompt"));
        }
        self.truncate(0);
        probe("inputs_embeds", &self.prompt);
        self.work.hidden.clone_from(&self.prompt);
        let positions = std::mem::take(&mut self.positions);
        let mut peaks = Vec::new();
        let done = self.run(&positions, Mask::Causal, positions.len() - 1, &mut peaks, probe);
        self.positions = positions;
        done.map(|()| peaks[0])
    }

    /// Runs the embedded rows at these positions, and finds the arg-max of those from `first` on.
    fn run(
        &mut self,
        positions: &[[u32; 3]],
        mask: Mask,
        first: usize,
        peaks: &mut Vec<Peak>,
        probe: Probe<'_>,
    ) -> Result<(), TargetError> {
        let (text, kernel) = (&self.model.text, &self.model.kernel.until(self.cancel.flag()));
        let window = Window { positions, past: self.cached, mask };
        text.forward(kernel, window, &mut self.cache, &mut self.work, probe)?;
        let logits = self.keep_logits.then_some(&mut self.logits);
        text.peaks(kernel, &mut self.work, first, logits, peaks, probe)?;
        self.cached += positions.len();
        Ok(())
    }
}

impl Target for Session<'_> {
    fn prefill(&mut self) -> Result<Peak, TargetError> {
        self.prefill_probed(&mut |_, _| {})
    }

    fn forward(&mut self, window: &[u32], mask: Mask, peaks: &mut Vec<Peak>) -> Result<(), TargetError> {
        let start = self.next_position + self.cached.saturating_sub(self.positions.len()) as u32;
        let mut positions = std::mem::take(&mut self.window);
        positions.clear();
        positions.extend((start..).take(window.len()).map(|p| [p; 3]));
        self.model.text.embed(window, &mut self.work.hidden);
        let done = self.run(&positions, mask, 0, peaks, &mut |_, _| {});
        self.window = positions;
        done
    }

    fn cached(&self) -> usize {
        self.cached
    }

    fn truncate(&mut self, tokens: usize) {
        self.cached = self.cached.min(tokens);
        self.cache.iter_mut().for_each(|layer| layer.truncate(self.cached));
    }

    fn keep_logits(&mut self, keep: bool) {
        self.keep_logits = keep;
    }

    fn logits(&self, row: usize) -> &[f32] {
        let vocab = self.model.config.text.vocab_size;
        self.logits.get(row * vocab..(row + 1) * vocab).unwrap_or_default()
    }
}
