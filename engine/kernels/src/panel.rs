//! The tile that every product is made of: a few rows of activations against a panel of columns.
//!
//! A panel holds `C * LANES` columns word by word: word `k` of all columns, then word `k + 1`. Weights lie in their file
//! row by row, so panels are transposed from it on the way, a slice that fits the caches at a time; nothing is kept.
//!
//! An output element is the sum of its words' products in order, in one lane of one register. Tiles only decide which
//! elements share loads. Therefore a row's result does not depend on how many rows its window has, bit by bit, and
//! self-speculative output equals autoregressive output in every number format.

use half::f16;

use crate::simd::Vector;

/// Rows of the largest tile: with four registers of columns, 24 sums of the 32 registers that AVX-512 and NEON have.
pub(crate) const TILE_ROWS: usize = 6;
/// Most columns of a panel.
pub(crate) const MOST_COLUMNS: usize = 64;

/// What a word holds, and how two words are multiplied.
pub(crate) trait Arithmetic: Copy {
    unsafe fn step<V: Vector>(acc: V, x: V::Words, w: V::Words) -> V;
}

/// One f32 a word.
#[derive(Clone, Copy)]
pub(crate) struct Singles;
/// Two bf16 a word.
#[derive(Clone, Copy)]
pub(crate) struct Pairs;

impl Arithmetic for Singles {
    #[inline(always)]
    unsafe fn step<V: Vector>(acc: V, x: V::Words, w: V::Words) -> V {
        // SAFETY: as the caller's.
        unsafe { V::from_words(x).mul_add(V::from_words(w), acc) }
    }
}

impl Arithmetic for Pairs {
    #[inline(always)]
    unsafe fn step<V: Vector>(acc: V, x: V::Words, w: V::Words) -> V {
        // SAFETY: as the caller's.
        unsafe { V::dot_bf16(acc, x, w) }
    }
}

/// Rows of what will be read next that a tile asks memory for while it computes. What too few tiles leave out is asked for
/// while the panel is packed.
pub(crate) const ASKED_ROWS: usize = 16;

/// `R` rows of `words` words against a panel of `C` registers of columns, added to `sums` (`[R, C * LANES]`) or, when
/// `fresh`, put there. `step`: words from one word of the panel to the next. `ahead`: where at most [`ASKED_ROWS`] rows start
/// that will be read next, as long as the panel's slice.
///
/// # Safety
/// The pointers must be valid for that; `V`'s instruction set must be present.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "the innermost loop, unrolled over constants")]
pub(crate) unsafe fn tile<V: Vector, A: Arithmetic, const R: usize, const C: usize>(
    x: [*const u32; R],
    panel: *const u32,
    step: usize,
    words: usize,
    sums: *mut f32,
    fresh: bool,
    ahead: &[*const u8],
) {
    // SAFETY: as the caller's; prefetches may go anywhere.
    unsafe {
        let mut acc = [[V::splat(0.0); C]; R];
        if !fresh {
            for r in 0..R {
                for c in 0..C {
                    acc[r][c] = V::load(sums.add((r * C + c) * V::LANES));
                }
            }
        }
        let mut w = [V::splat_word(0); C];
        let mut column = panel;
        let mut at = 0;
        // As many words as there are cache lines in a row of what comes next, for each of those rows.
        let share = words.div_ceil(ASKED_ROWS);
        let mut row = 0;
        while at < words {
            let asks = row < ahead.len();
            let end = if asks { (at + share).min(words) } else { words };
            let mut next = if asks { *ahead.get_unchecked(row) } else { std::ptr::null() };
            while at < end {
                if asks {
                    V::prefetch(next);
                    next = next.wrapping_add(64);
                }
                for c in 0..C {
                    w[c] = V::load_words(column.add(c * V::LANES));
                }
                for r in 0..R {
                    let xv = V::splat_word(*x[r].add(at));
                    for c in 0..C {
                        acc[r][c] = A::step(acc[r][c], xv, w[c]);
                    }
                }
                column = column.add(step);
                at += 1;
            }
            row += 1;
        }
        for r in 0..R {
            for c in 0..C {
                acc[r][c].store(sums.add((r * C + c) * V::LANES));
            }
        }
    }
}

/// As [`tile`] for one block of 8-bit integers, added to `sums`: `words` panel words of four weights, then a scale (f32)
/// and a correction (i32) for each column. The activations are unsigned with a zero of 128, which the correction takes out
/// again.
///
/// # Safety
/// As [`tile`].
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "unrolled over constants")]
pub(crate) unsafe fn tile_bytes<V: Vector, const R: usize, const C: usize>(
    x: [*const u32; R],
    scales: [f32; R],
    block: *const u32,
    words: usize,
    sums: *mut f32,
    ahead: *const u8,
) {
    // SAFETY: as the caller's; prefetches may go anywhere.
    unsafe {
        let (column_scales, corrections) = block_ends::<V, C>(block, words);
        let mut w = [V::splat_word(0); C];
        let mut acc = [[V::load_ints(corrections); C]; R];
        for r in 0..R {
            for c in 0..C {
                acc[r][c] = V::load_ints(corrections.add(c * V::LANES));
            }
        }
        let mut column = block;
        let mut next = ahead;
        let mut at = 0;
        while at < words {
            V::prefetch(next);
            next = next.wrapping_add(64);
            for c in 0..C {
                w[c] = V::load_words(column.add(c * V::LANES));
            }
            for r in 0..R {
                let xv = V::splat_word(*x[r].add(at));
                for c in 0..C {
                    acc[r][c] = V::dot_bytes(acc[r][c], xv, w[c]);
                }
            }
            column = column.add(C * V::LANES);
            at += 1;
        }
        for r in 0..R {
            let scale = V::splat(scales[r]);
            for c in 0..C {
                let to = sums.add((r * C + c) * V::LANES);
                let scale = V::load(column_scales.add(c * V::LANES)).mul(scale);
                V::from_ints(acc[r][c]).mul_add(scale, V::load(to)).store(to);
            }
        }
    }
}

/// Where a block's scales and corrections lie.
#[inline(always)]
unsafe fn block_ends<V: Vector, const C: usize>(block: *const u32, words: usize) -> (*const f32, *const i32) {
    // SAFETY: both lie inside the block.
    unsafe {
        let ends = block.add(words * C * V::LANES);
        (ends.cast(), ends.add(C * V::LANES).cast())
    }
}

/// How stored numbers become words.
pub(crate) trait Stored {
    /// Bytes of storage that make a word.
    const BYTES: usize;
    /// Elements in a word.
    const ELEMENTS: usize;
    /// Reads `V::LANES` words.
    ///
    /// # Safety
    /// `p` must be valid for that; `V`'s instruction set must be present.
    unsafe fn load<V: Vector>(p: *const u8) -> V::Words;
    /// Reads one word of which only the first `elements` are there, the rest zero.
    ///
    /// # Safety
    /// `p` must be valid for the elements.
    unsafe fn word(p: *const u8, elements: usize) -> u32;
}

/// f32 as single words.
pub(crate) struct Float;
/// bf16 as pairs.
pub(crate) struct Brain;
/// bf16 widened to single words.
pub(crate) struct WideBrain;
/// f16 widened to single words.
pub(crate) struct WideHalf;

impl Stored for Float {
    const BYTES: usize = 4;
    const ELEMENTS: usize = 1;
    #[inline(always)]
    unsafe fn load<V: Vector>(p: *const u8) -> V::Words {
        // SAFETY: as the caller's.
        unsafe { V::load_words(p.cast()) }
    }
    #[inline(always)]
    unsafe fn word(p: *const u8, _: usize) -> u32 {
        // SAFETY: as the caller's.
        unsafe { p.cast::<u32>().read_unaligned() }
    }
}

impl Stored for Brain {
    const BYTES: usize = 4;
    const ELEMENTS: usize = 2;
    #[inline(always)]
    unsafe fn load<V: Vector>(p: *const u8) -> V::Words {
        // SAFETY: as the caller's.
        unsafe { V::load_words(p.cast()) }
    }
    #[inline(always)]
    unsafe fn word(p: *const u8, elements: usize) -> u32 {
        // SAFETY: as the caller's.
        unsafe {
            match elements {
                1 => u32::from(p.cast::<u16>().read_unaligned()),
                _ => p.cast::<u32>().read_unaligned(),
            }
        }
    }
}

impl Stored for WideBrain {
    const BYTES: usize = 2;
    const ELEMENTS: usize = 1;
    #[inline(always)]
    unsafe fn load<V: Vector>(p: *const u8) -> V::Words {
        // SAFETY: as the caller's.
        unsafe { V::load_bf16(p.cast()).to_words() }
    }
    #[inline(always)]
    unsafe fn word(p: *const u8, _: usize) -> u32 {
        // SAFETY: as the caller's.
        unsafe { u32::from(p.cast::<u16>().read_unaligned()) << 16 }
    }
}

impl Stored for WideHalf {
    const BYTES: usize = 2;
    const ELEMENTS: usize = 1;
    #[inline(always)]
    unsafe fn load<V: Vector>(p: *const u8) -> V::Words {
        // SAFETY: as the caller's.
        unsafe { V::load_f16(p.cast()).to_words() }
    }
    #[inline(always)]
    unsafe fn word(p: *const u8, _: usize) -> u32 {
        // SAFETY: as the caller's.
        f16::from_bits(unsafe { p.cast::<u16>().read_unaligned() }).to_f32().to_bits()
    }
}

/// As [`pack`] and [`tile`] for a lone row, which has no use for a packed panel: what was transposed is multiplied at once,
/// in the order of [`tile`], and so gives the same bits.
///
/// # Safety
/// As [`pack`] and [`tile`].
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "unrolled over constants")]
pub(crate) unsafe fn lone_row<V: Vector, A: Arithmetic, S: Stored, const C: usize>(
    x: *const u32,
    rows: &[*const u8; MOST_COLUMNS],
    elements: usize,
    sums: *mut f32,
    ahead: &[*const u8; MOST_COLUMNS],
) {
    let whole = elements / S::ELEMENTS;
    // SAFETY: as the caller's; prefetches may go anywhere.
    unsafe {
        let mut acc = [V::splat(0.0); C];
        // Two registers of columns at a time: enough sums to hide their latency, few enough rows for the processor to know
        // all their pages.
        let mut first = 0;
        while first < C {
            let end = (first + 2).min(C);
            let mut at = 0;
            while at + V::LANES <= whole {
                for c in first..end {
                    let mut block = [V::splat_word(0); 16];
                    for i in 0..V::LANES {
                        let row = c * V::LANES + i;
                        V::prefetch((*ahead.as_ptr().add(row)).wrapping_add(at * S::BYTES));
                        block[i] = S::load::<V>((*rows.as_ptr().add(row)).add(at * S::BYTES));
                    }
                    let columns = V::transpose(block);
                    for j in 0..V::LANES {
                        acc[c] = A::step(acc[c], V::splat_word(*x.add(at + j)), columns[j]);
                    }
                }
                at += V::LANES;
            }
            while at * S::ELEMENTS < elements {
                let left = elements - at * S::ELEMENTS;
                let xv = V::splat_word(*x.add(at));
                for c in first..end {
                    let mut word = [0u32; 16];
                    for i in 0..V::LANES {
                        word[i] = S::word((*rows.as_ptr().add(c * V::LANES + i)).add(at * S::BYTES), left);
                    }
                    acc[c] = A::step(acc[c], xv, V::load_words(word.as_ptr()));
                }
                at += 1;
            }
            first = end;
        }
        for c in 0..C {
            acc[c].store(sums.add(c * V::LANES));
        }
    }
}

/// Transposes `elements` elements of each of `C * LANES` rows into a panel. `ahead`: where as many rows start that will be
/// read next, of which memory is asked for those from `ask_from` on.
///
/// # Safety
/// The rows must be readable for `elements` elements, the panel writable for their words; `V`'s instruction set must be
/// present.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "unrolled over constants")]
pub(crate) unsafe fn pack<V: Vector, S: Stored, const C: usize>(
    rows: &[*const u8; MOST_COLUMNS],
    elements: usize,
    panel: *mut u32,
    ahead: &[*const u8; MOST_COLUMNS],
    ask_from: usize,
) {
    let whole = elements / S::ELEMENTS;
    let step = C * V::LANES;
    // SAFETY: as the caller's; prefetches may go anywhere.
    unsafe {
        for c in 0..C {
            let rows = rows.as_ptr().add(c * V::LANES);
            let ahead = ahead.as_ptr().add(c * V::LANES);
            let panel = panel.add(c * V::LANES);
            let asks = c * V::LANES >= ask_from;
            let mut block = [V::splat_word(0); 16];
            let mut at = 0;
            while at + V::LANES <= whole {
                for i in 0..V::LANES {
                    if asks {
                        V::prefetch((*ahead.add(i)).wrapping_add(at * S::BYTES));
                    }
                    block[i] = S::load::<V>((*rows.add(i)).add(at * S::BYTES));
                }
                let columns = V::transpose(block);
                for j in 0..V::LANES {
                    V::store_words(columns[j], panel.add((at + j) * step));
                }
                at += V::LANES;
            }
            while at * S::ELEMENTS < elements {
                for i in 0..V::LANES {
                    let left = elements - at * S::ELEMENTS;
                    *panel.add(at * step + i) = S::word((*rows.add(i)).add(at * S::BYTES), left);
                }
                at += 1;
            }
        }
    }
}
