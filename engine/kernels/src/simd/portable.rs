//! Eight lanes in plain Rust, for every processor: the compiler turns the loops into whatever the target's baseline has.

use half::{bf16, f16};

use super::{Vector, round_bf16};

#[derive(Clone, Copy)]
pub(crate) struct Portable([f32; 8]);

#[expect(clippy::needless_range_loop, reason = "loops of this shape become vector instructions")]
impl Portable {
    #[inline(always)]
    fn mul_then_add(self, a: Self, b: Self) -> Self {
        let mut lanes = [0.0; 8];
        for i in 0..8 {
            lanes[i] = self.0[i] * a.0[i] + b.0[i];
        }
        Self(lanes)
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        let mut lanes = [0.0; 8];
        for i in 0..8 {
            lanes[i] = f(self.0[i], other.0[i]);
        }
        Self(lanes)
    }
}

// No method needs more than valid pointers here: there are no special instructions.
impl Vector for Portable {
    const LANES: usize = 8;
    type Words = [u32; 8];
    type Ints = [i32; 8];
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Self([x; 8])
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        // SAFETY: the caller vouches for eight readable values; arrays of f32 may be read unaligned.
        Self(unsafe { p.cast::<[f32; 8]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn load_bf16(p: *const bf16) -> Self {
        // SAFETY: the caller vouches for eight readable values.
        let stored = unsafe { p.cast::<[bf16; 8]>().read_unaligned() };
        let mut lanes = [0.0; 8];
        for i in 0..8 {
            lanes[i] = f32::from_bits(u32::from(stored[i].to_bits()) << 16);
        }
        Self(lanes)
    }
    #[inline(always)]
    unsafe fn load_f16(p: *const f16) -> Self {
        // SAFETY: the caller vouches for eight readable values.
        Self(unsafe { p.cast::<[f16; 8]>().read_unaligned() }.map(f16::to_f32))
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        // SAFETY: the caller vouches for eight writable values.
        unsafe { p.cast::<[f32; 8]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn store_bf16(self, p: *mut bf16) {
        // SAFETY: the caller vouches for eight writable values.
        unsafe { p.cast::<[bf16; 8]>().write_unaligned(self.0.map(round_bf16)) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        self.zip(other, |a, b| a / b)
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        self.zip(other, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        self.zip(other, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    unsafe fn mul_add(self, a: Self, b: Self) -> Self {
        // Not f32::mul_add: without the instruction that is a slow library call.
        self.mul_then_add(a, b)
    }
    #[inline(always)]
    unsafe fn round(self) -> Self {
        Self(self.0.map(f32::round_ties_even))
    }
    #[inline(always)]
    unsafe fn exp2_of_integer(self) -> Self {
        Self(self.0.map(|n| f32::from_bits(((n as i32 + 127) as u32) << 23)))
    }
    #[inline(always)]
    unsafe fn reduce_add(self) -> f32 {
        let v = self.0;
        ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]))
    }
    #[inline(always)]
    unsafe fn reduce_max(self) -> f32 {
        let mut max = self.0[0];
        for i in 1..8 {
            if self.0[i] > max || max.is_nan() {
                max = self.0[i];
            }
        }
        max
    }
    #[inline(always)]
    unsafe fn load_words(p: *const u32) -> [u32; 8] {
        // SAFETY: the caller vouches for eight readable words.
        unsafe { p.cast::<[u32; 8]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store_words(words: [u32; 8], p: *mut u32) {
        // SAFETY: the caller vouches for eight writable words.
        unsafe { p.cast::<[u32; 8]>().write_unaligned(words) }
    }
    #[inline(always)]
    unsafe fn splat_word(word: u32) -> [u32; 8] {
        [word; 8]
    }
    #[inline(always)]
    unsafe fn from_words(words: [u32; 8]) -> Self {
        Self(words.map(f32::from_bits))
    }
    #[inline(always)]
    unsafe fn to_words(self) -> [u32; 8] {
        self.0.map(f32::to_bits)
    }
    #[inline(always)]
    unsafe fn transpose(rows: [[u32; 8]; 16]) -> [[u32; 8]; 16] {
        let mut out = rows;
        for i in 0..8 {
            for j in 0..8 {
                out[j][i] = rows[i][j];
            }
        }
        out
    }
    #[inline(always)]
    unsafe fn dot_bf16(acc: Self, a: [u32; 8], b: [u32; 8]) -> Self {
        let mut lanes = [0.0; 8];
        for i in 0..8 {
            let low = f32::from_bits(a[i] << 16) * f32::from_bits(b[i] << 16);
            let high = f32::from_bits(a[i] & 0xffff_0000) * f32::from_bits(b[i] & 0xffff_0000);
            lanes[i] = acc.0[i] + low + high;
        }
        Self(lanes)
    }
    #[inline(always)]
    unsafe fn load_ints(p: *const i32) -> [i32; 8] {
        // SAFETY: the caller vouches for eight readable numbers.
        unsafe { p.cast::<[i32; 8]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn dot_bytes(acc: [i32; 8], a: [u32; 8], b: [u32; 8]) -> [i32; 8] {
        let mut sum = acc;
        for i in 0..8 {
            let (a, b) = (a[i].to_le_bytes(), b[i].to_le_bytes());
            for k in 0..4 {
                sum[i] += i32::from(a[k]) * i32::from(b[k] as i8);
            }
        }
        sum
    }
    #[inline(always)]
    unsafe fn from_ints(ints: [i32; 8]) -> Self {
        Self(ints.map(|n| n as f32))
    }
}
