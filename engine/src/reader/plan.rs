//! What is asked for a region (pictures to be read and with which prompt, or nothing), and what the answers make of it.

use image::RgbImage;

use crate::assemble::region_text;
use crate::checkpoint::{Abilities, Unit};
use crate::layout;
use crate::page::{Reading, RegionResult, Status};
use crate::region::{Label, Line, Rect, Region, Role, Task};

/// Pixels of page around a region's box that go with it: letters that touch the edge of a crop are misread.
const CROP_MARGIN: u32 = 4;

/// A region and the requests it takes.
pub(super) struct Plan {
    /// The region, its lines or cells filled in where the reader needs them.
    pub(super) region: Region,
    /// What to ask, in reading order; nothing for a picture or a region without ink.
    pub(super) requests: Vec<Request>,
    /// Whether the region is kept as a picture.
    pub(super) picture: bool,
}

/// One image and one prompt.
pub(super) struct Request {
    pub(super) image: RgbImage,
    pub(super) bounds: Rect,
    pub(super) task: Task,
    /// Which line of the region (of its cells, counted through) this strip belongs to, for a line reader.
    pub(super) line: Option<usize>,
}

impl Request {
    /// The most tokens an answer can sensibly have. A line's length is bounded by its strip: more than eight tokens on
    /// each 28 pixels is a loop.
    pub(super) fn max_tokens(&self, image_tokens: usize) -> usize {
        if self.line.is_some() { 32 + 8 * image_tokens } else { usize::MAX }
    }
}

/// Plans a region for a checkpoint with these abilities.
pub(super) fn plan(page: &RgbImage, mut region: Region, abilities: &Abilities) -> Plan {
    region.bounds = region.bounds.clamped(page.width(), page.height());
    let can = |task| abilities.tasks.contains(&task);
    let picture = match region.label.role() {
        Role::Figure => true,
        Role::Formula => !can(Task::Formula),
        Role::Furniture => matches!(region.label, Label::HeaderImage | Label::FooterImage),
        Role::Text | Role::Table => false,
    };
    if picture || region.bounds.is_empty() || !layout::has_ink(page, region.bounds) {
        return Plan { picture: picture && !region.bounds.is_empty(), region, requests: Vec::new() };
    }
    let task = match region.label.role() {
        Role::Table if can(Task::Table) => Task::Table,
        Role::Formula => Task::Formula,
        _ => Task::Text,
    };
    let requests = match abilities.unit {
        Unit::Region => vec![whole(page, region.bounds, task)],
        Unit::Line { height, max_width } => {
            segment(page, &mut region);
            lines(&region)
                .enumerate()
                .flat_map(|(index, line)| {
                    layout::strips(page, line, height, max_width).into_iter().map(move |strip| Request {
                        image: strip.pixels,
                        bounds: strip.bounds,
                        task: Task::Text,
                        line: Some(index),
                    })
                })
                .collect()
        }
    };
    Plan { region, requests, picture: false }
}

fn whole(page: &RgbImage, bounds: Rect, task: Task) -> Request {
    let padded = Rect {
        x0: bounds.x0.saturating_sub(CROP_MARGIN),
        y0: bounds.y0.saturating_sub(CROP_MARGIN),
        x1: bounds.x1 + CROP_MARGIN,
        y1: bounds.y1 + CROP_MARGIN,
    };
    let b = padded.clamped(page.width(), page.height());
    let image = image::imageops::crop_imm(page, b.x0, b.y0, b.width(), b.height()).to_image();
    Request { image, bounds, task, line: None }
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
    pub(super) fn result(&self, readings: Vec<Reading>) -> RegionResult {
        let status = match () {
            () if self.picture => Status::Picture,
            () if self.requests.is_empty() => Status::Empty,
            // A request that was not even begun left no reading.
            () if readings.len() < self.requests.len() => Status::Cancelled,
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
