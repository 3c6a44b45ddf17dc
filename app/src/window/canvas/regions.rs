//! The boxes of regions: selecting, drawing, moving and resizing them.

use eframe::egui::{Response, Ui};

use super::placement::Placement;
use crate::window::action::Actions;
use crate::window::state::State;

/// Draws the boxes and turns what the pointer and the keys do on the canvas into actions. `canvas` senses clicks and
/// drags of the whole canvas; whether the pointer's drag is a pan (middle button, or space held) is decided before.
pub(super) fn show(ui: &mut Ui, canvas: &Response, placement: Placement, state: &State, actions: &mut Actions) {
    let _ = (ui, canvas, placement, state, actions);
}
