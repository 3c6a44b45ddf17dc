//! Reads the regions of a page: cuts them into requests, asks the model, joins the answers.
//!
//! A region reader gets one request for each region. A line reader gets one for each line, and a page's lines are read
//! side by side, in reading order, one on each thread.

mod live;
mod plan;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use image::RgbImage;
use kernels::{Format, Kernel};
use rayon::prelude::*;

use crate::assemble::cut_loop;
use crate::cancel::Cancel;
use crate::checkpoint::{Abilities, Checkpoint, CheckpointError, Unit};
use crate::decode::{Decode, Limits, Sampling, Stop, Target, decode};
use crate::device::{DeviceError, DeviceModel};
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
    /// Set when the job is to stop.
    fn cancel(&self) -> &Cancel;
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
    pub fn new(checkpoint: Checkpoint, kernel: Kernel<'static>, format: Format) -> Result<Self, CheckpointError> {
        Self::on(checkpoint, kernel, format, None)
    }

    /// As [`new`](Self::new), with the model on a card too; the CPU reads what the card cannot.
    pub fn on(
        checkpoint: Checkpoint,
        kernel: Kernel<'static>,
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

        let settle = |(region, request): Place, reading: Reading| {
            let _ = readings[region][request].set(reading);
            if open[region].fetch_sub(1, Ordering::AcqRel) == 1 {
                finish(region);
            }
        };
        let ask = |(region, request): Place| Ask {
            id: RequestId { page, region, request },
            request: &plans[region].requests[request],
            options,
            listener,
        };
        let queue = match &self.card {
            Some(card) => self.read_on_card(card, queue, ask, settle),
            None => queue.into_iter().map(|place| (place, None)).collect(),
        };
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some((place, fault)) = queue.get(next.fetch_add(1, Ordering::Relaxed)) {
                settle(*place, self.read(&ask(*place), fault.as_deref()));
            }
        };
        match self.checkpoint.abilities.unit {
            // One request already keeps all threads busy.
            Unit::Region => work(),
            Unit::Line { .. } => rayon::scope(|scope| {
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

    /// Has the card read requests, as many side by side as it takes. Gives what it left to the CPU, in order, with the
    /// reason where it tried.
    fn read_on_card<'a>(
        &self,
        card: &DeviceModel,
        queue: Vec<Place>,
        ask: impl Fn(Place) -> Ask<'a> + Sync,
        settle: impl Fn(Place, Reading) + Sync,
    ) -> Vec<(Place, Option<String>)> {
        let next = AtomicUsize::new(0);
        let left = Mutex::new(Vec::new());
        let work = || {
            while card.fault().is_none()
                && let Some(&place) = queue.get(next.fetch_add(1, Ordering::Relaxed))
            {
                match self.read_on(card, &ask(place)) {
                    Ok(reading) => settle(place, reading),
                    Err(reason) => left.lock().unwrap_or_else(PoisonError::into_inner).push((place, Some(reason))),
                }
            }
        };
        // These threads mostly wait for the card.
        std::thread::scope(|scope| {
            (0..card.sequences().min(queue.len())).for_each(|_| drop(scope.spawn(work)));
        });
        let mut left = left.into_inner().unwrap_or_else(PoisonError::into_inner);
        let untouched = queue.get(next.into_inner()..).unwrap_or_default();
        left.extend(untouched.iter().map(|&place| (place, None)));
        left.sort_unstable();
        left
    }

    /// One request on the card. Fails when the card did, with one sentence; what was read by then is void.
    fn read_on(&self, card: &DeviceModel, ask: &Ask<'_>) -> Result<Reading, String> {
        let mut reading = ask.unread();
        if ask.is_cancelled() {
            return Ok(reading);
        }
        ask.listener.event(Event::RequestStarted { id: ask.id, bounds: ask.request.bounds });
        match ask.guarded(|| self.prepare(ask)) {
            Ok(prepared) => {
                if let Err(fault) = ask.guarded(|| self.decode_on(card, ask, &prepared, &mut reading)) {
                    let what = if card.fault().is_some() { "everything from here on" } else { "this part" };
                    return Err(format!("{fault}; the CPU reads {what}"));
                }
            }
            Err(message) => reading.status = Status::Failed(message),
        }
        ask.finished(&reading);
        Ok(reading)
    }

    fn decode_on(
        &self,
        card: &DeviceModel,
        ask: &Ask<'_>,
        prepared: &Prepared,
        reading: &mut Reading,
    ) -> Result<(), String> {
        let cancel = ask.listener.cancel();
        let image = match card.encode_image(&prepared.patches, cancel) {
            Err(DeviceError::Cancelled) => return Ok(()),
            encoded => encoded.map_err(|e| e.to_string())?,
        };
        reading.timings.vision_ms = milliseconds(prepared.start);
        if ask.is_cancelled() {
            return Ok(());
        }
        let max_tokens = ask.max_tokens(&image);
        let mut session = match card.session(&prepared.prompt, &image, max_tokens, cancel) {
            Err(DeviceError::Cancelled) => return Ok(()),
            session => session.map_err(|e| e.to_string())?,
        };
        self.converse(&mut session, max_tokens, ask, prepared.start, reading)
    }

    /// One request on the CPU. Never fails: what went wrong is the reading's status. `fault`: why the card did not read it.
    fn read(&self, ask: &Ask<'_>, fault: Option<&str>) -> Reading {
        let (id, bounds) = (ask.id, ask.request.bounds);
        let mut reading = ask.unread();
        if ask.is_cancelled() && fault.is_none() {
            return reading;
        }
        ask.listener.event(match fault {
            Some(reason) => Event::RequestRestarted { id, bounds, reason: reason.to_owned() },
            None => Event::RequestStarted { id, bounds },
        });
        if let Err(message) = ask.guarded(|| self.decode(ask, &self.prepare(ask)?, &mut reading)) {
            reading.status = Status::Failed(message);
        }
        ask.finished(&reading);
        reading
    }

    fn decode(&self, ask: &Ask<'_>, prepared: &Prepared, reading: &mut Reading) -> Result<(), String> {
        if ask.is_cancelled() {
            return Ok(());
        }
        let cancel = ask.listener.cancel();
        let Ok(image) = self.model.encode_image(&prepared.patches, cancel) else { return Ok(()) };
        reading.timings.vision_ms = milliseconds(prepared.start);
        if ask.is_cancelled() {
            return Ok(());
        }
        let mut session = self.model.session(&prepared.prompt, &image, cancel);
        self.converse(&mut session, ask.max_tokens(&image), ask, prepared.start, reading)
    }

    /// The patches of a request's picture, and its prompt.
    fn prepare(&self, ask: &Ask<'_>) -> Result<Prepared, String> {
        let start = Instant::now();
        let patches = self.processor.process(&ask.request.image).map_err(|e| e.to_string())?;
        let tokens = patches.tokens(self.processor.config().merge_size);
        let prompt = self.checkpoint.prompt(ask.request.task, tokens).map_err(|e| e.to_string())?;
        Ok(Prepared { start, patches, prompt })
    }

    /// Decodes a request, live.
    fn converse(
        &self,
        target: &mut dyn Target,
        max_tokens: usize,
        ask: &Ask<'_>,
        start: Instant,
        reading: &mut Reading,
    ) -> Result<(), String> {
        let &Ask { id, request, options, listener } = ask;
        let limits = Limits { max_tokens, end_tokens: &self.checkpoint.end_tokens, cancel: listener.cancel() };
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

/// Where a request stands: its region, and its number in that.
type Place = (usize, usize);

/// A request's picture and prompt, ready for the model.
struct Prepared {
    /// When its reading began.
    start: Instant,
    patches: Patches,
    prompt: Vec<u32>,
}

/// A request as it is asked.
struct Ask<'a> {
    id: RequestId,
    request: &'a Request,
    options: &'a ReadOptions,
    listener: &'a dyn Listener,
}

impl Ask<'_> {
    /// The reading before anything is read.
    fn unread(&self) -> Reading {
        Reading {
            bounds: self.request.bounds,
            task: self.request.task,
            status: Status::Cancelled,
            text: String::new(),
            rounds: Vec::new(),
            timings: Timings::default(),
            line: self.request.line,
        }
    }

    fn is_cancelled(&self) -> bool {
        self.listener.cancel().is_cancelled()
    }

    fn max_tokens(&self, image: &ImageFeatures) -> usize {
        self.options.max_tokens.min(self.request.max_tokens(image.grid[0] * image.grid[1]))
    }

    /// Runs a part of the reading: a fault of ours in one region must not take the page with it.
    fn guarded<T>(&self, read: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read));
        caught.unwrap_or_else(|_| Err("an internal error stopped this region".to_owned()))
    }

    fn finished(&self, reading: &Reading) {
        let (status, timings) = (reading.status.clone(), reading.timings);
        self.listener.event(Event::RequestFinished { id: self.id, status, timings });
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
    cancel: Cancel,
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

    fn cancel(&self) -> &Cancel {
        &self.cancel
    }
}
