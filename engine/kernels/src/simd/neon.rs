//! Four lanes with NEON, which every 64-bit Arm processor has; with BF16 and I8MM where they are present.

use std::arch::aarch64::*;
use std::arch::asm;

use half::{bf16, f16};

use super::Vector;

/// `DOTS`: with the instructions for products of bf16 pairs (BFDOT) and of bytes (USDOT). Without them those products
/// are made of wider ones.
#[derive(Clone, Copy)]
pub(crate) struct Neon<const DOTS: bool>(float32x4_t);

/// The upper and the lower bf16 of every word as f32.
#[inline(always)]
unsafe fn halves(words: uint32x4_t) -> (float32x4_t, float32x4_t) {
    // SAFETY: as the caller's.
    unsafe {
        let upper = vandq_u32(words, vdupq_n_u32(0xffff_0000));
        (vreinterpretq_f32_u32(upper), vreinterpretq_f32_u32(vshlq_n_u32::<16>(words)))
    }
}

// Every method's safety is the trait's: the caller knows that the instructions are present and pointers valid.
#[allow(clippy::undocumented_unsafe_blocks)]
impl<const DOTS: bool> Vector for Neon<DOTS> {
    const LANES: usize = 4;
    type Words = uint32x4_t;
    type Ints = int32x4_t;
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Self(unsafe { vdupq_n_f32(x) })
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        Self(unsafe { vld1q_f32(p) })
    }
    #[inline(always)]
    unsafe fn load_bf16(p: *const bf16) -> Self {
        Self(unsafe { vreinterpretq_f32_u32(vshll_n_u16::<16>(vld1_u16(p.cast()))) })
    }
    #[inline(always)]
    unsafe fn load_f16(p: *const f16) -> Self {
        Self(unsafe { vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p.cast()))) })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        unsafe { vst1q_f32(p, self.0) }
    }
    #[inline(always)]
    unsafe fn store_bf16(self, p: *mut bf16) {
        unsafe {
            let bits = vreinterpretq_u32_f32(self.0);
            let odd = vandq_u32(vshrq_n_u32::<16>(bits), vdupq_n_u32(1));
            let rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
            let quiet = vorrq_u32(bits, vdupq_n_u32(0x0040_0000));
            let is_number = vceqq_f32(self.0, self.0);
            vst1_u16(p.cast(), vshrn_n_u32::<16>(vbslq_u32(is_number, rounded, quiet)))
        }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Self(unsafe { vaddq_f32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        Self(unsafe { vsubq_f32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        Self(unsafe { vmulq_f32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        Self(unsafe { vdivq_f32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        // FMAX would return NaN where self is, unlike the other instruction sets.
        Self(unsafe { vbslq_f32(vcgtq_f32(self.0, other.0), self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        Self(unsafe { vbslq_f32(vcltq_f32(self.0, other.0), self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul_add(self, a: Self, b: Self) -> Self {
        Self(unsafe { vfmaq_f32(b.0, self.0, a.0) })
    }
    #[inline(always)]
    unsafe fn round(self) -> Self {
        Self(unsafe { vrndnq_f32(self.0) })
    }
    #[inline(always)]
    unsafe fn exp2_of_integer(self) -> Self {
        Self(unsafe {
            let n = vaddq_s32(vcvtq_s32_f32(self.0), vdupq_n_s32(127));
            vreinterpretq_f32_s32(vshlq_n_s32::<23>(n))
        })
    }
    #[inline(always)]
    unsafe fn reduce_add(self) -> f32 {
        // Pairs first: (0 + 1) + (2 + 3).
        unsafe { vaddvq_f32(self.0) }
    }
    #[inline(always)]
    unsafe fn reduce_max(self) -> f32 {
        unsafe { vmaxnmvq_f32(self.0) }
    }
    #[inline(always)]
    unsafe fn load_words(p: *const u32) -> uint32x4_t {
        unsafe { vld1q_u32(p) }
    }
    #[inline(always)]
    unsafe fn store_words(words: uint32x4_t, p: *mut u32) {
        unsafe { vst1q_u32(p, words) }
    }
    #[inline(always)]
    unsafe fn splat_word(word: u32) -> uint32x4_t {
        unsafe { vdupq_n_u32(word) }
    }
    #[inline(always)]
    unsafe fn from_words(words: uint32x4_t) -> Self {
        Self(unsafe { vreinterpretq_f32_u32(words) })
    }
    #[inline(always)]
    unsafe fn to_words(self) -> uint32x4_t {
        unsafe { vreinterpretq_u32_f32(self.0) }
    }
    #[inline(always)]
    unsafe fn transpose(rows: [uint32x4_t; 16]) -> [uint32x4_t; 16] {
        let mut out = rows;
        unsafe {
            // Even and odd words of two rows, then halves of both.
            let (even, even_below) = (
                vreinterpretq_u64_u32(vtrn1q_u32(rows[0], rows[1])),
                vreinterpretq_u64_u32(vtrn1q_u32(rows[2], rows[3])),
            );
            let (odd, odd_below) = (
                vreinterpretq_u64_u32(vtrn2q_u32(rows[0], rows[1])),
                vreinterpretq_u64_u32(vtrn2q_u32(rows[2], rows[3])),
            );
            out[0] = vreinterpretq_u32_u64(vtrn1q_u64(even, even_below));
            out[1] = vreinterpretq_u32_u64(vtrn1q_u64(odd, odd_below));
            out[2] = vreinterpretq_u32_u64(vtrn2q_u64(even, even_below));
            out[3] = vreinterpretq_u32_u64(vtrn2q_u64(odd, odd_below));
        }
        out
    }
    #[inline(always)]
    unsafe fn dot_bf16(acc: Self, a: uint32x4_t, b: uint32x4_t) -> Self {
        if DOTS {
            // There is no stable intrinsic.
            let mut sum = acc.0;
            unsafe {
                asm!("bfdot {sum:v}.4s, {a:v}.8h, {b:v}.8h", sum = inout(vreg) sum, a = in(vreg) a, b = in(vreg) b,
                    options(pure, nomem, nostack, preserves_flags));
            }
            return Self(sum);
        }
        Self(unsafe {
            let ((upper_a, lower_a), (upper_b, lower_b)) = (halves(a), halves(b));
            vfmaq_f32(vfmaq_f32(acc.0, lower_a, lower_b), upper_a, upper_b)
        })
    }
    #[inline(always)]
    unsafe fn load_ints(p: *const i32) -> int32x4_t {
        unsafe { vld1q_s32(p) }
    }
    #[inline(always)]
    unsafe fn dot_bytes(acc: int32x4_t, a: uint32x4_t, b: uint32x4_t) -> int32x4_t {
        if DOTS {
            let mut sum = acc;
            unsafe {
                asm!("usdot {sum:v}.4s, {a:v}.16b, {b:v}.16b", sum = inout(vreg) sum, a = in(vreg) a, b = in(vreg) b,
                    options(pure, nomem, nostack, preserves_flags));
            }
            return sum;
        }
        unsafe {
            // The even and the odd bytes as 16-bit numbers. A product fits: it is between -128 * 255 and 127 * 255.
            let (a, b) = (vreinterpretq_u16_u32(a), vreinterpretq_s16_u32(b));
            let even_a = vreinterpretq_s16_u16(vandq_u16(a, vdupq_n_u16(0xff)));
            let odd_a = vreinterpretq_s16_u16(vshrq_n_u16::<8>(a));
            let even_b = vshrq_n_s16::<8>(vshlq_n_s16::<8>(b));
            let odd_b = vshrq_n_s16::<8>(b);
            // Adjacent products are added into their word.
            let sum = vpadalq_s16(acc, vmulq_s16(even_a, even_b));
            vpadalq_s16(sum, vmulq_s16(odd_a, odd_b))
        }
    }
    #[inline(always)]
    unsafe fn from_ints(ints: int32x4_t) -> Self {
        Self(unsafe { vcvtq_f32_s32(ints) })
    }
    #[inline(always)]
    unsafe fn prefetch(p: *const u8) {
        // There is no stable intrinsic. A hint, which any address may be given to.
        unsafe { asm!("prfm pldl2keep, [{p}]", p = in(reg) p, options(nostack, preserves_flags, readonly)) }
    }
}

#[cfg(test)]
#[path = "neon_tests.rs"]
mod tests;
