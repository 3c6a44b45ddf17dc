//! Activations in the number format that a product takes.

use std::cell::RefCell;

use half::bf16;
use rayon::prelude::*;

use crate::Kernel;
use crate::sharing::threads;

/// How a product sees numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// f32 activations, weights widened to f32.
    F32,
    /// bf16 activations and weights, f32 sums.
    Bf16,
    /// 8-bit integers: activations scaled by row and block, weights by column and block; exact integer sums in a block.
    Int8,
}

impl Format {
    /// Numbers in a 32-bit word.
    pub(crate) fn per_word(self) -> usize {
        match self {
            Format::F32 => 1,
            Format::Bf16 => 2,
            Format::Int8 => 4,
        }
    }
}

/// Numbers that share a scale in [`Format::Int8`].
pub(crate) const BLOCK: usize = 128;
/// Words of a whole block.
pub(crate) const BLOCK_WORDS: usize = BLOCK / 4;
/// Numbers under which a pass over rows is not worth sharing between threads.
pub(crate) const SHARE_FROM: usize = 1 << 14;

/// Rows of activations, `[rows, width]`, as 32-bit words. Its memory is kept when it is filled again.
#[derive(Clone, Debug)]
pub struct Operand {
    format: Format,
    rows: usize,
    width: usize,
    /// Words of a row.
    stride: usize,
    words: Vec<u32>,
    /// Int8: a scale for each row and block.
    scales: Vec<f32>,
}

impl Default for Operand {
    fn default() -> Self {
        Self { format: Format::F32, rows: 0, width: 0, stride: 0, words: Vec::new(), scales: Vec::new() }
    }
}

impl Operand {
    /// Gives it a shape. What it holds then is unspecified.
    pub(crate) fn shape(&mut self, format: Format, rows: usize, width: usize) {
        let stride = width.div_ceil(format.per_word());
        *self = Self {
            format,
            rows,
            width,
            stride,
            words: std::mem::take(&mut self.words),
            scales: std::mem::take(&mut self.scales),
        };
        // A large block that is asked for as zeros comes from the system as such, page by page when it is written to.
        if self.words.capacity() < rows * stride {
            self.words = vec![0; rows * stride];
        }
        self.words.resize(rows * stride, 0);
        self.scales.resize(if format == Format::Int8 { rows * width.div_ceil(BLOCK) } else { 0 }, 0.0);
    }

    /// Fills it with `rows` rows of `width` numbers; `row(r, out)` writes row `r`.
    pub fn fill(
        &mut self,
        kernel: &Kernel,
        format: Format,
        rows: usize,
        width: usize,
        row: impl Fn(usize, &mut [f32]) + Sync,
    ) {
        thread_local! {
            static FLOATS: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
        }
        self.shape(format, rows, width);
        let (stride, blocks) = (self.stride, if format == Format::Int8 { width.div_ceil(BLOCK) } else { 0 });
        let encode = |r: usize, words: &mut [u32], scales: &mut [f32]| {
            let mut floats = FLOATS.take();
            floats.resize(width, 0.0);
            row(r, &mut floats);
            kernel.encode_row(format, &floats, words, scales);
            FLOATS.set(floats);
        };
        if rows == 0 || stride == 0 {
            return;
        }
        if threads() == 1 || rows * width < SHARE_FROM {
            for (r, words) in self.words.chunks_exact_mut(stride).enumerate() {
                encode(r, words, self.scales.get_mut(r * blocks..(r + 1) * blocks).unwrap_or_default());
            }
        } else if blocks == 0 {
            self.words.par_chunks_exact_mut(stride).enumerate().for_each(|(r, words)| encode(r, words, &mut []));
        } else {
            let words = self.words.par_chunks_exact_mut(stride);
            words
                .zip(self.scales.par_chunks_exact_mut(blocks))
                .enumerate()
                .for_each(|(r, (words, scales))| encode(r, words, scales));
        }
    }

    /// Fills it with a copy of `x` (`[rows, width]`).
    pub fn copy(&mut self, kernel: &Kernel, format: Format, width: usize, x: &[f32]) {
        let rows = x.len().checked_div(width).unwrap_or(0);
        self.fill(kernel, format, rows, width, |r, out| out.copy_from_slice(&x[r * width..(r + 1) * width]));
    }

    /// Its number format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Numbers in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    pub(crate) fn words(&self) -> &[u32] {
        &self.words
    }

    pub(crate) fn words_mut(&mut self) -> &mut [u32] {
        &mut self.words
    }

    pub(crate) fn scales(&self) -> &[f32] {
        &self.scales
    }
}

/// Writes a row in a format; `scales` has one place for each block where the format needs them.
///
/// `#[inline(always)]` so that each instruction set compiles it for itself.
#[inline(always)]
pub(crate) fn encode_row(format: Format, row: &[f32], words: &mut [u32], scales: &mut [f32]) {
    match format {
        Format::F32 => words.iter_mut().zip(row).for_each(|(word, v)| *word = v.to_bits()),
        Format::Bf16 => {
            let pairs = row.chunks_exact(2);
            if let ([last], Some(word)) = (pairs.remainder(), words.last_mut()) {
                *word = bf16_bits(*last);
            }
            for (word, pair) in words.iter_mut().zip(pairs) {
                *word = bf16_bits(pair[0]) | bf16_bits(pair[1]) << 16;
            }
        }
        Format::Int8 => {
            for ((block, words), scale) in row.chunks(BLOCK).zip(words.chunks_mut(BLOCK_WORDS)).zip(scales) {
                let (inverse, step) = scale_of(block);
                *scale = step;
                let mut bytes = [128u8; BLOCK];
                for (byte, v) in bytes.iter_mut().zip(block) {
                    *byte = (round_to_low_byte(v * inverse) ^ 0x80) as u8;
                }
                for (word, four) in words.iter_mut().zip(bytes.as_chunks().0) {
                    *word = u32::from_le_bytes(*four);
                }
            }
        }
    }
}

/// Rounds a number in -127..=127 to the nearest integer, ties to even, which is then the low byte in two's complement.
/// Adding 1.5 * 2^23 leaves no bits for a fraction; unlike a call of `round` it becomes vector instructions everywhere.
#[inline(always)]
pub(crate) fn round_to_low_byte(x: f32) -> u32 {
    (x + 12_582_912.0).to_bits()
}

/// What numbers are multiplied with to lie in -127..=127, and the inverse of that; zeros where all numbers are next to
/// nothing or one is not finite.
#[inline(always)]
pub(crate) fn scale_of(numbers: &[f32]) -> (f32, f32) {
    // As integers, magnitudes are in the same order, and NaN is the largest.
    let most = numbers.iter().fold(0u32, |most, v| most.max(v.to_bits() & 0x7fff_ffff));
    let most = f32::from_bits(most);
    match most > 1e-30 && most.is_finite() {
        true => (127.0 / most, most / 127.0),
        false => (0.0, 0.0),
    }
}

#[inline(always)]
pub(crate) fn bf16_bits(x: f32) -> u32 {
    let rounded: bf16 = crate::simd::round_bf16(x);
    u32::from(rounded.to_bits())
}
