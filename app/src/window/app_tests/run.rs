//! A run beside a person: what is read is not lost, what waits is not changed, and several pages may be under way.

use super::*;
use crate::window::workspace::history::Operation;
use crate::window::workspace::notice::Notice;
use crate::window::workspace::settings::Settings;

/// A run over all pages, with so many of them started.
fn running(test: &mut Test, started_pages: usize) {
    test.act(Action::Do(Command::RecognizeDocument));
    test.until(|window| window.state.run.is_some());
    test.engine.say((0..started_pages).map(started));
    test.frames(3);
}

fn end(test: &mut Test, outcome: Outcome) {
    test.engine.say([Event::Finished { outcome }]);
    test.until(|window| window.state.run.is_none());
}

/// What was told since the last time.
fn told(test: &mut Test) -> Vec<String> {
    std::mem::take(&mut test.state().messages).into_iter().map(|message| message.text).collect()
}

fn texts(test: &mut Test, page: usize) -> Vec<String> {
    let pages = &test.state().project.documents[0].pages;
    pages[page].regions.iter().map(|region| region.text().to_owned()).collect()
}

fn dpi(test: &mut Test, dpi: u32) {
    let settings = Settings { dpi, ..test.state().settings.clone() };
    test.act(Action::Settings(Box::new(settings)));
}

#[test]
fn undo_during_a_run_takes_back_what_one_did_elsewhere_and_nothing_that_was_read() {
    let mut test = Test::with_pages(2);
    test.draw_three();
    test.act(Action::Do(Command::NextPage));
    test.until(|window| window.state.page().is_some_and(|page| page.size.is_some()));
    test.act(Action::Draw(Rect::new(50, 20, 400, 70)));
    test.act(Action::Draw(Rect::new(50, 90, 400, 140)));
    test.act(Action::Do(Command::Undo));
    test.act(Action::Do(Command::PreviousPage));
    test.recognize();
    test.engine.say([started(0), finished(0, 0, Status::Done, "first")]);
    test.frames(3);
    // The redo of the other page outlives what the run wrote, and both ways are open there.
    let boxes = |test: &mut Test| test.state().project.documents[0].pages[1].regions.len();
    assert_eq!(boxes(&mut test), 1);
    test.act(Action::Do(Command::Redo));
    assert_eq!(boxes(&mut test), 2);
    test.act(Action::Do(Command::Undo));
    test.act(Action::Do(Command::Undo));
    assert_eq!(boxes(&mut test), 0);
    // What comes next are the boxes of the page that is read.
    told(&mut test);
    assert!(!Command::Undo.enabled(test.state()));
    test.act(Action::Do(Command::Undo));
    assert_eq!(told(&mut test), [Notice::UndoLocked.to_string()]);
    test.engine.say([finished(0, 1, Status::Done, "second"), finished(0, 2, Status::Done, "third"), page_finished(0)]);
    test.frames(3);
    test.act(Action::Do(Command::Undo));
    assert_eq!(texts(&mut test, 0), ["first", "second", "third"], "also when the page is done and the run is not");
    end(&mut test, Outcome::Completed);
    test.act(Action::Do(Command::Undo));
    assert_eq!(texts(&mut test, 0), ["", "", ""], "one undo for the run");
    test.act(Action::Do(Command::Redo));
    assert_eq!(texts(&mut test, 0), ["first", "second", "third"]);
}

#[test]
fn a_run_that_read_nothing_leaves_what_was_taken_back() {
    let mut test = Test::with_pages(1);
    test.draw_three();
    test.act(Action::Do(Command::Undo));
    test.recognize();
    test.act(Action::Do(Command::Redo));
    assert_eq!(test.state().page().unwrap().regions.len(), 2, "not while it waits");
    end(&mut test, Outcome::Cancelled);
    test.act(Action::Do(Command::Redo));
    assert_eq!(test.state().page().unwrap().regions.len(), 3);
}

#[test]
fn boxes_types_and_order_of_a_page_in_a_run_stay_as_they_were_ordered() {
    let mut test = Test::with_pages(2);
    let ids = test.draw_three();
    running(&mut test, 0);
    let page = test.state().page().unwrap().clone();
    let refused = [
        Action::Draw(Rect::new(50, 200, 400, 250)),
        Action::Reshape { boxes: vec![(ids[0], Rect::new(60, 20, 400, 70))], merge: 1 },
        Action::Relabel(Label::Table),
        Action::RecognizeAs(Label::Table),
        Action::Reorder { region: ids[0], to: 2 },
        Action::Do(Command::Delete),
        Action::Do(Command::MoveLater),
        Action::Do(Command::DrawRegion),
        Action::Do(Command::RotateLeft),
        Action::Do(Command::Detect),
        Action::Edit(ids[0]),
    ];
    // On a page that waits, on one that is read, and where the engine is going to look for the regions.
    for stage in 0..3 {
        if stage == 1 {
            test.engine.say([started(0)]);
            test.frames(3);
        }
        for action in &refused {
            test.act(Action::Select(vec![ids[0]]));
            told(&mut test);
            test.act(action.clone());
            assert!(told(&mut test).iter().any(|text| text.contains("being read; wait")), "{action:?}");
            assert_eq!(test.state().page().map(|page| page.regions.clone()), Some(page.regions.clone()), "{action:?}");
        }
        assert!(test.state().view.editing.is_none() && test.state().view.tool == Tool::Select);
        if stage == 1 {
            break;
        }
    }
    test.act(Action::Do(Command::NextPage));
    test.until(|window| window.state.page().is_some_and(|page| page.size.is_some()));
    test.act(Action::Draw(Rect::new(50, 20, 400, 70)));
    assert!(test.state().page().unwrap().regions.is_empty());
    // Once it is read, a page is free, while the next is read.
    test.engine.say([finished(0, 0, Status::Done, "first"), page_finished(0), started(1)]);
    test.frames(3);
    test.act(Action::Do(Command::PreviousPage));
    test.act(Action::Select(vec![ids[1]]));
    test.act(Action::Do(Command::Delete));
    assert_eq!(texts(&mut test, 0), ["first", ""]);
    test.act(Action::Do(Command::Undo));
    assert_eq!(texts(&mut test, 0), ["first", "", ""]);
}

#[test]
fn texts_that_a_run_does_not_write_can_be_edited_on_its_pages() {
    let (mut test, ids) = care::with_first_read(1);
    test.recognize();
    test.until(|window| window.state.run.is_some());
    // The first was read before, and is not in this run.
    test.act(Action::Edit(ids[0]));
    test.act(Action::Editing("mine".to_owned()));
    test.act(Action::FinishEdit);
    test.engine.say([started(0), finished(0, 0, Status::Done, "second")]);
    test.frames(3);
    test.act(Action::Edit(ids[1]));
    test.act(Action::Editing("my second".to_owned()));
    test.act(Action::FinishEdit);
    test.engine.say([finished(0, 1, Status::Done, "third"), page_finished(0)]);
    test.frames(3);
    assert_eq!(texts(&mut test, 0), ["mine", "my second", "third"]);
    test.act(Action::Do(Command::Undo));
    test.act(Action::Do(Command::Undo));
    assert_eq!(texts(&mut test, 0), ["model", "second", "third"], "the edits alone");
    test.act(Action::Do(Command::Redo));
    end(&mut test, Outcome::Completed);
    test.act(Action::Do(Command::Undo));
    test.act(Action::Do(Command::Undo));
    assert_eq!(texts(&mut test, 0), ["model", "", ""]);
    assert_eq!(test.state().history.redo_operation(), Some(Operation::Recognize));
}

#[test]
fn a_page_is_recorded_at_the_resolution_that_its_run_was_given() {
    let mut test = Test::with_pages(2);
    running(&mut test, 1);
    dpi(&mut test, 300);
    test.engine.say([page_finished(0), started(1)]);
    test.frames(3);
    let pages = test.state().project.documents[0].pages.clone();
    assert_eq!(pages.iter().map(|page| page.asked_dpi).collect::<Vec<_>>(), [Some(200), Some(200)]);
    assert!(pages.iter().all(|page| page.size == Some([556, 278])), "what the window drew meanwhile is of that, too");
    test.engine.say([finished(1, 0, Status::Done, "read"), page_finished(1)]);
    test.frames(3);
    end(&mut test, Outcome::Completed);
    let key = test.state().view.page.unwrap();
    test.until(move |window| window.state.sheets.full(key).is_some_and(|sheet| sheet.dpi == 200));
    test.act(Action::Do(Command::RecognizeDocument));
    test.until(|window| window.state.run.is_some());
    let Pages::Ordered(orders) = test.engine.job(1).pages else { panic!("pages are given one by one") };
    assert_eq!(orders.iter().map(|order| order.dpi).collect::<Vec<_>>(), [200.0, 200.0]);
}

#[test]
fn what_was_found_on_a_drawing_counts_its_pixels() {
    let mut test = Test::with_pages(1);
    let key = test.state().view.page.unwrap();
    let found = vec![Region::new(Label::Text, Rect::new(10, 10, 500, 60))];
    dpi(&mut test, 100);
    test.until(|window| window.state.page().is_some_and(|page| page.size == Some([278, 139])));
    test.act(Action::Draw(Rect::new(10, 10, 100, 60)));
    // It was asked for before the resolution was another.
    let drawing = crate::window::workspace::project::Drawing { turn: Turn::None, dpi: 200 };
    let size = [556, 278];
    let drawn =
        crate::window::workspace::project::Drawn { drawing, size, dpi: Some(200.0), skew_degrees: 0.0, notice: None };
    test.state().replace_regions(key, &drawn, found, None);
    let page = test.state().page().unwrap().clone();
    assert_eq!((page.asked_dpi, page.size), (Some(200), Some([556, 278])));
    test.act(Action::Do(Command::Undo));
    let page = test.state().page().unwrap().clone();
    assert_eq!((page.asked_dpi, page.size), (Some(100), Some([278, 139])), "and the box that was drawn counts its own");
}

#[test]
fn a_run_tells_its_size_only_to_pages_that_are_turned_as_it_read_them() {
    let mut test = Test::with_pages(1);
    test.draw_three();
    test.act(Action::Do(Command::RotateRight));
    test.recognize();
    let (width, height) = (278, 556);
    test.engine.say([
        Event::PageStarted { page: 0, width, height, regions: Vec::new(), notice: None },
        finished(0, 0, Status::Done, "first"),
        page_finished(0),
    ]);
    test.frames(3);
    end(&mut test, Outcome::Completed);
    assert_eq!(test.state().page().unwrap().size, Some([278, 556]));
    test.act(Action::Do(Command::Undo));
    test.act(Action::Do(Command::Undo));
    assert_eq!(test.state().page().unwrap().size, Some([556, 278]));
}

#[test]
fn the_events_of_several_pages_find_their_regions() {
    let mut test = Test::with_pages(4);
    running(&mut test, 2);
    let request = |page, region| engine::event::RequestId { page, region, request: 0 };
    test.engine.say([
        Event::RequestStarted { id: request(0, 2), bounds: Rect::default() },
        Event::RequestStarted { id: request(1, 0), bounds: Rect::default() },
        finished(1, 0, Status::Done, "one of the second"),
        finished(0, 0, Status::Done, "one of the first"),
        started(2),
    ]);
    test.frames(3);
    let progress = test.state().run.as_ref().unwrap().progress();
    assert_eq!((progress.page, progress.pages), (1, 4));
    assert_eq!((progress.regions_done, progress.regions), (2, 9));
    assert!((progress.share - (1.0 / 3.0 + 1.0 / 3.0) / 4.0).abs() < 1e-6);
    assert_eq!(texts(&mut test, 0), ["one of the first", "", ""]);
    assert_eq!(texts(&mut test, 1), ["one of the second", "", ""]);
    // A page that fails in the middle takes no other along.
    let waiting = |test: &mut Test, page: usize| {
        let regions = test.state().project.documents[0].pages[page].regions.clone();
        regions.iter().filter(|region| test.state().live.region(region.id).is_some()).count()
    };
    assert_eq!([waiting(&mut test, 0), waiting(&mut test, 1), waiting(&mut test, 2)], [2, 2, 3]);
    test.engine.say([
        Event::PageFailed { page: 0, message: "it is damaged".to_owned() },
        finished(1, 1, Status::Done, "two of the second"),
    ]);
    test.frames(3);
    assert_eq!([waiting(&mut test, 0), waiting(&mut test, 1), waiting(&mut test, 2)], [0, 1, 3]);
    assert_eq!(texts(&mut test, 1), ["one of the second", "two of the second", ""]);
    // Cancelled: pages that were started are finished, the last was not.
    test.act(Action::CancelRun);
    test.engine.say([page_finished(1), finished(2, 0, Status::Cancelled, ""), page_finished(2)]);
    test.frames(3);
    assert_eq!([waiting(&mut test, 1), waiting(&mut test, 2)], [0, 0]);
    end(&mut test, Outcome::Cancelled);
    assert!(!test.state().is_page_locked());
    test.act(Action::Do(Command::Undo));
    assert_eq!((texts(&mut test, 0).len(), texts(&mut test, 1).len()), (0, 0), "one undo for all pages");
}

#[test]
fn an_engine_that_goes_leaves_nothing_waiting() {
    let mut test = Test::with_pages(3);
    let ids = test.draw_three();
    running(&mut test, 2);
    assert!(test.state().live.region(ids[0]).is_some());
    test.engine.gone.store(true, Ordering::Relaxed);
    test.until(|window| window.state.run.is_none());
    let pages = test.state().project.documents[0].pages.clone();
    let regions: Vec<_> = pages.iter().flat_map(|page| &page.regions).map(|region| region.id).collect();
    assert_eq!(regions.len(), 6);
    assert!(regions.iter().all(|id| test.state().live.region(*id).is_none()));
}

#[test]
fn the_view_goes_along_when_its_page_is_done() {
    let mut test = Test::with_pages(4);
    running(&mut test, 3);
    let page = |test: &mut Test| test.state().view.page.unwrap().page;
    assert_eq!(page(&mut test), 0, "the next pages were drawn, and this one is read");
    test.engine.say([page_finished(0)]);
    test.frames(3);
    assert_eq!(page(&mut test), 1);
    // A page ahead is looked at: it becomes the one that is read.
    test.act(Action::Do(Command::NextPage));
    test.engine.say([page_finished(1)]);
    test.frames(3);
    assert_eq!(page(&mut test), 2);
    test.engine.say([page_finished(2)]);
    test.frames(3);
    assert_eq!(page(&mut test), 2, "the next is not drawn yet");
    test.engine.say([started(3)]);
    test.frames(3);
    assert_eq!(page(&mut test), 3);
}

#[test]
fn the_view_stays_on_a_page_whose_turn_is_still_to_come() {
    let page = |test: &mut Test| test.state().view.page.unwrap().page;
    let mut test = Test::with_pages(4);
    // One that waits, and one that was drawn ahead.
    for ahead in [3, 2] {
        let document = test.state().project.documents[0].id;
        test.act(Action::Go(PageKey { document, page: ahead }));
        running(&mut test, 3);
        test.engine.say([page_finished(0)]);
        test.frames(3);
        assert_eq!(page(&mut test), ahead);
        end(&mut test, Outcome::Cancelled);
    }
}

#[test]
fn a_race_does_not_begin_beside_a_run() {
    let mut test = Test::with_pages(1);
    let ids = test.draw_three();
    running(&mut test, 1);
    told(&mut test);
    test.act(Action::Race(crate::window::workspace::race::RaceAsk::Start(ids[0])));
    assert!(test.state().race.is_none());
    assert_eq!(told(&mut test), [Notice::Busy.to_string()]);
}
