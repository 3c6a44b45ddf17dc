#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

use engine::region::{Label, Rect, Region};

use super::*;

#[test]
fn numbers_of_a_stored_page_are_brought_into_their_ranges() {
    let mut region = Region::new(Label::Text, Rect { x0: 5000, y0: 90, x1: 4000, y1: u32::MAX });
    region.level = Some(200);
    let page = Page {
        size: Some([100, 140]),
        dpi: Some(-1.0),
        asked_dpi: Some(u32::MAX),
        error: Some("damaged".to_owned()),
        skew_degrees: f32::NAN,
        regions: vec![Arc::new(PageRegion { id: RegionId(1), region, read: None, edit: None })],
        ..Page::default()
    };
    let page = checked(page);
    assert_eq!((page.dpi, page.asked_dpi, page.skew_degrees, &page.error), (None, None, 0.0, &None));
    assert_eq!(page.regions[0].region.level, None);
    assert_eq!(page.regions[0].bounds(), Rect { x0: 100, y0: 90, x1: 100, y1: 140 });
    assert_eq!(checked(Page { size: Some([0, 7]), ..Page::default() }).size, None);
}

#[test]
fn two_regions_never_share_a_name() {
    let region = |id| {
        let region = Region::new(Label::Text, Rect::default());
        Arc::new(PageRegion { id: RegionId(id), region, read: None, edit: None })
    };
    let page = |ids: &[u64]| Arc::new(Page { regions: ids.iter().map(|id| region(*id)).collect(), ..Page::default() });
    let document = |id, pages| Document {
        id: DocumentId(id),
        name: "scan.pdf".to_owned(),
        source: Source::Path("scan.pdf".into()),
        password: None,
        state: DocumentState::Opening,
        pages,
    };
    let mut loaded =
        project(vec![document(3, vec![page(&[7, 8]), page(&[7, u64::MAX])]), document(3, vec![page(&[0])])]);
    let regions = loaded.documents.iter().flat_map(|document| &document.pages).flat_map(|page| &page.regions);
    let ids: Vec<_> = regions.map(|region| region.id.0).collect();
    assert_eq!(ids, [7, 8, 9, 10, 12]);
    let documents: Vec<_> = loaded.documents.iter().map(|document| document.id.0).collect();
    assert_eq!(documents, [3, 11]);
    assert_eq!(loaded.new_region(), RegionId(13));
}

#[test]
fn reopening_keeps_what_was_read_and_says_when_the_file_is_another() {
    let mut project = testing::project_of(Path::new("scan.pdf"));
    let before = project.documents[0].clone();
    let document = &mut project.documents[0];
    assert_eq!(reopen(document, 3), None);
    assert_eq!((&document.pages, &document.state), (&before.pages, &DocumentState::Open));
    for now in [2, 5] {
        let mut document = before.clone();
        let sentence = reopen(&mut document, now).unwrap();
        assert!(sentence.contains(&format!("scan.pdf was changed: it has {now} pages now instead of 3")), "{sentence}");
        assert_eq!(document.pages[..3], before.pages, "nothing that was read is lost");
        assert_eq!(document.pages.len(), now.max(3));
    }
    let mut blank = Document { pages: blank_pages(7), ..before };
    assert_eq!(reopen(&mut blank, 2), None, "nothing is lost with blank pages");
    assert_eq!(blank.pages.len(), 2);
}

#[cfg(unix)]
#[test]
fn a_path_that_is_no_text_survives() {
    use std::os::unix::ffi::OsStrExt;
    let path = Path::new(std::ffi::OsStr::from_bytes(b"/scans/\xff\xfe.pdf"));
    let json = serde_json::to_string(&StoredPath::new(path)).unwrap();
    assert_eq!(serde_json::from_str::<StoredPath>(&json).unwrap().path(), path);
    assert_eq!(serde_json::to_string(&StoredPath::new(Path::new("/a b.pdf"))).unwrap(), "\"/a b.pdf\"");
}
