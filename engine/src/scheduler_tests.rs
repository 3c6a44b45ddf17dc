//! Jobs and their requests with recognizers that answer as the test says: in any order, wrongly, late or never.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeMap;
use std::time::Duration;

use image::RgbImage;
use proptest::prelude::*;

use super::*;
use crate::cancel::Cancel;
use crate::checkpoint::Unit;
use crate::decode::Decode;
use crate::event::{Event, Outcome};
use crate::page::PageResult;
use crate::plan::{Part, Plan};
use crate::recognizer::{Abilities, Prompt, Request, RequestOptions};
use crate::region::{Label, Region, Task};
use crate::run::PlannedPage;

/// A request that waits for what the test does with it.
struct Asked {
    /// Job, page, region and part, as its picture says.
    place: [u8; 4],
    sink: Box<dyn Sink>,
    cancel: Cancel,
}

/// Keeps requests until the test takes them.
struct Held {
    abilities: Abilities,
    asked: Mutex<Vec<Asked>>,
    changed: Condvar,
}

impl Recognizer for Held {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn submit(&self, request: Arc<Request>, sink: Box<dyn Sink>, cancel: Cancel) {
        let pixels = request.image.as_raw();
        let place = [pixels[0], pixels[1], pixels[2], pixels[3]];
        self.asked.lock().unwrap().push(Asked { place, sink, cancel });
        self.changed.notify_all();
    }
}

impl Held {
    fn new(concurrency: usize) -> Arc<Self> {
        let (unit, tasks) = (Unit::Region, vec![Task::Text]);
        let abilities = Abilities { unit, tasks, free_prompts: true, only_ar: None, concurrency };
        Arc::new(Self { abilities, asked: Mutex::default(), changed: Condvar::new() })
    }

    /// Waits for so many requests and takes one of them.
    fn take(&self, count: usize, which: usize) -> Asked {
        let asked = self.asked.lock().unwrap();
        let (mut asked, timeout) =
            self.changed.wait_timeout_while(asked, Duration::from_secs(60), |asked| asked.len() < count).unwrap();
        assert!(!timeout.timed_out(), "{} of {count} requests came", asked.len());
        asked.remove(which)
    }

    fn try_take(&self, which: usize) -> Option<Asked> {
        let mut asked = self.asked.lock().unwrap();
        (!asked.is_empty()).then(|| {
            let at = which % asked.len();
            asked.remove(at)
        })
    }
}

/// An engine's inside without documents.
struct Bench {
    scheduler: Arc<Scheduler>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Bench {
    fn new(recognizer: &Arc<Held>) -> Self {
        let scheduler = Arc::new(Scheduler::default());
        let (serving, recognizer) = (Arc::clone(&scheduler), Arc::clone(recognizer));
        let thread = std::thread::spawn(move || serving.serve(&*recognizer));
        Self { scheduler, thread: Some(thread) }
    }

    fn job(&self) -> Arc<Run> {
        let options = RequestOptions { decode: Decode::Ar, sampling: None, max_tokens: 10 };
        let looked = Arc::clone(&self.scheduler);
        let run = Arc::new(Run::new(options, || (), move || looked.look()));
        assert!(self.scheduler.add(&run));
        run
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.scheduler.close();
        self.thread.take().unwrap().join().unwrap();
    }
}

/// A page whose regions have so many parts each.
fn planned(job: u8, page: u8, parts: &[u8]) -> PlannedPage {
    let bounds = Rect::new(0, 0, 4, 1);
    let part = |region: usize, part: u8| Part {
        bounds,
        prompt: Prompt::Task(Task::Text),
        line: None,
        image: Some(RgbImage::from_raw(2, 1, vec![job, page, region as u8, part, 0, 0]).unwrap()),
    };
    let plan = |(region, count): (usize, &u8)| Plan {
        region: Region::new(Label::Text, bounds),
        parts: (0..*count).map(|n| part(region, n)).collect(),
        picture: false,
    };
    let result =
        PageResult { index: page.into(), width: 4, height: 1, dpi: None, skew_degrees: 0.0, regions: Vec::new() };
    PlannedPage { page: result, notice: None, plans: parts.iter().enumerate().map(plan).collect(), figures: Vec::new() }
}

fn text(place: [u8; 4]) -> String {
    place.map(|n| n.to_string()).join(".")
}

fn read(asked: Asked) {
    asked.sink.step(Step::Started);
    let status = if asked.cancel.is_cancelled() { Status::Cancelled } else { Status::Done };
    asked.sink.answer(Ok(Answer { text: text(asked.place), ..Answer::nothing(status) }));
}

fn events(run: &Run) -> Vec<Event> {
    std::iter::from_fn(|| run.next_event(Some(Duration::from_secs(60))).ok()).collect()
}

/// Checks that a job's events tell one story, in order, with nothing missing.
fn check(events: &[Event]) {
    let Some((Event::Finished { outcome }, before)) = events.split_last() else { panic!("no end: {events:?}") };
    let mut started: Vec<usize> = Vec::new();
    let (mut ended, mut failed): (Vec<usize>, Vec<usize>) = Default::default();
    let mut regions: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    let mut requests: BTreeMap<RequestId, bool> = BTreeMap::new();
    for event in before {
        match event {
            Event::Opened { .. } => assert!(std::ptr::eq(event, &before[0])),
            Event::PageStarted { page, regions: of_page, .. } => {
                assert!(started.last().is_none_or(|last| last < page), "{page} after {started:?}");
                started.push(*page);
                regions.insert(*page, (0, of_page.len()));
            }
            Event::RequestStarted { id, .. } => {
                assert!(started.contains(&id.page) && !ended.contains(&id.page));
                assert_eq!(requests.insert(*id, false), None);
            }
            Event::RequestFinished { id, .. } => assert_eq!(requests.insert(*id, true), Some(false), "{id:?}"),
            Event::RegionFinished { page, region, readings, .. } => {
                let (next, _) = regions.get_mut(page).unwrap();
                assert_eq!(region, next);
                *next += 1;
                let of = |id: &RequestId| id.page == *page && id.region == *region;
                let finished = requests.iter().filter(|(id, _)| of(id)).map(|(_, finished)| *finished);
                assert_eq!(finished.filter(|finished| *finished).count(), readings.len());
            }
            Event::PageFinished { page, .. } => {
                let (finished, of_page) = regions[&page.index];
                assert_eq!((finished, page.regions.len()), (of_page, of_page));
                assert!(ended.last().is_none_or(|last| *last < page.index) && started.contains(&page.index));
                ended.push(page.index);
            }
            Event::PageFailed { page, .. } => {
                assert!(ended.last().is_none_or(|last| last < page) && !started.contains(page));
                ended.push(*page);
                failed.push(*page);
            }
            Event::Finished { .. } => panic!("a second end"),
            _ => {}
        }
    }
    ended.retain(|page| !failed.contains(page));
    assert_eq!(started, ended, "{outcome:?}");
    assert!(requests.values().all(|finished| *finished));
}

/// One region that a person waits for goes before what a batch has left.
#[test]
fn a_new_small_job_is_next() {
    let recognizer = Held::new(1);
    let bench = Bench::new(&recognizer);
    let batch = bench.job();
    batch.planned(planned(0, 0, &[1; 50]));
    for _ in 0..20 {
        read(recognizer.take(1, 0));
    }
    let under_way = recognizer.take(1, 0);
    let small = bench.job();
    small.planned(planned(1, 0, &[1]));
    small.no_more_pages(Outcome::Completed);
    read(under_way);
    let next = recognizer.take(1, 0);
    assert_eq!(next.place[0], 1, "the new job's");
    read(next);
    check(&events(&small));

    // Two that began together share: neither waits for the other's end.
    let late = bench.job();
    late.planned(planned(2, 0, &[1; 50]));
    let mut jobs = Vec::new();
    for _ in 0..21 {
        let asked = recognizer.take(1, 0);
        jobs.push(asked.place[0]);
        read(asked);
    }
    let of_late = jobs.iter().filter(|job| **job == 2).count();
    assert!((9..=11).contains(&of_late), "{jobs:?}");
}

/// A listener that does not listen stops its own job and no other, and the end of the engine does not wait for it.
#[test]
fn a_job_nobody_listens_to_holds_up_nothing() {
    let recognizer = Held::new(2);
    let bench = Bench::new(&recognizer);
    let deaf = bench.job();
    deaf.planned(planned(0, 0, &[1; 3]));
    let chatty = recognizer.take(2, 0);
    for round in 0..5000 {
        chatty.sink.step(Step::Drafted { at_ms: 0.0, round, text: String::new() });
    }
    read(chatty); // its third request is not begun
    let other = bench.job();
    other.planned(planned(1, 0, &[1; 40]));
    other.no_more_pages(Outcome::Completed);
    for _ in 0..40 {
        let asked = recognizer.take(2, 1);
        assert_eq!(asked.place[0], 1);
        read(asked);
    }
    check(&events(&other));
    // Once it listens, it goes on.
    for _ in 0..1500 {
        deaf.next_event(Some(Duration::from_secs(60))).unwrap();
    }
    assert_eq!(recognizer.take(2, 1).place, [0, 0, 2, 0]);
    drop(bench);
}

/// A fault of the recognizer, and a request that it loses, are failures of their regions.
#[test]
fn what_no_recognizer_answers_has_failed() {
    let recognizer = Held::new(3);
    let bench = Bench::new(&recognizer);
    let run = bench.job();
    run.planned(planned(0, 0, &[1, 1, 1]));
    run.no_more_pages(Outcome::Completed);
    recognizer.take(3, 0).sink.answer(Err(Fault("the server is away".to_owned())));
    drop(recognizer.take(2, 0));
    read(recognizer.take(1, 0));
    let events = events(&run);
    check(&events);
    let Some(Event::PageFinished { page, .. }) = events.iter().rev().nth(1) else { panic!("{events:?}") };
    let statuses: Vec<_> = page.regions.iter().map(|region| region.status.clone()).collect();
    let failed = |sentence: &str| Status::Failed(sentence.to_owned());
    assert_eq!(statuses, [failed("the server is away"), failed("an internal error stopped this region"), Status::Done]);
}

/// A cancelled job ends at once where nothing is being read, also when its pages are never brought.
#[test]
fn a_cancelled_job_waits_for_nobody() {
    let recognizer = Held::new(1);
    let bench = Bench::new(&recognizer);
    let waiting = bench.job();
    waiting.opened(3, vec![0, 1, 2]);
    waiting.stop();
    assert_eq!(events(&waiting).last(), Some(&Event::Finished { outcome: Outcome::Cancelled }));
    waiting.planned(planned(0, 0, &[1])); // too late
    waiting.no_more_pages(Outcome::Completed);
    assert!(waiting.next_event(Some(Duration::ZERO)).is_err());

    // A figure that was cut belongs to the page that is kept, however it ended.
    let run = bench.job();
    let mut page = planned(1, 0, &[2, 0]);
    page.figures = vec![crate::page::Figure { region: 1, png: vec![1] }];
    run.planned(page);
    let asked = recognizer.take(1, 0);
    run.stop();
    read(asked);
    let events = events(&run);
    check(&events);
    let Some(Event::PageFinished { page, figures }) = events.iter().rev().nth(1) else { panic!("{events:?}") };
    assert_eq!((page.regions[0].status.clone(), figures.len()), (Status::Cancelled, 1));
    assert_eq!(page.regions[0].text, "1.0.0.0", "what was committed is kept");
}

#[derive(Clone, Debug)]
enum Page {
    Failed,
    /// Parts of each region.
    Planned(Vec<u8>),
}

fn pages() -> impl Strategy<Value = Vec<Page>> {
    let planned = prop::collection::vec(0..4u8, 0..5).prop_map(Page::Planned);
    prop::collection::vec(prop_oneof![1 => Just(Page::Failed), 5 => planned], 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Two jobs at once, answered in any order by several threads, cancelled anywhere or not: the events of each are
    /// complete and in order, and what was not cancelled is read whole.
    #[test]
    fn jobs_side_by_side_tell_whole_stories(
        jobs in prop::collection::vec((pages(), prop::option::of(0..60usize)), 2..4),
        concurrency in 1..4usize,
        seed: u64,
    ) {
        let recognizer = Held::new(concurrency);
        let bench = Bench::new(&recognizer);
        let runs: Vec<Arc<Run>> = jobs.iter().map(|_| bench.job()).collect();
        let left = AtomicUsize::new(jobs.len());
        let told = std::thread::scope(|scope| {
            // Who prepares pages, not more than two ahead.
            for (job, ((pages, _), run)) in jobs.iter().zip(&runs).enumerate() {
                scope.spawn(move || {
                    run.opened(pages.len(), (0..pages.len()).collect());
                    for (number, page) in pages.iter().enumerate() {
                        if !run.wait_for_room(|| 3) {
                            break;
                        }
                        match page {
                            Page::Failed => run.failed(number, "torn".to_owned()),
                            Page::Planned(parts) => run.planned(planned(job as u8, number as u8, parts)),
                        }
                    }
                    run.no_more_pages(Outcome::Completed);
                });
            }
            // Who answers.
            for thread in 0..2 {
                let (recognizer, left) = (&recognizer, &left);
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(seed + thread);
                    while left.load(Ordering::Relaxed) > 0 {
                        match recognizer.try_take(random.usize(..)) {
                            Some(asked) if asked.cancel.is_cancelled() && random.bool() => {
                                asked.sink.answer(Ok(Answer::nothing(Status::Cancelled)));
                            }
                            Some(asked) => read(asked),
                            None => std::thread::yield_now(),
                        }
                    }
                });
            }
            // Who listens, and stops after so many events.
            let listeners: Vec<_> = jobs.iter().zip(&runs).map(|((_, stop), run)| {
                let left = &left;
                scope.spawn(move || {
                    let mut told = Vec::new();
                    while let Ok(event) = run.next_event(Some(Duration::from_secs(60))) {
                        told.push(event);
                        if *stop == Some(told.len()) {
                            run.stop();
                        }
                    }
                    left.fetch_sub(1, Ordering::Relaxed);
                    told
                })
            }).collect();
            listeners.into_iter().map(|listener| listener.join().unwrap()).collect::<Vec<_>>()
        });
        for (job, (events, (pages, stop))) in told.iter().zip(&jobs).enumerate() {
            check(events);
            let Some(Event::Finished { outcome }) = events.last() else { unreachable!() };
            prop_assert!(*outcome == Outcome::Completed || stop.is_some());
            if *outcome != Outcome::Completed {
                continue;
            }
            let mut ended = events.iter().filter(|e| matches!(e, Event::PageFinished { .. } | Event::PageFailed { .. }));
            for (number, page) in pages.iter().enumerate() {
                match (page, ended.next()) {
                    (Page::Failed, Some(Event::PageFailed { page, .. })) => prop_assert_eq!(*page, number),
                    (Page::Planned(parts), Some(Event::PageFinished { page, .. })) => {
                        let texts = page.regions.iter().map(|r| r.readings.iter().map(|r| r.text.clone()).collect());
                        let want = parts.iter().enumerate().map(|(region, count)| {
                            (0..*count).map(|part| text([job as u8, number as u8, region as u8, part])).collect()
                        });
                        prop_assert_eq!(texts.collect::<Vec<Vec<String>>>(), want.collect::<Vec<Vec<String>>>());
                    }
                    (page, event) => prop_assert!(false, "{:?} ended as {:?}", page, event),
                }
            }
            prop_assert!(ended.next().is_none());
        }
    }
}
