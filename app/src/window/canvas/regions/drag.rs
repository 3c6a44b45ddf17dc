//! A drag that is under way. Boxes change on the screen while it lasts and in the page when the pointer is let go, so
//! that Escape leaves everything as it was and a drag is one undo.

use eframe::egui::{Modifiers, Pos2, Rect};
use engine::region::Rect as Bounds;

use super::hit::{self, Handle};
use super::shape;
use crate::window::canvas::placement::Placement;
use crate::window::state::Tool;
use crate::window::workspace::edits::SMALLEST;
use crate::window::workspace::project::RegionId;

/// What is dragged. Places are page points, so that the page may be scrolled and zoomed meanwhile.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Drag {
    Move {
        boxes: Vec<(RegionId, Bounds)>,
        from: Pos2,
    },
    Resize {
        region: RegionId,
        bounds: Bounds,
        handle: Handle,
        from: Pos2,
    },
    Draw {
        from: Pos2,
    },
    /// A rubber band; with `keep` it adds to the selection.
    Band {
        from: Pos2,
        keep: bool,
    },
}

/// What a press at some place would drag.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Grip {
    Handle(RegionId, Bounds, Handle),
    Box(RegionId),
    Paper,
    Outside,
}

/// What the pointer is over: handles first, then selected boxes, then others from small to large.
pub(super) fn grip(
    boxes: &[(RegionId, Bounds)],
    selected: impl Fn(RegionId) -> bool,
    resizable: impl Fn(RegionId) -> bool,
    placement: Placement,
    pointer: Pos2,
) -> Grip {
    for &(id, bounds) in boxes.iter().filter(|(id, _)| resizable(*id)) {
        if let Some(handle) = hit::handle_at(placement.rect(bounds), pointer) {
            return Grip::Handle(id, bounds, handle);
        }
    }
    let found = hit::boxes_at(boxes.iter().copied(), placement, pointer);
    match found.iter().find(|id| selected(**id)).or(found.first()) {
        Some(id) => Grip::Box(*id),
        None if placement.page.contains(pointer) => Grip::Paper,
        None => Grip::Outside,
    }
}

impl Drag {
    /// The drag that begins with a press here. A box that is not selected is dragged alone.
    pub(super) fn begin(
        grip: Grip,
        boxes: &[(RegionId, Bounds)],
        selected: impl Fn(RegionId) -> bool,
        tool: Tool,
        modifiers: Modifiers,
        from: Pos2,
    ) -> Self {
        if modifiers.alt || grip == Grip::Outside {
            return Self::Band { from, keep: modifiers.shift || modifiers.command };
        }
        if modifiers.command || tool == Tool::Draw {
            return Self::Draw { from };
        }
        match grip {
            Grip::Handle(region, bounds, handle) => Self::Resize { region, bounds, handle, from },
            Grip::Box(id) => {
                let along = |other: RegionId| if selected(id) { selected(other) } else { other == id };
                Self::Move { boxes: boxes.iter().copied().filter(|(id, _)| along(*id)).collect(), from }
            }
            Grip::Paper | Grip::Outside => Self::Draw { from },
        }
    }

    /// The boxes that it changes, as they lie with the pointer at a page point.
    pub(super) fn boxes(&self, to: Pos2, size: [u32; 2]) -> Vec<(RegionId, Bounds)> {
        match self {
            Self::Move { boxes, from } => shape::moved(boxes, to - *from, size),
            Self::Resize { region, bounds, handle, from } => {
                vec![(*region, shape::resized(*bounds, *handle, to - *from, size))]
            }
            Self::Draw { .. } | Self::Band { .. } => Vec::new(),
        }
    }

    /// The box that it draws; none while it is too small to be meant.
    pub(super) fn drawn(&self, to: Pos2, size: [u32; 2]) -> Option<Bounds> {
        let Self::Draw { from } = self else { return None };
        let bounds = shape::drawn(*from, to, size);
        (bounds.width() >= SMALLEST && bounds.height() >= SMALLEST).then_some(bounds)
    }

    /// The rubber band on the screen.
    pub(super) fn band(&self, pointer: Pos2, placement: Placement) -> Option<Rect> {
        let Self::Band { from, .. } = self else { return None };
        Some(Rect::from_two_pos(placement.to_screen(*from), pointer))
    }
}
