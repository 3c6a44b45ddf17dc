#![expect(clippy::unwrap_used, reason = "tests")]

use super::super::picture::tests::assert_boxes;
use super::super::testing::{fixture, ink, open, page_of};
use super::super::{Document, OpenOptions};
use super::*;

#[test]
fn bilevel_of_every_compression_is_black_on_white() {
    for name in [
        "bilevel-raw.tif",
        "bilevel-packbits.tif",
        "bilevel-lzw.tif",
        "bilevel-ccitt.tif",
        "bilevel-group3.tif",
        "bilevel-group4.tif",
        "bilevel-group4-miniswhite.tif",
        "bilevel-group4-fill-order-2.tif",
    ] {
        let pixels = page_of(name).pixels;
        assert_eq!(pixels.dimensions(), (60, 40), "{name}");
        for (x, y, pixel) in pixels.enumerate_pixels() {
            let inside = |left, top| (left..left + 15).contains(&x) && (top..top + 10).contains(&y);
            let expected = if inside(5, 5) || inside(40, 25) { [0; 3] } else { [255; 3] };
            assert_eq!(pixel.0, expected, "{name} at ({x}, {y})");
        }
    }
}

#[test]
fn gray_of_8_12_and_16_bits() {
    for name in ["big.tif", "gray16.tif", "gray16-miniswhite.tif", "gray12.tif", "gray12-miniswhite.tif"] {
        let pixels = page_of(name).pixels;
        assert_eq!(pixels.dimensions(), (60, 40), "{name}");
        let at = |x, y| pixels.get_pixel(x, y).0[0];
        assert_eq!((at(12, 10), at(47, 10), at(30, 20), at(59, 39)), (0, 255, 255, 255), "{name}");
        assert!(at(47, 30).abs_diff(128) <= 1 && at(40, 25).abs_diff(128) <= 1, "{name}: {}", at(47, 30));
        assert_eq!(at(39, 25), 255, "{name}");
    }
}

#[test]
fn colors() {
    for (name, tolerance) in [
        ("palette.tif", 0),
        ("cmyk.tif", 0),
        ("alpha.tif", 0),
        ("color-tiles.tif", 0),
        ("color-planes.tif", 0),
        ("color-jpeg.tif", 8),
        ("ycbcr-jpeg.tif", 8),
        ("ycbcr-jpeg-strips.tif", 8),
    ] {
        assert_boxes(name, &page_of(name).pixels, tolerance);
    }
}

#[test]
fn a_jpeg_tile_may_be_larger_than_what_is_left_of_the_image() {
    // Tiles of 256 x 256; the second row of them shows 4 pixels of the 260.
    let pixels = page_of("jpeg-tiles.tif").pixels;
    assert_eq!(pixels.dimensions(), (60, 260));
    let (x0, y0, x1, y1) = ink(&pixels).unwrap();
    assert!(x0.abs_diff(5) <= 1 && y0.abs_diff(250) <= 1 && x1.abs_diff(20) <= 1 && y1 == 260, "{:?}", ink(&pixels));
}

#[test]
fn every_page_is_seen_and_the_preview_is_none() {
    let mut document = open("three-pages.tif", fixture("three-pages.tif")).unwrap();
    assert_eq!((document.page_count(), document.renderer()), (3, "tiff"));
    assert_boxes("LZW", &document.render(0, 200.0).unwrap().pixels, 0);
    assert_boxes("JPEG", &document.render(1, 200.0).unwrap().pixels, 8);
    assert_eq!(ink(&document.render(2, 200.0).unwrap().pixels), Some((5, 5, 55, 35)));
    assert!(document.render(3, 200.0).is_err());
}

#[test]
fn a_broken_link_to_the_next_page_is_a_page_that_fails() {
    // The link after the first directory leads behind the end.
    let mut bytes = fixture("three-pages.tif");
    let first = u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize;
    let entries = usize::from(u16::from_le_bytes(bytes[first..first + 2].try_into().unwrap()));
    let link = first + 2 + 12 * entries;
    bytes[link..link + 4].copy_from_slice(&0x00ff_fff0u32.to_le_bytes());
    let mut document = open("cut.tif", bytes.clone()).unwrap();
    assert_eq!(document.page_count(), 2);
    assert_boxes("first", &document.render(0, 200.0).unwrap().pixels, 0);
    let error = document.render(1, 200.0).unwrap_err().to_string();
    assert_eq!(error, "page 2 of cut.tif is incomplete: the file ends early; copy or download it again");
    // A link back to the first directory.
    bytes[link..link + 4].copy_from_slice(&(first as u32).to_le_bytes());
    let error = open("loop.tif", bytes).err().unwrap().to_string();
    assert_eq!(error, "loop.tif is damaged: its list of pages has no end; copy or download it again");
}

#[test]
fn a_file_that_ends_early_is_no_half_page() {
    for name in
        ["gray12.tif", "gray12-miniswhite.tif", "bilevel-raw.tif", "cmyk.tif", "bilevel-group4.tif", "color-planes.tif"]
    {
        let whole = fixture(name);
        for percent in [20, 50, 80] {
            let cut = whole[..whole.len() * percent / 100].to_vec();
            let result = open(name, cut).and_then(|mut document| document.render(0, 200.0));
            assert!(result.is_err(), "{name} at {percent} %: looks like success");
        }
    }
    // Directory first, pixels cut: the common case of an interrupted copy.
    let whole = fixture("color-planes.tif");
    let message = open("a.tif", whole[..whole.len() - 100].to_vec()).unwrap().render(0, 200.0).unwrap_err().to_string();
    assert_eq!(message, "page 1 of a.tif is incomplete: the file ends early; copy or download it again");
}

#[test]
fn a_fax_with_damaged_data_is_an_error() {
    let mut bytes = fixture("bilevel-group4-miniswhite.tif");
    bytes[10..20].fill(0);
    let result = open("fax.tif", bytes).unwrap().render(0, 200.0);
    assert!(result.is_err_and(|error| error.to_string().contains("damaged")));
}

/// The beginning of a by-hand TIFF of one uncompressed bilevel strip.
fn bilevel(width: u32, height: u32) -> Vec<u8> {
    let row = (width as usize).div_ceil(8);
    let mut bytes = b"II*\0".to_vec();
    let strip = row * height as usize;
    bytes.extend((8 + strip as u32).to_le_bytes());
    for y in 0..height as usize {
        // The upper half black (0), the lower white.
        bytes.extend(std::iter::repeat_n(if y < height as usize / 2 { 0u8 } else { 0xff }, row));
    }
    let fields: [(u16, u32); 7] =
        [(256, width), (257, height), (258, 1), (262, 1), (273, 8), (278, height), (279, strip as u32)];
    bytes.extend(7u16.to_le_bytes());
    for (tag, value) in fields {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(4u16.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend(0u32.to_le_bytes());
    bytes
}

#[test]
fn a_scan_over_the_limit_is_reduced_while_it_is_read() {
    let mut options = OpenOptions::default();
    options.limits.max_pixels = 100_000;
    let raster = Document::from_bytes("a.tif", bilevel(1000, 500), &options).unwrap().render(0, 200.0).unwrap();
    // 500,000 pixels: by 2 still 125,000, by 3 less.
    assert_eq!(raster.pixels.dimensions(), (334, 167));
    let at = |x, y| raster.pixels.get_pixel(x, y).0[0];
    assert_eq!((at(0, 0), at(333, 82), at(333, 84), at(0, 166)), (0, 0, 255, 255));
    // Row 83 holds rows 249 (black), 250 and 251 (white).
    assert_eq!(at(100, 83), 170);
    assert_eq!(
        raster.notice.unwrap(),
        "page 1 (1000 x 500 pixels) was reduced to 1/3 in width and height to stay within 0 megapixels"
    );
    options.limits.max_pixels = 1000;
    let refused = Document::from_bytes("a.tif", bilevel(1000, 500), &options).unwrap().render(0, 200.0).unwrap_err();
    assert!(refused.to_string().contains("has 1000 x 500 pixels, more than the limit"));
}

#[test]
fn a_size_that_nothing_stands_behind_costs_nothing() {
    // 25,000 x 25,000 in the directory, 8 rows in the file.
    let mut bytes = bilevel(64, 8);
    let directory = u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize;
    for (entry, value) in [(0, 25_000u32), (1, 25_000), (5, 25_000)] {
        let at = directory + 2 + 12 * entry + 8;
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    let error = open("a.tif", bytes).unwrap().render(0, 200.0).unwrap_err().to_string();
    assert!(error.contains("ends early"), "{error}");
}

#[test]
fn odd_depths_from_the_highest_bit_on() {
    let mut values = Vec::new();
    unpack_samples(&[0b1011_0110, 0b1100_0000], 3, true, 4, &mut values);
    assert_eq!(values, [0b101, 0b101, 0b101, 0b100]);
    values.clear();
    unpack_samples(&[0xab, 0xcd, 0xef], 12, true, 2, &mut values);
    assert_eq!(values, [0xabc, 0xdef]);
    values.clear();
    unpack_samples(&[0x34, 0x12, 0x78, 0x56], 16, true, 2, &mut values);
    unpack_samples(&[0x12, 0x34], 16, false, 1, &mut values);
    assert_eq!(values, [0x1234, 0x5678, 0x1234]);
}
