//! The thread with real files.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::Weak;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use super::super::sheets::{Sheet, Sheets};
use super::testing::{fixture, pages, pages_without};
use super::*;

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
const DOCUMENT: DocumentId = DocumentId(1);

/// Somebody with wishes, and the bell that the librarian rings.
struct Visitor {
    librarian: Librarian,
    bell: Receiver<()>,
}

impl Visitor {
    fn new() -> Self {
        let (ring, bell) = sync_channel(10_000);
        let waker = move || {
            let _ = ring.try_send(());
        };
        Self { librarian: Librarian::start(Arc::new(engine::layout::BuiltInDetector), waker).unwrap(), bell }
    }

    /// With a document opened.
    fn with(bytes: Vec<u8>) -> Self {
        let visitor = Self::new();
        visitor.open(DOCUMENT, bytes, None);
        assert!(matches!(visitor.next(), Told::Opened { document: DOCUMENT, .. }));
        visitor
    }

    fn open(&self, document: DocumentId, bytes: Vec<u8>, password: Option<&str>) {
        let source = Source::Bytes { name: "scan.pdf".to_owned(), bytes };
        self.librarian.want(Want::Open {
            document,
            source,
            password: password.map(str::to_owned),
            pdf: PdfOptions::default(),
        });
    }

    fn page(&self, page: usize, dpi: f32) {
        self.librarian.want(Want::Page { key: key(page), turn: Turn::None, dpi });
    }

    fn thumbnails(&self, pages: std::ops::Range<usize>) {
        self.librarian.want(Want::Thumbnails(pages.map(|page| (key(page), Turn::None)).collect()));
    }

    /// The next answer.
    fn next(&self) -> Told {
        loop {
            if let Some(told) = self.librarian.told() {
                return told;
            }
            self.bell.recv_timeout(PATIENCE).unwrap();
        }
    }

    /// Hears everything until nothing is left to do.
    fn drain(&self) -> Vec<Told> {
        let until = Instant::now() + PATIENCE;
        let mut all = Vec::new();
        while self.librarian.waiting() != Waiting::default() {
            assert!(Instant::now() < until, "it takes too long");
            all.extend(std::iter::from_fn(|| self.librarian.told()));
            let _ = self.bell.recv_timeout(Duration::from_millis(20));
        }
        all.extend(std::iter::from_fn(|| self.librarian.told()));
        all
    }
}

fn key(page: usize) -> PageKey {
    PageKey { document: DOCUMENT, page }
}

#[test]
fn the_page_looked_at_overtakes_thumbnails() {
    let visitor = Visitor::with(pages(200));
    visitor.thumbnails(0..200);
    assert!(matches!(visitor.next(), Told::Thumbnail { key, .. } if key.page == 0));
    visitor.page(150, 72.0);
    let told = visitor.drain();
    let at = told.iter().position(|told| matches!(told, Told::Page { key, .. } if key.page == 150)).unwrap();
    assert!(at <= 65, "after those that lay unread and the one under way, not after {at}");
    let thumbnails: Vec<usize> = told
        .iter()
        .filter_map(|told| if let Told::Thumbnail { key, .. } = told { Some(key.page) } else { None })
        .collect();
    assert_eq!(thumbnails, (1..200).collect::<Vec<_>>(), "the others go on, in order");
}

#[test]
fn a_thousand_pages_open_at_once_and_memory_stays_flat() {
    let visitor = Visitor::new();
    visitor.open(DOCUMENT, pages(1000), None);
    visitor.thumbnails(0..1000);
    visitor.page(0, 72.0);
    assert!(matches!(visitor.next(), Told::Opened { page_count: 1000, .. }));
    let Told::Page { pyramid, asked_dpi, dpi, skew_degrees, notice, .. } = visitor.next() else { panic!("no page") };
    assert_eq!((pyramid.size(), asked_dpi, dpi, skew_degrees, notice), ([200, 100], 72.0, Some(72.0), 0.0, None));
    drop(pyramid);
    visitor.librarian.want(Want::Thumbnails(Vec::new()));
    visitor.drain();

    let mut sheets = Sheets::default();
    let mut ever: Vec<Weak<Pyramid>> = Vec::new();
    for page in 0..60 {
        visitor.page(page, 72.0);
        for told in visitor.drain() {
            let Told::Page { key, turn, asked_dpi, pyramid, .. } = told else { panic!("only pages were wanted") };
            ever.push(Arc::downgrade(&pyramid));
            sheets.keep_full(key, Sheet { turn, dpi: asked_dpi as u32, pyramid });
        }
        let kept = (0..60).filter(|page| sheets.full(key(*page)).is_some()).count();
        let live = ever.iter().filter(|pyramid| pyramid.strong_count() > 0).count();
        assert!(kept == live && live <= 3, "{kept} kept, {live} in memory");
    }
    assert_eq!(ever.len(), 60);
}

#[test]
fn a_password_is_asked_for_until_it_fits() {
    for name in ["user-rc4.pdf", "user-aes256.pdf"] {
        let visitor = Visitor::new();
        visitor.open(DOCUMENT, fixture(name), None);
        assert!(matches!(visitor.next(), Told::Locked { document: DOCUMENT, wrong: false }));
        visitor.open(DOCUMENT, fixture(name), Some("sesame"));
        assert!(matches!(visitor.next(), Told::Locked { document: DOCUMENT, wrong: true }));
        visitor.open(DOCUMENT, fixture(name), Some("open sesame"));
        assert!(matches!(visitor.next(), Told::Opened { document: DOCUMENT, page_count: 1 }));
        // Other documents take its place; it is opened again with its password.
        (2..8).for_each(|id| visitor.open(DocumentId(id), pages(1), None));
        visitor.drain();
        visitor.page(0, 72.0);
        assert!(matches!(visitor.next(), Told::Page { pyramid, .. } if pyramid.size() == [200, 100]), "{name}");
    }
}

#[test]
fn a_bad_file_or_page_stops_nothing_else() {
    let visitor = Visitor::new();
    visitor.open(DOCUMENT, b"%PDF-1.7\nnothing else".to_vec(), None);
    assert!(matches!(visitor.next(), Told::Failed { document: DOCUMENT, message }
        if message == "scan.pdf is damaged: it is not a readable PDF; copy or download it again"));
    visitor.librarian.want(Want::Open {
        document: DOCUMENT,
        source: Source::Path("no/such/scan.pdf".into()),
        password: None,
        pdf: PdfOptions::default(),
    });
    assert!(matches!(visitor.next(), Told::Failed { message, .. }
        if message == "scan.pdf cannot be read: there is no such file"));

    visitor.open(DOCUMENT, pages_without(3, &[1]), None);
    assert!(matches!(visitor.next(), Told::Opened { page_count: 3, .. }));
    let sentence = "page 2 of scan.pdf cannot be shown: its content is damaged";
    let is_sentence =
        |told: &Told| matches!(told, Told::PageFailed { key, message } if key.page == 1 && message == sentence);
    visitor.page(1, 72.0);
    assert!(is_sentence(&visitor.next()));
    visitor.page(2, 72.0);
    assert!(matches!(visitor.next(), Told::Page { key, .. } if key.page == 2));
    for page in 0..3 {
        visitor.librarian.want(Want::Detect { key: key(page), turn: Turn::None, dpi: 150.0 });
    }
    let told = visitor.drain();
    assert!(matches!(&told[0], Told::Detected { regions, .. } if !regions.is_empty()));
    assert!(is_sentence(&told[1]));
    assert!(matches!(&told[2], Told::Detected { size: [417, 208], .. }));
    visitor.thumbnails(0..3);
    let told = visitor.drain();
    assert!(is_sentence(&told[1]) && told.len() == 3);
    assert!(matches!(&told[2], Told::Thumbnail { image, .. } if image.size == [256, 128]));
    visitor.page(3, 72.0);
    assert!(matches!(visitor.next(), Told::PageFailed { message, .. }
        if message == "scan.pdf has no page 4; its last page is 3"));
}

#[test]
fn paging_fast_and_closing_midway_is_safe() {
    let visitor = Visitor::with(pages(100));
    visitor.thumbnails(0..100);
    (0..50).for_each(|page| visitor.page(page, 100.0 + page as f32));
    let told = visitor.drain();
    let drawn: Vec<usize> =
        told.iter().filter_map(|told| if let Told::Page { key, .. } = told { Some(key.page) } else { None }).collect();
    assert_eq!(drawn.last(), Some(&49), "the last wish is answered");
    assert!(drawn.is_sorted(), "and what was answered before was asked for before");

    visitor.thumbnails(0..100);
    for page in 0..50 {
        visitor.page(page, 150.0);
        visitor.librarian.want(Want::Detect { key: key(page), turn: Turn::None, dpi: 150.0 });
    }
    visitor.librarian.want(Want::Close(DOCUMENT));
    assert!(visitor.librarian.told().is_none());
    // What comes too late is not answered, and does not open it again.
    visitor.page(3, 150.0);
    visitor.thumbnails(3..5);
    visitor.open(DocumentId(2), pages(2), None);
    assert!(visitor.drain().iter().all(|told| told.document() == DocumentId(2)));
}

#[test]
fn dropping_it_waits_for_nothing() {
    for wanted in [0, 1, 200] {
        let visitor = Visitor::with(pages(200));
        visitor.thumbnails(0..wanted);
        let begin = Instant::now();
        let watched = Arc::downgrade(&visitor.librarian.queue);
        drop(visitor.librarian);
        assert!(begin.elapsed() < Duration::from_secs(1));
        // The thread ends, also one that waits for room for its answers.
        while watched.strong_count() > 0 {
            assert!(begin.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_page_turned_by_hand_is_detected_as_it_is_seen() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/samples/gravity-sample.pdf");
    let visitor = Visitor::with(std::fs::read(sample).unwrap());
    let detected = |turn| {
        visitor.librarian.want(Want::Detect { key: key(0), turn, dpi: 100.0 });
        let Told::Detected { size, regions, turn: told, .. } = visitor.next() else { panic!("no regions") };
        assert_eq!(told, turn);
        assert!(!regions.is_empty());
        for region in &regions {
            assert!(region.bounds.x1 <= size[0] && region.bounds.y1 <= size[1] && !region.bounds.is_empty());
        }
        (size, regions)
    };
    let ([width, height], upright) = detected(Turn::None);
    assert!(width < height && upright.len() > 5);
    let ([turned_width, turned_height], turned) = detected(Turn::Right);
    assert_eq!((turned_width, turned_height), (height, width));
    assert!(turned.iter().any(|region| region.bounds.x1 > width), "they fill the turned page");
}

#[test]
fn detection_and_thumbnail_use_the_page_at_hand() {
    let visitor = Visitor::with(pages(2));
    visitor.page(0, 300.0);
    let Told::Page { pyramid, .. } = visitor.next() else { panic!("no page") };
    let before = Arc::strong_count(&pyramid);
    for _ in 0..2 {
        visitor.page(0, 300.0);
        assert!(matches!(visitor.next(), Told::Page { pyramid: again, .. } if Arc::ptr_eq(&again, &pyramid)));
    }
    visitor.librarian.want(Want::Detect { key: key(0), turn: Turn::None, dpi: 300.0 });
    assert!(matches!(visitor.next(), Told::Detected { size, .. } if size == pyramid.size()));
    visitor.thumbnails(0..1);
    assert!(matches!(visitor.next(), Told::Thumbnail { image, .. } if image.size == [256, 128]));
    assert_eq!(Arc::strong_count(&pyramid), before);
    // Another resolution or turn is another page.
    visitor.page(0, 200.0);
    assert!(matches!(visitor.next(), Told::Page { pyramid: other, .. } if other.size() == [556, 278]));
    visitor.librarian.want(Want::Page { key: key(0), turn: Turn::Left, dpi: 300.0 });
    assert!(matches!(visitor.next(), Told::Page { pyramid: other, .. } if other.size() == [417, 833]));
}
