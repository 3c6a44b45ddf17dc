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

/// Each pixel the mean of two by two; at an odd edge, of those that there are. Works on rows of bytes: a page has up to
/// 120 million pixels, and asking for them one by one takes seconds.
pub(crate) fn halved(image: &RgbImage) -> RgbImage {
    let (width, height) = (image.width().div_ceil(2), image.height().div_ceil(2));
    let mut half = RgbImage::new(width, height);
    if half.is_empty() {
        return half;
    }
    let (row, half_row) = (image.width() as usize * 3, width as usize * 3);
    for (to, two) in half.chunks_exact_mut(half_row).zip(image.as_raw().chunks(row * 2)) {
        let (upper, lower) = two.split_at(row);
        let lower = if lower.is_empty() { upper } else { lower };
        let (upper, upper_rest) = upper.as_chunks::<6>();
        let (lower, lower_rest) = lower.as_chunks::<6>();
        let (to, _) = to.as_chunks_mut::<3>();
        for (to, (upper, lower)) in to.iter_mut().zip(upper.iter().zip(lower)) {
            *to = [0, 1, 2].map(|c| mean(upper[c], upper[c + 3], lower[c], lower[c + 3]));
        }
        // The last column of an odd width.
        if let (Some(to), &[a, b, c], &[d, e, f]) = (to.last_mut(), upper_rest, lower_rest) {
            *to = [mean(a, a, d, d), mean(b, b, e, e), mean(c, c, f, f)];
        }
    }
    half
}

fn mean(a: u8, b: u8, c: u8, d: u8) -> u8 {
    ((u16::from(a) + u16::from(b) + u16::from(c) + u16::from(d) + 2) / 4) as u8
}

#[cfg(test)]
mod tests {
    use image::Rgb;

    use super::*;

    #[test]
    fn a_pixel_is_the_mean_of_those_it_covers() {
        // Three columns and three rows; red, green and blue differ so that a mixed-up channel shows.
        let red = [[10, 20, 7], [30, 41, 8], [100, 201, 255]];
        let image = RgbImage::from_fn(3, 3, |x, y| {
            let red = red[y as usize][x as usize];
            Rgb([red, 255 - red, 3])
        });
        let half = halved(&image);
        assert_eq!(half.dimensions(), (2, 2));
        // (10 + 20 + 30 + 41) / 4 = 25.25; (7 + 8) / 2 = 7.5 goes up; (100 + 201) / 2 = 150.5 goes up.
        let reds: Vec<u8> = half.pixels().map(|pixel| pixel.0[0]).collect();
        assert_eq!(reds, [25, 8, 151, 255]);
        // (245 + 235 + 225 + 214) / 4 = 229.75; (248 + 247) / 2 = 247.5; (155 + 54) / 2 = 104.5.
        let greens: Vec<u8> = half.pixels().map(|pixel| pixel.0[1]).collect();
        assert_eq!(greens, [230, 248, 105, 0]);
        assert!(half.pixels().all(|pixel| pixel.0[2] == 3));
    }

    #[test]
    fn every_size_halves() {
        for (width, height) in
            [(0, 0), (0, 5), (5, 0), (1, 1), (1, 2), (2, 1), (1, 7), (8, 1), (4, 6), (5, 4), (640, 3)]
        {
            let image = RgbImage::from_pixel(width, height, Rgb([200, 100, 50]));
            let half = halved(&image);
            assert_eq!(half.dimensions(), (width.div_ceil(2), height.div_ceil(2)));
            assert!(half.pixels().all(|pixel| pixel.0 == [200, 100, 50]), "{width} x {height}");
        }
    }

    #[test]
    fn white_stays_white() {
        assert!(halved(&RgbImage::from_pixel(9, 9, Rgb([255; 3]))).iter().all(|value| *value == 255));
    }

    #[test]
    fn a_large_page_has_levels_down_to_a_small_one() {
        let pyramid = Pyramid::from(RgbImage::new(30_000, 2_000));
        let sizes: Vec<(u32, u32)> = pyramid.levels().iter().map(RgbImage::dimensions).collect();
        let expected =
            [(30_000, 2_000), (15_000, 1_000), (7_500, 500), (3_750, 250), (1_875, 125), (938, 63), (469, 32)];
        assert_eq!(sizes, expected);
        assert_eq!(pyramid.size(), [30_000, 2_000]);
    }

    #[test]
    fn a_small_page_is_its_only_level() {
        assert_eq!(Pyramid::from(RgbImage::new(512, 512)).levels().len(), 1);
        assert_eq!(Pyramid::from(RgbImage::new(513, 1)).levels().len(), 2);
    }
}
