//! What is between the window and the librarian: wishes one way, answers the other. Both are under one lock, so that a
//! closed document takes its wishes and its answers along at once.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use engine::document::Turn;
use engine::job::Source;

use super::super::workspace::project::{DocumentId, PageKey};
use super::super::workspace::settings::PdfOptions;
use super::{Told, Want};

/// Answers that may lie unread before the librarian waits.
const ANSWERS: usize = 64;
/// Pages among them: they are large.
const PAGES: usize = 2;

/// A document to open.
pub(super) struct Opening {
    pub(super) document: DocumentId,
    pub(super) source: Source,
    pub(super) password: Option<String>,
    pub(super) pdf: PdfOptions,
}

/// A page as it is to be drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wish {
    pub(super) key: PageKey,
    pub(super) turn: Turn,
    pub(super) dpi: f32,
}

/// A unit of work. Between two of them the librarian looks for something more urgent.
#[derive(Clone)]
pub(super) enum Task {
    Close(DocumentId),
    Open(Arc<Opening>),
    Page(Wish),
    Detect(Wish),
    Thumbnail(PageKey, Turn),
}

impl Task {
    pub(super) fn document(&self) -> DocumentId {
        match self {
            Task::Close(document) => *document,
            Task::Open(opening) => opening.document,
            Task::Page(wish) | Task::Detect(wish) => wish.key.document,
            Task::Thumbnail(key, _) => key.document,
        }
    }
}

/// What the librarian has not done yet, what is under way included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// Documents to open.
    pub(crate) opening: usize,
    /// Whether a page is to be drawn in full.
    pub(crate) page: bool,
    /// Pages whose regions are to be found.
    pub(crate) detecting: usize,
    /// Thumbnails to draw.
    pub(crate) thumbnails: usize,
}

/// The queue of both.
#[derive(Default)]
pub(super) struct TaskQueue {
    tasks: Mutex<Tasks>,
    /// There may be work, or room for an answer.
    changed: Condvar,
}

#[derive(Default)]
struct Tasks {
    closing: VecDeque<DocumentId>,
    opening: VecDeque<Arc<Opening>>,
    page: Option<Wish>,
    detecting: VecDeque<PageKey>,
    /// How to draw each of `detecting`.
    detection: HashMap<PageKey, Wish>,
    thumbnails: VecDeque<(PageKey, Turn)>,
    under_way: Option<Task>,
    answers: VecDeque<Told>,
    over: bool,
}

impl TaskQueue {
    /// Adds a wish.
    pub(super) fn want(&self, want: Want) {
        self.tasks().want(want);
        self.changed.notify_one();
    }

    /// Takes the oldest answer.
    pub(super) fn told(&self) -> Option<Told> {
        let told = self.tasks().answers.pop_front()?;
        self.changed.notify_one();
        Some(told)
    }

    /// Ends the work. Nobody waits: what is under way may take long and finishes alone.
    pub(super) fn close(&self) {
        *self.tasks() = Tasks { over: true, ..Tasks::default() };
        self.changed.notify_one();
    }

    /// The most urgent task, once there is one and room for its answer; none when the work is over.
    pub(super) fn next(&self) -> Option<Task> {
        let mut tasks = self.tasks();
        loop {
            if tasks.over {
                return None;
            }
            if let Some(task) = tasks.take() {
                tasks.under_way = Some(task.clone());
                return Some(task);
            }
            tasks = self.changed.wait(tasks).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends the task under way; whether its answer is kept.
    pub(super) fn finish(&self, answer: Option<Told>) -> bool {
        self.tasks().finish(answer)
    }

    pub(super) fn waiting(&self) -> Waiting {
        self.tasks().waiting()
    }

    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tasks {
    fn want(&mut self, want: Want) {
        match want {
            Want::Open { document, source, password, pdf } => {
                self.opening.push_back(Arc::new(Opening { document, source, password, pdf }));
            }
            Want::Page { key, turn, dpi } => {
                let wish = Wish { key, turn, dpi };
                // What is drawn just now need not be drawn again.
                let drawn = matches!(&self.under_way, Some(Task::Page(under_way)) if *under_way == wish);
                self.page = (!drawn).then_some(wish);
            }
            Want::Detect { key, turn, dpi } => {
                if self.detection.insert(key, Wish { key, turn, dpi }).is_none() {
                    self.detecting.push_back(key);
                }
            }
            Want::Thumbnails(list) => {
                // Some of them may be drawn already, if not yet heard of.
                let unread = self.answers.iter().filter_map(|answer| match answer {
                    Told::Thumbnail { key, turn, .. } => Some((*key, *turn)),
                    _ => None,
                });
                let under_way = match self.under_way {
                    Some(Task::Thumbnail(key, turn)) => Some((key, turn)),
                    _ => None,
                };
                let drawn: HashSet<(PageKey, Turn)> = unread.chain(under_way).collect();
                self.thumbnails = list.into_iter().filter(|wish| !drawn.contains(wish)).collect();
            }
            Want::CancelDetection => {
                self.detecting.clear();
                self.detection.clear();
            }
            Want::Close(document) => self.shut(document),
        }
    }

    fn shut(&mut self, document: DocumentId) {
        self.opening.retain(|opening| opening.document != document);
        self.page = self.page.filter(|wish| wish.key.document != document);
        self.detecting.retain(|key| key.document != document);
        self.detection.retain(|key, _| key.document != document);
        self.thumbnails.retain(|(key, _)| key.document != document);
        self.answers.retain(|answer| answer.document() != document);
        self.closing.push_back(document);
    }

    fn take(&mut self) -> Option<Task> {
        if let Some(document) = self.closing.pop_front() {
            return Some(Task::Close(document));
        }
        if self.answers.len() >= ANSWERS {
            return None;
        }
        // The page that is looked at goes before other documents, which may be thousands, and after its own.
        let own = self.page.map(|wish| wish.key.document);
        let own = self.opening.iter().position(|opening| Some(opening.document) == own);
        if let Some(opening) = own.and_then(|at| self.opening.remove(at)) {
            return Some(Task::Open(opening));
        }
        if self.answers.iter().filter(|answer| matches!(answer, Told::Page { .. })).count() < PAGES
            && let Some(wish) = self.page.take()
        {
            return Some(Task::Page(wish));
        }
        if let Some(opening) = self.opening.pop_front() {
            return Some(Task::Open(opening));
        }
        if let Some(wish) = self.detecting.pop_front().and_then(|key| self.detection.remove(&key)) {
            return Some(Task::Detect(wish));
        }
        self.thumbnails.pop_front().map(|(key, turn)| Task::Thumbnail(key, turn))
    }

    fn finish(&mut self, answer: Option<Told>) -> bool {
        self.under_way = None;
        match answer {
            Some(told) if !self.over && !self.closing.contains(&told.document()) => {
                self.answers.push_back(told);
                true
            }
            _ => false,
        }
    }

    fn waiting(&self) -> Waiting {
        let mut waiting = Waiting {
            opening: self.opening.len(),
            page: self.page.is_some(),
            detecting: self.detecting.len(),
            thumbnails: self.thumbnails.len(),
        };
        match self.under_way {
            Some(Task::Open(_)) => waiting.opening += 1,
            Some(Task::Page(_)) => waiting.page = true,
            Some(Task::Detect(_)) => waiting.detecting += 1,
            Some(Task::Thumbnail(..)) => waiting.thumbnails += 1,
            Some(Task::Close(_)) | None => {}
        }
        waiting
    }
}

#[cfg(test)]
#[path = "task_queue_tests.rs"]
mod tests;
