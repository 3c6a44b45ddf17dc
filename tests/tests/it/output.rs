use std::fs;

use super::support::{Sandbox, few_lines, pdf, sample_pdf};

#[test]
fn one_input_gives_one_file() {
    let sandbox = Sandbox::new();
    sandbox.write("scan.png", few_lines());
    let ran = sandbox.recognize("scan.png -o text/scan.md");
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    assert_eq!(sandbox.listing("text"), ["scan.md"]);
    assert!(sandbox.read("text/scan.md").contains("stone"));
}

#[test]
fn equal_names_do_not_collide() {
    let sandbox = Sandbox::new();
    sandbox.write("a/scan.png", few_lines());
    sandbox.write("b/scan.pdf", pdf(1));
    let ran = sandbox.recognize("a/scan.png b/scan.pdf -o out");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(sandbox.listing("out"), ["scan-2.md", "scan.md"]);
    assert!(sandbox.read("out/scan.md").contains("stone"));
    assert!(!sandbox.read("out/scan-2.md").contains("stone"));
}

#[test]
fn a_folder_is_read_in_order() {
    let sandbox = Sandbox::new();
    sandbox.write("scans/b.pdf", pdf(1));
    sandbox.write("scans/a.PDF", pdf(1));
    sandbox.write("scans/notes.txt", "not a scan");
    let ran = sandbox.recognize("scans -o out --format json");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(sandbox.listing("out"), ["a.json", "b.json"]);
    let order: Vec<_> = ran.err.lines().filter(|line| line.contains(": page 1")).collect();
    assert!(order[0].starts_with("a.PDF") && order[1].starts_with("b.pdf"), "{order:?}");
}

#[test]
fn an_existing_file_is_kept_unless_forced() {
    let sandbox = Sandbox::new();
    sandbox.write("page.pdf", pdf(1));
    sandbox.write("out.txt", "mine");
    let ran = sandbox.recognize("page.pdf -o out.txt --format txt");
    assert_eq!(ran.code, 1);
    assert_eq!(ran.faults(), ["out.txt exists already and was left as it is; use --force to overwrite it"]);
    assert_eq!(sandbox.read("out.txt"), "mine");
    assert_eq!(sandbox.recognize("page.pdf -o out.txt --format txt --force").code, 0);
    assert_ne!(sandbox.read("out.txt"), "mine");
}

#[test]
fn an_input_is_never_overwritten() {
    let sandbox = Sandbox::new();
    let before = pdf(1);
    sandbox.write("page.pdf", &before);
    let ran = sandbox.recognize("page.pdf -o ./page.pdf --force");
    assert_eq!(ran.code, 1);
    assert!(ran.faults()[0].contains("is an input"), "{}", ran.err);
    assert_eq!(fs::read(sandbox.path("page.pdf")).unwrap(), before);
}

#[test]
fn several_inputs_need_a_folder() {
    let sandbox = Sandbox::new();
    sandbox.write("a.pdf", pdf(1));
    sandbox.write("b.pdf", pdf(1));
    sandbox.write("out.md", "mine");
    let ran = sandbox.recognize("a.pdf b.pdf -o out.md");
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert_eq!(sandbox.read("out.md"), "mine");
}

#[test]
fn a_folder_that_cannot_be_made_is_a_sentence() {
    let sandbox = Sandbox::new();
    sandbox.write("a.pdf", pdf(1));
    sandbox.write("file", "keep");
    let ran = sandbox.recognize("a.pdf -o file/out.md");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("file/out.md cannot be written: a part of the path is a file"), "{}", ran.err);
    assert_eq!(sandbox.read("file"), "keep");
}

#[cfg(unix)]
#[test]
fn a_folder_that_may_not_be_written_is_a_sentence() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::with_permissions();
    sandbox.write("a.pdf", pdf(1));
    let old = sandbox.write("locked/out.md", "old");
    let folder = sandbox.path("locked");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    let ran = sandbox.recognize("a.pdf -o locked/out.md --force");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("cannot be written: permission is denied"), "{}", ran.err);
    assert_eq!(fs::read_to_string(old).unwrap(), "old");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_sentence() {
    let sandbox = Sandbox::new();
    sandbox.write("a.pdf", pdf(1));
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = sandbox.command().args(["recognize", "a.pdf", "--format", "html"]).stdout(full).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("standard output cannot be written: the disk is full"), "{err}");
}

#[test]
fn figures_are_saved_beside_the_document() {
    let sandbox = Sandbox::new();
    let sample = sample_pdf();
    let sample = sample.to_str().unwrap();
    let ran = sandbox.recognize(&format!("{sample} --pages 1 -o note.md"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let pictures = sandbox.listing("note-images");
    assert_eq!(pictures.len(), 1);
    assert!(sandbox.read("note.md").contains(&format!("](note-images/{})", pictures[0])));
    // The figure is 236 x 134 points, drawn at 200 dpi.
    let picture = image::open(sandbox.path("note-images").join(&pictures[0])).unwrap();
    assert!(picture.width().abs_diff(656) < 20 && picture.height().abs_diff(372) < 20, "{picture:?}");
    assert_eq!(sandbox.listing("."), ["note-images", "note.md"]);
}
