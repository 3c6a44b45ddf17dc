//! The engine's seams from outside: a recognizer and a detector that the engine has never seen.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use engine::cancel::Cancel;
use engine::checkpoint::Unit;
use engine::decode::Origin;
use engine::device::Device;
use engine::document::OpenOptions;
use engine::event::{Event, Outcome, Piece};
use engine::export::{DocumentResult, PageOutcome, markdown};
use engine::job::{ImageJob, Job, JobHandle, Pages, Question, Source};
use engine::layout::{BuiltInDetector, Detector, DetectorError};
use engine::page::{PageResult, Status};
use engine::recognizer::{
    Abilities, Answer, Fallback, Fault, Prompt, Recognizer, RecordedRecognizer, Request, Sink, Step,
};
use engine::region::{Label, Rect, Region, Task};
use engine::{Engine, EngineInfo, EngineParts};
use image::RgbImage;
use proptest::prelude::*;

/// A PDF whose page `n` has `n % 4` black bars, one for each region that [`Bars`] finds.
fn pdf(pages: usize) -> Vec<u8> {
    let mut objects = vec!["<< /Type /Catalog /Pages 2 0 R >>".to_owned()];
    let kids: Vec<String> = (0..pages).map(|page| format!("{} 0 R", 3 + 2 * page)).collect();
    objects.push(format!("<< /Type /Pages /Kids [{}] /Count {pages} >>", kids.join(" ")));
    for page in 0..pages {
        let bars: String = (0..page % 4).map(|bar| format!("20 {} {} 10 re f\n", 20 + 30 * bar, 40 + page)).collect();
        let contents = 4 + 2 * page;
        objects.push(format!("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents {contents} 0 R >>"));
        objects.push(format!("<< /Length {} >>\nstream\n{bars}\nendstream", bars.len() + 1));
    }
    let mut file = "%PDF-1.4\n".to_owned();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (number, object) in objects.iter().enumerate() {
        table += &format!("{:010} 00000 n \n", file.len());
        file += &format!("{} 0 obj\n{object}\nendobj\n", number + 1);
    }
    let start = file.len();
    file += &format!("{table}trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n", objects.len() + 1);
    file.into_bytes()
}

/// Finds the bars, from top to bottom.
#[derive(Debug, Default)]
struct Bars {
    searched: AtomicUsize,
}

impl Detector for Bars {
    fn detect(&self, page: &RgbImage) -> Result<Vec<Region>, DetectorError> {
        self.searched.fetch_add(1, Ordering::SeqCst);
        let dark = |y: u32| (0..page.width()).any(|x| page.get_pixel(x, y)[0] < 128);
        let mut regions = Vec::new();
        let mut top = None;
        for y in 0..page.height() {
            match (dark(y), top) {
                (true, None) => top = Some(y),
                (false, Some(first)) => {
                    let bounds = Rect::new(0, first, page.width(), y);
                    regions.push(Region { score: Some(0.5), ..Region::new(Label::Text, bounds) });
                    top = None;
                }
                _ => {}
            }
        }
        Ok(regions)
    }
}

/// Says how many dark pixels a picture has, in two rounds, from several threads and in an order of its own.
struct Counting {
    abilities: Abilities,
    waiting: Arc<Waiting>,
    answered: Arc<AtomicUsize>,
}

#[derive(Default)]
struct Waiting {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    requests: Vec<(Arc<Request>, Box<dyn Sink>, Cancel)>,
    closed: bool,
}

impl Counting {
    fn new(concurrency: usize, seed: u64) -> Self {
        let waiting = Arc::new(Waiting::default());
        let answered = Arc::new(AtomicUsize::new(0));
        for thread in 0..concurrency as u64 {
            let (waiting, answered) = (Arc::clone(&waiting), Arc::clone(&answered));
            let mut random = fastrand::Rng::with_seed(seed + thread);
            std::thread::spawn(move || {
                loop {
                    let mut queue = waiting.queue.lock().unwrap();
                    while queue.requests.is_empty() && !queue.closed {
                        queue = waiting.changed.wait(queue).unwrap();
                    }
                    if queue.requests.is_empty() {
                        return;
                    }
                    let at = random.usize(..queue.requests.len());
                    let (request, sink, cancel) = queue.requests.remove(at);
                    drop(queue);
                    answered.fetch_add(1, Ordering::SeqCst);
                    answer(&request, sink, &cancel);
                }
            });
        }
        let (unit, tasks) = (Unit::Region, vec![Task::Text]);
        let abilities = Abilities { unit, tasks, free_prompts: true, only_ar: None, concurrency };
        Self { abilities, waiting, answered }
    }
}

fn answer(request: &Request, sink: Box<dyn Sink>, cancel: &Cancel) {
    if cancel.is_cancelled() {
        return sink.answer(Ok(Answer::nothing(Status::Cancelled)));
    }
    sink.step(Step::Started);
    let dark = request.image.pixels().filter(|pixel| pixel[0] < 128).count();
    let pieces = [dark.to_string(), format!(" to {}", request.prompt.text())];
    for (round, text) in (0..).zip(&pieces) {
        sink.step(Step::Committed {
            at_ms: 0.5,
            round,
            drafted: 0,
            accepted: 0,
            tokens: 1,
            forwards: 1,
            pieces: vec![Piece { text: text.clone(), round, origin: Origin::Causal }],
        });
    }
    sink.answer(Ok(Answer { text: pieces.concat(), ..Answer::nothing(Status::Done) }));
}

impl Recognizer for Counting {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn submit(&self, request: Arc<Request>, sink: Box<dyn Sink>, cancel: Cancel) {
        self.waiting.queue.lock().unwrap().requests.push((request, sink, cancel));
        self.waiting.changed.notify_one();
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        self.waiting.queue.lock().unwrap().closed = true;
        self.waiting.changed.notify_all();
    }
}

fn engine(recognizer: Arc<dyn Recognizer>, detector: Arc<dyn Detector>) -> Engine {
    let info = EngineInfo {
        checkpoint: "none".to_owned(),
        device: Device::Cpu,
        fallback: None,
        kernel: "none",
        threads: 1,
        only_ar: None,
    };
    let parts = EngineParts { recognizer, detector, open: OpenOptions::default(), threads: Some(1) };
    Engine::of(parts, info).unwrap()
}

fn job(bytes: &[u8]) -> Job {
    Job { dpi: 72.0, ..Job::new(Source::Bytes { name: "bars.pdf".to_owned(), bytes: bytes.to_vec() }) }
}

fn events(handle: &JobHandle) -> Vec<Event> {
    std::iter::from_fn(|| handle.recv()).collect()
}

/// The document that the events amount to, as Markdown.
fn text(events: &[Event]) -> String {
    let page = |event: &Event| match event {
        Event::PageFinished { page, .. } => Some(PageOutcome::Page(PageResult::clone(page))),
        _ => None,
    };
    let document = DocumentResult { name: "bars".to_owned(), pages: events.iter().filter_map(page).collect() };
    markdown(&document, &Default::default())
}

#[test]
fn a_recognizer_and_a_detector_of_ones_own_read_a_document() {
    let file = pdf(6);
    let one = engine(Arc::new(Counting::new(1, 0)), Arc::new(Bars::default()));
    let told = events(&one.submit(job(&file), || ()).unwrap());
    let lines: Vec<String> = text(&told).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    // Bars of page n are 40 + n points wide and 10 high; pages 0 and 4 have none.
    let bars = [(1, 1), (2, 2), (3, 3), (5, 1)];
    let want: Vec<String> = bars
        .iter()
        .flat_map(|(page, count)| vec![format!("{} to Text Recognition:", (40 + page) * 10); *count])
        .collect();
    assert_eq!(lines, want);

    // Many at a time, the same text; and every event can be written down and read back.
    let many = engine(Arc::new(Counting::new(4, 7)), Arc::new(Bars::default()));
    let again = events(&many.submit(job(&file), || ()).unwrap());
    assert_eq!(text(&again), text(&told));
    for event in &again {
        let json = serde_json::to_string(event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), *event, "{json}");
    }

    // What was recorded can stand in for what reads.
    let abilities = Counting::new(1, 0).abilities.clone();
    let replay = engine(Arc::new(RecordedRecognizer::from_events(abilities, &told)), Arc::new(Bars::default()));
    assert_eq!(events(&replay.submit(job(&file), || ()).unwrap()), told);
}

/// A picture needs no document, and may be asked about in any words.
#[test]
fn a_single_picture_is_asked_about_by_task_or_in_ones_own_words() {
    let engine = engine(Arc::new(Counting::new(2, 1)), Arc::new(BuiltInDetector));
    let mut image = RgbImage::from_pixel(300, 60, image::Rgb([255; 3]));
    for (x, y) in (0..100).flat_map(|x| (0..10).map(move |y| (x, y))) {
        image.put_pixel(40 + x, 20 + y, image::Rgb([0; 3]));
    }
    let ask = |prompt: Prompt| {
        let job = ImageJob::new(image.clone(), Question::Whole(prompt));
        text(&events(&engine.submit_image(job, || ()).unwrap()))
    };
    assert_eq!(ask(Prompt::Task(Task::Text)).trim(), "1000 to Text Recognition:");
    assert_eq!(ask(Prompt::Free("Who signed it?".to_owned())).trim(), "1000 to Who signed it?");
}

/// A recognizer that gives everything back, as a server that is away.
struct Away(Abilities);

impl Recognizer for Away {
    fn abilities(&self) -> &Abilities {
        &self.0
    }

    fn submit(&self, _: Arc<Request>, sink: Box<dyn Sink>, _: Cancel) {
        sink.step(Step::Started);
        sink.answer(Err(Fault("the server is away".to_owned())));
    }
}

#[test]
fn another_recognizer_reads_what_one_gives_back() {
    let abilities = Counting::new(1, 0).abilities.clone();
    let fallback = Fallback::new(Arc::new(Away(abilities)), "this computer", || Ok(Arc::new(Counting::new(2, 3))));
    let engine = engine(Arc::new(fallback), Arc::new(Bars::default()));
    let told = events(&engine.submit(job(&pdf(3)), || ()).unwrap());
    let restarts: Vec<&str> = told
        .iter()
        .filter_map(|event| match event {
            Event::RequestRestarted { reason, .. } => Some(reason.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(restarts, ["the server is away; this computer reads this part"; 3]);
    assert!(text(&told).starts_with("410 to"), "{}", text(&told));
}

/// Two pages are prepared while one is read, and no more.
#[test]
fn pages_are_prepared_two_ahead() {
    /// Searches nothing before so many requests were answered that the page is at most two ahead.
    #[derive(Debug)]
    struct Watched {
        bars: Bars,
        answered: Arc<AtomicUsize>,
        too_early: AtomicUsize,
    }
    impl Detector for Watched {
        fn detect(&self, page: &RgbImage) -> Result<Vec<Region>, DetectorError> {
            let page_number = self.bars.searched.load(Ordering::SeqCst);
            // One bar on each page that is ordered: pages before this one but two are read.
            if self.answered.load(Ordering::SeqCst) + 2 < page_number {
                self.too_early.fetch_add(1, Ordering::SeqCst);
            }
            self.bars.detect(page)
        }
    }
    let recognizer = Counting::new(1, 0);
    let answered = Arc::clone(&recognizer.answered);
    let watched = Arc::new(Watched { bars: Bars::default(), answered, too_early: AtomicUsize::new(0) });
    let engine = engine(Arc::new(recognizer), Arc::clone(&watched) as Arc<dyn Detector>);
    let pages = Pages::Listed((0..30).map(|n| (4 * n + 2).to_string()).collect::<Vec<_>>().join(","));
    let told = events(&engine.submit(Job { pages, ..job(&pdf(120)) }, || ()).unwrap());
    assert_eq!(told.last(), Some(&Event::Finished { outcome: Outcome::Completed }));
    assert_eq!(watched.bars.searched.load(Ordering::SeqCst), 30);
    assert_eq!(watched.too_early.load(Ordering::SeqCst), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Jobs side by side, cancelled anywhere: each hears of its own pages only, whole and in order.
    #[test]
    fn jobs_side_by_side_do_not_mix(
        stops in prop::collection::vec(prop::option::of(1..60usize), 2..4),
        concurrency in 1..4usize,
        seed: u64,
    ) {
        let file = pdf(7);
        let engine = engine(Arc::new(Counting::new(concurrency, seed)), Arc::new(Bars::default()));
        let handles: Vec<JobHandle> =
            stops.iter().map(|_| engine.submit(job(&file), || ()).unwrap()).collect();
        let told: Vec<Vec<Event>> = std::thread::scope(|scope| {
            let listening: Vec<_> = handles
                .iter()
                .zip(&stops)
                .map(|(handle, stop)| {
                    scope.spawn(move || {
                        let mut told = Vec::new();
                        while let Some(event) = handle.recv() {
                            told.push(event);
                            if *stop == Some(told.len()) {
                                handle.cancel();
                            }
                        }
                        told
                    })
                })
                .collect();
            listening.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for (events, stop) in told.iter().zip(&stops) {
            let Some(Event::Finished { outcome }) = events.last() else { panic!("no end") };
            let begun: Vec<usize> = events.iter().filter_map(|event| match event {
                Event::PageStarted { page, .. } => Some(*page),
                _ => None,
            }).collect();
            let ended: Vec<usize> = events.iter().filter_map(|event| match event {
                Event::PageFinished { page, .. } => Some(page.index),
                _ => None,
            }).collect();
            prop_assert_eq!(&begun, &ended);
            prop_assert_eq!(&begun, &(0..begun.len()).collect::<Vec<_>>());
            match outcome {
                Outcome::Completed => prop_assert_eq!(begun.len(), 7),
                other => prop_assert!(stop.is_some() && *other == Outcome::Cancelled, "{:?}", other),
            }
        }
    }
}
