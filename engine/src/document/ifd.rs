//! Directories of tagged fields: the frame of a TIFF file, and of the EXIF block in other images.

use std::collections::{BTreeMap, HashSet};

use image::metadata::Orientation;

use super::error::Fault;

/// Directories and fields that are looked at before a file is taken for a trap.
const MAX_DIRECTORIES: usize = 100_000;
const MAX_FIELDS: usize = 1_000_000;

/// Values of one field: the strips or tiles of the largest images are fewer.
const MAX_VALUES: usize = 4_000_000;

/// The fields that are used here; files hold many more, private ones among them.
pub(super) mod tag {
    pub(in crate::document) const SUBFILE_TYPE: u16 = 254;
    pub(in crate::document) const WIDTH: u16 = 256;
    pub(in crate::document) const HEIGHT: u16 = 257;
    pub(in crate::document) const BITS: u16 = 258;
    pub(in crate::document) const COMPRESSION: u16 = 259;
    pub(in crate::document) const PHOTOMETRIC: u16 = 262;
    pub(in crate::document) const FILL_ORDER: u16 = 266;
    pub(in crate::document) const STRIP_OFFSETS: u16 = 273;
    pub(in crate::document) const ORIENTATION: u16 = 274;
    pub(in crate::document) const SAMPLES: u16 = 277;
    pub(in crate::document) const ROWS_PER_STRIP: u16 = 278;
    pub(in crate::document) const STRIP_SIZES: u16 = 279;
    pub(in crate::document) const X_RESOLUTION: u16 = 282;
    pub(in crate::document) const PLANAR: u16 = 284;
    pub(in crate::document) const T4_OPTIONS: u16 = 292;
    pub(in crate::document) const RESOLUTION_UNIT: u16 = 296;
    pub(in crate::document) const PREDICTOR: u16 = 317;
    pub(in crate::document) const COLOR_MAP: u16 = 320;
    pub(in crate::document) const TILE_WIDTH: u16 = 322;
    pub(in crate::document) const TILE_HEIGHT: u16 = 323;
    pub(in crate::document) const TILE_OFFSETS: u16 = 324;
    pub(in crate::document) const TILE_SIZES: u16 = 325;
    pub(in crate::document) const EXTRA_SAMPLES: u16 = 338;
    pub(in crate::document) const SAMPLE_FORMAT: u16 = 339;
    pub(in crate::document) const JPEG_TABLES: u16 = 347;
    pub(in crate::document) const CHROMA_SUBSAMPLING: u16 = 530;
}

/// Byte order and width of the offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Encoding {
    pub(super) little_endian: bool,
    big_tiff: bool,
}

/// Where a field's values lie.
#[derive(Clone, Copy, Debug)]
struct Field {
    kind: u16,
    count: usize,
    start: usize,
}

/// One directory: for a TIFF file, one image.
#[derive(Clone, Debug)]
pub(super) struct Directory {
    encoding: Encoding,
    /// How many it has, kept or not.
    entries: usize,
    fields: BTreeMap<u16, Field>,
}

/// The chain of directories in the order of the file. A link that leads nowhere becomes a fault at its place, so that no
/// page disappears silently.
pub(super) fn directories(bytes: &[u8]) -> Result<Vec<Result<Directory, Fault>>, Fault> {
    let (encoding, first) = header(bytes).ok_or(Fault::EndsEarly)?;
    let mut chain = Vec::new();
    let mut seen = HashSet::new();
    let mut fields = 0;
    let mut offset = first;
    while offset != 0 {
        if !seen.insert(offset) || chain.len() == MAX_DIRECTORIES || fields > MAX_FIELDS {
            return Err(Fault::Broken("its list of pages has no end".to_owned()));
        }
        match directory(bytes, encoding, offset) {
            Some((directory, next)) => {
                fields += directory.entries + 1;
                chain.push(Ok(directory));
                offset = next;
            }
            None => {
                chain.push(Err(Fault::EndsEarly));
                break;
            }
        }
    }
    Ok(chain)
}

fn header(bytes: &[u8]) -> Option<(Encoding, u64)> {
    let little_endian = bytes.starts_with(b"II");
    let big_tiff = Encoding { little_endian, big_tiff: false }.number(bytes, 2, 2)? == 43;
    let encoding = Encoding { little_endian, big_tiff };
    let first = if big_tiff { encoding.number(bytes, 8, 8)? } else { encoding.number(bytes, 4, 4)? };
    Some((encoding, first))
}

fn directory(bytes: &[u8], encoding: Encoding, offset: u64) -> Option<(Directory, u64)> {
    let (count_size, entry_size, word) = if encoding.big_tiff { (8, 20, 8) } else { (2, 12, 4) };
    let offset = usize::try_from(offset).ok()?;
    let count = usize::try_from(encoding.number(bytes, offset, count_size)?).ok()?;
    let entries = offset + count_size;
    let end = entries.checked_add(count.checked_mul(entry_size)?)?;
    if count > usize::from(u16::MAX) || end > bytes.len() {
        return None;
    }
    let mut fields = BTreeMap::new();
    for at in (entries..end).step_by(entry_size) {
        let tag = encoding.number(bytes, at, 2)? as u16;
        let kind = encoding.number(bytes, at + 2, 2)? as u16;
        let count = usize::try_from(encoding.number(bytes, at + 4, word)?).ok();
        let value = at + 4 + word;
        // Values that fit stand in the entry itself. Unknown kinds (private fields) are passed over.
        if let (Some(count), Some(size)) = (count, size_of(kind)) {
            let inside = count.checked_mul(size).is_some_and(|total| total <= word);
            let start = if inside { Some(value) } else { usize::try_from(encoding.number(bytes, value, word)?).ok() };
            if let Some(start) = start {
                fields.entry(tag).or_insert(Field { kind, count, start });
            }
        }
    }
    // Some writers leave out the link after the last directory.
    let next = encoding.number(bytes, end, word).unwrap_or(0);
    Some((Directory { encoding, entries: count, fields }, next))
}

/// Bytes of one value.
fn size_of(kind: u16) -> Option<usize> {
    match kind {
        1 | 2 | 6 | 7 => Some(1),
        3 | 8 => Some(2),
        4 | 9 | 11 | 13 => Some(4),
        5 | 10 | 12 | 16 | 17 | 18 => Some(8),
        _ => None,
    }
}

impl Encoding {
    /// An unsigned number of 1, 2, 4 or 8 bytes.
    fn number(self, bytes: &[u8], at: usize, size: usize) -> Option<u64> {
        let raw = bytes.get(at..at.checked_add(size)?)?;
        let join = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Some(if self.little_endian { raw.iter().rev().fold(0, join) } else { raw.iter().fold(0, join) })
    }
}

impl Directory {
    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    pub(super) fn has(&self, tag: u16) -> bool {
        self.fields.contains_key(&tag)
    }

    /// All values of an integer field.
    pub(super) fn numbers(&self, bytes: &[u8], tag: u16) -> Option<Vec<u64>> {
        let raw = self.raw(bytes, tag)?;
        let size = size_of(self.fields.get(&tag)?.kind)?;
        if raw.len() / size > MAX_VALUES {
            return None;
        }
        (0..raw.len() / size).map(|i| self.encoding.number(raw, i * size, size)).collect()
    }

    /// The first value of an integer field.
    pub(super) fn number(&self, bytes: &[u8], tag: u16) -> Option<u64> {
        let field = self.fields.get(&tag).filter(|field| field.count > 0)?;
        self.encoding.number(bytes, field.start, size_of(field.kind)?)
    }

    /// The first value of a fraction field.
    fn fraction(&self, bytes: &[u8], tag: u16) -> Option<f64> {
        let field = self.fields.get(&tag).filter(|field| field.kind == 5 && field.count > 0)?;
        let numerator = self.encoding.number(bytes, field.start, 4)? as f64;
        let denominator = self.encoding.number(bytes, field.start.checked_add(4)?, 4)? as f64;
        Some(numerator / denominator)
    }

    /// The bytes of a field's values; nothing if they lie outside the file.
    pub(super) fn raw<'a>(&self, bytes: &'a [u8], tag: u16) -> Option<&'a [u8]> {
        let field = self.fields.get(&tag)?;
        let length = field.count.checked_mul(size_of(field.kind)?)?;
        bytes.get(field.start..field.start.checked_add(length)?)
    }

    /// Dots per inch as written; the caller judges whether to believe it.
    pub(super) fn dpi(&self, bytes: &[u8]) -> Option<f64> {
        let resolution = self.fraction(bytes, tag::X_RESOLUTION)?;
        match self.number(bytes, tag::RESOLUTION_UNIT).unwrap_or(2) {
            2 => Some(resolution),
            3 => Some(resolution * 2.54),
            _ => None,
        }
    }

    pub(super) fn orientation(&self, bytes: &[u8]) -> Orientation {
        self.number(bytes, tag::ORIENTATION)
            .and_then(|value| Orientation::from_exif(u8::try_from(value).ok()?))
            .unwrap_or(Orientation::NoTransforms)
    }
}
