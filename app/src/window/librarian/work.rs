//! The librarian's work: one task after the other, the most urgent first.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use engine::document::{DocumentError, Turn};
use engine::layout::Detector;
use engine::pipeline::{Sheet, sheet};

use super::super::pyramid::Pyramid;
use super::super::strings::librarian as words;
use super::super::workspace::project::{DocumentId, PageKey};
use super::Told;
use super::open_documents::OpenDocuments;
use super::task_queue::{Opening, Task, TaskQueue, Wish};
use super::thumbnail;

/// Pages that are remembered for as long as somebody else keeps them.
const REMEMBERED: usize = 8;

/// Works until the queue is closed. `waker` is called after each answer.
pub(super) fn serve(queue: &TaskQueue, detector: Arc<dyn Detector>, waker: impl Fn()) {
    let mut work = Work { documents: OpenDocuments::default(), last: None, drawn: VecDeque::new(), detector };
    while let Some(task) = queue.next() {
        let answer = guarded(&task, || work.answer(&task)).unwrap_or_else(|failed| {
            // What a renderer left half done is not used again.
            work.documents.put_away(task.document());
            Some(failed)
        });
        if queue.finish(answer) {
            waker();
        }
    }
}

/// Does a task; a panic becomes the answer that it failed.
fn guarded(task: &Task, work: impl FnOnce() -> Option<Told>) -> Result<Option<Told>, Told> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| match task {
        Task::Open(_) | Task::Close(_) => {
            Told::Failed { document: task.document(), message: words::DOCUMENT_STOPPED.to_owned() }
        }
        Task::Page(Wish { key, .. }) | Task::Detect(Wish { key, .. }) | Task::Thumbnail(key, _) => {
            Told::PageFailed { key: *key, message: words::PAGE_STOPPED.to_owned() }
        }
    })
}

/// What is known of a page that was drawn.
#[derive(Clone)]
struct Facts {
    wish: Wish,
    dpi: Option<f32>,
    skew_degrees: f32,
    notice: Option<String>,
}

/// What the thread keeps between tasks.
struct Work {
    documents: OpenDocuments,
    /// The page drawn last: detection often follows a look at a page, and a look follows detection.
    last: Option<Arc<Pyramid>>,
    /// The newest pages first, for as long as somebody keeps them.
    drawn: VecDeque<(Facts, Weak<Pyramid>)>,
    detector: Arc<dyn Detector>,
}

impl Work {
    /// Does a task. No answer: the document is closed.
    fn answer(&mut self, task: &Task) -> Option<Told> {
        match task {
            Task::Close(document) => {
                self.forget(*document);
                None
            }
            Task::Open(opening) => Some(self.open(opening)),
            Task::Page(wish) => self.page(*wish),
            Task::Detect(wish) => self.detect(*wish),
            Task::Thumbnail(key, turn) => self.thumbnail(*key, *turn),
        }
    }

    fn open(&mut self, opening: &Arc<Opening>) -> Told {
        let document = opening.document;
        self.forget(document);
        match self.documents.add(opening) {
            Ok(page_count) => Told::Opened { document, page_count },
            Err(DocumentError::PasswordNeeded { .. }) => Told::Locked { document, wrong: false },
            Err(DocumentError::WrongPassword { .. }) => Told::Locked { document, wrong: true },
            Err(error) => Told::Failed { document, message: error.to_string() },
        }
    }

    fn page(&mut self, wish: Wish) -> Option<Told> {
        let told = match self.sheet(wish)? {
            Ok((Facts { wish: Wish { key, turn, dpi: asked_dpi }, dpi, skew_degrees, notice }, pyramid)) => {
                Told::Page { key, turn, asked_dpi, dpi, skew_degrees, notice, pyramid }
            }
            Err(error) => failed(wish.key, &error),
        };
        Some(told)
    }

    fn detect(&mut self, wish: Wish) -> Option<Told> {
        let told = match self.sheet(wish)? {
            Ok((Facts { wish: Wish { key, turn, dpi: asked_dpi }, dpi, skew_degrees, .. }, pyramid)) => {
                let found = pyramid.levels().first().map(|pixels| self.detector.detect(pixels)).transpose();
                match found {
                    Ok(regions) => {
                        let (size, regions) = (pyramid.size(), regions.unwrap_or_default());
                        Told::Detected { key, turn, size, asked_dpi, dpi, skew_degrees, regions }
                    }
                    Err(error) => Told::PageFailed { key, message: error.to_string() },
                }
            }
            Err(error) => failed(wish.key, &error),
        };
        Some(told)
    }

    fn thumbnail(&mut self, key: PageKey, turn: Turn) -> Option<Told> {
        // The smallest level of a page at hand does as well, and an image need not be decoded again for it.
        let at_hand = self.at_hand(|wish| wish.key == key && wish.turn == turn);
        let small = at_hand.as_ref().and_then(|(_, pyramid)| pyramid.levels().last());
        let drawn = match small {
            Some(level) => Ok(thumbnail::shrunk(level, Turn::None)),
            None => {
                self.documents.document(key.document)?.and_then(|document| thumbnail::draw(document, key.page, turn))
            }
        };
        Some(match drawn {
            Ok(image) => Told::Thumbnail { key, turn, image: Arc::new(image) },
            Err(error) => failed(key, &error),
        })
    }

    /// A page in full, drawn unless it is at hand; `None` when its document is closed.
    fn sheet(&mut self, wish: Wish) -> Option<Result<(Facts, Arc<Pyramid>), DocumentError>> {
        if let Some(drawn) = self.at_hand(|other| *other == wish) {
            return Some(Ok(drawn));
        }
        // No more than one page is kept for this thread alone.
        self.last = None;
        let key = wish.key;
        let sheet =
            self.documents.document(key.document)?.and_then(|document| sheet(document, key.page, wish.dpi, wish.turn));
        Some(sheet.map(|Sheet { pixels, dpi, skew_degrees, notice }| {
            let facts = Facts { wish, dpi, skew_degrees, notice };
            let pyramid = Arc::new(Pyramid::from(pixels));
            self.drawn.retain(|(other, pyramid)| other.wish.key != key && pyramid.strong_count() > 0);
            self.drawn.push_front((facts.clone(), Arc::downgrade(&pyramid)));
            self.drawn.truncate(REMEMBERED);
            self.last = Some(Arc::clone(&pyramid));
            (facts, pyramid)
        }))
    }

    /// A drawn page that somebody keeps still.
    fn at_hand(&self, fits: impl Fn(&Wish) -> bool) -> Option<(Facts, Arc<Pyramid>)> {
        let mut fitting = self.drawn.iter().filter(|(facts, _)| fits(&facts.wish));
        fitting.find_map(|(facts, pyramid)| Some((facts.clone(), pyramid.upgrade()?)))
    }

    fn forget(&mut self, document: DocumentId) {
        self.documents.close(document);
        self.drawn.retain(|(facts, _)| facts.wish.key.document != document);
        self.last = None;
    }
}

fn failed(key: PageKey, error: &DocumentError) -> Told {
    Told::PageFailed { key, message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_answer() {
        let key = PageKey { document: DocumentId(7), page: 3 };
        let told = guarded(&Task::Thumbnail(key, Turn::None), || panic!("on purpose, in a test"));
        assert!(matches!(told, Err(Told::PageFailed { key: failed, message })
            if failed == key && message == "an internal error stopped this page"));
        let told = guarded(&Task::Close(DocumentId(7)), || None);
        assert!(matches!(told, Ok(None)));
    }
}
