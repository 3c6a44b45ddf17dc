//! What both halves of the model are made of: matrices by their names in the checkpoint, and rows of a table.

use half::slice::HalfFloatSliceExt;
use kernels::memory::{Dtype, Tensor};
use kernels::{Format, Kernel, Matrix};

use super::Weights;
use crate::checkpoint::CheckpointError;

/// Reads matrices in the number format that the model is to compute in.
#[derive(Clone, Copy)]
pub(crate) struct Loader<'a> {
    pub(crate) weights: &'a Weights,
    pub(crate) kernel: &'a Kernel<'static>,
    pub(crate) format: Format,
    /// Whether matrices are packed once, which takes a copy of them.
    pub(crate) pack: bool,
}

impl Loader<'_> {
    /// The numbers of a tensor.
    pub(crate) fn vector(&self, name: &str, length: usize) -> Result<Vec<f32>, CheckpointError> {
        Ok(self.weights.tensor(name, &[length])?.to_f32_vec())
    }

    /// One matrix of several tensors, `(name without ".weight", outputs)`, that read the same `inner` numbers. `bias`:
    /// whether each has one.
    pub(crate) fn matrix(&self, parts: &[(&str, usize)], inner: usize, bias: bool) -> Result<Matrix, CheckpointError> {
        let (tensors, bias) = self.tensors(parts, inner, bias)?;
        self.settle(Matrix::new(tensors, bias))
    }

    /// As [`Loader::matrix`], the lower half of whose outputs are gates of the upper half.
    pub(crate) fn gated(&self, parts: &[(&str, usize)], inner: usize, bias: bool) -> Result<Matrix, CheckpointError> {
        let (tensors, bias) = self.tensors(parts, inner, bias)?;
        self.settle(Matrix::new(tensors, bias).and_then(Matrix::gated))
    }

    fn tensors(
        &self,
        parts: &[(&str, usize)],
        inner: usize,
        bias: bool,
    ) -> Result<(Vec<Tensor>, Option<Vec<f32>>), CheckpointError> {
        let mut tensors = Vec::with_capacity(parts.len());
        let mut biases = Vec::new();
        for &(name, outputs) in parts {
            tensors.push(self.weights.tensor(&format!("{name}.weight"), &[outputs, inner])?);
            if bias {
                biases.extend(self.vector(&format!("{name}.bias"), outputs)?);
            }
        }
        Ok((tensors, bias.then_some(biases)))
    }

    /// Gives a matrix its number format.
    pub(crate) fn settle(&self, matrix: Option<Matrix>) -> Result<Matrix, CheckpointError> {
        let fault = || CheckpointError::Damaged {
            file: "config.json".into(),
            fault: "the sizes of a matrix do not fit together".into(),
        };
        let matrix = matrix.ok_or_else(fault)?.with_format(self.kernel, self.format);
        Ok(if self.pack { matrix.packed(self.kernel) } else { matrix })
    }
}

/// Rows of a table `[rows, width]` as f32, one for each id, into `out`; ids outside take the last row.
pub(crate) fn gather(table: &Tensor, width: usize, ids: &[u32], out: &mut Vec<f32>) {
    let rows = table.len() / width;
    out.resize(ids.len() * width, 0.0);
    for (&id, out) in ids.iter().zip(out.chunks_exact_mut(width)) {
        let row = (id as usize).min(rows - 1) * width;
        let range = row..row + width;
        // The loader aligns every tensor, so a view is always there.
        match table.dtype {
            Dtype::F32 => out.copy_from_slice(&table.data.as_f32().unwrap_or_default()[range]),
            Dtype::Bf16 => table.data.as_bf16().unwrap_or_default()[range].convert_to_f32_slice(out),
            Dtype::F16 => table.data.as_f16().unwrap_or_default()[range].convert_to_f32_slice(out),
        }
    }
}
