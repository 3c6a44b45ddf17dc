//! How much memory the model takes on a card: a pure function of its sizes and of what it is to serve.

use kernels::cuda::abi::{self, MAX_HEAD, MAX_WINDOW};
use kernels::cuda::launch;

use super::{DeviceError, weights};
use crate::checkpoint::{ModelConfig, VisionConfig};

/// What a card is to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Requests side by side.
    pub sequences: usize,
    /// Tokens of all their caches together.
    pub cache_tokens: usize,
    /// Tokens of one cache at most, so that attention's parts have a bound.
    pub sequence_tokens: usize,
}

impl Extent {
    /// For so many requests side by side, `tokens` of each on average.
    pub fn new(sequences: usize, tokens: usize) -> Self {
        Self { sequences, cache_tokens: sequences * tokens, sequence_tokens: (sequences * tokens).min(LONGEST) }
    }
}

/// Tokens of one request at most: the largest picture (6144 tokens) with its prompt and 4096 tokens of answer, and room
/// for a last window.
const LONGEST: usize = 10_496;

/// Every piece of memory starts at a multiple of so many bytes.
pub(super) const ALIGNMENT: usize = 256;

/// One piece of memory that is given out buffer after buffer.
#[derive(Default)]
struct Arena {
    bytes: usize,
}

impl Arena {
    /// Adds a buffer and gives its offset.
    fn add(&mut self, bytes: usize) -> usize {
        let offset = self.bytes;
        self.bytes = (offset + bytes).next_multiple_of(ALIGNMENT);
        offset
    }
}

/// Bytes by purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What it serves.
    pub extent: Extent,
    /// Weights and rotation tables.
    pub weights: usize,
    /// Keys and values.
    pub cache: usize,
    /// Buffers of the decoding windows.
    pub window: usize,
    /// Buffers of the vision tower and of prefill for a common picture; they grow with the picture.
    pub bulk: usize,
}

/// A common region: a picture of so many patches, a prompt of so many tokens.
const COMMON: (usize, usize) = (4096, 1280);

impl Plan {
    /// Plans for a model.
    pub fn new(config: &ModelConfig, extent: Extent) -> Self {
        let t = &config.text;
        let cache = 2 * t.num_hidden_layers * layer_cache(config, extent.cache_tokens);
        let bulk = vision_pieces(&config.vision, COMMON.0).1.max(prompt_pieces(config, COMMON.1).1);
        Self {
            extent,
            weights: weights::bytes(config, extent.sequence_tokens),
            cache,
            window: window_pieces(config, extent).1,
            bulk,
        }
    }

    /// All of it, bytes.
    pub fn bytes(&self) -> usize {
        self.weights + self.cache + self.window + self.bulk
    }

    /// The plan for the most requests side by side (8, 4, 2 or 1) that fits into `free` bytes, some of them left over;
    /// when not even one fits, the plan for one.
    pub fn fitting(config: &ModelConfig, free: u64) -> Self {
        const TOKENS: usize = 5376; // a common prompt and 4096 tokens of answer
        let plan = |sequences| Self::new(config, Extent::new(sequences, if sequences == 1 { LONGEST } else { TOKENS }));
        let fits = |plan: &Self| (plan.bytes() + RESERVE) as u64 <= free;
        [8, 4, 2].map(plan).into_iter().find(fits).unwrap_or_else(|| plan(1))
    }
}

/// Memory left to the driver and to larger pictures, bytes.
const RESERVE: usize = 256 << 20;

/// Bytes of one layer's keys (or values) for so many tokens.
pub(super) fn layer_cache(config: &ModelConfig, tokens: usize) -> usize {
    2 * config.text.num_key_value_heads * config.text.head_dim * tokens
}

/// Why the kernels cannot run a model of these sizes, in one sentence.
pub(super) fn check(config: &ModelConfig) -> Result<(), DeviceError> {
    let (t, v) = (&config.text, &config.vision);
    let eights = [
        ("text_config.hidden_size", t.hidden_size),
        ("text_config.intermediate_size", t.intermediate_size),
        ("text_config.head_dim", t.head_dim),
        ("vision_config.hidden_size", v.hidden_size),
        ("vision_config.intermediate_size", v.intermediate_size),
        ("the vision tower's head size", v.head_dim()),
    ];
    if let Some((name, size)) = eights.into_iter().find(|(_, size)| !size.is_multiple_of(8)) {
        return Err(DeviceError::Unfit(format!(
            "the CUDA kernels need sizes that are multiples of 8, and {name} is {size}"
        )));
    }
    let head = t.head_dim.max(v.head_dim());
    if head > MAX_HEAD {
        return Err(DeviceError::Unfit(format!(
            "the CUDA kernels take heads of at most {MAX_HEAD}, and this model's have {head}"
        )));
    }
    if 4 * t.hidden_size > launch::SHARED_LIMIT as usize {
        return Err(DeviceError::Unfit(format!("the CUDA kernels cannot run a hidden size of {}", t.hidden_size)));
    }
    Ok(())
}

macro_rules! pieces {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub(super) struct $name { $($(#[$field_doc])* pub(super) $field: usize,)* }
    };
}

pieces! {
    /// Offsets of the window's buffers.
    WindowPieces {
        /// What the host uploads for each launch: slots, the slot of each sequence, token ids.
        slots, sequence_slots, ids, ends,
        hidden, x, parts, queries, attention, attention_parts, attention_weights, inner, peak_parts,
        /// `Peak` of every row: of the draft, of the verifier (or of a single forward).
        draft, verify,
        records,
        /// f32 `[MAX_WINDOW, vocabulary]`.
        logits,
    }
}

/// The window's buffers, and all their bytes.
pub(super) fn window_pieces(config: &ModelConfig, extent: Extent) -> (WindowPieces, usize) {
    let t = &config.text;
    let mut arena = Arena::default();
    let Extent { sequences, sequence_tokens, .. } = extent;
    let rows = sequences * MAX_WINDOW;
    let (hidden, inner, queries) = (t.hidden_size, t.intermediate_size, t.num_attention_heads * t.head_dim);
    let qkv = (t.num_attention_heads + 2 * t.num_key_value_heads) * t.head_dim;
    let products = [(qkv, hidden), (hidden, queries), (hidden, inner)];
    let parts = products.map(|(n, k)| n * launch::splits(n, k)).into_iter().max().unwrap_or(0);
    let chunks = chunk_bucket(sequence_tokens);
    let pairs = rows * t.num_attention_heads * chunks;
    let peak = size_of::<abi::Peak>();
    let pieces = WindowPieces {
        slots: arena.add(sequences * size_of::<abi::Slot>()),
        sequence_slots: arena.add(sequences * 4),
        ids: arena.add(rows * 4),
        ends: arena.add(ENDS * 4),
        hidden: arena.add(rows * hidden * 4),
        x: arena.add(rows * hidden * 2),
        parts: arena.add(rows * parts * 4),
        queries: arena.add(rows * queries * 2),
        attention: arena.add(rows * queries * 2),
        attention_parts: arena.add(pairs * t.head_dim * 4),
        attention_weights: arena.add(pairs * 8),
        inner: arena.add(rows * inner * 2),
        peak_parts: arena.add(rows * launch::peak_tiles(t.vocab_size) * size_of::<abi::PeakPart>()),
        draft: arena.add(rows * peak),
        verify: arena.add(rows * peak),
        records: arena.add(sequences * size_of::<abi::Record>()),
        logits: arena.add(MAX_WINDOW * t.vocab_size * 4),
    };
    (pieces, arena.bytes)
}

/// End tokens that fit.
pub(super) const ENDS: usize = 64;

/// Parts that attention is cut into for caches of at most `keys` tokens, the window included: a power of two, so that few
/// graphs serve all lengths, and never one, because a single part is computed along another path.
pub(super) fn chunk_bucket(keys: usize) -> usize {
    launch::chunks(keys).next_power_of_two().max(2)
}

/// Sequences of a launch that serves so many requests: a power of two or three quarters of one, so that few graphs serve
/// all and few rows are idle.
pub(super) fn sequence_bucket(requests: usize) -> usize {
    let power = requests.next_power_of_two();
    let between = power / 4 * 3;
    if requests <= between { between } else { power }
}

pieces! {
    /// Offsets of the vision tower's buffers.
    VisionPieces { pixels, packed, hidden, x, qkv, attention, inner, merged, projected, wide, features, }
}

/// The vision tower's buffers for so many patches, and all their bytes.
pub(super) fn vision_pieces(v: &VisionConfig, patches: usize) -> (VisionPieces, usize) {
    let mut arena = Arena::default();
    let tokens = patches / (v.spatial_merge_size * v.spatial_merge_size);
    let (hidden, out) = (v.hidden_size, v.out_hidden_size);
    let pieces = VisionPieces {
        pixels: arena.add(patches * weights::patch_values(v) * 4),
        packed: arena.add(patches * weights::patch_pitch(v) * 2),
        hidden: arena.add(patches * hidden * 4),
        x: arena.add(patches * hidden * 2),
        qkv: arena.add(patches * 3 * hidden * 2),
        attention: arena.add(patches * hidden * 2),
        inner: arena.add(patches * v.intermediate_size * 2),
        merged: arena.add(tokens * out * 2),
        projected: arena.add(tokens * out * 4),
        wide: arena.add(tokens * v.merger_size() * 2),
        features: arena.add(tokens * out * 4),
    };
    (pieces, arena.bytes)
}

pieces! {
    /// Offsets of prefill's buffers.
    PromptPieces { ids, positions, features, hidden, x, parts, queries, attention, inner, }
}

/// Prefill's buffers for so many tokens, and all their bytes.
pub(super) fn prompt_pieces(config: &ModelConfig, tokens: usize) -> (PromptPieces, usize) {
    let t = &config.text;
    let mut arena = Arena::default();
    let queries = t.num_attention_heads * t.head_dim;
    let qkv = queries + 2 * t.num_key_value_heads * t.head_dim;
    let pieces = PromptPieces {
        ids: arena.add(tokens * 4),
        positions: arena.add(tokens * 12),
        features: arena.add(tokens * t.hidden_size * 4),
        hidden: arena.add(tokens * t.hidden_size * 4),
        x: arena.add(tokens * t.hidden_size * 2),
        parts: arena.add(tokens * qkv.max(t.hidden_size) * 4),
        queries: arena.add(tokens * queries * 2),
        attention: arena.add(tokens * queries * 2),
        inner: arena.add(tokens * t.intermediate_size * 2),
    };
    (pieces, arena.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_sizes_serve_all_batches() {
        let buckets: Vec<usize> = (1..=16).map(sequence_bucket).collect();
        assert_eq!(buckets, [1, 2, 3, 4, 6, 6, 8, 8, 12, 12, 12, 12, 16, 16, 16, 16]);
    }

    #[test]
    fn attention_over_any_cache_is_cut_into_parts() {
        assert_eq!([1, 64, 128, 129, 513].map(chunk_bucket), [2, 2, 2, 4, 16]);
    }
}
