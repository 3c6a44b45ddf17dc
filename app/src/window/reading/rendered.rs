//! The document or page as it will be exported: its blocks and its Markdown, made anew when something changed and, for a
//! whole document, on a thread of its own.

use std::ops::Range;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use eframe::egui::{Id, Ui};
use engine::export::{Block, DocumentResult, ExportOptions, blocks, markdown};

use crate::window::state::State;
use crate::window::workspace::project::{DocumentId, Page, PageKey};
use crate::window::workspace::result::page_outcome;

/// What is exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Scope {
    /// The page that is looked at.
    #[default]
    Page,
    /// Its whole document.
    Document,
}

impl Scope {
    /// What tells the exports of one place from those of another: the document, and the page where it is one.
    pub(super) fn place(self, page: Option<PageKey>) -> Option<(DocumentId, Option<usize>)> {
        page.map(|key| (key.document, (self == Scope::Page).then_some(key.page)))
    }
}

/// An export in memory.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    pub(super) blocks: Vec<Block>,
    pub(super) markdown: String,
    /// The lines of the Markdown, without their ends.
    pub(super) lines: Vec<Range<usize>>,
}

/// What an export is made of.
#[derive(Clone)]
struct RenderedFrom {
    document: DocumentId,
    name: String,
    /// Each with its number.
    pages: Vec<(usize, Arc<Page>)>,
    furniture: bool,
}

#[derive(Default)]
struct Cache {
    /// The newest that is done.
    done: Option<(RenderedFrom, Arc<Rendered>)>,
    /// What is being made.
    making: Option<(RenderedFrom, Receiver<Rendered>)>,
}

/// The export as it stands; an older one of the same document while a new one is being made.
pub(super) fn rendered(ui: &Ui, state: &State, scope: Scope) -> Option<Arc<Rendered>> {
    let (document, key) = (state.document()?, state.view.page?);
    let cache = ui.data_mut(|data| {
        data.get_temp_mut_or_default::<Arc<Mutex<Cache>>>(Id::unique(("reading export", scope == Scope::Page))).clone()
    });
    let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
    let pages = document.pages.iter().enumerate().filter(|(at, _)| scope == Scope::Document || *at == key.page);
    let furniture = state.settings.furniture;
    let is_current = |source: &RenderedFrom| {
        source.document == document.id
            && source.furniture == furniture
            && pages
                .clone()
                .map(|(at, page)| (at, Arc::as_ptr(page)))
                .eq(source.pages.iter().map(|(at, page)| (*at, Arc::as_ptr(page))))
    };
    if let Some(done) = cache.making.as_ref().and_then(|(_, receiver)| receiver.try_recv().ok()) {
        cache.done = cache.making.take().map(|(source, _)| (source, Arc::new(done)));
    }
    match &cache.done {
        Some((source, done)) if is_current(source) => return Some(Arc::clone(done)),
        _ => {}
    }
    let source = || RenderedFrom {
        document: document.id,
        name: document.name.clone(),
        pages: pages.clone().map(|(at, page)| (at, Arc::clone(page))).collect(),
        furniture,
    };
    if scope == Scope::Page {
        let source = source();
        let made = Arc::new(make(&source));
        cache.done = Some((source, Arc::clone(&made)));
        return Some(made);
    }
    if cache.making.is_none() {
        let (source, waker) = (source(), ui.ctx().clone());
        let (sender, receiver) = sync_channel(1);
        let work = source.clone();
        let spawned = std::thread::Builder::new().name("preview".to_owned()).spawn(move || {
            let _ = sender.send(make(&work));
            waker.request_repaint();
        });
        if spawned.is_ok() {
            cache.making = Some((source, receiver));
        }
    }
    cache.done.as_ref().filter(|(source, _)| source.document == document.id).map(|(_, done)| Arc::clone(done))
}

fn make(source: &RenderedFrom) -> Rendered {
    let pages = source.pages.iter().filter_map(|(index, page)| page_outcome(page, *index, false)).collect();
    let document = DocumentResult { name: source.name.clone(), pages };
    let options = ExportOptions { furniture: source.furniture, ..ExportOptions::default() };
    let markdown = markdown(&document, &options);
    let lines = line_ranges(&markdown);
    Rendered { blocks: blocks(&document, &options), markdown, lines }
}

fn line_ranges(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    text.split_inclusive('\n')
        .map(|line| {
            let start = at;
            at += line.len();
            start..start + line.trim_end_matches('\n').len()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_their_ends() {
        assert_eq!(line_ranges("é\n\nab"), [0..2, 3..3, 4..6]);
        assert_eq!(line_ranges("a\n\n"), [0..1, 2..2], "the last line has no empty one behind it");
        assert!(line_ranges("").is_empty());
    }
}
