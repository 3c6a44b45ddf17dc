//! The canvas: the page, its regions, and the text as it appears on them.

mod overlay;
mod placement;
mod regions;

use eframe::egui::Ui;

use super::action::Actions;
use super::state::State;

/// Draws the canvas.
pub(crate) fn show(ui: &mut Ui, state: &State, actions: &mut Actions) {
    let _ = (ui, state, actions);
}

/// Prepares what the canvas needs of the graphics device, once.
pub(crate) fn prepare(render_state: &eframe::egui_wgpu::RenderState) {
    let _ = render_state;
}

/// The zoom that is shown, percent of screen pixels per page pixel.
pub(crate) fn percent(context: &eframe::egui::Context) -> Option<f32> {
    let _ = context;
    None
}
