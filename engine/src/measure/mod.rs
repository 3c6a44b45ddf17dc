//! Times of the stages of one request on the processor, and what they could be at best on this machine.
//!
//! A checkpoint is measured on real requests. A folder with only a configuration is measured with random weights of its
//! sizes: times are those of a checkpoint of this size, texts and acceptance mean nothing.

mod ceiling;
mod stages;
mod subject;
mod work;

pub use ceiling::Ceilings;
pub use stages::{RequestSize, Sample, Stages};
pub use work::{Work, decoder, vision};

/// Number format in which products see weights.
pub use kernels::Format;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use image::RgbImage;
use kernels::Kernel;

use crate::checkpoint::CheckpointError;
use crate::decode::{Decode, Limits, Mask, Stop, TargetError, decode};
use crate::document::{Document, DocumentError, OpenOptions};
use crate::model::Model;
use crate::model::image_processor::{ImageError, ImageProcessor, Patches};
use crate::page::{Reading, Status, Timings};
use crate::region::{Rect, Task};
use crate::worker::{EngineError, EngineOptions, Source, thread_pool};
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
    /// A picture cannot be opened.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// A picture does not suit the model.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A forward failed.
    #[error(transparent)]
    Forward(#[from] TargetError),
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

/// A picture to measure with.
#[derive(Clone, Debug)]
pub struct Picture(RgbImage);

impl Picture {
    /// The first page of a document as it is read, PDF pages at 200 dots per inch; of it, the part in `crop` only.
    pub fn open(source: &Source, crop: Option<Rect>) -> Result<Self, MeasureError> {
        let options = OpenOptions::default();
        let mut document = match source {
            Source::Path(path) => Document::open(path, &options)?,
            Source::Bytes { name, bytes } => Document::from_bytes(name, bytes.clone(), &options)?,
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
    model: Model,
    pool: rayon::ThreadPool,
}

/// A request ready for the vision tower.
struct Prepared {
    size: RequestSize,
    patches: Patches,
    prompt: Vec<u32>,
}

impl Bench {
    /// Loads what the options name, onto the processor whatever device they name. A folder with a configuration and no weights gets random ones.
    pub fn open(options: &EngineOptions) -> Result<Self, MeasureError> {
        kernels::memory::limit_heaps();
        let pool = thread_pool(options.threads)?;
        let kernel = Kernel::best();
        let start = Instant::now();
        let subject = Subject::open(&options.checkpoint)?;
        let config = subject.config();
        let stored = subject.stored_format();
        let format = options.weights.of(stored);
        // The only place here that makes a model. Quantised weights take a byte each and their scales; others stay.
        let model = pool.install(|| {
            let weights = subject.weights(if format == Format::Int8 { 1.1 } else { stored.size() as f64 })?;
            Model::from_weights(config, &weights, kernel, format)
        })?;
        let bytes_per_weight = model.decoder_bytes() as f64 / work::decoder(config, 1, 0, Mask::Causal, 1).weights;
        // The embedding is a table and never quantised.
        let embedding = (config.text.vocab_size * config.text.hidden_size) as f64;
        let others = config.weight_count() as f64 - embedding;
        let facts = Facts {
            checkpoint: subject.name().to_owned(),
            random_weights: matches!(subject, Subject::Synthetic(_)),
            only_ar: subject.only_ar(),
            block: subject.drafter().map(|drafter| drafter.block),
            kernel: kernel.name(),
            threads: pool.current_num_threads(),
            format,
            bytes_per_weight,
            weight_bytes: embedding * stored.size() as f64 + others * bytes_per_weight,
            load_seconds: start.elapsed().as_secs_f64(),
        };
        Ok(Self { facts, processor: ImageProcessor::new(subject.processor().clone()), subject, model, pool })
    }

    /// What is measured.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Times each stage `runs` times, after a warm-up, on one request of each picture: the whole picture, or the longest
    /// line of it for a checkpoint that reads lines. The stages take turns, so that a busy machine slows all alike.
    pub fn stages(&self, pictures: &[Picture], runs: u32, cancel: &AtomicBool) -> Result<Stages, MeasureError> {
        let requests: Vec<Prepared> = pictures.iter().map(|picture| self.prepare(picture)).collect::<Result<_, _>>()?;
        self.pool.install(|| {
            let mut stages = Stages::default();
            for run in 0..=runs {
                for request in &requests {
                    stages::run(
                        &self.model,
                        self.subject.config(),
                        request,
                        self.subject.drafter(),
                        cancel,
                        &mut stages,
                    )?;
                }
                if run == 0 {
                    stages =
                        Stages { requests: requests.iter().map(|request| request.size).collect(), ..Stages::default() };
                }
            }
            Ok(stages)
        })
    }

    /// Decodes one request, up to `max_tokens` tokens, `runs` times in each of the `ways`; a list of readings for each
    /// way. The vision tower runs once. The text is left empty.
    pub fn decode(
        &self,
        picture: &Picture,
        ways: &[Decode],
        max_tokens: usize,
        runs: u32,
        cancel: &AtomicBool,
    ) -> Result<Vec<Vec<Reading>>, MeasureError> {
        let request = self.prepare(picture)?;
        self.pool.install(|| {
            go_on(cancel)?;
            let start = Instant::now();
            let image = self.model.encode_image(&request.patches);
            let vision_ms = milliseconds(start);
            let mut readings: Vec<Vec<Reading>> = ways.iter().map(|_| Vec::new()).collect();
            for _ in 0..runs {
                for (readings, &way) in readings.iter_mut().zip(ways) {
                    let limits = Limits { max_tokens, end_tokens: self.subject.end_tokens(), cancel };
                    let mut session = self.model.session(&request.prompt, &image);
                    let decoded = decode(&mut session, way, self.subject.drafter(), None, &limits, &mut ())?;
                    go_on(cancel)?;
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
        let longest = self.subject.requests(page).into_iter().max_by_key(|image| image.width());
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

/// Asked before every forward.
fn go_on(cancel: &AtomicBool) -> Result<(), MeasureError> {
    if cancel.load(Ordering::Relaxed) { Err(MeasureError::Cancelled) } else { Ok(()) }
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

#[cfg(test)]
#[path = "measure_tests.rs"]
mod tests;
