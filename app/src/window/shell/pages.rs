//! The pages pane: documents and their pages as thumbnails, with each page's state.

use eframe::egui::Ui;

use crate::window::action::Actions;
use crate::window::state::State;

/// Draws the pane.
pub(crate) fn show(ui: &mut Ui, state: &State, actions: &mut Actions) {
    let _ = (ui, state, actions);
}
