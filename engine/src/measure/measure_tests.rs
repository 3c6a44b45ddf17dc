#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use super::*;
use crate::decode::Decode;
use crate::device::Device;
use crate::precision::WeightFormat;
use crate::worker::CheckpointSource;

/// The tiny architecture's settings without its weights and tokenizer.
fn config_only() -> tempfile::TempDir {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/glm_ocr_tiny");
    let folder = tempfile::tempdir().unwrap();
    for name in ["config.json", "preprocessor_config.json", "generation_config.json", "block_diffusion.json"] {
        std::fs::copy(from.join(name), folder.path().join(name)).unwrap();
    }
    folder
}

fn open(folder: &Path) -> Result<Bench, MeasureError> {
    open_as(folder, WeightFormat::Auto)
}

fn open_as(folder: &Path, weights: WeightFormat) -> Result<Bench, MeasureError> {
    Bench::open(&EngineOptions {
        checkpoint: CheckpointSource::Folder(folder.to_owned()),
        device: Device::Cpu,
        threads: Some(2),
        pdfium_dir: None,
        weights,
    })
}

/// A grey picture of 800 x 300 pixels.
fn picture() -> Picture {
    Picture(RgbImage::from_fn(800, 300, |x, y| image::Rgb([(x % 251) as u8, (y % 241) as u8, 128])))
}

#[test]
fn every_stage_is_timed_in_turn_on_a_real_sized_request() {
    let folder = config_only();
    let bench = open(folder.path()).unwrap();
    let facts = bench.facts();
    assert!(facts.random_weights && facts.only_ar.is_none());
    assert_eq!((facts.threads, facts.format_name(), facts.block), (2, "f32", Some(8)));

    let stages = bench.stages(&[picture()], 2, &AtomicBool::new(false)).unwrap();
    // 800 x 300 pixels become 29 x 11 image tokens of four patches; eleven tokens of text go with them.
    let size = RequestSize { width: 800, height: 300, patches: 1276, prompt_tokens: 330 };
    assert_eq!(stages.requests, [size]);
    let count = [&stages.vision, &stages.prefill, &stages.ar, &stages.draft, &stages.verify].map(Vec::len);
    assert_eq!(count, [2, 2, 6, 6, 6], "the warm-up is left out");
    assert!(stages.verify.iter().all(|sample| sample.ms > 0.0));
    // All work after the prompt: a later one does not see what an earlier one left.
    assert!(stages.ar.iter().all(|sample| sample.work == stages.ar[0].work));
    assert!(stages.draft[5].work.attention_flop > stages.verify[5].work.attention_flop);
}

/// The tiny architecture with weights in bf16.
fn config_only_bf16() -> tempfile::TempDir {
    let folder = config_only();
    let path = folder.path().join("config.json");
    let config = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, config.replace("\"float32\"", "\"bfloat16\"")).unwrap();
    folder
}

#[test]
fn drafting_changes_no_token_of_random_weights_in_any_format() {
    let folder = config_only_bf16();
    for (weights, name) in [
        (WeightFormat::Auto, "bf16"),
        (WeightFormat::F32, "f32"),
        (WeightFormat::Bf16, "bf16"),
        (WeightFormat::Int8, "int8"),
    ] {
        let bench = open_as(folder.path(), weights).unwrap();
        assert_eq!(bench.facts().format_name(), name);
        let ways = [Decode::Ar, Decode::SPEC];
        let readings = bench.decode(&picture(), &ways, 12, 2, &AtomicBool::new(false)).unwrap();
        let ids = |reading: &Reading| -> Vec<u32> {
            reading.rounds.iter().flat_map(|round| &round.committed).map(|token| token.id).collect()
        };
        assert_eq!(readings.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
        let expected = ids(&readings[0][0]);
        assert_eq!(expected.len(), 12);
        assert!(readings.iter().flatten().all(|reading| ids(reading) == expected), "{name}");
        assert!(readings[1][0].rounds.iter().any(|round| round.verify_forwards == 1));
    }
}

#[test]
fn a_weight_costs_what_its_format_says() {
    let folder = config_only_bf16();
    let bytes = |weights| open_as(folder.path(), weights).unwrap().facts().bytes_per_weight;
    // A small model is packed as it is multiplied, its last panels padded.
    assert!((2.0..2.1).contains(&bytes(WeightFormat::Bf16)), "{}", bytes(WeightFormat::Bf16));
    assert!((4.0..4.2).contains(&bytes(WeightFormat::F32)), "{}", bytes(WeightFormat::F32));
    assert!(bytes(WeightFormat::Int8) > 1.0, "{}", bytes(WeightFormat::Int8));
}

#[test]
fn a_checkpoint_is_measured_on_its_longest_line() {
    let options = EngineOptions {
        checkpoint: CheckpointSource::Bundled,
        device: Device::Cpu,
        threads: Some(2),
        pdfium_dir: None,
        weights: WeightFormat::Auto,
    };
    let bench = Bench::open(&options).unwrap();
    assert!(!bench.facts().random_weights);
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/samples/gravity-sample.pdf");
    let page = Picture::open(&Source::Path(sample), Some(Rect::new(140, 300, 940, 600))).unwrap();
    let stages = bench.stages(&[page], 1, &AtomicBool::new(false)).unwrap();
    assert_eq!(stages.requests[0].height, 28, "the line's strip, not the picture");
    assert!(stages.requests[0].width > 400, "{:?}", stages.requests);
    let blank = Picture(RgbImage::from_pixel(300, 100, image::Rgb([255; 3])));
    let fault = bench.stages(&[blank], 1, &AtomicBool::new(false)).unwrap_err().to_string();
    assert_eq!(fault, "the picture of 300 x 100 pixels shows nothing to read, so nothing was measured");
}

#[test]
fn a_cancel_stops_before_the_next_forward() {
    let folder = config_only();
    let bench = open(folder.path()).unwrap();
    let cancel = AtomicBool::new(true);
    assert!(matches!(bench.stages(&[picture()], 1000, &cancel), Err(MeasureError::Cancelled)));
    assert!(matches!(bench.decode(&picture(), &[Decode::Ar], 9, 9, &cancel), Err(MeasureError::Cancelled)));
    assert!(matches!(Ceilings::measure(1, Format::F32, 1000, &cancel), Err(MeasureError::Cancelled)));
}
