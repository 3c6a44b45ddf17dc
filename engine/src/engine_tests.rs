//! The engine thread with the bundled checkpoint and with a small region reader: real pictures, real events.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::document::Turn;
use crate::event::{Event, RequestId};
use crate::job::{LayoutMode, PageOrder, Pages, Source};
use crate::page::{PageResult, Status};
use crate::region::{Label, Rect, Region, Role};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures")
}

fn start(checkpoint: CheckpointSource) -> Engine {
    Engine::start(EngineOptions { threads: Some(2), ..EngineOptions::new(checkpoint) }).unwrap()
}

fn finish(handle: &JobHandle) -> (Vec<Event>, Outcome) {
    let events: Vec<Event> = std::iter::from_fn(|| handle.recv()).collect();
    let Some(Event::Finished { outcome }) = events.last().cloned() else { panic!("no end: {events:?}") };
    (events, outcome)
}

fn page(events: &[Event]) -> &PageResult {
    events.iter().find_map(|e| if let Event::PageFinished { page, .. } = e { Some(&**page) } else { None }).unwrap()
}

/// The picture says what it says: drawn for the reference fixtures, 640 x 400, two paragraphs and a framed line.
#[test]
fn the_bundled_checkpoint_reads_a_picture_of_text() {
    let engine = start(CheckpointSource::Bundled);
    let path = fixtures().join("glm_ocr_cases/paragraph/image.png");
    let (events, outcome) = finish(&engine.submit(Job::new(Source::Path(path)), || ()).unwrap());
    assert_eq!(outcome, Outcome::Completed);
    let text: Vec<&str> = page(&events).regions.iter().map(|r| r.text.as_str()).collect();
    let text = text.join(" ");
    for words in ["Reading and Testing", "quick brown fox jumps over", "wait on the pier", "See also Note 2"] {
        assert!(text.contains(words), "{words:?} is not in {text:?}");
    }
}

/// What a listener hears is what the result says: pieces add up to the texts, everything begins before it ends, once.
#[test]
fn events_and_result_agree() {
    let engine = start(CheckpointSource::Bundled);
    let path = fixtures().join("glm_ocr_cases/paragraph/image.png");
    let wakes = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&wakes);
    let handle = engine
        .submit(Job::new(Source::Path(path)), move || {
            counter.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
    let (events, _) = finish(&handle);
    let mut texts: BTreeMap<(usize, usize), String> = BTreeMap::new();
    let mut next_round: BTreeMap<(usize, usize), u32> = BTreeMap::new();
    let mut ended = Vec::new();
    for event in &events {
        match event {
            Event::RequestStarted { id, .. } => {
                assert!(texts.insert((id.region, id.request), String::new()).is_none(), "begun twice: {id:?}");
            }
            Event::Drafted { id, round, .. } => assert_eq!(next_round[&(id.region, id.request)], *round),
            Event::Committed { id, round, pieces, drafted, .. } => {
                assert!(*drafted <= 5, "a small model drafts little");
                let next = next_round.entry((id.region, id.request)).or_default();
                assert_eq!(next, round);
                *next += 1;
                pieces.iter().for_each(|p| texts.get_mut(&(id.region, id.request)).unwrap().push_str(&p.text));
            }
            Event::RequestFinished { id: RequestId { region, request, .. }, .. } => ended.push((*region, *request)),
            _ => {}
        }
    }
    ended.sort_unstable();
    assert_eq!(ended, texts.keys().copied().collect::<Vec<_>>());
    let result = page(&events);
    let mut count = 0;
    for (region, read) in result.regions.iter().enumerate() {
        for (request, reading) in read.readings.iter().enumerate() {
            assert_eq!(texts[&(region, request)], reading.text);
            assert_eq!(next_round[&(region, request)] as usize, reading.rounds.len());
            count += 1;
        }
    }
    assert_eq!(count, texts.len());
    assert!(count >= 7, "a request for each line");
    assert!(wakes.load(Ordering::Relaxed) >= events.len() - 1);
    let regions_finished = events.iter().filter(|e| matches!(e, Event::RegionFinished { .. })).count();
    assert_eq!(regions_finished, result.regions.len());
}

#[test]
fn every_mode_reads_the_same_lines_and_speculation_changes_no_token() {
    let engine = start(CheckpointSource::Bundled);
    let path = fixtures().join("glm_ocr_cases/paragraph/image.png");
    let ids = |decode| {
        let job = Job { decode: Some(decode), ..Job::new(Source::Path(path.clone())) };
        let (events, _) = finish(&engine.submit(job, || ()).unwrap());
        let page = page(&events).clone();
        page.regions
            .iter()
            .flat_map(|r| &r.readings)
            .map(|r| r.rounds.iter().flat_map(|r| &r.committed).map(|t| t.id).collect())
            .collect::<Vec<Vec<u32>>>()
    };
    let ar = ids(Decode::Ar);
    assert!(ar.iter().map(Vec::len).sum::<usize>() > 100);
    assert_eq!(ids(Decode::SPEC), ar);
    assert_eq!(ids(Decode::Spec { steps: 3 }), ar);
    assert_eq!(ids(Decode::Diffusion { tau: 0.9, causal_seed: false }).len(), ar.len());
}

/// A region reader gets the region whole; this one was overfitted on the picture.
#[test]
fn a_region_reader_reads_what_it_was_taught() {
    let engine = start(CheckpointSource::Folder(fixtures().join("glm_ocr_tiny_trained")));
    let folder = fixtures().join("block_diffusion_cases/trained_receipt");
    let job = Job { layout: LayoutMode::None, ..Job::new(Source::Path(folder.join("image.png"))) };
    let (events, _) = finish(&engine.submit(job, || ()).unwrap());
    let region = &page(&events).regions[0];
    assert_eq!((region.status.clone(), region.readings.len()), (Status::Done, 1));
    let lessons = std::fs::read_to_string(fixtures().join("glm_ocr_tiny_trained/lessons.json")).unwrap();
    let quoted = serde_json::Value::String(region.readings[0].text.clone()).to_string();
    assert!(lessons.contains(quoted.trim_matches('"')), "{quoted} is no lesson");

    // A limit cuts it and says so.
    let job = Job { max_tokens: 3, layout: LayoutMode::None, ..Job::new(Source::Path(folder.join("image.png"))) };
    let (events, _) = finish(&engine.submit(job, || ()).unwrap());
    assert_eq!(page(&events).regions[0].status, Status::Truncated);
}

#[test]
fn a_blank_page_is_never_sent_to_the_model() {
    let engine = start(CheckpointSource::Bundled);
    let mut png = std::io::Cursor::new(Vec::new());
    image::RgbImage::from_pixel(900, 700, image::Rgb([250, 249, 246]))
        .write_to(&mut png, image::ImageFormat::Png)
        .unwrap();
    for layout in [LayoutMode::Auto, LayoutMode::None] {
        let source = Source::Bytes { name: "blank".into(), bytes: png.get_ref().clone() };
        let (events, outcome) = finish(&engine.submit(Job { layout, ..Job::new(source) }, || ()).unwrap());
        assert_eq!(outcome, Outcome::Completed);
        assert!(!events.iter().any(|e| matches!(e, Event::RequestStarted { .. })));
        let page = page(&events);
        assert!(page.regions.iter().all(|r| r.status == Status::Empty && r.text.is_empty()));
        assert_eq!(page.regions.len(), usize::from(layout == LayoutMode::None));
    }
}

#[test]
fn cancel_keeps_finished_regions_and_the_engine_goes_on() {
    let engine = start(CheckpointSource::Bundled);
    let path = fixtures().join("glm_ocr_cases/paragraph/image.png");
    let handle = engine.submit(Job::new(Source::Path(path.clone())), || ()).unwrap();
    let mut events = Vec::new();
    while let Some(event) = handle.recv() {
        if matches!(event, Event::RegionFinished { status: Status::Done, .. }) {
            handle.cancel();
        }
        events.push(event);
    }
    assert_eq!(events.last(), Some(&Event::Finished { outcome: Outcome::Cancelled }));
    let page = page(&events);
    let of = |status: &Status| page.regions.iter().filter(|r| &r.status == status).count();
    assert!(of(&Status::Done) >= 1, "the finished region is kept");
    assert!(page.regions.iter().filter(|r| r.status == Status::Done).all(|r| !r.text.is_empty()));
    assert!(of(&Status::Cancelled) >= 1, "the others say what happened");

    let (_, outcome) = finish(&engine.submit(Job::new(Source::Path(path)), || ()).unwrap());
    assert_eq!(outcome, Outcome::Completed);
}

#[test]
fn a_job_cancelled_while_waiting_reads_nothing() {
    let engine = start(CheckpointSource::Bundled);
    let path = fixtures().join("glm_ocr_cases/paragraph/image.png");
    let first = engine.submit(Job::new(Source::Path(path.clone())), || ()).unwrap();
    let second = engine.submit(Job::new(Source::Path(path)), || ()).unwrap();
    second.cancel();
    assert_eq!(finish(&first).1, Outcome::Completed);
    assert_eq!(finish(&second).0, [Event::Finished { outcome: Outcome::Cancelled }]);
}

#[test]
fn dropping_the_engine_or_the_handle_mid_job_does_not_hang() {
    let engine = start(CheckpointSource::Bundled);
    let path = fixtures().join("glm_ocr_cases/paragraph/image.png");
    drop(engine.submit(Job::new(Source::Path(path.clone())), || ()).unwrap());
    let handle = engine.submit(Job::new(Source::Path(path)), || ()).unwrap();
    drop(engine);
    assert_eq!(finish(&handle).1, Outcome::Cancelled);
}

#[test]
fn a_file_that_cannot_be_read_fails_with_its_sentence() {
    let engine = start(CheckpointSource::Bundled);
    let source = Source::Bytes { name: "empty.pdf".into(), bytes: Vec::new() };
    let (events, outcome) = finish(&engine.submit(Job::new(source), || ()).unwrap());
    assert_eq!(events.len(), 1);
    let Outcome::Failed(sentence) = outcome else { panic!("{outcome:?}") };
    assert!(sentence.contains("empty"), "{sentence}");
}

#[test]
fn a_checkpoint_that_cannot_draft_says_why_and_reads_autoregressively() {
    let folder = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(fixtures().join("glm_ocr_tiny_trained")).unwrap() {
        let file = file.unwrap();
        if file.file_name() != "block_diffusion.json" {
            std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
        }
    }
    let engine = start(CheckpointSource::Folder(folder.path().to_owned()));
    assert!(engine.info().only_ar.as_deref().unwrap().contains("block_diffusion.json"));
    let image = fixtures().join("block_diffusion_cases/trained_receipt/image.png");
    let job = |decode| Job { decode, layout: LayoutMode::None, ..Job::new(Source::Path(image.clone())) };
    let refused = engine.submit(job(Some(Decode::SPEC)), || ()).unwrap_err().to_string();
    assert!(refused.contains("only autoregressive"), "{refused}");
    let (events, _) = finish(&engine.submit(job(None), || ()).unwrap());
    assert_eq!(page(&events).regions[0].status, Status::Done);
}

/// Without a formula task, formulas are pictures; figures always are. Their pixels come with the page, once.
#[test]
fn what_is_not_read_is_handed_over_as_a_picture() {
    let engine = start(CheckpointSource::Bundled);
    let raster = image::open(fixtures().join("glm_ocr_cases/paragraph/image.png")).unwrap().to_rgb8();
    let boxes = [(Label::DisplayFormula, 20), (Label::Image, 60), (Label::Text, 20)];
    let regions = boxes.map(|(label, y)| Region::new(label, Rect::new(20, y, 600, y + 40))).to_vec();
    let job = ImageJob::new(raster.clone(), Question::Regions(regions));
    let (events, _) = finish(&engine.submit_image(job, || ()).unwrap());
    let statuses: Vec<Status> = page(&events).regions.iter().map(|r| r.status.clone()).collect();
    assert_eq!(statuses, [Status::Picture, Status::Picture, Status::Done]);
    let figures = |e: &Event| if let Event::PageFinished { figures, .. } = e { Some(figures.clone()) } else { None };
    let pictures = events.iter().find_map(figures).unwrap();
    assert_eq!(pictures.iter().map(|f| f.region).collect::<Vec<_>>(), [0, 1]);
    let picture = image::load_from_memory(&pictures[1].png).unwrap().to_rgb8();
    assert_eq!(picture.dimensions(), (580, 40));
    assert_eq!(picture.get_pixel(5, 7), raster.get_pixel(25, 67));
    assert!(page(&events).regions.iter().all(|r| r.region.label.role() != Role::Figure || r.text.is_empty()));
}

/// A page that lies on its side is turned by hand, and only the box that was drawn is read.
#[test]
fn given_regions_of_a_turned_page_are_read_and_nothing_else() {
    let engine = start(CheckpointSource::Bundled);
    let path = fixtures().join("glm_ocr_cases/paragraph/image.png");
    let upright = image::open(&path).unwrap().to_rgb8();
    let mut bytes = std::io::Cursor::new(Vec::new());
    image::imageops::rotate270(&upright).write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    let source = Source::Bytes { name: "lying.png".to_owned(), bytes: bytes.into_inner() };

    let whole = engine.submit(Job::new(Source::Path(path)), || ()).unwrap();
    let (events, _) = finish(&whole);
    let title = page(&events).regions.iter().find(|r| r.text.contains("Reading and Testing")).unwrap().clone();

    let order = |turn, regions| PageOrder { page: 0, turn, dpi: 200.0, regions };
    let drawn = Region::new(Label::Text, title.region.bounds);
    let pages = Pages::Ordered(vec![order(Turn::Right, Some(vec![drawn.clone()]))]);
    let (events, outcome) = finish(&engine.submit(Job { pages, ..Job::new(source) }, || ()).unwrap());
    assert_eq!(outcome, Outcome::Completed);
    let result = page(&events);
    assert_eq!((result.width, result.height), upright.dimensions());
    assert_eq!(result.regions.len(), 1);
    assert_eq!(result.regions[0].region.bounds, drawn.bounds);
    assert_eq!(result.regions[0].text, title.text);
    let told = events.iter().find_map(|e| match e {
        Event::RegionFinished { region, text, readings, .. } => Some((*region, text.clone(), readings.clone())),
        _ => None,
    });
    assert_eq!(told, Some((0, title.text, result.regions[0].readings.clone())));
}
