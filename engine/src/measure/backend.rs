//! The model that is measured, on the processor or on a card, alike to everything that takes the time.

use kernels::cuda::driver::{DeviceInfo, Driver};
use kernels::{Format, Kernel};

use super::subject::Subject;
use super::{MeasureError, unusable, work};
use crate::cancel::Cancel;
use crate::checkpoint::ModelConfig;
use crate::decode::{Drafter, Mask, Target};
use crate::device::{Device, DeviceModel, LONGEST_DRAFT, Plan};
use crate::model::image_processor::Patches;
use crate::model::{ImageFeatures, Model};
use crate::precision::WeightFormat;

/// A loaded model, where it runs.
pub(super) enum Backend {
    Processor { model: Box<Model>, format: Format },
    Card(Box<DeviceModel>),
}

/// A request on it.
pub(super) type Session<'m> = Box<dyn Target + Send + 'm>;

/// A card, and what the model took of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    /// Its name as the driver gives it.
    pub name: String,
    /// Compute capability, major and minor.
    pub capability: (u32, u32),
    /// All its memory, bytes.
    pub memory: u64,
    /// What the model took of it by purpose, and how many requests it reads side by side.
    pub plan: Plan,
}

impl Backend {
    /// Loads onto the processor.
    pub(super) fn processor(subject: &Subject, weights: WeightFormat) -> Result<Self, MeasureError> {
        let stored = subject.stored_format();
        let format = weights.of(stored);
        // Quantised weights take a byte each and their scales; others stay.
        let kept = if format == Format::Int8 { 1.1 } else { stored.size() as f64 };
        let model = Model::from_weights(subject.config(), &subject.weights(kept)?, Kernel::best(), format)?;
        Ok(Self::Processor { model: Box::new(model), format })
    }

    /// Loads onto a card.
    pub(super) fn card(subject: &Subject, device: Device, driver: Box<dyn Driver>) -> Result<Self, MeasureError> {
        // They go to the card one by one; none is kept here.
        let weights = subject.weights(0.0)?;
        let model = DeviceModel::on(driver, subject.config(), &weights, subject.end_tokens());
        Ok(Self::on(model.map_err(|reason| unusable(device, reason))?))
    }

    /// With a model that is on a card. Random weights accept no drafts; the card must not learn from that to draft less.
    pub(super) fn on(model: DeviceModel) -> Self {
        model.keep_drafts_whole();
        Self::Card(Box::new(model))
    }

    /// Runs the vision tower and the merger.
    pub(super) fn encode_image(&self, patches: &Patches, cancel: &Cancel) -> Result<ImageFeatures, MeasureError> {
        match self {
            Self::Processor { model, .. } => Ok(model.encode_image(patches, cancel)?),
            Self::Card(model) => Ok(model.encode_image(patches, cancel)?),
        }
    }

    /// Starts a request of at most so many tokens of answer.
    pub(super) fn session(
        &self,
        prompt: &[u32],
        image: &ImageFeatures,
        max_tokens: usize,
        cancel: &Cancel,
    ) -> Result<Session<'_>, MeasureError> {
        match self {
            Self::Processor { model, .. } => Ok(Box::new(model.session(prompt, image, cancel))),
            Self::Card(model) => Ok(Box::new(model.session(prompt, image, max_tokens, cancel)?)),
        }
    }

    /// How a checkpoint drafts here: a card has windows of a certain size at most.
    pub(super) fn drafter(&self, subject: &Subject) -> Option<Drafter> {
        let drafter = subject.drafter()?;
        match self {
            Self::Processor { .. } => Some(drafter),
            Self::Card(_) => Some(Drafter { block: drafter.block.min(LONGEST_DRAFT), ..drafter }),
        }
    }

    /// Number format in which the decoder's products see weights.
    pub(super) fn format(&self) -> Format {
        match self {
            Self::Processor { format, .. } => *format,
            Self::Card(_) => Format::Bf16,
        }
    }

    /// Bytes that a product reads of each weight.
    pub(super) fn bytes_per_weight(&self, config: &ModelConfig) -> f64 {
        match self {
            Self::Processor { model, .. } => {
                model.decoder_bytes() as f64 / work::decoder(config, 1, 0, Mask::Causal, 1).weights
            }
            Self::Card(_) => 2.0,
        }
    }

    /// Bytes of all weights as they are kept.
    pub(super) fn weight_bytes(&self, subject: &Subject) -> f64 {
        match self {
            Self::Processor { .. } => {
                let config = subject.config();
                // The embedding is a table and never quantised.
                let embedding = (config.text.vocab_size * config.text.hidden_size) as f64;
                let others = config.weight_count() as f64 - embedding;
                embedding * subject.stored_format().size() as f64 + others * self.bytes_per_weight(config)
            }
            Self::Card(model) => model.plan().weights as f64,
        }
    }

    /// The kernels in use.
    pub(super) fn kernel(&self) -> &'static str {
        match self {
            Self::Processor { model, .. } => model.kernel().name(),
            Self::Card(_) => "cuda",
        }
    }

    /// The card, where it is one.
    pub(super) fn as_card(&self) -> Option<Card> {
        match self {
            Self::Processor { .. } => None,
            Self::Card(model) => {
                let DeviceInfo { name, capability, memory, .. } = model.info().clone();
                Some(Card { name, capability, memory, plan: *model.plan() })
            }
        }
    }

    /// Why the card's driver makes no graphs; `None` while it does, and for the processor.
    pub(super) fn why_no_graphs(&self) -> Option<String> {
        match self {
            Self::Processor { .. } => None,
            Self::Card(model) => model.why_no_graphs(),
        }
    }
}
