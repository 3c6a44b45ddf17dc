//! TIFF: every page of it, of the kinds that scanners and fax machines write.
//!
//! The strips are read here rather than by a general decoder: those refuse palettes, 12 bits, group 3 fax and the
//! reversed fill order, and want memory for the whole page where a large one can be reduced while it is read.

use super::contain::contained;
use super::error::Fault;
use super::ifd::{self, Directory, tag};
use super::picture::{over_white, turned};
use super::reduce::{self, Reducer};
use super::tiff_chunk::{Compression, JpegFrame, Shape, unpack};
use super::{Bytes, Limits, PageRaster, resolution};

pub(super) struct TiffPages {
    bytes: Bytes,
    pages: Vec<Result<Directory, Fault>>,
}

impl TiffPages {
    pub(super) fn open(bytes: Bytes) -> Result<TiffPages, Fault> {
        let mut pages = ifd::directories(bytes.as_ref())?;
        // Previews (bit 0) and masks (bit 2) stand among the pages but are none, unless there is nothing else.
        let is_page = |page: &Result<Directory, Fault>| match page {
            Ok(directory) => directory.number(bytes.as_ref(), tag::SUBFILE_TYPE).unwrap_or(0) & 0b101 == 0,
            Err(_) => true,
        };
        if pages.iter().any(|page| page.is_ok() && is_page(page)) {
            pages.retain(is_page);
        }
        match pages.as_slice() {
            [Err(fault)] => Err(fault.clone()),
            _ => Ok(TiffPages { bytes, pages }),
        }
    }

    pub(super) fn page_count(&self) -> usize {
        self.pages.len()
    }

    pub(super) fn render(&self, page: usize, limits: &Limits) -> Result<PageRaster, Fault> {
        let directory = self.pages.get(page).ok_or(Fault::NoPages)?.clone()?;
        let (bytes, own_limits) = (self.bytes.clone(), limits.clone());
        contained(limits.max_time, move || draw(bytes.as_ref(), &directory, page, &own_limits))
    }
}

fn draw(bytes: &[u8], directory: &Directory, page: usize, limits: &Limits) -> Result<PageRaster, Fault> {
    let image = Image::new(bytes, directory)?;
    let factor = reduce::factor(image.width, image.height, limits)?;
    // One band of strips is unpacked at a time; many files have only one.
    let band = u64::from(image.chunk_width) * u64::from(image.chunk_rows.min(image.height)) * image.samples as u64;
    if band.saturating_mul(u64::from(image.bits)) / 8 > limits.max_pixels.saturating_mul(8) {
        return Err(Fault::TooLarge { width: image.width, height: image.height });
    }
    let mut reducer = Reducer::new(image.width, image.height, factor);
    image.read(&mut reducer)?;
    let orientation = directory.orientation(bytes);
    let notice = reduce::notice(page, image.width, image.height, factor, limits);
    let dpi = resolution::believable(directory.dpi(bytes).map(|dpi| dpi / f64::from(factor)));
    Ok(PageRaster { pixels: turned(reducer.finish()?, orientation), dpi, notice })
}

/// What the numbers of a pixel mean.
#[derive(Clone, Debug, PartialEq)]
enum Colors {
    Gray {
        white_is_zero: bool,
    },
    Rgb,
    /// Red, green and blue of each index.
    Palette(Vec<[u8; 3]>),
    Cmyk,
    YCbCr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alpha {
    None,
    /// Colours are multiplied with the opacity already.
    Associated,
    Plain,
}

/// One image of the file, its fields checked.
struct Image<'a> {
    bytes: &'a [u8],
    width: u32,
    height: u32,
    bits: u32,
    samples: usize,
    colors: Colors,
    alpha: Alpha,
    compression: Compression,
    reversed: bool,
    little_endian: bool,
    predictor: bool,
    planar: bool,
    jpeg_tables: Option<&'a [u8]>,
    chunk_width: u32,
    chunk_rows: u32,
    offsets: Vec<u64>,
    sizes: Vec<u64>,
}

impl<'a> Image<'a> {
    fn new(bytes: &'a [u8], directory: &Directory) -> Result<Image<'a>, Fault> {
        let number = |tag: u16| directory.number(bytes, tag);
        let broken = |what: &str| Fault::Broken(what.to_owned());
        let side = |tag: u16| number(tag).and_then(|side| u32::try_from(side).ok()).filter(|side| *side > 0);
        let (Some(width), Some(height)) = (side(tag::WIDTH), side(tag::HEIGHT)) else {
            return Err(broken("its size is missing"));
        };
        let samples = number(tag::SAMPLES).unwrap_or(1);
        let bits = directory.numbers(bytes, tag::BITS).unwrap_or_default();
        let depth = bits.first().copied().unwrap_or(1);
        if bits.iter().any(|other| *other != depth) || !(1..=32).contains(&depth) {
            return Err(broken("its colours have unequal depths, which is not a known kind"));
        }
        if !(1..=16).contains(&samples) {
            return Err(broken("its number of colours is not a possible one"));
        }
        if number(tag::SAMPLE_FORMAT).is_some_and(|format| !matches!(format, 1 | 4)) {
            return Err(broken("its pixels are measurements and not colours"));
        }
        let samples = samples as usize;
        let colors = colors(bytes, directory, depth as u32)?;
        let compression = Compression::of(number(tag::COMPRESSION).unwrap_or(1), number(tag::T4_OPTIONS).unwrap_or(0))?;
        let subsampled = directory.numbers(bytes, tag::CHROMA_SUBSAMPLING).is_none_or(|factors| factors != [1, 1]);
        if colors == Colors::YCbCr && compression != Compression::Jpeg && subsampled {
            return Err(broken("its colours are stored in a way that cannot be read; save it as RGB"));
        }
        let needed = match colors {
            Colors::Gray { .. } | Colors::Palette(_) => 1,
            Colors::Rgb | Colors::YCbCr => 3,
            Colors::Cmyk => 4,
        };
        if samples < needed {
            return Err(broken("some of its colours are missing"));
        }
        let alpha = match number(tag::EXTRA_SAMPLES) {
            Some(1) if samples > needed => Alpha::Associated,
            Some(2) if samples > needed => Alpha::Plain,
            _ => Alpha::None,
        };
        let tiled = directory.has(tag::TILE_OFFSETS);
        let (chunk_width, chunk_rows, offsets, sizes) = if tiled {
            let (Some(tile_width), Some(tile_height)) = (side(tag::TILE_WIDTH), side(tag::TILE_HEIGHT)) else {
                return Err(broken("the size of its tiles is missing"));
            };
            (tile_width, tile_height, tag::TILE_OFFSETS, tag::TILE_SIZES)
        } else {
            (width, side(tag::ROWS_PER_STRIP).unwrap_or(height).min(height), tag::STRIP_OFFSETS, tag::STRIP_SIZES)
        };
        Ok(Image {
            bytes,
            width,
            height,
            bits: depth as u32,
            samples,
            colors,
            alpha,
            compression,
            reversed: number(tag::FILL_ORDER) == Some(2),
            little_endian: directory.encoding().little_endian,
            predictor: match number(tag::PREDICTOR) {
                None | Some(1) => false,
                Some(2) if matches!(depth, 8 | 16) => true,
                Some(_) => return Err(broken("its pixels are predicted in a way that cannot be read")),
            },
            planar: number(tag::PLANAR) == Some(2) && samples > 1,
            jpeg_tables: directory.raw(bytes, tag::JPEG_TABLES),
            chunk_width,
            chunk_rows,
            offsets: directory.numbers(bytes, offsets).ok_or(Fault::EndsEarly)?,
            sizes: directory.numbers(bytes, sizes).unwrap_or_default(),
        })
    }

    /// Hands over the rows from top to bottom.
    fn read(&self, reducer: &mut Reducer) -> Result<(), Fault> {
        let across = self.width.div_ceil(self.chunk_width) as usize;
        let down = self.height.div_ceil(self.chunk_rows) as usize;
        let planes = if self.planar { self.samples } else { 1 };
        let mut row = vec![0; self.width as usize * 3];
        let mut values = Vec::new();
        for band in 0..down {
            let top = band as u32 * self.chunk_rows;
            let rows = self.chunk_rows.min(self.height - top);
            let mut chunks = Vec::with_capacity(across * planes);
            for plane in 0..planes {
                for column in 0..across {
                    chunks.push(self.chunk((plane * down + band) * across + column, rows)?);
                }
            }
            let shape = self.shape(rows);
            let row_bytes = shape.row_bytes();
            for y in 0..rows as usize {
                for column in 0..across {
                    let left = column * self.chunk_width as usize;
                    let pixels = (self.chunk_width as usize).min(self.width as usize - left);
                    values.clear();
                    for plane in 0..planes {
                        let packed = chunks
                            .get(plane * across + column)
                            .and_then(|chunk| chunk.get(y * row_bytes..(y + 1) * row_bytes))
                            .ok_or(Fault::EndsEarly)?;
                        unpack_samples(packed, self.bits, self.little_endian, pixels * shape.samples, &mut values);
                    }
                    let part = row.get_mut(left * 3..(left + pixels) * 3).ok_or(Fault::EndsEarly)?;
                    self.colorize(&values, pixels, part);
                }
                reducer.push(&row);
            }
        }
        Ok(())
    }

    /// Tiles are stored whole, the last strip is not.
    fn shape(&self, rows: u32) -> Shape {
        let samples = if self.planar { 1 } else { self.samples };
        Shape { width: self.chunk_width, rows, samples, bits: self.bits }
    }

    fn chunk(&self, index: usize, rows: u32) -> Result<Vec<u8>, Fault> {
        let offset =
            self.offsets.get(index).and_then(|offset| usize::try_from(*offset).ok()).ok_or(Fault::EndsEarly)?;
        let rest = self.bytes.get(offset..).ok_or(Fault::EndsEarly)?;
        // Old writers leave out the sizes or write zero.
        let data = match self.sizes.get(index).and_then(|size| usize::try_from(*size).ok()).filter(|size| *size > 0) {
            Some(size) => rest.get(..size).ok_or(Fault::EndsEarly)?,
            None => rest,
        };
        let shape = self.shape(rows);
        let jpeg = JpegFrame { tables: self.jpeg_tables, to_rgb: self.colors == Colors::YCbCr, rows: self.chunk_rows };
        let mut unpacked = unpack(data, self.compression, self.reversed, shape, jpeg)?;
        if self.predictor {
            for row in unpacked.chunks_exact_mut(shape.row_bytes().max(1)) {
                undo_prediction(row, shape, self.little_endian);
            }
        }
        Ok(unpacked)
    }

    /// Samples to red, green, blue. Planar samples come plane after plane, others pixel after pixel.
    fn colorize(&self, values: &[u16], pixels: usize, row: &mut [u8]) {
        let max = ((1u64 << self.bits.min(16)) - 1) as u32;
        let raw = |x: usize, sample: usize| {
            let at = if self.planar { sample * pixels + x } else { x * self.samples + sample };
            values.get(at).copied().unwrap_or_default()
        };
        let level = |x: usize, sample: usize| ((u32::from(raw(x, sample)) * 255 + max / 2) / max) as u8;
        for (x, to) in row.chunks_exact_mut(3).enumerate() {
            let (rgb, used) = match &self.colors {
                Colors::Gray { white_is_zero } => {
                    let gray = level(x, 0);
                    ([if *white_is_zero { 255 - gray } else { gray }; 3], 1)
                }
                Colors::Rgb => ([level(x, 0), level(x, 1), level(x, 2)], 3),
                Colors::Palette(palette) => (palette.get(usize::from(raw(x, 0))).copied().unwrap_or([255; 3]), 1),
                Colors::Cmyk => (cmyk_to_rgb([level(x, 0), level(x, 1), level(x, 2), level(x, 3)]), 4),
                // JPEG data come as red, green, blue already.
                Colors::YCbCr if self.compression == Compression::Jpeg => ([level(x, 0), level(x, 1), level(x, 2)], 3),
                Colors::YCbCr => (ycbcr_to_rgb(level(x, 0), level(x, 1), level(x, 2)), 3),
            };
            let rgb = match self.alpha {
                Alpha::None => rgb,
                Alpha::Plain => rgb.map(|color| over_white(color, level(x, used))),
                Alpha::Associated => rgb.map(|color| color.saturating_add(255 - level(x, used))),
            };
            to.copy_from_slice(&rgb);
        }
    }
}

fn colors(bytes: &[u8], directory: &Directory, bits: u32) -> Result<Colors, Fault> {
    match directory.number(bytes, tag::PHOTOMETRIC) {
        Some(0) => Ok(Colors::Gray { white_is_zero: true }),
        // A mask (4) is a drawing in black and white; a fax that does not say so has white as 0.
        Some(1 | 4) => Ok(Colors::Gray { white_is_zero: false }),
        None => Ok(Colors::Gray { white_is_zero: true }),
        Some(2) => Ok(Colors::Rgb),
        Some(3) => {
            let map = directory.numbers(bytes, tag::COLOR_MAP).unwrap_or_default();
            let size = 1usize << bits.min(16);
            if map.len() < 3 * size {
                return Err(Fault::Broken("its colour table is missing".to_owned()));
            }
            // 16 bits by the rules; some writers fill only 8.
            let shift = if map.iter().any(|value| *value > 255) { 8 } else { 0 };
            let color = |i: usize| map.get(i).map_or(0, |value| (value >> shift) as u8);
            Ok(Colors::Palette((0..size).map(|i| [color(i), color(size + i), color(2 * size + i)]).collect()))
        }
        Some(5) => Ok(Colors::Cmyk),
        Some(6) => Ok(Colors::YCbCr),
        Some(_) => Err(Fault::Broken("its colours are of a rare kind (such as Lab); save it as RGB".to_owned())),
    }
}

/// Four inks, 0 being none.
fn cmyk_to_rgb(cmyk: [u8; 4]) -> [u8; 3] {
    let [cyan, magenta, yellow, black] = cmyk.map(|ink| 255 - u32::from(ink));
    [cyan, magenta, yellow].map(|light| ((light * black + 127) / 255) as u8)
}

/// ITU-R BT.601, full range, as in JPEG.
fn ycbcr_to_rgb(y: u8, cb: u8, cr: u8) -> [u8; 3] {
    let (y, cb, cr) = (f32::from(y), f32::from(cb) - 128.0, f32::from(cr) - 128.0);
    [y + 1.402 * cr, y - 0.344_136 * cb - 0.714_136 * cr, y + 1.772 * cb].map(|color| color.round() as u8)
}

/// Takes samples of any depth from a packed row; those deeper than 16 bits lose their low bits.
fn unpack_samples(packed: &[u8], bits: u32, little_endian: bool, count: usize, values: &mut Vec<u16>) {
    let wide = |pair: &[u8; 2]| if little_endian { u16::from_le_bytes(*pair) } else { u16::from_be_bytes(*pair) };
    match bits {
        8 => values.extend(packed.iter().take(count).map(|byte| u16::from(*byte))),
        16 => values.extend(packed.as_chunks().0.iter().take(count).map(wide)),
        32 => {
            let high = if little_endian { 2 } else { 0 };
            values.extend(
                packed.chunks_exact(4).take(count).filter_map(|quad| quad.get(high..)?.first_chunk().map(wide)),
            );
        }
        // From the highest bit on, without regard to byte order.
        _ => {
            let (mut held, mut have) = (0u64, 0);
            let mut bytes = packed.iter();
            for _ in 0..count {
                while have < bits {
                    held = held << 8 | u64::from(bytes.next().copied().unwrap_or_default());
                    have += 8;
                }
                have -= bits;
                let value = (held >> have) & ((1 << bits) - 1);
                held &= (1 << have) - 1;
                values.push((value >> bits.saturating_sub(16)) as u16);
            }
        }
    }
}

/// Predictor 2: each sample was stored as the difference to the one at its left.
fn undo_prediction(row: &mut [u8], shape: Shape, little_endian: bool) {
    let step = shape.samples * shape.bits as usize / 8;
    if shape.bits == 8 {
        for i in step..row.len() {
            let left = row.get(i - step).copied().unwrap_or_default();
            if let Some(sample) = row.get_mut(i) {
                *sample = sample.wrapping_add(left);
            }
        }
        return;
    }
    let swap = |value: u16| if little_endian { value.to_le() } else { value.to_be() };
    for i in (step..row.len().saturating_sub(1)).step_by(2) {
        let at = |i: usize| {
            row.get(i..).and_then(|rest| rest.first_chunk()).map_or(0, |pair| swap(u16::from_ne_bytes(*pair)))
        };
        let sum = at(i).wrapping_add(at(i - step));
        if let Some(pair) = row.get_mut(i..i + 2) {
            pair.copy_from_slice(&swap(sum).to_ne_bytes());
        }
    }
}

#[cfg(test)]
#[path = "tiff_tests.rs"]
mod tests;
