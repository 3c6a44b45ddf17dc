//! The marks under and before characters, the second cue beside colour.

use eframe::egui::{Rect, Ui};

pub(crate) use crate::window::canvas::gpu::Kind;
use crate::window::canvas::gpu::{self, Highlight};
use crate::window::colours::{self, Pattern};

/// A mark; the rectangle is that of the characters.
pub(crate) type Mark = (Rect, u32, Kind);

/// Half the width of the bar before a correction, points.
const BAR: f32 = 1.0;

/// Draws the marks that are inside `clip`; text painted afterwards stands on them.
pub(crate) fn underlines(ui: &Ui, clip: Rect, marks: Vec<Mark>) {
    let clip = clip.intersect(ui.clip_rect());
    let visuals = ui.visuals();
    let seen = marks.into_iter().filter(|(rect, ..)| clip.intersects(*rect));
    let highlights = seen.map(|(rect, round, kind)| match kind {
        Kind::Round => {
            Highlight { rect, colour: colours::round(round, visuals), pattern: colours::pattern(round), kind }
        }
        Kind::Rejected => {
            let (left, width) = (rect.left() - BAR, 2.0 * BAR);
            let rect = Rect::from_min_max(
                rect.left_top() + eframe::egui::vec2(-BAR, 0.0),
                eframe::egui::pos2(left + width, rect.bottom()),
            );
            Highlight { rect, colour: colours::REJECTED, pattern: Pattern::Solid, kind }
        }
        Kind::Ghost => Highlight { rect, colour: colours::ghost(visuals), pattern: Pattern::Solid, kind },
    });
    gpu::highlights(ui, clip, highlights.collect());
}
