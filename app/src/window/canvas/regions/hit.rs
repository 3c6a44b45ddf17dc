//! What lies under the pointer. Boxes are in page pixels, the pointer and all distances in screen points, so that a
//! handle is as easy to take at any zoom and on any screen.

use eframe::egui::{CursorIcon, Pos2, Rect, Vec2, vec2};
use engine::region::Rect as Bounds;

use crate::window::canvas::placement::Placement;
use crate::window::workspace::project::RegionId;

/// How far from its middle a handle can be taken, points.
const GRAB: f32 = 6.0;
/// A box smaller than this on the screen has its handles outside, so that it can still be moved, points.
const ROOM: f32 = 28.0;
/// A box smaller than this on the screen is taken as if it were so large, points.
const REACH: f32 = 8.0;

/// A place to resize a box at: -1, 0, 1 for the low edge, neither, and the high edge of each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    pub(super) x: i8,
    pub(super) y: i8,
}

/// Corners first: they win where handles meet.
const HANDLES: [Handle; 8] = [
    Handle { x: -1, y: -1 },
    Handle { x: 1, y: -1 },
    Handle { x: -1, y: 1 },
    Handle { x: 1, y: 1 },
    Handle { x: 0, y: -1 },
    Handle { x: 0, y: 1 },
    Handle { x: -1, y: 0 },
    Handle { x: 1, y: 0 },
];

impl Handle {
    pub(super) fn cursor(self) -> CursorIcon {
        match (self.x, self.y) {
            (0, _) => CursorIcon::ResizeVertical,
            (_, 0) => CursorIcon::ResizeHorizontal,
            (x, y) if x == y => CursorIcon::ResizeNwSe,
            _ => CursorIcon::ResizeNeSw,
        }
    }
}

/// The handles of a box on the screen, with their middles. Those of an edge too short for three are left out.
pub(super) fn handles(on_screen: Rect) -> impl Iterator<Item = (Handle, Pos2)> {
    let frame = at_least(on_screen, ROOM);
    let room = frame.size().max(Vec2::ZERO);
    HANDLES
        .into_iter()
        .filter(move |handle| {
            let (wide, high) = (room.x >= 2.0 * ROOM, room.y >= 2.0 * ROOM);
            (handle.x != 0 || wide) && (handle.y != 0 || high)
        })
        .map(move |handle| {
            let offset = vec2(f32::from(handle.x) * 0.5 * room.x, f32::from(handle.y) * 0.5 * room.y);
            (handle, frame.center() + offset)
        })
}

/// The handle of a box under the pointer.
pub(super) fn handle_at(on_screen: Rect, pointer: Pos2) -> Option<Handle> {
    let near = |middle: Pos2| (middle - pointer).abs().max_elem() <= GRAB;
    handles(on_screen).find(|(_, middle)| near(*middle)).map(|(handle, _)| handle)
}

/// The boxes under the pointer, the smallest first, so that none is out of reach below a larger one.
pub(super) fn boxes_at(
    boxes: impl Iterator<Item = (RegionId, Bounds)>,
    placement: Placement,
    pointer: Pos2,
) -> Vec<RegionId> {
    let hit = |bounds: &Bounds| at_least(placement.rect(*bounds), REACH).contains(pointer);
    let mut found: Vec<_> = boxes.filter(|(_, bounds)| hit(bounds)).collect();
    found.sort_by_key(|(_, bounds)| bounds.area()); // stable: of equals the earlier in reading order
    found.into_iter().map(|(id, _)| id).collect()
}

/// The boxes that a rubber band touches, in the order given.
pub(super) fn boxes_in(
    boxes: impl Iterator<Item = (RegionId, Bounds)>,
    placement: Placement,
    band: Rect,
) -> Vec<RegionId> {
    boxes.filter(|(_, bounds)| placement.rect(*bounds).intersects(band)).map(|(id, _)| id).collect()
}

/// The next of several boxes at one place, after the one that is selected.
pub(super) fn next_of(found: &[RegionId], selected: Option<RegionId>) -> Option<RegionId> {
    let at = selected.and_then(|selected| found.iter().position(|id| *id == selected));
    found.get(at.map_or(0, |at| (at + 1) % found.len().max(1))).copied()
}

/// A rectangle grown around its middle where it is smaller than `least` on an axis.
fn at_least(rect: Rect, least: f32) -> Rect {
    rect.expand2((0.5 * (Vec2::splat(least) - rect.size())).max(Vec2::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::state::{Camera, Fit};
    use eframe::egui::pos2;

    fn placement(zoom: f32) -> Placement {
        let camera = Camera { fit: Fit::Free, zoom, centre: [0.5; 2] };
        Placement::new(&camera, [1000, 1400], Rect::from_min_size(pos2(37.0, 11.0), vec2(800.0, 600.0)), 1.0)
    }

    fn boxes() -> [(RegionId, Bounds); 3] {
        [
            (RegionId(1), Bounds::new(100, 100, 900, 700)),
            (RegionId(2), Bounds::new(200, 200, 400, 300)),
            (RegionId(3), Bounds::new(300, 250, 600, 600)),
        ]
    }

    fn at(zoom: f32, x: f32, y: f32) -> Vec<u64> {
        let placement = placement(zoom);
        let found = boxes_at(boxes().into_iter(), placement, placement.to_screen(pos2(x, y)));
        found.into_iter().map(|id| id.0).collect()
    }

    #[test]
    fn the_smallest_box_comes_first_at_every_zoom() {
        for zoom in [0.1, 0.33, 1.0, 2.5, 8.0] {
            assert_eq!(at(zoom, 350.0, 275.0), [2, 3, 1], "zoom {zoom}");
            assert_eq!(at(zoom, 150.0, 650.0), [1], "zoom {zoom}");
            assert!(at(zoom, 50.0, 1300.0).is_empty(), "zoom {zoom}");
        }
    }

    #[test]
    fn clicks_go_round_the_boxes_at_a_place() {
        let found: Vec<_> = [2, 3, 1].map(RegionId).into();
        assert_eq!(next_of(&found, None), Some(RegionId(2)));
        assert_eq!(next_of(&found, Some(RegionId(2))), Some(RegionId(3)));
        assert_eq!(next_of(&found, Some(RegionId(1))), Some(RegionId(2)));
        assert_eq!(next_of(&found, Some(RegionId(9))), Some(RegionId(2)), "another was selected");
        assert_eq!(next_of(&[], Some(RegionId(1))), None);
    }

    #[test]
    fn corners_can_be_taken_at_every_zoom_and_the_middle_always_moves() {
        let bounds = Bounds::new(200, 200, 320, 290);
        for zoom in [0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0] {
            let on_screen = placement(zoom).rect(bounds);
            for (handle, middle) in handles(on_screen) {
                assert_eq!(handle_at(on_screen, middle), Some(handle), "zoom {zoom}");
                assert_eq!(handle_at(on_screen, middle + vec2(GRAB - 0.1, 0.0)), Some(handle), "zoom {zoom}");
            }
            assert!(handles(on_screen).count() >= 4, "zoom {zoom}");
            assert_eq!(handle_at(on_screen, on_screen.center()), None, "zoom {zoom}");
        }
        assert_eq!(handles(placement(8.0).rect(bounds)).count(), 8);
        // At zoom 1 the corners are where the corners are.
        let on_screen = placement(1.0).rect(bounds);
        assert_eq!(handle_at(on_screen, on_screen.right_bottom()), Some(Handle { x: 1, y: 1 }));
        assert_eq!(handle_at(on_screen, on_screen.center_top()), Some(Handle { x: 0, y: -1 }));
    }

    #[test]
    fn a_box_of_a_few_pixels_can_be_hit_when_zoomed_out() {
        let tiny = [(RegionId(7), Bounds::new(500, 500, 504, 504))];
        let placement = placement(0.1);
        let middle = placement.rect(tiny[0].1).center();
        assert_eq!(boxes_at(tiny.into_iter(), placement, middle + vec2(3.0, -3.0)), [RegionId(7)]);
        assert!(boxes_at(tiny.into_iter(), placement, middle + vec2(5.0, 0.0)).is_empty());
    }

    #[test]
    fn a_rubber_band_takes_what_it_touches_in_reading_order() {
        for zoom in [0.1, 1.0, 8.0] {
            let placement = placement(zoom);
            let band = |bounds| boxes_in(boxes().into_iter(), placement, placement.rect(bounds));
            assert_eq!(band(Bounds::new(380, 210, 390, 220)), [1, 2].map(RegionId), "zoom {zoom}");
            assert_eq!(band(Bounds::new(0, 0, 1000, 1400)), [1, 2, 3].map(RegionId), "zoom {zoom}");
            assert!(band(Bounds::new(0, 0, 50, 1400)).is_empty(), "zoom {zoom}");
        }
    }
}
