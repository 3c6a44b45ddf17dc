//! Skew: measured on the bottoms of letters, undone by whole-pixel shears.

use image::RgbImage;

use super::binarize::binarize;
use super::components::{components, text_height};
use super::raster::Gray;

/// Largest angle looked for, degrees.
const LIMIT: f64 = 5.0;
/// Angles below this are not worth a shear: half a pixel over a page.
const SMALLEST: f64 = 0.03;
/// Points are thinned to this many.
const POINTS: usize = 6000;

/// Straightens a page by whole-pixel shears, so that no pixel is resampled. Returns the page and the skew that was
/// undone in degrees, positive when the lines sloped down to the right (a page turned clockwise). A page without
/// measurable skew is returned untouched, with 0.
pub fn straighten(page: RgbImage) -> (RgbImage, f32) {
    let degrees = measure(&page);
    if degrees.abs() < SMALLEST {
        return (page, 0.0);
    }
    (shear(&page, degrees.to_radians().tan()), degrees as f32)
}

/// Skew in degrees, 0 when there is too little text to tell.
fn measure(page: &RgbImage) -> f64 {
    let (gray, _) = Gray::reduced(page);
    let found = components(&binarize(&gray).ink);
    let Some(height) = text_height(&found.list) else { return 0.0 };
    let mut points: Vec<(f64, f64)> = found
        .list
        .iter()
        .filter(|c| {
            let (w, h) = (c.bounds.width() as f32, c.bounds.height() as f32);
            h >= 0.5 * height && h <= 2.5 * height && w <= 6.0 * height && w >= 0.2 * height
        })
        .map(|c| (f64::from(c.bounds.x0 + c.bounds.x1) / 2.0, f64::from(c.bounds.y1)))
        .collect();
    if points.len() < 12 {
        return 0.0;
    }
    let step = points.len().div_ceil(POINTS);
    points = points.into_iter().step_by(step).collect();
    let mut bins = Bins::new(gray.width as f64, gray.height as f64);
    // Coarse to fine; the coarse step moves a baseline by less than a line height over a page's width.
    let mut best = (0.0, bins.score(&points, 0.0, 3.0));
    let straight = bins.score(&points, 0.0, 1.0);
    let mut radius = LIMIT;
    for (resolution, step) in [(3.0, 0.1), (1.5, 0.04), (1.0, 0.01)] {
        let centre: f64 = best.0;
        best.1 = bins.score(&points, centre, resolution);
        let count = (radius / step).round() as i32;
        for index in -count..=count {
            let angle = centre + f64::from(index) * step;
            let score = bins.score(&points, angle, resolution);
            if score > best.1 {
                best = (angle, score);
            }
        }
        radius = step * 1.5;
    }
    // The scores around a peak are flat on top: take the middle of what is near the best.
    let near: Vec<f64> = (-10..=10)
        .map(|i| best.0 + f64::from(i) * 0.01)
        .filter(|&angle| bins.score(&points, angle, 1.0) >= 0.97 * best.1)
        .collect();
    let angle = near.iter().sum::<f64>() / near.len().max(1) as f64;
    if best.0.abs() > LIMIT || best.1 < 1.06 * straight || near.is_empty() { 0.0 } else { angle }
}

struct Bins {
    counts: Vec<f64>,
    centre: f64,
    reach: f64,
}

impl Bins {
    fn new(width: f64, height: f64) -> Self {
        let reach = width / 2.0 * LIMIT.to_radians().tan() * 1.2 + 8.0;
        Self { counts: vec![0.0; (height + 2.0 * reach) as usize + 8], centre: width / 2.0, reach }
    }

    /// How sharply the points gather on lines of this slope: the sum of squares of a histogram with bins of `size`
    /// pixels, each point shared between its two nearest bins.
    fn score(&mut self, points: &[(f64, f64)], degrees: f64, size: f64) -> f64 {
        let slope = degrees.to_radians().tan();
        self.counts.fill(0.0);
        for &(x, y) in points {
            let position = ((y - (x - self.centre) * slope + self.reach) / size).max(0.0);
            let index = position as usize;
            let share = position - index as f64;
            if let [low, high] = self.counts.get_mut(index..index + 2).unwrap_or_default() {
                *low += 1.0 - share;
                *high += share;
            }
        }
        self.counts.iter().map(|c| c * c).sum()
    }
}

/// Moves columns, then rows, by whole pixels. What comes in from outside repeats the edge.
fn shear(page: &RgbImage, slope: f64) -> RgbImage {
    let (width, height) = page.dimensions();
    let (cx, cy) = (f64::from(width) / 2.0, f64::from(height) / 2.0);
    let drops: Vec<i64> = (0..width).map(|x| ((f64::from(x) - cx) * slope).round() as i64).collect();
    let mut out = RgbImage::new(width, height);
    for (y, row) in out.enumerate_rows_mut() {
        let slide = ((f64::from(y) - cy) * slope).round() as i64;
        for (x, _, pixel) in row {
            let from_x = (i64::from(x) - slide).clamp(0, i64::from(width) - 1) as u32;
            let drop = drops.get(from_x as usize).copied().unwrap_or(0);
            let from_y = (i64::from(y) + drop).clamp(0, i64::from(height) - 1) as u32;
            *pixel = *page.get_pixel(from_x, from_y);
        }
    }
    out
}
