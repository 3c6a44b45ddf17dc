//! The weights on a card: one block of memory, matrices as bf16 `[out, in]`, vectors as f32, in the arrangement that the
//! kernels ask for (`kernels/cuda/README.md`).

use std::collections::HashMap;

use half::bf16;
use kernels::cuda::abi::{Pod, bytes_of};
use kernels::cuda::driver::{DevicePtr, Driver};
use kernels::memory::{Dtype, Tensor};

use super::DeviceError;
use super::plan::ALIGNMENT;
use crate::checkpoint::{ModelConfig, TextConfig, VisionConfig, Weights};
use crate::model::{inverse_frequencies, sum_frames};

/// Where the decoder's weights are.
pub(super) struct TextWeights {
    pub(super) embed_tokens: DevicePtr,
    pub(super) layers: Vec<TextLayer>,
    pub(super) norm: DevicePtr,
    pub(super) lm_head: DevicePtr,
    /// `(cos, sin)` `[positions, head_dim / 2]`.
    pub(super) rotations: DevicePtr,
    /// Rows of `rotations`.
    pub(super) positions: usize,
}

/// One layer of the decoder.
pub(super) struct TextLayer {
    pub(super) input_layernorm: DevicePtr,
    /// Queries, keys and values, stacked.
    pub(super) qkv: DevicePtr,
    pub(super) o_proj: DevicePtr,
    pub(super) post_self_attn_layernorm: DevicePtr,
    pub(super) post_attention_layernorm: DevicePtr,
    pub(super) gate_up_proj: DevicePtr,
    pub(super) down_proj: DevicePtr,
    pub(super) post_mlp_layernorm: DevicePtr,
}

/// Where the vision tower's weights are.
pub(super) struct VisionWeights {
    pub(super) patch_embed: Affine,
    pub(super) blocks: Vec<VisionBlock>,
    pub(super) post_layernorm: DevicePtr,
    pub(super) downsample: Affine,
    pub(super) merger_proj: DevicePtr,
    pub(super) merger_norm: Affine,
    pub(super) merger_gate_up: DevicePtr,
    pub(super) merger_down: DevicePtr,
    /// `(cos, sin)` `[sides, head_dim / 4]`.
    pub(super) rotations: DevicePtr,
    /// Rows of `rotations`: patches on the longer side of a picture at most.
    pub(super) sides: usize,
}

/// A weight and its bias.
#[derive(Clone, Copy)]
pub(super) struct Affine {
    pub(super) weight: DevicePtr,
    pub(super) bias: DevicePtr,
}

/// One block of the tower.
pub(super) struct VisionBlock {
    pub(super) norm1: DevicePtr,
    pub(super) qkv: Affine,
    pub(super) q_norm: DevicePtr,
    pub(super) k_norm: DevicePtr,
    pub(super) proj: Affine,
    pub(super) norm2: DevicePtr,
    pub(super) gate_up: Affine,
    pub(super) down: Affine,
}

/// Patches on the longer side of a picture at most: more than any picture has whose longer side is 200 times the shorter.
pub(super) const SIDES: usize = 4096;

/// Bytes that the weights take on a card, rotation tables for `positions` tokens included.
pub(super) fn bytes(config: &ModelConfig, positions: usize) -> usize {
    let mut count = Count { sizes: sizes(config), bytes: 0 };
    // Counting cannot fail.
    let _ = text(config, positions, &mut count).and_then(|_| vision(&config.vision, &mut count));
    count.bytes
}

/// Copies the weights of a checkpoint to a card.
///
/// # Errors
/// Memory does not suffice, the copy fails, or a tensor is missing.
pub(super) fn upload(
    config: &ModelConfig,
    weights: &Weights,
    positions: usize,
    driver: &mut dyn Driver,
) -> Result<(TextWeights, VisionWeights), DeviceError> {
    let base = driver.alloc(bytes(config, positions))?;
    let mut upload = Upload { sizes: sizes(config), driver, weights, at: base };
    Ok((text(config, positions, &mut upload)?, vision(&config.vision, &mut upload)?))
}

/// Bytes of a patch's row after padding: a multiple of 8 values.
pub(super) fn patch_pitch(v: &VisionConfig) -> usize {
    patch_values(v).next_multiple_of(8)
}

/// Values of a patch of one frame.
pub(super) fn patch_values(v: &VisionConfig) -> usize {
    v.in_channels * v.patch_size * v.patch_size
}

/// Takes the tensors of a model one after the other.
trait TensorSink {
    /// Tensors stacked along their first axis, as bf16.
    fn matrix(&mut self, names: &[String]) -> Result<DevicePtr, DeviceError>;
    /// Tensors stacked, as f32.
    fn vector(&mut self, names: &[String]) -> Result<DevicePtr, DeviceError>;
    /// So many bf16 values that are made from one tensor.
    fn made(&mut self, name: &str, values: usize, make: &dyn Fn(&[f32]) -> Vec<f32>) -> Result<DevicePtr, DeviceError>;
    /// So many f32 values that come from no tensor.
    fn table(&mut self, values: usize, make: &dyn Fn() -> Vec<f32>) -> Result<DevicePtr, DeviceError>;
}

fn text(config: &ModelConfig, positions: usize, sink: &mut dyn TensorSink) -> Result<TextWeights, DeviceError> {
    let t = &config.text;
    let name = |part: &str| format!("model.language_model.{part}.weight");
    let embed_tokens = sink.matrix(&[name("embed_tokens")])?;
    let layers = (0..t.num_hidden_layers)
        .map(|n| {
            let name = |part: &str| name(&format!("layers.{n}.{part}"));
            Ok(TextLayer {
                input_layernorm: sink.vector(&[name("input_layernorm")])?,
                qkv: sink.matrix(&["q", "k", "v"].map(|p| name(&format!("self_attn.{p}_proj"))))?,
                o_proj: sink.matrix(&[name("self_attn.o_proj")])?,
                post_self_attn_layernorm: sink.vector(&[name("post_self_attn_layernorm")])?,
                post_attention_layernorm: sink.vector(&[name("post_attention_layernorm")])?,
                gate_up_proj: sink.matrix(&[name("mlp.gate_up_proj")])?,
                down_proj: sink.matrix(&[name("mlp.down_proj")])?,
                post_mlp_layernorm: sink.vector(&[name("post_mlp_layernorm")])?,
            })
        })
        .collect::<Result<_, DeviceError>>()?;
    let norm = sink.vector(&[name("norm")])?;
    let lm_head = match config.tie_word_embeddings {
        true => embed_tokens,
        false => sink.matrix(&[config.lm_head().to_owned()])?,
    };
    let rotations = sink.table(positions * t.head_dim, &|| text_rotations(t, positions))?;
    Ok(TextWeights { embed_tokens, layers, norm, lm_head, rotations, positions })
}

fn vision(v: &VisionConfig, sink: &mut dyn TensorSink) -> Result<VisionWeights, DeviceError> {
    let name = |part: &str| format!("model.visual.{part}");
    let (hidden, out, area) = (v.hidden_size, v.out_hidden_size, v.spatial_merge_size.pow(2));
    let patch_embed = Affine {
        weight: sink
            .made(&name("patch_embed.proj.weight"), hidden * patch_pitch(v), &|full| still_patch_embed(v, full))?,
        bias: sink.vector(&[name("patch_embed.proj.bias")])?,
    };
    let blocks = (0..v.depth)
        .map(|n| {
            let name = |part: &str| name(&format!("blocks.{n}.{part}"));
            let mut affine = |part: &str| -> Result<Affine, DeviceError> {
                let (weight, bias) = (name(&format!("{part}.weight")), name(&format!("{part}.bias")));
                Ok(Affine { weight: sink.matrix(&[weight])?, bias: sink.vector(&[bias])? })
            };
            let (qkv, proj, down) = (affine("attn.qkv")?, affine("attn.proj")?, affine("mlp.down_proj")?);
            let gate_up = |kind| ["gate", "up"].map(|p| name(&format!("mlp.{p}_proj.{kind}")));
            Ok(VisionBlock {
                norm1: sink.vector(&[name("norm1.weight")])?,
                qkv,
                q_norm: sink.vector(&[name("attn.q_norm.weight")])?,
                k_norm: sink.vector(&[name("attn.k_norm.weight")])?,
                proj,
                norm2: sink.vector(&[name("norm2.weight")])?,
                gate_up: Affine { weight: sink.matrix(&gate_up("weight"))?, bias: sink.vector(&gate_up("bias"))? },
                down,
            })
        })
        .collect::<Result<_, DeviceError>>()?;
    let post_layernorm = sink.vector(&[name("post_layernorm.weight")])?;
    let downsample = Affine {
        weight: sink
            .made(&name("downsample.weight"), out * hidden * area, &|full| channels_last(full, hidden, area))?,
        bias: sink.vector(&[name("downsample.bias")])?,
    };
    let merger = |part: &str| name(&format!("merger.{part}"));
    Ok(VisionWeights {
        patch_embed,
        blocks,
        post_layernorm,
        downsample,
        merger_proj: sink.matrix(&[merger("proj.weight")])?,
        merger_norm: Affine {
            weight: sink.vector(&[merger("post_projection_norm.weight")])?,
            bias: sink.vector(&[merger("post_projection_norm.bias")])?,
        },
        merger_gate_up: sink.matrix(&[merger("gate_proj.weight"), merger("up_proj.weight")])?,
        merger_down: sink.matrix(&[merger("down_proj.weight")])?,
        rotations: sink.table(SIDES * v.head_dim() / 2, &|| vision_rotations(v))?,
        sides: SIDES,
    })
}

/// The patch embedding of a still picture; rows padded with zeros.
fn still_patch_embed(v: &VisionConfig, full: &[f32]) -> Vec<f32> {
    let (values, pitch) = (patch_values(v), patch_pitch(v));
    let mut out = Vec::with_capacity(v.hidden_size * pitch);
    for row in sum_frames(v, full).chunks_exact(values) {
        out.extend(row);
        out.resize(out.len() + pitch - values, 0.0);
    }
    out
}

/// `[out, channels, area]` to `[out, area, channels]`.
fn channels_last(full: &[f32], channels: usize, area: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(full.len());
    for row in full.chunks_exact(channels * area) {
        for at in 0..area {
            out.extend(row.iter().skip(at).step_by(area));
        }
    }
    out
}

/// `(cos, sin)` of `position * theta^(-2i / head_dim)`, angles in f32 as the reference computes them.
fn text_rotations(t: &TextConfig, positions: usize) -> Vec<f32> {
    rotations(positions, t.rope_theta, t.head_dim)
}

/// `(cos, sin)` of `side * theta^(-2i / (head_dim / 2))`.
fn vision_rotations(v: &VisionConfig) -> Vec<f32> {
    rotations(SIDES, v.rope_theta, v.head_dim() / 2)
}

fn rotations(rows: usize, theta: f64, dim: usize) -> Vec<f32> {
    let frequencies = inverse_frequencies(theta, dim);
    let angles = (0..rows).flat_map(|row| frequencies.iter().map(move |f| row as f32 * f));
    angles.flat_map(|angle| [angle.cos(), angle.sin()]).collect()
}

/// The shapes of the checkpoint's tensors by name.
type Sizes = HashMap<String, Vec<usize>>;

fn sizes(config: &ModelConfig) -> Sizes {
    config.tensors().into_iter().collect()
}

/// Counts bytes.
struct Count {
    sizes: Sizes,
    bytes: usize,
}

impl Count {
    fn add(&mut self, bytes: usize) -> Result<DevicePtr, DeviceError> {
        self.bytes += bytes.next_multiple_of(ALIGNMENT);
        Ok(DevicePtr(0))
    }

    fn elements(&self, names: &[String]) -> usize {
        names.iter().filter_map(|name| self.sizes.get(name)).map(|shape| shape.iter().product::<usize>()).sum()
    }
}

impl TensorSink for Count {
    fn matrix(&mut self, names: &[String]) -> Result<DevicePtr, DeviceError> {
        self.add(2 * self.elements(names))
    }

    fn vector(&mut self, names: &[String]) -> Result<DevicePtr, DeviceError> {
        self.add(4 * self.elements(names))
    }

    fn made(
        &mut self,
        _name: &str,
        values: usize,
        _make: &dyn Fn(&[f32]) -> Vec<f32>,
    ) -> Result<DevicePtr, DeviceError> {
        self.add(2 * values)
    }

    fn table(&mut self, values: usize, _make: &dyn Fn() -> Vec<f32>) -> Result<DevicePtr, DeviceError> {
        self.add(4 * values)
    }
}

/// Copies to a card.
struct Upload<'a> {
    sizes: Sizes,
    driver: &'a mut dyn Driver,
    weights: &'a Weights,
    at: DevicePtr,
}

impl Upload<'_> {
    fn tensor(&self, name: &str) -> Result<Tensor, DeviceError> {
        let shape = self.sizes.get(name).map(Vec::as_slice).unwrap_or_default();
        self.weights.tensor(name, shape).map_err(|error| DeviceError::Unfit(error.to_string()))
    }

    /// Puts tensors one after the other from the next aligned address on.
    fn put(
        &mut self,
        names: &[String],
        append: impl Fn(&mut Self, &Tensor) -> Result<(), DeviceError>,
    ) -> Result<DevicePtr, DeviceError> {
        let start = self.at;
        for name in names {
            let tensor = self.tensor(name)?;
            append(self, &tensor)?;
        }
        Ok(self.close(start))
    }

    fn append<T: Pod>(&mut self, values: &[T]) -> Result<(), DeviceError> {
        let bytes = bytes_of(values);
        self.driver.upload(self.at, bytes)?;
        self.at = self.at.offset(bytes.len());
        Ok(())
    }

    fn close(&mut self, start: DevicePtr) -> DevicePtr {
        let length = (self.at.0 - start.0) as usize;
        self.at = start.offset(length.next_multiple_of(ALIGNMENT));
        start
    }
}

impl TensorSink for Upload<'_> {
    fn matrix(&mut self, names: &[String]) -> Result<DevicePtr, DeviceError> {
        self.put(names, |sink, tensor| match tensor.dtype {
            Dtype::Bf16 => sink.append(tensor.data.as_slice()),
            _ => sink.append(&halves(&tensor.to_f32_vec())),
        })
    }

    fn vector(&mut self, names: &[String]) -> Result<DevicePtr, DeviceError> {
        self.put(names, |sink, tensor| sink.append(&tensor.to_f32_vec()))
    }

    fn made(
        &mut self,
        name: &str,
        _values: usize,
        make: &dyn Fn(&[f32]) -> Vec<f32>,
    ) -> Result<DevicePtr, DeviceError> {
        self.put(&[name.to_owned()], |sink, tensor| sink.append(&halves(&make(&tensor.to_f32_vec()))))
    }

    fn table(&mut self, _values: usize, make: &dyn Fn() -> Vec<f32>) -> Result<DevicePtr, DeviceError> {
        let start = self.at;
        self.append(&make())?;
        Ok(self.close(start))
    }
}

/// Values rounded to bf16.
fn halves(values: &[f32]) -> Vec<bf16> {
    values.iter().map(|&value| bf16::from_f32(value)).collect()
}
