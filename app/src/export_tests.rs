#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

use engine::event::Event;
use engine::export::{ExportOptions, json};

use super::*;
use crate::cli::{Cli, Command};
use crate::output::tests::listing;
use crate::printer::tests::Shared;
use crate::reader::testing::page_with_figure;

/// A folder with `scan.json`: text and a picture, a page that failed. The picture is where `recognize` puts it.
fn result() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let Event::PageFinished { page, figures } = page_with_figure(0) else { panic!("a page") };
    let failed = PageOutcome::Failed { index: 1, message: "no font".to_owned() };
    let document = DocumentResult { name: "scan.pdf".to_owned(), pages: vec![PageOutcome::Page(*page), failed] };
    fs::write(folder.path().join("scan.json"), json(&document, &ExportOptions::default())).unwrap();
    let images = folder.path().join("scan-images");
    fs::create_dir(&images).unwrap();
    fs::write(images.join(figure_file_name(0, 1)), &figures[0].png).unwrap();
    folder
}

/// Runs `export` with the paths of `line` in the folder; how it ended, and both streams.
fn run(folder: &Path, line: &str) -> (Exit, String, String) {
    let path = |word: &str| folder.join(word.trim_start_matches('@')).to_string_lossy().into_owned();
    let words = line.split(' ').map(|word| if word.starts_with('@') { path(word) } else { word.to_owned() });
    let words = ["gravityocr".to_owned(), "export".to_owned()].into_iter().chain(words).map(Into::into);
    let Some(Command::Export(args)) = Cli::parse(words).unwrap().command else { panic!("export was asked for") };
    let (out, err) = (Shared::default(), Shared::default());
    let exit = command(&args, &mut Printer::to(out.clone(), err.clone()));
    (exit, out.text(), err.text())
}

#[test]
fn a_result_is_written_in_every_format() {
    let folder = result();
    let text = |format: &str| {
        let (exit, out, err) = run(folder.path(), &format!("@scan.json --format {format}"));
        assert_eq!((exit, err.as_str()), (Exit::Done, ""), "{format}");
        out
    };
    assert!(text("md").starts_with("Text\n\n<!-- figure on page 1 -->"), "{}", text("md"));
    assert!(text("md").contains("page 2 could not be read: no font"));
    assert!(text("html").starts_with("<!DOCTYPE html>"));
    assert!(text("txt").starts_with("Text\n"));
    let again = text("json");
    assert_eq!(again, fs::read_to_string(folder.path().join("scan.json")).unwrap(), "nothing is lost or added");
}

#[test]
fn links_to_pictures_hold_wherever_the_document_goes() {
    let folder = result();
    let name = figure_file_name(0, 1);
    for (line, document, images) in [
        ("@scan.json --format md -o @scan.md", "scan.md", "scan-images"),
        ("@scan.json --format html -o @paper.html", "paper.html", "paper-images"),
        ("@scan.json --format md -o @other/", "other/scan.md", "other/scan-images"),
        // A copy of the result can be exported like the result.
        ("@scan.json --format json -o @copy.json", "copy.json", "copy-images"),
        ("@copy.json --format md -o @copy.md", "copy.md", "copy-images"),
    ] {
        fs::create_dir_all(folder.path().join("other")).unwrap();
        let (exit, out, err) = run(folder.path(), line);
        assert_eq!((exit, out.as_str(), err.as_str()), (Exit::Done, "", ""), "{line}");
        let document = folder.path().join(document);
        let link = format!("{}/{name}", images.rsplit('/').next().unwrap());
        let written = fs::read_to_string(&document).unwrap();
        assert!(written.contains(&link) || document.extension().unwrap() == "json", "{written}");
        assert_eq!(fs::read(folder.path().join(images).join(&name)).unwrap(), b"PNG bytes", "{line}");
    }
}

#[test]
fn a_missing_picture_is_told_and_not_linked_to() {
    let folder = result();
    fs::remove_dir_all(folder.path().join("scan-images")).unwrap();
    let (exit, _, err) = run(folder.path(), "@scan.json --format md -o @scan.md");
    assert_eq!(exit, Exit::Done);
    assert!(err.contains("1 picture is not in ") && err.contains("scan-images; the document says so"), "{err}");
    let written = fs::read_to_string(folder.path().join("scan.md")).unwrap();
    assert!(written.contains("page 1, region 2: could not be read: its picture is missing"), "{written}");
    assert!(!written.contains(".png"), "{written}");
}

#[test]
fn nothing_is_overwritten_unasked_and_never_the_result() {
    let folder = result();
    fs::write(folder.path().join("out.md"), "mine").unwrap();
    let before = listing(folder.path());
    for (line, part) in [
        ("@scan.json --format md -o @out.md", "exists already and was left as it is; use --force"),
        ("@scan.json --format json -o @scan.json --force", "is an input and is not overwritten"),
    ] {
        let (exit, _, err) = run(folder.path(), line);
        assert!(exit == Exit::Failed && err.contains(part), "{err}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("out.md")).unwrap(), "mine");
    assert_eq!(listing(folder.path()), before);
    let (exit, _, err) = run(folder.path(), "@scan.json --format md -o @out.md --force");
    assert_eq!((exit, err.as_str()), (Exit::Done, ""));
    assert!(fs::read_to_string(folder.path().join("out.md")).unwrap().contains("out-images/"));
}

#[test]
fn what_is_no_result_is_a_sentence() {
    let folder = result();
    let whole = fs::read_to_string(folder.path().join("scan.json")).unwrap();
    for (content, part) in [
        (&b"{\"a\": 1}"[..], "this is not a GravityOCR document: open a JSON file that this program exported"),
        (b"[1, 2", "this is not a GravityOCR document, or it is damaged at line 1"),
        (b"", "this is not a GravityOCR document, or it is damaged at line 1"),
        (b"{\"format\":\"gravityocr-document\",\"version\":9}", "written by a newer version of the program (format 9)"),
        (&whole.as_bytes()[..whole.len() / 2], "damaged at line"),
        (b"\xff\xfe{", "this is not JSON"),
        ("[".repeat(1_000_000).as_bytes(), "damaged at line 1"),
    ] {
        fs::write(folder.path().join("bad.json"), content).unwrap();
        let (exit, out, err) = run(folder.path(), "@bad.json --format md");
        assert_eq!((exit, out.as_str()), (Exit::Failed, ""));
        assert!(err.contains("bad.json: ") && err.contains(part), "{part} in {err}");
    }
    let (exit, _, err) = run(folder.path(), "@none.json --format md");
    assert!(exit == Exit::Failed && err.contains("none.json cannot be read: there is no such file"), "{err}");
}

#[test]
fn a_file_too_large_to_be_a_result_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    // A hole takes no room on the disk.
    let file = File::create(folder.path().join("huge.json")).unwrap();
    file.set_len(MAX_BYTES + 1).unwrap();
    let (exit, _, err) = run(folder.path(), "@huge.json --format md");
    assert!(exit == Exit::Failed && err.contains("huge.json has more than 500 MB"), "{err}");
    // The size that a file claims is not trusted either.
    fs::write(folder.path().join("small"), "12345").unwrap();
    assert!(read(&folder.path().join("small"), 4).is_err());
    assert_eq!(read(&folder.path().join("small"), 5), Ok(b"12345".to_vec()));
    if cfg!(target_os = "linux") {
        assert!(read(Path::new("/proc/self/status"), 4).is_err(), "it claims to be empty");
    }
}
