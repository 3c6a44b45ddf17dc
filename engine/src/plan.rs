//! What is asked for a region (pictures to be read and with which prompt, or nothing), and what the answers make of it.

use image::RgbImage;

use crate::assemble::region_text;
use crate::checkpoint::Unit;
use crate::layout;
use crate::page::{Reading, RegionResult, Status};
use crate::recognizer::Prompt;
use crate::region::{Label, Line, Rect, Region, Role, Task};

/// Pixels of page around a region's box that go with it: letters that touch the edge of a crop are misread.
const CROP_MARGIN: u32 = 4;

/// A region and the requests it takes.
pub(crate) struct Plan {
    /// The region, its lines or cells filled in where the recognizer needs them.
    pub(crate) region: Region,
    /// What to ask, in reading order; nothing for a picture or a region without ink.
    pub(crate) parts: Vec<Part>,
    /// Whether the region is kept as a picture.
    pub(crate) picture: bool,
}

/// A part of a region that goes into one request.
pub(crate) struct Part {
    pub(crate) bounds: Rect,
    pub(crate) prompt: Prompt,
    /// Which line of the region (of its cells, counted through) this strip belongs to, for a line reader.
    pub(crate) line: Option<usize>,
    /// Its pixels, until they are handed over.
    pub(crate) image: Option<RgbImage>,
}

/// What requests are planned for.
#[derive(Clone, Copy)]
pub(crate) struct Planner<'a> {
    /// How much of a page goes into one request.
    pub(crate) unit: Unit,
    /// What can be asked.
    pub(crate) tasks: &'a [Task],
    /// Takes the place of the tasks' prompts.
    pub(crate) prompt: Option<&'a Prompt>,
}

/// Plans a region of a page.
pub(crate) fn plan(page: &RgbImage, mut region: Region, planner: Planner<'_>) -> Plan {
    region.bounds = region.bounds.clamped(page.width(), page.height());
    let can = |task| planner.tasks.contains(&task);
    let picture = match region.label.role() {
        Role::Figure => true,
        Role::Formula => !can(Task::Formula),
        Role::Furniture => matches!(region.label, Label::HeaderImage | Label::FooterImage),
        Role::Text | Role::Table => false,
    };
    if picture || region.bounds.is_empty() || !layout::has_ink(page, region.bounds) {
        return Plan { picture: picture && !region.bounds.is_empty(), region, parts: Vec::new() };
    }
    let task = match region.label.role() {
        Role::Table if can(Task::Table) => Task::Table,
        Role::Formula => Task::Formula,
        _ => Task::Text,
    };
    let prompt = || planner.prompt.cloned().unwrap_or(Prompt::Task(task));
    let parts = match planner.unit {
        Unit::Region => vec![whole(page, region.bounds, prompt())],
        Unit::Line { height, max_width } => {
            segment(page, &mut region);
            lines(&region)
                .enumerate()
                .flat_map(|(index, line)| {
                    layout::strips(page, line, height, max_width).into_iter().map(move |strip| Part {
                        bounds: strip.bounds,
                        prompt: Prompt::Task(Task::Text),
                        line: Some(index),
                        image: Some(strip.pixels),
                    })
                })
                .collect()
        }
    };
    Plan { region, parts, picture: false }
}

/// The pictures about which is asked when a page is read as one region of text.
pub(crate) fn pictures(page: &RgbImage, unit: Unit, tasks: &[Task]) -> Vec<RgbImage> {
    let region = Region::new(Label::Text, Rect::new(0, 0, page.width(), page.height()));
    plan(page, region, Planner { unit, tasks, prompt: None }).parts.into_iter().filter_map(|part| part.image).collect()
}

fn whole(page: &RgbImage, bounds: Rect, prompt: Prompt) -> Part {
    let padded = Rect {
        x0: bounds.x0.saturating_sub(CROP_MARGIN),
        y0: bounds.y0.saturating_sub(CROP_MARGIN),
        x1: bounds.x1 + CROP_MARGIN,
        y1: bounds.y1 + CROP_MARGIN,
    };
    let image = crop(page, padded.clamped(page.width(), page.height()));
    Part { bounds, prompt, line: None, image: Some(image) }
}

/// The pixels in a box that lies on the page.
pub(crate) fn crop(page: &RgbImage, bounds: Rect) -> RgbImage {
    image::imageops::crop_imm(page, bounds.x0, bounds.y0, bounds.width(), bounds.height()).to_image()
}

/// Finds a region's lines or cells, where the layout did not: a region that a person drew, or a layout checkpoint's.
fn segment(page: &RgbImage, region: &mut Region) {
    if region.label.role() != Role::Table {
        region.cells.clear();
    } else if region.cells.is_empty() {
        region.cells = layout::segment_table(page, region.bounds);
    }
    if region.cells.is_empty() && region.lines.is_empty() {
        region.lines = layout::segment_lines(page, region.bounds);
    }
}

/// The lines of a region that is read line by line: its own, or those of its cells in order.
fn lines(region: &Region) -> Box<dyn Iterator<Item = &Line> + '_> {
    if region.cells.is_empty() {
        Box::new(region.lines.iter())
    } else {
        Box::new(region.cells.iter().flat_map(|cell| &cell.lines))
    }
}

impl Plan {
    /// The region's result from what was read of it.
    pub(crate) fn result(&self, readings: Vec<Reading>) -> RegionResult {
        let status = match () {
            () if self.picture => Status::Picture,
            () if self.parts.is_empty() => Status::Empty,
            // A request that was not even begun left no reading.
            () if readings.len() < self.parts.len() => Status::Cancelled,
            () => readings.iter().map(|r| r.status.clone()).max_by_key(severity).unwrap_or(Status::Empty),
        };
        let text = region_text(&self.region, &readings);
        RegionResult { region: self.region.clone(), status, text, readings }
    }
}

/// Which of several statuses a region has: the one that most needs to be seen.
fn severity(status: &Status) -> u8 {
    match status {
        Status::Empty => 0,
        Status::Picture => 1,
        Status::Done => 2,
        Status::LoopStopped => 3,
        Status::Truncated => 4,
        Status::Cancelled => 5,
        Status::Failed(_) => 6,
    }
}
