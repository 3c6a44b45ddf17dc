//! The device kernels compiled for this processor, everything above them as on a card.

use std::cell::OnceCell;

use engine::checkpoint::{Checkpoint, ModelConfig, Weights};
use engine::decode::{Decode, Mask, Target};
use engine::device::{DeviceModel, Extent, Plan};
use engine::event::Event;
use engine::model::ImageFeatures;
use engine::region::{Label, Rect, Region};
use kernels::cuda::emulation;
use kernels::cuda::fake::{Call, Fake};

use crate::checks::{self, NEVER, fixtures};
use crate::{published, reading};

pub(crate) const GIB: u64 = 1 << 30;

fn small(config: &ModelConfig) -> Plan {
    Plan::new(config, Extent { sequences: 4, cache_tokens: 2048, sequence_tokens: 1024 })
}

fn emulated(config: &ModelConfig, weights: &Weights, ends: &[u32]) -> DeviceModel {
    DeviceModel::planned(Box::new(Fake::emulated(GIB)), config, weights, ends, small(config)).unwrap()
}

/// Whether there was a C++ compiler; says so where not.
pub(crate) fn available() -> bool {
    if !emulation::AVAILABLE {
        crate::skipped::skipped("no C++ compiler was there to compile the CUDA kernels for this processor");
    }
    emulation::AVAILABLE
}

#[test]
fn an_emulated_card_reads_the_lessons() {
    if available() {
        checks::lessons(&emulated);
    }
}

#[test]
fn requests_side_by_side_on_an_emulated_card_do_not_mix() {
    if available() {
        checks::side_by_side(&emulated);
    }
}

#[test]
fn speculative_equals_autoregressive_on_an_emulated_card() {
    if available() {
        checks::invariant(&emulated, 0..3);
    }
}

#[test]
fn the_published_sizes_are_right_on_an_emulated_card() {
    if !available() {
        return;
    }
    let log = OnceCell::new();
    published::one_layer(&|config, weights, ends| {
        let card = Fake::emulated(GIB);
        log.set(card.log()).unwrap();
        DeviceModel::planned(Box::new(card), config, weights, ends, small(config)).unwrap()
    });
    // Three prefills, and eight windows of three requests: alone, and then as few as eight times together.
    let forward = |call: &Call| matches!(call, Call::Launch("embed") | Call::Replay(_));
    let forwards = log.get().unwrap().count(forward);
    assert!((3 + 24 + 8..=3 + 24 + 16).contains(&forwards), "{forwards}");
}

/// A card that fails says so once and for all; requests get one sentence.
#[test]
fn a_fault_ends_the_use_of_the_card() {
    let checkpoint = Checkpoint::open(&fixtures().join("glm_ocr_tiny")).unwrap();
    let (config, ends) = (&checkpoint.config, &checkpoint.end_tokens);
    let mut card = Fake::new(GIB);
    card.fail_after(100); // some way into the first windows
    let device = DeviceModel::planned(Box::new(card), config, &checkpoint.weights, ends, small(config)).unwrap();
    let image = ImageFeatures { grid: [1, 1], rows: vec![0.0; config.text.hidden_size] };
    let mut session = device.session(&[1, config.image_token_id, 2], &image, 50, &NEVER).unwrap();
    session.prefill().unwrap();
    let sentence = "the CUDA driver could not run a kernel: unspecified launch failure";
    let error = (0..100).find_map(|_| session.forward(&[1, 2, 3], Mask::Causal, &mut Vec::new()).err()).unwrap();
    assert_eq!(error.to_string(), sentence);
    assert_eq!(device.fault().as_deref(), Some(sentence));
    drop(session);
    assert_eq!(device.session(&[1], &image, 50, &NEVER).err().unwrap().to_string(), sentence);
}

/// Lengths are in the card's memory: a graph serves all of them up to twice the ones before.
#[test]
fn few_graphs_serve_all_lengths() {
    let checkpoint = Checkpoint::open(&fixtures().join("glm_ocr_tiny")).unwrap();
    let (config, ends) = (&checkpoint.config, &checkpoint.end_tokens);
    let card = Fake::new(GIB);
    let log = card.log();
    let device = DeviceModel::planned(Box::new(card), config, &checkpoint.weights, ends, small(config)).unwrap();
    let image = ImageFeatures { grid: [0, 0], rows: Vec::new() };
    let mut session = device.session(&[1; 10], &image, 500, &NEVER).unwrap();
    session.prefill().unwrap();
    let alone = |call: &Call| matches!(call, Call::Launch(_));
    let before = (log.count(alone), log.count(|call| matches!(call, Call::Upload(..))));
    for _ in 0..300 {
        session.forward(&[1], Mask::Causal, &mut Vec::new()).unwrap();
    }
    // Keys up to 128, 256 and 512: each launch by launch once, then as a graph.
    let captured: Vec<usize> =
        log.calls().iter().filter_map(|call| if let Call::Capture(n) = call { Some(*n) } else { None }).collect();
    assert_eq!(captured.len(), 3);
    assert_eq!(log.count(|call| matches!(call, Call::Replay(_))), 297);
    assert_eq!(log.count(alone) - before.0, captured.iter().sum::<usize>());
    assert_eq!(log.count(|call| matches!(call, Call::Upload(..))) - before.1, 300, "one small copy for each forward");
}

/// What a failing card has begun, the CPU reads from its beginning, and the events say so.
#[test]
fn the_cpu_reads_what_a_card_fails_on() {
    if !available() {
        return;
    }
    let folder = fixtures().join("block_diffusion_cases/trained_receipt");
    let raster = image::open(folder.join("image.png")).unwrap().to_rgb8();
    let region = || vec![Region::new(Label::Text, Rect::new(0, 0, raster.width(), raster.height()))];
    let checkpoint = || Checkpoint::open(&fixtures().join("glm_ocr_tiny_trained")).unwrap();
    let how = (Decode::Ar, 100);
    let (want, _) = reading::read(reading::cpu(checkpoint()), &raster, region(), how);

    let (config, ends) = (checkpoint().config, checkpoint().end_tokens);
    let read = |card: Fake| {
        let card = DeviceModel::planned(Box::new(card), &config, &checkpoint().weights, &ends, small(&config)).unwrap();
        reading::read(reading::card(checkpoint(), card), &raster, region(), how)
    };
    let well = Fake::emulated(GIB);
    let log = well.log();
    read(well);
    let runs = log.count(|call| matches!(call, Call::Launch(_) | Call::Replay(_)));
    let mut card = Fake::emulated(GIB);
    card.fail_after(runs - 5);
    let (got, events) = read(card);
    assert_eq!((&got[0].text, &got[0].status), (&want[0].text, &want[0].status));
    assert!(!got[0].text.is_empty());
    let restarts = events.iter().filter_map(|event| match event {
        Event::RequestRestarted { reason, .. } => Some(reason.as_str()),
        _ => None,
    });
    let sentence =
        "the CUDA driver could not run a kernel: unspecified launch failure; the CPU reads everything from here on";
    assert_eq!(restarts.collect::<Vec<_>>(), [sentence]);
    let committed = |event: &Event| matches!(event, Event::Committed { .. });
    let restart = events.iter().position(|event| matches!(event, Event::RequestRestarted { .. })).unwrap();
    assert!(events[..restart].iter().any(committed), "it failed on the way");
}

/// What does not fit is refused before anything is taken, and the card stays of use.
#[test]
fn too_little_memory_and_too_long_prompts_are_told() {
    let checkpoint = Checkpoint::open(&fixtures().join("glm_ocr_tiny")).unwrap();
    let (config, weights, ends) = (&checkpoint.config, &checkpoint.weights, &checkpoint.end_tokens);
    let refused = DeviceModel::planned(Box::new(Fake::new(1 << 20)), config, weights, ends, small(config));
    let sentence = refused.err().unwrap().to_string();
    assert!(sentence.starts_with("the card's memory does not suffice: "), "{sentence}");
    assert!(sentence.ends_with(" needed, 1 MiB free"), "{sentence}");

    let device = DeviceModel::planned(Box::new(Fake::new(GIB)), config, weights, ends, small(config)).unwrap();
    let image = ImageFeatures { grid: [0, 0], rows: Vec::new() };
    let error = device.session(&[1; 1000], &image, 50, &NEVER).err().unwrap();
    assert_eq!(error.to_string(), "the prompt of 1000 tokens does not fit the card's cache");
    let mut session = device.session(&[1; 900], &image, 5000, &NEVER).unwrap();
    session.prefill().unwrap();
    let answer = (0..10).find_map(|_| session.forward(&[1; 30], Mask::Causal, &mut Vec::new()).err()).unwrap();
    assert_eq!(answer.to_string(), "the answer is longer than the card has room for");
    assert_eq!(session.cached(), 900 + 4 * 30, "1024 tokens");
    assert_eq!(device.fault(), None);
}

/// Memory is what the plan says: 0.9 G parameters in 2 bytes each at the published sizes.
#[test]
fn the_plan_holds_the_published_model() {
    let config = std::fs::read_to_string(fixtures().join("real_size/config.json")).unwrap();
    let config = ModelConfig::parse("config.json", &serde_json::from_str(&config).unwrap()).unwrap();
    let plan = Plan::fitting(&config, 80 << 30);
    assert_eq!(plan.extent.sequences, 8);
    let parameters: usize = config.tensors().iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
    let ratio = plan.weights as f64 / (2 * parameters) as f64;
    assert!((0.99..1.02).contains(&ratio), "{ratio}");
    // 16 layers, keys and values, 8 heads of 128 in bf16.
    assert_eq!(plan.cache, plan.extent.cache_tokens * 65_536);
    let tight = Plan::fitting(&config, 4 << 30);
    assert!(tight.extent.sequences < 8 && tight.bytes() < 4 << 30, "{} in {}", tight.extent.sequences, tight.bytes());
    assert_eq!(Plan::fitting(&config, 0).extent.sequences, 1, "the least");
}
