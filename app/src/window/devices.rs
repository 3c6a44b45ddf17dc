//! The devices that the settings offer, and what the chosen checkpoint takes of a card, known before it is loaded.

use std::sync::Arc;

use engine::checkpoint::ModelConfig;
use engine::device::{Choice, Device};

use super::app::Window;
use super::errand::Errand;
use super::settings::Settings;
use super::state::Tone;
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
        Some(room(&settings.checkpoint_name(), self.sizes.as_ref()?, card.memory?))
    }

    /// Reads the sizes of the chosen checkpoint: a small file, when the settings open and when another is chosen.
    pub(crate) fn size_up(&mut self, settings: &Settings) {
        self.sizes = settings.checkpoint_source().sizes().ok();
    }
}

impl Window {
    /// Asks for what the settings are going to show.
    pub(super) fn list_devices(&mut self) {
        self.state.devices.size_up(&self.state.settings);
        if self.state.devices.choices.is_empty() && self.listing.is_none() {
            let list = Arc::clone(&self.options.devices);
            self.listing = Some(Errand::start("devices", self.waker(), move || Ok(list())));
        }
    }

    /// Takes in the devices when they were found.
    pub(super) fn hear_devices(&mut self) {
        if let Some(found) = self.listing.as_ref().and_then(Errand::done) {
            self.listing = None;
            match found {
                Ok(choices) => self.state.devices.choices = choices,
                Err(message) => self.state.tell(Tone::Error, message),
            }
        }
    }
}
