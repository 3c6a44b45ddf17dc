//! What the pointer and the zoom commands do to the camera.

use eframe::egui::{Context, CursorIcon, Id, Key, PointerButton, Rect, Ui, Vec2, vec2};

use super::placement::Placement;
use crate::window::state::{Camera, Fit};

/// Zooms that the commands step through, physical screen pixels per page pixel.
const STEPS: [f32; 15] = [0.05, 0.10, 0.25, 0.33, 0.50, 0.67, 0.75, 1.00, 1.25, 1.50, 2.00, 3.00, 4.00, 6.00, 8.00];
/// A zoom this near to a step is at it.
const AT: f32 = 1.005;
/// Points by which an arrow key moves the page.
const ARROW: f32 = 60.0;

/// A zoom command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zoom {
    /// The next larger step.
    In,
    /// The next smaller step.
    Out,
    /// One page pixel for one physical screen pixel.
    Actual,
}

/// The camera after a zoom command; the middle of the canvas stays in the middle.
pub(crate) fn zoomed(context: &Context, camera: &Camera, zoom: Zoom) -> Camera {
    let placement = last(context);
    let scale = placement.map_or(camera.zoom, Placement::scale);
    let wanted = match zoom {
        Zoom::In => STEPS.into_iter().find(|&step| step > scale * AT).unwrap_or(scale),
        Zoom::Out => STEPS.into_iter().rev().find(|&step| step * AT < scale).unwrap_or(scale),
        Zoom::Actual => 1.0,
    };
    match placement {
        // The step itself, not what division and multiplication make of it.
        Some(placement) => {
            Camera { zoom: wanted, ..placement.moved(Vec2::ZERO, wanted / scale, placement.canvas.center()) }
        }
        None => Camera { fit: Fit::Free, zoom: wanted, ..*camera },
    }
}

/// The zoom of the page that was shown last, percent; none before the first.
pub(crate) fn percent(context: &Context) -> Option<u32> {
    last(context).map(|placement| (placement.scale() * 100.0).round() as u32)
}

fn memory() -> Id {
    Id::unique("canvas placement")
}

fn last(context: &Context) -> Option<Placement> {
    context.data(|data| data.get_temp(memory()))
}

/// Remembers how the page lies, for the commands.
pub(super) fn remember(context: &Context, placement: Placement) {
    context.data_mut(|data| data.insert_temp(memory(), placement));
}

/// Whether the pointer moves the page: the middle button is held, or the first was pressed while the space bar was down.
/// Lasts from the press to the release, both included.
pub(super) fn panning(ui: &Ui, canvas: Rect) -> bool {
    let id = Id::unique("canvas pan");
    let ready = !ui.text_edit_focused() && ui.input(|input| input.key_down(Key::Space));
    let over = ui.rect_contains_pointer(canvas);
    let held: Option<PointerButton> = ui.data(|data| data.get_temp(id));
    let pressed = || {
        let pressed = |button| over && ui.input(|input| input.pointer.button_pressed(button));
        let primary = ready && pressed(PointerButton::Primary);
        primary.then_some(PointerButton::Primary).or(pressed(PointerButton::Middle).then_some(PointerButton::Middle))
    };
    let button = held.or_else(pressed);
    match button {
        Some(button) if ui.input(|input| input.pointer.button_down(button)) => {
            ui.data_mut(|data| data.insert_temp(id, button));
            ui.set_cursor_icon(CursorIcon::Grabbing);
        }
        _ => {
            ui.data_mut(|data| data.remove::<PointerButton>(id));
            if ready && over {
                ui.set_cursor_icon(CursorIcon::Grab);
            }
        }
    }
    button.is_some()
}

/// How far the arrow keys move the page in this frame, points; they do while they mean nothing to another control.
pub(super) fn arrows(ui: &Ui, canvas: Id) -> Vec2 {
    if ui.memory(|memory| memory.focused()).is_some_and(|focused| focused != canvas) {
        return Vec2::ZERO;
    }
    let pressed = |key| ui.input(|input| input.modifiers.is_none() && input.key_pressed(key));
    let axis = |back, forth| f32::from(i8::from(pressed(back)) - i8::from(pressed(forth)));
    ARROW * vec2(axis(Key::ArrowLeft, Key::ArrowRight), axis(Key::ArrowUp, Key::ArrowDown))
}

/// The camera after what wheel, touch pad and a panning pointer did in this frame, and after the keys moved it by `pan`
/// points; none when nothing did.
pub(super) fn steered(ui: &Ui, placement: Placement, camera: &Camera, mut pan: Vec2, panning: bool) -> Option<Camera> {
    let mut factor = 1.0;
    if panning {
        pan += ui.input(|input| input.pointer.delta());
    }
    if ui.rect_contains_pointer(placement.canvas) {
        let (scroll, zoom) = ui.input(|input| (input.smooth_scroll_delta(), input.zoom_delta()));
        pan += scroll;
        factor *= zoom;
    }
    if pan == Vec2::ZERO && factor == 1.0 {
        return None;
    }
    let around = ui.input(|input| input.pointer.hover_pos()).unwrap_or(placement.canvas.center());
    let mut moved = placement.moved(pan, factor, around);
    if factor == 1.0 {
        // Moving alone leaves a zoom that follows the canvas as it is.
        moved = Camera { fit: camera.fit, zoom: camera.zoom, ..moved };
    }
    (moved != *camera).then_some(moved)
}
