#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::{Path, PathBuf};

use image::{Rgb, RgbImage};
use safetensors::SafeTensors;
use serde_json::Value;

use super::*;
use crate::checkpoint::{ModelConfig, ProcessorConfig};
use crate::model::resize::resize_bicubic;

const IMAGES: [&str; 4] = ["line", "paragraph", "tall", "minimal"];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures")
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn config() -> ProcessorConfig {
    let folder = fixtures().join("glm_ocr_tiny");
    let model = ModelConfig::parse("config.json", &json(&folder.join("config.json"))).unwrap();
    ProcessorConfig::parse("p", &json(&folder.join("preprocessor_config.json")), &model.vision).unwrap()
}

fn image(path: &Path) -> RgbImage {
    image::open(path).unwrap().to_rgb8()
}

#[test]
fn sizes_are_those_of_the_reference() {
    let cases = json(&fixtures().join("image_processor_cases.json"));
    let mut checked = 0;
    for set in ["published", "class_defaults"] {
        let limit = |key: &str| cases[set][key].as_u64().unwrap() as usize;
        let config = ProcessorConfig { min_pixels: limit("min_pixels"), max_pixels: limit("max_pixels"), ..config() };
        let processor = ImageProcessor::new(config.clone());
        for case in cases[set]["cases"].as_array().unwrap() {
            let side = |key: &str| case[key].as_u64().unwrap() as u32;
            let (width, height) = (side("width"), side("height"));
            let size = smart_resize(width, height, &config);
            if case.get("error").is_some() {
                assert_eq!(size, Err(ImageError::TooElongated { width, height }));
            } else {
                let expected = case["resized"].as_array().unwrap();
                let expected = (expected[1].as_u64().unwrap() as u32, expected[0].as_u64().unwrap() as u32);
                assert_eq!(size, Ok(expected), "{width} x {height}");
                let tokens = processor.image_tokens(width, height).unwrap();
                assert_eq!(tokens as u64, case["image_tokens"].as_u64().unwrap());
            }
            checked += 1;
        }
    }
    assert!(checked > 50, "only {checked} cases");
}

#[test]
fn limits_without_an_entry_are_the_class_defaults() {
    let model = json(&fixtures().join("glm_ocr_tiny/config.json"));
    let vision = ModelConfig::parse("config.json", &model).unwrap().vision;
    let config = ProcessorConfig::parse("p", &serde_json::json!({}), &vision).unwrap();
    assert_eq!((config.min_pixels, config.max_pixels), (12_544, 11_760_000));
    let nested = serde_json::json!({"image_processor": {"size": {"longest_edge": 50_000}}});
    assert_eq!(ProcessorConfig::parse("p", &nested, &vision).unwrap().max_pixels, 50_000);
}

#[test]
fn empty_pictures_are_refused() {
    assert_eq!(smart_resize(0, 5, &config()), Err(ImageError::Empty));
    assert_eq!(ImageProcessor::new(config()).process(&RgbImage::new(0, 0)), Err(ImageError::Empty));
    assert!(smart_resize(u32::MAX, u32::MAX, &config()).is_ok(), "sizes do not overflow");
}

#[test]
fn resized_pictures_equal_the_reference() {
    let mut folders: Vec<PathBuf> = IMAGES.iter().map(|name| fixtures().join("glm_ocr_cases").join(name)).collect();
    folders.extend(
        std::fs::read_dir(fixtures().join("block_diffusion_cases")).unwrap().map(|entry| entry.unwrap().path()),
    );
    let (mut samples, mut different) = (0, 0);
    for folder in folders.iter().filter(|folder| folder.join("resized.png").exists()) {
        let (source, expected) = (image(&folder.join("image.png")), image(&folder.join("resized.png")));
        let (width, height) = smart_resize(source.width(), source.height(), &config()).unwrap();
        assert_eq!((width, height), expected.dimensions());
        let resized = resize_bicubic(&source, width, height);
        for (a, b) in resized.as_raw().iter().zip(expected.as_raw()) {
            assert!(a.abs_diff(*b) <= 1, "{a} for {b} in {}", folder.display());
            samples += 1;
            different += usize::from(a != b);
        }
    }
    assert!(samples > 1_000_000, "only {samples} samples");
    assert_eq!(different, 0, "of {samples} samples");
}

/// Both frames of every patch, as the reference's `pixel_values` holds them: channel, frame, y, x.
fn pixel_values(patches: &Patches, row: usize) -> Vec<f32> {
    let patch = 3 * 14 * 14;
    let one = &patches.values[row * patch..(row + 1) * patch];
    one.chunks_exact(14 * 14).flat_map(|plane| [plane, plane].concat()).collect()
}

#[test]
fn patches_are_those_of_the_reference() {
    for name in IMAGES {
        let folder = fixtures().join("glm_ocr_cases").join(name);
        let patches = ImageProcessor::new(config()).process(&image(&folder.join("image.png"))).unwrap();
        let file = std::fs::read(folder.join("tensors.safetensors")).unwrap();
        let tensors = SafeTensors::deserialize(&file).unwrap();
        let integers = |name: &str| -> Vec<i64> {
            let (chunks, _) = tensors.tensor(name).unwrap().data().as_chunks::<8>();
            chunks.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect()
        };
        let expected: Vec<f32> = {
            let (chunks, _) = tensors.tensor("pixel_values").unwrap().data().as_chunks::<4>();
            chunks.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
        };
        assert_eq!(integers("image_grid_thw"), [1, patches.grid[0] as i64, patches.grid[1] as i64]);
        assert_eq!(patches.values.len(), patches.grid[0] * patches.grid[1] * 588);
        let rows = integers("rows");
        assert_eq!(expected.len(), rows.len() * 1176);
        for (row, expected) in rows.into_iter().zip(expected.chunks_exact(1176)) {
            let values = pixel_values(&patches, row as usize);
            let error = values.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(error < 1e-5, "{name}: patch {row} differs by {error}");
        }
    }
}

/// Noise from a linear congruential generator, seeded with the size.
fn noise(width: u32, height: u32) -> RgbImage {
    let mut state = width * 65_536 + height;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    RgbImage::from_fn(width, height, |_, _| Rgb([next(), next(), next()]))
}

/// Strong shrinking, growing, and both at once, where the clamp between the passes matters most. The pictures were made
/// with torch 2.15 (`interpolate(mode="bicubic", antialias=True)` on uint8) from the same noise.
#[test]
fn resized_noise_equals_torch() {
    let mut checked = 0;
    for entry in std::fs::read_dir(fixtures().join("resize_cases")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let sizes: Vec<u32> = name.split(['x', '_']).map(|size| size.parse().unwrap()).collect();
        let resized = resize_bicubic(&noise(sizes[0], sizes[1]), sizes[2], sizes[3]);
        assert_eq!(resized, image(&path), "{name}");
        checked += 1;
    }
    assert_eq!(checked, 8);
}

#[test]
fn a_cancelled_picture_is_not_prepared() {
    let (processor, cancel) = (ImageProcessor::new(config()), Cancel::new());
    cancel.cancel();
    // One that is resized, and one that is only cut.
    for (width, height) in [(301, 207), (280, 196)] {
        let white = RgbImage::from_pixel(width, height, Rgb([255; 3]));
        assert_eq!(processor.process_until(&white, &cancel), Err(ImageError::Cancelled));
        assert_eq!(processor.process_until(&white, &Cancel::new()), processor.process(&white));
        let untouched = resize_bicubic_until(&white, 50, 40, &cancel);
        assert!(untouched.pixels().all(|pixel| pixel.0 == [0; 3]), "no row is computed");
    }
}

#[test]
fn resize_keeps_flat_colour_and_the_identity() {
    let flat = RgbImage::from_pixel(37, 23, Rgb([3, 128, 250]));
    for (width, height) in [(1, 1), (37, 90), (200, 23), (5, 400)] {
        assert!(resize_bicubic(&flat, width, height).pixels().all(|pixel| pixel.0 == [3, 128, 250]));
    }
    let noise = RgbImage::from_fn(19, 11, |x, y| Rgb([(x * 91 + y * 57) as u8, (x * y) as u8, (x * 13) as u8]));
    assert_eq!(resize_bicubic(&noise, 19, 11), noise);
}

/// By hand: halving (1, 0, 0, 0, ...) * 255 gives the first sample the kernel's value at a quarter step over the sum of
/// the taps that lie inside; overshoot below black is clamped.
#[test]
fn resize_halves_an_edge_as_computed_by_hand() {
    let edge = RgbImage::from_fn(8, 1, |x, _| Rgb([if x == 0 { 255 } else { 0 }; 3]));
    // Taps at (k + 0.5 - 1) / 2 for k = 0..=4: -0.25, 0.25, 0.75, 1.25, 1.75 -> 111/128, 111/128, 29/128, -9/128, -3/128.
    let first = (255.0f64 * 111.0 / (111.0 + 111.0 + 29.0 - 9.0 - 3.0)).round() as u8;
    let halved = resize_bicubic(&edge, 4, 1);
    assert_eq!(halved.get_pixel(0, 0).0, [first; 3]);
    assert_eq!(halved.get_pixel(1, 0).0, [0; 3], "the kernel is negative there");
}
