//! Attention of a window over keys and values, with grouped heads.
//!
//! Every mask the model needs lets row `r` see a prefix of the keys: a causal row sees what precedes it and itself, a
//! mask row of a draft sees the whole window. So a mask is one count per row, and no score beyond it is computed into
//! a result. A row's result depends on its query and the keys it sees, not on the rows beside it.

use rayon::prelude::*;

use crate::product::dots;
use crate::sharing::threads;
use crate::simd::Vector;

/// One attention call. `R` rows, `H` query heads, `K` key-value heads (`H` a multiple of `K`), head size `D`.
#[derive(Clone, Copy, Debug)]
pub struct Attention<'a> {
    /// `[R, H, D]`.
    pub queries: &'a [f32],
    /// For each key-value head, `[keys, D]`.
    pub keys: &'a [&'a [f32]],
    /// For each key-value head, `[keys, D]`.
    pub values: &'a [&'a [f32]],
    /// For each row, how many of the first keys it sees; at least 1.
    pub visible: &'a [usize],
    /// Query heads.
    pub heads: usize,
    /// Head size.
    pub head_dim: usize,
    /// Factor on the scores, normally `head_dim^-0.5`.
    pub scale: f32,
}

/// One task: one key-value head, some of its (row, head in group) pairs.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) call: &'a Attention<'a>,
    pub(crate) head: usize,
    /// First pair and one past the last; pair `p` is row `p / group`, head `p % group` of the group.
    pub(crate) pairs: (usize, usize),
    /// `[R, H, D]`, of which the task writes its pairs.
    pub(crate) out: *mut f32,
}

// SAFETY: `out` comes from a slice borrowed until all tasks are done; tasks write disjoint pairs.
unsafe impl Send for Task<'_> {}
// SAFETY: as above.
unsafe impl Sync for Task<'_> {}

pub(crate) type Run = unsafe fn(&Task<'_>);

/// Pairs per task: enough to reuse a head's keys while they are in cache.
const PAIRS: usize = 32;
/// Multiply-adds under which a call is not worth sharing between threads.
const SHARE_FROM: usize = 1 << 19;

/// Runs a checked call.
///
/// # Safety
/// `task` must run on this processor.
pub(crate) unsafe fn run(task: Run, call: &Attention<'_>, out: &mut [f32]) {
    let group = call.heads / call.keys.len();
    let pairs = call.visible.len() * group;
    let keys = call.visible.iter().max().copied().unwrap_or(0);
    let out = out.as_mut_ptr();
    let tasks: Vec<Task<'_>> = (0..call.keys.len())
        .flat_map(|head| {
            (0..pairs).step_by(PAIRS).map(move |at| Task { call, head, pairs: (at, (at + PAIRS).min(pairs)), out })
        })
        .collect();
    if threads() == 1 || call.keys.len() * pairs * keys * call.head_dim < SHARE_FROM {
        // SAFETY: as the caller's.
        tasks.iter().for_each(|t| unsafe { task(t) });
    } else {
        // SAFETY: as the caller's.
        tasks.par_iter().for_each(|t| unsafe { task(t) });
    }
}

/// The body of a task, for one instruction set.
///
/// # Safety
/// `V`'s instruction set must be present; the call was checked against its slices.
#[inline(always)]
pub(crate) unsafe fn task<V: Vector>(task: &Task<'_>) {
    let (first, end) = task.pairs;
    let keys = (first..end).map(|p| task.visible(p)).max().unwrap_or(0);
    let mut scores = vec![0.0f32; (end - first).min(4) * keys];
    let mut pair = first;
    // SAFETY: as the caller's.
    unsafe {
        while pair < end {
            match end - pair {
                1 => pair += tile::<V, 1>(task, pair, &mut scores),
                2 => pair += tile::<V, 2>(task, pair, &mut scores),
                3 => pair += tile::<V, 3>(task, pair, &mut scores),
                _ => pair += tile::<V, 4>(task, pair, &mut scores),
            }
        }
    }
}

impl Task<'_> {
    fn group(&self) -> usize {
        self.call.heads / self.call.keys.len()
    }

    fn visible(&self, pair: usize) -> usize {
        self.call.visible[pair / self.group()]
    }

    /// Where a pair's query and output start in `[R, H, D]`.
    fn offset(&self, pair: usize) -> usize {
        let group = self.group();
        (pair / group * self.call.heads + self.head * group + pair % group) * self.call.head_dim
    }
}

/// `R` pairs at once.
#[inline(always)]
unsafe fn tile<V: Vector, const R: usize>(task: &Task<'_>, pair: usize, scores: &mut [f32]) -> usize {
    let Attention { queries, head_dim, scale, .. } = *task.call;
    let (keys, values) = (task.call.keys[task.head].as_ptr(), task.call.values[task.head].as_ptr());
    let visible: [usize; R] = std::array::from_fn(|r| task.visible(pair + r));
    let count = visible.iter().max().copied().unwrap_or(0);
    // SAFETY: offsets lie inside [R, H, D]; keys and values hold at least `count` rows of D; scores R * count.
    unsafe {
        let q: [*const f32; R] = std::array::from_fn(|r| queries.as_ptr().add(task.offset(pair + r)));
        let mut at = 0;
        while at + 4 <= count {
            let k = keys.add(at * head_dim);
            let k = [k, k.add(head_dim), k.add(2 * head_dim), k.add(3 * head_dim)];
            let sums = dots::<V, f32, R, 4>(q, k, head_dim);
            for r in 0..R {
                for c in 0..4 {
                    scores[r * count + at + c] = sums[r][c] * scale;
                }
            }
            at += 4;
        }
        while at < count {
            let sums = dots::<V, f32, R, 1>(q, [keys.add(at * head_dim)], head_dim);
            for r in 0..R {
                scores[r * count + at] = sums[r][0] * scale;
            }
            at += 1;
        }

        let mut norm = [0.0f32; R];
        for r in 0..R {
            let row = &mut scores[r * count..(r + 1) * count];
            let (seen, hidden) = row.split_at_mut(visible[r]);
            norm[r] = 1.0 / exp_and_sum::<V>(seen);
            hidden.fill(0.0); // adds exact zeros below
        }

        let mut column = 0;
        while column + 4 * V::LANES <= head_dim {
            weighted::<V, R, 4>(task, pair, scores, count, values, column, V::LANES, norm);
            column += 4 * V::LANES;
        }
        while column < head_dim {
            let lanes = V::LANES.min(head_dim - column);
            weighted::<V, R, 1>(task, pair, scores, count, values, column, lanes, norm);
            column += lanes;
        }
    }
    R
}

/// `e^(score - max)` in place; returns the sum.
#[inline(always)]
unsafe fn exp_and_sum<V: Vector>(scores: &mut [f32]) -> f32 {
    let max = scores.iter().copied().fold(f32::NEG_INFINITY, |a, b| if b > a { b } else { a });
    // SAFETY: chunks hold LANES values; the rest is handled by the partial forms.
    unsafe {
        let mut sum = V::splat(0.0);
        let mut chunks = scores.chunks_exact_mut(V::LANES);
        for chunk in &mut chunks {
            let e = V::load(chunk.as_ptr()).sub(V::splat(max)).exp();
            e.store(chunk.as_mut_ptr());
            sum = sum.add(e);
        }
        let mut total = sum.reduce_add();
        let rest = chunks.into_remainder();
        if !rest.is_empty() {
            V::load_partial(rest.as_ptr(), rest.len())
                .sub(V::splat(max))
                .exp()
                .store_partial(rest.as_mut_ptr(), rest.len());
            // One by one, so that the sum does not depend on what follows the visible prefix.
            total = rest.iter().fold(total, |a, b| a + b);
        }
        total
    }
}

/// `out[pair, column..] = sum over keys of score * value`, for `C` registers of columns (or one partial one).
#[inline(always)]
#[expect(clippy::too_many_arguments, clippy::needless_range_loop, reason = "the unrolled innermost loop of `tile`")]
unsafe fn weighted<V: Vector, const R: usize, const C: usize>(
    task: &Task<'_>,
    pair: usize,
    scores: &[f32],
    count: usize,
    values: *const f32,
    column: usize,
    lanes: usize,
    norm: [f32; R],
) {
    let head_dim = task.call.head_dim;
    // SAFETY: as the caller's; scores hold R * count values.
    unsafe {
        let scores = scores.as_ptr();
        let mut sums = [[V::splat(0.0); C]; R];
        let mut v = [V::splat(0.0); C];
        for key in 0..count {
            let from = values.add(key * head_dim + column);
            for c in 0..C {
                v[c] = if lanes == V::LANES { V::load(from.add(c * V::LANES)) } else { V::load_partial(from, lanes) };
            }
            for r in 0..R {
                let p = V::splat(*scores.add(r * count + key));
                for c in 0..C {
                    sums[r][c] = p.mul_add(v[c], sums[r][c]);
                }
            }
        }
        for r in 0..R {
            let to = task.out.add(task.offset(pair + r) + column);
            for c in 0..C {
                let scaled = sums[r][c].mul(V::splat(norm[r]));
                if lanes == V::LANES {
                    scaled.store(to.add(c * V::LANES));
                } else {
                    scaled.store_partial(to, lanes);
                }
            }
        }
    }
}
