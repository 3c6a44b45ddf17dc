//! The vector type that kernels are written in, one implementation for each instruction set.
//!
//! A kernel body is generic over [`Vector`] and `#[inline(always)]`; `kernel.rs` wraps it once for each instruction set
//! in a function with the matching `#[target_feature]`, so that the intrinsics below inline into it.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
pub(crate) mod portable;

use half::{bf16, f16};

/// A register of `f32` lanes.
///
/// # Safety
/// Every method may use instructions of the implementing type's instruction set: call them only where that set is known
/// to be present. Pointers must be valid for the lanes that are read or written; no alignment is needed.
pub(crate) trait Vector: Copy {
    const LANES: usize;
    unsafe fn splat(x: f32) -> Self;
    unsafe fn load(p: *const f32) -> Self;
    /// Reads bfloat16 values; exact.
    unsafe fn load_bf16(p: *const bf16) -> Self;
    /// Reads half-precision values; exact.
    unsafe fn load_f16(p: *const f16) -> Self;
    unsafe fn store(self, p: *mut f32);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    unsafe fn div(self, other: Self) -> Self;
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

    /// The first `n < LANES` values, the other lanes zero.
    #[inline(always)]
    unsafe fn load_partial(p: *const f32, n: usize) -> Self {
        let mut lanes = [0.0f32; 16];
        // SAFETY: the caller vouches for n readable values, and n < LANES <= 16.
        unsafe {
            std::ptr::copy_nonoverlapping(p, lanes.as_mut_ptr(), n);
            Self::load(lanes.as_ptr())
        }
    }

    /// Writes the first `n < LANES` lanes.
    #[inline(always)]
    unsafe fn store_partial(self, p: *mut f32, n: usize) {
        let mut lanes = [0.0f32; 16];
        // SAFETY: LANES <= 16; the caller vouches for n writable values.
        unsafe {
            self.store(lanes.as_mut_ptr());
            std::ptr::copy_nonoverlapping(lanes.as_ptr(), p, n);
        }
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

/// A stored number that vectors can be read from.
pub(crate) trait Element: Copy {
    /// The number as `f32`, exact.
    fn to_f32(self) -> f32;
    /// Reads `V::LANES` of them.
    ///
    /// # Safety
    /// As [`Vector`]'s methods.
    unsafe fn load<V: Vector>(p: *const Self) -> V;
    /// Reads the first `n < V::LANES` of them, the other lanes zero.
    ///
    /// # Safety
    /// As [`Vector`]'s methods.
    #[inline(always)]
    unsafe fn load_partial<V: Vector>(p: *const Self, n: usize) -> V {
        let mut lanes = [0.0f32; 16];
        for (i, lane) in lanes.iter_mut().take(n).enumerate() {
            // SAFETY: the caller vouches for n readable values.
            *lane = unsafe { (*p.add(i)).to_f32() };
        }
        // SAFETY: LANES <= 16.
        unsafe { V::load(lanes.as_ptr()) }
    }
}

impl Element for f32 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        self
    }
    #[inline(always)]
    unsafe fn load<V: Vector>(p: *const Self) -> V {
        // SAFETY: as the caller's.
        unsafe { V::load(p) }
    }
}

impl Element for bf16 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }
    #[inline(always)]
    unsafe fn load<V: Vector>(p: *const Self) -> V {
        // SAFETY: as the caller's.
        unsafe { V::load_bf16(p) }
    }
}

impl Element for f16 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        f16::to_f32(self)
    }
    #[inline(always)]
    unsafe fn load<V: Vector>(p: *const Self) -> V {
        // SAFETY: as the caller's.
        unsafe { V::load_f16(p) }
    }
}
