//! Page furniture: running heads, page numbers, footers, footnotes.

use super::blocks::{Body, TextLine};
use super::rules::Rules;
use crate::region::{Label, Rect, Region};

/// Labels the outermost rows of a page and the notes at its foot. `paragraphs` are the regions' lines.
pub(super) fn mark(regions: &mut [Region], paragraphs: &[Vec<TextLine>], rules: &Rules, body: &Body, page: (u32, u32)) {
    for top in [true, false] {
        edge(regions, paragraphs, rules, body, page, top);
    }
    footnotes(regions, paragraphs, rules, body);
}

fn edge(regions: &mut [Region], paragraphs: &[Vec<TextLine>], rules: &Rules, body: &Body, page: (u32, u32), top: bool) {
    // Distance from the page's edge in question.
    let near = |r: &Rect| if top { r.y0 } else { page.1.saturating_sub(r.y1) };
    let far = |r: &Rect| if top { r.y1 } else { page.1.saturating_sub(r.y0) };
    let Some(outermost) = regions.iter().map(|r| r.bounds).min_by_key(|b| far(b)) else { return };
    let row: Vec<usize> = (0..regions.len())
        .filter(|&i| {
            let b = regions[i].bounds;
            near(&b) <= far(&outermost) && far(&b) as f32 <= far(&outermost) as f32 + 0.6 * body.cap
        })
        .collect();
    let hull = row.iter().fold(Rect::default(), |all, &i| all.union(&regions[i].bounds));
    let lines: usize = row.iter().map(|&i| regions[i].lines.len()).sum();
    if row.is_empty() || row.len() == regions.len() || lines != row.len() || row.len() > 5 {
        return;
    }
    let rest = regions.iter().enumerate().filter(|(i, _)| !row.contains(i)).map(|(_, r)| near(&r.bounds)).min();
    let gap = rest.unwrap_or(0).saturating_sub(far(&hull)) as f32;
    let content = regions.iter().fold(Rect::default(), |all, r| all.union(&r.bounds));
    let ruled = rules.horizontal.iter().any(|rule| {
        rule.width() * 5 >= content.width() * 2
            && near(rule) + 2 >= far(&hull)
            && near(rule) <= rest.unwrap_or(0) + 2
            && (near(rule) - far(&hull).min(near(rule))) as f32 <= 1.5 * body.leading
    });
    let margin = f64::from(near(&hull)) / f64::from(page.1.max(1));
    // Digits stand as high as capitals, and small capitals are heavy for their height.
    let plain = row.iter().all(|&i| {
        let few = is_number(&paragraphs[i]);
        let style = |l: &TextLine| {
            l.cap <= if few { 1.6 } else { 1.2 } * body.cap && (few || ruled || l.weight <= 1.5 * body.weight)
        };
        paragraphs[i].iter().all(style) && regions[i].list_item.is_none()
    });
    let numbers = row.iter().filter(|&&i| is_number(&paragraphs[i])).count();
    let small = row.iter().all(|&i| paragraphs[i].iter().all(|l| l.cap <= 0.92 * body.cap));
    // Body text seldom comes within a centimetre or so of the page's edge.
    let outside = small || margin < 0.045;
    let wide = hull.width() * 2 > content.width() && row.len() >= 2;
    let furniture = margin < 0.17
        && (ruled && (plain || row.len() >= 2) && gap >= 0.3 * body.leading
            || plain && gap >= 0.9 * body.leading && numbers == row.len()
            || plain && gap >= 0.9 * body.leading && wide
            || plain
                && gap >= if outside { 1.1 } else { 1.6 } * body.leading
                && margin < 0.12
                && row.len() == 1
                && hull.width() * 3 < content.width() * 2);
    if !furniture {
        return;
    }
    for index in row {
        regions[index].label = if is_number(&paragraphs[index]) {
            Label::Number
        } else if top {
            Label::Header
        } else {
            Label::Footer
        };
        regions[index].level = None;
        regions[index].preformatted = false;
    }
}

/// Where furniture stands in the reading order: heads of a page first (0), its feet last (2), all else between.
pub(super) fn place(region: &Region, page_height: u32) -> u8 {
    let lower = region.bounds.y0 * 2 > page_height;
    match region.label {
        Label::Header => 0,
        Label::Footer => 2,
        Label::Number if lower => 2,
        Label::Number => 0,
        _ => 1,
    }
}

/// Few letters in one line.
fn is_number(paragraph: &[TextLine]) -> bool {
    let [line] = paragraph else { return false };
    let letters = line.segment.letters.iter().filter(|c| c.bounds.height() as f32 >= 0.5 * line.cap).count();
    letters <= 5 && line.bounds().width() as f32 <= 5.0 * line.cap
}

/// Small type below a short rule at the foot of a column.
fn footnotes(regions: &mut [Region], paragraphs: &[Vec<TextLine>], rules: &Rules, body: &Body) {
    let text = |r: &Region| r.label == Label::Text;
    for rule in &rules.horizontal {
        let below: Vec<usize> = (0..regions.len())
            .filter(|&i| {
                text(&regions[i])
                    && regions[i].bounds.y0 + 2 >= rule.y1
                    && regions[i].bounds.x0 < rule.x1
                    && regions[i].bounds.x1 > rule.x0
            })
            .collect();
        let Some(&first) = below.iter().min_by_key(|&&i| regions[i].bounds.y0) else { continue };
        let column = below.iter().fold(Rect::default(), |all, &i| all.union(&regions[i].bounds));
        let small = below.iter().all(|&i| {
            let letters: usize = paragraphs[i].iter().map(|l| l.segment.letters.len()).sum();
            let caps: f32 = paragraphs[i].iter().map(|l| l.cap * l.segment.letters.len() as f32).sum();
            letters > 0 && caps <= 0.93 * body.cap * letters as f32
        });
        let starts = rule.x0.abs_diff(column.x0) as f32 <= 2.0 * body.cap;
        let short = rule.width() * 10 <= column.width() * 7;
        let close = regions[first].bounds.y0.saturating_sub(rule.y1) as f32 <= 1.6 * body.leading;
        if small && starts && short && close {
            for index in below {
                regions[index].label = Label::Footnote;
                regions[index].level = None;
            }
        }
    }
}
