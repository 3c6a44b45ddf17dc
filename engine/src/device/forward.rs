//! The model's forwards as sequences of launches: pure functions of sizes and addresses.

use kernels::cuda::abi::{
    AddNormArguments, AttentionArguments, EmbedArguments, Epilogue, LayerNormArguments, NormArguments, PackArguments,
    PeakArguments, ProductArguments, RotateStoreArguments, VisionRotateArguments, mask,
};
use kernels::cuda::driver::DevicePtr;
use kernels::cuda::launch::{self, Launch};

use super::weights::{Affine, TextWeights, VisionWeights, patch_pitch, patch_values};
use crate::checkpoint::{TextConfig, VisionConfig};

/// What runs through the decoder, and where its rows lie.
#[derive(Clone, Copy)]
pub(super) struct Pass {
    /// Rows in all.
    pub(super) rows: usize,
    /// Rows of each sequence.
    pub(super) window: usize,
    /// One of [`mask`].
    pub(super) mask: i32,
    /// Parts that attention is cut into; 1 in prefill.
    pub(super) chunks: usize,
    /// Whether there are many rows: products are tiled for arithmetic and not split.
    pub(super) bulk: bool,
    /// i32 `[rows]`; a negative one names a row of `features`.
    pub(super) ids: DevicePtr,
    /// i32 `[rows, 3]`; null: rows follow the cache.
    pub(super) positions: DevicePtr,
    /// f32 `[feature_rows, hidden]`, or null.
    pub(super) features: DevicePtr,
    pub(super) feature_rows: usize,
    /// Working memory: f32 `[rows, hidden]`, bf16 `[rows, hidden]`, f32 `[splits, rows, n]`, and so on.
    pub(super) hidden: DevicePtr,
    pub(super) x: DevicePtr,
    pub(super) parts: DevicePtr,
    pub(super) queries: DevicePtr,
    pub(super) attention: DevicePtr,
    pub(super) attention_parts: DevicePtr,
    pub(super) attention_weights: DevicePtr,
    pub(super) inner: DevicePtr,
}

/// The caches.
#[derive(Clone, Copy)]
pub(super) struct Caches {
    pub(super) slots: DevicePtr,
    pub(super) sequence_slots: DevicePtr,
    /// Layer by layer, the keys' pool and the values' pool.
    pub(super) pools: DevicePtr,
    /// Bytes of one pool.
    pub(super) pool: usize,
}

/// A product `[rows, k] x [n, k]^T`.
struct Product {
    x: DevicePtr,
    weight: DevicePtr,
    bias: DevicePtr,
    out: DevicePtr,
    n: usize,
    k: usize,
    epilogue: Epilogue,
}

impl Product {
    fn arguments(&self, rows: usize, splits: usize) -> ProductArguments {
        ProductArguments {
            x: self.x.0,
            weight: self.weight.0,
            bias: self.bias.0,
            out: self.out.0,
            rows: rows as i32,
            n: self.n as i32,
            k: self.k as i32,
            x_pitch: self.k as i32,
            out_pitch: self.n as i32,
            splits: splits as i32,
            epilogue: self.epilogue as i32,
            pad: 0,
        }
    }
}

const NULL: DevicePtr = DevicePtr(0);

impl Pass {
    /// Runs a product; gives the number of planes that it leaves.
    fn product(&self, list: &mut Vec<Launch>, product: Product) -> i32 {
        let split = !self.bulk && product.epilogue == Epilogue::Float;
        let splits = if split { launch::splits(product.n, product.k) } else { 1 };
        let arguments = product.arguments(self.rows, splits);
        list.push(if self.bulk { arguments.bulk() } else { arguments.window() });
        splits as i32
    }
}

/// The decoder's layers: `pass.ids` to normed rows in `pass.x`, keys and values into the caches.
pub(super) fn decoder(t: &TextConfig, weights: &TextWeights, caches: Caches, pass: &Pass) -> Vec<Launch> {
    let mut list = Vec::with_capacity(2 + 9 * weights.layers.len());
    let (hidden, heads, kv_heads, head_dim) = (t.hidden_size, t.num_attention_heads, t.num_key_value_heads, t.head_dim);
    let (rows, width, eps) = (pass.rows as i32, hidden as i32, t.rms_norm_eps as f32);
    let norms = weights.layers.iter().map(|layer| layer.input_layernorm).chain([weights.norm]);
    let embed = EmbedArguments {
        ids: pass.ids.0,
        table: weights.embed_tokens.0,
        features: pass.features.0,
        norm: norms.clone().next().unwrap_or(weights.norm).0,
        hidden: pass.hidden.0,
        out: pass.x.0,
        rows,
        width,
        vocabulary: t.vocab_size as i32,
        feature_rows: pass.feature_rows as i32,
        eps,
        pad: 0,
    };
    list.push(embed.launch());
    for (n, (layer, next)) in weights.layers.iter().zip(norms.skip(1)).enumerate() {
        let keys = caches.pools.offset(2 * n * caches.pool);
        let values = keys.offset(caches.pool);
        let float =
            |x, weight, n, k| Product { x, weight, bias: NULL, out: pass.parts, n, k, epilogue: Epilogue::Float };
        let splits = pass.product(&mut list, float(pass.x, layer.qkv, (heads + 2 * kv_heads) * head_dim, hidden));
        let rotate = RotateStoreArguments {
            parts: pass.parts.0,
            table: weights.rotations.0,
            positions: pass.positions.0,
            slots: caches.slots.0,
            sequence_slots: caches.sequence_slots.0,
            queries: pass.queries.0,
            keys: keys.0,
            values: values.0,
            rows,
            window: pass.window as i32,
            heads: heads as i32,
            kv_heads: kv_heads as i32,
            head_dim: head_dim as i32,
            splits,
            section_t: t.mrope_section[0] as i32,
            section_h: t.mrope_section[1] as i32,
            positions_limit: weights.positions as i32,
            pad: 0,
        };
        list.push(rotate.launch());
        let attention = AttentionArguments {
            queries: pass.queries.0,
            keys: keys.0,
            values: values.0,
            slots: caches.slots.0,
            sequence_slots: caches.sequence_slots.0,
            out: pass.attention.0,
            parts: pass.attention_parts.0,
            weights: pass.attention_weights.0,
            rows,
            window: pass.window as i32,
            heads: heads as i32,
            kv_heads: kv_heads as i32,
            head_dim: head_dim as i32,
            query_pitch: (heads * head_dim) as i32,
            key_pitch: head_dim as i32,
            mask: pass.mask,
            chunks: pass.chunks as i32,
            chunk: launch::CHUNK as i32,
            scale: (head_dim as f32).powf(-0.5),
            pad: 0,
        };
        list.push(attention.launch());
        if pass.chunks > 1 {
            list.push(attention.combine());
        }
        let add_norm = |post: DevicePtr, next: DevicePtr, splits| AddNormArguments {
            parts: pass.parts.0,
            post: post.0,
            next: next.0,
            hidden: pass.hidden.0,
            out: pass.x.0,
            rows,
            width,
            splits,
            eps,
        };
        let splits = pass.product(&mut list, float(pass.attention, layer.o_proj, hidden, heads * head_dim));
        list.push(add_norm(layer.post_self_attn_layernorm, layer.post_attention_layernorm, splits).launch());
        let gated = Product {
            x: pass.x,
            weight: layer.gate_up_proj,
            bias: NULL,
            out: pass.inner,
            n: t.intermediate_size,
            k: hidden,
            epilogue: Epilogue::SwiGlu,
        };
        pass.product(&mut list, gated);
        let splits = pass.product(&mut list, float(pass.inner, layer.down_proj, hidden, t.intermediate_size));
        list.push(add_norm(layer.post_mlp_layernorm, next, splits).launch());
    }
    list
}

/// The head over normed rows: the two largest logits of each into `peaks`.
pub(super) fn head(
    t: &TextConfig,
    weights: &TextWeights,
    x: DevicePtr,
    rows: usize,
    parts: DevicePtr,
    peaks: DevicePtr,
) -> [Launch; 2] {
    let tiles = launch::peak_tiles(t.vocab_size) as i32;
    let peak = PeakArguments { parts: parts.0, out: peaks.0, rows: rows as i32, tiles };
    [head_product(t, weights, x, parts, Epilogue::Peaks).arguments(rows, 1).window(), peak.launch()]
}

/// The head over normed rows: all logits, f32 `[rows, vocabulary]`.
pub(super) fn logits(t: &TextConfig, weights: &TextWeights, x: DevicePtr, rows: usize, out: DevicePtr) -> Launch {
    head_product(t, weights, x, out, Epilogue::Float).arguments(rows, 1).window()
}

fn head_product(t: &TextConfig, weights: &TextWeights, x: DevicePtr, out: DevicePtr, epilogue: Epilogue) -> Product {
    Product { x, weight: weights.lm_head, bias: NULL, out, n: t.vocab_size, k: t.hidden_size, epilogue }
}

/// A picture on its way through the tower, and where its rows lie.
#[derive(Clone, Copy)]
pub(super) struct Picture {
    /// Rows and columns of patches.
    pub(super) grid: [usize; 2],
    /// f32 `[patches, 3 * patch * patch]`.
    pub(super) pixels: DevicePtr,
    pub(super) packed: DevicePtr,
    pub(super) hidden: DevicePtr,
    pub(super) x: DevicePtr,
    pub(super) qkv: DevicePtr,
    pub(super) attention: DevicePtr,
    pub(super) inner: DevicePtr,
    pub(super) merged: DevicePtr,
    pub(super) projected: DevicePtr,
    pub(super) wide: DevicePtr,
    /// The result, f32 `[tokens, text hidden]`.
    pub(super) features: DevicePtr,
}

/// The vision tower and the merger: `picture.pixels` to `picture.features`.
pub(super) fn tower(v: &VisionConfig, weights: &VisionWeights, picture: &Picture) -> Vec<Launch> {
    let mut list = Vec::with_capacity(8 + 7 * weights.blocks.len());
    let Picture { hidden, x, qkv, .. } = *picture;
    let patches = picture.grid[0] * picture.grid[1];
    let (width, heads, head_dim) = (v.hidden_size, v.num_heads, v.head_dim());
    let (rows, eps) = (patches as i32, v.rms_norm_eps as f32);
    let product = |x, affine: Affine, out, n, k, epilogue| {
        Product { x, weight: affine.weight, bias: affine.bias, out, n, k, epilogue }.arguments(patches, 1).bulk()
    };
    let norm = |weight: DevicePtr| {
        NormArguments { x: hidden.0, weight: weight.0, out: x.0, rows, width: width as i32, eps, pad: 0 }.launch()
    };

    let (values, pitch) = (patch_values(v), patch_pitch(v));
    let pack = PackArguments {
        input: picture.pixels.0,
        out: picture.packed.0,
        rows,
        width: values as i32,
        pitch: pitch as i32,
        pad: 0,
    };
    list.push(pack.launch());
    list.push(product(picture.packed, weights.patch_embed, hidden, width, pitch, Epilogue::Float));
    for block in &weights.blocks {
        list.push(norm(block.norm1));
        list.push(product(x, block.qkv, qkv, 3 * width, width, Epilogue::Half));
        let rotate = VisionRotateArguments {
            qkv: qkv.0,
            q_norm: block.q_norm.0,
            k_norm: block.k_norm.0,
            table: weights.rotations.0,
            rows,
            heads: heads as i32,
            head_dim: head_dim as i32,
            columns: picture.grid[1] as i32,
            merge: v.spatial_merge_size as i32,
            eps,
        };
        list.push(rotate.launch());
        let attention = AttentionArguments {
            queries: qkv.0,
            keys: qkv.offset(2 * width).0,
            values: qkv.offset(4 * width).0,
            slots: 0,
            sequence_slots: 0,
            out: picture.attention.0,
            parts: 0,
            weights: 0,
            rows,
            window: rows,
            heads: heads as i32,
            kv_heads: heads as i32,
            head_dim: head_dim as i32,
            query_pitch: 3 * width as i32,
            key_pitch: 3 * width as i32,
            mask: mask::BLOCK,
            chunks: 1,
            chunk: 0,
            scale: (head_dim as f32).powf(-0.5),
            pad: 0,
        };
        list.push(attention.launch());
        list.push(product(picture.attention, block.proj, hidden, width, width, Epilogue::Add));
        list.push(norm(block.norm2));
        list.push(product(x, block.gate_up, picture.inner, v.intermediate_size, width, Epilogue::SwiGlu));
        list.push(product(picture.inner, block.down, hidden, width, v.intermediate_size, Epilogue::Add));
    }
    list.push(norm(weights.post_layernorm));
    list.extend(merger(v, weights, picture));
    list
}

/// Merge windows to image tokens: a strided convolution, then a gated MLP.
fn merger(v: &VisionConfig, weights: &VisionWeights, picture: &Picture) -> [Launch; 5] {
    let area = v.spatial_merge_size * v.spatial_merge_size;
    let tokens = picture.grid[0] * picture.grid[1] / area;
    let (out, wide) = (v.out_hidden_size, v.merger_size());
    let product = |x, affine: Affine, to, n, k, epilogue| {
        Product { x, weight: affine.weight, bias: affine.bias, out: to, n, k, epilogue }.arguments(tokens, 1).bulk()
    };
    let plain = |weight| Affine { weight, bias: NULL };
    let norm = LayerNormArguments {
        x: picture.projected.0,
        weight: weights.merger_norm.weight.0,
        bias: weights.merger_norm.bias.0,
        out: picture.merged.0,
        rows: tokens as i32,
        width: out as i32,
        eps: 1e-5, // torch's default; no configuration key names it
        pad: 0,
    };
    [
        product(picture.x, weights.downsample, picture.merged, out, area * v.hidden_size, Epilogue::Half),
        product(picture.merged, plain(weights.merger_proj), picture.projected, out, out, Epilogue::Float),
        norm.launch(),
        product(picture.merged, plain(weights.merger_gate_up), picture.wide, wide, out, Epilogue::SwiGlu),
        product(picture.wide, plain(weights.merger_down), picture.features, out, wide, Epilogue::Float),
    ]
}
