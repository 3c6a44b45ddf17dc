//! The vision tower and the merger: patches to image tokens.

use kernels::memory::Tensor;
use kernels::{Attention, Kernel, KeyValues, Matrix, Operand};

use super::image_processor::Patches;
use super::linear::Loader;
use super::rope::{Tables, axial_tables};
use super::text::norm;
use super::{Probe, go_on};
use crate::cancel::Cancelled;
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
    patch_embed: Matrix,
    blocks: Vec<Block>,
    post_layernorm: Vec<f32>,
    downsample: Matrix,
    merger: Merger,
}

/// Memory that the blocks of the tower work in, one after the other.
struct Workspace {
    /// The residual stream, `[patches, hidden]`.
    hidden: Vec<f32>,
    /// What the next product reads.
    x: Operand,
    /// Queries, keys and values side by side, `[patches, 3 * hidden]`.
    qkv: Vec<f32>,
    queries: Operand,
    keys: Operand,
    cache: KeyValues,
    attention: Vec<f32>,
    gated: Operand,
    /// Memory that a gated product works in.
    spare: Vec<f32>,
    /// Every patch sees every patch.
    visible: Vec<usize>,
    tables: Tables,
}

struct Block {
    norm1: Vec<f32>,
    qkv: Matrix,
    q_norm: Vec<f32>,
    k_norm: Vec<f32>,
    proj: Matrix,
    norm2: Vec<f32>,
    gate_up_proj: Matrix,
    down_proj: Matrix,
}

struct Merger {
    proj: Matrix,
    norm_weight: Vec<f32>,
    norm_bias: Vec<f32>,
    gate_up_proj: Matrix,
    down_proj: Matrix,
}

impl VisionTower {
    pub(crate) fn load(config: &VisionConfig, loader: Loader<'_>) -> Result<Self, CheckpointError> {
        let v = config;
        let (hidden, inner, head_dim) = (v.hidden_size, v.intermediate_size, v.head_dim());
        let (out, wide) = (v.out_hidden_size, v.merger_size());
        let name = |part: &str| format!("model.visual.{part}");
        let vector = |part: &str, n: usize| loader.vector(&name(part), n);
        let blocks = (0..v.depth)
            .map(|n| {
                let part = |p: &str| name(&format!("blocks.{n}.{p}"));
                let vector = |p: &str, n: usize| loader.vector(&part(p), n);
                let gates = [(&*part("mlp.gate_proj"), inner), (&*part("mlp.up_proj"), inner)];
                Ok(Block {
                    norm1: vector("norm1.weight", hidden)?,
                    qkv: loader.matrix(&[(&part("attn.qkv"), 3 * hidden)], hidden, true)?,
                    q_norm: vector("attn.q_norm.weight", head_dim)?,
                    k_norm: vector("attn.k_norm.weight", head_dim)?,
                    proj: loader.matrix(&[(&part("attn.proj"), hidden)], hidden, true)?,
                    norm2: vector("norm2.weight", hidden)?,
                    gate_up_proj: loader.gated(&gates, hidden, true)?,
                    down_proj: loader.matrix(&[(&part("mlp.down_proj"), hidden)], inner, true)?,
                })
            })
            .collect::<Result<_, CheckpointError>>()?;
        let merge = v.spatial_merge_size;
        let downsample = loader.weights.tensor(&name("downsample.weight"), &[out, hidden, merge, merge])?;
        let gates = [(&*name("merger.gate_proj"), wide), (&*name("merger.up_proj"), wide)];
        Ok(Self {
            blocks,
            patch_embed: patch_embed(v, loader)?,
            post_layernorm: vector("post_layernorm.weight", hidden)?,
            downsample: loader.settle(Matrix::new(vec![downsample], Some(vector("downsample.bias", out)?)))?,
            merger: Merger {
                proj: loader.matrix(&[(&name("merger.proj"), out)], out, false)?,
                norm_weight: vector("merger.post_projection_norm.weight", out)?,
                norm_bias: vector("merger.post_projection_norm.bias", out)?,
                gate_up_proj: loader.gated(&gates, out, false)?,
                down_proj: loader.matrix(&[(&name("merger.down_proj"), out)], wide, false)?,
            },
            config: v.clone(),
        })
    }

    pub(crate) fn encode(
        &self,
        kernel: &Kernel,
        patches: &Patches,
        probe: Probe<'_>,
    ) -> Result<ImageFeatures, Cancelled> {
        let v = &self.config;
        let eps = v.rms_norm_eps as f32;
        let merge = v.spatial_merge_size;
        let rows = patches.grid[0] * patches.grid[1];
        // The cache's format is that of what fills it; all blocks are alike.
        let format = self.blocks.first().map_or(self.patch_embed.format(), |block| block.qkv.format());
        let mut work = Workspace {
            hidden: vec![0.0; rows * v.hidden_size],
            x: Operand::default(),
            qkv: vec![0.0; rows * 3 * v.hidden_size],
            queries: Operand::default(),
            keys: Operand::default(),
            cache: KeyValues::new(kernel, format, v.num_heads, v.head_dim()),
            attention: vec![0.0; rows * v.hidden_size],
            gated: Operand::default(),
            spare: Vec::new(),
            visible: vec![rows; rows],
            tables: axial_tables(v.rope_theta, v.head_dim(), patches.grid, merge),
        };
        probe("vision_cos", &work.tables.cos);
        probe("vision_sin", &work.tables.sin);
        work.x.copy(kernel, self.patch_embed.format(), self.patch_embed.inner(), &patches.values);
        kernel.product(&work.x, &self.patch_embed, &mut work.hidden);
        go_on(kernel)?;
        probe("patch_embed", &work.hidden);
        for (n, block) in self.blocks.iter().enumerate() {
            block.attention(v, kernel, &mut work)?;
            block.mlp(kernel, &mut work, eps)?;
            probe(if n == 0 { "block0" } else { "block" }, &work.hidden);
            go_on(kernel)?;
        }
        let mut normed = vec![0.0; work.hidden.len()];
        kernel.rms_norm(&work.hidden, &self.post_layernorm, eps, &mut normed);
        probe("post_layernorm", &normed);
        // A merge window's patches, channel by channel: the order of a convolution's weight.
        let (width, window) = (v.hidden_size, merge * merge);
        work.x.fill(kernel, self.downsample.format(), rows / window, width * window, |row, out| {
            let patches = &normed[row * width * window..];
            for (channel, out) in out.chunks_exact_mut(window).enumerate() {
                out.iter_mut().enumerate().for_each(|(n, out)| *out = patches[n * width + channel]);
            }
        });
        let mut merged = vec![0.0; rows / window * v.out_hidden_size];
        kernel.product(&work.x, &self.downsample, &mut merged);
        go_on(kernel)?;
        probe("downsample", &merged);
        self.merger.apply(kernel, &mut work, &mut merged, probe)?;
        probe("pooler_output", &merged);
        Ok(ImageFeatures { grid: patches.grid.map(|n| n / merge), rows: merged })
    }
}

/// The patch embedding's kernels for one frame, `[hidden, channels * patch * patch]`, from those for all frames. A still image
/// fills every frame of the temporal patch, so the kernels of the frames are summed and the picture is multiplied once.
pub(crate) fn sum_frames(v: &VisionConfig, full: &[f32]) -> Vec<f32> {
    let area = v.patch_size * v.patch_size;
    let mut summed = Vec::with_capacity(full.len() / v.temporal_patch_size);
    for frames in full.chunks_exact(v.temporal_patch_size * area) {
        summed.extend((0..area).map(|at| frames.iter().skip(at).step_by(area).sum::<f32>()));
    }
    summed
}

/// The patch embedding for one frame.
fn patch_embed(v: &VisionConfig, loader: Loader<'_>) -> Result<Matrix, CheckpointError> {
    let area = v.patch_size * v.patch_size;
    let shape = [v.hidden_size, v.in_channels, v.temporal_patch_size, v.patch_size, v.patch_size];
    let full = loader.weights.tensor("model.visual.patch_embed.proj.weight", &shape)?.to_f32_vec();
    let bias = loader.vector("model.visual.patch_embed.proj.bias", v.hidden_size)?;
    let weight = Tensor::from_f32(&[v.hidden_size, v.in_channels * area], &sum_frames(v, &full));
    loader.settle(weight.and_then(|weight| Matrix::new(vec![weight], Some(bias))))
}

impl Block {
    fn attention(&self, v: &VisionConfig, kernel: &Kernel, work: &mut Workspace) -> Result<(), Cancelled> {
        let (width, heads, head_dim, eps) = (v.hidden_size, v.num_heads, v.head_dim(), v.rms_norm_eps as f32);
        let rows = work.visible.len();
        norm(kernel, &mut work.x, self.qkv.format(), &work.hidden, &self.norm1, eps);
        kernel.product(&work.x, &self.qkv, &mut work.qkv);
        go_on(kernel)?;

        let (qkv, tables) = (&work.qkv, &work.tables);
        let turned = |n: usize, part: usize, weight: &[f32], out: &mut [f32]| {
            let (row, head) = (n / heads, n % heads);
            let from = &qkv[row * 3 * width + part * width + head * head_dim..][..head_dim];
            kernel.rms_norm(from, weight, eps, out);
            let angles = row * head_dim..(row + 1) * head_dim;
            kernel.rotate_halves(out, &tables.cos[angles.clone()], &tables.sin[angles]);
        };
        let format = work.cache.format();
        work.queries.fill(kernel, format, rows * heads, head_dim, |n, out| turned(n, 0, &self.q_norm, out));
        work.keys.fill(kernel, format, rows * heads, head_dim, |n, out| turned(n, 1, &self.k_norm, out));
        work.cache.truncate(0);
        work.cache.append(&work.keys, &work.qkv[2 * width..], 3 * width);

        go_on(kernel)?;
        let (queries, cache, visible) = (&work.queries, &work.cache, &work.visible);
        let scale = (head_dim as f32).powf(-0.5);
        kernel.attention(&Attention { queries, cache, visible, heads, scale }, &mut work.attention);
        go_on(kernel)?;
        work.x.copy(kernel, self.proj.format(), width, &work.attention);
        kernel.product_add(&work.x, &self.proj, &mut work.hidden);
        go_on(kernel)
    }

    fn mlp(&self, kernel: &Kernel, work: &mut Workspace, eps: f32) -> Result<(), Cancelled> {
        norm(kernel, &mut work.x, self.gate_up_proj.format(), &work.hidden, &self.norm2, eps);
        let down = &self.down_proj;
        kernel.product_gated(&work.x, &self.gate_up_proj, down.format(), &mut work.gated, &mut work.spare);
        kernel.product_add(&work.gated, down, &mut work.hidden);
        go_on(kernel)
    }
}

impl Merger {
    /// Image tokens from merged patches, in place.
    fn apply(
        &self,
        kernel: &Kernel,
        work: &mut Workspace,
        rows: &mut [f32],
        probe: Probe<'_>,
    ) -> Result<(), Cancelled> {
        let width = self.proj.outputs();
        work.x.copy(kernel, self.proj.format(), width, rows);
        let mut projected = vec![0.0; rows.len()];
        kernel.product(&work.x, &self.proj, &mut projected);
        go_on(kernel)?;
        // This norm is torch's LayerNorm with its default epsilon; no configuration key names it.
        kernel.layer_norm(&projected, &self.norm_weight, &self.norm_bias, 1e-5, rows);
        probe("merger_norm", rows);
        work.x.fill(kernel, self.gate_up_proj.format(), rows.len() / width, width, |row, out| {
            out.copy_from_slice(&rows[row * width..(row + 1) * width]);
            kernel.gelu(out);
        });
        let down = &self.down_proj;
        kernel.product_gated(&work.x, &self.gate_up_proj, down.format(), &mut work.gated, &mut work.spare);
        kernel.product(&work.gated, down, rows);
        go_on(kernel)
    }
}
