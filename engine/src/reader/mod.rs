//! Reads the regions of a page: cuts them into requests, asks the model, joins the answers.
//!
//! A region reader gets one request for each region. A line reader gets one for each line, and a page's lines are read
//! side by side, in reading order, one on each thread.

mod live;
mod plan;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use image::RgbImage;
use kernels::{Format, Kernel};
use rayon::prelude::*;

use crate::assemble::cut_loop;
use crate::checkpoint::{Abilities, Checkpoint, CheckpointError, Unit};
use crate::decode::{Decode, Limits, Sampling, Stop, Target, decode};
use crate::device::DeviceModel;
use crate::event::{Event, RequestId};
use crate::model::image_processor::{ImageProcessor, Patches};
use crate::model::{ImageFeatures, Model};
use crate::page::{Figure, Reading, RegionResult, Status, Timings};
use crate::region::{Label, Rect, Region};
use live::Live;
use plan::{Plan, Request};

/// How to read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// The decoding mode.
    pub decode: Decode,
    /// Sampling instead of the arg-max.
    pub sampling: Option<Sampling>,
    /// The most tokens of one request.
    pub max_tokens: usize,
}

/// Where a page's events go. Shared by the threads that read its lines.
pub trait Listener: Sync {
    /// Hears an event.
    fn event(&self, event: Event);
    /// Set when the job is to stop; looked at between forwards.
    fn cancel(&self) -> &AtomicBool;
}

/// A checkpoint ready to read.
pub struct Reader {
    checkpoint: Checkpoint,
    processor: ImageProcessor,
    model: Model,
    /// The model on a card, which reads while it is well.
    card: Option<DeviceModel>,
}

/// The regions of a page as they were read, and its pictures.
pub struct PageReading {
    /// One for each region, in order.
    pub regions: Vec<RegionResult>,
    /// The pictures cut from the page.
    pub figures: Vec<Figure>,
}

impl Reader {
    /// Loads a checkpoint's weights for the given kernels, to compute in the given format ([`Model::load`]).
    pub fn new(checkpoint: Checkpoint, kernel: Kernel, format: Format) -> Result<Self, CheckpointError> {
        Self::on(checkpoint, kernel, format, None)
    }

    /// As [`new`](Self::new), with the model on a card too; the CPU reads what the card cannot.
    pub fn on(
        checkpoint: Checkpoint,
        kernel: Kernel,
        format: Format,
        card: Option<DeviceModel>,
    ) -> Result<Self, CheckpointError> {
        let model = Model::load(&checkpoint, kernel, format)?;
        Ok(Self { processor: ImageProcessor::new(checkpoint.processor.clone()), model, card, checkpoint })
    }

    /// The checkpoint.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Reads the regions of a page. Always returns a result for every region: a region whose reading failed or was
    /// cancelled says so in its status.
    pub fn read_page(
        &self,
        page: usize,
        raster: &RgbImage,
        regions: Vec<Region>,
        options: &ReadOptions,
        listener: &dyn Listener,
    ) -> PageReading {
        let plans: Vec<Plan> =
            regions.into_par_iter().map(|region| plan::plan(raster, region, &self.checkpoint.abilities)).collect();
        // All requests of the page in reading order, as (region, request).
        let queue: Vec<(usize, usize)> = plans
            .iter()
            .enumerate()
            .flat_map(|(region, plan)| (0..plan.requests.len()).map(move |request| (region, request)))
            .collect();
        let readings: Vec<Vec<OnceLock<Reading>>> =
            plans.iter().map(|plan| plan.requests.iter().map(|_| OnceLock::new()).collect()).collect();
        let open: Vec<AtomicUsize> = plans.iter().map(|plan| AtomicUsize::new(plan.requests.len())).collect();
        let results: Vec<OnceLock<RegionResult>> = plans.iter().map(|_| OnceLock::new()).collect();

        let finish = |region: usize| {
            let readings = readings[region].iter().filter_map(|r| r.get().cloned()).collect();
            let result = plans[region].result(readings);
            let RegionResult { status, text, readings, .. } = result.clone();
            if results[region].set(result).is_ok() {
                listener.event(Event::RegionFinished { page, region, status, text, readings });
            }
        };
        (0..plans.len()).filter(|&region| plans[region].requests.is_empty()).for_each(finish);

        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(&(region, request)) = queue.get(next.fetch_add(1, Ordering::Relaxed)) {
                let id = RequestId { page, region, request };
                let reading = self.read(id, &plans[region].requests[request], options, listener);
                let _ = readings[region][request].set(reading);
                if open[region].fetch_sub(1, Ordering::AcqRel) == 1 {
                    finish(region);
                }
            }
        };
        match (&self.card, self.checkpoint.abilities.unit) {
            // As many side by side as the card takes; these threads mostly wait for it.
            (Some(card), _) if card.fault().is_none() => std::thread::scope(|scope| {
                (0..card.sequences().min(queue.len())).for_each(|_| drop(scope.spawn(work)));
            }),
            // One request already keeps all threads busy.
            (_, Unit::Region) => work(),
            (_, Unit::Line { .. }) => rayon::scope(|scope| {
                (0..rayon::current_num_threads()).for_each(|_| scope.spawn(|_| kernels::alone(work)));
            }),
        }

        let figures = plans
            .iter()
            .enumerate()
            .filter(|(_, plan)| plan.picture) // also after a cancel: what is kept links to them
            .filter_map(|(region, plan)| figure(raster, region, plan.region.bounds))
            .collect();
        let regions = results
            .into_iter()
            .zip(&plans)
            .map(|(result, plan)| result.into_inner().unwrap_or_else(|| plan.result(Vec::new())))
            .collect();
        PageReading { regions, figures }
    }

    /// One request: image, prompt, decoding. Never fails: what went wrong is the reading's status.
    fn read(&self, id: RequestId, request: &Request, options: &ReadOptions, listener: &dyn Listener) -> Reading {
        let mut reading = Reading {
            bounds: request.bounds,
            task: request.task,
            status: Status::Cancelled,
            text: String::new(),
            rounds: Vec::new(),
            timings: Timings::default(),
            line: request.line,
        };
        if listener.cancel().load(Ordering::Relaxed) {
            return reading;
        }
        listener.event(Event::RequestStarted { id, bounds: request.bounds });
        // A fault of ours in one region must not take the page with it.
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            self.decode_request(id, request, options, listener, &mut reading)
        }));
        if let Err(message) = caught.unwrap_or_else(|_| Err("an internal error stopped this region".to_owned())) {
            reading.status = Status::Failed(message);
        }
        listener.event(Event::RequestFinished { id, status: reading.status.clone(), timings: reading.timings });
        reading
    }

    fn decode_request(
        &self,
        id: RequestId,
        request: &Request,
        options: &ReadOptions,
        listener: &dyn Listener,
        reading: &mut Reading,
    ) -> Result<(), String> {
        let start = Instant::now();
        let ask = Ask { id, request, options, listener, start };
        let patches = self.processor.process(&request.image).map_err(|e| e.to_string())?;
        if let Some(card) = self.card.as_ref().filter(|card| card.fault().is_none()) {
            let empty = reading.clone();
            let Err(fault) = self.ask_card(card, &patches, &ask, reading) else { return Ok(()) };
            *reading = empty;
            let what = if card.fault().is_some() { "everything from here on" } else { "this part" };
            let reason = format!("{fault}; the CPU reads {what}");
            listener.event(Event::RequestRestarted { id, bounds: request.bounds, reason });
        }
        let image = self.model.encode_image(&patches);
        reading.timings.vision_ms = milliseconds(start);
        if listener.cancel().load(Ordering::Relaxed) {
            return Ok(());
        }
        let prompt = self.prompt(request, &image)?;
        self.converse(&mut self.model.session(&prompt, &image), &image, &ask, reading)
    }

    /// Reads a request on the card.
    fn ask_card(
        &self,
        card: &DeviceModel,
        patches: &Patches,
        ask: &Ask<'_>,
        reading: &mut Reading,
    ) -> Result<(), String> {
        let image = card.encode_image(patches).map_err(|e| e.to_string())?;
        reading.timings.vision_ms = milliseconds(ask.start);
        if ask.listener.cancel().load(Ordering::Relaxed) {
            return Ok(());
        }
        let prompt = self.prompt(ask.request, &image)?;
        let mut session = card.session(&prompt, &image, ask.max_tokens(&image)).map_err(|e| e.to_string())?;
        self.converse(&mut session, &image, ask, reading)
    }

    fn prompt(&self, request: &Request, image: &ImageFeatures) -> Result<Vec<u32>, String> {
        self.checkpoint.prompt(request.task, image.grid[0] * image.grid[1]).map_err(|e| e.to_string())
    }

    /// Decodes a request, live.
    fn converse(
        &self,
        target: &mut dyn Target,
        image: &ImageFeatures,
        ask: &Ask<'_>,
        reading: &mut Reading,
    ) -> Result<(), String> {
        let &Ask { id, request, options, listener, start } = ask;
        let limits = Limits {
            max_tokens: ask.max_tokens(image),
            end_tokens: &self.checkpoint.end_tokens,
            cancel: listener.cancel(),
        };
        let mut live = Live::new(id, start, request.task, &self.checkpoint, listener);
        let drafter = self.checkpoint.drafter();
        let decoded = decode(target, options.decode, drafter, options.sampling, &limits, &mut live);
        reading.text = live.finish();
        let decoded = decoded.map_err(|e| e.to_string())?;

        let total = |f: fn(&crate::decode::Round) -> f64| decoded.rounds.iter().map(f).sum::<f64>();
        reading.timings.draft_ms = total(|r| r.draft_ms);
        reading.timings.verify_ms = total(|r| r.verify_ms);
        reading.timings.prefill_ms = decoded.rounds.first().map_or(0.0, |r| r.prefill_ms);
        reading.status = match decoded.stop {
            Stop::End => Status::Done,
            Stop::Length => Status::Truncated,
            Stop::Cancelled => Status::Cancelled,
            Stop::Observer => Status::LoopStopped,
        };
        reading.rounds = decoded.rounds;
        if let Some(cut) = cut_loop(&reading.text, request.task) {
            reading.text = cut;
            reading.status = Status::LoopStopped;
        }
        Ok(())
    }
}

/// A request as it is asked.
struct Ask<'a> {
    id: RequestId,
    request: &'a Request,
    options: &'a ReadOptions,
    listener: &'a dyn Listener,
    start: Instant,
}

impl Ask<'_> {
    fn max_tokens(&self, image: &ImageFeatures) -> usize {
        self.options.max_tokens.min(self.request.max_tokens(image.grid[0] * image.grid[1]))
    }
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// The pictures about which a checkpoint is asked when a page is read as one region of text.
pub(crate) fn requests(page: &RgbImage, abilities: &Abilities) -> Vec<RgbImage> {
    let region = Region::new(Label::Text, Rect::new(0, 0, page.width(), page.height()));
    plan::plan(page, region, abilities).requests.into_iter().map(|request| request.image).collect()
}

/// A region's pixels as PNG.
fn figure(raster: &RgbImage, region: usize, bounds: Rect) -> Option<Figure> {
    let b = bounds.clamped(raster.width(), raster.height());
    if b.is_empty() {
        return None;
    }
    let crop = image::imageops::crop_imm(raster, b.x0, b.y0, b.width(), b.height()).to_image();
    let mut png = std::io::Cursor::new(Vec::new());
    crop.write_to(&mut png, image::ImageFormat::Png).ok()?;
    Some(Figure { region, png: png.into_inner() })
}

/// Events kept in a list: for tests and for callers that want no live view.
#[derive(Debug, Default)]
pub struct Recorder {
    events: Mutex<Vec<Event>>,
    cancel: AtomicBool,
}

impl Recorder {
    /// What was heard so far.
    pub fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Listener for Recorder {
    fn event(&self, event: Event) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    fn cancel(&self) -> &AtomicBool {
        &self.cancel
    }
}
