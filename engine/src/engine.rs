//! The engine: takes jobs, prepares their pages, has them read, and sends each job's events to the job's own listener.
//!
//! Its threads: one for each job, which prepares the job's pages ([`pipeline`](crate::pipeline)); `engine`, which hands
//! requests to the recognizer ([`scheduler`](crate::scheduler)); and those of the recognizer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use kernels::Kernel;

use crate::checkpoint::{Checkpoint, CheckpointError, ModelConfig};
use crate::decode::{Decode, Sampling};
use crate::device::{Device, DeviceModel};
use crate::document::{OpenOptions, PdfRenderer};
use crate::event::Outcome;
use crate::job::{ImageJob, Job, JobHandle, Question};
use crate::layout::{BuiltInDetector, Detector};
use crate::pipeline::{Permits, Pipeline};
use crate::precision::WeightFormat;
use crate::recognizer::{CardRecognizer, CpuRecognizer, Fallback, Prompt, Recognizer, RequestOptions};
use crate::run::Run;
use crate::scheduler::Scheduler;

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
    /// What finds the regions of a page; shared with whoever shows pages before they are read.
    pub detector: Arc<dyn Detector>,
}

impl EngineOptions {
    /// A checkpoint on the processor, all else as it is by itself.
    pub fn new(checkpoint: CheckpointSource) -> Self {
        Self {
            checkpoint,
            device: Device::Cpu,
            threads: None,
            pdfium_dir: None,
            pdf_renderer: PdfRenderer::default(),
            weights: WeightFormat::default(),
            detector: Arc::new(BuiltInDetector),
        }
    }
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
    /// As many jobs are under way as there may be.
    #[error("too many documents are waiting; wait for some to finish")]
    Busy,
    /// Prompts in other words than the tasks' are not understood.
    #[error("this checkpoint takes no prompts of one's own; only text, tables and formulas can be asked for")]
    NoFreePrompts,
    /// A mode that the checkpoint does not have.
    #[error("{reason}; only autoregressive decoding is offered")]
    CannotDraft {
        /// Why.
        reason: String,
    },
}

/// What an engine is made of.
#[derive(Clone)]
pub struct EngineParts {
    /// What reads.
    pub recognizer: Arc<dyn Recognizer>,
    /// What finds the regions of a page.
    pub detector: Arc<dyn Detector>,
    /// How documents are opened; the password is each job's own.
    pub open: OpenOptions,
    /// Threads that prepare pages; all the machine's when not given.
    pub threads: Option<usize>,
}

/// Reads jobs, several at a time. Dropping it cancels them and waits until nothing is being read.
pub struct Engine {
    info: EngineInfo,
    pipeline: Arc<Pipeline>,
    scheduler: Arc<Scheduler>,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    /// Loads a checkpoint and starts an engine on it.
    ///
    /// # Errors
    /// The checkpoint cannot be used, or the system gives no threads. A card that cannot be used is no error.
    pub fn start(options: EngineOptions) -> Result<Self, EngineError> {
        kernels::memory::limit_heaps();
        let pool = Arc::new(thread_pool(options.threads)?);
        let checkpoint = pool.install(|| options.checkpoint.open())?;
        let kernel = Kernel::best();
        let format = options.weights.of(checkpoint.stored_format());
        let mut info = EngineInfo {
            checkpoint: checkpoint.name.clone(),
            device: Device::Cpu,
            fallback: None,
            kernel: kernel.name(),
            threads: pool.current_num_threads(),
            only_ar: checkpoint.why_not(),
        };
        let card = match options.device {
            Device::Cpu => None,
            Device::Cuda(ordinal) => match DeviceModel::open(ordinal, &checkpoint) {
                Ok(card) => Some(card),
                Err(error) => {
                    let sentence = format!("{} cannot be used: {error}; the CPU reads instead", options.device);
                    info.fallback = Some(sentence);
                    None
                }
            },
        };
        let recognizer: Arc<dyn Recognizer> = match card {
            None => Arc::new(CpuRecognizer::new(checkpoint, kernel, format, pool)?),
            Some(card) => {
                info.device = options.device;
                let card = CardRecognizer::new(checkpoint.clone(), card, Arc::clone(&pool))?;
                let cpu = move || match CpuRecognizer::new(checkpoint.clone(), kernel, format, Arc::clone(&pool)) {
                    Ok(cpu) => Ok(Arc::new(cpu) as Arc<dyn Recognizer>),
                    Err(error) => Err(error.to_string()),
                };
                Arc::new(Fallback::new(Arc::new(card), "the CPU", cpu))
            }
        };
        let open = OpenOptions {
            pdfium_dir: options.pdfium_dir,
            pdf_renderer: options.pdf_renderer,
            ..OpenOptions::default()
        };
        let parts = EngineParts { recognizer, detector: options.detector, open, threads: options.threads };
        Self::of(parts, info)
    }

    /// Starts an engine on any recognizer.
    ///
    /// # Errors
    /// The system gives no threads.
    pub fn of(parts: EngineParts, info: EngineInfo) -> Result<Self, EngineError> {
        let EngineParts { recognizer, detector, open, threads } = parts;
        let pipeline = Arc::new(Pipeline {
            abilities: recognizer.abilities().clone(),
            detector,
            open,
            pool: thread_pool(threads)?,
            permits: Permits::default(),
        });
        let scheduler = Arc::new(Scheduler::default());
        let serving = Arc::clone(&scheduler);
        let thread = spawn("engine", move || serving.serve(&*recognizer))?;
        Ok(Self { info, pipeline, scheduler, thread: Some(thread) })
    }

    /// What runs.
    pub fn info(&self) -> &EngineInfo {
        &self.info
    }

    /// Takes a document to read; jobs share what reads fairly. `waker` is called after each event, on the engine's
    /// threads or the one that cancels, and must neither wait nor ask anything of the job.
    ///
    /// # Errors
    /// A mode that the checkpoint does not have; too many jobs; no thread.
    pub fn submit(&self, job: Job, waker: impl Fn() + Send + 'static) -> Result<JobHandle, EngineError> {
        let options = self.options(job.decode, job.sampling, job.max_tokens)?;
        self.run(options, waker, move |pipeline, run, scheduler| pipeline.prepare(&job, run, || scheduler.jobs()))
    }

    /// As [`submit`](Self::submit), for a picture without a document.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), and a prompt of one's own where the checkpoint takes none.
    pub fn submit_image(&self, job: ImageJob, waker: impl Fn() + Send + 'static) -> Result<JobHandle, EngineError> {
        if matches!(job.question, Question::Whole(Prompt::Free(_))) && !self.pipeline.abilities.free_prompts {
            return Err(EngineError::NoFreePrompts);
        }
        let options = self.options(job.decode, job.sampling, job.max_tokens)?;
        self.run(options, waker, move |pipeline, run, _| {
            run.opened(1, vec![0]);
            run.planned(pipeline.prepare_image(job));
            Outcome::Completed
        })
    }

    fn options(
        &self,
        decode: Option<Decode>,
        sampling: Option<Sampling>,
        max_tokens: usize,
    ) -> Result<RequestOptions, EngineError> {
        let decode = match (decode, &self.pipeline.abilities.only_ar) {
            (None, Some(_)) => Decode::Ar,
            (None, None) => Decode::SPEC,
            (Some(Decode::Ar), _) => Decode::Ar,
            (Some(_), Some(reason)) => return Err(EngineError::CannotDraft { reason: reason.clone() }),
            (Some(decode), None) => decode,
        };
        Ok(RequestOptions { decode, sampling, max_tokens })
    }

    /// Starts a job, whose pages `prepare` brings from a thread of its own. That thread is not waited for: a renderer of
    /// documents may hang, and the job then ends without it.
    fn run(
        &self,
        options: RequestOptions,
        waker: impl Fn() + Send + 'static,
        prepare: impl FnOnce(&Pipeline, &Run, &Arc<Scheduler>) -> Outcome + Send + 'static,
    ) -> Result<JobHandle, EngineError> {
        let (pipeline, scheduler) = (Arc::clone(&self.pipeline), Arc::clone(&self.scheduler));
        let looked = Arc::clone(&scheduler);
        let run = Arc::new(Run::new(options, waker, move || looked.look()));
        if !scheduler.add(&run) {
            return Err(EngineError::Busy);
        }
        let preparing = Arc::clone(&run);
        let handle = JobHandle::new(run);
        spawn("document", move || {
            let prepared = catch_unwind(AssertUnwindSafe(|| prepare(&pipeline, &preparing, &scheduler)));
            let internal = || Outcome::Failed("an internal error stopped this document".to_owned());
            preparing.no_more_pages(prepared.unwrap_or_else(|_| internal()));
        })?;
        Ok(handle)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.scheduler.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // with it goes the recognizer, which ends what is being read
        }
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

/// Starts a thread of this name.
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, EngineError> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map_err(|e| EngineError::Threads(e.to_string()))
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
