//! Every kernel this processor has against plain sums in f64, and each row against itself in windows of other sizes.

use half::{bf16, f16};
use proptest::prelude::*;

use crate::{Attention, Kernel, Weights};

/// Small repeatable numbers in -1..1.
fn numbers(seed: u64, n: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        })
        .collect()
}

fn assert_near(got: &[f32], want: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((f64::from(*g) - w).abs() <= tolerance, "{what}: element {i} is {g}, not {w}");
    }
}

#[test]
fn the_portable_kernel_is_always_there() {
    assert_eq!(Kernel::available().last().map(Kernel::name), Some("portable"));
}

proptest! {
    #[test]
    fn products_match_f64(rows in 1usize..20, columns in 1usize..40, inner in 1usize..90, seed: u64) {
        let x = numbers(seed, rows * inner);
        let w = numbers(!seed, columns * inner);
        let bias = numbers(seed ^ 5, columns);
        let half: Vec<f16> = w.iter().map(|&v| f16::from_f32(v)).collect();
        let brain: Vec<bf16> = w.iter().map(|&v| bf16::from_f32(v)).collect();
        for kernel in Kernel::available() {
            for weights in [Weights::F32(&w), Weights::Bf16(&brain), Weights::F16(&half)] {
                let stored = |i: usize| match weights {
                    Weights::F32(w) => f64::from(w[i]),
                    Weights::Bf16(w) => w[i].to_f64(),
                    Weights::F16(w) => w[i].to_f64(),
                };
                let mut want = Vec::new();
                for r in 0..rows {
                    for (c, bias) in bias.iter().enumerate() {
                        let dot: f64 = (0..inner).map(|k| f64::from(x[r * inner + k]) * stored(c * inner + k)).sum();
                        want.push(dot + f64::from(*bias));
                    }
                }
                let mut got = vec![f32::NAN; rows * columns];
                kernel.product(&x, weights, Some(&bias), inner, &mut got);
                assert_near(&got, &want, 2e-5, kernel.name());
            }
        }
    }

    #[test]
    fn attention_matches_f64(
        rows in 1usize..12, kv in 1usize..3, group in 1usize..4, head_dim in 1usize..70, past in 0usize..50, seed: u64,
    ) {
        let heads = kv * group;
        let total = past + rows;
        let q = numbers(seed, rows * heads * head_dim);
        let k = numbers(seed ^ 1, kv * total * head_dim);
        let v = numbers(seed ^ 2, kv * total * head_dim);
        let keys: Vec<&[f32]> = k.chunks_exact(total * head_dim).collect();
        let values: Vec<&[f32]> = v.chunks_exact(total * head_dim).collect();
        // Row 0 causal, the others seeing everything: the draft mask.
        let visible: Vec<usize> = (0..rows).map(|r| if r == 0 { past + 1 } else { total }).collect();
        let scale = 3.0;
        let mut want = Vec::new();
        for r in 0..rows {
            for h in 0..heads {
                let at = |d: usize| f64::from(q[(r * heads + h) * head_dim + d]);
                let (k, v) = (keys[h / group], values[h / group]);
                let scores: Vec<f64> = (0..visible[r])
                    .map(|j| (0..head_dim).map(|d| at(d) * f64::from(k[j * head_dim + d])).sum::<f64>() * scale)
                    .collect();
                let max = scores.iter().copied().fold(f64::MIN, f64::max);
                let e: Vec<f64> = scores.iter().map(|s| (s - max).exp()).collect();
                let sum: f64 = e.iter().sum();
                for d in 0..head_dim {
                    want.push(e.iter().enumerate().map(|(j, p)| p * f64::from(v[j * head_dim + d])).sum::<f64>() / sum);
                }
            }
        }
        for kernel in Kernel::available() {
            let mut got = vec![f32::NAN; q.len()];
            let call = Attention {
                queries: &q, keys: &keys, values: &values, visible: &visible, heads, head_dim, scale: scale as f32,
            };
            kernel.attention(&call, &mut got);
            assert_near(&got, &want, 2e-5, kernel.name());
        }
    }

    /// What makes self-speculative output equal to autoregressive output: a row alone gives the very same bits.
    #[test]
    fn a_row_does_not_depend_on_its_window(rows in 2usize..40, columns in 1usize..30, inner in 1usize..80, seed: u64) {
        let x = numbers(seed, rows * inner);
        let w: Vec<bf16> = numbers(!seed, columns * inner).into_iter().map(bf16::from_f32).collect();
        for kernel in Kernel::available() {
            let mut all = vec![0.0; rows * columns];
            kernel.product(&x, Weights::Bf16(&w), None, inner, &mut all);
            for r in 0..rows {
                let mut one = vec![0.0; columns];
                kernel.product(&x[r * inner..(r + 1) * inner], Weights::Bf16(&w), None, inner, &mut one);
                prop_assert_eq!(&one, &all[r * columns..(r + 1) * columns]);
            }
        }
    }

    #[test]
    fn an_attention_row_does_not_depend_on_its_window(rows in 2usize..40, head_dim in 1usize..70, past in 0usize..40, seed: u64) {
        let (heads, total) = (4, past + rows);
        let q = numbers(seed, rows * heads * head_dim);
        let k = numbers(seed ^ 1, 2 * total * head_dim);
        let keys: Vec<&[f32]> = k.chunks_exact(total * head_dim).collect();
        let visible: Vec<usize> = (0..rows).map(|r| past + r + 1).collect();
        for kernel in Kernel::available() {
            let call = Attention {
                queries: &q, keys: &keys, values: &keys, visible: &visible, heads, head_dim, scale: 0.3,
            };
            let mut all = vec![0.0; q.len()];
            kernel.attention(&call, &mut all);
            for r in 0..rows {
                let row = r * heads * head_dim..(r + 1) * heads * head_dim;
                let seen: Vec<&[f32]> = keys.iter().map(|k| &k[..visible[r] * head_dim]).collect();
                let mut one = vec![0.0; row.len()];
                kernel.attention(
                    &Attention { queries: &q[row.clone()], keys: &seen, values: &seen, visible: &visible[r..=r], ..call },
                    &mut one,
                );
                prop_assert_eq!(&one, &all[row]);
            }
        }
    }

    #[test]
    fn elementwise_kernels_match_f64(rows in 1usize..4, n in 1usize..70, seed: u64) {
        let x: Vec<f32> = numbers(seed, rows * n).iter().map(|v| v * 20.0).collect();
        let w = numbers(!seed, n);
        for kernel in Kernel::available() {
            let mut got = vec![0.0; x.len()];
            kernel.rms_norm(&x, &w, 1e-5, &mut got);
            let want: Vec<f64> = x.chunks_exact(n).flat_map(|row| {
                let mean = row.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>() / n as f64;
                row.iter().zip(&w).map(move |(&v, &w)| f64::from(v) * f64::from(w) / (mean + 1e-5).sqrt())
            }).collect();
            assert_near(&got, &want, 2e-5, kernel.name());

            kernel.silu_product(&x, &x, &mut got);
            let want: Vec<f64> = x.iter().map(|&v| f64::from(v)).map(|v| v / (1.0 + (-v).exp()) * v).collect();
            assert_near(&got, &want, 2e-4, kernel.name());

            let (index, probability) = kernel.peak(&x);
            let max = x.iter().copied().fold(f32::MIN, f32::max);
            prop_assert_eq!(x[index], max);
            let sum: f64 = x.iter().map(|&v| (f64::from(v) - f64::from(max)).exp()).sum();
            prop_assert!((f64::from(probability) - 1.0 / sum).abs() < 1e-5);
        }
    }
}

/// Large enough to be shared between threads.
#[test]
fn a_shared_product_equals_its_rows() {
    let (rows, columns, inner) = (100, 203, 160);
    let x = numbers(3, rows * inner);
    let w = numbers(4, columns * inner);
    for kernel in Kernel::available() {
        let mut all = vec![f32::NAN; rows * columns];
        kernel.product(&x, Weights::F32(&w), None, inner, &mut all);
        for r in 0..rows {
            let mut one = vec![0.0; columns];
            kernel.product(&x[r * inner..(r + 1) * inner], Weights::F32(&w), None, inner, &mut one);
            assert_eq!(&all[r * columns..(r + 1) * columns], one);
        }
    }
}

#[test]
fn peak_takes_the_first_of_equals_and_skips_nan() {
    for kernel in Kernel::available() {
        assert_eq!(kernel.peak(&[1.0, 3.0, f32::NAN, 3.0]).0, 1, "{}", kernel.name());
    }
}

#[test]
fn rotations_follow_the_reference() {
    // A quarter turn: (a, b) -> (-b, a).
    let (cos, sin) = ([0.0; 4], [1.0; 4]);
    let kernel = Kernel::best();
    let mut x = [1.0, 2.0, 3.0, 4.0];
    kernel.rotate_pairs(&mut x, &cos, &sin, 4);
    assert_eq!(x, [-2.0, 1.0, -4.0, 3.0]);
    let mut x = [1.0, 2.0, 3.0, 4.0];
    kernel.rotate_halves(&mut x, &cos, &sin, 4);
    assert_eq!(x, [-3.0, -4.0, 1.0, 2.0]);
}

#[test]
fn layer_norm_and_gelu_have_known_values() {
    let kernel = Kernel::best();
    let mut out = [0.0; 4];
    kernel.layer_norm(&[1.0, 2.0, 3.0, 4.0], &[2.0; 4], &[1.0; 4], 0.0, &mut out);
    // Standard deviation sqrt(1.25).
    assert_near(&out, &[-1.683_281_573, 0.105_572_809, 1.894_427_191, 3.683_281_573], 1e-6, "layer_norm");
    let mut x = [1.0, -1.0, 0.0, 3.0];
    kernel.gelu(&mut x);
    assert_near(&x, &[0.841_344_746, -0.158_655_254, 0.0, 2.995_950_306], 1e-6, "gelu");
}
