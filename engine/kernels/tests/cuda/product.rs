//! Products, their epilogues, and the arg-max of an LM head.

use half::bf16;
use kernels::cuda::abi::*;
use kernels::cuda::launch::{Launch, peak_tiles, splits};

use super::harness::*;

struct Case {
    rows: usize,
    n: usize,
    k: usize,
    x: Vec<bf16>,
    weight: Vec<bf16>,
    bias: Vec<f32>,
    epilogue: Epilogue,
    /// Planes of [`Epilogue::Float`]; `None`: as many as a window takes.
    splits: Option<usize>,
}

impl Case {
    fn new(rows: usize, n: usize, k: usize, epilogue: Epilogue) -> Self {
        let mut random = Random::new((rows * 7919 + n * 31 + k) as u64);
        let outer = if epilogue == Epilogue::SwiGlu { 2 * n } else { n };
        let (x, weight) = (random.halves(rows * k), random.halves(outer * k));
        Self { rows, n, k, x, weight, bias: random.floats(outer), epilogue, splits: None }
    }

    /// Runs a launch made from the arguments, which gets `x`, `weight` and `bias` on the card.
    fn launch(&self, card: &Card, out: Address, launch: impl Fn(&ProductArguments) -> Launch) {
        let (x, weight, bias) = (card.put(&self.x), card.put(&self.weight), card.put(&self.bias));
        card.run(launch(&ProductArguments {
            x: x.at(),
            weight: weight.at(),
            bias: if self.epilogue == Epilogue::Peaks { 0 } else { bias.at() },
            out,
            rows: self.rows as i32,
            n: self.n as i32,
            k: self.k as i32,
            x_pitch: self.k as i32,
            out_pitch: self.n as i32,
            splits: self.splits() as i32,
            epilogue: self.epilogue as i32,
            ..Default::default()
        }));
    }

    fn splits(&self) -> usize {
        if self.epilogue == Epilogue::Float { self.splits.unwrap_or(splits(self.n, self.k)) } else { 1 }
    }

    /// `x weight^T + bias` in f64.
    fn sums(&self) -> Vec<f64> {
        let (x, weight) = (floats(&self.x), floats(&self.weight));
        let mut out = Vec::new();
        for x in x.chunks_exact(self.k) {
            for (weight, &bias) in weight.chunks_exact(self.k).zip(&self.bias) {
                let mut lanes = [0.0f64; 8];
                for (x, w) in x.chunks_exact(8).zip(weight.chunks_exact(8)) {
                    for i in 0..8 {
                        lanes[i] += f64::from(x[i]) * f64::from(w[i]);
                    }
                }
                out.push(lanes.iter().sum::<f64>() + f64::from(bias));
            }
        }
        out
    }

    /// What the epilogue leaves, starting from `before` for [`Epilogue::Add`].
    fn expected(&self, before: &[f32]) -> Vec<f64> {
        let sums = self.sums();
        match self.epilogue {
            Epilogue::SwiGlu => sums
                .chunks_exact(2 * self.n)
                .flat_map(|row| (0..self.n).map(|i| row[i] / (1.0 + (-row[i]).exp()) * row[self.n + i]))
                .collect(),
            Epilogue::Add => sums.iter().zip(before).map(|(s, &b)| s + f64::from(b)).collect(),
            _ => sums,
        }
    }

    /// The result of a launch made from the arguments, and what was there before it.
    fn run(&self, card: &Card, launch: impl Fn(&ProductArguments) -> Launch) -> (Vec<f32>, Vec<f32>) {
        let count = self.rows * self.n;
        match self.epilogue {
            Epilogue::Float => {
                let out = card.poison::<f32>(self.splits() * count);
                self.launch(card, out.at(), launch);
                let mut sum = vec![0.0; count];
                for plane in out.get().chunks_exact(count) {
                    sum.iter_mut().zip(plane).for_each(|(s, p)| *s += p);
                }
                (sum, Vec::new())
            }
            Epilogue::Add => {
                let before = Random::new(5).floats(count);
                let out = card.put(&before);
                self.launch(card, out.at(), launch);
                (out.get(), before)
            }
            _ => {
                let out = card.poison::<bf16>(count);
                self.launch(card, out.at(), launch);
                (floats(&out.get()), Vec::new())
            }
        }
    }

    fn check(&self, card: &Card, launch: impl Fn(&ProductArguments) -> Launch) {
        let (got, before) = self.run(card, launch);
        let half = matches!(self.epilogue, Epilogue::Half | Epilogue::SwiGlu);
        let absolute = 2e-6 * self.k as f64;
        let what = format!("{} x {} x {}, {:?}", self.rows, self.n, self.k, self.epilogue);
        close(&what, &got, &self.expected(&before), absolute, if half { HALF_UNIT } else { 0.0 });
    }

    /// The rows from `first` on, so many.
    fn rows(&self, first: usize, rows: usize) -> Self {
        let x = self.x[first * self.k..(first + rows) * self.k].to_vec();
        Self { rows, x, weight: self.weight.clone(), bias: self.bias.clone(), ..*self }
    }
}

const EPILOGUES: [Epilogue; 4] = [Epilogue::Float, Epilogue::Half, Epilogue::Add, Epilogue::SwiGlu];

/// The large tiles whatever the size.
fn large_tiles(arguments: &ProductArguments) -> Launch {
    let outer = if arguments.epilogue == Epilogue::SwiGlu as i32 { 2 * arguments.n } else { arguments.n } as u32;
    let grid = [(arguments.rows as u32).div_ceil(128), outer.div_ceil(128), 1];
    Launch { kernel: "product_bulk", grid, block: [128, 1, 1], shared: 98304, ..arguments.window() }
}

#[test]
fn window_products_are_right() {
    let Some(card) = Card::open() else { return };
    // Widths of the fixtures and sizes that fill no tile.
    let small = [
        (1, 64, 64),
        (2, 104, 72),
        (8, 600, 64),
        (9, 192, 96),
        (16, 48, 592),
        (33, 136, 200),
        (40, 72, 64),
        (70, 64, 136),
    ];
    for (rows, n, k) in card.cases(&small, &[(1, 4096, 1536), (33, 1536, 4608)]) {
        for epilogue in EPILOGUES {
            Case::new(rows, n, k, epilogue).check(&card, ProductArguments::window);
        }
    }
}

#[test]
fn products_of_many_rows_are_right() {
    let Some(card) = Card::open() else { return };
    for (rows, n, k) in card.cases(&[(3, 24, 8), (130, 200, 72), (257, 128, 328)], &[(260, 1024, 592)]) {
        for epilogue in EPILOGUES {
            let case = Case { splits: Some(1), ..Case::new(rows, n, k, epilogue) };
            case.check(&card, large_tiles);
            case.check(&card, ProductArguments::bulk);
        }
    }
    let large = Case::new(1300, 1536, 8, Epilogue::Half);
    large.check(&card, |arguments| {
        let launch = arguments.bulk();
        assert_eq!(launch.kernel, "product_bulk");
        launch
    });
}

#[test]
fn a_row_has_the_same_bits_in_every_window() {
    let Some(card) = Card::open() else { return };
    let small = [
        (136, 712, Epilogue::Float),
        (72, 328, Epilogue::Half),
        (40, 200, Epilogue::SwiGlu),
        (64, 584, Epilogue::Float),
    ];
    let published = [(4096, 1536, Epilogue::Float), (1536, 4608, Epilogue::Float), (4608, 1536, Epilogue::SwiGlu)];
    for (n, k, epilogue) in card.cases(&small, &published) {
        let whole = Case::new(70, n, k, epilogue);
        let (all, _) = whole.run(&card, ProductArguments::window); // product_64
        for (first, rows) in [(0, 1), (37, 1), (5, 2), (9, 16), (0, 33), (30, 40)] {
            let (some, _) = whole.rows(first, rows).run(&card, ProductArguments::window);
            assert_eq!(some, all[first * n..(first + rows) * n], "{rows} rows from {first}, {epilogue:?}");
        }
    }
}

#[test]
fn products_of_a_layer_of_the_published_size_are_right() {
    let Some(card) = Card::open() else { return };
    for (rows, n, k, epilogue) in [
        (1, 4096, 1536, Epilogue::Float),
        (1, 1536, 2048, Epilogue::Float),
        (1, 4608, 1536, Epilogue::SwiGlu),
        (1, 1536, 4608, Epilogue::Float),
        (33, 1536, 2048, Epilogue::Float),
        (330, 1024, 592, Epilogue::Half), // the patch embedding
    ] {
        Case::new(rows, n, k, epilogue).check(&card, ProductArguments::bulk);
    }
}

/// Peaks of the rows by the kernels.
fn peaks(card: &Card, case: &Case) -> Vec<Peak> {
    let tiles = peak_tiles(case.n);
    let (parts, out) = (card.poison::<PeakPart>(case.rows * tiles), card.poison::<Peak>(case.rows));
    case.launch(card, parts.at(), ProductArguments::window);
    let arguments = PeakArguments { parts: parts.at(), out: out.at(), rows: case.rows as i32, tiles: tiles as i32 };
    card.run(arguments.launch());
    out.get()
}

#[test]
fn the_head_gives_the_two_largest_logits_and_the_probability() {
    let Some(card) = Card::open() else { return };
    let small = [(1, 600, 64), (2, 59392, 64), (33, 1000, 72), (40, 600, 64), (66, 130, 64), (3, 5, 8)];
    for (rows, n, k) in card.cases(&small, &[(3, 59392, 1536)]) {
        let mut case = Case::new(rows, n, k, Epilogue::Peaks);
        case.bias = vec![0.0; n];
        let sums = case.sums();
        for (row, (peak, logits)) in peaks(&card, &case).iter().zip(sums.chunks_exact(n)).enumerate() {
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
            let (first, second) = (order[0], order[1]);
            let total: f64 = logits.iter().map(|l| (l - logits[first]).exp()).sum();
            // Two logits may be equal but for the rounding of the sums.
            let value = |id: i32| logits[id as usize];
            assert!((value(peak.id) - logits[first]).abs() < 1e-4, "row {row}: {peak:?}, not {first}");
            assert!((value(peak.second) - logits[second]).abs() < 1e-4, "row {row}: {peak:?}, not {second}");
            assert_ne!(peak.id, peak.second);
            assert!((f64::from(peak.gap) - (logits[first] - logits[second])).abs() < 1e-4);
            assert!((f64::from(peak.probability) * total - 1.0).abs() < 1e-4, "row {row}: {peak:?}");
        }
    }
}

#[test]
fn of_equal_logits_the_first_wins_and_nan_never_does() {
    let Some(card) = Card::open() else { return };
    let (n, k) = (200, 8);
    let mut weight = vec![0.0; n * k];
    for id in [70, 71, 135, 199] {
        weight[id * k] = 2.0;
    }
    weight[20 * k] = f32::NAN;
    let x = [vec![1.0; k], vec![0.0; k], vec![f32::NAN; k]].concat();
    let mut case = Case::new(3, n, k, Epilogue::Peaks);
    case.weight = halves(&weight);
    case.x = halves(&x);
    let got = peaks(&card, &case);
    assert_eq!((got[0].id, got[0].second, got[0].gap), (70, 71, 0.0));
    // Of 199 numbers four are 2 and the rest 0.
    assert!((got[0].probability - 1.0 / (4.0 + 195.0 * (-2.0f32).exp())).abs() < 1e-6);
    assert_eq!((got[1].id, got[1].second), (0, 1));
    assert_eq!((got[2].id, got[2].probability), (0, 0.0));
}

#[test]
fn a_row_has_the_same_peak_in_every_window() {
    let Some(card) = Card::open() else { return };
    let whole = Case::new(41, 600, 328, Epilogue::Peaks);
    let all = peaks(&card, &whole);
    for (first, rows) in [(0, 1), (40, 1), (3, 2), (7, 33), (0, 40)] {
        assert_eq!(peaks(&card, &whole.rows(first, rows)), all[first..first + rows]);
    }
}

#[test]
fn packed_rows_are_padded_with_zeros() {
    let Some(card) = Card::open() else { return };
    let (rows, width, pitch) = (5, 588, 592);
    let input = Random::new(3).floats(rows * width);
    let (input_at, out) = (card.put(&input), card.poison::<bf16>(rows * pitch));
    let arguments = PackArguments {
        input: input_at.at(),
        out: out.at(),
        rows: rows as i32,
        width: width as i32,
        pitch: pitch as i32,
        pad: 0,
    };
    card.run(arguments.launch());
    for (row, from) in out.get().chunks_exact(pitch).zip(input.chunks_exact(width)) {
        assert!(row[..width].iter().zip(from).all(|(o, &i)| *o == bf16::from_f32(i)));
        assert!(row[width..].iter().all(|v| v.to_bits() == 0));
    }
}
