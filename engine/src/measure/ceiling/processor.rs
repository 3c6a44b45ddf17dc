//! The processor's ceilings: reading memory, copying it, multiplying large matrices.

use std::hint::black_box;
use std::time::Instant;

use kernels::memory::Tensor;
use kernels::{Format, Kernel, Matrix, Operand};
use rayon::prelude::*;

use super::Ceilings;
use crate::cancel::Cancel;
use crate::engine::thread_pool;
use crate::measure::MeasureError;

/// Bytes of the buffer that is read: many times the last-level cache of common processors.
const BUFFER: usize = 512 << 20;
/// Bytes of a word that is read.
const WORD: usize = size_of::<u64>();

/// Rows, inner size and columns of the large product.
const PRODUCT: [usize; 3] = [512, 4096, 4096];

/// Measures on so many threads, multiplying in the given format. Takes about 0.6 GB of memory meanwhile.
pub(super) fn measure(threads: usize, format: Format, runs: u32, cancel: &Cancel) -> Result<Ceilings, MeasureError> {
    let pool = thread_pool(Some(threads))?;
    let mut ceilings = Ceilings { product_sizes: PRODUCT, ..Ceilings::default() };
    pool.install(|| {
        let mut words = vec![1_u64; BUFFER / WORD];
        for run in 0..=runs {
            cancel.check()?;
            let read = gigabytes_per_second(BUFFER, || read(&words, threads));
            let copy = gigabytes_per_second(BUFFER, || copy(&mut words, threads));
            if run > 0 {
                ceilings.read.push(read);
                ceilings.copy.push(copy);
            }
        }
        drop(words);
        let Some(mut product) = Product::new(format) else { return Ok(ceilings) };
        for run in 0..=runs {
            cancel.check()?;
            let speed = product.gigaflop_per_second();
            if run > 0 {
                ceilings.product.push(speed);
            }
        }
        Ok(ceilings)
    })
}

fn gigabytes_per_second(bytes: usize, work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    bytes as f64 / start.elapsed().as_secs_f64() / 1e9
}

/// Reads every word once, each thread its own part.
fn read(words: &[u64], threads: usize) {
    let part = words.len().div_ceil(threads.max(1));
    black_box(words.par_chunks(part).map(sum).sum::<u64>());
}

/// Sums a part in eight chains, so that no addition waits for the one before it. It reads four places at a time: one
/// stream of loads does not keep the memory busy.
fn sum(words: &[u64]) -> u64 {
    const CHAINS: usize = 8;
    let quarter = (words.len() / 4).next_multiple_of(CHAINS);
    let mut streams = words.chunks(quarter.max(1)).map(|stream| stream.as_chunks::<CHAINS>().0);
    let streams: [&[[u64; CHAINS]]; 4] = std::array::from_fn(|_| streams.next().unwrap_or_default());
    let [a, b, c, d] = streams;
    let mut sums = [0_u64; CHAINS];
    for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
        for (n, sum) in sums.iter_mut().enumerate() {
            *sum = sum.wrapping_add(a[n]).wrapping_add(b[n]).wrapping_add(c[n]).wrapping_add(d[n]);
        }
    }
    sums.iter().fold(0, |sum, &part| sum.wrapping_add(part))
}

/// Copies the first half over the second, each thread its own part.
fn copy(words: &mut [u64], threads: usize) {
    let (from, to) = words.split_at_mut(words.len() / 2);
    let part = from.len().div_ceil(threads.max(1));
    to.par_chunks_mut(part).zip(from.par_chunks(part)).for_each(|(to, from)| to.copy_from_slice(from));
    black_box(to);
}

/// A large product and its matrices.
struct Product {
    kernel: Kernel<'static>,
    x: Operand,
    weights: Matrix,
    y: Vec<f32>,
}

impl Product {
    /// `None` only if the sizes did not fit together.
    fn new(format: Format) -> Option<Self> {
        let [rows, inner, columns] = PRODUCT;
        let kernel = Kernel::best();
        // Small whole numbers: nothing overflows, and no value is special.
        let values = |count: usize| -> Vec<f32> { (0..count).map(|n| (n % 7) as f32 - 3.0).collect() };
        let weights = match format {
            Format::F32 => Tensor::from_f32(&[columns, inner], &values(inner * columns)),
            Format::Bf16 | Format::Int8 => Tensor::from_f32_as_bf16(&[columns, inner], &values(inner * columns)),
        };
        let weights = Matrix::new(vec![weights?], None)?.with_format(&kernel, format);
        let mut x = Operand::default();
        x.copy(&kernel, format, inner, &values(rows * inner));
        Some(Self { kernel, x, weights, y: vec![0.0; rows * columns] })
    }

    fn gigaflop_per_second(&mut self) -> f64 {
        let start = Instant::now();
        self.kernel.product(&self.x, &self.weights, &mut self.y);
        let seconds = start.elapsed().as_secs_f64();
        black_box(&self.y);
        2.0 * PRODUCT.iter().product::<usize>() as f64 / seconds / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_once() {
        // Four streams of eight chains; the sum shows whether a word was left out or read twice.
        let words: Vec<u64> = (0..4096).collect();
        assert_eq!(sum(&words), 4095 * 4096 / 2);
    }

    #[test]
    fn half_is_copied_over_the_other() {
        let mut words: Vec<u64> = (0..1000).collect();
        copy(&mut words, 3);
        assert_eq!(words[500..], words[..500]);
        assert_eq!(words[499], 499);
    }
}
