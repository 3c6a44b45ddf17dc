//! Measurements on a card, printed: the published sizes with random weights, and the bundled checkpoint on real pages.
//! Not run by default; `tests/device/check.sh` runs them.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use engine::checkpoint::{ModelConfig, Weights};
use engine::decode::{Decode, Decoded, Drafter, Limits, decode};
use engine::device::{Device, DeviceModel};
use engine::event::Event;
use engine::model::ImageFeatures;
use engine::model::image_processor::Patches;
use engine::page::Reading;
use engine::precision::WeightFormat;
use engine::worker::{CheckpointSource, Engine, EngineOptions, Job, Source};
use kernels::cuda;
use kernels::memory::{Bytes, Dtype, Tensor};

use crate::{card, checks};

static NEVER: AtomicBool = AtomicBool::new(false);
/// Drafts accepted in a round of 32 on the published benchmark.
const ACCEPTED: f64 = 17.4;

/// Random bf16 weights of the published sizes.
fn published() -> (ModelConfig, Weights) {
    let config = std::fs::read_to_string(checks::fixtures().join("real_size/config.json")).unwrap();
    let config = ModelConfig::parse("config.json", &serde_json::from_str(&config).unwrap()).unwrap();
    let mut rng = fastrand::Rng::with_seed(1);
    let half = |value: f32| ((value.to_bits() >> 16) as u16).to_le_bytes();
    let noise: Vec<u8> = (0..1 << 20).flat_map(|_| half((rng.f32() - 0.5) * 0.07)).collect();
    let ones: Vec<u8> = (0..1 << 16).flat_map(|_| half(1.0)).collect();
    let tensors = config.tensors().into_iter().map(|(name, shape)| {
        let bytes = 2 * shape.iter().product::<usize>();
        let pattern = if name.contains("norm") && name.ends_with("weight") { &ones } else { &noise };
        let start = 2 * rng.usize(..pattern.len() / 2);
        let mut data = Vec::with_capacity(bytes);
        data.extend_from_slice(&pattern[start..(start + bytes).min(pattern.len())]);
        while data.len() < bytes {
            data.extend_from_slice(&pattern[..(bytes - data.len()).min(pattern.len())]);
        }
        (name, Tensor::new(Dtype::Bf16, &shape, Bytes::copy_from(&data)).unwrap())
    });
    let weights = Weights::from_tensors(tensors.collect::<Vec<_>>());
    (config, weights)
}

/// Bytes of weights that one decoder forward reads.
fn decoder_bytes(config: &ModelConfig) -> f64 {
    let read = |name: &str| name.starts_with("model.language_model.layers") || name == config.lm_head();
    let elements: usize =
        config.tensors().iter().filter(|(name, _)| read(name)).map(|(_, shape)| shape.iter().product::<usize>()).sum();
    2.0 * elements as f64
}

/// Bytes per second that a copy on the card moves, read and written.
fn bandwidth(device: &DeviceModel) -> f64 {
    const BYTES: usize = 2 << 30;
    device.with_driver(|driver| {
        let (from, to) = (driver.alloc(BYTES).unwrap(), driver.alloc(BYTES).unwrap());
        let (start, end) = (driver.event().unwrap(), driver.event().unwrap());
        let mut best = f64::INFINITY;
        for _ in 0..6 {
            driver.record(start).unwrap();
            driver.copy(from, to, BYTES).unwrap();
            driver.record(end).unwrap();
            best = best.min(f64::from(driver.elapsed_ms(start, end).unwrap()) / 1e3);
        }
        driver.release(from).unwrap();
        driver.release(to).unwrap();
        2.0 * BYTES as f64 / best
    })
}

#[test]
#[ignore = "a measurement"]
fn the_published_sizes() {
    if !card::is_there() {
        return;
    }
    let (config, weights) = published();
    let start = Instant::now();
    let device = DeviceModel::on(cuda::open(0).unwrap(), &config, &weights, &[]).unwrap();
    println!("{}: loaded in {:.2} s", device.info().name, start.elapsed().as_secs_f64());
    let plan = device.plan();
    let gib = |bytes: usize| bytes as f64 / f64::from(1 << 30);
    println!(
        "memory: weights {:.2}, caches {:.2}, window {:.2}, tower and prefill {:.2} GiB; {} side by side",
        gib(plan.weights),
        gib(plan.cache),
        gib(plan.window.bytes()),
        gib(plan.bulk),
        plan.extent.sequences
    );
    let copy = bandwidth(&device);
    println!("copy bandwidth: {:.0} GB/s", copy / 1e9);

    // A region of 448 x 448 pixels: 256 image tokens.
    let mut rng = fastrand::Rng::with_seed(2);
    let patches = Patches {
        grid: [32, 32],
        values: (0..1024 * 588).map(|_| rng.f32() * 2.0 - 1.0).collect(),
        resized: (448, 448),
    };
    let mut image = device.encode_image(&patches).unwrap();
    let best = |run: &mut dyn FnMut()| (0..5).map(|_| timed(&mut *run)).fold(f64::INFINITY, f64::min);
    println!("tower, 1024 patches: {:.2} ms", best(&mut || image = device.encode_image(&patches).unwrap()));
    let mut prompt = vec![1u32; 8];
    prompt.extend(std::iter::repeat_n(config.image_token_id, 256));
    prompt.extend([2; 8]);

    let drafter = Some(Drafter { block: 32, mask: 59_282 });
    let run = |mode, tokens| {
        let limits = Limits { max_tokens: tokens, end_tokens: &[], cancel: &NEVER };
        let mut session = device.session(&prompt, &image, tokens).unwrap();
        decode(&mut session, mode, drafter, None, &limits, &mut ()).unwrap()
    };
    let (mut ar, mut spec) = (run(Decode::Ar, 300), run(Decode::SPEC, 300));
    let same = tokens(&ar) == tokens(&spec);
    println!("the first 300 tokens of spec and ar are the same: {same}; probabilities: {}", bits(&ar) == bits(&spec));
    (ar, spec) = (run(Decode::Ar, 300), run(Decode::SPEC, 300));
    println!("prefill, 272 tokens: {:.2} ms", ar.rounds[0].prefill_ms);

    let step = mean(&ar, |r| r.draft_ms);
    let share = decoder_bytes(&config) / (step / 1e3) / copy;
    println!(
        "ar: {step:.3} ms a token, {:.0} tok/s; weights alone {:.0} % of the copy bandwidth",
        1e3 / step,
        100.0 * share
    );
    let (draft, verify) = (mean(&spec, |r| r.draft_ms), mean(&spec, |r| r.verify_ms));
    println!("spec: draft {draft:.3} ms, verify and settle {verify:.3} ms on the card");
    let rounds = spec.rounds.len() - 1;
    let wall = round_ms(&device, &prompt, &image, drafter, 1);
    println!(
        "spec: {wall:.3} ms a round with everything around it ({rounds} rounds), {:.0} tok/s if {ACCEPTED} of 32 are accepted",
        (ACCEPTED + 2.0) / wall * 1e3
    );
    for sequences in [2, 4, 8] {
        if sequences <= device.sequences() {
            let wall = round_ms(&device, &prompt, &image, drafter, sequences);
            println!(
                "spec, {sequences} side by side: {wall:.3} ms a round each, {:.0} tok/s together",
                sequences as f64 * (ACCEPTED + 2.0) / wall * 1e3
            );
        }
    }
    assert!(same, "the invariant");
}

/// Milliseconds from one round to the next, of each of so many requests side by side.
fn round_ms(
    device: &DeviceModel,
    prompt: &[u32],
    image: &ImageFeatures,
    drafter: Option<Drafter>,
    sequences: usize,
) -> f64 {
    const TOKENS: usize = 300;
    let barrier = Barrier::new(sequences);
    let each = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..sequences)
            .map(|_| {
                scope.spawn(|| {
                    let limits = Limits { max_tokens: TOKENS, end_tokens: &[], cancel: &NEVER };
                    let mut session = device.session(prompt, image, TOKENS).unwrap();
                    barrier.wait();
                    let start = Instant::now();
                    let decoded = decode(&mut session, Decode::SPEC, drafter, None, &limits, &mut ()).unwrap();
                    let spent = start.elapsed().as_secs_f64() * 1e3 - decoded.rounds[0].prefill_ms;
                    spent / (decoded.rounds.len() - 1) as f64
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<f64>>()
    });
    each.iter().sum::<f64>() / sequences as f64
}

fn timed(run: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64() * 1e3
}

fn mean(decoded: &Decoded, ms: impl Fn(&engine::decode::Round) -> f64) -> f64 {
    decoded.rounds[1..].iter().map(ms).sum::<f64>() / (decoded.rounds.len() - 1) as f64
}

fn tokens(decoded: &Decoded) -> &[u32] {
    &decoded.tokens
}

fn bits(decoded: &Decoded) -> Vec<u32> {
    decoded.rounds.iter().flat_map(|r| &r.committed).map(|t| t.confidence.to_bits()).collect()
}

/// The sample's two pages with the bundled checkpoint: agreement of card and CPU, of spec and ar on the card.
#[test]
#[ignore = "a measurement"]
fn the_bundled_checkpoint_on_the_sample() {
    if !card::is_there() {
        return;
    }
    let read = |device, decode| {
        let checkpoint = CheckpointSource::Bundled;
        let engine = Engine::start(EngineOptions {
            checkpoint,
            device,
            threads: None,
            pdfium_dir: None,
            weights: WeightFormat::Auto,
        })
        .unwrap();
        assert_eq!(engine.info().fallback, None);
        let bytes = include_bytes!("../../../assets/samples/gravity-sample.pdf").to_vec();
        let source = Source::Bytes { name: "gravity-sample.pdf".to_owned(), bytes };
        let job = engine.submit(Job { decode: Some(decode), ..Job::new(source) }, || ()).unwrap();
        let start = Instant::now();
        let mut readings = BTreeMap::new();
        while let Some(event) = job.recv() {
            match event {
                Event::PageFinished { page, .. } => {
                    for (at, region) in page.regions.into_iter().enumerate() {
                        let keyed = region.readings.into_iter().enumerate();
                        readings.extend(keyed.map(|(n, reading)| ((page.index, at, n), reading)));
                    }
                }
                Event::RequestRestarted { reason, .. } => println!("restarted: {reason}"),
                _ => {}
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        println!("nano on {device}, {decode:?}: {} requests in {seconds:.2} s", readings.len());
        readings
    };
    let card = Device::Cuda(0);
    let (spec, ar, cpu) = (read(card, Decode::SPEC), read(card, Decode::Ar), read(Device::Cpu, Decode::SPEC));
    let ids =
        |reading: &Reading| -> Vec<u32> { reading.rounds.iter().flat_map(|r| &r.committed).map(|t| t.id).collect() };
    type Readings = BTreeMap<(usize, usize, usize), Reading>;
    let agree = |a: &Readings, b: &Readings| {
        a.iter().filter(|&(key, reading)| b.get(key).is_some_and(|other| ids(other) == ids(reading))).count()
    };
    println!("same ids: spec and ar on the card {} of {}", agree(&spec, &ar), spec.len());
    println!("same ids: card and cpu {} of {}", agree(&spec, &cpu), cpu.len());
    assert_eq!(agree(&spec, &ar), spec.len(), "the invariant");
}
