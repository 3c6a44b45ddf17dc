//! What was read: a page's regions with their text, and how each was decoded.

use serde::{Deserialize, Serialize};

use crate::decode::Round;
use crate::region::{Rect, Region, Task};

/// How the reading of a region (or of one request) ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Read to its end token.
    Done,
    /// No ink: the model was not asked and nothing is invented.
    Empty,
    /// Kept as a picture, or furniture or a formula that the checkpoint does not read.
    Picture,
    /// The token limit was reached; the text is the beginning.
    Truncated,
    /// A loop was cut; the text holds one unit of it.
    LoopStopped,
    /// Cancelled by the user; the text is what was committed by then.
    Cancelled,
    /// Could not be read; the sentence says why.
    Failed(String),
}

/// Milliseconds of one request, by stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timings {
    /// Image processing and vision tower.
    pub vision_ms: f64,
    /// The prompt's forward.
    pub prefill_ms: f64,
    /// All draft forwards (or AR and diffusion forwards).
    pub draft_ms: f64,
    /// All verify forwards.
    pub verify_ms: f64,
}

/// One request to the model: one image, one prompt, one answer. A region reader makes one per region, a line reader one
/// per line strip or cell line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The part of the page that was read.
    pub bounds: Rect,
    /// The question asked.
    pub task: Task,
    /// How it ended.
    pub status: Status,
    /// The answer as decoded from the token ids, think scaffolding and special tokens removed.
    pub text: String,
    /// Every round in order, round 0 being the prefill.
    pub rounds: Vec<Round>,
    /// Where the time went.
    pub timings: Timings,
    /// Which of the region's `lines` (or, in a table, which of its cells' lines in order) this strip came from.
    pub line: Option<usize>,
}

/// A region with what was read in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegionResult {
    /// The region.
    pub region: Region,
    /// The worst status of its readings.
    pub status: Status,
    /// The region's content after clean-up: plain text (paragraphs separated by a blank line; single newlines only in a
    /// preformatted region), an HTML table, or LaTeX without delimiters. Empty for pictures.
    pub text: String,
    /// The requests it took, in reading order.
    pub readings: Vec<Reading>,
}

/// One page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageResult {
    /// Number in its document, from 0.
    pub index: usize,
    /// Width of the page raster, pixels.
    pub width: u32,
    /// Height of the page raster, pixels.
    pub height: u32,
    /// Resolution of the raster where it is known, dots per inch.
    pub dpi: Option<f32>,
    /// The skew that was corrected before layout, degrees, clockwise positive.
    pub skew_degrees: f32,
    /// Regions in reading order.
    pub regions: Vec<RegionResult>,
}

/// A picture cut from a page, encoded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Which of the page's regions it is.
    pub region: usize,
    /// PNG bytes.
    pub png: Vec<u8>,
}
