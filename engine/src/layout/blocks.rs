//! Columns -> lines -> paragraphs and listings.

use super::lines::{Segment, rows};
use super::mono;
use crate::region::Rect;

/// A text line with what its type looks like.
#[derive(Clone, Debug)]
pub(super) struct TextLine {
    pub(super) segment: Segment,
    /// Height of capitals and ascenders.
    pub(super) cap: f32,
    /// Stroke width over the height of capitals.
    pub(super) weight: f32,
    /// Whether it is monospaced, where it can be told.
    pub(super) mono: Option<bool>,
    /// A bullet that was cut from its start.
    pub(super) bullet: Option<Rect>,
    /// Whether other pieces of its row, far from it, are lines of their own.
    pub(super) piece: bool,
}

impl TextLine {
    pub(super) fn new(segment: Segment, pitch: Option<f32>) -> Self {
        let cap = capitals(&segment);
        let mono = match pitch {
            Some(pitch) => mono::fits(&segment, pitch),
            None => Some(false),
        };
        let weight = segment.weight * segment.size / cap;
        Self { segment, cap, weight, mono, bullet: None, piece: false }
    }

    /// The line's box.
    pub(super) fn bounds(&self) -> Rect {
        self.segment.bounds
    }

    /// Where the line starts, its bullet included.
    pub(super) fn start(&self) -> u32 {
        self.bullet.map_or(self.segment.bounds.x0, |b| b.x0)
    }

    /// Boxes of its words.
    pub(super) fn words(&self) -> Vec<Rect> {
        let gap = 0.3 * self.cap;
        let mut words: Vec<Rect> = Vec::new();
        for letter in &self.segment.letters {
            match words.last_mut() {
                Some(word) if (letter.bounds.x0 as f32) < word.x1 as f32 + gap => *word = word.union(&letter.bounds),
                _ => words.push(letter.bounds),
            }
        }
        words
    }
}

/// Height of capitals: the middle one of the letters that are clearly taller than the small ones; where there are none,
/// the height of the letters.
fn capitals(segment: &Segment) -> f32 {
    let mut heights: Vec<f32> =
        segment.letters.iter().map(|c| c.bounds.height() as f32).filter(|&h| h >= 0.5 * segment.size).collect();
    heights.sort_by(f32::total_cmp);
    let small = heights.get(heights.len() / 4).copied().unwrap_or(segment.size);
    let tall: Vec<f32> = heights.iter().copied().filter(|&h| h > 1.16 * small && h < 1.75 * small).collect();
    let cap = if tall.len() * 12 >= heights.len() { tall.get(tall.len() / 2).copied() } else { None };
    cap.unwrap_or(small).max(1.0)
}

/// What most of the text of a page looks like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body {
    pub(super) cap: f32,
    /// Median height of its letters.
    pub(super) size: f32,
    pub(super) weight: f32,
    /// Distance of baselines.
    pub(super) leading: f32,
    /// Pitch of monospaced type, when there is any.
    pub(super) pitch: Option<f32>,
}

impl Body {
    /// Measures the body type on all segments of a page.
    pub(super) fn measure(segments: &[Segment], text: f32) -> Self {
        let pitch = page_pitch(segments);
        let lines: Vec<TextLine> = segments.iter().map(|s| TextLine::new(s.clone(), None)).collect();
        let cap = weighted(lines.iter().map(|l| (l.cap, l.segment.letters.len()))).unwrap_or(1.3 * text);
        let weight = weighted(
            lines
                .iter()
                .zip(segments)
                .filter(|(_, s)| mono::pitch(s).is_none())
                .map(|(l, s)| (l.weight, s.letters.len())),
        )
        .unwrap_or(0.15);
        let mut order: Vec<&Segment> = segments.iter().filter(|s| s.letters.len() >= 4).collect();
        order.sort_by(|a, b| a.baseline.total_cmp(&b.baseline));
        let mut steps = Vec::new();
        for (index, segment) in order.iter().enumerate() {
            let below = order[index + 1..].iter().take(40).find(|s| {
                s.baseline > segment.baseline + 0.7 * segment.size
                    && s.bounds.x0 < segment.bounds.x1
                    && segment.bounds.x0 < s.bounds.x1
            });
            if let Some(below) = below {
                let step = below.baseline - segment.baseline;
                if step < 4.0 * cap {
                    steps.push((step, segment.letters.len()));
                }
            }
        }
        let leading = weighted(steps.into_iter()).unwrap_or(1.8 * cap);
        let size = weighted(segments.iter().map(|s| (s.size, s.letters.len()))).unwrap_or(text);
        Self { cap, size, weight, leading, pitch }
    }
}

/// The pitch that the monospaced segments of a page share. A few that only look monospaced do not make one.
fn page_pitch(segments: &[Segment]) -> Option<f32> {
    let found: Vec<(f32, usize)> = segments.iter().filter_map(|s| Some((mono::pitch(s)?, s.letters.len()))).collect();
    let pitch = weighted(found.iter().copied())?;
    let agreeing = |p: f32| (p / pitch - 1.0).abs() < 0.03;
    let letters: usize = found.iter().filter(|f| agreeing(f.0)).map(|f| f.1).sum();
    (letters >= 12 && letters * 2 > found.iter().map(|f| f.1).sum()).then_some(pitch)
}

/// Median of values, each counted as often as its weight.
fn weighted(values: impl Iterator<Item = (f32, usize)>) -> Option<f32> {
    let mut values: Vec<(f32, usize)> = values.collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = values.iter().map(|v| v.1).sum::<usize>() / 2;
    let mut seen = 0;
    values
        .into_iter()
        .find(|v| {
            seen += v.1;
            seen > half
        })
        .map(|v| v.0)
}

/// The lines of a column, from top to bottom. Pieces of one row far apart stay lines of their own.
pub(super) fn lines_of(column: Vec<Segment>, body: &Body) -> Vec<TextLine> {
    let mut out: Vec<TextLine> = Vec::new();
    for row in rows(column) {
        let mut pieces: Vec<Segment> = Vec::new();
        for segment in row {
            let joined = pieces.last().is_some_and(|last| {
                let gap = segment.bounds.x0 as f32 - last.bounds.x1 as f32;
                let on_grid = body.pitch.is_some_and(|p| {
                    gap <= 30.0 * p
                        && (mono::pitch(last).is_some() || mono::fits(last, p) == Some(true))
                        && mono::same_grid(last, &segment, p)
                });
                gap <= 4.5 * last.size.max(segment.size) || on_grid
            });
            match pieces.pop() {
                Some(last) if joined => pieces.push(last.join(segment)),
                Some(last) => pieces.extend([last, segment]),
                None => pieces.push(segment),
            }
        }
        let piece = pieces.len() > 1;
        out.extend(pieces.into_iter().map(|s| TextLine { piece, ..TextLine::new(s, body.pitch) }));
    }
    settle_mono(&mut out, body);
    out
}

/// A line between two lines of the other kind, set like them, is of their kind; so is a short line that ends a paragraph.
/// Lines too short to tell are set like the line before (or after) them.
fn settle_mono(lines: &mut [TextLine], body: &Body) {
    let follows = |a: &TextLine, b: &TextLine| {
        let step = b.segment.baseline - a.segment.baseline;
        step > 0.0 && step < 1.25 * body.leading
    };
    let flush = |a: &TextLine, b: &TextLine| a.bounds().x0.abs_diff(b.bounds().x0) as f32 <= 0.6 * body.cap;
    for _ in 0..2 {
        for index in 1..lines.len() {
            let (before, line) = (&lines[index - 1], &lines[index]);
            if before.mono.is_none() || line.mono == before.mono || !follows(before, line) {
                continue;
            }
            let between = lines.get(index + 1).is_some_and(|after| {
                after.mono == before.mono
                    && follows(line, after)
                    && (before.mono == Some(true) || flush(before, line) || flush(line, after))
            });
            let ends = line.segment.letters.len() < 24 && flush(before, line) && before.mono == Some(false);
            if between || ends {
                lines[index].mono = before.mono;
            }
        }
    }
    let known: Vec<Option<bool>> = lines.iter().map(|l| l.mono).collect();
    for (index, line) in lines.iter_mut().enumerate() {
        if line.mono.is_none() {
            line.mono = known[..index].iter().rev().find_map(|m| *m).or_else(|| known[index..].iter().find_map(|m| *m));
        }
    }
}

/// Groups the lines of a column into paragraphs, list items and listings.
pub(super) fn paragraphs(lines: Vec<TextLine>, body: &Body) -> Vec<Vec<TextLine>> {
    let right = right_edge(&lines);
    let mut out: Vec<Vec<TextLine>> = Vec::new();
    let mut lines = lines.into_iter().peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek();
        match out.last_mut() {
            Some(paragraph) if !breaks(paragraph, &line, next, right, body) => paragraph.push(line),
            _ => out.push(vec![line]),
        }
    }
    out
}

/// Where full lines end.
fn right_edge(lines: &[TextLine]) -> u32 {
    let mut ends: Vec<u32> = lines.iter().filter(|l| l.mono != Some(true)).map(|l| l.bounds().x1).collect();
    ends.sort_unstable();
    // The end that most of the longer lines share.
    ends.get(ends.len() * 9 / 10).copied().unwrap_or(u32::MAX)
}

/// Whether `line` starts something new after the lines of `paragraph`.
fn breaks(paragraph: &[TextLine], line: &TextLine, next: Option<&TextLine>, right: u32, body: &Body) -> bool {
    let (Some(first), Some(last)) = (paragraph.first(), paragraph.last()) else { return true };
    let size = line.segment.size.max(last.segment.size);
    let step = line.segment.baseline - last.segment.baseline;
    // Pieces of one row are apart.
    if step < 0.5 * size.min(body.cap) || line.piece || last.piece {
        return true;
    }
    let mono = (last.mono == Some(true), line.mono == Some(true));
    if mono.0 != mono.1 || line.bullet.is_some() {
        return true;
    }
    let scale = (line.cap.max(last.cap) / body.cap).clamp(0.5, 6.0);
    // Small differences come from which letters a line happens to hold.
    let scale = if (0.85..1.12).contains(&scale) { 1.0 } else { scale };
    let leading = if paragraph.len() >= 2 {
        let steps = paragraph.windows(2).map(|w| w[1].segment.baseline - w[0].segment.baseline);
        weighted(steps.map(|step| (step, 1))).unwrap_or(body.leading)
    } else {
        body.leading * scale.max(0.8)
    };
    if mono.0 {
        return step > 2.6 * leading.min(body.leading * scale);
    }
    // Items of a list count up, each with its number above the next one's.
    if let (Some(a), Some(b)) = (super::list::counted(first), super::list::counted(line))
        && a.abs_diff(b) as f32 <= 0.6 * line.cap
    {
        return true;
    }
    let (ratio, sizes) = (line.cap / last.cap, line.segment.size / last.segment.size);
    let letters = line.segment.letters.len().min(last.segment.letters.len());
    if step > (1.14 * leading).max(leading + 3.0)
        || !(0.8..=1.25).contains(&ratio) && !(0.85..=1.18).contains(&sizes) && letters >= 10
    {
        return true;
    }
    let tolerance = (0.8 * body.cap.min(line.cap)) as i64;
    let x0 = i64::from(line.bounds().x0);
    let room = i64::from(right) - i64::from(last.bounds().x1);
    let first_word = line.words().first().map_or(0, Rect::width);
    let short = room > i64::from(first_word) + (0.45 * line.cap) as i64;
    if paragraph.len() == 1 {
        let indent = x0 - i64::from(first.bounds().x0);
        if first.bullet.is_some() {
            return short && indent.abs() > tolerance;
        }
        if indent > tolerance {
            // A hanging indent goes on; a first line's indent comes back.
            let after_mark =
                super::list::numbered(first).is_some_and(|text| i64::from(text).abs_diff(x0) as i64 <= tolerance);
            let aligned = next.is_none_or(|n| {
                let n0 = i64::from(n.bounds().x0);
                let far = n.segment.baseline - line.segment.baseline > 1.14 * leading;
                (n0 - x0).abs() <= tolerance || n0 < x0 - tolerance && far
            });
            let hangs = after_mark || !short && aligned;
            return !hangs;
        }
        return short;
    }
    let left = paragraph.iter().skip(1).map(|l| i64::from(l.bounds().x0)).min().unwrap_or(x0);
    short || (x0 - left).abs() > tolerance
}
