//! Parity with the reference implementation (`tests/fixtures`, golden tensors of `transformers` 5.24), and the invariant
//! on random checkpoints.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use image::RgbImage;
use kernels::memory::Tensor;
use kernels::{Format, Kernel};
use proptest::prelude::*;
use serde_json::Value;

use super::image_processor::{ImageProcessor, Patches};
use super::{ImageFeatures, Model, Weights};
use crate::cancel::{Cancel, Cancelled};
use crate::checkpoint::{Checkpoint, ModelConfig};
use crate::decode::{
    Decode, Decoded, Drafter, FillStep, Limits, Mask, Observer, Round, Stop, Target, TargetError, decode,
};
use crate::region::Task;

static NEVER: LazyLock<Cancel> = LazyLock::new(Cancel::new);

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures")
}

pub(super) fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub(super) fn numbers<T: TryFrom<u64>>(value: &Value) -> Vec<T> {
    value.as_array().unwrap().iter().map(|v| T::try_from(v.as_u64().unwrap()).ok().unwrap()).collect()
}

/// The tensors of one case as f32 (integers included), with their shapes.
pub(super) struct Golden(HashMap<String, (Vec<usize>, Vec<f32>)>);

impl Golden {
    pub(super) fn read(folder: &Path) -> Self {
        let bytes = std::fs::read(folder.join("tensors.safetensors")).unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        Self(
            file.tensors()
                .into_iter()
                .map(|(name, t)| {
                    let data = match t.dtype() {
                        safetensors::Dtype::F32 => {
                            t.data().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
                        }
                        safetensors::Dtype::I64 => {
                            t.data().chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap()) as f32).collect()
                        }
                        _ => t.data().iter().map(|&b| f32::from(b)).collect(),
                    };
                    (name, (t.shape().to_vec(), data))
                })
                .collect(),
        )
    }

    pub(super) fn get(&self, name: &str) -> &[f32] {
        &self.0[name].1
    }

    pub(super) fn ids(&self, name: &str) -> Vec<u32> {
        self.get(name).iter().map(|&v| v as u32).collect()
    }

    /// Largest difference; `rows` picks rows of `got` where the fixture holds a sample only.
    fn difference(&self, name: &str, got: &[f32], rows: Option<&[u32]>) -> f32 {
        let (shape, want) = &self.0[name];
        let width = shape.last().copied().unwrap();
        let picked: Vec<f32> = match rows {
            Some(rows) => rows.iter().flat_map(|&r| got[r as usize * width..][..width].to_vec()).collect(),
            None => got.to_vec(),
        };
        assert_eq!(picked.len(), want.len(), "{name}: size");
        picked.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }
}

/// A checkpoint, its model on one kernel, and an image run through the tower.
struct Case {
    checkpoint: Checkpoint,
    model: Model,
    golden: Golden,
    info: Value,
    folder: PathBuf,
}

impl Case {
    fn open(kind: &str, name: &str, kernel: Kernel<'static>) -> Self {
        let folder = fixtures().join(kind).join(name);
        let info = json(&folder.join("case.json"));
        let checkpoint = info["model"].as_str().unwrap_or("glm_ocr_tiny");
        let checkpoint = Checkpoint::open(&fixtures().join(checkpoint)).unwrap();
        let model = Model::load(&checkpoint, kernel, Format::F32).unwrap();
        Self { model, golden: Golden::read(&folder), checkpoint, info, folder }
    }

    /// From `resized.png`, so that the reference's own resize is what is compared after it.
    fn patches(&self) -> Patches {
        let image = image::open(self.folder.join("resized.png")).unwrap().to_rgb8();
        let patches = ImageProcessor::new(self.checkpoint.processor.clone()).process(&image).unwrap();
        assert_eq!(patches.resized, image.dimensions(), "a picture of legal size is not resized again");
        patches
    }

    fn image(&self) -> ImageFeatures {
        self.model.encode_image(&self.patches(), &NEVER).unwrap()
    }

    fn prompt(&self, image: &ImageFeatures) -> Vec<u32> {
        self.checkpoint.prompt(Task::Text, image.grid[0] * image.grid[1]).unwrap()
    }

    fn decode(&self, mode: Decode, limits: &Limits<'_>) -> Decoded {
        let image = self.image();
        let mut session = self.model.session(&self.prompt(&image), &image, &NEVER);
        decode(&mut session, mode, self.drafter(), None, limits, &mut ()).unwrap()
    }

    fn drafter(&self) -> Option<Drafter> {
        self.checkpoint.drafter()
    }
}

/// Vision and text rotations, tower, merger, decoder, logits: everything the fixtures hold, on every kernel.
#[test]
fn every_intermediate_matches_the_reference() {
    // Tolerances: fixtures' README, "Recommended absolute tolerances for an f32 port".
    let tolerance = |name: &str| match name {
        "vision_cos" | "vision_sin" | "text_cos" | "text_sin" => 1e-5,
        "patch_embed" | "block0" | "post_layernorm" | "downsample" | "merger_norm" | "pooler_output" => 5e-5,
        _ => 2e-4,
    };
    for kernel in Kernel::available() {
        for name in ["line", "paragraph", "tall", "minimal"] {
            let case = Case::open("glm_ocr_cases", name, kernel);
            let rows = case.golden.ids("rows");
            let mut seen = Vec::new();
            let mut check = |part: &str, got: &[f32]| {
                if ["block", "layer"].contains(&part) {
                    return; // the reference tells of the first ones
                }
                let per_patch =
                    matches!(part, "vision_cos" | "vision_sin" | "patch_embed" | "block0" | "post_layernorm");
                let (fixture, got) = match part {
                    "final_hidden" => ("final_hidden_last", got),
                    _ => (part, got),
                };
                let difference = case.golden.difference(fixture, got, per_patch.then_some(&rows[..]));
                let kernel = kernel.name();
                assert!(difference <= tolerance(part), "{kernel} {name}: {part} is off by {difference}");
                seen.push(part.to_owned());
            };
            let patches = case.patches();
            let image = case.model.encode_image_probed(&patches, &NEVER, &mut check).unwrap();
            let prompt = case.prompt(&image);
            assert_eq!(prompt, case.golden.ids("input_ids"), "{name}: prompt");
            let mut session = case.model.session(&prompt, &image, &NEVER);
            session.keep_logits(true);
            session.prefill_probed(&mut check).unwrap();
            assert_eq!(seen.len(), 14, "{seen:?}");
            let logits = case.golden.difference("logits_last", session.logits(0), None);
            assert!(logits <= 2e-4, "{} {name}: logits are off by {logits}", kernel.name());

            let (positions, next) =
                super::rope::prompt_positions(&prompt, case.checkpoint.config.image_token_id, image.grid);
            let axes: Vec<f32> = (0..3).flat_map(|axis| positions.iter().map(move |p| p[axis] as f32)).collect();
            assert_eq!(axes, case.golden.get("position_ids"), "{name}: positions");
            assert_eq!(next as f32 - prompt.len() as f32, case.golden.get("rope_delta")[0], "{name}: rope_delta");
        }
    }
}

/// The reference's `generate()` with its cache, forty tokens, every step's logits.
#[test]
fn greedy_decoding_matches_generate() {
    for kernel in Kernel::available() {
        for name in ["line", "paragraph", "tall", "minimal"] {
            let case = Case::open("glm_ocr_cases", name, kernel);
            let image = case.image();
            let mut session = case.model.session(&case.prompt(&image), &image, &NEVER);
            let want = case.golden.ids("greedy_ids");
            let logits = case.golden.get("greedy_logits");
            let vocab = logits.len() / want.len();
            session.keep_logits(true);
            let mut peaks = vec![session.prefill().unwrap()];
            for (step, &id) in want.iter().enumerate() {
                let difference = (session.logits(0).iter().zip(&logits[step * vocab..]))
                    .map(|(a, b)| (a - b).abs())
                    .fold(0.0, f32::max);
                assert!(difference <= 2e-4, "{} {name}: logits of step {step} off by {difference}", kernel.name());
                assert_eq!(peaks[0].id, id, "{name}: token {step}");
                session.forward(&[id], Mask::Causal, &mut peaks).unwrap();
            }
        }
    }
}

const BLOCK_CASES: [&str; 6] =
    ["line", "tall", "trained_receipt", "trained_minimal", "trained_prose", "trained_unseen"];

/// Draft and verify forwards after given tokens: logits of every row under both masks, and the masks themselves.
#[test]
fn forced_draft_and_verify_forwards_match_the_reference() {
    for kernel in Kernel::available() {
        for name in BLOCK_CASES {
            let case = Case::open("block_diffusion_cases", name, kernel);
            let image = case.image();
            let off = case.golden.difference("pooler_output", &image.rows, None);
            assert!(off <= 5e-5, "{name}: pooler_output off by {off}");
            let prompt = case.prompt(&image);
            assert_eq!(prompt, case.golden.ids("prompt_ids"));
            for (k, state) in case.info["forced"].as_array().unwrap().iter().enumerate() {
                let mut session = case.model.session(&prompt, &image, &NEVER);
                session.keep_logits(true);
                session.prefill().unwrap();
                let mut peaks = Vec::new();
                let committed: Vec<u32> = numbers(&state["committed"]);
                if !committed.is_empty() {
                    session.forward(&committed, Mask::Causal, &mut peaks).unwrap();
                }
                let past = session.cached();
                for (kind, mask) in [("draft", Mask::Draft), ("verify", Mask::Causal)] {
                    let window: Vec<u32> = numbers(&state[format!("{kind}_window")]);
                    let past = session.cached();
                    session.forward(&window, mask, &mut peaks).unwrap();
                    for row in 0..window.len() {
                        let want = case.golden.get(&format!("{kind}_logits_{k}"));
                        let vocab = want.len() / window.len();
                        let difference = (session.logits(row).iter().zip(&want[row * vocab..]))
                            .map(|(a, b)| (a - b).abs())
                            .fold(0.0, f32::max);
                        assert!(difference <= 2e-4, "{} {name} {kind} {k} row {row}: {difference}", kernel.name());
                        let visible = case.golden.get(&format!("{kind}_visible_{k}"));
                        let keys = visible.len() / window.len();
                        let row_visible = &visible[row * keys..(row + 1) * keys];
                        let count = mask.visible(past, window.len(), row);
                        assert!(row_visible[..count].iter().all(|&v| v == 1.0), "{name} {kind}: sees too much");
                        assert!(row_visible[count..].iter().all(|&v| v == 0.0), "{name} {kind}: sees too little");
                    }
                    session.truncate(past + 1);
                }
                assert_eq!(session.cached(), past + 2);
            }
        }
    }
}

#[test]
fn speculative_traces_match_the_reference() {
    for kernel in Kernel::available() {
        for name in BLOCK_CASES {
            let case = Case::open("block_diffusion_cases", name, kernel);
            let trace = &case.info["speculative"];
            let ends: Vec<u32> = numbers(&trace["eos_ids"]);
            let max_tokens = trace["max_new_tokens"].as_u64().unwrap() as usize;
            let limits = Limits { max_tokens, end_tokens: &ends, cancel: &NEVER };
            let out = case.decode(Decode::SPEC, &limits);
            assert_eq!(out.tokens, numbers::<u32>(&trace["tokens"]), "{name}");
            assert_eq!(out.stop, if trace["stop"] == "eos" { Stop::End } else { Stop::Length }, "{name}");
            assert_eq!(out.rounds[0].committed[0].id as u64, trace["first_token"].as_u64().unwrap());
            let rounds = trace["rounds"].as_array().unwrap();
            assert_eq!(out.rounds.len() - 1, rounds.len(), "{name}: rounds");
            for (got, want) in out.rounds[1..].iter().zip(rounds) {
                assert_eq!(got.draft, numbers::<u32>(&want["draft"]), "{name} round {}", got.index);
                assert_eq!(got.verify, numbers::<u32>(&want["verify"]), "{name} round {}", got.index);
                assert_eq!(u64::from(got.accepted), want["accepted"].as_u64().unwrap(), "{name} round {}", got.index);
                let committed: Vec<u32> = got.committed.iter().map(|t| t.id).collect();
                assert_eq!(committed, numbers::<u32>(&want["committed"]), "{name} round {}", got.index);
                assert_eq!(u64::from(got.committed[0].id), want["a0"].as_u64().unwrap(), "{name} round {}", got.index);
            }
            assert_eq!(case.decode(Decode::Ar, &limits).tokens, out.tokens, "{name}: AR");
        }
    }
}

#[test]
fn diffusion_traces_match_the_reference() {
    for kernel in Kernel::available() {
        for name in BLOCK_CASES {
            let case = Case::open("block_diffusion_cases", name, kernel);
            for (field, causal_seed) in [("denoise", false), ("denoise_causal_seed", true)] {
                let trace = &case.info[field];
                let ends: Vec<u32> = numbers(&trace["eos_ids"]);
                let max_tokens = trace["max_new_tokens"].as_u64().unwrap() as usize;
                let limits = Limits { max_tokens, end_tokens: &ends, cancel: &NEVER };
                let tau = trace["tau"].as_f64().unwrap() as f32;
                let out = case.decode(Decode::Diffusion { tau, causal_seed }, &limits);
                assert_eq!(out.tokens, numbers::<u32>(&trace["tokens"]), "{name} {field}");
                assert_eq!(out.stop, if trace["stop"] == "eos" { Stop::End } else { Stop::Length }, "{name} {field}");
                let steps: Vec<&FillStep> = out.rounds.iter().flat_map(|r| &r.steps).collect();
                let want: Vec<&Value> =
                    trace["blocks"].as_array().unwrap().iter().flat_map(|b| b["steps"].as_array().unwrap()).collect();
                assert_eq!(steps.len(), want.len(), "{name} {field}: steps");
                for (got, want) in steps.iter().zip(want) {
                    assert_eq!(got.open, numbers::<u32>(&want["open"]), "{name} {field}");
                    assert_eq!(got.filled, numbers::<u32>(&want["commit"]), "{name} {field}");
                    assert_eq!(got.tokens, numbers::<u32>(&want["tokens"]), "{name} {field}");
                    for (a, b) in got.confidence.iter().zip(want["confidence"].as_array().unwrap()) {
                        assert!((f64::from(*a) - b.as_f64().unwrap()).abs() < 1e-4, "{name} {field}: confidence");
                    }
                }
            }
        }
    }
}

/// The overfitted checkpoint reads the texts that it was taught.
#[test]
fn the_trained_checkpoint_reads_its_lessons() {
    let case = Case::open("block_diffusion_cases", "trained_receipt", Kernel::best());
    let ends = case.checkpoint.end_tokens.clone();
    let limits = Limits { max_tokens: 400, end_tokens: &ends, cancel: &NEVER };
    let out = case.decode(Decode::SPEC, &limits);
    let text = case.checkpoint.tokenizer.decode(&out.tokens, true);
    let lessons = std::fs::read_to_string(fixtures().join("glm_ocr_tiny_trained/lessons.json")).unwrap();
    let lessons: Value = serde_json::from_str(&lessons).unwrap();
    let known = lessons.to_string();
    let quoted = Value::String(text.clone()).to_string();
    assert!(!text.is_empty() && known.contains(quoted.trim_matches('"')), "{text:?} is no lesson");
}

/// A random checkpoint with random sizes, computing in a format.
fn random_model(seed: u64, format: Format) -> (ModelConfig, Model) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut config = Checkpoint::open(&fixtures().join("glm_ocr_tiny")).unwrap().config;
    let t = &mut config.text;
    t.vocab_size = rng.usize(20..90);
    t.num_hidden_layers = rng.usize(1..4);
    t.num_key_value_heads = rng.usize(1..4);
    t.num_attention_heads = t.num_key_value_heads * rng.usize(1..4);
    t.mrope_section = [rng.usize(1..6), rng.usize(1..6), rng.usize(1..6)];
    t.head_dim = 2 * t.mrope_section.iter().sum::<usize>();
    t.hidden_size = rng.usize(5..70);
    t.intermediate_size = rng.usize(5..90);
    config.vision.out_hidden_size = t.hidden_size;
    config.image_token_id = t.vocab_size as u32 - 2;
    let tensors = config.tensors().into_iter().map(|(name, shape)| {
        let n: usize = shape.iter().product();
        // Spread enough that arg-maxima vary along a sequence.
        let scale = if name.contains("norm") { 0.3 } else { 2.5 / (n as f32 / shape[0] as f32).sqrt() };
        let offset = if name.contains("norm") && name.ends_with("weight") { 1.0 } else { 0.0 };
        let values: Vec<f32> = (0..n).map(|_| (rng.f32() - 0.5) * 2.0 * scale + offset).collect();
        // Half the tensors are bf16, as in published checkpoints.
        let tensor =
            if rng.bool() { Tensor::from_f32(&shape, &values) } else { Tensor::from_f32_as_bf16(&shape, &values) };
        (name, tensor.unwrap())
    });
    let weights = Weights::from_tensors(tensors.collect::<Vec<_>>());
    let model = Model::from_weights(&config, &weights, Kernel::best(), format).unwrap();
    (config, model)
}

/// A model of two blocks and two layers, a picture's patches, and a prompt with its tokens.
fn two_deep() -> (Model, Patches, Vec<u32>) {
    let checkpoint = Checkpoint::open(&fixtures().join("glm_ocr_tiny")).unwrap();
    let config = &checkpoint.config;
    assert!(config.vision.depth >= 2 && config.text.num_hidden_layers >= 2, "there is something left to do");
    let model = Model::load(&checkpoint, Kernel::best(), Format::F32).unwrap();
    let patches = ImageProcessor::new(checkpoint.processor.clone()).process(&RgbImage::new(140, 84)).unwrap();
    let prompt = checkpoint.prompt(Task::Text, patches.tokens(2)).unwrap();
    (model, patches, prompt)
}

/// Hears results until one of the given name, and cancels then.
fn cancel_at(name: &str, run: impl FnOnce(&Cancel, super::Probe<'_>)) -> Vec<String> {
    let (cancel, mut heard) = (Cancel::new(), Vec::new());
    run(&cancel, &mut |part, _| {
        heard.push(part.to_owned());
        if part == name {
            cancel.cancel();
        }
    });
    heard
}

/// A cancel ends the tower at whatever it is doing, and no image comes of it.
#[test]
fn a_cancel_ends_the_tower_on_the_way() {
    let (model, patches, _) = two_deep();
    let until = |name: &str| {
        cancel_at(name, |cancel, probe| {
            let ended = model.encode_image_probed(&patches, cancel, probe);
            assert_eq!(ended.map(|image| image.grid), Err(Cancelled), "at {name}");
        })
    };
    let start = ["vision_cos", "vision_sin", "patch_embed", "block0"];
    for at in 2..start.len() {
        assert_eq!(until(start[at]), start[..=at], "nothing runs after {}", start[at]);
    }
    for last in ["block", "post_layernorm", "downsample", "merger_norm"] {
        assert_eq!(until(last).last().map(String::as_str), Some(last));
    }
}

/// A cancel ends a prefill between its layers and in them; the session is of no more use then.
#[test]
fn a_cancel_ends_a_prefill_on_the_way() {
    let (model, patches, prompt) = two_deep();
    let image = model.encode_image(&patches, &NEVER).unwrap();
    for (last, parts) in [("inputs_embeds", 3), ("layer0_attn", 4), ("layer0", 5), ("layer", 6)] {
        let heard = cancel_at(last, |cancel, probe| {
            let mut session = model.session(&prompt, &image, cancel);
            assert_eq!(session.prefill_probed(probe), Err(TargetError::Cancelled), "at {last}");
            assert_eq!(session.cached(), 0, "nothing counts as read");
            let again = session.forward(&[1], Mask::Causal, &mut Vec::new());
            assert_eq!(again, Err(TargetError::Cancelled), "the wish is never taken back");
        });
        assert!(heard.len() <= parts, "{heard:?} after a cancel at {last}");
    }
}

/// Decoding that is cancelled in a forward keeps what it had.
#[test]
fn decoding_ends_cancelled_when_a_forward_is() {
    let (model, patches, prompt) = two_deep();
    let image = model.encode_image(&patches, &NEVER).unwrap();
    struct CancelAfter(usize, Cancel);
    impl Observer for CancelAfter {
        fn committed(&mut self, round: &Round) -> ControlFlow<()> {
            if round.index as usize == self.0 {
                self.1.cancel();
            }
            ControlFlow::Continue(())
        }
    }
    // The loop's own limit is never cancelled: only the session hears of it.
    let limits = Limits { max_tokens: 60, end_tokens: &[], cancel: &NEVER };
    let drafter = Some(Drafter { block: 8, mask: 0 });
    let run = |after: usize| {
        let cancel = Cancel::new();
        let mut session = model.session(&prompt, &image, &cancel);
        decode(&mut session, Decode::SPEC, drafter, None, &limits, &mut CancelAfter(after, cancel.clone())).unwrap()
    };
    let (all, some) = (run(usize::MAX), run(3));
    assert_eq!((all.stop, some.stop, some.rounds.len()), (Stop::Length, Stop::Cancelled, 4));
    assert!(all.tokens.starts_with(&some.tokens));
}

/// Decoding runs thousands of forwards: their memory is the session's, taken once.
#[test]
fn forwards_allocate_nothing() {
    for format in [Format::F32, Format::Bf16, Format::Int8] {
        let (config, model) = random_model(7, format);
        let image = ImageFeatures { grid: [1, 2], rows: vec![0.5; 2 * config.text.hidden_size] };
        let mut session = model.session(&[1, config.image_token_id, config.image_token_id, 2], &image, &NEVER);
        session.prefill().unwrap();
        let past = session.cached();
        let mut peaks = Vec::new();
        let mut forwards = || {
            for (window, mask) in [(vec![3; 33], Mask::Draft), (vec![4; 33], Mask::Causal), (vec![5], Mask::Causal)] {
                session.forward(&window, mask, &mut peaks).unwrap();
                session.truncate(past);
            }
        };
        // The windows are the test's own: three allocations.
        forwards();
        let again = allocation_counter::measure(forwards);
        assert_eq!((again.count_total, peaks.len()), (3, 1), "{format:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    /// The invariant, bit by bit, in every number format: on random checkpoints, images, block sizes, limits and end tokens.
    #[test]
    fn speculative_equals_autoregressive_on_random_checkpoints(
        seed: u64, block in 1usize..=40, max_tokens in 1usize..60, end in 0u32..200, steps in 1u32..4,
        format in prop::sample::select(vec![Format::F32, Format::Bf16, Format::Int8]),
    ) {
        let (config, model) = random_model(seed, format);
        let mut rng = fastrand::Rng::with_seed(seed);
        let vocab = config.text.vocab_size as u32;
        let noise = RgbImage::from_fn(28 * rng.u32(1..4), 28 * rng.u32(1..3), |_, _| image::Rgb([rng.u8(..); 3]));
        let checkpoint = Checkpoint::open(&fixtures().join("glm_ocr_tiny")).unwrap();
        let image = model.encode_image(&ImageProcessor::new(checkpoint.processor.clone()).process(&noise).unwrap(), &NEVER).unwrap();
        let mut prompt = vec![1, 2];
        prompt.extend(std::iter::repeat_n(config.image_token_id, image.grid[0] * image.grid[1]));
        prompt.extend([3, 4]);
        // Ids over the vocabulary never occur: such a request runs to its limit.
        let ends = [end % (2 * vocab)];
        let limits = Limits { max_tokens, end_tokens: &ends, cancel: &NEVER };
        let drafter = Some(Drafter { block, mask: vocab - 1 });
        let run = |mode| {
            decode(&mut model.session(&prompt, &image, &NEVER), mode, drafter, None, &limits, &mut ()).unwrap()
        };
        let (ar, spec) = (run(Decode::Ar), run(Decode::Spec { steps }));
        prop_assert_eq!(&ar.tokens, &spec.tokens);
        prop_assert_eq!(ar.stop, spec.stop);
        // Not only the ids: every row has the very bits that it has alone.
        let confidences = |d: &Decoded| -> Vec<u32> {
            d.rounds.iter().flat_map(|r| r.committed.iter().map(|t| t.confidence.to_bits())).collect()
        };
        prop_assert_eq!(confidences(&ar), confidences(&spec));
    }
}
