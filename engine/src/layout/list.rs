//! List items: bullets cut from their line, numbers left in it, depth by indent.

use super::blocks::TextLine;
use super::lines::Segment;
use crate::region::{Label, ListItem, Marker, Rect, Region, Role};

/// Cuts a bullet from the start of a line.
pub(super) fn cut_bullet(line: &mut TextLine) {
    if line.mono == Some(true) || line.segment.letters.len() < 3 {
        return;
    }
    let (cap, baseline) = (line.cap, line.segment.baseline);
    let [mark, next, ..] = line.segment.letters.as_slice() else { return };
    let (b, gap) = (mark.bounds, next.bounds.x0 as f32 - mark.bounds.x1 as f32);
    let (w, h) = (b.width() as f32, b.height() as f32);
    let middle = baseline - (b.y0 + b.y1) as f32 / 2.0;
    let dot =
        h <= 0.6 * cap && w <= 0.7 * cap && w >= 0.15 * cap && mark.density() >= 0.6 && h >= 0.6 * w && w >= 0.6 * h;
    let square = h <= 0.85 * cap && w <= 0.9 * cap && mark.density() >= 0.92 && h >= 0.7 * w && w >= 0.7 * h;
    let dash = h <= 0.25 * cap && w >= 0.3 * cap && w <= 1.4 * cap;
    // An open bullet is smaller than an "o" and floats above the baseline.
    let floats = baseline - b.y1 as f32 >= 0.1 * cap;
    let ring = h <= 0.65 * cap && w <= 0.65 * cap && w >= 0.2 * cap && h >= 0.7 * w && w >= 0.7 * h && floats;
    let ring = ring && mark.density() >= 0.3;
    let centred = middle >= 0.2 * cap && middle <= 0.75 * cap;
    if (dot || square || dash || ring) && centred && gap >= 0.4 * cap && gap <= 4.0 * cap {
        line.bullet = Some(b);
        let letters = line.segment.letters.drain(1..).collect();
        line.segment = Segment::new(letters);
    }
}

/// Whether a line starts with a number or letter and a full stop or bracket; where the text after it starts.
pub(super) fn numbered(line: &TextLine) -> Option<u32> {
    let letters = &line.segment.letters;
    let gap = |index: usize| Some(letters.get(index + 1)?.bounds.x0 as f32 - letters.get(index)?.bounds.x1 as f32);
    // The mark is at most five letters long and ends at a gap.
    for last in 1..5 {
        let b = letters.get(last)?.bounds;
        let (w, h) = (b.width() as f32, b.height() as f32);
        let low = (b.y1 as f32 - line.segment.baseline).abs() <= 0.2 * line.cap;
        let stop = h <= 0.35 * line.cap && w <= 0.35 * line.cap && low;
        let bracket = h >= 1.1 * line.cap && w <= 0.5 * line.cap;
        let apart = gap(last)? >= 0.35 * line.cap;
        if (stop || bracket) && apart {
            return letters.get(last + 1).map(|c| c.bounds.x0);
        }
        if gap(last)? >= 0.5 * line.cap {
            return None;
        }
    }
    None
}

/// Where the text after a number and a full stop or bracket starts: as `numbered`, but all before it stands as high as
/// digits do, so that the end of a sentence ("it.") is none.
pub(super) fn counted(line: &TextLine) -> Option<u32> {
    let text = numbered(line)?;
    let letters = &line.segment.letters;
    let mark = letters.iter().take_while(|c| c.bounds.x0 < text).count();
    let digits = letters.get(..mark.checked_sub(1)?)?;
    let is_digit = |b: Rect| b.height() as f32 >= 0.9 * line.cap && (b.width() as f32) <= 0.8 * line.cap;
    (!digits.is_empty()
        && digits.iter().filter(|c| is_digit(c.bounds)).count() + 1 >= digits.len()
        && is_digit(digits.last()?.bounds))
    .then_some(text)
}

/// Whether a single mark can be a bullet or a dash before an item, by its shape.
pub(super) fn is_bullet(segment: &Segment, text: f32) -> bool {
    let [mark] = segment.letters.as_slice() else { return false };
    let (w, h) = (mark.bounds.width() as f32, mark.bounds.height() as f32);
    let dot = w.min(h) >= 0.2 * text && w.max(h) <= 1.2 * text && h >= 0.6 * w && w >= 0.6 * h;
    let dash = h <= 0.3 * text && w >= 0.3 * text && w <= 2.0 * text;
    let open = mark.density() >= 0.3 && w.max(h) <= 0.8 * text;
    dot && (mark.density() >= 0.6 || open) || dash
}

/// Whether a segment that stands alone beside a line can be a list mark: a bullet, or a number with a stop or bracket.
pub(super) fn is_mark(segment: &Segment, text: f32) -> bool {
    let letters = &segment.letters;
    let Some(last) = letters.last().map(|c| c.bounds) else { return false };
    let (w, h) = (last.width() as f32, last.height() as f32);
    let solid = letters.first().is_some_and(|c| c.density() >= 0.6);
    let bullet = letters.len() == 1 && w <= 1.5 * text && (h <= 0.4 * text || h <= 0.95 * text && solid);
    let stop = h <= 0.4 * text && w <= 0.4 * text && (last.y1 as f32 - segment.baseline).abs() <= 0.25 * text;
    let bracket = h >= 1.25 * segment.size.min(1.2 * text) && w <= 0.5 * h;
    bullet || (2..=6).contains(&letters.len()) && (stop || bracket)
}

/// Marks paragraphs that are list items. `paragraphs` are the lines of the regions in reading order (none for others).
pub(super) fn mark(regions: &mut [Region], paragraphs: &[Vec<TextLine>]) {
    let starts: Vec<Option<u32>> = paragraphs.iter().map(|p| p.first().and_then(numbered)).collect();
    let hanging = |index: usize| -> bool {
        let (Some(text), Some(rest)) = (starts[index], paragraphs[index].get(1..)) else { return false };
        let Some(first) = paragraphs[index].first() else { return false };
        !rest.is_empty() && rest.iter().all(|l| l.bounds().x0.abs_diff(text) as f32 <= 0.8 * first.cap)
    };
    let like = |a: usize, b: usize| -> bool {
        let (Some(p), Some(q)) = (paragraphs.get(a).and_then(|p| p.first()), paragraphs.get(b).and_then(|p| p.first()))
        else {
            return false;
        };
        matches!((starts[a], starts[b]), (Some(s), Some(t)) if s.abs_diff(t) as f32 <= 0.6 * p.cap)
            && p.bounds().x0.abs_diff(q.bounds().x0) as f32 <= 1.2 * p.cap
    };
    // Notes in the margin stand between items that follow each other.
    let beside = |r: &Region| r.label.role() == Role::Furniture;
    let before = |index: usize| (0..index).rev().find(|&i| !beside(&regions[i]));
    let after = |index: usize| (index + 1..paragraphs.len().min(regions.len())).find(|&i| !beside(&regions[i]));
    let counted: Vec<bool> = (0..regions.len().min(paragraphs.len()))
        .map(|i| {
            hanging(i) || before(i).is_some_and(|other| like(i, other)) || after(i).is_some_and(|other| like(i, other))
        })
        .collect();
    // Left edges of the items that are open, outermost first.
    let mut open: Vec<u32> = Vec::new();
    for index in 0..regions.len().min(paragraphs.len()) {
        let Some(first) = paragraphs[index].first() else { continue };
        if regions[index].label == Label::AsideText {
            continue;
        }
        if regions[index].label.role() != Role::Text || regions[index].preformatted || regions[index].level.is_some() {
            open.clear();
            continue;
        }
        let marker = if first.bullet.is_some() {
            Some(Marker::Bullet)
        } else if counted[index] {
            Some(Marker::Number)
        } else {
            None
        };
        let Some(marker) = marker else {
            // Text further left closes the list.
            let x0 = first.bounds().x0;
            open.retain(|&left| left < x0);
            continue;
        };
        let start = first.start();
        while open.last().is_some_and(|&left| left as f32 > start as f32 - 0.8 * first.cap) {
            open.pop();
        }
        regions[index].list_item = Some(ListItem { depth: open.len().min(8) as u8, marker });
        open.push(start);
    }
}
