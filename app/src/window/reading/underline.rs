//! The marks under and before characters, the second cue beside colour.

use eframe::egui::{Pos2, Rect, Shape, Stroke, Ui, Visuals, pos2, vec2};

use crate::window::colours::{self, Pattern};

/// What a mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Characters that a round committed.
    Round,
    /// The bar before a correction.
    Rejected,
    /// A draft that is not verified yet.
    Ghost,
}

/// A mark; the rectangle is that of the characters.
pub(crate) type Mark = (Rect, u32, Kind);

/// Distance of an underline from the characters' lower edge, points.
const RISE: f32 = 1.0;

/// Draws the marks that are inside `clip`; text painted afterwards stands on them.
pub(crate) fn underlines(ui: &Ui, clip: Rect, marks: Vec<Mark>) {
    let painter = ui.painter().with_clip_rect(clip.intersect(ui.clip_rect()));
    let seen = marks.into_iter().filter(|(rect, ..)| painter.clip_rect().intersects(*rect));
    let mut shapes = Vec::new();
    for (rect, round, kind) in seen {
        draw(&mut shapes, rect, round, kind, ui.visuals());
    }
    painter.extend(shapes);
}

fn draw(shapes: &mut Vec<Shape>, rect: Rect, round: u32, kind: Kind, visuals: &Visuals) {
    let y = rect.bottom() - RISE;
    let line = |y: f32| [pos2(rect.left(), y), pos2(rect.right(), y)];
    match kind {
        Kind::Rejected => {
            let bar = Rect::from_min_max(rect.left_top() - vec2(1.0, 0.0), rect.left_bottom() + vec2(1.0, 0.0));
            shapes.push(Shape::rect_filled(bar, 0, colours::REJECTED));
        }
        Kind::Ghost => {
            let stroke = Stroke::new(0.5, colours::ghost(visuals));
            shapes.push(Shape::line_segment(line(y), stroke));
        }
        Kind::Round => {
            let colour = colours::round(round, visuals);
            let stroke = Stroke::new(1.0, colour);
            match colours::pattern(round) {
                Pattern::Solid => shapes.push(Shape::line_segment(line(y), stroke)),
                Pattern::Dashed => shapes.extend(Shape::dashed_line(&line(y), stroke, 4.0, 3.0)),
                Pattern::Dotted => shapes.extend(Shape::dotted_line(&line(y), colour, 3.0, 0.8)),
                Pattern::Double => {
                    shapes.extend([y - 2.0, y].map(|y| Shape::line_segment(line(y), Stroke::new(0.8, colour))));
                }
                Pattern::Wavy => shapes.push(Shape::line(wave(rect.left(), rect.right(), y), stroke)),
                Pattern::DashDot => {
                    shapes.extend(Shape::dashed_line_with_offset(&line(y), stroke, &[5.0, 1.2], &[2.0, 2.0], 0.0))
                }
            }
        }
    }
}

/// A small wave that is in step with its neighbours.
fn wave(left: f32, right: f32, y: f32) -> Vec<Pos2> {
    let steps = ((right - left) / 1.5).ceil().max(1.0) as usize;
    (0..=steps)
        .map(|step| {
            let x = (left + 1.5 * step as f32).min(right);
            pos2(x, y - 0.8 + 1.2 * (x * std::f32::consts::TAU / 6.0).sin())
        })
        .collect()
}
