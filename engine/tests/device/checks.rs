//! What must hold on every card, emulated or not.

use std::path::{Path, PathBuf};
use std::sync::{Barrier, LazyLock};

use engine::cancel::Cancel;
use engine::checkpoint::{Checkpoint, ModelConfig, Weights};
use engine::decode::{Decode, Decoded, Drafter, Limits, Mask, Peak, Round, Sampling, Target, TargetError, decode};
use engine::device::{DeviceModel, DeviceSession};
use engine::model::image_processor::{ImageProcessor, Patches};
use engine::model::{ImageFeatures, Model};
use engine::region::Task;
use kernels::memory::Tensor;
use kernels::{Format, Kernel};
use serde_json::Value;

pub(crate) static NEVER: LazyLock<Cancel> = LazyLock::new(Cancel::new);

/// The fixtures of the repository, or where `GRAVITYOCR_FIXTURES` says they are.
pub(crate) fn fixtures() -> PathBuf {
    std::env::var_os("GRAVITYOCR_FIXTURES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures"), PathBuf::from)
}

/// Puts a model on a card.
pub(crate) type Open<'a> = &'a dyn Fn(&ModelConfig, &Weights, &[u32]) -> DeviceModel;

/// A checkpoint on a card and on the CPU.
pub(crate) struct Both {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) device: DeviceModel,
    pub(crate) cpu: Model,
}

impl Both {
    pub(crate) fn open(name: &str, open: Open<'_>) -> Self {
        let checkpoint = Checkpoint::open(&fixtures().join(name)).unwrap();
        let device = open(&checkpoint.config, &checkpoint.weights, &checkpoint.end_tokens);
        let cpu = Model::load(&checkpoint, Kernel::best(), Format::F32).unwrap();
        Self { checkpoint, device, cpu }
    }

    fn patches(&self, case: &str) -> Patches {
        let image = image::open(fixtures().join(case).join("resized.png")).unwrap().to_rgb8();
        ImageProcessor::new(self.checkpoint.processor.clone()).process(&image).unwrap()
    }

    fn prompt(&self, image: &ImageFeatures) -> Vec<u32> {
        self.checkpoint.prompt(Task::Text, image.grid[0] * image.grid[1]).unwrap()
    }

    fn session(&self, image: &ImageFeatures) -> DeviceSession<'_> {
        self.device.session(&self.prompt(image), image, 200, &NEVER).unwrap()
    }

    fn decode(&self, target: &mut dyn Target, mode: Decode, sampling: Option<Sampling>) -> Decoded {
        let limits = Limits { max_tokens: 120, end_tokens: &self.checkpoint.end_tokens, cancel: &NEVER };
        decode(target, mode, self.checkpoint.drafter(), sampling, &limits, &mut ()).unwrap()
    }
}

/// A target whose rounds are made of forwards.
struct Forwards<'a>(DeviceSession<'a>);

impl Target for Forwards<'_> {
    fn prefill(&mut self) -> Result<Peak, TargetError> {
        self.0.prefill()
    }

    fn forward(&mut self, window: &[u32], mask: Mask, peaks: &mut Vec<Peak>) -> Result<(), TargetError> {
        self.0.forward(window, mask, peaks)
    }

    fn cached(&self) -> usize {
        self.0.cached()
    }

    fn truncate(&mut self, tokens: usize) {
        self.0.truncate(tokens);
    }

    fn keep_logits(&mut self, keep: bool) {
        self.0.keep_logits(keep);
    }

    fn logits(&self, row: usize) -> &[f32] {
        self.0.logits(row)
    }
}

/// Norm of the difference relative to the norm of `want`.
pub(crate) fn relative(got: &[f32], want: &[f32]) -> f32 {
    assert_eq!(got.len(), want.len());
    let norm = |values: &mut dyn Iterator<Item = f32>| values.map(|v| v * v).sum::<f32>().sqrt();
    norm(&mut got.iter().zip(want).map(|(a, b)| a - b)) / norm(&mut want.iter().copied())
}

/// Rounds without their times.
fn timeless(decoded: &Decoded) -> Vec<Round> {
    let untimed = |round: &Round| Round { prefill_ms: 0.0, draft_ms: 0.0, verify_ms: 0.0, ..round.clone() };
    decoded.rounds.iter().map(untimed).collect()
}

/// Ids and probabilities, the latter to the bit.
fn bits(decoded: &Decoded) -> Vec<(u32, u32)> {
    decoded.rounds.iter().flat_map(|r| &r.committed).map(|t| (t.id, t.confidence.to_bits())).collect()
}

/// Tower, prefill, windows and rounds read what the reference reads (`tests/fixtures`: a checkpoint overfitted on drawn
/// pictures), in every mode.
pub(crate) fn lessons(open: Open<'_>) {
    let both = Both::open("glm_ocr_tiny_trained", open);
    for lesson in ["trained_receipt", "trained_minimal", "trained_prose", "trained_unseen"] {
        let case = format!("block_diffusion_cases/{lesson}");
        let patches = both.patches(&case);
        let image = both.device.encode_image(&patches, &NEVER).unwrap();
        let off = relative(&image.rows, &both.cpu.encode_image(&patches, &NEVER).unwrap().rows);
        assert!(off < 0.02, "{lesson}: the tower is off by {off}");

        let info = std::fs::read_to_string(fixtures().join(&case).join("case.json")).unwrap();
        let info: Value = serde_json::from_str(&info).unwrap();
        let want: Vec<u32> = serde_json::from_value(info["speculative"]["tokens"].clone()).unwrap();
        let run = |mode| both.decode(&mut both.session(&image), mode, None);
        let (spec, ar) = (run(Decode::SPEC), run(Decode::Ar));
        assert_eq!(bits(&spec), bits(&ar), "{lesson}: the probabilities too, because a row is computed alone");
        // The reference stopped at a length of its own. What was never learnt hangs on the last bits.
        let like = |tokens: &[u32]| lesson == "trained_unseen" || tokens.starts_with(&want);
        assert!(like(&spec.tokens), "{lesson}: {:?} is not {want:?}", spec.tokens);
        let forwards = both.decode(&mut Forwards(both.session(&image)), Decode::SPEC, None);
        assert_eq!(timeless(&spec), timeless(&forwards), "{lesson}: a fused round and one made of forwards");
        assert_eq!(run(Decode::Spec { steps: 3 }).tokens, spec.tokens, "{lesson}: refined drafts");

        // Almost no heat picks the arg-max, from logits that came back from the card.
        let sampling = Some(Sampling { temperature: 1e-3, seed: 7 });
        let prompt = both.prompt(&image);
        let mut session = both.device.session(&prompt, &image, 200, &NEVER).unwrap();
        let sampled = both.decode(&mut session, Decode::SPEC, sampling);
        assert!(like(&sampled.tokens), "{lesson}: {:?} was sampled for {want:?}", sampled.tokens);
        let diffusion = Decode::Diffusion { tau: 0.9, causal_seed: false };
        assert!(!run(diffusion).tokens.is_empty());
    }
}

/// Requests that run side by side give what each gives alone, to the bit.
pub(crate) fn side_by_side(open: Open<'_>) {
    let both = Both::open("glm_ocr_tiny_trained", open);
    let images: Vec<ImageFeatures> = ["trained_receipt", "trained_minimal", "trained_prose", "trained_unseen"]
        .map(|lesson| {
            both.device.encode_image(&both.patches(&format!("block_diffusion_cases/{lesson}")), &NEVER).unwrap()
        })
        .into();
    for mode in [Decode::SPEC, Decode::Ar] {
        let alone: Vec<_> =
            images.iter().map(|image| bits(&both.decode(&mut both.session(image), mode, None))).collect();
        let barrier = Barrier::new(images.len());
        let together: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = images
                .iter()
                .map(|image| {
                    let (both, barrier) = (&both, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        bits(&both.decode(&mut both.session(image), mode, None))
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(alone, together, "{mode:?}");
    }
}

/// The invariant on a random model: speculative equals autoregressive, to the bit, over odd lengths and block sizes.
pub(crate) fn invariant(open: Open<'_>, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let mut rng = fastrand::Rng::with_seed(seed);
        let checkpoint = Checkpoint::open(&fixtures().join("glm_ocr_tiny")).unwrap();
        let (config, weights) = random(&checkpoint.config, &mut rng);
        let ends = [rng.u32(..2 * config.text.vocab_size as u32)];
        let device = open(&config, &weights, &ends);
        let noise =
            image::RgbImage::from_fn(28 * rng.u32(1..5), 28 * rng.u32(1..4), |_, _| image::Rgb([rng.u8(..); 3]));
        let patches = ImageProcessor::new(checkpoint.processor.clone()).process(&noise).unwrap();
        let image = device.encode_image(&patches, &NEVER).unwrap();
        let mut prompt = vec![1, 2];
        prompt.extend(std::iter::repeat_n(config.image_token_id, image.grid[0] * image.grid[1]));
        prompt.extend([3, 4]);
        let drafter = Some(Drafter { block: rng.usize(1..40), mask: config.text.vocab_size as u32 - 1 });
        let limits = Limits { max_tokens: rng.usize(20..90), end_tokens: &ends, cancel: &NEVER };
        let run = |mode| {
            let mut session = device.session(&prompt, &image, limits.max_tokens, &NEVER).unwrap();
            decode(&mut session, mode, drafter, None, &limits, &mut ()).unwrap()
        };
        assert_eq!(bits(&run(Decode::SPEC)), bits(&run(Decode::Ar)), "seed {seed}, {drafter:?}");
    }
}

/// Random sizes that the kernels have, random weights in both formats.
pub(crate) fn random(config: &ModelConfig, rng: &mut fastrand::Rng) -> (ModelConfig, Weights) {
    let mut config = config.clone();
    let t = &mut config.text;
    t.vocab_size = rng.usize(20..200);
    t.num_hidden_layers = rng.usize(1..4);
    t.num_key_value_heads = rng.usize(1..4);
    t.num_attention_heads = t.num_key_value_heads * rng.usize(1..4);
    t.head_dim = 8 * rng.usize(1..6);
    t.mrope_section = [t.head_dim / 8, t.head_dim / 8, t.head_dim / 4];
    t.hidden_size = 8 * rng.usize(1..12);
    t.intermediate_size = 8 * rng.usize(1..16);
    config.vision.out_hidden_size = t.hidden_size;
    config.image_token_id = t.vocab_size as u32 - 2;
    let tensors: Vec<(String, Tensor)> = config
        .tensors()
        .into_iter()
        .map(|(name, shape)| {
            let n: usize = shape.iter().product();
            let is_norm = name.contains("norm");
            // Spread enough that arg-maxima vary along a sequence.
            let scale = if is_norm { 0.3 } else { 2.5 / (n as f32 / shape[0] as f32).sqrt() };
            let offset = if is_norm && name.ends_with("weight") { 1.0 } else { 0.0 };
            let values: Vec<f32> = (0..n).map(|_| (rng.f32() - 0.5) * 2.0 * scale + offset).collect();
            let single = rng.bool();
            let tensor =
                if single { Tensor::from_f32(&shape, &values) } else { Tensor::from_f32_as_bf16(&shape, &values) };
            (name, tensor.unwrap())
        })
        .collect();
    (config, Weights::from_tensors(tensors))
}
