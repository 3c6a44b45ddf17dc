//! A page's journey, top to bottom.
//!
//! [`Pipeline::prepare`] takes a document to requests: `open` -> `draw` -> `detect` -> `plan`. The
//! [`scheduler`](crate::scheduler) has a [`Recognizer`](crate::recognizer::Recognizer) answer them, and a
//! [`Run`] closes regions and pages with what was answered (`assemble`) and tells it all as events. While a page is read,
//! the next ones are prepared.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use image::RgbImage;
use rayon::prelude::*;

use crate::document::{Document, DocumentError, OpenOptions, PageRaster, Turn, parse_pages};
use crate::event::Outcome;
use crate::job::{ImageJob, Job, LayoutMode, PageOrder, Pages, Question, Source};
use crate::layout::{self, Detector};
use crate::page::{Figure, PageResult};
use crate::plan::{Plan, Planner, crop, plan};
use crate::recognizer::{Abilities, Prompt};
use crate::region::{Label, Rect, Region, Task};
use crate::run::{PlannedPage, Run};

/// Pages that are prepared while others are read, shared by the jobs under way.
const AHEAD: usize = 2;
/// Pages that are drawn or searched for regions at a time, of all jobs: each is held whole for that long.
const PREPARING: usize = 2;

/// From a document to requests.
pub(crate) struct Pipeline {
    pub(crate) abilities: Abilities,
    pub(crate) detector: Arc<dyn Detector>,
    pub(crate) open: OpenOptions,
    /// The threads that prepare pages.
    pub(crate) pool: rayon::ThreadPool,
    pub(crate) permits: Permits,
}

impl Pipeline {
    /// Prepares the pages of a document for a run, not too far ahead of what is read. `jobs` says how many jobs are under
    /// way.
    pub(crate) fn prepare(&self, job: &Job, run: &Run, jobs: impl Fn() -> usize) -> Outcome {
        let (mut document, orders) = match self.open(job) {
            Ok(opened) => opened,
            Err(sentence) => return Outcome::Failed(sentence),
        };
        run.opened(document.page_count(), orders.iter().map(|order| order.page).collect());
        for order in orders {
            if !run.wait_for_room(|| 1 + AHEAD / jobs().max(1)) {
                break;
            }
            let page = order.page;
            let _permit = self.permits.take();
            let work = || {
                let sheet = self.draw(&mut document, &order, job.layout).map_err(|error| error.to_string())?;
                let regions = self.detect(&sheet.pixels, order.regions, job.layout)?;
                Ok(self.plan(page, sheet, regions, None))
            };
            let planned = catch_unwind(AssertUnwindSafe(|| self.pool.install(work)));
            match planned.unwrap_or_else(|_| Err("an internal error stopped this page".to_owned())) {
                Ok(page) => run.planned(page),
                Err(message) => run.failed(page, message),
            }
        }
        Outcome::Completed
    }

    /// Opens the file, and settles which of its pages are read.
    fn open(&self, job: &Job) -> Result<(Document, Vec<PageOrder>), String> {
        let options = OpenOptions { password: job.password.clone(), ..self.open.clone() };
        let document = match &job.source {
            Source::Path(path) => Document::open(path, &options),
            Source::Bytes { name, bytes } => Document::from_bytes(name, bytes.clone(), &options),
        }
        .map_err(|error| error.to_string())?;
        let whole = |page| PageOrder { page, turn: Turn::None, dpi: job.dpi, regions: None };
        let count = document.page_count();
        let orders = match &job.pages {
            Pages::All => (0..count).map(whole).collect(),
            Pages::Listed(list) => {
                parse_pages(list, count).map_err(|error| error.to_string())?.into_iter().map(whole).collect()
            }
            Pages::Ordered(orders) => orders.clone(),
        };
        Ok((document, orders))
    }

    /// File -> pixels. What regions refer to is straightened; a page that is one region is taken as it is.
    fn draw(&self, document: &mut Document, order: &PageOrder, mode: LayoutMode) -> Result<Sheet, DocumentError> {
        let &PageOrder { page, turn, dpi, ref regions } = order;
        match mode {
            LayoutMode::None if regions.is_none() => turned(document, page, dpi, turn),
            LayoutMode::None | LayoutMode::Auto => sheet(document, page, dpi, turn),
        }
    }

    /// Pixels -> regions in reading order.
    fn detect(&self, pixels: &RgbImage, given: Option<Vec<Region>>, mode: LayoutMode) -> Result<Vec<Region>, String> {
        match (given, mode) {
            (Some(regions), _) => Ok(regions),
            (None, LayoutMode::Auto) => self.detector.detect(pixels).map_err(|error| error.to_string()),
            (None, LayoutMode::None) => Ok(vec![whole(pixels, Task::Text)]),
        }
    }

    /// Regions -> requests and pictures.
    fn plan(&self, index: usize, sheet: Sheet, regions: Vec<Region>, prompt: Option<&Prompt>) -> PlannedPage {
        let Sheet { pixels, dpi, skew_degrees, notice } = sheet;
        let (width, height) = pixels.dimensions();
        let planner = Planner { unit: self.abilities.unit, tasks: &self.abilities.tasks, prompt };
        let plans: Vec<Plan> = regions.into_par_iter().map(|region| plan(&pixels, region, planner)).collect();
        let pictures = plans.iter().enumerate().filter(|(_, plan)| plan.picture);
        let figures = pictures.filter_map(|(region, plan)| figure(&pixels, region, plan.region.bounds)).collect();
        let page = PageResult { index, width, height, dpi, skew_degrees, regions: Vec::new() };
        PlannedPage { page, notice, plans, figures }
    }

    /// Prepares a single picture: the way above from `plan` on.
    pub(crate) fn prepare_image(&self, job: ImageJob) -> PlannedPage {
        let _permit = self.permits.take();
        let (regions, prompt) = match job.question {
            Question::Regions(regions) => (regions, None),
            Question::Whole(prompt) => (vec![whole(&job.image, prompt.task())], Some(prompt)),
        };
        let sheet = Sheet { pixels: job.image, dpi: None, skew_degrees: 0.0, notice: None };
        self.pool.install(|| self.plan(0, sheet, regions, prompt.as_ref()))
    }
}

/// A page as it is read: drawn, turned and straightened. Boxes of regions refer to these pixels.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// The pixels.
    pub pixels: RgbImage,
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

/// A picture as one region.
fn whole(pixels: &RgbImage, task: Task) -> Region {
    let label = match task {
        Task::Text => Label::Text,
        Task::Table => Label::Table,
        Task::Formula => Label::DisplayFormula,
    };
    Region::new(label, Rect::new(0, 0, pixels.width(), pixels.height()))
}

/// A region's pixels as PNG.
fn figure(pixels: &RgbImage, region: usize, bounds: Rect) -> Option<Figure> {
    let bounds = bounds.clamped(pixels.width(), pixels.height());
    if bounds.is_empty() {
        return None;
    }
    let mut png = std::io::Cursor::new(Vec::new());
    crop(pixels, bounds).write_to(&mut png, image::ImageFormat::Png).ok()?;
    Some(Figure { region, png: png.into_inner() })
}

/// Leave to prepare a page.
pub(crate) struct Permits {
    left: Mutex<usize>,
    returned: Condvar,
}

/// One leave; given back when dropped.
pub(crate) struct Permit<'a>(&'a Permits);

impl Default for Permits {
    fn default() -> Self {
        Self { left: Mutex::new(PREPARING), returned: Condvar::new() }
    }
}

impl Permits {
    /// Waits for leave.
    fn take(&self) -> Permit<'_> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left = self.returned.wait_while(left, |left| *left == 0).unwrap_or_else(PoisonError::into_inner);
        *left -= 1;
        Permit(self)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.left.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.returned.notify_one();
    }
}
