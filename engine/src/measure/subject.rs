//! What a bench loads: a checkpoint, or a configuration with random weights.

use image::RgbImage;
use kernels::memory::Dtype;

use crate::checkpoint::{Checkpoint, CheckpointError, ModelConfig, ProcessorConfig, Synthetic, Weights};
use crate::decode::Drafter;
use crate::engine::CheckpointSource;
use crate::plan;
use crate::region::Task;

pub(super) enum Subject {
    Checkpoint(Box<Checkpoint>),
    Synthetic(Box<Synthetic>),
}

impl Subject {
    pub(super) fn open(source: &CheckpointSource) -> Result<Self, CheckpointError> {
        match source {
            CheckpointSource::Folder(folder) if Synthetic::is_in(folder) => {
                Ok(Self::Synthetic(Box::new(Synthetic::open(folder)?)))
            }
            source => Ok(Self::Checkpoint(Box::new(source.open()?))),
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Checkpoint(checkpoint) => &checkpoint.name,
            Self::Synthetic(synthetic) => &synthetic.name,
        }
    }

    pub(super) fn config(&self) -> &ModelConfig {
        match self {
            Self::Checkpoint(checkpoint) => &checkpoint.config,
            Self::Synthetic(synthetic) => &synthetic.config,
        }
    }

    pub(super) fn processor(&self) -> &ProcessorConfig {
        match self {
            Self::Checkpoint(checkpoint) => &checkpoint.processor,
            Self::Synthetic(synthetic) => &synthetic.processor,
        }
    }

    pub(super) fn end_tokens(&self) -> &[u32] {
        match self {
            Self::Checkpoint(checkpoint) => &checkpoint.end_tokens,
            Self::Synthetic(synthetic) => &synthetic.end_tokens,
        }
    }

    pub(super) fn drafter(&self) -> Option<Drafter> {
        match self {
            Self::Checkpoint(checkpoint) => checkpoint.drafter(),
            Self::Synthetic(synthetic) => synthetic.drafter,
        }
    }

    /// Why drafting is not offered; `None` when it is.
    pub(super) fn only_ar(&self) -> Option<String> {
        match self {
            Self::Checkpoint(checkpoint) => checkpoint.why_not(),
            Self::Synthetic(synthetic) => synthetic
                .drafter
                .is_none()
                .then(|| "This folder has no block_diffusion.json: nothing says how to draft".to_owned()),
        }
    }

    /// Number format of the decoder's matrices, as the LM head has it.
    pub(super) fn stored_format(&self) -> Dtype {
        match self {
            Self::Checkpoint(checkpoint) => checkpoint.stored_format(),
            Self::Synthetic(synthetic) => synthetic.dtype,
        }
    }

    /// The weights, which the caller will keep in so many bytes each.
    pub(super) fn weights(&self, bytes_per_weight: f64) -> Result<Weights, CheckpointError> {
        match self {
            Self::Checkpoint(checkpoint) => Ok(checkpoint.weights.clone()),
            Self::Synthetic(synthetic) => synthetic.weights(bytes_per_weight),
        }
    }

    pub(super) fn prompt(&self, image_tokens: usize) -> Result<Vec<u32>, CheckpointError> {
        match self {
            Self::Checkpoint(checkpoint) => checkpoint.prompt(Task::Text, image_tokens),
            Self::Synthetic(synthetic) => Ok(synthetic.prompt(image_tokens)),
        }
    }

    /// The pictures that a request is made of when a page is read as one region.
    pub(super) fn requests(&self, page: &RgbImage) -> Vec<RgbImage> {
        match self {
            Self::Checkpoint(checkpoint) => plan::pictures(page, checkpoint.traits.unit, &checkpoint.traits.tasks),
            Self::Synthetic(_) => vec![page.clone()],
        }
    }
}
