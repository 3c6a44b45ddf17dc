//! The text decoder: embedding, layers with four norms each, head.

use kernels::memory::Tensor;
use kernels::{Attention, Kernel};

use super::cache::LayerCache;
use super::linear::{Linear, gather, norm};
use super::rope::{MRope, Tables};
use super::{ModelConfig, Probe, Weights};
use crate::checkpoint::{CheckpointError, TextConfig};
use crate::decode::Mask;

pub(crate) struct TextDecoder {
    config: TextConfig,
    embed_tokens: Tensor,
    layers: Vec<Layer>,
    norm: Vec<f32>,
    lm_head: Linear,
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

struct Layer {
    input_layernorm: Vec<f32>,
    q_proj: Linear,
    k_proj: Linear,
    v_proj: Linear,
    o_proj: Linear,
    post_self_attn_layernorm: Vec<f32>,
    /// The norm *before* the MLP, in spite of its name.
    post_attention_layernorm: Vec<f32>,
    gate_up_proj: Linear,
    down_proj: Linear,
    post_mlp_layernorm: Vec<f32>,
}

impl TextDecoder {
    pub(crate) fn load(config: &ModelConfig, weights: &Weights) -> Result<Self, CheckpointError> {
        let t = &config.text;
        let (hidden, inner) = (t.hidden_size, t.intermediate_size);
        let (q, kv) = (t.num_attention_heads * t.head_dim, t.num_key_value_heads * t.head_dim);
        let prefix = "model.language_model";
        let layers = (0..t.num_hidden_layers)
            .map(|n| {
                let name = |part: &str| format!("{prefix}.layers.{n}.{part}.weight");
                let norm = |part| Ok(weights.tensor(&name(part), &[hidden])?.to_f32_vec());
                let linear = |part, o, i| Ok(Linear::new(weights.tensor(&name(part), &[o, i])?, None));
                Ok(Layer {
                    input_layernorm: norm("input_layernorm")?,
                    q_proj: linear("self_attn.q_proj", q, hidden)?,
                    k_proj: linear("self_attn.k_proj", kv, hidden)?,
                    v_proj: linear("self_attn.v_proj", kv, hidden)?,
                    o_proj: linear("self_attn.o_proj", hidden, q)?,
                    post_self_attn_layernorm: norm("post_self_attn_layernorm")?,
                    post_attention_layernorm: norm("post_attention_layernorm")?,
                    gate_up_proj: linear("mlp.gate_up_proj", 2 * inner, hidden)?,
                    down_proj: linear("mlp.down_proj", hidden, inner)?,
                    post_mlp_layernorm: norm("post_mlp_layernorm")?,
                })
            })
            .collect::<Result<_, CheckpointError>>()?;
        let table = [t.vocab_size, hidden];
        Ok(Self {
            layers,
            embed_tokens: weights.tensor(&format!("{prefix}.embed_tokens.weight"), &table)?,
            norm: weights.tensor(&format!("{prefix}.norm.weight"), &[hidden])?.to_f32_vec(),
            lm_head: Linear::new(weights.tensor(config.lm_head(), &table)?, None),
            rope: MRope::new(t.rope_theta, t.head_dim, t.mrope_section),
            config: t.clone(),
        })
    }

    /// An empty cache.
    pub(crate) fn cache(&self) -> Vec<LayerCache> {
        vec![LayerCache::new(self.config.num_key_value_heads); self.layers.len()]
    }

    /// Forgets all but the first `tokens` tokens of a cache.
    pub(crate) fn truncate(&self, cache: &mut [LayerCache], tokens: usize) {
        cache.iter_mut().for_each(|layer| layer.truncate(tokens, self.config.head_dim));
    }

    /// Embeddings of tokens, `[ids, hidden]`.
    pub(crate) fn embed(&self, ids: &[u32]) -> Vec<f32> {
        gather(&self.embed_tokens, self.config.hidden_size, ids)
    }

    /// Runs embedded rows through all layers, appending their keys and values to a cache. Returns the hidden rows before
    /// the final norm.
    pub(crate) fn forward(
        &self,
        kernel: &Kernel,
        mut hidden: Vec<f32>,
        window: Window<'_>,
        cache: &mut [LayerCache],
        probe: Probe<'_>,
    ) -> Vec<f32> {
        let Window { positions, past, mask } = window;
        let rows = positions.len();
        let tables = self.rope.tables(positions);
        probe("text_cos", &tables.cos);
        probe("text_sin", &tables.sin);
        let visible: Vec<usize> = (0..rows).map(|row| mask.visible(past, rows, row)).collect();
        for (n, (layer, cache)) in self.layers.iter().zip(cache).enumerate() {
            let attention = layer.attention(&self.config, kernel, &hidden, &tables, &visible, cache);
            let eps = self.config.rms_norm_eps as f32;
            if n == 0 {
                probe("layer0_attn", &attention);
            }
            add_normed(kernel, &mut hidden, &attention, &layer.post_self_attn_layernorm, eps);
            let mlp = layer.mlp(&self.config, kernel, &hidden);
            add_normed(kernel, &mut hidden, &mlp, &layer.post_mlp_layernorm, eps);
            if n == 0 {
                probe("layer0", &hidden);
            }
        }
        hidden
    }

    /// Logits of hidden rows, `[rows, vocab]`, through the final norm.
    pub(crate) fn logits(&self, kernel: &Kernel, hidden: &[f32], probe: Probe<'_>) -> Vec<f32> {
        let normed = norm(kernel, hidden, &self.norm, self.config.rms_norm_eps as f32);
        probe("final_hidden", &normed);
        self.lm_head.apply(kernel, &normed)
    }
}

impl Layer {
    fn attention(
        &self,
        config: &TextConfig,
        kernel: &Kernel,
        hidden: &[f32],
        tables: &Tables,
        visible: &[usize],
        cache: &mut LayerCache,
    ) -> Vec<f32> {
        let TextConfig { head_dim, num_attention_heads: heads, .. } = *config;
        let x = norm(kernel, hidden, &self.input_layernorm, config.rms_norm_eps as f32);
        let mut queries = self.q_proj.apply(kernel, &x);
        let mut keys = self.k_proj.apply(kernel, &x);
        let values = self.v_proj.apply(kernel, &x);
        kernel.rotate_pairs(&mut queries, &tables.cos, &tables.sin, head_dim);
        kernel.rotate_pairs(&mut keys, &tables.cos, &tables.sin, head_dim);
        cache.append(&keys, &values, head_dim);
        let mut out = vec![0.0; queries.len()];
        let call = Attention {
            queries: &queries,
            keys: &cache.keys(),
            values: &cache.values(),
            visible,
            heads,
            head_dim,
            scale: (head_dim as f32).powf(-0.5),
        };
        kernel.attention(&call, &mut out);
        self.o_proj.apply(kernel, &out)
    }

    fn mlp(&self, config: &TextConfig, kernel: &Kernel, hidden: &[f32]) -> Vec<f32> {
        let x = norm(kernel, hidden, &self.post_attention_layernorm, config.rms_norm_eps as f32);
        let gate_up = self.gate_up_proj.apply(kernel, &x);
        let mut inner = vec![0.0; gate_up.len() / 2];
        kernel.silu_product_fused(&gate_up, config.intermediate_size, &mut inner);
        self.down_proj.apply(kernel, &inner)
    }
}

/// `hidden += rms_norm(x)`.
fn add_normed(kernel: &Kernel, hidden: &mut [f32], x: &[f32], weight: &[f32], eps: f32) {
    for (h, v) in hidden.iter_mut().zip(norm(kernel, x, weight, eps)) {
        *h += v;
    }
}
