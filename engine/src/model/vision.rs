//! The vision tower and the merger: patches to image tokens.

use kernels::memory::Tensor;
use kernels::{Attention, Kernel};

use super::image_processor::Patches;
use super::linear::{Linear, norm};
use super::rope::{Tables, axial_tables};
use super::{Probe, Weights};
use crate::checkpoint::{CheckpointError, VisionConfig};

/// Image tokens in the text decoder's width.
#[derive(Clone, Debug)]
pub struct ImageFeatures {
    /// Rows and columns of image tokens.
    pub grid: [usize; 2],
    /// `[rows * columns, hidden]`.
    pub rows: Vec<f32>,
}

pub(crate) struct VisionTower {
    config: VisionConfig,
    patch_embed: Linear,
    blocks: Vec<Block>,
    post_layernorm: Vec<f32>,
    downsample: Linear,
    merger: Merger,
}

struct Block {
    norm1: Vec<f32>,
    qkv: Linear,
    q_norm: Vec<f32>,
    k_norm: Vec<f32>,
    proj: Linear,
    norm2: Vec<f32>,
    gate_proj: Linear,
    up_proj: Linear,
    down_proj: Linear,
}

struct Merger {
    proj: Linear,
    norm_weight: Vec<f32>,
    norm_bias: Vec<f32>,
    gate_proj: Linear,
    up_proj: Linear,
    down_proj: Linear,
}

impl VisionTower {
    pub(crate) fn load(config: &VisionConfig, weights: &Weights) -> Result<Self, CheckpointError> {
        let v = config;
        let (hidden, inner, head_dim) = (v.hidden_size, v.intermediate_size, v.head_dim());
        let (out, wide) = (v.out_hidden_size, v.merger_size());
        let name = |part: &str| format!("model.visual.{part}");
        let vector = |part: String, n: usize| Ok(weights.tensor(&name(&part), &[n])?.to_f32_vec());
        let linear = |part: String, o: usize, i: usize, biased: bool| {
            let weight = weights.tensor(&name(&format!("{part}.weight")), &[o, i])?;
            let bias = if biased { Some(vector(format!("{part}.bias"), o)?) } else { None };
            Ok(Linear::new(weight, bias))
        };
        let blocks = (0..v.depth)
            .map(|n| {
                let part = |p: &str| format!("blocks.{n}.{p}");
                Ok(Block {
                    norm1: vector(part("norm1.weight"), hidden)?,
                    qkv: linear(part("attn.qkv"), 3 * hidden, hidden, true)?,
                    q_norm: vector(part("attn.q_norm.weight"), head_dim)?,
                    k_norm: vector(part("attn.k_norm.weight"), head_dim)?,
                    proj: linear(part("attn.proj"), hidden, hidden, true)?,
                    norm2: vector(part("norm2.weight"), hidden)?,
                    gate_proj: linear(part("mlp.gate_proj"), inner, hidden, true)?,
                    up_proj: linear(part("mlp.up_proj"), inner, hidden, true)?,
                    down_proj: linear(part("mlp.down_proj"), hidden, inner, true)?,
                })
            })
            .collect::<Result<_, CheckpointError>>()?;
        let merge = v.spatial_merge_size;
        let downsample = weights.tensor(&name("downsample.weight"), &[out, hidden, merge, merge])?;
        Ok(Self {
            blocks,
            patch_embed: patch_embed(v, weights, vector("patch_embed.proj.bias".into(), hidden)?)?,
            post_layernorm: vector("post_layernorm.weight".into(), hidden)?,
            downsample: Linear::new(downsample, Some(vector("downsample.bias".into(), out)?)),
            merger: Merger {
                proj: linear("merger.proj".into(), out, out, false)?,
                norm_weight: vector("merger.post_projection_norm.weight".into(), out)?,
                norm_bias: vector("merger.post_projection_norm.bias".into(), out)?,
                gate_proj: linear("merger.gate_proj".into(), wide, out, false)?,
                up_proj: linear("merger.up_proj".into(), wide, out, false)?,
                down_proj: linear("merger.down_proj".into(), out, wide, false)?,
            },
            config: v.clone(),
        })
    }

    pub(crate) fn encode(&self, kernel: &Kernel, patches: &Patches, probe: Probe<'_>) -> ImageFeatures {
        let v = &self.config;
        let eps = v.rms_norm_eps as f32;
        let merge = v.spatial_merge_size;
        let tables = axial_tables(v.rope_theta, v.head_dim(), patches.grid, merge);
        probe("vision_cos", &tables.cos);
        probe("vision_sin", &tables.sin);
        let mut hidden = self.patch_embed.apply(kernel, &patches.values);
        probe("patch_embed", &hidden);
        for (n, block) in self.blocks.iter().enumerate() {
            let attention = block.attention(v, kernel, &hidden, &tables);
            add(&mut hidden, &attention);
            let mlp = block.mlp(kernel, &hidden, eps);
            add(&mut hidden, &mlp);
            if n == 0 {
                probe("block0", &hidden);
            }
        }
        let normed = norm(kernel, &hidden, &self.post_layernorm, eps);
        probe("post_layernorm", &normed);
        let merged = self.downsample.apply(kernel, &channels_first(&normed, v.hidden_size, merge * merge));
        probe("downsample", &merged);
        let rows = self.merger.apply(kernel, &merged, probe);
        probe("pooler_output", &rows);
        ImageFeatures { grid: patches.grid.map(|n| n / merge), rows }
    }
}

/// The patch embedding for one frame. A still image fills every frame of the temporal patch, so the kernels of the frames
/// are summed and the picture is multiplied once.
fn patch_embed(v: &VisionConfig, weights: &Weights, bias: Vec<f32>) -> Result<Linear, CheckpointError> {
    let area = v.patch_size * v.patch_size;
    let shape = [v.hidden_size, v.in_channels, v.temporal_patch_size, v.patch_size, v.patch_size];
    let full = weights.tensor("model.visual.patch_embed.proj.weight", &shape)?.to_f32_vec();
    let mut summed = Vec::with_capacity(full.len() / v.temporal_patch_size);
    for frames in full.chunks_exact(v.temporal_patch_size * area) {
        summed.extend((0..area).map(|at| frames.iter().skip(at).step_by(area).sum::<f32>()));
    }
    let weight = Tensor::from_f32(&[v.hidden_size, v.in_channels * area], &summed).ok_or_else(|| {
        CheckpointError::Damaged { file: "config.json".into(), fault: "the patch sizes do not fit together".into() }
    })?;
    Ok(Linear::new(weight, Some(bias)))
}

/// Patches of a merge window, `[window, hidden]`, to the order of a convolution's weight: `[hidden, window]`.
fn channels_first(rows: &[f32], hidden: usize, window: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(rows.len());
    for group in rows.chunks_exact(hidden * window) {
        for channel in 0..hidden {
            out.extend(group.iter().skip(channel).step_by(hidden));
        }
    }
    out
}

impl Block {
    fn attention(&self, v: &VisionConfig, kernel: &Kernel, hidden: &[f32], tables: &Tables) -> Vec<f32> {
        let (width, head_dim, eps) = (v.hidden_size, v.head_dim(), v.rms_norm_eps as f32);
        let rows = hidden.len() / width;
        let qkv = self.qkv.apply(kernel, &norm(kernel, hidden, &self.norm1, eps));
        let part = |n: usize| -> Vec<f32> {
            qkv.chunks_exact(3 * width).flat_map(|row| &row[n * width..(n + 1) * width]).copied().collect()
        };
        let mut queries = norm(kernel, &part(0), &self.q_norm, eps);
        let mut keys = norm(kernel, &part(1), &self.k_norm, eps);
        kernel.rotate_halves(&mut queries, &tables.cos, &tables.sin, head_dim);
        kernel.rotate_halves(&mut keys, &tables.cos, &tables.sin, head_dim);
        let keys = by_head(&keys, v.num_heads, head_dim);
        let values = by_head(&part(2), v.num_heads, head_dim);
        let mut out = vec![0.0; queries.len()];
        let call = Attention {
            queries: &queries,
            keys: &keys.chunks_exact(rows * head_dim).collect::<Vec<_>>(),
            values: &values.chunks_exact(rows * head_dim).collect::<Vec<_>>(),
            visible: &vec![rows; rows],
            heads: v.num_heads,
            head_dim,
            scale: (head_dim as f32).powf(-0.5),
        };
        kernel.attention(&call, &mut out);
        self.proj.apply(kernel, &out)
    }

    fn mlp(&self, kernel: &Kernel, hidden: &[f32], eps: f32) -> Vec<f32> {
        let x = norm(kernel, hidden, &self.norm2, eps);
        gated(kernel, &x, &self.gate_proj, &self.up_proj, &self.down_proj)
    }
}

impl Merger {
    fn apply(&self, kernel: &Kernel, x: &[f32], probe: Probe<'_>) -> Vec<f32> {
        let projected = self.proj.apply(kernel, x);
        let mut hidden = vec![0.0; projected.len()];
        // This norm is torch's LayerNorm with its default epsilon; no configuration key names it.
        kernel.layer_norm(&projected, &self.norm_weight, &self.norm_bias, 1e-5, &mut hidden);
        probe("merger_norm", &hidden);
        kernel.gelu(&mut hidden);
        gated(kernel, &hidden, &self.gate_proj, &self.up_proj, &self.down_proj)
    }
}

/// The gated MLP: `down(silu(gate(x)) * up(x))`.
fn gated(kernel: &Kernel, x: &[f32], gate: &Linear, up: &Linear, down: &Linear) -> Vec<f32> {
    let (gate, up) = (gate.apply(kernel, x), up.apply(kernel, x));
    let mut inner = vec![0.0; gate.len()];
    kernel.silu_product(&gate, &up, &mut inner);
    down.apply(kernel, &inner)
}

/// `[rows, heads, head_dim]` to `[heads, rows, head_dim]`.
fn by_head(x: &[f32], heads: usize, head_dim: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(x.len());
    for head in 0..heads {
        out.extend(x.chunks_exact(head_dim).skip(head).step_by(heads).flatten());
    }
    out
}

fn add(hidden: &mut [f32], x: &[f32]) {
    for (h, v) in hidden.iter_mut().zip(x) {
        *h += v;
    }
}
