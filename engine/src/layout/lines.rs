//! Letters -> segments (runs of words without a wide gap) -> rows.

use super::components::Component;
use crate::region::Rect;

/// A run of letters along a line, without a gap much wider than a word space.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) bounds: Rect,
    /// Median height of its letters.
    pub(super) size: f32,
    /// Where its letters stand: the first quartile of their bottoms, since descenders hang below.
    pub(super) baseline: f32,
    /// Mean stroke width over letter height; bold type is wider.
    pub(super) weight: f32,
    /// Boxes of its letters from left to right.
    pub(super) letters: Vec<Component>,
}

/// A wider gap than this many letter heights ends a segment.
const GAP: f32 = 1.3;

impl Segment {
    /// A segment of the given letters.
    pub(super) fn new(mut letters: Vec<Component>) -> Self {
        letters.sort_by_key(|c| (c.bounds.x0, c.bounds.y0));
        let bounds = letters.iter().fold(Rect::default(), |all, c| all.union(&c.bounds));
        let tallest = bounds.height() as f32;
        let mut heights: Vec<u32> = letters.iter().map(|c| c.bounds.height()).collect();
        heights.sort_unstable();
        let rough = heights.get(heights.len() / 2).copied().unwrap_or(1);
        let core: Vec<&Component> = letters
            .iter()
            .filter(|c| c.bounds.height() * 2 >= rough && c.bounds.height() as f32 >= 0.3 * tallest)
            .collect();
        let core: Vec<&Component> = if core.is_empty() { letters.iter().collect() } else { core };
        let mut heights: Vec<u32> = core.iter().map(|c| c.bounds.height()).collect();
        let mut bottoms: Vec<u32> = core.iter().map(|c| c.bounds.y1).collect();
        heights.sort_unstable();
        bottoms.sort_unstable();
        let size = heights.get(heights.len() / 2).copied().unwrap_or(1).max(1) as f32;
        let baseline = bottoms.get(bottoms.len().saturating_sub(1) / 4).copied().unwrap_or(bounds.y1) as f32;
        let (area, runs) = core.iter().fold((0u64, 0u64), |(a, r), c| (a + u64::from(c.area), r + u64::from(c.runs)));
        let weight = area as f32 / runs.max(1) as f32 / size;
        Self { bounds, size, baseline, weight, letters }
    }

    /// Joins another segment of the same row.
    pub(super) fn join(self, other: Segment) -> Self {
        let mut letters = self.letters;
        letters.extend(other.letters);
        Self::new(letters)
    }
}

/// A segment that is still growing to the right.
struct Growing {
    letters: Vec<Component>,
    x1: u32,
    /// Vertical band of the last letters.
    recent: [(u32, u32); 6],
    count: usize,
    size: f32,
}

impl Growing {
    fn new(letter: Component) -> Self {
        let mut growing = Self { letters: Vec::new(), x1: 0, recent: [(0, 0); 6], count: 0, size: 0.0 };
        growing.push(letter, true);
        growing
    }

    fn push(&mut self, letter: Component, shapes: bool) {
        let b = letter.bounds;
        self.x1 = self.x1.max(b.x1);
        if shapes {
            self.recent[self.count % 6] = (b.y0, b.y1);
            self.count += 1;
            let h = b.height() as f32;
            self.size = if self.count == 1 { h } else { self.size * 0.8 + h * 0.2 };
        }
        self.letters.push(letter);
    }

    fn band(&self) -> (f32, f32) {
        let filled = &self.recent[..self.count.min(6)];
        let top = filled.iter().map(|r| r.0).min().unwrap_or(0);
        let bottom = filled.iter().map(|r| r.1).max().unwrap_or(0);
        (top as f32, bottom as f32)
    }
}

/// Groups letters into segments. `text` is the usual letter height of the page.
pub(super) fn segments(letters: &[Component], text: f32) -> Vec<Segment> {
    let mut order: Vec<&Component> = letters.iter().collect();
    order.sort_by_key(|c| (c.bounds.x0, c.bounds.y0));
    let (core, tall, small) = (
        |c: &Component| (c.bounds.height() as f32) >= 0.45 * text,
        |c: &Component| c.bounds.height() as f32 > 3.0 * text && (c.bounds.width() as f32) < 1.2 * text,
        |c: &Component| (c.bounds.height() as f32) < 0.45 * text,
    );
    let mut sweep = Sweep::new(text);
    let mut left: Vec<Component> = Vec::new();
    let mut towers: Vec<Component> = Vec::new();
    for &letter in &order {
        if tall(letter) {
            towers.push(*letter);
            continue;
        }
        // Commas and exponents of some size hang beside the band of the letters.
        let hanging = (letter.bounds.height() as f32) < 0.8 * text;
        let taken = sweep.offer(letter, !small(letter)) || hanging && sweep.offer(letter, false);
        if !taken {
            if core(letter) {
                sweep.start(*letter);
            } else {
                left.push(*letter);
            }
        }
    }
    let mut found = sweep.finish();
    adopt(&mut found, left, text);
    adopt_towers(&mut found, towers, text);
    let found: Vec<Segment> = found.into_iter().map(Segment::new).collect();
    let found = merge_overlapping(found);
    let hanging = hanging_marks(&found, text);
    let kept = found.into_iter().zip(hanging);
    kept.filter(|(segment, hangs)| *hangs || is_text(segment, text)).map(|(segment, _)| segment).collect()
}

/// Which segments are a single small mark (a bullet or dash) with a line of text to its right, and none to its left.
fn hanging_marks(segments: &[Segment], text: f32) -> Vec<bool> {
    let boxes: Vec<Rect> = segments.iter().map(|s| s.bounds).collect();
    let shelf = Shelf::new(&boxes, 2.0 * text);
    let hangs = |index: usize| {
        let segment = &segments[index];
        if segment.letters.len() != 1 || !super::list::is_bullet(segment, text) {
            return false;
        }
        let (b, middle) = (segment.bounds, (segment.bounds.y0 + segment.bounds.y1) as f32 / 2.0);
        let beside = |other: &Segment| {
            let height = other.baseline - middle;
            other.letters.len() >= 3 && height >= 0.1 * other.size && height <= 1.15 * other.size
        };
        let mut found = false;
        for other in shelf.near(b.y0 as f32, b.y1 as f32).map(|i| &segments[i]).filter(|s| beside(s)) {
            let (before, after) = (i64::from(b.x0) - i64::from(other.bounds.x1), other.bounds.x0 as f32 - b.x1 as f32);
            if before > -2 && (before as f32) < 1.5 * text {
                return false;
            }
            found |= after >= 0.4 * other.size && after <= 4.5 * other.size;
        }
        found
    };
    (0..segments.len()).map(hangs).collect()
}

/// Whether a segment is more than a speck.
fn is_text(segment: &Segment, text: f32) -> bool {
    let (w, h) = (segment.bounds.width() as f32, segment.bounds.height() as f32);
    let marks = segment.letters.iter().filter(|c| c.bounds.width().max(c.bounds.height()) as f32 >= 0.2 * text).count();
    match marks {
        0 => false,
        1 => {
            w.max(h) >= 0.55 * text && segment.letters.iter().map(|c| c.area).sum::<u32>() as f32 >= 0.12 * text * text
        }
        _ => w.max(h) >= 0.5 * text,
    }
}

/// The growing segments, found by the height they are at.
struct Sweep {
    done: Vec<Vec<Component>>,
    buckets: Vec<Vec<Growing>>,
    step: f32,
}

impl Sweep {
    fn new(text: f32) -> Self {
        Self { done: Vec::new(), buckets: Vec::new(), step: (2.0 * text).max(8.0) }
    }

    fn bucket(&self, y: f32) -> usize {
        (y / self.step) as usize
    }

    /// Appends a letter to the segment it continues, if there is one.
    fn offer(&mut self, letter: &Component, shapes: bool) -> bool {
        let b = letter.bounds;
        let (y0, y1, h) = (b.y0 as f32, b.y1 as f32, b.height() as f32);
        let first = self.bucket(y0).saturating_sub(1);
        let last = (self.bucket(y1) + 1).min(self.buckets.len().saturating_sub(1));
        let mut best: Option<(f32, usize, usize)> = None;
        for bucket in first..=last {
            let Some(list) = self.buckets.get_mut(bucket) else { break };
            let mut index = 0;
            while index < list.len() {
                let growing = &list[index];
                let reach = growing.size.max(if shapes { h.min(growing.size * 1.5) } else { 0.0 });
                let gap = b.x0 as f32 - growing.x1 as f32;
                if gap > GAP * growing.size.max(1.5 * self.step / 2.0) * 1.6 {
                    let over = list.swap_remove(index);
                    self.done.push(over.letters);
                    continue;
                }
                let (top, bottom) = growing.band();
                let overlap = y1.min(bottom) - y0.max(top);
                let fits = if shapes {
                    let ratio = h / growing.size;
                    overlap >= 0.5 * h.min(bottom - top) && ratio < 2.3 && ratio > 0.43
                } else {
                    let middle = (y0 + y1) / 2.0;
                    middle >= top - 0.25 * growing.size && middle <= bottom + 0.3 * growing.size
                };
                if fits && gap <= GAP * reach && gap >= -2.5 * growing.size.max(h) {
                    let misfit = ((y1 - bottom).abs()).min((y0 - top).abs());
                    let cost = gap.max(0.0) + 2.0 * misfit;
                    if best.is_none_or(|(least, ..)| cost < least) {
                        best = Some((cost, bucket, index));
                    }
                }
                index += 1;
            }
        }
        let Some((_, bucket, index)) = best else { return false };
        let mut growing = self.buckets[bucket].swap_remove(index);
        growing.push(*letter, shapes);
        self.place(growing);
        true
    }

    fn start(&mut self, letter: Component) {
        self.place(Growing::new(letter));
    }

    fn place(&mut self, growing: Growing) {
        let (top, bottom) = growing.band();
        let bucket = self.bucket((top + bottom) / 2.0);
        if self.buckets.len() <= bucket {
            self.buckets.resize_with(bucket + 1, Vec::new);
        }
        self.buckets[bucket].push(growing);
    }

    fn finish(self) -> Vec<Vec<Component>> {
        let mut done = self.done;
        done.extend(self.buckets.into_iter().flatten().map(|g| g.letters));
        done
    }
}

/// An index of boxes by vertical position.
struct Shelf {
    step: f32,
    rows: Vec<Vec<usize>>,
}

impl Shelf {
    fn new(boxes: &[Rect], step: f32) -> Self {
        let mut shelf = Self { step: step.max(4.0), rows: Vec::new() };
        for (index, bounds) in boxes.iter().enumerate() {
            let (first, last) = shelf.span(bounds.y0 as f32, bounds.y1 as f32);
            if shelf.rows.len() <= last {
                shelf.rows.resize(last + 1, Vec::new());
            }
            for row in &mut shelf.rows[first..=last] {
                row.push(index);
            }
        }
        shelf
    }

    fn span(&self, y0: f32, y1: f32) -> (usize, usize) {
        ((y0.max(0.0) / self.step) as usize, (y1.max(0.0) / self.step) as usize)
    }

    fn near(&self, y0: f32, y1: f32) -> impl Iterator<Item = usize> + '_ {
        let (first, last) = self.span(y0, y1);
        let (first, last) = (first.min(self.rows.len()), (last + 1).min(self.rows.len()));
        self.rows[first..last.max(first)].iter().flatten().copied()
    }
}

fn hull(letters: &[Component]) -> Rect {
    letters.iter().fold(Rect::default(), |all, c| all.union(&c.bounds))
}

/// Gives accents, dots, commas and dashes to the nearest segment; what is left over forms segments of its own.
fn adopt(found: &mut Vec<Vec<Component>>, small: Vec<Component>, text: f32) {
    let boxes: Vec<Rect> = found.iter().map(|letters| hull(letters)).collect();
    let shelf = Shelf::new(&boxes, 2.0 * text);
    let mut orphans = Sweep::new(0.5 * text);
    for letter in small {
        let b = letter.bounds;
        let (y0, y1) = (b.y0 as f32, b.y1 as f32);
        let mut best: Option<(f32, usize)> = None;
        for index in shelf.near(y0 - text, y1 + text) {
            let s = &boxes[index];
            let size = (s.height() as f32).min(2.0 * text);
            let dx = (s.x0 as f32 - b.x1 as f32).max(b.x0 as f32 - s.x1 as f32).max(0.0);
            let dy = (s.y0 as f32 - y1).max(y0 - s.y1 as f32).max(0.0);
            if dx <= 0.9 * size && dy <= 0.45 * size {
                let cost = dx * 0.5 + dy * 2.0;
                if best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, index));
                }
            }
        }
        match best {
            Some((_, index)) => found[index].push(letter),
            None if (b.width().max(b.height()) as f32) < 0.2 * text => {}
            None if orphans.offer(&letter, true) || orphans.offer(&letter, false) => {}
            None => orphans.start(letter),
        }
    }
    found.extend(orphans.finish());
}

/// Gives letters that reach over several lines (brackets, or letters of two lines that touch) to one line without
/// stretching it over the next.
fn adopt_towers(found: &mut Vec<Vec<Component>>, towers: Vec<Component>, text: f32) {
    let boxes: Vec<Rect> = found.iter().map(|letters| hull(letters)).collect();
    let shelf = Shelf::new(&boxes, 2.0 * text);
    for mut tower in towers {
        let b = tower.bounds;
        let mut crossed: Vec<usize> = shelf
            .near(b.y0 as f32, b.y1 as f32)
            .filter(|&index| {
                let s = grown_x(&boxes[index], text as u32);
                let common = s.intersection(&b);
                !common.is_empty() && common.height() * 2 >= boxes[index].height()
            })
            .collect();
        crossed.sort_unstable();
        crossed.dedup();
        match crossed.as_slice() {
            [] => found.push(vec![tower]),
            [one] => found[*one].push(tower),
            many => {
                if let Some(&top) = many.iter().min_by_key(|&&index| boxes[index].y0) {
                    let y1 = boxes[top].y1.max(b.y0 + 1);
                    tower.bounds.y1 = tower.bounds.y1.min(y1);
                    found[top].push(tower);
                }
            }
        }
    }
}

fn grown_x(rect: &Rect, dx: u32) -> Rect {
    Rect { x0: rect.x0.saturating_sub(dx), x1: rect.x1 + dx, ..*rect }
}

/// Joins segments that lie in each other: exponents, letters started out of turn.
fn merge_overlapping(segments: Vec<Segment>) -> Vec<Segment> {
    let step = segments.iter().map(|s| s.size).fold(8.0, f32::max).min(64.0) * 2.0;
    let boxes: Vec<Rect> = segments.iter().map(|s| s.bounds).collect();
    let shelf = Shelf::new(&boxes, step);
    let mut owner: Vec<usize> = (0..segments.len()).collect();
    for index in 0..segments.len() {
        let s = &segments[index];
        let b = s.bounds;
        let mut best: Option<(f32, usize)> = None;
        for other in shelf.near(b.y0 as f32, b.y1 as f32) {
            let o = &segments[other];
            // The narrower joins the wider.
            if other == index || (o.bounds.width(), other) < (b.width(), index) {
                continue;
            }
            let reach = (0.5 * o.size) as u32;
            let common = grown_x(&o.bounds, reach).intersection(&b);
            let share = common.height() as f32 / b.height().max(1) as f32;
            let wide = common.width() as f32 / b.width().max(1) as f32;
            if share >= 0.45 && (wide >= 0.5 || o.bounds.x1 + reach >= b.x0 && b.x1 + reach >= o.bounds.x0) {
                let cost = 1.0 - share;
                if best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, other));
                }
            }
        }
        if let Some((_, other)) = best {
            owner[index] = other;
        }
    }
    let mut groups: Vec<Vec<Component>> = vec![Vec::new(); segments.len()];
    for (index, segment) in segments.into_iter().enumerate() {
        let mut root = index;
        // Owners are wider (or later of equal width), so that the chain ends.
        while owner[root] != root {
            root = owner[root];
        }
        groups[root].extend(segment.letters);
    }
    groups.into_iter().filter(|g| !g.is_empty()).map(Segment::new).collect()
}

/// Groups segments into rows: those of one row overlap vertically. Rows from top to bottom, segments from left to right.
pub(super) fn rows(mut segments: Vec<Segment>) -> Vec<Vec<Segment>> {
    segments.sort_by(|a, b| a.baseline.total_cmp(&b.baseline).then(a.bounds.x0.cmp(&b.bounds.x0)));
    let mut rows: Vec<Vec<Segment>> = Vec::new();
    for segment in segments {
        let row = rows.iter().rev().take(4).position(|row| {
            row.iter().any(|other| {
                let (a, b) = (&segment.bounds, &other.bounds);
                let overlap = f64::from(a.y1.min(b.y1)) - f64::from(a.y0.max(b.y0));
                let least = f64::from(a.height().min(b.height()));
                let apart =
                    a.x0 + 2 >= b.x1 || b.x0 + 2 >= a.x1 || a.height() * 2 < b.height() || b.height() * 2 < a.height();
                overlap >= 0.5 * least && apart
            })
        });
        match row {
            Some(back) => {
                let index = rows.len() - 1 - back;
                rows[index].push(segment);
            }
            None => rows.push(vec![segment]),
        }
    }
    for row in &mut rows {
        row.sort_by_key(|s| s.bounds.x0);
    }
    rows.sort_by_key(|row| row.iter().map(|s| s.bounds.y0 + s.bounds.y1).min());
    rows
}
