//! The canvas: the page, its regions, and the text as it appears on them.

pub(crate) mod camera;
pub(crate) mod gpu;
mod overlay;
mod placement;
mod regions;
mod sheet;
#[cfg(test)]
mod tests;
mod tiles;

use eframe::egui::{Id, Role, Sense, Ui, UiBuilder, Vec2, WidgetInfo};

use super::action::{Action, Actions};
use super::state::State;
use super::strings::canvas as words;
use placement::Placement;

pub(crate) use gpu::{prepare, release};
pub(crate) use regions::is_dragging;

/// Draws the canvas over all the room there is; nothing when no page is looked at.
pub(crate) fn show(ui: &mut Ui, state: &State, actions: &mut Actions) {
    let (Some(key), Some(page)) = (state.view.page, state.page()) else { return release(ui) };
    let (rect, canvas) = ui.allocate_exact_size(ui.available_size(), Sense::click_and_drag());
    canvas.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, words::NAME));
    let mut ui = ui.new_child(UiBuilder::new().max_rect(rect));
    ui.shrink_clip_rect(rect);

    let sheet = sheet::Sheet::of(key, page, &state.sheets);
    let place = |camera| Placement::new(camera, sheet.size(), rect, ui.pixels_per_point());
    let mut placement = place(&state.view.camera);
    let panning = camera::panning(&ui, rect);
    // With regions selected the arrows are theirs.
    let keys = state.view.selection.is_empty() && state.modal.is_none();
    let pan = if keys { camera::arrows(&ui, canvas.id) } else { Vec2::ZERO };
    if let Some(camera) = camera::steered(&ui, placement, &state.view.camera, pan, panning) {
        let moved = place(&camera);
        if moved != placement {
            placement = moved;
            actions.ask(Action::Camera(camera));
        }
    }
    camera::remember(&ui, placement);

    sheet.paint(&mut ui, placement, page);
    // A pointer that moves the page does nothing to regions.
    let still = panning.then(|| ui.interact(rect, Id::unique("canvas still"), Sense::hover()));
    overlay::paint(&ui, placement, state);
    regions::show(&mut ui, still.as_ref().unwrap_or(&canvas), placement, state, actions);
    sheet::notice(&mut ui, rect, page, &sheet);
}
