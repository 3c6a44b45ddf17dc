//! What a person works on: documents, their pages, and the regions on them with what was read. All of it is saved with
//! the session, and everything below a page can be undone.
//!
//! Pages and regions are shared, never changed in place: a changed page is a new page, and the history keeps the old one.

use std::sync::Arc;

use engine::document::Turn;
use engine::job::Source;
use engine::page::Status;
use engine::region::{Rect, Region};
use serde::{Deserialize, Serialize};

use super::detail::Detail;

/// Names a document of the project for as long as the project lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct DocumentId(pub(crate) u64);

/// Names a region of the project, whatever becomes of its place on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct RegionId(pub(crate) u64);

/// Names a page: its document, and its number in it from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct PageKey {
    pub(crate) document: DocumentId,
    pub(crate) page: usize,
}

/// Everything that is open.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Project {
    /// In the order in which they were opened.
    pub(crate) documents: Vec<Document>,
    /// The number that the next document or region gets.
    next_id: u64,
}

/// A file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Document {
    pub(crate) id: DocumentId,
    /// The file's name without its folder.
    pub(crate) name: String,
    pub(crate) source: Source,
    /// Opens an encrypted PDF; kept in memory only.
    pub(crate) password: Option<String>,
    pub(crate) state: DocumentState,
    /// One for each page; empty until the file was opened.
    pub(crate) pages: Vec<Arc<Page>>,
}

/// How far opening a file has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DocumentState {
    /// It is being opened.
    Opening,
    /// It needs a password; `wrong` when one was given and did not open it.
    Locked { wrong: bool },
    /// Its pages are known.
    Open,
    /// It cannot be opened; the sentence says why.
    Failed(String),
}

/// A page and its regions in reading order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Page {
    /// How the person turned it.
    pub(crate) turn: Turn,
    /// Width and height of the raster that regions refer to, pixels; unknown until it was rendered once.
    pub(crate) size: Option<[u32; 2]>,
    /// The resolution at which the page was asked for, dots per inch. A page with regions keeps it, since their boxes
    /// count its pixels.
    #[serde(default)]
    pub(crate) asked_dpi: Option<u32>,
    /// Resolution of the raster, dots per inch, where it is known.
    pub(crate) dpi: Option<f32>,
    /// The skew that was corrected, degrees.
    pub(crate) skew_degrees: f32,
    /// Whether its regions were looked for (or drawn): a page without any is then truly empty.
    pub(crate) detected: bool,
    pub(crate) regions: Vec<Arc<PageRegion>>,
    /// Why the page cannot be read, in one sentence.
    pub(crate) error: Option<String>,
    /// Something to tell about it, such as a reduced resolution.
    pub(crate) notice: Option<String>,
}

/// A region, what was read in it, and what the person made of that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PageRegion {
    pub(crate) id: RegionId,
    /// Label, box, lines: what goes to the engine.
    pub(crate) region: Region,
    /// What was read; none before the first recognition.
    pub(crate) read: Option<Arc<RegionRead>>,
    /// The person's own text, kept apart from the model's; it wins in exports.
    pub(crate) edit: Option<String>,
}

/// The outcome of one recognition of a region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RegionRead {
    pub(crate) status: Status,
    /// The model's text after clean-up, as in [`engine::page::RegionResult::text`].
    pub(crate) text: String,
    /// The requests with all their rounds, packed: wanted only for the region one looks at, and for JSON.
    pub(crate) detail: Detail,
}

/// How a page is drawn: its boxes count the pixels of one such drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drawing {
    /// How the person had turned it.
    pub(crate) turn: Turn,
    /// The resolution that was asked for, dots per inch.
    pub(crate) dpi: u32,
}

/// What a drawing tells of its page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Drawn {
    pub(crate) drawing: Drawing,
    pub(crate) size: [u32; 2],
    /// Resolution of the raster, dots per inch, where it is known.
    pub(crate) dpi: Option<f32>,
    pub(crate) skew_degrees: f32,
    pub(crate) notice: Option<String>,
}

impl Drawing {
    /// Whether a page is drawn like this. What undo would bring back may be turned, or count pixels, otherwise.
    pub(crate) fn is_of(self, page: &Page) -> bool {
        page.turn == self.turn && page.resolution(self.dpi) == self.dpi
    }
}

impl Drawn {
    /// Writes it to its page.
    pub(crate) fn note(&self, page: &mut Page) {
        page.size = Some(self.size);
        page.asked_dpi = Some(self.drawing.dpi);
        (page.dpi, page.skew_degrees, page.error) = (self.dpi, self.skew_degrees, None);
        if self.notice.is_some() {
            page.notice.clone_from(&self.notice);
        }
    }
}

impl PageRegion {
    /// The text as it goes into exports: the person's where there is one.
    pub(crate) fn text(&self) -> &str {
        match (&self.edit, &self.read) {
            (Some(edit), _) => edit,
            (None, Some(read)) => &read.text,
            (None, None) => "",
        }
    }

    /// Its box in pixels of the page raster.
    pub(crate) fn bounds(&self) -> Rect {
        self.region.bounds
    }
}

impl Page {
    /// A region by name.
    pub(crate) fn region(&self, id: RegionId) -> Option<&Arc<PageRegion>> {
        self.regions.iter().find(|region| region.id == id)
    }

    /// Whether anything about it would be missed.
    pub(crate) fn holds_work(&self) -> bool {
        self.detected || !self.regions.is_empty() || self.turn != Turn::default()
    }

    /// The resolution at which it is drawn and read when `wish` is the person's.
    pub(crate) fn resolution(&self, wish: u32) -> u32 {
        self.asked_dpi.filter(|_| !self.regions.is_empty()).unwrap_or(wish)
    }

    /// Alters one region; whether it is another one now.
    pub(crate) fn alter(&mut self, id: RegionId, alter: impl FnOnce(&mut PageRegion)) -> bool {
        let Some(region) = self.regions.iter_mut().find(|region| region.id == id) else { return false };
        let before = Arc::clone(region);
        alter(Arc::make_mut(region));
        *before != **region
    }

    /// A region's place in the reading order.
    pub(crate) fn position(&self, id: RegionId) -> Option<usize> {
        self.regions.iter().position(|region| region.id == id)
    }
}

impl Document {
    /// Whether anything was read or written in it.
    pub(crate) fn has_results(&self) -> bool {
        let touched = |region: &Arc<PageRegion>| region.read.is_some() || region.edit.is_some();
        self.pages.iter().flat_map(|page| &page.regions).any(touched)
    }
}

impl Project {
    /// A project of documents that have their names already; [`renumber`](Self::renumber) it when their names are settled.
    pub(crate) fn of(documents: Vec<Document>) -> Self {
        Self { documents, next_id: 0 }
    }

    /// Adds a document that is still to be opened.
    pub(crate) fn add(&mut self, name: String, source: Source) -> DocumentId {
        let id = DocumentId(self.take_id());
        self.documents.push(Document {
            id,
            name,
            source,
            password: None,
            state: DocumentState::Opening,
            pages: Vec::new(),
        });
        id
    }

    /// A name for a new region.
    pub(crate) fn new_region(&mut self) -> RegionId {
        RegionId(self.take_id())
    }

    fn take_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// The largest name that was given so far.
    pub(crate) fn last_id(&self) -> u64 {
        self.next_id
    }

    /// Makes sure that new names differ from all that a loaded project holds.
    pub(crate) fn renumber(&mut self) {
        let regions = self.documents.iter().flat_map(|document| &document.pages).flat_map(|page| &page.regions);
        let largest =
            self.documents.iter().map(|document| document.id.0).chain(regions.map(|region| region.id.0)).max();
        self.next_id = self.next_id.max(largest.unwrap_or(0));
    }

    pub(crate) fn document(&self, id: DocumentId) -> Option<&Document> {
        self.documents.iter().find(|document| document.id == id)
    }

    pub(crate) fn document_mut(&mut self, id: DocumentId) -> Option<&mut Document> {
        self.documents.iter_mut().find(|document| document.id == id)
    }

    pub(crate) fn page(&self, key: PageKey) -> Option<&Arc<Page>> {
        self.document(key.document)?.pages.get(key.page)
    }

    /// Puts another page in a page's place. Only the history does this, so that it can be undone.
    pub(super) fn set_page(&mut self, key: PageKey, page: Arc<Page>) {
        if let Some(place) = self.document_mut(key.document).and_then(|document| document.pages.get_mut(key.page)) {
            *place = page;
        }
    }
}
