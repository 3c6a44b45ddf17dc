//! The tensors of a checkpoint, read in place from its safetensors files.

use std::collections::HashMap;
use std::sync::Arc;

use kernels::memory::{Bytes, Dtype, Tensor};
use rayon::prelude::*;
use safetensors::tensor::Metadata;

use super::CheckpointError;
use super::error::brief;
use super::folder::Folder;
use super::random::RandomTensors;
use super::settings::Settings;

/// The one file of a checkpoint that is not sharded.
pub(super) const SINGLE: &str = "model.safetensors";
/// Names the files of a sharded checkpoint.
pub(super) const INDEX: &str = "model.safetensors.index.json";
/// Largest header of a safetensors file, bytes. A file with 526 tensors has about 60 KB.
const HEADER_LIMIT: u64 = 32 << 20;
/// Bytes of the header's length.
const PREFIX: usize = 8;

/// Named tensors: those of mapped files, which they share, or random ones, made when asked for. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Weights {
    /// The file that lists the tensors, for messages.
    file: Arc<str>,
    tensors: Tensors,
}

#[derive(Clone, Debug)]
enum Tensors {
    Stored(Arc<HashMap<String, Stored>>),
    Random(Arc<RandomTensors>),
}

/// A tensor in its file.
#[derive(Debug)]
struct Stored {
    file: Arc<str>,
    dtype: safetensors::Dtype,
    shape: Vec<usize>,
    data: Bytes,
}

impl Weights {
    /// Maps `model.safetensors`, or the shards that `model.safetensors.index.json` names.
    pub(super) fn open(folder: &Folder) -> Result<Self, CheckpointError> {
        let mut tensors = HashMap::new();
        if let Some(bytes) = folder.map(SINGLE)? {
            let file: Arc<str> = folder.label(SINGLE).into();
            read_file(&file, &bytes, &mut tensors)?;
            return Ok(Self { file, tensors: Tensors::Stored(Arc::new(tensors)) });
        }
        let Some(index) = folder.json(INDEX)? else { return Err(folder.missing(SINGLE)) };
        let label = folder.label(INDEX);
        for shard in shards(&Settings::new(&label, &index))? {
            let bytes = folder.map(&shard)?.ok_or_else(|| folder.missing(&shard))?;
            read_file(&folder.label(&shard).into(), &bytes, &mut tensors)?;
        }
        Ok(Self { file: label.into(), tensors: Tensors::Stored(Arc::new(tensors)) })
    }

    /// Weights made in memory, for studies of speed and for tests.
    pub fn from_tensors(tensors: impl IntoIterator<Item = (String, Tensor)>) -> Self {
        let file: Arc<str> = "memory".into();
        let stored = |tensor: Tensor| Stored {
            file: file.clone(),
            dtype: match tensor.dtype {
                Dtype::F32 => safetensors::Dtype::F32,
                Dtype::F16 => safetensors::Dtype::F16,
                Dtype::Bf16 => safetensors::Dtype::BF16,
            },
            shape: tensor.shape,
            data: tensor.data,
        };
        let tensors = tensors.into_iter().map(|(name, tensor)| (name, stored(tensor))).collect();
        Self { file: file.clone(), tensors: Tensors::Stored(Arc::new(tensors)) }
    }

    /// Random weights; `file` lists them in messages.
    pub(super) fn random(file: &str, tensors: RandomTensors) -> Self {
        Self { file: file.into(), tensors: Tensors::Random(Arc::new(tensors)) }
    }

    /// Whether there is a tensor of this name.
    pub fn contains(&self, name: &str) -> bool {
        match &self.tensors {
            Tensors::Stored(tensors) => tensors.contains_key(name),
            Tensors::Random(random) => random.shape(name).is_some(),
        }
    }

    /// The number format of a tensor; `None` when there is none of this name, or in a format that cannot be read.
    pub fn dtype(&self, name: &str) -> Option<Dtype> {
        match &self.tensors {
            Tensors::Stored(tensors) => readable(tensors.get(name)?.dtype),
            Tensors::Random(random) => random.shape(name).map(|_| random.dtype()),
        }
    }

    /// A tensor of the shape that the caller needs. It shares the file's memory, or is copied where the file keeps it
    /// misaligned; a random one is made anew each time, on all threads, and not kept here. Errors: no such tensor,
    /// another shape, another number format than f32, f16, bf16.
    pub fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor, CheckpointError> {
        let (stored, dtype) = match self.find(name, shape)? {
            Found::Stored(stored, dtype) => (stored, dtype),
            Found::Random(random) => return Ok(random.tensor(name, shape)),
        };
        Tensor::new(dtype, shape, stored.data.clone())
            .or_else(|| Tensor::new(dtype, shape, Bytes::copy_from(stored.data.as_slice())))
            .ok_or_else(|| CheckpointError::Damaged {
                file: stored.file.to_string(),
                fault: format!("tensor {name} has another length than its shape says"),
            })
    }

    /// Checks names, shapes and formats without touching the numbers.
    pub(super) fn check(&self, expected: &[(String, Vec<usize>)]) -> Result<(), CheckpointError> {
        expected.iter().try_for_each(|(name, shape)| self.find(name, shape).map(drop))
    }

    /// Checks every number of the named tensors.
    pub(super) fn check_finite(&self, expected: &[(String, Vec<usize>)]) -> Result<(), CheckpointError> {
        expected.par_iter().try_for_each(|(name, shape)| match self.tensor(name, shape)?.first_non_finite() {
            None => Ok(()),
            Some(_) => {
                let file = match self.find(name, shape)? {
                    Found::Stored(stored, _) => &stored.file,
                    Found::Random(_) => &self.file,
                };
                Err(CheckpointError::NotFinite { file: file.to_string(), tensor: name.clone() })
            }
        })
    }

    fn find(&self, name: &str, shape: &[usize]) -> Result<Found<'_>, CheckpointError> {
        let missing = || CheckpointError::MissingTensor { file: self.file.to_string(), tensor: name.to_owned() };
        let of_shape = |file: &str, found: &[usize]| match found == shape {
            true => Ok(()),
            false => Err(CheckpointError::WrongShape {
                file: file.to_owned(),
                tensor: name.to_owned(),
                found: extents(found),
                expected: extents(shape),
            }),
        };
        match &self.tensors {
            Tensors::Random(random) => {
                of_shape(&self.file, random.shape(name).ok_or_else(missing)?)?;
                Ok(Found::Random(random))
            }
            Tensors::Stored(tensors) => {
                let stored = tensors.get(name).ok_or_else(missing)?;
                of_shape(&stored.file, &stored.shape)?;
                let dtype = readable(stored.dtype).ok_or_else(|| CheckpointError::UnsupportedDtype {
                    file: stored.file.to_string(),
                    tensor: name.to_owned(),
                    dtype: stored.dtype.to_string(),
                })?;
                Ok(Found::Stored(stored, dtype))
            }
        }
    }
}

/// Where a tensor of the right shape and format is.
enum Found<'a> {
    Stored(&'a Stored, Dtype),
    Random(&'a RandomTensors),
}

/// A stored number format, where it is one that can be read.
fn readable(dtype: safetensors::Dtype) -> Option<Dtype> {
    match dtype {
        safetensors::Dtype::F32 => Some(Dtype::F32),
        safetensors::Dtype::F16 => Some(Dtype::F16),
        safetensors::Dtype::BF16 => Some(Dtype::Bf16),
        _ => None,
    }
}

/// A shape as people write it: `2 x 3`.
fn extents(shape: &[usize]) -> String {
    match shape {
        [] => "a single number".to_owned(),
        _ => shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x "),
    }
}

/// The files that an index names, each once. They lie in the folder itself: a name with any path in it is refused.
fn shards(index: &Settings<'_>) -> Result<Vec<String>, CheckpointError> {
    let map = index
        .get("weight_map")
        .and_then(|map| map.as_object())
        .ok_or_else(|| index.fault("weight_map", "is missing or not an object"))?;
    let mut shards = Vec::new();
    for (tensor, shard) in map {
        let name = shard
            .as_str()
            .filter(|name| name.ends_with(".safetensors") && !name.contains(['/', '\\', ':', '\0']))
            .ok_or_else(|| {
                let fault = format!("puts {tensor} into {shard}, which is no safetensors file of this folder");
                index.fault("weight_map", fault)
            })?;
        shards.push(name.to_owned());
    }
    shards.sort();
    shards.dedup();
    if shards.len() > 1000 {
        return Err(index.fault("weight_map", format!("names {} files, more than any checkpoint has", shards.len())));
    }
    Ok(shards)
}

/// Reads one file's header and enters its tensors.
fn read_file(file: &Arc<str>, bytes: &Bytes, tensors: &mut HashMap<String, Stored>) -> Result<(), CheckpointError> {
    let damaged = |fault: String| CheckpointError::Damaged { file: file.to_string(), fault };
    let truncated = |needed: u64| CheckpointError::Truncated {
        file: file.to_string(),
        missing: needed.saturating_sub(bytes.len() as u64),
    };
    let content = bytes.as_slice();
    let Some(prefix) = content.first_chunk::<PREFIX>() else { return Err(truncated(PREFIX as u64)) };
    let header_length = u64::from_le_bytes(*prefix);
    if header_length > HEADER_LIMIT {
        return Err(damaged(format!("it announces a header of {header_length} bytes, so it is no safetensors file")));
    }
    let data_start = PREFIX + header_length as usize;
    let Some(header) = content.get(PREFIX..data_start) else { return Err(truncated(data_start as u64)) };
    // Deserialising checks that the tensors follow each other without gaps and have the lengths their shapes ask for.
    let header: Metadata = serde_json::from_slice(header)
        .map_err(|error| damaged(format!("its header makes no sense ({})", brief(error))))?;
    let needed = (data_start as u64).saturating_add(header.data_len() as u64);
    match (bytes.len() as u64).checked_sub(needed) {
        None => return Err(truncated(needed)),
        Some(0) => {}
        Some(surplus) => return Err(damaged(format!("it has {surplus} bytes more than its header says"))),
    }
    for (name, info) in header.tensors() {
        let (start, end) = info.data_offsets;
        let data = bytes
            .slice(data_start + start..data_start + end)
            .ok_or_else(|| damaged(format!("tensor {name} lies outside the file")))?;
        let stored = Stored { file: file.clone(), dtype: info.dtype, shape: info.shape.clone(), data };
        if tensors.insert(name.clone(), stored).is_some() {
            return Err(damaged(format!("tensor {name} is also in another file")));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "weights_tests.rs"]
mod tests;
