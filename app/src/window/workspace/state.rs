//! Everything that is open, how far it is, and how it is looked at.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use engine::EngineInfo;

use super::history::History;
use super::live::Live;
use super::project::{Document, DocumentId, Page, PageKey, PageRegion, Project, RegionId, RegionRead};
use super::replay::Replay;
use super::run::{Run, Scope};
use super::settings::Settings;

/// Most messages at a time.
const MESSAGES: usize = 6;

/// Everything.
#[derive(Default)]
pub(crate) struct Workspace {
    pub(crate) project: Project,
    pub(crate) history: History,
    pub(crate) live: Live,
    /// The recognition that runs.
    pub(crate) run: Option<Run>,
    /// What is to be read as soon as the engine is there.
    pub(crate) pending: Option<Scope>,
    pub(crate) view: View,
    pub(crate) settings: Settings,
    pub(crate) engine: EngineState,
    pub(crate) replay: Option<Replay>,
    /// Pages whose regions are being looked for, and what joins them into one undo.
    pub(crate) detecting: usize,
    pub(crate) detect_merge: u64,
    /// Things to tell, newest last; each goes away when dismissed, good news by itself.
    pub(crate) messages: Vec<Message>,
    /// Where the project was last saved to or opened from.
    pub(crate) project_file: Option<std::path::PathBuf>,
    /// The history's revision that is in that file.
    pub(crate) saved_revision: u64,
}

/// What is looked at, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct View {
    pub(crate) page: Option<PageKey>,
    /// The selected regions of that page.
    pub(crate) selection: BTreeSet<RegionId>,
    /// The one of them that text, rounds and keys refer to.
    pub(crate) focus: Option<RegionId>,
    /// The region under the pointer, on the page or in the text; lit in both.
    pub(crate) hover: Option<RegionId>,
    pub(crate) tool: Tool,
    pub(crate) camera: Camera,
    pub(crate) reading: ReadingTab,
    /// The region whose text is being edited, with the text as it stands.
    pub(crate) editing: Option<(RegionId, String)>,
    /// That text as it was when the edit began.
    pub(crate) edit_from: String,
    /// The pages whose thumbnails are seen.
    pub(crate) thumbnails: Vec<PageKey>,
    /// Set to bring a region into view in the reading pane, once.
    pub(crate) scroll_to: Option<RegionId>,
}

/// What a drag on the page does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Selects and moves; on empty paper it draws.
    #[default]
    Select,
    /// Draws, also over other regions.
    Draw,
}

/// How the page lies on the canvas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Camera {
    /// Whether the zoom follows the canvas.
    pub(crate) fit: Fit,
    /// Physical screen pixels per page pixel where `fit` is [`Fit::Free`]; 1 is "100 %" at every scaling of the screen.
    pub(crate) zoom: f32,
    /// The page point at the canvas's centre, as a share of the page's width and height.
    pub(crate) centre: [f32; 2],
}

impl Default for Camera {
    fn default() -> Self {
        Self { fit: Fit::Page, zoom: 1.0, centre: [0.5; 2] }
    }
}

/// What decides the zoom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The whole page.
    #[default]
    Page,
    /// The page's width.
    Width,
    /// The person.
    Free,
}

/// What the reading pane shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ReadingTab {
    /// Region by region, coloured by round.
    #[default]
    Live,
    /// As the document will look.
    Preview,
    /// The Markdown itself.
    Source,
}

/// How far the engine is.
#[derive(Clone, Debug, Default)]
pub(crate) enum EngineState {
    /// Not asked for yet.
    #[default]
    Asleep,
    /// Its checkpoint is being loaded.
    Loading,
    /// Ready.
    Ready(EngineInfo),
    /// It cannot be used; the sentence says why.
    Failed(String),
}

/// Something to tell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) tone: Tone,
    pub(crate) text: String,
    /// When it was told.
    pub(crate) since: Instant,
}

/// How a message is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Warning,
    Error,
}

impl View {
    /// Selects one region, or none.
    pub(crate) fn select(&mut self, id: Option<RegionId>) {
        self.selection = id.into_iter().collect();
        self.focus = id;
    }

    /// Lets go of regions that are no longer on the page that is looked at.
    pub(crate) fn drop_strangers(&mut self, page: Option<&Page>, key: PageKey) {
        if self.page != Some(key) {
            return;
        }
        let there = |id: &RegionId| page.is_some_and(|page| page.region(*id).is_some());
        self.selection.retain(there);
        self.focus = self.focus.filter(there).or(self.selection.last().copied());
        self.hover = self.hover.filter(there);
        if self.editing.as_ref().is_some_and(|(id, _)| !there(id)) {
            self.editing = None;
        }
    }
}

impl Workspace {
    /// The page that is looked at.
    pub(crate) fn page(&self) -> Option<&Arc<Page>> {
        self.project.page(self.view.page?)
    }

    /// The document of that page.
    pub(crate) fn document(&self) -> Option<&Document> {
        self.project.document(self.view.page?.document)
    }

    /// Looks at another page.
    pub(crate) fn go(&mut self, key: PageKey) {
        if self.view.page == Some(key) {
            return;
        }
        self.finish_edit();
        self.replay = None;
        self.view = View {
            page: Some(key),
            tool: self.view.tool,
            camera: Camera { centre: [0.5, 0.0], ..self.view.camera },
            reading: self.view.reading,
            thumbnails: std::mem::take(&mut self.view.thumbnails),
            ..View::default()
        };
    }

    /// Tells the person something.
    pub(crate) fn tell(&mut self, tone: Tone, text: impl Into<String>) {
        let text = text.into();
        self.messages.retain(|message| message.text != text);
        self.messages.push(Message { tone, text, since: Instant::now() });
        if self.messages.len() > MESSAGES {
            // What has to be read outlives what is only good to know.
            let least = |tone| self.messages.iter().position(|message| message.tone == tone);
            let at = least(Tone::Good).or_else(|| least(Tone::Warning)).unwrap_or(0);
            self.messages.remove(at);
        }
    }

    /// Whether something is being read, or will be as soon as the engine is there.
    pub(crate) fn is_busy(&self) -> bool {
        self.run.is_some() || self.pending.is_some()
    }

    /// Whether closing a document would lose work of a person or a run. Regions that were only detected are no work.
    pub(crate) fn has_work(&self, id: DocumentId) -> bool {
        let only_detected = self.history.only_detected();
        let pages = self.project.document(id).map_or(&[][..], |document| &document.pages);
        pages
            .iter()
            .enumerate()
            .any(|(page, content)| content.holds_work() && !only_detected.contains(&PageKey { document: id, page }))
    }

    /// The next page that can be looked at, or the one before; documents without pages are passed over.
    pub(crate) fn neighbour(&self, forward: bool) -> Option<PageKey> {
        let PageKey { document, page } = self.view.page?;
        let documents = &self.project.documents;
        let at = documents.iter().position(|other| other.id == document)?;
        let count = documents.get(at)?.pages.len();
        let key = |document: &Document, page| PageKey { document: document.id, page };
        let with_pages = |document: &&Document| !document.pages.is_empty();
        if forward {
            if page + 1 < count {
                return Some(PageKey { document, page: page + 1 });
            }
            documents.iter().skip(at + 1).find(with_pages).map(|document| key(document, 0))
        } else {
            if page > 0 && count > 0 {
                return Some(PageKey { document, page: (page - 1).min(count - 1) });
            }
            let before = documents.iter().take(at).rev().find(with_pages);
            before.map(|document| key(document, document.pages.len().saturating_sub(1)))
        }
    }

    /// What the region that is being replayed was read as: the replay plays this and nothing else.
    pub(crate) fn replayed(&self) -> Option<Arc<RegionRead>> {
        self.page()?.region(self.replay.as_ref()?.region)?.read.clone()
    }

    /// Closes the replay when what it plays, which was looked up before a change, is gone or was read anew.
    pub(crate) fn close_stale_replay(&mut self, before: Option<Arc<RegionRead>>) {
        let same = match (&before, &self.replayed()) {
            (Some(before), Some(after)) => Arc::ptr_eq(before, after),
            (before, after) => before.is_none() && after.is_none(),
        };
        if !same {
            self.replay = None;
        }
    }

    /// The selected regions in reading order.
    pub(crate) fn selected(&self) -> impl Iterator<Item = &Arc<PageRegion>> {
        let regions = self.page().map_or(&[][..], |page| &page.regions);
        regions.iter().filter(|region| self.view.selection.contains(&region.id))
    }

    /// The region that text, rounds and keys refer to.
    pub(crate) fn focused(&self) -> Option<&Arc<PageRegion>> {
        self.page()?.region(self.view.focus?)
    }
}
