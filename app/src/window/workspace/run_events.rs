//! The course of a run: what a scope comes to, and what becomes of the engine's events.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use engine::document::Turn;
use engine::event::{Event, Outcome};
use engine::job::{Job, LayoutMode, PageOrder, Pages};
use engine::page::{PageResult, Reading, Status};
use engine::region::Region;

use super::detail::{Contents, Detail};
use super::log::What;
use super::notice::{Notice, duration};
use super::project::{DocumentId, Drawing, Page, PageKey, PageRegion, RegionId, RegionRead};
use super::run::{Run, RunPage, Scope, Stage};
use super::state::{Tone, Workspace};
use crate::reader::Running;

/// Whether a region still has to be read.
fn unread(region: &PageRegion) -> bool {
    let finished = |read: &RegionRead| !matches!(read.status, Status::Cancelled | Status::Failed(_));
    !region.read.as_deref().is_some_and(finished)
}

/// A page to read.
pub(crate) struct Order {
    page: usize,
    turn: Turn,
    dpi: u32,
    /// The regions to read in it; the engine looks for them when there are none.
    regions: Option<Vec<(RegionId, Region)>>,
}

impl Workspace {
    /// What a scope comes to.
    pub(crate) fn orders(&self, scope: &Scope) -> Option<(DocumentId, Vec<Order>)> {
        let order = |key: PageKey, wanted: &dyn Fn(&PageRegion) -> bool| {
            let page = self.project.page(key)?;
            let wanted = page.regions.iter().filter(|region| wanted(region));
            let regions: Vec<_> = wanted.map(|region| (region.id, region.region.clone())).collect();
            Some(Order {
                page: key.page,
                turn: page.turn,
                dpi: page.resolution(self.settings.dpi),
                regions: (!regions.is_empty()).then_some(regions),
            })
        };
        let complete = |key: PageKey| {
            self.project
                .page(key)
                .is_some_and(|page| !page.regions.is_empty() && !page.regions.iter().any(|r| unread(r)))
        };
        let (document, orders): (_, Vec<_>) = match scope {
            Scope::Regions(key, ids) => {
                let chosen = order(*key, &|region| ids.contains(&region.id));
                (key.document, chosen.into_iter().filter(|order| order.regions.is_some()).collect())
            }
            Scope::Page(key) => {
                let again = complete(*key);
                (key.document, order(*key, &|region| again || unread(region)).into_iter().collect())
            }
            Scope::Document(id) => {
                let pages = 0..self.project.document(*id)?.pages.len();
                let keys: Vec<_> = pages.map(|page| PageKey { document: *id, page }).collect();
                let again = keys.iter().all(|key| complete(*key));
                let open = keys.iter().filter(|key| again || !complete(**key));
                (*id, open.filter_map(|key| order(*key, &|region| again || unread(region))).collect())
            }
        };
        (!orders.is_empty()).then_some((document, orders))
    }

    /// The engine's word for it.
    pub(crate) fn job(&self, document: DocumentId, orders: &[Order]) -> Option<Job> {
        let document = self.project.document(document)?;
        let regions = |list: &Vec<(RegionId, Region)>| list.iter().map(|(_, region)| region.clone()).collect();
        let orders = orders.iter().map(|order| PageOrder {
            page: order.page,
            turn: order.turn,
            dpi: order.dpi as f32,
            regions: order.regions.as_ref().map(regions),
        });
        Some(Job {
            password: document.password.clone(),
            pages: Pages::Ordered(orders.collect()),
            layout: LayoutMode::Auto,
            decode: self.settings.decode(),
            max_tokens: self.settings.max_tokens,
            ..Job::new(document.source.clone())
        })
    }

    /// What a race of a region reads, again and again.
    pub(crate) fn race_job(&self, key: PageKey, id: RegionId) -> Option<Job> {
        let (document, orders) = self.orders(&Scope::Regions(key, vec![id]))?;
        self.job(document, &orders)
    }

    pub(crate) fn begin_run(&mut self, document: DocumentId, orders: Vec<Order>, job: Box<dyn Running>) {
        self.live.clear();
        let page = |order: Order| {
            let ids = |list: Vec<(RegionId, Region)>| list.into_iter().map(|(id, _)| id).collect();
            let drawing = Drawing { turn: order.turn, dpi: order.dpi };
            (order.page, RunPage { drawing, targets: order.regions.map(ids), stage: Stage::Waiting })
        };
        let pages: BTreeMap<usize, RunPage> = orders.into_iter().map(page).collect();
        pages.values().flat_map(|page| &page.targets).flatten().for_each(|id| self.live.wait(*id));
        self.history.begin_run(&self.project, pages.keys().map(|page| PageKey { document, page: *page }));
        self.run = Some(Run {
            document,
            job,
            pages,
            tokens: 0,
            regions_read: 0,
            started: Instant::now(),
            cancelled: false,
            follow: true,
        });
    }

    /// What a run holds fast of a page just now; see [`Run::lock`].
    pub(crate) fn lock(&self, key: PageKey) -> Option<Drawing> {
        self.run.as_ref()?.lock(key)
    }

    /// Whether a run holds the page that is looked at fast.
    pub(crate) fn is_page_locked(&self) -> bool {
        self.view.page.is_some_and(|key| self.lock(key).is_some())
    }

    /// Whether a region of the page that is looked at waits or is being read.
    pub(crate) fn is_awaited(&self, id: RegionId) -> bool {
        self.view.page.zip(self.run.as_ref()).is_some_and(|(key, run)| run.awaits(key, id))
    }

    /// The resolution at which a page is drawn and read now, dots per inch.
    pub(crate) fn resolution(&self, key: PageKey) -> u32 {
        let page = || self.project.page(key).map_or(self.settings.dpi, |page| page.resolution(self.settings.dpi));
        self.lock(key).map_or_else(page, |drawing| drawing.dpi)
    }

    /// Stops the run; what is finished stays.
    pub(crate) fn cancel_run(&mut self) {
        self.pending = None;
        if let Some(run) = &mut self.run {
            run.cancelled = true;
            run.job.cancel();
        }
    }

    /// Takes in an event of the run.
    pub(crate) fn run_event(&mut self, event: Event) {
        let Some(run) = &mut self.run else { return };
        match event {
            Event::Opened { .. } => {}
            Event::PageStarted { page, width, height, regions, notice } => {
                self.start_page(page, [width, height], regions, notice)
            }
            Event::RequestStarted { id, bounds } => {
                if let Some(region) = run.target_of(id) {
                    self.live.start(region, id.request, bounds);
                }
            }
            Event::RequestRestarted { id, bounds, reason } => {
                if let Some(region) = run.target_of(id) {
                    self.live.start(region, id.request, bounds);
                }
                self.tell(Tone::Warning, Notice::Page { page: id.page, reason });
            }
            Event::Drafted { id, at_ms, round, text } => {
                if let Some(region) = run.target_of(id) {
                    self.live.step(region, id.request, at_ms, What::Drafted { round, text });
                }
            }
            Event::Committed { id, at_ms, round, drafted, accepted, tokens, forwards, pieces } => {
                run.tokens += u64::from(tokens);
                if let Some(region) = run.target_of(id) {
                    let what = What::Committed { round, drafted, accepted, tokens, forwards, pieces };
                    self.live.step(region, id.request, at_ms, what);
                }
            }
            Event::RequestFinished { id, status, timings } => {
                if let Some(region) = run.target_of(id) {
                    self.live.end(region, id.request, status, timings);
                }
            }
            Event::RegionFinished { page, region, status, text, readings } => {
                if let Some(id) = run.target(page, region) {
                    self.finish_region(page, id, status, text, readings);
                }
            }
            Event::PageFinished { page, .. } => self.finish_page(&page),
            Event::PageFailed { page, message } => self.fail_page(page, message),
            Event::Finished { outcome } => self.end_run(outcome),
        }
    }

    /// A page was rasterised; its regions are known.
    fn start_page(&mut self, number: usize, size: [u32; 2], regions: Vec<Region>, notice: Option<String>) {
        let Some(run) = &mut self.run else { return };
        let key = PageKey { document: run.document, page: number };
        let Some(page) = run.pages.get_mut(&number).filter(|page| matches!(page.stage, Stage::Waiting)) else { return };
        let drawing = page.drawing;
        page.stage = Stage::Reading(HashSet::new());
        let found = page.targets.is_none().then(|| {
            let found = |region| Arc::new(PageRegion { id: self.project.new_region(), region, read: None, edit: None });
            let found: Vec<_> = regions.into_iter().map(found).collect();
            page.targets = Some(found.iter().map(|region| region.id).collect());
            found
        });
        page.targets.iter().flatten().for_each(|id| self.live.wait(*id));
        self.history.amend(&mut self.project, key, |page| {
            page.error = None;
            if drawing.is_of(page) {
                (page.size, page.asked_dpi) = (Some(size), Some(drawing.dpi));
                page.notice.clone_from(&notice);
            }
        });
        if let Some(found) = found {
            self.write_page(key, |page| {
                (page.size, page.asked_dpi) = (Some(size), Some(drawing.dpi));
                page.regions.clone_from(&found);
                page.detected = true;
            });
        }
        self.follow_run();
    }

    fn finish_region(&mut self, page: usize, id: RegionId, status: Status, text: String, readings: Vec<Reading>) {
        let Some(run) = &mut self.run else { return };
        let key = PageKey { document: run.document, page };
        let Some(RunPage { drawing, stage: Stage::Reading(done), .. }) = run.pages.get_mut(&page) else { return };
        done.insert(id);
        let mut logs = self.live.finish(id);
        logs.iter_mut().for_each(|log| log.turn = drawing.turn);
        run.regions_read += usize::from(!matches!(status, Status::Cancelled));
        // Nothing that was read before gives way to the beginning of something.
        let was_read = || self.project.page(key).and_then(|page| page.region(id)).is_some_and(|r| r.read.is_some());
        if matches!(status, Status::Cancelled) && (text.is_empty() || was_read()) {
            return;
        }
        let detail = Detail::pack(&Contents { logs, readings });
        let read = Arc::new(RegionRead { status, text, detail });
        self.write_page(key, |page| {
            page.alter(id, |region| region.read = Some(Arc::clone(&read)));
        });
    }

    fn finish_page(&mut self, result: &PageResult) {
        let Some(run) = &mut self.run else { return };
        let key = PageKey { document: run.document, page: result.index };
        let drawing = run.lock(key);
        run.end_page(key.page).into_iter().for_each(|id| drop(self.live.finish(id)));
        self.history.amend(&mut self.project, key, |page| {
            page.error = None;
            if drawing.is_some_and(|drawing| drawing.is_of(page)) {
                (page.dpi, page.skew_degrees) = (result.dpi, result.skew_degrees);
            }
        });
        self.follow_run();
    }

    fn fail_page(&mut self, number: usize, message: String) {
        let Some(run) = &mut self.run else { return };
        let key = PageKey { document: run.document, page: number };
        run.end_page(number).into_iter().for_each(|id| drop(self.live.finish(id)));
        let notice = Notice::Page { page: number, reason: message.clone() };
        self.history.amend(&mut self.project, key, |page| page.error = Some(message.clone()));
        if self.project.page(key).is_some() {
            self.tell(Tone::Error, notice);
        }
        self.follow_run();
    }

    /// Writes a result of the run.
    fn write_page(&mut self, key: PageKey, write: impl Fn(&mut Page)) {
        let replayed = self.replayed();
        if self.history.write(&mut self.project, key, write) {
            self.close_stale_replay(replayed);
        }
        self.view.drop_strangers(self.project.page(key).map(Arc::as_ref), key);
    }

    /// Goes along from a page that is over to the one that is being read.
    fn follow_run(&mut self) {
        let Some(run) = &mut self.run else { return };
        let is_over = |key: &PageKey| run.page(*key).is_some_and(|page| matches!(page.stage, Stage::Over));
        if !run.follow || !self.view.page.is_some_and(|key| is_over(&key)) {
            return;
        }
        let Some(front) = run.front() else { return };
        // Nobody is taken away from what they are writing, nor later from what they have written.
        if self.view.editing.is_some() {
            run.follow = false;
        } else {
            self.go(front);
        }
    }

    /// The run is over.
    pub(crate) fn end_run(&mut self, outcome: Outcome) {
        self.live.clear();
        self.history.end_run();
        let Some(run) = self.run.take() else { return };
        if self.project.document(run.document).is_none() {
            return; // it was closed, and the run with it
        }
        match outcome {
            Outcome::Failed(message) => self.tell(Tone::Error, message),
            Outcome::Cancelled => self.tell(Tone::Good, Notice::Cancelled { regions: run.regions_read }),
            Outcome::Completed => {
                let time = duration(run.started.elapsed().as_secs_f64());
                let (pages, regions) = (run.pages.len(), run.regions_read);
                self.tell(Tone::Good, Notice::Completed { pages, regions, time });
            }
        }
    }
}
