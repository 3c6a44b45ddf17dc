//! What the tests of this part share: the fixtures, and PDFs written by hand.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Once;

use image::RgbImage;

use super::{Document, DocumentError, OpenOptions, PageRaster, PdfRenderer};
use crate::skipped::skipped;

/// The folder of the committed files.
pub(super) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/documents")
}

pub(super) fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(fixtures().join(name)).unwrap()
}

pub(super) fn open(name: &str, bytes: Vec<u8>) -> Result<Document, DocumentError> {
    Document::from_bytes(name, bytes, &OpenOptions::default())
}

/// The only page of a committed file.
pub(super) fn page_of(name: &str) -> PageRaster {
    let mut document = open(name, fixture(name)).unwrap();
    assert_eq!(document.page_count(), 1, "{name}");
    document.render(0, 200.0).unwrap()
}

/// The PDF renderers that can be had here. pdfium's library is not part of the repository.
pub(super) fn renderers() -> Vec<OpenOptions> {
    let with = |pdf_renderer| OpenOptions { pdf_renderer, ..OpenOptions::default() };
    let hayro = with(PdfRenderer::Hayro);
    if super::pdfium::library(None).is_none() {
        static SAID: Once = Once::new();
        let advice = "tests of pdfium; set GRAVITYOCR_PDFIUM to the folder of its library to include them";
        SAID.call_once(|| skipped(advice));
        return vec![hayro];
    }
    vec![with(PdfRenderer::Pdfium), hayro]
}

/// A PDF from its objects, of which the first is the catalog.
pub(super) fn pdf(objects: &[String]) -> Vec<u8> {
    let mut out = String::from("%PDF-1.7\n");
    let mut offsets = Vec::new();
    for (i, object) in objects.iter().enumerate() {
        offsets.push(out.len());
        write!(out, "{} 0 obj\n{object}\nendobj\n", i + 1).unwrap();
    }
    let start = out.len();
    write!(out, "xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).unwrap();
    for offset in offsets {
        writeln!(out, "{offset:010} 00000 n ").unwrap();
    }
    write!(out, "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n", objects.len() + 1).unwrap();
    out.into_bytes()
}

pub(super) fn stream(dictionary: &str, content: &str) -> String {
    format!("<< {dictionary} /Length {} >>\nstream\n{content}\nendstream", content.len())
}

/// A PDF of one page: the page's own entries, its content, and further objects from number 5 on.
pub(super) fn one_page(entries: &str, content: &str, more: &[String]) -> Vec<u8> {
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        format!("<< /Type /Page /Parent 2 0 R /Contents 4 0 R {entries} >>"),
        stream("", content),
    ];
    objects.extend_from_slice(more);
    pdf(&objects)
}

pub(super) fn render(bytes: &[u8], options: &OpenOptions, dpi: f32) -> Result<PageRaster, DocumentError> {
    Document::from_bytes("test.pdf", bytes.to_vec(), options)?.render(0, dpi)
}

/// The box around all pixels darker than middle gray, as (left, top, right, bottom) with the last two outside.
pub(super) fn ink(pixels: &RgbImage) -> Option<(u32, u32, u32, u32)> {
    let dark = pixels.enumerate_pixels().filter(|(_, _, pixel)| pixel.0.iter().all(|c| *c < 128));
    dark.fold(None, |bounds, (x, y, _)| {
        let (x0, y0, x1, y1) = bounds.unwrap_or((x, y, x + 1, y + 1));
        Some((x0.min(x), y0.min(y), x1.max(x + 1), y1.max(y + 1)))
    })
}
