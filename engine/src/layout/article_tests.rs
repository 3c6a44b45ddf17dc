//! Pages of articles: columns with figures in them, lists, running heads, levels of headings.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first fault")]

use image::RgbImage;

use super::detect;
use super::page_tests::{fill, paper, text};
use crate::region::{Label, Rect, Region};

fn depths(regions: &[Region]) -> Vec<Option<u8>> {
    regions.iter().map(|r| r.list_item.map(|item| item.depth)).collect()
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
    let high_dot = |p: &mut RgbImage, x, y| fill(p, Rect::new(x, y - 13, x + 5, y - 8), 0);
    let square = |p: &mut RgbImage, x, y| fill(p, Rect::new(x, y - 10, x + 8, y - 2), 0);
    let hyphen = |p: &mut RgbImage, x, y| fill(p, Rect::new(x, y - 7, x + 6, y - 5), 0);
    let dash = |p: &mut RgbImage, x, y| fill(p, Rect::new(x, y - 7, x + 12, y - 5), 0);
    let ring = |p: &mut RgbImage, x, y| {
        fill(p, Rect::new(x + 1, y - 10, x + 7, y - 2), 0);
        fill(p, Rect::new(x, y - 9, x + 8, y - 3), 0);
        fill(p, Rect::new(x + 2, y - 8, x + 6, y - 4), 255);
    };
    assert_eq!(list_with(small_dot), nested, "•");
    assert_eq!(list_with(high_dot), nested, "• above the middle");
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

/// Bold letters of capitals' height in words of four.
fn bold(page: &mut RgbImage, x: u32, baseline: u32, letters: u32, height: u32) {
    for place in 0..letters {
        let at = x + place * height + place / 4 * height;
        let top = baseline - if place % 4 == 0 { height } else { height * 2 / 3 };
        fill(page, Rect::new(at, top, at + height / 3, baseline), 0);
        fill(page, Rect::new(at, baseline - height / 2, at + height * 3 / 4, baseline - height / 4), 0);
    }
}

#[test]
fn levels_start_below_the_title_whether_there_is_one_or_not() {
    let page = |title: bool| {
        let mut page = paper(900, 1000);
        if title {
            bold(&mut page, 70, 90, 12, 36);
        }
        for (number, top) in [170, 420, 680].into_iter().enumerate() {
            bold(&mut page, 70, top, 12, if number == 2 { 18 } else { 24 });
            for line in 0..5 {
                text(&mut page, 70, top + 50 + line * 32, 700);
            }
        }
        page
    };
    let found = |title: bool| -> Vec<(Label, u8)> {
        detect(&page(title)).iter().filter_map(|r| Some((r.label, r.level?))).collect()
    };
    let sections = [(Label::ParagraphTitle, 2), (Label::ParagraphTitle, 2), (Label::ParagraphTitle, 3)];
    assert_eq!(found(false), sections);
    assert_eq!(found(true)[0], (Label::DocTitle, 1));
    assert_eq!(found(true)[1..], sections);
}

#[test]
fn a_centred_heading_of_two_lines_is_one() {
    let mut page = paper(900, 600);
    bold(&mut page, 200, 60, 16, 24);
    bold(&mut page, 260, 100, 12, 24);
    for line in 0..10 {
        text(&mut page, 70, 170 + line * 32, 700);
    }
    let regions = detect(&page);
    assert_eq!((regions.len(), regions[0].lines.len()), (2, 2));
    assert!(regions[0].level.is_some());
}

#[test]
fn heads_stand_before_and_feet_after_the_columns() {
    let mut page = paper(1000, 1000);
    text(&mut page, 70, 50, 130);
    text(&mut page, 700, 50, 240);
    for line in 0..24 {
        for x in [70, 540] {
            text(&mut page, x, 110 + line * 34, 400);
        }
    }
    text(&mut page, 70, 965, 130);
    let labels: Vec<Label> = detect(&page).iter().map(|r| r.label).collect();
    assert_eq!(labels, [Label::Header, Label::Header, Label::Text, Label::Text, Label::Footer]);
}

#[test]
fn short_numbered_items_are_items_each() {
    let mut page = paper(900, 800);
    for line in 0..4 {
        text(&mut page, 70, 80 + line * 36, 700);
    }
    for item in 0..4 {
        let baseline = 250 + item * 36;
        fill(&mut page, Rect::new(100, baseline - 17, 109, baseline), 0);
        fill(&mut page, Rect::new(103, baseline - 12, 106, baseline - 4), 255);
        fill(&mut page, Rect::new(112, baseline - 3, 115, baseline), 0);
        text(&mut page, 130, baseline, 300);
    }
    for line in 0..4 {
        text(&mut page, 70, 430 + line * 36, 700);
    }
    assert_eq!(depths(&detect(&page)), [None, Some(0), Some(0), Some(0), Some(0), None]);
}

#[test]
fn a_bill_with_long_entries_is_one_table() {
    let mut page = paper(1000, 700);
    for line in 0..3 {
        text(&mut page, 70, 60 + line * 32, 860);
    }
    // Entries of nearly one length beside numbers; the last row is a sum.
    for (row, width) in [250, 245, 260, 255, 250].into_iter().enumerate() {
        let baseline = 220 + 50 * row as u32;
        if row < 4 {
            text(&mut page, 100, baseline, width);
            text(&mut page, 500, baseline, 30);
        }
        text(&mut page, 640, baseline, 50);
        text(&mut page, 800, baseline, 50);
    }
    for line in 0..3 {
        text(&mut page, 70, 540 + line * 32, 860);
    }
    let regions = detect(&page);
    let labels: Vec<Label> = regions.iter().map(|r| r.label).collect();
    assert_eq!(labels, [Label::Text, Label::Table, Label::Text]);
    assert!(regions[1].cells.iter().any(|c| (c.row, c.column) == (4, 3) && c.lines.len() == 1));
}

#[test]
fn groups_of_notes_in_a_margin_stay_with_their_paragraphs() {
    let mut page = paper(1000, 900);
    for (group, lines) in [(0, 6), (1, 8), (2, 6)] {
        for line in 0..lines {
            let baseline = 80 + group * 270 + line * 30;
            text(&mut page, 290, baseline, 640);
            if line < 3 && group != 1 {
                text(&mut page, 90, baseline, 160);
            }
        }
    }
    let regions = detect(&page);
    let main: Vec<u32> = regions.iter().filter(|r| r.bounds.x0 > 280).map(|r| r.bounds.y0).collect();
    assert!(main.is_sorted() && main.len() >= 3, "{main:?}");
    let second_notes = regions.iter().position(|r| r.bounds.x0 < 200 && r.bounds.y0 > 500).unwrap();
    let first_main = regions.iter().position(|r| r.bounds.x0 > 280).unwrap();
    assert!(first_main < second_notes);
}
