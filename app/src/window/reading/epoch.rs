//! How long a layout may be kept: it points at letters in a texture that egui makes anew when it is full, and when the
//! theme changes. A layout from before would show other letters.

use std::sync::Arc;

use eframe::egui::text::LayoutJob;
use eframe::egui::{Color32, FontId, Galley, Ui};

/// The time from one such texture to the next.
#[derive(Clone, Debug)]
pub(super) struct Epoch(Arc<Galley>);

impl Epoch {
    /// The present one. egui keeps a layout that is asked for in every pass, but forgets all with the texture.
    pub(super) fn now(ui: &Ui) -> Self {
        let job = LayoutJob::simple_singleline("0".to_owned(), FontId::default(), Color32::PLACEHOLDER);
        Self(ui.fonts_mut(|fonts| fonts.layout_job(job)))
    }
}

impl PartialEq for Epoch {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
