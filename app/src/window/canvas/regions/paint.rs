//! Drawing boxes and handles. The page is paper in every theme, so all of this looks the same in both.

use eframe::egui::{CornerRadius, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, TextStyle, Ui, Vec2, pos2, vec2};
use engine::region::{Rect as Bounds, Role};

use super::hit;
use crate::window::canvas::placement::Placement;
use crate::window::{colours, strings};

const DASH: f32 = 4.0;
pub(super) const HANDLE: f32 = 7.0;
/// Around the words of a tag, points.
pub(super) const PADDING: Vec2 = vec2(4.0, 1.0);

/// How a box is drawn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Look {
    pub(super) hovered: bool,
    pub(super) selected: bool,
    /// Whether it can be resized now.
    pub(super) handles: bool,
}

impl Look {
    /// Whether it stands out from the others.
    pub(super) fn strong(self) -> bool {
        self.hovered || self.selected
    }
}

/// Draws a region's box.
pub(super) fn outline(painter: &Painter, on_screen: Rect, role: Role, look: Look) {
    let colour = colours::role(role);
    let dim = if role == Role::Furniture && !look.strong() { 0.8 } else { 1.0 };
    let width = if look.selected {
        2.0
    } else if look.hovered {
        1.5
    } else {
        1.0
    };
    let stroke = Stroke::new(width, colour.gamma_multiply(dim));
    if look.strong() {
        painter.rect_filled(on_screen, 0.0, colour.gamma_multiply(0.07));
    }
    if role == Role::Furniture {
        let corners = [
            on_screen.left_top(),
            on_screen.right_top(),
            on_screen.right_bottom(),
            on_screen.left_bottom(),
            on_screen.left_top(),
        ];
        painter.extend(Shape::dashed_line(&corners, stroke, DASH, DASH));
    } else {
        painter.rect_stroke(on_screen, CornerRadius::ZERO, stroke, StrokeKind::Middle);
    }
    if look.handles {
        for (_, middle) in hit::handles(on_screen) {
            let square = Rect::from_center_size(middle, Vec2::splat(HANDLE));
            painter.rect(square, 1.0, colours::PAPER, Stroke::new(1.5, colour), StrokeKind::Inside);
        }
    }
}

/// Draws the box that is being drawn, with its size.
pub(super) fn drawing(ui: &Ui, painter: &Painter, placement: Placement, bounds: Bounds, pointer: Pos2) {
    let on_screen = placement.rect(bounds);
    let accent = colours::role(Role::Text);
    painter.rect(on_screen, 0.0, accent.gamma_multiply(0.1), Stroke::new(1.5, accent), StrokeKind::Middle);
    note(ui, painter, pointer, strings::regions::size(bounds.width(), bounds.height()));
}

/// Draws a rubber band.
pub(super) fn band(painter: &Painter, on_screen: Rect) {
    let accent = colours::role(Role::Text);
    painter.rect_filled(on_screen, 0.0, accent.gamma_multiply(0.08));
    let (a, b) = (on_screen.left_top(), on_screen.right_bottom());
    let corners = [a, pos2(b.x, a.y), b, pos2(a.x, b.y), a];
    painter.extend(Shape::dashed_line(&corners, Stroke::new(1.0, accent), DASH, DASH));
}

/// A few words beside the pointer.
pub(super) fn note(ui: &Ui, painter: &Painter, pointer: Pos2, words: String) {
    let font = TextStyle::Small.resolve(ui.style());
    let galley = painter.layout_no_wrap(words, font, colours::ON_TAG);
    let clip = painter.clip_rect();
    let size = galley.size() + 2.0 * PADDING;
    let min = (pointer + vec2(14.0, 14.0)).min(clip.max - size).max(clip.min);
    painter.rect_filled(Rect::from_min_size(min, size), 2.0, colours::tag(Role::Text));
    painter.galley(min + PADDING, galley, colours::ON_TAG);
}
