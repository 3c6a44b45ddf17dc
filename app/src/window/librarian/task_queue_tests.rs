#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use engine::document::Turn;

use super::*;
use crate::window::workspace::settings::PdfOptions;

fn key(document: u64, page: usize) -> PageKey {
    PageKey { document: DocumentId(document), page }
}

fn open(document: u64) -> Want {
    let source = Source::Bytes { name: "a.pdf".to_owned(), bytes: Vec::new() };
    Want::Open { document: DocumentId(document), source, password: None, pdf: PdfOptions::default() }
}

fn page(document: u64, page: usize) -> Want {
    Want::Page { key: key(document, page), turn: Turn::None, dpi: 200.0 }
}

fn detect(document: u64, page: usize, dpi: f32) -> Want {
    Want::Detect { key: key(document, page), turn: Turn::None, dpi }
}

fn thumbnails(document: u64, pages: std::ops::Range<usize>) -> Want {
    Want::Thumbnails(pages.map(|page| (key(document, page), Turn::None)).collect())
}

fn failed(document: u64, page: usize) -> Option<Told> {
    Some(Told::PageFailed { key: key(document, page), message: String::new() })
}

fn drawn(document: u64, page: usize) -> Option<Told> {
    let pyramid = Arc::new(image::RgbImage::new(1, 1).into());
    Some(Told::Page {
        key: key(document, page),
        turn: Turn::None,
        asked_dpi: 200.0,
        dpi: None,
        skew_degrees: 0.0,
        notice: None,
        pyramid,
    })
}

fn thumbnail(document: u64, page: usize) -> Option<Told> {
    Some(Told::Thumbnail { key: key(document, page), turn: Turn::None, image: Arc::default() })
}

impl Tasks {
    /// Begins the next task, and says what it is.
    fn begin(&mut self) -> String {
        let Some(task) = self.take() else { return "nothing".to_owned() };
        self.under_way = Some(task.clone());
        match task {
            Task::Close(document) => format!("close {}", document.0),
            Task::Open(opening) => format!("open {}", opening.document.0),
            Task::Page(wish) => format!("page {}.{}", wish.key.document.0, wish.key.page),
            Task::Detect(wish) => format!("detect {}.{} at {}", wish.key.document.0, wish.key.page, wish.dpi),
            Task::Thumbnail(key, _) => format!("thumbnail {}.{}", key.document.0, key.page),
        }
    }

    /// All that is to be done, in order.
    fn all(&mut self) -> Vec<String> {
        let tasks = std::iter::from_fn(|| {
            let task = self.begin();
            self.finish(None);
            (task != "nothing").then_some(task)
        });
        tasks.collect()
    }
}

#[test]
fn the_most_urgent_is_done_first() {
    let mut tasks = Tasks::default();
    for want in [
        thumbnails(1, 0..2),
        detect(1, 8, 200.0),
        detect(1, 9, 200.0),
        open(2),
        open(3),
        page(1, 4),
        page(1, 5),
        Want::Close(DocumentId(9)),
        detect(1, 8, 300.0),
        thumbnails(1, 1..3),
    ] {
        tasks.want(want);
    }
    let waiting = Waiting { opening: 2, page: true, detecting: 2, thumbnails: 2 };
    assert_eq!(tasks.waiting(), waiting);
    // The newest page, the newest way to detect, the newest list.
    let expected = [
        "close 9",
        "page 1.5",
        "open 2",
        "open 3",
        "detect 1.8 at 300",
        "detect 1.9 at 200",
        "thumbnail 1.1",
        "thumbnail 1.2",
    ];
    assert_eq!(tasks.all(), expected);
    assert_eq!(tasks.waiting(), Waiting::default());
}

#[test]
fn a_page_waits_for_its_own_document_only() {
    let mut tasks = Tasks::default();
    (1..=4).map(open).for_each(|want| tasks.want(want));
    tasks.want(page(3, 0));
    assert_eq!(tasks.all(), ["open 3", "page 3.0", "open 1", "open 2", "open 4"]);
}

#[test]
fn a_closed_document_takes_everything_along() {
    let mut tasks = Tasks::default();
    tasks.want(thumbnails(1, 0..9));
    assert_eq!(tasks.begin(), "thumbnail 1.0");
    assert!(tasks.finish(thumbnail(1, 0)));
    assert_eq!(tasks.begin(), "thumbnail 1.1");
    for document in [1, 2] {
        [open(document), page(document, 7), detect(document, 3, 200.0)].into_iter().for_each(|want| tasks.want(want));
    }
    tasks.want(Want::Close(DocumentId(1)));
    assert!(tasks.answers.is_empty(), "not even what was answered before");
    assert!(!tasks.finish(thumbnail(1, 1)), "nor what was under way");
    // Opened again, it is told about again.
    tasks.want(open(1));
    assert_eq!(tasks.all(), ["close 1", "open 2", "page 2.7", "open 1", "detect 2.3 at 200"]);
    assert!(tasks.finish(failed(1, 0)));
    tasks.want(Want::Close(DocumentId(2)));
    assert_eq!(tasks.answers.len(), 1);
}

#[test]
fn unread_answers_hold_the_work_up_and_pages_among_them_first() {
    let mut tasks = Tasks::default();
    for at in 0..PAGES {
        tasks.want(page(1, at));
        assert_eq!(tasks.begin(), format!("page 1.{at}"));
        tasks.finish(drawn(1, at));
    }
    tasks.want(page(1, 30));
    tasks.want(thumbnails(1, 0..100));
    for at in 0..ANSWERS - PAGES {
        assert_eq!(tasks.begin(), format!("thumbnail 1.{at}"));
        tasks.finish(thumbnail(1, at));
    }
    assert_eq!(tasks.begin(), "nothing");
    tasks.want(Want::Close(DocumentId(5)));
    assert_eq!(tasks.begin(), "close 5", "which has no answer");
    tasks.finish(None);
    assert!(matches!(tasks.answers.pop_front().unwrap(), Told::Page { .. }));
    assert_eq!(tasks.begin(), "page 1.30");
    tasks.finish(drawn(1, 30));
    assert_eq!(tasks.begin(), "nothing");
}

#[test]
fn what_is_drawn_already_is_not_drawn_again() {
    let mut tasks = Tasks::default();
    tasks.want(thumbnails(1, 0..4));
    tasks.begin();
    tasks.finish(thumbnail(1, 0));
    tasks.begin();
    tasks.want(thumbnails(1, 0..4));
    assert_eq!(tasks.waiting().thumbnails, 3, "one of them under way");
    tasks.finish(thumbnail(1, 1));
    tasks.want(page(1, 6));
    assert_eq!(tasks.begin(), "page 1.6");
    tasks.want(page(1, 7));
    tasks.want(page(1, 6));
    tasks.finish(None);
    assert_eq!(tasks.all(), ["thumbnail 1.2", "thumbnail 1.3"]);
    // Turned, it is another picture.
    tasks.want(Want::Thumbnails(vec![(key(1, 0), Turn::Right)]));
    assert_eq!(tasks.all(), ["thumbnail 1.0"]);
}

#[test]
fn cancelled_detection_leaves_the_rest() {
    let mut tasks = Tasks::default();
    (0..5).for_each(|at| tasks.want(detect(1, at, 200.0)));
    tasks.want(page(1, 0));
    tasks.want(Want::CancelDetection);
    tasks.want(detect(1, 3, 150.0));
    assert_eq!(tasks.all(), ["page 1.0", "detect 1.3 at 150"]);
}

#[test]
fn a_closed_desk_ends_the_work() {
    let queue = TaskQueue::default();
    queue.want(page(1, 0));
    assert!(queue.next().is_some());
    queue.want(page(1, 1));
    queue.close();
    assert!(!queue.finish(drawn(1, 0)));
    assert!(queue.next().is_none() && queue.told().is_none());
}
