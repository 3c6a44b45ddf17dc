//! Sixteen lanes with AVX-512F, and with the dot products of BF16 and VNNI where the processor has them.

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::{Vector, round_bf16};

/// `DOTS`: whether AVX-512 BF16 and VNNI are there.
#[derive(Clone, Copy)]
pub(crate) struct Avx512<const DOTS: bool>(__m512);

// Every method's safety is the trait's: the caller knows that the instructions are present and pointers valid.
#[allow(clippy::undocumented_unsafe_blocks)]
impl<const DOTS: bool> Vector for Avx512<DOTS> {
    const LANES: usize = 16;
    type Words = __m512i;
    type Ints = __m512i;
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Self(unsafe { _mm512_set1_ps(x) })
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        Self(unsafe { _mm512_loadu_ps(p) })
    }
    #[inline(always)]
    unsafe fn load_bf16(p: *const bf16) -> Self {
        Self(unsafe {
            let bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256(p.cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(bits))
        })
    }
    #[inline(always)]
    unsafe fn load_f16(p: *const f16) -> Self {
        Self(unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(p.cast())) })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        unsafe { _mm512_storeu_ps(p, self.0) }
    }
    #[inline(always)]
    unsafe fn store_bf16(self, p: *mut bf16) {
        unsafe {
            if DOTS {
                let rounded: __m256i = std::mem::transmute(_mm512_cvtneps_pbh(self.0));
                _mm256_storeu_si256(p.cast(), rounded);
            } else {
                let mut lanes = [0.0f32; 16];
                self.store(lanes.as_mut_ptr());
                p.cast::<[bf16; 16]>().write_unaligned(lanes.map(round_bf16));
            }
        }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Self(unsafe { _mm512_add_ps(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        Self(unsafe { _mm512_sub_ps(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        Self(unsafe { _mm512_mul_ps(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        Self(unsafe { _mm512_div_ps(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        Self(unsafe { _mm512_max_ps(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        Self(unsafe { _mm512_min_ps(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul_add(self, a: Self, b: Self) -> Self {
        Self(unsafe { _mm512_fmadd_ps(self.0, a.0, b.0) })
    }
    #[inline(always)]
    unsafe fn round(self) -> Self {
        Self(unsafe { _mm512_roundscale_ps::<0>(self.0) })
    }
    #[inline(always)]
    unsafe fn exp2_of_integer(self) -> Self {
        Self(unsafe {
            let n = _mm512_add_epi32(_mm512_cvtps_epi32(self.0), _mm512_set1_epi32(127));
            _mm512_castsi512_ps(_mm512_slli_epi32::<23>(n))
        })
    }
    #[inline(always)]
    unsafe fn reduce_add(self) -> f32 {
        unsafe { _mm512_reduce_add_ps(self.0) }
    }
    #[inline(always)]
    unsafe fn reduce_max(self) -> f32 {
        unsafe { _mm512_reduce_max_ps(self.0) }
    }
    #[inline(always)]
    unsafe fn load_words(p: *const u32) -> __m512i {
        unsafe { _mm512_loadu_si512(p.cast()) }
    }
    #[inline(always)]
    unsafe fn store_words(words: __m512i, p: *mut u32) {
        unsafe { _mm512_storeu_si512(p.cast(), words) }
    }
    #[inline(always)]
    unsafe fn splat_word(word: u32) -> __m512i {
        unsafe { _mm512_set1_epi32(word as i32) }
    }
    #[inline(always)]
    unsafe fn from_words(words: __m512i) -> Self {
        Self(unsafe { _mm512_castsi512_ps(words) })
    }
    #[inline(always)]
    unsafe fn to_words(self) -> __m512i {
        unsafe { _mm512_castps_si512(self.0) }
    }
    #[inline(always)]
    unsafe fn transpose(rows: [__m512i; 16]) -> [__m512i; 16] {
        let mut out = rows;
        unsafe {
            // Blocks of 4 x 4 words inside the 128-bit parts, first pairs of rows, then fours.
            let mut pairs = rows;
            for i in 0..8 {
                pairs[2 * i] = _mm512_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
                pairs[2 * i + 1] = _mm512_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
            }
            let mut fours = rows;
            for i in 0..4 {
                fours[4 * i] = _mm512_unpacklo_epi64(pairs[4 * i], pairs[4 * i + 2]);
                fours[4 * i + 1] = _mm512_unpackhi_epi64(pairs[4 * i], pairs[4 * i + 2]);
                fours[4 * i + 2] = _mm512_unpacklo_epi64(pairs[4 * i + 1], pairs[4 * i + 3]);
                fours[4 * i + 3] = _mm512_unpackhi_epi64(pairs[4 * i + 1], pairs[4 * i + 3]);
            }
            // Part g of fours[4 i + j] holds word 4 g + j of rows 4 i ..= 4 i + 3: the parts change places.
            for j in 0..4 {
                let even_low = _mm512_shuffle_i32x4::<0x88>(fours[j], fours[4 + j]);
                let odd_low = _mm512_shuffle_i32x4::<0xdd>(fours[j], fours[4 + j]);
                let even_high = _mm512_shuffle_i32x4::<0x88>(fours[8 + j], fours[12 + j]);
                let odd_high = _mm512_shuffle_i32x4::<0xdd>(fours[8 + j], fours[12 + j]);
                out[j] = _mm512_shuffle_i32x4::<0x88>(even_low, even_high);
                out[4 + j] = _mm512_shuffle_i32x4::<0x88>(odd_low, odd_high);
                out[8 + j] = _mm512_shuffle_i32x4::<0xdd>(even_low, even_high);
                out[12 + j] = _mm512_shuffle_i32x4::<0xdd>(odd_low, odd_high);
            }
        }
        out
    }
    #[inline(always)]
    unsafe fn dot_bf16(acc: Self, a: __m512i, b: __m512i) -> Self {
        Self(unsafe {
            if DOTS {
                return Self(_mm512_dpbf16_ps(
                    acc.0,
                    std::mem::transmute::<__m512i, __m512bh>(a),
                    std::mem::transmute::<__m512i, __m512bh>(b),
                ));
            }
            let high = _mm512_set1_epi32(0xffff_0000_u32 as i32);
            let low_a = _mm512_castsi512_ps(_mm512_slli_epi32::<16>(a));
            let low_b = _mm512_castsi512_ps(_mm512_slli_epi32::<16>(b));
            let high_a = _mm512_castsi512_ps(_mm512_and_si512(a, high));
            let high_b = _mm512_castsi512_ps(_mm512_and_si512(b, high));
            _mm512_fmadd_ps(high_a, high_b, _mm512_fmadd_ps(low_a, low_b, acc.0))
        })
    }
    #[inline(always)]
    unsafe fn load_ints(p: *const i32) -> __m512i {
        unsafe { _mm512_loadu_si512(p.cast()) }
    }
    #[inline(always)]
    unsafe fn dot_bytes(acc: __m512i, a: __m512i, b: __m512i) -> __m512i {
        unsafe {
            if DOTS {
                return _mm512_dpbusd_epi32(acc, a, b);
            }
            // 16-bit products need AVX-512BW; each 8-bit place is multiplied on its own in 32 bits instead.
            let byte = _mm512_set1_epi32(0xff);
            let mut sum = acc;
            sum = _mm512_add_epi32(
                sum,
                _mm512_mullo_epi32(_mm512_and_si512(a, byte), _mm512_srai_epi32::<24>(_mm512_slli_epi32::<24>(b))),
            );
            sum = _mm512_add_epi32(
                sum,
                _mm512_mullo_epi32(
                    _mm512_and_si512(_mm512_srli_epi32::<8>(a), byte),
                    _mm512_srai_epi32::<24>(_mm512_slli_epi32::<16>(b)),
                ),
            );
            sum = _mm512_add_epi32(
                sum,
                _mm512_mullo_epi32(
                    _mm512_and_si512(_mm512_srli_epi32::<16>(a), byte),
                    _mm512_srai_epi32::<24>(_mm512_slli_epi32::<8>(b)),
                ),
            );
            _mm512_add_epi32(sum, _mm512_mullo_epi32(_mm512_srli_epi32::<24>(a), _mm512_srai_epi32::<24>(b)))
        }
    }
    #[inline(always)]
    unsafe fn from_ints(ints: __m512i) -> Self {
        Self(unsafe { _mm512_cvtepi32_ps(ints) })
    }
    #[inline(always)]
    unsafe fn prefetch(p: *const u8) {
        unsafe { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
    }
}
