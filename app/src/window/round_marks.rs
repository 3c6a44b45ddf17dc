//! The second cue beside the colour: underlines in the pattern of the round, a bar before each correction, hatching below
//! drafts; and which character lies where in a laid-out text.

use std::ops::Range;

use eframe::egui::{Color32, Galley, Pos2, Rect, Vec2, pos2, vec2};

use super::colours::{self, Pattern};
use super::highlight::{Highlight, MarkKind};
use super::round_text::RoundSpans;
use super::workspace::log::RequestText;

/// A mark of characters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mark {
    /// Of the characters; of those behind the bar for [`MarkKind::Rejected`].
    pub(crate) rect: Rect,
    pub(crate) round: u32,
    pub(crate) kind: MarkKind,
}

impl Mark {
    /// The mark as it is drawn, with colours for rounds and for drafts.
    pub(crate) fn highlight(self, colour_of: impl Fn(u32) -> Color32, ghost: Color32) -> Highlight {
        let Self { rect, round, kind } = self;
        match kind {
            MarkKind::Round => Highlight { rect, colour: colour_of(round), pattern: colours::pattern(round), kind },
            MarkKind::Rejected => {
                let half = vec2((0.05 * rect.height()).clamp(0.5, 1.0), 0.0);
                let rect = Rect::from_min_max(rect.left_top() - half, rect.left_bottom() + half);
                Highlight { rect, colour: colours::REJECTED, pattern: Pattern::Solid, kind }
            }
            MarkKind::Ghost => Highlight { rect, colour: ghost, pattern: Pattern::Solid, kind },
        }
    }

    /// The mark elsewhere.
    pub(crate) fn translate(self, by: Vec2) -> Self {
        Self { rect: self.rect.translate(by), ..self }
    }
}

/// The marks of texts that were laid out together, relative to the layout's corner. Runs of one round side by side share
/// theirs.
pub(crate) fn marks<'a>(
    galley: &Galley,
    texts: impl IntoIterator<Item = (&'a RequestText, &'a RoundSpans)>,
) -> Vec<Mark> {
    let mut walk = Walk { galley, at: 0, row: 0, glyph: 0 };
    let mut marks: Vec<Mark> = Vec::new();
    for (text, spans) in texts {
        // The last round's mark of this text, which the next run may go on.
        let mut last: Option<usize> = None;
        for (run, span) in text.runs.iter().zip(&spans.runs) {
            for (nth, rect) in walk.over(span).into_iter().enumerate() {
                if nth == 0 && run.rejected.is_some() {
                    marks.push(Mark { rect, round: run.round, kind: MarkKind::Rejected });
                }
                match last.and_then(|at| marks.get_mut(at)) {
                    Some(mark) if mark.round == run.round && joins(mark.rect, rect) => mark.rect |= rect,
                    _ => {
                        last = Some(marks.len());
                        marks.push(Mark { rect, round: run.round, kind: MarkKind::Round });
                    }
                }
            }
        }
        marks.extend(walk.over(&spans.ghost).into_iter().map(|rect| Mark { rect, round: 0, kind: MarkKind::Ghost }));
    }
    marks
}

/// Whether a rectangle goes on another in the same line.
fn joins(last: Rect, next: Rect) -> bool {
    (last.top() - next.top()).abs() < 0.5 && (last.right() - next.left()).abs() < 0.25 * next.height()
}

/// The character at a place of a laid-out text, counted from 0 in the layout; none beside the text.
pub(crate) fn character_at(galley: &Galley, at: Pos2) -> Option<usize> {
    let mut before = 0;
    for row in &galley.rows {
        if (row.min_y()..row.max_y()).contains(&at.y) {
            let x = at.x - row.pos.x;
            let hit = row.glyphs.iter().position(|glyph| (glyph.pos.x..glyph.max_x()).contains(&x))?;
            return Some(before + hit);
        }
        before += row.char_count_including_newline().0;
    }
    None
}

/// Goes through the characters of a laid-out text, line by line and only on.
struct Walk<'a> {
    galley: &'a Galley,
    /// Characters passed.
    at: usize,
    row: usize,
    glyph: usize,
}

impl Walk<'_> {
    /// The rectangles of characters further on, one for each line they are on.
    fn over(&mut self, span: &Range<usize>) -> Vec<Rect> {
        self.take(span.start.saturating_sub(self.at));
        self.take(span.end.saturating_sub(self.at))
    }

    fn take(&mut self, mut characters: usize) -> Vec<Rect> {
        let mut rects = Vec::new();
        self.at += characters;
        while characters > 0 {
            let Some(row) = self.galley.rows.get(self.row) else { break };
            let end = row.glyphs.len().min(self.glyph + characters);
            let taken = row.glyphs.get(self.glyph..end).unwrap_or_default();
            if let (Some(first), Some(last)) = (taken.first(), taken.last()) {
                rects.push(Rect::from_min_max(
                    pos2(row.pos.x + first.pos.x, row.min_y()),
                    pos2(row.pos.x + last.max_x(), row.max_y()),
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
