//! The devices that the settings offer, and what the chosen checkpoint takes of a card, known before it is loaded.

use std::sync::Arc;

use engine::checkpoint::ModelConfig;
use engine::device::{Choice, Device};

use super::strings::settings as words;
use super::workspace::settings::Settings;
use crate::devices::room;

/// Lists what the model can run on. Asking the driver takes a moment, so it is asked once, on a thread of its own.
pub type DeviceList = Arc<dyn Fn() -> Vec<Choice> + Send + Sync>;

/// What is known of them.
#[derive(Default)]
pub(crate) struct Devices {
    /// All of this machine, once they were asked for.
    pub(crate) choices: Vec<Choice>,
    /// Sizes of the chosen checkpoint; `None` where its folder cannot be read.
    sizes: Option<ModelConfig>,
}

impl Devices {
    /// What the chosen checkpoint takes of a card, in words; `None` for what is no card of use.
    pub(crate) fn room(&self, device: Device, settings: &Settings) -> Option<String> {
        let card = self.choices.iter().find(|choice| choice.device == device && choice.reason.is_none())?;
        Some(room(&checkpoint_name(settings), self.sizes.as_ref()?, card.memory?))
    }

    /// Reads the sizes of the chosen checkpoint: a small file, when the settings open and when another is chosen.
    pub(crate) fn size_up(&mut self, settings: &Settings) {
        self.sizes = settings.checkpoint_source().sizes().ok();
    }
}

/// What the checkpoint is called before it is loaded.
fn checkpoint_name(settings: &Settings) -> String {
    let Some(folder) = &settings.checkpoint else { return words::NANO.to_owned() };
    folder.file_name().map_or_else(|| words::THIS_CHECKPOINT.to_owned(), |name| name.to_string_lossy().into_owned())
}
