//! The pages of a PDF, drawn by pdfium or, without its library, by hayro.

use image::RgbImage;

use super::error::Fault;
use super::hayro::HayroPages;
use super::pdfium;
use super::{Bytes, Limits, OpenOptions, PageRaster, PdfRenderer};

/// The renderers keep what they have read of the file (pdfium) or the content of the pages they have drawn (hayro) until
/// it is closed. It is opened anew after this many pages.
const PAGES_PER_OPENING: usize = 25;

/// The library that draws PDFs where it is found.
pub(super) trait Library: Send {
    /// Opens a file.
    fn open(&self, bytes: &Bytes, password: Option<&str>, limits: &Limits) -> Result<Box<dyn OpenPdf>, Fault>;
}

/// A file that the library has opened.
pub(super) trait OpenPdf: Send {
    fn page_count(&self) -> usize;
    fn render(&self, page: usize, dpi: f32, limits: &Limits) -> Result<PageRaster, Fault>;
}

pub(super) struct PdfPages {
    bytes: Bytes,
    password: Option<String>,
    drawer: Drawer,
    /// Whether hayro may draw what the library cannot.
    may_change: bool,
    page_count: usize,
    drawn: usize,
}

/// The file as opened by one of the renderers.
enum Drawer {
    Pdfium(Box<dyn Library>, Box<dyn OpenPdf>),
    Hayro {
        pages: HayroPages,
        /// Whether it draws because pdfium hangs.
        instead: bool,
    },
}

impl PdfPages {
    pub(super) fn open(bytes: Bytes, options: &OpenOptions) -> Result<PdfPages, Fault> {
        let library = match options.pdf_renderer {
            PdfRenderer::Hayro => None,
            PdfRenderer::Best | PdfRenderer::Pdfium => pdfium::library(options.pdfium_dir.as_deref()),
        };
        Self::open_with(library.map(|library| Box::new(library) as Box<dyn Library>), bytes, options)
    }

    fn open_with(library: Option<Box<dyn Library>>, bytes: Bytes, options: &OpenOptions) -> Result<PdfPages, Fault> {
        let (password, limits) = (options.password.clone(), &options.limits);
        if password.as_deref().is_some_and(|password| password.contains('\0')) {
            // No password has that character, and pdfium's strings end at it.
            return Err(Fault::Locked { given: true });
        }
        let may_change = options.pdf_renderer != PdfRenderer::Pdfium;
        let hayro = |instead| {
            let pages = HayroPages::open(&bytes, password.as_deref(), limits)?;
            Ok(Drawer::Hayro { pages, instead })
        };
        let drawer = match library {
            None if may_change => hayro(false),
            None => Err(Fault::NoPdfium),
            Some(library) => match library.open(&bytes, password.as_deref(), limits) {
                // What one cannot repair, the other sometimes can.
                Err(fault @ (Fault::Broken(_) | Fault::Hangs { .. })) if may_change => {
                    hayro(matches!(fault, Fault::Hangs { .. })).map_err(|_: Fault| fault)
                }
                opened => opened.map(|pages| Drawer::Pdfium(library, pages)),
            },
        }?;
        let page_count = drawer.page_count();
        Ok(PdfPages { bytes, password, drawer, may_change, page_count, drawn: 0 })
    }

    pub(super) fn page_count(&self) -> usize {
        self.page_count
    }

    pub(super) fn renderer(&self) -> &'static str {
        match self.drawer {
            Drawer::Pdfium(..) => "pdfium",
            Drawer::Hayro { .. } => "hayro",
        }
    }

    pub(super) fn render(&mut self, page: usize, dpi: f32, limits: &Limits) -> Result<PageRaster, Fault> {
        let drawn = self.reopen(limits).and_then(|()| self.draw(page, dpi, limits));
        match drawn {
            Err(fault @ Fault::Hangs { .. }) if self.may_change => self.draw_instead(page, dpi, limits, fault),
            drawn => drawn,
        }
    }

    /// Opens the file anew when enough pages were drawn.
    fn reopen(&mut self, limits: &Limits) -> Result<(), Fault> {
        let (bytes, password) = (&self.bytes, self.password.as_deref());
        if self.drawn == PAGES_PER_OPENING {
            match &mut self.drawer {
                Drawer::Pdfium(library, pages) => *pages = library.open(bytes, password, limits)?,
                Drawer::Hayro { pages, .. } => *pages = HayroPages::open(bytes, password, limits)?,
            }
            self.drawn = 0;
        }
        self.drawn += 1;
        Ok(())
    }

    fn draw(&self, page: usize, dpi: f32, limits: &Limits) -> Result<PageRaster, Fault> {
        let pages = match &self.drawer {
            Drawer::Pdfium(_, pages) => pages,
            Drawer::Hayro { pages, instead } => {
                let mut raster = pages.render(page, dpi, limits)?;
                if *instead {
                    let notice = raster.notice.take().map_or(String::new(), |notice| notice + "; ");
                    let why = format!("page {} was drawn by the built-in renderer because pdfium hangs", page + 1);
                    raster.notice = Some(notice + &why);
                }
                return Ok(raster);
            }
        };
        let raster = pages.render(page, dpi, limits)?;
        if !is_blank(&raster.pixels) {
            return Ok(raster);
        }
        // pdfium does not say when it passes over damaged content, so hayro tells whether blank is meant. It counts pages
        // in its own way in a damaged file: then pdfium's word is all there is.
        match self.hayro(limits) {
            Ok(hayro) => hayro.render(page, dpi, limits),
            Err(_) => Ok(raster),
        }
    }

    /// Leaves the library, which hangs, and draws this page and all others by hayro. A page that took all its time once
    /// gets half of it now.
    fn draw_instead(&mut self, page: usize, dpi: f32, limits: &Limits, fault: Fault) -> Result<PageRaster, Fault> {
        let limits = Limits { max_time: limits.max_time / 2, ..limits.clone() };
        self.drawer = Drawer::Hayro { pages: self.hayro(&limits).map_err(|_| fault)?, instead: true };
        self.drawn = 1;
        self.draw(page, dpi, &limits)
    }

    /// The file as opened by hayro, if that finds the same pages in it.
    fn hayro(&self, limits: &Limits) -> Result<HayroPages, Fault> {
        let pages = HayroPages::open(&self.bytes, self.password.as_deref(), limits)?;
        if pages.page_count() == self.page_count { Ok(pages) } else { Err(Fault::NoPages) }
    }
}

impl Drawer {
    fn page_count(&self) -> usize {
        match self {
            Drawer::Pdfium(_, pages) => pages.page_count(),
            Drawer::Hayro { pages, .. } => pages.page_count(),
        }
    }
}

fn is_blank(pixels: &RgbImage) -> bool {
    pixels.as_raw().iter().all(|value| *value == 255)
}

/// Longest side of a page raster: both renderers count pixels in types that end here or later.
const MAX_SIDE: u32 = 65_000;

/// The raster of a page: its size in pixels, and the resolution that this size amounts to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grid {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) dpi: f32,
    asked: f32,
}

impl Grid {
    /// The raster of a page of this many points (1/72 inch), as large as asked for or, if that breaks a limit, as large
    /// as it may be.
    pub(super) fn of(width_pt: f32, height_pt: f32, dpi: f32, limits: &Limits) -> Result<Grid, Fault> {
        let usable = |x: f32| x.is_finite() && x > 0.0;
        if !usable(width_pt) || !usable(height_pt) {
            return Err(Fault::Broken("its size is not a possible one".to_owned()));
        }
        let asked = if usable(dpi) { dpi.clamp(10.0, 2400.0) } else { 200.0 };
        let (width, height) = (f64::from(width_pt) / 72.0, f64::from(height_pt) / 72.0);
        let by_area = (limits.max_pixels.max(1) as f64 / (width * height)).sqrt();
        let by_side = f64::from(MAX_SIDE) / width.max(height);
        let dpi = f64::from(asked).min(by_area).min(by_side);
        // Rounding up a side must not break the limit that the resolution was chosen for.
        let pixels = |inches: f64| if dpi < f64::from(asked) { (inches * dpi).floor() } else { (inches * dpi).round() };
        let mut grid = Grid {
            width: pixels(width).max(1.0) as u32,
            height: pixels(height).max(1.0) as u32,
            dpi: dpi as f32,
            asked,
        };
        // A page so narrow that its short side was raised to one pixel may still be too long.
        grid.width = grid.width.min(limits.max_pixels.min(u64::from(MAX_SIDE)).max(1) as u32);
        grid.height =
            grid.height.min((limits.max_pixels / u64::from(grid.width)).min(u64::from(MAX_SIDE)).max(1) as u32);
        Ok(grid)
    }

    /// The sentence about a reduced page.
    pub(super) fn notice(&self, page: usize, limits: &Limits) -> Option<String> {
        (self.dpi < self.asked).then(|| {
            format!(
                "page {} was rendered at {:.0} dpi instead of {:.0} to stay within {} megapixels",
                page + 1,
                self.dpi,
                self.asked,
                limits.max_pixels / 1_000_000
            )
        })
    }
}

#[cfg(test)]
#[path = "pdf_tests.rs"]
mod tests;
