//! Opening and closing documents, and what the librarian says of them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Instant;

use eframe::egui::ColorImage;
use engine::document::Turn;
use engine::worker::Source;

use super::app::Window;
use super::librarian::{Told, Want};
use super::project::{DocumentId, DocumentState, Page, PageKey};
use super::sheets::{Sheet, Thumbnail};
use super::state::{Modal, Tone};
use super::strings;

/// The page that comes with the program.
const SAMPLE: &[u8] = include_bytes!("../../../assets/samples/gravity-sample.pdf");
/// Its name.
const SAMPLE_NAME: &str = "gravity-sample.pdf";

/// What was found where a person pointed.
pub(super) enum Found {
    /// Files to open, and sentences about what cannot be.
    Files(Vec<PathBuf>, Vec<String>),
    /// A picture from the clipboard, as PNG.
    Picture(Vec<u8>),
    /// A sentence.
    Nothing(String),
}

/// Searches that are under way.
#[derive(Default)]
pub(super) struct Searches(Vec<Receiver<Found>>);

impl Window {
    /// Opens files, and the files of folders; listing them takes time of its own.
    pub(super) fn open_paths(&mut self, paths: Vec<PathBuf>) {
        self.search(move || {
            let (inputs, faults) = crate::inputs::expand(&paths);
            Found::Files(inputs.into_iter().map(|input| input.path).collect(), faults)
        });
    }

    /// Opens what is on the clipboard: files, a picture, or paths written as text.
    pub(super) fn paste(&mut self) {
        self.search(|| match pasted() {
            Ok(found) => found,
            Err(_) => Found::Nothing(strings::NOTHING_TO_PASTE.to_owned()),
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
        let (sender, receiver) = sync_channel(1);
        let waker = self.context.clone();
        let spawned = std::thread::Builder::new().name("search".to_owned()).spawn(move || {
            let _ = sender.send(search());
            waker.request_repaint();
        });
        match spawned {
            Ok(_) => self.searches.0.push(receiver),
            Err(error) => self.state.tell(Tone::Error, error.to_string()),
        }
    }

    /// Takes in what searches have found.
    pub(super) fn hear_searches(&mut self) {
        let mut found = Vec::new();
        self.searches.0.retain(|search| match search.try_recv() {
            Ok(one) => {
                found.push(one);
                false
            }
            Err(error) => error == std::sync::mpsc::TryRecvError::Empty,
        });
        for one in found {
            match one {
                Found::Files(files, faults) => {
                    faults.into_iter().for_each(|fault| self.state.tell(Tone::Error, fault));
                    self.add_files(files);
                }
                Found::Picture(bytes) => {
                    let name = strings::pasted_name(self.state.project.documents.len() + 1);
                    self.add(name.clone(), Source::Bytes { name, bytes });
                }
                Found::Nothing(sentence) => self.state.tell(Tone::Warning, sentence),
            }
        }
    }

    fn add_files(&mut self, files: Vec<PathBuf>) {
        let mut first = None;
        for path in files {
            // The session outlives the folder that the command was given in.
            let path = std::path::absolute(&path).unwrap_or(path);
            if path.extension().is_some_and(|ending| ending == super::project_file::EXTENSION) {
                self.ask_open_project(path);
                continue;
            }
            let source = Source::Path(path.clone());
            let there = self.state.project.documents.iter().find(|document| document.source == source);
            let id = there.map(|document| document.id).unwrap_or_else(|| {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
                self.state.project.add(name, source)
            });
            self.state.settings.remember(&path);
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
        if state.run.as_ref().is_some_and(|run| run.document == id) {
            state.cancel_run();
        }
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
                None => state.view.page = None,
            }
        }
    }

    /// Asks the librarian for what the window shows: the page, thumbnails, the next document to open.
    pub(super) fn want_what_is_shown(&mut self) {
        if self.opening.is_none() {
            let opening = |document: &&super::project::Document| document.state == DocumentState::Opening;
            let current = self.state.document().filter(opening);
            if let Some(document) = current.or_else(|| self.state.project.documents.iter().find(opening)) {
                self.opening = Some(document.id);
                self.librarian.want(Want::Open {
                    document: document.id,
                    source: document.source.clone(),
                    password: document.password.clone(),
                });
            }
        }
        let open = |document: &super::project::Document| document.state == DocumentState::Open;
        let wanted = self.state.view.page.filter(|_| self.state.document().is_some_and(open)).and_then(|key| {
            let page = self.state.project.page(key)?;
            let dpi = page.resolution(self.state.settings.dpi);
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
            let Some(page) = self.state.project.page(key) else { continue };
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
                if let Some(document) = state.project.document_mut(id)
                    && let Some(sentence) = super::stored::reopen(document, page_count)
                {
                    state.tell(Tone::Warning, sentence);
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
                if state.project.page(key).is_none_or(|page| page.turn != turn) {
                    return;
                }
                let size = pyramid.size();
                let asked = asked_dpi as u32;
                state.learn(key, Looks { turn, size, asked_dpi: asked, dpi, skew_degrees, notice });
                state.sheets.keep_full(key, Sheet { turn, dpi: asked, pyramid });
            }
            Told::Detected { key, turn, size, asked_dpi, dpi, skew_degrees, regions } => {
                if state.project.page(key).is_some_and(|page| page.turn == turn) {
                    state
                        .learn(key, Looks { turn, size, asked_dpi: asked_dpi as u32, dpi, skew_degrees, notice: None });
                    let (found, merge) = (regions.len(), state.detect_merge);
                    state.replace_regions(key, regions, Some(merge));
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
                    state.history.amend(&mut state.project, key, |page| page.error = Some(message.clone()));
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

/// What a page's rendering tells of it.
struct Looks {
    turn: Turn,
    size: [u32; 2],
    asked_dpi: u32,
    dpi: Option<f32>,
    skew_degrees: f32,
    notice: Option<String>,
}

impl super::state::State {
    /// Learns what a page looks like.
    fn learn(&mut self, key: PageKey, looks: Looks) {
        let learnt = |page: &mut Page| {
            // What undo would bring back may be turned otherwise.
            if page.turn == looks.turn {
                page.size = Some(looks.size);
                page.asked_dpi = Some(looks.asked_dpi);
                (page.dpi, page.skew_degrees, page.error) = (looks.dpi, looks.skew_degrees, None);
                if looks.notice.is_some() {
                    page.notice.clone_from(&looks.notice);
                }
            }
        };
        let Some(page) = self.project.page(key) else { return };
        let mut after = Page::clone(page);
        learnt(&mut after);
        if after != **page {
            self.history.amend(&mut self.project, key, learnt);
        }
    }
}

/// What is on the clipboard.
fn pasted() -> Result<Found, arboard::Error> {
    let mut clipboard = arboard::Clipboard::new()?;
    if let Ok(files) = clipboard.get().file_list()
        && !files.is_empty()
    {
        let (inputs, faults) = crate::inputs::expand(&files);
        return Ok(Found::Files(inputs.into_iter().map(|input| input.path).collect(), faults));
    }
    if let Ok(image) = clipboard.get_image()
        && let Some(bytes) = png(image.width, image.height, image.bytes.into_owned())
    {
        return Ok(Found::Picture(bytes));
    }
    let text = clipboard.get_text()?;
    let paths: Vec<PathBuf> = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(PathBuf::from).collect();
    match paths.is_empty() || paths.len() > 1000 || !paths.iter().all(|path| path.exists()) {
        true => Ok(Found::Nothing(strings::NOTHING_TO_PASTE.to_owned())),
        false => {
            let (inputs, faults) = crate::inputs::expand(&paths);
            Ok(Found::Files(inputs.into_iter().map(|input| input.path).collect(), faults))
        }
    }
}

fn png(width: usize, height: usize, rgba: Vec<u8>) -> Option<Vec<u8>> {
    let image = image::RgbaImage::from_raw(u32::try_from(width).ok()?, u32::try_from(height).ok()?, rgba)?;
    let mut png = std::io::Cursor::new(Vec::new());
    image.write_to(&mut png, image::ImageFormat::Png).ok()?;
    Some(png.into_inner())
}
