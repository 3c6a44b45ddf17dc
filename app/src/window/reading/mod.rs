//! The reading pane: what was read, region by region, as it appears and as it will be exported.

use eframe::egui::Ui;

use super::action::Actions;
use super::state::State;

/// Draws the pane.
pub(crate) fn show(ui: &mut Ui, state: &State, actions: &mut Actions) {
    let _ = (ui, state, actions);
}
