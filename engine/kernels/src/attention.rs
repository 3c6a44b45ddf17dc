//! Attention over keys and values, each row seeing a prefix of the keys. Two products and a softmax, tile by tile: the
//! scores of a few rows are all that is ever written down.

use std::cell::RefCell;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use crate::cache::KeyValues;
use crate::operand::{Format, Operand};
use crate::panel::{Arithmetic, MOST_COLUMNS, Pairs, Singles, TILE_ROWS, tile};
use crate::product::by_rows;
use crate::sharing::{is_set, threads};
use crate::simd::Vector;

/// One attention call. `R` rows, `H` query heads (a multiple of the cache's), head size `D`.
#[derive(Clone, Copy, Debug)]
pub struct Attention<'a> {
    /// A row of `D` for each of the `R` rows and `H` heads, in the format of the keys.
    pub queries: &'a Operand,
    /// Keys and values.
    pub cache: &'a KeyValues,
    /// For each of the `R` rows, how many of the first keys it sees; at least 1.
    pub visible: &'a [usize],
    /// Query heads.
    pub heads: usize,
    /// Factor on the scores, normally `head_dim^-0.5`.
    pub scale: f32,
}

/// One task: one key-value head, some of its (row, head in group) pairs.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    call: &'a Attention<'a>,
    head: usize,
    /// First pair and one past the last; pair `p` is row `p / group`, head `p % group` of the group.
    pairs: (usize, usize),
    /// `[R, H, D]`, of which the task writes its pairs.
    out: *mut f32,
}

// SAFETY: `out` comes from a slice borrowed until all tasks are done; tasks write disjoint pairs.
unsafe impl Send for Task<'_> {}
// SAFETY: as above.
unsafe impl Sync for Task<'_> {}

pub(crate) type Run = unsafe fn(&Task<'_>);

/// Pairs per task: enough to reuse a head's keys while they are in cache.
const PAIRS: usize = 6 * TILE_ROWS;
/// Multiply-adds under which a call is not worth sharing between threads.
const SHARE_FROM: usize = 1 << 19;

/// A task's memory, kept by its thread.
#[derive(Default)]
struct Scratch {
    scores: Vec<f32>,
    probabilities: Vec<u32>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = const { RefCell::new(Scratch { scores: Vec::new(), probabilities: Vec::new() }) };
}

/// Runs a checked call, or as much of it as there is time for until `stop` is set.
///
/// # Safety
/// `task` must run on this processor.
pub(crate) unsafe fn run(task: Run, call: &Attention<'_>, stop: Option<&AtomicBool>, out: &mut [f32]) {
    /// Pointers to disjoint parts may go to other threads.
    #[derive(Clone, Copy)]
    struct Shared(*mut f32);
    // SAFETY: as for `Task`.
    unsafe impl Send for Shared {}
    // SAFETY: as above.
    unsafe impl Sync for Shared {}

    let heads = call.cache.head_count();
    let pairs = call.visible.len() * (call.heads / heads);
    let shares = pairs.div_ceil(PAIRS);
    let keys = call.visible.iter().max().copied().unwrap_or(0);
    let shared = Shared(out.as_mut_ptr());
    let each = |n: usize| {
        if is_set(stop) {
            return;
        }
        let Shared(out) = { shared };
        let (head, at) = (n / shares, n % shares * PAIRS);
        // SAFETY: as the caller's.
        unsafe { task(&Task { call, head, pairs: (at, (at + PAIRS).min(pairs)), out }) }
    };
    if threads() == 1 || heads * pairs * keys * call.cache.head_dim() < SHARE_FROM {
        (0..heads * shares).for_each(each);
    } else {
        (0..heads * shares).into_par_iter().with_max_len(1).for_each(each);
    }
}

/// The body of a task, for one instruction set with panels of `C` registers.
///
/// # Safety
/// `V`'s instruction set must be present; the call was checked against its parts.
#[inline(always)]
pub(crate) unsafe fn task<V: Vector, const C: usize>(task: &Task<'_>) {
    let (first, end) = task.pairs;
    let cache = task.call.cache;
    let columns = C * V::LANES;
    let mut scratch = SCRATCH.take();
    let keys = cache.len().next_multiple_of(columns);
    scratch.scores.resize(TILE_ROWS * keys.max(cache.value_words()), 0.0);
    scratch.probabilities.resize(TILE_ROWS * keys, 0);
    let mut pair = first;
    while pair < end {
        // SAFETY: as the caller's; the scratch holds a tile's rows over all keys.
        pair += unsafe {
            by_rows!(end - pair, R, {
                match cache.format() {
                    Format::F32 => rows::<V, Singles, R, C>(task, pair, &mut scratch),
                    _ => rows::<V, Pairs, R, C>(task, pair, &mut scratch),
                }
                R
            })
        };
    }
    SCRATCH.set(scratch);
}

impl Task<'_> {
    fn group(&self) -> usize {
        self.call.heads / self.call.cache.head_count()
    }

    fn visible(&self, pair: usize) -> usize {
        self.call.visible[pair / self.group()]
    }

    /// The number of a pair's query among all `[R, H]`.
    fn query(&self, pair: usize) -> usize {
        let group = self.group();
        pair / group * self.call.heads + self.head * group + pair % group
    }
}

/// `R` pairs at once.
#[inline(always)]
unsafe fn rows<V: Vector, A: Arithmetic, const R: usize, const C: usize>(
    task: &Task<'_>,
    pair: usize,
    scratch: &mut Scratch,
) {
    let Attention { queries, cache, scale, .. } = *task.call;
    let columns = C * V::LANES;
    let per_word = cache.format().per_word();
    let (key_words, value_words) = (cache.key_words(), cache.value_words());
    let mut visible = [0; R];
    let mut q = [queries.words().as_ptr(); R];
    let mut most = 0;
    // SAFETY: the call was checked: queries, keys and values are there for every pair and every visible key.
    unsafe {
        for r in 0..R {
            visible[r] = task.visible(pair + r);
            most = most.max(visible[r]);
            q[r] = q[r].add(task.query(pair + r) * queries.stride());
        }
        // Scores, panel by panel: [R, columns] each.
        let keys = cache.keys(task.head).as_ptr();
        let scores = scratch.scores.as_mut_ptr();
        let panels = most.div_ceil(columns);
        for panel in 0..panels {
            let from = keys.add(panel * key_words * columns);
            let to = scores.add(panel * R * columns);
            tile::<V, A, R, C>(q, from, columns, key_words, to, true, &[]);
        }
        // Softmax of the visible prefix; what is behind it, up to the longest prefix of the tile, counts zero.
        let words = most.div_ceil(per_word);
        let mut p = [scratch.probabilities.as_ptr(); R];
        let mut norm = [0.0f32; R];
        for r in 0..R {
            let to = scratch.probabilities.as_mut_ptr().add(r * words);
            p[r] = to;
            norm[r] = 1.0 / softmax::<V, R, C>(scores.add(r * columns), visible[r], scale, per_word, to, words);
        }
        // Values, weighted.
        let values = cache.values(task.head).as_ptr();
        for column in (0..cache.head_dim()).step_by(columns) {
            let sums = scores; // no longer needed
            tile::<V, A, R, C>(p, values.add(column), value_words, words, sums, true, &[]);
            let count = columns.min(cache.head_dim() - column);
            for (r, norm) in norm.into_iter().enumerate() {
                let to = task.out.add(task.query(pair + r) * cache.head_dim() + column);
                let from = sums.add(r * columns);
                for c in 0..C {
                    let at = from.add(c * V::LANES);
                    V::load(at).mul(V::splat(norm)).store(at);
                }
                std::ptr::copy_nonoverlapping(from, to, count);
            }
        }
    }
}

/// `e^(scale * (score - max))` of the `visible` first scores, as `words` words of `per_word` numbers, zeros behind;
/// returns the sum of what was written. Scores lie in panels, `R * C * LANES` apart.
#[inline(always)]
unsafe fn softmax<V: Vector, const R: usize, const C: usize>(
    scores: *mut f32,
    visible: usize,
    scale: f32,
    per_word: usize,
    to: *mut u32,
    words: usize,
) -> f32 {
    let columns = C * V::LANES;
    let panel = |n: usize| n * R * columns;
    // SAFETY: as the caller's; scores hold whole panels, of which lanes past `visible` are overwritten.
    unsafe {
        let panels = visible.div_ceil(columns);
        let last = scores.add(panel(panels - 1));
        for at in visible - (panels - 1) * columns..columns {
            *last.add(at) = f32::NEG_INFINITY;
        }
        let mut max = V::splat(f32::NEG_INFINITY);
        for n in 0..panels {
            for c in 0..C {
                max = V::load(scores.add(panel(n) + c * V::LANES)).max(max);
            }
        }
        let max = V::splat(max.reduce_max());
        let scale = V::splat(scale);
        let mut total = V::splat(0.0);
        for n in 0..panels {
            for c in 0..C {
                let first = n * columns + c * V::LANES;
                if first >= visible {
                    break;
                }
                let at = scores.add(panel(n) + c * V::LANES);
                let mut e = V::load(at).sub(max).mul(scale).exp();
                let seen = visible - first;
                if seen < V::LANES {
                    // The exponential of minus infinity is tiny here, not zero.
                    let mut lanes = [0.0f32; MOST_COLUMNS];
                    e.store(lanes.as_mut_ptr());
                    lanes[seen..].fill(0.0);
                    e = V::load(lanes.as_ptr());
                }
                if per_word == 1 {
                    e.store(at);
                    total = total.add(e);
                } else {
                    // The sum is of the rounded numbers, which are what the values are weighted with.
                    let mut pairs = [half::bf16::ZERO; MOST_COLUMNS];
                    e.store_bf16(pairs.as_mut_ptr());
                    total = total.add(V::load_bf16(pairs.as_ptr()));
                    let place = to.add(first / 2);
                    let count = (words - first / 2).min(V::LANES / 2);
                    std::ptr::copy_nonoverlapping(pairs.as_ptr().cast::<u32>(), place, count);
                }
            }
        }
        let written = if per_word == 1 {
            for k in 0..visible {
                *to.add(k) = (*scores.add(panel(k / columns) + k % columns)).to_bits();
            }
            visible
        } else {
            visible.next_multiple_of(V::LANES) / 2
        };
        for k in written..words {
            *to.add(k) = 0;
        }
        total.reduce_add()
    }
}
