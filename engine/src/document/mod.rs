//! Open a file, know its pages, rasterise one at a time. Nothing of a rendered page is kept.

mod contain;
mod error;
mod hayro;
mod ifd;
mod jpeg;
mod pdf;
mod pdfium;
mod picture;
mod reduce;
mod resolution;
mod selection;
mod sniff;
mod tiff;
mod tiff_chunk;
mod turn;

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod testing;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use image::RgbImage;

pub use error::DocumentError;
pub use selection::{SelectionError, parse_pages};
pub use turn::Turn;

use error::Fault;
use pdf::PdfPages;
use picture::Picture;
use sniff::FileFormat;
use tiff::TiffPages;

/// What a file may cost. Checked before memory is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Pixels of one page raster.
    pub max_pixels: u64,
    /// Pages of a document.
    pub max_pages: usize,
    /// Bytes of a file.
    pub max_file_bytes: u64,
    /// Time that opening a file or rasterising a page may take.
    pub max_time: Duration,
}

impl Default for Limits {
    /// A2 at 400 dpi has 62 megapixels and is read as it is; A4 at 1200 dpi has 139 and is reduced.
    fn default() -> Self {
        Self {
            max_pixels: 120_000_000,
            max_pages: 50_000,
            max_file_bytes: 2_000_000_000,
            max_time: Duration::from_secs(180),
        }
    }
}

/// Which program draws the pages of a PDF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PdfRenderer {
    /// pdfium when its library is found, else hayro.
    #[default]
    Best,
    /// pdfium or nothing: an error when its library is not found.
    Pdfium,
    /// hayro, which is built in.
    Hayro,
}

/// How to open a file.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The password of a protected PDF. Without one the empty password is tried.
    pub password: Option<String>,
    /// The folder where pdfium's library lies, or the library itself, when the user configured one.
    pub pdfium_dir: Option<PathBuf>,
    /// Which program draws the pages of a PDF.
    pub pdf_renderer: PdfRenderer,
    /// What the file may cost.
    pub limits: Limits,
}

/// One page as pixels.
#[derive(Clone, PartialEq)]
pub struct PageRaster {
    /// The pixels, upright as the file says, on white.
    pub pixels: RgbImage,
    /// Their resolution in dots per inch: the one asked for (or reduced to) for a PDF, the one that the file names for
    /// an image, where it is a believable one. It never changes what is recognized.
    pub dpi: Option<f32>,
    /// What the user should know about this page, in one sentence.
    pub notice: Option<String>,
}

impl fmt::Debug for PageRaster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (width, height) = self.pixels.dimensions();
        write!(f, "PageRaster({width} x {height}, dpi {:?}, notice {:?})", self.dpi, self.notice)
    }
}

/// The bytes of a file, shared by the readers that need them.
#[derive(Clone)]
struct Bytes(Arc<Vec<u8>>);

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// An open file with at least one page.
pub struct Document {
    name: String,
    limits: Limits,
    rasterizer: Rasterizer,
    /// Pages that took all the time they had.
    timeouts: u32,
}

/// What draws the pages of a file.
enum Rasterizer {
    Pdf(PdfPages),
    Tiff(TiffPages),
    Picture(Picture),
}

impl Document {
    /// Opens a file. Its content decides what it is, not its name.
    ///
    /// # Errors
    /// Anything but [`DocumentError::NoSuchPage`] and the errors of single pages.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Document, DocumentError> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let unreadable = |error: io::Error| DocumentError::Unreadable { name: name.clone(), reason: reason(&error) };
        if path.is_dir() {
            return Err(unreadable(io::ErrorKind::IsADirectory.into()));
        }
        let file = File::open(path).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        let limit = options.limits.max_file_bytes;
        let too_large = |bytes| DocumentError::FileTooLarge { name: name.clone(), bytes, limit };
        if size > limit {
            return Err(too_large(size));
        }
        // Some files (pipes, /proc) have more bytes than they say.
        let mut bytes = Vec::new();
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > limit {
            return Err(too_large(bytes.len() as u64));
        }
        Self::from_bytes(&name, bytes, options)
    }

    /// Opens what is in memory already: the clipboard, an upload.
    ///
    /// # Errors
    /// As [`Document::open`].
    pub fn from_bytes(name: &str, bytes: Vec<u8>, options: &OpenOptions) -> Result<Document, DocumentError> {
        let limits = options.limits.clone();
        if bytes.is_empty() {
            return Err(DocumentError::Empty { name: name.to_owned() });
        }
        if bytes.len() as u64 > limits.max_file_bytes {
            let (bytes, limit) = (bytes.len() as u64, limits.max_file_bytes);
            return Err(DocumentError::FileTooLarge { name: name.to_owned(), bytes, limit });
        }
        let format = sniff::sniff(&bytes).map_err(|stranger| DocumentError::NotADocument {
            name: name.to_owned(),
            looks_like: stranger.looks_like,
            advice: stranger.advice,
        })?;
        let bytes = Bytes(Arc::new(bytes));
        let rasterizer = match format {
            FileFormat::Pdf => PdfPages::open(bytes, options).map(Rasterizer::Pdf),
            FileFormat::Tiff => TiffPages::open(bytes).map(Rasterizer::Tiff),
            FileFormat::Png | FileFormat::Jpeg | FileFormat::WebP | FileFormat::Bmp | FileFormat::Gif => {
                Ok(Rasterizer::Picture(Picture::new(format, bytes)))
            }
        }
        .map_err(|fault| fault.of_file(name))?;
        let document = Document { name: name.to_owned(), limits, rasterizer, timeouts: 0 };
        match document.page_count() {
            0 => Err(Fault::NoPages.of_file(name)),
            count if count > document.limits.max_pages => {
                Err(DocumentError::TooManyPages { name: name.to_owned(), count, limit: document.limits.max_pages })
            }
            _ => Ok(document),
        }
    }

    /// The file's name, without its folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many pages it has; at least one.
    pub fn page_count(&self) -> usize {
        match &self.rasterizer {
            Rasterizer::Pdf(pdf) => pdf.page_count(),
            Rasterizer::Tiff(tiff) => tiff.page_count(),
            Rasterizer::Picture(_) => 1,
        }
    }

    /// What draws its pages: `pdfium`, `hayro`, or the name of the image format.
    pub fn renderer(&self) -> &'static str {
        match &self.rasterizer {
            Rasterizer::Pdf(pdf) => pdf.renderer(),
            Rasterizer::Tiff(_) => "tiff",
            Rasterizer::Picture(picture) => picture.format(),
        }
    }

    /// Rasterises one page, counted from 0. `dpi` is for the pages of a PDF, whose own size alone decides how many
    /// pixels that makes; an image keeps its pixels.
    ///
    /// # Errors
    /// [`DocumentError::NoSuchPage`], or one of a page's: the other pages can be had all the same.
    pub fn render(&mut self, page: usize, dpi: f32) -> Result<PageRaster, DocumentError> {
        let count = self.page_count();
        if page >= count {
            return Err(DocumentError::NoSuchPage { name: self.name.clone(), page, count });
        }
        let rendered = match patience(self.limits.max_time, self.timeouts) {
            None => Err(Fault::Broken("other pages of it took too long; save the file anew".to_owned())),
            Some(max_time) => {
                let limits = Limits { max_time, ..self.limits.clone() };
                match &mut self.rasterizer {
                    Rasterizer::Pdf(pdf) => pdf.render(page, dpi, &limits),
                    Rasterizer::Tiff(tiff) => tiff.render(page, &limits),
                    Rasterizer::Picture(picture) => picture.render(&limits),
                }
            }
        };
        if matches!(rendered, Err(Fault::TimedOut(_) | Fault::Hangs { waited: Some(_) })) {
            self.timeouts += 1;
        }
        rendered.map_err(|fault| fault.of_page(&self.name, page, self.limits.max_pixels))
    }
}

/// Pages of one document that may use up their time.
const MAX_TIMEOUTS: u32 = 8;

/// The time that a page has after so many others of its document took all of theirs: half as much each time, so that a
/// document whose every page hangs costs no more than twice the limit. None when there were too many.
fn patience(limit: Duration, timeouts: u32) -> Option<Duration> {
    (timeouts < MAX_TIMEOUTS).then(|| limit / (1 << timeouts))
}

/// A system error in words that name no error code, for the frequent ones.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "you are not allowed to read it".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder; open the files in it".to_owned(),
        _ => error.to_string(),
    }
}
