//! Matrix products of a window of activations with stored weights, and the tile that attention shares with them.
//!
//! Weights lie as in the checkpoint, `[out, in]` row by row, so nothing is repacked and a mapped file is read in place.
//! An output element is one dot product: one register of partial sums walks along the inner dimension and is reduced at
//! the end. Tiles only decide which dot products share loads, never the order inside one. Therefore a row's result does
//! not depend on how many rows its window has, and self-speculative output equals autoregressive output bit by bit.

use std::ops::Range;

use half::{bf16, f16};
use rayon::prelude::*;

use crate::sharing::threads;
use crate::simd::{Element, Vector};

/// Weights as they are stored.
#[derive(Clone, Copy, Debug)]
pub enum Weights<'a> {
    /// 32-bit floats.
    F32(&'a [f32]),
    /// bfloat16.
    Bf16(&'a [bf16]),
    /// Half precision.
    F16(&'a [f16]),
}

impl Weights<'_> {
    /// How many numbers there are.
    pub fn len(&self) -> usize {
        match self {
            Weights::F32(w) => w.len(),
            Weights::Bf16(w) => w.len(),
            Weights::F16(w) => w.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Where a product's weights start, by type.
#[derive(Clone, Copy)]
pub(crate) enum Start {
    F32(*const f32),
    Bf16(*const bf16),
    F16(*const f16),
}

/// `y[r, c] = x[r] · w[c] + bias[c]` over raw, checked memory.
#[derive(Clone, Copy)]
pub(crate) struct Product {
    pub(crate) x: *const f32,
    pub(crate) weights: Start,
    pub(crate) inner: usize,
    pub(crate) bias: *const f32,
    pub(crate) y: *mut f32,
    /// Elements from one row of `y` to the next.
    pub(crate) outer: usize,
}

// SAFETY: the pointers come from slices that `product` borrows until all tasks are done; tasks write disjoint parts.
unsafe impl Send for Product {}
// SAFETY: as above.
unsafe impl Sync for Product {}

/// One task of a product: these rows, these columns.
pub(crate) type Block = unsafe fn(&Product, Range<usize>, Range<usize>);

/// Rows that one task takes at a time, so that their activations stay in the second-level cache.
const ROW_BLOCK: usize = 96;
/// Multiply-adds under which a product is not worth sharing between threads.
const SHARE_FROM: usize = 1 << 21;

/// Cuts `0..total` into pieces of `size`.
fn pieces(total: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..total).step_by(size).map(move |at| at..(at + size).min(total))
}

/// Runs a product of `rows` by `columns`, in tasks when it is large.
///
/// # Safety
/// The product's pointers must cover `rows`, `columns` and its inner dimension, and `block` must run on this processor.
pub(crate) unsafe fn run(block: Block, product: Product, rows: usize, columns: usize) {
    let threads = threads();
    if threads == 1 || rows * columns * product.inner < SHARE_FROM {
        for rows in pieces(rows, ROW_BLOCK) {
            // SAFETY: as the caller's.
            unsafe { block(&product, rows, 0..columns) };
        }
        return;
    }
    // Multiples of 8 columns keep whole tiles; a few tasks more than threads even out their ends.
    let row_blocks = rows.div_ceil(ROW_BLOCK);
    let share = columns.div_ceil((4 * threads).div_ceil(row_blocks)).next_multiple_of(8);
    let tasks: Vec<_> = pieces(rows, ROW_BLOCK)
        .flat_map(|rows| pieces(columns, share).map(move |columns| (rows.clone(), columns)))
        .collect();
    tasks.into_par_iter().for_each(|(rows, columns)| {
        // SAFETY: as the caller's; the tasks' parts of y are disjoint.
        unsafe { block(&product, rows, columns) }
    });
}

/// The body of a task, for one instruction set.
///
/// # Safety
/// As [`run`]; `V`'s instruction set must be present.
#[inline(always)]
pub(crate) unsafe fn block<V: Vector>(product: &Product, rows: Range<usize>, columns: Range<usize>) {
    // SAFETY: as the caller's.
    unsafe {
        match product.weights {
            Start::F32(w) => block_of::<V, f32>(product, w, rows, columns),
            Start::Bf16(w) => block_of::<V, bf16>(product, w, rows, columns),
            Start::F16(w) => block_of::<V, f16>(product, w, rows, columns),
        }
    }
}

#[inline(always)]
unsafe fn block_of<V: Vector, E: Element>(product: &Product, w: *const E, rows: Range<usize>, columns: Range<usize>) {
    let mut column = columns.start;
    // SAFETY: as the caller's; every tile stays inside the ranges.
    unsafe {
        // A lone row has no reuse of weights: more columns side by side hide the latency of its sums.
        if rows.len() == 1 {
            while column + 8 <= columns.end {
                tile_rows::<V, E, 8>(product, w, rows.clone(), column);
                column += 8;
            }
        }
        while column + 4 <= columns.end {
            tile_rows::<V, E, 4>(product, w, rows.clone(), column);
            column += 4;
        }
        while column < columns.end {
            tile_rows::<V, E, 1>(product, w, rows.clone(), column);
            column += 1;
        }
    }
}

/// All rows against `C` columns.
#[inline(always)]
unsafe fn tile_rows<V: Vector, E: Element, const C: usize>(
    product: &Product,
    w: *const E,
    rows: Range<usize>,
    column: usize,
) {
    let mut row = rows.start;
    // SAFETY: as the caller's.
    unsafe {
        while row < rows.end {
            match rows.end - row {
                1 => row += tile::<V, E, 1, C>(product, w, row, column),
                2 => row += tile::<V, E, 2, C>(product, w, row, column),
                3 => row += tile::<V, E, 3, C>(product, w, row, column),
                4 => row += tile::<V, E, 4, C>(product, w, row, column),
                5 => row += tile::<V, E, 5, C>(product, w, row, column),
                _ => row += tile::<V, E, 6, C>(product, w, row, column),
            }
        }
    }
}

#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "unrolled over constants")]
unsafe fn tile<V: Vector, E: Element, const R: usize, const C: usize>(
    product: &Product,
    w: *const E,
    row: usize,
    column: usize,
) -> usize {
    // SAFETY: as the caller's.
    unsafe {
        let mut x = [product.x; R];
        for r in 0..R {
            x[r] = product.x.add((row + r) * product.inner);
        }
        let mut weights = [w; C];
        for c in 0..C {
            weights[c] = w.add((column + c) * product.inner);
        }
        let sums = dots::<V, E, R, C>(x, weights, product.inner);
        for r in 0..R {
            let y = product.y.add((row + r) * product.outer + column);
            for c in 0..C {
                let bias = if product.bias.is_null() { 0.0 } else { *product.bias.add(column + c) };
                *y.add(c) = sums[r][c] + bias;
            }
        }
    }
    R
}

/// `R x C` dot products of length `inner`.
///
/// # Safety
/// The pointers must be readable for `inner` elements; `V`'s instruction set must be present.
#[inline(always)]
pub(crate) unsafe fn dots<V: Vector, E: Element, const R: usize, const C: usize>(
    x: [*const f32; R],
    w: [*const E; C],
    inner: usize,
) -> [[f32; C]; R] {
    // Plain loops, no closures: an intrinsic called in a closure is not inlined, because only the outermost function has
    // the target features.
    // SAFETY: as the caller's.
    unsafe {
        let mut sums = [[V::splat(0.0); C]; R];
        let mut wv = [V::splat(0.0); C];
        let mut at = 0;
        while at + V::LANES <= inner {
            for c in 0..C {
                wv[c] = E::load(w[c].add(at));
            }
            for r in 0..R {
                let xv = V::load(x[r].add(at));
                for c in 0..C {
                    sums[r][c] = xv.mul_add(wv[c], sums[r][c]);
                }
            }
            at += V::LANES;
        }
        let rest = inner - at;
        if rest > 0 {
            for c in 0..C {
                wv[c] = E::load_partial(w[c].add(at), rest);
            }
            for r in 0..R {
                let xv = V::load_partial(x[r].add(at), rest);
                for c in 0..C {
                    sums[r][c] = xv.mul_add(wv[c], sums[r][c]);
                }
            }
        }
        let mut out = [[0.0; C]; R];
        for r in 0..R {
            for c in 0..C {
                out[r][c] = sums[r][c].reduce_add();
            }
        }
        out
    }
}
