//! What can go wrong with a file, in sentences for its owner.

use std::time::Duration;

/// Why a document or one of its pages cannot be had. Pages are counted from 1 in the sentences and from 0 in the fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// The system would not hand the file over.
    #[error("{name} cannot be read: {reason}")]
    Unreadable {
        /// The file's name.
        name: String,
        /// The system's reason.
        reason: String,
    },
    /// No bytes.
    #[error("{name} is empty (0 bytes); copy or download it again")]
    Empty {
        /// The file's name.
        name: String,
    },
    /// The content is of no kind that has pages.
    #[error("{name} is not a PDF or an image that can be read: its content looks like {looks_like}; {advice}")]
    NotADocument {
        /// The file's name.
        name: String,
        /// What the content looks like, with its article.
        looks_like: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// Larger than [`Limits::max_file_bytes`](super::Limits::max_file_bytes).
    #[error("{name} has {} MB and the limit is {} MB; split it into smaller files", megabytes(*.bytes), megabytes(*.limit))]
    FileTooLarge {
        /// The file's name.
        name: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// A PDF that does not open without a password.
    #[error("{name} is protected by a password; enter it to open the file")]
    PasswordNeeded {
        /// The file's name.
        name: String,
    },
    /// The password given does not open the PDF.
    #[error("this password does not open {name}; check it and enter it again")]
    WrongPassword {
        /// The file's name.
        name: String,
    },
    /// pdfium was asked for and its library was not found.
    #[error(
        "{name} was to be drawn by pdfium, whose library was not found; install it or choose the built-in renderer"
    )]
    PdfiumMissing {
        /// The file's name.
        name: String,
    },
    /// pdfium alone was to draw it, and hangs.
    #[error("{name} was to be drawn by pdfium, which hangs; start the program again or choose the built-in renderer")]
    PdfiumHangs {
        /// The file's name.
        name: String,
    },
    /// A sound file without any page.
    #[error("{name} has no pages")]
    NoPages {
        /// The file's name.
        name: String,
    },
    /// More pages than [`Limits::max_pages`](super::Limits::max_pages).
    #[error("{name} has {count} pages and the limit is {limit}; split it into smaller files")]
    TooManyPages {
        /// The file's name.
        name: String,
        /// Its pages.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// The file is not what it claims to be.
    #[error("{name} is damaged: {reason}; copy or download it again")]
    Damaged {
        /// The file's name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A page that the document does not have.
    #[error("{name} has no page {}; its last page is {count}", .page + 1)]
    NoSuchPage {
        /// The file's name.
        name: String,
        /// The page asked for, from 0.
        page: usize,
        /// How many there are.
        count: usize,
    },
    /// The data stop before the page is complete. Showing the first part only would look like success.
    #[error("page {} of {name} is incomplete: the file ends early; copy or download it again", .page + 1)]
    EndsEarly {
        /// The file's name.
        name: String,
        /// The page, from 0.
        page: usize,
    },
    /// An image larger than [`Limits::max_pixels`](super::Limits::max_pixels) that cannot be reduced while reading.
    #[error(
        "page {} of {name} has {width} x {height} pixels, more than the limit of {} megapixels; \
         save it smaller or cut it into parts", .page + 1, .limit / 1_000_000
    )]
    PageTooLarge {
        /// The file's name.
        name: String,
        /// The page, from 0.
        page: usize,
        /// Width, pixels.
        width: u32,
        /// Height, pixels.
        height: u32,
        /// The limit, pixels.
        limit: u64,
    },
    /// One page cannot be rasterised. Others may.
    #[error("page {} of {name} cannot be shown: {reason}", .page + 1)]
    PageFailed {
        /// The file's name.
        name: String,
        /// The page, from 0.
        page: usize,
        /// Why.
        reason: String,
    },
}

fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}

/// What a reader of one format found wrong. The document adds its name and the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The data stop too soon.
    EndsEarly,
    /// More pixels than allowed.
    TooLarge { width: u32, height: u32 },
    /// Anything else; the text completes "... cannot be shown:" or "... is damaged:".
    Broken(String),
    /// No password was given and the empty one does not open the file, or (`given`) the one given does not.
    Locked { given: bool },
    /// A sound file without pages.
    NoPages,
    /// No library of pdfium.
    NoPdfium,
    /// The time was over.
    TimedOut(Duration),
    /// The library that was to read it hangs: in this job, after so long, or in an earlier one.
    Hangs { waited: Option<Duration> },
}

impl Fault {
    /// The error of a page.
    pub(super) fn of_page(self, name: &str, page: usize, limit: u64) -> DocumentError {
        let name = name.to_owned();
        match self {
            Fault::EndsEarly => DocumentError::EndsEarly { name, page },
            Fault::TooLarge { width, height } => DocumentError::PageTooLarge { name, page, width, height, limit },
            Fault::Broken(reason) => DocumentError::PageFailed { name, page, reason },
            Fault::TimedOut(limit) => DocumentError::PageFailed { name, page, reason: too_slow("it", limit) },
            Fault::Hangs { waited } => {
                let since = waited.map_or("pdfium hangs since an earlier page".to_owned(), |waited| {
                    too_slow("pdfium hangs: it", waited)
                });
                let advice = "start the program again or choose the built-in renderer";
                DocumentError::PageFailed { name, page, reason: format!("{since}; {advice}") }
            }
            Fault::Locked { .. } | Fault::NoPages | Fault::NoPdfium => self.of_file(&name),
        }
    }

    /// The error of a whole file.
    pub(super) fn of_file(self, name: &str) -> DocumentError {
        let name = name.to_owned();
        match self {
            Fault::EndsEarly => DocumentError::Damaged { name, reason: "it ends early".to_owned() },
            Fault::TooLarge { width, height } => {
                DocumentError::Damaged { name, reason: format!("it claims {width} x {height} pixels") }
            }
            Fault::Broken(reason) => DocumentError::Damaged { name, reason },
            Fault::Locked { given: false } => DocumentError::PasswordNeeded { name },
            Fault::Locked { given: true } => DocumentError::WrongPassword { name },
            Fault::NoPages => DocumentError::NoPages { name },
            Fault::NoPdfium => DocumentError::PdfiumMissing { name },
            Fault::TimedOut(limit) => DocumentError::Damaged { name, reason: too_slow("it", limit) },
            Fault::Hangs { .. } => DocumentError::PdfiumHangs { name },
        }
    }
}

fn too_slow(what: &str, limit: Duration) -> String {
    format!("{what} takes longer than {} seconds", limit.as_secs())
}
