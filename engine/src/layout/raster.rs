//! Grey rasters and bitmaps that the analysis works on.

use image::RgbImage;

use crate::region::Rect;

/// Pages above this many pixels are analysed on a raster reduced by a whole factor; boxes are scaled back.
const ANALYSED_PIXELS: u64 = 10_000_000;

/// An 8-bit luma raster.
#[derive(Clone, Debug)]
pub(super) struct Gray {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) data: Vec<u8>,
}

impl Gray {
    /// Luma of the part of a page inside `bounds` (clamped), at full resolution.
    pub(super) fn crop(page: &RgbImage, bounds: Rect) -> Self {
        let bounds = bounds.clamped(page.width(), page.height());
        let (width, height) = (bounds.width() as usize, bounds.height() as usize);
        let stride = page.width() as usize * 3;
        let raw = page.as_raw();
        let mut data = Vec::with_capacity(width * height);
        for y in bounds.y0 as usize..bounds.y1 as usize {
            let start = y * stride + bounds.x0 as usize * 3;
            data.extend(raw[start..start + width * 3].chunks_exact(3).map(luma));
        }
        Self { width, height, data }
    }

    /// Luma of a page, box-averaged by the smallest whole factor that brings it under the analysis limit.
    pub(super) fn reduced(page: &RgbImage) -> (Self, u32) {
        let pixels = u64::from(page.width()) * u64::from(page.height());
        let mut factor = 1u32;
        while pixels / (u64::from(factor) * u64::from(factor)) > ANALYSED_PIXELS {
            factor += 1;
        }
        let whole = Rect { x0: 0, y0: 0, x1: page.width(), y1: page.height() };
        if factor == 1 || page.width() < factor || page.height() < factor {
            return (Self::crop(page, whole), 1);
        }
        let (width, height) = ((page.width() / factor) as usize, (page.height() / factor) as usize);
        let (step, stride) = (factor as usize, page.width() as usize * 3);
        let raw = page.as_raw();
        let mut data = Vec::with_capacity(width * height);
        let mut sums = vec![0u32; width];
        for y in 0..height {
            sums.fill(0);
            for dy in 0..step {
                let row = &raw[(y * step + dy) * stride..][..width * step * 3];
                for (sum, cell) in sums.iter_mut().zip(row.chunks_exact(step * 3)) {
                    *sum += cell.chunks_exact(3).map(|p| u32::from(luma(p))).sum::<u32>();
                }
            }
            data.extend(sums.iter().map(|sum| (sum / (factor * factor)) as u8));
        }
        (Self { width, height, data }, factor)
    }

    /// The raster at twice the size, interpolated linearly.
    pub(super) fn doubled(&self) -> Self {
        let (width, height) = (self.width * 2, self.height * 2);
        let mut data = Vec::with_capacity(width * height);
        let neighbour = |at: usize, count: usize| {
            let near = at / 2;
            (near, if at.is_multiple_of(2) { near.saturating_sub(1) } else { (near + 1).min(count - 1) })
        };
        for y in 0..height {
            let (y0, y1) = neighbour(y, self.height);
            let (near, far) = (self.row(y0), self.row(y1));
            for x in 0..width {
                let (x0, x1) = neighbour(x, self.width);
                let sum = 9 * u32::from(near[x0]) + 3 * (u32::from(near[x1]) + u32::from(far[x0])) + u32::from(far[x1]);
                data.push(((sum + 8) / 16) as u8);
            }
        }
        Self { width, height, data }
    }

    /// The row `y`.
    pub(super) fn row(&self, y: usize) -> &[u8] {
        &self.data[y * self.width..(y + 1) * self.width]
    }

    /// Value below which the given share of pixels lies.
    pub(super) fn percentile(&self, share: f64) -> u8 {
        let mut histogram = [0usize; 256];
        for &value in &self.data {
            histogram[usize::from(value)] += 1;
        }
        percentile(&histogram, share)
    }
}

/// Value below which the given share of a histogram lies.
pub(super) fn percentile(histogram: &[usize; 256], share: f64) -> u8 {
    let total: usize = histogram.iter().sum();
    let target = (total as f64 * share) as usize;
    let mut seen = 0;
    for (value, count) in histogram.iter().enumerate() {
        seen += count;
        if seen > target {
            return value as u8;
        }
    }
    255
}

fn luma(pixel: &[u8]) -> u8 {
    ((u32::from(pixel[0]) * 77 + u32::from(pixel[1]) * 150 + u32::from(pixel[2]) * 29 + 128) >> 8) as u8
}

/// One byte per pixel: 1 is ink.
#[derive(Clone, Debug)]
pub(super) struct Bitmap {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) data: Vec<u8>,
}

impl Bitmap {
    /// A bitmap without ink.
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self { width, height, data: vec![0; width * height] }
    }

    /// The row `y`.
    pub(super) fn row(&self, y: usize) -> &[u8] {
        &self.data[y * self.width..(y + 1) * self.width]
    }

    /// The row `y`, to be changed.
    pub(super) fn row_mut(&mut self, y: usize) -> &mut [u8] {
        &mut self.data[y * self.width..(y + 1) * self.width]
    }
}
