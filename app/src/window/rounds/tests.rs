use std::cell::RefCell;
use std::rc::Rc;

use eframe::egui::{Key, pos2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use super::testing::{request, requests, round, window};
use super::*;
use crate::window::action::Action;
use crate::window::workspace::log::What;
use crate::window::workspace::replay::{Pace, Replay, ReplayAsk};

/// The panel over a window, and what was asked of it.
struct Panel {
    harness: Harness<'static>,
    state: Rc<RefCell<State>>,
    asked: Rc<RefCell<Vec<Action>>>,
}

impl Panel {
    fn new(state: State) -> Self {
        Self::sized(state, [690.0, 220.0])
    }

    fn sized(state: State, size: [f32; 2]) -> Self {
        let state = Rc::new(RefCell::new(state));
        let asked = Rc::new(RefCell::new(Vec::new()));
        let (seen, told) = (Rc::clone(&state), Rc::clone(&asked));
        let mut actions = Actions::default();
        let mut harness = Harness::builder().with_size(size).build_ui(move |ui| {
            show(ui, &seen.borrow(), &mut actions);
            told.borrow_mut().extend(actions.take());
        });
        harness.run();
        // A large record is unpacked on a thread.
        while harness.query_by_label(words::LOADING).is_some() {
            std::thread::sleep(std::time::Duration::from_millis(1));
            harness.run();
        }
        Self { harness, state, asked }
    }

    fn click(&mut self, name: &str) -> Vec<Action> {
        self.harness.get_by_label(name).click();
        self.harness.run();
        self.asked.take()
    }

    fn shows(&self, text: &str) -> bool {
        self.harness.query_by_label(text).is_some()
    }
}

fn replaying(at: usize) -> (State, RegionId) {
    let (mut state, id) = window(Some(requests(60, 3)));
    let mut replay = Replay::open(id, requests(60, 3));
    replay.ask(ReplayAsk::Seek(at));
    state.replay = Some(replay);
    (state, id)
}

#[test]
fn without_rounds_it_says_what_to_do() {
    assert!(Panel::new(State::default()).shows(words::SELECT));
    assert!(Panel::new(window(None).0).shows(words::NOT_READ));
    assert!(Panel::new(window(Some(Vec::new())).0).shows(words::NONE));
    let (mut state, id) = window(None);
    state.live.wait(id);
    assert!(Panel::new(state).shows(words::WAITING));
}

#[test]
fn a_region_is_named_and_counted() {
    let rounds = [round(5.0, 0, 0, 0, 1), round(15.0, 1, 9, 6, 8), round(25.0, 2, 9, 4, 3)];
    let panel = Panel::new(window(Some(vec![request(rounds)])).0);
    assert!(panel.shows("Region 2 · Table · page 1"));
    // 11 tokens by 4 forwards; (6 + 2) accepted in 2 rounds; 11 tokens in 20 ms.
    for text in ["2.75", "4.00", "550", "vision 4.00 ms", "prefill 1.00 ms", "draft 12.0 ms", "verify 8.00 ms"] {
        assert!(panel.shows(text), "{text}");
    }
    assert!(panel.shows("3 rounds in 1 request: 12 tokens, 4 forwards"));
}

#[test]
fn one_by_one_there_are_no_drafts_and_nothing_verified() {
    let panel = Panel::new(window(Some(vec![request((0..5).map(|n| round(5.0, n, 0, 0, 1)))])).0);
    assert!(panel.shows(words::NO_DRAFTS));
    assert!(panel.shows("decode 12.0 ms"));
    assert!(panel.harness.query_by_label_contains(words::VERIFY).is_none());
}

#[test]
fn times_that_were_not_taken_are_not_invented() {
    let mut log = request([round(5.0, 0, 0, 0, 1), round(15.0, 1, 9, 6, 8)]);
    log.timings = engine::page::Timings::default();
    let panel = Panel::new(window(Some(vec![log])).0);
    assert_eq!(panel.harness.query_all_by_label(strings::NOT_MEASURED).count(), 2);
}

#[test]
fn a_region_that_is_being_read_fills_its_bars() {
    let (mut state, id) = window(None);
    state.live.wait(id);
    state.live.start(id, 0, engine::region::Rect::default());
    for step in round(5.0, 0, 0, 0, 1) {
        state.live.step(id, 0, step.at_ms, step.what);
    }
    let mut panel = Panel::new(state);
    assert!(panel.shows(strings::status::READING));
    assert!(panel.click("1 round in 1 request: 1 token, 0 forwards").is_empty());
    assert!(!panel.shows("Play rounds"));
}

#[test]
fn a_click_on_a_bar_opens_the_replay_there() {
    let logs = requests(60, 3);
    let (state, id) = window(Some(logs.clone()));
    let mut panel = Panel::new(state);
    let bars = panel.harness.get_by_label_contains("60 rounds").rect();
    // The fourth bar.
    panel.harness.hover_at(pos2(bars.left() + 3.0 * 11.0 + 4.0, bars.center().y));
    panel.harness.run();
    assert!(panel.harness.query_by_label_contains("round 3: 16 drafted").is_some());
    let pointer = pos2(bars.left() + 3.0 * 11.0 + 4.0, bars.center().y);
    for pressed in [true, false] {
        panel.harness.event(eframe::egui::Event::PointerButton {
            pos: pointer,
            button: eframe::egui::PointerButton::Primary,
            pressed,
            modifiers: eframe::egui::Modifiers::NONE,
        });
        panel.harness.run();
    }
    // The prefill is one step, each round two.
    let steps = logs.first().map(|log| &log.steps[..7]).unwrap_or_default();
    assert!(matches!(steps.last().map(|step| &step.what), Some(What::Committed { round: 3, .. })));
    let asked = panel.asked.take();
    assert_eq!(asked, [Action::Replay(ReplayAsk::Open(id)), Action::Replay(ReplayAsk::Seek(7))]);
}

#[test]
fn commands_ask_for_play_and_race() {
    let mut panel = Panel::new(window(Some(requests(6, 1))).0);
    assert_eq!(panel.click("Play rounds"), [Action::Do(Command::PlayRounds)]);
    assert_eq!(panel.click("Race"), [Action::Do(Command::Race)]);
}

#[test]
fn the_replay_has_all_its_controls() {
    let (state, _) = replaying(50);
    let mut panel = Panel::new(state);
    assert!(panel.shows("Round 26 of 60"));
    assert!(panel.harness.query_by_label_contains("Request 2, round 5").is_some());
    assert_eq!(panel.click(words::PLAY), [Action::Replay(ReplayAsk::Play)]);
    assert_eq!(panel.click(words::FORWARD), [Action::Replay(ReplayAsk::Forward)]);
    assert_eq!(panel.click(words::BACK), [Action::Replay(ReplayAsk::Back)]);
    assert_eq!(panel.click(words::CLOSE), [Action::Replay(ReplayAsk::Close)]);
    if let Some(replay) = &mut panel.state.borrow_mut().replay {
        replay.ask(ReplayAsk::Play);
    }
    panel.harness.run();
    assert_eq!(panel.click(words::PAUSE), [Action::Replay(ReplayAsk::Pause)]);
}

#[test]
fn the_scrubber_is_moved_by_keys() {
    let mut panel = Panel::new(replaying(50).0);
    panel.harness.get_by_label(words::POSITION).focus();
    panel.harness.run();
    panel.harness.key_press(Key::ArrowRight);
    panel.harness.run();
    assert_eq!(panel.asked.take(), [Action::Replay(ReplayAsk::Seek(51))]);
}

#[test]
fn a_pace_is_chosen_from_a_list() {
    let mut panel = Panel::new(replaying(50).0);
    panel.harness.get_by_label(words::PACE).click();
    panel.harness.run();
    assert_eq!(panel.click("10 × slower"), [Action::Replay(ReplayAsk::Pace(Pace::Measured(0.1)))]);
}

#[test]
fn a_replay_of_another_region_does_not_show() {
    let (mut state, id) = replaying(50);
    let first = state.page().and_then(|page| page.regions.first()).map(|region| region.id);
    state.view.select(first);
    assert_ne!(state.view.focus, Some(id));
    assert!(Panel::new(state).shows(words::NOT_READ));
}

#[test]
fn two_thousand_rounds_fit_and_low_and_narrow_panels_too() {
    for size in [[690.0, 120.0], [690.0, 400.0], [300.0, 220.0], [40.0, 30.0]] {
        let (mut state, id) = window(Some(requests(2000, 20)));
        let mut replay = Replay::open(id, requests(2000, 20));
        replay.ask(ReplayAsk::Seek(usize::MAX));
        state.replay = Some(replay);
        Panel::sized(state, size);
    }
}

#[test]
fn a_panel_keeps_the_height_that_it_was_given() {
    for height in [120.0, 220.0, 400.0] {
        let (state, _) = replaying(50);
        let heights = Rc::new(RefCell::new(Vec::new()));
        let told = Rc::clone(&heights);
        let mut actions = Actions::default();
        let mut harness = Harness::builder().with_size([1280.0, 820.0]).build_ui(move |ui| {
            let panel = eframe::egui::Panel::bottom("rounds").default_size(height).resizable(true);
            let panel = panel.show(ui, |ui| show(ui, &state, &mut actions));
            told.borrow_mut().push(panel.response.rect.height());
        });
        harness.run_steps(10);
        let heights = heights.take();
        assert!(heights.iter().all(|seen| (seen - height).abs() < 12.0), "{heights:?}");
        assert_eq!(heights.last(), heights.get(3), "{heights:?}");
    }
}

#[test]
fn the_bar_of_the_replay_comes_into_view() {
    let (mut state, id) = window(Some(requests(2000, 20)));
    state.replay = Some(Replay::open(id, requests(2000, 20)));
    let mut panel = Panel::new(state);
    let left = |panel: &Panel| panel.harness.get_by_label_contains("2000 rounds").rect().left();
    let before = left(&panel);
    // The last round's bar is the 2000th, and 19 requests begin before it.
    if let Some(replay) = &mut panel.state.borrow_mut().replay {
        replay.ask(ReplayAsk::Seek(usize::MAX));
    }
    panel.harness.run();
    let bar = left(&panel) + 1999.0 * 11.0 + 19.0 * 9.0;
    assert!(before > 0.0 && (before..690.0).contains(&bar), "{bar}");
}
