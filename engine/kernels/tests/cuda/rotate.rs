//! Rotations, per-head norms and cache writes.

use half::bf16;
use kernels::cuda::abi::*;

use super::harness::*;

/// Cosines and sines of `position * theta^(-2i/dim)`, `[positions, dim / 2]` pairs.
fn table(positions: usize, dim: usize) -> Vec<f32> {
    let angle = |p: usize, i: usize| p as f64 * 10000f64.powf(-2.0 * i as f64 / dim as f64);
    (0..positions)
        .flat_map(|p| (0..dim / 2).flat_map(move |i| [angle(p, i).cos() as f32, angle(p, i).sin() as f32]))
        .collect()
}

#[test]
fn vision_queries_and_keys_are_normed_and_turned_by_their_place() {
    let Some(card) = Card::open() else { return };
    for (heads, dim, grid_rows, columns) in
        card.cases(&[(3, 16, 4, 6), (2, 64, 2, 4), (1, 128, 2, 2)], &[(16, 64, 40, 66)])
    {
        let rows = grid_rows * columns;
        let (merge, eps) = (2, 1e-5f32);
        let mut random = Random::new(dim as u64);
        let before = random.halves(rows * 3 * heads * dim);
        let (q_norm, k_norm) = (random.floats(dim), random.floats(dim));
        let (qkv, table) = (card.put(&before), card.put(&table(grid_rows.max(columns), dim / 2)));
        let (q_at, k_at) = (card.put(&q_norm), card.put(&k_norm));
        let arguments = VisionRotateArguments {
            qkv: qkv.at(),
            q_norm: q_at.at(),
            k_norm: k_at.at(),
            table: table.at(),
            rows: rows as i32,
            heads: heads as i32,
            head_dim: dim as i32,
            columns: columns as i32,
            merge,
            eps,
        };
        card.run(arguments.launch());
        // Patches by merge window: (0,0) (0,1) (1,0) (1,1), then the window to the right.
        let mut places = Vec::new();
        for y in (0..grid_rows).step_by(2) {
            for x in (0..columns).step_by(2) {
                places.extend([(y, x), (y, x + 1), (y + 1, x), (y + 1, x + 1)]);
            }
        }
        let before = floats(&before);
        let mut expected = wide(&before);
        for (row, &(y, x)) in places.iter().enumerate() {
            for head in 0..2 * heads {
                let norm = if head < heads { &q_norm } else { &k_norm };
                let at = (row * 3 * heads + head) * dim;
                let v = wide(&before[at..at + dim]);
                let scale = 1.0 / (v.iter().map(|v| v * v).sum::<f64>() / dim as f64 + f64::from(eps)).sqrt();
                let n: Vec<f64> = v.iter().zip(norm).map(|(v, &w)| v * scale * f64::from(w)).collect();
                let half = dim / 2;
                for i in 0..half {
                    let (place, f) = if i < half / 2 { (y, i) } else { (x, i - half / 2) };
                    let angle = place as f64 * 10000f64.powf(-2.0 * f as f64 / half as f64);
                    expected[at + i] = n[i] * angle.cos() - n[half + i] * angle.sin();
                    expected[at + half + i] = n[half + i] * angle.cos() + n[i] * angle.sin();
                }
            }
        }
        close("qkv", &floats(&qkv.get()), &expected, 1e-5, HALF_UNIT);
    }
}

struct Store {
    heads: usize,
    kv_heads: usize,
    dim: usize,
    sections: [usize; 3],
    window: usize,
}

/// Three sequences: one at 5 of 9 tokens with places for the window, one idle by its state, one without a slot.
fn check(card: &Card, s: &Store, positions: Option<&[[i32; 3]]>) {
    let (sequences, splits, capacity) = (3, 2, 5 + s.window);
    let rows = sequences * s.window;
    let width = (s.heads + 2 * s.kv_heads) * s.dim;
    let mut random = Random::new(s.dim as u64);
    let parts = random.floats(splits * rows * width);
    let pool = s.kv_heads * capacity * s.dim;
    let running = Slot {
        offset: pool as i64,
        capacity: capacity as i32,
        cached: 5,
        shift: 7,
        state: state::RUNNING,
        ..Default::default()
    };
    let slots = card.put(&[Slot { state: state::ENDED, offset: 0, ..running }, running]);
    let (sequence_slots, parts_at, table) = (card.put(&[1, 0, -1]), card.put(&parts), card.put(&table(64, s.dim)));
    let places = card.put(positions.unwrap_or_default());
    let queries = card.poison::<bf16>(rows * s.heads * s.dim);
    let (keys, values) = (card.poison::<bf16>(2 * pool), card.poison::<bf16>(2 * pool));
    let arguments = RotateStoreArguments {
        parts: parts_at.at(),
        table: table.at(),
        positions: positions.map_or(0, |_| places.at()),
        slots: slots.at(),
        sequence_slots: sequence_slots.at(),
        queries: queries.at(),
        keys: keys.at(),
        values: values.at(),
        rows: rows as i32,
        window: s.window as i32,
        heads: s.heads as i32,
        kv_heads: s.kv_heads as i32,
        head_dim: s.dim as i32,
        splits: splits as i32,
        section_t: s.sections[0] as i32,
        section_h: s.sections[1] as i32,
        positions_limit: 64,
        pad: 0,
    };
    card.run(arguments.launch());

    let (queries, keys, values) = (queries.get(), keys.get(), values.get());
    assert!(untouched(&queries[s.window * s.heads * s.dim..]), "an idle sequence's queries");
    assert!(untouched(&keys[..pool]) && untouched(&values[..pool]), "an idle slot's cache");
    for row in 0..s.window {
        let sum: Vec<f64> =
            (0..width).map(|i| (0..splits).map(|p| f64::from(parts[(p * rows + row) * width + i])).sum()).collect();
        let place = positions.map_or([5 + row as i32 + 7; 3], |p| p[row]);
        let turned = |head: usize| -> Vec<f64> {
            let x = &sum[head * s.dim..(head + 1) * s.dim];
            let mut out = Vec::new();
            for i in 0..s.dim / 2 {
                let axis = if i < s.sections[0] {
                    0
                } else if i < s.sections[0] + s.sections[1] {
                    1
                } else {
                    2
                };
                let angle = f64::from(place[axis]) * 10000f64.powf(-2.0 * i as f64 / s.dim as f64);
                out.push(x[2 * i] * angle.cos() - x[2 * i + 1] * angle.sin());
                out.push(x[2 * i + 1] * angle.cos() + x[2 * i] * angle.sin());
            }
            out
        };
        for head in 0..s.heads {
            let at = (row * s.heads + head) * s.dim;
            close("query", &floats(&queries[at..at + s.dim]), &turned(head), 1e-5, HALF_UNIT);
        }
        for head in 0..s.kv_heads {
            let at = pool + (head * capacity + 5 + row) * s.dim;
            close("key", &floats(&keys[at..at + s.dim]), &turned(s.heads + head), 1e-5, HALF_UNIT);
            let from = (s.heads + s.kv_heads + head) * s.dim;
            close("value", &floats(&values[at..at + s.dim]), &sum[from..from + s.dim], 1e-5, HALF_UNIT);
            let past = pool + head * capacity * s.dim;
            assert!(untouched(&keys[past..past + 5 * s.dim]), "the past");
        }
    }
}

#[test]
fn queries_and_keys_turn_by_their_position_and_go_to_the_cache() {
    let Some(card) = Card::open() else { return };
    for (heads, kv_heads, dim, sections) in
        [(4, 2, 16, [2, 3, 3]), (4, 2, 24, [3, 4, 5]), (4, 2, 64, [8, 12, 12]), (16, 8, 128, [16, 24, 24])]
    {
        for window in [1, 4] {
            check(&card, &Store { heads, kv_heads, dim, sections, window }, None);
        }
    }
    let places: Vec<[i32; 3]> = (0..12).map(|i| [3, 10 + i, 40 - i]).collect();
    check(&card, &Store { heads: 4, kv_heads: 2, dim: 24, sections: [3, 4, 5], window: 4 }, Some(&places));
}

#[test]
fn a_row_beyond_the_capacity_is_not_written() {
    let Some(card) = Card::open() else { return };
    let slots = card.put(&[Slot { capacity: 2, cached: 1, state: state::RUNNING, ..Default::default() }]);
    let (parts, table, sequence_slots) = (card.put(&[1.0f32; 3 * 24]), card.put(&table(8, 8)), card.put(&[0]));
    let (queries, keys, values) = (card.poison::<bf16>(24), card.poison::<bf16>(16), card.poison::<bf16>(16));
    let arguments = RotateStoreArguments {
        parts: parts.at(),
        table: table.at(),
        slots: slots.at(),
        sequence_slots: sequence_slots.at(),
        queries: queries.at(),
        keys: keys.at(),
        values: values.at(),
        rows: 3,
        window: 3,
        heads: 1,
        kv_heads: 1,
        head_dim: 8,
        splits: 1,
        section_t: 1,
        section_h: 1,
        positions_limit: 8,
        ..Default::default()
    };
    card.run(arguments.launch());
    // What lies beyond the cache's two places is guarded.
    assert!(untouched(&values.get()[..8]), "the past");
    assert_eq!(floats(&values.get()[8..]), [1.0; 8]);
}
