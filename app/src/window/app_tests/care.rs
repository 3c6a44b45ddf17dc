//! Nothing is lost, nothing is left hanging: what was typed, what is replayed, engines that fail, documents that close.

use super::*;
use crate::window::state::Tone;
use crate::window::workspace::notice::Notice;
use crate::window::workspace::project::DocumentState;

/// A window whose page has three boxes, the first of them read.
pub(super) fn with_first_read(pages: usize) -> (Test, Vec<RegionId>) {
    let mut test = Test::with_pages(pages);
    let ids = test.draw_three();
    test.act(Action::Recognize(vec![ids[0]]));
    test.until(|window| window.state.run.is_some());
    test.engine.say([
        started(0),
        finished(0, 0, Status::Done, "model"),
        page_finished(0),
        Event::Finished { outcome: Outcome::Completed },
    ]);
    test.until(|window| window.state.run.is_none());
    (test, ids)
}

#[test]
fn what_is_typed_is_kept_whatever_one_does_next() {
    let (mut test, ids) = with_first_read(2);
    let key = test.state().view.page.unwrap();
    let leaving: [fn(PageKey, &[RegionId]) -> Action; 10] = [
        |key, _| Action::Go(PageKey { page: 1, ..key }),
        |_, ids| Action::Edit(ids[1]),
        |_, ids| Action::Edit(ids[0]),
        |_, _| Action::Do(Command::NextPage),
        |_, _| Action::Do(Command::Export),
        |_, _| Action::Do(Command::SaveProject),
        |_, _| Action::Do(Command::CloseDocument),
        |_, _| Action::Do(Command::CopyPage),
        |_, _| Action::Do(Command::ToggleReading),
        |_, ids| Action::Recognize(vec![ids[0]]),
    ];
    for (number, leave) in leaving.into_iter().enumerate() {
        test.act(Action::Go(key));
        test.act(Action::Edit(ids[0]));
        test.act(Action::Editing(format!("mine {number}")));
        test.act(leave(key, &ids));
        test.act(Action::Modal(None));
        test.act(Action::AbandonEdit);
        test.act(Action::Go(key));
        assert_eq!(test.text(ids[0]), format!("mine {number}"), "number {number}");
    }
    test.act(Action::CancelRun);
    test.engine.say([Event::Finished { outcome: Outcome::Cancelled }]);
    test.until(|window| window.state.run.is_none());
    // A region that is deleted while it is edited comes back with what was typed.
    test.act(Action::Edit(ids[0]));
    test.act(Action::Editing("last".to_owned()));
    test.act(Action::Do(Command::Delete));
    test.act(Action::Do(Command::Undo));
    assert_eq!(test.text(ids[0]), "last");
}

#[test]
fn a_text_that_was_not_touched_is_no_edit() {
    let (mut test, ids) = with_first_read(2);
    let key = test.state().view.page.unwrap();
    for id in [ids[0], ids[1]] {
        test.act(Action::Edit(id));
        test.act(Action::Go(PageKey { page: 1, ..key }));
        test.act(Action::Go(key));
        assert_eq!(test.state().page().unwrap().region(id).unwrap().edit, None);
    }
    test.act(Action::Edit(ids[1]));
    test.act(Action::FinishEdit);
    assert_eq!(test.state().page().unwrap().region(ids[1]).unwrap().edit, None, "nothing was read, nothing written");
}

#[test]
fn the_view_does_not_follow_a_run_away_from_what_is_written() {
    let mut test = Test::with_pages(2);
    let ids = test.draw_three();
    test.act(Action::Do(Command::RecognizeDocument));
    test.until(|window| window.state.run.is_some());
    test.engine.say([started(0), finished(0, 0, Status::Done, "model")]);
    test.frames(3);
    test.act(Action::Edit(ids[0]));
    test.act(Action::Editing("half a wo".to_owned()));
    test.engine.say([page_finished(0), started(1)]);
    test.frames(3);
    let view = &test.state().view;
    assert_eq!(view.page.unwrap().page, 0);
    assert_eq!(view.editing.as_ref().unwrap().1, "half a wo");
}

#[test]
fn a_replay_ends_when_its_region_is_read_anew_or_gone() {
    let (mut test, ids) = with_first_read(2);
    let play = Action::Replay(crate::window::workspace::replay::ReplayAsk::Open(ids[0]));
    test.act(play.clone());
    test.act(Action::Select(vec![ids[1]]));
    test.act(Action::Do(Command::MoveLater));
    assert!(test.state().replay.is_some(), "other changes leave it alone");
    test.act(Action::Recognize(vec![ids[0]]));
    test.engine.say([
        started(0),
        finished(0, 0, Status::Done, "again"),
        page_finished(0),
        Event::Finished { outcome: Outcome::Completed },
    ]);
    test.until(|window| window.state.run.is_none());
    assert!(test.state().replay.is_none());
    for end in [Command::Undo, Command::Redo, Command::NextPage] {
        test.act(play.clone());
        assert!(test.state().replay.is_some());
        test.act(Action::Do(end));
        assert!(test.state().replay.is_none(), "{end:?}");
        let key = PageKey { page: 0, ..test.state().view.page.unwrap() };
        test.act(Action::Go(key));
    }
    test.act(play);
    test.act(Action::Select(vec![ids[0]]));
    test.act(Action::Do(Command::Delete));
    assert!(test.state().replay.is_none());
}

#[test]
fn pages_that_are_read_or_wait_are_neither_turned_nor_detected() {
    let mut test = Test::with_pages(2);
    let ids = test.draw_three();
    test.act(Action::Do(Command::RecognizeDocument));
    test.until(|window| window.state.run.is_some());
    test.engine.say([started(0)]);
    test.frames(3);
    test.state().messages.clear();
    test.act(Action::Do(Command::Detect));
    test.act(Action::Do(Command::RotateLeft));
    let page = test.state().page().unwrap().clone();
    assert_eq!((page.turn, page.regions.len()), (Turn::None, 3));
    test.act(Action::Do(Command::NextPage));
    test.act(Action::Do(Command::RotateLeft));
    test.act(Action::Do(Command::DetectDocument));
    test.frames(3);
    assert_eq!((test.state().page().unwrap().turn, test.state().detecting), (Turn::None, 0));
    let told: Vec<_> = test.state().messages.iter().map(|message| message.text.clone()).collect();
    assert_eq!(told, [Notice::PageLocked.to_string()]);
    test.engine.say([finished(0, 0, Status::Done, "read")]);
    test.act(Action::Do(Command::PreviousPage));
    test.frames(2);
    assert_eq!(test.text(ids[0]), "read");
}

#[test]
fn a_page_that_is_turned_while_it_is_searched_is_searched_again() {
    let mut test = Test::with_pages(1);
    let key = test.state().view.page.unwrap();
    test.window.state_mut().apply(Action::Do(Command::Detect));
    test.window.state_mut().apply(Action::Do(Command::RotateRight));
    test.until(move |window| window.state.project.page(key).is_some_and(|page| page.detected));
    assert_eq!(test.state().page().unwrap().turn, Turn::Right);
}

#[test]
fn recognize_pressed_twice_reads_once() {
    let mut test = Test::with_pages(1);
    let ids = test.draw_three();
    test.window.state_mut().apply(Action::Do(Command::Recognize));
    test.window.state_mut().apply(Action::Do(Command::Recognize));
    test.window.state_mut().apply(Action::Recognize(vec![ids[0]]));
    assert!(!Command::Race.enabled(test.state()) && !Command::RecognizeDocument.enabled(test.state()));
    test.until(|window| window.state.run.is_some());
    assert_eq!(test.engine.jobs.lock().unwrap().len(), 1);
    assert_eq!(test.engine.regions(0).len(), 3);
    assert!(test.state().messages.iter().any(|message| message.text == Notice::Busy.to_string()));
}

#[test]
fn cancel_while_the_engine_loads_reads_nothing() {
    let mut test = Test::with_pages(1);
    test.window.state_mut().apply(Action::Do(Command::Recognize));
    test.window.state_mut().apply(Action::Do(Command::Cancel));
    test.until(|window| matches!(window.state.engine, EngineState::Ready(_)));
    test.frames(3);
    assert_eq!(test.engine.jobs.lock().unwrap().len(), 0);
    test.recognize();
    assert_eq!(test.engine.starts.load(Ordering::Relaxed), 1);
}

#[test]
fn an_engine_that_fails_says_so_and_another_is_tried() {
    let mut test = Test::with_pages(1);
    let ids = test.draw_three();
    test.engine.faults.lock().unwrap().push("this folder holds no checkpoint".to_owned());
    test.act(Action::Race(crate::window::workspace::race::RaceAsk::Start(ids[0])));
    test.until(|window| matches!(window.state.engine, EngineState::Failed(_)));
    assert!(test.state().race.is_none() && test.state().modal.is_none(), "nothing waits for it");
    assert!(test.state().messages.iter().any(|message| message.text == "this folder holds no checkpoint"));
    let settings = crate::window::workspace::settings::Settings { threads: Some(1), ..test.state().settings.clone() };
    test.act(Action::Settings(Box::new(settings)));
    assert!(matches!(test.state().engine, EngineState::Asleep));
    test.recognize();
    test.engine.gone.store(true, Ordering::Relaxed);
    test.until(|window| window.state.run.is_none());
    assert!(test.state().messages.iter().any(|message| message.text == Notice::EngineGone.to_string()));
    test.engine.gone.store(false, Ordering::Relaxed);
    test.act(Action::Do(Command::Recognize));
    test.until(|window| window.state.run.is_some());
    assert_eq!(test.engine.starts.load(Ordering::Relaxed), 3, "one that is gone is replaced");
}

#[test]
fn one_can_only_go_to_pages_that_are_there() {
    let mut test = Test::with_pages(2);
    let can = |test: &mut Test| [Command::PreviousPage, Command::NextPage].map(|command| command.enabled(test.state()));
    assert_eq!(can(&mut test), [false, true]);
    test.act(Action::Do(Command::NextPage));
    assert_eq!(can(&mut test), [true, false]);
    let broken = Source::Bytes { name: "broken.pdf".to_owned(), bytes: b"%PDF-1.7 no".to_vec() };
    let broken = test.state().project.add("broken.pdf".to_owned(), broken);
    let third = Source::Bytes { name: "third.pdf".to_owned(), bytes: testing::pages(1) };
    let third = test.state().project.add("third.pdf".to_owned(), third);
    test.until(|window| !window.state.project.document(third).unwrap().pages.is_empty());
    assert_eq!(can(&mut test), [true, true]);
    test.act(Action::Do(Command::NextPage));
    assert_eq!(test.state().view.page, Some(PageKey { document: third, page: 0 }), "a broken one is passed over");
    test.act(Action::Go(PageKey { document: broken, page: 0 }));
    test.act(Action::Do(Command::PreviousPage));
    assert_eq!(test.state().view.page.unwrap().page, 1, "and left again");
}

#[test]
fn a_closed_document_leaves_nothing_behind() {
    let mut test = Test::with_pages(1);
    let ids = test.draw_three();
    let id = test.state().project.documents[0].id;
    test.act(Action::Select(ids));
    test.act(Action::Do(Command::Export));
    assert!(test.state().modal.is_some());
    test.window.state_mut().apply(Action::Do(Command::Recognize));
    test.window.state_mut().close(id);
    let state = test.state();
    assert!(state.modal.is_none() && state.pending.is_none());
    assert!(state.view.selection.is_empty() && state.view.focus.is_none());
}

#[test]
fn errors_stay_when_good_news_comes() {
    let mut state = crate::window::workspace::state::Workspace::default();
    state.tell(Tone::Error, "read this");
    (0..20).for_each(|number| state.tell(Tone::Good, format!("good {number}")));
    assert!(state.messages.len() < 10 && state.messages[0].text == "read this");
}

#[test]
fn two_messages_that_end_together_take_no_third_along() {
    let mut test = Test::with_pages(1);
    test.state().messages.clear();
    let long_ago = Instant::now().checked_sub(Duration::from_secs(60)).unwrap();
    test.state().tell(Tone::Good, "one");
    test.state().tell(Tone::Good, "two");
    test.state().tell(Tone::Error, "three");
    test.state().messages.iter_mut().for_each(|message| message.since = long_ago);
    test.frames(3);
    let told: Vec<_> = test.state().messages.iter().map(|message| message.text.clone()).collect();
    assert_eq!(told, ["three"]);
}

#[test]
fn ctrl_c_copies_the_selected_regions() {
    let (mut test, ids) = with_first_read(1);
    test.act(Action::Select(vec![ids[0]]));
    test.window.event(eframe::egui::Event::Copy);
    test.window.step();
    let copied = |test: &Test| -> Vec<String> {
        let commands = &test.window.output().platform_output.commands;
        let text = |command: &eframe::egui::OutputCommand| match command {
            eframe::egui::OutputCommand::CopyText(text) => Some(text.clone()),
            _ => None,
        };
        commands.iter().filter_map(text).collect()
    };
    assert_eq!(copied(&test), ["model\n"]);
    test.act(Action::Edit(ids[0]));
    test.frames(2);
    test.window.event(eframe::egui::Event::Copy);
    test.window.step();
    assert!(copied(&test).is_empty(), "while text is typed it is the text's own");
}

#[test]
fn pasted_paths_are_opened_and_what_failed_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a scan.pdf");
    std::fs::write(&path, b"%PDF-1.7 no").unwrap();
    let mut test = Test::with_pages(1);
    let address = format!("file://{}\n", path.display().to_string().replace(' ', "%20"));
    test.window.event(eframe::egui::Event::Paste(address.clone()));
    test.until(|window| {
        window.state.project.documents.get(1).is_some_and(|d| matches!(d.state, DocumentState::Failed(_)))
    });
    std::fs::write(&path, testing::pages(2)).unwrap();
    test.window.event(eframe::egui::Event::Paste(address));
    test.until(|window| window.state.project.documents[1].pages.len() == 2);
    assert_eq!(test.state().project.documents.len(), 2);
}

#[test]
fn a_page_that_failed_is_tried_at_another_resolution() {
    let mut test = Test::with_pages(1);
    let key = test.state().view.page.unwrap();
    let workspace = &mut test.state().workspace;
    workspace.history.amend(&mut workspace.project, key, |page| page.error = Some("too large".to_owned()));
    let settings = crate::window::workspace::settings::Settings { dpi: 100, ..test.state().settings.clone() };
    test.act(Action::Settings(Box::new(settings)));
    assert_eq!(test.state().page().unwrap().error, None);
    test.until(move |window| window.state.sheets.full(key).is_some_and(|sheet| sheet.dpi == 100));
}
