//! Opening and closing documents, and what the librarian says of them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use eframe::egui::ColorImage;
use engine::document::Turn;
use engine::job::Source;

use super::app::Window;
use super::librarian::{Told, Want};
use super::search::{Found, files, named_files, pasted, png};
use super::sheets::{Sheet, Thumbnail};
use super::state::Workspace;
use super::state::{Modal, Tone, View};
use super::strings;
use super::workspace::background_task::BackgroundTask;
use super::workspace::project::{DocumentId, DocumentState, Drawing, Drawn, PageKey};
use super::workspace::race::RaceAsk;

/// The page that comes with the program.
const SAMPLE: &[u8] = include_bytes!("../../../assets/samples/gravity-sample.pdf");
/// Its name.
const SAMPLE_NAME: &str = "gravity-sample.pdf";

impl Window {
    /// Opens files, and the files of folders; listing them takes time of its own.
    pub(super) fn open_paths(&mut self, paths: Vec<PathBuf>) {
        self.search(move || files(&paths));
    }

    /// Opens what is on the clipboard: files, a picture, or paths written as text, which may have come with the keys.
    pub(super) fn paste(&mut self, text: Option<String>) {
        self.search(move || {
            let named = text.as_deref().and_then(named_files);
            named.or_else(|| pasted().ok()).unwrap_or_else(|| Found::Nothing(strings::NOTHING_TO_PASTE.to_owned()))
        });
    }

    /// Opens a picture that came with a paste.
    pub(super) fn paste_image(&mut self, image: Arc<ColorImage>) {
        self.search(move || {
            let [width, height] = image.size;
            let rgba: Vec<u8> = image.pixels.iter().flat_map(|pixel| pixel.to_srgba_unmultiplied()).collect();
            png(width, height, rgba)
                .map_or_else(|| Found::Nothing(strings::NOTHING_TO_PASTE.to_owned()), Found::Picture)
        });
    }

    /// Opens the page that comes with the program.
    pub(super) fn open_sample(&mut self) {
        let bytes = SAMPLE.to_vec();
        self.add(SAMPLE_NAME.to_owned(), Source::Bytes { name: SAMPLE_NAME.to_owned(), bytes });
    }

    fn search(&mut self, search: impl FnOnce() -> Found + Send + 'static) {
        self.searches.0.push(BackgroundTask::start("search", self.waker(), || Ok(search())));
    }

    /// Takes in what searches have found.
    pub(super) fn hear_searches(&mut self) {
        let mut found = Vec::new();
        self.searches.0.retain(|search| match search.done() {
            Some(one) => {
                found.push(one);
                false
            }
            None => true,
        });
        for one in found {
            match one {
                Ok(Found::Files(files, faults)) => {
                    faults.into_iter().for_each(|fault| self.state.tell(Tone::Error, fault));
                    self.add_files(files);
                }
                Ok(Found::Picture(bytes)) => {
                    let documents = &self.state.project.documents;
                    let taken = |name: &String| documents.iter().any(|document| document.name == *name);
                    let names = (documents.len() + 1..).map(strings::pasted_name);
                    let name = names.take(1000).find(|name| !taken(name)).unwrap_or_default();
                    self.add(name.clone(), Source::Bytes { name, bytes });
                }
                Ok(Found::Nothing(sentence)) => self.state.tell(Tone::Warning, sentence),
                Err(sentence) => self.state.tell(Tone::Error, sentence),
            }
        }
    }

    fn add_files(&mut self, files: Vec<PathBuf>) {
        let path_of = |document: &super::workspace::project::Document| match &document.source {
            Source::Path(path) => Some((path.clone(), document.id)),
            Source::Bytes { .. } => None,
        };
        // Thousands may come at once.
        let mut there: HashMap<PathBuf, DocumentId> = self.state.project.documents.iter().filter_map(path_of).collect();
        let mut first = None;
        for path in files {
            // The next start may be in another folder.
            let path = std::path::absolute(&path).unwrap_or(path);
            self.state.settings.remember(&path);
            if path
                .extension()
                .is_some_and(|ending| ending.eq_ignore_ascii_case(super::workspace::project_file::EXTENSION))
            {
                self.ask_open_project(path);
                continue;
            }
            let id = match there.get(&path) {
                Some(&id) => {
                    self.state.open_again(id);
                    id
                }
                None => {
                    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
                    let id = self.state.project.add(name, Source::Path(path.clone()));
                    there.insert(path, id);
                    id
                }
            };
            first = first.or(Some(id));
        }
        if let Some(document) = first {
            self.go(PageKey { document, page: 0 });
        }
    }

    fn add(&mut self, name: String, source: Source) {
        let there = self.state.project.documents.iter().find(|document| document.source == source);
        let id = there.map(|document| document.id).unwrap_or_else(|| self.state.project.add(name, source));
        self.go(PageKey { document: id, page: 0 });
    }

    /// Closes a document.
    pub(super) fn close(&mut self, id: DocumentId) {
        let state = &mut self.state;
        let pending = state.pending.as_ref().is_some_and(|scope| scope.document() == id);
        if pending || state.run.as_ref().is_some_and(|run| run.document == id) {
            state.cancel_run();
        }
        state.modal.take_if(|modal| modal.document() == Some(id));
        if state.race.as_ref().is_some_and(|race| race.page.document == id) {
            self.race(RaceAsk::Close);
        }
        let state = &mut self.state;
        let at = state.project.documents.iter().position(|document| document.id == id);
        state.project.documents.retain(|document| document.id != id);
        state.history.forget(|key| key.document == id);
        state.sheets.forget(|key| key.document == id);
        state.replay = None;
        self.librarian.want(Want::Close(id));
        if self.opening == Some(id) {
            self.opening = None;
        }
        let state = &mut self.state;
        if state.view.page.is_some_and(|key| key.document == id) {
            let documents = &state.project.documents;
            let next = at.map(|at| at.min(documents.len().saturating_sub(1))).and_then(|at| documents.get(at));
            match next.map(|document| PageKey { document: document.id, page: 0 }) {
                Some(key) => state.go(key),
                None => {
                    let View { camera, reading, .. } = state.view;
                    state.view = View { camera, reading, ..View::default() };
                }
            }
        }
    }

    /// Opens every document anew and draws its pages anew: PDFs are opened in another way now.
    pub(super) fn draw_anew(&mut self) {
        for document in &mut self.state.project.documents {
            self.librarian.want(Want::Close(document.id));
            if matches!(document.state, DocumentState::Open | DocumentState::Failed(_)) {
                document.state = DocumentState::Opening;
            }
        }
        self.opening = None;
        self.state.sheets.forget(|_| true);
        self.state.forgive_pages();
    }

    /// Asks the librarian for what the window shows: the page, thumbnails, the next document to open.
    pub(super) fn want_what_is_shown(&mut self) {
        if let Some(key) = self.state.view.page {
            self.state.sheets.touch(key);
        }
        if self.opening.is_none() {
            let opening = |document: &&super::workspace::project::Document| document.state == DocumentState::Opening;
            let current = self.state.document().filter(opening);
            if let Some(document) = current.or_else(|| self.state.project.documents.iter().find(opening)) {
                self.opening = Some(document.id);
                self.librarian.want(Want::Open {
                    document: document.id,
                    source: document.source.clone(),
                    password: document.password.clone(),
                    pdf: self.state.settings.pdf(),
                });
            }
        }
        let open = |document: &super::workspace::project::Document| document.state == DocumentState::Open;
        let wanted = self.state.view.page.filter(|_| self.state.document().is_some_and(open)).and_then(|key| {
            let page = self.state.project.page(key)?;
            let dpi = self.state.resolution(key);
            let there = |sheet: &Sheet| sheet.turn == page.turn && sheet.dpi == dpi;
            let there = self.state.sheets.full(key).is_some_and(there);
            (!there && page.error.is_none()).then_some((key, page.turn, dpi))
        });
        if wanted != self.wanted_page {
            self.wanted_page = wanted;
            if let Some((key, turn, dpi)) = wanted {
                self.librarian.want(Want::Page { key, turn, dpi: dpi as f32 });
            }
        }
        let mut shown: Vec<(PageKey, Turn)> = Vec::new();
        for &key in &self.state.view.thumbnails {
            // The librarian draws nothing of a document that is not open yet, and is asked again when it is.
            let document = self.state.project.document(key.document).filter(|document| open(document));
            let Some(page) = document.and_then(|document| document.pages.get(key.page)) else { continue };
            let there = self.state.sheets.thumbnail(key).is_some_and(|thumbnail| thumbnail.turn == page.turn);
            if !there && page.error.is_none() {
                shown.push((key, page.turn));
            }
        }
        if shown != self.wanted_thumbnails {
            self.wanted_thumbnails.clone_from(&shown);
            self.librarian.want(Want::Thumbnails(shown));
        }
    }

    /// Takes in what the librarian has to say; whether there is more.
    pub(super) fn hear_librarian(&mut self, until: Instant) -> bool {
        while let Some(told) = self.librarian.told() {
            self.librarian_told(told);
            if Instant::now() >= until {
                return true;
            }
        }
        self.state.detecting = self.librarian.waiting().detecting;
        false
    }

    fn librarian_told(&mut self, told: Told) {
        let state = &mut self.state;
        match told {
            Told::Opened { document: id, page_count } => {
                self.opened(id);
                let state = &mut self.state;
                if let Some(document) = state.project.document_mut(id) {
                    let sentence = super::workspace::stored::reopen(document, page_count);
                    let last = document.pages.len().saturating_sub(1);
                    if let Some(sentence) = sentence {
                        state.tell(Tone::Warning, sentence);
                    }
                    // The file may be shorter than it was.
                    if state.view.page.is_some_and(|key| key.document == id && key.page > last) {
                        state.go(PageKey { document: id, page: last });
                    }
                }
            }
            Told::Locked { document: id, wrong } => {
                self.opened(id);
                let state = &mut self.state;
                if let Some(document) = state.project.document_mut(id) {
                    document.state = DocumentState::Locked { wrong };
                    document.password = None;
                    if state.modal.is_none() {
                        state.modal = Some(Modal::Password { document: id, text: String::new() });
                    }
                }
            }
            Told::Failed { document: id, message } => {
                self.opened(id);
                let state = &mut self.state;
                if let Some(document) = state.project.document_mut(id) {
                    document.state = DocumentState::Failed(message.clone());
                    if state.view.page.is_none_or(|key| key.document != id) {
                        state.tell(Tone::Error, message);
                    }
                }
            }
            Told::Page { key, turn, asked_dpi, dpi, skew_degrees, notice, pyramid } => {
                let drawing = Drawing { turn, dpi: asked_dpi as u32 };
                // What is read is drawn as it was ordered.
                if state.project.page(key).is_none_or(|page| page.turn != turn)
                    || state.lock(key).is_some_and(|lock| lock != drawing)
                {
                    return;
                }
                state.learn(key, &Drawn { drawing, size: pyramid.size(), dpi, skew_degrees, notice });
                state.sheets.keep_full(key, Sheet { turn, dpi: drawing.dpi, pyramid });
            }
            Told::Detected { key, turn, size, asked_dpi, dpi, skew_degrees, regions } => {
                if state.lock(key).is_some() {
                    return; // what is being read stays on its page
                }
                if state.project.page(key).is_some_and(|page| page.turn != turn) {
                    self.want_detection(key); // it was turned meanwhile
                } else if state.project.page(key).is_some() {
                    let drawing = Drawing { turn, dpi: asked_dpi as u32 };
                    let drawn = Drawn { drawing, size, dpi, skew_degrees, notice: None };
                    let (found, merge) = (regions.len(), state.detect_merge);
                    state.replace_regions(key, &drawn, regions, Some(merge));
                    if found == 0 && state.view.page == Some(key) {
                        state.tell(Tone::Warning, strings::NOTHING_DETECTED);
                    }
                }
            }
            Told::Thumbnail { key, turn, image } => {
                if state.project.page(key).is_some_and(|page| page.turn == turn) {
                    state.sheets.keep_thumbnail(key, Thumbnail { turn, image });
                }
            }
            Told::PageFailed { key, message } => {
                if state.project.page(key).is_some() {
                    let workspace = &mut state.workspace;
                    workspace.history.amend(&mut workspace.project, key, |page| page.error = Some(message.clone()));
                }
            }
        }
    }

    fn opened(&mut self, id: DocumentId) {
        if self.opening == Some(id) {
            self.opening = None;
        }
    }
}

impl Workspace {
    /// Opens a document that could not be opened anew: what was in the way may be gone.
    pub(crate) fn open_again(&mut self, id: DocumentId) {
        if let Some(document) = self.project.document_mut(id)
            && matches!(document.state, DocumentState::Failed(_))
        {
            document.state = DocumentState::Opening;
        }
    }

    /// Lets pages that could not be drawn be drawn anew, at another resolution.
    pub(crate) fn forgive_pages(&mut self) {
        let mut failed = Vec::new();
        for document in &self.project.documents {
            let pages = document.pages.iter().enumerate().filter(|(_, page)| page.error.is_some());
            failed.extend(pages.map(|(page, _)| PageKey { document: document.id, page }));
        }
        for key in failed {
            self.history.amend(&mut self.project, key, |page| page.error = None);
        }
    }
}
