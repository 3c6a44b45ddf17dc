//! The choice of instruction set: a [`Kernel`] is proof that this processor has it.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use crate::attention::{self, Attention};
use crate::elementwise;
use crate::matrix::Matrix;
use crate::operand::{self, Format, Operand, SHARE_FROM};
use crate::product::{self, Best, Out, Product};
use crate::sharing::{is_set, threads};
use crate::simd::portable::Portable;

/// The kernels of one instruction set. Copy it freely; make one with [`Kernel::best`] or [`Kernel::available`].
#[derive(Clone, Copy)]
pub struct Kernel<'s> {
    name: &'static str,
    columns: usize,
    product: product::Run,
    attention: attention::Run,
    encode_row: unsafe fn(Format, &[f32], &mut [u32], &mut [f32]),
    rms_norm: unsafe fn(&[f32], &[f32], f32, &mut [f32]),
    rotate_pairs: unsafe fn(&mut [f32], &[f32], &[f32]),
    rotate_halves: unsafe fn(&mut [f32], &[f32], &[f32]),
    /// Set when what is computed is no longer wanted.
    stop: Option<&'s AtomicBool>,
}

impl std::fmt::Debug for Kernel<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Kernel").field(&self.name).finish()
    }
}

/// The likeliest token of a row of logits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// Its index, the first of equals.
    pub index: u32,
    /// Its softmax probability, 0..=1.
    pub probability: f32,
    /// By how much its logit exceeds the second largest, nats.
    pub margin: f32,
}

/// A [`Kernel`] whose functions are compiled for the given features, with panels of so many registers.
macro_rules! kernel {
    ($name:literal, $vector:ty, $registers:literal $(, $features:literal)?) => {{
        use $crate::{attention::Task, simd::Vector};
        type V = $vector;
        const C: usize = $registers;
        const _: () = assert!(V::LANES <= 16 && C * V::LANES <= $crate::panel::MOST_COLUMNS);
        $(#[target_feature(enable = $features)])?
        unsafe fn product(p: &Product<'_>, panels: Range<usize>, rows: Range<usize>) {
            // SAFETY: the caller vouches for the features and for the product's memory.
            unsafe { product::task::<V, C>(p, panels, rows) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn attention(task: &Task<'_>) {
            // SAFETY: the caller vouches for the features and for the task's memory.
            unsafe { attention::task::<V, C>(task) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn encode_row(format: Format, row: &[f32], words: &mut [u32], scales: &mut [f32]) {
            operand::encode_row(format, row, words, scales)
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn rms_norm(x: &[f32], w: &[f32], eps: f32, out: &mut [f32]) {
            // SAFETY: the caller vouches for the features and the lengths.
            unsafe { elementwise::rms_norm::<V>(x, w, eps, out) }
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn rotate_pairs(x: &mut [f32], cos: &[f32], sin: &[f32]) {
            elementwise::rotate_pairs(x, cos, sin)
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn rotate_halves(x: &mut [f32], cos: &[f32], sin: &[f32]) {
            elementwise::rotate_halves(x, cos, sin)
        }
        let columns = C * V::LANES;
        Kernel { name: $name, columns, product, attention, encode_row, rms_norm, rotate_pairs, rotate_halves, stop: None }
    }};
}

impl Kernel<'static> {
    /// The fastest one that this processor has.
    pub fn best() -> Self {
        Self::available()[0]
    }

    /// All that this processor has, the fastest first, the portable one last.
    pub fn available() -> Vec<Self> {
        let mut kernels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            use crate::simd::avx2::Avx2;
            use crate::simd::avx512::Avx512;
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bf16")
                && is_x86_feature_detected!("avx512vnni")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
            {
                kernels.push(kernel!(
                    "avx512-bf16",
                    Avx512<true>,
                    4,
                    "avx512f,avx512bw,avx512vl,avx512bf16,avx512vnni,avx2,fma"
                ));
            }
            if is_x86_feature_detected!("avx512f") {
                kernels.push(kernel!("avx512", Avx512<false>, 4, "avx512f,avx2,fma"));
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c") {
                kernels.push(kernel!("avx2", Avx2, 2, "avx2,fma,f16c"));
            }
        }
        #[cfg(target_arch = "aarch64")]
        {
            use std::arch::is_aarch64_feature_detected as has;

            use crate::simd::neon::Neon;
            if has!("neon") && has!("bf16") && has!("i8mm") {
                kernels.push(kernel!("neon-bf16", Neon<true>, 4, "neon,bf16,i8mm"));
            }
            if has!("neon") {
                kernels.push(kernel!("neon", Neon<false>, 4, "neon"));
            }
        }
        kernels.push(kernel!("portable", Portable, 2));
        kernels
    }
}

impl Kernel<'_> {
    /// The same kernel, whose products and attention leave off soon after `stop` is set. What they were to write is
    /// unspecified then: the caller asks [`Kernel::is_stopped`] before it uses any of it.
    pub fn until(self, stop: &AtomicBool) -> Kernel<'_> {
        Kernel { stop: Some(stop), ..self }
    }

    /// Whether the flag of [`Kernel::until`] is set.
    pub fn is_stopped(&self) -> bool {
        is_set(self.stop)
    }

    /// A short name for logs and reports.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Columns of a panel.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// `y = x w^T + bias`, `[rows, outputs]`, gated where the matrix is.
    ///
    /// A row's result does not depend on the other rows.
    ///
    /// # Panics
    /// When the sizes or formats do not fit together.
    pub fn product(&self, x: &Operand, w: &Matrix, y: &mut [f32]) {
        assert!(y.len() == x.rows() * w.outputs(), "product: outer size");
        let y = y.as_mut_ptr();
        self.run(x, w, if w.is_gated() { Out::GatedFloats(y) } else { Out::Write(y) });
    }

    /// As [`Kernel::product`], added to `y`.
    ///
    /// # Panics
    /// When the sizes or formats do not fit together, or the matrix is gated.
    pub fn product_add(&self, x: &Operand, w: &Matrix, y: &mut [f32]) {
        assert!(y.len() == x.rows() * w.outputs() && !w.is_gated(), "product_add: outer size");
        self.run(x, w, Out::Add(y.as_mut_ptr()));
    }

    /// As [`Kernel::product`] of a gated matrix, into the operand of the next product. `spare` is memory to work in.
    ///
    /// # Panics
    /// When the sizes or formats do not fit together, or the matrix is not gated.
    pub fn product_gated(&self, x: &Operand, w: &Matrix, next: Format, y: &mut Operand, spare: &mut Vec<f32>) {
        assert!(w.is_gated(), "product_gated: the matrix has no gates");
        if next == Format::Bf16 {
            y.shape(next, x.rows(), w.outputs());
            let stride = y.stride();
            self.run(x, w, Out::GatedBf16(y.words_mut().as_mut_ptr(), stride));
        } else {
            spare.resize(x.rows() * w.outputs(), 0.0);
            self.product(x, w, spare);
            y.copy(self, next, w.outputs(), spare);
        }
    }

    /// The largest of every row of `x w^T`, without writing the product; `logits`, where given, gets it all the same
    /// (`[rows, outputs]`).
    ///
    /// # Panics
    /// When the sizes or formats do not fit together, or the matrix is gated.
    pub fn peaks(&self, x: &Operand, w: &Matrix, logits: Option<&mut [f32]>, mut each: impl FnMut(Peak)) {
        thread_local! {
            static BEST: RefCell<Vec<Best>> = const { RefCell::new(Vec::new()) };
        }
        let rows = x.rows();
        assert!(!w.is_gated() && logits.as_ref().is_none_or(|l| l.len() == rows * w.outputs()), "peaks: size");
        let mut best = BEST.take();
        best.resize(product::panels(w, self.columns) * rows, Best::default());
        let logits = logits.map_or(std::ptr::null_mut(), <[f32]>::as_mut_ptr);
        self.run(x, w, Out::Best(best.as_mut_ptr(), logits));
        for row in 0..rows {
            let (index, probability, margin) = product::combine(best.iter().skip(row).step_by(rows).copied());
            each(Peak { index, probability, margin });
        }
        BEST.set(best);
    }

    fn run(&self, x: &Operand, w: &Matrix, out: Out) {
        assert!(x.width() == w.inner(), "product: inner size");
        assert!(x.format() == w.format(), "product: formats");
        assert!(w.panel_columns().is_none_or(|columns| columns == self.columns), "product: another kernel's matrix");
        if x.rows() > 0 {
            // SAFETY: sizes were checked here and by the callers; self exists only where its features do.
            unsafe { product::run(self.product, &Product { x, w, out, stop: self.stop }, self.columns) }
        }
    }

    /// Attention; `out` is `[R, H, D]`.
    ///
    /// # Panics
    /// When the sizes or formats do not fit together.
    pub fn attention(&self, call: &Attention<'_>, out: &mut [f32]) {
        let Attention { queries, cache, visible, heads, .. } = *call;
        assert!(heads > 0 && heads.is_multiple_of(cache.head_count().max(1)), "attention: heads");
        assert!(visible.iter().all(|&n| n > 0 && n <= cache.len()), "attention: keys");
        assert!(queries.format() == cache.format() && queries.width() == cache.head_dim(), "attention: queries");
        assert!(queries.rows() == visible.len() * heads, "attention: rows");
        assert!(out.len() == queries.rows() * queries.width(), "attention: size");
        if cache.head_count() > 0 && cache.head_dim() > 0 && !visible.is_empty() {
            // SAFETY: sizes were checked; self exists only where its features do.
            unsafe { attention::run(self.attention, call, self.stop, out) }
        }
    }

    /// Writes a row in a format: one word after the other, and int8's scales.
    pub(crate) fn encode_row(&self, format: Format, row: &[f32], words: &mut [u32], scales: &mut [f32]) {
        // SAFETY: self exists only where its features do.
        unsafe { (self.encode_row)(format, row, words, scales) }
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

    /// `hidden += rms_norm(x)`, row by row.
    ///
    /// # Panics
    /// When the lengths do not fit together.
    pub fn add_normed(&self, hidden: &mut [f32], x: &[f32], weight: &[f32], eps: f32) {
        thread_local! {
            static ROW: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
        }
        let n = weight.len();
        assert!(n > 0 && x.len() == hidden.len() && x.len().is_multiple_of(n), "add_normed: size");
        let each = |(hidden, x): (&mut [f32], &[f32])| {
            let mut normed = ROW.take();
            normed.resize(n, 0.0);
            // SAFETY: the lengths are equal; self exists only where its features do.
            unsafe { (self.rms_norm)(x, weight, eps, &mut normed) }
            hidden.iter_mut().zip(&normed).for_each(|(h, v)| *h += v);
            ROW.set(normed);
        };
        if threads() == 1 || x.len() < SHARE_FROM {
            hidden.chunks_exact_mut(n).zip(x.chunks_exact(n)).for_each(each);
        } else {
            hidden.par_chunks_exact_mut(n).zip(x.par_chunks_exact(n)).for_each(each);
        }
    }

    /// The exact (erf) GELU in place.
    pub fn gelu(&self, x: &mut [f32]) {
        elementwise::gelu(x);
    }

    /// Rotates adjacent pairs of a row of heads; `cos` and `sin` are as long as a head.
    ///
    /// # Panics
    /// When the lengths do not fit together.
    pub fn rotate_pairs(&self, row: &mut [f32], cos: &[f32], sin: &[f32]) {
        let head_dim = cos.len();
        assert!(head_dim > 0 && sin.len() == head_dim && row.len().is_multiple_of(head_dim), "rotate_pairs: size");
        for head in row.chunks_exact_mut(head_dim) {
            // SAFETY: self exists only where its features do.
            unsafe { (self.rotate_pairs)(head, cos, sin) }
        }
    }

    /// Rotates pairs half a head apart, of a row of heads; `cos` and `sin` are as long as a head.
    ///
    /// # Panics
    /// When the lengths do not fit together.
    pub fn rotate_halves(&self, row: &mut [f32], cos: &[f32], sin: &[f32]) {
        let head_dim = cos.len();
        assert!(head_dim > 0 && sin.len() == head_dim && row.len().is_multiple_of(head_dim), "rotate_halves: size");
        for head in row.chunks_exact_mut(head_dim) {
            // SAFETY: self exists only where its features do.
            unsafe { (self.rotate_halves)(head, cos, sin) }
        }
    }
}
