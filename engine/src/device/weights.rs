//! The weights on a card: one block of memory, matrices as bf16 `[out, in]`, vectors as f32, in the arrangement that the
//! kernels ask for (`kernels/cuda/README.md`).

use half::bf16;
use kernels::cuda::driver::{DevicePtr, Driver};
use kernels::memory::{Dtype, Tensor};

use super::DeviceError;
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
    let mut count = Count::default();
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
    let mut upload = Upload { driver, weights, at: base };
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

/// A tensor of the checkpoint: name and shape.
type Source<'a> = (&'a str, &'a [usize]);

/// Puts tensors one after the other.
trait Place {
    /// Tensors stacked along their first axis, as bf16.
    fn matrix(&mut self, sources: &[Source<'_>]) -> Result<DevicePtr, DeviceError>;
    /// Tensors stacked, as f32.
    fn vector(&mut self, sources: &[Source<'_>]) -> Result<DevicePtr, DeviceError>;
    /// So many bf16 values that are made from one tensor.
    fn made(
        &mut self,
        source: Source<'_>,
        values: usize,
        make: &dyn Fn(&[f32]) -> Vec<f32>,
    ) -> Result<DevicePtr, DeviceError>;
    /// So many f32 values that come from no tensor.
    fn table(&mut self, values: usize, make: &dyn Fn() -> Vec<f32>) -> Result<DevicePtr, DeviceError>;
}

fn text(config: &ModelConfig, positions: usize, place: &mut dyn Place) -> Result<TextWeights, DeviceError> {
    let t = &config.text;
    let (hidden, inner) = (t.hidden_size, t.intermediate_size);
    let (q, kv) = (t.num_attention_heads * t.head_dim, t.num_key_value_heads * t.head_dim);
    let prefix = "model.language_model";
    let embed = format!("{prefix}.embed_tokens.weight");
    let embed_tokens = place.matrix(&[(&embed, &[t.vocab_size, hidden])])?;
    let layers = (0..t.num_hidden_layers)
        .map(|n| {
            let name = |part: &str| format!("{prefix}.layers.{n}.{part}.weight");
            let mut norm = |part| place.vector(&[(&name(part), &[hidden])]);
            let input_layernorm = norm("input_layernorm")?;
            let post_self_attn_layernorm = norm("post_self_attn_layernorm")?;
            let post_attention_layernorm = norm("post_attention_layernorm")?;
            let post_mlp_layernorm = norm("post_mlp_layernorm")?;
            Ok(TextLayer {
                input_layernorm,
                post_self_attn_layernorm,
                post_attention_layernorm,
                post_mlp_layernorm,
                qkv: place.matrix(&[
                    (&name("self_attn.q_proj"), &[q, hidden]),
                    (&name("self_attn.k_proj"), &[kv, hidden]),
                    (&name("self_attn.v_proj"), &[kv, hidden]),
                ])?,
                o_proj: place.matrix(&[(&name("self_attn.o_proj"), &[hidden, q])])?,
                gate_up_proj: place.matrix(&[(&name("mlp.gate_up_proj"), &[2 * inner, hidden])])?,
                down_proj: place.matrix(&[(&name("mlp.down_proj"), &[hidden, inner])])?,
            })
        })
        .collect::<Result<_, DeviceError>>()?;
    let norm = place.vector(&[(&format!("{prefix}.norm.weight"), &[hidden])])?;
    let lm_head = match config.tie_word_embeddings {
        true => embed_tokens,
        false => place.matrix(&[(config.lm_head(), &[t.vocab_size, hidden])])?,
    };
    let rotations = place.table(positions * t.head_dim, &|| text_rotations(t, positions))?;
    Ok(TextWeights { embed_tokens, layers, norm, lm_head, rotations, positions })
}

fn vision(v: &VisionConfig, place: &mut dyn Place) -> Result<VisionWeights, DeviceError> {
    let (hidden, inner, head_dim) = (v.hidden_size, v.intermediate_size, v.head_dim());
    let (out, wide, merge) = (v.out_hidden_size, v.merger_size(), v.spatial_merge_size);
    let name = |part: &str| format!("model.visual.{part}");
    let shape = [hidden, v.in_channels, v.temporal_patch_size, v.patch_size, v.patch_size];
    let patch_embed = Affine {
        weight: place.made((&name("patch_embed.proj.weight"), &shape), hidden * patch_pitch(v), &|full| {
            still_patch_embed(v, full)
        })?,
        bias: place.vector(&[(&name("patch_embed.proj.bias"), &[hidden])])?,
    };
    let blocks = (0..v.depth)
        .map(|n| {
            let part = |p: &str| name(&format!("blocks.{n}.{p}"));
            let mut affine = |parts: &[&str], o: usize, i: usize| -> Result<Affine, DeviceError> {
                let weights: Vec<String> = parts.iter().map(|p| part(&format!("{p}.weight"))).collect();
                let biases: Vec<String> = parts.iter().map(|p| part(&format!("{p}.bias"))).collect();
                let (matrix, vector) = ([o, i], [o]);
                let weights: Vec<Source<'_>> = weights.iter().map(|name| (name.as_str(), &matrix[..])).collect();
                let biases: Vec<Source<'_>> = biases.iter().map(|name| (name.as_str(), &vector[..])).collect();
                Ok(Affine { weight: place.matrix(&weights)?, bias: place.vector(&biases)? })
            };
            let qkv = affine(&["attn.qkv"], 3 * hidden, hidden)?;
            let proj = affine(&["attn.proj"], hidden, hidden)?;
            let gate_up = affine(&["mlp.gate_proj", "mlp.up_proj"], inner, hidden)?;
            let down = affine(&["mlp.down_proj"], hidden, inner)?;
            Ok(VisionBlock {
                qkv,
                proj,
                gate_up,
                down,
                norm1: place.vector(&[(&part("norm1.weight"), &[hidden])])?,
                q_norm: place.vector(&[(&part("attn.q_norm.weight"), &[head_dim])])?,
                k_norm: place.vector(&[(&part("attn.k_norm.weight"), &[head_dim])])?,
                norm2: place.vector(&[(&part("norm2.weight"), &[hidden])])?,
            })
        })
        .collect::<Result<_, DeviceError>>()?;
    let post_layernorm = place.vector(&[(&name("post_layernorm.weight"), &[hidden])])?;
    let area = merge * merge;
    let downsample = Affine {
        weight: place.made(
            (&name("downsample.weight"), &[out, hidden, merge, merge]),
            out * hidden * area,
            &|full| channels_last(full, hidden, area),
        )?,
        bias: place.vector(&[(&name("downsample.bias"), &[out])])?,
    };
    let merger = |part: &str| name(&format!("merger.{part}.weight"));
    Ok(VisionWeights {
        patch_embed,
        blocks,
        post_layernorm,
        downsample,
        merger_proj: place.matrix(&[(&merger("proj"), &[out, out])])?,
        merger_norm: Affine {
            weight: place.vector(&[(&merger("post_projection_norm"), &[out])])?,
            bias: place.vector(&[(&name("merger.post_projection_norm.bias"), &[out])])?,
        },
        merger_gate_up: place.matrix(&[(&merger("gate_proj"), &[wide, out]), (&merger("up_proj"), &[wide, out])])?,
        merger_down: place.matrix(&[(&merger("down_proj"), &[out, wide])])?,
        rotations: place.table(SIDES * head_dim / 2, &|| vision_rotations(v))?,
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

fn elements(sources: &[Source<'_>]) -> usize {
    sources.iter().map(|(_, shape)| shape.iter().product::<usize>()).sum()
}

/// Every tensor starts at a multiple of so many bytes.
const ALIGNMENT: usize = 256;

/// Counts bytes.
#[derive(Default)]
struct Count {
    bytes: usize,
}

impl Count {
    fn add(&mut self, bytes: usize) -> Result<DevicePtr, DeviceError> {
        self.bytes += bytes.next_multiple_of(ALIGNMENT);
        Ok(DevicePtr(0))
    }
}

impl Place for Count {
    fn matrix(&mut self, sources: &[Source<'_>]) -> Result<DevicePtr, DeviceError> {
        self.add(2 * elements(sources))
    }

    fn vector(&mut self, sources: &[Source<'_>]) -> Result<DevicePtr, DeviceError> {
        self.add(4 * elements(sources))
    }

    fn made(
        &mut self,
        _source: Source<'_>,
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
    driver: &'a mut dyn Driver,
    weights: &'a Weights,
    at: DevicePtr,
}

impl Upload<'_> {
    fn tensor(&self, (name, shape): Source<'_>) -> Result<Tensor, DeviceError> {
        self.weights.tensor(name, shape).map_err(|error| DeviceError::unfit(error.to_string()))
    }

    /// Puts parts one after the other at the next aligned address.
    fn put(
        &mut self,
        sources: &[Source<'_>],
        convert: impl Fn(&Tensor) -> Option<Vec<u8>>,
    ) -> Result<DevicePtr, DeviceError> {
        let start = self.at;
        for &source in sources {
            let tensor = self.tensor(source)?;
            let bytes = convert(&tensor);
            let bytes = bytes.as_deref().unwrap_or(tensor.data.as_slice());
            self.driver.upload(self.at, bytes)?;
            self.at = self.at.offset(bytes.len());
        }
        Ok(self.close(start))
    }

    fn put_bytes(&mut self, bytes: &[u8]) -> Result<DevicePtr, DeviceError> {
        let start = self.at;
        self.driver.upload(start, bytes)?;
        self.at = start.offset(bytes.len());
        Ok(self.close(start))
    }

    fn close(&mut self, start: DevicePtr) -> DevicePtr {
        let length = (self.at.0 - start.0) as usize;
        self.at = start.offset(length.next_multiple_of(ALIGNMENT));
        start
    }
}

impl Place for Upload<'_> {
    fn matrix(&mut self, sources: &[Source<'_>]) -> Result<DevicePtr, DeviceError> {
        self.put(sources, |tensor| (tensor.dtype != Dtype::Bf16).then(|| halves(&tensor.to_f32_vec())))
    }

    fn vector(&mut self, sources: &[Source<'_>]) -> Result<DevicePtr, DeviceError> {
        self.put(sources, |tensor| Some(singles(&tensor.to_f32_vec())))
    }

    fn made(
        &mut self,
        source: Source<'_>,
        _values: usize,
        make: &dyn Fn(&[f32]) -> Vec<f32>,
    ) -> Result<DevicePtr, DeviceError> {
        let tensor = self.tensor(source)?;
        self.put_bytes(&halves(&make(&tensor.to_f32_vec())))
    }

    fn table(&mut self, _values: usize, make: &dyn Fn() -> Vec<f32>) -> Result<DevicePtr, DeviceError> {
        self.put_bytes(&singles(&make()))
    }
}

/// Values rounded to bf16, little-endian.
fn halves(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|&value| bf16::from_f32(value).to_le_bytes()).collect()
}

/// Values as little-endian f32.
pub(super) fn singles(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}
