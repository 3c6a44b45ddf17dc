//! Connected components (8-neighbourhood) by runs and union-find, in one pass over the bitmap.

use super::raster::Bitmap;
use crate::region::Rect;

/// A connected component of ink.
#[derive(Clone, Copy, Debug)]
pub(super) struct Component {
    /// Its box.
    pub(super) bounds: Rect,
    /// Ink pixels.
    pub(super) area: u32,
    /// Horizontal runs of ink; area over runs is a measure of the stroke width.
    pub(super) runs: u32,
}

impl Component {
    /// Share of its box that is ink.
    pub(super) fn density(&self) -> f32 {
        self.area as f32 / self.bounds.area().max(1) as f32
    }
}

/// A horizontal run of ink and the component it belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) y: u32,
    pub(super) x0: u32,
    pub(super) x1: u32,
    pub(super) component: u32,
}

/// All components of a bitmap with their runs (in scan order).
pub(super) struct Components {
    pub(super) list: Vec<Component>,
    pub(super) runs: Vec<Run>,
}

/// Labels a bitmap.
pub(super) fn components(bitmap: &Bitmap) -> Components {
    let mut runs: Vec<Run> = Vec::new();
    let mut parents: Vec<u32> = Vec::new();
    let mut previous = 0..0;
    for y in 0..bitmap.height {
        let row = bitmap.row(y);
        let start = runs.len();
        let mut above = previous.clone();
        let mut x = 0;
        while let Some(offset) = row[x..].iter().position(|&v| v != 0) {
            let x0 = x + offset;
            let x1 = row[x0..].iter().position(|&v| v == 0).map_or(bitmap.width, |length| x0 + length);
            let id = runs.len() as u32;
            parents.push(id);
            // Diagonal contact counts: runs of the row above touch when they overlap the run widened by one.
            while above.start < above.end && (runs[above.start].x1 as usize) < x0 {
                above.start += 1;
            }
            let mut touching = above.start;
            while touching < above.end && (runs[touching].x0 as usize) <= x1 {
                unite(&mut parents, id, touching as u32);
                touching += 1;
            }
            runs.push(Run { y: y as u32, x0: x0 as u32, x1: x1 as u32, component: 0 });
            x = x1;
            if x >= bitmap.width {
                break;
            }
        }
        previous = start..runs.len();
    }
    let mut numbers = vec![u32::MAX; runs.len()];
    let mut list: Vec<Component> = Vec::new();
    for (index, run) in runs.iter_mut().enumerate() {
        let root = find(&mut parents, index as u32) as usize;
        if numbers[root] == u32::MAX {
            numbers[root] = list.len() as u32;
            list.push(Component { bounds: Rect::default(), area: 0, runs: 0 });
        }
        run.component = numbers[root];
        let component = &mut list[run.component as usize];
        component.bounds = component.bounds.union(&Rect { x0: run.x0, y0: run.y, x1: run.x1, y1: run.y + 1 });
        component.area += run.x1 - run.x0;
        component.runs += 1;
    }
    Components { list, runs }
}

fn find(parents: &mut [u32], mut node: u32) -> u32 {
    while parents[node as usize] != node {
        let grand = parents[parents[node as usize] as usize];
        parents[node as usize] = grand;
        node = grand;
    }
    node
}

fn unite(parents: &mut [u32], a: u32, b: u32) {
    let (a, b) = (find(parents, a), find(parents, b));
    // The smaller index stays the root, so that components are numbered in scan order.
    let (low, high) = (a.min(b), a.max(b));
    parents[high as usize] = low;
}

/// Median height of what can be letters; `None` when there are fewer than three.
pub(super) fn text_height(list: &[Component]) -> Option<f32> {
    let mut heights: Vec<u32> = list
        .iter()
        .filter(|c| {
            let (w, h) = (c.bounds.width(), c.bounds.height());
            h >= 5 && w >= 2 && w <= 6 * h && h <= 8 * w && c.area >= 12 && c.density() < 0.95
        })
        .map(|c| c.bounds.height())
        .collect();
    if heights.len() < 3 {
        return None;
    }
    // Dots of i and specks are many and small: the median above half of the first median is the letters'.
    heights.sort_unstable();
    let rough = heights[heights.len() / 2];
    let letters = &heights[heights.partition_point(|&h| h * 2 < rough)..];
    letters.get(letters.len() / 2).map(|&h| h as f32)
}
