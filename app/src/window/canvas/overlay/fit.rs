//! A request's text made to fit the part of the page it was read from.

use std::sync::Arc;

use eframe::egui::emath::TSTransform;
use eframe::egui::text::LayoutJob;
use eframe::egui::{FontFamily, FontId, Galley, Rect, Ui, Vec2};

use crate::window::colours;
use crate::window::highlight::Highlight;
use crate::window::round_marks::{self, Mark};
use crate::window::round_text::{self, RoundSpans, RoundStyle};
use crate::window::workspace::log::RequestText;

/// Smallest letters, points: below that a text is a grey line anyway.
const LEAST: f32 = 2.0;
/// The size at which characters are measured, points.
const MEASURE: f32 = 16.0;
/// A finished line is spread over its strip when it misses no more than this share of its own width.
const SPREAD: f32 = 0.25;

/// How to fit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fitting {
    /// The strip on the screen, points.
    pub(super) room: Vec2,
    /// Largest letters, points.
    pub(super) cap: f32,
    pub(super) family: FontFamily,
    /// Whether rounds are coloured.
    pub(super) colours: bool,
    /// Whether the draft is shown.
    pub(super) ghosts: bool,
    /// Whether refused drafts are shown.
    pub(super) refused: bool,
    /// Whether no more text comes.
    pub(super) done: bool,
}

/// A text that fits.
#[derive(Clone, Debug)]
pub(super) struct Fitted {
    pub(super) job: LayoutJob,
    pub(super) spans: RoundSpans,
    pub(super) size: f32,
    /// Width of the strip it was made for.
    width: f32,
    /// From the strip's corner to the text's.
    pub(super) offset: Vec2,
    /// Marks relative to the text's corner.
    pub(super) marks: Vec<Highlight>,
}

impl Fitted {
    /// From points of the layout to the screen, for a strip that may have been zoomed since.
    pub(super) fn on(&self, strip: Rect) -> TSTransform {
        let scaling = strip.width() / self.width;
        TSTransform::new(strip.min.to_vec2() + scaling * self.offset, scaling)
    }
}

/// Fits a text: the largest letters with which it fills the strip, in as many lines as that takes.
pub(super) fn fit(ui: &Ui, text: &RequestText, fitting: &Fitting) -> Fitted {
    let mut shown = text.clone();
    if !fitting.refused {
        shown.runs.iter_mut().for_each(|run| run.rejected = None);
    }
    let mut size = estimate(ui, &shown, fitting);
    loop {
        let (mut job, spans) = lay_out(ui, &shown, fitting, size);
        let mut galley = ui.fonts_mut(|fonts| fonts.layout_job(job.clone()));
        let too_tall = galley.size().y > fitting.room.y + 1.0 && galley.rows.len() > 1;
        let too_wide = galley.size().x > fitting.room.x + 1.0;
        if (too_tall || too_wide) && size > LEAST {
            size = smaller(size);
            continue;
        }
        if fitting.done {
            spread(ui, &mut job, &mut galley, fitting);
        }
        let offset = match galley.rows.len() {
            // A single line stands in the middle of its strip, as the printed one does.
            0 | 1 => Vec2::new(0.0, 0.5 * (fitting.room.y - galley.size().y)),
            _ => Vec2::ZERO,
        };
        let marks = if fitting.colours { round_marks::marks(&galley, [(text, &spans)]) } else { Vec::new() };
        let drawn = |mark: Mark| mark.highlight(colours::round_on_paper, colours::GHOST_ON_PAPER);
        let marks = marks.into_iter().map(drawn).collect();
        return Fitted { job, spans, size, width: fitting.room.x, offset, marks };
    }
}

fn lay_out(ui: &Ui, text: &RequestText, fitting: &Fitting, size: f32) -> (LayoutJob, RoundSpans) {
    let style = RoundStyle {
        font: FontId::new(size, fitting.family.clone()),
        round: |round, _| colours::round_on_paper(round),
        plain: colours::INK,
        ghost: colours::GHOST_ON_PAPER,
        refusal: colours::REJECTED,
        colours: fitting.colours,
        ghosts: fitting.ghosts,
        refused: fitting.refused,
        wrap: fitting.room.x,
    };
    round_text::layout(text, &style, ui.visuals())
}

/// The size that should do, from the widths of the characters: laying out is dear, adding is not.
fn estimate(ui: &Ui, text: &RequestText, fitting: &Fitting) -> f32 {
    let font = FontId::new(MEASURE, fitting.family.clone());
    let (row, lines) = ui.fonts_mut(|fonts| {
        let mut lines = vec![0.0];
        let ghost = fitting.ghosts.then_some(&text.ghost);
        let refused = text.runs.iter().filter_map(|run| run.rejected.as_ref()).filter(|_| fitting.refused);
        let shown = text.runs.iter().map(|run| &run.text).chain(refused).chain(ghost);
        for character in shown.flat_map(|text| text.chars()) {
            match (character, lines.last_mut()) {
                ('\n', _) => lines.push(0.0),
                (_, Some(line)) => *line += fonts.glyph_width(&font, character) / MEASURE,
                (_, None) => {}
            }
        }
        (fonts.row_height(&font) / MEASURE, lines)
    });
    let fits = |size: f32| {
        let rows: f32 = lines.iter().map(|line| (line * size / fitting.room.x).ceil().max(1.0)).sum();
        rows * row * size <= fitting.room.y || rows <= 1.0
    };
    let (mut low, mut high) = (LEAST, fitting.cap.max(LEAST));
    if fits(high) {
        return rung(high);
    }
    while high - low > 0.25 {
        let middle = 0.5 * (low + high);
        if fits(middle) { low = middle } else { high = middle }
    }
    rung(low)
}

/// Widens the gaps of a finished line that is a little too short, so that its letters lie over the printed ones.
fn spread(ui: &Ui, job: &mut LayoutJob, galley: &mut Arc<Galley>, fitting: &Fitting) {
    let width = galley.size().x;
    let missing = fitting.room.x - width;
    let gaps = galley.rows.first().map_or(0, |row| row.glyphs.len());
    if galley.rows.len() != 1 || gaps == 0 || missing < 1.0 || missing > SPREAD * width {
        return;
    }
    // Not every letter has a gap before it: the first try tells how much a gap brings.
    let mut gap = missing / gaps as f32;
    for _ in 0..2 {
        job.wrap.max_width = f32::INFINITY;
        job.sections.iter_mut().for_each(|section| section.format.extra_letter_spacing = gap);
        *galley = ui.fonts_mut(|fonts| fonts.layout_job(job.clone()));
        let gained = galley.size().x - width;
        if gained <= 0.0 || (missing - gained).abs() < 1.0 {
            return;
        }
        gap *= missing / gained;
    }
}

/// Sizes go in steps: each one fills the font texture with letters of its own.
fn rung(size: f32) -> f32 {
    if size < 16.0 { (2.0 * size).floor() / 2.0 } else { size.floor() }.max(LEAST)
}

fn smaller(size: f32) -> f32 {
    rung((0.95 * size).min(size - 0.5))
}
