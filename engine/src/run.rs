//! A job that is being read: its pages in flight, and its events in their order.
//!
//! Pages come in ready to be read (from the [`pipeline`](crate::pipeline)), their requests go out one by one (to the
//! [`scheduler`](crate::scheduler)), answers come back in any order, and regions, pages and the job are closed in order.

use std::collections::VecDeque;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cancel::Cancel;
use crate::event::{Event, Outcome, RequestId};
use crate::page::{Figure, PageResult, Reading, RegionResult};
use crate::plan::{Part, Plan};
use crate::recognizer::{Answer, Request, RequestOptions, Step};
use crate::region::Rect;

/// Events that may wait for a listener before nothing more is begun for it.
const BACKLOG: usize = 4096;

/// A page whose requests are known.
pub(crate) struct PlannedPage {
    /// What is known of the page before anything is read: no regions yet.
    pub(crate) page: PageResult,
    pub(crate) notice: Option<String>,
    pub(crate) plans: Vec<Plan>,
    /// The pictures cut from it.
    pub(crate) figures: Vec<Figure>,
}

/// A request on its way to a recognizer.
pub(crate) struct Outgoing {
    /// Which of the job's pages it belongs to: a page may be ordered twice.
    pub(crate) order: usize,
    pub(crate) id: RequestId,
    pub(crate) bounds: Rect,
    pub(crate) request: Arc<Request>,
}

/// A job under way. Shared by its handle, the thread that prepares its pages, and the requests that are being read.
pub(crate) struct Run {
    options: RequestOptions,
    cancel: Cancel,
    events: Events,
    progress: Mutex<Progress>,
    /// A page ended, or the job.
    changed: Condvar,
    /// Told when there may be more to read.
    progressed: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct Progress {
    /// Prepared and not ended, in order.
    pages: VecDeque<PageInFlight>,
    /// How the job ends when these have ended; none while more may come.
    outcome: Option<Outcome>,
    /// Pages that were ready to be read so far.
    orders: usize,
    /// Requests being read.
    reading: usize,
    over: bool,
}

enum PageInFlight {
    Planned(OpenPage),
    Failed { page: usize, message: String },
}

/// A page that is not read to its end.
struct OpenPage {
    /// Its number among the pages of the job, as they were ordered.
    order: usize,
    planned: PlannedPage,
    started: bool,
    /// The next request to go out, as region and part.
    next: (usize, usize),
    /// What was read so far, by region and part.
    readings: Vec<Vec<Option<Reading>>>,
}

impl Run {
    /// A job of which nothing is known yet. `waker` is called after each event; `progressed` when there may be more to read.
    pub(crate) fn new(
        options: RequestOptions,
        waker: impl Fn() + Send + 'static,
        progressed: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self {
            options,
            cancel: Cancel::new(),
            events: Events::new(waker),
            progress: Mutex::default(),
            changed: Condvar::new(),
            progressed: Box::new(progressed),
        }
    }

    pub(crate) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// The next event for the listener; waits for it, for ever or for so long.
    pub(crate) fn next_event(&self, patience: Option<Duration>) -> Result<Event, RecvTimeoutError> {
        let (event, waiting) = self.events.next(patience)?;
        if waiting + 1 == BACKLOG {
            (self.progressed)(); // the listener has caught up
        }
        Ok(event)
    }

    /// Tells the listener of a request's step.
    pub(crate) fn step(&self, id: RequestId, bounds: Rect, step: Step) {
        self.events.send(Event::of_step(id, bounds, step));
    }

    /// Whether the last event is sent.
    pub(crate) fn is_over(&self) -> bool {
        self.lock().over
    }

    /// Cancels it. Ends at once, but for what is being read just now.
    pub(crate) fn stop(&self) {
        self.cancel.cancel();
        self.settle(&mut self.lock());
    }

    // What the pipeline brings, in order.

    /// The document is open.
    pub(crate) fn opened(&self, page_count: usize, pages: Vec<usize>) {
        let progress = self.lock();
        if !progress.over {
            self.events.send(Event::Opened { page_count, pages });
        }
    }

    /// Waits until fewer than so many pages are in flight; whether there is any use in preparing another.
    pub(crate) fn wait_for_room(&self, most: impl Fn() -> usize) -> bool {
        let mut progress = self.lock();
        while !progress.over && !self.cancel.is_cancelled() && progress.pages.len() >= most().max(1) {
            progress = self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
        !progress.over && !self.cancel.is_cancelled()
    }

    /// A page is ready to be read.
    pub(crate) fn planned(&self, planned: PlannedPage) {
        let readings = planned.plans.iter().map(|plan| plan.parts.iter().map(|_| None).collect()).collect();
        let mut progress = self.lock();
        progress.orders += 1;
        let next = following(&planned.plans, (0, 0));
        let page = OpenPage { order: progress.orders, planned, started: false, next, readings };
        self.bring(&mut progress, PageInFlight::Planned(page));
        drop(progress);
        (self.progressed)();
    }

    /// A page cannot be read.
    pub(crate) fn failed(&self, page: usize, message: String) {
        self.bring(&mut self.lock(), PageInFlight::Failed { page, message });
    }

    /// There will be no more pages; how the job ends when those there are have ended.
    pub(crate) fn no_more_pages(&self, outcome: Outcome) {
        let mut progress = self.lock();
        progress.outcome = Some(outcome);
        self.settle(&mut progress);
    }

    fn bring(&self, progress: &mut Progress, page: PageInFlight) {
        if !progress.over {
            progress.pages.push_back(page);
            self.settle(progress);
        }
    }

    // What the scheduler takes and brings back.

    /// Takes the next request in reading order; none while there is none, the job is cancelled, or nobody listens.
    pub(crate) fn next_request(&self) -> Option<Outgoing> {
        let mut progress = self.lock();
        if progress.over || self.cancel.is_cancelled() || self.events.len() >= BACKLOG {
            return None;
        }
        let has_more = |page: &PageInFlight| matches!(page, PageInFlight::Planned(page) if page.has_more());
        let at = progress.pages.iter().position(has_more)?;
        // Pages start in order, also those of which there is nothing to read.
        for page in progress.pages.iter_mut().take(at + 1) {
            if let PageInFlight::Planned(page) = page {
                page.start(&self.events);
            }
        }
        let Some(PageInFlight::Planned(page)) = progress.pages.get_mut(at) else { return None };
        let order = page.order;
        let (id, part) = page.take_part()?;
        let (bounds, is_line) = (part.bounds, part.line.is_some());
        let (image, prompt) = (part.image.take().unwrap_or_default(), part.prompt.clone());
        let request = Arc::new(Request { image, prompt, is_line, options: self.options });
        progress.reading += 1;
        Some(Outgoing { order, id, bounds, request })
    }

    /// A request came back; with nothing when it was not begun.
    pub(crate) fn answered(&self, order: usize, id: RequestId, answer: Option<Answer>) {
        let mut progress = self.lock();
        progress.reading = progress.reading.saturating_sub(1);
        if let Some(answer) = answer {
            self.events.send(Event::RequestFinished { id, status: answer.status.clone(), timings: answer.timings });
            let page = progress.pages.iter_mut().find_map(|page| match page {
                PageInFlight::Planned(page) if page.order == order => Some(page),
                _ => None,
            });
            if let Some(page) = page {
                page.put(id, answer);
            }
        }
        self.settle(&mut progress);
    }

    /// Closes what is complete, in order; after a cancel everything, as soon as nothing is being read.
    fn settle(&self, progress: &mut Progress) {
        if progress.over {
            return;
        }
        let cancelled = self.cancel.is_cancelled();
        let cut = cancelled && progress.reading == 0;
        while let Some(page) = progress.pages.front_mut() {
            match page {
                PageInFlight::Failed { .. } if cancelled => {}
                PageInFlight::Failed { page, message } => {
                    self.events.send(Event::PageFailed { page: *page, message: std::mem::take(message) });
                }
                PageInFlight::Planned(page) => {
                    if !cancelled {
                        page.start(&self.events);
                    }
                    page.close_regions(&self.events, cut);
                    if page.started && !page.is_read() || !page.started && !cut {
                        break;
                    }
                    if page.started {
                        page.close(&self.events);
                    }
                }
            }
            progress.pages.pop_front();
            self.changed.notify_all();
        }
        for page in &mut progress.pages {
            if let PageInFlight::Planned(page) = page {
                page.close_regions(&self.events, cut);
            }
        }
        let outcome = if cut { Some(Outcome::Cancelled) } else { progress.outcome.clone() };
        if let (Some(outcome), true) = (outcome, progress.pages.is_empty() && progress.reading == 0) {
            progress.over = true;
            self.events.send(Event::Finished { outcome });
            self.events.close();
        }
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first part at or after this one, as region and part; past all regions where there is none.
fn following(plans: &[Plan], (mut region, mut part): (usize, usize)) -> (usize, usize) {
    while plans.get(region).is_some_and(|plan| part >= plan.parts.len()) {
        (region, part) = (region + 1, 0);
    }
    (region, part)
}

impl OpenPage {
    /// Whether something of it has not gone out yet.
    fn has_more(&self) -> bool {
        self.next.0 < self.planned.plans.len()
    }

    /// The next part to be read.
    fn take_part(&mut self) -> Option<(RequestId, &mut Part)> {
        let (region, request) = self.next;
        self.next = following(&self.planned.plans, (region, request + 1));
        let id = RequestId { page: self.planned.page.index, region, request };
        Some((id, self.planned.plans.get_mut(region)?.parts.get_mut(request)?))
    }

    fn start(&mut self, events: &Events) {
        if !self.started {
            self.started = true;
            let PlannedPage { page, notice, plans, .. } = &self.planned;
            events.send(Event::PageStarted {
                page: page.index,
                width: page.width,
                height: page.height,
                regions: plans.iter().map(|plan| plan.region.clone()).collect(),
                notice: notice.clone(),
            });
        }
    }

    fn put(&mut self, RequestId { region, request, .. }: RequestId, answer: Answer) {
        let part = self.planned.plans.get(region).and_then(|plan| plan.parts.get(request));
        let place = self.readings.get_mut(region).and_then(|readings| readings.get_mut(request));
        if let (Some(part), Some(place)) = (part, place) {
            let Answer { status, text, rounds, timings } = answer;
            let (bounds, task, line) = (part.bounds, part.prompt.task(), part.line);
            *place = Some(Reading { bounds, task, status, text, rounds, timings, line });
        }
    }

    /// Closes the regions that are read and follow those that are closed. `cut`: the others too, as they are.
    fn close_regions(&mut self, events: &Events, cut: bool) {
        if !self.started {
            return;
        }
        while let Some(plan) = self.planned.plans.get(self.planned.page.regions.len()) {
            let region = self.planned.page.regions.len();
            let Some(readings) = self.readings.get_mut(region) else { return };
            if !cut && readings.iter().any(Option::is_none) {
                return;
            }
            let result = plan.result(std::mem::take(readings).into_iter().flatten().collect());
            let RegionResult { status, text, readings, .. } = result.clone();
            self.planned.page.regions.push(result);
            events.send(Event::RegionFinished { page: self.planned.page.index, region, status, text, readings });
        }
    }

    /// Whether all its regions are closed.
    fn is_read(&self) -> bool {
        self.planned.page.regions.len() == self.planned.plans.len()
    }

    fn close(&mut self, events: &Events) {
        let PlannedPage { page, figures, .. } = &mut self.planned;
        let blank = PageResult { regions: Vec::new(), ..page.clone() };
        let page = Box::new(std::mem::replace(page, blank));
        events.send(Event::PageFinished { page, figures: std::mem::take(figures) });
    }
}

/// A job's events on their way to its listener. Sending never waits: who is slow gets fewer requests read instead, so that
/// what is here stays bounded.
struct Events {
    queue: Mutex<EventQueue>,
    changed: Condvar,
    waker: Mutex<Box<dyn Fn() + Send>>,
}

#[derive(Default)]
struct EventQueue {
    events: VecDeque<Event>,
    closed: bool,
}

impl Events {
    fn new(waker: impl Fn() + Send + 'static) -> Self {
        Self { queue: Mutex::default(), changed: Condvar::new(), waker: Mutex::new(Box::new(waker)) }
    }

    fn send(&self, event: Event) {
        let mut queue = self.lock();
        if !queue.closed {
            queue.events.push_back(event);
            drop(queue);
            self.changed.notify_all();
            (self.waker.lock().unwrap_or_else(PoisonError::into_inner))();
        }
    }

    fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn len(&self) -> usize {
        self.lock().events.len()
    }

    /// The next event, and how many wait behind it; waits for it, for ever or for so long.
    fn next(&self, patience: Option<Duration>) -> Result<(Event, usize), RecvTimeoutError> {
        let until = patience.and_then(|patience| Instant::now().checked_add(patience));
        let mut queue = self.lock();
        loop {
            if let Some(event) = queue.events.pop_front() {
                return Ok((event, queue.events.len()));
            }
            if queue.closed {
                return Err(RecvTimeoutError::Disconnected);
            }
            queue = match until.map(|until| until.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return Err(RecvTimeoutError::Timeout),
                Some(left) => self.changed.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, EventQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
