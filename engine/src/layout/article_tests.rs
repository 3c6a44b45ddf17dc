//! Pages of articles: columns with figures in them, lists, running heads, levels of headings.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first fault")]

use std::path::Path;

use image::RgbImage;

use super::page_tests::{fill, paper, text};
use super::{detect, straighten};
use crate::document::{Document, OpenOptions};
use crate::region::{Label, ListItem, Marker, Rect, Region};

/// A page of the sample document.
fn sample(page: usize) -> RgbImage {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/samples/gravity-sample.pdf");
    let raster = Document::open(&path, &OpenOptions::default()).unwrap().render(page, 150.0).unwrap();
    straighten(raster.pixels).0
}

fn depths(regions: &[Region]) -> Vec<Option<u8>> {
    regions.iter().map(|r| r.list_item.map(|item| item.depth)).collect()
}

#[test]
fn the_sample_reads_as_it_was_written() {
    // The structure is that of gravity-sample.md: lines were counted on the rendered pages.
    let first = detect(&sample(0));
    let kinds: Vec<(Label, usize)> = first.iter().map(|r| (r.label, r.lines.len())).collect();
    let expected = [
        (Label::Header, 1),
        (Label::DocTitle, 1),
        (Label::Text, 5),
        (Label::Text, 7),
        (Label::ParagraphTitle, 1),
        (Label::Text, 7),
        (Label::Image, 0),
        (Label::FigureTitle, 2),
        (Label::Text, 7),
        (Label::ParagraphTitle, 1),
        (Label::Text, 7),
        (Label::Text, 1),
        (Label::Text, 2),
        (Label::Text, 1),
        (Label::Text, 3),
        (Label::Text, 7),
        (Label::ParagraphTitle, 1),
        (Label::Text, 5),
        (Label::Text, 2),
        (Label::Number, 1),
    ];
    assert_eq!(kinds, expected);
    let bullets: Vec<usize> = (0..first.len()).filter(|&i| first[i].list_item.is_some()).collect();
    assert_eq!(bullets, [12, 13, 14]);
    assert_eq!(first[12].list_item, Some(ListItem { depth: 0, marker: Marker::Bullet }));
    let levels = |regions: &[Region]| regions.iter().filter_map(|r| r.level).collect::<Vec<_>>();
    assert_eq!(levels(&first), [1, 2, 2, 2]);

    let second = detect(&sample(1));
    let kinds: Vec<(Label, usize)> = second.iter().map(|r| (r.label, r.lines.len())).collect();
    let expected = [
        (Label::Header, 1),
        (Label::Table, 0),
        (Label::Text, 3),
        (Label::ParagraphTitle, 1),
        (Label::Text, 2),
        (Label::Text, 2),
        (Label::Text, 2),
        (Label::Text, 2),
        (Label::Text, 2),
        (Label::Text, 6),
        (Label::ParagraphTitle, 1),
        (Label::Text, 7),
        (Label::Text, 4),
        (Label::Text, 2),
        (Label::Text, 5),
        (Label::Text, 4),
        (Label::Number, 1),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(levels(&second), [2, 2]);
    let numbered = ListItem { depth: 0, marker: Marker::Number };
    assert!((5..9).all(|i| second[i].list_item == Some(numbered)));
    // "The maps / in your phone": the paragraph goes on in the second column.
    let continued: Vec<usize> = (0..second.len()).filter(|&i| second[i].continues).collect();
    assert_eq!(continued, [13]);
}

#[test]
fn a_picture_in_one_column_does_not_break_the_columns() {
    let mut page = paper(1000, 1000);
    for line in 0..7 {
        text(&mut page, 70, 80 + line * 30, 400);
        text(&mut page, 70, 700 + line * 30, 400);
    }
    for y in 300..650 {
        for x in 70..470 {
            page.put_pixel(x, y, image::Rgb([(40 + (x * 3 + y * 7) % 120) as u8; 3]));
        }
    }
    // White in the second column stands beside the white above the picture.
    for line in (0..7).chain(8..20) {
        text(&mut page, 540, 80 + line * 30, 400);
    }
    let regions = detect(&page);
    let columns: Vec<(bool, bool)> = regions.iter().map(|r| (r.bounds.x0 > 500, r.label == Label::Image)).collect();
    assert_eq!(columns, [(false, false), (false, true), (false, false), (true, false), (true, false)]);
}

#[test]
fn a_short_line_between_two_pairs_of_columns_heads_the_lower_pair() {
    let mut page = paper(1000, 1100);
    for line in 0..8 {
        for x in [70, 540] {
            text(&mut page, x, 80 + line * 36, 400);
        }
    }
    text(&mut page, 70, 440, 300);
    for line in 0..5 {
        text(&mut page, 70, 490 + line * 36, 870);
    }
    let regions = detect(&page);
    let edges: Vec<(bool, bool)> = regions.iter().map(|r| (r.bounds.x0 > 500, r.bounds.y0 > 400)).collect();
    assert_eq!(edges[..3], [(false, false), (true, false), (false, true)], "{edges:?}");
}

/// A list with marks of some shape hung left of wrapped items, the second item nested.
fn list_with(mark: impl Fn(&mut RgbImage, u32, u32)) -> Vec<Option<u8>> {
    let mut page = paper(700, 700);
    for line in 0..4 {
        text(&mut page, 70, 80 + line * 36, 560);
    }
    let mut baseline = 260;
    for indent in [0, 50, 0] {
        mark(&mut page, 90 + indent, baseline);
        text(&mut page, 120 + indent, baseline, 510 - indent);
        text(&mut page, 120 + indent, baseline + 36, 200);
        baseline += 82;
    }
    for line in 0..4 {
        text(&mut page, 70, baseline + 20 + line * 36, 560);
    }
    depths(&detect(&page))
}

#[test]
fn marks_of_many_shapes_hang_before_items() {
    let nested = [None, Some(0), Some(1), Some(0), None];
    let small_dot = |p: &mut RgbImage, x, y| fill(p, Rect::new(x, y - 9, x + 5, y - 4), 0);
    let square = |p: &mut RgbImage, x, y| fill(p, Rect::new(x, y - 10, x + 8, y - 2), 0);
    let hyphen = |p: &mut RgbImage, x, y| fill(p, Rect::new(x, y - 7, x + 6, y - 5), 0);
    let dash = |p: &mut RgbImage, x, y| fill(p, Rect::new(x, y - 7, x + 12, y - 5), 0);
    let ring = |p: &mut RgbImage, x, y| {
        fill(p, Rect::new(x + 1, y - 10, x + 7, y - 2), 0);
        fill(p, Rect::new(x, y - 9, x + 8, y - 3), 0);
        fill(p, Rect::new(x + 2, y - 8, x + 6, y - 4), 255);
    };
    assert_eq!(list_with(small_dot), nested, "•");
    assert_eq!(list_with(square), nested, "▪");
    assert_eq!(list_with(hyphen), nested, "-");
    assert_eq!(list_with(dash), nested, "–");
    assert_eq!(list_with(ring), nested, "◦");
}

#[test]
fn lines_side_by_side_do_not_go_on_each_other() {
    let mut page = paper(1000, 500);
    text(&mut page, 70, 80, 250);
    text(&mut page, 540, 80, 250);
    for line in 0..5 {
        text(&mut page, 100, 136 + line * 36, 110);
        text(&mut page, 570, 136 + line * 36, 110);
    }
    assert!(detect(&page).iter().all(|r| !r.continues));
}
