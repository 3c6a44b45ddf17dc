//! The window as a whole, with a reader that does as it is told: what goes to the engine, and what becomes of its answers.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod care;
mod files;
mod run;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use engine::document::Turn;
use engine::event::{Event, Outcome};
use engine::job::{Job, Pages, Source};
use engine::page::{PageResult, Status};
use engine::region::{Label, Rect, Region};
use engine::{EngineInfo, EngineOptions};

use super::action::Action;
use super::app::{Backend, Started, Window, WindowOptions};
use super::command::Command;
use super::librarian::testing;
use super::state::{EngineState, Tool};
use super::workspace::project::{PageKey, RegionId};
use crate::reader::{Next, Reader, Running, Waker};

/// What the tests and the reader share.
#[derive(Default)]
struct ScriptedEngine {
    /// Jobs that came in.
    jobs: Mutex<Vec<Job>>,
    /// Events to be handed out, oldest first.
    events: Mutex<std::collections::VecDeque<Event>>,
    starts: AtomicUsize,
    /// What the engines were started with.
    options: Mutex<Vec<EngineOptions>>,
    cancels: AtomicUsize,
    /// Why the next engines do not start.
    faults: Mutex<Vec<String>>,
    /// The engine's thread is gone.
    gone: AtomicBool,
}

impl ScriptedEngine {
    fn say(&self, events: impl IntoIterator<Item = Event>) {
        self.events.lock().unwrap().extend(events);
    }

    fn job(&self, at: usize) -> Job {
        self.jobs.lock().unwrap()[at].clone()
    }

    fn regions(&self, at: usize) -> Vec<Rect> {
        let Pages::Ordered(orders) = self.job(at).pages else { panic!("pages are given one by one") };
        orders[0].regions.iter().flatten().map(|region| region.bounds).collect()
    }
}

struct ScriptedReader(Arc<ScriptedEngine>);
struct ScriptedJob(Arc<ScriptedEngine>);

impl Reader for ScriptedReader {
    fn start(&self, job: Job, _: Waker) -> Result<Box<dyn Running>, String> {
        self.0.jobs.lock().unwrap().push(job);
        Ok(Box::new(ScriptedJob(Arc::clone(&self.0))))
    }
}

impl Running for ScriptedJob {
    fn next(&mut self, _: Duration) -> Next {
        if self.0.gone.load(Ordering::Relaxed) {
            return Next::Gone;
        }
        self.0.events.lock().unwrap().pop_front().map_or(Next::Quiet, Next::Event)
    }

    fn cancel(&self) {
        self.0.cancels.fetch_add(1, Ordering::Relaxed);
    }
}

struct Test {
    window: Harness<'static, Window>,
    engine: Arc<ScriptedEngine>,
}

impl Test {
    /// A window with a PDF of so many pages, its first page drawn.
    fn with_pages(count: usize) -> Self {
        let engine = Arc::new(ScriptedEngine::default());
        let shared = Arc::clone(&engine);
        let backend: Backend = Arc::new(move |options| {
            shared.options.lock().unwrap().push(options);
            shared.starts.fetch_add(1, Ordering::Relaxed);
            if let Some(fault) = shared.faults.lock().unwrap().pop() {
                return Err(fault);
            }
            let info = EngineInfo {
                checkpoint: "engine".to_owned(),
                device: engine::device::Device::Cpu,
                fallback: None,
                kernel: "none",
                threads: 1,
                only_ar: None,
            };
            Ok(Started { reader: Box::new(ScriptedReader(Arc::clone(&shared))), info })
        });
        let options = WindowOptions::new(Vec::new(), backend);
        let window = Harness::builder()
            .with_size([1200.0, 800.0])
            .build_eframe(|creation| Window::new(creation, options).unwrap());
        let mut test = Self { window, engine };
        let id = test
            .state()
            .project
            .add("pages.pdf".to_owned(), Source::Bytes { name: "pages.pdf".to_owned(), bytes: testing::pages(count) });
        test.act(Action::Go(PageKey { document: id, page: 0 }));
        test.until(|window| window.state.view.page.is_some_and(|key| window.state.sheets.full(key).is_some()));
        test
    }

    fn state(&mut self) -> &mut super::state::State {
        &mut self.window.state_mut().state
    }

    fn act(&mut self, action: Action) {
        self.window.state_mut().apply(action);
        self.window.step();
    }

    #[track_caller]
    fn until(&mut self, seen: impl Fn(&Window) -> bool) {
        let patience = Instant::now() + Duration::from_secs(60);
        while !seen(self.window.state()) {
            assert!(Instant::now() < patience, "it did not happen");
            self.window.step();
            std::thread::sleep(Duration::from_millis(3));
        }
    }

    fn frames(&mut self, count: usize) {
        self.window.run_steps(count);
    }

    /// Three boxes one below the other.
    fn draw_three(&mut self) -> Vec<RegionId> {
        for y in [20, 90, 160] {
            self.act(Action::Draw(Rect::new(50, y, 400, y + 50)));
        }
        self.act(Action::Select(Vec::new()));
        self.state().page().unwrap().regions.iter().map(|region| region.id).collect()
    }

    fn recognize(&mut self) {
        self.act(Action::Do(Command::Recognize));
        let jobs = self.engine.jobs.lock().unwrap().len();
        let engine = Arc::clone(&self.engine);
        if jobs == 0 {
            self.until(move |_| !engine.jobs.lock().unwrap().is_empty());
        }
    }

    fn text(&mut self, id: RegionId) -> String {
        self.state().page().unwrap().region(id).unwrap().text().to_owned()
    }
}

fn started(page: usize) -> Event {
    Event::PageStarted {
        page,
        width: 556,
        height: 278,
        regions: vec![Region::new(Label::Text, Rect::default()); 3],
        notice: None,
    }
}

fn finished(page: usize, region: usize, status: Status, text: &str) -> Event {
    Event::RegionFinished { page, region, status, text: text.to_owned(), readings: Vec::new() }
}

fn page_finished(index: usize) -> Event {
    let page = PageResult { index, width: 556, height: 278, dpi: Some(200.0), skew_degrees: 0.0, regions: Vec::new() };
    Event::PageFinished { page: Box::new(page), figures: Vec::new() }
}

#[test]
fn nothing_of_the_model_is_loaded_before_it_is_needed() {
    let mut test = Test::with_pages(1);
    test.frames(20);
    assert_eq!(test.engine.starts.load(Ordering::Relaxed), 0);
    assert!(matches!(test.state().engine, EngineState::Asleep));
    test.recognize();
    assert_eq!(test.engine.starts.load(Ordering::Relaxed), 1);
}

#[test]
fn what_was_cancelled_is_read_next_and_what_was_finished_stays() {
    let mut test = Test::with_pages(1);
    let ids = test.draw_three();
    test.recognize();
    assert_eq!(test.engine.regions(0).len(), 3);
    test.engine.say([started(0), finished(0, 1, Status::Done, "second")]);
    test.frames(3);
    test.act(Action::CancelRun);
    assert_eq!(test.engine.cancels.load(Ordering::Relaxed), 1);
    test.engine.say([
        finished(0, 0, Status::Cancelled, "fir"),
        finished(0, 2, Status::Cancelled, ""),
        page_finished(0),
        Event::Finished { outcome: Outcome::Cancelled },
    ]);
    test.frames(5);
    assert!(test.state().run.is_none());
    assert_eq!(ids.iter().map(|id| test.text(*id)).collect::<Vec<_>>(), ["fir", "second", ""]);
    // A cancelled region is not finished.
    test.recognize();
    test.frames(2);
    assert_eq!(test.engine.regions(1), [Rect::new(50, 20, 400, 70), Rect::new(50, 160, 400, 210)]);
    test.engine.say([
        started(0),
        finished(0, 0, Status::Done, "first"),
        finished(0, 1, Status::Done, "third"),
        page_finished(0),
        Event::Finished { outcome: Outcome::Completed },
    ]);
    test.frames(5);
    assert_eq!(ids.iter().map(|id| test.text(*id)).collect::<Vec<_>>(), ["first", "second", "third"]);
    // All are read: now all are read again. A cancel takes nothing away.
    test.recognize();
    test.frames(2);
    assert_eq!(test.engine.regions(2).len(), 3);
    test.engine.say([
        started(0),
        finished(0, 0, Status::Cancelled, "f"),
        Event::Finished { outcome: Outcome::Cancelled },
    ]);
    test.frames(5);
    assert_eq!(test.text(ids[0]), "first");
    // One undo takes back a whole run, the last; another the first.
    test.act(Action::Do(Command::Undo));
    assert_eq!(ids.iter().map(|id| test.text(*id)).collect::<Vec<_>>(), ["fir", "second", ""]);
    test.act(Action::Do(Command::Undo));
    assert_eq!(ids.iter().map(|id| test.text(*id)).collect::<Vec<_>>(), ["", "", ""]);
    test.act(Action::Do(Command::Redo));
    test.act(Action::Do(Command::Redo));
    assert_eq!(ids.iter().map(|id| test.text(*id)).collect::<Vec<_>>(), ["first", "second", "third"]);
}

#[test]
fn answers_come_to_pages_that_are_being_read_only() {
    let mut test = Test::with_pages(1);
    let ids = test.draw_three();
    test.recognize();
    test.engine.say([started(0)]);
    test.frames(3);
    test.engine.say([finished(0, 0, Status::Done, "first"), page_finished(0)]);
    test.frames(3);
    test.act(Action::Reorder { region: ids[2], to: 0 });
    test.act(Action::Select(vec![ids[1]]));
    test.act(Action::Do(Command::Delete));
    // A page that is done gets nothing more.
    test.engine.say([finished(0, 2, Status::Done, "late"), Event::Finished { outcome: Outcome::Completed }]);
    test.frames(5);
    let page = test.state().page().unwrap().clone();
    let texts: Vec<_> = page.regions.iter().map(|region| (region.id, region.text())).collect();
    assert_eq!(texts, [(ids[2], ""), (ids[0], "first")]);
}

#[test]
fn a_turned_page_is_read_as_it_is_seen() {
    let mut test = Test::with_pages(1);
    test.draw_three();
    test.act(Action::Do(Command::RotateRight));
    test.recognize();
    let Pages::Ordered(orders) = test.engine.job(0).pages else { panic!("pages are given one by one") };
    assert_eq!((orders[0].turn, orders[0].dpi), (Turn::Right, 200.0));
    // The page has 556 x 278 pixels: what was 20 below the top is 20 from the right edge now.
    let size = test.state().page().unwrap().size.unwrap();
    assert_eq!(size, [278, 556]);
    assert_eq!(orders[0].regions.as_ref().unwrap()[0].bounds, Rect::new(278 - 70, 50, 278 - 20, 400));
}

#[test]
fn a_resolution_once_drawn_on_is_kept() {
    let mut test = Test::with_pages(2);
    test.draw_three();
    let mut settings = test.state().settings.clone();
    settings.dpi = 300;
    test.act(Action::Settings(Box::new(settings)));
    test.act(Action::Do(Command::RecognizeDocument));
    test.until(|window| window.state.run.is_some());
    let Pages::Ordered(orders) = test.engine.job(0).pages else { panic!("pages are given one by one") };
    assert_eq!(orders.iter().map(|order| order.dpi).collect::<Vec<_>>(), [200.0, 300.0]);
    assert_eq!(orders.iter().map(|order| order.regions.is_some()).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn one_bad_page_stops_no_other_and_says_so() {
    let mut test = Test::with_pages(3);
    test.act(Action::Do(Command::RecognizeDocument));
    test.until(|window| window.state.run.is_some());
    test.engine.say([
        started(0),
        page_finished(0),
        Event::PageFailed { page: 1, message: "the page is damaged".to_owned() },
        started(2),
        finished(2, 0, Status::Done, "last"),
        page_finished(2),
        Event::Finished { outcome: Outcome::Completed },
    ]);
    test.frames(8);
    let pages = test.state().document().unwrap().pages.clone();
    assert_eq!(pages[1].error.as_deref(), Some("the page is damaged"));
    assert_eq!(pages[2].regions[0].text(), "last");
    assert!(test.state().messages.iter().any(|message| message.text == "Page 2: the page is damaged"));
    // The view went along from page to page.
    assert_eq!(test.state().view.page.unwrap().page, 2);
}

#[test]
fn a_person_who_turns_pages_is_left_where_they_are() {
    let mut test = Test::with_pages(3);
    test.act(Action::Do(Command::RecognizeDocument));
    test.until(|window| window.state.run.is_some());
    test.engine.say([started(0)]);
    test.frames(3);
    test.act(Action::Do(Command::LastPage));
    test.act(Action::Do(Command::FirstPage));
    test.act(Action::Do(Command::LastPage));
    test.engine.say([page_finished(0), started(1), page_finished(1)]);
    test.frames(5);
    assert_eq!(test.state().view.page.unwrap().page, 2);
}

#[test]
fn escape_leaves_the_innermost_thing_first() {
    let mut test = Test::with_pages(1);
    let ids = test.draw_three();
    test.act(Action::Do(Command::DrawRegion));
    test.recognize();
    test.engine.say([started(0)]);
    test.frames(2);
    test.act(Action::Select(vec![ids[0]]));
    test.act(Action::Do(Command::Shortcuts));
    test.act(Action::Do(Command::Cancel));
    assert!(test.state().modal.is_none() && test.state().view.tool == Tool::Draw);
    test.act(Action::Do(Command::Cancel));
    assert_eq!(test.state().view.tool, Tool::Select);
    assert_eq!(test.engine.cancels.load(Ordering::Relaxed), 0);
    test.act(Action::Do(Command::Cancel));
    assert_eq!(test.engine.cancels.load(Ordering::Relaxed), 1);
    test.engine.say([Event::Finished { outcome: Outcome::Cancelled }]);
    test.frames(3);
    test.act(Action::Do(Command::Cancel));
    assert!(test.state().view.selection.is_empty());
}

/// I2 of the cases: pages changed quickly while a page is read, and the document closed in the middle.
#[test]
fn quick_paging_and_closing_in_mid_decode_break_nothing() {
    let mut test = Test::with_pages(60);
    test.recognize();
    test.engine.say([started(0)]);
    for page in 0..50 {
        let document = test.state().project.documents[0].id;
        test.act(Action::Go(PageKey { document, page: page * 7 % 60 }));
    }
    test.engine.say([finished(0, 0, Status::Done, "read")]);
    test.frames(2);
    let id = test.state().project.documents[0].id;
    test.window.state_mut().close(id);
    test.frames(1);
    test.engine.say([
        finished(0, 1, Status::Done, "too late"),
        page_finished(0),
        Event::Finished { outcome: Outcome::Cancelled },
    ]);
    test.frames(20);
    assert!(test.state().run.is_none());
    assert!(test.state().project.documents.is_empty());
    assert!(test.window.query_by_label("Open the sample").is_some(), "the window is as it was at first");
}

#[test]
fn a_thousand_pages_open_before_their_thumbnails_and_take_no_more_memory() {
    let mut test = Test::with_pages(1000);
    // The first page is there; of the thumbnails only those that are seen were asked for.
    assert_eq!(test.state().document().unwrap().pages.len(), 1000);
    assert!(test.state().view.thumbnails.len() < 20, "{:?}", test.state().view.thumbnails.len());
    for _ in 0..40 {
        test.act(Action::Do(Command::NextPage));
        test.until(|window| window.state.sheets.full(window.state.view.page.unwrap()).is_some());
        let (full, thumbnails) = test.state().sheets.held();
        assert!(full <= 3 && thumbnails <= 400, "{full} pages, {thumbnails} thumbnails");
    }
    assert_eq!(test.state().view.page.unwrap().page, 40);
}
