//! What can be read: documents and single pictures; and the handle of what is being read.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use image::RgbImage;

use crate::decode::{Decode, Sampling};
use crate::document::Turn;
use crate::event::Event;
use crate::recognizer::Prompt;
use crate::region::Region;
use crate::run::Run;

/// What to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file.
    Path(PathBuf),
    /// Bytes with a name for messages, from a clipboard or a request.
    Bytes {
        /// The name.
        name: String,
        /// The file's content.
        bytes: Vec<u8>,
    },
}

/// Where a page's regions come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutMode {
    /// The engine's detector.
    Auto,
    /// The whole page is one region of text.
    None,
}

/// Which pages of a document are read.
#[derive(Clone, Debug, PartialEq)]
pub enum Pages {
    /// All of them.
    All,
    /// As people write them, "1-3,7".
    Listed(String),
    /// One by one, with what a person decided about each.
    Ordered(Vec<PageOrder>),
}

/// A page to read, and what a person decided about it.
#[derive(Clone, Debug, PartialEq)]
pub struct PageOrder {
    /// Page number, from 0.
    pub page: usize,
    /// How the page was turned by hand.
    pub turn: Turn,
    /// Resolution for a PDF page, dots per inch.
    pub dpi: f32,
    /// The regions to read, in order, in pixels of the raster that [`sheet`](crate::pipeline::sheet) gives; the layout
    /// mode decides when not given. Events count regions as in this list.
    pub regions: Option<Vec<Region>>,
}

/// A document to read.
#[derive(Clone, Debug)]
pub struct Job {
    /// The document.
    pub source: Source,
    /// Opens an encrypted PDF.
    pub password: Option<String>,
    /// Which pages.
    pub pages: Pages,
    /// Resolution for PDF pages, dots per inch.
    pub dpi: f32,
    /// Where regions come from.
    pub layout: LayoutMode,
    /// The decoding mode; the best that the checkpoint has when not given.
    pub decode: Option<Decode>,
    /// Sampling instead of the arg-max.
    pub sampling: Option<Sampling>,
    /// The most tokens of one request.
    pub max_tokens: usize,
}

/// The most tokens of one request where nobody says otherwise.
const MAX_TOKENS: usize = 4096;

impl Job {
    /// A job with the default settings.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            password: None,
            pages: Pages::All,
            dpi: 200.0,
            layout: LayoutMode::Auto,
            decode: None,
            sampling: None,
            max_tokens: MAX_TOKENS,
        }
    }
}

/// What is asked about a picture without a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// One prompt about the whole picture.
    Whole(Prompt),
    /// These regions of it, each by its label.
    Regions(Vec<Region>),
}

/// A picture to read as it is: not straightened, not searched for regions. Its events are those of a document's page 0.
#[derive(Clone, Debug)]
pub struct ImageJob {
    /// The picture.
    pub image: RgbImage,
    /// What is asked about it.
    pub question: Question,
    /// The decoding mode; the best that the checkpoint has when not given.
    pub decode: Option<Decode>,
    /// Sampling instead of the arg-max.
    pub sampling: Option<Sampling>,
    /// The most tokens of one request.
    pub max_tokens: usize,
}

impl ImageJob {
    /// A job with the default settings.
    pub fn new(image: RgbImage, question: Question) -> Self {
        Self { image, question, decode: None, sampling: None, max_tokens: MAX_TOKENS }
    }
}

/// A job that was taken. Dropping it cancels the job.
pub struct JobHandle {
    run: Arc<Run>,
}

impl JobHandle {
    pub(crate) fn new(run: Arc<Run>) -> Self {
        Self { run }
    }

    /// Waits for the next event; `None` after [`Event::Finished`], the last.
    pub fn recv(&self) -> Option<Event> {
        self.run.next_event(None).ok()
    }

    /// Waits for the next event, for at most so long.
    ///
    /// # Errors
    /// Nothing came in this time, or the last event was taken already.
    pub fn recv_timeout(&self, patience: Duration) -> Result<Event, RecvTimeoutError> {
        self.run.next_event(Some(patience))
    }

    /// Stops the job within a part of a forward. What is finished stays.
    pub fn cancel(&self) {
        self.run.stop();
    }
}

impl Drop for JobHandle {
    fn drop(&mut self) {
        self.run.stop();
    }
}

impl std::fmt::Debug for JobHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobHandle").finish_non_exhaustive()
    }
}
