//! Page raster -> regions in reading order, with their lines and cells. Needs no weights.
//!
//! A page is taken apart into letters, rules and figures; letters become segments, segments are put in reading order by
//! the white space between them, and columns are read as paragraphs, headings, lists, listings and tables.

use image::RgbImage;

use crate::region::{Cell, Line, Rect, Region};

mod analysis;
mod assemble;
mod binarize;
mod blocks;
mod columns;
mod components;
mod detector;
mod furniture;
mod heading;
mod lines;
mod list;
mod mono;
mod raster;
mod rules;
mod skew;
mod strip;
mod table;

#[cfg(test)]
mod article_tests;
#[cfg(test)]
mod page_tests;

pub use detector::{BuiltInDetector, Detector, DetectorError};
pub use skew::straighten;
pub use strip::{Strip, strips};

use analysis::Analysis;

/// The regions of a page in reading order, with their lines and cells. An empty page has none.
pub fn detect(page: &RgbImage) -> Vec<Region> {
    let analysis = Analysis::of_page(page);
    let mut regions = assemble::regions(&analysis);
    for region in &mut regions {
        scale_region(region, analysis.scale, page);
    }
    regions
}

/// The lines of text inside a box, from top to bottom and, in one row, from left to right.
pub fn segment_lines(page: &RgbImage, bounds: Rect) -> Vec<Line> {
    let bounds = bounds.clamped(page.width(), page.height());
    if bounds.is_empty() {
        return Vec::new();
    }
    let analysis = Analysis::of_part(page, bounds);
    let mut lines = assemble::lines(&analysis);
    for line in &mut lines {
        line.bounds = placed(line.bounds, analysis.scale, bounds);
    }
    lines
}

/// The cells of a table inside a box, in row-major order: by its rules, or by white gaps where it has none.
pub fn segment_table(page: &RgbImage, bounds: Rect) -> Vec<Cell> {
    let bounds = bounds.clamped(page.width(), page.height());
    if bounds.is_empty() {
        return Vec::new();
    }
    let analysis = Analysis::of_part(page, bounds);
    let mut cells = assemble::cells(&analysis);
    for cell in &mut cells {
        cell.bounds = placed(cell.bounds, analysis.scale, bounds);
        for line in &mut cell.lines {
            line.bounds = placed(line.bounds, analysis.scale, bounds);
        }
    }
    cells
}

/// Whether a box holds anything that could be read: more than specks, shading and shadows at the page's edges.
pub fn has_ink(page: &RgbImage, bounds: Rect) -> bool {
    let bounds = bounds.clamped(page.width(), page.height());
    !bounds.is_empty() && Analysis::of_part(page, bounds).has_ink()
}

/// A box of an analysed part, on the page.
fn placed(rect: Rect, scale: (u32, u32), part: Rect) -> Rect {
    let (up, down) = scale;
    Rect {
        x0: part.x0 + rect.x0 * up / down,
        y0: part.y0 + rect.y0 * up / down,
        x1: part.x0 + (rect.x1 * up).div_ceil(down),
        y1: part.y0 + (rect.y1 * up).div_ceil(down),
    }
    .intersection(&part)
}

fn scale_region(region: &mut Region, scale: (u32, u32), page: &RgbImage) {
    let whole = Rect { x0: 0, y0: 0, x1: page.width(), y1: page.height() };
    region.bounds = placed(region.bounds, scale, whole);
    for line in &mut region.lines {
        line.bounds = placed(line.bounds, scale, whole);
    }
    for cell in &mut region.cells {
        cell.bounds = placed(cell.bounds, scale, whole);
        for line in &mut cell.lines {
            line.bounds = placed(line.bounds, scale, whole);
        }
    }
}
