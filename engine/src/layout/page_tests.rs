//! Whole small pages, rendered by another program (`tests/fixtures/layout`) or drawn here, with the structure a person
//! sees in them.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first fault")]

use image::{Rgb, RgbImage, imageops};
use proptest::prelude::*;

use super::{detect, has_ink, segment_lines, segment_table, straighten, strips};
use crate::region::{Label, Line, ListItem, Marker, Rect, Region};

fn fixture(name: &str) -> RgbImage {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/layout/");
    image::open(format!("{folder}{name}.png")).unwrap().to_rgb8()
}

pub(super) fn paper(width: u32, height: u32) -> RgbImage {
    RgbImage::from_pixel(width, height, Rgb([255; 3]))
}

pub(super) fn fill(page: &mut RgbImage, rect: Rect, value: u8) {
    for y in rect.y0..rect.y1.min(page.height()) {
        for x in rect.x0..rect.x1.min(page.width()) {
            page.put_pixel(x, y, Rgb([value; 3]));
        }
    }
}

/// Letters of varying height on a baseline, in words of five; about `width` pixels of them.
pub(super) fn text(page: &mut RgbImage, x: u32, baseline: u32, width: u32) {
    let heights = [11, 11, 17, 11, 16, 11, 11, 17];
    let mut at = x;
    let mut count = 0;
    while at + 9 <= x + width {
        let height = heights[(count * 5 + baseline as usize) % 8];
        fill(page, Rect { x0: at, y0: baseline - height, x1: at + 2, y1: baseline }, 0);
        fill(page, Rect { x0: at, y0: baseline - 8, x1: at + 8, y1: baseline - 6 }, 0);
        fill(page, Rect { x0: at + 6, y0: baseline - 11, x1: at + 8, y1: baseline }, 0);
        count += 1;
        // Widths differ as in proportional type; every word takes 64 pixels with its space.
        let steps = [[9, 14, 9, 12, 20], [12, 9, 13, 10, 20], [10, 15, 9, 10, 20]];
        at += steps[(count - 1) / 5 % 3][(count - 1) % 5];
    }
}

fn labels(regions: &[Region]) -> Vec<Label> {
    regions.iter().map(|r| r.label).collect()
}

#[test]
fn two_columns_with_a_wide_figure_read_band_by_band() {
    let regions = detect(&fixture("two_columns"));
    let expected = [
        Label::DocTitle,
        Label::Text,
        Label::Text,
        Label::Text,
        Label::Text,
        Label::Image,
        Label::FigureTitle,
        Label::Text,
        Label::Text,
        Label::Text,
        Label::Text,
        Label::Number,
    ];
    assert_eq!(labels(&regions), expected);
    let left: Vec<bool> = regions.iter().map(|r| r.bounds.x1 < 500).collect();
    assert_eq!(left[1..5], [true, true, false, false]);
    assert_eq!(left[7..11], [true, true, false, false]);
    let figure = regions[5].bounds;
    assert!(figure.x0.abs_diff(70) < 6 && figure.x1.abs_diff(660) < 6 && figure.y0.abs_diff(500) < 6, "{figure:?}");
    // Lines as they were set, none cut by a column or joined with its neighbour.
    let lines: usize = regions[1..5].iter().map(|r| r.lines.len()).sum();
    assert_eq!(lines, 7 + 6 + 7 + 7);
}

#[test]
fn a_ruled_table_keeps_its_merged_cells() {
    let regions = detect(&fixture("ruled_table"));
    assert_eq!(labels(&regions), [Label::Text, Label::Table, Label::Text]);
    let spans: Vec<(u32, u32, u32, u32, usize)> =
        regions[1].cells.iter().take(9).map(|c| (c.row, c.column, c.rowspan, c.colspan, c.lines.len())).collect();
    let expected = [
        (0, 0, 2, 1, 1), // Group
        (0, 1, 1, 2, 1), // First half
        (0, 3, 1, 2, 1), // Second half
        (1, 1, 1, 1, 1),
        (1, 2, 1, 1, 1),
        (1, 3, 1, 1, 1),
        (1, 4, 1, 1, 1),
        (2, 0, 4, 1, 1), // North
        (2, 1, 1, 1, 1),
    ];
    assert_eq!(spans, expected);
    assert_eq!(regions[1].cells.len(), 3 + 4 + 1 + 16);
    let empty: Vec<(u32, u32)> =
        regions[1].cells.iter().filter(|c| c.lines.is_empty()).map(|c| (c.row, c.column)).collect();
    assert_eq!(empty, [(4, 3)]);
}

#[test]
fn a_borderless_table_is_found_between_paragraphs() {
    let page = fixture("borderless");
    let regions = detect(&page);
    assert_eq!(labels(&regions), [Label::Text, Label::Table, Label::Text]);
    assert_eq!((regions[0].lines.len(), regions[2].lines.len()), (3, 3));
    for cells in [regions[1].cells.clone(), segment_table(&page, regions[1].bounds)] {
        assert_eq!(cells.len(), 24);
        assert!(cells.iter().all(|c| c.lines.len() == 1 && c.rowspan == 1 && c.colspan == 1));
        let last = cells.last().unwrap();
        assert_eq!((last.row, last.column), (5, 3));
        assert!(last.bounds.x1 >= 775 && last.bounds.x0 > 600, "{:?}", last.bounds);
    }
}

#[test]
fn list_items_are_cut_from_their_bullets_and_nested() {
    let regions = detect(&fixture("list"));
    let items: Vec<Option<ListItem>> = regions.iter().map(|r| r.list_item).collect();
    let item = |depth, marker| Some(ListItem { depth, marker });
    let expected = [
        None,
        None,
        item(0, Marker::Bullet),
        item(1, Marker::Bullet),
        item(1, Marker::Bullet),
        item(0, Marker::Bullet),
        item(0, Marker::Number),
        item(0, Marker::Number),
        item(0, Marker::Number),
        None,
    ];
    assert_eq!(items, expected);
    assert!(matches!(regions[0].label, Label::DocTitle | Label::ParagraphTitle) && regions[0].level == Some(1));
    // Bullets were drawn from x = 110 to 118, their text at 138; numbers stay in their line.
    assert!(regions[2].lines.iter().all(|l| l.bounds.x0.abs_diff(138) <= 2));
    assert!(regions[6].lines[0].bounds.x0.abs_diff(112) <= 3);
}

#[test]
fn a_listing_keeps_lines_and_indents() {
    let regions = detect(&fixture("listing"));
    assert_eq!(regions.iter().map(|r| r.preformatted).collect::<Vec<_>>(), [false, true, false]);
    let indents: Vec<u32> = regions[1].lines.iter().map(|l| l.indent).collect();
    assert_eq!(indents, [0, 4, 4, 8, 4, 4, 0]);
    // A blank line stands before the second println.
    assert_eq!(regions[1].lines.iter().position(|l| l.starts_paragraph && l.indent > 0), Some(5));
}

#[test]
fn light_text_on_a_dark_band_and_text_in_a_frame_are_read() {
    let page = fixture("panel");
    let regions = detect(&page);
    assert!(regions.iter().all(|r| r.label.role() == crate::region::Role::Text), "{:?}", labels(&regions));
    assert_eq!(regions.iter().map(|r| r.lines.len()).collect::<Vec<_>>(), [1, 4, 2]);
    let band = regions[0].lines[0].bounds;
    assert!(band.x0.abs_diff(90) <= 3 && band.y0 > 45 && band.y1 < 105, "{band:?}");
    // The strip of light text has the band as its ground.
    let strip = &strips(&page, &regions[0].lines[0], 28, 1008)[0];
    assert_eq!(*strip.pixels.get_pixel(strip.pixels.width() - 1, 14), Rgb([30; 3]));
    assert!(strip.pixels.pixels().any(|p| p.0[0] > 230));
}

#[test]
fn tight_leading_keeps_lines_apart_and_out_of_each_others_strips() {
    let page = fixture("tight");
    let lines: Vec<Line> = detect(&page).into_iter().flat_map(|r| r.lines).collect();
    assert_eq!(lines.len(), 4);
    for (index, line) in lines.iter().enumerate() {
        // Lines are 26 pixels apart from y = 30.
        assert!(line.bounds.y0.abs_diff(30 + 26 * index as u32) <= 12, "{index}: {:?}", line.bounds);
        let strips = strips(&page, line, 28, 1008);
        assert_eq!(strips.len(), 1);
        let strip = &strips[0].pixels;
        assert!(strip.height() == 28 && strip.width().is_multiple_of(28));
        // The margins of a strip are paper: no descender of the line above, no ascender of the line below.
        for x in 0..strip.width() {
            assert!(strip.get_pixel(x, 0).0[0] > 200 && strip.get_pixel(x, 27).0[0] > 200, "line {index}, x {x}");
        }
    }
}

#[test]
fn a_wide_line_is_divided_between_words() {
    let mut page = paper(2400, 80);
    text(&mut page, 40, 50, 2300);
    let line = &segment_lines(&page, Rect::new(0, 0, 2400, 80))[0];
    let strips = strips(&page, line, 28, 1008);
    assert!(strips.len() >= 3, "{}", strips.len());
    let mut end = 0;
    for strip in &strips {
        assert!(strip.pixels.width() <= 1008 && strip.pixels.height() == 28);
        assert!(strip.bounds.x0 >= end);
        // Words start every 64 pixels from x = 40: a piece starts where a word does.
        assert_eq!((strip.bounds.x0 - 40) % 64, 0, "{:?}", strip.bounds);
        end = strip.bounds.x1;
    }
    assert!(end >= 2300);
}

/// A note in the margin and the line beside it: in one strip, the reader stops at the gap and loses the line.
#[test]
fn what_stands_far_apart_on_a_line_is_read_apart() {
    let mut page = paper(1000, 80);
    text(&mut page, 40, 50, 150);
    text(&mut page, 300, 50, 400);
    let line = Line { bounds: Rect::new(40, 20, 700, 60), starts_paragraph: false, indent: 0 };
    let strips = strips(&page, &line, 28, 1008);
    let starts: Vec<u32> = strips.iter().map(|strip| strip.bounds.x0).collect();
    assert_eq!(starts, [40, 300]);
    assert!(strips[0].bounds.x1 <= 190 && strips[1].bounds.x1 <= 700);
}

#[test]
fn known_skew_is_measured_and_undone() {
    for degrees in [-1.5f32, -0.4, 0.0, 0.7, 1.2, 3.0] {
        let mut page = paper(1000, 900);
        // Slanted by hand: each letter is put where the slope has it.
        let slope = degrees.to_radians().tan();
        for row in 0..18 {
            for place in 0..60 {
                let x = 60 + place * 14 + place / 5 * 6;
                let y = (60.0 + row as f32 * 42.0 + (x as f32 - 500.0) * slope).round() as u32;
                let height = [12, 12, 18, 12, 16][((place * 7 + row) % 5) as usize];
                if x < 950 && y < 880 {
                    fill(&mut page, Rect { x0: x, y0: y.saturating_sub(height), x1: x + 3, y1: y }, 0);
                    fill(&mut page, Rect { x0: x, y0: y.saturating_sub(10), x1: x + 9, y1: y.saturating_sub(8) }, 0);
                }
            }
        }
        let before = page.clone();
        let (straight, found) = straighten(page);
        assert!((found - degrees).abs() <= 0.1, "{degrees} measured as {found}");
        if degrees == 0.0 {
            assert_eq!(straight, before);
        } else {
            assert!(straighten(straight).1.abs() <= 0.1);
        }
    }
}

#[test]
fn straightening_only_moves_pixels() {
    let mut page = paper(600, 400);
    for row in 0..8 {
        for x in (40..560).step_by(13) {
            let y = 60 + row * 38 + (x as f32 * 0.02) as u32;
            fill(&mut page, Rect { x0: x, y0: y - 14, x1: x + 3, y1: y }, (x % 90) as u8);
            fill(&mut page, Rect { x0: x, y0: y - 9, x1: x + 8, y1: y - 6 }, (x % 70) as u8);
        }
    }
    let values: std::collections::BTreeSet<[u8; 3]> = page.pixels().map(|p| p.0).collect();
    let (straight, degrees) = straighten(page);
    assert!(degrees > 0.9);
    assert!(straight.pixels().all(|p| values.contains(&p.0)));
}

#[test]
fn blank_and_dirty_pages_have_no_regions() {
    for value in [0, 30, 128, 240, 255] {
        let page = RgbImage::from_pixel(700, 900, Rgb([value; 3]));
        assert_eq!(detect(&page), [], "{value}");
        assert!(!has_ink(&page, Rect::new(0, 0, 700, 900)));
    }
    // Shading, a dark scanner edge and specks.
    let mut page = RgbImage::from_fn(700, 900, |x, y| {
        let shade = 235 - (x / 20 + y / 40) as u8;
        Rgb([shade - (x.wrapping_mul(7919) ^ y.wrapping_mul(104_729)) as u8 % 9; 3])
    });
    fill(&mut page, Rect::new(0, 0, 12, 900), 20);
    for speck in 0..200u32 {
        let (x, y) = (speck * 7919 % 690, speck * 104_729 % 890);
        fill(&mut page, Rect::new(x, y, x + 2, y + 1), 90);
    }
    assert_eq!(detect(&page), []);
    assert!(!has_ink(&page, Rect::new(0, 0, 700, 900)));
    text(&mut page, 200, 400, 100);
    assert!(has_ink(&page, Rect::new(150, 350, 350, 450)));
    assert!(!has_ink(&page, Rect::new(150, 550, 350, 650)));
}

#[test]
fn a_picture_beside_text_comes_with_that_text() {
    // CASES E3: title, picture and text, picture and text.
    let mut page = paper(1000, 1000);
    for (top, seed) in [(200, 3), (560, 5)] {
        for y in top..top + 240 {
            for x in 80..380 {
                page.put_pixel(x, y, Rgb([(40 + (x * seed + y * 7) % 120) as u8; 3]));
            }
        }
        for line in 0..6 {
            text(&mut page, 460, top + 30 + line * 36, 440);
        }
    }
    let kinds: Vec<(bool, bool)> = detect(&page).iter().map(|r| (r.label == Label::Image, r.bounds.y0 < 500)).collect();
    let order: Vec<(bool, bool)> = kinds.into_iter().fold(Vec::new(), |mut all, kind| {
        if all.last() != Some(&kind) {
            all.push(kind);
        }
        all
    });
    assert_eq!(order, [(true, true), (false, true), (true, false), (false, false)]);
}

#[test]
fn a_paragraph_goes_on_in_the_next_column() {
    let mut page = paper(1000, 800);
    for line in 0..16 {
        text(&mut page, if line == 0 { 100 } else { 70 }, 80 + line * 36, if line == 0 { 370 } else { 400 });
        text(&mut page, 540, 80 + line * 36, if line == 15 { 150 } else { 400 });
    }
    let regions = detect(&page);
    assert_eq!(regions.iter().map(|r| r.continues).collect::<Vec<_>>(), [false, true]);
    assert_eq!(regions.iter().map(|r| r.lines.len()).collect::<Vec<_>>(), [16, 16]);
}

#[test]
fn every_size_of_page_is_taken() {
    for (width, height) in [(1, 1), (1, 700), (900, 1), (2, 3), (15, 17), (3000, 40)] {
        for value in [0, 255] {
            let page = RgbImage::from_pixel(width, height, Rgb([value; 3]));
            assert_eq!(detect(&page), []);
            let (same, _) = straighten(page);
            assert_eq!(same.dimensions(), (width, height));
        }
    }
    let empty = RgbImage::new(0, 0);
    assert_eq!(detect(&empty), []);
    assert!(!has_ink(&empty, Rect::new(0, 0, 5, 5)));
    assert_eq!(segment_lines(&empty, Rect::new(3, 3, 9, 9)), []);
}

#[test]
fn large_pages_are_reduced_and_their_boxes_scaled_back() {
    let mut small = paper(1200, 900);
    for line in 0..10 {
        text(&mut small, 100, 120 + line * 40, 900);
    }
    let large = imageops::resize(&small, 4800, 3600, imageops::FilterType::Nearest);
    let (a, b) = (detect(&small), detect(&large));
    assert_eq!(labels(&a), labels(&b));
    for (a, b) in a.iter().flat_map(|r| &r.lines).zip(b.iter().flat_map(|r| &r.lines)) {
        assert!(b.bounds.x0.abs_diff(4 * a.bounds.x0) <= 8 && b.bounds.y1.abs_diff(4 * a.bounds.y1) <= 8);
    }
}

fn assert_inside(page: &RgbImage, regions: &[Region]) {
    let whole = Rect { x0: 0, y0: 0, x1: page.width(), y1: page.height() };
    let cells = regions.iter().flat_map(|r| &r.cells);
    let lines = regions.iter().flat_map(|r| &r.lines).chain(cells.clone().flat_map(|c| &c.lines));
    let boxes = regions.iter().map(|r| r.bounds).chain(cells.map(|c| c.bounds)).chain(lines.map(|l| l.bounds));
    for bounds in boxes {
        assert!(!bounds.is_empty() && bounds.intersection(&whole) == bounds, "{bounds:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn noise_never_breaks_anything(
        (width, height) in (1u32..260, 1u32..260),
        seed in any::<u64>(),
        density in 0u64..100,
    ) {
        let mut state = seed | 1;
        let page = RgbImage::from_fn(width, height, |_, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Rgb([if (state >> 33) % 100 < density { 0 } else { (state >> 40) as u8 | 0x80 }; 3])
        });
        let (page, _) = straighten(page);
        let regions = detect(&page);
        assert_inside(&page, &regions);
        for line in regions.iter().flat_map(|r| &r.lines) {
            for strip in strips(&page, line, 28, 1008) {
                prop_assert_eq!(strip.pixels.height(), 28);
                prop_assert!(strip.pixels.width().is_multiple_of(28) && strip.pixels.width() <= 1008);
            }
        }
    }

    #[test]
    fn rectangles_never_break_anything(
        rects in prop::collection::vec((0u32..600, 0u32..500, 1u32..300, 1u32..200, any::<u8>()), 0..60),
        part in (0u32..700, 0u32..600, 0u32..700, 0u32..600),
    ) {
        let mut page = paper(600, 500);
        for (x, y, width, height, value) in rects {
            // Mostly small, like letters.
            let (width, height) = if value % 4 == 0 { (width, height) } else { (width % 14 + 1, height % 18 + 1) };
            fill(&mut page, Rect::new(x, y, x + width, y + height), value);
        }
        assert_inside(&page, &detect(&page));
        let part = Rect::new(part.0, part.1, part.2, part.3);
        let inside = part.clamped(600, 500);
        for line in segment_lines(&page, part) {
            prop_assert!(line.bounds.intersection(&inside) == line.bounds);
        }
        for cell in segment_table(&page, part) {
            prop_assert!(cell.bounds.intersection(&inside) == cell.bounds);
        }
        has_ink(&page, part);
    }
}

#[test]
fn a_hundred_thousand_specks_do_not_take_long() {
    // Specks, and marks of the size of letters.
    for (side, width, height) in [(2000, 3, 3), (3000, 5, 9)] {
        let mut page = paper(side, side);
        let mut state = 9u64;
        for _ in 0..100_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (x, y) = ((state >> 20) as u32 % (side - 10), (state >> 45) as u32 % (side - 10));
            fill(&mut page, Rect::new(x, y, x + width, y + height), 0);
        }
        let start = std::time::Instant::now();
        detect(&page);
        // A quadratic grouping takes minutes; the bound leaves room for a busy machine without optimisation.
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }
}

#[test]
fn a_table_with_three_rules_has_a_header() {
    let regions = detect(&fixture("booktabs"));
    assert_eq!(labels(&regions), [Label::Text, Label::Table, Label::Text]);
    let cells = &regions[1].cells;
    assert_eq!(cells.len(), 3 * 5);
    assert!(cells.iter().all(|c| c.header == (c.row == 0) && c.lines.len() == 1));
}
