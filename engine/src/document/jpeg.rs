//! JPEG: what the segments say, and the pixels.

use image::RgbImage;
use image::metadata::Orientation;
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::error::Fault;
use super::resolution;

/// What a walk over the segments tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Survey {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) components: u8,
    pub(super) orientation: Option<Orientation>,
    pub(super) dpi: Option<f64>,
    /// The end mark was reached.
    complete: bool,
}

/// Walks over the segments. Nothing if they end before the size is known.
pub(super) fn survey(bytes: &[u8]) -> Option<Survey> {
    let mut survey = Survey::default();
    let mut exif_dpi = None;
    let mut rest = bytes.get(2..)?;
    while let Some((marker, after)) = next_marker(rest) {
        rest = after;
        match marker {
            0xd9 => {
                survey.complete = true;
                break;
            }
            0x01 | 0xd0..=0xd8 => continue,
            _ => {}
        }
        let Some(length) = rest.first_chunk().map(|length| usize::from(u16::from_be_bytes(*length))) else { break };
        let Some(payload) = rest.get(2..length) else { break };
        rest = rest.get(length..).unwrap_or_default();
        match marker {
            0xe0 if payload.starts_with(b"JFIF\0") => survey.dpi = resolution::of_jfif(payload),
            0xe1 => {
                if let Some(exif) = payload.strip_prefix(b"Exif\0\0") {
                    exif_dpi = resolution::of_exif(exif);
                    survey.orientation = Orientation::from_exif_chunk(exif);
                }
            }
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                let side = |at: usize| payload.get(at..)?.first_chunk().map(|b| u32::from(u16::from_be_bytes(*b)));
                survey.height = side(1)?;
                survey.width = side(3)?;
                survey.components = *payload.get(5)?;
            }
            _ => {}
        }
    }
    survey.dpi = survey.dpi.or(exif_dpi);
    (survey.width > 0).then_some(survey)
}

/// The next marker and what follows it. Coded pixels are passed over: in them 0xff is followed by 0.
fn next_marker(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let mut at = 0;
    loop {
        at += bytes.get(at..)?.iter().position(|&byte| byte == 0xff)?;
        match *bytes.get(at + 1)? {
            0x00 => at += 2,
            0xff => at += 1,
            marker => return Some((marker, bytes.get(at + 2..)?)),
        }
    }
}

/// The pixels as stored (not turned), and whether they can be trusted to the last one.
pub(super) fn decode(bytes: &[u8], survey: &Survey) -> Result<(RgbImage, Option<&'static str>), Fault> {
    const UNENDED: &str = "the file has no end mark, so that the last lines may be missing";
    const DAMAGED: &str = "its data are damaged, so that parts may be missing";
    let strict = samples(bytes, survey, Wanted::Rgb, true);
    let (samples, notice) = match strict {
        Ok(samples) => (samples, (!survey.complete).then_some(UNENDED)),
        Err(_) if !survey.complete => return Err(Fault::EndsEarly),
        // A lenient decoder fills what is missing with grey: fine if said.
        Err(Fault::Broken(reason)) => {
            (samples(bytes, survey, Wanted::Rgb, false)?, (reason != FILLER).then_some(DAMAGED))
        }
        Err(fault) => return Err(fault),
    };
    let pixels = RgbImage::from_raw(samples.width, samples.height, samples.data).ok_or(Fault::EndsEarly)?;
    Ok((pixels, notice))
}

/// Which colours a caller wants.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Red, green, blue. Four inks are taken as inverted (255: no ink), as Adobe's programs write them, whether the file has
    /// Adobe's mark or not; other readers do the same.
    Rgb,
    /// The stored channels.
    Stored,
}

/// Decoded samples, channels interleaved.
pub(super) struct Samples {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) channels: usize,
    pub(super) data: Vec<u8>,
}

/// What a strict decoder minds although it harms no pixel.
const FILLER: &str = "there is something between its JPEG segments";

fn fault(error: DecodeErrors) -> Fault {
    match error {
        DecodeErrors::FormatStatic(words) if words.contains("Extra bytes between headers") => {
            Fault::Broken(FILLER.to_owned())
        }
        DecodeErrors::Unsupported(_) => {
            Fault::Broken("it is a rare kind of JPEG (such as lossless or 12 bits); save it again".to_owned())
        }
        _ => Fault::Broken("its JPEG data are damaged".to_owned()),
    }
}

/// Decodes; a strict decoder refuses data that stop or make no sense, where a lenient one fills with grey.
pub(super) fn samples(bytes: &[u8], survey: &Survey, wanted: Wanted, strict: bool) -> Result<Samples, Fault> {
    let options =
        DecoderOptions::default().set_strict_mode(strict).set_max_width(usize::MAX).set_max_height(usize::MAX);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(fault)?;
    // A second size in the file must not evade the limits that the first was held against.
    if decoder.dimensions() != Some((survey.width as usize, survey.height as usize)) {
        return Err(Fault::Broken("its JPEG data have two sizes".to_owned()));
    }
    let stored = decoder.input_colorspace().ok_or(Fault::EndsEarly)?;
    let output = match wanted {
        Wanted::Rgb => ColorSpace::RGB,
        Wanted::Stored => stored,
    };
    decoder.set_options(options.jpeg_set_out_colorspace(output));
    let data = decoder.decode().map_err(fault)?;
    let (width, height) = decoder.dimensions().ok_or(Fault::EndsEarly)?;
    let channels = output.num_components();
    if data.len() != width * height * channels || !matches!(channels, 1 | 3 | 4) {
        return Err(Fault::Broken(format!("its JPEG data have {channels} channels, which is not a known kind")));
    }
    Ok(Samples { width: width as u32, height: height as u32, channels, data })
}
