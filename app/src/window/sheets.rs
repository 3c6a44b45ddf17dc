//! Rendered pages at hand: the one that is looked at in full, and thumbnails of many.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use engine::document::Turn;

use super::pyramid::Pyramid;
use super::workspace::project::PageKey;

/// Full pages kept: the one that is looked at and its neighbours, so that paging is quick and memory stays flat.
const FULL: usize = 3;
/// Pixels of all full pages; a single page may have more.
const FULL_PIXELS: u64 = 200_000_000;
/// Thumbnails kept: far more than a screen shows, and some 70 megabytes.
const THUMBNAILS: usize = 400;

/// What was rendered.
#[derive(Default)]
pub(crate) struct Sheets {
    /// The last used is last.
    full: Vec<(PageKey, Sheet)>,
    /// With the time when each was last used.
    thumbnails: HashMap<PageKey, (Thumbnail, Cell<u64>)>,
    clock: Cell<u64>,
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

    /// Keeps a page as the one last used; those that were not used for longest go.
    pub(crate) fn keep_full(&mut self, key: PageKey, sheet: Sheet) {
        self.full.retain(|(k, _)| *k != key);
        self.full.push((key, sheet));
        while self.full.len() > 1 && (self.full.len() > FULL || self.full_pixels() > FULL_PIXELS) {
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

    /// A page's thumbnail, if it is at hand; it counts as used.
    pub(crate) fn thumbnail(&self, key: PageKey) -> Option<&Thumbnail> {
        let (thumbnail, used) = self.thumbnails.get(&key)?;
        used.set(self.tick());
        Some(thumbnail)
    }

    /// Keeps a thumbnail; the one that was not used for longest goes when there are too many.
    pub(crate) fn keep_thumbnail(&mut self, key: PageKey, thumbnail: Thumbnail) {
        let now = Cell::new(self.tick());
        self.thumbnails.insert(key, (thumbnail, now));
        if self.thumbnails.len() > THUMBNAILS
            && let Some(oldest) = self.thumbnails.iter().min_by_key(|(_, (_, used))| used.get()).map(|(key, _)| *key)
        {
            self.thumbnails.remove(&oldest);
        }
    }

    /// How many full pages and thumbnails are held.
    #[cfg(test)]
    pub(crate) fn held(&self) -> (usize, usize) {
        (self.full.len(), self.thumbnails.len())
    }

    /// Forgets pages that are gone or changed.
    pub(crate) fn forget(&mut self, gone: impl Fn(PageKey) -> bool) {
        self.full.retain(|(key, _)| !gone(*key));
        self.thumbnails.retain(|key, _| !gone(*key));
    }

    fn full_pixels(&self) -> u64 {
        self.full
            .iter()
            .map(|(_, sheet)| sheet.pyramid.size().map(u64::from))
            .map(|[width, height]| width * height)
            .sum()
    }

    fn tick(&self) -> u64 {
        self.clock.set(self.clock.get() + 1);
        self.clock.get()
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::ColorImage;
    use image::RgbImage;

    use super::super::workspace::project::DocumentId;
    use super::*;

    fn key(page: usize) -> PageKey {
        PageKey { document: DocumentId(1), page }
    }

    fn sheet(width: u32, height: u32) -> Sheet {
        Sheet { turn: Turn::None, dpi: 200, pyramid: Arc::new(Pyramid::from(RgbImage::new(width, height))) }
    }

    fn thumbnail() -> Thumbnail {
        Thumbnail { turn: Turn::None, image: Arc::new(ColorImage::default()) }
    }

    fn at_hand(sheets: &Sheets) -> Vec<usize> {
        (0..20).filter(|page| sheets.full(key(*page)).is_some()).collect()
    }

    #[test]
    fn few_pages_are_kept_in_full() {
        let mut sheets = Sheets::default();
        (0..3).for_each(|page| sheets.keep_full(key(page), sheet(10, 10)));
        sheets.touch(key(0));
        sheets.keep_full(key(3), sheet(10, 10));
        assert_eq!(at_hand(&sheets), [0, 2, 3], "1 was not used for longest");
        sheets.keep_full(key(2), sheet(10, 10));
        assert_eq!(at_hand(&sheets), [0, 2, 3], "a page replaces itself");
        sheets.forget(|key| key.page != 3);
        assert_eq!(at_hand(&sheets), [3]);
    }

    #[test]
    fn large_pages_are_fewer_and_the_last_used_stays() {
        let mut sheets = Sheets::default();
        let (large, small) = (sheet(11_000, 10_000), sheet(10, 10));
        sheets.keep_full(key(0), small.clone());
        sheets.keep_full(key(1), large.clone());
        assert_eq!(at_hand(&sheets), [0, 1]);
        sheets.keep_full(key(2), large.clone());
        assert_eq!(at_hand(&sheets), [2], "two large ones are too many");
        sheets.keep_full(key(3), small);
        assert_eq!(at_hand(&sheets), [2, 3]);
        let huge = Sheet { pyramid: Arc::new(Pyramid::from(RgbImage::new(20_001, 10_000))), ..large };
        sheets.keep_full(key(4), huge);
        assert_eq!(at_hand(&sheets), [4]);
    }

    #[test]
    fn thumbnails_that_are_shown_outlive_those_that_are_not() {
        let mut sheets = Sheets::default();
        for page in 0..12_000 {
            sheets.keep_thumbnail(key(page), thumbnail());
            assert!(sheets.thumbnail(key(5)).is_some() || page < 5);
            assert!(sheets.thumbnails.len() <= THUMBNAILS);
        }
        assert!(sheets.thumbnails.contains_key(&key(11_999)) && !sheets.thumbnails.contains_key(&key(6)));
    }
}
