//! Rendered pages at hand: the one that is looked at in full, and thumbnails of many.

use std::collections::HashMap;
use std::sync::Arc;

use engine::document::Turn;

use super::project::PageKey;
use super::pyramid::Pyramid;

/// Full pages kept: the one that is looked at and its neighbours, so that paging is quick and memory stays flat.
const FULL: usize = 3;
/// Thumbnails kept.
const THUMBNAILS: usize = 400;

/// What was rendered.
#[derive(Default)]
pub(crate) struct Sheets {
    /// The last used is last.
    full: Vec<(PageKey, Sheet)>,
    thumbnails: HashMap<PageKey, (Thumbnail, u64)>,
    clock: u64,
}

/// A page as the engine reads it: turned and straightened.
#[derive(Clone)]
pub(crate) struct Sheet {
    pub(crate) turn: Turn,
    /// The resolution it was asked for at.
    pub(crate) dpi: u32,
    pub(crate) pyramid: Arc<Pyramid>,
}

/// A small picture of a page.
#[derive(Clone)]
pub(crate) struct Thumbnail {
    pub(crate) turn: Turn,
    pub(crate) image: Arc<eframe::egui::ColorImage>,
}

impl Sheets {
    /// A page in full, if it is at hand.
    pub(crate) fn full(&self, key: PageKey) -> Option<&Sheet> {
        self.full.iter().find(|(k, _)| *k == key).map(|(_, sheet)| sheet)
    }

    /// Keeps a page; the one that was not used for longest goes.
    pub(crate) fn keep_full(&mut self, key: PageKey, sheet: Sheet) {
        self.full.retain(|(k, _)| *k != key);
        self.full.push((key, sheet));
        if self.full.len() > FULL {
            self.full.remove(0);
        }
    }

    /// Says that a page is looked at.
    pub(crate) fn touch(&mut self, key: PageKey) {
        if let Some(at) = self.full.iter().position(|(k, _)| *k == key) {
            let used = self.full.remove(at);
            self.full.push(used);
        }
    }

    /// A page's thumbnail, if it is at hand.
    pub(crate) fn thumbnail(&self, key: PageKey) -> Option<&Thumbnail> {
        self.thumbnails.get(&key).map(|(thumbnail, _)| thumbnail)
    }

    /// Keeps a thumbnail; the oldest goes when there are too many.
    pub(crate) fn keep_thumbnail(&mut self, key: PageKey, thumbnail: Thumbnail) {
        self.clock += 1;
        self.thumbnails.insert(key, (thumbnail, self.clock));
        if self.thumbnails.len() > THUMBNAILS
            && let Some(oldest) = self.thumbnails.iter().min_by_key(|(_, (_, at))| *at).map(|(key, _)| *key)
        {
            self.thumbnails.remove(&oldest);
        }
    }

    /// Forgets pages that are gone or changed.
    pub(crate) fn forget(&mut self, gone: impl Fn(PageKey) -> bool) {
        self.full.retain(|(key, _)| !gone(*key));
        self.thumbnails.retain(|key, _| !gone(*key));
    }
}
