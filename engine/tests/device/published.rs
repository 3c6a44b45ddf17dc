//! The published sizes with one layer of the decoder, one block of the tower and a small vocabulary, against the CPU.

use engine::checkpoint::{ModelConfig, Synthetic, Weights};
use engine::decode::{Decode, Drafter, Limits, Mask, Peak, Target, decode};
use engine::device::DeviceSession;
use engine::model::image_processor::Patches;
use engine::model::{ImageFeatures, Model};
use kernels::{Format, Kernel};

use crate::checks::{NEVER, Open, fixtures, relative};

/// Not a multiple of any tile.
const VOCABULARY: usize = 1003;
/// Patch grids of the pictures, the first of which is none. The prompts have 11, 26 and 56 tokens: no multiple of any tile,
/// and the windows after the last lie in two steps of attention.
const GRIDS: [[usize; 2]; 3] = [[0, 0], [6, 10], [10, 18]];

fn windows() -> impl Iterator<Item = (Mask, usize)> {
    [Mask::Causal, Mask::Draft].into_iter().flat_map(|mask| [1, 2, 33, 40].map(|rows| (mask, rows)))
}

/// The card rounds to bf16 what it multiplies, and so does the CPU's model in bf16, by other code: the two are about as far
/// from the model in f32. The card may be so many times as far.
const FACTOR: f32 = 1.5;

struct Sizes {
    model: Synthetic,
    weights: Weights,
}

impl Sizes {
    fn new(layers: usize) -> Self {
        let mut model = Synthetic::open(&fixtures().join("real_size")).unwrap();
        let config = &mut model.config;
        (config.text.num_hidden_layers, config.text.vocab_size, config.vision.depth) = (layers, VOCABULARY, 1);
        config.image_token_id = VOCABULARY as u32 - 1;
        (config.image_start_token_id, config.image_end_token_id) = (Some(1), Some(2));
        // Random tensors are made each time that they are asked for.
        let random = model.weights(2.0).unwrap();
        let tensor = |(name, shape): (String, Vec<usize>)| (name.clone(), random.tensor(&name, &shape).unwrap());
        let weights = Weights::from_tensors(model.config.tensors().into_iter().map(tensor).collect::<Vec<_>>());
        Self { model, weights }
    }

    fn config(&self) -> &ModelConfig {
        &self.model.config
    }

    fn on_the_cpu(&self, format: Format) -> Model {
        Model::from_weights(self.config(), &self.weights, Kernel::best(), format).unwrap()
    }

    fn noise(&self, grid: [usize; 2]) -> Patches {
        let mut rng = fastrand::Rng::with_seed(grid[1] as u64);
        let values = (0..grid[0] * grid[1] * 3 * 14 * 14).map(|_| rng.f32() * 4.0 - 2.0).collect();
        Patches { grid, values, resized: (14 * grid[1] as u32, 14 * grid[0] as u32) }
    }
}

fn tokens() -> Vec<u32> {
    (0..40).map(|n| (n * 7919 + 11) % (VOCABULARY as u32 - 1)).collect()
}

/// One window: the arg-max of each row and all logits where they are kept. The cache is left as it was.
fn window(target: &mut dyn Target, rows: usize, mask: Mask) -> (Vec<Peak>, Vec<f32>) {
    let (past, mut peaks) = (target.cached(), Vec::new());
    target.forward(&tokens()[..rows], mask, &mut peaks).unwrap();
    assert_eq!((peaks.len(), target.cached()), (rows, past + rows));
    target.truncate(past);
    (peaks, (0..rows).flat_map(|row| target.logits(row).to_vec()).collect())
}

/// Every row about as near to f32 as one rounded by the CPU.
#[track_caller]
fn near(what: &str, width: usize, got: &[f32], rounded: &[f32], exact: &[f32]) {
    assert!(!exact.is_empty() && exact.len() == rounded.len(), "{what}");
    let off = relative(rounded, exact);
    println!("{what}: off by {}, rounded by {off}", relative(got, exact));
    assert!(off < 0.02, "{what}: rounding is {off}, more than bf16 explains");
    for (row, (got, want)) in got.chunks_exact(width).zip(exact.chunks_exact(width)).enumerate() {
        let got = relative(got, want);
        assert!(got < FACTOR * off, "{what}: row {row} is off by {got}, and rounding by {off}");
    }
}

/// Tower, prefill, and windows of all sizes under both masks, alone and side by side over caches of several lengths; a row
/// has the same bits in all of them.
pub(crate) fn one_layer(open: Open<'_>) {
    let sizes = Sizes::new(1);
    let device = open(sizes.config(), &sizes.weights, &[]);
    let [exact, rounded] = [Format::F32, Format::Bf16].map(|format| sizes.on_the_cpu(format));
    let mut alone = Vec::new();
    let mut sessions = GRIDS.map(|grid| {
        let patches = sizes.noise(grid);
        let mut image = ImageFeatures { grid, rows: Vec::new() };
        if !patches.values.is_empty() {
            image = exact.encode_image(&patches, &NEVER).unwrap();
            let (got, coarse) =
                (device.encode_image(&patches, &NEVER).unwrap(), rounded.encode_image(&patches, &NEVER).unwrap());
            let width = sizes.config().text.hidden_size;
            near(&format!("the tower on {grid:?}"), width, &got.rows, &coarse.rows, &image.rows);
        }

        let prompt = sizes.model.prompt(grid[0] * grid[1] / 4);
        let mut card = device.session(&prompt, &image, 100, &NEVER).unwrap();
        let (mut exact, mut rounded) =
            (exact.session(&prompt, &image, &NEVER), rounded.session(&prompt, &image, &NEVER));
        for target in [&mut card as &mut dyn Target, &mut exact, &mut rounded] {
            target.keep_logits(true);
            target.prefill().unwrap();
        }
        let what = format!("{} tokens", prompt.len());
        near(&what, VOCABULARY, card.logits(0), rounded.logits(0), exact.logits(0));
        let mut peaks = Vec::new();
        let mut before: Vec<f32> = Vec::new();
        for (mask, rows) in windows() {
            let what = format!("{what}, then {rows} rows, {mask:?}");
            let (found, logits) = window(&mut card, rows, mask);
            let (coarse, want) = (window(&mut rounded, rows, mask).1, window(&mut exact, rows, mask).1);
            near(&what, VOCABULARY, &logits, &coarse, &want);
            // A causal row does not see those after it, nor does a draft's first.
            let causal = if mask == Mask::Causal { rows } else { 1 };
            let same = before.len().min(causal * VOCABULARY);
            assert!(logits[..same] == before[..same], "{what}, and in another window");
            before = logits;
            peaks.push(found);
        }
        alone.push(peaks);
        card.keep_logits(false); // what wants logits runs alone
        card
    });
    assert_eq!(side_by_side(&mut sessions), *alone, "side by side and alone");
}

/// The peaks of every request's windows by mask and size, all requests at once. Three of them: when one is too early to run
/// with the others, these still run together.
fn side_by_side(sessions: &mut [DeviceSession<'_>; 3]) -> [Vec<Vec<Peak>>; 3] {
    let mut peaks = [const { Vec::new() }; 3];
    for (mask, rows) in windows() {
        std::thread::scope(|scope| {
            let threads = sessions.each_mut().map(|session| scope.spawn(move || window(session, rows, mask).0));
            peaks.iter_mut().zip(threads).for_each(|(peaks, thread)| peaks.push(thread.join().unwrap()));
        });
    }
    peaks
}

/// A whole forward and rounds compute the same bits whether launches overlap and run as graphs, or one after the other.
pub(crate) fn overlap(layers: usize, overlapping: Open<'_>, stepwise: Open<'_>) {
    let sizes = Sizes::new(layers);
    let [overlapping, stepwise] = [overlapping, stepwise].map(|open| {
        let device = open(sizes.config(), &sizes.weights, &[]);
        let image = device.encode_image(&sizes.noise(GRIDS[2]), &NEVER).unwrap();
        let prompt = sizes.model.prompt(image.grid[0] * image.grid[1]);
        let mut session = device.session(&prompt, &image, 100, &NEVER).unwrap();
        session.keep_logits(true);
        session.prefill().unwrap();
        let mut numbers = [&image.rows, session.logits(0)].concat();
        // The first time launch by launch, then as a graph that is made, then as one that is there.
        for (mask, rows) in (0..3).flat_map(|_| windows()) {
            numbers.extend(window(&mut session, rows, mask).1);
        }
        drop(session);
        let limits = Limits { max_tokens: 100, end_tokens: &[], cancel: &NEVER };
        let drafter = Some(Drafter { block: 32, mask: 0 });
        let mut session = device.session(&prompt, &image, limits.max_tokens, &NEVER).unwrap();
        let decoded = decode(&mut session, Decode::SPEC, drafter, None, &limits, &mut ()).unwrap();
        numbers.extend(decoded.rounds.iter().flat_map(|round| &round.committed).map(|token| token.confidence));
        numbers
    });
    assert!(overlapping.iter().all(|number| number.is_finite()));
    assert!(overlapping.len() == stepwise.len() && overlapping == stepwise, "launches that overlap disturb each other");
}
