//! Arrow keys: they move the selected boxes, and with Alt resize them, by 1 or with Shift by 10 page pixels.

use eframe::egui::{Event, Id, Key, Modifiers, Ui, Vec2, vec2};
use engine::region::Rect as Bounds;

use super::hit::Handle;
use super::shape;
use crate::window::workspace::project::RegionId;

/// Nudges of one kind that follow each other within this time are one undo, seconds.
const TOGETHER: f64 = 1.0;

/// The nudges so far that belong together.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Nudging {
    resize: bool,
    regions: Vec<RegionId>,
    merge: u64,
    last: f64,
}

/// What an arrow key asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Nudge {
    resize: bool,
    by: Vec2,
}

/// The boxes as the keys of this frame leave them, and what joins the change with the one before.
pub(super) fn nudged(
    ui: &Ui,
    boxes: Vec<(RegionId, Bounds)>,
    size: [u32; 2],
    nudging: &mut Option<Nudging>,
) -> Option<(Vec<(RegionId, Bounds)>, u64)> {
    let nudges: Vec<Nudge> = ui.input(|input| input.events.iter().filter_map(nudge).collect());
    let resize = nudges.first()?.resize;
    let regions: Vec<_> = boxes.iter().map(|(id, _)| *id).collect();
    if regions.is_empty() {
        return None;
    }
    let now = ui.input(|input| input.time);
    let goes_on = |last: &Nudging| {
        last.resize == resize && last.regions == regions && (0.0..TOGETHER).contains(&(now - last.last))
    };
    let merge = match nudging.take() {
        Some(last) if goes_on(&last) => last.merge,
        _ => Id::unique(("nudge", now.to_bits(), resize)).value(),
    };
    *nudging = Some(Nudging { resize, regions, merge, last: now });
    let after = nudges.into_iter().fold(boxes, |boxes, nudge| apply(&boxes, nudge, size));
    Some((after, merge))
}

fn apply(boxes: &[(RegionId, Bounds)], nudge: Nudge, size: [u32; 2]) -> Vec<(RegionId, Bounds)> {
    if !nudge.resize {
        return shape::moved(boxes, nudge.by, size);
    }
    let handle = Handle { x: i8::from(nudge.by.x != 0.0), y: i8::from(nudge.by.y != 0.0) };
    boxes.iter().map(|&(id, bounds)| (id, shape::pushed(bounds, handle, nudge.by, size))).collect()
}

fn nudge(event: &Event) -> Option<Nudge> {
    let Event::Key { key, pressed: true, modifiers, .. } = event else { return None };
    let Modifiers { alt, shift, ctrl: false, command: false, .. } = *modifiers else { return None };
    let way = match key {
        Key::ArrowLeft => vec2(-1.0, 0.0),
        Key::ArrowRight => vec2(1.0, 0.0),
        Key::ArrowUp => vec2(0.0, -1.0),
        Key::ArrowDown => vec2(0.0, 1.0),
        _ => return None,
    };
    Some(Nudge { resize: alt, by: if shift { 10.0 * way } else { way } })
}
