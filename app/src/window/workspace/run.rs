//! A recognition that runs: what was asked, how far each of its pages is, and whose events come in. Several pages may be
//! under way at a time: the engine draws the next while it reads one.

use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

use engine::event::RequestId;

use super::project::{DocumentId, Drawing, PageKey, RegionId};
use crate::reader::Running;

/// What is to be read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scope {
    /// These regions of a page.
    Regions(PageKey, Vec<RegionId>),
    /// A page: what is not read yet, or everything when all of it is.
    Page(PageKey),
    /// A document, page by page as above.
    Document(DocumentId),
}

impl Scope {
    /// The document that it is part of.
    pub(crate) fn document(&self) -> DocumentId {
        match self {
            Scope::Regions(key, _) | Scope::Page(key) => key.document,
            Scope::Document(document) => *document,
        }
    }
}

/// A run over one document.
pub(crate) struct Run {
    pub(crate) document: DocumentId,
    pub(crate) job: Box<dyn Running>,
    /// By number.
    pub(super) pages: BTreeMap<usize, RunPage>,
    /// Committed tokens, and regions, so far.
    pub(crate) tokens: u64,
    pub(crate) regions_read: usize,
    pub(super) started: Instant,
    /// Whether the person asked to stop.
    pub(crate) cancelled: bool,
    /// Whether the view goes along from page to page.
    pub(crate) follow: bool,
}

/// A page of a run.
pub(super) struct RunPage {
    /// How it was ordered, whatever the settings say by now.
    pub(super) drawing: Drawing,
    /// Which regions of the project those of the job are; none until the engine has found them.
    pub(super) targets: Option<Vec<RegionId>>,
    pub(super) stage: Stage,
}

/// How far a page is.
pub(super) enum Stage {
    Waiting,
    /// It was drawn and is being read; which of its regions are done.
    Reading(HashSet<RegionId>),
    /// It was read, or it failed.
    Over,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Progress {
    /// The page being read, from 1, counted among those of the run.
    pub(crate) page: usize,
    pub(crate) pages: usize,
    /// Of the pages under way.
    pub(crate) regions_done: usize,
    pub(crate) regions: usize,
    /// From 0 to 1.
    pub(crate) share: f32,
    /// Committed tokens a second, once there is something to go by.
    pub(crate) tokens_per_second: Option<f64>,
    /// Seconds left, once there is something to go by.
    pub(crate) seconds_left: Option<f64>,
}

impl RunPage {
    /// Regions done and regions in all, while it is read.
    fn progress(&self) -> Option<(usize, usize)> {
        match &self.stage {
            Stage::Reading(done) => Some((done.len(), self.targets.as_ref().map_or(0, Vec::len))),
            Stage::Waiting | Stage::Over => None,
        }
    }
}

impl Run {
    /// How far it is.
    pub(crate) fn progress(&self) -> Progress {
        let elapsed = self.started.elapsed().as_secs_f64();
        let pages_done = self.pages.values().filter(|page| matches!(page.stage, Stage::Over)).count();
        let (mut regions_done, mut regions, mut under_way) = (0, 0, 0.0);
        for (done, all) in self.pages.values().filter_map(RunPage::progress) {
            (regions_done, regions) = (regions_done + done, regions + all);
            under_way += if all == 0 { 0.0 } else { done as f64 / all as f64 };
        }
        let pages = self.pages.len();
        let share = ((pages_done as f64 + under_way) / pages.max(1) as f64).min(1.0);
        Progress {
            page: (pages_done + 1).min(pages),
            pages,
            regions_done,
            regions,
            share: share as f32,
            tokens_per_second: (self.tokens > 0 && elapsed > 0.2).then(|| self.tokens as f64 / elapsed),
            seconds_left: (elapsed > 1.0 && share > 0.02).then(|| elapsed * (1.0 - share) / share),
        }
    }

    pub(super) fn page(&self, key: PageKey) -> Option<&RunPage> {
        self.pages.get(&key.page).filter(|_| key.document == self.document)
    }

    /// What it holds fast of a page that waits or is being read: how the page is drawn, its boxes, their types and order.
    pub(crate) fn lock(&self, key: PageKey) -> Option<Drawing> {
        self.page(key).filter(|page| !matches!(page.stage, Stage::Over)).map(|page| page.drawing)
    }

    /// Whether a region of a page waits or is being read.
    pub(crate) fn awaits(&self, key: PageKey, id: RegionId) -> bool {
        self.page(key).is_some_and(|page| {
            let targets = || page.targets.iter().flatten();
            match &page.stage {
                Stage::Waiting => targets().any(|target| *target == id),
                Stage::Reading(done) => !done.contains(&id) && targets().any(|target| *target == id),
                Stage::Over => false,
            }
        })
    }

    /// Regions done and regions in all of a page that is being read.
    pub(crate) fn page_progress(&self, key: PageKey) -> Option<(usize, usize)> {
        self.page(key)?.progress()
    }

    /// The regions of a page that is being read, finished ones too.
    pub(crate) fn targets(&self, key: PageKey) -> &[RegionId] {
        let page = self.page(key).filter(|page| matches!(page.stage, Stage::Reading(_)));
        page.and_then(|page| page.targets.as_deref()).unwrap_or_default()
    }

    /// The first of the pages that are being read.
    pub(super) fn front(&self) -> Option<PageKey> {
        let (page, _) = self.pages.iter().find(|(_, page)| matches!(page.stage, Stage::Reading(_)))?;
        Some(PageKey { document: self.document, page: *page })
    }

    /// The region of the project that a region of the job is.
    pub(super) fn target(&self, page: usize, region: usize) -> Option<RegionId> {
        let page = self.pages.get(&page).filter(|page| matches!(page.stage, Stage::Reading(_)))?;
        page.targets.as_ref()?.get(region).copied()
    }

    pub(super) fn target_of(&self, id: RequestId) -> Option<RegionId> {
        self.target(id.page, id.region)
    }

    /// A page is over; its regions that were not read.
    pub(super) fn end_page(&mut self, page: usize) -> Vec<RegionId> {
        let Some(page) = self.pages.get_mut(&page) else { return Vec::new() };
        let targets = page.targets.take().unwrap_or_default();
        match std::mem::replace(&mut page.stage, Stage::Over) {
            Stage::Reading(done) => targets.into_iter().filter(|id| !done.contains(id)).collect(),
            Stage::Waiting | Stage::Over => targets,
        }
    }
}
