//! The marks under and before characters, on the window's ground.

use eframe::egui::{Rect, Ui};

use crate::window::canvas::gpu;
use crate::window::colours;
use crate::window::round_marks::Mark;

/// Draws the marks that are inside `clip`; text painted afterwards stands on them.
pub(super) fn underlines(ui: &Ui, clip: Rect, marks: impl IntoIterator<Item = Mark>) {
    let clip = clip.intersect(ui.clip_rect());
    let visuals = ui.visuals();
    let seen = marks.into_iter().filter(|mark| clip.intersects(mark.rect));
    let drawn = seen.map(|mark| mark.highlight(|round| colours::round(round, visuals), colours::ghost(visuals)));
    gpu::highlights(ui, clip, drawn.collect());
}
