#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::fs;
use std::path::Path;
use std::rc::Rc;

use super::*;
use crate::cli::{Cli, Command};
use crate::printer::tests::Shared;
use crate::reader::testing::{Recorded, finished, opened, over, page, page_with_figure, two_lines};

/// What a run left behind.
struct Ran {
    exit: Exit,
    out: String,
    err: String,
}

fn run(line: &[&str], reader: &Recorded, interrupt: Interrupt) -> Ran {
    let words = ["gravityocr", "recognize"].iter().chain(line).map(Into::into);
    let Some(Command::Recognize(args)) = Cli::parse(words).unwrap().command else { panic!("recognize was asked for") };
    let inputs: Vec<_> = args
        .files
        .iter()
        .map(|path| Input { path: path.clone(), stem: path.file_stem().unwrap().to_string_lossy().into_owned() })
        .collect();
    let destination = Destination::new(args.output.as_deref(), inputs.len() > 1).unwrap();
    let style = Style { redraw: false, colours: false };
    let (out, err) = (Shared::default(), Shared::default());
    let mut printer = Printer::to(out.clone(), err.clone());
    let exit = Session { args: &args, reader, inputs: &inputs, destination, style, interrupt }.run(&mut printer);
    Ran { exit, out: out.text(), err: err.text() }
}

fn play(line: &[&str], jobs: impl IntoIterator<Item = Result<Vec<Event>, String>>) -> Ran {
    run(line, &Recorded::new(jobs), Interrupt::default())
}

fn listing(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn text_goes_to_standard_output_and_progress_to_standard_error() {
    let ran = play(&["scan.pdf"], [Ok(two_lines())]);
    assert_eq!(ran.exit, Exit::Done);
    assert_eq!(ran.out, "Apple pie Apple pie\n");
    assert_eq!(ran.err, "scan.pdf: page 1 (1 of 1): 1 region, 240 tok/s, TPF 2.5, 3.0 accepted a round\n");
}

#[test]
fn a_bad_page_or_file_is_named_and_the_others_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let one_bad_page = vec![
        opened(2),
        Event::PageFailed { page: 0, message: "page 1 of b.pdf cannot be shown: no font".to_owned() },
        finished(page(1, "Second", Status::Done)),
        over(Outcome::Completed),
    ];
    let ran = play(
        &["x/a.pdf", "x/b.pdf", "x/c.pdf", "-o", out.to_str().unwrap()],
        [Ok(vec![over(Outcome::Failed("a.pdf is empty (0 bytes)".to_owned()))]), Ok(one_bad_page), Ok(two_lines())],
    );
    assert_eq!(ran.exit, Exit::Failed);
    assert_eq!(listing(&out), ["b.md", "c.md"]);
    let named: Vec<_> = ran.err.lines().filter(|line| line.starts_with("gravityocr: ")).collect();
    assert_eq!(
        named,
        ["gravityocr: x/a.pdf is empty (0 bytes)", "gravityocr: page 1 of x/b.pdf cannot be shown: no font"]
    );
    assert!(fs::read_to_string(out.join("b.md")).unwrap().contains("Second"));
}

#[test]
fn a_region_that_failed_is_a_fault_and_one_cut_short_is_a_remark() {
    let document = |status| vec![opened(1), finished(page(0, "Text", status)), over(Outcome::Completed)];
    let failed = play(&["a.pdf"], [Ok(document(Status::Failed("out of memory".to_owned())))]);
    assert_eq!(failed.exit, Exit::Failed);
    assert!(
        failed.err.contains("gravityocr: a.pdf, page 1: region 1 could not be read: out of memory\n"),
        "{}",
        failed.err
    );
    let cut = play(&["a.pdf"], [Ok(document(Status::Truncated))]);
    assert_eq!(cut.exit, Exit::Done);
    assert!(cut.err.contains("gravityocr: a.pdf, page 1: region 1 is cut short"), "{}", cut.err);
}

#[test]
fn pictures_stand_beside_the_document_that_links_to_them() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("paper.md");
    let jobs = [Ok(vec![opened(1), page_with_figure(0), over(Outcome::Completed)])];
    let ran = play(&["scan.pdf", "-o", target.to_str().unwrap()], jobs);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Done, ""));
    let pictures = listing(&folder.path().join("paper-images"));
    assert_eq!(pictures.len(), 1);
    let link = format!("paper-images/{}", pictures[0]);
    assert_eq!(fs::read(folder.path().join(&link)).unwrap(), b"PNG bytes");
    let markdown = fs::read_to_string(&target).unwrap();
    assert!(markdown.contains(&format!("]({link})")), "{markdown}");
    assert_eq!(listing(folder.path()), ["paper-images", "paper.md"]);
}

#[test]
fn a_picture_that_cannot_be_placed_leaves_all_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let old = ["paper.md", "rounds.json", "paper-images/page-0001-region-02.png"];
    // Where the picture of page 2 should be.
    fs::create_dir_all(path("paper-images/page-0002-region-02.png/full")).unwrap();
    old.iter().for_each(|name| fs::write(path(name), "old").unwrap());
    let jobs = [Ok(vec![opened(2), page_with_figure(0), page_with_figure(1), over(Outcome::Completed)])];
    let (target, trace) = (path("paper.md"), path("rounds.json"));
    let ran = play(&["a.pdf", "-o", target.to_str().unwrap(), "--trace", trace.to_str().unwrap(), "--force"], jobs);
    assert_eq!(ran.exit, Exit::Failed);
    let sentence = "page-0002-region-02.png cannot be written: it is a folder; nothing was written\n";
    assert!(ran.err.ends_with(sentence), "{}", ran.err);
    old.iter().for_each(|name| assert_eq!(fs::read_to_string(path(name)).unwrap(), "old", "{name}"));
    assert_eq!(listing(folder.path()), ["paper-images", "paper.md", "rounds.json"]);
}

#[test]
fn nothing_is_read_for_a_file_that_may_not_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.md");
    fs::write(&target, "mine").unwrap();
    let ran = play(&["scan.pdf", "-o", target.to_str().unwrap()], []);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("exists already and was left as it is; use --force"), "{}", ran.err);
    assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
    let ran = play(&["scan.pdf", "-o", target.to_str().unwrap(), "--force"], [Ok(two_lines())]);
    assert_eq!(ran.exit, Exit::Done);
    assert_eq!(fs::read_to_string(&target).unwrap(), "Apple pie Apple pie\n");
}

#[test]
fn nothing_appears_where_writing_is_impossible() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "keep").unwrap();
    let ran = play(&["scan.pdf", "-o", file.join("out.md").to_str().unwrap()], [Ok(two_lines())]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("out.md cannot be written: a part of the path is a file, not a folder"), "{}", ran.err);
    assert_eq!(listing(folder.path()), ["file"]);
}

#[test]
fn ctrl_c_keeps_the_finished_pages_and_starts_no_other_file() {
    let folder = tempfile::tempdir().unwrap();
    let interrupt = Interrupt::default();
    let asked = interrupt.clone();
    let document = vec![
        opened(2),
        finished(page(0, "First", Status::Done)),
        finished(page(1, "Second", Status::Done)),
        over(Outcome::Completed),
    ];
    let mut reader = Recorded::new([Ok(document), Ok(two_lines())]);
    reader.before_each = Some(Rc::new(move |event| {
        if matches!(event, Event::PageFinished { page, .. } if page.index == 0) {
            asked.ask();
        }
    }));
    let ran = run(&["a.pdf", "b.pdf", "-o", folder.path().to_str().unwrap()], &reader, interrupt);
    assert_eq!(ran.exit, Exit::Interrupted);
    assert_eq!(listing(folder.path()), ["a.md"]);
    assert_eq!(fs::read_to_string(folder.path().join("a.md")).unwrap(), "First\n");
}

#[test]
fn an_engine_that_vanishes_is_a_fault_and_finished_pages_are_kept() {
    let ran = play(&["a.pdf"], [Ok(vec![opened(2), finished(page(0, "First", Status::Done))])]);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Failed, "First\n"));
    assert!(ran.err.contains("gravityocr: a.pdf: the engine stopped"), "{}", ran.err);
}

#[test]
fn the_trace_is_written_beside_the_document() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.json");
    let ran = play(&["a.pdf", "--trace", trace.to_str().unwrap()], [Ok(two_lines())]);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Done, "Apple pie Apple pie\n"));
    let value: serde_json::Value = serde_json::from_slice(&fs::read(&trace).unwrap()).unwrap();
    assert_eq!(value["document"], "a.pdf");
    assert_eq!(value["pages"].as_array().unwrap().len(), 1);
}

#[test]
fn formulas_kept_as_pictures_are_mentioned() {
    let mut read = page(2, "", Status::Picture);
    read.regions[0].region.label = engine::region::Label::DisplayFormula;
    let remarks: Vec<_> = remarks(&read).into_iter().map(|remark| (remark.text, remark.is_fault)).collect();
    assert_eq!(remarks, [("1 formula stays a picture: this checkpoint does not read formulas".to_owned(), false)]);
}
