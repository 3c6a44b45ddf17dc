//! What the tests share: a card or its emulation, buffers on it, random numbers, comparisons.

use std::cell::{RefCell, RefMut};
use std::marker::PhantomData;

use half::bf16;
use kernels::cuda::abi::{Address, Pod, bytes_of, values_of};
use kernels::cuda::driver::{DevicePtr, Driver, DriverError};
use kernels::cuda::fake::Fake;
use kernels::cuda::launch::Launch;
use kernels::cuda::{self, emulation};

/// What the kernels run on: the emulation, or a card where `GRAVITYOCR_CARD` is set.
pub(crate) struct Card {
    driver: RefCell<Box<dyn Driver>>,
    is_real: bool,
}

impl Card {
    /// `None`, said aloud, where this build has no emulation. A card that was asked for has to be there.
    pub(crate) fn open() -> Option<Self> {
        let is_real = std::env::var_os("GRAVITYOCR_CARD").is_some();
        let driver = if is_real {
            cuda::open(0).unwrap_or_else(|error| panic!("a card was asked for: {error}"))
        } else if emulation::AVAILABLE {
            Box::new(Fake::emulated(1 << 30))
        } else {
            crate::skipped::skipped("no C++ compiler was there to compile the CUDA kernels for this processor");
            return None;
        };
        Some(Self { driver: RefCell::new(driver), is_real })
    }

    /// As [`open`](Self::open), but a card or nothing.
    pub(crate) fn real() -> Option<Self> {
        let card = Self::open().filter(|card| card.is_real);
        if card.is_none() {
            println!("skipped: this needs a card, and GRAVITYOCR_CARD to ask for it");
        }
        card
    }

    /// The cases `always`, and on a card also those that would take the emulation too long.
    pub(crate) fn cases<T: Copy>(&self, always: &[T], on_a_card: &[T]) -> Vec<T> {
        [always, if self.is_real { on_a_card } else { &[] }].concat()
    }

    pub(crate) fn driver(&self) -> RefMut<'_, Box<dyn Driver>> {
        self.driver.borrow_mut()
    }

    /// Numbers on the card.
    pub(crate) fn put<T: Pod>(&self, values: &[T]) -> Buffer<'_, T> {
        let buffer = self.poison(values.len());
        buffer.set(values);
        buffer
    }

    /// Room for so many numbers, all bits one: NaN or -1, so that what nobody wrote shows.
    pub(crate) fn poison<T: Pod>(&self, len: usize) -> Buffer<'_, T> {
        let bytes = len * size_of::<T>() + 2 * GUARD;
        let mut driver = self.driver();
        let memory = driver.alloc(bytes).unwrap_or_else(fail);
        driver.upload(memory, &vec![0xff; bytes]).unwrap_or_else(fail);
        Buffer { card: self, memory, len, of: PhantomData }
    }

    /// Runs a launch to its end.
    #[track_caller]
    pub(crate) fn run(&self, launch: Launch) {
        let mut driver = self.driver();
        driver.launch(&launch).and_then(|()| driver.synchronize()).unwrap_or_else(fail);
    }

    fn read(&self, from: DevicePtr, bytes: usize) -> Vec<u8> {
        let (mut driver, mut read) = (self.driver(), Vec::new());
        driver.download(from, bytes).and_then(|()| driver.wait(&mut read)).unwrap_or_else(fail);
        read
    }
}

/// Fails the test with the driver's sentence.
#[track_caller]
pub(crate) fn fail<T>(error: DriverError) -> T {
    panic!("{error}")
}

/// Bytes before and after a buffer that nobody may write, all bits one. An odd multiple of 16: the numbers between them are
/// aligned as the kernels ask, and no better.
const GUARD: usize = 17 * 16;

/// Numbers on a card, given back when dropped. A write around them fails the test, a read around them gives NaN.
pub(crate) struct Buffer<'c, T: Pod> {
    card: &'c Card,
    memory: DevicePtr,
    len: usize,
    of: PhantomData<T>,
}

impl<T: Pod> Buffer<'_, T> {
    pub(crate) fn at(&self) -> Address {
        self.memory.offset(GUARD).0
    }

    pub(crate) fn set(&self, values: &[T]) {
        assert_eq!(values.len(), self.len);
        self.card.driver().upload(DevicePtr(self.at()), bytes_of(values)).unwrap_or_else(fail);
    }

    pub(crate) fn get(&self) -> Vec<T> {
        self.check();
        values_of(&self.card.read(DevicePtr(self.at()), self.len * size_of::<T>()))
    }

    /// Nobody wrote around the numbers.
    fn check(&self) {
        let end = self.memory.offset(GUARD + self.len * size_of::<T>());
        for (place, guard) in [("before", self.memory), ("beyond", end)] {
            let intact = self.card.read(guard, GUARD).iter().all(|&byte| byte == 0xff);
            assert!(intact, "a kernel wrote {place} a buffer of {} numbers", self.len);
        }
    }
}

impl<T: Pod> Drop for Buffer<'_, T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.check();
        }
        let _ = self.card.driver().release(self.memory);
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

    pub(crate) fn halves(&mut self, len: usize) -> Vec<bf16> {
        halves(&self.floats(len))
    }
}

pub(crate) fn halves(values: &[f32]) -> Vec<bf16> {
    values.iter().map(|&v| bf16::from_f32(v)).collect()
}

pub(crate) fn floats(values: &[bf16]) -> Vec<f32> {
    values.iter().map(|v| v.to_f32()).collect()
}

pub(crate) fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&v| f64::from(v)).collect()
}

/// Whether nobody wrote a poisoned buffer's numbers.
pub(crate) fn untouched(values: &[bf16]) -> bool {
    values.iter().all(|v| v.to_bits() == u16::MAX)
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

#[test]
#[should_panic(expected = "the CUDA driver could not run")]
fn a_launch_that_the_card_refuses_fails_with_the_drivers_sentence() {
    let card = Card::open().unwrap_or_else(|| panic!("the CUDA driver could not run anything: there is none"));
    let round = kernels::cuda::abi::RoundArguments { sequences: 1, ..Default::default() };
    // More threads than the kernel is compiled for.
    card.run(Launch { block: [64, 1, 1], ..round.settle() });
}

#[test]
#[should_panic(expected = "a kernel wrote beyond a buffer of 8 numbers")]
fn a_write_beyond_a_buffer_fails() {
    let Some(card) = Card::open() else { panic!("a kernel wrote beyond a buffer of 8 numbers: of no kernel") };
    let (input, out) = (card.put(&[1.0f32; 9]), card.poison::<bf16>(8));
    let arguments = kernels::cuda::abi::PackArguments {
        input: input.at(),
        out: out.at(),
        rows: 1,
        width: 9,
        pitch: 16,
        ..Default::default()
    };
    card.run(arguments.launch());
    out.get();
}
