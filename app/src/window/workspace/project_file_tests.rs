#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::fs;

use super::super::project::{DocumentId, DocumentState};
use super::super::stored::testing::project_of;
use super::*;

/// A folder with a scan in it, and a project of that scan.
fn place() -> (tempfile::TempDir, Project) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("scans")).unwrap();
    let scan = folder.path().join("scans/scan.pdf");
    fs::write(&scan, "any file").unwrap();
    let project = project_of(&scan);
    (folder, project)
}

fn saved(project: &Project, target: &Path) -> Result<PathBuf, String> {
    start_save(project, Some(key(1, 2)), target.to_path_buf(), false, || ()).wait()
}

fn key(document: u64, page: usize) -> PageKey {
    PageKey { document: DocumentId(document), page }
}

#[test]
fn a_project_comes_back_to_the_last_byte() {
    let (folder, mut project) = place();
    let target = folder.path().join("work.gravityocr");
    project.documents[0].password = Some("open sesame".to_owned());
    assert_eq!(saved(&project, &target), Ok(target.clone()));
    project.documents[0].password = None;
    let loaded = start_load(target.clone(), || ()).wait().unwrap();
    assert_eq!((loaded.page, &loaded.path), (Some(key(1, 2)), &target));
    assert_eq!(loaded.project.documents, project.documents);
    // And again: what was loaded is saved as the same bytes.
    let again = folder.path().join("again.gravityocr");
    saved(&loaded.project, &again).unwrap();
    assert_eq!(fs::read(&again).unwrap(), fs::read(&target).unwrap());
    assert!(fs::read(&target).unwrap().starts_with(b"{\"format\":\"gravityocr-project\",\"version\":1}\n"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "no temporary file stays behind");
}

#[test]
fn a_loaded_project_shares_no_name_with_what_was_open() {
    let (folder, project) = place();
    let target = folder.path().join("work.gravityocr");
    saved(&project, &target).unwrap();
    let loaded = load(&target).unwrap().apart_from(&project);
    let ids = |project: &Project| project.documents.iter().map(|document| document.id).collect::<Vec<_>>();
    assert!(ids(&loaded.project).iter().all(|id| !ids(&project).contains(id)));
    let page = loaded.page.and_then(|key| loaded.project.page(key));
    assert_eq!(page, Some(&project.documents[0].pages[2]));
    let mut loaded = loaded.project;
    assert!(loaded.new_region().0 > ids(&loaded)[1].0);
}

#[test]
fn a_moved_folder_still_works() {
    let (folder, project) = place();
    fs::create_dir(folder.path().join("projects")).unwrap();
    saved(&project, &folder.path().join("projects/work.gravityocr")).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let moved = elsewhere.path().join("moved");
    fs::rename(folder.path(), &moved).unwrap();
    let loaded = load(&moved.join("projects/work.gravityocr")).unwrap();
    let scan = Source::Path(moved.join("scans/scan.pdf"));
    assert_eq!(
        (&loaded.project.documents[0].source, &loaded.project.documents[0].state),
        (&scan, &DocumentState::Opening)
    );
    // The project alone moves: the scan is where it was.
    let alone = elsewhere.path().join("alone.gravityocr");
    saved(&loaded.project, &moved.join("projects/again.gravityocr")).unwrap();
    fs::rename(moved.join("projects/again.gravityocr"), &alone).unwrap();
    assert_eq!(load(&alone).unwrap().project.documents[0].source, scan);
    // The scan is gone: the results are not.
    fs::remove_file(moved.join("scans/scan.pdf")).unwrap();
    let loaded = load(&alone).unwrap();
    assert!(
        matches!(&loaded.project.documents[0].state, DocumentState::Failed(why) if why.contains("no longer there"))
    );
    assert_eq!(loaded.project.documents[0].pages, project.documents[0].pages);
}

#[test]
fn nothing_is_overwritten_unasked_and_scans_never() {
    let (folder, project) = place();
    let target = folder.path().join("taken.gravityocr");
    fs::write(&target, "mine").unwrap();
    assert!(saved(&project, &target).unwrap_err().contains("exists already"));
    assert_eq!(fs::read(&target).unwrap(), b"mine");
    start_save(&project, None, target.clone(), true, || ()).wait().unwrap();
    assert!(load(&target).is_ok());

    let scan = folder.path().join("scans/../scans/scan.pdf");
    let sentence = start_save(&project, None, scan.clone(), true, || ()).wait().unwrap_err();
    assert!(sentence.contains("open document"), "{sentence}");
    assert_eq!(fs::read(&scan).unwrap(), b"any file");

    // A file in the place of a folder stands for every place that cannot be written.
    let sentence = saved(&project, &folder.path().join("scans/scan.pdf/work.gravityocr")).unwrap_err();
    assert!(sentence.contains("cannot be written"), "{sentence}");
}

#[test]
fn damaged_foreign_and_newer_files_are_refused_with_a_sentence() {
    let (folder, project) = place();
    let target = folder.path().join("work.gravityocr");
    saved(&project, &target).unwrap();
    let whole = fs::read(&target).unwrap();
    let refused = |bytes: &[u8]| {
        let path = folder.path().join("other.gravityocr");
        fs::write(&path, bytes).unwrap();
        load(&path).unwrap_err()
    };
    let start = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for length in start..whole.len() {
        assert!(refused(&whole[..length]).contains("damaged"), "cut to {length} bytes");
    }
    for at in (start + 2..whole.len()).step_by(37) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        assert!(refused(&flipped).contains("damaged"), "bit flipped at {at}");
    }
    for foreign in [&b""[..], b"%PDF-1.7\n", b"{\"format\":\"other\",\"version\":1}\n", b"{}\n", &[b'{'; 5000]] {
        assert!(refused(foreign).contains("is no GravityOCR project"), "{foreign:?}");
    }
    let newer = [&b"{\"format\":\"gravityocr-project\",\"version\":2,\"more\":[]}\n"[..], &whole[start..]].concat();
    assert!(refused(&newer).contains("newer version"));
    assert!(load(folder.path()).unwrap_err().contains("is no GravityOCR project"));
    assert!(load(&folder.path().join("none")).unwrap_err().contains("there is no such file"));
}

/// A project file with these lines.
fn forged(lines: &[&str]) -> Vec<u8> {
    let mut file = b"{\"format\":\"gravityocr-project\",\"version\":1}\n".to_vec();
    let mut body = ZlibEncoder::new(&mut file, Compression::fast());
    lines.iter().for_each(|line| body.write_all(line.as_bytes()).unwrap());
    body.finish().unwrap();
    file
}

#[test]
fn hostile_files_are_refused_before_memory_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hostile.gravityocr");
    let header = |pages: u64| {
        format!(
            "{{\"document\":{{\"id\":1,\"name\":\"x\",\"source\":{{\"pasted\":{{\"name\":\"x\"}}}},\"page_count\":{pages}}}}}\n"
        )
    };
    let page = "{\"page\":{\"number\":7,\"content\":{}}}\n";
    let end = "{\"end\":{\"documents\":1,\"page\":null}}\n";
    let one = header(1);
    for lines in [
        vec![header(u64::MAX).as_str(), end],
        vec![header(150_000).as_str(), header(150_000).as_str(), end],
        vec![one.as_str(), page, end],
        vec![page, end],
        vec!["{\"pasted\":\"AAAA\"}\n", end],
        vec![end],
        vec![one.as_str(), end, end],
        vec!["[".repeat(100_000).as_str()],
    ] {
        fs::write(&path, forged(&lines)).unwrap();
        assert!(load(&path).unwrap_err().contains("damaged"), "{:.200}", lines.concat());
    }
    fs::write(&path, forged(&[&one, end])).unwrap();
    assert!(load(&path).is_ok());
}

#[test]
fn the_way_to_a_file_goes_up_and_down() {
    let to = |folder: &str, file: &str| way(Path::new(folder), Path::new(file)).unwrap();
    assert_eq!(to("/a/b", "/a/b/c.pdf"), Path::new("c.pdf"));
    assert_eq!(to("/a/b/c", "/a/x/y.pdf"), Path::new("../../x/y.pdf"));
    assert_eq!(with_extension("a.b".into()), Path::new("a.b.gravityocr"));
    assert_eq!(with_extension("a.GravityOCR".into()), Path::new("a.GravityOCR"));
}
