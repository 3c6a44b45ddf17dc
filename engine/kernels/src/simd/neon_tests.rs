//! Each method against Rust's own arithmetic, bit by bit.

#![expect(clippy::undocumented_unsafe_blocks, reason = "NEON is in every 64-bit Arm processor; pointers are arrays'")]

use half::{bf16, f16};

use super::Vector;

/// What every processor has; the other one differs in two methods.
type Neon = super::Neon<false>;
type Lanes = [f32; 4];

/// Repeatable bits of every kind.
struct Bits(u64);

impl Bits {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    fn words(&mut self) -> [u32; 4] {
        std::array::from_fn(|_| self.next())
    }

    /// Finite numbers of ordinary size.
    fn floats(&mut self) -> Lanes {
        self.words().map(|w| (w as i32) as f32 * 2f32.powi((w % 61) as i32 - 60))
    }

    /// Any two bf16 without NaN and infinities.
    fn pair(&mut self) -> u32 {
        self.next() & 0xbfff_bfff
    }
}

fn vector(lanes: Lanes) -> Neon {
    unsafe { Neon::load(lanes.as_ptr()) }
}

fn lanes(v: Neon) -> Lanes {
    let mut out = [0.0; 4];
    unsafe { v.store(out.as_mut_ptr()) };
    out
}

fn bits(lanes: Lanes) -> [u32; 4] {
    lanes.map(f32::to_bits)
}

#[test]
fn every_half_number_widens_exactly() {
    for first in (0..=u16::MAX).step_by(4) {
        let stored = [first, first + 1, first + 2, first + 3];
        let half = lanes(unsafe { Neon::load_f16(stored.map(f16::from_bits).as_ptr()) });
        let brain = lanes(unsafe { Neon::load_bf16(stored.map(bf16::from_bits).as_ptr()) });
        for (i, &s) in stored.iter().enumerate() {
            let want = f16::from_bits(s).to_f32();
            assert!(half[i].to_bits() == want.to_bits() || half[i].is_nan() && want.is_nan(), "f16 {s:#x}");
            assert_eq!(brain[i].to_bits(), u32::from(s) << 16, "bf16 {s:#x}");
        }
    }
}

#[test]
fn floats_round_to_brain_as_the_half_crate_rounds_them() {
    let mut random = Bits(1);
    let ties = [0x3f80_8000, 0x3f81_8000, 0x3f80_8001, 0x7f7f_ffff];
    let special = [0x7f80_0000, 0xff80_0000, 0x7f80_0001, 0xffff_ffff];
    let tiny = [0, 0x8000_0000, 1, 0x0000_8000];
    for words in [ties, special, tiny].into_iter().chain((0..20_000).map(|_| random.words())) {
        let mut out = [bf16::ZERO; 4];
        unsafe { vector(words.map(f32::from_bits)).store_bf16(out.as_mut_ptr()) };
        assert_eq!(out.map(bf16::to_bits), words.map(|w| bf16::from_f32(f32::from_bits(w)).to_bits()), "{words:x?}");
    }
}

#[test]
fn arithmetic_is_that_of_f32() {
    let mut random = Bits(2);
    for _ in 0..20_000 {
        let (a, b, c) = (random.floats(), random.floats(), random.floats());
        let (x, y, z) = (vector(a), vector(b), vector(c));
        let each = |f: fn(f32, f32, f32) -> f32| -> Lanes { std::array::from_fn(|i| f(a[i], b[i], c[i])) };
        let same =
            |got: Neon, want: Lanes, what: &str| assert_eq!(bits(lanes(got)), bits(want), "{what} of {a:?} {b:?}");
        unsafe {
            same(x.add(y), each(|a, b, _| a + b), "sum");
            same(x.sub(y), each(|a, b, _| a - b), "difference");
            same(x.mul(y), each(|a, b, _| a * b), "product");
            same(x.div(y), each(|a, b, _| a / b), "quotient");
            same(x.mul_add(y, z), each(f32::mul_add), "fused product and sum");
            same(x.round(), a.map(f32::round_ties_even), "rounding");
            assert_eq!(x.reduce_add(), (a[0] + a[1]) + (a[2] + a[3]));
            assert_eq!(x.reduce_max(), a.into_iter().fold(f32::MIN, f32::max));
        }
    }
}

#[test]
fn halves_round_to_even() {
    let got = lanes(unsafe { vector([0.5, 1.5, -2.5, 8_388_609.0]).round() });
    assert_eq!(bits(got), bits([0.0, 2.0, -2.0, 8_388_609.0]));
}

#[test]
fn the_second_operand_wins_against_nan() {
    let (a, b) = ([f32::NAN, 1.0, -1.0, 3.0], [2.0, f32::NAN, -2.0, 4.0]);
    let (max, min) = unsafe { (vector(a).max(vector(b)), vector(a).min(vector(b))) };
    assert_eq!(bits(lanes(max)), bits([2.0, f32::NAN, -1.0, 4.0]));
    assert_eq!(bits(lanes(min)), bits([2.0, f32::NAN, -2.0, 3.0]));
}

#[test]
fn powers_and_exponentials() {
    for n in -126..=127 {
        assert_eq!(lanes(unsafe { Neon::splat(n as f32).exp2_of_integer() }), [2f32.powi(n); 4]);
    }
    for i in -870..=880 {
        let x = i as f32 / 10.0;
        let (got, want) = (lanes(unsafe { Neon::splat(x).exp() })[0], f64::from(x).exp());
        assert!((f64::from(got) / want - 1.0).abs() < 3e-7, "exp({x}) is {got}");
    }
}

#[test]
fn words_keep_their_bits_and_change_places() {
    let mut random = Bits(3);
    let rows: [[u32; 4]; 4] = std::array::from_fn(|_| random.words());
    unsafe {
        let mut words = [Neon::splat_word(7); 16];
        for i in 0..4 {
            words[i] = Neon::from_words(Neon::load_words(rows[i].as_ptr())).to_words();
        }
        let columns = Neon::transpose(words);
        for j in 0..4 {
            let mut column = [0; 4];
            Neon::store_words(columns[j], column.as_mut_ptr());
            assert_eq!(column, [rows[0][j], rows[1][j], rows[2][j], rows[3][j]]);
        }
    }
}

#[test]
fn a_prefetch_may_go_anywhere() {
    for address in [0, 1, usize::MAX] {
        unsafe { Neon::prefetch(std::ptr::without_provenance(address)) };
    }
}

#[test]
fn pairs_of_brain_numbers_are_two_fused_steps() {
    let mut random = Bits(4);
    for _ in 0..20_000 {
        let (acc, a, b) = (random.floats(), [(); 4].map(|()| random.pair()), [(); 4].map(|()| random.pair()));
        let got = unsafe { Neon::dot_bf16(vector(acc), Neon::load_words(a.as_ptr()), Neon::load_words(b.as_ptr())) };
        let want: Lanes = std::array::from_fn(|i| {
            let (lower, upper) = (|w: u32| f32::from_bits(w << 16), |w: u32| f32::from_bits(w >> 16 << 16));
            upper(a[i]).mul_add(upper(b[i]), lower(a[i]).mul_add(lower(b[i]), acc[i]))
        });
        assert_eq!(bits(lanes(got)), bits(want), "{acc:?} {a:x?} {b:x?}");
    }
}

#[target_feature(enable = "neon,bf16")]
unsafe fn bfdot(acc: Lanes, a: [u32; 4], b: [u32; 4]) -> Lanes {
    type Dots = super::Neon<true>;
    let mut out = [0.0; 4];
    unsafe {
        let (a, b) = (Dots::load_words(a.as_ptr()), Dots::load_words(b.as_ptr()));
        Dots::dot_bf16(Dots::load(acc.as_ptr()), a, b).store(out.as_mut_ptr());
    }
    out
}

#[test]
fn the_instruction_for_pairs_rounds_to_the_last_bits() {
    if !std::arch::is_aarch64_feature_detected!("bf16") {
        return;
    }
    let mut random = Bits(6);
    let near_one = |w: u32| w & 0x80ff_80ff | 0x3f00_3f00;
    for _ in 0..20_000 {
        let (a, b) = (random.words().map(near_one), random.words().map(near_one));
        let acc = random.words().map(|w| (w as i32) as f32 / 2f32.powi(31));
        let got = unsafe { bfdot(acc, a, b) };
        for i in 0..4 {
            let value = |w: u32| f64::from(f32::from_bits(w));
            let lower = value(a[i] << 16) * value(b[i] << 16);
            let upper = value(a[i] >> 16 << 16) * value(b[i] >> 16 << 16);
            let off = (f64::from(got[i]) - (f64::from(acc[i]) + lower + upper)).abs();
            assert!(off <= 2e-6, "{acc:?} {a:x?} {b:x?}: {got:?}");
        }
    }
}

#[target_feature(enable = "neon,i8mm")]
unsafe fn usdot(acc: [i32; 4], a: [u32; 4], b: [u32; 4]) -> Lanes {
    type Dots = super::Neon<true>;
    let mut out = [0.0; 4];
    unsafe {
        let (a, b) = (Dots::load_words(a.as_ptr()), Dots::load_words(b.as_ptr()));
        Dots::from_ints(Dots::dot_bytes(Dots::load_ints(acc.as_ptr()), a, b)).store(out.as_mut_ptr());
    }
    out
}

#[test]
fn products_of_bytes_are_exact() {
    let instruction = std::arch::is_aarch64_feature_detected!("i8mm");
    let mut random = Bits(5);
    let check = |acc: [i32; 4], a: [u32; 4], b: [u32; 4]| {
        let got = unsafe {
            let sum = Neon::dot_bytes(
                Neon::load_ints(acc.as_ptr()),
                Neon::load_words(a.as_ptr()),
                Neon::load_words(b.as_ptr()),
            );
            lanes(Neon::from_ints(sum))
        };
        let want: Lanes = std::array::from_fn(|i| {
            let products = a[i].to_le_bytes().into_iter().zip(b[i].to_le_bytes());
            (acc[i] + products.map(|(a, b)| i32::from(a) * i32::from(b as i8)).sum::<i32>()) as f32
        });
        assert_eq!(got, want, "{acc:?} {a:x?} {b:x?}");
        if instruction {
            assert_eq!(unsafe { usdot(acc, a, b) }, want, "USDOT {acc:?} {a:x?} {b:x?}");
        }
    };
    // Every product of two bytes, one at a time in each of the four places.
    for a in 0..=255u32 {
        for b in 0..=255u32 {
            check([0; 4], std::array::from_fn(|i| a << (8 * i)), std::array::from_fn(|i| b << (8 * i)));
        }
    }
    check([-1, 0, 1, 1 << 24], [0xffff_ffff; 4], [0x8080_8080, 0x7f7f_7f7f, 0x8080_7f7f, 0xffff_ffff]);
    for _ in 0..20_000 {
        check(random.words().map(|w| w as i32 >> 4), random.words(), random.words());
    }
}
