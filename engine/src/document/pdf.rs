//! The pages of a PDF, drawn by pdfium or, without its library, by hayro.

use image::RgbImage;

use super::error::Fault;
use super::hayro::HayroPages;
use super::pdfium::{self, PdfiumPages};
use super::{Bytes, Limits, OpenOptions, PageRaster, PdfRenderer};

/// The renderers keep what they have read of the file (pdfium) or the content of the pages they have drawn (hayro) until
/// it is closed. It is opened anew after this many pages.
const PAGES_PER_OPENING: usize = 25;

pub(super) struct PdfPages {
    bytes: Bytes,
    password: Option<String>,
    drawer: Drawer,
    page_count: usize,
    drawn: usize,
}

/// The file as opened by one of the renderers.
enum Drawer {
    Pdfium(PdfiumPages),
    Hayro(HayroPages),
}

impl PdfPages {
    pub(super) fn open(bytes: Bytes, options: &OpenOptions) -> Result<PdfPages, Fault> {
        let (password, limits) = (options.password.clone(), &options.limits);
        if password.as_deref().is_some_and(|password| password.contains('\0')) {
            // No password has that character, and pdfium's strings end at it.
            return Err(Fault::Locked { given: true });
        }
        let library = match options.pdf_renderer {
            PdfRenderer::Hayro => None,
            PdfRenderer::Best | PdfRenderer::Pdfium => pdfium::library(options.pdfium_dir.as_deref()),
        };
        let hayro = || HayroPages::open(&bytes, password.as_deref(), limits).map(Drawer::Hayro);
        let drawer = match library {
            None if options.pdf_renderer == PdfRenderer::Pdfium => Err(Fault::NoPdfium),
            None => hayro(),
            Some(library) => match PdfiumPages::open(library, &bytes, password.as_deref(), limits) {
                // What one cannot repair, the other sometimes can.
                Err(fault @ Fault::Broken(_)) if options.pdf_renderer == PdfRenderer::Best => {
                    hayro().map_err(|_| fault)
                }
                opened => opened.map(Drawer::Pdfium),
            },
        }?;
        let page_count = drawer.page_count();
        Ok(PdfPages { bytes, password, drawer, page_count, drawn: 0 })
    }

    pub(super) fn page_count(&self) -> usize {
        self.page_count
    }

    pub(super) fn renderer(&self) -> &'static str {
        match self.drawer {
            Drawer::Pdfium(_) => "pdfium",
            Drawer::Hayro(_) => "hayro",
        }
    }

    pub(super) fn render(&mut self, page: usize, dpi: f32, limits: &Limits) -> Result<PageRaster, Fault> {
        let (bytes, password) = (&self.bytes, self.password.as_deref());
        if self.drawn == PAGES_PER_OPENING {
            self.drawer = match &self.drawer {
                Drawer::Pdfium(pages) => {
                    PdfiumPages::open(pages.library(), bytes, password, limits).map(Drawer::Pdfium)
                }
                Drawer::Hayro(_) => HayroPages::open(bytes, password, limits).map(Drawer::Hayro),
            }?;
            self.drawn = 0;
        }
        self.drawn += 1;
        let pages = match &self.drawer {
            Drawer::Hayro(pages) => return pages.render(page, dpi, limits),
            Drawer::Pdfium(pages) => pages,
        };
        let raster = pages.render(page, dpi, limits)?;
        if !is_blank(&raster.pixels) {
            return Ok(raster);
        }
        // pdfium does not say when it passes over damaged content, so hayro tells whether blank is meant. It counts pages
        // in its own way in a damaged file: then pdfium's word is all there is.
        match HayroPages::open(bytes, password, limits) {
            Ok(hayro) if hayro.page_count() == self.page_count => hayro.render(page, dpi, limits),
            _ => Ok(raster),
        }
    }
}

impl Drawer {
    fn page_count(&self) -> usize {
        match self {
            Drawer::Pdfium(pages) => pages.page_count(),
            Drawer::Hayro(pages) => pages.page_count(),
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
