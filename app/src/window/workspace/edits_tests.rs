#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::collections::BTreeSet;

use engine::job::Source;
use engine::page::Status;
use engine::region::Line;
use proptest::prelude::*;

use engine::event::{Event, Outcome};
use engine::page::PageResult;

use super::super::detail::Detail;
use super::super::project::{Drawing, Project, RegionRead};
use super::super::run::Scope;
use super::*;
use crate::reader::{Next, Running};

const SIZE: [u32; 2] = [600, 800];

/// A document of two pages of which the first is looked at.
fn open() -> Workspace {
    let mut state = Workspace::default();
    let document = state.project.add("scan.pdf".to_owned(), Source::Path("scan.pdf".into()));
    let page = || Arc::new(Page { size: Some(SIZE), ..Page::default() });
    state.project.document_mut(document).unwrap().pages = vec![page(), page()];
    state.view.page = Some(PageKey { document, page: 0 });
    state
}

fn rect(x0: u32, y0: u32, x1: u32, y1: u32) -> Rect {
    Rect { x0, y0, x1, y1 }
}

fn draw(state: &mut Workspace, bounds: Rect) -> RegionId {
    state.draw_region(bounds, Label::Text);
    state.view.focus.unwrap()
}

fn order(state: &Workspace) -> Vec<RegionId> {
    state.page().unwrap().regions.iter().map(|region| region.id).collect()
}

fn region(state: &Workspace, id: RegionId) -> PageRegion {
    PageRegion::clone(state.page().unwrap().region(id).unwrap())
}

/// A result as a run brings it.
fn receive(state: &mut Workspace, key: PageKey, id: RegionId, text: &str) {
    let read = Arc::new(RegionRead { status: Status::Done, text: text.to_owned(), detail: Detail::default() });
    state.change_page(key, Operation::Recognize, None, |page| page.alter(id, |region| region.read = Some(read)));
}

/// What a detection at 200 dpi found.
fn detect(state: &mut Workspace, key: PageKey, regions: Vec<Region>) {
    let turn = state.project.page(key).unwrap().turn;
    let size = state.project.page(key).unwrap().size.unwrap();
    let drawing = Drawing { turn, dpi: 200 };
    let drawn = Drawn { drawing, size, dpi: Some(200.0), skew_degrees: 0.0, notice: None };
    state.replace_regions(key, &drawn, regions, None);
}

/// A job that says nothing: the tests say it.
struct Silent;

impl Running for Silent {
    fn next(&mut self, _: std::time::Duration) -> Next {
        Next::Quiet
    }

    fn cancel(&self) {}
}

/// A run over the document begins.
fn begin(state: &mut Workspace) {
    let document = state.project.documents[0].id;
    let (document, orders) = state.orders(&Scope::Document(document)).unwrap();
    state.begin_run(document, orders, Box::new(Silent));
}

fn page_started(state: &Workspace, page: usize, regions: usize) -> Event {
    let [width, height] = state.project.documents[0].pages[page].size.unwrap();
    let regions = vec![Region::new(Label::Text, rect(0, 0, 9, 9)); regions];
    Event::PageStarted { page, width, height, regions, notice: None }
}

fn region_finished(page: usize, region: usize, text: &str) -> Event {
    Event::RegionFinished { page, region, status: Status::Done, text: text.to_owned(), readings: Vec::new() }
}

fn page_finished(state: &Workspace, index: usize) -> Event {
    let [width, height] = state.project.documents[0].pages[index].size.unwrap();
    let page = PageResult { index, width, height, dpi: Some(200.0), skew_degrees: 0.0, regions: Vec::new() };
    Event::PageFinished { page: Box::new(page), figures: Vec::new() }
}

/// Something a person or a run does. Numbers choose among what is there.
#[derive(Clone, Debug)]
enum Doing {
    Look(bool),
    Select(Vec<usize>),
    Draw(Rect, Label),
    Reshape(usize, Rect, u64),
    Relabel(Label),
    Delete,
    Reorder(usize, usize),
    Shift(bool),
    Edit(usize, String),
    Revert(usize),
    Rotate(Turn),
    Detect(Vec<Rect>),
    Begin,
    PageStarted(usize, usize),
    Result(usize, usize, String),
    PageFinished(usize),
    End,
    Learn(f32),
    Undo,
    Redo,
}

fn label() -> impl Strategy<Value = Label> {
    use Label::*;
    prop::sample::select(vec![Text, ParagraphTitle, Table, DisplayFormula, Image, FigureTitle, Header])
}

fn bounds() -> impl Strategy<Value = Rect> {
    // Also outside of the page, empty, and the wrong way round.
    [0..900_u32, 0..900_u32, 0..900_u32, 0..900_u32].prop_map(|[x0, y0, x1, y1]| rect(x0, y0, x1, y1))
}

fn doing() -> impl Strategy<Value = Doing> {
    let text = || prop::sample::select(vec!["", "one", "two", "“é” \n"]).prop_map(str::to_owned);
    let turn = prop::sample::select(vec![Turn::None, Turn::Right, Turn::Half, Turn::Left]);
    prop_oneof![
        2 => any::<bool>().prop_map(Doing::Look),
        4 => prop::collection::vec(0..9_usize, 0..4).prop_map(Doing::Select),
        5 => (bounds(), label()).prop_map(|(bounds, label)| Doing::Draw(bounds, label)),
        5 => (0..9_usize, bounds(), 0..3_u64).prop_map(|(at, bounds, merge)| Doing::Reshape(at, bounds, merge)),
        2 => label().prop_map(Doing::Relabel),
        2 => Just(Doing::Delete),
        2 => (0..9_usize, 0..12_usize).prop_map(|(at, to)| Doing::Reorder(at, to)),
        2 => any::<bool>().prop_map(Doing::Shift),
        2 => (0..9_usize, text()).prop_map(|(at, text)| Doing::Edit(at, text)),
        1 => (0..9_usize).prop_map(Doing::Revert),
        1 => turn.prop_map(Doing::Rotate),
        1 => prop::collection::vec(bounds(), 0..5).prop_map(Doing::Detect),
        1 => Just(Doing::Begin),
        2 => (0..2_usize, 0..4_usize).prop_map(|(page, regions)| Doing::PageStarted(page, regions)),
        6 => (0..2_usize, 0..9_usize, text()).prop_map(|(page, at, text)| Doing::Result(page, at, text)),
        1 => (0..2_usize).prop_map(Doing::PageFinished),
        1 => Just(Doing::End),
        1 => (0..3_u32).prop_map(|skew| Doing::Learn(skew as f32)),
        3 => Just(Doing::Undo),
        2 => Just(Doing::Redo),
    ]
}

fn at(state: &Workspace, page: usize, number: usize) -> Option<RegionId> {
    let regions = &state.project.documents[0].pages[page].regions;
    regions.get(number % regions.len().max(1)).map(|region| region.id)
}

fn perform(state: &mut Workspace, doing: Doing) {
    let key = state.view.page.unwrap();
    let chosen = |state: &Workspace, number| at(state, key.page, number);
    match doing {
        Doing::Look(second) => {
            state.view.page = Some(PageKey { page: usize::from(second), ..key });
            state.view.select(None);
        }
        Doing::Select(numbers) => {
            state.view.selection = numbers.into_iter().filter_map(|number| chosen(state, number)).collect();
        }
        Doing::Draw(bounds, label) => state.draw_region(bounds, label),
        Doing::Reshape(number, bounds, merge) => {
            let boxes: Vec<_> = chosen(state, number).map(|id| (id, bounds)).into_iter().collect();
            state.reshape(&boxes, merge);
        }
        Doing::Relabel(label) => state.relabel(label),
        Doing::Delete => state.delete_selected(),
        Doing::Reorder(number, to) => {
            if let Some(id) = chosen(state, number) {
                state.reorder(id, to);
            }
        }
        Doing::Shift(later) => state.shift_selected(later),
        Doing::Edit(number, text) => {
            if let Some(id) = chosen(state, number) {
                state.edit_text(id, text);
            }
        }
        Doing::Revert(number) => {
            if let Some(id) = chosen(state, number) {
                state.revert_text(id);
            }
        }
        Doing::Rotate(turn) => drop(state.rotate(turn)),
        Doing::Detect(_) if state.is_page_locked() => {}
        Doing::Detect(boxes) => {
            let regions = boxes.into_iter().map(|bounds| Region::new(Label::Text, bounds)).collect();
            detect(state, key, regions);
        }
        Doing::Begin if state.run.is_some() => {}
        Doing::Begin => begin(state),
        Doing::PageStarted(page, regions) => state.run_event(page_started(state, page, regions)),
        Doing::Result(page, region, text) => state.run_event(region_finished(page, region, &text)),
        Doing::PageFinished(page) => state.run_event(page_finished(state, page)),
        Doing::End => state.end_run(Outcome::Completed),
        Doing::Learn(skew) => {
            state.history.amend(&mut state.project, key, |page| page.skew_degrees = skew);
        }
        Doing::Undo => drop(state.history.undo(&mut state.project)),
        Doing::Redo => drop(state.history.redo(&mut state.project)),
    }
    let page = state.page().cloned();
    state.view.drop_strangers(page.as_deref(), state.view.page.unwrap());
}

/// All pages; what was learned about them is not subject to undo.
fn pages(project: &Project) -> Vec<Page> {
    let pages = project.documents.iter().flat_map(|document| &document.pages);
    let unlearned = |page: &Page| Page { size: None, asked_dpi: None, dpi: None, skew_degrees: 0.0, ..page.clone() };
    pages.map(|page| unlearned(page)).collect()
}

/// Ends the run and takes everything back in a copy and does it again; the pages at either end.
fn ends(state: &Workspace) -> [Vec<Page>; 3] {
    let (mut project, mut history) = (state.project.clone(), state.history.clone());
    history.end_run();
    while !history.redo(&mut project).unwrap().is_empty() {}
    let last = pages(&project);
    while !history.undo(&mut project).unwrap().is_empty() {}
    let first = pages(&project);
    while !history.redo(&mut project).unwrap().is_empty() {}
    [first, last, pages(&project)]
}

/// What was read and stands.
fn results(state: &Workspace) -> Vec<(RegionId, String)> {
    let regions = state.project.documents[0].pages.iter().flat_map(|page| &page.regions);
    regions.filter_map(|region| Some((region.id, region.read.as_ref()?.text.clone()))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn undoing_everything_is_the_beginning_and_redoing_everything_the_end(
        doings in prop::collection::vec(doing(), 500)
    ) {
        let mut state = open();
        let blank = pages(&state.project);
        let mut by_run = BTreeSet::new();
        for (step, doing) in doings.into_iter().enumerate() {
            let person = !matches!(
                doing,
                Doing::Undo | Doing::Redo | Doing::PageStarted(..) | Doing::Result(..) | Doing::PageFinished(_) | Doing::End
            );
            let (before, revision) = (pages(&state.project), state.history.revision());
            let read = results(&state);
            perform(&mut state, doing.clone());
            let after = pages(&state.project);
            prop_assert_eq!(before != after, state.history.revision() != revision, "{:?} at {}", doing, step);
            match doing {
                Doing::Begin => by_run.clear(),
                Doing::Result(..) => {
                    by_run.extend(results(&state).into_iter().filter(|result| !read.contains(result)).map(|(id, _)| id));
                }
                Doing::Undo if state.run.is_some() => {
                    let mut stays = read.iter().filter(|(id, _)| by_run.contains(id));
                    prop_assert!(stays.all(|result| results(&state).contains(result)), "a result is lost at {}", step);
                }
                _ => {}
            }
            if person && before != after && state.history.redo_operation().is_some() {
                prop_assert!(false, "a change leaves nothing to redo: {doing:?} at {step}");
            }
            if step % 25 == 24 {
                let [first, last, again] = ends(&state);
                prop_assert_eq!(&first, &blank, "after {} steps", step);
                prop_assert_eq!(&last, &again, "after {} steps", step);
                if state.history.redo_operation().is_none() {
                    prop_assert_eq!(&last, &after);
                }
            }
            let page = state.page().unwrap();
            let mut ids: Vec<_> = page.regions.iter().map(|region| region.id).collect();
            ids.sort_unstable();
            ids.dedup();
            prop_assert_eq!(ids.len(), page.regions.len(), "a region stands twice");
            prop_assert!(state.view.selection.iter().all(|id| page.region(*id).is_some()));
        }
    }
}

#[test]
fn a_drawn_box_takes_its_place_in_its_column() {
    let mut state = open();
    let left_top = draw(&mut state, rect(0, 0, 250, 100));
    let left_bottom = draw(&mut state, rect(0, 300, 250, 400));
    let right_top = draw(&mut state, rect(300, 0, 600, 100));
    let left_middle = draw(&mut state, rect(0, 150, 250, 250));
    let right_bottom = draw(&mut state, rect(300, 150, 600, 250));
    assert_eq!(order(&state), [left_top, left_middle, left_bottom, right_top, right_bottom]);
    assert_eq!((state.view.focus, state.view.selection.len()), (Some(right_bottom), 1));
    draw(&mut state, rect(0, 0, 3, 100));
    draw(&mut state, rect(700, 0, 900, 100));
    assert_eq!(order(&state).len(), 5, "slips and boxes beside the page are none");
}

#[test]
fn selected_regions_move_together() {
    let mut state = open();
    let ids: Vec<_> = (0..5).map(|n| draw(&mut state, rect(0, n * 100, 600, n * 100 + 50))).collect();
    let [a, b, c, d, e] = ids[..] else { panic!("five were drawn") };
    state.view.selection = BTreeSet::from([b, c, e]);
    state.shift_selected(false);
    assert_eq!(order(&state), [b, c, a, e, d]);
    state.shift_selected(false);
    assert_eq!(order(&state), [b, c, e, a, d], "at the top they stay");
    state.shift_selected(true);
    assert_eq!(order(&state), [a, b, c, e, d]);
    state.reorder(d, 0);
    assert_eq!(order(&state), [d, a, b, c, e]);
    state.reorder(d, 99);
    assert_eq!(order(&state), [a, b, c, e, d]);
}

#[test]
fn a_turned_page_turns_its_boxes() {
    let mut state = open();
    let id = draw(&mut state, rect(10, 20, 110, 220));
    let turned = |state: &mut Workspace, turn| {
        state.rotate(turn);
        (state.page().unwrap().size.unwrap(), region(state, id).bounds())
    };
    assert_eq!(turned(&mut state, Turn::Right), ([800, 600], rect(580, 10, 780, 110)));
    assert_eq!(turned(&mut state, Turn::Left), ([600, 800], rect(10, 20, 110, 220)));
    assert_eq!(turned(&mut state, Turn::Half), ([600, 800], rect(490, 580, 590, 780)));
    assert_eq!(state.page().unwrap().turn, Turn::Half);
    let revision = state.history.revision();
    state.rotate(Turn::None);
    assert_eq!(state.history.revision(), revision);
}

#[test]
fn a_person_s_text_is_kept_apart_from_the_model_s() {
    let mut state = open();
    let key = state.view.page.unwrap();
    let id = draw(&mut state, rect(0, 0, 100, 100));
    receive(&mut state, key, id, "model");
    state.edit_text(id, "mine".to_owned());
    assert_eq!((region(&state, id).text(), region(&state, id).read.unwrap().text.as_str()), ("mine", "model"));
    state.edit_text(id, "model".to_owned());
    assert_eq!(region(&state, id).edit, None, "the model's own text is no edit");
    state.edit_text(id, String::new());
    assert_eq!(region(&state, id).text(), "", "nothing at all is an edit as well");
    state.revert_text(id);
    assert_eq!(region(&state, id).text(), "model");
}

#[test]
fn a_box_that_moved_loses_the_lines_that_were_found_in_it() {
    let mut state = open();
    let key = state.view.page.unwrap();
    let mut found = Region::new(Label::Text, rect(0, 0, 100, 100));
    found.lines = vec![Line { bounds: rect(0, 0, 100, 20), starts_paragraph: true, indent: 0 }];
    detect(&mut state, key, vec![found.clone()]);
    let id = order(&state)[0];
    state.reshape(&[(id, rect(0, 0, 100, 100))], 1);
    assert_eq!(region(&state, id).region, found, "a box that stays where it is keeps them");
    state.reshape(&[(id, rect(0, 10, 100, 110))], 2);
    assert!(region(&state, id).region.lines.is_empty());
    state.history.undo(&mut state.project).unwrap();
    assert_eq!(region(&state, id).region, found);
}

#[test]
fn deleting_selects_what_took_the_place() {
    let mut state = open();
    let ids: Vec<_> = (0..4).map(|n| draw(&mut state, rect(0, n * 100, 600, n * 100 + 50))).collect();
    state.view.selection = BTreeSet::from([ids[1], ids[2]]);
    state.delete_selected();
    assert_eq!((order(&state), state.view.focus), (vec![ids[0], ids[3]], Some(ids[3])));
    state.delete_selected();
    assert_eq!(state.view.focus, Some(ids[0]));
    state.delete_selected();
    assert_eq!((order(&state).len(), state.view.focus), (0, None));
    assert!(state.page().unwrap().detected, "the page is known to be empty");
}
