//! Random weights for studies of speed: a tensor is a function of its name, and is made when it is asked for.

use std::collections::HashMap;

use half::bf16;
use kernels::memory::{Bytes, Dtype, Tensor};
use rayon::prelude::*;

use super::ModelConfig;

/// Elements that one thread makes in a row, from a seed of their own.
const BLOCK: usize = 1 << 16;
/// Standard deviation of biases: too small to matter, but not nothing.
const BIAS_DEVIATION: f32 = 0.02;

/// The tensors of an architecture, of which only names and shapes are kept.
#[derive(Debug)]
pub(super) struct RandomTensors {
    dtype: Dtype,
    shapes: HashMap<String, Vec<usize>>,
}

impl RandomTensors {
    /// Those that `config` names, as f32, or as bf16 where `dtype` says so.
    pub(super) fn new(config: &ModelConfig, dtype: Dtype) -> Self {
        Self { dtype, shapes: config.tensors().into_iter().collect() }
    }

    pub(super) fn dtype(&self) -> Dtype {
        self.dtype
    }

    pub(super) fn shape(&self, name: &str) -> Option<&[usize]> {
        self.shapes.get(name).map(Vec::as_slice)
    }

    /// The tensor of this name: the same numbers whenever, wherever and on however many threads it is made.
    ///
    /// Norms are ones. A matrix `[out, in]` has the deviation `1 / sqrt(in)`, so that rows keep their size on the way
    /// through it.
    pub(super) fn tensor(&self, name: &str, shape: &[usize]) -> Tensor {
        let inner: usize = shape.iter().skip(1).product();
        let deviation = if name.ends_with(".bias") { BIAS_DEVIATION } else { (inner as f32).powf(-0.5) };
        let numbers = match shape {
            [_] if name.ends_with(".weight") => Numbers::Ones,
            _ => Numbers::Normal { seed: hash(name), deviation },
        };
        let elements: usize = shape.iter().product();
        let data = Bytes::filled(elements * self.dtype.size(), |bytes| match self.dtype {
            Dtype::Bf16 => numbers.write(bytes, |value| bf16::from_f32(value).to_le_bytes()),
            Dtype::F16 => numbers.write(bytes, |value| half::f16::from_f32(value).to_le_bytes()),
            Dtype::F32 => numbers.write(bytes, f32::to_le_bytes),
        });
        Tensor { dtype: self.dtype, shape: shape.to_vec(), data }
    }
}

/// What a tensor is filled with.
#[derive(Clone, Copy)]
enum Numbers {
    Ones,
    Normal { seed: u64, deviation: f32 },
}

impl Numbers {
    fn write<const SIZE: usize>(self, bytes: &mut [u8], encode: impl Fn(f32) -> [u8; SIZE] + Sync) {
        bytes.par_chunks_mut(BLOCK * SIZE).enumerate().for_each(|(block, bytes)| {
            let (elements, _) = bytes.as_chunks_mut::<SIZE>();
            match self {
                Numbers::Ones => elements.fill(encode(1.0)),
                Numbers::Normal { seed, deviation } => {
                    let mut source = SplitMix(seed.wrapping_add((block as u64) << 32));
                    source.next(); // neighbouring blocks start from unrelated states
                    let mut source = SplitMix(source.next());
                    elements.iter_mut().for_each(|element| *element = encode(source.normal() * deviation));
                }
            }
        });
    }
}

/// The SplitMix64 generator (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// About normal with mean 0 and deviation 1: the sum of the four 16-bit parts of a word, each of which is uniform
    /// with mean 32,767.5 and deviation 65,536 / sqrt(12).
    fn normal(&mut self) -> f32 {
        const MEAN: f32 = 4.0 * 32_767.5;
        const DEVIATION: f32 = 37_837.23; // 65,536 / sqrt(12) * sqrt(4)
        let word = self.next();
        let part = |shift: u32| (word >> shift) as i32 & 0xffff;
        ((part(0) + part(16) + part(32) + part(48)) as f32 - MEAN) / DEVIATION
    }
}

/// FNV-1a, 64 bits.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use super::*;

    fn tensors(dtype: Dtype) -> RandomTensors {
        let shapes = [("norm.weight", vec![64]), ("a.weight", vec![1000, 400]), ("a.bias", vec![70_000])];
        RandomTensors { dtype, shapes: shapes.map(|(name, shape)| (name.to_owned(), shape)).into() }
    }

    fn values(dtype: Dtype, name: &str) -> Vec<f32> {
        let tensors = tensors(dtype);
        tensors.tensor(name, tensors.shape(name).unwrap()).to_f32_vec()
    }

    /// Mean and standard deviation.
    fn moments(values: &[f32]) -> (f64, f64) {
        let count = values.len() as f64;
        let mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / count;
        let square = values.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / count;
        (mean, square.sqrt())
    }

    #[test]
    fn the_generator_is_the_published_one() {
        // The first words of SplitMix64 from seed 1234567, as published with the reference code.
        let mut source = SplitMix(1_234_567);
        assert_eq!(
            [(); 3].map(|()| source.next()),
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8, "a published value of FNV-1a");
    }

    #[test]
    fn rows_keep_their_size_through_a_matrix() {
        for dtype in [Dtype::F32, Dtype::Bf16, Dtype::F16] {
            let values = values(dtype, "a.weight");
            assert_eq!(values.len(), 400_000);
            let (mean, deviation) = moments(&values);
            assert!(mean.abs() < 3e-4 && (deviation - 0.05).abs() < 3e-4, "{dtype:?}: {mean} {deviation}");
            let (_, second_half) = moments(&values[200_000..]);
            assert!((second_half - 0.05).abs() < 5e-4, "blocks do not repeat each other's size");
            assert_ne!(values[..BLOCK], values[BLOCK..2 * BLOCK], "blocks do not repeat each other");
        }
        assert!(values(Dtype::Bf16, "norm.weight").iter().all(|&value| value == 1.0));
        let (_, bias) = moments(&values(Dtype::F32, "a.bias"));
        assert!((bias - 0.02).abs() < 5e-4, "{bias}");
    }

    #[test]
    fn a_name_always_means_the_same_numbers() {
        let once = values(Dtype::F32, "a.bias");
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(once, one_thread.install(|| values(Dtype::F32, "a.bias")));
        assert_ne!(once[..1000], values(Dtype::F32, "a.weight")[..1000]);
    }
}
