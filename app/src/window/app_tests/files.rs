//! What closing and opening ask first, and who draws the pages.

use engine::document::PdfRenderer;

use super::*;
use crate::window::state::{Confirm, Modal};
use crate::window::workspace::settings::{Renderer, Settings};

fn detect(test: &mut Test) {
    let key = test.state().view.page.unwrap();
    test.act(Action::Do(Command::Detect));
    test.until(move |window| window.state.project.page(key).is_some_and(|page| page.detected));
}

/// Whether closing the document asks first; if it does, no is answered.
fn close_asks(test: &mut Test) -> bool {
    test.act(Action::Do(Command::CloseDocument));
    let asks = matches!(test.state().modal, Some(Modal::Confirm(Confirm::CloseDocument(_))));
    test.act(Action::Modal(None));
    assert_eq!(test.state().project.documents.is_empty(), !asks);
    asks
}

#[test]
fn closing_a_document_asks_when_work_would_be_lost() {
    type Work = (&'static str, fn(&mut Test), bool);
    let cases: [Work; 6] = [
        ("nothing", |_| (), false),
        ("regions that were only detected", detect, false),
        ("a box that was drawn", |test| test.act(Action::Draw(Rect::new(50, 20, 400, 70))), true),
        (
            "a box beside those detected",
            |test| (detect(test), test.act(Action::Draw(Rect::new(50, 20, 400, 70)))).1,
            true,
        ),
        ("a page that was turned", |test| test.act(Action::Do(Command::RotateLeft)), true),
        (
            "a page turned there and back",
            |test| {
                test.act(Action::Do(Command::RotateLeft));
                test.act(Action::Do(Command::RotateRight));
            },
            false,
        ),
    ];
    for (name, work, asks) in cases {
        let mut test = Test::with_pages(1);
        work(&mut test);
        assert_eq!(close_asks(&mut test), asks, "{name}");
    }
}

#[test]
fn detecting_anew_in_place_of_drawn_boxes_is_work_still() {
    let mut test = Test::with_pages(1);
    test.draw_three();
    test.act(Action::Do(Command::Detect));
    test.until(|window| window.state.page().is_some_and(|page| page.regions.len() != 3));
    assert!(close_asks(&mut test), "undo would bring the boxes back");
}

#[test]
fn opening_a_project_asks_when_work_is_in_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("work.gravityocr");
    let mut test = Test::with_pages(1);
    test.draw_three();
    let asks = |test: &mut Test| {
        test.window.state_mut().ask_open_project("/no/such.gravityocr".into());
        std::mem::take(&mut test.state().modal).is_some()
    };
    assert!(asks(&mut test), "boxes were drawn");
    test.act(Action::Typed(crate::window::workspace::path_form::Asked::SaveProject, project));
    test.until(|window| window.state.project_file.is_some());
    assert!(!asks(&mut test), "they are in the file");
    test.act(Action::Do(Command::RotateLeft));
    assert!(asks(&mut test));
}

#[test]
fn another_program_for_pdfs_starts_another_engine_and_draws_all_pages_anew() {
    let mut test = Test::with_pages(1);
    let key = test.state().view.page.unwrap();
    test.recognize();
    test.act(Action::CancelRun);
    test.engine.say([Event::Finished { outcome: Outcome::Cancelled }]);
    test.until(|window| window.state.run.is_none());
    test.until(move |window| window.state.sheets.full(key).is_some() && window.state.sheets.thumbnail(key).is_some());
    let settings =
        Settings { renderer: Renderer::BuiltIn, pdfium: Some("/opt/pdfium".into()), ..test.state().settings.clone() };
    test.window.state_mut().apply(Action::Settings(Box::new(settings)));
    assert!(test.state().sheets.full(key).is_none() && test.state().sheets.thumbnail(key).is_none());
    test.until(move |window| window.state.sheets.full(key).is_some() && window.state.sheets.thumbnail(key).is_some());
    test.act(Action::Do(Command::Recognize));
    test.until(|window| window.state.run.is_some());
    let options = test.engine.options.lock().unwrap();
    let pdf: Vec<_> = options.iter().map(|options| (options.pdf_renderer, options.pdfium_dir.clone())).collect();
    assert_eq!(pdf, [(PdfRenderer::Best, None), (PdfRenderer::Hayro, Some("/opt/pdfium".into()))]);
}
