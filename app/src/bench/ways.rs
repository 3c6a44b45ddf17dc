//! The ways of decoding: the same requests read in each of them, and whether the tokens are the same.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use engine::event::{Event, Outcome, RequestId};
use engine::job::{Job, Source};
use engine::measure::{Bench as Rig, Picture};
use engine::page::{PageResult, Reading};

use super::Spread;
use crate::cli::DecodeArg;
use crate::interrupt::Interrupt;
use crate::reader::{Next, Reader};
use crate::tally::Tally;

/// One way of decoding.
#[derive(Debug, PartialEq)]
pub(crate) struct Way {
    pub(crate) name: String,
    pub(crate) tally: Tally,
    /// Tokens per second of decoding, by run.
    pub(crate) rate: Spread,
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

/// Reads the documents `runs` times in each way.
pub(super) fn of_documents(
    sources: &[Source],
    decode: &[DecodeArg],
    runs: u32,
    reader: &dyn Reader,
    interrupt: &Interrupt,
) -> Result<Vec<Way>, String> {
    let mut measured = Vec::new();
    for &decode in decode {
        let mut times = Times::default();
        for _ in 0..runs {
            let started = Instant::now();
            let readings = run(sources, decode, reader, interrupt)?;
            times.add(started, readings);
        }
        measured.push((decode, times));
    }
    Ok(ways(measured))
}

/// Decodes one request `runs` times in each way, up to so many tokens: for weights whose answers would never end.
pub(super) fn of_request(
    picture: &Picture,
    decode: &[DecodeArg],
    max_tokens: usize,
    runs: u32,
    rig: &Rig,
    interrupt: &Interrupt,
) -> Result<Vec<Way>, String> {
    let modes: Vec<_> = decode.iter().map(|decode| decode.decode(None)).collect();
    let readings =
        rig.decode(picture, &modes, max_tokens, runs, interrupt.flag()).map_err(|error| error.to_string())?;
    let measured = decode.iter().zip(readings).map(|(&decode, readings)| {
        let runs = readings.into_iter().map(|reading| Readings::from([((0, 0, 0, 0), reading)])).collect();
        (decode, Times { walls: Vec::new(), runs })
    });
    Ok(ways(measured.collect()))
}

/// What was read in one way, run by run.
#[derive(Default)]
struct Times {
    /// Seconds of each run.
    walls: Vec<f64>,
    runs: Vec<Readings>,
}

impl Times {
    fn add(&mut self, started: Instant, readings: Readings) {
        self.walls.push(started.elapsed().as_secs_f64());
        self.runs.push(readings);
    }
}

fn ways(measured: Vec<(DecodeArg, Times)>) -> Vec<Way> {
    let last = |times: &Times| times.runs.last().cloned().unwrap_or_default();
    let reference = measured.iter().find(|(decode, _)| *decode == DecodeArg::Ar).map(|(_, times)| last(times));
    let ways = measured.iter().map(|(decode, times)| {
        let reference = reference.as_ref().filter(|_| *decode != DecodeArg::Ar);
        way(decode.name(), times, reference.map(|reference| agreement(&last(times), reference)))
    });
    ways.collect()
}

/// Requests by file and place, so that two ways can be compared.
type Readings = BTreeMap<(usize, usize, usize, usize), Reading>;

/// Reads everything once.
fn run(sources: &[Source], decode: DecodeArg, reader: &dyn Reader, interrupt: &Interrupt) -> Result<Readings, String> {
    let mut readings = Readings::new();
    for (file, source) in sources.iter().cloned().enumerate() {
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
            Next::Event(Event::RequestRestarted { reason, .. }) => {
                return Err(format!("{reason}, so nothing was measured"));
            }
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

fn way(name: String, times: &Times, identical: Option<(usize, usize)>) -> Way {
    let readings = || times.runs.iter().flat_map(|run| run.values());
    let per_forward = |ms: fn(&Reading) -> f64, forwards: fn(&engine::decode::Round) -> u32| {
        Spread::of(readings().filter_map(|reading| {
            let forwards: u32 = reading.rounds.iter().map(forwards).sum();
            (forwards > 0).then(|| ms(reading) / f64::from(forwards))
        }))
    };
    let rates = times.runs.iter().filter_map(|run| run.values().collect::<Tally>().decode_rate());
    Way {
        name,
        tally: readings().collect(),
        rate: Spread::of(rates),
        vision: Spread::of(readings().map(|reading| reading.timings.vision_ms)),
        prefill: Spread::of(readings().map(|reading| reading.timings.prefill_ms)),
        draft: per_forward(|reading| reading.timings.draft_ms, |round| round.draft_forwards),
        verify: per_forward(|reading| reading.timings.verify_ms, |round| round.verify_forwards),
        wall: Spread::of(times.walls.iter().copied()),
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use super::*;
    use crate::reader::testing::{Recorded, reading, round, two_lines};

    fn sources() -> Vec<Source> {
        vec![Source::Bytes { name: "recorded".to_owned(), bytes: Vec::new() }]
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
        let reader = Recorded::new((0..4).map(|_| Ok(two_lines())));
        let decode = [DecodeArg::Ar, DecodeArg::Spec { steps: 1 }];
        let ways = of_documents(&sources(), &decode, 2, &reader, &Interrupt::default()).unwrap();
        assert_eq!(ways.iter().map(|way| way.tally.requests).collect::<Vec<_>>(), [4, 4]);
        assert_eq!(ways.iter().map(|way| way.identical).collect::<Vec<_>>(), [None, Some((2, 2))]);
        assert_eq!(ways[1].verify, Spread { median: 10.0, min: 10.0, max: 10.0, count: 4 });
        assert_eq!(ways[1].wall.count, 2);
        // A run: two requests with five tokens after the prompt and 20 ms of decoding each.
        assert_eq!(ways[1].rate, Spread { median: 250.0, min: 250.0, max: 250.0, count: 2 });
    }

    #[test]
    fn a_failed_page_is_no_measurement() {
        let failed = Event::PageFailed { page: 0, message: "page 1 cannot be drawn".to_owned() };
        let reader = Recorded::new([Ok(vec![failed])]);
        let fault = of_documents(&sources(), &[DecodeArg::Ar], 3, &reader, &Interrupt::default()).unwrap_err();
        assert_eq!(fault, "page 1 cannot be drawn");
    }
}
