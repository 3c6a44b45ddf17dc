//! The rounds panel: how the focused region was decoded, round by round.

use eframe::egui::Ui;

use super::action::Actions;
use super::state::State;

/// Draws the panel.
pub(crate) fn show(ui: &mut Ui, state: &State, actions: &mut Actions) {
    let _ = (ui, state, actions);
}
