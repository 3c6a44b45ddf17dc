#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::Cursor;

use image::{ExtendedColorType, ImageEncoder, Rgb};

use super::super::testing::{fixture, ink, open, page_of};
use super::super::{Document, OpenOptions};
use super::*;

const WHITE: [u8; 3] = [255; 3];

/// Checks the four boxes of the color picture (see `make.py` beside the files) within what compression changes.
#[track_caller]
pub(in crate::document) fn assert_boxes(name: &str, pixels: &RgbImage, tolerance: u8) {
    assert_eq!(pixels.dimensions(), (60, 40), "{name}");
    let expected = [
        ((12, 10), [0, 0, 0]),
        ((47, 10), [255, 0, 0]),
        ((12, 30), [0, 255, 0]),
        ((47, 30), [0, 0, 255]),
        ((30, 20), WHITE),
        ((0, 0), WHITE),
        ((59, 39), WHITE),
    ];
    for ((x, y), color) in expected {
        let found = pixels.get_pixel(x, y).0;
        let close = found.iter().zip(color).all(|(a, b)| a.abs_diff(b) <= tolerance);
        assert!(close, "{name} at ({x}, {y}): {found:?} instead of {color:?}");
    }
    // The black box has its place to the pixel where nothing is lost.
    if tolerance == 0 {
        assert_eq!(ink(pixels), Some((5, 5, 20, 15)), "{name}");
    }
}

#[test]
fn colors_of_every_format() {
    for (name, tolerance) in [
        ("opaque-alpha.png", 0),
        ("transparent.png", 0),
        ("transparent-palette.png", 0),
        ("color.bmp", 0),
        ("two-frames.gif", 0),
        ("transparent.webp", 0),
        ("color.jpg", 4),
        ("progressive.jpg", 8),
        // Four inks, stored inverted with Adobe's mark; the second as luminance and black.
        ("cmyk.jpg", 8),
        ("ycck.jpg", 8),
        // Four inks without the mark.
        ("cmyk-plain.jpg", 8),
    ] {
        let raster = page_of(name);
        assert_boxes(name, &raster.pixels, tolerance);
        assert_eq!(raster.notice, None, "{name}");
    }
}

#[test]
fn format_is_named_by_content() {
    for (name, format) in [("color.jpg", "jpeg"), ("gray.png", "png"), ("color.bmp", "bmp"), ("two-frames.gif", "gif")]
    {
        assert_eq!(open("scan.webp", fixture(name)).unwrap().renderer(), format);
        assert!(open("no extension", fixture(name)).is_ok());
    }
    let error = open("photo.webp", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic".to_vec()).err().unwrap();
    assert_eq!(
        error.to_string(),
        "photo.webp is not a PDF or an image that can be read: its content looks like a HEIC photo; \
         export it as JPEG, PNG or TIFF"
    );
}

#[test]
fn cameras_hold_the_page_sideways() {
    // Orientation 6: to be turned clockwise. The black box goes from (5, 5) to the right: x from 40 - 15 to 40 - 5.
    for name in ["turned.jpg", "turned.tif"] {
        let pixels = page_of(name).pixels;
        assert_eq!(pixels.dimensions(), (40, 60), "{name}");
        let (x0, y0, x1, y1) = ink(&pixels).unwrap();
        let near = |a: u32, b: u32| a.abs_diff(b) <= 1;
        assert!(near(x0, 25) && near(y0, 5) && near(x1, 35) && near(y1, 20), "{name}: {:?}", ink(&pixels));
    }
}

#[test]
fn sixteen_bits_keep_their_high_ones() {
    // A ramp from 256 to 65535 over 60 columns.
    let pixels = page_of("gray16-ramp.png").pixels;
    for x in 0..60u32 {
        let value = 256.0 + (65535.0 - 256.0) * f64::from(x) / 59.0;
        let found = f64::from(pixels.get_pixel(x, 2).0[0]);
        assert!((found - value / 257.0).abs() <= 1.0, "column {x}: {found}");
    }
}

#[test]
fn gray_and_bilevel() {
    let gray = page_of("gray.png").pixels;
    assert_eq!(
        (gray.get_pixel(12, 10).0, gray.get_pixel(47, 30).0, gray.get_pixel(47, 10).0),
        ([0; 3], [128; 3], WHITE)
    );
    for name in ["gray.jpg", "gray-jpeg.tif"] {
        let pixels = page_of(name).pixels;
        assert_eq!(pixels.dimensions(), (60, 40));
        for ((x, y), level) in [((12, 10), 0), ((47, 30), 128), ((47, 10), 255), ((30, 20), 255)] {
            let found = pixels.get_pixel(x, y).0;
            assert!(found.iter().all(|c| c.abs_diff(level) <= 4), "{name} at ({x}, {y}): {found:?}");
        }
    }
    let bilevel = page_of("bilevel.png").pixels;
    assert_eq!(ink(&bilevel), Some((5, 5, 55, 35)));
    assert_eq!(bilevel.get_pixel(30, 20).0, WHITE);
}

#[test]
fn resolution_is_taken_from_the_file_if_it_can_be() {
    for (name, dpi) in [
        ("opaque-alpha.png", Some(300.0)),
        ("color.jpg", Some(240.0)),
        ("turned.jpg", Some(200.0)), // only EXIF says so
        ("color.bmp", Some(150.0)),
        ("gray.png", None),
        ("two-frames.gif", None),
        ("bilevel-group4.tif", Some(400.0)),
        ("cmyk.tif", None), // the file says 1
    ] {
        let found = page_of(name).dpi;
        let close = match (found, dpi) {
            (Some(found), Some(dpi)) => (found - dpi as f32).abs() < 0.1 && dpi > 0.0,
            (None, None) => true,
            _ => false,
        };
        assert!(close, "{name}: {found:?}");
    }
}

#[test]
fn resolution_never_changes_the_pixels() {
    let plain = fixture("gray.png");
    // After the signature and the header chunk (8 + 25 bytes). The check sum is right for each.
    let with_density = |dots: u32| {
        let mut chunk = b"pHYs".to_vec();
        chunk.extend(dots.to_be_bytes());
        chunk.extend(dots.to_be_bytes());
        chunk.push(1);
        let mut sum = flate2::Crc::new();
        sum.update(&chunk);
        [&plain[..33], &9u32.to_be_bytes(), &chunk, &sum.sum().to_be_bytes(), &plain[33..]].concat()
    };
    let reference = page_of("gray.png").pixels;
    for (dots, dpi) in [(2835, Some(72)), (3937, Some(100)), (15748, Some(400)), (0, None), (1, None), (u32::MAX, None)]
    {
        let raster = open("a.png", with_density(dots)).unwrap().render(0, 200.0).unwrap();
        assert_eq!(raster.dpi.map(|dpi| dpi.round() as i32), dpi, "{dots} dots per metre");
        assert!(raster.pixels == reference);
    }
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let gray = vec![255; (width * height) as usize];
    let encoder = image::codecs::png::PngEncoder::new(Cursor::new(&mut bytes));
    encoder.write_image(&gray, width, height, ExtendedColorType::L8).unwrap();
    bytes
}

#[test]
fn odd_shapes_are_read() {
    for (width, height) in [(2996, 262), (6000, 40), (1, 1), (1, 3000)] {
        let raster = open("strip.png", png(width, height)).unwrap().render(0, 200.0).unwrap();
        assert_eq!(raster.pixels.dimensions(), (width, height));
    }
}

/// A file whose header claims a size; the pixels need not follow, since nobody may look for them.
fn claiming(name: &str, width: u32, height: u32) -> Vec<u8> {
    let mut bytes = fixture(name);
    if name.ends_with(".png") {
        bytes[16..20].copy_from_slice(&width.to_be_bytes());
        bytes[20..24].copy_from_slice(&height.to_be_bytes());
        let mut sum = flate2::Crc::new();
        sum.update(&bytes[12..29]);
        bytes[29..33].copy_from_slice(&sum.sum().to_be_bytes());
    } else if name.ends_with(".bmp") {
        bytes[18..22].copy_from_slice(&width.to_le_bytes());
        bytes[22..26].copy_from_slice(&height.to_le_bytes());
    } else if name.ends_with(".jpg") {
        let frame = bytes.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
        bytes[frame + 5..frame + 7].copy_from_slice(&(height as u16).to_be_bytes());
        bytes[frame + 7..frame + 9].copy_from_slice(&(width as u16).to_be_bytes());
    } else {
        bytes[6..8].copy_from_slice(&(width as u16).to_le_bytes());
        bytes[8..10].copy_from_slice(&(height as u16).to_le_bytes());
    }
    bytes
}

#[test]
fn size_is_checked_before_anything_is_decoded() {
    for name in ["gray.png", "color.bmp", "color.jpg", "two-frames.gif"] {
        let error = open(name, claiming(name, 25_000, 25_000)).unwrap().render(0, 200.0).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "page 1 of {name} has 25000 x 25000 pixels, more than the limit of 120 megapixels; \
                 save it smaller or cut it into parts"
            )
        );
    }
}

#[test]
fn an_image_a_little_over_the_limit_is_reduced() {
    let mut options = OpenOptions::default();
    options.limits.max_pixels = 2000; // the pictures have 2400
    for name in ["gray.png", "color.jpg", "color.bmp", "gray.jpg"] {
        let raster = Document::from_bytes(name, fixture(name), &options).unwrap().render(0, 200.0).unwrap();
        assert_eq!(raster.pixels.dimensions(), (30, 20), "{name}");
        assert_eq!(
            raster.notice.unwrap(),
            "page 1 (60 x 40 pixels) was reduced to 1/2 in width and height to stay within 0 megapixels"
        );
        // The black box at (5, 5) of 15 x 10 pixels: whole squares from (3, 3) to (10, 7) and half ones around.
        let at = |x, y| raster.pixels.get_pixel(x, y).0[1];
        assert!(at(3, 3) < 8 && at(9, 6) < 8 && at(1, 1) > 247 && at(11, 9) > 247, "{name}");
        assert!(at(2, 4).abs_diff(128) < 16, "{name}: {}", at(2, 4));
    }
    let dpi = Document::from_bytes("a.jpg", fixture("color.jpg"), &options).unwrap().render(0, 200.0).unwrap().dpi;
    assert_eq!(dpi, Some(120.0));
    // Four bytes for each pixel of the limit: 7200 bytes do not fit into 4 x 1700.
    options.limits.max_pixels = 1700;
    let refused = Document::from_bytes("a.jpg", fixture("color.jpg"), &options).unwrap().render(0, 200.0).unwrap_err();
    assert!(refused.to_string().contains("60 x 40 pixels, more than the limit"));
}

#[test]
fn a_file_that_ends_early_is_no_half_page() {
    for name in [
        "gray.png",
        "transparent.png",
        "noise.jpg",
        "progressive.jpg",
        "cmyk.jpg",
        "transparent.webp",
        "color.bmp",
        "two-frames.gif",
    ] {
        let whole = fixture(name);
        for percent in [30, 60, 90] {
            // The second frame of the animation is not looked at.
            let length = if name == "two-frames.gif" { 240 } else { whole.len() };
            let cut = whole[..length * percent / 100].to_vec();
            let result = open(name, cut).and_then(|mut document| document.render(0, 200.0));
            let error = result.err().unwrap_or_else(|| panic!("{name} at {percent} %: looks like success"));
            let message = error.to_string();
            assert!(message.contains("ends early"), "{name} at {percent} %: {message}");
        }
    }
}

#[test]
fn a_photo_without_its_last_bytes_is_read_with_a_notice_or_refused() {
    let whole = fixture("noise.jpg");
    for missing in 1..200 {
        let cut = whole[..whole.len() - missing].to_vec();
        if let Ok(raster) = open("a.jpg", cut).unwrap().render(0, 200.0) {
            assert!(raster.notice.is_some(), "{missing} bytes missing, and nobody says so");
        }
    }
    // Damage in the middle: said or refused.
    let mut damaged = whole.clone();
    damaged[4000..4200].fill(0xff);
    if let Ok(raster) = open("a.jpg", damaged).unwrap().render(0, 200.0) {
        assert!(raster.notice.unwrap().contains("damaged"));
    }
}

#[test]
fn transparency_is_white_paper() {
    let pixel = |r, g, b, a| {
        let image = image::RgbaImage::from_pixel(1, 1, image::Rgba([r, g, b, a]));
        on_white(DynamicImage::ImageRgba8(image)).get_pixel(0, 0).0
    };
    assert_eq!(pixel(0, 0, 0, 0), WHITE);
    assert_eq!(pixel(0, 0, 0, 255), [0; 3]);
    assert_eq!(pixel(0, 0, 0, 51), [204; 3]); // a fifth of black
    assert_eq!(pixel(255, 0, 0, 102), [255, 153, 153]);
}

#[test]
fn nothing_but_pixels_is_kept() {
    // The same page twice: decoded anew, equal.
    let mut document = open("color.jpg", fixture("color.jpg")).unwrap();
    assert!(document.render(0, 100.0).unwrap() == document.render(0, 300.0).unwrap());
    assert_eq!(document.render(1, 100.0).unwrap_err().to_string(), "color.jpg has no page 2; its last page is 1");
}

#[test]
fn files_that_cannot_be_had() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Document::open(&folder.path().join("gone.pdf"), &OpenOptions::default()).err().unwrap();
    assert_eq!(missing.to_string(), "gone.pdf cannot be read: there is no such file");
    let is_folder = Document::open(folder.path(), &OpenOptions::default()).err().unwrap();
    assert!(is_folder.to_string().ends_with("cannot be read: it is a folder; open the files in it"));

    let path = folder.path().join("scan.png");
    std::fs::write(&path, fixture("gray.png")).unwrap();
    let mut options = OpenOptions::default();
    assert_eq!(Document::open(&path, &options).unwrap().name(), "scan.png");
    options.limits.max_file_bytes = 100;
    let large = Document::open(&path, &options).err().unwrap();
    assert_eq!(large.to_string(), "scan.png has 1 MB and the limit is 1 MB; split it into smaller files");
}

#[test]
fn pixels_are_turned_as_exif_numbers_them() {
    // A black pixel at the left end of three; where it is after each of the eight orientations, from the EXIF table.
    let expected =
        [(1, (0, 0)), (2, (2, 0)), (3, (2, 0)), (4, (0, 0)), (5, (0, 0)), (6, (0, 0)), (7, (0, 2)), (8, (0, 2))];
    for (exif, at) in expected {
        let mut image = RgbImage::from_pixel(3, 1, Rgb(WHITE));
        image.put_pixel(0, 0, Rgb([0; 3]));
        let turned = turned(image, Orientation::from_exif(exif).unwrap());
        assert_eq!(turned.get_pixel(at.0, at.1).0, [0; 3], "orientation {exif}");
    }
}
