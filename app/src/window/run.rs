//! A recognition that runs: what was asked, how far it is, and whose events come in.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::document::Turn;
use engine::event::{Event, Outcome, RequestId};
use engine::page::Status;
use engine::region::Region;
use engine::worker::{Job, LayoutMode, PageOrder, Pages};

use super::app::{Window, waker};
use super::detail::{Contents, Detail};
use super::edits::alter;
use super::log::What;
use super::project::{DocumentId, PageKey, PageRegion, RegionId, RegionRead};
use super::race::{Race, RaceAsk};
use super::state::{EngineState, Modal, State, Tone};
use super::strings;
use crate::reader::{Next, Running};

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
    job: Box<dyn Running>,
    /// The pages still to come, with the regions that go with them; `None` where the engine looks for them.
    orders: VecDeque<(usize, Option<Vec<RegionId>>)>,
    /// The page that is being read, and which regions of the project those of the job are.
    pub(crate) page: Option<PageKey>,
    targets: Vec<RegionId>,
    regions_done: usize,
    pages_done: usize,
    pages_total: usize,
    /// Committed tokens, and regions, so far.
    pub(crate) tokens: u64,
    pub(crate) regions_read: usize,
    started: Instant,
    /// Whether the person asked to stop.
    pub(crate) cancelled: bool,
    /// Joins the results of this run into one undo.
    merge: u64,
    /// Whether the view goes along from page to page.
    pub(crate) follow: bool,
}

/// Whether a region still has to be read.
fn unread(region: &PageRegion) -> bool {
    let finished = |read: &RegionRead| !matches!(read.status, Status::Cancelled | Status::Failed(_));
    !region.read.as_deref().is_some_and(finished)
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Progress {
    /// The page being read, from 1, counted among those of the run.
    pub(crate) page: usize,
    pub(crate) pages: usize,
    pub(crate) regions_done: usize,
    pub(crate) regions: usize,
    /// From 0 to 1.
    pub(crate) share: f32,
    /// Committed tokens a second, once there is something to go by.
    pub(crate) tokens_per_second: Option<f64>,
    /// Seconds left, once there is something to go by.
    pub(crate) seconds_left: Option<f64>,
}

impl Run {
    /// How far it is.
    pub(crate) fn progress(&self) -> Progress {
        let elapsed = self.started.elapsed().as_secs_f64();
        let (done, regions) = (self.regions_done, self.targets.len());
        let of_page = if regions == 0 { 0.0 } else { done as f64 / regions as f64 };
        let share = ((self.pages_done as f64 + of_page) / self.pages_total.max(1) as f64).min(1.0);
        Progress {
            page: (self.pages_done + 1).min(self.pages_total),
            pages: self.pages_total,
            regions_done: done,
            regions,
            share: share as f32,
            tokens_per_second: (self.tokens > 0 && elapsed > 0.2).then(|| self.tokens as f64 / elapsed),
            seconds_left: (elapsed > 1.0 && share > 0.02).then(|| elapsed * (1.0 - share) / share),
        }
    }

    /// The regions of the page that is being read, finished ones too.
    pub(crate) fn targets(&self) -> &[RegionId] {
        &self.targets
    }

    /// Whether it reads this page just now, or will.
    pub(crate) fn concerns(&self, key: PageKey) -> bool {
        let waits = || self.document == key.document && self.orders.iter().any(|(page, _)| *page == key.page);
        self.page == Some(key) || waits()
    }

    /// The region of the project that a request belongs to.
    fn target(&self, id: RequestId) -> Option<RegionId> {
        (self.page.map(|key| key.page) == Some(id.page)).then(|| self.targets.get(id.region).copied()).flatten()
    }
}

impl Window {
    /// Reads what was asked for, when the engine is there; wakes it first when it is not.
    pub(super) fn recognize(&mut self, scope: Scope) {
        if self.state.is_busy() {
            self.state.tell(Tone::Warning, strings::run::BUSY);
            return;
        }
        let Some(reader) = &self.reader else {
            if let EngineState::Failed(_) = self.state.engine {
                self.state.engine = EngineState::Asleep; // the folder may be mended by now
            }
            self.state.pending = Some(scope);
            self.wake_engine();
            return;
        };
        let Some((document, orders)) = self.state.orders(&scope) else { return };
        let Some(job) = self.state.job(document, &orders) else { return };
        match reader.start(job, self.waker()) {
            Ok(job) => self.state.begin(document, orders, job),
            Err(message) => self.state.tell(Tone::Error, message),
        }
    }

    /// Does what is asked of a race.
    pub(super) fn race(&mut self, ask: RaceAsk) {
        match ask {
            RaceAsk::Start(id) => {
                let Some(key) = self.state.view.page else { return };
                let Some(job) = self.state.race_job(key, id) else { return };
                self.state.race = Some(Race::new(id, key, job));
                self.state.modal = Some(Modal::Race);
                self.wake_engine();
            }
            ask => {
                if let Some(race) = &mut self.state.race {
                    race.ask(ask);
                }
                if ask == RaceAsk::Close {
                    self.state.race = None;
                    self.state.modal.take_if(|modal| *modal == Modal::Race);
                }
            }
        }
    }

    /// Takes in what a race has to say; whether there is more.
    pub(super) fn hear_race(&mut self, until: Instant) -> bool {
        let (Some(reader), EngineState::Ready(info)) = (&self.reader, &self.state.engine) else { return false };
        let Some(race) = &mut self.state.race else { return false };
        race.drain(&**reader, info.only_ar.as_deref(), &|| waker(&self.context), until)
    }

    /// Takes in what the run has to say; whether there is more.
    pub(super) fn hear_run(&mut self, until: Instant) -> bool {
        loop {
            let Some(run) = &mut self.state.run else { return false };
            match run.job.next(Duration::ZERO) {
                Next::Event(event) => self.state.run_event(event),
                Next::Quiet => return false,
                // An engine that was let go goes without a word.
                Next::Gone if run.cancelled => self.state.end_run(Outcome::Cancelled),
                Next::Gone => {
                    self.state.end_run(Outcome::Failed(strings::run::GONE.to_owned()));
                    self.drop_engine(); // the next recognition starts another
                }
            }
            if Instant::now() >= until {
                return true;
            }
        }
    }
}

/// A page of a run.
struct Order {
    page: usize,
    turn: Turn,
    dpi: u32,
    /// The regions to read in it; the engine looks for them when there are none.
    regions: Option<Vec<(RegionId, Region)>>,
}

impl State {
    /// What a scope comes to.
    fn orders(&self, scope: &Scope) -> Option<(DocumentId, Vec<Order>)> {
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
    fn job(&self, document: DocumentId, orders: &[Order]) -> Option<Job> {
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
    fn race_job(&self, key: PageKey, id: RegionId) -> Option<Job> {
        let (document, orders) = self.orders(&Scope::Regions(key, vec![id]))?;
        self.job(document, &orders)
    }

    fn begin(&mut self, document: DocumentId, orders: Vec<Order>, job: Box<dyn Running>) {
        self.live.clear();
        let orders: VecDeque<_> = orders
            .into_iter()
            .map(|order| (order.page, order.regions.map(|list| list.into_iter().map(|(id, _)| id).collect::<Vec<_>>())))
            .collect();
        orders.iter().filter_map(|(_, ids)| ids.as_ref()).flatten().for_each(|id| self.live.wait(*id));
        self.run = Some(Run {
            document,
            job,
            pages_total: orders.len(),
            orders,
            page: None,
            targets: Vec::new(),
            regions_done: 0,
            pages_done: 0,
            tokens: 0,
            regions_read: 0,
            started: Instant::now(),
            cancelled: false,
            merge: self.history.revision() | 1 << 63,
            follow: true,
        });
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
    fn run_event(&mut self, event: Event) {
        let Some(run) = &mut self.run else { return };
        match event {
            Event::Opened { .. } => {}
            Event::PageStarted { page, width, height, regions, notice } => {
                self.start_page(page, [width, height], regions, notice)
            }
            Event::RequestStarted { id, bounds } => {
                if let Some(region) = run.target(id) {
                    self.live.start(region, id.request, bounds);
                }
            }
            Event::RequestRestarted { id, bounds, reason } => {
                if let Some(region) = run.target(id) {
                    self.live.start(region, id.request, bounds);
                }
                self.tell(Tone::Warning, strings::run::restarted(id.page, &reason));
            }
            Event::Drafted { id, at_ms, round, text } => {
                if let Some(region) = run.target(id) {
                    self.live.step(region, id.request, at_ms, What::Drafted { round, text });
                }
            }
            Event::Committed { id, at_ms, round, drafted, accepted, tokens, forwards, pieces } => {
                run.tokens += u64::from(tokens);
                if let Some(region) = run.target(id) {
                    let what = What::Committed { round, drafted, accepted, tokens, forwards, pieces };
                    self.live.step(region, id.request, at_ms, what);
                }
            }
            Event::RequestFinished { id, status, timings } => {
                if let Some(region) = run.target(id) {
                    self.live.end(region, id.request, status, timings);
                }
            }
            Event::RegionFinished { region, status, text, readings, .. } => {
                run.regions_done += 1;
                let (key, merge) = (run.page, run.merge);
                if let (Some(key), Some(&id)) = (key, run.targets.get(region)) {
                    run.regions_read += usize::from(!matches!(status, Status::Cancelled));
                    let turn = self.project.page(key).map(|page| page.turn).unwrap_or_default();
                    let mut logs = self.live.finish(id);
                    logs.iter_mut().for_each(|log| log.turn = turn);
                    // Nothing that was read before gives way to the beginning of something.
                    let keep = matches!(status, Status::Cancelled)
                        && (text.is_empty()
                            || self.project.page(key).and_then(|p| p.region(id)).is_some_and(|r| r.read.is_some()));
                    if !keep {
                        let detail = Detail::pack(&Contents { logs, readings });
                        let read = Arc::new(RegionRead { status, text, detail });
                        self.change_page(key, strings::change::RECOGNIZE, Some(merge), |page| {
                            alter(page, id, |region| region.read = Some(read))
                        });
                    }
                }
            }
            Event::PageFinished { page, .. } => {
                run.pages_done += 1;
                run.regions_done = 0;
                run.targets.clear();
                let key = PageKey { document: run.document, page: page.index };
                let (dpi, skew) = (page.dpi, page.skew_degrees);
                self.history.amend(&mut self.project, key, |page| {
                    (page.dpi, page.skew_degrees, page.error) = (dpi, skew, None);
                });
            }
            Event::PageFailed { page, message } => {
                let key = PageKey { document: run.document, page };
                if run.page == Some(key) {
                    run.targets.drain(..).for_each(|id| drop(self.live.finish(id)));
                }
                run.orders.retain(|(order, ids)| {
                    if *order == page {
                        ids.iter().flatten().for_each(|id| drop(self.live.finish(*id)));
                    }
                    *order != page
                });
                run.pages_done += 1;
                run.regions_done = 0;
                let text = strings::run::page_failed(page, &message);
                self.history.amend(&mut self.project, key, |page| page.error = Some(message.clone()));
                if self.project.page(key).is_some() {
                    self.tell(Tone::Error, text);
                }
            }
            Event::Finished { outcome } => self.end_run(outcome),
        }
    }

    /// A page was rasterised; its regions are known.
    fn start_page(&mut self, number: usize, size: [u32; 2], regions: Vec<Region>, notice: Option<String>) {
        let Some(run) = &mut self.run else { return };
        let key = PageKey { document: run.document, page: number };
        let (before, wish) = (run.page.replace(key), self.settings.dpi);
        let (follow, merge) = (run.follow, run.merge);
        let order = run.orders.iter().position(|(page, _)| *page == number).and_then(|at| run.orders.remove(at));
        let ids = order.and_then(|(_, ids)| ids);
        if ids.is_none() {
            self.replace_regions(key, regions, Some(merge));
        }
        self.history.amend(&mut self.project, key, |page| {
            page.size = Some(size);
            page.asked_dpi = Some(page.resolution(wish));
            page.notice.clone_from(&notice);
            page.error = None;
        });
        let ids = ids.unwrap_or_else(|| {
            self.project.page(key).map(|page| page.regions.iter().map(|region| region.id).collect()).unwrap_or_default()
        });
        ids.iter().for_each(|id| self.live.wait(*id));
        if let Some(run) = &mut self.run {
            run.targets = ids;
            run.regions_done = 0;
        }
        // Nobody is taken away from what they are writing.
        if follow && before.is_some() && self.view.page == before && self.view.editing.is_none() {
            self.go(key);
        }
    }

    /// The run is over.
    fn end_run(&mut self, outcome: Outcome) {
        self.live.clear();
        let Some(run) = self.run.take() else { return };
        if self.project.document(run.document).is_none() {
            return; // it was closed, and the run with it
        }
        match outcome {
            Outcome::Failed(message) => self.tell(Tone::Error, message),
            Outcome::Cancelled => self.tell(Tone::Good, strings::run::cancelled(run.regions_read)),
            Outcome::Completed => {
                let seconds = run.started.elapsed().as_secs_f64();
                self.tell(Tone::Good, strings::run::completed(run.pages_total, run.regions_read, seconds));
            }
        }
    }
}
