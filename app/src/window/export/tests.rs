#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use engine::document::Turn;
use engine::job::Source;
use engine::page::Status;
use engine::region::{Label, Rect, Region};

use super::super::workspace::detail::{Contents, Detail};
use super::super::workspace::export::{Exported, start, stem};
use super::super::workspace::project::{Page, PageRegion, Project, RegionId, RegionRead};
use super::super::workspace::settings::Settings;
use super::super::workspace::state::Workspace;
use super::*;
use crate::output::tests::listing;

const TEXT: &str = "“Fish & <chips>” \u{fffd} für $5";
const FIGURE: Rect = Rect { x0: 40, y0: 60, x1: 70, y1: 100 };

fn region(id: u64, label: Label, bounds: Rect, text: Option<&str>, edit: Option<&str>) -> Arc<PageRegion> {
    let contents =
        Contents { readings: vec![crate::reader::testing::reading(vec![Default::default()])], logs: Vec::new() };
    let read = |text: &str| {
        Arc::new(RegionRead { status: Status::Done, text: text.to_owned(), detail: Detail::pack(&contents) })
    };
    let edit = edit.map(str::to_owned);
    Arc::new(PageRegion { id: RegionId(id), region: Region::new(label, bounds), read: text.map(read), edit })
}

/// A picture of a scan, white with a dark box where the figure is.
fn picture() -> Vec<u8> {
    let pixels = image::RgbImage::from_fn(120, 160, |x, y| {
        let inside = (FIGURE.x0..FIGURE.x1).contains(&x) && (FIGURE.y0..FIGURE.y1).contains(&y);
        image::Rgb(if inside { [20, 40, 60] } else { [255; 3] })
    });
    let mut png = std::io::Cursor::new(Vec::new());
    pixels.write_to(&mut png, image::ImageFormat::Png).unwrap();
    png.into_inner()
}

/// A folder with a scan of one page that was read, and a project of it.
fn place() -> (tempfile::TempDir, Project) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("scan.png"), picture()).unwrap();
    let mut project = Project::default();
    let id = project.add("scan.png".to_owned(), Source::Path(folder.path().join("scan.png")));
    let text = Rect { x0: 5, y0: 5, x1: 100, y1: 30 };
    let regions = vec![
        region(11, Label::Header, Rect { x0: 0, y0: 0, x1: 100, y1: 4 }, Some("Running head"), None),
        region(12, Label::Text, text, Some("model"), Some(TEXT)),
        region(13, Label::Image, FIGURE, None, None),
    ];
    let page = Page { size: Some([120, 160]), detected: true, regions, ..Page::default() };
    let unread = Page::default();
    let failed = Page { error: Some("page 3 is damaged".to_owned()), ..Page::default() };
    let pages = [page, unread, failed].into_iter().map(Arc::new).collect();
    project.document_mut(id).unwrap().pages = pages;
    (folder, project)
}

fn form(project: &Project) -> ExportForm {
    ExportForm::new(&project.documents[0], Some(0), &Settings::default())
}

fn export(form: &ExportForm, project: &Project) -> Result<Exported, String> {
    start(form.clone(), &project.documents[0], &Settings::default(), || ()).wait()
}

fn written(form: &ExportForm, project: &Project) -> PathBuf {
    match export(form, project) {
        Ok(Exported::Written { path, left_out }) if left_out.is_empty() => path,
        other => panic!("{other:?}"),
    }
}

#[test]
fn markdown_comes_with_its_pictures_and_the_person_s_text() {
    let (folder, project) = place();
    let path = written(&form(&project), &project);
    assert_eq!(path, folder.path().join("scan.md"));
    let markdown = fs::read_to_string(&path).unwrap();
    assert!(markdown.starts_with("“Fish & \\<chips>” \u{fffd} für $5\n"), "{markdown}");
    assert!(!markdown.contains("model") && !markdown.contains("Running head"), "{markdown}");
    assert!(markdown.contains("](scan-images/page-0001-region-03.png)"), "{markdown}");
    assert!(markdown.contains("page 3 is damaged"), "{markdown}");
    let picture = image::open(folder.path().join("scan-images/page-0001-region-03.png")).unwrap().to_rgb8();
    assert_eq!(picture.dimensions(), (30, 40));
    assert!(picture.pixels().all(|pixel| pixel.0 == [20, 40, 60]), "the figure and nothing else");
    assert_eq!(listing(folder.path()), ["scan-images", "scan.md", "scan.png"], "nothing half-written stays");
}

#[test]
fn every_format_is_valid_and_json_can_be_reopened() {
    let (_folder, project) = place();
    let mut form = form(&project);
    form.furniture = true;
    for format in FORMATS {
        form.set_format(format);
        let path = written(&form, &project);
        assert_eq!(path.extension().unwrap().to_str(), Some(format.extension()));
        let text = String::from_utf8(fs::read(&path).unwrap()).unwrap();
        assert!(text.contains("Running head"), "{text}");
        match format {
            Format::Json => {
                let reopened = engine::export::from_json(&text).unwrap();
                let expected = crate::window::workspace::result::document_result(&project.documents[0], true);
                assert_eq!(reopened, expected);
            }
            Format::Text => assert!(text.contains(TEXT), "{text}"),
            Format::Html => assert!(text.contains("“Fish &amp; &lt;chips&gt;” \u{fffd} für"), "{text}"),
            _ => {}
        }
    }
}

#[test]
fn proposed_names_never_collide() {
    let (folder, project) = place();
    let first = form(&project);
    assert_eq!(first.path, folder.path().join("scan.md").to_string_lossy());
    // Two exports of the same proposal, side by side.
    let both = [(); 2].map(|()| start(first.clone(), &project.documents[0], &Settings::default(), || ()));
    let mut paths = both.map(|export| match export.wait() {
        Ok(Exported::Written { path, .. }) => path,
        other => panic!("{other:?}"),
    });
    paths.sort();
    assert_eq!(paths, [folder.path().join("scan (2).md"), folder.path().join("scan.md")]);
    assert!(folder.path().join("scan (2)-images").is_dir());
    // A folder of pictures alone takes the name as well.
    fs::create_dir(folder.path().join("scan (3)-images")).unwrap();
    assert!(form(&project).path.ends_with("scan (4).md"));
}

#[test]
fn nothing_is_replaced_unless_that_was_agreed_to() {
    let (folder, project) = place();
    let target = folder.path().join("mine.md");
    fs::write(&target, "old").unwrap();
    let mut typed = form(&project);
    typed.path = "mine".to_owned();
    typed.settle_path();
    assert_eq!(typed.target(), Some(target.clone()), "the ending is added");
    let Ok(Exported::Exists(asked)) = export(&typed, &project) else { panic!("it was to be asked about") };
    assert!(asked.exists && !asked.may_replace());
    assert_eq!(fs::read(&target).unwrap(), b"old");

    // The system's dialog asked about "mine", which is another file.
    let mut chosen = form(&project);
    chosen.choose(folder.path().join("mine"));
    assert!(matches!(export(&chosen, &project), Ok(Exported::Exists(_))));
    chosen.choose(target.clone());
    assert_eq!(written(&chosen, &project), target);
    assert_ne!(fs::read(&target).unwrap(), b"old");
    assert_eq!(written(&ExportForm { replace: true, ..asked }, &project), target, "pictures are replaced with it");

    let mut source = form(&project);
    source.choose(folder.path().join("scan.png"));
    assert!(export(&source, &project).unwrap_err().contains("is not overwritten"));
    assert_eq!(fs::read(folder.path().join("scan.png")).unwrap(), picture());
}

#[test]
fn a_place_that_cannot_be_written_is_a_sentence() {
    let (folder, project) = place();
    let mut nowhere = form(&project);
    nowhere.path = folder.path().join("none/scan.md").to_string_lossy().into_owned();
    assert!(export(&nowhere, &project).unwrap_err().starts_with("There is no folder"));
    // A folder where the file should be; a person who chose it would not want it replaced.
    fs::create_dir(folder.path().join("taken.md")).unwrap();
    let mut chosen = form(&project);
    chosen.choose(folder.path().join("taken.md"));
    let sentence = export(&chosen, &project).unwrap_err();
    assert!(sentence.contains("taken.md cannot be written"), "{sentence}");
    assert!(folder.path().join("taken.md").is_dir());
    let nothing = ExportForm { path: String::new(), ..form(&project) };
    assert!(export(&nothing, &project).is_err());
}

#[test]
fn a_cancelled_export_leaves_nothing() {
    let (folder, project) = place();
    let before = listing(folder.path());
    let (go, went) = std::sync::mpsc::sync_channel::<()>(0);
    let went = std::sync::Mutex::new(went);
    // The first page is written, its picture kept; then the thread waits until it was cancelled.
    let waker = move || went.lock().unwrap().recv().unwrap_or_default();
    let exporting = start(form(&project), &project.documents[0], &Settings::default(), waker);
    while exporting.progress().0 == 0 {
        std::thread::yield_now();
    }
    assert_eq!(exporting.progress(), (1, 3));
    exporting.cancel();
    drop(go);
    assert_eq!(exporting.wait(), Ok(Exported::Cancelled));
    assert_eq!(listing(folder.path()), before);
}

#[test]
fn the_text_is_exported_although_the_scan_is_gone() {
    let (folder, project) = place();
    fs::remove_file(folder.path().join("scan.png")).unwrap();
    let Ok(Exported::Written { path, left_out }) = export(&form(&project), &project) else { panic!("it was read") };
    assert_eq!(left_out.len(), 1);
    assert!(left_out[0].starts_with("Page 1: a picture is left out: scan.png"), "{left_out:?}");
    let markdown = fs::read_to_string(path).unwrap();
    assert!(markdown.contains("Fish") && !markdown.contains("]("), "{markdown}");
    assert_eq!(listing(folder.path()), ["scan.md"]);
}

#[test]
fn pictures_are_cut_from_the_page_as_it_was_turned_and_sized() {
    let (folder, mut project) = place();
    let key = super::super::workspace::project::PageKey { document: project.documents[0].id, page: 0 };
    // The page was turned to the right and read at twice the size.
    let turned = Rect { x0: 2 * (160 - FIGURE.y1), y0: 2 * FIGURE.x0, x1: 2 * (160 - FIGURE.y0), y1: 2 * FIGURE.x1 };
    let mut page = Page::clone(project.page(key).unwrap());
    page.turn = Turn::Right;
    page.size = Some([320, 240]);
    page.regions[2] = region(13, Label::Image, turned, None, None);
    project.documents[0].pages[0] = Arc::new(page);
    written(&ExportForm { scope: Scope::Page, ..form(&project) }, &project);
    let picture = image::open(folder.path().join("scan-images/page-0001-region-03.png")).unwrap().to_rgb8();
    assert_eq!(picture.dimensions(), (40, 30));
    assert!(picture.pixels().all(|pixel| pixel.0 == [20, 40, 60]));
}

#[test]
fn names_of_documents_make_names_of_files() {
    assert_eq!(stem("a: b?.pdf"), "a_ b_");
    assert_eq!(stem("v1.2.pdf"), "v1.2");
    assert_eq!((stem("").as_str(), stem("...").as_str()), ("Untitled", "Untitled"));
}

/// The form in a harness, with what it asked for.
fn harness(project: Project) -> Harness<'static, (ExportForm, State, Vec<Action>)> {
    let form = form(&project);
    let state = State { workspace: Workspace { project, ..Workspace::default() }, ..State::default() };
    Harness::builder().with_size([600.0, 420.0]).build_ui_state(
        |ui, (form, state, asked): &mut (ExportForm, State, Vec<Action>)| {
            let mut actions = Actions::default();
            egui::Frame::popup(ui.style()).show(ui, |ui| show(ui, form, state, &mut actions));
            for action in actions.take() {
                match action {
                    Action::Modal(Some(Modal::Export(changed))) => *form = changed,
                    other => asked.push(other),
                }
            }
        },
        (form, state, Vec::new()),
    )
}

#[test]
fn the_form_is_filled_in_by_its_controls() {
    let (folder, project) = place();
    let mut harness = harness(project);
    harness.run();
    for label in ["HTML", "Page 1 only", words::FURNITURE] {
        harness.get_by_label(label).click();
        harness.run();
    }
    let form = harness.state().0.clone();
    assert_eq!((form.format, form.scope, form.furniture), (Format::Html, Scope::Page, true));
    assert_eq!(form.target(), Some(folder.path().join("scan.html")));
    assert!(form.proposed);
    harness.get_by_label(words::CHOOSE).click();
    harness.run();
    harness.get_by_role_and_label(egui::accesskit::Role::Button, words::EXPORT).click();
    harness.run();
    assert_eq!(harness.state().2, [Action::Browse(Asked::Export), Action::Export(form)]);

    harness.state_mut().0.exists = true;
    harness.run();
    let button = harness.get_by_role_and_label(egui::accesskit::Role::Button, words::EXPORT);
    assert!(button.accesskit_node().is_disabled(), "first it is asked about");
    harness.get_by_label(words::REPLACE).click();
    harness.run();
    assert!(harness.state().0.may_replace());
}

#[test]
fn the_form_is_used_by_keyboard() {
    let (_folder, project) = place();
    let mut harness = harness(project);
    harness.run();
    assert!(harness.get_by_role_and_label(egui::accesskit::Role::Button, words::EXPORT).is_focused());
    harness.key_press(Key::Enter);
    harness.run();
    let form = harness.state().0.clone();
    assert_eq!(harness.state_mut().2.split_off(0), [Action::Export(form.clone())]);

    // Tab goes all the way around, also to where it began.
    let mut seen = std::collections::HashSet::new();
    for _ in 0..20 {
        harness.key_press(Key::Tab);
        harness.run();
        let focused = harness.ctx.memory(|memory| memory.focused());
        seen.extend(focused);
    }
    assert_eq!(seen.len(), 13, "four formats, two scopes, three choices, Choose, the path, Export, Cancel");

    let path = harness.get_by_role(egui::accesskit::Role::TextInput);
    path.focus();
    harness.run();
    harness.key_press(Key::Enter);
    harness.run();
    assert_eq!(harness.state().2, [Action::Export(form)]);
}
