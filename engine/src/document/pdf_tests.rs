#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use super::super::contain::Exclusive;
use super::super::testing::{fixture, ink, one_page, open, pdf, render, renderers, stream};
use super::super::{Document, DocumentError, Limits, OpenOptions, Rasterizer};
use super::*;

/// The engine opens a document on one thread and may hand it to another.
const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<Document>();
};

/// A black square of 20 points at the top left corner of a page of 200 x 100 points.
const SQUARE: &str = "0 g 0 80 20 20 re f";

fn page(entries: &str) -> Vec<u8> {
    one_page(entries, SQUARE, &[])
}

#[test]
fn rotation_moves_the_square_to_the_right_corner() {
    // Clockwise: 90 brings the top left corner to the top right. One pixel per point.
    let cases = [
        (0, (200, 100), (0, 0, 20, 20)),
        (90, (100, 200), (80, 0, 100, 20)),
        (180, (200, 100), (180, 80, 200, 100)),
        (270, (100, 200), (0, 180, 20, 200)),
        (-90, (100, 200), (0, 180, 20, 200)),
        (450, (100, 200), (80, 0, 100, 20)),
    ];
    for options in renderers() {
        for (rotate, size, square) in cases {
            let raster = render(&page(&format!("/MediaBox [0 0 200 100] /Rotate {rotate}")), &options, 72.0).unwrap();
            assert_eq!(raster.pixels.dimensions(), size, "{rotate} {:?}", options.pdf_renderer);
            assert_eq!(ink(&raster.pixels), Some(square), "{rotate} {:?}", options.pdf_renderer);
            assert_eq!(raster.pixels.get_pixel(size.0 / 2, size.1 / 2).0, [255; 3], "the page is white");
            assert_eq!((raster.dpi, raster.notice), (Some(72.0), None));
        }
    }
}

#[test]
fn inherited_rotation_and_size_count() {
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 /Rotate 90 /MediaBox [0 0 200 100] >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>".to_owned(),
        stream("", SQUARE),
    ];
    for options in renderers() {
        let raster = render(&pdf(&objects), &options, 72.0).unwrap();
        assert_eq!(ink(&raster.pixels), Some((80, 0, 100, 20)), "{:?}", options.pdf_renderer);
    }
}

#[test]
fn only_the_crop_box_is_seen() {
    // The square at (100, 600) of 20 points lies 60 points right of and 41 points below the crop box's top left corner.
    let bytes = one_page("/MediaBox [0 0 612 792] /CropBox [40 100 340 661]", "0 g 100 600 20 20 re f", &[]);
    let outside = one_page("/MediaBox [0 0 612 792] /CropBox [40 100 340 661]", "0 g 0 0 612 100 re f", &[]);
    for options in renderers() {
        let raster = render(&bytes, &options, 72.0).unwrap();
        assert_eq!(raster.pixels.dimensions(), (300, 561));
        assert_eq!(ink(&raster.pixels), Some((60, 41, 80, 61)), "{:?}", options.pdf_renderer);
        // From a pixel back to the page's points and to a pixel again, at a resolution that divides nothing evenly.
        let fine = render(&bytes, &options, 187.0).unwrap();
        let scale = f64::from(fine.pixels.width()) / 300.0;
        let (x0, y0, x1, y1) = ink(&fine.pixels).unwrap();
        for (pixel, points) in [(x0, 60.0), (y0, 41.0), (x1, 80.0), (y1, 61.0)] {
            assert!((f64::from(pixel) / scale - points).abs() < 0.5, "{pixel} {points} {:?}", options.pdf_renderer);
        }
        assert_eq!(ink(&render(&outside, &options, 72.0).unwrap().pixels), None);
    }
}

#[test]
fn a_box_away_from_the_origin() {
    let bytes = one_page("/MediaBox [-100 -50 100 50]", "0 g -100 30 20 20 re f", &[]);
    for options in renderers() {
        assert_eq!(ink(&render(&bytes, &options, 72.0).unwrap().pixels), Some((0, 0, 20, 20)));
    }
}

#[test]
fn renderers_agree_about_sizes() {
    let both = renderers();
    for (width, height) in [(595.276, 841.89), (612.0, 792.0), (419.53, 595.28), (99.9, 3000.4), (3.2, 2.0)] {
        for dpi in [72.0, 150.0, 200.0, 301.0] {
            let bytes = page(&format!("/MediaBox [0 0 {width} {height}]"));
            let sizes: Vec<_> =
                both.iter().map(|options| render(&bytes, options, dpi).unwrap().pixels.dimensions()).collect();
            assert!(sizes.windows(2).all(|pair| pair[0] == pair[1]), "{width} x {height} at {dpi}: {sizes:?}");
            let expected = (f64::from(width as f32) * f64::from(dpi) / 72.0).round().max(1.0) as u32;
            assert_eq!(sizes[0].0, expected);
        }
    }
}

#[test]
fn a_small_fine_image_does_not_set_the_resolution() {
    // 1200 x 1200 pixels on 20 x 20 points would be 4320 dpi.
    let content = "q 20 0 0 20 100 700 cm /I Do Q";
    let image = stream(
        "/Type /XObject /Subtype /Image /Width 1200 /Height 1200 /BitsPerComponent 1 /ColorSpace /DeviceGray",
        &"\0".repeat(150 * 1200),
    );
    let bytes = one_page("/MediaBox [0 0 595 842] /Resources << /XObject << /I 5 0 R >> >>", content, &[image]);
    for options in renderers() {
        let raster = render(&bytes, &options, 200.0).unwrap();
        assert_eq!(raster.pixels.dimensions(), (1653, 2339));
        assert_eq!(raster.dpi, Some(200.0));
        let (x0, y0, x1, y1) = ink(&raster.pixels).unwrap();
        assert!(x0.abs_diff(278) < 2 && x1.abs_diff(333) < 2 && y0.abs_diff(339) < 2 && y1.abs_diff(394) < 2);
    }
}

#[test]
fn a_huge_page_is_reduced_before_memory_is_taken() {
    let bytes = one_page("/MediaBox [0 0 25000 25000]", "0 g 0 12500 12500 12500 re f", &[]);
    let limits = Limits { max_pixels: 1_000_000, ..Limits::default() };
    for options in renderers() {
        let options = OpenOptions { limits: limits.clone(), ..options };
        let raster = render(&bytes, &options, 200.0).unwrap();
        assert!(raster.pixels.width() * raster.pixels.height() <= 1_000_000);
        assert!(raster.pixels.width() >= 999, "no smaller than needed");
        let (_, _, x1, y1) = ink(&raster.pixels).unwrap();
        assert!(x1.abs_diff(raster.pixels.width() / 2) <= 1 && y1.abs_diff(raster.pixels.height() / 2) <= 1);
        let notice = raster.notice.unwrap();
        assert_eq!(notice, "page 1 was rendered at 3 dpi instead of 200 to stay within 1 megapixels");
        assert!((raster.dpi.unwrap() - 2.88).abs() < 0.01);
    }
}

#[test]
fn a_large_bilevel_image_in_a_page_is_reduced_with_it() {
    // 5000 x 5000 pixels, the upper half black (0), as a page that shows it at 1 pixel per point.
    let half = "\0".repeat(625 * 2500) + &"\u{7f}".repeat(625 * 2500);
    let image = stream(
        "/Type /XObject /Subtype /Image /Width 5000 /Height 5000 /BitsPerComponent 1 /ColorSpace /DeviceGray",
        &half,
    );
    let bytes = one_page(
        "/MediaBox [0 0 5000 5000] /Resources << /XObject << /I 5 0 R >> >>",
        "5000 0 0 5000 0 0 cm /I Do",
        &[image],
    );
    for options in renderers() {
        let options = OpenOptions { limits: Limits { max_pixels: 250_000, ..Limits::default() }, ..options };
        let raster = render(&bytes, &options, 200.0).unwrap();
        assert!(raster.notice.is_some());
        assert_eq!(raster.pixels.dimensions(), (500, 500));
        assert!(raster.pixels.get_pixel(250, 100).0[0] < 20 && raster.pixels.get_pixel(250, 400).0[0] > 200);
    }
}

#[test]
fn an_image_too_large_for_memory_is_refused_by_hayro() {
    let image = |side: u32, bits: u32| {
        let dictionary = format!(
            "/Type /XObject /Subtype /Image /Width {side} /Height {side} /BitsPerComponent {bits} /ColorSpace /DeviceGray"
        );
        let resources = "/Resources << /XObject << /I 5 0 R >> >>";
        let content = format!("/I Do {SQUARE}");
        one_page(&format!("/MediaBox [0 0 200 100] {resources}"), &content, &[stream(&dictionary, "nothing")])
    };
    let hayro = OpenOptions { pdf_renderer: PdfRenderer::Hayro, ..OpenOptions::default() };
    let error = render(&image(50_000, 1), &hayro, 72.0).unwrap_err().to_string();
    assert!(error.contains("an image on it has 50000 x 50000 pixels"), "{error}");
    assert!(render(&image(25_000, 8), &hayro, 72.0).is_err());
    assert!(render(&image(100, 8), &hayro, 72.0).is_ok());
}

#[test]
fn a_page_that_is_meant_to_be_blank_is_one() {
    let blank = one_page("/MediaBox [0 0 200 100]", "  \n", &[]);
    let best = OpenOptions::default();
    for options in renderers().iter().chain([&best]) {
        let raster = render(&blank, options, 72.0).unwrap();
        assert!(is_blank(&raster.pixels) && raster.pixels.dimensions() == (200, 100) && raster.notice.is_none());
    }
}

#[test]
fn grid_keeps_every_limit() {
    for max_pixels in [1, 2, 10, 999, 1_000_000, 120_000_000] {
        let limits = Limits { max_pixels, ..Limits::default() };
        for (width, height) in
            [(0.001, 1e6), (1e6, 0.001), (1.0, 1.0), (1e9, 1e9), (612.0, 792.0), (14400.0, 14400.0), (3.4e38, 1e-38)]
        {
            for dpi in [f32::NAN, -1.0, 0.0, 1.0, 200.0, 1e30] {
                let grid = Grid::of(width, height, dpi, &limits).unwrap();
                assert!(grid.width >= 1 && grid.height >= 1 && grid.width <= 65_000 && grid.height <= 65_000);
                assert!(u64::from(grid.width) * u64::from(grid.height) <= max_pixels, "{grid:?} {max_pixels}");
            }
        }
    }
    assert!(Grid::of(f32::NAN, 1.0, 200.0, &Limits::default()).is_err());
    assert!(Grid::of(0.0, 1.0, 200.0, &Limits::default()).is_err());
}

#[test]
fn one_bit_images_are_not_inverted() {
    // 16 x 16 pixels, the left half 0, the right half 1.
    let rows = |left: &str, right: &str| format!("{left}{right}").repeat(16);
    let hex = rows("00", "ff") + ">";
    let image = |entries: &str| {
        let dictionary = format!(
            "/Type /XObject /Subtype /Image /Width 16 /Height 16 /BitsPerComponent 1 /Filter /ASCIIHexDecode {entries}"
        );
        one_page(
            "/MediaBox [0 0 160 160] /Resources << /XObject << /I 5 0 R >> >>",
            "160 0 0 160 0 0 cm /I Do",
            &[stream(&dictionary, &hex)],
        )
    };
    let left = Some((0, 0, 80, 160));
    let right = Some((80, 0, 160, 160));
    let cases = [
        ("/ColorSpace /DeviceGray", left),
        ("/ColorSpace /DeviceGray /Decode [1 0]", right),
        // A mask paints where it is 0, in the current colour (black); with the other decode array where it is 1.
        ("/ImageMask true", left),
        ("/ImageMask true /Decode [1 0]", right),
        ("/ColorSpace [/Indexed /DeviceRGB 1 <000000ffffff>]", left),
        ("/ColorSpace [/Indexed /DeviceRGB 1 <ffffff000000>]", right),
    ];
    for options in renderers() {
        for (entries, expected) in cases {
            let raster = render(&image(entries), &options, 72.0).unwrap();
            let found = ink(&raster.pixels).unwrap();
            let expected = expected.unwrap();
            // Renderers smooth an enlarged image by a few pixels.
            assert!(found.0.abs_diff(expected.0) <= 5 && found.2.abs_diff(expected.2) <= 5, "{entries}: {found:?}");
        }
    }
}

#[test]
fn form_fields_are_drawn() {
    // A text field with an appearance (a black bar), a stamp annotation, and a hidden note that must not show.
    let form =
        |x: u32| stream(&format!("/Type /XObject /Subtype /Form /BBox [0 0 {x} 10]"), &format!("0 g 0 0 {x} 10 re f"));
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [5 0 R] >> >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /MediaBox [0 0 200 100] /Annots [5 0 R 7 0 R 9 0 R] >>".to_owned(),
        stream("", "1 g 0 0 1 1 re f"),
        "<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Smith) /F 4 /Rect [20 70 60 80] /P 3 0 R /AP << /N 6 0 R >> >>".to_owned(),
        form(40),
        "<< /Type /Annot /Subtype /Stamp /F 4 /Rect [100 20 150 30] /P 3 0 R /AP << /N 8 0 R >> >>".to_owned(),
        form(50),
        "<< /Type /Annot /Subtype /Stamp /F 2 /Rect [0 0 200 10] /P 3 0 R /AP << /N 8 0 R >> >>".to_owned(),
    ];
    for options in renderers() {
        let raster = render(&pdf(&objects), &options, 72.0).unwrap();
        let renderer = options.pdf_renderer;
        let dark = |x, y| raster.pixels.get_pixel(x, y).0[0] < 128;
        assert!(dark(40, 25) && !dark(40, 35) && !dark(65, 25), "the field's value, {renderer:?}");
        assert!(dark(120, 75) && !dark(160, 75), "the stamp, {renderer:?}");
        assert!(!dark(100, 95), "the hidden note, {renderer:?}");
    }
}

#[test]
fn passwords() {
    for options in renderers() {
        let open = |name: &str, password: Option<&str>| {
            let options = OpenOptions { password: password.map(str::to_owned), ..options.clone() };
            Document::from_bytes(name, fixture(name), &options)
        };
        for name in ["owner-rc4.pdf", "owner-aes128.pdf", "owner-aes256.pdf"] {
            for password in [None, Some("owner")] {
                let raster = open(name, password).and_then(|mut document| document.render(0, 72.0)).unwrap();
                assert_eq!(ink(&raster.pixels), Some((0, 0, 20, 20)), "{name} {:?}", options.pdf_renderer);
            }
        }
        for name in ["user-rc4.pdf", "user-aes256.pdf"] {
            let refused = |password| open(name, password).err().unwrap();
            assert_eq!(refused(None), DocumentError::PasswordNeeded { name: name.to_owned() });
            assert_eq!(refused(Some("")), DocumentError::PasswordNeeded { name: name.to_owned() });
            for wrong in ["sesame", "open sesame ", "a\0b", "열려라 참깨", &"x".repeat(1000)] {
                assert_eq!(refused(Some(wrong)), DocumentError::WrongPassword { name: name.to_owned() });
            }
            let raster = open(name, Some("open sesame")).and_then(|mut document| document.render(0, 72.0)).unwrap();
            assert_eq!(ink(&raster.pixels), Some((0, 0, 20, 20)), "{name}");
        }
    }
}

#[test]
fn no_pages_is_said() {
    let objects = ["<< /Type /Catalog /Pages 2 0 R >>".to_owned(), "<< /Type /Pages /Kids [] /Count 0 >>".to_owned()];
    for options in renderers() {
        let error = Document::from_bytes("scan.pdf", pdf(&objects), &options).err().unwrap();
        assert_eq!(error.to_string(), "scan.pdf has no pages", "{:?}", options.pdf_renderer);
    }
}

#[test]
fn files_that_are_no_pdf() {
    let message = |bytes: &[u8]| open("scan.pdf", bytes.to_vec()).err().unwrap().to_string();
    assert_eq!(message(b""), "scan.pdf is empty (0 bytes); copy or download it again");
    assert_eq!(
        message(b"Dear Sir, this is a letter."),
        "scan.pdf is not a PDF or an image that can be read: its content looks like plain text; choose a PDF or an image"
    );
    for options in renderers() {
        let error = Document::from_bytes("scan.pdf", b"%PDF-1.7\nnothing else".to_vec(), &options).err().unwrap();
        assert_eq!(error.to_string(), "scan.pdf is damaged: it is not a readable PDF; copy or download it again");
    }
}

#[test]
fn junk_before_the_header_is_passed_over() {
    let bytes = [b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), page("/MediaBox [0 0 200 100]")].concat();
    for options in renderers() {
        assert_eq!(ink(&render(&bytes, &options, 72.0).unwrap().pixels), Some((0, 0, 20, 20)));
    }
}

#[test]
fn a_page_that_fails_leaves_the_others() {
    let page = |contents: &str| format!("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 100] /Contents {contents} >>");
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R 4 0 R 5 0 R] /Count 3 >>".to_owned(),
        page("6 0 R"),
        page("7 0 R"),
        page("6 0 R"),
        stream("", SQUARE),
        stream("/Filter /FlateDecode", "garbage that was never deflated"),
    ];
    for options in renderers() {
        let mut document = Document::from_bytes("mixed.pdf", pdf(&objects), &options).unwrap();
        assert_eq!(document.page_count(), 3);
        for page in [0, 2] {
            assert_eq!(ink(&document.render(page, 72.0).unwrap().pixels), Some((0, 0, 20, 20)));
        }
        let error = document.render(1, 72.0).unwrap_err().to_string();
        assert_eq!(error, "page 2 of mixed.pdf cannot be shown: its content is damaged", "{:?}", options.pdf_renderer);
        let error = document.render(3, 72.0).unwrap_err().to_string();
        assert_eq!(error, "mixed.pdf has no page 4; its last page is 3");
    }
    // A size that no raster can have.
    objects[3] =
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99999999999999999999999 0.0000001] /Contents 6 0 R >>".to_owned();
    for options in renderers() {
        let mut document = Document::from_bytes("mixed.pdf", pdf(&objects), &options).unwrap();
        let _ = document.render(1, 72.0);
        assert_eq!(ink(&document.render(2, 72.0).unwrap().pixels), Some((0, 0, 20, 20)));
    }
}

#[test]
fn pages_that_a_cut_file_has_lost_do_not_disappear() {
    // Three pages are promised; the object of the second is gone.
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R 4 0 R 5 0 R] /Count 3 /MediaBox [0 0 200 100] >>".to_owned(),
    ];
    objects.push("<< /Type /Page /Parent 2 0 R /Contents 6 0 R >>".to_owned());
    objects.push("null".to_owned());
    objects.push("<< /Type /Page /Parent 2 0 R /Contents 6 0 R >>".to_owned());
    objects.push(stream("", SQUARE));
    for options in renderers() {
        let mut document = Document::from_bytes("cut.pdf", pdf(&objects), &options).unwrap();
        assert_eq!(document.page_count(), 3, "{:?}", options.pdf_renderer);
        let failed: Vec<_> = (0..3).filter_map(|page| document.render(page, 72.0).err()).collect();
        assert!(matches!(failed.as_slice(), [DocumentError::PageFailed { .. }]), "{failed:?}");
    }
}

#[test]
fn nested_forms_do_not_overflow_the_stack() {
    // A form that draws itself, and page content with 100,000 unclosed states and nested arrays.
    let form = stream(
        "/Type /XObject /Subtype /Form /BBox [0 0 200 100] /Resources << /XObject << /F 5 0 R >> >>",
        "/F Do /F Do",
    );
    let content = format!("{} {} /F Do {SQUARE}", "q ".repeat(100_000), "[".repeat(100_000));
    let bytes = one_page("/MediaBox [0 0 200 100] /Resources << /XObject << /F 5 0 R >> >>", &content, &[form]);
    for options in renderers() {
        let _ = render(&bytes, &options, 72.0);
    }
}

#[test]
fn more_pages_than_allowed() {
    let limits = Limits { max_pages: 0, ..Limits::default() };
    for options in renderers() {
        let options = OpenOptions { limits: limits.clone(), ..options };
        let error = Document::from_bytes("a.pdf", page("/MediaBox [0 0 9 9]"), &options).err().unwrap();
        assert_eq!(error.to_string(), "a.pdf has 1 pages and the limit is 0; split it into smaller files");
    }
}

/// Stands in for pdfium: draws black pages, and hangs on one of them. What it is asked for while it hangs would wait an
/// hour if it waited.
#[derive(Clone)]
struct StandIn {
    in_turn: Arc<Exclusive>,
    hangs_on: usize,
    /// Until this is closed.
    end: Arc<Mutex<mpsc::Receiver<()>>>,
}

impl StandIn {
    fn new(hangs_on: usize) -> (Self, mpsc::SyncSender<()>) {
        let (end, ended) = mpsc::sync_channel(0);
        (Self { in_turn: Arc::default(), hangs_on, end: Arc::new(Mutex::new(ended)) }, end)
    }

    fn opened(&self, renderer: PdfRenderer) -> Result<Document, DocumentError> {
        let page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 100] /Contents 6 0 R >>".to_owned();
        let bytes = pdf(&[
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            "<< /Type /Pages /Kids [3 0 R 4 0 R 5 0 R] /Count 3 >>".to_owned(),
            page.clone(),
            page.clone(),
            page,
            stream("", SQUARE),
        ]);
        let options = OpenOptions { pdf_renderer: renderer, ..OpenOptions::default() };
        let pages = PdfPages::open_with(Some(Box::new(self.clone())), Bytes(Arc::new(bytes)), &options);
        let pages = pages.map_err(|fault| fault.of_file("a.pdf"))?;
        let rasterizer = Rasterizer::Pdf(pages);
        Ok(Document { name: "a.pdf".to_owned(), limits: options.limits, rasterizer, timeouts: 0 })
    }
}

impl Library for StandIn {
    fn open(&self, _: &Bytes, _: Option<&str>, _: &Limits) -> Result<Box<dyn OpenPdf>, Fault> {
        let opened = self.clone();
        self.in_turn.run(Duration::from_secs(3600), || Ok(Box::new(opened) as Box<dyn OpenPdf>))
    }
}

impl OpenPdf for StandIn {
    fn page_count(&self) -> usize {
        3
    }

    fn render(&self, page: usize, _: f32, _: &Limits) -> Result<PageRaster, Fault> {
        if page != self.hangs_on {
            let black = || Ok(PageRaster { pixels: RgbImage::new(200, 100), dpi: Some(72.0), notice: None });
            return self.in_turn.run(Duration::from_secs(3600), black);
        }
        let end = Arc::clone(&self.end);
        self.in_turn.run(Duration::from_millis(1), move || {
            let _ = end.lock().unwrap().recv();
            Err(Fault::EndsEarly)
        })
    }
}

#[test]
fn while_pdfium_hangs_hayro_draws_and_says_so() {
    let (library, _end) = StandIn::new(1);
    let mut document = library.opened(PdfRenderer::Best).unwrap();
    let mut other = library.opened(PdfRenderer::Best).unwrap();
    assert_eq!(document.render(0, 72.0).unwrap().notice, None);
    assert_eq!(document.renderer(), "pdfium");
    // The page where it happens, the one after it, a document that was open by then, and one that is opened later.
    let later = |document: &mut Document, page: usize| {
        let raster = document.render(page, 72.0).unwrap();
        assert_eq!(ink(&raster.pixels), Some((0, 0, 20, 20)), "hayro's page");
        let sentence = format!("page {} was drawn by the built-in renderer because pdfium hangs", page + 1);
        assert_eq!(raster.notice, Some(sentence));
        assert_eq!(document.renderer(), "hayro");
    };
    later(&mut document, 1);
    later(&mut document, 2);
    later(&mut document, 0);
    later(&mut other, 0);
    later(&mut library.opened(PdfRenderer::Best).unwrap(), 2);
}

#[test]
fn pdfium_alone_says_that_it_hangs_and_is_used_again_when_it_does_not() {
    let (library, end) = StandIn::new(0);
    let mut document = library.opened(PdfRenderer::Pdfium).unwrap();
    let sentence = |result: Result<PageRaster, DocumentError>| result.unwrap_err().to_string();
    let advice = "start the program again or choose the built-in renderer";
    assert_eq!(
        sentence(document.render(0, 72.0)),
        format!("page 1 of a.pdf cannot be shown: pdfium hangs: it takes longer than 0 seconds; {advice}")
    );
    assert_eq!(
        sentence(document.render(1, 72.0)),
        format!("page 2 of a.pdf cannot be shown: pdfium hangs since an earlier page; {advice}")
    );
    assert_eq!(
        library.opened(PdfRenderer::Pdfium).err().unwrap().to_string(),
        format!("a.pdf was to be drawn by pdfium, which hangs; {advice}")
    );
    drop(end);
    while document.render(1, 72.0).is_err() {
        std::thread::yield_now();
    }
    assert_eq!(library.opened(PdfRenderer::Best).unwrap().renderer(), "pdfium");
}

/// A renderer that uses up all the time that it is given.
struct Slow(Arc<Mutex<Vec<Duration>>>);

impl Library for Slow {
    fn open(&self, _: &Bytes, _: Option<&str>, _: &Limits) -> Result<Box<dyn OpenPdf>, Fault> {
        Ok(Box::new(Slow(Arc::clone(&self.0))))
    }
}

impl OpenPdf for Slow {
    fn page_count(&self) -> usize {
        100
    }

    fn render(&self, _: usize, _: f32, limits: &Limits) -> Result<PageRaster, Fault> {
        self.0.lock().unwrap().push(limits.max_time);
        Err(Fault::TimedOut(limits.max_time))
    }
}

#[test]
fn a_document_of_pages_that_hang_costs_twice_the_limit_at_most() {
    let given = Arc::new(Mutex::new(Vec::new()));
    let options = OpenOptions::default();
    let pages = PdfPages::open_with(Some(Box::new(Slow(Arc::clone(&given)))), Bytes(Arc::default()), &options).unwrap();
    let rasterizer = Rasterizer::Pdf(pages);
    let mut document = Document { name: "a.pdf".to_owned(), limits: options.limits, rasterizer, timeouts: 0 };
    let sentences: Vec<_> = (0..100).map(|page| document.render(page, 72.0).unwrap_err().to_string()).collect();
    assert_eq!(sentences[0], "page 1 of a.pdf cannot be shown: it takes longer than 180 seconds");
    assert_eq!(sentences[1], "page 2 of a.pdf cannot be shown: it takes longer than 90 seconds");
    let last = "page 100 of a.pdf cannot be shown: other pages of it took too long; save the file anew";
    assert_eq!(sentences[99], last);
    let given = given.lock().unwrap();
    assert!(given.iter().sum::<Duration>() < 2 * document.limits.max_time, "{given:?}");
}
