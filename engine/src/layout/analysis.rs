//! What is on a page before anything is read into it: letters, rules, figures.

use image::RgbImage;

use super::binarize::binarize;
use super::components::{Component, Components, components, text_height};
use super::raster::{Bitmap, Gray};
use super::rules::Rules;
use crate::region::Rect;

/// A page taken apart. All boxes are in pixels of the analysed raster, `factor` times smaller than the page.
pub(super) struct Analysis {
    /// Page pixels per analysed pixel, as a fraction.
    pub(super) scale: (u32, u32),
    pub(super) width: u32,
    pub(super) height: u32,
    /// Height of letters.
    pub(super) text: f32,
    /// Components that can be text, marks or specks.
    pub(super) letters: Vec<Component>,
    pub(super) rules: Rules,
    /// Boxes of pictures, drawings and solid shapes, apart from each other.
    pub(super) figures: Vec<Rect>,
}

/// Parts of a page with more pixels than this are analysed on a reduced raster, as pages are.
const LARGEST_PART: u64 = 10_000_000;
/// Most figures of a page; more is noise.
const FIGURES: usize = 300;
/// With more rules than this, none is taken for the side of a frame with rounded corners.
const FRAMES: usize = 500;

/// Letters below this height are analysed on a doubled raster.
const FINE: f32 = 10.0;

impl Analysis {
    /// Takes a page apart.
    pub(super) fn of_page(page: &RgbImage) -> Self {
        let (gray, factor) = Gray::reduced(page);
        Self::of(&gray, (factor, 1))
    }

    /// Takes a part of a page apart.
    pub(super) fn of_part(page: &RgbImage, bounds: Rect) -> Self {
        if bounds.area() > LARGEST_PART {
            let part = image::imageops::crop_imm(page, bounds.x0, bounds.y0, bounds.width(), bounds.height());
            return Self::of_page(&part.to_image());
        }
        Self::of(&Gray::crop(page, bounds), (1, 1))
    }

    fn of(gray: &Gray, scale: (u32, u32)) -> Self {
        let mut marks = binarize(gray);
        clear_edges(&mut marks.ink);
        let first = components(&marks.ink);
        let measured = text_height(&first.list).unwrap_or(16.0);
        let text = measured.clamp(5.0, 400.0);
        // Screenshots: letters of few pixels touch each other; on a finer raster a threshold parts them.
        if measured < FINE && scale == (1, 1) && gray.data.len() <= 3_000_000 {
            return Self::of(&gray.doubled(), (1, 2));
        }
        let mut figures = open_panels(&mut marks.ink, &first, text);
        let rules = Rules::extract(&mut marks.ink, text);
        let found = components(&marks.ink);
        let mut letters = Vec::with_capacity(found.list.len());
        for component in found.list {
            let (w, h) = (component.bounds.width() as f32, component.bounds.height() as f32);
            let blackout = u64::from(component.area) * 2 > gray.data.len() as u64;
            if component.area < 4 || blackout {
                continue;
            }
            let at_edge = component.bounds.x0 == 0
                || component.bounds.y0 == 0
                || component.bounds.x1 as usize == gray.width
                || component.bounds.y1 as usize == gray.height;
            if h > 6.0 * text && w <= 2.0 * text || at_edge && w.min(h) > 0.0 && h > 3.0 * text {
                // Bars, shadows at the page's edges.
                continue;
            }
            if h > 6.0 * text && w > 2.0 * text || h > 3.0 * text && w > 12.0 * text {
                figures.push(component.bounds);
            } else if !is_rule_remnant(&component.bounds, &rules, text) {
                letters.push(component);
            }
        }
        figures.extend(drawings(&components(&marks.faint), &letters, &rules, text));
        let page = Rect { x0: 0, y0: 0, x1: gray.width as u32, y1: gray.height as u32 };
        let figures = settle(figures, &letters, text, page);
        // What lies inside a figure is part of it.
        letters.retain(|letter| !figures.iter().any(|figure| inside(&letter.bounds, figure)));
        Self { scale, width: gray.width as u32, height: gray.height as u32, text, letters, rules, figures }
    }
}

/// Whether the middle of `inner` lies in `outer`.
pub(super) fn inside(inner: &Rect, outer: &Rect) -> bool {
    let (x, y) = ((inner.x0 + inner.x1) / 2, (inner.y0 + inner.y1) / 2);
    x >= outer.x0 && x < outer.x1 && y >= outer.y0 && y < outer.y1
}

/// A box grown on all sides.
pub(super) fn grown(rect: &Rect, dx: u32, dy: u32) -> Rect {
    Rect { x0: rect.x0.saturating_sub(dx), y0: rect.y0.saturating_sub(dy), x1: rect.x1 + dx, y1: rect.y1 + dy }
}

/// Scanner shadows: ink joined to the raster's edge along a stripe is cleared while it is nearly solid.
fn clear_edges(ink: &mut Bitmap) {
    let (width, height) = (ink.width, ink.height);
    let deepest = (width.min(height) / 25).max(2);
    for side in [false, true] {
        for depth in 0..deepest.min(height) {
            let y = if side { height - 1 - depth } else { depth };
            if ink.row(y).iter().map(|&v| usize::from(v)).sum::<usize>() * 2 < width {
                break;
            }
            ink.row_mut(y).fill(0);
        }
        for depth in 0..deepest.min(width) {
            let x = if side { width - 1 - depth } else { depth };
            if (0..height).filter(|&y| ink.row(y)[x] != 0).count() * 2 < height {
                break;
            }
            for y in 0..height {
                ink.row_mut(y)[x] = 0;
            }
        }
    }
}

/// Solid blocks: those that hold light text are turned over so that the text becomes ink; the others are pictures
/// (returned) or thick bars (dropped).
fn open_panels(ink: &mut Bitmap, first: &Components, text: f32) -> Vec<Rect> {
    let panel = |c: &Component| {
        let (w, h) = (c.bounds.width() as f32, c.bounds.height() as f32);
        w >= 2.5 * text && h >= 1.3 * text && c.density() >= 0.5 && w * h >= 8.0 * text * text
    };
    let mut extents: Vec<Vec<(u32, u32, u32)>> = Vec::new();
    let mut panels: Vec<usize> = Vec::new();
    let mut slots = vec![usize::MAX; first.list.len()];
    for (index, component) in first.list.iter().enumerate() {
        if panel(component) {
            slots[index] = panels.len();
            panels.push(index);
            extents.push(Vec::new());
        }
    }
    for run in &first.runs {
        let Some(rows) = extents.get_mut(slots[run.component as usize]) else { continue };
        match rows.last_mut() {
            Some((y, _, x1)) if *y == run.y => *x1 = run.x1,
            _ => rows.push((run.y, run.x0, run.x1)),
        }
    }
    let mut pictures = Vec::new();
    for (&index, rows) in panels.iter().zip(&extents) {
        let bounds = first.list[index].bounds;
        let mut inner = Bitmap::new(bounds.width() as usize, bounds.height() as usize);
        for &(y, x0, x1) in rows {
            let source = &mut ink.row_mut(y as usize)[x0 as usize..x1 as usize];
            let target =
                &mut inner.row_mut((y - bounds.y0) as usize)[(x0 - bounds.x0) as usize..(x1 - bounds.x0) as usize];
            for (value, out) in source.iter_mut().zip(target) {
                *out = 1 - *value;
                *value = 0;
            }
        }
        let holes = components(&inner).list;
        if holds_text(&holes, bounds.height()) {
            for y in 0..inner.height {
                let source = inner.row(y);
                let target = &mut ink.row_mut(bounds.y0 as usize + y)[bounds.x0 as usize..bounds.x1 as usize];
                for (value, &hole) in target.iter_mut().zip(source) {
                    *value |= hole;
                }
            }
        } else if bounds.height() as f32 >= 3.0 * text && bounds.width() as f32 >= 3.0 * text {
            pictures.push(bounds);
        } else if (bounds.width() as f32) < 8.0 * text && (bounds.height() as f32) < 5.0 * text {
            // Heavy type that filled its box: leave it as it was.
            for &(y, x0, x1) in rows {
                let hole = &inner.row((y - bounds.y0) as usize)[(x0 - bounds.x0) as usize..(x1 - bounds.x0) as usize];
                for (value, &hole) in ink.row_mut(y as usize)[x0 as usize..x1 as usize].iter_mut().zip(hole) {
                    *value = 1 - hole;
                }
            }
        }
    }
    pictures
}

/// Whether components look like letters of about one size.
fn holds_text(list: &[Component], height: u32) -> bool {
    let mut heights: Vec<u32> = list
        .iter()
        .filter(|c| c.bounds.height() >= 6 && c.bounds.width() <= 4 * c.bounds.height() && c.density() < 0.9)
        .map(|c| c.bounds.height())
        .collect();
    heights.sort_unstable();
    let Some(&median) = heights.get(heights.len() / 2) else { return false };
    let alike = heights.iter().filter(|&&h| h * 10 >= median * 6 && h * 10 <= median * 17).count();
    let specks = list.iter().filter(|c| c.bounds.height() < 4).count();
    alike >= 3 && alike * 10 >= heights.len() * 6 && specks <= 4 * alike && median * 10 <= height * 9
}

/// The corners and stubs that stay when a frame's straight sides are gone.
fn is_rule_remnant(bounds: &Rect, rules: &Rules, text: f32) -> bool {
    let crowded = rules.horizontal.len() + rules.vertical.len() > FRAMES;
    if crowded || bounds.width() as f32 > 1.6 * text || bounds.height() as f32 > 1.6 * text {
        return false;
    }
    let near = grown(bounds, 2, 2);
    let mut ends = 0;
    for rule in &rules.horizontal {
        let touches = !rule.intersection(&near).is_empty();
        ends += usize::from(touches && (rule.x0 + 4 >= bounds.x1 || rule.x1 <= bounds.x0 + 4));
    }
    for rule in &rules.vertical {
        let touches = !rule.intersection(&near).is_empty();
        ends += usize::from(touches && (rule.y0 + 4 >= bounds.y1 || rule.y1 <= bounds.y0 + 4));
    }
    ends >= 2
}

/// Whether two letters stand side by side somewhere in a box.
fn holds_words(bounds: &Rect, letters: &[Component], text: f32) -> bool {
    let mut held: Vec<Rect> = letters
        .iter()
        .map(|c| c.bounds)
        .filter(|b| inside(b, bounds) && b.height() as f32 >= 0.6 * text && b.height() as f32 <= 4.0 * text)
        .take(200)
        .collect();
    held.sort_by_key(|b| b.x0);
    held.iter().enumerate().any(|(index, a)| {
        held[index + 1..].iter().take(30).any(|b| {
            let gap = f64::from(b.x0) - f64::from(a.x1);
            let overlap = f64::from(a.y1.min(b.y1)) - f64::from(a.y0.max(b.y0));
            gap > -2.0 && gap < 0.6 * f64::from(text) && overlap * 2.0 > f64::from(a.height().min(b.height()))
        })
    })
}

/// Large connected drawings in the faint map that are neither frames nor tints behind text.
fn drawings(faint: &Components, letters: &[Component], rules: &Rules, text: f32) -> Vec<Rect> {
    let large = |c: &Component| {
        c.bounds.width() as f32 > 4.0 * text
            && c.bounds.height() as f32 > 4.0 * text
            && (c.density() < 0.6 || !holds_words(&c.bounds, letters, text))
    };
    faint
        .list
        .iter()
        .filter(|c| large(c))
        .filter(|c| {
            let around = grown(&c.bounds, 2, 2);
            let ruled: u64 = rules
                .iter()
                .filter(|rule| !rule.intersection(&around).is_empty())
                .map(|rule| rule.intersection(&around).area() + u64::from(rule.width().max(rule.height())) * 2)
                .sum();
            // A frame's pixels are all in its sides; along the sides' ends anti-aliasing leaves some.
            let hollow = u64::from(c.area) < 10 * u64::from(c.bounds.width() + c.bounds.height());
            ruled * 10 < u64::from(c.area) * 6 && !hollow
        })
        .map(|c| c.bounds)
        .collect()
}

/// Joins overlapping candidates and drops those that are really pages of text with something around them.
fn settle(mut figures: Vec<Rect>, letters: &[Component], text: f32, page: Rect) -> Vec<Rect> {
    figures.sort_by_key(|f| std::cmp::Reverse(f.area()));
    figures.truncate(FIGURES);
    let mut joined: Vec<Rect> = Vec::new();
    let near = (0.6 * text) as u32;
    while let Some(mut figure) = figures.pop() {
        while let Some(other) = joined.iter().position(|j| !grown(j, near, near).intersection(&figure).is_empty()) {
            figure = figure.union(&joined.swap_remove(other));
        }
        joined.push(figure);
    }
    joined.retain(|figure| {
        let whole = figure.area() * 10 > page.area() * 9;
        let held: Vec<&Component> = letters
            .iter()
            .filter(|c| {
                let h = c.bounds.height() as f32;
                inside(&c.bounds, figure) && h >= 0.5 * text && h <= 2.5 * text
            })
            .collect();
        // Running text covers a good share of its box with letter boxes.
        let covered: u64 = held.iter().map(|c| c.bounds.area()).sum();
        !(whole
            || held.len() > 60 && covered * 100 > figure.area() * 12
            || held.len() > 120 && covered * 100 > figure.area() * 3)
    });
    joined.sort_by_key(|f| (f.y0, f.x0));
    joined
}

impl Analysis {
    /// Whether there is a figure, or letters of a size that could be read.
    pub(super) fn has_ink(&self) -> bool {
        !self.figures.is_empty() || !super::lines::segments(&self.letters, self.text).is_empty()
    }
}
