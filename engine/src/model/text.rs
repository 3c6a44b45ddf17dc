//! The text decoder: embedding, layers with four norms each, head.

use kernels::memory::Tensor;
use kernels::{Attention, Format, Kernel, KeyValues, Matrix, Operand};

use super::linear::{Loader, gather};
use super::rope::{MRope, Tables};
use super::{ModelConfig, Probe, go_on};
use crate::cancel::Cancelled;
use crate::checkpoint::{CheckpointError, TextConfig};
use crate::decode::{Mask, Peak};

pub(crate) struct TextDecoder {
    config: TextConfig,
    embed_tokens: Tensor,
    layers: Vec<Layer>,
    norm: Vec<f32>,
    lm_head: Matrix,
    rope: MRope,
}

/// Where a forward's rows stand.
#[derive(Clone, Copy)]
pub(crate) struct Window<'a> {
    /// Temporal, row and column position of each row.
    pub(crate) positions: &'a [[u32; 3]],
    /// Tokens in the cache.
    pub(crate) past: usize,
    /// What the rows see besides the cache.
    pub(crate) mask: Mask,
}

/// A session's memory for forwards: it grows to the largest window and is used again.
#[derive(Default)]
pub(crate) struct Workspace {
    /// The residual stream, `[rows, hidden]`: a forward's input, and its output before the final norm.
    pub(crate) hidden: Vec<f32>,
    /// What the next product reads.
    x: Operand,
    /// Queries, keys and values side by side, `[rows, (heads + 2 * kv_heads) * head_dim]`.
    qkv: Vec<f32>,
    queries: Operand,
    keys: Operand,
    /// What attention and the products after it give.
    out: Vec<f32>,
    /// Memory that a gated product works in.
    spare: Vec<f32>,
    visible: Vec<usize>,
    tables: Tables,
}

struct Layer {
    input_layernorm: Vec<f32>,
    qkv_proj: Matrix,
    o_proj: Matrix,
    post_self_attn_layernorm: Vec<f32>,
    /// The norm *before* the MLP, in spite of its name.
    post_attention_layernorm: Vec<f32>,
    gate_up_proj: Matrix,
    down_proj: Matrix,
    post_mlp_layernorm: Vec<f32>,
}

impl TextDecoder {
    pub(crate) fn load(config: &ModelConfig, loader: Loader<'_>) -> Result<Self, CheckpointError> {
        let t = &config.text;
        let (hidden, inner) = (t.hidden_size, t.intermediate_size);
        let (q, kv) = (t.num_attention_heads * t.head_dim, t.num_key_value_heads * t.head_dim);
        let prefix = "model.language_model";
        let layers = (0..t.num_hidden_layers)
            .map(|n| {
                let name = |part: &str| format!("{prefix}.layers.{n}.{part}");
                let norm = |part| loader.vector(&name(&format!("{part}.weight")), hidden);
                let [q_proj, k_proj, v_proj] = ["q", "k", "v"].map(|part| name(&format!("self_attn.{part}_proj")));
                Ok(Layer {
                    input_layernorm: norm("input_layernorm")?,
                    qkv_proj: loader.matrix(&[(&q_proj, q), (&k_proj, kv), (&v_proj, kv)], hidden, false)?,
                    o_proj: loader.matrix(&[(&name("self_attn.o_proj"), hidden)], q, false)?,
                    post_self_attn_layernorm: norm("post_self_attn_layernorm")?,
                    post_attention_layernorm: norm("post_attention_layernorm")?,
                    gate_up_proj: loader.gated(&[(&name("mlp.gate_up_proj"), 2 * inner)], hidden, false)?,
                    down_proj: loader.matrix(&[(&name("mlp.down_proj"), hidden)], inner, false)?,
                    post_mlp_layernorm: norm("post_mlp_layernorm")?,
                })
            })
            .collect::<Result<_, CheckpointError>>()?;
        let table = [t.vocab_size, hidden];
        let head = loader.weights.tensor(config.lm_head(), &table)?;
        Ok(Self {
            layers,
            embed_tokens: loader.weights.tensor(&format!("{prefix}.embed_tokens.weight"), &table)?,
            norm: loader.vector(&format!("{prefix}.norm.weight"), hidden)?,
            lm_head: loader.settle(Matrix::new(vec![head], None))?,
            rope: MRope::new(t.rope_theta, t.head_dim, t.mrope_section),
            config: t.clone(),
        })
    }

    /// An empty cache.
    pub(crate) fn cache(&self, kernel: &Kernel) -> Vec<KeyValues> {
        let t = &self.config;
        let of = |layer: &Layer| KeyValues::new(kernel, layer.qkv_proj.format(), t.num_key_value_heads, t.head_dim);
        self.layers.iter().map(of).collect()
    }

    /// Embeddings of tokens, `[ids, hidden]`, into `out`.
    pub(crate) fn embed(&self, ids: &[u32], out: &mut Vec<f32>) {
        gather(&self.embed_tokens, self.config.hidden_size, ids, out);
    }

    /// Bytes of weights that a forward reads.
    pub(crate) fn size(&self) -> usize {
        let of =
            |l: &Layer| [&l.qkv_proj, &l.o_proj, &l.gate_up_proj, &l.down_proj].map(Matrix::size).iter().sum::<usize>();
        self.layers.iter().map(of).sum::<usize>() + self.lm_head.size()
    }

    /// Runs the embedded rows in `work.hidden` through all layers, appending their keys and values to a cache. When it is
    /// cancelled, only the first layers have them.
    pub(crate) fn forward(
        &self,
        kernel: &Kernel,
        window: Window<'_>,
        cache: &mut [KeyValues],
        work: &mut Workspace,
        probe: Probe<'_>,
    ) -> Result<(), Cancelled> {
        let Window { positions, past, mask } = window;
        let (rows, eps) = (positions.len(), self.config.rms_norm_eps as f32);
        self.rope.tables(positions, &mut work.tables);
        probe("text_cos", &work.tables.cos);
        probe("text_sin", &work.tables.sin);
        work.visible.clear();
        work.visible.extend((0..rows).map(|row| mask.visible(past, rows, row)));
        for (n, (layer, cache)) in self.layers.iter().zip(cache).enumerate() {
            layer.attention(&self.config, kernel, work, cache)?;
            if n == 0 {
                probe("layer0_attn", &work.out);
            }
            kernel.add_normed(&mut work.hidden, &work.out, &layer.post_self_attn_layernorm, eps);
            layer.mlp(kernel, work, eps)?;
            kernel.add_normed(&mut work.hidden, &work.out, &layer.post_mlp_layernorm, eps);
            probe(if n == 0 { "layer0" } else { "layer" }, &work.hidden);
            go_on(kernel)?;
        }
        Ok(())
    }

    /// The arg-max over the vocabulary of the hidden rows from `first` on, through the final norm, into `peaks`; their
    /// logits into `logits`, `[rows, vocab]`, where they are wanted.
    pub(crate) fn peaks(
        &self,
        kernel: &Kernel,
        work: &mut Workspace,
        first: usize,
        logits: Option<&mut Vec<f32>>,
        peaks: &mut Vec<Peak>,
        probe: Probe<'_>,
    ) -> Result<(), Cancelled> {
        let hidden = &work.hidden[first * self.config.hidden_size..];
        work.out.resize(hidden.len(), 0.0);
        kernel.rms_norm(hidden, &self.norm, self.config.rms_norm_eps as f32, &mut work.out);
        probe("final_hidden", &work.out);
        work.x.copy(kernel, self.lm_head.format(), self.config.hidden_size, &work.out);
        let logits = logits.map(|logits| {
            logits.resize(work.x.rows() * self.lm_head.outputs(), 0.0);
            logits.as_mut_slice()
        });
        peaks.clear();
        kernel.peaks(&work.x, &self.lm_head, logits, |peak| {
            peaks.push(Peak { id: peak.index, probability: peak.probability });
        });
        go_on(kernel)
    }
}

impl Layer {
    /// `hidden` through the first norm, attention and its projection, into `out`.
    fn attention(
        &self,
        config: &TextConfig,
        kernel: &Kernel,
        work: &mut Workspace,
        cache: &mut KeyValues,
    ) -> Result<(), Cancelled> {
        let TextConfig { head_dim, num_attention_heads: heads, num_key_value_heads: kv_heads, .. } = *config;
        let rows = work.visible.len();
        let (q, kv) = (heads * head_dim, kv_heads * head_dim);
        let width = q + 2 * kv;
        let normed = &self.input_layernorm;
        norm(kernel, &mut work.x, self.qkv_proj.format(), &work.hidden, normed, config.rms_norm_eps as f32);
        work.qkv.resize(rows * width, 0.0);
        kernel.product(&work.x, &self.qkv_proj, &mut work.qkv);
        go_on(kernel)?;

        let (qkv, tables) = (&work.qkv, &work.tables);
        let rotated = |row: usize, column: usize, out: &mut [f32]| {
            out.copy_from_slice(&qkv[row * width + column..][..head_dim]);
            let angles = row * head_dim..(row + 1) * head_dim;
            kernel.rotate_pairs(out, &tables.cos[angles.clone()], &tables.sin[angles]);
        };
        work.queries.fill(kernel, cache.format(), rows * heads, head_dim, |n, out| {
            rotated(n / heads, n % heads * head_dim, out);
        });
        work.keys.fill(kernel, cache.format(), rows * kv_heads, head_dim, |n, out| {
            rotated(n / kv_heads, q + n % kv_heads * head_dim, out);
        });
        cache.append(&work.keys, &work.qkv[q + kv..], width);

        work.out.resize(rows * q, 0.0);
        let (queries, visible, scale) = (&work.queries, &work.visible, (head_dim as f32).powf(-0.5));
        kernel.attention(&Attention { queries, cache, visible, heads, scale }, &mut work.out);
        go_on(kernel)?;
        work.x.copy(kernel, self.o_proj.format(), q, &work.out);
        work.out.resize(rows * self.o_proj.outputs(), 0.0);
        kernel.product(&work.x, &self.o_proj, &mut work.out);
        go_on(kernel)
    }

    /// `hidden` through the norm before the MLP and the MLP, into `out`.
    fn mlp(&self, kernel: &Kernel, work: &mut Workspace, eps: f32) -> Result<(), Cancelled> {
        norm(kernel, &mut work.x, self.gate_up_proj.format(), &work.hidden, &self.post_attention_layernorm, eps);
        let (gated, down) = (&mut work.queries, &self.down_proj);
        kernel.product_gated(&work.x, &self.gate_up_proj, down.format(), gated, &mut work.spare);
        kernel.product(gated, down, &mut work.out);
        go_on(kernel)
    }
}

/// `hidden` through an RMS norm, as the operand of a product.
pub(crate) fn norm(kernel: &Kernel, x: &mut Operand, format: Format, hidden: &[f32], weight: &[f32], eps: f32) {
    let width = weight.len();
    x.fill(kernel, format, hidden.len() / width, width, |row, out| {
        kernel.rms_norm(&hidden[row * width..(row + 1) * width], weight, eps, out);
    });
}
