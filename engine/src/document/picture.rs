//! Images that are one page: PNG, JPEG, WebP, BMP, GIF.

use std::error::Error;
use std::io::{self, Cursor};

use image::codecs::{bmp::BmpDecoder, gif::GifDecoder, png::PngDecoder, webp::WebPDecoder};
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageError, RgbImage};

use super::contain::contained;
use super::error::Fault;
use super::reduce::{self, Reducer};
use super::sniff::FileFormat;
use super::{Bytes, Limits, PageRaster, jpeg, resolution};

/// Rows that are converted at a time.
const BAND: usize = 64;

/// An image file. It is decoded anew each time: a raster is larger than its file, and asked for once or twice.
pub(super) struct Picture {
    format: FileFormat,
    bytes: Bytes,
}

impl Picture {
    pub(super) fn new(format: FileFormat, bytes: Bytes) -> Picture {
        Picture { format, bytes }
    }

    pub(super) fn format(&self) -> &'static str {
        match self.format {
            FileFormat::Png => "png",
            FileFormat::Jpeg => "jpeg",
            FileFormat::WebP => "webp",
            FileFormat::Bmp => "bmp",
            FileFormat::Gif => "gif",
            FileFormat::Tiff => "tiff",
            FileFormat::Pdf => "pdf",
        }
    }

    pub(super) fn render(&self, limits: &Limits) -> Result<PageRaster, Fault> {
        let (format, bytes, own_limits) = (self.format, self.bytes.clone(), limits.clone());
        contained(limits.max_time, move || decode(format, bytes.as_ref(), &own_limits))
    }
}

fn decode(format: FileFormat, bytes: &[u8], limits: &Limits) -> Result<PageRaster, Fault> {
    let reader = Cursor::new(bytes);
    match format {
        FileFormat::Jpeg => jpeg_page(bytes, limits),
        FileFormat::Png => {
            page(PngDecoder::with_limits(reader, memory(limits)).map_err(fault)?, resolution::of_png(bytes), limits)
        }
        // The decoder does not say so itself.
        FileFormat::WebP if webp_size(bytes).is_none_or(|size| size > bytes.len() as u64) => Err(Fault::EndsEarly),
        FileFormat::WebP => page(WebPDecoder::new(reader).map_err(fault)?, None, limits),
        FileFormat::Bmp => page(BmpDecoder::new(reader).map_err(fault)?, resolution::of_bmp(bytes), limits),
        // The first frame of an animation is the page; what moves afterwards is not a document.
        FileFormat::Gif => page(GifDecoder::new(reader).map_err(fault)?, None, limits),
        FileFormat::Tiff | FileFormat::Pdf => Err(Fault::Broken("it is not an image of one page".to_owned())),
    }
}

/// The size of the file by its header.
fn webp_size(bytes: &[u8]) -> Option<u64> {
    bytes.get(4..)?.first_chunk().map(|size| u64::from(u32::from_le_bytes(*size)) + 8)
}

fn jpeg_page(bytes: &[u8], limits: &Limits) -> Result<PageRaster, Fault> {
    let survey = jpeg::survey(bytes).ok_or(Fault::EndsEarly)?;
    let (width, height) = (survey.width, survey.height);
    let factor = shrinking(width, height, u64::from(survey.components.max(3)), limits)?;
    let (pixels, doubt) = jpeg::decode(bytes, &survey)?;
    let doubt = doubt.map(|doubt| format!("this image was read, but {doubt}"));
    Ok(PageRaster {
        pixels: turned(reduced(pixels.into(), factor)?, survey.orientation.unwrap_or(Orientation::NoTransforms)),
        dpi: resolution::believable(survey.dpi.map(|dpi| dpi / f64::from(factor))),
        notice: doubt.or_else(|| reduce::notice(0, width, height, factor, limits)),
    })
}

fn page<D: ImageDecoder>(mut decoder: D, dpi: Option<f64>, limits: &Limits) -> Result<PageRaster, Fault> {
    let (width, height) = decoder.dimensions();
    let factor = shrinking(width, height, u64::from(decoder.color_type().bytes_per_pixel()), limits)?;
    decoder.set_limits(memory(limits)).map_err(fault)?;
    let dpi = dpi.or_else(|| decoder.exif_metadata().ok().flatten().and_then(|exif| resolution::of_exif(&exif)));
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let image = DynamicImage::from_decoder(decoder).map_err(fault)?;
    Ok(PageRaster {
        pixels: turned(reduced(image, factor)?, orientation),
        dpi: resolution::believable(dpi.map(|dpi| dpi / f64::from(factor))),
        notice: reduce::notice(0, width, height, factor, limits),
    })
}

/// What a decoder may take: sixteen bits in four channels, and room for its own tables.
fn memory(limits: &Limits) -> image::Limits {
    let mut memory = image::Limits::no_limits();
    memory.max_alloc = Some(limits.max_pixels.saturating_mul(8).saturating_add(64 << 20));
    memory
}

/// The factor by which an image must shrink. These formats are decoded whole before, so a larger one than the limit is
/// refused, before memory is taken for it, unless it takes no more than four bytes for each pixel of the limit (as a
/// color scan of A2 at 600 dpi does).
fn shrinking(width: u32, height: u32, bytes_per_pixel: u64, limits: &Limits) -> Result<u32, Fault> {
    if width == 0 || height == 0 {
        return Err(Fault::Broken("it has no pixels".to_owned()));
    }
    let bytes = (u64::from(width) * u64::from(height)).saturating_mul(bytes_per_pixel);
    match reduce::factor(width, height, limits)? {
        1 => Ok(1),
        factor if bytes <= limits.max_pixels.saturating_mul(4) => Ok(factor),
        _ => Err(Fault::TooLarge { width, height }),
    }
}

/// The image on white, a band at a time if it must shrink, since only the small one may take three bytes per pixel.
fn reduced(image: DynamicImage, factor: u32) -> Result<RgbImage, Fault> {
    if factor == 1 {
        return Ok(on_white(image));
    }
    let (width, height) = (image.width(), image.height());
    let mut reducer = Reducer::new(width, height, factor);
    for top in (0..height).step_by(BAND) {
        let band = on_white(image.crop_imm(0, top, width, BAND as u32));
        band.as_raw().chunks_exact(width as usize * 3).for_each(|row| reducer.push(row));
    }
    reducer.finish()
}

/// Eight bits per channel, and white where the image is transparent.
fn on_white(image: DynamicImage) -> RgbImage {
    if !image.color().has_alpha() {
        return image.into_rgb8();
    }
    let rgba = image.into_rgba8();
    let (width, height) = rgba.dimensions();
    let mut pixels = RgbImage::new(width, height);
    for (to, from) in pixels.pixels_mut().zip(rgba.pixels()) {
        let [r, g, b, a] = from.0;
        to.0 = [over_white(r, a), over_white(g, a), over_white(b, a)];
    }
    pixels
}

/// A colour of some opacity over white.
pub(super) fn over_white(color: u8, alpha: u8) -> u8 {
    let alpha = u32::from(alpha);
    ((u32::from(color) * alpha + 255 * (255 - alpha) + 127) / 255) as u8
}

/// The pixels as they are to be looked at.
pub(super) fn turned(pixels: RgbImage, orientation: Orientation) -> RgbImage {
    let mut image = DynamicImage::ImageRgb8(pixels);
    image.apply_orientation(orientation);
    image.into_rgb8()
}

fn fault(error: ImageError) -> Fault {
    match error {
        ImageError::IoError(io) if io.kind() == io::ErrorKind::UnexpectedEof => Fault::EndsEarly,
        error if ends_early(&error) => Fault::EndsEarly,
        ImageError::Limits(_) => Fault::Broken("it would take too much memory".to_owned()),
        ImageError::Unsupported(_) => Fault::Broken("it is of a rare kind that cannot be read".to_owned()),
        _ => Fault::Broken("its data are damaged".to_owned()),
    }
}

/// Whether running out of bytes is at the bottom of an error. Some decoders say so only in words.
fn ends_early(error: &dyn Error) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let words = error.to_string().to_ascii_lowercase();
        if words.contains("unexpected end") || words.contains("unexpected eof") || words.contains("end of file") {
            return true;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
#[path = "picture_tests.rs"]
pub(super) mod tests;
