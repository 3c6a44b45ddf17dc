//! The parts of a project as they lie on disk, for the session and for project files alike, and the checks on what is
//! read back: such a file is trusted no more than any other.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use engine::job::Source;
use engine::region::Line;
use serde::{Deserialize, Serialize};

use super::notice::Notice;
use super::project::{Document, DocumentId, DocumentState, Page, PageRegion, Project, RegionId};

/// Most pages of one document, and of all together.
pub(crate) const MOST_PAGES: usize = 200_000;
/// Most documents.
pub(crate) const MOST_DOCUMENTS: usize = 100_000;
/// Most bytes of one page, packed details included.
pub(crate) const LARGEST_PAGE: u64 = 512 << 20;
/// Largest resolution that can be asked for, dots per inch.
const LARGEST_DPI: u32 = 1200;
/// Largest side of a page, pixels.
const LONGEST_SIDE: u32 = 1 << 20;
/// Most rows, columns and spans of a table.
const LARGEST_GRID: u32 = 10_000;
/// Largest name of a document or region: numbers stay exact in every JSON reader, and there is room above it.
const LARGEST_ID: u64 = 1 << 53;

/// A path. Most are text; one that is not keeps its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum StoredPath {
    Text(String),
    Bytes { bytes: String },
}

impl StoredPath {
    pub(crate) fn new(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::foreign(path),
        }
    }

    #[cfg(unix)]
    fn foreign(path: &Path) -> Self {
        use std::os::unix::ffi::OsStrExt;
        Self::Bytes { bytes: BASE64.encode(path.as_os_str().as_bytes()) }
    }

    #[cfg(not(unix))]
    fn foreign(path: &Path) -> Self {
        Self::Text(path.to_string_lossy().into_owned())
    }

    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Self::Text(text) => PathBuf::from(text),
            Self::Bytes { bytes } => from_bytes(BASE64.decode(bytes).unwrap_or_default()),
        }
    }
}

#[cfg(unix)]
fn from_bytes(bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(bytes).into()
}

#[cfg(not(unix))]
fn from_bytes(bytes: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// Where a document comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StoredSource {
    /// A file; `relative` says how to get to it from the project file.
    File {
        path: StoredPath,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        relative: Option<StoredPath>,
    },
    /// Bytes that were pasted; they are kept beside, under this name.
    Pasted { name: String },
}

/// A document without its pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) id: DocumentId,
    pub(crate) name: String,
    pub(crate) source: StoredSource,
    pub(crate) page_count: usize,
}

impl Header {
    pub(crate) fn of(document: &Document) -> Self {
        let source = match &document.source {
            Source::Path(path) => StoredSource::File { path: StoredPath::new(path), relative: None },
            Source::Bytes { name, .. } => StoredSource::Pasted { name: name.clone() },
        };
        Self { id: document.id, name: document.name.clone(), source, page_count: document.pages.len() }
    }

    /// The document with blank pages, still to be opened. `pasted` holds the bytes where there are any.
    pub(crate) fn document(self, pasted: Option<Vec<u8>>) -> Document {
        let (source, missing) = match self.source {
            StoredSource::File { path, .. } => {
                let path = path.path();
                let missing = path.try_exists().is_ok_and(|there| !there);
                (Source::Path(path), missing)
            }
            StoredSource::Pasted { name } => {
                let missing = pasted.is_none();
                (Source::Bytes { name, bytes: pasted.unwrap_or_default() }, missing)
            }
        };
        let state = if missing {
            DocumentState::Failed(Notice::FileGone { name: self.name.clone() }.to_string())
        } else {
            DocumentState::Opening
        };
        let pages = blank_pages(self.page_count.min(MOST_PAGES));
        Document { id: self.id, name: self.name, source, password: None, state, pages }
    }
}

/// Pages about which nothing is known; they cost nothing until they are changed.
pub(crate) fn blank_pages(count: usize) -> Vec<Arc<Page>> {
    let blank = Arc::new(Page::default());
    vec![blank; count]
}

/// A page that was read from a file, with every number in its range.
pub(crate) fn checked(mut page: Page) -> Page {
    page.size = page.size.filter(|size| size.iter().all(|side| (1..=LONGEST_SIDE).contains(side)));
    page.asked_dpi = page.asked_dpi.filter(|dpi| (1..=LARGEST_DPI).contains(dpi));
    page.dpi = page.dpi.filter(|dpi| dpi.is_finite() && *dpi > 0.0);
    // What kept it from being drawn may be mended by now.
    page.error = None;
    if !page.skew_degrees.is_finite() {
        page.skew_degrees = 0.0;
    }
    let [width, height] = page.size.unwrap_or([LONGEST_SIDE; 2]);
    for region in page.regions.iter_mut().map(Arc::make_mut).map(|region| &mut region.region) {
        // `clamped` alone leaves an empty box outside where it is.
        let inside = |bounds: engine::region::Rect| {
            let bounds = bounds.clamped(width, height);
            engine::region::Rect::new(
                bounds.x0.min(width),
                bounds.y0.min(height),
                bounds.x1.min(width),
                bounds.y1.min(height),
            )
        };
        let line = |line: &mut Line| {
            line.bounds = inside(line.bounds);
            line.indent = line.indent.min(LARGEST_GRID);
        };
        region.bounds = inside(region.bounds);
        region.level = region.level.filter(|level| (1..=6).contains(level));
        region.list_item = region.list_item.filter(|item| item.depth <= 16);
        region.lines.iter_mut().for_each(line);
        region.score = region.score.filter(|score| (0.0..=1.0).contains(score));
        if region.polygon.iter().any(|[x, y]| *x > width || *y > height) {
            region.polygon.clear();
        }
        let fits = |cell: &engine::region::Cell| {
            let numbers = [cell.row, cell.column, cell.rowspan, cell.colspan];
            numbers.iter().all(|number| *number < LARGEST_GRID) && cell.rowspan > 0 && cell.colspan > 0
        };
        if !region.cells.iter().all(fits) {
            region.cells.clear();
        }
        for cell in &mut region.cells {
            cell.bounds = inside(cell.bounds);
            cell.lines.iter_mut().for_each(line);
        }
    }
    page
}

/// A project of loaded documents in which every name stands for one thing only.
pub(crate) fn project(documents: Vec<Document>) -> Project {
    let mut project = Project::of(documents);
    let mut names = Names { seen: HashSet::new(), next: 0 };
    for document in &project.documents {
        let regions = document.pages.iter().flat_map(|page| &page.regions).map(|region| region.id.0);
        let largest = regions.chain([document.id.0]).filter(|id| *id <= LARGEST_ID).max();
        names.next = names.next.max(largest.unwrap_or(0));
    }
    for document in &mut project.documents {
        document.id = DocumentId(names.settle(document.id.0));
        for page in &mut document.pages {
            let settled: Vec<_> = page.regions.iter().map(|region| names.settle(region.id.0)).collect();
            if page.regions.iter().zip(&settled).any(|(region, id)| region.id.0 != *id) {
                for (region, id) in Arc::make_mut(page).regions.iter_mut().zip(settled) {
                    let named = PageRegion { id: RegionId(id), ..PageRegion::clone(region) };
                    *region = Arc::new(named);
                }
            }
        }
    }
    project.renumber();
    project
}

struct Names {
    seen: HashSet<u64>,
    next: u64,
}

impl Names {
    /// This name, or a new one where it is taken or out of range.
    fn settle(&mut self, id: u64) -> u64 {
        if (1..=LARGEST_ID).contains(&id) && self.seen.insert(id) {
            return id;
        }
        self.next += 1;
        self.seen.insert(self.next);
        self.next
    }
}

/// Settles a document that was opened (again): its stored pages stay. When the file has another number of pages now,
/// they may belong to another file; the sentence says so.
pub(crate) fn reopen(document: &mut Document, page_count: usize) -> Option<String> {
    document.state = DocumentState::Open;
    let before = document.pages.len();
    if before == page_count {
        return None;
    }
    // What was read of pages that are gone is not dropped silently.
    let kept = document.pages.iter().rposition(|page| page.holds_work()).map_or(0, |last| last + 1);
    let count = page_count.max(kept);
    document.pages.truncate(count);
    document.pages.extend(blank_pages(count.saturating_sub(document.pages.len())));
    let name = document.name.clone();
    (kept > 0).then(|| Notice::FileChanged { name, before, now: page_count }.to_string())
}

#[cfg(test)]
pub(crate) mod testing {
    #![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use engine::document::Turn;
    use engine::page::Status;
    use engine::region::{Cell, Label, Rect, Region};

    use super::super::detail::{Contents, Detail};
    use super::super::project::RegionRead;
    use super::*;

    /// A page with two regions: one read and edited, one a table that was not read.
    pub(crate) fn page(project: &mut Project, text: &str) -> Page {
        let contents =
            Contents { readings: vec![crate::reader::testing::reading(vec![Default::default()])], logs: Vec::new() };
        let read = RegionRead {
            status: Status::Failed("no \"ink\"".to_owned()),
            text: text.to_owned(),
            detail: Detail::pack(&contents),
        };
        let mut table = Region::new(Label::Table, Rect { x0: 5, y0: 50, x1: 90, y1: 130 });
        let bounds = Rect { x0: 6, y0: 51, x1: 20, y1: 60 };
        let lines = vec![Line { bounds, starts_paragraph: true, indent: 2 }];
        table.cells = vec![Cell { row: 0, column: 1, rowspan: 1, colspan: 2, header: true, bounds, lines }];
        let region = |region, read, edit| Arc::new(PageRegion { id: RegionId(0), region, read, edit });
        let mut regions = vec![
            region(
                Region::new(Label::Text, Rect { x0: 1, y0: 2, x1: 80, y1: 40 }),
                Some(Arc::new(read)),
                Some("“é” &\u{fffd}\n".to_owned()),
            ),
            region(table, None, None),
        ];
        for region in &mut regions {
            Arc::get_mut(region).unwrap().id = project.new_region();
        }
        Page {
            turn: Turn::Left,
            size: Some([100, 140]),
            asked_dpi: Some(200),
            dpi: Some(199.9),
            skew_degrees: 0.1,
            detected: true,
            regions,
            error: None,
            notice: Some("reduced".to_owned()),
        }
    }

    /// A project with a file of three pages (the second is blank) and a pasted picture.
    pub(crate) fn project_of(file: &Path) -> Project {
        let mut project = Project::default();
        let scan = project.add("scan.pdf".to_owned(), Source::Path(file.to_path_buf()));
        let pages = vec![page(&mut project, "one"), Page::default(), page(&mut project, "three")];
        project.document_mut(scan).unwrap().pages = pages.into_iter().map(Arc::new).collect();
        let bytes = (0..=255).collect();
        let pasted = project.add("Pasted".to_owned(), Source::Bytes { name: "pasted.png".to_owned(), bytes });
        let pages = vec![Arc::new(page(&mut project, "pasted"))];
        project.document_mut(pasted).unwrap().pages = pages;
        project
    }
}

#[cfg(test)]
#[path = "stored_tests.rs"]
mod tests;
