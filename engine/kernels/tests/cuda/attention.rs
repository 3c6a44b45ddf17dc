//! Attention: the vision tower, prefill, windows over caches.

use half::bf16;
use kernels::cuda::abi::*;
use kernels::cuda::launch::{CHUNK, chunks};

use super::harness::*;

/// softmax(q K^T scale) V of one query over the first `seen` keys, in f64.
fn reference(query: &[bf16], keys: &[&[bf16]], values: &[&[bf16]], seen: usize, scale: f32) -> Vec<f64> {
    let wide = |v: &bf16| f64::from(v.to_f32());
    let scores: Vec<f64> = keys[..seen]
        .iter()
        .map(|key| query.iter().zip(*key).map(|(q, k)| wide(q) * wide(k)).sum::<f64>() * f64::from(scale))
        .collect();
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
    let total: f64 = weights.iter().sum();
    (0..query.len())
        .map(|d| weights.iter().zip(values).map(|(w, value)| w * wide(&value[d])).sum::<f64>() / total)
        .collect()
}

/// The weights of a step are rounded to bf16 before they meet the values, which are below 1 here.
const TOLERANCE: f64 = 4e-3;

#[test]
fn attention_of_patches_is_right() {
    let Some(card) = Card::open() else { return };
    let small = [(1, 3, 16), (63, 2, 16), (64, 1, 64), (130, 2, 64), (70, 1, 24), (65, 1, 128)];
    for (rows, heads, dim) in card.cases(&small, &[(700, 4, 64)]) {
        let qkv = Random::new(rows as u64).halves(rows * 3 * heads * dim);
        let (qkv_at, out) = (card.put(&qkv), card.poison::<bf16>(rows * heads * dim));
        let pitch = 3 * heads * dim;
        let part = |n: usize| qkv_at.at() + (n * heads * dim * 2) as u64;
        let arguments = AttentionArguments {
            queries: part(0),
            keys: part(1),
            values: part(2),
            out: out.at(),
            rows: rows as i32,
            window: rows as i32,
            heads: heads as i32,
            kv_heads: heads as i32,
            head_dim: dim as i32,
            query_pitch: pitch as i32,
            key_pitch: pitch as i32,
            mask: mask::BLOCK,
            chunks: 1,
            scale: (dim as f32).powf(-0.5),
            ..Default::default()
        };
        card.run(arguments.launch());
        let out = floats(&out.get());
        for head in 0..heads {
            let at = |n: usize| -> Vec<&[bf16]> {
                qkv.chunks_exact(pitch).map(|row| &row[(n * heads + head) * dim..][..dim]).collect()
            };
            let (queries, keys, values) = (at(0), at(1), at(2));
            for (row, query) in queries.iter().enumerate() {
                let expected = reference(query, &keys, &values, rows, arguments.scale);
                let got = &out[(row * heads + head) * dim..][..dim];
                close(&format!("{rows} rows, row {row}"), got, &expected, TOLERANCE, HALF_UNIT);
            }
        }
    }
}

/// Caches of several requests in one pool, all full of numbers, and a window's queries.
struct Caches {
    heads: usize,
    kv_heads: usize,
    dim: usize,
    window: usize,
    slots: Vec<Slot>,
    sequence_slots: Vec<i32>,
    keys: Vec<bf16>,
    values: Vec<bf16>,
    queries: Vec<bf16>,
}

impl Caches {
    fn new(heads: usize, kv_heads: usize, dim: usize, window: usize, cached: &[usize]) -> Self {
        let mut random = Random::new((dim + window) as u64);
        let mut offset = 0;
        let slots: Vec<Slot> = cached
            .iter()
            .map(|&cached| {
                let capacity = cached + window + 3;
                let slot = Slot {
                    offset: offset as i64,
                    capacity: capacity as i32,
                    cached: cached as i32,
                    state: state::RUNNING,
                    ..Default::default()
                };
                offset += kv_heads * capacity * dim;
                slot
            })
            .collect();
        // Sequences in another order than slots.
        let sequence_slots = (0..cached.len() as i32).rev().collect();
        Self {
            heads,
            kv_heads,
            dim,
            window,
            slots,
            sequence_slots,
            keys: random.halves(offset),
            values: random.halves(offset),
            queries: random.halves(cached.len() * window * heads * dim),
        }
    }

    fn rows(&self) -> usize {
        self.sequence_slots.len() * self.window
    }

    /// `[rows, heads, dim]`; in parts when `split`.
    fn run(&self, card: &Card, mask: i32, split: bool) -> Vec<bf16> {
        let most = self.slots.iter().map(|s| s.capacity as usize).max().unwrap();
        // More parts than any sequence needs, as with a graph that is kept while caches grow.
        let chunks = if split { chunks(most) + 2 } else { 1 };
        let (queries, keys, values) = (card.put(&self.queries), card.put(&self.keys), card.put(&self.values));
        let (slots, sequence_slots) = (card.put(&self.slots), card.put(&self.sequence_slots));
        let places = self.rows() * self.heads;
        let out = card.poison::<bf16>(places * self.dim);
        let parts = card.poison::<f32>(places * chunks * self.dim);
        let weights = card.poison::<f32>(places * chunks * 2);
        let arguments = AttentionArguments {
            queries: queries.at(),
            keys: keys.at(),
            values: values.at(),
            slots: slots.at(),
            sequence_slots: sequence_slots.at(),
            out: out.at(),
            parts: parts.at(),
            weights: weights.at(),
            rows: self.rows() as i32,
            window: self.window as i32,
            heads: self.heads as i32,
            kv_heads: self.kv_heads as i32,
            head_dim: self.dim as i32,
            query_pitch: (self.heads * self.dim) as i32,
            key_pitch: 0,
            mask,
            chunks: chunks as i32,
            chunk: CHUNK as i32,
            scale: (self.dim as f32).powf(-0.5),
            pad: 0,
        };
        card.run(arguments.launch());
        if chunks > 1 {
            card.run(arguments.combine());
        }
        out.get()
    }

    fn check(&self, card: &Card, mask: i32, split: bool) {
        let out = floats(&self.run(card, mask, split));
        for row in 0..self.rows() {
            let slot = &self.slots[self.sequence_slots[row / self.window] as usize];
            let (past, index) = (slot.cached as usize, row % self.window);
            let seen = match mask {
                mask::CAUSAL => past + index + 1,
                mask::DRAFT if index == 0 => past + 1,
                _ => past + self.window,
            };
            for head in 0..self.heads {
                let kv = head / (self.heads / self.kv_heads);
                let from = slot.offset as usize + kv * slot.capacity as usize * self.dim;
                let seen_at = from..from + seen * self.dim;
                let keys: Vec<_> = self.keys[seen_at.clone()].chunks_exact(self.dim).collect();
                let values: Vec<_> = self.values[seen_at].chunks_exact(self.dim).collect();
                let at = (row * self.heads + head) * self.dim;
                let expected =
                    reference(&self.queries[at..at + self.dim], &keys, &values, seen, (self.dim as f32).powf(-0.5));
                let what = format!("window {}, mask {mask}, row {row}, head {head}", self.window);
                close(&what, &out[at..at + self.dim], &expected, TOLERANCE, HALF_UNIT);
            }
        }
    }
}

#[test]
fn windows_over_caches_of_several_lengths_are_right_under_every_mask() {
    let Some(card) = Card::open() else { return };
    for window in [1, 2, 33, 40] {
        for mask in [mask::CAUSAL, mask::DRAFT, mask::BLOCK] {
            Caches::new(4, 2, 24, window, &[0, 5, 130]).check(&card, mask, true);
        }
    }
    for (heads, kv_heads, dim) in [(4, 2, 16), (4, 2, 64), (4, 4, 128), (6, 2, 32), (4, 2, 128)] {
        Caches::new(heads, kv_heads, dim, 9, &[63, 201]).check(&card, mask::DRAFT, true);
        Caches::new(heads, kv_heads, dim, 9, &[64]).check(&card, mask::CAUSAL, true);
    }
}

#[test]
fn a_window_of_the_published_size_is_right() {
    let Some(card) = Card::open() else { return };
    Caches::new(16, 8, 128, 33, &[150]).check(&card, mask::DRAFT, true);
    Caches::new(16, 8, 128, 1, &[300, 77]).check(&card, mask::CAUSAL, true);
    for window in card.cases(&[], &[1, 33]) {
        Caches::new(16, 8, 128, window, &[1500, 0, 413, 64]).check(&card, mask::DRAFT, true);
    }
}

#[test]
fn prefill_is_causal() {
    let Some(card) = Card::open() else { return };
    Caches::new(4, 2, 16, 150, &[0]).check(&card, mask::CAUSAL, false);
    Caches::new(2, 1, 128, 70, &[0]).check(&card, mask::CAUSAL, false);
    // A prompt that is run in pieces.
    Caches::new(4, 2, 24, 50, &[61]).check(&card, mask::CAUSAL, false);
    for rows in card.cases(&[], &[300]) {
        Caches::new(16, 8, 128, rows, &[0]).check(&card, mask::CAUSAL, false);
    }
}

#[test]
fn a_row_has_the_same_bits_alone_and_in_a_window() {
    let Some(card) = Card::open() else { return };
    for (heads, kv_heads, dim, cached) in card.cases(&[(4, 2, 24, 100), (2, 1, 128, 40)], &[(16, 8, 128, 3000)]) {
        let whole = Caches::new(heads, kv_heads, dim, 33, &[cached, 7]);
        let width = heads * dim;
        let all = whole.run(&card, mask::CAUSAL, true);
        for sequence in 0..2 {
            for index in [0, 1, 17, 32] {
                let which = whole.sequence_slots[sequence];
                let mut slots = whole.slots.clone();
                slots[which as usize].cached += index as i32;
                let row = sequence * 33 + index;
                let at = row * width..(row + 1) * width;
                let queries = whole.queries[at.clone()].to_vec();
                let alone = Caches {
                    window: 1,
                    slots,
                    sequence_slots: vec![which],
                    queries,
                    keys: whole.keys.clone(),
                    values: whole.values.clone(),
                    ..whole
                };
                assert_eq!(alone.run(&card, mask::CAUSAL, true), all[at], "row {row}");
            }
        }
    }
}

#[test]
fn idle_sequences_are_left_alone() {
    let Some(card) = Card::open() else { return };
    let mut caches = Caches::new(4, 2, 16, 2, &[3, 90, 5]);
    caches.slots[2].state = state::ENDED;
    caches.sequence_slots = vec![-1, 1, 2];
    for split in [false, true] {
        let out = caches.run(&card, mask::CAUSAL, split);
        let width = 2 * 4 * 16;
        let rows: Vec<bool> = out.chunks_exact(width).map(untouched).collect();
        assert_eq!(rows, [true, false, true]);
        assert!(out[width..2 * width].iter().all(|v| v.is_finite()));
    }
}
