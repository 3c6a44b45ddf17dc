//! What the tests of this part share: PDFs written by hand.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fmt::Write as _;
use std::path::Path;

/// Words and a black square of 20 points at the top left corner of a page of 200 x 100 points.
const CONTENT: &str = "0 g 0 80 20 20 re f BT /F 12 Tf 60 40 Td (some words) Tj ET";

/// A PDF of many pages, all alike.
pub(in crate::window) fn pages(count: usize) -> Vec<u8> {
    pages_without(count, &[])
}

/// The same with damaged content on some pages, counted from 0.
pub(in crate::window) fn pages_without(count: usize, damaged: &[usize]) -> Vec<u8> {
    let stream = |entries: &str, content: &str| {
        format!("<< {entries} /Length {} >>\nstream\n{content}\nendstream", content.len())
    };
    let first = 6;
    let kids: String = (0..count).map(|page| format!("{} 0 R ", first + page)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!(
            "<< /Type /Pages /Kids [{kids}] /Count {count} /MediaBox [0 0 200 100] /Resources << /Font << /F 5 0 R >> >> >>"
        ),
        stream("", CONTENT),
        stream("/Filter /FlateDecode", "garbage that was never deflated"),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    objects.extend((0..count).map(|page| {
        let content = if damaged.contains(&page) { 4 } else { 3 };
        format!("<< /Type /Page /Parent 2 0 R /Contents {content} 0 R >>")
    }));
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

/// A committed file.
pub(in crate::window) fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/documents").join(name)).unwrap()
}
