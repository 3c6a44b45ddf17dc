use std::fs;

use image::ImageFormat;

use super::support::{Sandbox, encoded, few_lines, noise, pdf, png, root, sample_pdf};

/// The input is refused with one sentence that says all of `parts`, and the good file of the same call is read.
fn refused(sandbox: &Sandbox, line: &str, parts: &[&str]) {
    sandbox.write("good.png", few_lines());
    let out = format!("out-{}", line.replace(['/', '.', ' '], "-"));
    let ran = sandbox.recognize(&format!("{line} good.png -o {out}"));
    assert_eq!(ran.code, 1, "{line}: {}", ran.err);
    let faults = ran.faults();
    assert_eq!(faults.len(), 1, "{line}: {}", ran.err);
    for part in parts {
        assert!(faults[0].contains(part), "{part} in: {}", faults[0]);
    }
    let text = sandbox.read(&format!("{out}/good.md"));
    assert!(text.contains("stone"), "{line}: {text}");
}

#[test]
fn an_empty_file() {
    let sandbox = Sandbox::new();
    sandbox.write("zero.pdf", "");
    refused(&sandbox, "zero.pdf", &["zero.pdf", "empty"]);
    assert_eq!(sandbox.listing("out-zero-pdf"), ["good.md"], "nothing is written for a file that could not be opened");
}

#[test]
fn text_with_the_name_of_a_pdf() {
    let sandbox = Sandbox::new();
    sandbox.write("letter.pdf", "Dear Sir or Madam,\n");
    refused(&sandbox, "letter.pdf", &["letter.pdf is not a PDF or an image", "text"]);
}

#[test]
fn a_pdf_cut_short() {
    let sandbox = Sandbox::new();
    let whole = fs::read(sample_pdf()).unwrap();
    sandbox.write("cut.pdf", &whole[..whole.len() / 4]);
    refused(&sandbox, "cut.pdf", &["cut.pdf", "damaged"]);
}

#[test]
fn a_pdf_without_pages() {
    let sandbox = Sandbox::new();
    sandbox.write("none.pdf", pdf(0));
    refused(&sandbox, "none.pdf", &["none.pdf has no pages"]);
}

#[test]
fn a_pdf_with_a_password() {
    let sandbox = Sandbox::new();
    sandbox.write("secret.pdf", fs::read(root().join("tests/fixtures/documents/user-rc4.pdf")).unwrap());
    refused(&sandbox, "secret.pdf", &["secret.pdf", "protected by a password"]);
    refused(&sandbox, "secret.pdf --password wrong", &["this password does not open secret.pdf"]);
    let ran = sandbox.run(["recognize", "secret.pdf", "--password", "open sesame"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn a_picture_larger_than_memory() {
    let sandbox = Sandbox::new();
    sandbox.write("huge.png", png_header(25_000, 25_000));
    refused(&sandbox, "huge.png", &["huge.png has 25000 x 25000 pixels"]);
}

/// A PNG that declares a bilevel picture of that size and holds next to nothing of it.
fn png_header(width: u32, height: u32) -> Vec<u8> {
    let chunk = |kind: &[u8], data: &[u8]| {
        let body = [kind, data].concat();
        let mut crc = !0_u32;
        for byte in &body {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = if crc & 1 == 1 { 0xEDB8_8320 ^ (crc >> 1) } else { crc >> 1 };
            }
        }
        [&(data.len() as u32).to_be_bytes()[..], &body, &(!crc).to_be_bytes()].concat()
    };
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[1, 0, 0, 0, 0]].concat();
    // An empty zlib stream: stored block of length 0 and its checksum.
    let data = [0x78, 0x01, 0x01, 0x00, 0x00, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x01];
    [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(b"IHDR", &header), chunk(b"IDAT", &data), chunk(b"IEND", b"")].concat()
}

#[test]
fn pictures_cut_short() {
    let sandbox = Sandbox::new();
    let tiff = root().join("tests/fixtures/documents/color-tiles.tif");
    for (name, whole) in [
        ("half.png", png(&noise())),
        ("half.jpg", encoded(&noise(), ImageFormat::Jpeg)),
        ("half.tif", fs::read(tiff).unwrap()),
    ] {
        sandbox.write(name, &whole[..whole.len() / 2]);
        refused(&sandbox, name, &[name]);
    }
}

#[test]
fn a_file_that_is_not_there() {
    refused(&Sandbox::new(), "missing/scan.pdf", &["missing/scan.pdf", "there is no such file"]);
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::with_permissions();
    let path = sandbox.write("locked.png", few_lines());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    refused(&sandbox, "locked.png", &["locked.png cannot be read: you are not allowed to read it"]);
}

#[test]
fn pages_that_the_document_does_not_have() {
    let sandbox = Sandbox::new();
    sandbox.write("two.pdf", pdf(2));
    for (pages, part) in [("7", "there is no page 7; the document has 2 pages"), ("2-x", "2-x")] {
        let ran = sandbox.recognize(&format!("two.pdf --pages {pages}"));
        assert_eq!((ran.code, ran.out.as_str()), (1, ""));
        assert!(ran.faults()[0].starts_with("two.pdf: ") && ran.faults()[0].contains(part), "{}", ran.err);
    }
}

#[test]
fn an_empty_page_is_no_fault_and_nothing_is_invented() {
    let sandbox = Sandbox::new();
    sandbox.write("empty.pdf", pdf(2));
    let ran = sandbox.recognize("empty.pdf");
    assert_eq!((ran.code, ran.out.trim()), (0, ""), "{}", ran.err);
    assert_eq!(
        ran.faults(),
        ["empty.pdf, page 1: nothing to read was found", "empty.pdf, page 2: nothing to read was found"]
    );
}
