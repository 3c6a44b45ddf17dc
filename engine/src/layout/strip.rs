//! Strips for a line reader: one line of text, scaled once to the model's height.

use image::{Rgb, RgbImage, imageops};

use super::analysis::grown;
use super::binarize::binarize;
use super::components::components;
use super::raster::Gray;
use crate::model::resize::resize_bicubic;
use crate::region::{Line, Rect};

/// A line, or a part of one, as the model gets it.
#[derive(Clone, Debug)]
pub struct Strip {
    /// RGB pixels: the wanted height, and a width that is a multiple of 28.
    pub pixels: RgbImage,
    /// The part of the page it was cut from.
    pub bounds: Rect,
}

/// Widths are multiples of this: one vision token of the model family.
const STEP: u32 = 28;
/// Pixels of paper before the text, in the strip.
const LEAD: f32 = 2.0;
/// Margin above and below, as a share of the ink's height.
const MARGIN: f32 = 0.15;
/// Most texts that may stand far apart on one line.
const MOST_APART: usize = 8;
/// Most pixels of page that one strip is cut from.
const LARGEST: u64 = 40_000_000;

/// Cuts a line into strips of the given height, none wider than `max_width` (rounded down to a multiple of 28). Letters
/// of neighbouring lines that reach into the line's box are painted over with paper. None when the line has no ink.
pub fn strips(page: &RgbImage, line: &Line, height: u32, max_width: u32) -> Vec<Strip> {
    let max_width = (max_width / STEP * STEP).max(STEP);
    let bounds = line.bounds.clamped(page.width(), page.height());
    if bounds.is_empty() || height == 0 || bounds.area() > LARGEST {
        return Vec::new();
    }
    let Some(cut) = Cut::new(page, bounds) else { return Vec::new() };
    let scale = height as f32 / (cut.y1 - cut.y0) as f32;
    // Widest piece of the cut that fits the strip with its lead and a pixel of tail.
    let widest = (((max_width as f32 - 2.0 * LEAD) / scale) as usize).max(1);
    cut.pieces(widest).into_iter().map(|(x0, x1)| cut.strip(x0, x1, height, max_width)).collect()
}

/// A line cut from a page, its neighbours painted over.
struct Cut {
    pixels: RgbImage,
    /// Where its top left is on the page.
    origin: (u32, u32),
    /// Rows to be shown: ink with margins, in pixels of the cut (may reach outside; outside is paper).
    y0: i64,
    y1: i64,
    /// Ink pixels per column.
    profile: Vec<u32>,
    paper: Rgb<u8>,
}

impl Cut {
    fn new(page: &RgbImage, bounds: Rect) -> Option<Self> {
        // Enough of the surroundings to see whole letters of the neighbouring lines.
        let reach = bounds.height().clamp(8, 200);
        let around = grown(&bounds, reach / 2, reach).clamped(page.width(), page.height());
        let mut pixels = imageops::crop_imm(page, around.x0, around.y0, around.width(), around.height()).to_image();
        let (ink, light_on_dark) = own_ink(page, around, bounds);
        let found = components(&ink);
        let paper = paper(&pixels, &ink.data, light_on_dark);
        let inner = Rect {
            x0: bounds.x0 - around.x0,
            y0: bounds.y0 - around.y0,
            x1: bounds.x1 - around.x0,
            y1: bounds.y1 - around.y0,
        };
        let own: Vec<bool> = found
            .list
            .iter()
            .map(|c| {
                let common = c.bounds.intersection(&inner);
                let (x, y) = (c.bounds.x0 + c.bounds.x1, c.bounds.y0 + c.bounds.y1);
                let centred =
                    x + 1 >= 2 * inner.x0 && x <= 2 * inner.x1 + 1 && y + 1 >= 2 * inner.y0 && y <= 2 * inner.y1 + 1;
                // Letters of two lines that touch stay: half a letter is better than none.
                centred || common.height() * 10 >= inner.height() * 6 && common.width() > 0
            })
            .collect();
        let mut profile = vec![0u32; pixels.width() as usize];
        let (mut top, mut bottom) = (u32::MAX, 0);
        for run in &found.runs {
            if own[run.component as usize] {
                if run.y >= inner.y0 && run.y < inner.y1 {
                    top = top.min(run.y);
                    bottom = bottom.max(run.y + 1);
                    for x in run.x0.max(inner.x0)..run.x1.min(inner.x1) {
                        profile[x as usize] += 1;
                    }
                }
            } else {
                // A pixel around goes with it: the anti-aliased fringe.
                for y in run.y.saturating_sub(1)..(run.y + 2).min(pixels.height()) {
                    for x in run.x0.saturating_sub(1)..(run.x1 + 1).min(pixels.width()) {
                        pixels.put_pixel(x, y, paper);
                    }
                }
            }
        }
        if top >= bottom {
            return None;
        }
        // Painting the fringe of a neighbour must not eat letters of this line: put those back.
        for run in found.runs.iter().filter(|run| own[run.component as usize]) {
            for x in run.x0..run.x1 {
                pixels.put_pixel(x, run.y, *page.get_pixel(around.x0 + x, around.y0 + run.y));
            }
        }
        let margin = ((bottom - top) as f32 * MARGIN).round().max(1.0) as i64;
        Some(Self {
            pixels,
            origin: (around.x0, around.y0),
            y0: i64::from(top) - margin,
            y1: i64::from(bottom) + margin,
            profile,
            paper,
        })
    }

    /// Column ranges of ink, each at most `widest` wide: what stands far apart, cut further at the widest gaps.
    fn pieces(&self, widest: usize) -> Vec<(usize, usize)> {
        let mut todo = self.apart();
        todo.reverse();
        let mut done = Vec::new();
        while let Some((x0, x1)) = todo.pop() {
            if x1 - x0 <= widest {
                done.push((x0, x1));
                continue;
            }
            let (cut, next) = self.gap(x0, x1, widest);
            todo.push((next, x1));
            todo.push((x0, cut));
        }
        done
    }

    /// Column ranges of ink with more than one and a half heights of white between them, such as a note in the margin
    /// and the line beside it. A reader of running text takes so wide a gap for the line's end.
    fn apart(&self) -> Vec<(usize, usize)> {
        let far = (self.y1 - self.y0) as usize * 5 / 4;
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for x in (0..self.profile.len()).filter(|&x| self.profile[x] > 0) {
            match ranges.last_mut() {
                Some((_, end)) if x - *end < far => *end = x + 1,
                _ => ranges.push((x, x + 1)),
            }
        }
        // Marks strung out over the page are one drawing, not so many texts.
        match (ranges.first(), ranges.last()) {
            (Some(&(start, _)), Some(&(_, end))) if ranges.len() > MOST_APART => vec![(start, end)],
            _ => ranges,
        }
    }

    /// The best gap to divide a range at: wide, and near the middle of the range (or as far as the first piece may go).
    fn gap(&self, x0: usize, x1: usize, widest: usize) -> (usize, usize) {
        let parts = (x1 - x0).div_ceil(widest);
        let ideal = x0 + (x1 - x0) / parts;
        let mut best: Option<(f32, usize, usize)> = None;
        let mut x = x0 + 1;
        while x < (x0 + widest).min(x1 - 1) {
            if self.profile[x] > 0 {
                x += 1;
                continue;
            }
            let start = x;
            while x < x1 && self.profile[x] == 0 {
                x += 1;
            }
            let off = (start + x).abs_diff(2 * ideal) as f32 / (2.0 * widest as f32);
            let score = (x - start) as f32 * (1.0 - off.min(0.95));
            if best.is_none_or(|(most, ..)| score > most) {
                best = Some((score, start, x));
            }
        }
        best.map_or((ideal, ideal), |(_, start, end)| (start, end))
    }

    fn strip(&self, x0: usize, x1: usize, height: u32, max_width: u32) -> Strip {
        let scale = height as f32 / (self.y1 - self.y0) as f32;
        let lead = (LEAD / scale).round().clamp(1.0, 64.0) as i64;
        let (left, right) = (x0 as i64 - lead, x1 as i64 + lead);
        let (width, rows) = ((right - left) as u32, (self.y1 - self.y0) as u32);
        let crop = RgbImage::from_fn(width, rows, |x, y| {
            let (sx, sy) = (left + i64::from(x), self.y0 + i64::from(y));
            // Beyond the piece lie its neighbours on the line.
            let within = sx >= x0 as i64 - lead && sx < x1 as i64 + lead;
            let own = sx >= x0 as i64 && sx < x1 as i64;
            let inside =
                sx >= 0 && sy >= 0 && sx < i64::from(self.pixels.width()) && sy < i64::from(self.pixels.height());
            if !within || !inside || (!own && self.profile.get(sx as usize).is_none_or(|&p| p > 0)) {
                return self.paper;
            }
            *self.pixels.get_pixel(sx as u32, sy as u32)
        });
        let scaled_width = ((width as f32 * scale).round() as u32).clamp(1, max_width);
        // The only resample between the page and the model.
        let scaled = resize_bicubic(&crop, scaled_width, height);
        let padded = scaled_width.next_multiple_of(STEP).min(max_width);
        let mut pixels = RgbImage::from_pixel(padded, height, self.paper);
        imageops::replace(&mut pixels, &scaled, 0, 0);
        let page_y = |y: i64| (i64::from(self.origin.1) + y).max(0) as u32;
        let bounds = Rect {
            x0: self.origin.0 + x0 as u32,
            y0: page_y(self.y0),
            x1: self.origin.0 + x1 as u32,
            y1: page_y(self.y1.min(i64::from(self.pixels.height()))),
        };
        Strip { pixels, bounds }
    }
}

/// Ink of a part of the page; whether it is lighter than its ground inside `bounds`.
fn own_ink(page: &RgbImage, around: Rect, bounds: Rect) -> (super::raster::Bitmap, bool) {
    let inner = Gray::crop(page, bounds);
    let (low, middle, high) = (inner.percentile(0.02), inner.percentile(0.5), inner.percentile(0.98));
    let light = middle < 128 && u32::from(high - middle) > u32::from(middle - low);
    let mut gray = Gray::crop(page, around);
    if light {
        for value in &mut gray.data {
            *value = 255 - *value;
        }
    }
    (binarize(&gray).ink, light)
}

/// Median colour of what is not ink.
fn paper(pixels: &RgbImage, ink: &[u8], light_on_dark: bool) -> Rgb<u8> {
    let mut histograms = [[0u32; 256]; 3];
    let mut count = 0u32;
    for (pixel, &inked) in pixels.pixels().zip(ink) {
        if inked == 0 {
            count += 1;
            for (histogram, &value) in histograms.iter_mut().zip(&pixel.0) {
                histogram[usize::from(value)] += 1;
            }
        }
    }
    let fallback = if light_on_dark { 0 } else { 255 };
    let median = |histogram: &[u32; 256]| {
        let mut seen = 0;
        let at = histogram.iter().position(|&n| {
            seen += n;
            seen * 2 > count
        });
        at.map_or(fallback, |v| v as u8)
    };
    Rgb([median(&histograms[0]), median(&histograms[1]), median(&histograms[2])])
}
