//! The canvas under a pointer and keys, with the page's edits really made.

#![expect(clippy::unwrap_used, reason = "a panic is a failed test")]

use std::sync::Arc;

use eframe::egui::{
    self, Event, Key, Modifiers, PointerButton, Pos2, Rect as ScreenRect, Sense, UiBuilder, Vec2, pos2, vec2,
};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use engine::job::Source;
use engine::page::Status;
use engine::region::{Label, Rect, Region};

use crate::window::action::{Action, Actions};
use crate::window::canvas::placement::Placement;
use crate::window::canvas::{overlay, regions};
use crate::window::colours;
use crate::window::command::Command;
use crate::window::state::{Camera, Fit, State, Tool};
use crate::window::workspace::detail::{Contents, Detail};
use crate::window::workspace::project::{DocumentState, Page, PageKey, PageRegion, RegionId, RegionRead};

/// Points of the canvas in tests.
const CANVAS: Vec2 = vec2(800.0, 600.0);

/// A state with what was asked of it.
pub(in crate::window::canvas) struct TestCanvas {
    pub(in crate::window::canvas) state: State,
    pub(in crate::window::canvas) asked: Vec<Action>,
    /// Whether the pointer moves the page.
    still: bool,
    pixels_per_point: f32,
}

impl TestCanvas {
    /// A page of the given size with these regions, which get the names 1, 2, ...
    pub(in crate::window::canvas) fn new(size: [u32; 2], regions: &[(Label, Rect)]) -> Self {
        let mut state = State::default();
        let document = state.project.add("page.png".to_owned(), Source::Path("page.png".into()));
        let regions = regions
            .iter()
            .zip(1..)
            .map(|(&(label, bounds), id)| {
                let region = Region::new(label, bounds);
                Arc::new(PageRegion { id: RegionId(id), region, read: None, edit: None })
            })
            .collect();
        let page = Page { size: Some(size), regions, detected: true, ..Page::default() };
        let open = state.project.document_mut(document).unwrap();
        open.pages = vec![Arc::new(page)];
        open.state = DocumentState::Open;
        state.project.renumber();
        state.view.page = Some(PageKey { document, page: 0 });
        Self { state, asked: Vec::new(), still: false, pixels_per_point: 1.0 }
    }

    /// Gives a region what was read in it.
    pub(in crate::window::canvas) fn read(&mut self, id: u64, status: Status, contents: &Contents) {
        let key = self.state.view.page.unwrap();
        let read = RegionRead { status, text: "text".to_owned(), detail: Detail::pack(contents) };
        self.state.change_page(key, crate::window::workspace::history::Operation::Detect, None, |page| {
            let region = page.regions.iter_mut().find(|region| region.id.0 == id).unwrap();
            Arc::make_mut(region).read = Some(Arc::new(read));
            true
        });
    }

    fn apply(&mut self, action: Action) {
        let view = &mut self.state.view;
        match &action {
            Action::Select(ids) => {
                view.selection = ids.iter().copied().collect();
                view.focus = ids.last().copied();
            }
            Action::ToggleSelect(id) => {
                let was = view.selection.remove(id);
                view.selection.extend((!was).then_some(*id));
            }
            Action::Hover(id) => view.hover = *id,
            Action::Draw(bounds) => self.state.draw_region(*bounds, Label::Text),
            Action::Reshape { boxes, merge } => self.state.reshape(boxes, *merge),
            Action::Relabel(label) => self.state.relabel(*label),
            Action::Do(Command::Undo) => {
                let workspace = &mut self.state.workspace;
                workspace.history.undo(&mut workspace.project).unwrap();
            }
            _ => {}
        }
        self.asked.push(action);
    }

    fn ui(&mut self, ui: &mut egui::Ui) {
        let canvas = ScreenRect::from_min_size(Pos2::ZERO, CANVAS);
        let mut actions = Actions::default();
        ui.scope_builder(UiBuilder::new().max_rect(canvas), |ui| {
            let sense = if self.still { Sense::hover() } else { Sense::click_and_drag() };
            let response = ui.interact(canvas, egui::Id::unique("canvas"), sense);
            self.pixels_per_point = ui.pixels_per_point();
            let placement = self.placement();
            ui.painter_at(canvas).rect_filled(placement.page, 0.0, colours::PAPER);
            overlay::paint(ui, placement, &self.state);
            regions::show(ui, &response, placement, &self.state, &mut actions);
        });
        actions.take().into_iter().for_each(|action| self.apply(action));
    }

    pub(in crate::window::canvas) fn placement(&self) -> Placement {
        let size = self.state.page().unwrap().size.unwrap();
        Placement::new(
            &self.state.view.camera,
            size,
            ScreenRect::from_min_size(Pos2::ZERO, CANVAS),
            self.pixels_per_point,
        )
    }

    pub(in crate::window::canvas) fn harness<'a>(self) -> Harness<'a, Self> {
        Harness::builder()
            .with_size(CANVAS)
            .with_step_dt(1.0 / 60.0)
            .build_ui_state(|ui, desk: &mut Self| desk.ui(ui), self)
    }

    fn bounds(&self) -> Vec<Rect> {
        self.state.page().unwrap().regions.iter().map(|region| region.bounds()).collect()
    }

    fn selection(&self) -> Vec<u64> {
        self.state.view.selection.iter().map(|id| id.0).collect()
    }

    fn reshapes(&self) -> usize {
        self.asked.iter().filter(|action| matches!(action, Action::Reshape { .. })).count()
    }
}

/// A big text box, a table inside it, and another text box below.
fn desk() -> TestCanvas {
    TestCanvas::new(
        [1000, 1400],
        &[
            (Label::Text, Rect::new(100, 100, 900, 700)),
            (Label::Table, Rect::new(200, 200, 400, 300)),
            (Label::Text, Rect::new(100, 800, 900, 1000)),
        ],
    )
}

/// A screen point of the page.
fn at(harness: &Harness<'_, TestCanvas>, x: f32, y: f32) -> Pos2 {
    harness.state().placement().to_screen(pos2(x, y))
}

fn button(
    harness: &mut Harness<'_, TestCanvas>,
    pos: Pos2,
    button: PointerButton,
    pressed: bool,
    modifiers: Modifiers,
) {
    harness.event(Event::ModifiersChanged(modifiers));
    harness.event(Event::PointerButton { pos, button, pressed, modifiers });
    harness.run_steps(2);
}

/// A second passes: the next click is no double click.
fn pause(harness: &mut Harness<'_, TestCanvas>) {
    harness.run_steps(60);
}

fn press(harness: &mut Harness<'_, TestCanvas>, from: Pos2, modifiers: Modifiers) {
    harness.hover_at(from);
    button(harness, from, PointerButton::Primary, true, modifiers);
}

fn move_to(harness: &mut Harness<'_, TestCanvas>, to: Pos2) {
    harness.hover_at(to);
    harness.run_steps(2);
}

fn release(harness: &mut Harness<'_, TestCanvas>, to: Pos2) {
    button(harness, to, PointerButton::Primary, false, Modifiers::NONE);
}

fn drag(harness: &mut Harness<'_, TestCanvas>, from: (f32, f32), to: (f32, f32), modifiers: Modifiers) {
    let (from, to) = (at(harness, from.0, from.1), at(harness, to.0, to.1));
    press(harness, from, modifiers);
    move_to(harness, from.lerp(to, 0.5));
    move_to(harness, to);
    release(harness, to);
}

fn click(harness: &mut Harness<'_, TestCanvas>, x: f32, y: f32, modifiers: Modifiers) {
    let pos = at(harness, x, y);
    press(harness, pos, modifiers);
    button(harness, pos, PointerButton::Primary, false, modifiers);
    pause(harness);
}

#[test]
fn a_click_selects_the_smallest_box_and_the_next_one_goes_on() {
    let mut harness = desk().harness();
    click(&mut harness, 300.0, 250.0, Modifiers::NONE);
    assert_eq!(harness.state().selection(), [2]);
    click(&mut harness, 300.0, 250.0, Modifiers::NONE);
    assert_eq!(harness.state().selection(), [1]);
    click(&mut harness, 300.0, 250.0, Modifiers::NONE);
    assert_eq!(harness.state().selection(), [2]);
    click(&mut harness, 50.0, 1300.0, Modifiers::NONE);
    assert!(harness.state().selection().is_empty(), "a click on empty paper lets go");
}

#[test]
fn ctrl_and_shift_add_and_remove() {
    let mut harness = desk().harness();
    click(&mut harness, 300.0, 900.0, Modifiers::NONE);
    click(&mut harness, 300.0, 250.0, Modifiers::COMMAND);
    assert_eq!(harness.state().selection(), [2, 3]);
    click(&mut harness, 800.0, 600.0, Modifiers::SHIFT);
    assert_eq!(harness.state().selection(), [1, 2, 3]);
    click(&mut harness, 300.0, 900.0, Modifiers::COMMAND);
    assert_eq!(harness.state().selection(), [1, 2]);
}

#[test]
fn a_drag_on_paper_draws_what_was_dragged_at_every_scale() {
    for pixels_per_point in [1.0, 1.25, 1.5, 2.0] {
        for zoom in [0.1, 0.33, 1.0, 2.5, 8.0] {
            let mut desk = TestCanvas::new([1000, 1400], &[]);
            desk.state.view.camera = Camera { fit: Fit::Free, zoom, centre: [0.5; 2] };
            let mut harness = desk.harness();
            harness.set_pixels_per_point(pixels_per_point);
            harness.run();
            // Around the page's middle, which is on the canvas at every zoom.
            let reach = (2.0 * (20.0 / zoom).round()).min(400.0);
            let (from, to) = ((500.0 - reach, 700.0 - reach), (500.0 + reach, 700.0 + 0.5 * reach));
            drag(&mut harness, from, to, Modifiers::NONE);
            let expected =
                Rect::new(from.0.round() as u32, from.1.round() as u32, to.0.round() as u32, to.1.round() as u32);
            assert_eq!(harness.state().bounds(), [expected], "zoom {zoom} at {pixels_per_point}");
        }
    }
}

#[test]
fn a_drawing_ends_at_the_page_and_a_slip_draws_nothing() {
    let mut harness = desk().harness();
    drag(&mut harness, (950.0, 1350.0), (1200.0, 1500.0), Modifiers::NONE);
    assert_eq!(harness.state().bounds().last(), Some(&Rect::new(950, 1350, 1000, 1400)));
    drag(&mut harness, (20.0, 1100.0), (22.0, 1300.0), Modifiers::NONE);
    assert_eq!(harness.state().bounds().len(), 4);
}

#[test]
fn ctrl_and_the_drawing_tool_draw_over_boxes() {
    let mut harness = desk().harness();
    drag(&mut harness, (500.0, 400.0), (700.0, 500.0), Modifiers::COMMAND);
    assert!(harness.state().bounds().contains(&Rect::new(500, 400, 700, 500)));
    harness.state_mut().state.view.tool = Tool::Draw;
    drag(&mut harness, (520.0, 420.0), (620.0, 480.0), Modifiers::NONE);
    assert!(harness.state().bounds().contains(&Rect::new(520, 420, 620, 480)));
    assert_eq!(harness.state().reshapes(), 0);
}

#[test]
fn a_drag_moves_all_that_is_selected_as_one_undo() {
    let mut harness = desk().harness();
    click(&mut harness, 300.0, 250.0, Modifiers::NONE);
    click(&mut harness, 300.0, 900.0, Modifiers::COMMAND);
    drag(&mut harness, (300.0, 250.0), (350.0, 280.0), Modifiers::NONE);
    let before = desk().bounds();
    assert_eq!(harness.state().bounds(), [before[0], Rect::new(250, 230, 450, 330), Rect::new(150, 830, 950, 1030)],);
    // The larger one reaches the page's edge and holds the other back.
    drag(&mut harness, (300.0, 280.0), (900.0, 280.0), Modifiers::NONE);
    assert_eq!(harness.state().bounds()[1..], [Rect::new(300, 230, 500, 330), Rect::new(200, 830, 1000, 1030)]);
    let desk = harness.state_mut();
    desk.apply(Action::Do(Command::Undo));
    desk.apply(Action::Do(Command::Undo));
    assert_eq!(desk.bounds(), before);
}

#[test]
fn a_drag_on_another_box_takes_that_one_alone() {
    let mut harness = desk().harness();
    click(&mut harness, 300.0, 250.0, Modifiers::NONE);
    drag(&mut harness, (500.0, 900.0), (480.0, 950.0), Modifiers::NONE);
    assert_eq!(harness.state().selection(), [3]);
    assert_eq!(harness.state().bounds()[1..], [Rect::new(200, 200, 400, 300), Rect::new(80, 850, 880, 1050)]);
}

#[test]
fn a_handle_resizes_and_turns_over() {
    let mut harness = desk().harness();
    click(&mut harness, 500.0, 900.0, Modifiers::NONE);
    drag(&mut harness, (900.0, 1000.0), (800.0, 1100.0), Modifiers::NONE);
    assert_eq!(harness.state().bounds()[2], Rect::new(100, 800, 800, 1100));
    drag(&mut harness, (450.0, 1100.0), (450.0, 760.0), Modifiers::NONE);
    assert_eq!(harness.state().bounds()[2], Rect::new(100, 760, 800, 800));
}

#[test]
fn escape_in_the_middle_of_a_drag_leaves_everything_as_it_was() {
    let mut harness = desk().harness();
    click(&mut harness, 500.0, 900.0, Modifiers::NONE);
    let revision = harness.state().state.history.revision();
    for from in [(500.0, 900.0), (900.0, 1000.0), (500.0, 1200.0)] {
        let (from, to) = (at(&harness, from.0, from.1), at(&harness, 700.0, 1300.0));
        press(&mut harness, from, Modifiers::NONE);
        move_to(&mut harness, from.lerp(to, 0.5));
        move_to(&mut harness, to);
        assert!(regions::is_dragging(&harness.ctx));
        harness.key_press(Key::Escape);
        harness.run();
        assert!(!regions::is_dragging(&harness.ctx));
        move_to(&mut harness, to + vec2(20.0, 5.0));
        release(&mut harness, to);
        assert_eq!(harness.state().bounds(), desk().bounds());
        assert_eq!(harness.state().selection(), [3]);
    }
    assert_eq!(harness.state().state.history.revision(), revision, "not even an undo is left behind");
}

#[test]
fn a_drag_does_not_go_on_to_another_page() {
    let mut harness = desk().harness();
    let (from, to) = (at(&harness, 100.0, 1100.0), at(&harness, 700.0, 1300.0));
    press(&mut harness, from, Modifiers::NONE);
    move_to(&mut harness, to);
    let state = &mut harness.state_mut().state;
    let key = state.view.page.unwrap();
    let page = Arc::clone(state.page().unwrap());
    state.project.document_mut(key.document).unwrap().pages.push(page);
    state.view.page = Some(PageKey { page: 1, ..key });
    move_to(&mut harness, to + vec2(5.0, 5.0));
    release(&mut harness, to);
    assert_eq!(harness.state().bounds(), desk().bounds());
}

#[test]
fn many_boxes_are_moved_and_not_resized() {
    let rows: Vec<_> = (0..9).map(|n| (Label::Text, Rect::new(100, 100 + 100 * n, 900, 160 + 100 * n))).collect();
    let mut desk = TestCanvas::new([1000, 1400], &rows);
    desk.state.view.selection = (1..=9).map(RegionId).collect();
    let mut harness = desk.harness();
    drag(&mut harness, (899.0, 159.0), (919.0, 209.0), Modifiers::NONE);
    assert_eq!(harness.state().bounds()[0], Rect::new(120, 150, 920, 210));
    assert_eq!(harness.state().bounds()[8], Rect::new(120, 950, 920, 1010));
}

#[test]
fn a_rubber_band_selects_what_it_touches() {
    let mut harness = desk().harness();
    drag(&mut harness, (390.0, 290.0), (410.0, 850.0), Modifiers::ALT);
    assert_eq!(harness.state().selection(), [1, 2, 3]);
    // From outside the paper, and adding to what is selected.
    click(&mut harness, 300.0, 250.0, Modifiers::NONE);
    drag(&mut harness, (-60.0, 750.0), (300.0, 900.0), Modifiers::SHIFT);
    assert_eq!(harness.state().selection(), [2, 3]);
    assert_eq!(harness.state().bounds(), desk().bounds());
}

#[test]
fn arrows_nudge_and_those_within_a_second_are_one_undo() {
    let mut harness = desk().harness();
    click(&mut harness, 300.0, 250.0, Modifiers::NONE);
    harness.key_press(Key::ArrowRight);
    harness.key_press_modifiers(Modifiers::SHIFT, Key::ArrowDown);
    harness.run();
    assert_eq!(harness.state().bounds()[1], Rect::new(201, 210, 401, 310));
    harness.key_press_modifiers(Modifiers::ALT, Key::ArrowLeft);
    harness.key_press_modifiers(Modifiers::ALT | Modifiers::SHIFT, Key::ArrowDown);
    harness.run();
    assert_eq!(harness.state().bounds()[1], Rect::new(201, 210, 400, 320));
    let undone = |harness: &mut Harness<'_, TestCanvas>| {
        harness.state_mut().apply(Action::Do(Command::Undo));
        harness.state().bounds()[1]
    };
    assert_eq!(undone(&mut harness), Rect::new(201, 210, 401, 310), "resizing is another change than moving");
    assert_eq!(undone(&mut harness), Rect::new(200, 200, 400, 300));
    harness.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::ArrowLeft);
    harness.run();
    assert_eq!(harness.state().bounds()[1], Rect::new(200, 200, 400, 300), "that turns the page");
}

#[test]
fn a_double_click_edits_what_was_read() {
    let mut desk = desk();
    desk.read(3, Status::Done, &Contents::default());
    let mut harness = desk.harness();
    for y in [900.0, 650.0] {
        let pos = at(&harness, 500.0, y);
        for _ in 0..2 {
            press(&mut harness, pos, Modifiers::NONE);
            release(&mut harness, pos);
        }
        pause(&mut harness);
    }
    let edits: Vec<_> = harness.state().asked.iter().filter(|action| matches!(action, Action::Edit(_))).collect();
    assert_eq!(edits, [&Action::Edit(RegionId(3))]);
}

#[test]
fn regions_have_names_and_can_be_chosen_without_a_pointer() {
    let mut desk = desk();
    desk.read(2, Status::Done, &Contents::default());
    desk.state.live.wait(RegionId(3));
    let mut harness = desk.harness();
    harness.get_by_label("Region 2: Table, done").click_accesskit();
    harness.run();
    assert_eq!(harness.state().selection(), [2]);
    harness.get_by_label("Region 1: Text, not read");
    harness.get_by_label("Region 3: Text, waiting").click();
    harness.run();
    assert_eq!(harness.state().selection(), [3]);
}

#[test]
fn the_menu_changes_the_type_of_the_region_it_was_opened_on() {
    let mut harness = desk().harness();
    click(&mut harness, 300.0, 250.0, Modifiers::NONE);
    let pos = at(&harness, 500.0, 900.0);
    harness.hover_at(pos);
    button(&mut harness, pos, PointerButton::Secondary, true, Modifiers::NONE);
    button(&mut harness, pos, PointerButton::Secondary, false, Modifiers::NONE);
    harness.run();
    assert_eq!(harness.state().selection(), [3]);
    harness.get_by_label("Type").click();
    harness.run();
    harness.get_by_label("Heading").click();
    harness.run();
    let labels: Vec<_> = harness.state().state.page().unwrap().regions.iter().map(|r| r.region.label).collect();
    assert_eq!(labels, [Label::Text, Label::Table, Label::ParagraphTitle]);
}

#[test]
fn a_pointer_that_moves_the_page_does_nothing_to_regions() {
    let mut harness = desk().harness();
    harness.state_mut().still = true;
    click(&mut harness, 300.0, 250.0, Modifiers::NONE);
    drag(&mut harness, (300.0, 250.0), (500.0, 1200.0), Modifiers::NONE);
    assert!(harness.state().asked.is_empty());
}

#[test]
fn the_pointer_lights_the_region_below_it() {
    let mut harness = desk().harness();
    let lit = |harness: &Harness<'_, TestCanvas>| harness.state().state.view.hover.map(|id| id.0);
    let (table, paper) = (at(&harness, 300.0, 250.0), at(&harness, 50.0, 1300.0));
    move_to(&mut harness, table);
    assert_eq!(lit(&harness), Some(2));
    move_to(&mut harness, paper);
    assert_eq!(lit(&harness), None);
    let asked = harness.state().asked.len();
    move_to(&mut harness, paper + vec2(1.0, 0.0));
    assert_eq!(harness.state().asked.len(), asked, "nothing is asked while nothing changes");
    // The text lit a region; the canvas does not put it out from afar.
    harness.state_mut().state.view.hover = Some(RegionId(1));
    harness.remove_cursor();
    harness.run();
    assert_eq!(lit(&harness), Some(1));
}

#[test]
fn keys_open_the_menu_at_the_region_and_walk_through_it() {
    for (modifiers, key) in [(Modifiers::NONE, Key::Menu), (Modifiers::SHIFT, Key::F10)] {
        let mut desk = desk();
        desk.apply(Action::Select(vec![RegionId(3)]));
        let mut harness = desk.harness();
        harness.run();
        harness.key_press_modifiers(modifiers, key);
        harness.run();
        let entry = harness.get_by_label_contains("Recognize as").rect();
        let region = harness.state().placement().rect(Rect::new(100, 800, 900, 1000));
        assert!((entry.left() - region.left()).abs() < 40.0, "{entry:?} {region:?}");
        assert!(harness.get_by_label_contains("Type").rect().top() > entry.top());
        // The first entry has the focus: Enter chooses it.
        harness.key_press(Key::Enter);
        harness.run();
        assert_eq!(harness.state().asked.last(), Some(&Action::Recognize(vec![RegionId(3)])));
        assert!(harness.query_by_label_contains("Recognize as").is_none());
    }
}

#[test]
fn the_menu_key_is_for_the_page_when_nothing_is_selected() {
    let mut harness = desk().harness();
    harness.run();
    harness.key_press(Key::Menu);
    harness.run();
    harness.get_by_label_contains(Command::SelectAll.label());
    harness.key_press(Key::Escape);
    harness.run();
    assert!(harness.query_by_label_contains(Command::SelectAll.label()).is_none());
}
