//! The canvas: the page, its regions, and the text as it appears on them.

mod overlay;
mod placement;
mod regions;

use eframe::egui::{Sense, Ui, Vec2};

use self::placement::Placement;
use super::action::Actions;
use super::state::State;

/// Draws the canvas.
pub(crate) fn show(ui: &mut Ui, state: &State, actions: &mut Actions) {
    let (canvas, response) = ui.allocate_exact_size(ui.available_size().max(Vec2::splat(1.0)), Sense::click_and_drag());
    let Some(size) = state.page().and_then(|page| page.size) else { return };
    let placement = Placement::new(&state.view.camera, size, canvas);
    ui.painter_at(canvas).rect_filled(placement.page, 0.0, super::colours::PAPER);
    overlay::paint(ui, placement, state);
    regions::show(ui, &response, placement, state, actions);
}

/// Prepares what the canvas needs of the graphics device, once.
pub(crate) fn prepare(render_state: &eframe::egui_wgpu::RenderState) {
    let _ = render_state;
}
