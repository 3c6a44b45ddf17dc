#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::fs;

use engine::document::Turn;

use super::store::{Store, claim};
use super::*;
use crate::window::workspace::project::DocumentState;
use crate::window::workspace::stored::testing::{page, project_of};

/// A data folder with a scan in it.
struct DataFolder {
    folder: tempfile::TempDir,
}

impl DataFolder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("scan.pdf"), "any file").unwrap();
        Self { folder }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn project(&self) -> Project {
        project_of(&self.folder.path().join("scan.pdf"))
    }

    fn start(&self) -> (Session, Settings, Restored) {
        start(Some(&self.data()))
    }

    /// Keeps a state as a window does that is closed at once.
    fn keep(&self, state: &Workspace) {
        let (mut session, ..) = self.start();
        session.finish(state);
    }

    fn session_file(&self, name: &str) -> PathBuf {
        self.data().join("session").join(name)
    }
}

fn start(data: Option<&Path>) -> (Session, Settings, Restored) {
    let (mut session, settings) = Session::open(data, Box::new(|| ()));
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(restored) = session.restored() {
            return (session, settings, restored);
        }
        assert!(Instant::now() < until, "the session was not read");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn state(project: Project) -> Workspace {
    Workspace { project, ..Workspace::default() }
}

fn key(document: u64, page: usize) -> PageKey {
    PageKey { document: DocumentId(document), page }
}

/// All files below a folder with their content, but the lock.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false if entry.file_name() == "lock" => {}
            false => found.push((entry.path(), fs::read(entry.path()).unwrap())),
        }
    }
    found.sort();
    found
}

#[test]
fn work_is_there_again_at_the_next_start() {
    let place = DataFolder::new();
    let mut before = state(place.project());
    before.view.page = Some(key(1, 2));
    before.project_file = Some(PathBuf::from("/work.gravityocr"));
    before.settings.dpi = 300;
    before.saved_revision = 7;
    before.project.documents[0].password = Some("open sesame".to_owned());
    place.keep(&before);
    for (path, bytes) in files(&place.data()) {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("sesame"), "{} holds a password", path.display());
    }

    let (_session, settings, mut after) = place.start();
    assert_eq!(after.warnings, [""; 0]);
    assert_eq!((after.page, after.unsaved), (before.view.page, true));
    assert_eq!((after.project_file, settings), (before.project_file, before.settings));
    before.project.documents[0].password = None;
    assert_eq!(after.project.documents, before.project.documents);
    assert_eq!(after.project.new_region(), before.project.new_region(), "names are not used twice");
}

#[test]
fn a_document_whose_file_is_gone_stays_with_its_results() {
    let place = DataFolder::new();
    place.keep(&state(place.project()));
    fs::remove_file(place.folder.path().join("scan.pdf")).unwrap();
    let (.., after) = place.start();
    let DocumentState::Failed(sentence) = &after.project.documents[0].state else { panic!("it is gone") };
    assert!(sentence.starts_with("scan.pdf: the file is no longer there"), "{sentence}");
    assert_eq!(after.project.documents[0].pages, place.project().documents[0].pages);
    assert_eq!(after.project.documents[1].state, DocumentState::Opening);
}

#[test]
fn closing_every_document_empties_the_session() {
    let place = DataFolder::new();
    let mut state = state(place.project());
    place.keep(&state);
    assert_eq!(files(&place.session_file("doc-1")).len(), 2, "a blank page needs no file");
    state.project.documents.remove(0);
    place.keep(&state);
    assert!(!place.session_file("doc-1").exists());
    state.project.documents.clear();
    place.keep(&state);
    let (.., after) = place.start();
    assert_eq!((after.project.documents, after.warnings), (Vec::new(), Vec::new()));
    assert_eq!(files(&place.data().join("session")).len(), 1, "only the index is left");
}

#[test]
fn changes_are_gathered_but_results_are_written_at_once() {
    let place = DataFolder::new();
    let (mut session, ..) = place.start();
    let now = Instant::now();
    let later = |ms| now + Duration::from_millis(ms);
    let seen = |pulse| Seen { pulse, ..Seen::default() };
    session.notice(seen(1), false, false, now);
    session.notice(seen(2), false, false, later(400));
    assert_eq!(session.due, Some(later(500)), "steady work does not put it off");
    session.notice(seen(3), false, true, later(450));
    assert_eq!(session.due, Some(later(450)));

    let mut state = state(place.project());
    let mut tick = |state: &Workspace, now| session.tick(state, now).again;
    assert_eq!(tick(&state, later(450)), None);
    assert_eq!(tick(&state, later(600)), None, "nothing changed");
    state.settings.colours = false;
    assert_eq!(tick(&state, later(600)), Some(GATHER));
    assert_eq!(tick(&state, later(1100)), None);
    session.finish(&state);
    let (_, settings, after) = place.start();
    assert_eq!((settings.colours, after.project.documents.len()), (false, 2));
}

#[test]
fn what_a_closed_document_left_is_not_taken_for_another_s() {
    let place = DataFolder::new();
    let mut state = state(place.project());
    place.keep(&state);
    // The program ended after the index was written, before the folder went.
    let left = fs::read(place.session_file("doc-1/page-0001.json")).unwrap();
    state.project.documents.remove(0);
    place.keep(&state);
    fs::create_dir(place.session_file("doc-1")).unwrap();
    fs::write(place.session_file("doc-1/page-0001.json"), &left).unwrap();
    let (session, ..) = place.start();
    assert!(!place.session_file("doc-1").exists());
    drop(session);

    // A page of another file under the same name.
    fs::write(place.folder.path().join("other.pdf"), "another file").unwrap();
    let mut other = place.project();
    other.documents[0].source = Source::Path(place.folder.path().join("other.pdf"));
    other.documents[0].pages = vec![Arc::default(); 3];
    let other = Workspace { project: other, ..Workspace::default() };
    place.keep(&other);
    fs::create_dir_all(place.session_file("doc-1")).unwrap();
    fs::write(place.session_file("doc-1/page-0001.json"), &left).unwrap();
    let (.., after) = place.start();
    assert_eq!(after.project.documents, other.project.documents);
}

#[test]
fn a_page_that_is_blank_again_is_forgotten() {
    let place = DataFolder::new();
    let mut state = state(place.project());
    let (mut session, ..) = place.start();
    session.hand_over(&state);
    state.project.set_page(key(1, 0), Arc::default());
    session.finish(&state);
    let (.., after) = place.start();
    assert_eq!(after.project.documents, state.project.documents);
}

/// A store that has been restored and may make so many changes to files.
fn store(data: &Path, budget: Option<usize>) -> Store {
    let (mut store, _) = claim(data).unwrap_or_else(|(path, error)| panic!("{}: {error}", path.display()));
    store.restore();
    store.budget = budget;
    store
}

fn snapshot(project: &Project) -> Snapshot {
    let place = DataFolder::new();
    let (mut session, ..) = place.start();
    session.snapshot(&state(project.clone()))
}

#[test]
fn whatever_moment_the_program_ends_at_every_page_is_the_old_one_or_the_new_one() {
    let place = DataFolder::new();
    let old = place.project();
    let mut new = old.clone();
    // A page changes, one becomes blank, a document is closed, another is pasted.
    let changed = page(&mut new, "changed");
    new.set_page(key(1, 1), Arc::new(changed));
    new.set_page(key(1, 2), Arc::new(Page { turn: Turn::Half, ..Page::default() }));
    new.set_page(key(1, 0), Arc::default());
    new.documents.remove(1);
    let pasted = new.add("New".to_owned(), Source::Bytes { name: "new.png".to_owned(), bytes: vec![7; 9] });
    let content = Arc::new(page(&mut new, "new"));
    new.document_mut(pasted).unwrap().pages = vec![content];

    let mut ended = false;
    let mut steps = 0;
    while !ended {
        let data = tempfile::tempdir().unwrap();
        store(data.path(), None).save(&mut snapshot(&old)).unwrap();
        let mut changes = snapshot(&new);
        // The window hands over the page that became blank since it was handed over before.
        changes.pages.insert(key(1, 0), Arc::default());
        ended = store(data.path(), Some(steps)).save(&mut changes).is_ok();
        let (mut after, _) = claim(data.path()).unwrap_or_else(|(_, error)| panic!("{error}"));
        let after = after.restore();
        assert_eq!(after.warnings, [""; 0], "after {steps} steps");
        for document in &after.project.documents {
            let known = [old.document(document.id), new.document(document.id)];
            let known: Vec<_> = known.into_iter().flatten().collect();
            assert!(known.iter().any(|known| known.source == document.source), "after {steps} steps");
            for (page, content) in document.pages.iter().enumerate() {
                let known = known.iter().filter_map(|known| known.pages.get(page));
                assert!(known.into_iter().any(|known| known == content), "page {page} after {steps} steps");
            }
        }
        let expected = if ended { &new } else { &old };
        let names = |project: &Project| project.documents.iter().map(|document| document.id).collect::<Vec<_>>();
        // The index is written in one step: both documents of the old one, or both of the new one.
        let names_after = names(&after.project);
        assert!(names_after == names(&old) || names_after == names(&new), "after {steps} steps");
        if ended {
            assert_eq!(after.project.documents, expected.documents);
        }
        steps += 1;
    }
    assert!(steps > 6, "{steps} steps");
}

#[test]
fn a_damaged_page_costs_that_page_alone() {
    let place = DataFolder::new();
    let project = place.project();
    place.keep(&state(project.clone()));
    let path = place.session_file("doc-1/page-0001.json");
    let whole = fs::read(&path).unwrap();
    for length in [0, 1, 2, 60, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        let (session, _, after) = place.start();
        assert_eq!(after.warnings.len(), 1);
        assert!(after.warnings[0].starts_with("scan.pdf: page 1 could not be restored"), "{:?}", after.warnings);
        let mut expected = project.clone();
        expected.set_page(key(1, 0), Arc::default());
        assert_eq!(after.project.documents, expected.documents, "cut to {length} bytes");
        drop(session);
        assert!(path.with_extension("json.bad").exists());
        let (.., again) = place.start();
        assert_eq!(again.warnings, [""; 0], "told once");
    }
    // A page of another document in its place is not taken for its own.
    fs::copy(place.session_file("doc-1/page-0003.json"), &path).unwrap();
    let (.., after) = place.start();
    assert_eq!(after.warnings.len(), 1);
}

#[test]
fn without_an_index_the_documents_are_found_by_their_pages() {
    let place = DataFolder::new();
    let project = place.project();
    place.keep(&state(project.clone()));
    let path = place.session_file("index.json");
    let whole = fs::read(&path).unwrap();
    for length in [0, 1, 30, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        let (session, _, after) = place.start();
        assert_eq!(after.warnings.len(), 1, "cut to {length} bytes");
        assert!(after.warnings[0].starts_with("The list of open documents was damaged"));
        assert_eq!(after.project.documents, project.documents);
        drop(session);
    }
    fs::remove_file(&path).ok();
    let (.., after) = place.start();
    assert_eq!(after.project.documents, project.documents);
}

#[test]
fn hostile_numbers_in_an_index_do_no_harm() {
    let place = DataFolder::new();
    fs::create_dir_all(place.data().join("session")).unwrap();
    let document = |id: u64| {
        format!(r#"{{"id":{id},"name":"x","source":{{"file":{{"path":"/x"}}}},"page_count":18446744073709551615}}"#)
    };
    let documents = [document(0), document(u64::MAX), document(5), document(5)].join(",");
    let index =
        format!(r#"{{"version":1,"documents":[{documents}],"page":{{"document":5,"page":999999999}},"later":1}}"#);
    fs::write(place.session_file("index.json"), index).unwrap();
    let (.., mut after) = place.start();
    assert_eq!(after.project.documents.len(), 3);
    let pages: usize = after.project.documents.iter().map(|document| document.pages.len()).sum();
    assert_eq!((pages, after.page), (crate::window::workspace::stored::MOST_PAGES, None));
    after.project.new_region();
}

#[test]
fn two_windows_keep_apart_what_they_do() {
    let place = DataFolder::new();
    let project = place.project();
    let (mut first, ..) = place.start();
    let (mut second, _, at_second) = place.start();
    assert_eq!(at_second.warnings, [""; 0]);
    first.finish(&state(project.clone()));
    let mut other = project.clone();
    other.documents.remove(0);
    second.finish(&state(other.clone()));

    let (first, _, at_first) = place.start();
    assert_eq!(at_first.project.documents, project.documents);
    assert!(at_first.warnings[0].contains("another window"), "{:?}", at_first.warnings);
    let (second, _, at_second) = place.start();
    assert_eq!(at_second.project.documents, other.documents);
    let (_third, _, at_third) = place.start();
    assert!(at_third.project.documents.is_empty());
    drop((first, second));

    // Work of a second window is found when the first left none.
    place.keep(&Workspace::default());
    let (.., after) = place.start();
    assert_eq!(after.project.documents, other.documents);
}

#[test]
fn a_session_of_a_newer_version_is_left_as_it_is() {
    let place = DataFolder::new();
    place.keep(&state(place.project()));
    let index = place.session_file("index.json");
    let newer = fs::read_to_string(&index).unwrap().replace("\"version\":1", "\"version\":2");
    fs::write(&index, newer.replace("\"documents\":[", "\"documents\":[{\"kind\":\"from the future\"},")).unwrap();
    let before = files(&place.data().join("session"));
    let (mut session, _, restored) = place.start();
    let told = restored.warnings.concat();
    assert!(told.contains("newer version") && told.contains("session"), "{told}");
    assert!(restored.project.documents.is_empty());
    let mut other = Project::default();
    other.add("other.pdf".to_owned(), Source::Path(place.folder.path().join("scan.pdf")));
    session.finish(&state(other));
    assert_eq!(files(&place.data().join("session")), before);
    let (_session, _, restored) = place.start();
    assert_eq!(restored.project.documents[0].name, "other.pdf", "this window's work is kept beside it");
    assert_eq!(files(&place.data().join("session")), before);
}

#[test]
fn settings_of_a_newer_version_outlive_a_change_made_by_this_one() {
    let place = DataFolder::new();
    fs::create_dir_all(place.data()).unwrap();
    fs::write(place.data().join("settings.json"), r#"{"dpi": 300, "later": [1, 2]}"#).unwrap();
    let (mut session, settings, _) = place.start();
    session.finish(&Workspace { settings: Settings { dpi: 150, ..settings }, ..Workspace::default() });
    let written: serde_json::Value =
        serde_json::from_slice(&fs::read(place.data().join("settings.json")).unwrap()).unwrap();
    assert_eq!((&written["dpi"], &written["later"]), (&150.into(), &serde_json::json!([1, 2])));
}

#[test]
fn a_window_without_a_place_for_its_work_says_so_once() {
    let (mut session, settings, restored) = start(None);
    assert_eq!((restored.warnings.len(), settings), (1, Settings::default()));
    assert!(restored.warnings[0].contains("names no folder"));
    let state = Workspace::default();
    assert!(session.tick(&state, Instant::now()).trouble.is_none());
    session.finish(&state);

    // A file where the folder should be stands for every folder that cannot be written.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::write(&data, "a file").unwrap();
    let (mut session, _, restored) = start(Some(&data));
    assert_eq!(restored.warnings.len(), 1);
    assert!(restored.warnings[0].contains("cannot be written"), "{:?}", restored.warnings);
    session.finish(&state);
    assert_eq!(fs::read(&data).unwrap(), b"a file");
}

#[test]
fn a_fault_while_writing_is_told_once_and_made_good_later() {
    let place = DataFolder::new();
    let state = state(place.project());
    let (mut session, ..) = place.start();
    // A file in the place of a document's folder.
    fs::write(place.session_file("doc-1"), "in the way").unwrap();
    session.hand_over(&state);
    let until = Instant::now() + Duration::from_secs(20);
    let trouble = loop {
        if let Some(trouble) = session.tick(&state, Instant::now()).trouble {
            break trouble;
        }
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(1));
    };
    assert!(trouble.contains("cannot be written"), "{trouble}");
    fs::remove_file(place.session_file("doc-1")).unwrap();
    session.finish(&state);
    let (.., after) = place.start();
    assert_eq!(after.project.documents, state.project.documents);
}
