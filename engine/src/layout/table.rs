//! Tables: a grid of rules, or columns that white gaps keep apart.

use super::analysis::{Analysis, grown, inside};
use super::lines::{self, Segment};
use super::mono;
use crate::region::{Cell, Label, Line, Rect, Region};

/// A table that stands on rules, found on an analysed page.
pub(super) struct Ruled {
    pub(super) bounds: Rect,
    pub(super) cells: Vec<Cell>,
}

/// The grid of positions and the rules it was made of.
struct Grid {
    xs: Vec<u32>,
    ys: Vec<u32>,
}

/// Positions closer than this are one rule.
fn tolerance(text: f32) -> u32 {
    (0.5 * text).max(4.0) as u32
}

/// All tables of a page whose cells are divided by rules.
pub(super) fn ruled(page: &Analysis, segments: &[Segment]) -> Vec<Ruled> {
    let near = tolerance(page.text);
    let mut tables: Vec<Ruled> = clusters(page, near)
        .into_iter()
        .filter_map(|(horizontal, vertical)| {
            let table = from_rules(&horizontal, &vertical, segments, page.text)?;
            let columns = table.cells.iter().map(|c| c.column + c.colspan).max().unwrap_or(0);
            let rows = table.cells.iter().map(|c| c.row + c.rowspan).max().unwrap_or(0);
            let filled = table.cells.iter().filter(|c| !c.lines.is_empty()).count();
            (columns >= 2 && rows >= 2 && filled >= 3 && table.cells.len() >= 4).then_some(table)
        })
        .collect();
    tables.extend(booktabs(page, segments, &tables));
    // A table inside another's box is a cell's decoration.
    let boxes: Vec<Rect> = tables.iter().map(|t| t.bounds).collect();
    let mut index = 0;
    tables.retain(|table| {
        index += 1;
        !boxes.iter().enumerate().any(|(other, b)| {
            other + 1 != index && b.area() > table.bounds.area() && b.intersection(&table.bounds) == table.bounds
        })
    });
    tables
}

/// Groups of rules that meet.
fn clusters(page: &Analysis, near: u32) -> Vec<(Vec<Rect>, Vec<Rect>)> {
    let rules: Vec<(bool, Rect)> = page
        .rules
        .horizontal
        .iter()
        .map(|r| (true, *r))
        .chain(page.rules.vertical.iter().map(|r| (false, *r)))
        .take(4000)
        .collect();
    let mut group: Vec<usize> = (0..rules.len()).collect();
    let root = |group: &[usize], mut i: usize| {
        while group[i] != i {
            i = group[i];
        }
        i
    };
    let mut order: Vec<usize> = (0..rules.len()).collect();
    order.sort_by_key(|&i| rules[i].1.y0);
    for (at, &i) in order.iter().enumerate() {
        let a = grown(&rules[i].1, near, near);
        for &j in &order[at + 1..] {
            if rules[j].1.y0 > a.y1 {
                break;
            }
            if rules[i].0 != rules[j].0 && !a.intersection(&rules[j].1).is_empty() {
                let (p, q) = (root(&group, i), root(&group, j));
                group[p.max(q)] = p.min(q);
            }
        }
    }
    let mut out: Vec<(Vec<Rect>, Vec<Rect>)> = vec![(Vec::new(), Vec::new()); rules.len()];
    for (i, (is_horizontal, rect)) in rules.iter().enumerate() {
        let slot = &mut out[root(&group, i)];
        if *is_horizontal { slot.0.push(*rect) } else { slot.1.push(*rect) }
    }
    out.retain(|(h, v)| !h.is_empty() && !v.is_empty() && h.len() + v.len() >= 3);
    out
}

fn positions(mut values: Vec<u32>, near: u32) -> Vec<u32> {
    values.sort_unstable();
    let mut out: Vec<u32> = Vec::new();
    for value in values {
        match out.last() {
            Some(&last) if value - last <= near => {}
            _ => out.push(value),
        }
    }
    out
}

/// Most lines and columns of a grid.
const LIMIT: usize = 100;

fn from_rules(horizontal: &[Rect], vertical: &[Rect], segments: &[Segment], text: f32) -> Option<Ruled> {
    let near = tolerance(text);
    let bounds = horizontal.iter().chain(vertical).fold(Rect::default(), |all, r| all.union(r));
    let middle = |a: u32, b: u32| (a + b) / 2;
    let mut xs: Vec<u32> = vertical.iter().map(|r| middle(r.x0, r.x1)).collect();
    let mut ys: Vec<u32> = horizontal.iter().map(|r| middle(r.y0, r.y1)).collect();
    // Open sides are closed by the box around the rules.
    xs.extend([bounds.x0, bounds.x1]);
    ys.extend([bounds.y0, bounds.y1]);
    let grid = Grid { xs: positions(xs, 2 * near), ys: positions(ys, 2 * near) };
    let (columns, rows) = (grid.xs.len().checked_sub(1)?, grid.ys.len().checked_sub(1)?);
    if columns == 0 || rows == 0 || columns > LIMIT || rows > LIMIT {
        return None;
    }
    let mut groups: Vec<usize> = (0..rows * columns).collect();
    for r in 0..rows {
        for c in 0..columns {
            let (x0, x1, y0, y1) = (grid.xs[c], grid.xs[c + 1], grid.ys[r], grid.ys[r + 1]);
            if c + 1 < columns {
                let wall = Rect { x0: x1.saturating_sub(2 * near), x1: x1 + 2 * near, y0, y1 };
                let covered: u32 =
                    vertical.iter().map(|v| v.intersection(&wall)).filter(|i| i.width() > 0).map(|i| i.height()).sum();
                if covered * 2 < y1 - y0 {
                    join(&mut groups, r * columns + c, r * columns + c + 1);
                }
            }
            if r + 1 < rows {
                let wall = Rect { x0, x1, y0: y1.saturating_sub(2 * near), y1: y1 + 2 * near };
                let covered: u32 = horizontal
                    .iter()
                    .map(|h| h.intersection(&wall))
                    .filter(|i| i.height() > 0)
                    .map(|i| i.width())
                    .sum();
                if covered * 2 < x1 - x0 {
                    join(&mut groups, r * columns + c, (r + 1) * columns + c);
                }
            }
        }
    }
    let mut cells = collect(&groups, rows, columns, &grid, near);
    fill(&mut cells, segments, text);
    mark_header(&mut cells, segments);
    Some(Ruled { bounds, cells })
}

fn find(groups: &[usize], mut index: usize) -> usize {
    while groups[index] != index {
        index = groups[index];
    }
    index
}

fn join(groups: &mut [usize], a: usize, b: usize) {
    let (a, b) = (find(groups, a), find(groups, b));
    groups[a.max(b)] = a.min(b);
}

/// Rectangular cells from groups of grid squares. A group that is not a rectangle falls apart into its squares.
fn collect(groups: &[usize], rows: usize, columns: usize, grid: &Grid, near: u32) -> Vec<Cell> {
    // First and last row and column, and the number of squares of each group.
    let mut spans: Vec<(usize, usize, usize, usize, usize)> = vec![(usize::MAX, 0, usize::MAX, 0, 0); groups.len()];
    for r in 0..rows {
        for c in 0..columns {
            let s = &mut spans[find(groups, r * columns + c)];
            *s = (s.0.min(r), s.1.max(r), s.2.min(c), s.3.max(c), s.4 + 1);
        }
    }
    let inset = (near / 3).max(2);
    let mut cells = Vec::new();
    for r in 0..rows {
        for c in 0..columns {
            let s = spans[find(groups, r * columns + c)];
            let whole = (s.1 - s.0 + 1) * (s.3 - s.2 + 1) == s.4;
            let (r1, c1) = if whole { (s.1, s.3) } else { (r, c) };
            if whole && (r, c) != (s.0, s.2) {
                continue;
            }
            let bounds = Rect { x0: grid.xs[c], y0: grid.ys[r], x1: grid.xs[c1 + 1], y1: grid.ys[r1 + 1] };
            let inner = Rect {
                x0: bounds.x0 + inset,
                y0: bounds.y0 + inset,
                x1: bounds.x1.saturating_sub(inset).max(bounds.x0 + inset + 1),
                y1: bounds.y1.saturating_sub(inset).max(bounds.y0 + inset + 1),
            };
            cells.push(Cell {
                row: r as u32,
                column: c as u32,
                rowspan: (r1 - r + 1) as u32,
                colspan: (c1 - c + 1) as u32,
                header: false,
                bounds: inner,
                lines: Vec::new(),
            });
        }
    }
    cells
}

/// Puts the segments' letters into the cells that hold their middles, and groups them into lines.
fn fill(cells: &mut [Cell], segments: &[Segment], text: f32) {
    let bounds = cells.iter().fold(Rect::default(), |all, c| all.union(&c.bounds));
    let mut held: Vec<Vec<_>> = vec![Vec::new(); cells.len()];
    for segment in segments.iter().filter(|s| !s.bounds.intersection(&bounds).is_empty()) {
        for letter in &segment.letters {
            if let Some(index) = cells.iter().position(|cell| inside(&letter.bounds, &grown(&cell.bounds, 2, 2))) {
                held[index].push(*letter);
            }
        }
    }
    for (cell, letters) in cells.iter_mut().zip(held) {
        cell.lines = cell_lines(lines::segments(&letters, text));
    }
}

fn cell_lines(segments: Vec<Segment>) -> Vec<Line> {
    lines::rows(segments)
        .into_iter()
        .map(|row| Line {
            bounds: row.iter().fold(Rect::default(), |all, s| all.union(&s.bounds)),
            starts_paragraph: false,
            indent: 0,
        })
        .collect()
}

/// The first row is a header when its type is bolder than the rest.
fn mark_header(cells: &mut [Cell], segments: &[Segment]) {
    let weight = |wanted: &dyn Fn(&Cell) -> bool| {
        let (mut sum, mut count) = (0.0, 0);
        for segment in segments {
            if cells.iter().any(|cell| wanted(cell) && inside(&segment.bounds, &cell.bounds)) {
                sum += segment.weight;
                count += 1;
            }
        }
        (count > 0).then(|| sum / count as f32)
    };
    if cells.len() > 400 {
        return;
    }
    let (Some(first), Some(rest)) = (weight(&|c| c.row == 0), weight(&|c| c.row > 0)) else { return };
    if first > 1.2 * rest {
        for cell in cells.iter_mut().filter(|c| c.row == 0) {
            cell.header = true;
        }
    }
}

/// Tables with horizontal rules only: two or more of one width with columns between them.
fn booktabs(page: &Analysis, segments: &[Segment], taken: &[Ruled]) -> Vec<Ruled> {
    let near = tolerance(page.text) * 2;
    let mut rules: Vec<Rect> = page
        .rules
        .horizontal
        .iter()
        .filter(|r| r.width() as f32 > 8.0 * page.text)
        .filter(|r| !taken.iter().any(|t| inside(r, &grown(&t.bounds, near, near))))
        .copied()
        .take(400)
        .collect();
    rules.sort_by_key(|r| r.y0);
    let mut out = Vec::new();
    let mut used = vec![false; rules.len()];
    for first in 0..rules.len() {
        if used[first] {
            continue;
        }
        let alike: Vec<usize> = (first..rules.len())
            .filter(|&i| {
                !used[i]
                    && rules[i].x0.abs_diff(rules[first].x0) <= near
                    && rules[i].x1.abs_diff(rules[first].x1) <= near
            })
            .collect();
        let Some(&last) = alike.last() else { continue };
        if alike.len() < 2 {
            continue;
        }
        let bounds = Rect { x0: rules[first].x0, y0: rules[first].y0, x1: rules[first].x1, y1: rules[last].y1 };
        let wide = grown(&bounds, near / 2, 0);
        let held: Vec<Segment> = segments.iter().filter(|s| inside(&s.bounds, &wide)).cloned().collect();
        let heads: Vec<u32> = alike.iter().skip(1).take(alike.len().saturating_sub(2)).map(|&i| rules[i].y0).collect();
        if alike.len() == 2 && !is_grid(&held, page.text) || !regular(&held, page.text) {
            continue;
        }
        let mut cells = grid_cells(held, page.text, bounds);
        let head = heads.first().copied().unwrap_or(0);
        for cell in cells.iter_mut().filter(|c| c.bounds.y1 <= head + near / 2) {
            cell.header = true;
        }
        if cells.len() >= 4 {
            for &i in &alike {
                used[i] = true;
            }
            out.push(Ruled { bounds, cells });
        }
    }
    out
}

/// Whether segments form at least two rows of at least two columns with clear gaps between them.
fn regular(segments: &[Segment], text: f32) -> bool {
    let gutters = gutters(segments, text);
    let rows = lines::rows(segments.to_vec());
    let wide = rows.iter().filter(|row| row.len() >= 2).count();
    !gutters.is_empty() && rows.len() >= 2 && wide * 2 >= rows.len()
}

/// White columns that (nearly) all rows leave free, left to right.
fn gutters(segments: &[Segment], text: f32) -> Vec<(u32, u32)> {
    let rows = lines::rows(segments.to_vec());
    let mut edges: Vec<(u32, i32)> = Vec::new();
    for row in &rows {
        // One row counts once, however its segments lie.
        let mut end = 0;
        for segment in row {
            let x0 = segment.bounds.x0.max(end);
            if segment.bounds.x1 > x0 {
                edges.push((x0, 1));
                edges.push((segment.bounds.x1, -1));
                end = segment.bounds.x1;
            }
        }
    }
    edges.sort_unstable();
    let allowed = (rows.len() as i32) / 6;
    let least = (0.8 * text).max(4.0) as u32;
    let (mut depth, mut start, mut seen) = (0, None, false);
    let mut out = Vec::new();
    for (x, step) in edges {
        depth += step;
        if depth > allowed {
            if let Some(from) = start.take()
                && seen
                && x - from >= least
            {
                out.push((from, x));
            }
            seen = true;
        } else if start.is_none() {
            start = Some(x);
        }
    }
    out
}

/// Whether segments that a gutter divides are rows of a table rather than columns of prose or a listing.
pub(super) fn is_grid(segments: &[Segment], text: f32) -> bool {
    let rows = lines::rows(segments.to_vec());
    let gutters = gutters(segments, text);
    let columns = gutters.len() + 1;
    if rows.len() < 3 || !(2..=40).contains(&columns) {
        return false;
    }
    let full = rows.iter().filter(|row| row.len() >= 2).count();
    if full * 10 < rows.len() * 7 {
        return false;
    }
    let mono = segments.iter().filter(|s| mono::pitch(s).is_some()).count();
    if mono * 2 > segments.len() {
        return false;
    }
    // Prose fills its column; the cells of a table are short and leave their column's end free.
    let mut prose = 0;
    let mut narrow = 0;
    let mut ragged = 0;
    let mut small = 0;
    let size = median(segments.iter().map(|s| s.size)).unwrap_or(text);
    for column in 0..columns {
        let from = if column == 0 { 0 } else { gutters[column - 1].1 };
        let to = gutters.get(column).map_or(u32::MAX, |g| g.0);
        let held: Vec<&Segment> =
            segments.iter().filter(|s| s.bounds.x0 + 1 >= from && s.bounds.x1 <= to.saturating_add(1)).collect();
        let hull = held.iter().fold(Rect::default(), |all, s| all.union(&s.bounds));
        let long = held.iter().filter(|s| s.bounds.width() * 100 >= hull.width() * 85).count();
        prose += usize::from(long * 2 > held.len() && hull.width() as f32 > 12.0 * text);
        narrow += usize::from((hull.width() as f32) < 4.0 * text);
        let spread = |edge: &dyn Fn(&Rect) -> u32| {
            let Some(middle) = median(held.iter().map(|s| edge(&s.bounds) as f32)) else { return 1.0 };
            held.iter().filter(|s| (edge(&s.bounds) as f32 - middle).abs() > 0.6 * text).count() as f32
                / held.len() as f32
        };
        let aligned = spread(&|b| b.x0).min(spread(&|b| b.x1)).min(spread(&|b| (b.x0 + b.x1) / 2));
        ragged += usize::from(aligned > 0.35);
        small += usize::from(median(held.iter().map(|s| s.size)).is_some_and(|s| s < 0.82 * size));
    }
    let limit = if columns == 2 { rows.len() >= 4 && narrow == 0 && small == 0 } else { true };
    // A column of long entries, but its rows are set wider apart than lines of prose.
    let bottoms: Vec<f32> = rows.iter().filter_map(|row| row.first()).map(|s| s.baseline).collect();
    let step = median(bottoms.windows(2).map(|w| w[1] - w[0])).unwrap_or(0.0);
    let entries = prose == 1 && columns >= 3 && step >= 3.2 * size.min(text);
    (prose == 0 || entries) && ragged == 0 && limit
}

fn median(values: impl Iterator<Item = f32>) -> Option<f32> {
    let mut values: Vec<f32> = values.collect();
    values.sort_by(f32::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Cells of a table without (vertical) rules: columns from the white gaps, rows from the text lines.
pub(super) fn grid_cells(segments: Vec<Segment>, text: f32, bounds: Rect) -> Vec<Cell> {
    let gutters = gutters(&segments, text);
    let rows = lines::rows(segments);
    let middles: Vec<u32> = gutters.iter().map(|g| (g.0 + g.1) / 2).collect();
    let column_of = |x: u32| middles.iter().filter(|&&m| x >= m).count();
    let mut xs = vec![bounds.x0];
    xs.extend(&middles);
    xs.push(bounds.x1);
    let tops: Vec<u32> = rows.iter().map(|row| row.iter().map(|s| s.bounds.y0).min().unwrap_or(0)).collect();
    let bottoms: Vec<u32> = rows.iter().map(|row| row.iter().map(|s| s.bounds.y1).max().unwrap_or(0)).collect();
    let mut cells = Vec::new();
    for (r, row) in rows.iter().enumerate() {
        let y0 = if r == 0 { bounds.y0 } else { u32::midpoint(bottoms[r - 1], tops[r]) };
        let y1 = if r + 1 == rows.len() { bounds.y1 } else { u32::midpoint(bottoms[r], tops[r + 1]) };
        let (y0, y1) = (y0.min(tops[r]), y1.max(bottoms[r]));
        let mut column = 0;
        while column < xs.len() - 1 {
            // A segment that reaches over a gutter spans columns.
            let mut last = column;
            let mut lines: Vec<Rect> = Vec::new();
            for segment in row {
                let (from, to) = (column_of(segment.bounds.x0), column_of(segment.bounds.x1.saturating_sub(1)));
                if from <= last && to >= column && from >= column {
                    last = last.max(to);
                    lines.push(segment.bounds);
                }
            }
            let hull = lines.iter().fold(Rect::default(), |all, b| all.union(b));
            cells.push(Cell {
                row: r as u32,
                column: column as u32,
                rowspan: 1,
                colspan: (last - column + 1) as u32,
                header: false,
                bounds: Rect { x0: xs[column], y0, x1: xs[last + 1].max(xs[column]), y1 }.union(&hull),
                lines: if hull.is_empty() {
                    Vec::new()
                } else {
                    vec![Line { bounds: hull, starts_paragraph: false, indent: 0 }]
                },
            });
            column = last + 1;
        }
    }
    cells
}

/// A table region from its cells.
pub(super) fn region(bounds: Rect, cells: Vec<Cell>) -> Region {
    let around = cells.iter().fold(bounds, |all, c| c.lines.iter().fold(all, |all, l| all.union(&l.bounds)));
    Region { cells, ..Region::new(Label::Table, around) }
}
