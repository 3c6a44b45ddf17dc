//! One strip or tile of a TIFF image: from its bytes in the file to rows of packed samples.

use std::io::Read;

use hayro_ccitt::{DecodeSettings, DecoderContext, EncodingMode};
use weezl::{BitOrder, LzwStatus};

use super::error::Fault;
use super::jpeg::{self, Wanted};

/// How strips and tiles are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    /// Modified Huffman (2) or group 3 (3) fax, one-dimensional or, with `two_dimensional`, mixed.
    Fax3 {
        two_dimensional: bool,
        byte_aligned: bool,
    },
    Fax4,
    Lzw,
    Deflate,
    PackBits,
    Jpeg,
}

impl Compression {
    /// The compression of a TIFF field's value. `t4_options` belongs to group 3.
    pub(super) fn of(value: u64, t4_options: u64) -> Result<Compression, Fault> {
        let name = match value {
            1 => return Ok(Compression::None),
            2 => return Ok(Compression::Fax3 { two_dimensional: false, byte_aligned: true }),
            3 => return Ok(Compression::Fax3 { two_dimensional: t4_options & 1 == 1, byte_aligned: false }),
            4 => return Ok(Compression::Fax4),
            5 => return Ok(Compression::Lzw),
            7 => return Ok(Compression::Jpeg),
            8 | 32946 => return Ok(Compression::Deflate),
            32773 => return Ok(Compression::PackBits),
            6 => "old-style JPEG".to_owned(),
            50000 | 50001 => "Zstandard or WebP".to_owned(),
            33003 | 33005 | 34712 => "JPEG 2000".to_owned(),
            other => format!("number {other}"),
        };
        Err(Fault::Broken(format!("its compression ({name}) cannot be read; save it with LZW compression")))
    }
}

/// What a chunk's rows must look like when unpacked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) width: u32,
    pub(super) rows: u32,
    /// Samples per pixel in this chunk (one where colours are stored apart).
    pub(super) samples: usize,
    pub(super) bits: u32,
}

impl Shape {
    /// Bytes of one row; rows start on a byte.
    pub(super) fn row_bytes(&self) -> usize {
        (self.width as usize).saturating_mul(self.samples).saturating_mul(self.bits as usize).div_ceil(8)
    }

    /// Bytes of all rows.
    pub(super) fn bytes(&self) -> usize {
        self.row_bytes().saturating_mul(self.rows as usize)
    }
}

/// Unpacks one chunk to exactly the bytes of its shape. `reversed`: the first pixel is the lowest bit (fill order 2).
pub(super) fn unpack(
    data: &[u8],
    compression: Compression,
    reversed: bool,
    shape: Shape,
    jpeg: JpegFrame<'_>,
) -> Result<Vec<u8>, Fault> {
    let mirrored: Vec<u8>;
    let data = if reversed && compression != Compression::Jpeg {
        mirrored = data.iter().map(|byte| byte.reverse_bits()).collect();
        &mirrored
    } else {
        data
    };
    let unpacked = match compression {
        Compression::None => data.get(..shape.bytes()).ok_or(Fault::EndsEarly)?.to_vec(),
        Compression::Fax3 { .. } | Compression::Fax4 => fax(data, compression, shape)?,
        Compression::Lzw => lzw(data, shape.bytes()),
        Compression::Deflate => deflate(data, shape.bytes()),
        Compression::PackBits => pack_bits(data, shape.bytes()),
        Compression::Jpeg => jpeg_rows(data, shape, jpeg)?,
    };
    if unpacked.len() < shape.bytes() { Err(damaged()) } else { Ok(unpacked) }
}

fn damaged() -> Fault {
    Fault::Broken("its data are damaged or incomplete".to_owned())
}

fn lzw(data: &[u8], size: usize) -> Vec<u8> {
    let mut decoder = weezl::decode::Configuration::with_tiff_size_switch(BitOrder::Msb, 8).build();
    let mut unpacked = vec![0; size];
    let (mut from, mut to) = (0, 0);
    while to < size {
        let step =
            decoder.decode_bytes(data.get(from..).unwrap_or_default(), unpacked.get_mut(to..).unwrap_or_default());
        from += step.consumed_in;
        to += step.consumed_out;
        match step.status {
            Ok(LzwStatus::Ok) if step.consumed_in + step.consumed_out > 0 => {}
            _ => break,
        }
    }
    unpacked.truncate(to);
    unpacked
}

fn deflate(data: &[u8], size: usize) -> Vec<u8> {
    let mut unpacked = Vec::new();
    // What was unpacked before an error counts; the caller sees whether it is enough.
    let _ = flate2::read::ZlibDecoder::new(data).take(size as u64).read_to_end(&mut unpacked);
    unpacked
}

fn pack_bits(data: &[u8], size: usize) -> Vec<u8> {
    let mut unpacked = Vec::new();
    let mut rest = data;
    while unpacked.len() < size {
        let Some((&count, after)) = rest.split_first() else { break };
        match count {
            0..=127 => {
                let literal = after.get(..usize::from(count) + 1).unwrap_or(after);
                unpacked.extend_from_slice(literal);
                rest = after.get(literal.len()..).unwrap_or_default();
            }
            128 => rest = after,
            129.. => {
                let Some((&byte, after)) = after.split_first() else { break };
                unpacked.resize(unpacked.len() + 257 - usize::from(count), byte);
                rest = after;
            }
        }
    }
    unpacked.truncate(size);
    unpacked
}

/// Rows of one bit per pixel, in which the fax's white is 0 whatever that means in this image.
struct FaxRows {
    packed: Vec<u8>,
    row_bytes: usize,
    width: u32,
    rows: u32,
}

impl hayro_ccitt::Decoder for FaxRows {
    fn push_row(&mut self, changes: &[u32]) {
        let start = self.packed.len();
        if self.rows == 0 {
            return;
        }
        self.rows -= 1;
        self.packed.resize(start + self.row_bytes, 0);
        let Some(row) = self.packed.get_mut(start..) else { return };
        for run in changes.chunks(2) {
            let from = run.first().copied().unwrap_or(self.width);
            let to = run.get(1).copied().unwrap_or(self.width).min(self.width);
            for x in from..to {
                if let Some(byte) = row.get_mut((x / 8) as usize) {
                    *byte |= 0x80 >> (x % 8);
                }
            }
        }
    }
}

fn fax(data: &[u8], compression: Compression, shape: Shape) -> Result<Vec<u8>, Fault> {
    if shape.bits != 1 || shape.samples != 1 {
        return Err(Fault::Broken("it is a fax in colour, which is not a known kind".to_owned()));
    }
    let (encoding, rows_are_byte_aligned) = match compression {
        Compression::Fax3 { two_dimensional: true, byte_aligned } => (EncodingMode::Group3_2D, byte_aligned),
        Compression::Fax3 { byte_aligned, .. } => (EncodingMode::Group3_1D, byte_aligned),
        _ => (EncodingMode::Group4, false),
    };
    let settings = DecodeSettings {
        columns: shape.width,
        rows: shape.rows,
        end_of_block: true,
        end_of_line: false,
        rows_are_byte_aligned,
        encoding,
        strict: false,
    };
    let mut rows = FaxRows { packed: Vec::new(), row_bytes: shape.row_bytes(), width: shape.width, rows: shape.rows };
    let decoded = hayro_ccitt::decode(data, &mut rows, &mut DecoderContext::new(settings));
    if decoded.is_ok() {
        // Some fax machines leave out the white rows at the end.
        rows.packed.resize(shape.bytes(), 0);
    }
    Ok(rows.packed)
}

/// What a JPEG chunk needs from its image.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JpegFrame<'a> {
    /// Tables shared by all chunks: a JPEG file without pixels.
    pub(super) tables: Option<&'a [u8]>,
    /// Whether the pixels are to come out as red, green, blue.
    pub(super) to_rgb: bool,
    /// Rows of a whole chunk, of which the last of the image may need fewer.
    pub(super) rows: u32,
}

fn jpeg_rows(data: &[u8], shape: Shape, frame: JpegFrame<'_>) -> Result<Vec<u8>, Fault> {
    // The tables' end mark and the chunk's start mark make way for each other.
    let tables = frame.tables.map(|tables| tables.strip_suffix(b"\xff\xd9").unwrap_or(tables));
    let whole = match tables {
        Some(tables) => [tables, data.get(2..).unwrap_or_default()].concat(),
        None => data.to_vec(),
    };
    // The size in here is the file's second word on it: it must not cost more than the first promised.
    let survey = jpeg::survey(&whole).ok_or_else(damaged)?;
    let promised = u64::from(shape.width) * u64::from(frame.rows);
    // Some room: sizes are rounded up to whole blocks of up to 32 pixels.
    if u64::from(survey.width) * u64::from(survey.height) > 2 * promised + 4096 {
        return Err(damaged());
    }
    let wanted = if frame.to_rgb { Wanted::Rgb } else { Wanted::Stored };
    let samples = jpeg::samples(&whole, &survey, wanted, true)?;
    let row = shape.row_bytes();
    let stride = samples.width as usize * samples.channels;
    if samples.channels != shape.samples || shape.bits != 8 || stride < row {
        return Err(damaged());
    }
    Ok(samples
        .data
        .chunks_exact(stride)
        .take(shape.rows as usize)
        .filter_map(|line| line.get(..row))
        .flatten()
        .copied()
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pack_bits_as_in_apples_note() {
        // The example of Apple's Technical Note TN1023.
        let packed = [0xfe, 0xaa, 0x02, 0x80, 0x00, 0x2a, 0xfd, 0xaa, 0x03, 0x80, 0x00, 0x2a, 0x22, 0xf7, 0xaa];
        let plain = [
            0xaa, 0xaa, 0xaa, 0x80, 0x00, 0x2a, 0xaa, 0xaa, 0xaa, 0xaa, 0x80, 0x00, 0x2a, 0x22, 0xaa, 0xaa, 0xaa, 0xaa,
            0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa,
        ];
        assert_eq!(pack_bits(&packed, plain.len()), plain);
    }
}
