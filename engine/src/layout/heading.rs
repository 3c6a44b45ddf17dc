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
    // Brackets, sums and exponents of a formula are of all sizes.
    let inked: Vec<f32> = paragraph
        .iter()
        .flat_map(|l| l.segment.letters.iter().map(|c| c.bounds.height() as f32 / l.cap))
        .filter(|&h| h >= 0.3)
        .collect();
    let even = inked.iter().filter(|&&h| (0.5..=1.3).contains(&h)).count() * 10 >= inked.len() * 8;
    let large = even && (cap >= 1.6 * body.cap || cap >= 1.18 * body.cap && flush) && size >= 1.12 * body.size;
    let bold = letters >= 5 && weight >= 1.22 * body.weight && paragraph.len() <= 2;
    let apart = above.is_none_or(|gap| gap >= 1.25 * body.leading);
    let close = below.is_none_or(|gap| gap >= 0.8 * body.leading);
    large && (apart || bold) || bold && apart && close && cap >= 0.9 * body.cap
}

/// Gives headings their levels by size classes: 1 to the title that a page opens with, from 2 on to the others.
pub(super) fn level(regions: &mut [Region], caps: &[f32], body: &Body, page_height: u32) {
    let title = title(regions, caps, body, page_height);
    if let Some(index) = title {
        regions[index].label = Label::DocTitle;
        regions[index].level = Some(1);
    }
    let is_heading = |r: &Region| r.label == Label::ParagraphTitle;
    let mut sizes: Vec<f32> = regions.iter().zip(caps).filter(|(r, _)| is_heading(r)).map(|(_, &c)| c).collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    let mut classes: Vec<f32> = Vec::new();
    for size in sizes {
        if classes.last().is_none_or(|&c| size < 0.88 * c) {
            classes.push(size);
        }
    }
    for (region, &cap) in regions.iter_mut().zip(caps) {
        if is_heading(region) {
            let class = classes.iter().position(|&c| cap >= 0.88 * c).unwrap_or(classes.len());
            region.level = Some((class + 2).min(6) as u8);
        }
    }
}

/// The heading that a page opens with, if it is clearly larger than all others.
fn title(regions: &[Region], caps: &[f32], body: &Body, page_height: u32) -> Option<usize> {
    let first = regions.iter().position(|r| r.label.role() != Role::Furniture)?;
    let others =
        regions.iter().zip(caps).enumerate().filter(|(i, (r, _))| *i != first && r.label == Label::ParagraphTitle);
    let largest = others.map(|(_, (_, &cap))| cap).fold(body.cap, f32::max);
    let opens = regions[first].label == Label::ParagraphTitle && regions[first].bounds.y1 * 2 < page_height;
    (opens && caps[first] >= 1.2 * largest && caps[first] >= 1.5 * body.cap).then_some(first)
}
