//! The second cue beside the colour: underlines in the pattern of the round, a bar before each correction, and what
//! stands where in a laid-out text.

use eframe::egui::emath::TSTransform;
use eframe::egui::{Color32, Galley, Pos2, Rect, Shape, Stroke, Ui, pos2, vec2};

use crate::window::colours::{self, Pattern};
use crate::window::log::LiveText;
use crate::window::round_text::RoundSpans;

/// A mark under characters, or before them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Highlight {
    pub(super) rect: Rect,
    pub(super) colour: Color32,
    pub(super) pattern: Pattern,
    pub(super) kind: Kind,
}

/// What a mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Characters that a round committed: underlined in the round's pattern along the lower edge.
    Round,
    /// Before a correction: a bar that fills its rectangle.
    Rejected,
    /// A draft that is not verified.
    Ghost,
}

/// The marks of a laid-out text, relative to its corner. Runs of one round side by side share theirs.
pub(super) fn of(galley: &Galley, text: &LiveText, spans: &RoundSpans) -> Vec<Highlight> {
    let mut marks: Vec<Highlight> = Vec::new();
    let mut last_round = None;
    let mut walk = Walk::new(galley);
    for (at, (run, span)) in text.runs.iter().zip(&spans.runs).enumerate() {
        if let Some(refused) = spans.rejected.get(at).and_then(Option::as_ref) {
            walk.skip(refused.len());
        }
        let colour = colours::round_on_paper(run.round);
        let mark = |rect| Highlight { rect, colour, pattern: colours::pattern(run.round), kind: Kind::Round };
        for (nth, rect) in walk.take(span.len()).into_iter().enumerate() {
            if nth == 0 && run.rejected.is_some() {
                marks.push(bar(rect));
            }
            match marks.iter_mut().rev().find(|mark| mark.kind == Kind::Round) {
                Some(last) if last_round == Some(run.round) && joins(last.rect, rect) => last.rect |= rect,
                _ => marks.push(mark(rect)),
            }
            last_round = Some(run.round);
        }
    }
    let ghost = |rect| Highlight { rect, colour: colours::GHOST_ON_PAPER, pattern: Pattern::Solid, kind: Kind::Ghost };
    marks.extend(walk.take(spans.ghost.len()).into_iter().map(ghost));
    marks
}

fn bar(before: Rect) -> Highlight {
    let half = (0.03 * before.height()).clamp(0.5, 1.0);
    let rect = Rect::from_min_max(before.left_top() - vec2(half, 0.0), before.left_bottom() + vec2(half, 0.0));
    Highlight { rect, colour: colours::REJECTED, pattern: Pattern::Solid, kind: Kind::Rejected }
}

/// Whether a rectangle goes on another in the same line.
fn joins(last: Rect, next: Rect) -> bool {
    (last.top() - next.top()).abs() < 0.5 && (last.right() - next.left()).abs() < 0.25 * next.height()
}

/// The character at a place of a laid-out text, counted from 0 in the layout.
pub(super) fn character_at(galley: &Galley, at: Pos2) -> Option<usize> {
    let mut before = 0;
    for row in &galley.rows {
        if (row.rect().top()..row.rect().bottom()).contains(&at.y) {
            let x = at.x - row.pos.x;
            let hit = row.glyphs.iter().position(|glyph| (glyph.pos.x..glyph.max_x()).contains(&x))?;
            return Some(before + hit);
        }
        before += row.glyphs.len() + usize::from(row.ends_with_newline);
    }
    None
}

/// The character of the text that a character of the layout is; that of the correction for what was refused before it,
/// none for a draft.
pub(super) fn character_of(spans: &RoundSpans, in_layout: usize) -> Option<usize> {
    let mut before = 0;
    for (at, span) in spans.runs.iter().enumerate() {
        let refused = spans.rejected.get(at).and_then(Option::as_ref);
        if refused.is_some_and(|refused| refused.contains(&in_layout)) {
            return Some(before);
        }
        if span.contains(&in_layout) {
            return Some(before + in_layout - span.start);
        }
        before += span.len();
    }
    None
}

/// Goes through the characters of a laid-out text, line by line.
struct Walk<'a> {
    galley: &'a Galley,
    row: usize,
    glyph: usize,
}

impl<'a> Walk<'a> {
    fn new(galley: &'a Galley) -> Self {
        Self { galley, row: 0, glyph: 0 }
    }

    fn skip(&mut self, characters: usize) {
        self.take(characters);
    }

    /// The rectangles of the next characters, one for each line they are on.
    fn take(&mut self, mut characters: usize) -> Vec<Rect> {
        let mut rects = Vec::new();
        while characters > 0 {
            let Some(row) = self.galley.rows.get(self.row) else { break };
            let end = row.glyphs.len().min(self.glyph + characters);
            let taken = row.glyphs.get(self.glyph..end).unwrap_or_default();
            if let (Some(first), Some(last)) = (taken.first(), taken.last()) {
                let bounds = row.rect();
                rects.push(Rect::from_min_max(
                    pos2(row.pos.x + first.pos.x, bounds.top()),
                    pos2(row.pos.x + last.max_x(), bounds.bottom()),
                ));
            }
            characters -= taken.len();
            self.glyph = end;
            let newline = usize::from(row.ends_with_newline);
            if end == row.glyphs.len() && characters >= newline {
                characters -= newline;
                (self.row, self.glyph) = (self.row + 1, 0);
            }
        }
        rects
    }
}

/// Draws marks inside `clip`, over what was painted so far.
pub(super) fn underlines(ui: &Ui, clip: Rect, marks: Vec<Highlight>) {
    let painter = ui.painter_at(clip);
    painter.extend(marks.into_iter().filter(|mark| clip.intersects(mark.rect)).flat_map(shapes));
}

fn shapes(mark: Highlight) -> Vec<Shape> {
    match mark.kind {
        Kind::Rejected => vec![Shape::rect_filled(mark.rect, 0.0, mark.colour)],
        Kind::Ghost => {
            let y = mark.rect.bottom() - 0.5;
            let ends = [pos2(mark.rect.left(), y), pos2(mark.rect.right(), y)];
            Shape::dotted_line(&ends, mark.colour, 3.0, 0.5)
        }
        Kind::Round => underline(mark.rect, mark.colour, mark.pattern),
    }
}

/// An underline along the lower edge of a rectangle.
fn underline(rect: Rect, colour: Color32, pattern: Pattern) -> Vec<Shape> {
    // Thin below small letters, but never invisible.
    let width = (0.06 * rect.height()).clamp(0.6, 2.0);
    let stroke = Stroke::new(width, colour);
    let (left, right) = (rect.left() + 0.5, rect.right() - 0.5);
    let line = |y: f32| [pos2(left, y), pos2(right, y)];
    let y = rect.bottom() - 0.5 * width;
    match pattern {
        Pattern::Solid => vec![Shape::line_segment(line(y), stroke)],
        Pattern::Dashed => Shape::dashed_line(&line(y), stroke, 4.0, 2.0),
        Pattern::Dotted => Shape::dotted_line(&line(y), colour, 2.0 + width, 0.7 * width),
        Pattern::Double => {
            let thin = Stroke::new(0.6 * width, colour);
            vec![Shape::line_segment(line(y), thin), Shape::line_segment(line(y - 1.6 * width), thin)]
        }
        Pattern::Wavy => {
            let steps = ((right - left) / 2.0).ceil().clamp(1.0, 2000.0);
            let wave = |step: f32| pos2(left + (right - left) * step / steps, y - width * (step % 2.0));
            vec![Shape::line((0..=steps as usize).map(|step| wave(step as f32)).collect(), stroke)]
        }
        Pattern::DashDot => Shape::dashed_line_with_offset(&line(y), stroke, &[5.0, 1.0], &[2.0, 2.0], 0.0),
    }
}

impl Highlight {
    /// The mark on the screen, and as opaque as asked.
    pub(super) fn placed(mut self, to: TSTransform, opacity: f32) -> Self {
        self.rect = to * self.rect;
        self.colour = self.colour.gamma_multiply(opacity);
        self
    }
}
