//! Damaged copies of every fixture: nothing may panic, hang, or take memory that the file does not account for.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};

use super::testing::{fixtures, one_page, renderers, stream};
use super::{Document, DocumentError, Limits, OpenOptions};

/// Renders up to three pages. Whatever comes out is fine, as long as something does and in a sentence.
fn try_all(name: &str, bytes: Vec<u8>, options: &OpenOptions) {
    let result = Document::from_bytes(name, bytes, options).and_then(|mut document| {
        let pages = document.page_count().min(3);
        (0..pages).try_for_each(|page| document.render(page, 50.0).map(drop))
    });
    if let Err(error) = result {
        let sentence = error.to_string();
        assert!(!sentence.contains("makes the reader fail"), "{name}: a reader panicked");
        assert!(!sentence.contains("takes longer"), "{name}: a reader hangs");
        assert!(sentence.contains(name) && !sentence.contains('\n'), "{sentence}");
    }
}

fn mutants(name: &str, whole: &[u8], options: &OpenOptions) {
    for i in 0..24 {
        try_all(name, whole[..whole.len() * i / 24].to_vec(), options);
    }
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut below = |limit: usize| random.next_u32() as usize % limit.max(1);
    for _ in 0..120 {
        let mut bytes = whole.to_vec();
        for _ in 0..1 + below(4) {
            // The beginning and the end hold the structure, so damage falls there more often.
            let at = match below(3) {
                0 => below(bytes.len().min(200)),
                1 => bytes.len() - 1 - below(bytes.len().min(300)),
                _ => below(bytes.len()),
            };
            match below(5) {
                0 => bytes[at] ^= 1 << below(8),
                1 => bytes[at] = 0xff,
                2 => bytes[at] = 0,
                3 => drop(bytes.drain(at..(at + 1 + below(16)).min(bytes.len()))),
                _ => bytes.insert(at, below(256) as u8),
            }
            if bytes.is_empty() {
                break;
            }
        }
        try_all(name, bytes, options);
    }
}

#[test]
fn damaged_images_and_pdfs_end_in_a_page_or_a_sentence() {
    let limits = Limits { max_pixels: 4_000_000, max_time: Duration::from_secs(60), ..Limits::default() };
    let readers: Vec<_> =
        renderers().into_iter().map(|options| OpenOptions { limits: limits.clone(), ..options }).collect();
    let mut files: Vec<_> = std::fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let whole = std::fs::read(&path).unwrap();
        let readers = if name.ends_with(".pdf") { &readers[..] } else { &readers[..1] };
        for options in readers {
            mutants(&name, &whole, options);
        }
    }
    let image = stream(
        "/Type /XObject /Subtype /Image /Width 16 /Height 16 /BitsPerComponent 1 /Filter /ASCIIHexDecode /ColorSpace /DeviceGray",
        &("00ff".repeat(16) + ">"),
    );
    let text = "BT /F 24 Tf 20 50 Td (words) Tj ET q 40 0 0 40 100 20 cm /I Do Q 0 0 m 50 50 l S";
    let resources = "/Resources << /XObject << /I 5 0 R >> /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>";
    let pdf = one_page(&format!("/MediaBox [0 0 200 100] {resources}"), text, &[image]);
    for options in &readers {
        mutants("by hand.pdf", &pdf, options);
    }
}

#[test]
fn any_short_bytes_are_answered() {
    let options = OpenOptions::default();
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &[3; 32]);
    let heads: [&[u8]; 12] = [
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff",
        b"II*\0",
        b"MM\0*",
        b"II+\0\x08\0\0\0",
        b"RIFF\xff\xff\0\0WEBP",
        b"GIF89a",
        b"BM\0\0\0\0\0\0\0\0\0\0\0\0\x28\0\0\0",
        b"%PDF-1.7\n",
        b"",
        b"PK\x03\x04",
        b"\0\0\0\x18ftyp",
    ];
    for head in heads {
        for length in 0..60 {
            let mut bytes = vec![0; length];
            random.fill_bytes(&mut bytes);
            match Document::from_bytes("short", [head, &bytes].concat(), &options) {
                Ok(mut document) => drop(document.render(0, 50.0)),
                Err(DocumentError::Damaged { reason, .. }) => {
                    assert!(!reason.contains("makes the reader fail"), "{head:?}")
                }
                Err(_) => {}
            }
        }
    }
}
