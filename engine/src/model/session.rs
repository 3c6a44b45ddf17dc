//! One request on a model: its cache and its latest logits.

use super::cache::LayerCache;
use super::rope::prompt_positions;
use super::text::Window;
use super::vision::ImageFeatures;
use super::{Model, Probe};
use crate::decode::{Mask, Peak, Target, TargetError};

/// One request. Sessions of one model may run side by side on several threads.
pub struct Session<'m> {
    model: &'m Model,
    cache: Vec<LayerCache>,
    /// Tokens in the cache.
    cached: usize,
    /// The prompt's embeddings with the image in place, and their positions.
    prompt: Vec<f32>,
    positions: Vec<[u32; 3]>,
    /// Position of the first token after the prompt, on all three axes.
    next_position: u32,
    /// Logits of the latest forward, `[rows, vocab]`.
    logits: Vec<f32>,
}

impl<'m> Session<'m> {
    pub(super) fn new(model: &'m Model, prompt: &[u32], image: &ImageFeatures) -> Self {
        let token = model.config.image_token_id;
        let (positions, next_position) = prompt_positions(prompt, token, image.grid);
        let hidden = model.config.text.hidden_size;
        let mut rows = model.text.embed(prompt);
        let places = prompt.iter().enumerate().filter(|&(_, &id)| id == token).map(|(at, _)| at);
        for (at, features) in places.zip(image.rows.chunks_exact(hidden)) {
            rows[at * hidden..(at + 1) * hidden].copy_from_slice(features);
        }
        Self { model, cache: model.text.cache(), cached: 0, prompt: rows, positions, next_position, logits: Vec::new() }
    }

    /// As [`Target::prefill`], telling intermediate results.
    pub fn prefill_probed(&mut self, probe: Probe<'_>) -> Result<Peak, TargetError> {
        if self.positions.is_empty() {
            return Err(TargetError::new("the checkpoint's chat template gives an empty prompt"));
        }
        let (model, kernel) = (self.model, &self.model.kernel);
        model.text.truncate(&mut self.cache, 0);
        probe("inputs_embeds", &self.prompt);
        let rows = self.prompt.clone();
        let window = Window { positions: &self.positions, past: 0, mask: Mask::Causal };
        let hidden = model.text.forward(kernel, rows, window, &mut self.cache, probe);
        self.cached = self.positions.len();
        let last = hidden.len() - model.config.text.hidden_size;
        self.logits = model.text.logits(kernel, &hidden[last..], probe);
        Ok(self.peaks()[0])
    }

    fn peaks(&self) -> Vec<Peak> {
        self.logits
            .chunks_exact(self.model.config.text.vocab_size)
            .map(|row| {
                let (id, probability) = self.model.kernel.peak(row);
                Peak { id: id as u32, probability }
            })
            .collect()
    }
}

impl Target for Session<'_> {
    fn prefill(&mut self) -> Result<Peak, TargetError> {
        self.prefill_probed(&mut |_, _| {})
    }

    fn forward(&mut self, window: &[u32], mask: Mask) -> Result<Vec<Peak>, TargetError> {
        let (model, kernel) = (self.model, &self.model.kernel);
        let start = self.next_position + self.cached.saturating_sub(self.positions.len()) as u32;
        let positions: Vec<[u32; 3]> = (start..).take(window.len()).map(|p| [p; 3]).collect();
        let rows = model.text.embed(window);
        let probe: Probe<'_> = &mut |_, _| {};
        let at = Window { positions: &positions, past: self.cached, mask };
        let hidden = model.text.forward(kernel, rows, at, &mut self.cache, probe);
        self.cached += window.len();
        self.logits = model.text.logits(kernel, &hidden, probe);
        Ok(self.peaks())
    }

    fn cached(&self) -> usize {
        self.cached
    }

    fn truncate(&mut self, tokens: usize) {
        self.cached = self.cached.min(tokens);
        self.model.text.truncate(&mut self.cache, self.cached);
    }

    fn logits(&self, row: usize) -> &[f32] {
        let vocab = self.model.config.text.vocab_size;
        &self.logits[row * vocab..(row + 1) * vocab]
    }
}
