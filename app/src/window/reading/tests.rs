//! The pane as a person meets it: by names, clicks and keys.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use eframe::egui::{Event, Key, Modifiers, MouseWheelSource, MouseWheelUnit, Shape, Theme, TouchPhase, Vec2, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use engine::decode::Origin;
use engine::event::Piece;
use engine::job::Source;
use engine::page::Status;
use engine::region::{Label, Line, Rect, Region};

use crate::window::action::{Action, Actions};
use crate::window::command::Command;
use crate::window::state::{ReadingTab, State};
use crate::window::workspace::detail::{Contents, Detail};
use crate::window::workspace::log::{RequestLog, Step, What};
use crate::window::workspace::project::{DocumentState, Page, PageKey, PageRegion, Project, RegionId, RegionRead};
use crate::window::workspace::replay::{Replay, ReplayAsk};

const SIZE: Vec2 = vec2(420.0, 620.0);

fn step(what: What) -> Step {
    Step { at_ms: 1.0, what }
}

fn piece(text: &str, round: u32, origin: Origin) -> Piece {
    Piece { text: text.to_owned(), round, origin }
}

/// A request that drafted a few words at a time; every third draft was refused at its end.
pub(super) fn log(text: &str, bounds: Rect) -> RequestLog {
    let mut steps = Vec::new();
    let words: Vec<&str> = text.split_inclusive(' ').collect();
    for (round, words) in words.chunks(3).enumerate() {
        let (round, last) = (round as u32, words.len() - 1);
        let refused = round % 3 == 2;
        let draft = words.concat() + if refused { "xx" } else { "" };
        steps.push(step(What::Drafted { round, text: draft }));
        let mut pieces = vec![piece(words[0], round, Origin::Causal)];
        if last > 0 {
            pieces.push(piece(&words[1..last].concat(), round, Origin::Accepted));
            pieces.push(piece(words[last], round, if refused { Origin::Correction } else { Origin::Bonus }));
        }
        let accepted = if refused { 1 } else { 2 };
        steps.push(step(What::Committed { round, drafted: 2, accepted, tokens: 3, forwards: 2, pieces }));
    }
    RequestLog { bounds, steps, status: Some(Status::Done), ..RequestLog::default() }
}

pub(super) fn read(status: Status, text: &str, logs: Vec<RequestLog>) -> Option<Arc<RegionRead>> {
    let detail = Detail::pack(&Contents { logs, readings: Vec::new() });
    Some(Arc::new(RegionRead { status, text: text.to_owned(), detail }))
}

pub(super) const PARAGRAPH: &str = "The scan shows a page of the printed report, set in two columns, which was read line \
                                    by line and joined into paragraphs.";

pub(super) const TABLE: &str = "<table><tr><th rowspan=2>Drug</th><th colspan=2>Dose in the first week of the trial</th></tr>\
                                <tr><th>low</th><th>high</th></tr><tr><td rowspan=2>Aspirin</td><td>50 mg</td><td>100 mg</td></tr>\
                                <tr><td>75 mg</td><td>150 mg</td></tr></table>";

/// A page with regions of every kind and in every state.
pub(in crate::window) fn sample() -> State {
    let mut state = State::default();
    let document = state.project.add("report.pdf".to_owned(), Source::Path("report.pdf".into()));
    let page = regions(&mut state.project);
    let second = Page {
        regions: vec![region(&mut state.project, Label::Text, read(Status::Done, "On the second page.", Vec::new()))],
        ..page.clone()
    };
    if let Some(document) = state.project.document_mut(document) {
        document.state = DocumentState::Open;
        document.pages = vec![Arc::new(page), Arc::new(second)];
    }
    state.view.page = Some(PageKey { document, page: 0 });
    state
}

/// The page while its last region is being read and the one before waits.
pub(in crate::window) fn sample_live() -> State {
    let mut state = sample();
    let waiting = id(&state, 8);
    let reading = id(&state, 9);
    state.live.wait(waiting);
    state.live.wait(reading);
    state.live.start(reading, 0, Rect::new(0, 900, 500, 920));
    for step in log("Text that is being read just now, with a", Rect::default()).steps {
        state.live.step(reading, 0, 1.0, step.what);
    }
    state.live.step(reading, 0, 2.0, What::Drafted { round: 4, text: "draft behind it".to_owned() });
    state
}

pub(super) fn region(project: &mut Project, label: Label, read: Option<Arc<RegionRead>>) -> Arc<PageRegion> {
    let id = project.new_region();
    let y = id.0 as u32 * 100;
    let mut region = Region::new(label, Rect::new(50, y, 550, y + 80));
    region.lines = vec![Line { bounds: region.bounds, starts_paragraph: true, indent: 0 }];
    Arc::new(PageRegion { id, region, read, edit: None })
}

fn regions(project: &mut Project) -> Page {
    let lines: Vec<RequestLog> = [PARAGRAPH, "A second line goes on with it here."]
        .iter()
        .map(|line| log(line, Rect::new(50, 300, 550, 320)))
        .collect();
    let text = format!("{PARAGRAPH} A second line goes on with it here.");
    let mut edited =
        PageRegion::clone(&region(project, Label::Text, read(Status::Done, "the model's words", Vec::new())));
    edited.edit = Some("My own words stand here.".to_owned());
    let header = read(Status::Done, "Annual report", vec![log("Annual report", Rect::default())]);
    let title = read(Status::Done, "A title of the report", vec![log("A title of the report", Rect::default())]);
    let failed = read(
        Status::Failed("region 7 could not be read: the checkpoint is damaged; choose another".into()),
        "",
        vec![],
    );
    Page {
        size: Some([600, 1400]),
        dpi: Some(100.0),
        detected: true,
        regions: vec![
            region(project, Label::Header, header),
            region(project, Label::DocTitle, title),
            region(project, Label::Text, read(Status::Truncated, &text, lines)),
            region(project, Label::Table, read(Status::Done, TABLE, Vec::new())),
            region(project, Label::Image, read(Status::Picture, "", Vec::new())),
            region(project, Label::DisplayFormula, read(Status::Picture, "", Vec::new())),
            region(project, Label::Text, failed),
            Arc::new(edited),
            region(project, Label::Text, None),
            region(project, Label::Text, None),
        ],
        ..Page::default()
    }
}

pub(in crate::window) fn id(state: &State, at: usize) -> RegionId {
    state.page().map_or(RegionId(0), |page| page.regions[at].id)
}

/// Draws the pane and notes what it asks for.
struct Pane {
    harness: Harness<'static, State>,
    asked: Rc<RefCell<Vec<Action>>>,
}

impl Pane {
    fn new(state: State) -> Self {
        let asked = Rc::new(RefCell::new(Vec::new()));
        let notes = Rc::clone(&asked);
        let draw = move |ui: &mut eframe::egui::Ui, state: &mut State| {
            let mut actions = Actions::default();
            super::show(ui, state, &mut actions);
            for action in actions.take() {
                match &action {
                    Action::Tab(tab) => state.view.reading = *tab,
                    Action::Hover(id) => state.view.hover = *id,
                    Action::Scrolled => state.view.scroll_to = None,
                    Action::Editing(text) => {
                        if let Some((_, edited)) = &mut state.view.editing {
                            edited.clone_from(text);
                        }
                    }
                    Action::FinishEdit | Action::AbandonEdit => state.view.editing = None,
                    _ => {}
                }
                notes.borrow_mut().push(action);
            }
        };
        let mut harness = Harness::builder().with_size(SIZE).build_ui_state(draw, state);
        harness.run_steps(4);
        asked.borrow_mut().clear();
        Self { harness, asked }
    }

    fn click(&mut self, name: &str) -> Vec<Action> {
        self.harness.get_by_label(name).click();
        self.harness.run_steps(3);
        self.take()
    }

    /// What was asked for, other than to light a region.
    fn take(&self) -> Vec<Action> {
        self.asked.borrow_mut().drain(..).filter(|action| !matches!(action, Action::Hover(_))).collect()
    }

    fn has(&self, words: &str) -> bool {
        self.harness.query_all_by_label_contains(words).next().is_some()
    }
}

#[test]
fn each_card_says_what_and_how_far_its_region_is() {
    let mut pane = Pane::new(sample());
    for words in ["Region 1: Header", "left out of the document", "Region 2: Title", "truncated", "Drug", "150 mg"] {
        assert!(pane.has(words), "{words}");
    }
    pane = Pane::new(sample_live());
    for words in ["Region 10: Text", "reading", "draft behind it", "waiting", "edited", "My own words", "damaged"] {
        assert!(pane.has(words), "{words}");
    }
    assert!(!pane.has("Region 1: Header"), "only what is visible is laid out");
}

#[test]
fn buttons_name_their_region() {
    let mut pane = Pane::new(sample());
    let third = id(pane.harness.state(), 2);
    assert_eq!(pane.click("Copy region 3"), [Action::CopyRegions(vec![third])]);
    assert_eq!(pane.click("Edit region 3"), [Action::Edit(third)]);
    assert_eq!(pane.click("Recognize region 3 again"), [Action::Recognize(vec![third])]);
    assert_eq!(pane.click("Region 3: Text"), [Action::Select(vec![third])]);
}

#[test]
fn a_table_is_copied_as_cells() {
    let mut pane = Pane::new(sample());
    let [Action::Copy { text, html: Some(html) }] = &pane.click("Copy the cells of region 4 for a spreadsheet")[..]
    else {
        panic!("nothing was copied");
    };
    let first = "Drug\tDose in the first week of the trial\t\n\tlow\thigh\n";
    assert_eq!(*text, format!("{first}Aspirin\t50 mg\t100 mg\n\t75 mg\t150 mg\n"));
    assert!(html.starts_with("<table>\n<tr><th rowspan=\"2\">Drug</th>"));
}

#[test]
fn a_character_tells_its_round() {
    let mut pane = Pane::new(sample());
    let text = pane.harness.get_by_label("A title of the report").rect();
    pane.harness.hover_at(text.left_center() + vec2(3.0, 0.0));
    pane.harness.run_steps(8);
    assert!(pane.has("Round 0") || pane.has("round 0"), "the first words came with round 0");
    assert!(pane.has("2 drafted, 2 accepted"));
}

#[test]
fn an_edit_that_begins_comes_into_view() {
    let mut pane = Pane::new(sample());
    assert!(!pane.has("Edit region 10"));
    let last = id(pane.harness.state(), 9);
    pane.harness.state_mut().view.editing = Some((last, String::new()));
    pane.harness.run_steps(4);
    assert!(pane.harness.get_by_label("Text of region 10").is_focused());
}

#[test]
fn what_waits_to_be_read_again_still_shows_its_text() {
    let mut state = sample();
    let second = id(&state, 1);
    state.live.wait(second);
    let pane = Pane::new(state);
    assert!(pane.has("waiting") && pane.has("A title of the report"));
}

#[test]
fn the_type_menu_selects_and_relabels() {
    let mut pane = Pane::new(sample());
    let third = id(pane.harness.state(), 2);
    assert_eq!(pane.click("Type of region 3: Text"), []);
    assert_eq!(pane.click("Formula"), [Action::Select(vec![third]), Action::Relabel(Label::DisplayFormula)]);
}

#[test]
fn tabs_show_the_preview_and_the_source() {
    let mut pane = Pane::new(sample());
    assert_eq!(pane.click("Preview"), [Action::Tab(ReadingTab::Preview)]);
    assert!(pane.has("A title of the report") && pane.has("150 mg") && pane.has("Figure on page 1"));
    assert!(!pane.has("Annual report"), "furniture is left out");
    assert_eq!(pane.click("Source"), [Action::Tab(ReadingTab::Source)]);
    assert!(pane.has("# A title of the report") && pane.has("<tr><td>75 mg</td><td>150 mg</td></tr>"));
    assert!(!pane.has("On the second page."));
    pane.click("Whole document");
    for _ in 0..200 {
        if pane.has("On the second page.") {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
        pane.harness.step();
    }
    panic!("the whole document was not shown");
}

#[test]
fn the_legend_explains_and_switches() {
    let mut pane = Pane::new(sample());
    for words in ["Round 1", "Round 6", "then again", "draft", "refused"] {
        assert!(pane.has(words), "{words}");
    }
    assert_eq!(pane.click("Colour by round"), [Action::Do(Command::ToggleColours)]);
    assert_eq!(pane.click("Show drafts"), [Action::Do(Command::ToggleGhosts)]);
}

#[test]
fn without_colours_the_clean_text_is_shown() {
    let mut state = sample();
    state.settings.colours = false;
    let pane = Pane::new(state);
    assert!(pane.has("joined into paragraphs. A second line"));
    assert!(!pane.has("xx"), "no refused drafts");
    assert!(!pane.has("then again"));
}

#[test]
fn an_edit_is_typed_kept_and_dropped() {
    let mut state = sample();
    let third = id(&state, 2);
    state.view.editing = Some((third, "abc".to_owned()));
    let mut pane = Pane::new(state);
    assert!(pane.harness.get_by_label("Text of region 3").is_focused());
    pane.harness.event(Event::Text("d".to_owned()));
    pane.harness.run_steps(2);
    assert_eq!(pane.take(), [Action::Editing("abcd".to_owned())]);
    pane.harness.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
    pane.harness.run_steps(2);
    assert_eq!(pane.take(), [Action::FinishEdit]);

    pane.harness.state_mut().view.editing = Some((third, "abc".to_owned()));
    pane.harness.run_steps(2);
    pane.harness.key_press(Key::Escape);
    pane.harness.run_steps(2);
    assert_eq!(pane.take(), [Action::AbandonEdit]);
    pane.harness.state_mut().view.editing = Some((third, "abc".to_owned()));
    pane.harness.run_steps(2);
    assert_eq!(pane.click("Keep"), [Action::FinishEdit]);
}

#[test]
fn an_edit_can_be_taken_back() {
    let mut state = sample();
    let edited = id(&state, 7);
    state.view.scroll_to = Some(edited);
    let mut pane = Pane::new(state);
    let asked = pane.click("Back to the model's text of region 8");
    assert_eq!(asked, [Action::Select(vec![edited]), Action::Do(Command::RevertText)]);
}

#[test]
fn a_card_is_dragged_to_another_place() {
    let mut pane = Pane::new(sample());
    let first = id(pane.harness.state(), 0);
    let from = pane.harness.get_by_label("Move region 1").rect().center();
    let third = pane.harness.get_by_label("Region 3: Text").rect();
    let to = vec2(from.x, third.bottom() - 5.0).to_pos2();
    pane.harness.drag_at(from);
    pane.harness.run_steps(2);
    pane.harness.hover_at(to);
    pane.harness.run_steps(2);
    pane.harness.drop_at(to);
    pane.harness.run_steps(2);
    assert_eq!(pane.take(), [Action::Reorder { region: first, to: 2 }]);
}

#[test]
fn the_card_under_the_pointer_is_lit_on_the_page() {
    let mut pane = Pane::new(sample());
    let second = id(pane.harness.state(), 1);
    let at = pane.harness.get_by_label("Region 2: Title").rect().center();
    pane.harness.hover_at(at);
    pane.harness.run_steps(2);
    assert_eq!(pane.asked.borrow().last(), Some(&Action::Hover(Some(second))));
    pane.harness.remove_cursor();
    pane.harness.run_steps(2);
    assert_eq!(pane.asked.borrow().last(), Some(&Action::Hover(None)));
}

#[test]
fn the_pane_follows_what_is_being_read() {
    let mut pane = Pane::new(sample_live());
    assert!(pane.has("draft behind it") && !pane.has("Region 1: Header"));
    let middle = (SIZE / 2.0).to_pos2();
    pane.harness.hover_at(middle);
    let unit = MouseWheelUnit::Point;
    let wheel = |y| Event::MouseWheel {
        unit,
        delta: vec2(0.0, y),
        phase: TouchPhase::Move,
        modifiers: Modifiers::NONE,
        source: MouseWheelSource::Wheel,
    };
    pane.harness.event(wheel(2000.0));
    pane.harness.run_steps(30);
    assert!(pane.has("Region 1: Header"), "whoever scrolls away stays there");
    pane.harness.event(wheel(-3000.0));
    pane.harness.run_steps(30);
    assert!(pane.has("draft behind it"));
}

#[test]
fn a_replay_is_seen_in_the_card_of_its_region() {
    let mut state = sample();
    let third = id(&state, 2);
    let whole = format!("{PARAGRAPH} A second line goes on with it here.");
    let logs = state.page().and_then(|page| page.regions[2].read.as_ref()).map(|read| read.detail.logs());
    let mut replay = Replay::open(third, logs.unwrap_or_default());
    replay.ask(ReplayAsk::Seek(2));
    state.replay = Some(replay);
    let mut pane = Pane::new(state);
    // One round of three words; of the region's text nothing else.
    assert!(pane.has("The scan shows ") && !pane.has(&whole));
    assert!(pane.has("A title of the report"), "other cards stay as they are");
    if let Some(replay) = &mut pane.harness.state_mut().replay {
        replay.ask(ReplayAsk::Seek(usize::MAX));
    }
    pane.harness.run_steps(2);
    assert!(pane.has(&whole));
    pane.harness.state_mut().replay = None;
    pane.harness.run_steps(2);
    assert!(pane.has(&whole));
}

/// egui draws letters from a texture that it makes anew with the theme; what was laid out before points at other letters.
#[test]
fn kept_layouts_do_not_outlive_their_letters() {
    let mut pane = Pane::new(sample());
    for theme in [Theme::Light, Theme::Dark, Theme::Light] {
        pane.harness.ctx.set_theme(theme);
        pane.harness.run_steps(4);
        let mut seen = 0;
        for shape in &pane.harness.output().shapes {
            let Shape::Text(text) = &shape.shape else { continue };
            let anew = pane.harness.ctx.fonts_mut(|fonts| fonts.layout_job((*text.galley.job).clone()));
            for (row, anew) in text.galley.rows.iter().zip(&anew.rows) {
                for (glyph, anew) in row.glyphs.iter().zip(&anew.glyphs) {
                    assert_eq!(glyph.uv_rect, anew.uv_rect, "{:?} of {:?}", glyph.chr, text.galley.text());
                    seen += 1;
                }
            }
        }
        assert!(seen > 300, "{seen}");
    }
}
