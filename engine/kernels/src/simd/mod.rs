//! The vector type that kernels are written in, one implementation for each instruction set.
//!
//! A kernel body is generic over [`Vector`] and `#[inline(always)]`; `kernel.rs` wraps it once for each instruction set
//! in a function with the matching `#[target_feature]`, so that the intrinsics below inline into it. Bodies are plain
//! loops without closures: an intrinsic that is called in a closure is not inlined.
//!
//! Operands of products are seen as 32-bit *words*: one f32, a pair of bf16 or four 8-bit integers, the earlier element
//! in the lower bits.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
pub(crate) mod portable;

use half::{bf16, f16};

/// A register of `f32` lanes, and registers of as many words and 32-bit integers.
///
/// # Safety
/// Every method may use instructions of the implementing type's instruction set: call them only where that set is known
/// to be present. Pointers must be valid for the lanes that are read or written; no alignment is needed.
pub(crate) trait Vector: Copy {
    /// At most 16.
    const LANES: usize;
    /// Lanes of 32-bit words.
    type Words: Copy;
    /// Lanes of signed 32-bit integers.
    type Ints: Copy;

    unsafe fn splat(x: f32) -> Self;
    unsafe fn load(p: *const f32) -> Self;
    /// Reads bfloat16 values; exact.
    unsafe fn load_bf16(p: *const bf16) -> Self;
    /// Reads half-precision values; exact.
    unsafe fn load_f16(p: *const f16) -> Self;
    unsafe fn store(self, p: *mut f32);
    /// Writes bfloat16 values, rounded to nearest, ties to even.
    unsafe fn store_bf16(self, p: *mut bf16);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    unsafe fn div(self, other: Self) -> Self;
    /// The larger; `other` where either is NaN.
    unsafe fn max(self, other: Self) -> Self;
    unsafe fn min(self, other: Self) -> Self;
    /// `self * a + b`, fused where the instruction set does that.
    unsafe fn mul_add(self, a: Self, b: Self) -> Self;
    /// To the nearest integer, ties to even.
    unsafe fn round(self) -> Self;
    /// 2 to the power of lanes that hold integers in -126..=127.
    unsafe fn exp2_of_integer(self) -> Self;
    /// Sum of the lanes, in one fixed order.
    unsafe fn reduce_add(self) -> f32;
    /// The largest lane.
    unsafe fn reduce_max(self) -> f32;

    unsafe fn load_words(p: *const u32) -> Self::Words;
    unsafe fn store_words(words: Self::Words, p: *mut u32);
    unsafe fn splat_word(word: u32) -> Self::Words;
    /// The same bits as floats.
    unsafe fn from_words(words: Self::Words) -> Self;
    /// The same bits as words.
    unsafe fn to_words(self) -> Self::Words;
    /// Rows become columns: word `i` of output `j` is word `j` of input `i`, for `i`, `j` under `LANES`.
    unsafe fn transpose(rows: [Self::Words; 16]) -> [Self::Words; 16];
    /// `acc + a.0 * b.0 + a.1 * b.1` over pairs of bf16, in one fixed order.
    unsafe fn dot_bf16(acc: Self, a: Self::Words, b: Self::Words) -> Self;

    unsafe fn load_ints(p: *const i32) -> Self::Ints;
    /// `acc` plus the four products of unsigned bytes of `a` with signed bytes of `b`; exact.
    unsafe fn dot_bytes(acc: Self::Ints, a: Self::Words, b: Self::Words) -> Self::Ints;
    /// The integers as floats, rounded to nearest.
    unsafe fn from_ints(ints: Self::Ints) -> Self;

    /// Asks for a cache line at `p`, which may be any address.
    #[inline(always)]
    unsafe fn prefetch(p: *const u8) {
        let _ = p;
    }

    /// e to the power of each lane, relative error about 1e-7; lanes under -87 give about 1e-38, over 88 about 1e38.
    /// Polynomial after Cephes `expf`.
    #[inline(always)]
    unsafe fn exp(self) -> Self {
        // SAFETY: as the caller's.
        unsafe {
            let x = self.min(Self::splat(88.0)).max(Self::splat(-87.0));
            let n = x.mul(Self::splat(std::f32::consts::LOG2_E)).round();
            let r = n.mul_add(Self::splat(-0.693_359_4), x);
            let r = n.mul_add(Self::splat(2.121_944_4e-4), r);
            let p = Self::splat(1.987_569_1e-4);
            let p = p.mul_add(r, Self::splat(1.398_2e-3));
            let p = p.mul_add(r, Self::splat(8.333_452e-3));
            let p = p.mul_add(r, Self::splat(4.166_579_6e-2));
            let p = p.mul_add(r, Self::splat(1.666_666_5e-1));
            let p = p.mul_add(r, Self::splat(0.5));
            let p = p.mul_add(r.mul(r), r).add(Self::splat(1.0));
            p.mul(n.exp2_of_integer())
        }
    }
}

/// Rounds to bfloat16 in portable code: to nearest, ties to even, NaN quiet.
#[inline(always)]
pub(crate) fn round_bf16(x: f32) -> bf16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    bf16::from_bits(if x.is_nan() { (bits >> 16 | 0x40) as u16 } else { rounded as u16 })
}
