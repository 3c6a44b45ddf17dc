//! Resizing of 8-bit images as the reference does it: torchvision's bicubic with antialias.
//!
//! Horizontal pass first, rounded and clamped to 8 bits, then the vertical pass, rounded and clamped again. Weights are
//! 16-bit fixed-point numbers as in ATen's `_compute_index_ranges_int16_weights`, so that the result is the same to the
//! last level.

use image::RgbImage;
use rayon::prelude::*;

use crate::cancel::Cancel;

/// Resizes to `width` x `height`, both at least 1, bicubic (a = -0.5), the kernel widened when shrinking. The picture
/// must not be empty; an empty one stays empty.
pub fn resize_bicubic(image: &RgbImage, width: u32, height: u32) -> RgbImage {
    resize_bicubic_until(image, width, height, &Cancel::new())
}

/// As [`resize_bicubic`]; once it is cancelled, rows are left as they are, and the picture is void.
pub(super) fn resize_bicubic_until(image: &RgbImage, width: u32, height: u32, cancel: &Cancel) -> RgbImage {
    if image.width() == 0 || image.height() == 0 {
        return RgbImage::new(0, 0);
    }
    let narrow = (image.width() != width).then(|| resize_rows(image, width, cancel));
    match narrow {
        Some(narrow) if narrow.height() == height => narrow,
        narrow => resize_columns(narrow.as_ref().unwrap_or(image), height, cancel),
    }
}

/// Which source samples make a target sample, for every target sample of one axis.
struct Taps {
    /// Fractional bits of the weights.
    precision: u32,
    /// First source sample and number of source samples of each target sample.
    ranges: Vec<(usize, usize)>,
    /// Weights of all target samples, one range after the other.
    weights: Vec<i16>,
}

impl Taps {
    fn new(source: u32, target: u32) -> Self {
        let scale = f64::from(source) / f64::from(target);
        let stretch = scale.max(1.0);
        let support = 2.0 * stretch;
        let most = 2 * support.ceil() as usize + 1;

        let mut ranges = Vec::with_capacity(target as usize);
        let mut weights: Vec<f64> = Vec::new();
        let mut largest = 0.0f64;
        for index in 0..target {
            let center = scale * (f64::from(index) + 0.5);
            // The casts truncate, and clamp what is below 0.
            let start = (center - support + 0.5) as usize;
            let end = ((center + support + 0.5) as usize).min(source as usize);
            let count = end.saturating_sub(start).min(most);
            let first = weights.len();
            weights.extend((start..start + count).map(|tap| cubic((tap as f64 - center + 0.5) / stretch)));
            let window = weights.get_mut(first..).unwrap_or_default();
            let total: f64 = window.iter().sum();
            for weight in window {
                *weight /= total;
                largest = largest.max(*weight);
            }
            ranges.push((start, count));
        }

        // As many fractional bits as let the largest weight fit into 16 bits.
        let fits = |bits: u32| (0.5 + largest * f64::from(1u32 << bits)) < f64::from(1u32 << 15);
        let precision = (0..22).find(|&bits| !fits(bits + 1)).unwrap_or(22);
        let one = f64::from(1u32 << precision);
        // `round` takes halves away from zero, as the reference does.
        let weights = weights.into_iter().map(|weight| (weight * one).round() as i16).collect();
        Self { precision, ranges, weights }
    }

    /// Start and weights of each target sample.
    fn iter(&self) -> impl Iterator<Item = (usize, &[i16])> {
        self.ranges.iter().scan(self.weights.as_slice(), |rest, &(start, count)| {
            let (weights, tail) = rest.split_at_checked(count)?;
            *rest = tail;
            Some((start, weights))
        })
    }

    /// Half a level: what rounding adds before the shift.
    fn half(&self) -> i32 {
        (1 << self.precision) >> 1
    }
}

/// The Keys kernel with a = -0.5.
fn cubic(x: f64) -> f64 {
    const A: f64 = -0.5;
    match x.abs() {
        x if x < 1.0 => ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0,
        x if x < 2.0 => ((A * x - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A,
        _ => 0.0,
    }
}

fn level(sum: i32, precision: u32) -> u8 {
    (sum >> precision).clamp(0, 255) as u8
}

fn resize_rows(image: &RgbImage, width: u32, cancel: &Cancel) -> RgbImage {
    let taps = Taps::new(image.width(), width);
    let mut result = RgbImage::new(width, image.height());
    let (from, to) = (3 * image.width() as usize, 3 * width as usize);
    result.par_chunks_exact_mut(to).zip(image.as_raw().par_chunks_exact(from)).for_each(|(target, source)| {
        if cancel.is_cancelled() {
            return;
        }
        let (source, _) = source.as_chunks::<3>();
        let (target, _) = target.as_chunks_mut::<3>();
        for (pixel, (start, weights)) in target.iter_mut().zip(taps.iter()) {
            let mut sum = [taps.half(); 3];
            for (&weight, tap) in weights.iter().zip(source.iter().skip(start)) {
                for (sum, &value) in sum.iter_mut().zip(tap) {
                    *sum += i32::from(weight) * i32::from(value);
                }
            }
            *pixel = sum.map(|sum| level(sum, taps.precision));
        }
    });
    result
}

fn resize_columns(image: &RgbImage, height: u32, cancel: &Cancel) -> RgbImage {
    let taps = Taps::new(image.height(), height);
    let mut result = RgbImage::new(image.width(), height);
    let row = 3 * image.width() as usize;
    let ranges: Vec<(usize, &[i16])> = taps.iter().collect();
    result.par_chunks_exact_mut(row).zip(ranges).for_each_init(
        || vec![0i32; row],
        |sums, (target, (start, weights))| {
            if cancel.is_cancelled() {
                return;
            }
            sums.fill(taps.half());
            for (&weight, source) in weights.iter().zip(image.as_raw().chunks_exact(row).skip(start)) {
                for (sum, &value) in sums.iter_mut().zip(source) {
                    *sum += i32::from(weight) * i32::from(value);
                }
            }
            for (value, &sum) in target.iter_mut().zip(sums.iter()) {
                *value = level(sum, taps.precision);
            }
        },
    );
    result
}
