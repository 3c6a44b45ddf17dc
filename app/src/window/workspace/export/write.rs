//! The thread that writes an export, page by page. Files appear whole, pictures and document together, or not at all.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use engine::document::Document as Opened;
use engine::export::{DocumentWriter, ExportOptions, Format, PageOutcome, figure_file_name, is_figure};
use engine::job::Source;
use engine::page::{PageResult, Status};
use engine::pipeline::{Sheet, sheet};
use engine::region::{Label, Rect, Role};

use super::{ExportForm, Exported, Scope};
use crate::output::{Figures, PendingFile, Unwritten, place_together};
use crate::results::images_folder;
use crate::window::workspace::background_task::BackgroundTask;
use crate::window::workspace::notice::Notice;
use crate::window::workspace::project::{Document, Page};
use crate::window::workspace::project_file::is_source;
use crate::window::workspace::result::page_outcome;
use crate::window::workspace::settings::{PdfOptions, Settings};

/// An export that is being written.
pub(crate) struct Exporting {
    name: String,
    progress: Arc<Progress>,
    task: BackgroundTask<Exported>,
}

#[derive(Debug, Default)]
struct Progress {
    done: AtomicUsize,
    total: usize,
    cancelled: AtomicBool,
}

impl Exporting {
    /// Pages done, and all pages.
    pub(crate) fn progress(&self) -> (usize, usize) {
        (self.progress.done.load(Ordering::Relaxed), self.progress.total)
    }

    /// The file's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Stops it.
    pub(crate) fn cancel(&self) {
        self.progress.cancelled.store(true, Ordering::Relaxed);
    }

    /// How it ended, once.
    pub(crate) fn done(&self) -> Option<Result<Exported, String>> {
        self.task.done()
    }

    #[cfg(test)]
    pub(crate) fn wait(&self) -> Result<Exported, String> {
        self.task.wait()
    }
}

/// Starts the thread.
pub(super) fn start(
    form: ExportForm,
    document: &Document,
    settings: &Settings,
    waker: impl Fn() + Send + Sync + 'static,
) -> Exporting {
    let target = form.target().unwrap_or_default();
    let name = target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let total = range(document, form.scope, form.page).len();
    let progress = Arc::new(Progress { total, ..Progress::default() });
    let waker = Arc::new(waker);
    let work = Work {
        form,
        document: document.clone(),
        dpi: settings.dpi,
        pdf: settings.pdf(),
        progress: Arc::clone(&progress),
        waker: Arc::clone(&waker) as Arc<dyn Fn() + Send + Sync>,
    };
    Exporting { name, progress, task: BackgroundTask::start("export", move || waker(), move || work.run()) }
}

fn range(document: &Document, scope: Scope, page: Option<usize>) -> std::ops::Range<usize> {
    match (scope, page) {
        (Scope::Page, Some(page)) => page..(page + 1).min(document.pages.len()).max(page),
        _ => 0..document.pages.len(),
    }
}

/// Whether there is anything to write.
pub(crate) fn is_read(document: &Document, scope: Scope, page: Option<usize>) -> bool {
    let pages = document.pages.get(range(document, scope, page)).unwrap_or_default();
    pages.iter().any(|page| {
        page.error.is_some() || page.regions.iter().any(|region| region.read.is_some() || region.edit.is_some())
    })
}

/// The first of `name.md`, `name (2).md`, ... of which neither the file nor its pictures are there.
pub(super) fn free(plain: &Path) -> PathBuf {
    numbered(plain).find(|path| !is_there(path, true)).unwrap_or_else(|| plain.to_path_buf())
}

fn numbered(plain: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    let part = |part: Option<&std::ffi::OsStr>| part.map(OsString::from).unwrap_or_default();
    (1..10_000).map(move |number| {
        if number == 1 {
            return plain.to_path_buf();
        }
        let mut name = part(plain.file_stem());
        name.push(format!(" ({number})."));
        name.push(part(plain.extension()));
        plain.with_file_name(name)
    })
}

fn is_there(target: &Path, with_images: bool) -> bool {
    let there = |path: &Path| path.symlink_metadata().is_ok();
    there(target) || (with_images && there(&target.with_file_name(images_folder(target))))
}

/// Files that are being written: two exports never take the same.
static TAKEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// A name that is taken as long as this lives.
struct Claim {
    target: PathBuf,
    key: String,
}

impl Claim {
    fn new(target: PathBuf) -> Option<Self> {
        // Names that differ in case only are one file on the usual systems of Windows and macOS.
        let key = std::path::absolute(&target).unwrap_or_else(|_| target.clone()).to_string_lossy().to_lowercase();
        let is_new = TAKEN.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone());
        is_new.then_some(Self { target, key })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        TAKEN.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

struct Work {
    form: ExportForm,
    document: Document,
    dpi: u32,
    pdf: PdfOptions,
    progress: Arc<Progress>,
    waker: Arc<dyn Fn() + Send + Sync>,
}

/// Pictures are wanted, and these are those kept so far.
struct Pictures {
    figures: Figures,
    cutter: Cutter,
}

impl Work {
    fn run(&self) -> Result<Exported, String> {
        let form = &self.form;
        let Some(target) = form.target() else { return Err(Notice::NoName.into()) };
        if is_source(&self.document.source, &target) {
            return Err(Notice::IsSource { path: target }.into());
        }
        if let Some(folder) = target.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
            return Err(Notice::NoSuchFolder { folder: folder.to_path_buf() }.into());
        }
        let with_images = form.figures && form.shows_figures();
        let exists = || Exported::Exists(ExportForm { exists: true, replace: false, ..form.clone() });
        // First the name is taken, then looked at: so two exports cannot both find it free.
        let claim = if form.proposed {
            let free = numbered(&target).filter_map(Claim::new).find(|claim| !is_there(&claim.target, with_images));
            free.ok_or_else(|| Notice::BeingWritten { path: target.clone() })?
        } else {
            let claim = Claim::new(target.clone()).ok_or_else(|| Notice::BeingWritten { path: target.clone() })?;
            if !form.may_replace() && is_there(&target, with_images) {
                return Ok(exists());
            }
            claim
        };
        match self.write(&claim.target, with_images) {
            Err(Stop::Exists) => Ok(exists()),
            Err(Stop::Cancelled) => Ok(Exported::Cancelled),
            Err(Stop::Fault(sentence)) => Err(sentence),
            Ok(left_out) => Ok(Exported::Written { path: claim.target.clone(), left_out }),
        }
    }

    fn write(&self, target: &Path, with_images: bool) -> Result<Vec<String>, Stop> {
        let form = &self.form;
        let replace = form.may_replace();
        let stop = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Stop::Exists,
            _ => Stop::Fault(Notice::unwritten(target.to_path_buf(), &error).into()),
        };
        let folder = images_folder(target);
        let mut pictures = with_images.then(|| Pictures {
            figures: Figures::beside(target, &folder, replace),
            cutter: Cutter::new(&self.document, self.dpi, self.pdf.clone()),
        });
        let options = ExportOptions {
            furniture: form.furniture,
            images: with_images.then(|| folder.clone()),
            pipe_tables: form.pipe_tables,
        };
        let file = PendingFile::create(target, replace).map_err(stop)?;
        let mut writer = DocumentWriter::new(file, form.format, &self.document.name, options).map_err(stop)?;
        let mut left_out = Vec::new();
        let mut written = 0;
        for index in range(&self.document, form.scope, form.page) {
            self.check()?;
            let page = self.document.pages.get(index);
            match page.and_then(|page| page_outcome(page, index, form.format == Format::Json)) {
                None => {}
                Some(PageOutcome::Failed { index, message }) => {
                    writer.failed_page(index, &message).map_err(stop)?;
                    written += 1;
                }
                Some(PageOutcome::Page(mut result)) => {
                    if let (Some(pictures), Some(page)) = (&mut pictures, page) {
                        left_out.extend(pictures.cut(page, &mut result, form.furniture)?);
                    }
                    writer.page(&result).map_err(stop)?;
                    written += 1;
                }
            }
            self.progress.done.fetch_add(1, Ordering::Relaxed);
            (self.waker)();
        }
        self.check()?;
        if written == 0 {
            return Err(Stop::Fault(Notice::NothingRead.into()));
        }
        let file = writer.finish().map_err(stop)?;
        // The document comes last: once it is there, everything that it refers to is there.
        place_together(|placement| {
            pictures.map_or(Ok(()), |pictures| pictures.figures.place_with(placement))?;
            file.place_with(placement)
        })?;
        Ok(left_out)
    }

    fn check(&self) -> Result<(), Stop> {
        if self.progress.cancelled.load(Ordering::Relaxed) { Err(Stop::Cancelled) } else { Ok(()) }
    }
}

/// Why the writing ended early.
enum Stop {
    Cancelled,
    Exists,
    Fault(String),
}

impl From<Unwritten> for Stop {
    fn from(fault: Unwritten) -> Self {
        if fault.is_taken() { Stop::Exists } else { Stop::Fault(fault.to_string()) }
    }
}

impl Pictures {
    /// Keeps the page's pictures; a sentence when they cannot be had, and then the document says so at their places.
    fn cut(&mut self, page: &Page, result: &mut PageResult, furniture: bool) -> Result<Option<String>, Stop> {
        let wanted: Vec<_> = result
            .regions
            .iter()
            .enumerate()
            .filter(|(_, region)| is_figure(region) && (furniture || region.region.label.role() != Role::Furniture))
            .map(|(number, region)| (number, region.region.bounds))
            .collect();
        if wanted.is_empty() {
            return Ok(None);
        }
        let mut fault = None;
        let sheet = self.cutter.sheet(result.index, page);
        for (number, bounds) in wanted {
            let png = sheet.as_ref().map_err(Clone::clone).and_then(|sheet| cut(sheet, page, bounds));
            match png {
                Ok(png) => {
                    let name = figure_file_name(result.index, number);
                    self.figures.keep(&name, &png)?;
                }
                Err(reason) => {
                    if let Some(region) = result.regions.get_mut(number) {
                        // Without a picture there is nothing to link to.
                        region.region.label = Label::Text;
                        region.status = Status::Failed(reason.clone());
                    }
                    fault = Some(Notice::LeftOut { page: result.index, reason }.into());
                }
            }
        }
        Ok(fault)
    }
}

/// Draws pages of the document, which is opened when the first is wanted.
struct Cutter {
    source: Source,
    password: Option<String>,
    dpi: u32,
    pdf: PdfOptions,
    opened: Option<Result<Opened, String>>,
}

impl Cutter {
    fn new(document: &Document, dpi: u32, pdf: PdfOptions) -> Self {
        Self { source: document.source.clone(), password: document.password.clone(), dpi, pdf, opened: None }
    }

    fn sheet(&mut self, index: usize, page: &Page) -> Result<Sheet, String> {
        let source = &self.source;
        let opened = self.opened.get_or_insert_with(|| {
            let options = self.pdf.open_options(self.password.clone());
            let opened = match source {
                Source::Path(path) => Opened::open(path, &options),
                Source::Bytes { name, bytes } => Opened::from_bytes(name, bytes.clone(), &options),
            };
            opened.map_err(|error| error.to_string())
        });
        let document = opened.as_mut().map_err(|sentence| sentence.clone())?;
        sheet(document, index, page.resolution(self.dpi) as f32, page.turn).map_err(|error| error.to_string())
    }
}

/// A part of a sheet as PNG. `bounds` refer to the page as it was when it was read.
fn cut(sheet: &Sheet, page: &Page, bounds: Rect) -> Result<Vec<u8>, String> {
    let (width, height) = sheet.pixels.dimensions();
    let [was_wide, was_high] = page.size.unwrap_or([width, height]);
    let scaled = |at: u32, now: u32, was: u32| (u64::from(at) * u64::from(now) / u64::from(was.max(1))) as u32;
    let bounds = Rect::new(
        scaled(bounds.x0, width, was_wide),
        scaled(bounds.y0, height, was_high),
        scaled(bounds.x1, width, was_wide),
        scaled(bounds.y1, height, was_high),
    );
    let b = bounds.clamped(width, height);
    if b.is_empty() {
        return Err(Notice::EmptyPicture.into());
    }
    let part = image::imageops::crop_imm(&sheet.pixels, b.x0, b.y0, b.width(), b.height()).to_image();
    let mut png = std::io::Cursor::new(Vec::new());
    part.write_to(&mut png, image::ImageFormat::Png).map_err(|error| error.to_string())?;
    Ok(png.into_inner())
}
