//! PDF pages by hayro, which is built in.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hayro::hayro_interpret::util::TransformExt;
use hayro::hayro_interpret::{InterpreterSettings, InterpreterWarning};
use hayro::hayro_syntax::content::ops::TypedInstruction;
use hayro::hayro_syntax::object::dict::keys::{BITS_PER_COMPONENT, CONTENTS, COUNT, HEIGHT, IMAGE_MASK, PARENT, WIDTH};
use hayro::hayro_syntax::object::{Dict, Stream};
use hayro::hayro_syntax::page::Page;
use hayro::hayro_syntax::{DecryptionError, LoadPdfError, Pdf, PdfData};
use hayro::kurbo::Affine;
use hayro::vello_cpu::color::palette::css::WHITE;
use hayro::vello_cpu::{Pixmap, RasterizerSettings, RenderContext, Resources, TargetInit};
use hayro::{RenderCache, RenderSettings, render_into};
use image::RgbImage;

use super::contain::contained;
use super::error::Fault;
use super::pdf::Grid;
use super::{Bytes, Limits, PageRaster};

pub(super) struct HayroPages {
    pdf: Arc<Pdf>,
    page_count: usize,
}

impl HayroPages {
    pub(super) fn open(bytes: &Bytes, password: Option<&str>, limits: &Limits) -> Result<HayroPages, Fault> {
        let given = password.is_some_and(|password| !password.is_empty());
        let password = password.unwrap_or_default().to_owned();
        let data = PdfData::from(Arc::new(bytes.clone()));
        contained(limits.max_time, move || {
            // A file that opens without a password opens with any.
            let opened = Pdf::new_with_password(data.clone(), &password)
                .or_else(|error| if given { Pdf::new_with_password(data, "").map_err(|_| error) } else { Err(error) });
            match opened {
                Ok(pdf) => {
                    Ok(HayroPages { page_count: pdf.pages().len().max(promised_pages(&pdf)), pdf: Arc::new(pdf) })
                }
                Err(LoadPdfError::Decryption(DecryptionError::PasswordProtected)) => Err(Fault::Locked { given }),
                Err(LoadPdfError::Decryption(_)) => Err(Fault::Broken("its encryption is not a known one".to_owned())),
                Err(LoadPdfError::Invalid) => Err(Fault::Broken("it is not a readable PDF".to_owned())),
            }
        })
    }

    pub(super) fn page_count(&self) -> usize {
        self.page_count
    }

    pub(super) fn render(&self, page: usize, dpi: f32, limits: &Limits) -> Result<PageRaster, Fault> {
        let (pdf, own_limits) = (Arc::clone(&self.pdf), limits.clone());
        contained(limits.max_time, move || draw(&pdf, page, dpi, &own_limits))
    }
}

/// The number of pages by the root of the page tree. hayro passes over pages that a cut file has lost; they are to be
/// pages that fail, and not to disappear.
fn promised_pages(pdf: &Pdf) -> usize {
    let Some(page) = pdf.pages().first() else { return 0 };
    let mut node = page.raw().clone();
    for _ in 0..100 {
        match node.get::<Dict<'_>>(PARENT) {
            Some(parent) => node = parent,
            None => break,
        }
    }
    node.get::<u32>(COUNT).map_or(0, |count| count as usize)
}

fn draw(pdf: &Pdf, index: usize, dpi: f32, limits: &Limits) -> Result<PageRaster, Fault> {
    let page = pdf.pages().get(index).ok_or_else(|| Fault::Broken("it is missing in the file".to_owned()))?;
    if content_is_damaged(page) {
        return Err(Fault::Broken("its content is damaged".to_owned()));
    }
    refuse_bombs(page)?;
    let (width_pt, height_pt) = page.render_dimensions();
    let grid = Grid::of(width_pt, height_pt, dpi, limits)?;
    let scale = (f64::from(grid.width) / f64::from(width_pt), f64::from(grid.height) / f64::from(height_pt));
    let (pixels, losses) = paint(page, &grid, scale)?;
    let notice = grid.notice(index, limits).or_else(|| losses.notice(index));
    Ok(PageRaster { pixels, dpi: Some(grid.dpi), notice })
}

/// Bytes that the decoded form of one image on a page may take. hayro decodes images whole, whatever their size on the
/// page; this leaves room for 25,000 x 25,000 pixels in black and white.
const MAX_IMAGE_BYTES: u64 = 1_500_000_000;

/// Refuses a page with an image that would not fit into memory.
fn refuse_bombs(page: &Page<'_>) -> Result<(), Fault> {
    let images = &page.resources().x_objects;
    for image in images.keys().filter_map(|name| images.get::<Stream<'_>>(name)) {
        let number = |key: &[u8]| image.dict().get::<u32>(key).map_or(0, u64::from);
        let (width, height) = (number(WIDTH), number(HEIGHT));
        let bilevel = number(BITS_PER_COMPONENT) == 1 || image.dict().get::<bool>(IMAGE_MASK) == Some(true);
        if width.saturating_mul(height).saturating_mul(if bilevel { 1 } else { 4 }) > MAX_IMAGE_BYTES {
            return Err(Fault::Broken(format!(
                "an image on it has {width} x {height} pixels, which takes too much memory; save it smaller"
            )));
        }
    }
    Ok(())
}

/// Whether a page has content, of which nothing can be understood. A page that is meant to be blank has none, or only
/// space.
fn content_is_damaged(page: &Page<'_>) -> bool {
    match page.page_stream() {
        None => page.raw().contains_key(CONTENTS),
        // Deflated nothing takes eight bytes.
        Some([]) => page.raw().get::<Stream<'_>>(CONTENTS).is_some_and(|stream| stream.raw_data().len() > 16),
        Some(content) => {
            let mut operations = page.typed_operations();
            let mut understood = false;
            while let (false, Some(operation)) = (understood, operations.next()) {
                understood = !matches!(operation, TypedInstruction::Fallback(_));
            }
            !understood && !content.iter().all(u8::is_ascii_whitespace)
        }
    }
}

/// What could not be drawn on a page.
#[derive(Default)]
struct Losses {
    image: AtomicBool,
    font: AtomicBool,
}

impl Losses {
    fn record(&self, warning: InterpreterWarning) {
        match warning {
            InterpreterWarning::ImageDecodeFailure => self.image.store(true, Ordering::Relaxed),
            InterpreterWarning::UnsupportedFont => self.font.store(true, Ordering::Relaxed),
            _ => {}
        }
    }

    fn notice(&self, page: usize) -> Option<String> {
        let what = if self.image.load(Ordering::Relaxed) {
            "an image on it is damaged or of an unknown kind"
        } else if self.font.load(Ordering::Relaxed) {
            "a font on it cannot be read"
        } else {
            return None;
        };
        Some(format!("page {} was drawn incompletely: {what}", page + 1))
    }
}

fn paint(page: &Page<'_>, grid: &Grid, scale: (f64, f64)) -> Result<(RgbImage, Arc<Losses>), Fault> {
    let too_large = || Fault::TooLarge { width: grid.width, height: grid.height };
    let width = u16::try_from(grid.width).map_err(|_| too_large())?;
    let height = u16::try_from(grid.height).map_err(|_| too_large())?;
    let losses = Arc::new(Losses::default());
    let sink = Arc::clone(&losses);
    let settings = InterpreterSettings {
        warning_sink: Arc::new(move |warning| sink.record(warning)),
        ..InterpreterSettings::default()
    };
    let transform = Affine::scale_non_uniform(scale.0, scale.1) * page.initial_transform(true).to_kurbo();
    let mut context = RenderContext::new(width, height);
    render_into(page, &RenderCache::new(), &settings, &RenderSettings::default(), &mut context, transform);
    context.flush();
    let mut pixmap = Pixmap::new(width, height);
    context.render_with(
        &mut pixmap,
        &mut Resources::default(),
        RasterizerSettings { target_init: TargetInit::Clear(WHITE), ..RasterizerSettings::default() },
    );
    drop(context);
    let rgb = pixmap.data().iter().flat_map(|pixel| [pixel.r, pixel.g, pixel.b]);
    let mut pixels = Vec::with_capacity(grid.width as usize * grid.height as usize * 3);
    pixels.extend(rgb);
    let pixels = RgbImage::from_raw(grid.width, grid.height, pixels).ok_or_else(too_large)?;
    Ok((pixels, losses))
}
