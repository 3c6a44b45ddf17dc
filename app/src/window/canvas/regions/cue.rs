//! How far the reading of a region is: in a word, and as a small drawing that needs no font.

use eframe::egui::{Painter, Rect, Shape, Stroke, Vec2, pos2, vec2};
use engine::page::Status;

use crate::window::state::State;
use crate::window::strings::status as words;
use crate::window::workspace::project::PageRegion;

/// How far a region is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cue<'a> {
    NotRead,
    Waiting,
    Reading,
    Ended(&'a Status),
    Edited,
}

impl<'a> Cue<'a> {
    /// A region's state: what goes on now wins over what was read before.
    pub(super) fn of(state: &State, region: &'a PageRegion) -> Self {
        match (state.live.region(region.id), &region.read) {
            (Some(live), _) if live.begun().next().is_some() => Self::Reading,
            (Some(_), _) => Self::Waiting,
            (None, _) if region.edit.is_some() => Self::Edited,
            (None, Some(read)) => Self::Ended(&read.status),
            (None, None) => Self::NotRead,
        }
    }

    /// In a word.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::NotRead => words::NOT_READ,
            Self::Waiting => words::WAITING,
            Self::Reading => words::READING,
            Self::Ended(status) => words::ended(status),
            Self::Edited => words::EDITED,
        }
    }

    /// Whether there is something to draw.
    pub(super) fn is_drawn(self) -> bool {
        self != Self::NotRead
    }

    /// As a drawing in a square.
    pub(super) fn draw(self, painter: &Painter, square: Rect, stroke: Stroke) {
        let at = |x: f32, y: f32| square.lerp_inside(vec2(x, y));
        let line = |points: &[(f32, f32)]| {
            painter.add(Shape::line(points.iter().map(|&(x, y)| at(x, y)).collect(), stroke));
        };
        let dot = |x: f32| painter.circle_filled(at(x, 0.5), 0.11 * square.width(), stroke.color);
        match self {
            Self::NotRead => {}
            // A clock.
            Self::Waiting => {
                painter.circle_stroke(square.center(), 0.42 * square.width(), stroke);
                line(&[(0.5, 0.22), (0.5, 0.5), (0.7, 0.62)]);
            }
            // Something that plays.
            Self::Reading => {
                let points = vec![at(0.2, 0.1), at(0.9, 0.5), at(0.2, 0.9)];
                painter.add(Shape::convex_polygon(points, stroke.color, Stroke::NONE));
            }
            Self::Ended(Status::Done) => line(&[(0.1, 0.55), (0.4, 0.85), (0.92, 0.18)]),
            Self::Ended(Status::Empty) => line(&[(0.15, 0.5), (0.85, 0.5)]),
            // A picture with its mountain.
            Self::Ended(Status::Picture) => {
                line(&[(0.05, 0.15), (0.95, 0.15), (0.95, 0.85), (0.05, 0.85), (0.05, 0.15)]);
                line(&[(0.15, 0.75), (0.45, 0.4), (0.8, 0.75)]);
            }
            Self::Ended(Status::Truncated) => [0.15, 0.5, 0.85].into_iter().for_each(|x| {
                dot(x);
            }),
            // Two bars: stopped.
            Self::Ended(Status::LoopStopped) => {
                line(&[(0.3, 0.12), (0.3, 0.88)]);
                line(&[(0.7, 0.12), (0.7, 0.88)]);
            }
            Self::Ended(Status::Cancelled) => {
                painter.rect_filled(Rect::from_center_size(square.center(), 0.66 * square.size()), 0.0, stroke.color);
            }
            Self::Ended(Status::Failed(_)) => {
                line(&[(0.15, 0.15), (0.85, 0.85)]);
                line(&[(0.85, 0.15), (0.15, 0.85)]);
            }
            // A pencil.
            Self::Edited => {
                line(&[(0.12, 0.88), (0.2, 0.62), (0.72, 0.1), (0.9, 0.28), (0.38, 0.8), (0.12, 0.88)]);
            }
        }
    }
}

/// A square for a drawing, in the middle of the height of a line and as tall as its letters.
pub(super) fn square(left: f32, line: Rect) -> Rect {
    let side = 0.62 * line.height();
    Rect::from_min_size(pos2(left, line.center().y - 0.5 * side), Vec2::splat(side))
}
