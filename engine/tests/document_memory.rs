//! Memory stays flat over a long document. A test binary of its own: it measures the whole process.

#![expect(clippy::unwrap_used, reason = "tests")]
#![cfg(target_os = "linux")]

#[path = "../../tests/skipped.rs"]
mod skipped;

use std::fmt::Write as _;

use engine::document::{Document, DocumentError, OpenOptions, PdfRenderer};

const PAGES: usize = 300;

/// Resident memory, MiB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

/// Pages with text, and an image of 400 x 500 gray pixels each, of its own.
fn long_pdf() -> Vec<u8> {
    let mut out = b"%PDF-1.7\n".to_vec();
    let mut offsets = Vec::new();
    let mut object = |out: &mut Vec<u8>, body: &[u8]| {
        offsets.push(out.len());
        out.extend(format!("{} 0 obj\n", offsets.len()).as_bytes());
        out.extend(body);
        out.extend(b"\nendobj\n");
    };
    let kids: String = (0..PAGES).fold(String::new(), |mut kids, i| {
        write!(kids, "{} 0 R ", 4 + 3 * i).unwrap();
        kids
    });
    object(&mut out, b"<< /Type /Catalog /Pages 2 0 R >>");
    object(&mut out, format!("<< /Type /Pages /Kids [{kids}] /Count {PAGES} /MediaBox [0 0 595 842] >>").as_bytes());
    object(&mut out, b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
    for page in 0..PAGES {
        let content = 5 + 3 * page;
        let resources = format!("<< /Font << /F 3 0 R >> /XObject << /I {} 0 R >> >>", content + 1);
        let body = format!("<< /Type /Page /Parent 2 0 R /Contents {content} 0 R /Resources {resources} >>");
        object(&mut out, body.as_bytes());
        let mut text = "q 400 0 0 500 100 20 cm /I Do Q BT /F 11 Tf 13 TL 60 800 Td ".to_owned();
        for line in 0..18 {
            write!(text, "(Page {page}, line {line}: the quick brown fox jumps over the lazy dog) Tj T* ").unwrap();
        }
        text += "ET";
        object(&mut out, format!("<< /Length {} >>\nstream\n{text}\nendstream", text.len()).as_bytes());
        let dictionary =
            "/Type /XObject /Subtype /Image /Width 400 /Height 500 /BitsPerComponent 8 /ColorSpace /DeviceGray";
        let mut image = format!("<< {dictionary} /Length 200000 >>\nstream\n").into_bytes();
        image.extend((0..200_000usize).map(|i| (i / 400 + i % 400 + page) as u8));
        image.extend(b"\nendstream");
        object(&mut out, &image);
    }
    let start = out.len();
    out.extend(format!("xref\n0 {}\n0000000000 65535 f \n", offsets.len() + 1).as_bytes());
    for offset in &offsets {
        out.extend(format!("{offset:010} 00000 n \n").as_bytes());
    }
    let size = offsets.len() + 1;
    out.extend(format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n").as_bytes());
    out
}

#[test]
#[expect(clippy::print_stderr, reason = "a test says what it measured and what it left out")]
fn page_300_takes_no_more_than_page_30() {
    let bytes = long_pdf();
    for pdf_renderer in [PdfRenderer::Hayro, PdfRenderer::Pdfium] {
        let options = OpenOptions { pdf_renderer, ..OpenOptions::default() };
        let mut document = match Document::from_bytes("long.pdf", bytes.clone(), &options) {
            Ok(document) => document,
            Err(error @ DocumentError::PdfiumMissing { .. }) => {
                skipped::skipped(&error.to_string());
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        assert_eq!(document.page_count(), PAGES);
        let mut after_30 = 0.0;
        let start = std::time::Instant::now();
        for page in 0..PAGES {
            let raster = document.render(page, 60.0).unwrap();
            assert!(raster.notice.is_none());
            if page == 29 {
                after_30 = resident();
            }
        }
        let after_300 = resident();
        eprintln!("{pdf_renderer:?}: {after_30:.0} MiB after page 30, {after_300:.0} after 300, {:?}", start.elapsed());
        // Kept rasters would add 270 x 1 MiB, kept images 270 x 0.2 MiB.
        assert!(after_300 < after_30 + 25.0, "{pdf_renderer:?}: {after_30:.0} MiB grew to {after_300:.0}");
    }
}
