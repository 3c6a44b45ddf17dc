//! Adaptive binarisation against the local paper level.

use super::raster::{Bitmap, Gray, percentile};

/// What separates ink from paper on one raster.
pub(super) struct Binarized {
    /// Ink: clearly darker than the paper around it.
    pub(super) ink: Bitmap,
    /// Anything that differs from the paper by more than its noise: pale line drawings and tints as well as ink.
    pub(super) faint: Bitmap,
}

/// Ink is darker than this share of the local paper level.
const INK: f32 = 0.74;

/// Binarises dark on light; a raster that is mostly dark is inverted first.
pub(super) fn binarize(gray: &Gray) -> Binarized {
    let (width, height) = (gray.width, gray.height);
    let mut ink = Bitmap::new(width, height);
    let mut faint = Bitmap::new(width, height);
    if width == 0 || height == 0 {
        return Binarized { ink, faint };
    }
    let inverted;
    let gray = if gray.percentile(0.5) < 96 && gray.percentile(0.99) > gray.percentile(0.5).saturating_add(60) {
        inverted = Gray { width, height, data: gray.data.iter().map(|v| 255 - v).collect() };
        &inverted
    } else {
        gray
    };
    let paper = Paper::measure(gray);
    let pale = (1.0 - (4.0 * paper.noise).max(0.055)).max(INK);
    let mut levels = vec![0f32; width];
    for y in 0..height {
        paper.row(y, &mut levels);
        let source = gray.row(y);
        let ink_row = ink.row_mut(y);
        let faint_row = faint.row_mut(y);
        for x in 0..width {
            let value = f32::from(source[x]);
            ink_row[x] = u8::from(value < levels[x] * INK);
            faint_row[x] = u8::from(value < levels[x] * pale);
        }
    }
    Binarized { ink, faint }
}

/// The brightness of the paper, sampled on a grid of tiles.
struct Paper {
    tile: usize,
    columns: usize,
    rows: usize,
    levels: Vec<f32>,
    /// Standard deviation of the paper relative to its level.
    noise: f32,
}

impl Paper {
    fn measure(gray: &Gray) -> Self {
        let tile = (gray.width.min(gray.height) / 48).clamp(16, 256);
        let (columns, rows) = (gray.width.div_ceil(tile), gray.height.div_ceil(tile));
        let mut bright = Vec::with_capacity(columns * rows);
        let mut spreads = Vec::with_capacity(columns * rows);
        for r in 0..rows {
            for c in 0..columns {
                let mut histogram = [0usize; 256];
                for y in r * tile..((r + 1) * tile).min(gray.height) {
                    for &value in &gray.row(y)[c * tile..((c + 1) * tile).min(gray.width)] {
                        histogram[usize::from(value)] += 1;
                    }
                }
                // The upper quartile is paper in any tile of text; noise lifts a higher percentile above it.
                let level = percentile(&histogram, 0.75);
                let top = percentile(&histogram, 0.95);
                bright.push(f32::from(level));
                spreads.push(f32::from(top - level) / f32::from(level.max(1)));
            }
        }
        // 95th minus 75th percentile of a normal distribution is 0.97 standard deviations.
        spreads.sort_by(f32::total_cmp);
        let noise = spreads.get(spreads.len() / 2).copied().unwrap_or(0.0);
        // The brightest paper two tiles around: solid dark blocks up to that size stay ink.
        let widest = maximum(&bright, columns, rows, 2);
        let levels = mean(&widest, columns, rows, 1).into_iter().map(|v| v.max(40.0)).collect();
        Self { tile, columns, rows, levels, noise }
    }

    /// Levels along the pixel row `y`, interpolated between tile centres.
    fn row(&self, y: usize, out: &mut [f32]) {
        let at = |position: usize, count: usize| {
            let f = ((position as f32 + 0.5) / self.tile as f32 - 0.5).clamp(0.0, (count - 1) as f32);
            let low = f as usize;
            (low, (low + 1).min(count - 1), f - low as f32)
        };
        let (r0, r1, fy) = at(y, self.rows);
        for (x, level) in out.iter_mut().enumerate() {
            let (c0, c1, fx) = at(x, self.columns);
            let top = self.levels[r0 * self.columns + c0] * (1.0 - fx) + self.levels[r0 * self.columns + c1] * fx;
            let bottom = self.levels[r1 * self.columns + c0] * (1.0 - fx) + self.levels[r1 * self.columns + c1] * fx;
            *level = top * (1.0 - fy) + bottom * fy;
        }
    }
}

fn maximum(values: &[f32], columns: usize, rows: usize, radius: usize) -> Vec<f32> {
    windowed(values, columns, rows, radius, |window| window.fold(0.0, f32::max))
}

fn mean(values: &[f32], columns: usize, rows: usize, radius: usize) -> Vec<f32> {
    windowed(values, columns, rows, radius, |window| {
        let (sum, count) = window.fold((0.0, 0.0), |(sum, count), v| (sum + v, count + 1.0));
        sum / f32::max(count, 1.0)
    })
}

fn windowed(
    values: &[f32],
    columns: usize,
    rows: usize,
    radius: usize,
    fold: impl Fn(&mut dyn Iterator<Item = f32>) -> f32,
) -> Vec<f32> {
    let mut out = Vec::with_capacity(values.len());
    for r in 0..rows {
        for c in 0..columns {
            let (r0, r1) = (r.saturating_sub(radius), (r + radius + 1).min(rows));
            let (c0, c1) = (c.saturating_sub(radius), (c + radius + 1).min(columns));
            let mut window = (r0..r1).flat_map(|y| values[y * columns + c0..y * columns + c1].iter().copied());
            out.push(fold(&mut window));
        }
    }
    out
}
