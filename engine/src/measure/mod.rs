//! Times of the stages of one request on the processor or on a card, and what they could be at best there.
//!
//! A checkpoint is measured on real requests. A folder with only a configuration is measured with random weights of its
//! sizes: times are those of a checkpoint of this size, texts and acceptance mean nothing.

mod backend;
mod ceiling;
mod stages;
mod subject;
mod together;
mod work;

pub use backend::Card;
pub use ceiling::Ceilings;
pub use stages::{RequestSize, Sample, Stages};
pub use together::Together;
pub use work::{Work, decoder, vision};

/// Number format in which products see weights.
pub use kernels::Format;

use std::time::Instant;

use image::RgbImage;
use kernels::cuda;
use kernels::cuda::driver::DriverError;

use crate::cancel::{Cancel, Cancelled};
use crate::checkpoint::CheckpointError;
use crate::decode::{Decode, Drafter, Limits, Stop, TargetError, decode};
use crate::device::{Device, DeviceError};
use crate::document::{Document, DocumentError, OpenOptions};
use crate::engine::{EngineError, EngineOptions, thread_pool};
use crate::job::Source;
use crate::model::image_processor::{ImageError, ImageProcessor, Patches};
use crate::page::{Reading, Status, Timings};
use crate::region::{Rect, Task};
use backend::Backend;
use subject::Subject;

/// Why nothing was measured; displays as one sentence.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The checkpoint cannot be used.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The threads cannot be had.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The model does not get onto the card.
    #[error("{device} cannot be used: {reason}, so nothing was measured")]
    Unusable {
        /// The card.
        device: Device,
        /// Why.
        reason: DeviceError,
    },
    /// A picture does not fit the card, or the card failed.
    #[error(transparent)]
    Card(DeviceError),
    /// The card's driver failed.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// A picture cannot be opened.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// A picture does not suit the model.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A forward failed.
    #[error(transparent)]
    Forward(TargetError),
    /// There is no text to ask about.
    #[error("the picture of {width} x {height} pixels shows nothing to read, so nothing was measured")]
    Blank {
        /// Its width, pixels.
        width: u32,
        /// Its height, pixels.
        height: u32,
    },
    /// The caller asked to stop.
    #[error("the measurement was cancelled")]
    Cancelled,
}

impl From<Cancelled> for MeasureError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<DeviceError> for MeasureError {
    fn from(error: DeviceError) -> Self {
        if error == DeviceError::Cancelled { Self::Cancelled } else { Self::Card(error) }
    }
}

impl From<TargetError> for MeasureError {
    fn from(error: TargetError) -> Self {
        if error == TargetError::Cancelled { Self::Cancelled } else { Self::Forward(error) }
    }
}

/// A picture to measure with.
#[derive(Clone, Debug)]
pub struct Picture(RgbImage);

impl Picture {
    /// The first page of a document as it is read, PDF pages at 200 dots per inch; of it, the part in `crop` only.
    pub fn open(source: &Source, options: &OpenOptions, crop: Option<Rect>) -> Result<Self, MeasureError> {
        let mut document = match source {
            Source::Path(path) => Document::open(path, options)?,
            Source::Bytes { name, bytes } => Document::from_bytes(name, bytes.clone(), options)?,
        };
        let page = document.render(0, 200.0)?.pixels;
        Ok(Self(match crop.map(|crop| crop.clamped(page.width(), page.height())) {
            Some(b) => image::imageops::crop_imm(&page, b.x0, b.y0, b.width(), b.height()).to_image(),
            None => page,
        }))
    }
}

/// What is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The checkpoint's name.
    pub checkpoint: String,
    /// Whether its weights are random.
    pub random_weights: bool,
    /// Why drafting is not offered; `None` when it is.
    pub only_ar: Option<String>,
    /// Tokens per drafted block, where it drafts.
    pub block: Option<usize>,
    /// The kernels in use.
    pub kernel: &'static str,
    /// Threads that compute.
    pub threads: usize,
    /// Number format in which the decoder's products see weights.
    pub format: Format,
    /// Bytes that a product reads of each weight, with its share of the scales where there are any.
    pub bytes_per_weight: f64,
    /// Bytes of all weights as they are kept.
    pub weight_bytes: f64,
    /// Seconds from opening the folder to a model that can run.
    pub load_seconds: f64,
    /// The card that it runs on; `None` for the processor.
    pub card: Option<Card>,
}

impl Facts {
    /// The number format's name.
    pub fn format_name(&self) -> &'static str {
        match self.format {
            Format::F32 => "f32",
            Format::Bf16 => "bf16",
            Format::Int8 => "int8",
        }
    }
}

/// A loaded model and the threads it runs on.
pub struct Bench {
    facts: Facts,
    subject: Subject,
    processor: ImageProcessor,
    backend: Backend,
    drafter: Option<Drafter>,
    pool: rayon::ThreadPool,
}

/// A request ready for the vision tower.
struct Prepared {
    size: RequestSize,
    patches: Patches,
    prompt: Vec<u32>,
}

impl Bench {
    /// Loads what the options name, onto the device they name. A folder with a configuration and no weights gets random
    /// ones.
    ///
    /// # Errors
    /// A checkpoint or a card that cannot be used; the processor does not stand in for a card.
    pub fn open(options: &EngineOptions) -> Result<Self, MeasureError> {
        match options.device {
            Device::Cpu => Self::load(options, |subject| Backend::processor(subject, options.weights)),
            Device::Cuda(ordinal) => {
                let driver = cuda::open(ordinal).map_err(|error| unusable(options.device, error.into()))?;
                Self::load(options, |subject| Backend::card(subject, options.device, driver))
            }
        }
    }

    fn load(
        options: &EngineOptions,
        onto_backend: impl FnOnce(&Subject) -> Result<Backend, MeasureError> + Send,
    ) -> Result<Self, MeasureError> {
        kernels::memory::limit_heaps();
        let pool = thread_pool(options.threads)?;
        let start = Instant::now();
        let subject = Subject::open(&options.checkpoint)?;
        let backend = pool.install(|| onto_backend(&subject))?;
        let drafter = backend.drafter(&subject);
        let facts = Facts {
            checkpoint: subject.name().to_owned(),
            random_weights: matches!(subject, Subject::Synthetic(_)),
            only_ar: subject.only_ar(),
            block: drafter.map(|drafter| drafter.block),
            kernel: backend.kernel(),
            threads: pool.current_num_threads(),
            format: backend.format(),
            bytes_per_weight: backend.bytes_per_weight(subject.config()),
            weight_bytes: backend.weight_bytes(&subject),
            load_seconds: start.elapsed().as_secs_f64(),
            card: backend.as_card(),
        };
        let processor = ImageProcessor::new(subject.processor().clone());
        Ok(Self { facts, processor, subject, backend, drafter, pool })
    }

    /// What is measured.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Times each stage `runs` times, after a warm-up, on one request of each picture: the whole picture, or the longest
    /// line of it for a checkpoint that reads lines. The stages take turns, so that a busy machine slows all alike.
    pub fn stages(&self, pictures: &[Picture], runs: u32, cancel: &Cancel) -> Result<Stages, MeasureError> {
        let requests: Vec<Prepared> = pictures.iter().map(|picture| self.prepare(picture)).collect::<Result<_, _>>()?;
        let config = self.subject.config();
        self.pool.install(|| {
            let mut stages = Stages::default();
            for run in 0..=runs {
                for request in &requests {
                    stages::run(&self.backend, config, request, self.drafter, cancel, &mut stages)?;
                }
                if run == 0 {
                    stages =
                        Stages { requests: requests.iter().map(|request| request.size).collect(), ..Stages::default() };
                }
            }
            Ok(stages)
        })
    }

    /// Times rounds of 1, 2, 4, ... equal requests side by side, as many as the card has room for, `runs` times after a
    /// warm-up. Nothing where the checkpoint does not draft, nor on the processor, which reads its requests one by one.
    pub fn side_by_side(&self, picture: &Picture, runs: u32, cancel: &Cancel) -> Result<Vec<Together>, MeasureError> {
        let (Some(drafter), Backend::Card(card)) = (self.drafter, &self.backend) else { return Ok(Vec::new()) };
        let request = self.prepare(picture)?;
        let image = self.backend.encode_image(&request.patches, cancel)?;
        let most = card.side_by_side(request.prompt.len(), together::tokens(drafter));
        let doubled = std::iter::successors(Some(1), |requests| Some(2 * requests));
        let measured = doubled.take_while(|&requests| requests <= most).map(|requests| {
            let mut round_ms = Vec::new();
            for run in 0..=runs {
                cancel.check()?;
                let ms = together::run(&self.backend, &request, &image, drafter, requests, cancel)?;
                if run > 0 {
                    round_ms.push(ms);
                }
            }
            Ok(Together { requests, round_ms })
        });
        measured.collect()
    }

    /// Why each kernel was started by itself, in a card's words; `None` where graphs were made, and on the processor.
    pub fn why_no_graphs(&self) -> Option<String> {
        self.backend.why_no_graphs()
    }

    /// Decodes one request, up to `max_tokens` tokens, `runs` times in each of the `ways`; a list of readings for each
    /// way. The vision tower runs once. The text is left empty.
    pub fn decode(
        &self,
        picture: &Picture,
        ways: &[Decode],
        max_tokens: usize,
        runs: u32,
        cancel: &Cancel,
    ) -> Result<Vec<Vec<Reading>>, MeasureError> {
        let request = self.prepare(picture)?;
        self.pool.install(|| {
            cancel.check()?;
            let start = Instant::now();
            let image = self.backend.encode_image(&request.patches, cancel)?;
            let vision_ms = milliseconds(start);
            let mut readings: Vec<Vec<Reading>> = ways.iter().map(|_| Vec::new()).collect();
            for _ in 0..runs {
                for (readings, &way) in readings.iter_mut().zip(ways) {
                    let limits = Limits { max_tokens, end_tokens: self.subject.end_tokens(), cancel };
                    let mut session = self.backend.session(&request.prompt, &image, max_tokens, cancel)?;
                    let decoded = decode(session.as_mut(), way, self.drafter, None, &limits, &mut ())?;
                    cancel.check()?;
                    let total = |ms: fn(&crate::decode::Round) -> f64| decoded.rounds.iter().map(ms).sum();
                    readings.push(Reading {
                        bounds: Rect::new(0, 0, request.size.width, request.size.height),
                        task: Task::Text,
                        status: if decoded.stop == Stop::End { Status::Done } else { Status::Truncated },
                        text: String::new(),
                        timings: Timings {
                            vision_ms,
                            prefill_ms: total(|round| round.prefill_ms),
                            draft_ms: total(|round| round.draft_ms),
                            verify_ms: total(|round| round.verify_ms),
                        },
                        rounds: decoded.rounds,
                        line: None,
                    });
                }
            }
            Ok(readings)
        })
    }

    fn prepare(&self, picture: &Picture) -> Result<Prepared, MeasureError> {
        let Picture(page) = picture;
        let longest = self.pool.install(|| self.subject.requests(page).into_iter().max_by_key(|image| image.width()));
        let image = longest.ok_or(MeasureError::Blank { width: page.width(), height: page.height() })?;
        let patches = self.pool.install(|| self.processor.process(&image))?;
        let prompt = self.subject.prompt(patches.tokens(self.processor.config().merge_size))?;
        let size = RequestSize {
            width: image.width(),
            height: image.height(),
            patches: patches.grid.iter().product(),
            prompt_tokens: prompt.len(),
        };
        Ok(Prepared { size, patches, prompt })
    }
}

fn unusable(device: Device, reason: DeviceError) -> MeasureError {
    MeasureError::Unusable { device, reason }
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

#[cfg(test)]
#[path = "measure_tests.rs"]
mod tests;
