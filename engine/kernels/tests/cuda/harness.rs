//! What the tests share: random numbers, addresses, launches, comparisons.

use half::bf16;
use kernels::cuda::abi::Address;
use kernels::cuda::{emulation, launch::Launch};

/// Whether kernels can be run; says so when not.
pub(crate) fn available() -> bool {
    if !emulation::AVAILABLE {
        println!("skipped: this build has no emulation of the CUDA kernels");
    }
    emulation::AVAILABLE
}

/// Runs a launch of buffers that the test holds.
pub(crate) fn run(launch: Launch) {
    // SAFETY: the tests size their buffers for the launches they make.
    unsafe { emulation::run(&launch) }.unwrap();
}

pub(crate) fn address<T>(of: &[T]) -> Address {
    of.as_ptr() as Address
}

/// A buffer that a kernel writes.
pub(crate) fn target<T>(of: &mut [T]) -> Address {
    of.as_mut_ptr() as Address
}

/// bf16 numbers on a 16-byte boundary, as the kernels expect of device memory.
#[derive(Clone)]
pub(crate) struct Halves {
    words: Vec<u128>,
    len: usize,
}

impl Halves {
    pub(crate) fn new(values: &[f32]) -> Self {
        let mut new = Self { words: vec![0; values.len().div_ceil(8)], len: values.len() };
        for (to, &v) in new.as_mut().iter_mut().zip(values) {
            *to = bf16::from_f32(v);
        }
        new
    }

    /// Full of NaN, so that what nobody wrote shows.
    pub(crate) fn poison(len: usize) -> Self {
        Self { words: vec![u128::MAX; len.div_ceil(8)], len }
    }

    pub(crate) fn at(&self) -> Address {
        self.words.as_ptr() as Address
    }

    pub(crate) fn as_mut(&mut self) -> &mut [bf16] {
        // SAFETY: the words hold at least `len` numbers of two bytes, and any bits are a bf16.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.len) }
    }

    pub(crate) fn get(&self) -> &[bf16] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.len) }
    }

    pub(crate) fn floats(&self) -> Vec<f32> {
        self.get().iter().map(|v| v.to_f32()).collect()
    }
}

/// f32 numbers on a 16-byte boundary.
#[derive(Clone)]
pub(crate) struct Floats {
    words: Vec<u128>,
    len: usize,
}

impl Floats {
    pub(crate) fn new(values: &[f32]) -> Self {
        let mut new = Self::poison(values.len());
        new.as_mut().copy_from_slice(values);
        new
    }

    /// Full of NaN.
    pub(crate) fn poison(len: usize) -> Self {
        Self { words: vec![u128::MAX; len.div_ceil(4)], len }
    }

    pub(crate) fn at(&self) -> Address {
        self.words.as_ptr() as Address
    }

    pub(crate) fn as_mut(&mut self) -> &mut [f32] {
        // SAFETY: the words hold at least `len` numbers of four bytes, and any bits are an f32.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.len) }
    }

    pub(crate) fn get(&self) -> &[f32] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.len) }
    }
}

/// Numbers that look random, the same in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// In -1..1.
    pub(crate) fn number(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    pub(crate) fn floats(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| self.number()).collect()
    }

    pub(crate) fn halves(&mut self, len: usize) -> Halves {
        Halves::new(&self.floats(len))
    }
}

/// Every number within `absolute` plus `relative` of the expected one.
#[track_caller]
pub(crate) fn close(what: &str, got: &[f32], expected: &[f64], absolute: f64, relative: f64) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (i, (&g, &e)) in got.iter().zip(expected).enumerate() {
        let off = (f64::from(g) - e).abs();
        assert!(off <= absolute + relative * e.abs(), "{what}: number {i} is {g}, not {e}");
    }
}

/// Half a unit in the last place of a bf16, relative.
pub(crate) const HALF_UNIT: f64 = 1.0 / 256.0;

pub(crate) fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&v| f64::from(v)).collect()
}
