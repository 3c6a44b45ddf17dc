//! A page's pixels in several sizes, each half of the one before, so that any zoom draws few of them and draws them
//! smoothly.

use image::RgbImage;

/// The smallest level is no longer than this on either side.
const SMALLEST: u32 = 512;

/// A page raster and its reductions.
pub(crate) struct Pyramid {
    /// Level 0 is the raster itself; each further one has half the width and height, rounded up.
    levels: Vec<RgbImage>,
}

impl Pyramid {
    /// Width and height of the raster.
    pub(crate) fn size(&self) -> [u32; 2] {
        self.levels.first().map_or([0, 0], |level| [level.width(), level.height()])
    }

    /// All levels, the largest first.
    pub(crate) fn levels(&self) -> &[RgbImage] {
        &self.levels
    }
}

impl From<RgbImage> for Pyramid {
    fn from(raster: RgbImage) -> Self {
        let mut levels = vec![raster];
        while let Some(last) = levels.last()
            && last.width().max(last.height()) > SMALLEST
        {
            let next = halved(last);
            levels.push(next);
        }
        Self { levels }
    }
}

/// Each pixel the mean of two by two; at an odd edge, of those that there are.
fn halved(image: &RgbImage) -> RgbImage {
    let (width, height) = image.dimensions();
    RgbImage::from_fn(width.div_ceil(2), height.div_ceil(2), |x, y| {
        let (x1, y1) = ((2 * x + 1).min(width - 1), (2 * y + 1).min(height - 1));
        let four = [(2 * x, 2 * y), (x1, 2 * y), (2 * x, y1), (x1, y1)].map(|(x, y)| image.get_pixel(x, y).0);
        image::Rgb([0, 1, 2].map(|c| ((four.iter().map(|p| u16::from(p[c])).sum::<u16>() + 2) / 4) as u8))
    })
}
