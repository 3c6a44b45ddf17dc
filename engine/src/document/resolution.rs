//! The resolution that an image file names for itself.

use super::ifd;

/// Resolutions that a scanner, a camera or a screen may have meant.
const BELIEVABLE: std::ops::RangeInclusive<f64> = 30.0..=4800.0;

/// The resolution if it can be believed: zeros and ones stand in many files for "unknown".
pub(super) fn believable(dpi: Option<f64>) -> Option<f32> {
    dpi.filter(|dpi| BELIEVABLE.contains(dpi)).map(|dpi| dpi as f32)
}

fn per_meter(dots: u32) -> f64 {
    f64::from(dots) * 0.0254
}

/// PNG: the pHYs chunk, which stands before the pixels.
pub(super) fn of_png(bytes: &[u8]) -> Option<f64> {
    let mut rest = bytes.get(8..)?;
    loop {
        let length = usize::try_from(u32::from_be_bytes(*rest.first_chunk()?)).ok()?;
        match rest.get(4..8)? {
            b"pHYs" if rest.get(16) == Some(&1) => {
                return rest.get(8..)?.first_chunk().map(|dots| per_meter(u32::from_be_bytes(*dots)));
            }
            b"IDAT" | b"IEND" => return None,
            _ => rest = rest.get(length.checked_add(12)?..)?,
        }
    }
}

/// BMP: pixels per metre in the second header, if that has the field.
pub(super) fn of_bmp(bytes: &[u8]) -> Option<f64> {
    let header_size = u32::from_le_bytes(*bytes.get(14..)?.first_chunk()?);
    let dots = u32::from_le_bytes(*bytes.get(38..)?.first_chunk()?);
    (header_size >= 40).then(|| per_meter(dots))
}

/// JPEG: the JFIF segment's payload, from its name on.
pub(super) fn of_jfif(payload: &[u8]) -> Option<f64> {
    let density = f64::from(u16::from_be_bytes(*payload.get(8..)?.first_chunk()?));
    match payload.get(7)? {
        1 => Some(density),
        2 => Some(density * 2.54),
        _ => None,
    }
}

/// The EXIF block of any image, from its byte order mark on.
pub(super) fn of_exif(exif: &[u8]) -> Option<f64> {
    ifd::directories(exif).ok()?.first()?.as_ref().ok()?.dpi(exif)
}
