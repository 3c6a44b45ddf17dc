//! Eight lanes with AVX2, FMA and F16C.

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::{Vector, round_bf16};

#[derive(Clone, Copy)]
pub(crate) struct Avx2(__m256);

// Every method's safety is the trait's: the caller knows that AVX2, FMA and F16C are present and pointers valid.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Vector for Avx2 {
    const LANES: usize = 8;
    type Words = __m256i;
    type Ints = __m256i;
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Self(unsafe { _mm256_set1_ps(x) })
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        Self(unsafe { _mm256_loadu_ps(p) })
    }
    #[inline(always)]
    unsafe fn load_bf16(p: *const bf16) -> Self {
        Self(unsafe {
            let bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(p.cast()));
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(bits))
        })
    }
    #[inline(always)]
    unsafe fn load_f16(p: *const f16) -> Self {
        Self(unsafe { _mm256_cvtph_ps(_mm_loadu_si128(p.cast())) })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        unsafe { _mm256_storeu_ps(p, self.0) }
    }
    #[inline(always)]
    unsafe fn store_bf16(self, p: *mut bf16) {
        let mut lanes = [0.0f32; 8];
        unsafe {
            self.store(lanes.as_mut_ptr());
            p.cast::<[bf16; 8]>().write_unaligned(lanes.map(round_bf16));
        }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Self(unsafe { _mm256_add_ps(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        Self(unsafe { _mm256_sub_ps(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        Self(unsafe { _mm256_mul_ps(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        Self(unsafe { _mm256_div_ps(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        Self(unsafe { _mm256_max_ps(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        Self(unsafe { _mm256_min_ps(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul_add(self, a: Self, b: Self) -> Self {
        Self(unsafe { _mm256_fmadd_ps(self.0, a.0, b.0) })
    }
    #[inline(always)]
    unsafe fn round(self) -> Self {
        Self(unsafe { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0) })
    }
    #[inline(always)]
    unsafe fn exp2_of_integer(self) -> Self {
        Self(unsafe {
            let n = _mm256_add_epi32(_mm256_cvtps_epi32(self.0), _mm256_set1_epi32(127));
            _mm256_castsi256_ps(_mm256_slli_epi32::<23>(n))
        })
    }
    #[inline(always)]
    unsafe fn reduce_add(self) -> f32 {
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
    }
    #[inline(always)]
    unsafe fn reduce_max(self) -> f32 {
        unsafe {
            let four = _mm_max_ps(_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
        }
    }
    #[inline(always)]
    unsafe fn load_words(p: *const u32) -> __m256i {
        unsafe { _mm256_loadu_si256(p.cast()) }
    }
    #[inline(always)]
    unsafe fn store_words(words: __m256i, p: *mut u32) {
        unsafe { _mm256_storeu_si256(p.cast(), words) }
    }
    #[inline(always)]
    unsafe fn splat_word(word: u32) -> __m256i {
        unsafe { _mm256_set1_epi32(word as i32) }
    }
    #[inline(always)]
    unsafe fn from_words(words: __m256i) -> Self {
        Self(unsafe { _mm256_castsi256_ps(words) })
    }
    #[inline(always)]
    unsafe fn to_words(self) -> __m256i {
        unsafe { _mm256_castps_si256(self.0) }
    }
    #[inline(always)]
    unsafe fn transpose(rows: [__m256i; 16]) -> [__m256i; 16] {
        let mut out = rows;
        unsafe {
            // Blocks of 4 x 4 words inside the 128-bit halves, first pairs of rows, then fours.
            let mut pairs = rows;
            for i in 0..4 {
                pairs[2 * i] = _mm256_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
                pairs[2 * i + 1] = _mm256_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
            }
            let mut fours = rows;
            for i in 0..2 {
                fours[4 * i] = _mm256_unpacklo_epi64(pairs[4 * i], pairs[4 * i + 2]);
                fours[4 * i + 1] = _mm256_unpackhi_epi64(pairs[4 * i], pairs[4 * i + 2]);
                fours[4 * i + 2] = _mm256_unpacklo_epi64(pairs[4 * i + 1], pairs[4 * i + 3]);
                fours[4 * i + 3] = _mm256_unpackhi_epi64(pairs[4 * i + 1], pairs[4 * i + 3]);
            }
            // Half g of fours[4 i + j] holds word 4 g + j of rows 4 i ..= 4 i + 3: the halves change places.
            for j in 0..4 {
                out[j] = _mm256_permute2x128_si256::<0x20>(fours[j], fours[4 + j]);
                out[4 + j] = _mm256_permute2x128_si256::<0x31>(fours[j], fours[4 + j]);
            }
        }
        out
    }
    #[inline(always)]
    unsafe fn dot_bf16(acc: Self, a: __m256i, b: __m256i) -> Self {
        Self(unsafe {
            let high = _mm256_set1_epi32(0xffff_0000_u32 as i32);
            let low_a = _mm256_castsi256_ps(_mm256_slli_epi32::<16>(a));
            let low_b = _mm256_castsi256_ps(_mm256_slli_epi32::<16>(b));
            let high_a = _mm256_castsi256_ps(_mm256_and_si256(a, high));
            let high_b = _mm256_castsi256_ps(_mm256_and_si256(b, high));
            _mm256_fmadd_ps(high_a, high_b, _mm256_fmadd_ps(low_a, low_b, acc.0))
        })
    }
    #[inline(always)]
    unsafe fn load_ints(p: *const i32) -> __m256i {
        unsafe { _mm256_loadu_si256(p.cast()) }
    }
    #[inline(always)]
    unsafe fn dot_bytes(acc: __m256i, a: __m256i, b: __m256i) -> __m256i {
        unsafe {
            // The even and the odd bytes as 16-bit numbers; each pair of products fits 32 bits.
            let even_a = _mm256_and_si256(a, _mm256_set1_epi16(0xff));
            let even_b = _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(b));
            let odd_a = _mm256_srli_epi16::<8>(a);
            let odd_b = _mm256_srai_epi16::<8>(b);
            let sum = _mm256_add_epi32(acc, _mm256_madd_epi16(even_a, even_b));
            _mm256_add_epi32(sum, _mm256_madd_epi16(odd_a, odd_b))
        }
    }
    #[inline(always)]
    unsafe fn from_ints(ints: __m256i) -> Self {
        Self(unsafe { _mm256_cvtepi32_ps(ints) })
    }
    #[inline(always)]
    unsafe fn prefetch(p: *const u8) {
        unsafe { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
    }
}
