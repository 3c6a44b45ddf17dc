//! Where boxes come to lie when they are moved, resized or drawn: always on the page, never smaller than a slip.

use eframe::egui::{Pos2, Vec2};
use engine::region::Rect as Bounds;

use super::hit::Handle;
use crate::window::workspace::edits::SMALLEST;
use crate::window::workspace::project::RegionId;

/// Boxes moved together by page pixels. They keep their sizes and their places to each other: the first that reaches an
/// edge stops them all.
pub(super) fn moved(boxes: &[(RegionId, Bounds)], by: Vec2, [width, height]: [u32; 2]) -> Vec<(RegionId, Bounds)> {
    let around = boxes.iter().fold(Bounds::default(), |around, (_, bounds)| around.union(bounds));
    let x = step(by.x, around.x0, around.x1, width);
    let y = step(by.y, around.y0, around.y1, height);
    let shift = |at: u32, by: i64| u32::try_from(i64::from(at) + by).unwrap_or(0);
    boxes
        .iter()
        .map(|&(id, b)| {
            let bounds = Bounds { x0: shift(b.x0, x), y0: shift(b.y0, y), x1: shift(b.x1, x), y1: shift(b.y1, y) };
            (id, bounds)
        })
        .collect()
}

/// How far `low..high` can go on an axis of the page.
fn step(by: f32, low: u32, high: u32, extent: u32) -> i64 {
    let back = -i64::from(low);
    let forth = i64::from(extent) - i64::from(high);
    (by.round() as i64).min(forth).max(back)
}

/// A box of which a handle was dragged by page pixels. Dragged past the opposite edge it turns over.
pub(super) fn resized(bounds: Bounds, handle: Handle, by: Vec2, [width, height]: [u32; 2]) -> Bounds {
    let (x0, x1) = stretched(bounds.x0, bounds.x1, handle.x, by.x, width);
    let (y0, y1) = stretched(bounds.y0, bounds.y1, handle.y, by.y, height);
    Bounds { x0, y0, x1, y1 }
}

/// A box of which a handle was pushed by a key: it stops where the box is at its smallest.
pub(super) fn pushed(bounds: Bounds, handle: Handle, by: Vec2, size: [u32; 2]) -> Bounds {
    let room = |extent: u32| -(extent.saturating_sub(SMALLEST) as f32);
    let by = Vec2::new(by.x.max(room(bounds.width())), by.y.max(room(bounds.height())));
    resized(bounds, handle, by, size)
}

/// One axis of a box of which an edge (or none) was dragged.
fn stretched(low: u32, high: u32, edge: i8, by: f32, extent: u32) -> (u32, u32) {
    let (fixed, dragged) = match edge {
        0 => return (low, high),
        1.. => (low, high),
        _ => (high, low),
    };
    span(fixed, f64::from(dragged) + f64::from(by), extent)
}

/// From a fixed edge to a place that may be anywhere: on the page, and not too short.
fn span(fixed: u32, to: f64, extent: u32) -> (u32, u32) {
    let fixed = fixed.min(extent);
    let to = to.round().clamp(0.0, f64::from(extent)) as u32;
    if to.abs_diff(fixed) >= SMALLEST {
        return (fixed.min(to), fixed.max(to));
    }
    let forth = to >= fixed && fixed + SMALLEST <= extent || fixed < SMALLEST;
    if forth { (fixed, (fixed + SMALLEST).min(extent)) } else { (fixed - SMALLEST, fixed) }
}

/// The box between two page points, as far as it is on the page; may be too small to keep.
pub(super) fn drawn(from: Pos2, to: Pos2, [width, height]: [u32; 2]) -> Bounds {
    let on = |at: f32, extent: u32| at.round().clamp(0.0, extent as f32) as u32;
    Bounds::new(on(from.x, width), on(from.y, height), on(to.x, width), on(to.y, height))
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::{pos2, vec2};
    use proptest::prelude::*;

    const PAGE: [u32; 2] = [1000, 1400];

    fn handle(x: i8, y: i8) -> Handle {
        Handle { x, y }
    }

    #[test]
    fn a_group_stops_at_the_edge_and_keeps_its_shape() {
        let boxes = [(RegionId(1), Bounds::new(10, 20, 110, 70)), (RegionId(2), Bounds::new(50, 600, 950, 1390))];
        let to = |by| moved(&boxes, by, PAGE).into_iter().map(|(_, bounds)| bounds).collect::<Vec<_>>();
        assert_eq!(to(vec2(3.4, -4.6)), [Bounds::new(13, 15, 113, 65), Bounds::new(53, 595, 953, 1385)]);
        assert_eq!(to(vec2(-500.0, 500.0)), [Bounds::new(0, 30, 100, 80), Bounds::new(40, 610, 940, 1400)]);
        assert_eq!(to(vec2(500.0, -500.0)), [Bounds::new(60, 0, 160, 50), Bounds::new(100, 580, 1000, 1370)]);
    }

    #[test]
    fn a_resize_past_the_opposite_edge_turns_the_box_over() {
        let bounds = Bounds::new(100, 100, 200, 150);
        assert_eq!(resized(bounds, handle(1, 1), vec2(-160.0, 10.0), PAGE), Bounds::new(40, 100, 100, 160));
        assert_eq!(resized(bounds, handle(0, -1), vec2(70.0, 80.0), PAGE), Bounds::new(100, 150, 200, 180));
        assert_eq!(resized(bounds, handle(-1, 0), vec2(-1000.0, 80.0), PAGE), Bounds::new(0, 100, 200, 150));
    }

    #[test]
    fn a_resize_never_leaves_less_than_a_slip() {
        let bounds = Bounds::new(100, 100, 200, 150);
        assert_eq!(resized(bounds, handle(1, 0), vec2(-99.0, 0.0), PAGE), Bounds::new(100, 100, 104, 150));
        assert_eq!(resized(bounds, handle(1, 0), vec2(-102.0, 0.0), PAGE), Bounds::new(96, 100, 100, 150));
        // At the page's very edge there is room on one side only.
        let edge = Bounds::new(990, 100, 1000, 150);
        assert_eq!(resized(edge, handle(-1, 0), vec2(100.0, 0.0), PAGE), Bounds::new(996, 100, 1000, 150));
        let corner = Bounds::new(0, 0, 50, 50);
        assert_eq!(resized(corner, handle(1, 1), vec2(-50.0, -50.0), PAGE), Bounds::new(0, 0, 4, 4));
    }

    #[test]
    fn a_key_does_not_turn_a_box_over() {
        let bounds = Bounds::new(100, 100, 106, 150);
        assert_eq!(pushed(bounds, handle(1, 0), vec2(-10.0, 0.0), PAGE), Bounds::new(100, 100, 104, 150));
        assert_eq!(pushed(bounds, handle(0, 1), vec2(0.0, -10.0), PAGE), Bounds::new(100, 100, 106, 140));
    }

    #[test]
    fn a_drawn_box_ends_at_the_page() {
        assert_eq!(drawn(pos2(900.4, 30.6), pos2(1200.0, -5.0), PAGE), Bounds::new(900, 0, 1000, 31));
        assert!(drawn(pos2(-20.0, 30.0), pos2(-5.0, 60.0), PAGE).is_empty());
    }

    proptest! {
        #[test]
        fn whatever_is_dragged_stays_on_the_page(
            (x0, y0, w, h) in (0_u32..900, 0_u32..1300, 4_u32..100, 4_u32..100),
            (by_x, by_y) in (-3000.0_f32..3000.0, -3000.0_f32..3000.0),
            (x, y) in (-1_i8..=1, -1_i8..=1),
        ) {
            let bounds = Bounds::new(x0, y0, x0 + w, y0 + h);
            let by = vec2(by_x, by_y);
            let moved = moved(&[(RegionId(1), bounds)], by, PAGE)[0].1;
            prop_assert_eq!((moved.width(), moved.height()), (w, h));
            prop_assert_eq!(moved, moved.clamped(PAGE[0], PAGE[1]));
            let resized = resized(bounds, handle(x, y), by, PAGE);
            prop_assert!(resized.width() >= SMALLEST && resized.height() >= SMALLEST);
            prop_assert_eq!(resized, resized.clamped(PAGE[0], PAGE[1]));
        }
    }
}
