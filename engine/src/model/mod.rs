//! GLM-OCR: image processor, vision tower, merger, text decoder. Sums and the residual stream are f32; what products
//! multiply has the number format that the model was loaded with.
//!
//! The reference is `transformers` 5.24, `models/glm_ocr`; tensor names are its `save_pretrained` names.

pub mod image_processor;
pub mod resize;

mod linear;
mod rope;
mod session;
mod text;
mod vision;

pub(crate) use rope::{inverse_frequencies, prompt_positions};
pub use session::Session;
pub use vision::ImageFeatures;
pub(crate) use vision::sum_frames;

use kernels::{Format, Kernel};

use crate::cancel::{Cancel, Cancelled};
use crate::checkpoint::{Checkpoint, CheckpointError, ModelConfig, Weights};
use crate::model::image_processor::Patches;
use linear::Loader;
use text::TextDecoder;
use vision::VisionTower;

/// Models of at most so many weights stay in the caches: a packed copy of them pays, and costs little.
const PACKED_WEIGHTS: u64 = 16 << 20;
/// The most tokens that such a model drafts in a round: with the token before them they fill one tile of the kernels' rows.
/// Arithmetic bounds such a model, so that a window costs what its rows cost, and most of a long draft is in vain.
const PACKED_DRAFT: usize = 5;

/// Tokens that a model of this size drafts in a round on the processor: the block, or fewer where that pays. By the size
/// alone, so that a request's rounds are the same on every machine; its tokens do not depend on it.
fn draft_length(config: &ModelConfig, block: usize) -> usize {
    if config.weight_count() <= PACKED_WEIGHTS { block.min(PACKED_DRAFT) } else { block }
}

/// Hears intermediate results, `[rows, width]` row by row, by the names of the reference fixtures, `block` and
/// `layer` for those after the first. For tests.
pub type Probe<'a> = &'a mut dyn FnMut(&str, &[f32]);

/// A loaded model: weights and the kernels they run on. Shared by all its sessions.
pub struct Model {
    kernel: Kernel<'static>,
    config: ModelConfig,
    vision: VisionTower,
    text: TextDecoder,
}

impl Model {
    /// Takes the weights of a checkpoint. In [`Format::Bf16`] and [`Format::F32`] they stay where and as they are stored;
    /// a matrix that is not stored in bf16 is computed with in f32. [`Format::Int8`] quantises a copy, and
    /// the matrices of a small model are packed once.
    pub fn load(checkpoint: &Checkpoint, kernel: Kernel<'static>, format: Format) -> Result<Self, CheckpointError> {
        Self::from_weights(&checkpoint.config, &checkpoint.weights, kernel, format)
    }

    /// As [`Model::load`], from a configuration and tensors.
    pub fn from_weights(
        config: &ModelConfig,
        weights: &Weights,
        kernel: Kernel<'static>,
        format: Format,
    ) -> Result<Self, CheckpointError> {
        let pack = config.weight_count() <= PACKED_WEIGHTS;
        let loader = Loader { weights, kernel: &kernel, format, pack };
        Ok(Self {
            kernel,
            config: config.clone(),
            vision: VisionTower::load(&config.vision, loader)?,
            text: TextDecoder::load(config, loader)?,
        })
    }

    /// Bytes of weights that a forward of the decoder reads, its head included.
    pub fn decoder_bytes(&self) -> usize {
        self.text.size()
    }

    /// Tokens to draft in a round of self-speculative decoding on the processor: [`draft_length`].
    pub fn draft_length(&self, block: usize) -> usize {
        draft_length(&self.config, block)
    }

    /// The kernels it runs on.
    pub fn kernel(&self) -> Kernel<'static> {
        self.kernel
    }

    /// Runs the vision tower and the merger: one row of the text decoder's width for each image token.
    ///
    /// # Errors
    /// When it was cancelled, soon after it was: large products leave off on the way.
    pub fn encode_image(&self, patches: &Patches, cancel: &Cancel) -> Result<ImageFeatures, Cancelled> {
        self.encode_image_probed(patches, cancel, &mut |_, _| {})
    }

    /// As [`Model::encode_image`], telling intermediate results.
    pub fn encode_image_probed(
        &self,
        patches: &Patches,
        cancel: &Cancel,
        probe: Probe<'_>,
    ) -> Result<ImageFeatures, Cancelled> {
        self.vision.encode(&self.kernel.until(cancel.flag()), patches, probe)
    }

    /// Starts a request: prompt ids whose image placeholders are replaced by `image` in order. Prefill is the session's
    /// first forward. A forward ends soon after a cancel, and the session is of no more use then.
    pub fn session(&self, prompt: &[u32], image: &ImageFeatures, cancel: &Cancel) -> Session<'_> {
        Session::new(self, prompt, image, cancel)
    }
}

/// Ends a forward whose results are no longer wanted: what the kernel computed last may be void.
fn go_on(kernel: &Kernel) -> Result<(), Cancelled> {
    if kernel.is_stopped() { Err(Cancelled) } else { Ok(()) }
}

#[cfg(test)]
mod draft_length_tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use super::*;

    /// The bundled model is bound by arithmetic, the published one by memory, which reads a block at the price of a token.
    #[test]
    fn small_models_draft_little_and_the_published_one_whole_blocks() {
        let published = include_str!("../../../tests/fixtures/real_size/config.json");
        let published = ModelConfig::parse("config.json", &serde_json::from_str(published).unwrap()).unwrap();
        assert_eq!(draft_length(&published, 32), 32);
        let bundled = ModelConfig::bundled().unwrap();
        assert_eq!([32, 4].map(|block| draft_length(&bundled, block)), [5, 4]);
    }
}
#[cfg(test)]
mod fresh_tests;
#[cfg(test)]
mod model_tests;
