//! The first page of the sample, read by a script: the same texts, rounds and times on every machine.

use std::path::PathBuf;
use std::sync::OnceLock;

use engine::decode::{Committed, Decode, Origin, Round};
use engine::document::{Document, OpenOptions, PdfRenderer, Turn};
use engine::event::{Event, Outcome, Piece, RequestId};
use engine::job::{Job, PageOrder, Pages};
use engine::page::{PageResult, Reading, RegionResult, Status, Timings};
use engine::pipeline::sheet;
use engine::region::{Region, Role, Task};

use image::RgbImage;
use tempfile::TempDir;

use super::support::{Script, root, sample_pdf};

/// The page as pixels: drawn by the renderer that is always there, whichever the window would choose.
fn page_pixels() -> RgbImage {
    let options = OpenOptions { pdf_renderer: PdfRenderer::Hayro, ..OpenOptions::default() };
    let mut document = Document::open(&sample_pdf(), &options).unwrap();
    sheet(&mut document, 0, 200.0, Turn::None).unwrap().pixels
}

/// A scan of the page.
pub(crate) fn scan() -> PathBuf {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        page_pixels().save(folder.path().join(SCAN)).unwrap();
        folder
    });
    folder.path().join(SCAN)
}

/// Its name.
const SCAN: &str = "gravity-scan.png";

/// The regions of the page, as the detector finds them.
fn regions() -> &'static [Region] {
    static REGIONS: OnceLock<Vec<Region>> = OnceLock::new();
    REGIONS.get_or_init(|| engine::layout::detect(&page_pixels()))
}

/// What the page says, paragraph by paragraph.
fn paragraphs() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("assets/samples/gravity-sample.md")).unwrap();
    text.split("\n\n").filter(|block| !block.starts_with("<!--")).map(|block| block.replace(['#', '*'], "")).collect()
}

/// The text of a region of that page.
fn text_of(region: &Region) -> String {
    let read = |region: &&Region| !matches!(region.label.role(), Role::Figure | Role::Furniture);
    let at = regions().iter().filter(read).position(|other| other.bounds == region.bounds);
    match at {
        Some(at) => paragraphs().into_iter().nth(at).unwrap_or_default().trim().to_owned(),
        None => "A short note on gravity".to_owned(),
    }
}

/// A script that reads every page as if it were that one.
pub(crate) fn script() -> Script {
    Script::new(|job| {
        let Pages::Ordered(orders) = &job.pages else { panic!("pages are given one by one") };
        orders
            .iter()
            .flat_map(|order| page(job, order))
            .chain([Event::Finished { outcome: Outcome::Completed }])
            .collect()
    })
}

/// How many events a reading of the whole page has when, in its first paragraph's third line, a draft stands that is
/// about to be refused.
pub(crate) fn mid_decode() -> usize {
    let order = PageOrder { page: 0, turn: Turn::None, dpi: 200.0, regions: None };
    let events = page(&Job::new(engine::job::Source::Path(sample_pdf())), &order);
    let here = RequestId { page: 0, region: 2, request: 2 };
    let stands =
        |event: &Event| matches!(event, Event::Drafted { id, text, .. } if *id == here && text.ends_with("wrong word"));
    1 + events.iter().position(stands).unwrap()
}

fn page(job: &Job, order: &PageOrder) -> Vec<Event> {
    let regions = order.regions.clone().unwrap_or_else(|| regions().to_vec());
    let started =
        Event::PageStarted { page: order.page, width: 1700, height: 2200, regions: regions.clone(), notice: None };
    let mut events = vec![started];
    let mut results = Vec::new();
    for (at, region) in regions.iter().enumerate() {
        let (status, text, readings) = match region.label.role() {
            Role::Figure => (Status::Picture, String::new(), Vec::new()),
            _ => read(job, order.page, at, region, &text_of(region), &mut events),
        };
        let finished = RegionResult { region: region.clone(), status, text, readings };
        let RegionResult { status, text, readings, .. } = finished.clone();
        events.push(Event::RegionFinished { page: order.page, region: at, status, text, readings });
        results.push(finished);
    }
    let page = PageResult {
        index: order.page,
        width: 1700,
        height: 2200,
        dpi: Some(200.0),
        skew_degrees: 0.0,
        regions: results,
    };
    events.push(Event::PageFinished { page: Box::new(page), figures: Vec::new() });
    events
}

/// A region read line by line.
fn read(
    job: &Job,
    page: usize,
    region: usize,
    place: &Region,
    text: &str,
    events: &mut Vec<Event>,
) -> (Status, String, Vec<Reading>) {
    let words: Vec<&str> = text.split_inclusive(' ').collect();
    let mut readings = Vec::new();
    let mut taken = 0;
    for (request, line) in place.lines.iter().enumerate() {
        // Each line takes a share of the text that is its share of all lines' width.
        let width =
            |lines: &[engine::region::Line]| lines.iter().map(|line| line.bounds.width() as usize).sum::<usize>();
        let until = text.len() * width(&place.lines[..=request]) / width(&place.lines).max(1);
        let end = (taken..words.len()).find(|&end| words[..end].concat().len() >= until).unwrap_or(words.len());
        let part = taken..if request + 1 == place.lines.len() { words.len() } else { end };
        taken = part.end;
        let id = RequestId { page, region, request };
        events.push(Event::RequestStarted { id, bounds: line.bounds });
        let rounds = rounds(job, id, &words[part.clone()], events);
        let forwards = rounds.len() as f64;
        let timings = match job.decode {
            Some(Decode::Ar) => Timings { vision_ms: 4.0, prefill_ms: 1.5, draft_ms: 4.0 * forwards, verify_ms: 0.0 },
            _ => Timings { vision_ms: 4.0, prefill_ms: 1.5, draft_ms: 5.0 * forwards, verify_ms: 5.5 * forwards },
        };
        events.push(Event::RequestFinished { id, status: Status::Done, timings });
        let reading = Reading {
            bounds: line.bounds,
            task: Task::Text,
            status: Status::Done,
            text: words[part].concat(),
            rounds,
            timings,
            line: Some(request),
        };
        readings.push(reading);
    }
    (Status::Done, text.to_owned(), readings)
}

/// A line's rounds: one token a word; with drafts, three words a round, the third being the verifier's own in every
/// second round.
fn rounds(job: &Job, id: RequestId, words: &[&str], events: &mut Vec<Event>) -> Vec<Round> {
    let drafts = job.decode != Some(Decode::Ar);
    let mut rounds: Vec<Round> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let index = rounds.len() as u32;
        let count = if drafts && index > 0 { 3 } else { 1 };
        let taken = &words[at..words.len().min(at + count)];
        let at_ms = 5.5 + f64::from(index) * if drafts { 10.5 } else { 4.0 };
        let refused = drafts && index % 2 == 1 && taken.len() == 3;
        let drafted = drafts && index > 0;
        if drafted {
            let text = if refused { format!("{}{}wrong word", taken[0], taken[1]) } else { taken.concat() };
            events.push(Event::Drafted { id, at_ms: at_ms - 5.0, round: index, text });
        }
        let origin = |place: usize| match place {
            0 => Origin::Causal,
            2 if refused => Origin::Correction,
            _ => Origin::Accepted,
        };
        let accepted = if refused { 1 } else { taken.len() as u32 - 1 };
        let pieces = taken.iter().enumerate().map(|(place, word)| Piece {
            text: (*word).to_owned(),
            round: index,
            origin: origin(place),
        });
        events.push(Event::Committed {
            id,
            at_ms,
            round: index,
            drafted: if drafted { 8 } else { 0 },
            accepted: if drafted { accepted } else { 0 },
            tokens: taken.len() as u32,
            forwards: if index == 0 { 0 } else { 1 + u32::from(drafts) },
            pieces: pieces.collect(),
        });
        let committed = (0..taken.len()).map(|place| Committed {
            id: (at + place) as u32,
            origin: origin(place),
            confidence: 0.97,
        });
        rounds.push(Round {
            index,
            draft: if drafted { vec![7; 8] } else { Vec::new() },
            draft_confidence: if drafted { vec![0.5; 8] } else { Vec::new() },
            verify: if drafted { vec![7; 9] } else { Vec::new() },
            accepted: if drafted { accepted } else { 0 },
            committed: committed.collect(),
            draft_forwards: u32::from(index > 0),
            verify_forwards: u32::from(drafted),
            prefill_ms: if index == 0 { 1.5 } else { 0.0 },
            draft_ms: if index > 0 { 5.0 } else { 0.0 },
            verify_ms: if drafted { 5.5 } else { 0.0 },
            ..Round::default()
        });
        at += taken.len();
    }
    rounds
}
