//! The thread that opens documents and draws their pages, so that the window never waits for a file: the page one looks at
//! first, then detection, thumbnails last.

mod open_documents;
mod task_queue;
mod thumbnail;
mod work;

#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use eframe::egui::ColorImage;
use engine::document::Turn;
use engine::job::Source;
use engine::layout::Detector;
use engine::region::Region;

use super::pyramid::Pyramid;
use super::workspace::project::{DocumentId, PageKey};
use super::workspace::settings::PdfOptions;
use task_queue::TaskQueue;

pub(crate) use task_queue::Waiting;

/// What is wanted.
#[derive(Clone, Debug)]
pub(crate) enum Want {
    /// Open a document; [`Told::Opened`], [`Told::Locked`] or [`Told::Failed`] answers.
    Open { document: DocumentId, source: Source, password: Option<String>, pdf: PdfOptions },
    /// A page in full. Only the newest wish of this kind counts. [`Told::Page`] or [`Told::PageFailed`] answers.
    Page { key: PageKey, turn: Turn, dpi: f32 },
    /// A page's regions; the newest wish for a page counts. [`Told::Detected`] or [`Told::PageFailed`] answers.
    Detect { key: PageKey, turn: Turn, dpi: f32 },
    /// Small pictures of these pages, in this order; replaces the earlier wish, so it names what is in view and still
    /// missing. [`Told::Thumbnail`] or [`Told::PageFailed`] answers for each.
    Thumbnails(Vec<(PageKey, Turn)>),
    /// No detection any more, other than what is under way.
    CancelDetection,
    /// A document is closed. Nothing is told about it from then on.
    Close(DocumentId),
}

/// What came of it.
pub(crate) enum Told {
    Opened {
        document: DocumentId,
        page_count: usize,
    },
    /// A password is needed; `wrong` when one was given.
    Locked {
        document: DocumentId,
        wrong: bool,
    },
    Failed {
        document: DocumentId,
        message: String,
    },
    Page {
        key: PageKey,
        turn: Turn,
        asked_dpi: f32,
        dpi: Option<f32>,
        skew_degrees: f32,
        notice: Option<String>,
        pyramid: Arc<Pyramid>,
    },
    Detected {
        key: PageKey,
        turn: Turn,
        size: [u32; 2],
        asked_dpi: f32,
        dpi: Option<f32>,
        skew_degrees: f32,
        regions: Vec<Region>,
    },
    Thumbnail {
        key: PageKey,
        turn: Turn,
        image: Arc<ColorImage>,
    },
    PageFailed {
        key: PageKey,
        message: String,
    },
}

impl Told {
    /// The document that it is about.
    pub(crate) fn document(&self) -> DocumentId {
        match self {
            Told::Opened { document, .. } | Told::Locked { document, .. } | Told::Failed { document, .. } => *document,
            Told::Page { key, .. }
            | Told::Detected { key, .. }
            | Told::Thumbnail { key, .. }
            | Told::PageFailed { key, .. } => key.document,
        }
    }
}

/// The thread. Dropping it ends the thread after what it does just now.
pub(crate) struct Librarian {
    queue: Arc<TaskQueue>,
}

impl Librarian {
    /// Starts the thread. `detector` finds regions; `waker` is called after each answer.
    pub(crate) fn start(detector: Arc<dyn Detector>, waker: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        let queue = Arc::new(TaskQueue::default());
        let own = Arc::clone(&queue);
        std::thread::Builder::new().name("librarian".to_owned()).spawn(move || work::serve(&own, detector, waker))?;
        Ok(Self { queue })
    }

    /// Asks for something; never waits.
    pub(crate) fn want(&self, want: Want) {
        self.queue.want(want);
    }

    /// The next answer, if there is one.
    pub(crate) fn told(&self) -> Option<Told> {
        self.queue.told()
    }

    /// What is not done yet.
    pub(crate) fn waiting(&self) -> Waiting {
        self.queue.waiting()
    }
}

impl Drop for Librarian {
    fn drop(&mut self) {
        self.queue.close();
    }
}
