//! PDF pages by pdfium, whose library is looked for at run time.

use std::env;
use std::io::Cursor;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::thread;

use image::RgbImage;
use pdfium_render::prelude::*;

use super::contain::Exclusive;
use super::error::Fault;
use super::pdf::{Grid, Library, OpenPdf};
use super::{Bytes, Limits, PageRaster};

/// Names the folder (or the file) of pdfium's library.
const VARIABLE: &str = "GRAVITYOCR_PDFIUM";

/// The library, once found. It can be bound only once per process.
static LIBRARY: OnceLock<Pdfium> = OnceLock::new();

/// Every call of pdfium takes one lock, so that one which hangs would keep all others waiting.
static IN_TURN: LazyLock<Arc<Exclusive>> = LazyLock::new(Arc::default);

/// pdfium, if its library is found: where the user says, beside the executable, where the environment says, or among
/// the system's. A later call looks again, since the setting may have changed.
pub(super) fn library(configured: Option<&Path>) -> Option<&'static Pdfium> {
    static SEARCH: Mutex<()> = Mutex::new(());
    let _one_at_a_time = SEARCH.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pdfium) = LIBRARY.get() {
        return Some(pdfium);
    }
    let beside = env::current_exe().ok().and_then(|exe| exe.parent().map(Path::to_owned));
    let variable = env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    let bindings = [configured.map(Path::to_owned), beside, variable]
        .into_iter()
        .flatten()
        .map(|place| if place.is_file() { place } else { Pdfium::pdfium_platform_library_name_at_path(&place) })
        .filter(|file| file.is_file())
        .find_map(|file| Pdfium::bind_to_library(file).ok())
        .or_else(system_library)?;
    Some(LIBRARY.get_or_init(|| Pdfium::new(bindings)))
}

/// The system's library. Windows would look into the current folder too, where a stranger's files may lie.
fn system_library() -> Option<Box<dyn PdfiumLibraryBindings>> {
    if cfg!(windows) { None } else { Pdfium::bind_to_system_library().ok() }
}

impl Library for &'static Pdfium {
    fn open(&self, bytes: &Bytes, password: Option<&str>, limits: &Limits) -> Result<Box<dyn OpenPdf>, Fault> {
        let password = password.filter(|password| !password.is_empty()).map(str::to_owned);
        let (library, bytes) = (*self, bytes.clone());
        let opened = IN_TURN.run(limits.max_time, move || {
            let load = |password: Option<&str>| library.load_pdf_from_reader(Cursor::new(bytes.clone()), password);
            // A file that opens without a password opens with any.
            let document = load(password.as_deref())
                .or_else(|error| if password.is_some() { load(None).map_err(|_| error) } else { Err(error) })
                .map_err(|error| fault(&error, password.is_some()))?;
            let page_count = usize::try_from(document.pages().len()).unwrap_or_default();
            Ok(PdfiumPages { document: Some(Arc::new(document)), page_count })
        })?;
        Ok(Box::new(opened))
    }
}

struct PdfiumPages {
    /// There until it is dropped.
    document: Option<Arc<PdfDocument<'static>>>,
    page_count: usize,
}

impl OpenPdf for PdfiumPages {
    fn page_count(&self) -> usize {
        self.page_count
    }

    fn render(&self, page: usize, dpi: f32, limits: &Limits) -> Result<PageRaster, Fault> {
        let (document, own_limits) = (self.document.clone().ok_or(Fault::NoPages)?, limits.clone());
        IN_TURN.run(limits.max_time, move || draw(&document, page, dpi, &own_limits))
    }
}

impl Drop for PdfiumPages {
    /// Closing a file takes pdfium's lock, too, for which nobody is to wait: a thread of its own does. Without one the
    /// file stays open.
    fn drop(&mut self) {
        let Some(document) = self.document.take().map(ManuallyDrop::new) else { return };
        let close = move || drop(ManuallyDrop::into_inner(document));
        let _ = thread::Builder::new().name("close document".to_owned()).spawn(close);
    }
}

fn fault(error: &PdfiumError, password_given: bool) -> Fault {
    use PdfiumInternalError::{PasswordError, SecurityError};
    match error {
        PdfiumError::PdfiumLibraryInternalError(PasswordError) => Fault::Locked { given: password_given },
        PdfiumError::PdfiumLibraryInternalError(SecurityError) => {
            Fault::Broken("its encryption is not a known one".to_owned())
        }
        _ => Fault::Broken("it is not a readable PDF".to_owned()),
    }
}

fn draw(document: &PdfDocument<'_>, index: usize, dpi: f32, limits: &Limits) -> Result<PageRaster, Fault> {
    let damaged = |_: PdfiumError| Fault::Broken("its content is damaged".to_owned());
    let number = PdfPageIndex::try_from(index).map_err(|_| Fault::NoPages)?;
    let page = document.pages().get(number).map_err(damaged)?;
    let grid = Grid::of(page.width().value, page.height().value, dpi, limits)?;
    let too_large = || Fault::TooLarge { width: grid.width, height: grid.height };
    let (width, height) = (grid.width as Pixels, grid.height as Pixels);
    let mut bitmap = PdfBitmap::empty(width, height, PdfBitmapFormat::BGRx).map_err(|_| too_large())?;
    let config = PdfRenderConfig::new().set_fixed_size(width, height).set_reverse_byte_order(true);
    page.render_into_bitmap_with_config(&mut bitmap, &config).map_err(damaged)?;
    // Reversed, so the bytes are R, G, B and one unused.
    let rgbx = bitmap.as_raw_bytes();
    drop(bitmap);
    let mut pixels = Vec::with_capacity(grid.width as usize * grid.height as usize * 3);
    for row in rgbx.chunks_exact((rgbx.len() / grid.height as usize).max(1)) {
        pixels.extend(row.chunks_exact(4).take(grid.width as usize).flat_map(|pixel| &pixel[..3]));
    }
    let pixels = RgbImage::from_raw(grid.width, grid.height, pixels).ok_or_else(too_large)?;
    Ok(PageRaster { pixels, dpi: Some(grid.dpi), notice: grid.notice(index, limits) })
}
