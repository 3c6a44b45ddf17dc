//! The second cue beside the colour: underlines in the pattern of the round, a bar before each correction, and what
//! stands where in a laid-out text.

use eframe::egui::emath::TSTransform;
use eframe::egui::{Galley, Pos2, Rect, pos2, vec2};

use crate::window::canvas::gpu::{Highlight, Kind};
use crate::window::colours::{self, Pattern};
use crate::window::log::LiveText;
use crate::window::round_text::RoundSpans;

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

/// A mark on the screen, and as opaque as asked.
pub(super) fn placed(mut mark: Highlight, to: TSTransform, opacity: f32) -> Highlight {
    mark.rect = to * mark.rect;
    mark.colour = mark.colour.gamma_multiply(opacity);
    mark
}
