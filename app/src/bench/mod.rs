//! `bench`: times the stages of a request beside what this machine can do at best (`stage`), reads the same requests in
//! several ways (`ways`), and says what it found, as a table (`table`) or as JSON (`report`).

mod report;
mod spread;
mod stage;
mod table;
mod ways;

use engine::EngineOptions;
use engine::device::Device;
use engine::document::OpenOptions;
use engine::job::Source;
use engine::measure::{Bench as Rig, Ceilings, Facts, Picture, RequestSize};
use engine::region::Rect;

pub(crate) use spread::Spread;
use stage::{Spec, Stage, Stages, Together};
use ways::Way;

use crate::Exit;
use crate::cli::{Bench, DecodeArg};
use crate::interrupt::Interrupt;
use crate::printer::Printer;
use crate::reader::EngineReader;

/// What is read when nothing is named: the sample's two pages, about 130 lines.
const SAMPLE: &[u8] = include_bytes!("../../../assets/samples/gravity-sample.pdf");
/// On what the stages are timed when nothing is named: 800 x 300 pixels of the sample's first page.
const CROP: Rect = Rect { x0: 140, y0: 300, x1: 940, y1: 600 };

/// Tokens that random weights decode in each way: their answers do not end by themselves.
fn random_tokens(device: Device) -> usize {
    match device {
        Device::Cpu => 16,
        Device::Cuda(_) => 256,
    }
}

/// Everything that was measured.
#[derive(Debug)]
pub(crate) struct Measured {
    facts: Facts,
    /// Where everything was measured.
    device: Device,
    runs: u32,
    requests: Vec<RequestSize>,
    stages: Stages,
    /// Rounds of 1, 2, 4, ... requests at once; none on the processor.
    side_by_side: Vec<Together>,
    /// Why a card started its kernels one by one.
    no_graphs: Option<String>,
    ceilings: CeilingSpreads,
    /// What drafting gives; `None` where the checkpoint does not draft or it was not asked for.
    spec: Option<Spec>,
    ways: Vec<Way>,
    /// Largest resident size of this process, bytes; `None` where the system does not tell.
    peak_memory: Option<u64>,
}

/// What the device can do at best.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CeilingSpreads {
    /// Reading memory, GB/s; not measured on a card.
    read: Spread,
    /// Copying memory, GB/s read and written.
    copy: Spread,
    /// A large matrix product, GFLOP/s, and its rows, inner size and columns.
    product: Spread,
    product_sizes: [usize; 3],
}

impl CeilingSpreads {
    fn of(ceilings: Ceilings) -> Self {
        let Ceilings { read, copy, product, product_sizes } = ceilings;
        Self { read: Spread::of(read), copy: Spread::of(copy), product: Spread::of(product), product_sizes }
    }
}

impl Measured {
    /// Whether some figure here is not that of a trained checkpoint.
    fn is_synthetic(&self) -> bool {
        self.facts.random_weights || self.spec.is_some_and(|spec| spec.assumed)
    }

    /// Tokens per second of AR decoding: as really decoded, or from the stage's time.
    fn ar_rate(&self) -> Spread {
        match self.way("ar") {
            Some(way) => way.rate,
            None => self.stages.ar_ms().per_second(1.0),
        }
    }

    /// The fastest that memory was moved, and how: read on the processor, copied on a card.
    fn memory(&self) -> (&'static str, &Spread) {
        match self.device {
            Device::Cpu => ("read", &self.ceilings.read),
            Device::Cuda(_) => ("copy", &self.ceilings.copy),
        }
    }

    /// Tokens per second of requests side by side, where it is known how many drafts a round accepts.
    fn together_rate(&self, together: &Together) -> Spread {
        let accepted = self.spec.and_then(|spec| spec.accepted);
        accepted.map(|accepted| together.rate(accepted)).unwrap_or_default()
    }

    fn way(&self, name: &str) -> Option<&Way> {
        self.ways.iter().find(|way| way.name == name)
    }
}

/// Why there is no report.
enum Fault {
    /// What was asked does not fit this checkpoint.
    Usage(String),
    /// Something failed.
    Failed(String),
}

impl From<String> for Fault {
    fn from(sentence: String) -> Self {
        Self::Failed(sentence)
    }
}

/// The command as it was typed.
pub(crate) fn command(args: &Bench, printer: &mut Printer) -> Exit {
    let interrupt = Interrupt::listen();
    let report = measure(args, &interrupt).map(|measured| match args.json {
        true => report::json(&measured),
        false => table::text(&measured),
    });
    let printed = report.and_then(|report| {
        let unwritten = |error| format!("standard output cannot be written: {}", crate::output::reason(&error));
        Ok(printer.result(&report).map_err(unwritten)?)
    });
    match printed {
        Ok(()) => Exit::Done,
        Err(_) if interrupt.is_asked() => Exit::Interrupted,
        Err(Fault::Failed(sentence)) => {
            printer.failure(&sentence);
            Exit::Failed
        }
        Err(Fault::Usage(sentence)) => {
            printer.failure(&sentence);
            Exit::Usage
        }
    }
}

fn measure(args: &Bench, interrupt: &Interrupt) -> Result<Measured, Fault> {
    let sentence = |error: engine::measure::MeasureError| error.to_string();
    let cancel = interrupt.flag();
    let rig = Rig::open(&args.model.options()).map_err(sentence)?;
    let facts = rig.facts().clone();
    check(args, &facts)?;
    let pictures = pictures(args)?;
    let timed = rig.stages(&pictures, args.runs, cancel).map_err(sentence)?;
    let side_by_side = match pictures.first() {
        Some(picture) => rig.side_by_side(picture, args.runs, cancel).map_err(sentence)?,
        None => Vec::new(),
    };
    let no_graphs = rig.why_no_graphs();

    let ways = compare(args, rig, &pictures, interrupt)?;
    // The ceilings take memory of their own, which is not the model's.
    let peak_memory = peak_memory();
    let device = args.model.device;
    let ceilings = Ceilings::measure(device, facts.threads, facts.format, args.runs, cancel).map_err(sentence)?;

    let stages = Stages::of(&timed, facts.bytes_per_weight);
    let spec = match args.assume_accepted {
        Some(accepted) => Some(Spec::assumed(accepted, &timed)),
        None => ways.iter().find(|way| way.name.starts_with("spec")).map(Spec::decoded),
    };
    Ok(Measured {
        runs: args.runs,
        requests: timed.requests,
        stages,
        side_by_side: side_by_side.into_iter().map(Together::of).collect(),
        no_graphs,
        ceilings: CeilingSpreads::of(ceilings),
        device,
        spec,
        ways,
        peak_memory,
        facts,
    })
}

/// Reads in every way. Takes the rig, so that its memory is free for what comes after.
fn compare(args: &Bench, rig: Rig, pictures: &[Picture], interrupt: &Interrupt) -> Result<Vec<Way>, String> {
    let decode = ways_to_compare(args, rig.facts());
    match pictures.first() {
        Some(picture) if !decode.is_empty() && rig.facts().random_weights => {
            ways::of_request(picture, &decode, random_tokens(args.model.device), args.runs, &rig, interrupt)
        }
        Some(_) if !decode.is_empty() => {
            drop(rig);
            let reader = EngineReader::start(&args.model)?;
            if let Some(sentence) = &reader.info().fallback {
                return Err(format!("{sentence}, so nothing was measured"));
            }
            ways::of_documents(&sources(args), &decode, args.runs, &reader, interrupt)
        }
        _ => Ok(Vec::new()),
    }
}

/// What can only be told once the checkpoint is known.
fn check(args: &Bench, facts: &Facts) -> Result<(), Fault> {
    let drafts = args.assume_accepted.is_some() || args.decode.iter().any(|&decode| decode != DecodeArg::Ar);
    match (&facts.only_ar, facts.block, args.assume_accepted) {
        (Some(reason), ..) if drafts => Err(Fault::Usage(format!("{reason}; only autoregressive decoding is offered"))),
        (_, Some(block), Some(accepted)) if accepted > block as f64 => {
            Err(Fault::Usage(format!("--assume-accepted {accepted} is more than the {block} drafts of a round")))
        }
        _ => Ok(()),
    }
}

fn ways_to_compare(args: &Bench, facts: &Facts) -> Vec<DecodeArg> {
    match args.decode.as_slice() {
        [] if args.assume_accepted.is_some() => Vec::new(),
        [] if facts.only_ar.is_some() => vec![DecodeArg::Ar],
        [] => vec![DecodeArg::Ar, DecodeArg::Spec { steps: 1 }],
        named => named.to_vec(),
    }
}

fn sources(args: &Bench) -> Vec<Source> {
    match args.images.is_empty() {
        true => vec![sample()],
        false => args.images.iter().cloned().map(Source::Path).collect(),
    }
}

fn sample() -> Source {
    Source::Bytes { name: "gravity-sample.pdf".to_owned(), bytes: SAMPLE.to_vec() }
}

fn pictures(args: &Bench) -> Result<Vec<Picture>, String> {
    let crop = args.images.is_empty().then_some(CROP);
    let EngineOptions { pdfium_dir, pdf_renderer, .. } = args.model.options();
    let options = OpenOptions { pdfium_dir, pdf_renderer, ..OpenOptions::default() };
    let open = |source| Picture::open(source, &options, crop).map_err(|error| error.to_string());
    sources(args).iter().map(open).collect()
}

/// The largest resident size of this process so far, as Linux keeps it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod testing {
    #![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use engine::device::Plan;
    use engine::measure::Card;

    use super::*;
    use crate::tally::Tally;

    /// A measurement by hand: one AR stage, one way, no verifier, no memory.
    pub(super) fn measured() -> Measured {
        let some = Spread { median: 2.0, min: 1.0, max: 4.0, count: 3 };
        let twice = Spread { median: 4.0, min: 4.0, max: 4.0, count: 3 };
        let way = Way {
            name: "spec".to_owned(),
            tally: Tally {
                requests: 3,
                tokens: 33,
                prefill_tokens: 3,
                forwards: 6,
                decode_ms: 10.0,
                ..Tally::default()
            },
            rate: some,
            vision: some,
            prefill: some,
            draft: some,
            verify: Spread::default(),
            wall: some,
            identical: Some((2, 3)),
        };
        Measured {
            facts: Facts {
                checkpoint: "nano".to_owned(),
                random_weights: false,
                only_ar: None,
                block: Some(32),
                kernel: "scalar",
                threads: 1,
                format: engine::measure::Format::Bf16,
                bytes_per_weight: 2.0,
                weight_bytes: 2e6,
                load_seconds: 0.5,
                card: None,
            },
            device: Device::Cpu,
            runs: 3,
            requests: vec![RequestSize { width: 800, height: 300, patches: 1276, prompt_tokens: 330 }],
            stages: Stages { ar: Stage { ms: some, gigabytes: some, gigaflop: some }, ..Stages::default() },
            side_by_side: Vec::new(),
            no_graphs: None,
            ceilings: CeilingSpreads {
                read: twice,
                copy: twice,
                product: Spread { median: 8.0, ..twice },
                product_sizes: [512, 4096, 4096],
            },
            spec: None,
            ways: vec![way],
            peak_memory: None,
        }
    }

    /// The same on a card, with tokens and rounds as decoding waits for them, two requests side by side and a driver that makes no graphs.
    pub(super) fn on_card() -> Measured {
        let cpu = measured();
        let config = engine::checkpoint::Checkpoint::bundled().unwrap().config;
        let plan =
            Plan { weights: 1_800_000_000, cache: 2_150_000_000, bulk: 230_000_000, ..Plan::fitting(&config, 0) };
        let card = Card { name: "NVIDIA H200".to_owned(), capability: (9, 0), memory: 150_754_820_096, plan };
        let ms = |median| Spread { median, min: median, max: 2.0 * median, count: 3 };
        let stage = |median| Stage { ms: ms(median), ..cpu.stages.ar };
        Measured {
            facts: Facts { kernel: "cuda", weight_bytes: 1.8e9, card: Some(card), ..cpu.facts },
            device: Device::Cuda(1),
            stages: Stages {
                token: stage(1.0),
                round: stage(4.0),
                round_draft: stage(1.5),
                round_verify: stage(2.0),
                ..cpu.stages
            },
            side_by_side: vec![Together { requests: 1, ms: ms(4.0) }, Together { requests: 2, ms: ms(5.0) }],
            no_graphs: Some("operation not permitted".to_owned()),
            ceilings: CeilingSpreads { read: Spread::default(), copy: ms(8.0), ..cpu.ceilings },
            spec: Some(Spec { rate: ms(4500.0), tpf: Some(9.0), accepted: Some(16.0), assumed: true }),
            ..cpu
        }
    }
}
