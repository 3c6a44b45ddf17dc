//! How fast each kernel is on a card at the published sizes. Printed, not judged.

use half::bf16;
use kernels::cuda::abi::*;
use kernels::cuda::driver::{DevicePtr, Event};
use kernels::cuda::launch::{CHUNK, Launch, chunks, peak_tiles, splits};

use super::harness::*;

const LAYERS: usize = 16;
/// Sizes of the decoder.
const HIDDEN: usize = 1536;
const HEADS: usize = 16;
const KV_HEADS: usize = 8;
const HEAD_DIM: usize = 128;
const INNER: usize = 4608;
const VOCABULARY: usize = 59_392;
/// Rows of a round's windows.
const WINDOW: usize = 33;
/// Hidden size, heads and MLP of the vision tower.
const TOWER: [usize; 3] = [1024, 16, 4096];

/// A card with two events.
struct Meter<'c> {
    card: &'c Card,
    events: [Event; 2],
    /// Bytes per second that a copy on the card moves, read and written.
    copy: f64,
}

impl<'c> Meter<'c> {
    fn new(card: &'c Card) -> Self {
        let event = || card.driver().event().unwrap_or_else(fail);
        let mut meter = Self { card, events: [event(), event()], copy: 0.0 };
        let bytes = 1 << 30;
        let (from, to) = (card.poison::<bf16>(bytes / 2), card.poison::<bf16>(bytes / 2));
        let seconds =
            meter.best(|| card.driver().copy(DevicePtr(from.at()), DevicePtr(to.at()), bytes).unwrap_or_else(fail));
        meter.copy = 2.0 * bytes as f64 / seconds;
        println!("{}: copies at {:.0} GB/s", card.driver().device().name, meter.copy / 1e9);
        meter
    }

    /// The shortest time that the card took for something, seconds.
    fn best(&self, run: impl Fn()) -> f64 {
        let [start, end] = self.events;
        let once = |_| {
            self.card.driver().record(start).unwrap_or_else(fail);
            run();
            let mut driver = self.card.driver();
            driver.record(end).and_then(|()| driver.elapsed_ms(start, end)).unwrap_or_else(fail)
        };
        f64::from((0..8).map(once).fold(f32::INFINITY, f32::min)) / 1e3
    }

    /// Prints the time of one launch of many, as a graph runs them, and what one moves and computes.
    fn line(&self, shape: &str, launches: &[Launch], bytes: usize, operations: usize) {
        const LEAST: usize = 48;
        self.card.run(launches[0].clone()); // what a first launch sets up is no part of a graph
        let count = launches.len() * LEAST.div_ceil(launches.len());
        let graph = {
            let mut driver = self.card.driver();
            driver.begin_capture().unwrap_or_else(fail);
            let issued = launches.iter().cycle().take(count).try_for_each(|launch| driver.launch(launch));
            let graph = driver.end_capture();
            issued.and(graph).unwrap_or_else(fail)
        };
        let seconds = self.best(|| self.card.driver().replay(graph).unwrap_or_else(fail)) / count as f64;
        let rate = bytes as f64 / seconds;
        print!("{:<16} {shape:<34} {:9.2} us", launches[0].kernel, seconds * 1e6);
        if bytes > 0 {
            print!(" {:7.0} GB/s, {:3.0} % of a copy", rate / 1e9, 100.0 * rate / self.copy);
        }
        if operations > 0 {
            print!(" {:9.0} GFLOP/s", operations as f64 / seconds / 1e9);
        }
        println!();
    }

    /// Random bf16 numbers: one pattern again and again.
    fn noise(&self, len: usize) -> Buffer<'c, bf16> {
        let buffer = self.card.poison(len);
        let at = DevicePtr(buffer.at());
        let numbers = Random::new(1).floats(len.min(1 << 20));
        let pattern = halves(&numbers.iter().map(|v| v * 0.05).collect::<Vec<_>>());
        let mut driver = self.card.driver();
        driver.upload(at, bytes_of(&pattern)).unwrap_or_else(fail);
        let mut done = size_of_val(pattern.as_slice());
        while done < 2 * len {
            let more = done.min(2 * len - done);
            driver.copy(at, at.offset(done), more).unwrap_or_else(fail);
            done += more;
        }
        drop(driver);
        buffer
    }

    /// Products with one matrix of every layer, so that no cache holds the weights.
    fn products(&self, name: &str, rows: usize, [n, k]: [usize; 2], epilogue: Epilogue, layers: usize, bulk: bool) {
        let outer = if epilogue == Epilogue::SwiGlu { 2 * n } else { n };
        let (x, weight) = (self.noise(rows * k), self.noise(layers * outer * k));
        let splits = if epilogue == Epilogue::Float && !bulk { splits(n, k) } else { 1 };
        // As large as any epilogue's result.
        let out = self.card.put(&vec![0.0f32; splits * rows * n]);
        let launches: Vec<Launch> = (0..layers)
            .map(|layer| ProductArguments {
                x: x.at(),
                weight: weight.at() + (2 * layer * outer * k) as u64,
                out: out.at(),
                rows: rows as i32,
                n: n as i32,
                k: k as i32,
                x_pitch: k as i32,
                out_pitch: n as i32,
                splits: splits as i32,
                epilogue: epilogue as i32,
                ..Default::default()
            })
            .map(|arguments| if bulk { arguments.bulk() } else { arguments.window() })
            .collect();
        let operations = 2 * rows * outer * k;
        let bytes = if bulk { 0 } else { 2 * outer * k };
        self.line(&format!("{name}, {rows} x {outer} x {k}"), &launches, bytes, operations);
    }
}

#[test]
#[ignore = "a measurement"]
fn each_kernel_at_the_published_sizes() {
    let Some(card) = Card::real() else { return };
    let meter = Meter::new(&card);
    let qkv = (HEADS + 2 * KV_HEADS) * HEAD_DIM;
    let layer = [
        ("qkv", [qkv, HIDDEN], Epilogue::Float),
        ("o", [HIDDEN, HEADS * HEAD_DIM], Epilogue::Float),
        ("gate, up", [INNER, HIDDEN], Epilogue::SwiGlu),
        ("down", [HIDDEN, INNER], Epilogue::Float),
    ];
    println!("\nDecoder windows: bytes of weights");
    for rows in [1, 8, WINDOW, 40, 8 * WINDOW] {
        for (name, shape, epilogue) in layer {
            meter.products(name, rows, shape, epilogue, LAYERS, false);
        }
        meter.products("head", rows, [VOCABULARY, HIDDEN], Epilogue::Peaks, 1, false);
    }
    println!("\nDecoder windows: bytes of keys and values; of rows read and written");
    for (sequences, window, cached) in [(1, 1, 700), (1, WINDOW, 700), (1, WINDOW, 3000), (8, 1, 700), (8, WINDOW, 700)]
    {
        windows(&meter, sequences, window, cached);
    }
    for rows in [1, WINDOW, 8 * WINDOW] {
        small(&meter, rows);
    }
    println!("\nPrefill");
    for rows in [330, 1300] {
        for (name, shape, epilogue) in layer {
            meter.products(name, rows, shape, epilogue, LAYERS, true);
        }
        let (heads, pitch) = (HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM);
        attention(&meter, rows, [HEADS, KV_HEADS, HEAD_DIM], [heads, pitch], mask::CAUSAL);
    }
    println!("\nVision tower");
    let [hidden, heads, inner] = TOWER;
    for rows in [1320, 4096] {
        meter.products("qkv", rows, [3 * hidden, hidden], Epilogue::Half, 1, true);
        meter.products("proj", rows, [hidden, hidden], Epilogue::Add, 1, true);
        meter.products("gate, up", rows, [inner, hidden], Epilogue::SwiGlu, 1, true);
        meter.products("down", rows, [hidden, inner], Epilogue::Add, 1, true);
        attention(&meter, rows, [heads, heads, hidden / heads], [3 * hidden; 2], mask::BLOCK);
        tower(&meter, rows);
    }
}

/// Attention of one sequence over itself.
fn attention(meter: &Meter<'_>, rows: usize, [heads, kv_heads, dim]: [usize; 3], pitches: [usize; 2], mask: i32) {
    let [queries, keys, values] = [pitches[0], pitches[1], pitches[1]].map(|pitch| meter.noise(rows * pitch));
    let out = meter.card.poison::<bf16>(rows * heads * dim);
    let arguments = AttentionArguments {
        queries: queries.at(),
        keys: keys.at(),
        values: values.at(),
        out: out.at(),
        rows: rows as i32,
        window: rows as i32,
        heads: heads as i32,
        kv_heads: kv_heads as i32,
        head_dim: dim as i32,
        query_pitch: pitches[0] as i32,
        key_pitch: pitches[1] as i32,
        mask,
        chunks: 1,
        scale: (dim as f32).powf(-0.5),
        ..Default::default()
    };
    let seen = if mask == mask::CAUSAL { rows * (rows + 1) / 2 } else { rows * rows };
    meter.line(&format!("{rows} rows, {heads} heads"), &[arguments.launch()], 0, 4 * seen * heads * dim);
}

/// Attention and cache writes of windows over caches.
fn windows(meter: &Meter<'_>, sequences: usize, window: usize, cached: usize) {
    let (card, rows, capacity) = (meter.card, sequences * window, cached + window);
    let (per_token, pool) = (KV_HEADS * HEAD_DIM, sequences * KV_HEADS * capacity * HEAD_DIM);
    let (keys, values) = (meter.noise(LAYERS * pool), meter.noise(LAYERS * pool));
    let slots: Vec<Slot> = (0..sequences)
        .map(|n| Slot {
            offset: (n * capacity * per_token) as i64,
            capacity: capacity as i32,
            cached: cached as i32,
            state: state::RUNNING,
            ..Default::default()
        })
        .collect();
    let order: Vec<i32> = (0..sequences as i32).collect();
    let (slots, order) = (card.put(&slots), card.put(&order));
    let (queries, out) = (meter.noise(rows * HEADS * HEAD_DIM), meter.noise(rows * HEADS * HEAD_DIM));
    let chunks = chunks(capacity);
    let parts = card.poison::<f32>(rows * HEADS * chunks * HEAD_DIM);
    let weights = card.poison::<f32>(rows * HEADS * chunks * 2);
    let arguments = |layer: usize| AttentionArguments {
        queries: queries.at(),
        keys: keys.at() + (2 * layer * pool) as u64,
        values: values.at() + (2 * layer * pool) as u64,
        slots: slots.at(),
        sequence_slots: order.at(),
        out: out.at(),
        parts: parts.at(),
        weights: weights.at(),
        rows: rows as i32,
        window: window as i32,
        heads: HEADS as i32,
        kv_heads: KV_HEADS as i32,
        head_dim: HEAD_DIM as i32,
        query_pitch: (HEADS * HEAD_DIM) as i32,
        mask: mask::CAUSAL,
        chunks: chunks as i32,
        chunk: CHUNK as i32,
        scale: (HEAD_DIM as f32).powf(-0.5),
        ..Default::default()
    };
    let shape = format!("{sequences} x {window} rows, {cached} cached");
    let attend: Vec<Launch> = (0..LAYERS).map(|layer| arguments(layer).launch()).collect();
    meter.line(&shape, &attend, 2 * 2 * sequences * capacity * per_token, 0);
    let combine: Vec<Launch> = (0..LAYERS).map(|layer| arguments(layer).combine()).collect();
    meter.line(&shape, &combine, rows * HEADS * chunks * (4 * HEAD_DIM + 8), 0);

    let width = (HEADS + 2 * KV_HEADS) * HEAD_DIM;
    let splits = splits(width, HIDDEN);
    let (sums, table) = (card.put(&vec![0.5f32; splits * rows * width]), card.put(&vec![0.5f32; capacity * HEAD_DIM]));
    let store: Vec<Launch> = (0..LAYERS)
        .map(|layer| {
            let arguments = RotateStoreArguments {
                parts: sums.at(),
                table: table.at(),
                slots: slots.at(),
                sequence_slots: order.at(),
                queries: queries.at(),
                keys: keys.at() + (2 * layer * pool) as u64,
                values: values.at() + (2 * layer * pool) as u64,
                rows: rows as i32,
                window: window as i32,
                heads: HEADS as i32,
                kv_heads: KV_HEADS as i32,
                head_dim: HEAD_DIM as i32,
                splits: splits as i32,
                section_t: 16,
                section_h: 24,
                positions_limit: capacity as i32,
                ..Default::default()
            };
            arguments.launch()
        })
        .collect();
    meter.line(&shape, &store, rows * width * (4 * splits + 2), 0);
}

/// What else a window's rows go through.
fn small(meter: &Meter<'_>, rows: usize) {
    let card = meter.card;
    let splits = splits(HIDDEN, INNER);
    let (parts, norm) = (card.put(&vec![0.5f32; splits * rows * HIDDEN]), card.put(&vec![1.0f32; HIDDEN]));
    let (hidden, out) = (card.put(&vec![0.5f32; rows * HIDDEN]), card.poison::<bf16>(rows * HIDDEN));
    let add = AddNormArguments {
        parts: parts.at(),
        post: norm.at(),
        next: norm.at(),
        hidden: hidden.at(),
        out: out.at(),
        rows: rows as i32,
        width: HIDDEN as i32,
        splits: splits as i32,
        eps: 1e-5,
    };
    let shape = format!("{rows} rows");
    meter.line(&shape, &[add.launch()], rows * HIDDEN * (4 * splits + 4 + 4 + 2), 0);

    let (table, ids) = (meter.noise(VOCABULARY * HIDDEN), card.put(&vec![7i32; rows]));
    let embed = EmbedArguments {
        ids: ids.at(),
        table: table.at(),
        norm: norm.at(),
        hidden: hidden.at(),
        out: out.at(),
        rows: rows as i32,
        width: HIDDEN as i32,
        vocabulary: VOCABULARY as i32,
        eps: 1e-5,
        ..Default::default()
    };
    meter.line(&shape, &[embed.launch()], rows * HIDDEN * (2 + 4 + 2), 0);

    let tiles = peak_tiles(VOCABULARY);
    let (tops, peaks) = (card.put(&vec![PeakPart::default(); rows * tiles]), card.put(&vec![Peak::default(); rows]));
    let peak = PeakArguments { parts: tops.at(), out: peaks.at(), rows: rows as i32, tiles: tiles as i32 };
    meter.line(&shape, &[peak.launch()], rows * tiles * size_of::<PeakPart>(), 0);

    let (sequences, window) = (rows.div_ceil(WINDOW), rows.min(WINDOW));
    let slot = Slot { capacity: i32::MAX, state: state::RUNNING, ..Default::default() };
    let (slots, order) = (card.put(&vec![slot; sequences]), card.put(&(0..sequences as i32).collect::<Vec<_>>()));
    let (records, ends) = (card.poison::<Record>(sequences), card.put(&[59_246, 59_253]));
    let round = RoundArguments {
        slots: slots.at(),
        sequence_slots: order.at(),
        ids: ids.at(),
        draft: peaks.at(),
        verify: peaks.at(),
        records: records.at(),
        ends: ends.at(),
        sequences: sequences as i32,
        window: window as i32,
        filler: 59_282,
        end_count: 2,
    };
    for launch in [round.begin(), round.begin_verify(), round.settle()] {
        meter.line(&shape, &[launch], 0, 0);
    }
}

/// What else a picture's patches go through.
fn tower(meter: &Meter<'_>, rows: usize) {
    let (card, [hidden, heads, _], shape) = (meter.card, TOWER, format!("{rows} rows"));
    let (x, weight, out) =
        (card.put(&vec![0.5f32; rows * hidden]), card.put(&vec![1.0f32; HIDDEN]), meter.noise(rows * 3 * hidden));
    let norm = NormArguments {
        x: x.at(),
        weight: weight.at(),
        out: out.at(),
        rows: rows as i32,
        width: hidden as i32,
        eps: 1e-5,
        pad: 0,
    };
    meter.line(&shape, &[norm.launch()], rows * hidden * (4 + 2), 0);
    let pack = PackArguments { input: x.at(), out: out.at(), rows: rows as i32, width: 588, pitch: 592, pad: 0 };
    meter.line(&shape, &[pack.launch()], rows * (588 * 4 + 592 * 2), 0);
    let table = card.put(&vec![0.5f32; 64 * hidden / heads / 2]);
    let rotate = VisionRotateArguments {
        qkv: out.at(),
        q_norm: weight.at(),
        k_norm: weight.at(),
        table: table.at(),
        rows: rows as i32,
        heads: heads as i32,
        head_dim: (hidden / heads) as i32,
        columns: 64,
        merge: 2,
        eps: 1e-5,
    };
    meter.line(&shape, &[rotate.launch()], 2 * rows * 2 * hidden * 2, 0);
    let tokens = rows / 4;
    let merge = LayerNormArguments {
        x: x.at(),
        weight: weight.at(),
        bias: weight.at(),
        out: out.at(),
        rows: tokens as i32,
        width: HIDDEN as i32,
        eps: 1e-5,
        pad: 0,
    };
    meter.line(&format!("{tokens} rows"), &[merge.launch()], tokens * HIDDEN * (4 + 2), 0);
}
