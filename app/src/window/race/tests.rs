use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use eframe::egui::Key;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use engine::EngineInfo;
use engine::decode::Decode;
use engine::device::Device;
use engine::document::Turn;
use engine::event::{Event, Outcome, Piece, RequestId};
use engine::job::{Job, PageOrder, Pages, Source};
use engine::page::{PageResult, Reading, RegionResult, Status, Timings};
use engine::region::{Label, Rect, Region};

use super::*;
use crate::cli::{ModelArgs, PdfRendererArg, Weights};
use crate::reader::testing::{finished, opened, over, reading, round};
use crate::reader::{EngineReader, Next, Reader, Running, Waker};
use crate::window::action::Action;
use crate::window::rounds::testing::window;
use crate::window::state::EngineState;
use crate::window::strings;
use crate::window::workspace::log::RequestText;
use crate::window::workspace::notice::Notice;
use crate::window::workspace::project::{DocumentId, PageKey, RegionId};

/// A reader of recorded jobs. A job whose events end without `Finished` is still at work.
#[derive(Default)]
struct Recorded {
    jobs: RefCell<VecDeque<Result<Vec<Event>, String>>>,
    /// The ways that were asked for.
    started: RefCell<Vec<Option<Decode>>>,
    cancelled: Rc<Cell<usize>>,
}

struct Playing {
    events: VecDeque<Event>,
    cancelled: Rc<Cell<usize>>,
}

impl Reader for Recorded {
    fn start(&self, job: Job, _: Waker) -> Result<Box<dyn Running>, String> {
        assert!(matches!(&job.pages, Pages::Ordered(orders) if orders.len() == 1));
        self.started.borrow_mut().push(job.decode);
        let events = self.jobs.borrow_mut().pop_front().unwrap_or(Ok(Vec::new()))?;
        Ok(Box::new(Playing { events: events.into(), cancelled: Rc::clone(&self.cancelled) }))
    }
}

impl Running for Playing {
    fn next(&mut self, _: Duration) -> Next {
        self.events.pop_front().map_or(Next::Quiet, Next::Event)
    }

    fn cancel(&self) {
        self.cancelled.set(self.cancelled.get() + 1);
    }
}

/// The events of a run with two requests, each with these numbers of committed tokens per round after the prompt's, and
/// with this time of decoding.
fn run(rounds: &[usize], decode_ms: f64) -> Vec<Event> {
    let drafts = rounds.iter().any(|&tokens| tokens > 1);
    let mut trace = vec![round(0, 1, 0, 0)];
    trace.extend(
        rounds.iter().zip(1..).map(|(&tokens, index)| {
            round(index, tokens, (tokens as u32).saturating_sub(2), if drafts { 2 } else { 1 })
        }),
    );
    // Token ids count up through a request, so that both ways commit the same.
    for (id, token) in trace.iter_mut().flat_map(|round| &mut round.committed).enumerate() {
        token.id = id as u32;
    }
    let (draft_ms, verify_ms) = if drafts { (decode_ms / 4.0, decode_ms / 4.0) } else { (decode_ms / 2.0, 0.0) };
    let timings = Timings { vision_ms: 2.0, prefill_ms: 1.0, draft_ms, verify_ms };
    let mut events = vec![opened(1)];
    for request in 0..2 {
        let id = RequestId { page: 0, region: 0, request };
        events.push(Event::RequestStarted { id, bounds: Rect::default() });
        for round in &trace {
            let drafted = if round.verify_forwards > 0 { 8 } else { 0 };
            let at_ms = 3.0 + f64::from(round.index) * 4.0;
            if drafted > 0 {
                events.push(Event::Drafted {
                    id,
                    at_ms: at_ms - 1.0,
                    round: round.index,
                    text: "word and more ".to_owned(),
                });
            }
            let text = "word ".repeat(round.committed.len());
            events.push(Event::Committed {
                id,
                at_ms,
                round: round.index,
                drafted,
                accepted: round.accepted,
                tokens: round.committed.len() as u32,
                forwards: round.draft_forwards + round.verify_forwards,
                pieces: vec![Piece { text, round: round.index, origin: engine::decode::Origin::Causal }],
            });
        }
        events.push(Event::RequestFinished { id, status: Status::Done, timings });
    }
    events.extend([finished(page(vec![reading(trace.clone()), reading(trace)])), over(Outcome::Completed)]);
    events
}

fn page(readings: Vec<Reading>) -> PageResult {
    let region = Region::new(Label::Text, Rect::default());
    let regions = vec![RegionResult { region, status: Status::Done, text: String::new(), readings }];
    PageResult { index: 0, width: 300, height: 100, dpi: None, skew_degrees: 0.0, regions }
}

fn spec(decode_ms: f64) -> Result<Vec<Event>, String> {
    Ok(run(&[3, 5], decode_ms))
}

fn ar(decode_ms: f64) -> Result<Vec<Event>, String> {
    Ok(run(&[1; 8], decode_ms))
}

fn reader(jobs: impl IntoIterator<Item = Result<Vec<Event>, String>>) -> Recorded {
    Recorded { jobs: RefCell::new(jobs.into_iter().collect()), ..Recorded::default() }
}

/// Six jobs, as they are asked for.
fn six() -> Recorded {
    reader([spec(20.0), spec(10.0), spec(12.0), ar(30.0), ar(36.0), ar(24.0)])
}

fn race() -> Race {
    let (state, id) = window(None);
    race_of(&state, id)
}

fn race_of(state: &State, id: RegionId) -> Race {
    let key = state.view.page.unwrap_or(PageKey { document: DocumentId(1), page: 0 });
    let order = PageOrder { page: 0, turn: Turn::None, dpi: 200.0, regions: Some(Vec::new()) };
    Race::new(id, key, Job { pages: Pages::Ordered(vec![order]), ..Job::new(Source::Path("two.png".into())) })
}

fn drain(race: &mut Race, reader: &Recorded) -> bool {
    drain_as(race, reader, None)
}

fn drain_as(race: &mut Race, reader: &Recorded, only_ar: Option<&str>) -> bool {
    race.drain(reader, only_ar, &|| Box::new(|| {}), Instant::now() + Duration::from_secs(60))
}

#[test]
fn each_way_runs_alone_three_times_and_the_median_counts() {
    let (mut race, reader) = (race(), six());
    assert!(!drain(&mut race, &reader));
    let (spec, ar) = (Some(Decode::SPEC), Some(Decode::Ar));
    assert_eq!(*reader.started.borrow(), [spec, spec, spec, ar, ar, ar]);
    assert!(!race.is_measuring());
    let (spec, ar) = (race.lane(Way::Spec), race.lane(Way::Ar));
    assert_eq!(spec.median().and_then(Measured::decode_ms), Some(12.0));
    assert_eq!(ar.median().and_then(Measured::decode_ms), Some(30.0));
    assert_eq!((spec.range_ms(), ar.range_ms()), (Some((10.0, 20.0)), Some((24.0, 36.0))));
    // Two requests of 3 ms before decoding.
    assert_eq!(spec.median().and_then(Measured::whole_ms), Some(18.0));
    // 9 tokens each, the prompt's included; 2 rounds of 2 forwards, or 8 of one.
    let tally = |lane: &Lane| lane.median().map(|m| (m.figures.tally.tokens, m.figures.tally.forwards));
    assert_eq!((tally(spec), tally(ar)), (Some((18, 8)), Some((18, 16))));
    assert_eq!(race.verdict(), Some(Verdict::Same { tokens: 18 }));
}

#[test]
fn tokens_that_differ_are_found() {
    // The second request of one run commits another token at the end of its second round.
    let mut other = run(&[1; 8], 30.0);
    for event in &mut other {
        if let Event::PageFinished { page, .. } = event
            && let Some(token) = page
                .regions
                .iter_mut()
                .flat_map(|region| region.readings.iter_mut().skip(1))
                .find_map(|r| r.rounds.iter_mut().flat_map(|round| &mut round.committed).nth(3))
        {
            token.id = 77;
        }
    }
    let mut race = race();
    drain(&mut race, &reader([spec(20.0), spec(10.0), spec(12.0), ar(30.0), Ok(other), ar(24.0)]));
    assert_eq!(race.verdict(), Some(Verdict::Differ { request: 1, token: 3 }));
}

#[test]
fn a_sequence_that_is_only_longer_differs_too() {
    let mut race = race();
    let longer = || Ok(run(&[1; 9], 30.0));
    drain(&mut race, &reader([spec(20.0), spec(10.0), spec(12.0), longer(), longer(), longer()]));
    assert_eq!(race.verdict(), Some(Verdict::Differ { request: 0, token: 9 }));
}

#[test]
fn a_checkpoint_that_cannot_draft_runs_one_lane() {
    let (mut race, reader) = (race(), reader([ar(30.0), ar(36.0), ar(24.0)]));
    drain_as(&mut race, &reader, Some("it has no mask token"));
    assert_eq!(*reader.started.borrow(), [Some(Decode::Ar); 3]);
    assert!(matches!(race.phase, Phase::Done));
    assert_eq!((race.lane(Way::Spec).runs.len(), race.verdict()), (0, None));
}

#[test]
fn the_text_is_there_while_it_is_measured() {
    let mut half = run(&[3, 5], 20.0);
    half.truncate(5);
    let mut race = race();
    assert!(!drain(&mut race, &reader([Ok(half)])));
    assert!(race.is_measuring());
    let texts: Vec<String> = race.texts(Way::Spec).into_iter().map(RequestText::plain).collect();
    assert_eq!(texts, ["word word word word "]);
    assert!(race.texts(Way::Ar).is_empty());
}

#[test]
fn a_cancel_stops_in_every_phase() {
    // Before the first run.
    let mut first = race();
    first.ask(RaceAsk::Stop);
    let reader_of_none = reader([]);
    assert!(!drain(&mut first, &reader_of_none));
    assert!(reader_of_none.started.borrow().is_empty() && matches!(first.phase, Phase::Stopped));

    // In any run, at its start or in its middle; what was measured before stays.
    for runs in 0..6 {
        for events in [0, 5] {
            let mut jobs: Vec<_> = six().jobs.into_inner().into();
            jobs.truncate(runs + 1);
            if let Some(Ok(job)) = jobs.last_mut() {
                job.truncate(events);
            }
            let (mut race, reader) = (race(), reader(jobs));
            drain(&mut race, &reader);
            assert!(race.is_measuring());
            race.ask(RaceAsk::Stop);
            assert!(matches!(race.phase, Phase::Stopped));
            assert_eq!(reader.cancelled.get(), 1);
            assert!(!drain(&mut race, &reader));
            assert_eq!(reader.started.borrow().len(), runs + 1);
            let measured = race.lane(Way::Spec).runs.len() + race.lane(Way::Ar).runs.len();
            assert_eq!((measured, race.verdict().is_some()), (runs, runs > 3));
        }
    }

    // When all is over there is nothing to stop.
    let (mut race, reader) = (race(), six());
    drain(&mut race, &reader);
    race.ask(RaceAsk::Stop);
    assert!(matches!(race.phase, Phase::Done));
    assert_eq!(reader.cancelled.get(), 0);
}

#[test]
fn racing_again_forgets_what_was_measured() {
    let mut race = race();
    drain(&mut race, &six());
    race.ask(RaceAsk::Again);
    assert!(race.is_measuring() && race.lane(Way::Spec).runs.is_empty() && race.verdict().is_none());
    drain(&mut race, &six());
    assert!(matches!(race.phase, Phase::Done));
}

#[test]
fn what_goes_wrong_is_told() {
    let told = |jobs: Vec<Result<Vec<Event>, String>>| {
        let mut race = race();
        drain(&mut race, &reader(jobs));
        match race.phase {
            Phase::Failed(message) => message,
            _ => panic!("the race goes on"),
        }
    };
    assert_eq!(told(vec![Err("too many documents are waiting".to_owned())]), "too many documents are waiting");
    assert_eq!(told(vec![Ok(vec![over(Outcome::Failed("no such file".to_owned()))])]), "no such file");
    let failed = Event::PageFailed { page: 0, message: "page 1 is damaged".to_owned() };
    assert_eq!(told(vec![Ok(vec![failed, over(Outcome::Completed)])]), "page 1 is damaged");
    let empty = finished(page(Vec::new()));
    assert_eq!(told(vec![Ok(vec![empty, over(Outcome::Completed)])]), Notice::NothingToRace.to_string());
    // A request that failed is no measurement.
    let mut broken = run(&[3], 10.0);
    for event in &mut broken {
        if let Event::RequestFinished { status, .. } = event {
            *status = Status::Failed("out of memory".to_owned());
        }
    }
    assert_eq!(told(vec![Ok(broken)]), "out of memory");
}

#[test]
fn an_engine_that_cancels_by_itself_stops_the_race() {
    let mut race = race();
    drain(&mut race, &reader([Ok(vec![over(Outcome::Cancelled)])]));
    assert!(matches!(race.phase, Phase::Stopped));
}

#[test]
fn lanes_are_played_on_one_clock() {
    let mut race = race();
    drain(&mut race, &six());
    race.ask(RaceAsk::Pace(1.0));
    // Both began at the last result. Two requests of 11 ms, and of 35 ms.
    let lengths = [Way::Spec, Way::Ar].map(|way| race.lane(way).replay.as_ref().map(Replay::length_ms));
    assert_eq!(lengths, [Some(22.0), Some(70.0)]);
    assert!(race.is_playing());
    assert!(race.tick(0.025));
    let at_end = |race: &Race, way| race.lane(way).replay.as_ref().is_some_and(Replay::is_at_end);
    assert!(at_end(&race, Way::Spec) && !at_end(&race, Way::Ar));
    race.ask(RaceAsk::Pause);
    assert!(!race.tick(1.0));
    // Going on, the winner waits at its end.
    race.ask(RaceAsk::Play);
    assert!(at_end(&race, Way::Spec));
    assert!(!race.tick(0.046));
    assert!(at_end(&race, Way::Ar));
    race.ask(RaceAsk::Play);
    assert!(!at_end(&race, Way::Spec) && !at_end(&race, Way::Ar));
}

#[test]
fn the_ratio_is_told_whichever_way_it_goes() {
    assert_eq!(words::ratio(0.4, false), "Draft and verify took 0.40 times the time: 2.50 times as fast");
    assert_eq!(words::ratio(1.25, false), "Draft and verify took 1.25 times the time: it was slower here");
    assert!(words::ratio(1.001, true).starts_with("Draft and verify took as long as"));
    assert!(words::ratio(0.9, true).ends_with("may be chance"));
}

/// The race over a window, and what was asked of it.
struct View {
    harness: Harness<'static>,
    asked: Rc<RefCell<Vec<Action>>>,
}

impl View {
    fn new(race: impl FnOnce(&State, RegionId) -> Race) -> Self {
        let (mut state, id) = window(None);
        let info = EngineInfo {
            checkpoint: "nano".to_owned(),
            device: Device::Cpu,
            fallback: None,
            kernel: "scalar",
            threads: 1,
            only_ar: None,
        };
        state.engine = EngineState::Ready(info);
        state.race = Some(race(&state, id));
        let asked = Rc::new(RefCell::new(Vec::new()));
        let told = Rc::clone(&asked);
        let mut actions = Actions::default();
        let mut harness = Harness::builder().with_size([1100.0, 760.0]).build_ui(move |ui| {
            super::show(ui, &state, &mut actions);
            told.borrow_mut().extend(actions.take());
        });
        harness.run_steps(3);
        Self { harness, asked }
    }

    fn shows(&self, text: &str) -> bool {
        self.harness.query_by_label(text).is_some()
    }

    fn click(&mut self, name: &str) -> Vec<Action> {
        self.harness.get_all_by_label(name).for_each(|node| node.click());
        self.harness.run_steps(2);
        self.asked.take()
    }
}

fn after(reader: Recorded) -> impl FnOnce(&State, RegionId) -> Race {
    move |state, id| {
        let mut race = race_of(state, id);
        drain(&mut race, &reader);
        race.ask(RaceAsk::Pause);
        race
    }
}

#[test]
fn a_finished_race_is_shown_with_its_figures() {
    let mut view = View::new(after(six()));
    for text in [
        "Region 2 · Table · page 1",
        "The same 18 tokens",
        "Draft and verify took 0.40 times the time: 2.50 times as fast",
        "12.0 ms (10.0 ms to 20.0 ms)",
        "20.0 ms · 10.0 ms · 12.0 ms",
        "30.0 ms (24.0 ms to 36.0 ms)",
        "Progress of Draft and verify",
        "Progress of Autoregressive",
    ] {
        assert!(view.shows(text), "{text}");
    }
    assert!(!view.shows(strings::NOT_MEASURED));
    assert_eq!(view.click(words::PLAY), [Action::Race(RaceAsk::Play)]);
    assert_eq!(view.click(words::AGAIN), [Action::Race(RaceAsk::Again)]);
    view.harness.get_by_label(words::PACE).click();
    view.harness.run_steps(3);
    assert_eq!(view.click("100 × slower"), [Action::Race(RaceAsk::Pace(0.01))]);
    view.harness.key_press(Key::Escape);
    view.harness.run_steps(2);
    assert_eq!(view.asked.take(), [Action::Race(RaceAsk::Close)]);
}

#[test]
fn lanes_stand_apart_and_figures_end_together() {
    let view = View::new(after(six()));
    let heads = || view.harness.get_all_by_label("Autoregressive").map(|node| node.rect());
    let head = heads().min_by(|a, b| a.top().total_cmp(&b.top())).unwrap();
    let clocks = view.harness.get_all_by_label_contains(" ms").map(|node| node.rect());
    let clock = clocks.filter(|clock| clock.center().y - head.center().y < 4.0 && clock.right() < head.left());
    assert!(clock.map(|clock| head.left() - clock.right()).all(|space| space >= 16.0));
    let column = heads().max_by(|a, b| a.top().total_cmp(&b.top())).unwrap();
    let median = view.harness.get_by_label("30.0 ms (24.0 ms to 36.0 ms)").rect();
    assert!((column.right() - median.right()).abs() < 1.0, "{column:?} {median:?}");
}

#[test]
fn while_it_is_measured_it_says_which_and_can_be_stopped() {
    let mut half = run(&[1; 8], 20.0);
    half.truncate(5);
    let mut view = View::new(after(reader([spec(20.0), spec(10.0), spec(12.0), Ok(half)])));
    assert!(view.shows("Measuring: Autoregressive, run 1 of 3"));
    assert!(view.harness.query_all_by_label(strings::NOT_MEASURED).count() >= 8);
    assert!(view.harness.query_by_label_contains("The same").is_none());
    assert_eq!(view.click(words::STOP), [Action::Race(RaceAsk::Stop)]);
}

#[test]
fn a_stopped_race_says_so() {
    let view = View::new(|state, id| {
        let mut race = race_of(state, id);
        drain(&mut race, &reader([spec(20.0)]));
        race.ask(RaceAsk::Stop);
        race
    });
    assert!(view.shows(words::STOPPED));
    assert!(view.shows("20.0 ms (20.0 ms to 20.0 ms)"));
}

#[test]
fn tokens_that_differ_are_shown_as_such() {
    let longer = || Ok(run(&[1; 9], 30.0));
    let view = View::new(after(reader([spec(20.0), spec(10.0), spec(12.0), longer(), longer(), longer()])));
    assert!(view.shows("The tokens differ, first at token 10 of request 1"));
}

#[test]
fn without_drafts_there_is_one_lane_and_the_reason() {
    let view = View::new(|state, id| {
        let mut race = race_of(state, id);
        drain_as(&mut race, &reader([ar(30.0), ar(36.0), ar(24.0)]), Some("it has no mask token"));
        race.ask(RaceAsk::Pause);
        race
    });
    assert!(view.shows("Only the autoregressive lane runs: it has no mask token"));
    assert!(!view.shows("Draft and verify"));
}

/// The real engine with the bundled checkpoint, on the title of the sample.
#[test]
fn the_bundled_checkpoint_races_to_the_same_tokens() {
    let args = ModelArgs {
        checkpoint: "nano".into(),
        device: Device::Cpu,
        threads: Some(1),
        weights: Weights::Auto,
        pdfium: None,
        pdf_renderer: PdfRendererArg::Auto,
    };
    let reader = EngineReader::start(&args).unwrap();
    let bytes = include_bytes!("../../../../assets/samples/gravity-sample.pdf").to_vec();
    let title = Region::new(Label::DocTitle, Rect::new(161, 184, 742, 242));
    let order = PageOrder { page: 0, turn: Turn::None, dpi: 200.0, regions: Some(vec![title]) };
    let source = Source::Bytes { name: "sample.pdf".to_owned(), bytes };
    let job = Job { pages: Pages::Ordered(vec![order]), ..Job::new(source) };
    let mut race = Race::new(RegionId(1), PageKey { document: DocumentId(1), page: 0 }, job);
    let end = Instant::now() + Duration::from_secs(120);
    while race.is_measuring() && Instant::now() < end {
        race.drain(&reader, reader.info().only_ar.as_deref(), &|| Box::new(|| {}), end);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(matches!(race.phase, Phase::Done));
    for way in [Way::Spec, Way::Ar] {
        assert_eq!(race.lane(way).runs.iter().filter_map(Measured::decode_ms).count(), RUNS);
    }
    assert!(race.verdict().is_some_and(|verdict| matches!(verdict, Verdict::Same { tokens: 2.. })));
    race.ask(RaceAsk::Pace(1000.0));
    while race.tick(1.0) {}
    let text = |way| race.texts(way).into_iter().map(RequestText::plain).collect::<String>();
    assert_eq!(text(Way::Spec), text(Way::Ar));
    assert!(!text(Way::Spec).is_empty());
}
