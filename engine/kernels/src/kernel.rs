//! The choice of instruction set: a [`Kernel`] is proof that this processor has it.

use std::ops::Range;

use rayon::prelude::*;

use crate::attention::{self, Attention};
use crate::elementwise;
use crate::product::{self, Product, Start, Weights};
use crate::sharing::threads;
use crate::simd::portable::Portable;

/// The kernels of one instruction set. Copy it freely; make one with [`Kernel::best`] or [`Kernel::available`].
#[derive(Clone, Copy)]
pub struct Kernel {
    name: &'static str,
    product: product::Block,
    attention: attention::Run,
    rms_norm: unsafe fn(&[f32], &[f32], f32, &mut [f32]),
    silu_product: unsafe fn(&[f32], &[f32], &mut [f32]),
    peak: unsafe fn(&[f32]) -> (usize, f32),
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Kernel").field(&self.name).finish()
    }
}

/// A [`Kernel`] whose functions are compiled for the given features.
macro_rules! kernel {
    ($name:literal, $vector:ty $(, $features:literal)?) => {{
        use $crate::{attention::Task, simd::Vector};
        type V = $vector;
        const _: () = assert!(V::LANES <= 16);
        $(#[target_feature(enable = $features)])?
        unsafe fn product(p: &Product, rows: Range<usize>, columns: Range<usize>) {
            // SAFETY: the caller vouches for the features and for the product's memory.
            unsafe { product::block::<V>(p, rows, columns) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn attention(task: &Task<'_>) {
            // SAFETY: the caller vouches for the features and for the task's memory.
            unsafe { attention::task::<V>(task) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn rms_norm(x: &[f32], w: &[f32], eps: f32, out: &mut [f32]) {
            // SAFETY: the caller vouches for the features and the lengths.
            unsafe { elementwise::rms_norm::<V>(x, w, eps, out) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn silu_product(gate: &[f32], up: &[f32], out: &mut [f32]) {
            // SAFETY: the caller vouches for the features and the lengths.
            unsafe { elementwise::silu_product::<V>(gate, up, out) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn peak(row: &[f32]) -> (usize, f32) {
            // SAFETY: the caller vouches for the features.
            unsafe { elementwise::peak::<V>(row) }
        }
        Kernel { name: $name, product, attention, rms_norm, silu_product, peak }
    }};
}

impl Kernel {
    /// The fastest one that this processor has.
    pub fn best() -> Self {
        Self::available()[0]
    }

    /// All that this processor has, the fastest first, the portable one last.
    pub fn available() -> Vec<Self> {
        let mut kernels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                kernels.push(kernel!("avx512", crate::simd::avx512::Avx512, "avx512f,avx2,fma"));
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c") {
                kernels.push(kernel!("avx2", crate::simd::avx2::Avx2, "avx2,fma,f16c"));
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            kernels.push(kernel!("neon", crate::simd::neon::Neon, "neon"));
        }
        kernels.push(kernel!("portable", Portable));
        kernels
    }

    /// A short name for logs and reports.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// `y[r, c] = sum_k x[r, k] * w[c, k] + bias[c]`, for `x` `[rows, inner]`, `w` `[columns, inner]`, `y`
    /// `[rows, columns]`. A row's result does not depend on the other rows.
    ///
    /// # Panics
    /// When the lengths do not fit together.
    pub fn product(&self, x: &[f32], w: Weights<'_>, bias: Option<&[f32]>, inner: usize, y: &mut [f32]) {
        assert!(inner > 0 && x.len().is_multiple_of(inner) && w.len().is_multiple_of(inner), "product: inner size");
        let (rows, columns) = (x.len() / inner, w.len() / inner);
        assert!(y.len() == rows * columns && bias.is_none_or(|b| b.len() == columns), "product: outer size");
        let product = Product {
            x: x.as_ptr(),
            weights: match w {
                Weights::F32(w) => Start::F32(w.as_ptr()),
                Weights::Bf16(w) => Start::Bf16(w.as_ptr()),
                Weights::F16(w) => Start::F16(w.as_ptr()),
            },
            inner,
            bias: bias.map_or(std::ptr::null(), <[f32]>::as_ptr),
            y: y.as_mut_ptr(),
            outer: columns,
        };
        // SAFETY: sizes were checked; self exists only where its features do.
        unsafe { product::run(self.product, product, rows, columns) }
    }

    /// Attention; `out` is `[R, H, D]`.
    ///
    /// # Panics
    /// When the lengths do not fit together.
    pub fn attention(&self, call: &Attention<'_>, out: &mut [f32]) {
        let Attention { queries, keys, values, visible, heads, head_dim, .. } = *call;
        let most = visible.iter().max().copied().unwrap_or(0) * head_dim;
        assert!(!keys.is_empty() && heads.is_multiple_of(keys.len()) && values.len() == keys.len(), "attention: heads");
        assert!(keys.iter().chain(values).all(|k| k.len() >= most) && head_dim > 0, "attention: keys");
        assert!(visible.iter().all(|&n| n > 0), "attention: a row that sees nothing");
        assert!(queries.len() == visible.len() * heads * head_dim && out.len() == queries.len(), "attention: rows");
        // SAFETY: sizes were checked; self exists only where its features do.
        unsafe { attention::run(self.attention, call, out) }
    }

    /// Root-mean-square norm of every row of `x` (`[rows, weight.len()]`) into `out`.
    ///
    /// # Panics
    /// When the lengths do not fit together.
    pub fn rms_norm(&self, x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
        let n = weight.len();
        assert!(n > 0 && x.len() == out.len() && x.len().is_multiple_of(n), "rms_norm: size");
        for (x, out) in x.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
            // SAFETY: the lengths are equal; self exists only where its features do.
            unsafe { (self.rms_norm)(x, weight, eps, out) }
        }
    }

    /// Layer norm with weight and bias of every row of `x` into `out`.
    ///
    /// # Panics
    /// When the lengths do not fit together.
    pub fn layer_norm(&self, x: &[f32], weight: &[f32], bias: &[f32], eps: f32, out: &mut [f32]) {
        let n = weight.len();
        assert!(n > 0 && bias.len() == n && x.len() == out.len() && x.len().is_multiple_of(n), "layer_norm: size");
        for (x, out) in x.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
            elementwise::layer_norm(x, weight, bias, eps, out);
        }
    }

    /// `out = silu(gate) * up`, element by element.
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn silu_product(&self, gate: &[f32], up: &[f32], out: &mut [f32]) {
        assert!(gate.len() == out.len() && up.len() == out.len(), "silu_product: size");
        const SHARE: usize = 1 << 15;
        out.par_chunks_mut(SHARE).zip(gate.par_chunks(SHARE)).zip(up.par_chunks(SHARE)).for_each(
            |((out, gate), up)| {
                // SAFETY: the lengths are equal; self exists only where its features do.
                unsafe { (self.silu_product)(gate, up, out) }
            },
        );
    }

    /// As [`Kernel::silu_product`] for `gate_up` `[rows, 2 * inner]`, the gate first, into `out` `[rows, inner]`.
    ///
    /// # Panics
    /// When the lengths do not fit together.
    pub fn silu_product_fused(&self, gate_up: &[f32], inner: usize, out: &mut [f32]) {
        assert!(inner > 0 && gate_up.len() == 2 * out.len() && out.len().is_multiple_of(inner), "silu: size");
        for (gate_up, out) in gate_up.chunks_exact(2 * inner).zip(out.chunks_exact_mut(inner)) {
            let (gate, up) = gate_up.split_at(inner);
            // SAFETY: the lengths are equal; self exists only where its features do.
            unsafe { (self.silu_product)(gate, up, out) }
        }
    }

    /// The exact (erf) GELU in place.
    pub fn gelu(&self, x: &mut [f32]) {
        let share = share(x.len(), 1 << 14);
        x.par_chunks_mut(share).for_each(elementwise::gelu);
    }

    /// Rotates adjacent pairs of every head: `x` `[rows, heads, D]`, tables `[rows, D]`.
    ///
    /// # Panics
    /// When the lengths do not fit together.
    pub fn rotate_pairs(&self, x: &mut [f32], cos: &[f32], sin: &[f32], head_dim: usize) {
        rotate(x, cos, sin, head_dim, elementwise::rotate_pairs);
    }

    /// Rotates pairs half a head apart: `x` `[rows, heads, D]`, tables `[rows, D]`.
    ///
    /// # Panics
    /// When the lengths do not fit together.
    pub fn rotate_halves(&self, x: &mut [f32], cos: &[f32], sin: &[f32], head_dim: usize) {
        rotate(x, cos, sin, head_dim, elementwise::rotate_halves);
    }

    /// Index (the first of equals) and softmax probability of a row's largest value.
    pub fn peak(&self, row: &[f32]) -> (usize, f32) {
        // SAFETY: self exists only where its features do.
        unsafe { (self.peak)(row) }
    }
}

/// How many of `total` elements one thread takes at a time: `size`, or all where the kernel stays on its thread.
fn share(total: usize, size: usize) -> usize {
    if threads() == 1 { total.max(1) } else { size }
}

fn rotate(x: &mut [f32], cos: &[f32], sin: &[f32], head_dim: usize, f: fn(&mut [f32], &[f32], &[f32])) {
    assert!(head_dim > 0 && cos.len() == sin.len() && cos.len().is_multiple_of(head_dim), "rotate: tables");
    if cos.is_empty() {
        return;
    }
    let rows = cos.len() / head_dim;
    assert!(x.len().is_multiple_of(rows * head_dim), "rotate: size");
    let row = x.len() / rows;
    for ((x, cos), sin) in x.chunks_exact_mut(row).zip(cos.chunks_exact(head_dim)).zip(sin.chunks_exact(head_dim)) {
        for head in x.chunks_exact_mut(head_dim) {
            f(head, cos, sin);
        }
    }
}
