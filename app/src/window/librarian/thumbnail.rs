//! Small pictures of pages.

use std::borrow::Cow;

use eframe::egui::ColorImage;
use engine::document::{Document, DocumentError, Turn};
use image::RgbImage;
use image::imageops::{self, FilterType};

use super::super::pyramid::halved;

/// The longer side of a thumbnail is no longer than this, pixels.
const SIDE: u32 = 256;
/// Resolution at which pages of a PDF are drawn for their thumbnails: an A4 page then has about twice the pixels.
const DPI: f32 = 44.0;

/// A thumbnail of a page, turned, not straightened.
pub(super) fn draw(document: &mut Document, page: usize, turn: Turn) -> Result<ColorImage, DocumentError> {
    let mut raster = document.render(page, DPI)?;
    let longer = longer_side(&raster.pixels);
    // A small page of a PDF, a receipt say, is drawn again in sufficient size; an image has the pixels that it has.
    if longer < SIDE && raster.dpi == Some(DPI) {
        raster = document.render(page, DPI * (2 * SIDE) as f32 / longer as f32)?;
    }
    Ok(shrunk(&raster.pixels, turn))
}

/// A raster as a thumbnail: halved while that leaves enough, then shrunk by a filter that keeps small letters crisp.
pub(super) fn shrunk(raster: &RgbImage, turn: Turn) -> ColorImage {
    let mut image = Cow::Borrowed(raster);
    while longer_side(&image) >= 2 * SIDE {
        image = Cow::Owned(halved(&image));
    }
    let longer = longer_side(&image);
    if longer > SIDE {
        let side = |length: u32| ((length * SIDE + longer / 2) / longer).max(1);
        let (width, height) = (side(image.width()), side(image.height()));
        image = Cow::Owned(imageops::resize(&*image, width, height, FilterType::CatmullRom));
    }
    let image = turn.apply(image.into_owned());
    ColorImage::from_rgb([image.width() as usize, image.height() as usize], image.as_raw())
}

fn longer_side(image: &RgbImage) -> u32 {
    image.width().max(image.height())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use eframe::egui::Color32;
    use engine::document::OpenOptions;
    use image::Rgb;

    use super::super::testing;
    use super::*;

    #[test]
    fn sizes_keep_their_proportions() {
        for ((width, height), size) in [
            ((1654, 2339), [181, 256]),
            ((2339, 1654), [256, 181]),
            ((512, 512), [256, 256]),
            ((257, 100), [256, 100]),
            ((256, 3), [256, 3]),
            ((40, 20), [40, 20]),
            ((30_000, 2), [256, 1]),
        ] {
            let image = RgbImage::from_pixel(width, height, Rgb([1, 2, 3]));
            let small = shrunk(&image, Turn::None);
            assert_eq!(small.size, size, "{width} x {height}");
            assert!(small.pixels.iter().all(|pixel| *pixel == Color32::from_rgb(1, 2, 3)));
            let [width, height] = size;
            assert_eq!(shrunk(&image, Turn::Left).size, [height, width]);
        }
    }

    #[test]
    fn a_small_page_is_drawn_large_enough_and_turned() {
        // 200 x 100 points are 122 pixels at the resolution for larger pages.
        let mut document = Document::from_bytes("a.pdf", testing::pages(1), &OpenOptions::default()).unwrap();
        let black = |image: &ColorImage, x: usize, y: usize| image.pixels[y * image.size[0] + x].r() < 60;
        let upright = draw(&mut document, 0, Turn::None).unwrap();
        assert_eq!(upright.size, [256, 128]);
        assert!(black(&upright, 3, 3) && black(&upright, 22, 22) && !black(&upright, 30, 3));
        let right = draw(&mut document, 0, Turn::Right).unwrap();
        assert_eq!(right.size, [128, 256]);
        assert!(black(&right, 124, 3) && !black(&right, 3, 3));
    }
}
