//! The pages of a PDF, drawn by pdfium or, without its library, by hayro.

use image::RgbImage;

use super::error::Fault;
use super::hayro::HayroPages;
use super::pdfium::{self, PdfiumPages};
use super::{Bytes, Limits, OpenOptions, PageRaster, PdfRenderer};

pub(super) enum PdfPages {
    Pdfium { pages: PdfiumPages, bytes: Bytes, password: Option<String> },
    Hayro(HayroPages),
}

impl PdfPages {
    pub(super) fn open(bytes: Bytes, options: &OpenOptions) -> Result<PdfPages, Fault> {
        let pdfium = match options.pdf_renderer {
            PdfRenderer::Hayro => None,
            PdfRenderer::Best | PdfRenderer::Pdfium => pdfium::library(options.pdfium_dir.as_deref()),
        };
        let hayro = || HayroPages::open(bytes.clone(), options.password.as_deref(), &options.limits);
        match pdfium {
            None if options.pdf_renderer == PdfRenderer::Pdfium => {
                Err(Fault::Broken("it needs pdfium, whose library was not found".to_owned()))
            }
            None => hayro().map(PdfPages::Hayro),
            Some(library) => {
                match PdfiumPages::open(library, bytes.clone(), options.password.as_deref(), &options.limits) {
                    // What one cannot repair, the other sometimes can.
                    Err(Fault::Broken(reason)) if options.pdf_renderer == PdfRenderer::Best => {
                        hayro().map(PdfPages::Hayro).map_err(|_| Fault::Broken(reason))
                    }
                    opened => Ok(PdfPages::Pdfium { pages: opened?, bytes, password: options.password.clone() }),
                }
            }
        }
    }

    pub(super) fn page_count(&self) -> usize {
        match self {
            PdfPages::Pdfium { pages, .. } => pages.page_count(),
            PdfPages::Hayro(pages) => pages.page_count(),
        }
    }

    pub(super) fn renderer(&self) -> &'static str {
        match self {
            PdfPages::Pdfium { .. } => "pdfium",
            PdfPages::Hayro(_) => "hayro",
        }
    }

    pub(super) fn render(&mut self, page: usize, dpi: f32, limits: &Limits) -> Result<PageRaster, Fault> {
        match self {
            PdfPages::Hayro(pages) => pages.render(page, dpi, limits),
            PdfPages::Pdfium { pages, bytes, password } => {
                let raster = pages.render(page, dpi, limits)?;
                if !is_blank(&raster.pixels) {
                    return Ok(raster);
                }
                // pdfium does not say when it passes over damaged content, so hayro tells whether blank is meant. It
                // counts pages in its own way in a damaged file: then pdfium's word is all there is.
                match HayroPages::open(bytes.clone(), password.as_deref(), limits) {
                    Ok(mut hayro) if hayro.page_count() == pages.page_count() => hayro.render(page, dpi, limits),
                    _ => Ok(raster),
                }
            }
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
