//! Large pages made smaller while they are read.

use image::RgbImage;

use super::Limits;
use super::error::Fault;

/// A page that must be reduced further than this is no scan but a trap: its pixels take longer to read than to invent.
const MAX_REDUCTION: u32 = 8;

/// The smallest whole factor by which a page must shrink to stay within the limit; 1 for most.
pub(super) fn factor(width: u32, height: u32, limits: &Limits) -> Result<u32, Fault> {
    let pixels = |factor: u32| u64::from(width.div_ceil(factor)) * u64::from(height.div_ceil(factor));
    (1..=MAX_REDUCTION).find(|factor| pixels(*factor) <= limits.max_pixels).ok_or(Fault::TooLarge { width, height })
}

/// The sentence about a reduced page.
pub(super) fn notice(page: usize, width: u32, height: u32, factor: u32, limits: &Limits) -> Option<String> {
    (factor > 1).then(|| {
        format!(
            "page {} ({width} x {height} pixels) was reduced to 1/{factor} in width and height to stay within {} megapixels",
            page + 1,
            limits.max_pixels / 1_000_000
        )
    })
}

/// Collects rows and shrinks them by a whole factor, each pixel the mean of a square.
pub(super) struct Reducer {
    factor: u32,
    width: u32,
    height: u32,
    sums: Vec<u32>,
    rows: u32,
    pixels: Vec<u8>,
}

impl Reducer {
    pub(super) fn new(width: u32, height: u32, factor: u32) -> Reducer {
        let (width, height) = (width.div_ceil(factor), height.div_ceil(factor));
        Reducer { factor, width, height, sums: vec![0; width as usize * 3], rows: 0, pixels: Vec::new() }
    }

    /// Takes the next row of the page, red, green and blue.
    pub(super) fn push(&mut self, row: &[u8]) {
        if self.pixels.is_empty() {
            self.pixels.reserve_exact(self.width as usize * self.height as usize * 3);
        }
        if self.factor == 1 {
            self.pixels.extend_from_slice(row);
            return;
        }
        let square = self.factor as usize * 3;
        for (sums, part) in self.sums.chunks_exact_mut(3).zip(row.chunks(square)) {
            // The last square of a row may be narrower: its mean over its own width, scaled.
            let narrow = (part.len() / 3) as u32;
            for (channel, sum) in sums.iter_mut().enumerate() {
                let total: u32 = part.iter().skip(channel).step_by(3).map(|value| u32::from(*value)).sum();
                *sum += total / narrow.max(1);
            }
        }
        self.rows += 1;
        if self.rows == self.factor {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.rows > 0 {
            self.pixels.extend(self.sums.iter().map(|sum| (sum / self.rows) as u8));
            self.sums.fill(0);
            self.rows = 0;
        }
    }

    pub(super) fn finish(mut self) -> Result<RgbImage, Fault> {
        self.flush();
        RgbImage::from_raw(self.width, self.height, self.pixels).ok_or(Fault::EndsEarly)
    }
}
