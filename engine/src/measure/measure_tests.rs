#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kernels::cuda::abi::MAX_WINDOW;
use kernels::cuda::driver::Driver;
use kernels::cuda::emulation;
use kernels::cuda::fake::Fake;

use super::*;
use crate::cancel::Cancel;
use crate::decode::Decode;
use crate::device::{DeviceModel, Extent, Plan};
use crate::engine::CheckpointSource;
use crate::precision::WeightFormat;

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
    Bench::open(&options(folder, weights))
}

fn options(folder: &Path, weights: WeightFormat) -> EngineOptions {
    EngineOptions { threads: Some(2), weights, ..EngineOptions::new(CheckpointSource::Folder(folder.to_owned())) }
}

const GIB: u64 = 1 << 30;

/// The same on a card with room for three requests and so many tokens of all of them.
fn on_card(folder: &Path, driver: impl Driver + 'static, cache_tokens: usize) -> Result<Bench, MeasureError> {
    Bench::load(&options(folder, WeightFormat::Auto), |subject| {
        let config = subject.config();
        let plan = Plan::new(config, Extent { sequences: 3, cache_tokens, sequence_tokens: cache_tokens });
        let weights = subject.weights(0.0)?;
        let model = DeviceModel::planned(Box::new(driver), config, &weights, subject.end_tokens(), plan)?;
        Ok(Backend::on(model))
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

    let stages = bench.stages(&[picture()], 2, &Cancel::new()).unwrap();
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
        let readings = bench.decode(&picture(), &ways, 12, 2, &Cancel::new()).unwrap();
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
    let options = EngineOptions { threads: Some(2), ..EngineOptions::new(CheckpointSource::Bundled) };
    let bench = Bench::open(&options).unwrap();
    assert!(!bench.facts().random_weights);
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/samples/gravity-sample.pdf");
    let page =
        Picture::open(&Source::Path(sample), &OpenOptions::default(), Some(Rect::new(140, 300, 940, 600))).unwrap();
    let stages = bench.stages(&[page], 1, &Cancel::new()).unwrap();
    assert_eq!(stages.requests[0].height, 28, "the line's strip, not the picture");
    assert!(stages.requests[0].width > 400, "{:?}", stages.requests);
    let blank = Picture(RgbImage::from_pixel(300, 100, image::Rgb([255; 3])));
    let fault = bench.stages(&[blank], 1, &Cancel::new()).unwrap_err().to_string();
    assert_eq!(fault, "the picture of 300 x 100 pixels shows nothing to read, so nothing was measured");
}

#[test]
fn a_cancel_stops_before_the_next_forward() {
    let folder = config_only();
    let bench = open(folder.path()).unwrap();
    let cancel = Cancel::new();
    cancel.cancel();
    assert!(matches!(bench.stages(&[picture()], 1000, &cancel), Err(MeasureError::Cancelled)));
    assert!(matches!(bench.decode(&picture(), &[Decode::Ar], 9, 9, &cancel), Err(MeasureError::Cancelled)));
    let ceilings = Ceilings::measure(Device::Cpu, 1, Format::F32, 1000, &cancel);
    assert!(matches!(ceilings, Err(MeasureError::Cancelled)));
    let bench = on_card(folder.path(), Fake::new(GIB), 800).unwrap();
    assert!(matches!(bench.side_by_side(&picture(), 1000, &cancel), Err(MeasureError::Cancelled)));
}

/// The tiny checkpoint, and a picture of 140 x 84 pixels with a pattern of strokes.
fn tiny() -> (std::path::PathBuf, Picture) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/glm_ocr_tiny");
    let ink = |x, y| (10..130).contains(&x) && (10..70).contains(&y) && x % 9 < 4 && y % 13 < 9;
    (folder, Picture(RgbImage::from_fn(140, 84, |x, y| image::Rgb([if ink(x, y) { 20 } else { 250 }; 3]))))
}

#[test]
fn a_card_runs_the_stages_of_the_processor_and_whole_rounds() {
    if !emulation::AVAILABLE {
        return crate::skipped::skipped("no C++ compiler was there to compile the CUDA kernels for this processor");
    }
    let never = Cancel::new();
    let (folder, picture) = tiny();
    let card = on_card(&folder, Fake::emulated(GIB), 800).unwrap();
    let facts = card.facts();
    assert_eq!((facts.format_name(), facts.bytes_per_weight, facts.kernel), ("bf16", 2.0, "cuda"));
    let Card { name, capability, memory, plan } = facts.card.clone().unwrap();
    assert_eq!((name.as_str(), capability, memory, plan.extent.sequences), ("Fake", (9, 0), GIB, 3));
    assert_eq!(facts.weight_bytes, plan.weights as f64);

    let stages = card.stages(std::slice::from_ref(&picture), 1, &never).unwrap();
    let cpu = open(&folder).unwrap();
    assert_eq!(cpu.facts().card, None);
    let expected = cpu.stages(std::slice::from_ref(&picture), 1, &never).unwrap();
    assert_eq!(stages.requests, expected.requests);
    let work = |samples: &[Sample]| -> Vec<Work> { samples.iter().map(|sample| sample.work).collect() };
    for (card, cpu) in [
        (&stages.vision, &expected.vision),
        (&stages.prefill, &expected.prefill),
        (&stages.ar, &expected.ar),
        (&stages.draft, &expected.draft),
        (&stages.verify, &expected.verify),
    ] {
        assert_eq!(work(card), work(cpu));
    }
    // Token after token and round after round, each with a longer cache than the one before, the first left out.
    assert_eq!([&stages.token, &stages.round, &stages.round_draft, &stages.round_verify].map(Vec::len), [3; 4]);
    let attention = |samples: &[Sample]| samples.iter().map(|s| s.work.attention_flop).collect::<Vec<_>>();
    assert!(attention(&stages.token).is_sorted_by(|a, b| a < b));
    assert!(stages.token[0].work.attention_flop > stages.ar[0].work.attention_flop);
    for (round, (draft, verify)) in stages.round.iter().zip(stages.round_draft.iter().zip(&stages.round_verify)) {
        assert_eq!(round.work, draft.work + verify.work);
        assert_eq!(draft.work.matrix_flop, stages.draft[0].work.matrix_flop, "whole blocks are drafted");
        // The emulated card has a clock of its own.
        assert!(round.ms > 0.0 && draft.ms > 0.0 && verify.ms > 0.0);
    }
    assert!(expected.round.is_empty() && expected.token.is_empty(), "the processor makes rounds of forwards");
    assert_eq!(card.why_no_graphs(), None);

    let ways = card.decode(&picture, &[Decode::Ar, Decode::SPEC], 20, 1, &never).unwrap();
    let ids = |reading: &Reading| -> Vec<u32> {
        reading.rounds.iter().flat_map(|round| &round.committed).map(|token| token.id).collect()
    };
    assert_eq!(ids(&ways[0][0]), ids(&ways[1][0]));
}

#[test]
fn rounds_are_timed_side_by_side_as_far_as_there_is_room() {
    if !emulation::AVAILABLE {
        return crate::skipped::skipped("no C++ compiler was there to compile the CUDA kernels for this processor");
    }
    let never = Cancel::new();
    let requests = |measured: &[Together]| measured.iter().map(|together| together.requests).collect::<Vec<_>>();
    let (folder, small) = tiny();
    let card = on_card(&folder, Fake::emulated(GIB), 800).unwrap();
    let measured = card.side_by_side(&small, 1, &never).unwrap();
    assert_eq!(requests(&measured), [1, 2], "doubled as far as three go");
    assert!(measured.iter().all(|together| together.round_ms.len() == 1 && together.round_ms[0] > 0.0));
    assert!(open(&folder).unwrap().side_by_side(&small, 1, &never).unwrap().is_empty());
    // Where the caches are too small for two, nobody waits for room that never comes.
    let tokens = card.prepare(&small).unwrap().prompt.len() + together::tokens(card.drafter.unwrap()) + 2 * MAX_WINDOW;
    let card = on_card(&folder, Fake::emulated(GIB), 2 * tokens - 1).unwrap();
    assert_eq!(requests(&card.side_by_side(&small, 1, &never).unwrap()), [1]);
}

#[test]
fn what_ails_a_card_is_one_sentence() {
    let never = Cancel::new();
    let (folder, picture) = tiny();
    let options = options(&folder, WeightFormat::Auto);
    let small = Bench::load(&options, |subject| Backend::card(subject, Device::Cuda(3), Box::new(Fake::new(1 << 20))));
    let fault = small.err().unwrap().to_string();
    assert!(fault.starts_with("cuda:3 cannot be used: the card's memory does not suffice: "), "{fault}");
    assert!(fault.ends_with(" needed, 1 MiB free, so nothing was measured"), "{fault}");

    let mut breaks = Fake::new(GIB);
    breaks.fail_after(100);
    let card = on_card(&folder, breaks, 800).unwrap();
    let fault = card.stages(std::slice::from_ref(&picture), 9, &never).unwrap_err().to_string();
    let sentence = "the CUDA driver could not run a kernel: unspecified launch failure";
    assert_eq!(fault, sentence);
    assert_eq!(card.side_by_side(&picture, 1, &never).unwrap_err().to_string(), sentence);
}

#[test]
fn a_driver_that_makes_no_graphs_is_told_of() {
    if !emulation::AVAILABLE {
        return crate::skipped::skipped("no C++ compiler was there to compile the CUDA kernels for this processor");
    }
    let (folder, picture) = tiny();
    let mut driver = Fake::emulated(GIB);
    driver.refuse_graphs();
    let card = on_card(&folder, driver, 800).unwrap();
    card.decode(&picture, &[Decode::Ar], 6, 1, &Cancel::new()).unwrap();
    let reason = card.why_no_graphs().unwrap();
    assert_eq!(reason, "the CUDA driver could not end a graph: operation not supported");
}
