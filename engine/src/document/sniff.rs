//! What a file is, by its content. Names and extensions are never asked: they lie.

/// The kinds of file that have pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileFormat {
    Pdf,
    Png,
    Jpeg,
    Tiff,
    WebP,
    Bmp,
    Gif,
}

/// What a file without pages looks like, and what its owner can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stranger {
    pub(super) looks_like: &'static str,
    pub(super) advice: &'static str,
}

/// A PDF header may follow this much of something else (PDF 1.7 implementation note 13).
const PDF_HEADER_WINDOW: usize = 1024;

/// Names a file's kind, or says what else it looks like. `bytes` is not empty.
pub(super) fn sniff(bytes: &[u8]) -> Result<FileFormat, Stranger> {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    if starts(b"\x89PNG\r\n\x1a\n") {
        Ok(FileFormat::Png)
    } else if starts(b"\xff\xd8\xff") {
        Ok(FileFormat::Jpeg)
    } else if starts(b"II\x2a\0") || starts(b"MM\0\x2a") || starts(b"II\x2b\0") || starts(b"MM\0\x2b") {
        Ok(FileFormat::Tiff)
    } else if starts(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Ok(FileFormat::WebP)
    } else if starts(b"GIF87a") || starts(b"GIF89a") {
        Ok(FileFormat::Gif)
    } else if is_bmp(bytes) {
        Ok(FileFormat::Bmp)
    } else if contains(bytes.get(..PDF_HEADER_WINDOW).unwrap_or(bytes), b"%PDF-") {
        Ok(FileFormat::Pdf)
    } else {
        Err(stranger(bytes))
    }
}

/// Two letters are little evidence, so the size of the second header must be a known one too.
fn is_bmp(bytes: &[u8]) -> bool {
    let header = bytes.get(14..18).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
    bytes.starts_with(b"BM") && matches!(header, Some(12 | 40 | 52 | 56 | 64 | 108 | 124))
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

fn stranger(bytes: &[u8]) -> Stranger {
    const EXPORT_IMAGE: &str = "export it as JPEG, PNG or TIFF";
    const EXPORT_PDF: &str = "export it as PDF";
    const UNPACK: &str = "unpack it and open the files inside";
    const CHOOSE: &str = "choose a PDF or an image";

    let starts = |magic: &[u8]| bytes.starts_with(magic);
    let brand = (bytes.get(4..8) == Some(b"ftyp")).then(|| bytes.get(8..12).unwrap_or_default());
    let (looks_like, advice) = match brand {
        Some(b"heic" | b"heix" | b"heim" | b"heis" | b"hevc" | b"mif1" | b"msf1") => ("a HEIC photo", EXPORT_IMAGE),
        Some(b"avif" | b"avis") => ("an AVIF image", EXPORT_IMAGE),
        Some(_) => ("a video or another media file", CHOOSE),
        None if starts(b"\0\0\0\x0cjP  ") || starts(b"\xff\x4f\xff\x51") => ("a JPEG 2000 image", EXPORT_IMAGE),
        None if starts(b"\xff\x0a") || starts(b"\0\0\0\x0cJXL ") => ("a JPEG XL image", EXPORT_IMAGE),
        None if starts(b"8BPS") => ("a Photoshop picture", EXPORT_IMAGE),
        None if starts(b"AT&TFORM") => ("a DjVu document", EXPORT_PDF),
        None if starts(b"%!PS") => ("PostScript", EXPORT_PDF),
        None if starts(b"{\\rtf") => ("an RTF document", EXPORT_PDF),
        None if starts(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") => ("an old Microsoft Office document", EXPORT_PDF),
        None if starts(b"PK\x03\x04") => office_or_archive(bytes, EXPORT_PDF, UNPACK),
        None if starts(b"\x1f\x8b") || starts(b"7z\xbc\xaf\x27\x1c") || starts(b"Rar!") => {
            ("a compressed archive", UNPACK)
        }
        None if starts(b"\x7fELF") || starts(b"MZ") => ("a program", CHOOSE),
        None => return plain(bytes, EXPORT_IMAGE, CHOOSE),
    };
    Stranger { looks_like, advice }
}

fn office_or_archive(bytes: &[u8], export: &'static str, unpack: &'static str) -> (&'static str, &'static str) {
    let head = bytes.get(..4096).unwrap_or(bytes);
    if contains(head, b"word/") || contains(head, b"xl/") || contains(head, b"ppt/") {
        ("a Microsoft Office document", export)
    } else if contains(head, b"application/vnd.oasis.opendocument") {
        ("a LibreOffice document", export)
    } else if contains(head, b"application/epub+zip") {
        ("an e-book (EPUB)", export)
    } else {
        ("a ZIP archive", unpack)
    }
}

fn plain(bytes: &[u8], export_image: &'static str, choose: &'static str) -> Stranger {
    let head = bytes.get(..4096).unwrap_or(bytes);
    // The cut may fall inside a character.
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(head.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or_default()
        }
        Err(_) => "",
    };
    let is_text =
        !text.is_empty() && !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\x0c'));
    let start = text.trim_start_matches(['\u{feff}', ' ', '\n', '\r', '\t']).to_ascii_lowercase();
    let (looks_like, advice) = if !is_text {
        ("unknown data", choose)
    } else if start.starts_with("<!doctype html") || start.starts_with("<html") {
        ("a web page (HTML)", "print it to a PDF; a download that failed often leaves such a page")
    } else if start.starts_with("<svg") || (start.starts_with("<?xml") && start.contains("<svg")) {
        ("an SVG drawing", export_image)
    } else {
        ("plain text", choose)
    };
    Stranger { looks_like, advice }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks_like(bytes: &[u8]) -> &'static str {
        sniff(bytes).err().map_or("a document", |stranger| stranger.looks_like)
    }

    #[test]
    fn names_what_it_cannot_open() {
        assert_eq!(looks_like(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"), "a HEIC photo");
        assert_eq!(looks_like(b"\0\0\0\x18ftypavif\0\0\0\0"), "an AVIF image");
        assert_eq!(looks_like(b"Dear Sir,\r\nthis is no PDF"), "plain text");
        assert_eq!(looks_like("안녕하세요".as_bytes()), "plain text");
        assert_eq!(looks_like(b"  <!DOCTYPE html><title>404</title>"), "a web page (HTML)");
        assert_eq!(looks_like(b"PK\x03\x04\x14\0\0\0\x08\0......word/document.xml"), "a Microsoft Office document");
        assert_eq!(looks_like(b"PK\x03\x04\x14\0\0\0\x08\0......photo.jpg"), "a ZIP archive");
        assert_eq!(looks_like(&[0, 1, 2, 3, 4]), "unknown data");
        assert_eq!(looks_like(b"BM is how this letter begins, and not a bitmap"), "plain text");
    }

    #[test]
    fn text_cut_inside_a_character_is_still_text() {
        let text = "é".repeat(3000); // two bytes each: an odd start puts the cut at 4096 inside one
        assert_eq!(looks_like(format!("x{text}").as_bytes()), "plain text");
    }

    #[test]
    fn pdf_header_may_come_late_but_not_too_late() {
        let junk = |n: usize| [vec![b'\n'; n], b"%PDF-1.4\n".to_vec()].concat();
        assert_eq!(sniff(&junk(0)), Ok(FileFormat::Pdf));
        assert_eq!(sniff(&junk(1000)), Ok(FileFormat::Pdf));
        assert!(sniff(&junk(1025)).is_err());
    }
}
