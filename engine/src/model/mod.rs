//! GLM-OCR: image processor, vision tower, merger, text decoder. Arithmetic in f32 over weights as they are stored.
//!
//! The reference is `transformers` 5.24, `models/glm_ocr`; tensor names are its `save_pretrained` names.

pub mod image_processor;
pub mod resize;

mod cache;
mod linear;
mod rope;
mod session;
mod text;
mod vision;

pub use session::Session;
pub use vision::ImageFeatures;

use kernels::Kernel;

use crate::checkpoint::{Checkpoint, CheckpointError, ModelConfig, Weights};
use crate::model::image_processor::Patches;
use text::TextDecoder;
use vision::VisionTower;

/// Hears intermediate results, `[rows, width]` row by row, by the names of the reference fixtures. For parity tests.
pub type Probe<'a> = &'a mut dyn FnMut(&str, &[f32]);

/// A loaded model: weights and the kernels they run on. Shared by all its sessions.
pub struct Model {
    kernel: Kernel,
    config: ModelConfig,
    vision: VisionTower,
    text: TextDecoder,
}

impl Model {
    /// Takes the weights of a checkpoint; bf16 and f16 matrices stay as they are stored.
    pub fn load(checkpoint: &Checkpoint, kernel: Kernel) -> Result<Self, CheckpointError> {
        Self::from_weights(&checkpoint.config, &checkpoint.weights, kernel)
    }

    /// As [`Model::load`], from a configuration and tensors.
    pub fn from_weights(config: &ModelConfig, weights: &Weights, kernel: Kernel) -> Result<Self, CheckpointError> {
        Ok(Self {
            kernel,
            config: config.clone(),
            vision: VisionTower::load(&config.vision, weights)?,
            text: TextDecoder::load(config, weights)?,
        })
    }

    /// The kernels it runs on.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Runs the vision tower and the merger: one row of the text decoder's width for each image token.
    pub fn encode_image(&self, patches: &Patches) -> ImageFeatures {
        self.encode_image_probed(patches, &mut |_, _| {})
    }

    /// As [`Model::encode_image`], telling intermediate results.
    pub fn encode_image_probed(&self, patches: &Patches, probe: Probe<'_>) -> ImageFeatures {
        self.vision.encode(&self.kernel, patches, probe)
    }

    /// Starts a request: prompt ids whose image placeholders are replaced by `image` in order. Prefill is the session's
    /// first forward.
    pub fn session(&self, prompt: &[u32], image: &ImageFeatures) -> Session<'_> {
        Session::new(self, prompt, image)
    }
}

#[cfg(test)]
mod fresh_tests;
#[cfg(test)]
mod model_tests;
