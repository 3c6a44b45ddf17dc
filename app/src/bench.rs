//! `bench`: reads the same requests in several ways and measures each. Printing is in `bench_report`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use engine::device::Device;
use engine::event::{Event, Outcome, RequestId};
use engine::page::{PageResult, Reading};
use engine::worker::{Job, Source};

use crate::Exit;
use crate::bench_report;
use crate::cli::{Bench, DecodeArg};
use crate::interrupt::Interrupt;
use crate::printer::Printer;
use crate::reader::{EngineReader, Next, Reader};
use crate::tally::Tally;

/// What is read when nothing is named: the sample's two pages, about 130 lines.
const SAMPLE: &[u8] = include_bytes!("../../assets/samples/gravity-sample.pdf");

/// Everything that was measured.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) checkpoint: String,
    pub(crate) device: Device,
    pub(crate) kernel: &'static str,
    pub(crate) threads: usize,
    /// Largest resident size of this process, bytes; `None` where the system does not tell.
    pub(crate) peak_memory: Option<u64>,
    pub(crate) ways: Vec<Way>,
}

/// One way of decoding.
#[derive(Debug, PartialEq)]
pub(crate) struct Way {
    pub(crate) name: String,
    pub(crate) tally: Tally,
    /// Milliseconds per request, by stage.
    pub(crate) vision: Spread,
    pub(crate) prefill: Spread,
    /// Milliseconds per forward, over the requests that had any.
    pub(crate) draft: Spread,
    pub(crate) verify: Spread,
    /// Seconds of one run over everything, from handing in to the last event.
    pub(crate) wall: Spread,
    /// How many requests have the same token ids as by the first AR way, of how many.
    pub(crate) identical: Option<(usize, usize)>,
}

/// The middle and the ends of a list of figures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) count: usize,
}

impl Spread {
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let median = match (values.get(middle), values.len() % 2) {
            (None, _) => return Self::default(),
            (Some(&above), 1) => above,
            (Some(&above), _) => (values[middle - 1] + above) / 2.0,
        };
        Self { median, min: values[0], max: values[values.len() - 1], count: values.len() }
    }
}

/// The command as it was typed.
pub(crate) fn command(args: &Bench, printer: &mut Printer) -> Exit {
    let interrupt = Interrupt::listen();
    let measured = EngineReader::start(&args.model).and_then(|reader| {
        let info = reader.info();
        if let Some(sentence) = &info.fallback {
            return Err(format!("{sentence}, so nothing was measured"));
        }
        Ok(Measured {
            checkpoint: info.checkpoint.clone(),
            device: info.device,
            kernel: info.kernel,
            threads: info.threads,
            ways: ways(args, &reader, &interrupt)?,
            peak_memory: peak_memory(),
        })
    });
    let report = measured.map(|measured| match args.json {
        true => bench_report::json(&measured),
        false => bench_report::text(&measured),
    });
    let printed = report.and_then(|report| {
        printer
            .result(&report)
            .map_err(|error| format!("standard output cannot be written: {}", crate::output::reason(&error)))
    });
    match printed {
        Ok(()) => Exit::Done,
        Err(_) if interrupt.is_asked() => Exit::Interrupted,
        Err(sentence) => {
            printer.failure(&sentence);
            Exit::Failed
        }
    }
}

fn ways(args: &Bench, reader: &dyn Reader, interrupt: &Interrupt) -> Result<Vec<Way>, String> {
    let mut measured = Vec::new();
    for &decode in &args.decode {
        let mut walls = Vec::new();
        let mut readings = Readings::new();
        let mut all = Vec::new();
        for _ in 0..args.runs {
            let started = Instant::now();
            readings = run(args, decode, reader, interrupt)?;
            walls.push(started.elapsed().as_secs_f64());
            all.extend(readings.values().cloned());
        }
        measured.push((decode, readings, all, walls));
    }
    let reference = measured.iter().find(|(decode, ..)| *decode == DecodeArg::Ar).map(|(_, readings, ..)| readings);
    let ways = measured.iter().map(|(decode, readings, all, walls)| {
        let identical = reference.filter(|_| *decode != DecodeArg::Ar).map(|reference| agreement(readings, reference));
        way(decode.name(), all, walls, identical)
    });
    Ok(ways.collect())
}

/// Requests by file and place, so that two ways can be compared.
type Readings = BTreeMap<(usize, usize, usize, usize), Reading>;

/// Reads everything once.
fn run(args: &Bench, decode: DecodeArg, reader: &dyn Reader, interrupt: &Interrupt) -> Result<Readings, String> {
    let sample = || Source::Bytes { name: "gravity-sample.pdf".to_owned(), bytes: SAMPLE.to_vec() };
    let sources: Vec<Source> = match args.images.is_empty() {
        true => vec![sample()],
        false => args.images.iter().cloned().map(Source::Path).collect(),
    };
    let mut readings = Readings::new();
    for (file, source) in sources.into_iter().enumerate() {
        let job = Job { decode: Some(decode.decode(None)), ..Job::new(source) };
        for page in pages(job, reader, interrupt)? {
            for (region, result) in page.regions.into_iter().enumerate() {
                for (request, reading) in result.readings.into_iter().enumerate() {
                    let RequestId { page, region, request } = RequestId { page: page.index, region, request };
                    readings.insert((file, page, region, request), reading);
                }
            }
        }
    }
    match readings.is_empty() {
        true => Err("nothing to read was found, so nothing was measured".to_owned()),
        false => Ok(readings),
    }
}

/// The pages of one job. A figure over half a document would mislead, so any fault ends the measurement.
fn pages(job: Job, reader: &dyn Reader, interrupt: &Interrupt) -> Result<Vec<PageResult>, String> {
    let mut running = reader.start(job, Box::new(|| ()))?;
    let mut pages = Vec::new();
    loop {
        if interrupt.is_asked() {
            running.cancel();
        }
        match running.next(Duration::from_millis(50)) {
            Next::Event(Event::PageFinished { page, .. }) => pages.push(*page),
            Next::Event(Event::PageFailed { message, .. }) => return Err(message),
            Next::Event(Event::Finished { outcome }) => {
                return match outcome {
                    Outcome::Completed => Ok(pages),
                    Outcome::Cancelled => Err("the measurement was cancelled".to_owned()),
                    Outcome::Failed(message) => Err(message),
                };
            }
            Next::Event(_) | Next::Quiet => {}
            Next::Gone => return Err("the engine stopped".to_owned()),
        }
    }
}

fn way(name: String, readings: &[Reading], walls: &[f64], identical: Option<(usize, usize)>) -> Way {
    let per_forward = |ms: fn(&Reading) -> f64, forwards: fn(&engine::decode::Round) -> u32| {
        Spread::of(readings.iter().filter_map(|reading| {
            let forwards: u32 = reading.rounds.iter().map(forwards).sum();
            (forwards > 0).then(|| ms(reading) / f64::from(forwards))
        }))
    };
    Way {
        name,
        tally: readings.iter().collect(),
        vision: Spread::of(readings.iter().map(|reading| reading.timings.vision_ms)),
        prefill: Spread::of(readings.iter().map(|reading| reading.timings.prefill_ms)),
        draft: per_forward(|reading| reading.timings.draft_ms, |round| round.draft_forwards),
        verify: per_forward(|reading| reading.timings.verify_ms, |round| round.verify_forwards),
        wall: Spread::of(walls.iter().copied()),
        identical,
    }
}

/// How many requests have the same tokens in both, of how many that either has.
fn agreement(readings: &Readings, reference: &Readings) -> (usize, usize) {
    let ids = |reading: &Reading| -> Vec<u32> {
        reading.rounds.iter().flat_map(|round| &round.committed).map(|token| token.id).collect()
    };
    let same =
        readings.iter().filter(|(place, reading)| reference.get(place).is_some_and(|other| ids(reading) == ids(other)));
    let only_in_reference = reference.keys().filter(|place| !readings.contains_key(place)).count();
    (same.count(), readings.len() + only_in_reference)
}

/// The largest resident size of this process so far, as Linux keeps it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use super::*;
    use crate::reader::testing::{Recorded, reading, round, two_lines};

    fn args(line: &str) -> Bench {
        let cli = crate::cli::Cli::parse(line.split(' ').map(Into::into)).unwrap();
        let Some(crate::cli::Command::Bench(args)) = cli.command else { panic!("bench was asked for") };
        args
    }

    #[test]
    fn the_median_is_the_middle_or_between_the_middles() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0, count: 3 });
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 3.0]).median, 2.5);
        assert_eq!(Spread::of([]).count, 0);
    }

    #[test]
    fn requests_agree_when_all_their_tokens_do() {
        let at = |n| (0, 0, 0, n);
        let three = || reading(vec![round(0, 1, 0, 0), round(1, 2, 0, 2)]);
        let reference = Readings::from([(at(0), three()), (at(1), three()), (at(2), three())]);
        let mut other = Readings::from([(at(0), three()), (at(1), three())]);
        other.get_mut(&at(1)).unwrap().rounds[1].committed[0].id = 99;
        assert_eq!(agreement(&other, &reference), (1, 3));
        // The same ids in other rounds are the same answer.
        let ids = |n| engine::decode::Committed { id: n, origin: engine::decode::Origin::Causal, confidence: 1.0 };
        let mut split = reading(vec![round(0, 1, 0, 0)]);
        split.rounds[0].committed = vec![ids(0), ids(0), ids(1)];
        assert_eq!(agreement(&Readings::from([(at(0), split)]), &Readings::from([(at(0), three())])), (1, 1));
    }

    #[test]
    fn every_run_counts_and_only_other_ways_are_compared() {
        let args = args("gravityocr bench --decode ar,spec --runs 2");
        let reader = Recorded::new((0..4).map(|_| Ok(two_lines())));
        let ways = ways(&args, &reader, &Interrupt::default()).unwrap();
        assert_eq!(ways.iter().map(|way| way.tally.requests).collect::<Vec<_>>(), [4, 4]);
        assert_eq!(ways.iter().map(|way| way.identical).collect::<Vec<_>>(), [None, Some((2, 2))]);
        assert_eq!(ways[1].verify, Spread { median: 10.0, min: 10.0, max: 10.0, count: 4 });
        assert_eq!(ways[1].wall.count, 2);
    }

    #[test]
    fn a_failed_page_is_no_measurement() {
        let failed = Event::PageFailed { page: 0, message: "page 1 cannot be drawn".to_owned() };
        let reader = Recorded::new([Ok(vec![failed])]);
        let fault = ways(&args("gravityocr bench"), &reader, &Interrupt::default()).unwrap_err();
        assert_eq!(fault, "page 1 cannot be drawn");
    }
}
