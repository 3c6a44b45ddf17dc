//! What both halves of the model are made of: linear layers over weights as they are stored, and norms.

use kernels::memory::{Dtype, Tensor};
use kernels::{Kernel, Weights};

/// `y = x W^T (+ b)`, `W` `[out, in]`.
pub(crate) struct Linear {
    weight: Tensor,
    bias: Option<Vec<f32>>,
    inner: usize,
    outer: usize,
}

impl Linear {
    /// From a weight whose first dimension is the output; the others are flattened.
    pub(crate) fn new(weight: Tensor, bias: Option<Vec<f32>>) -> Self {
        let outer = weight.shape.first().copied().unwrap_or(0);
        Self { inner: weight.len() / outer.max(1), outer, weight, bias }
    }

    /// Every row of `x` (`[rows, in]`) through the layer: `[rows, out]`.
    pub(crate) fn apply(&self, kernel: &Kernel, x: &[f32]) -> Vec<f32> {
        let mut y = vec![0.0; x.len() / self.inner * self.outer];
        kernel.product(x, weights(&self.weight), self.bias.as_deref(), self.inner, &mut y);
        y
    }
}

/// The numbers of a tensor by type. The loader aligns every tensor, so a view is always there.
fn weights(tensor: &Tensor) -> Weights<'_> {
    match tensor.dtype {
        Dtype::F32 => Weights::F32(tensor.data.as_f32().unwrap_or_default()),
        Dtype::Bf16 => Weights::Bf16(tensor.data.as_bf16().unwrap_or_default()),
        Dtype::F16 => Weights::F16(tensor.data.as_f16().unwrap_or_default()),
    }
}

/// Rows of a table `[rows, width]` as f32, one for each id; ids outside take the last row.
pub(crate) fn gather(table: &Tensor, width: usize, ids: &[u32]) -> Vec<f32> {
    let rows = table.len() / width;
    let mut out = Vec::with_capacity(ids.len() * width);
    for &id in ids {
        let at = (id as usize).min(rows - 1) * width;
        match weights(table) {
            Weights::F32(w) => out.extend_from_slice(&w[at..at + width]),
            Weights::Bf16(w) => out.extend(w[at..at + width].iter().map(|v| v.to_f32())),
            Weights::F16(w) => out.extend(w[at..at + width].iter().map(|v| v.to_f32())),
        }
    }
    out
}

/// Root-mean-square norm of every row of `x` (`[rows, weight.len()]`).
pub(crate) fn norm(kernel: &Kernel, x: &[f32], weight: &[f32], eps: f32) -> Vec<f32> {
    let mut out = vec![0.0; x.len()];
    kernel.rms_norm(x, weight, eps, &mut out);
    out
}
