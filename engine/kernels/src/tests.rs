//! Every kernel this processor has against plain sums in f64, and each row against itself in windows of other sizes.

#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::sync::atomic::AtomicBool;

use half::{bf16, f16};
use proptest::prelude::*;

use crate::memory::{Bytes, Dtype, Tensor};
use crate::{Attention, Format, Kernel, KeyValues, Matrix, Operand};

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

fn tensor(dtype: Dtype, shape: &[usize], values: &[f32]) -> Tensor {
    match dtype {
        Dtype::F32 => Tensor::from_f32(shape, values),
        Dtype::Bf16 => Tensor::from_f32_as_bf16(shape, values),
        Dtype::F16 => {
            let bytes: Vec<u8> = values.iter().flat_map(|&v| f16::from_f32(v).to_le_bytes()).collect();
            Tensor::new(dtype, shape, Bytes::copy_from(&bytes))
        }
    }
    .unwrap()
}

fn matrix(kernel: &Kernel, format: Format, dtype: Dtype, outer: usize, w: &[f32], bias: Option<&[f32]>) -> Matrix {
    let tensor = tensor(dtype, &[outer, w.len() / outer], w);
    Matrix::new(vec![tensor], bias.map(<[f32]>::to_vec)).unwrap().with_format(kernel, format)
}

fn operand(kernel: &Kernel, format: Format, width: usize, x: &[f32]) -> Operand {
    let mut operand = Operand::default();
    operand.copy(kernel, format, width, x);
    operand
}

/// What a format makes of a number.
fn seen(format: Format, x: f32) -> f64 {
    if format == Format::Bf16 { bf16::from_f32(x).to_f64() } else { f64::from(x) }
}

fn assert_near(got: &[f32], want: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((f64::from(*g) - w).abs() <= tolerance, "{what}: element {i} is {g}, not {w}");
    }
}

/// `x w^T + bias` in f64, of the numbers as a format sees them.
fn plain(format: Format, dtype: Dtype, x: &[f32], w: &[f32], bias: &[f32]) -> Vec<f64> {
    let inner = w.len() / bias.len();
    let stored = tensor(dtype, &[w.len()], w).to_f32_vec();
    x.chunks_exact(inner)
        .flat_map(|x| {
            stored.chunks_exact(inner).zip(bias).map(move |(w, bias)| {
                let dot: f64 = x.iter().zip(w).map(|(x, w)| seen(format, *x) * f64::from(*w)).sum();
                dot + f64::from(*bias)
            })
        })
        .collect()
}

const STORED: [(Format, Dtype); 4] =
    [(Format::F32, Dtype::F32), (Format::F32, Dtype::Bf16), (Format::F32, Dtype::F16), (Format::Bf16, Dtype::Bf16)];

#[test]
fn the_portable_kernel_is_always_there() {
    assert_eq!(Kernel::available().last().map(Kernel::name), Some("portable"));
}

proptest! {
    #[test]
    fn products_match_f64(rows in 1usize..20, columns in 1usize..150, inner in 1usize..90, seed: u64) {
        let x = numbers(seed, rows * inner);
        let w = numbers(!seed, columns * inner);
        let bias = numbers(seed ^ 5, columns);
        for kernel in Kernel::available() {
            for (format, dtype) in STORED {
                let want = plain(format, dtype, &x, &w, &bias);
                let x = operand(&kernel, format, inner, &x);
                let matrix = matrix(&kernel, format, dtype, columns, &w, Some(&bias));
                let mut got = vec![f32::NAN; rows * columns];
                kernel.product(&x, &matrix, &mut got);
                assert_near(&got, &want, 2e-5, kernel.name());
                let packed = self::matrix(&kernel, format, dtype, columns, &w, Some(&bias)).packed(&kernel);
                let mut same = vec![f32::NAN; rows * columns];
                kernel.product(&x, &packed, &mut same);
                assert_eq!(same, got, "{}: packed once or on the way", kernel.name());
                kernel.product_add(&x, &matrix, &mut got);
                let twice: Vec<f64> = want.iter().map(|v| 2.0 * v).collect();
                assert_near(&got, &twice, 4e-5, kernel.name());
            }
        }
    }

    /// Quantised to 8 bits the result is near, and the same on every kernel: the integer sums are exact.
    #[test]
    fn quantised_products_are_near_and_equal_everywhere(rows in 1usize..9, columns in 1usize..80, inner in 1usize..400, seed: u64) {
        let x = numbers(seed, rows * inner);
        let w = numbers(!seed, columns * inner);
        let bias = numbers(seed ^ 5, columns);
        let want = plain(Format::Int8, Dtype::F32, &x, &w, &bias);
        let results: Vec<Vec<f32>> = Kernel::available().iter().map(|kernel| {
            let x = operand(kernel, Format::Int8, inner, &x);
            let mut got = vec![f32::NAN; rows * columns];
            kernel.product(&x, &matrix(kernel, Format::Int8, Dtype::F32, columns, &w, Some(&bias)), &mut got);
            got
        }).collect();
        // Half a step of 1/127 on both sides of each product, adding up like a random walk: five deviations.
        let tolerance = 5.0 * (inner as f64).sqrt() / 254.0;
        for (got, kernel) in results.iter().zip(Kernel::available()) {
            assert_near(got, &want, tolerance, kernel.name());
        }
        // The portable kernel alone multiplies and adds in two roundings.
        for fused in results[..results.len() - 1].windows(2) {
            prop_assert_eq!(&fused[0], &fused[1]);
        }
    }

    /// Several tensors as one matrix, the lower half gating the upper.
    #[test]
    fn gated_products_match_f64(rows in 1usize..9, half in 1usize..70, inner in 1usize..60, seed: u64) {
        let x = numbers(seed, rows * inner);
        let w: Vec<f32> = numbers(!seed, 2 * half * inner).iter().map(|v| v * 2.0).collect();
        let bias = numbers(seed ^ 5, 2 * half);
        for kernel in Kernel::available() {
            for (format, dtype) in STORED {
                let want: Vec<f64> = plain(format, dtype, &x, &w, &bias)
                    .chunks_exact(2 * half)
                    .flat_map(|row| (0..half).map(|i| row[i] / (1.0 + (-row[i]).exp()) * row[half + i]))
                    .collect();
                let parts = w.chunks_exact(half * inner).map(|part| tensor(dtype, &[half, inner], part)).collect();
                let matrix = Matrix::new(parts, Some(bias.clone())).unwrap().gated().unwrap().with_format(&kernel, format);
                let x = operand(&kernel, format, inner, &x);
                let mut got = vec![f32::NAN; rows * half];
                kernel.product(&x, &matrix, &mut got);
                assert_near(&got, &want, 1e-4 * (inner as f64), kernel.name());

                // As the operand of a product with ones: the sums of the rows.
                let (mut next, mut spare) = (Operand::default(), Vec::new());
                kernel.product_gated(&x, &matrix, format, &mut next, &mut spare);
                let ones = self::matrix(&kernel, format, dtype, 1, &vec![1.0; half], None);
                let mut sums = vec![f32::NAN; rows];
                kernel.product(&next, &ones, &mut sums);
                let want: Vec<f64> = got.chunks_exact(half).map(|row| row.iter().map(|&v| seen(format, v)).sum()).collect();
                assert_near(&sums, &want, 1e-3 * half as f64, kernel.name());
            }
        }
    }

    /// What makes self-speculative output equal to autoregressive output: a row alone gives the very same bits.
    #[test]
    fn a_row_does_not_depend_on_its_window(rows in 2usize..42, columns in 1usize..90, inner in 1usize..600, seed: u64) {
        let x = numbers(seed, rows * inner);
        let w = numbers(!seed, columns * inner);
        for kernel in Kernel::available() {
            for (format, dtype) in STORED.into_iter().chain([(Format::Int8, Dtype::Bf16)]) {
                let matrix = matrix(&kernel, format, dtype, columns, &w, None);
                let mut all = vec![0.0; rows * columns];
                kernel.product(&operand(&kernel, format, inner, &x), &matrix, &mut all);
                let mut peaks = Vec::new();
                kernel.peaks(&operand(&kernel, format, inner, &x), &matrix, None, |peak| peaks.push(peak));
                for r in 0..rows {
                    let x = operand(&kernel, format, inner, &x[r * inner..(r + 1) * inner]);
                    let mut one = vec![0.0; columns];
                    kernel.product(&x, &matrix, &mut one);
                    prop_assert_eq!(&one, &all[r * columns..(r + 1) * columns]);
                    kernel.peaks(&x, &matrix, None, |peak| assert_eq!(peak, peaks[r]));
                }
            }
        }
    }

    #[test]
    fn peaks_match_f64(rows in 1usize..5, columns in 2usize..300, seed: u64) {
        // The product with the identity shows its operand.
        let x: Vec<f32> = numbers(seed, rows * columns).iter().map(|v| v * 9.0).collect();
        let identity: Vec<f32> = (0..columns * columns).map(|i| f32::from(i % (columns + 1) == 0)).collect();
        for kernel in Kernel::available() {
            let matrix = matrix(&kernel, Format::F32, Dtype::F32, columns, &identity, None);
            let mut logits = vec![f32::NAN; x.len()];
            let mut row = 0;
            kernel.peaks(&operand(&kernel, Format::F32, columns, &x), &matrix, Some(&mut logits), |peak| {
                let x = &x[row * columns..(row + 1) * columns];
                let mut sorted = x.to_vec();
                sorted.sort_by(|a, b| b.total_cmp(a));
                assert_eq!(x[peak.index as usize], sorted[0]);
                assert_eq!(peak.margin, sorted[0] - sorted[1]);
                let sum: f64 = x.iter().map(|&v| (f64::from(v) - f64::from(sorted[0])).exp()).sum();
                assert!((f64::from(peak.probability) - 1.0 / sum).abs() < 1e-5);
                row += 1;
            });
            prop_assert_eq!(&logits, &x);
        }
    }

    #[test]
    fn attention_matches_f64(
        rows in 1usize..20, kv in 1usize..3, group in 1usize..4, head_dim in 1usize..70, past in 0usize..150, seed: u64,
    ) {
        let heads = kv * group;
        let total = past + rows;
        let q = numbers(seed, rows * heads * head_dim);
        let k = numbers(seed ^ 1, kv * total * head_dim);
        let v = numbers(seed ^ 2, kv * total * head_dim);
        // Row 0 causal, the others seeing everything: the draft mask.
        let visible: Vec<usize> = (0..rows).map(|r| if r == 0 { past + 1 } else { total }).collect();
        let scale = 3.0 / (head_dim as f64).sqrt();
        for (format, tolerance) in [(Format::F32, 2e-5), (Format::Bf16, 1e-2)] {
            let at = |x: &[f32], row: usize, head: usize, heads: usize, d: usize| seen(format, x[(row * heads + head) * head_dim + d]);
            let mut want = Vec::new();
            for (r, &visible) in visible.iter().enumerate() {
                for h in 0..heads {
                    let dot = |j| (0..head_dim).map(|d| at(&q, r, h, heads, d) * at(&k, j, h / group, kv, d)).sum::<f64>();
                    let scores: Vec<f64> = (0..visible).map(|j| dot(j) * scale).collect();
                    let max = scores.iter().copied().fold(f64::MIN, f64::max);
                    let e: Vec<f64> = scores.iter().map(|s| (s - max).exp()).collect();
                    let sum: f64 = e.iter().sum();
                    for d in 0..head_dim {
                        want.push(e.iter().enumerate().map(|(j, p)| p * at(&v, j, h / group, kv, d)).sum::<f64>() / sum);
                    }
                }
            }
            for kernel in Kernel::available() {
                let mut cache = KeyValues::new(&kernel, format, kv, head_dim);
                cache.append(&operand(&kernel, format, head_dim, &k), &v, kv * head_dim);
                let queries = operand(&kernel, format, head_dim, &q);
                let mut got = vec![f32::NAN; q.len()];
                let call = Attention { queries: &queries, cache: &cache, visible: &visible, heads, scale: scale as f32 };
                kernel.attention(&call, &mut got);
                assert_near(&got, &want, tolerance, kernel.name());
            }
        }
    }

    /// A row gives the same bits alone over a cache that ends with it, and in a window over keys that it does not see; and
    /// a cache that was cut and filled again is as one that was not.
    #[test]
    fn an_attention_row_does_not_depend_on_its_window(
        rows in 2usize..40, head_dim in 1usize..70, past in 0usize..100, garbage in 0usize..40, seed: u64,
    ) {
        let (heads, kv, total) = (4, 2, past + rows);
        let (wide, narrow) = (heads * head_dim, kv * head_dim);
        let q = numbers(seed, rows * wide);
        let k = numbers(seed ^ 1, (total + garbage) * narrow);
        let visible: Vec<usize> = (0..rows).map(|r| past + r + 1).collect();
        for (kernel, format) in Kernel::available().into_iter().flat_map(|k| [(k, Format::F32), (k, Format::Bf16)]) {
            let append = |cache: &mut KeyValues, from: usize, to: usize| {
                let part = &k[from * narrow..to * narrow];
                cache.append(&operand(&kernel, format, head_dim, part), part, narrow);
            };
            let run = |cache: &KeyValues, rows: std::ops::Range<usize>| {
                let queries = operand(&kernel, format, head_dim, &q[rows.start * wide..rows.end * wide]);
                let mut out = vec![f32::NAN; rows.len() * wide];
                let call = Attention { queries: &queries, cache, visible: &visible[rows], heads, scale: 0.3 };
                kernel.attention(&call, &mut out);
                out
            };
            let mut window = KeyValues::new(&kernel, format, kv, head_dim);
            append(&mut window, 0, past);
            append(&mut window, total, total + garbage);
            window.truncate(past);
            append(&mut window, past, total);
            let all = run(&window, 0..rows);
            let mut growing = KeyValues::new(&kernel, format, kv, head_dim);
            append(&mut growing, 0, past);
            for r in 0..rows {
                append(&mut growing, past + r, past + r + 1);
                prop_assert_eq!(&run(&growing, r..r + 1), &all[r * wide..(r + 1) * wide]);
            }
        }
    }

    #[test]
    fn norms_match_f64(rows in 1usize..4, n in 1usize..70, seed: u64) {
        let x: Vec<f32> = numbers(seed, rows * n).iter().map(|v| v * 20.0).collect();
        let w = numbers(!seed, n);
        let want: Vec<f64> = x.chunks_exact(n).flat_map(|row| {
            let mean = row.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>() / n as f64;
            row.iter().zip(&w).map(move |(&v, &w)| f64::from(v) * f64::from(w) / (mean + 1e-5).sqrt())
        }).collect();
        for kernel in Kernel::available() {
            let mut got = vec![0.0; x.len()];
            kernel.rms_norm(&x, &w, 1e-5, &mut got);
            assert_near(&got, &want, 2e-5, kernel.name());
            let mut sum = x.clone();
            kernel.add_normed(&mut sum, &x, &w, 1e-5);
            let want: Vec<f64> = want.iter().zip(&x).map(|(v, &x)| v + f64::from(x)).collect();
            assert_near(&sum, &want, 4e-5, kernel.name());
        }
    }
}

/// Large enough to be shared between threads, by columns and by rows, with more than one slice of a panel.
#[test]
fn a_shared_product_equals_its_rows() {
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for (rows, columns, inner) in [(100, 203, 160), (300, 64, 1100), (3, 999, 777)] {
        let x = numbers(3, rows * inner);
        let w = numbers(4, columns * inner);
        for kernel in Kernel::available() {
            for (format, dtype) in STORED.into_iter().chain([(Format::Int8, Dtype::F32)]) {
                let matrix = matrix(&kernel, format, dtype, columns, &w, None);
                let mut all = vec![f32::NAN; rows * columns];
                kernel.product(&operand(&kernel, format, inner, &x), &matrix, &mut all);
                for r in 0..rows {
                    let mut one = vec![0.0; columns];
                    let x = operand(&kernel, format, inner, &x[r * inner..(r + 1) * inner]);
                    alone.install(|| kernel.product(&x, &matrix, &mut one));
                    assert_eq!(&all[r * columns..(r + 1) * columns], one);
                }
            }
        }
    }
}

/// A flag that is set keeps products and attention from computing anything; one that is not changes nothing.
#[test]
fn what_is_no_longer_wanted_is_not_computed() {
    let (rows, inner, outer) = (70, 128, 300);
    let (x, w) = (numbers(5, rows * inner), numbers(6, outer * inner));
    let (stop, go) = (AtomicBool::new(true), AtomicBool::new(false));
    for kernel in Kernel::available() {
        for format in [Format::F32, Format::Bf16, Format::Int8] {
            let (x, w) = (operand(&kernel, format, inner, &x), matrix(&kernel, format, Dtype::Bf16, outer, &w, None));
            let product = |kernel: Kernel<'_>| {
                let mut out = vec![9.0; rows * outer];
                kernel.product(&x, &w, &mut out);
                out
            };
            assert!(product(kernel.until(&stop)).iter().all(|&v| v == 9.0), "{kernel:?} {format:?}");
            assert!(product(kernel.until(&go)) == product(kernel), "{kernel:?} {format:?}");
        }
        let x = operand(&kernel, Format::F32, 64, &x);
        let mut cache = KeyValues::new(&kernel, Format::F32, 1, 64);
        cache.append(&x, &numbers(7, x.rows() * 64), 64);
        let visible = vec![x.rows(); x.rows()];
        let attention = |kernel: Kernel<'_>| {
            let mut out = vec![9.0; x.rows() * 64];
            let call = Attention { queries: &x, cache: &cache, visible: &visible, heads: 1, scale: 0.1 };
            kernel.attention(&call, &mut out);
            out
        };
        assert!(attention(kernel.until(&stop)).iter().all(|&v| v == 9.0), "{kernel:?}");
        assert!(attention(kernel.until(&go)) == attention(kernel), "{kernel:?}");
    }
}

#[test]
fn peaks_take_the_first_of_equals_and_skip_nan() {
    for kernel in Kernel::available() {
        // Weights of one column are the logits of an operand of one.
        let logits = [1.0, 3.0, f32::NAN, 3.0];
        let matrix = matrix(&kernel, Format::F32, Dtype::F32, 4, &logits, None);
        kernel.peaks(&operand(&kernel, Format::F32, 1, &[1.0]), &matrix, None, |peak| {
            assert_eq!((peak.index, peak.margin), (1, 0.0), "{}", kernel.name());
        });
    }
}

#[test]
fn numbers_that_no_scale_fits_are_zero() {
    for kernel in Kernel::available() {
        for (x, sum) in [([f32::NAN, 1.0], 0.0), ([f32::INFINITY, 1.0], 0.0), ([1e-42, 1e-44], 0.0)] {
            let x = operand(&kernel, Format::Int8, 2, &x);
            let mut y = [f32::NAN];
            kernel.product(&x, &matrix(&kernel, Format::Int8, Dtype::F32, 1, &[1.0, 1.0], None), &mut y);
            assert_eq!(y, [sum], "{}", kernel.name());
        }
    }
}

#[test]
fn matrices_refuse_what_does_not_fit() {
    let of = |shape: &[usize]| tensor(Dtype::F32, shape, &vec![0.0; shape.iter().product()]);
    assert!(Matrix::new(vec![of(&[2, 3]), of(&[4, 3])], Some(vec![0.0; 6])).is_some());
    assert!(Matrix::new(vec![of(&[2, 3]), of(&[4, 2])], None).is_none());
    assert!(Matrix::new(vec![of(&[2, 3])], Some(vec![0.0; 3])).is_none());
    assert!(Matrix::new(vec![of(&[0, 3])], None).is_none());
    assert!(Matrix::new(Vec::new(), None).is_none());
    assert!(Matrix::new(vec![of(&[3, 2])], None).unwrap().gated().is_none(), "three rows are no pairs");
    let mixed = vec![of(&[1, 2]), tensor(Dtype::Bf16, &[1, 2], &[1.0, 2.0])];
    let mixed = Matrix::new(mixed, None).unwrap().with_format(&Kernel::best(), Format::Bf16);
    assert_eq!((mixed.outputs(), mixed.format()), (2, Format::F32));
}

#[test]
fn rotations_follow_the_reference() {
    // A quarter turn: (a, b) -> (-b, a).
    let (cos, sin) = ([0.0; 4], [1.0; 4]);
    for kernel in Kernel::available() {
        let mut x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        kernel.rotate_pairs(&mut x, &cos, &sin);
        assert_eq!(x, [-2.0, 1.0, -4.0, 3.0, -6.0, 5.0, -8.0, 7.0]);
        let mut x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        kernel.rotate_halves(&mut x, &cos, &sin);
        assert_eq!(x, [-3.0, -4.0, 1.0, 2.0, -7.0, -8.0, 5.0, 6.0]);
    }
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
