//! Matrix products of a window of activations with a matrix of weights.
//!
//! A task makes a few panels of columns for a range of rows: it packs a slice of the panel, multiplies all its rows with
//! it while it is in cache, goes on with the next slice, and at the end hands the finished sums on: added to a bias, to a
//! residual stream, gated, or reduced to the largest, so that a wide output need not be written.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use crate::elementwise::silu_times;
use crate::matrix::Matrix;
use crate::memory::Dtype;
use crate::operand::{BLOCK, BLOCK_WORDS, Format, Operand, bf16_bits};
use crate::panel::{
    ASKED_ROWS, Arithmetic, Brain, Float, MOST_COLUMNS, Pairs, Singles, Stored, TILE_ROWS, WideBrain, WideHalf,
    lone_row, pack, tile, tile_bytes,
};
use crate::sharing::{is_set, threads};
use crate::simd::Vector;

/// A product over checked memory.
pub(crate) struct Product<'a> {
    pub(crate) x: &'a Operand,
    pub(crate) w: &'a Matrix,
    pub(crate) out: Out,
    /// Set when the product is no longer wanted.
    pub(crate) stop: Option<&'a AtomicBool>,
}

/// What becomes of the sums. Pointers are to `[rows, outputs]`.
#[derive(Clone, Copy)]
pub(crate) enum Out {
    /// Written.
    Write(*mut f32),
    /// Added to what is there.
    Add(*mut f32),
    /// Gated, as f32.
    GatedFloats(*mut f32),
    /// Gated, as words of bf16; the stride of a row in words.
    GatedBf16(*mut u32, usize),
    /// The best of each panel, `[panels, rows]`; also written where a pointer is given.
    Best(*mut Best, *mut f32),
}

/// The largest sums of a row in one panel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Best {
    pub(crate) index: u32,
    pub(crate) max: f32,
    /// The largest of the others.
    pub(crate) second: f32,
    /// Sum of `e^(value - max)`.
    pub(crate) sum: f32,
}

// SAFETY: the pointers come from slices that the call borrows until all tasks are done; tasks write disjoint parts.
unsafe impl Send for Product<'_> {}
// SAFETY: as above.
unsafe impl Sync for Product<'_> {}

/// One task of a product: these panels, these rows.
pub(crate) type Run = unsafe fn(&Product<'_>, Range<usize>, Range<usize>);

/// Most words of a panel that are packed at a time: 64 columns of them are 256 KB, which second-level caches hold. Long
/// slices read longer runs of the weights' rows, which memory likes.
const SLICE: usize = 1024;
/// Multiply-adds under which a product is not worth sharing between threads.
const SHARE_FROM: usize = 1 << 20;
/// Rows that are worth packing a panel twice for.
const ROWS_TO_SPLIT: usize = 64;

/// A task's memory, kept by its thread.
#[derive(Default)]
struct Scratch {
    panel: Vec<u32>,
    sums: Vec<f32>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = const { RefCell::new(Scratch { panel: Vec::new(), sums: Vec::new() }) };
}

/// The start of a cache line in a buffer of at least `length` elements and a line more.
fn aligned<T: Clone + Default>(buffer: &mut Vec<T>, length: usize) -> *mut T {
    let line = 64 / size_of::<T>();
    if buffer.len() < length + line {
        buffer.resize(length + line, T::default());
    }
    let at = buffer.as_ptr().align_offset(64).min(line);
    buffer[at..].as_mut_ptr()
}

/// Runs a product with panels of `columns` columns, in tasks when it is large.
///
/// # Safety
/// The output must be writable for all rows and outputs; the operand's format must be the matrix's; `run` must be there
/// on this processor.
pub(crate) unsafe fn run(run: Run, product: &Product<'_>, columns: usize) {
    let rows = product.x.rows();
    let panels = panels(product.w, columns);
    let threads = threads();
    if threads == 1 || rows * panels * columns * product.w.inner() < SHARE_FROM {
        // SAFETY: as the caller's.
        return unsafe { run(product, 0..panels, 0..rows) };
    }
    // Some more tasks than threads even out their ends. Rows are split only where there are too few panels.
    let wanted = 4 * threads;
    let row_blocks = (2 * threads).div_ceil(panels).min(rows.div_ceil(ROWS_TO_SPLIT)).max(1);
    let row_share = rows.div_ceil(row_blocks).next_multiple_of(TILE_ROWS);
    let panel_share = panels.div_ceil(wanted.div_ceil(row_blocks)).max(1);
    let (row_blocks, panel_blocks) = (rows.div_ceil(row_share), panels.div_ceil(panel_share));
    (0..row_blocks * panel_blocks).into_par_iter().with_max_len(1).for_each(|task| {
        let (row, panel) = (task % row_blocks * row_share, task / row_blocks * panel_share);
        // SAFETY: as the caller's; the tasks' parts of the output are disjoint.
        unsafe { run(product, panel..(panel + panel_share).min(panels), row..(row + row_share).min(rows)) }
    });
}

/// Panels that a product with a matrix has.
pub(crate) fn panels(w: &Matrix, columns: usize) -> usize {
    let width = if w.is_gated() { columns / 2 } else { columns };
    w.outputs().div_ceil(width)
}

/// The body of a task, for one instruction set with panels of `C` registers.
///
/// # Safety
/// As [`run`]; `V`'s instruction set must be present.
#[inline(always)]
pub(crate) unsafe fn task<V: Vector, const C: usize>(product: &Product<'_>, panels: Range<usize>, rows: Range<usize>) {
    let columns = C * V::LANES;
    // Not held while it is used: nothing here calls back, but a panic must not leave it taken.
    let mut scratch = SCRATCH.take();
    let sums = aligned(&mut scratch.sums, rows.len() * columns);
    let slice = aligned(&mut scratch.panel, SLICE * columns);
    let mut starts = product.w.starts(columns, panels.start);
    for panel in panels {
        if is_set(product.stop) {
            break;
        }
        let after = product.w.starts(columns, panel + 1);
        let read = Read { starts: &starts, after: &after, slice };
        // SAFETY: as the caller's; sums hold the task's rows, the slice SLICE words of every column.
        unsafe {
            match (product.w.format(), product.w.dtype()) {
                (Format::Int8, _) => multiply_bytes::<V, C>(product, panel, &rows, sums),
                (Format::F32, _) if product.w.panel_columns().is_some() => {
                    let packed = product.w.panel(panel).as_ptr();
                    tiles::<V, Singles, C>(product.x, 0..product.x.stride(), packed, &rows, sums, &[]);
                }
                (Format::Bf16, _) if product.w.panel_columns().is_some() => {
                    let packed = product.w.panel(panel).as_ptr();
                    tiles::<V, Pairs, C>(product.x, 0..product.x.stride(), packed, &rows, sums, &[]);
                }
                (Format::F32, Dtype::F32) => multiply::<V, Singles, Float, C>(product, &read, &rows, sums),
                (Format::F32, Dtype::Bf16) => multiply::<V, Singles, WideBrain, C>(product, &read, &rows, sums),
                (Format::F32, Dtype::F16) => multiply::<V, Singles, WideHalf, C>(product, &read, &rows, sums),
                (Format::Bf16, _) => multiply::<V, Pairs, Brain, C>(product, &read, &rows, sums),
            }
            finish::<V, C>(product, panel, &rows, sums);
        }
        starts = after;
    }
    SCRATCH.set(scratch);
}

/// Calls a tile function for some of the rows that are left, evenly shared between as few tiles as [`TILE_ROWS`] allows: a
/// small last tile would wait for its own sums.
macro_rules! by_rows {
    ($left:expr, $R:ident, $call:expr) => {
        match $left.div_ceil($left.div_ceil(TILE_ROWS)) {
            1 => {
                const $R: usize = 1;
                $call
            }
            2 => {
                const $R: usize = 2;
                $call
            }
            3 => {
                const $R: usize = 3;
                $call
            }
            4 => {
                const $R: usize = 4;
                $call
            }
            5 => {
                const $R: usize = 5;
                $call
            }
            _ => {
                const $R: usize = 6;
                $call
            }
        }
    };
}
pub(crate) use by_rows;

/// What packing a panel reads.
struct Read<'a> {
    /// Where the rows start that are its columns.
    starts: &'a [*const u8; MOST_COLUMNS],
    /// The same of the panel after it.
    after: &'a [*const u8; MOST_COLUMNS],
    /// Memory for a packed slice.
    slice: *mut u32,
}

/// All rows of a task against one panel, packed slice by slice.
#[inline(always)]
unsafe fn multiply<V: Vector, A: Arithmetic, S: Stored, const C: usize>(
    product: &Product<'_>,
    read: &Read<'_>,
    rows: &Range<usize>,
    sums: *mut f32,
) {
    let Product { x, w, .. } = *product;
    let Read { starts, after, slice } = *read;
    let columns = C * V::LANES;
    let words = w.inner().div_ceil(S::ELEMENTS);
    let step = words.div_ceil(words.div_ceil(SLICE)) * S::ELEMENTS;
    let asked_by_tiles = rows.len().div_ceil(TILE_ROWS) * ASKED_ROWS;
    let mut at = 0;
    // SAFETY: as the caller's; all offsets stay inside the rows, the slice and the sums.
    unsafe {
        if rows.len() == 1 {
            let x = x.words().as_ptr().add(rows.start * x.stride());
            return lone_row::<V, A, S, C>(x, starts, w.inner(), sums, after);
        }
        while at < w.inner() {
            let elements = step.min(w.inner() - at);
            let words = elements.div_ceil(S::ELEMENTS);
            let first = at / S::ELEMENTS;
            // What will be read next: the next slice of these rows, or the start of the next panel's.
            let (mut from, mut ahead) = (*starts, *after);
            let last = at + elements == w.inner();
            for column in 0..columns {
                from[column] = starts[column].add(first * S::BYTES);
                if !last {
                    ahead[column] = from[column].wrapping_add(words * S::BYTES);
                }
            }
            pack::<V, S, C>(&from, elements, slice, &ahead, asked_by_tiles);
            tiles::<V, A, C>(x, first..first + words, slice, rows, sums, &ahead[..columns]);
            at += elements;
        }
    }
}

/// All rows of a task, of which these words, against a packed slice of as many: put into the sums when the words are the
/// first ones, added otherwise. `ahead`: where rows start that will be read next, shared between the tiles.
#[inline(always)]
unsafe fn tiles<V: Vector, A: Arithmetic, const C: usize>(
    x: &Operand,
    words: Range<usize>,
    slice: *const u32,
    rows: &Range<usize>,
    sums: *mut f32,
    ahead: &[*const u8],
) {
    let columns = C * V::LANES;
    let mut asks = ahead.chunks(ASKED_ROWS);
    let mut row = rows.start;
    // SAFETY: as the caller's; the operand holds all rows, the sums the task's.
    unsafe {
        while row < rows.end {
            let first = x.words().as_ptr().add(row * x.stride() + words.start);
            let to = sums.add((row - rows.start) * columns);
            let asks = asks.next().unwrap_or_default();
            row += by_rows!(rows.end - row, R, {
                let mut from = [first; R];
                for (r, from) in from.iter_mut().enumerate() {
                    *from = first.add(r * x.stride());
                }
                tile::<V, A, R, C>(from, slice, columns, words.len(), to, words.start == 0, asks);
                R
            });
        }
    }
}

/// All rows of a task against one quantised panel.
#[inline(always)]
unsafe fn multiply_bytes<V: Vector, const C: usize>(
    product: &Product<'_>,
    panel: usize,
    rows: &Range<usize>,
    sums: *mut f32,
) {
    let Product { x, w, .. } = *product;
    let columns = C * V::LANES;
    let blocks = w.inner().div_ceil(BLOCK);
    let panel = w.panel(panel).as_ptr();
    // SAFETY: the sums hold the task's rows.
    unsafe { std::ptr::write_bytes(sums, 0, rows.len() * columns) };
    let mut start = 0;
    for block in 0..blocks {
        let words = BLOCK.min(w.inner() - block * BLOCK).div_ceil(4);
        let size = (words + 2) * columns;
        let mut row = rows.start;
        // SAFETY: as the caller's; the panel holds all blocks, the operand all rows.
        unsafe {
            let mut ahead = panel.add(start).wrapping_add(2 * size).cast::<u8>();
            while row < rows.end {
                let to = sums.add((row - rows.start) * columns);
                let x_words = x.words().as_ptr().add(row * x.stride() + block * BLOCK_WORDS);
                let x_scales = x.scales().as_ptr().add(row * blocks + block);
                let count = by_rows!(rows.end - row, R, {
                    let (mut from, mut scales) = ([x_words; R], [0.0; R]);
                    for r in 0..R {
                        from[r] = x_words.add(r * x.stride());
                        scales[r] = *x_scales.add(r * blocks);
                    }
                    tile_bytes::<V, R, C>(from, scales, panel.add(start), words, to, ahead);
                    R
                });
                row += count;
                ahead = ahead.wrapping_add(words * 64);
            }
        }
        start += size;
    }
}

/// Hands the finished sums of a panel on.
#[inline(always)]
unsafe fn finish<V: Vector, const C: usize>(product: &Product<'_>, panel: usize, rows: &Range<usize>, sums: *mut f32) {
    let w = product.w;
    let columns = C * V::LANES;
    let half = columns / 2;
    let outputs = w.outputs();
    let width = if w.is_gated() { half } else { columns };
    let first = panel * width;
    let count = width.min(outputs - first);
    // SAFETY: as the caller's; `count` outputs from `first` on are inside every row.
    unsafe {
        if let Some(bias) = w.bias() {
            let mut padded = [0.0f32; MOST_COLUMNS];
            for (column, to) in padded.iter_mut().take(columns).enumerate() {
                *to = bias[w.source(columns, panel, column)];
            }
            for row in 0..rows.len() {
                for c in 0..C {
                    let at = sums.add((row * C + c) * V::LANES);
                    V::load(at).add(V::load(padded.as_ptr().add(c * V::LANES))).store(at);
                }
            }
        }
        for row in 0..rows.len() {
            let from = sums.add(row * columns);
            let place = (rows.start + row) * outputs + first;
            match product.out {
                Out::Write(y) => std::ptr::copy_nonoverlapping(from, y.add(place), count),
                Out::Add(y) => add::<V>(from, y.add(place), count),
                Out::GatedFloats(y) => {
                    gate::<V>(from, half);
                    std::ptr::copy_nonoverlapping(from, y.add(place), count);
                }
                Out::GatedBf16(words, stride) => {
                    gate::<V>(from, half);
                    let to = words.add((rows.start + row) * stride + first / 2);
                    store_pairs::<V>(from, to, count);
                }
                Out::Best(best, written) => {
                    if !written.is_null() {
                        std::ptr::copy_nonoverlapping(from, written.add(place), count);
                    }
                    let mut found = best_of::<V>(from, count);
                    found.index += first as u32;
                    *best.add(panel * product.x.rows() + rows.start + row) = found;
                }
            }
        }
    }
}

/// `y += sums`.
#[inline(always)]
unsafe fn add<V: Vector>(sums: *const f32, y: *mut f32, count: usize) {
    let whole = count / V::LANES * V::LANES;
    // SAFETY: as the caller's.
    unsafe {
        let mut at = 0;
        while at < whole {
            V::load(y.add(at)).add(V::load(sums.add(at))).store(y.add(at));
            at += V::LANES;
        }
        while at < count {
            *y.add(at) += *sums.add(at);
            at += 1;
        }
    }
}

/// `sums[i] = silu(sums[i]) * sums[half + i]`.
#[inline(always)]
unsafe fn gate<V: Vector>(sums: *mut f32, half: usize) {
    let mut at = 0;
    // SAFETY: as the caller's; panels are whole registers.
    unsafe {
        while at < half {
            silu_times(V::load(sums.add(at)), V::load(sums.add(half + at))).store(sums.add(at));
            at += V::LANES;
        }
    }
}

/// Writes `count` numbers as pairs of bf16.
#[inline(always)]
unsafe fn store_pairs<V: Vector>(from: *const f32, to: *mut u32, count: usize) {
    let whole = count / V::LANES * V::LANES;
    // SAFETY: as the caller's.
    unsafe {
        let mut at = 0;
        while at < whole {
            V::load(from.add(at)).store_bf16(to.cast::<half::bf16>().add(at));
            at += V::LANES;
        }
        while at < count {
            let low = bf16_bits(*from.add(at));
            let high = if at + 1 < count { bf16_bits(*from.add(at + 1)) } else { 0 };
            *to.add(at / 2) = low | high << 16;
            at += 2;
        }
    }
}

/// The largest of `count` sums (the first of equals; NaN counts as least), the second, and the softmax's sum. Lanes past
/// `count`, up to a whole panel, are overwritten.
#[inline(always)]
unsafe fn best_of<V: Vector>(sums: *mut f32, count: usize) -> Best {
    let end = count.next_multiple_of(V::LANES);
    // SAFETY: as the caller's; sums hold a whole panel.
    unsafe {
        for at in count..end {
            *sums.add(at) = f32::NEG_INFINITY;
        }
        let max = largest::<V>(sums, end);
        let mut index = 0;
        while index + 1 < count && *sums.add(index) != max {
            index += 1;
        }
        let mut total = V::splat(0.0);
        let mut at = 0;
        while at < end {
            total = total.add(V::load(sums.add(at)).sub(V::splat(max)).exp());
            at += V::LANES;
        }
        // The exponential of what is far below is about 1e-38, not 0: of the padding it counts for nothing.
        let sum = total.reduce_add();
        let held = std::mem::replace(&mut *sums.add(index), f32::NEG_INFINITY);
        let second = largest::<V>(sums, end);
        *sums.add(index) = held;
        Best { index: index as u32, max, second, sum }
    }
}

#[inline(always)]
unsafe fn largest<V: Vector>(sums: *const f32, end: usize) -> f32 {
    // SAFETY: as the caller's.
    unsafe {
        let mut max = V::splat(f32::NEG_INFINITY);
        let mut at = 0;
        while at < end {
            max = V::load(sums.add(at)).max(max);
            at += V::LANES;
        }
        max.reduce_max()
    }
}

/// The best of a row over all its panels, combined in order: index, softmax probability, distance to the second.
pub(crate) fn combine(panels: impl Iterator<Item = Best>) -> (u32, f32, f32) {
    let mut all = Best { index: 0, max: f32::NEG_INFINITY, second: f32::NEG_INFINITY, sum: 0.0 };
    for best in panels {
        if best.max > all.max {
            let second = if all.max > best.second { all.max } else { best.second };
            let sum = best.sum + all.sum * (all.max - best.max).exp();
            all = Best { second, sum, ..best };
        } else {
            all.sum += best.sum * (best.max - all.max).exp();
            if best.max > all.second {
                all.second = best.max;
            }
        }
    }
    (all.index, 1.0 / all.sum, all.max - all.second)
}
