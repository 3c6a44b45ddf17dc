//! Headings: by size, weight and isolation.

use super::blocks::{Body, TextLine};
use crate::region::{Label, Region, Role};

/// Whether a paragraph is set like a heading.
pub(super) fn is_heading(
    paragraph: &[TextLine],
    body: &Body,
    left: u32,
    above: Option<f32>,
    below: Option<f32>,
) -> bool {
    let Some(first) = paragraph.first() else { return false };
    if paragraph.len() > 3 || first.bullet.is_some() || first.mono == Some(true) && first.cap < 1.35 * body.cap {
        return false;
    }
    let letters: usize = paragraph.iter().map(|l| l.segment.letters.len()).sum();
    let tall = |l: &TextLine| l.segment.letters.iter().filter(|c| c.bounds.height() as f32 >= 0.5 * l.cap).count();
    if paragraph.iter().map(tall).sum::<usize>() < 5 {
        return false;
    }
    let mean = |value: &dyn Fn(&TextLine) -> f32| {
        paragraph.iter().map(|l| value(l) * l.segment.letters.len() as f32).sum::<f32>() / letters as f32
    };
    let (cap, weight) = (mean(&|l| l.cap), mean(&|l| l.weight));
    if letters > if cap >= 1.5 * body.cap { 200 } else { 90 } {
        return false;
    }
    // A formula is as large by its brackets, but set in from the column's edge.
    let flush = first.bounds().x0 as f32 <= left as f32 + 0.6 * body.cap;
    let size = mean(&|l| l.segment.size);
    let large = (cap >= 1.6 * body.cap || cap >= 1.18 * body.cap && flush) && size >= 1.12 * body.size;
    let bold = letters >= 5 && weight >= 1.22 * body.weight && paragraph.len() <= 2;
    let apart = above.is_none_or(|gap| gap >= 1.25 * body.leading);
    let close = below.is_none_or(|gap| gap >= 0.8 * body.leading);
    large && (apart || bold) || bold && apart && close && cap >= 0.9 * body.cap
}

/// Gives headings their levels by size classes, and the first largest one of a page that opens with it the title.
pub(super) fn level(regions: &mut [Region], caps: &[f32], body: &Body, page_height: u32) {
    let is_title = |r: &Region| r.label == Label::ParagraphTitle;
    let mut sizes: Vec<f32> = regions.iter().zip(caps).filter(|(r, _)| is_title(r)).map(|(_, &c)| c).collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    let mut classes: Vec<f32> = Vec::new();
    for size in sizes {
        if classes.last().is_none_or(|&c| size < 0.88 * c) {
            classes.push(size);
        }
    }
    for (region, &cap) in regions.iter_mut().zip(caps) {
        if is_title(region) {
            let class = classes.iter().position(|&c| cap >= 0.88 * c).unwrap_or(classes.len());
            region.level = Some((class + 1).min(6) as u8);
        }
    }
    let first = regions.iter().position(|r| r.label.role() != Role::Furniture);
    let alone =
        |index: usize| regions.iter().filter(|r| r.level == Some(1)).count() == 1 && regions[index].level == Some(1);
    if let Some(index) = first
        && alone(index)
        && caps[index] >= 1.6 * body.cap
        && regions[index].bounds.y1 * 2 < page_height
    {
        regions[index].label = Label::DocTitle;
    }
}
