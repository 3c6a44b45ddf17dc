//! Sixteen lanes with AVX-512F.

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::Vector;

#[derive(Clone, Copy)]
pub(crate) struct Avx512(__m512);

// Every method's safety is the trait's: the caller knows that AVX-512F is present and pointers valid.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Vector for Avx512 {
    const LANES: usize = 16;
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
    unsafe fn load_partial(p: *const f32, n: usize) -> Self {
        Self(unsafe { _mm512_maskz_loadu_ps(((1u32 << n) - 1) as u16, p) })
    }
    #[inline(always)]
    unsafe fn store_partial(self, p: *mut f32, n: usize) {
        unsafe { _mm512_mask_storeu_ps(p, ((1u32 << n) - 1) as u16, self.0) }
    }
}
