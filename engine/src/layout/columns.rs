//! Reading order: full-width bands, and runs of bands that one or more gutters cut into columns.

use super::lines::Segment;
use crate::region::{Rect, Region};

/// What is put in order.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// A piece of a text line.
    Text(Segment),
    /// A picture.
    Figure(Rect),
    /// A table that was found by its rules.
    Table(Region),
}

impl Item {
    pub(super) fn bounds(&self) -> Rect {
        match self {
            Item::Text(segment) => segment.bounds,
            Item::Figure(bounds) => *bounds,
            Item::Table(region) => region.bounds,
        }
    }

    fn text(&self) -> Option<&Segment> {
        match self {
            Item::Text(segment) => Some(segment),
            _ => None,
        }
    }

    /// Vertical extent that decides about bands: a line's letters without what hangs below or sticks out above.
    fn extent(&self) -> (i64, i64) {
        let b = self.bounds();
        match self {
            Item::Text(s) => {
                let y1 = (s.baseline as i64).clamp(i64::from(b.y0) + 1, i64::from(b.y1));
                let y0 = (y1 - s.size as i64).clamp(i64::from(b.y0), y1 - 1);
                (y0, y1)
            }
            _ => (i64::from(b.y0), i64::from(b.y1)),
        }
    }
}

/// A piece of a page in reading order.
#[derive(Clone, Debug)]
pub(super) enum Block {
    /// Lines of one column.
    Column(Vec<Segment>),
    /// A picture.
    Figure(Rect),
    /// A table found by its rules.
    Table(Region),
    /// Rows and columns without rules: the segments.
    Grid(Vec<Segment>),
    /// A column with notes or numbers beside its lines.
    Margined {
        /// The column.
        main: Vec<Block>,
        /// What stands beside it.
        notes: Vec<Segment>,
    },
}

/// Lines of text on each side that make columns of text.
const COLUMN_LINES: usize = 4;
/// Deepest nesting of columns looked into.
const DEPTH: usize = 8;

/// Puts items in reading order.
pub(super) fn order(items: Vec<Item>, text: f32) -> Vec<Block> {
    let mut blocks = Vec::new();
    split(items, text, DEPTH, &mut blocks);
    blocks
}

type Interval = (i64, i64);
const FAR: i64 = i64::MAX / 4;

/// Items whose vertical extents overlap, as indices, with the empty intervals between and around them.
struct Band {
    items: Vec<usize>,
    y0: i64,
    y1: i64,
    gaps: Vec<Interval>,
}

fn bands(items: &[Item]) -> Vec<Band> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|&i| items[i].extent());
    let mut bands: Vec<Band> = Vec::new();
    for index in order {
        let (y0, y1) = items[index].extent();
        match bands.last_mut() {
            Some(band) if y0 < band.y1 => {
                band.items.push(index);
                band.y1 = band.y1.max(y1);
            }
            _ => bands.push(Band { items: vec![index], y0, y1, gaps: Vec::new() }),
        }
    }
    for band in &mut bands {
        let mut spans: Vec<Interval> =
            band.items.iter().map(|&i| items[i].bounds()).map(|b| (i64::from(b.x0), i64::from(b.x1))).collect();
        spans.sort_unstable();
        let mut end = -FAR;
        for (x0, x1) in spans {
            if x0 > end {
                band.gaps.push((end, x0));
            }
            end = end.max(x1);
        }
        band.gaps.push((end, FAR));
    }
    bands
}

/// A gutter through bands `first..=last`.
struct Gutter {
    first: usize,
    last: usize,
    span: Interval,
}

impl Gutter {
    fn is_left(&self, item: &Item) -> bool {
        let b = item.bounds();
        i64::from(b.x0) + i64::from(b.x1) < self.span.0 + self.span.1
    }
}

fn split(items: Vec<Item>, text: f32, depth: usize, out: &mut Vec<Block>) {
    let found = bands(&items);
    let mut items: Vec<Option<Item>> = items.into_iter().map(Some).collect();
    let mut stack: Vec<Item> = Vec::new();
    let mut index = 0;
    while index < found.len() {
        let gutter = if depth == 0 { None } else { gutter_at(&found, &items, index, text) };
        let Some(gutter) = gutter else {
            stack.extend(found[index].items.iter().filter_map(|&i| items[i].take()));
            index += 1;
            continue;
        };
        let mut members: Vec<Item> = found[gutter.first..=gutter.last]
            .iter()
            .flat_map(|band| &band.items)
            .filter_map(|&i| items[i].take())
            .collect();
        index = gutter.last + 1;
        let (left, right): (Vec<Item>, Vec<Item>) = members.iter().cloned().partition(|item| gutter.is_left(item));
        let pictures = members.iter().any(|item| matches!(item, Item::Figure(_)));
        if pictures {
            // Text beside a picture may begin above it.
            let top = found[gutter.first].y0;
            let close = |item: &Item, top: i64| {
                let b = item.bounds();
                let clear = i64::from(b.x1) <= gutter.span.0 || i64::from(b.x0) >= gutter.span.1;
                clear && matches!(item, Item::Text(_)) && ((top - item.extent().1) as f32) < 1.3 * text
            };
            let mut top = top;
            while stack.last().is_some_and(|item| close(item, top))
                && let Some(item) = stack.pop()
            {
                top = top.min(item.extent().0);
                members.push(item);
            }
        } else if is_margin(&left, &right) || is_margin(&right, &left) || is_marks(&left, text) {
            // The column goes on above and below its notes.
            let clear = |item: &Item| {
                let b = item.bounds();
                matches!(item, Item::Text(_)) && (i64::from(b.x1) <= gutter.span.0 || i64::from(b.x0) >= gutter.span.1)
            };
            let from = stack.iter().rposition(|item| !clear(item)).map_or(0, |last| last + 1);
            members.extend(stack.drain(from..));
            while let Some(band) = found.get(index)
                && band.gaps.iter().any(|g| g.0 <= gutter.span.0 && g.1 >= gutter.span.1)
                && ((band.y0 - found[index - 1].y1) as f32) < 4.0 * text
            {
                members.extend(band.items.iter().filter_map(|&i| items[i].take()));
                index += 1;
            }
        }
        pile(std::mem::take(&mut stack), out);
        side_by_side(members, &gutter, text, depth, out);
    }
    pile(stack, out);
}

/// A single column: text between pictures and tables.
fn pile(items: Vec<Item>, out: &mut Vec<Block>) {
    let mut items = items;
    items.sort_by_key(|item| (item.extent().0, item.bounds().x0));
    let mut text: Vec<Segment> = Vec::new();
    for item in items {
        match item {
            Item::Text(segment) => text.push(segment),
            Item::Figure(bounds) => {
                flush(&mut text, out);
                out.push(Block::Figure(bounds));
            }
            Item::Table(region) => {
                flush(&mut text, out);
                out.push(Block::Table(region));
            }
        }
    }
    flush(&mut text, out);
}

fn flush(text: &mut Vec<Segment>, out: &mut Vec<Block>) {
    if !text.is_empty() {
        out.push(Block::Column(std::mem::take(text)));
    }
}

/// Two sides of a gutter: a table without rules, a column with a margin, or columns.
fn side_by_side(members: Vec<Item>, gutter: &Gutter, text: f32, depth: usize, out: &mut Vec<Block>) {
    let segments: Option<Vec<Segment>> = members
        .iter()
        .map(|item| match item {
            Item::Text(segment) => Some(segment.clone()),
            _ => None,
        })
        .collect();
    if let Some(segments) = segments
        && super::table::is_grid(&segments, text)
    {
        out.push(Block::Grid(segments));
        return;
    }
    let (left, right): (Vec<Item>, Vec<Item>) = members.into_iter().partition(|item| gutter.is_left(item));
    if is_marks(&left, text) {
        pile(left.into_iter().chain(right).collect(), out);
        return;
    }
    let (left, right) = match margin(right, left) {
        Ok((main, notes)) => return margined(main, notes, text, depth, out),
        Err((right, left)) => (left, right),
    };
    let (left, right) = match margin(left, right) {
        Ok((main, notes)) => return margined(main, notes, text, depth, out),
        Err(sides) => sides,
    };
    split(left, text, depth - 1, out);
    split(right, text, depth - 1, out);
}

fn margined(main: Vec<Item>, notes: Vec<Segment>, text: f32, depth: usize, out: &mut Vec<Block>) {
    let mut blocks = Vec::new();
    split(main, text, depth - 1, &mut blocks);
    out.push(Block::Margined { main: blocks, notes });
}

/// Whether items are the bullets or numbers of a list.
fn is_marks(items: &[Item], text: f32) -> bool {
    let marks = items.iter().filter(|item| matches!(item, Item::Text(s) if super::list::is_mark(s, text))).count();
    marks * 10 >= items.len() * 8
}

/// Divides two sides of a gutter into a column and the notes or numbers set beside its lines; gives them back when
/// `side` is no such margin.
#[expect(clippy::type_complexity, reason = "both ways out are the two sides again")]
fn margin(mut main: Vec<Item>, side: Vec<Item>) -> Result<(Vec<Item>, Vec<Segment>), (Vec<Item>, Vec<Item>)> {
    if !is_margin(&main, &side) {
        return Err((main, side));
    }
    let mut notes: Vec<Segment> = Vec::new();
    for item in side {
        match item {
            Item::Text(segment) => notes.push(segment),
            other => main.push(other),
        }
    }
    // The number of a heading hangs in the margin too, but is larger than the notes.
    let mut sizes: Vec<f32> = notes.iter().map(|n| n.size).collect();
    sizes.sort_by(f32::total_cmp);
    let usual = sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
    let (notes, large): (Vec<Segment>, Vec<Segment>) = notes.into_iter().partition(|n| n.size <= 1.3 * usual);
    main.extend(large.into_iter().map(Item::Text));
    Ok((main, notes))
}

/// Whether the items of `side` are notes or numbers set beside the lines of `main`.
fn is_margin(main: &[Item], side: &[Item]) -> bool {
    let lines: Vec<&Segment> = main.iter().filter_map(Item::text).collect();
    let notes: Vec<&Segment> = side.iter().filter_map(Item::text).collect();
    let width = |items: &[Item]| items.iter().fold(Rect::default(), |all, i| all.union(&i.bounds())).width();
    if notes.len() < side.len() || notes.is_empty() || lines.len() < 2 || width(side) * 100 > width(main) * 35 {
        return false;
    }
    let aligned = notes
        .iter()
        .filter(|note| {
            lines.iter().any(|line| {
                let near = (note.baseline - line.baseline).abs() <= 0.35 * line.size.max(note.size);
                near || (note.bounds.y0 >= line.bounds.y0 && note.bounds.y1 <= line.bounds.y1)
            })
        })
        .count();
    aligned * 10 >= notes.len() * 8
}

/// Whether what stands on one side of a gutter is as narrow as a number.
fn has_narrow_side(band: &Band, items: &[Option<Item>], span: Interval, text: f32) -> bool {
    let side = |left: bool| {
        let held = band.items.iter().filter_map(|&i| items[i].as_ref()).map(Item::bounds);
        held.filter(|b| (i64::from(b.x1) <= span.0) == left).fold(Rect::default(), |all, b| all.union(&b)).width()
    };
    side(true).min(side(false)) as f32 <= 4.0 * text
}

/// Whether a single row is a full line with a short note beside it.
fn is_note(band: &Band, items: &[Option<Item>], span: Interval, rows: usize, text: f32) -> bool {
    let sides: (Vec<&Segment>, Vec<&Segment>) = band
        .items
        .iter()
        .filter_map(|&i| items[i].as_ref().and_then(Item::text))
        .partition(|s| i64::from(s.bounds.x1) <= span.0);
    let width = |side: &[&Segment]| side.iter().fold(Rect::default(), |all, s| all.union(&s.bounds)).width() as f32;
    let size = |side: &[&Segment]| side.iter().map(|s| s.size).fold(0.0, f32::max);
    let of = |line: &[&Segment], note: &[&Segment]| {
        width(line) >= 18.0 * text
            && width(note) <= 0.3 * width(line)
            && (rows >= 2 || width(note) <= 4.0 * text && size(note) <= 0.85 * size(line))
    };
    sides.0.len() + sides.1.len() == band.items.len() && (of(&sides.0, &sides.1) || of(&sides.1, &sides.0))
}

/// A gap that goes on through the bands from `start` on.
struct Run {
    span: Interval,
    /// Bands with something on both sides.
    both: Vec<usize>,
}

impl Run {
    /// Follows a gap downwards. It ends at a wider white than `beside` next to a picture.
    fn follow(found: &[Band], items: &[Option<Item>], start: usize, gap: Interval, beside: f32, text: f32) -> Self {
        let interior = |gap: &Interval| gap.0 > -FAR && gap.1 < FAR;
        let mut run = Self { span: gap, both: vec![start] };
        for next in start + 1..found.len() {
            let white = (found[next].y0 - found[next - 1].y1) as f32;
            let figures = has_figure(&found[next], items) || has_figure(&found[next - 1], items);
            if white > if figures { beside } else { 5.0 * text } {
                break;
            }
            let common = found[next]
                .gaps
                .iter()
                .map(|g| (g.0.max(run.span.0), g.1.min(run.span.1), interior(g)))
                .filter(|g| g.1 - g.0 >= least_gutter(text))
                .max_by_key(|g| g.1 - g.0);
            let Some((x0, x1, two_sided)) = common else { break };
            // A one-sided band goes with the column it is in, as long as it follows closely.
            if !two_sided && white > 3.0 * text && run.both.len() < 3 {
                break;
            }
            run.span = (x0, x1);
            if two_sided {
                run.both.push(next);
            }
        }
        run
    }

    /// Whether it has some lines of text on both sides, before anything crosses it.
    fn has_columns(&self, found: &[Band], items: &[Option<Item>], text: f32) -> bool {
        let clear = |band: &&Band| band.gaps.iter().any(|g| g.0 <= self.span.0 && g.1 >= self.span.1);
        let bands = found.iter().skip(self.both.first().copied().unwrap_or(0)).take_while(clear);
        let mut lines = [0; 2];
        let mut hulls = [Rect::default(); 2];
        for item in bands.flat_map(|band| &band.items).filter_map(|&i| items[i].as_ref()) {
            let bounds = item.bounds();
            if matches!(item, Item::Text(_)) && bounds.width() as f32 >= 8.0 * text {
                let side = usize::from(i64::from(bounds.x0) >= self.span.1);
                lines[side] += 1;
                hulls[side] = hulls[side].union(&bounds);
            }
        }
        // Notes in a margin are much narrower than their column.
        let [left, right] = hulls.map(|hull| hull.width());
        lines.iter().all(|&count| count >= COLUMN_LINES) && left.min(right) * 20 >= left.max(right) * 9
    }
}

/// The narrowest white that parts columns.
fn least_gutter(text: f32) -> i64 {
    (0.8 * text).max(4.0) as i64
}

fn has_figure(band: &Band, items: &[Option<Item>]) -> bool {
    band.items.iter().any(|&i| matches!(items[i], Some(Item::Figure(_))))
}

/// The last band of what follows on one side after the last two-sided band of a gutter, and belongs to that column.
fn end_of_longer_side(found: &[Band], last: usize, span: Interval, columns: bool, text: f32) -> usize {
    let mut end = last;
    // The band after the last wide gap: it may head what comes below the columns.
    let mut apart: Option<usize> = None;
    for next in last + 1..found.len() {
        let white = (found[next].y0 - found[next - 1].y1) as f32;
        if !found[next].gaps.iter().any(|g| g.0 <= span.0 && g.1 >= span.1) {
            let heads = apart.filter(|&at| {
                let above = found[at].y0 - found[at - 1].y1;
                next - at <= 3 && found[next].y0 - found[next - 1].y1 <= above
            });
            return heads.map_or(end, |at| at - 1);
        }
        if white > 2.2 * text {
            if !columns {
                break;
            }
            apart = Some(next);
        }
        end = next;
    }
    end
}

/// The longest gutter that starts at band `start`.
fn gutter_at(found: &[Band], items: &[Option<Item>], start: usize, text: f32) -> Option<Gutter> {
    let interior = |gap: &Interval| gap.0 > -FAR && gap.1 < FAR;
    let least = least_gutter(text);
    let mut best: Option<Gutter> = None;
    for gap in found[start].gaps.iter().filter(|g| interior(g) && g.1 - g.0 >= least) {
        // Rows of a picture and its text are apart; in columns of text, white beside a picture is chance.
        let mut run = Run::follow(found, items, start, *gap, 5.0 * text, text);
        let columns = run.has_columns(found, items, text);
        if !columns {
            run = Run::follow(found, items, start, *gap, 1.5 * text, text);
        }
        let Run { span, both } = run;
        let last = both.last().copied().unwrap_or(start);
        let end = end_of_longer_side(found, last, span, columns, text);
        let height: i64 = both.iter().map(|&b| found[b].y1 - found[b].y0).sum();
        let supported = both.len() >= 2 || height as f32 >= 3.0 * text;
        let lone_rows = both.len() < 3 && height as f32 <= 3.0 * text;
        // Wide word spaces of a few justified lines may lie below each other; other lines of the paragraph cross them.
        let clear = |band: Option<&Band>| {
            band.is_none_or(|band| {
                let apart = (found[start].y0 - band.y1).max(band.y0 - found[end].y1) as f32 > 1.8 * text;
                apart && both.len() > 1 || band.gaps.iter().any(|g| g.0 <= span.0 && g.1 >= span.1)
            })
        };
        let around_clear = clear(start.checked_sub(1).and_then(|i| found.get(i))) && clear(found.get(end + 1));
        let pictures = found[start..=end].iter().any(|band| has_figure(band, items));
        let narrow = both.len() >= 3 && both.iter().all(|&band| has_narrow_side(&found[band], items, span, text));
        if both.len() < 5 && !pictures && !narrow && !around_clear && ((span.1 - span.0) as f32) < 3.0 * text {
            continue;
        }
        if !supported || lone_rows {
            let noted = both.iter().all(|&band| is_note(&found[band], items, span, both.len(), text));
            if !noted || !around_clear {
                continue;
            }
        }
        let longer = best.as_ref().is_none_or(|b| (end, span.1 - span.0) > (b.last, b.span.1 - b.span.0));
        if longer {
            best = Some(Gutter { first: start, last: end, span });
        }
    }
    best
}
