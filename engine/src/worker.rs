//! The engine thread: takes jobs from a bounded inbox, reads them one after the other, and sends each job's events to
//! the job's own listener.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use kernels::Kernel;

use crate::cancel::Cancel;
use crate::checkpoint::{Checkpoint, CheckpointError, ModelConfig};
use crate::decode::{Decode, Sampling};
use crate::device::{Device, DeviceModel};
use crate::document::{Document, DocumentError, OpenOptions, PageRaster, PdfRenderer, Turn, parse_pages};
use crate::event::{Event, Outcome};
use crate::layout;
use crate::page::PageResult;
use crate::precision::WeightFormat;
use crate::reader::{Listener, ReadOptions, Reader};
use crate::region::{Label, Rect, Region};

/// Jobs that may wait.
const INBOX: usize = 64;
/// Events that may wait for a listener before the engine waits for it.
const EVENTS: usize = 4096;

/// Which checkpoint to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointSource {
    /// The one that comes with the program.
    Bundled,
    /// A folder.
    Folder(PathBuf),
}

impl CheckpointSource {
    /// Opens it.
    pub fn open(&self) -> Result<Checkpoint, CheckpointError> {
        match self {
            CheckpointSource::Bundled => Checkpoint::bundled(),
            CheckpointSource::Folder(folder) => Checkpoint::open(folder),
        }
    }

    /// Reads the sizes of its model and nothing else.
    pub fn sizes(&self) -> Result<ModelConfig, CheckpointError> {
        match self {
            CheckpointSource::Bundled => ModelConfig::bundled(),
            CheckpointSource::Folder(folder) => ModelConfig::open(folder),
        }
    }
}

/// How to start an engine.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// What to load.
    pub checkpoint: CheckpointSource,
    /// Where the model runs. A card that cannot be used gives way to the CPU; a card computes in bf16.
    pub device: Device,
    /// Threads that compute; all the machine's when not given.
    pub threads: Option<usize>,
    /// The folder where pdfium's library lies, or the library itself; the usual places when not given.
    pub pdfium_dir: Option<PathBuf>,
    /// Which program draws the pages of a PDF.
    pub pdf_renderer: PdfRenderer,
    /// How weights are kept.
    pub weights: WeightFormat,
}

/// What an engine is and can do.
#[derive(Clone, Debug)]
pub struct EngineInfo {
    /// The checkpoint's name.
    pub checkpoint: String,
    /// Where the model runs.
    pub device: Device,
    /// Why it does not run on the device that was asked for, in one sentence.
    pub fallback: Option<String>,
    /// The CPU's kernels in use.
    pub kernel: &'static str,
    /// Threads that compute.
    pub threads: usize,
    /// Why drafting is not offered; `None` when it is.
    pub only_ar: Option<String>,
}

/// Why the engine did not start or did not take a job; displays as one sentence.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The checkpoint cannot be used.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The system gave no thread.
    #[error("the engine could not start its threads: {0}")]
    Threads(String),
    /// The inbox is full.
    #[error("too many documents are waiting; wait for some to finish")]
    Busy,
    /// The engine thread has ended.
    #[error("the engine has stopped; start the program again")]
    Stopped,
    /// A mode that the checkpoint does not have.
    #[error("{reason}; only autoregressive decoding is offered")]
    CannotDraft {
        /// Why.
        reason: String,
    },
}

/// What to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file.
    Path(PathBuf),
    /// Bytes with a name for messages, from a clipboard or a request.
    Bytes {
        /// The name.
        name: String,
        /// The file's content.
        bytes: Vec<u8>,
    },
}

/// Where a page's regions come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutMode {
    /// The built-in detector.
    Auto,
    /// The whole page is one region of text.
    None,
}

/// Which pages of a document are read.
#[derive(Clone, Debug, PartialEq)]
pub enum Pages {
    /// All of them.
    All,
    /// As people write them, "1-3,7".
    Listed(String),
    /// One by one, with what a person decided about each.
    Ordered(Vec<PageOrder>),
}

/// A page to read, and what a person decided about it.
#[derive(Clone, Debug, PartialEq)]
pub struct PageOrder {
    /// Page number, from 0.
    pub page: usize,
    /// How the page was turned by hand.
    pub turn: Turn,
    /// Resolution for a PDF page, dots per inch.
    pub dpi: f32,
    /// The regions to read, in order, in pixels of the raster that [`sheet`] gives; the layout mode decides when not
    /// given. Events count regions as in this list.
    pub regions: Option<Vec<Region>>,
}

/// A document to read.
#[derive(Clone, Debug)]
pub struct Job {
    /// The document.
    pub source: Source,
    /// Opens an encrypted PDF.
    pub password: Option<String>,
    /// Which pages.
    pub pages: Pages,
    /// Resolution for PDF pages, dots per inch.
    pub dpi: f32,
    /// Where regions come from.
    pub layout: LayoutMode,
    /// The decoding mode; the best that the checkpoint has when not given.
    pub decode: Option<Decode>,
    /// Sampling instead of the arg-max.
    pub sampling: Option<Sampling>,
    /// The most tokens of one request.
    pub max_tokens: usize,
}

impl Job {
    /// A job with the default settings.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            password: None,
            pages: Pages::All,
            dpi: 200.0,
            layout: LayoutMode::Auto,
            decode: None,
            sampling: None,
            max_tokens: 4096,
        }
    }
}

/// A job that was taken.
#[derive(Debug)]
pub struct JobHandle {
    events: Receiver<Event>,
    cancel: Cancel,
}

impl JobHandle {
    /// The job's events; the channel closes after [`Event::Finished`].
    pub fn events(&self) -> &Receiver<Event> {
        &self.events
    }

    /// Waits for the next event; `None` after the last.
    pub fn recv(&self) -> Option<Event> {
        self.events.recv().ok()
    }

    /// Stops the job before its next forward. What is finished stays.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

type Waker = Box<dyn Fn() + Send>;

/// A job on its way to the engine thread.
struct Order {
    job: Job,
    decode: Decode,
    post: Post,
}

/// An engine thread. Dropping it cancels what runs and waits for the thread.
pub struct Engine {
    inbox: Option<SyncSender<Order>>,
    shutdown: Arc<AtomicBool>,
    running: Arc<Mutex<Option<Cancel>>>,
    thread: Option<JoinHandle<()>>,
    info: EngineInfo,
}

impl Engine {
    /// Starts the thread `engine`, which loads the checkpoint; returns when it is ready, or with the reason why not.
    pub fn start(options: EngineOptions) -> Result<Self, EngineError> {
        kernels::memory::limit_heaps();
        let (inbox, orders) = sync_channel::<Order>(INBOX);
        let (ready, readiness) = sync_channel(1);
        let shutdown = Arc::new(AtomicBool::new(false));
        let running = Arc::new(Mutex::new(None));
        let state = (Arc::clone(&shutdown), Arc::clone(&running));
        let thread = std::thread::Builder::new()
            .name("engine".to_owned())
            .spawn(move || {
                let (worker, info) = match Worker::new(options) {
                    Ok(started) => started,
                    Err(error) => return drop(ready.send(Err(error))),
                };
                if ready.send(Ok(info)).is_ok() {
                    worker.serve(orders, state.0, state.1);
                }
            })
            .map_err(|e| EngineError::Threads(e.to_string()))?;
        let info = readiness.recv().map_err(|_| EngineError::Stopped)??;
        Ok(Self { inbox: Some(inbox), shutdown, running, thread: Some(thread), info })
    }

    /// What runs.
    pub fn info(&self) -> &EngineInfo {
        &self.info
    }

    /// Hands a job over; jobs are read one after the other. `waker` is called after each event, on the engine's threads.
    pub fn submit(&self, job: Job, waker: impl Fn() + Send + 'static) -> Result<JobHandle, EngineError> {
        let decode = match (job.decode, &self.info.only_ar) {
            (None, Some(_)) => Decode::Ar,
            (None, None) => Decode::SPEC,
            (Some(Decode::Ar), _) => Decode::Ar,
            (Some(_), Some(reason)) => return Err(EngineError::CannotDraft { reason: reason.clone() }),
            (Some(decode), None) => decode,
        };
        let (sender, events) = sync_channel(EVENTS);
        let cancel = Cancel::new();
        let post = Post { sender, cancel: cancel.clone(), waker: Mutex::new(Box::new(waker)) };
        let inbox = self.inbox.as_ref().ok_or(EngineError::Stopped)?;
        match inbox.try_send(Order { job, decode, post }) {
            Ok(()) => Ok(JobHandle { events, cancel }),
            Err(TrySendError::Full(_)) => Err(EngineError::Busy),
            Err(TrySendError::Disconnected(_)) => Err(EngineError::Stopped),
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.shutdown.store(true, Ordering::Relaxed);
        if let Some(cancel) = self.running.lock().ok().and_then(|running| running.clone()) {
            cancel.cancel();
        }
        self.inbox = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Sends a job's events. A listener that went away cancels its job.
struct Post {
    sender: SyncSender<Event>,
    cancel: Cancel,
    waker: Mutex<Waker>,
}

impl Listener for Post {
    fn event(&self, event: Event) {
        if self.sender.send(event).is_err() {
            self.cancel.cancel();
            return;
        }
        if let Ok(waker) = self.waker.lock() {
            waker();
        }
    }

    fn cancel(&self) -> &Cancel {
        &self.cancel
    }
}

/// What the engine thread owns.
struct Worker {
    reader: Reader,
    pool: rayon::ThreadPool,
    pdfium_dir: Option<PathBuf>,
    pdf_renderer: PdfRenderer,
}

impl Worker {
    fn new(options: EngineOptions) -> Result<(Self, EngineInfo), EngineError> {
        let pool = thread_pool(options.threads)?;
        let checkpoint = options.checkpoint.open()?;
        let kernel = Kernel::best();
        let format = options.weights.of(checkpoint.stored_format());
        let (card, fallback) = match options.device {
            Device::Cpu => (None, None),
            Device::Cuda(ordinal) => match DeviceModel::open(ordinal, &checkpoint) {
                Ok(card) => (Some(card), None),
                Err(error) => {
                    (None, Some(format!("{} cannot be used: {error}; the CPU reads instead", options.device)))
                }
            },
        };
        let info = EngineInfo {
            device: if card.is_some() { options.device } else { Device::Cpu },
            fallback,
            checkpoint: checkpoint.name.clone(),
            kernel: kernel.name(),
            threads: pool.current_num_threads(),
            only_ar: checkpoint.why_not(),
        };
        let reader = Reader::on(checkpoint, kernel, format, card)?;
        Ok((Self { reader, pool, pdfium_dir: options.pdfium_dir, pdf_renderer: options.pdf_renderer }, info))
    }

    fn serve(&self, orders: Receiver<Order>, shutdown: Arc<AtomicBool>, running: Arc<Mutex<Option<Cancel>>>) {
        let set_running = |cancel| {
            if let Ok(mut running) = running.lock() {
                *running = cancel;
            }
        };
        for order in orders {
            set_running(Some(order.post.cancel.clone()));
            if shutdown.load(Ordering::Relaxed) {
                order.post.cancel.cancel();
            }
            let outcome = catch_unwind(AssertUnwindSafe(|| self.run(&order)))
                .unwrap_or_else(|_| Outcome::Failed("an internal error stopped this document".to_owned()));
            order.post.event(Event::Finished { outcome });
            set_running(None);
        }
    }

    /// A document's journey.
    fn run(&self, order: &Order) -> Outcome {
        let Order { job, post, .. } = order;
        let cancelled = || post.cancel.is_cancelled();
        if cancelled() {
            return Outcome::Cancelled;
        }
        let options = OpenOptions {
            password: job.password.clone(),
            pdfium_dir: self.pdfium_dir.clone(),
            pdf_renderer: self.pdf_renderer,
            ..OpenOptions::default()
        };
        let opened = match &job.source {
            Source::Path(path) => Document::open(path, &options),
            Source::Bytes { name, bytes } => Document::from_bytes(name, bytes.clone(), &options),
        };
        let mut document = match opened {
            Ok(document) => document,
            Err(error) => return Outcome::Failed(error.to_string()),
        };
        let page_count = document.page_count();
        let whole = |page| PageOrder { page, turn: Turn::None, dpi: job.dpi, regions: None };
        let orders: Vec<PageOrder> = match &job.pages {
            Pages::All => (0..page_count).map(whole).collect(),
            Pages::Listed(list) => match parse_pages(list, page_count) {
                Ok(pages) => pages.into_iter().map(whole).collect(),
                Err(error) => return Outcome::Failed(error.to_string()),
            },
            Pages::Ordered(orders) => orders.clone(),
        };
        post.event(Event::Opened { page_count, pages: orders.iter().map(|order| order.page).collect() });
        for page_order in orders {
            if cancelled() {
                return Outcome::Cancelled;
            }
            let page = page_order.page;
            let read = catch_unwind(AssertUnwindSafe(|| self.read_page(order, &mut document, page_order)));
            let failed = read.unwrap_or_else(|_| Err("an internal error stopped this page".to_owned()));
            if let Err(message) = failed {
                post.event(Event::PageFailed { page, message });
            }
        }
        if cancelled() { Outcome::Cancelled } else { Outcome::Completed }
    }

    /// A page's journey: raster, straightened, regions, their text.
    fn read_page(&self, order: &Order, document: &mut Document, page_order: PageOrder) -> Result<(), String> {
        let Order { job, decode, post } = order;
        let PageOrder { page, turn, dpi, regions } = page_order;
        let straightened = regions.is_some() || job.layout == LayoutMode::Auto;
        let Sheet { pixels, dpi, skew_degrees, notice } = self
            .pool
            .install(|| if straightened { sheet(document, page, dpi, turn) } else { turned(document, page, dpi, turn) })
            .map_err(|e| e.to_string())?;
        let (width, height) = pixels.dimensions();
        let regions = regions.unwrap_or_else(|| match job.layout {
            LayoutMode::Auto => self.pool.install(|| layout::detect(&pixels)),
            LayoutMode::None => vec![Region::new(Label::Text, Rect { x0: 0, y0: 0, x1: width, y1: height })],
        });
        post.event(Event::PageStarted { page, width, height, regions: regions.clone(), notice });
        let options = ReadOptions { decode: *decode, sampling: job.sampling, max_tokens: job.max_tokens };
        let reading = self.pool.install(|| self.reader.read_page(page, &pixels, regions, &options, post));
        let result = PageResult { index: page, width, height, dpi, skew_degrees, regions: reading.regions };
        post.event(Event::PageFinished { page: Box::new(result), figures: reading.figures });
        Ok(())
    }
}

/// The threads that compute; all of the machine's when their number is not given.
pub(crate) fn thread_pool(threads: Option<usize>) -> Result<rayon::ThreadPool, EngineError> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .thread_name(|n| format!("kernel-{n}"))
        .build()
        .map_err(|e| EngineError::Threads(e.to_string()))
}

/// A page as it is read: drawn, turned and straightened. Boxes of regions refer to these pixels.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// The pixels.
    pub pixels: image::RgbImage,
    /// Their resolution, dots per inch, where it is known.
    pub dpi: Option<f32>,
    /// The skew that was undone, degrees, clockwise positive.
    pub skew_degrees: f32,
    /// What the user should know about the page, in one sentence.
    pub notice: Option<String>,
}

/// Draws a page as the engine reads it; the window shows the same pixels.
///
/// # Errors
/// As [`Document::render`].
pub fn sheet(document: &mut Document, page: usize, dpi: f32, turn: Turn) -> Result<Sheet, DocumentError> {
    let sheet = turned(document, page, dpi, turn)?;
    let (pixels, skew_degrees) = layout::straighten(sheet.pixels);
    Ok(Sheet { pixels, skew_degrees, ..sheet })
}

fn turned(document: &mut Document, page: usize, dpi: f32, turn: Turn) -> Result<Sheet, DocumentError> {
    let PageRaster { pixels, dpi, notice } = document.render(page, dpi)?;
    Ok(Sheet { pixels: turn.apply(pixels), dpi, skew_degrees: 0.0, notice })
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod worker_tests;
