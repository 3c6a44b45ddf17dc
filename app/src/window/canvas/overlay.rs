//! Text over the page: each request's characters over the box they were read from.

use eframe::egui::Ui;

use super::placement::Placement;
use crate::window::state::State;

/// Paints the text of the page's regions; nothing of it takes the pointer.
pub(super) fn paint(ui: &Ui, placement: Placement, state: &State) {
    let _ = (ui, placement, state);
}
