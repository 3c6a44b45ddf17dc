//! Rules: long thin straight runs of ink (table grids, frames, underlines, separators).

use super::components::components;
use super::raster::Bitmap;
use crate::region::Rect;

/// The rules of a page, taken out of its ink.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    pub(super) horizontal: Vec<Rect>,
    pub(super) vertical: Vec<Rect>,
}

/// Pixels that a broken rule may miss.
const BREAK: usize = 3;

impl Rules {
    /// Finds the rules of a bitmap and clears their pixels in it. `text` is the height of letters.
    pub(super) fn extract(ink: &mut Bitmap, text: f32) -> Self {
        let thickest = (0.35 * text).max(5.0) as u32;
        let long = (3.5 * text).max(40.0) as usize;
        let mut horizontal = thin(&along_rows(ink, long), |r| (r.height(), r.width()), thickest);
        let mut vertical = thin(&along_columns(ink, long), |r| (r.width(), r.height()), thickest);
        horizontal.retain(|rule| is_free(ink, rule, true));
        vertical.retain(|rule| is_free(ink, rule, false));
        // Fringes of anti-aliasing lie one pixel beside the rule; ink that goes on beyond them is something crossing it.
        for rule in &horizontal {
            clear(ink, Rect { y0: rule.y0.saturating_sub(1), y1: rule.y1 + 1, ..*rule });
        }
        for rule in &vertical {
            clear(ink, Rect { x0: rule.x0.saturating_sub(1), x1: rule.x1 + 1, ..*rule });
        }
        Self { horizontal, vertical }
    }

    /// All rules, whatever their direction.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Rect> {
        self.horizontal.iter().chain(&self.vertical)
    }
}

/// Whether a run stands free, other than the serifs of a line of text: it is nearly solid, and what lies two to four
/// pixels beside it is mostly paper.
fn is_free(ink: &Bitmap, rule: &Rect, horizontal: bool) -> bool {
    let share = |rect: Rect| -> f32 {
        let rect = rect.clamped(ink.width as u32, ink.height as u32);
        if rect.is_empty() {
            return 0.0;
        }
        let rows = rect.y0 as usize..rect.y1 as usize;
        let inked: usize =
            rows.map(|y| ink.row(y)[rect.x0 as usize..rect.x1 as usize].iter().filter(|&&v| v != 0).count()).sum();
        inked as f32 / rect.area().max(1) as f32
    };
    let (before, after) = if horizontal {
        (
            Rect { y0: rule.y0.saturating_sub(4), y1: rule.y0.saturating_sub(1), ..*rule },
            Rect { y0: rule.y1 + 1, y1: rule.y1 + 4, ..*rule },
        )
    } else {
        (
            Rect { x0: rule.x0.saturating_sub(4), x1: rule.x0.saturating_sub(1), ..*rule },
            Rect { x0: rule.x1 + 1, x1: rule.x1 + 4, ..*rule },
        )
    };
    let beside = share(before).max(share(after));
    // The box of a slightly sloping rule is several times as thick as the rule.
    share(*rule) >= 0.85 / f32::from(rule.width().min(rule.height()).clamp(1, 3) as u8) && beside < 0.22
}

fn clear(ink: &mut Bitmap, rect: Rect) {
    let rect = rect.clamped(ink.width as u32, ink.height as u32);
    if rect.is_empty() {
        return;
    }
    for y in rect.y0 as usize..rect.y1 as usize {
        ink.row_mut(y)[rect.x0 as usize..rect.x1 as usize].fill(0);
    }
}

/// The components of a map of long runs that are thin and long enough to be rules.
fn thin(map: &Bitmap, across_along: impl Fn(&Rect) -> (u32, u32), thickest: u32) -> Vec<Rect> {
    components(map)
        .list
        .into_iter()
        .map(|c| c.bounds)
        .filter(|bounds| {
            let (across, along) = across_along(bounds);
            across <= thickest && along >= 8 * across
        })
        .collect()
}

/// Runs of at least `length` along rows.
fn along_rows(ink: &Bitmap, length: usize) -> Bitmap {
    let mut map = Bitmap::new(ink.width, ink.height);
    for y in 0..ink.height {
        let mut open: Option<(usize, usize)> = None;
        let (source, target) = (ink.row(y), map.row_mut(y));
        for (x, &value) in source.iter().enumerate() {
            if value == 0 {
                continue;
            }
            open = match open {
                Some((start, end)) if x - end <= BREAK => Some((start, x + 1)),
                Some((start, end)) => {
                    if end - start >= length {
                        target[start..end].fill(1);
                    }
                    Some((x, x + 1))
                }
                None => Some((x, x + 1)),
            };
        }
        if let Some((start, end)) = open
            && end - start >= length
        {
            target[start..end].fill(1);
        }
    }
    map
}

/// Runs of at least `length` along columns, found row by row.
fn along_columns(ink: &Bitmap, length: usize) -> Bitmap {
    let mut map = Bitmap::new(ink.width, ink.height);
    // Per column: first row and end of the run that is open; end 0 means none.
    let mut open = vec![(0usize, 0usize); ink.width];
    for y in 0..=ink.height {
        for (x, open) in open.iter_mut().enumerate() {
            let inked = y < ink.height && ink.row(y)[x] != 0;
            let (start, end) = *open;
            let closed = end > 0 && (y == ink.height || (inked && y - end > BREAK));
            if closed && end - start >= length {
                for row in start..end {
                    map.data[row * ink.width + x] = 1;
                }
            }
            if inked {
                *open = if end == 0 || closed { (y, y + 1) } else { (start, y + 1) };
            }
        }
    }
    map
}
