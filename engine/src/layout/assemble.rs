//! From a page taken apart to its regions.

use super::analysis::{Analysis, inside};
use super::blocks::{self, Body, TextLine};
use super::columns::{self, Block, Item};
use super::lines::{self, Segment};
use super::{furniture, heading, list, table};
use crate::region::{Cell, Label, Line, Rect, Region};

/// A region with the lines it was made of.
struct Draft {
    region: Region,
    lines: Vec<TextLine>,
    /// Height of its capitals.
    cap: f32,
    /// Number of the column it stands in.
    column: usize,
}

/// The regions of a page in reading order, in analysed pixels.
pub(super) fn regions(page: &Analysis) -> Vec<Region> {
    let segments = lines::segments(&page.letters, page.text);
    let body = Body::measure(&segments, page.text);
    let tables = table::ruled(page, &segments);
    let mut items: Vec<Item> = page.figures.iter().map(|f| Item::Figure(*f)).collect();
    items.extend(segments.into_iter().filter(|s| !tables.iter().any(|t| inside(&s.bounds, &t.bounds))).map(Item::Text));
    items.extend(tables.into_iter().map(|t| Item::Table(table::region(t.bounds, t.cells))));
    let mut drafts = Vec::new();
    let mut column = 0;
    draft(columns::order(items, page.text), page, &body, &mut column, &mut drafts);
    label(drafts, page, &body)
}

/// Lines of everything in a part of a page.
pub(super) fn lines(page: &Analysis) -> Vec<Line> {
    let segments = lines::segments(&page.letters, page.text);
    let body = Body::measure(&segments, page.text);
    let items = segments.into_iter().map(Item::Text).collect();
    let mut out = Vec::new();
    flatten(columns::order(items, page.text), &body, &mut out);
    out
}

fn flatten(blocks: Vec<Block>, body: &Body, out: &mut Vec<Line>) {
    for block in blocks {
        match block {
            Block::Column(segments) | Block::Grid(segments) => {
                for paragraph in blocks::paragraphs(blocks::lines_of(segments, body), body) {
                    let left = paragraph.iter().map(|l| l.bounds().x0).min().unwrap_or(0);
                    out.extend(region_lines(&paragraph, left, body));
                }
            }
            Block::Margined { main, notes } => {
                flatten(main, body, out);
                flatten(vec![Block::Column(notes)], body, out);
            }
            Block::Figure(_) | Block::Table(_) => {}
        }
    }
}

/// Cells of a part of a page that is one table.
pub(super) fn cells(page: &Analysis) -> Vec<Cell> {
    let segments = lines::segments(&page.letters, page.text);
    let largest = table::ruled(page, &segments).into_iter().max_by_key(|t| t.bounds.area());
    let whole = Rect { x0: 0, y0: 0, x1: page.width, y1: page.height };
    match largest {
        Some(ruled) if ruled.bounds.area() * 3 >= whole.area() => ruled.cells,
        _ => table::grid_cells(segments, page.text, whole),
    }
}

fn draft(blocks: Vec<Block>, page: &Analysis, body: &Body, column: &mut usize, out: &mut Vec<Draft>) {
    for block in blocks {
        match block {
            Block::Figure(bounds) => out.push(Draft {
                region: Region::new(Label::Image, bounds),
                lines: Vec::new(),
                cap: 0.0,
                column: *column,
            }),
            Block::Table(region) => out.push(Draft { region, lines: Vec::new(), cap: 0.0, column: *column }),
            Block::Grid(segments) => {
                let bounds = segments.iter().fold(Rect::default(), |all, s| all.union(&s.bounds));
                let region = table::region(bounds, table::grid_cells(segments, page.text, bounds));
                out.push(Draft { region, lines: Vec::new(), cap: 0.0, column: *column });
            }
            Block::Column(segments) => {
                *column += 1;
                let mut lines = blocks::lines_of(segments, body);
                lines.iter_mut().for_each(list::cut_bullet);
                for paragraph in blocks::paragraphs(lines, body) {
                    out.push(text_draft(paragraph, body, *column));
                }
            }
            Block::Margined { main, notes } => {
                let mut inner = Vec::new();
                draft(main, page, body, column, &mut inner);
                interleave(inner, notes, body, out);
            }
        }
    }
}

fn text_draft(paragraph: Vec<TextLine>, body: &Body, column: usize) -> Draft {
    let bounds = paragraph.iter().fold(Rect::default(), |all, l| all.union(&l.bounds()));
    let mut region = Region::new(Label::Text, bounds);
    region.preformatted = paragraph.iter().all(|l| l.mono == Some(true));
    region.lines = region_lines(&paragraph, bounds.x0, body);
    let letters: usize = paragraph.iter().map(|l| l.segment.letters.len()).sum();
    let cap = paragraph.iter().map(|l| l.cap * l.segment.letters.len() as f32).sum::<f32>() / letters.max(1) as f32;
    Draft { region, lines: paragraph, cap, column }
}

fn region_lines(paragraph: &[TextLine], left: u32, body: &Body) -> Vec<Line> {
    let mut baseline = None;
    paragraph
        .iter()
        .map(|line| {
            let gap = baseline.map(|b| line.segment.baseline - b);
            baseline = Some(line.segment.baseline);
            let starts_paragraph = gap.is_none_or(|gap| gap > 1.6 * body.leading);
            let indent = match (line.mono, body.pitch) {
                (Some(true), Some(pitch)) => ((line.bounds().x0 - left) as f32 / pitch).round() as u32,
                _ => 0,
            };
            Line { bounds: line.bounds(), starts_paragraph, indent }
        })
        .collect()
}

/// Puts notes that stand beside a column before the paragraph whose first line they stand at, else after it.
fn interleave(main: Vec<Draft>, notes: Vec<Segment>, body: &Body, out: &mut Vec<Draft>) {
    let rows = main.iter().map(|d| d.lines.len()).sum::<usize>();
    let few = notes.len() * 10 <= rows * 6;
    let cap = notes.iter().map(|s| TextLine::new(s.clone(), None).cap).sum::<f32>() / notes.len().max(1) as f32;
    // Beside prose, some notes are notes; beside short entries (a table of contents, a bill) they belong to them.
    let lines: Vec<u32> = main.iter().flat_map(|d| &d.region.lines).map(|l| l.bounds.width()).collect();
    let widest = lines.iter().copied().max().unwrap_or(0);
    let prose = lines.iter().filter(|&&w| w * 10 >= widest * 7).count() * 2 > lines.len();
    let aside = few && prose || cap <= 0.85 * body.cap;
    let mut before: Vec<Vec<Segment>> = vec![Vec::new(); main.len() + 1];
    let mut after: Vec<Vec<Segment>> = vec![Vec::new(); main.len() + 1];
    let mut placed: Vec<Option<bool>> = vec![None; main.len() + 1];
    for note in notes {
        let middle = (note.bounds.y0 + note.bounds.y1) / 2;
        let place = main.iter().position(|d| middle < d.region.bounds.y1).unwrap_or(main.len());
        let first = main.get(place).and_then(|d| d.region.lines.first());
        // All notes of one paragraph stay together.
        if *placed[place].get_or_insert(first.is_none_or(|line| middle < line.bounds.y1)) {
            before[place].push(note);
        } else {
            after[place].push(note);
        }
    }
    let emit = |notes: Vec<Segment>, out: &mut Vec<Draft>| {
        if notes.is_empty() {
            return;
        }
        let mut draft = text_draft(blocks::lines_of(notes, body), body, usize::MAX);
        draft.region.preformatted = false;
        if aside {
            draft.region.label = Label::AsideText;
        }
        out.push(draft);
    };
    let (mut before, mut after) = (before.into_iter(), after.into_iter());
    for draft in main {
        emit(before.next().unwrap_or_default(), out);
        out.push(draft);
        emit(after.next().unwrap_or_default(), out);
    }
    emit(before.next().unwrap_or_default(), out);
}

/// Labels what the drafts are, and hands over the regions.
fn label(mut drafts: Vec<Draft>, page: &Analysis, body: &Body) -> Vec<Region> {
    for index in 0..drafts.len() {
        if drafts[index].region.label != Label::Text || drafts[index].lines.is_empty() {
            continue;
        }
        let distance = |a: usize, b: usize| -> Option<f32> {
            let (a, b) = (drafts.get(a)?.lines.last()?, drafts.get(b)?.lines.first()?);
            let gap = b.segment.baseline - a.segment.baseline;
            (gap > 0.0).then_some(gap)
        };
        let column = drafts[index].column;
        let left = drafts.iter().filter(|d| d.column == column).map(|d| d.region.bounds.x0).min().unwrap_or(0);
        let above = index.checked_sub(1).and_then(|i| distance(i, index));
        let below = distance(index, index + 1);
        if heading::is_heading(&drafts[index].lines, body, left, above, below) {
            drafts[index].region.label = Label::ParagraphTitle;
            drafts[index].region.preformatted = false;
        }
    }
    let mut drafts = join_headings(drafts, body);
    let (mut regions, paragraphs): (Vec<Region>, Vec<Vec<TextLine>>) =
        drafts.iter().map(|d| (d.region.clone(), d.lines.clone())).unzip();
    furniture::mark(&mut regions, &paragraphs, &page.rules, body, (page.width, page.height));
    for (draft, region) in drafts.iter_mut().zip(regions) {
        draft.region = region;
    }
    // Running heads stand before, and page numbers after the text, in whichever column they are.
    drafts.sort_by_key(|d| furniture::place(&d.region, page.height));
    let caps: Vec<f32> = drafts.iter().map(|d| d.cap).collect();
    let columns: Vec<usize> = drafts.iter().map(|d| d.column).collect();
    let (mut regions, paragraphs): (Vec<Region>, Vec<Vec<TextLine>>) =
        drafts.into_iter().map(|d| (d.region, d.lines)).unzip();
    heading::level(&mut regions, &caps, body, page.height);
    list::mark(&mut regions, &paragraphs);
    captions(&mut regions, &caps, body);
    continuations(&mut regions, &paragraphs, &columns, body);
    regions
}

/// Joins the lines of a heading that are centred, or hang after its number, and so began paragraphs of their own.
fn join_headings(drafts: Vec<Draft>, body: &Body) -> Vec<Draft> {
    let goes_on = |heading: &Draft, next: &Draft| -> bool {
        let (Some(last), Some(first)) = (heading.lines.last(), next.lines.first()) else { return false };
        let step = first.segment.baseline - last.segment.baseline;
        let middle = |r: &Rect| r.x0 + r.x1;
        let centred = middle(&first.bounds()).abs_diff(middle(&last.bounds())) as f32 <= heading.cap;
        let alike = |a: f32, b: f32| a <= 1.12 * b && b <= 1.12 * a;
        heading.region.label == Label::ParagraphTitle
            && heading.column == next.column
            && heading.lines.len() + next.lines.len() <= 3
            && step > 0.0
            && step <= 2.1 * heading.cap
            && (centred || first.bounds().x0 >= heading.region.bounds.x0)
            && alike(heading.cap, next.cap)
            && alike(last.segment.size, first.segment.size)
            && (first.weight >= 1.22 * body.weight) == (last.weight >= 1.22 * body.weight)
            && heading::is_heading(&next.lines, body, next.region.bounds.x0, None, None)
            && list::counted(first).is_none()
    };
    let mut out: Vec<Draft> = Vec::with_capacity(drafts.len());
    for draft in drafts {
        match out.last_mut() {
            Some(heading) if goes_on(heading, &draft) => {
                heading.region.bounds = heading.region.bounds.union(&draft.region.bounds);
                let lines = draft.region.lines.into_iter().map(|line| Line { starts_paragraph: false, ..line });
                heading.region.lines.extend(lines);
                heading.lines.extend(draft.lines);
            }
            _ => out.push(draft),
        }
    }
    out
}

/// Short text right below (or above) a picture, set small or centred on it, is its caption.
fn captions(regions: &mut [Region], caps: &[f32], body: &Body) {
    let widest = regions.iter().filter(|r| r.label == Label::Text).map(|r| r.bounds.width()).max().unwrap_or(0);
    for index in 0..regions.len() {
        if !matches!(regions[index].label, Label::Image | Label::Table) {
            continue;
        }
        let figure = regions[index].bounds;
        let fits = |r: &Region, cap: f32| {
            let b = r.bounds;
            let gap = b.y0.saturating_sub(figure.y1).max(figure.y0.saturating_sub(b.y1)) as f32;
            let middle = (b.x0 + b.x1).abs_diff(figure.x0 + figure.x1) as f32 <= 2.5 * body.cap;
            let beside = b.y0 < figure.y1 && figure.y0 < b.y1;
            // A bold title centred on its table.
            let title = r.label == Label::ParagraphTitle
                && middle
                && cap <= 1.1 * body.cap
                && b.x0 > figure.x0 + body.cap as u32
                && b.x1 < figure.x1;
            (r.label == Label::Text || title)
                && r.list_item.is_none()
                && !r.preformatted
                && (1..=4).contains(&r.lines.len())
                && !beside
                && gap <= 2.0 * body.leading
                && (middle && b.width() * 5 <= widest * 4
                    || cap <= 0.92 * body.cap && b.x0 < figure.x1 && figure.x0 < b.x1)
        };
        let below = index + 1;
        if below < regions.len() && fits(&regions[below], caps[below]) {
            regions[below].label = Label::FigureTitle;
            regions[below].level = None;
        } else if index > 0 && fits(&regions[index - 1], caps[index - 1]) {
            regions[index - 1].label = Label::FigureTitle;
            regions[index - 1].level = None;
        }
    }
}

/// Text at the top of a column that goes on a paragraph which filled its last line in the column before.
fn continuations(regions: &mut [Region], paragraphs: &[Vec<TextLine>], columns: &[usize], body: &Body) {
    let text: Vec<usize> =
        (0..regions.len()).filter(|&i| regions[i].label == Label::Text && !regions[i].preformatted).collect();
    for pair in text.windows(2) {
        let [a, b] = pair else { continue };
        let (before, after) = (&regions[*a], &regions[*b]);
        let (Some(last), Some(first)) = (before.lines.last(), after.lines.first()) else { continue };
        let next_column = columns[*a] != columns[*b] && columns[*b] != usize::MAX && columns[*a] != usize::MAX;
        let above = after.bounds.y0 < before.bounds.y1 && after.bounds.x0 >= before.bounds.x1;
        // Full is a line that the next word would not have fitted on, in a column with more such lines.
        let column: Vec<u32> = (0..regions.len())
            .filter(|&i| columns[i] == columns[*a] && regions[i].label == Label::Text)
            .flat_map(|i| regions[i].lines.iter().map(|l| l.bounds.x1))
            .collect();
        let right = column.iter().copied().max().unwrap_or(before.bounds.x1);
        let word = paragraphs[*b].first().and_then(|l| l.words().first().map(Rect::width)).unwrap_or(0);
        let ends = |x1: u32| right.saturating_sub(x1) as f32 <= word as f32 + 0.45 * body.cap;
        let full = ends(last.bounds.x1) && column.iter().filter(|&&x1| ends(x1)).count() >= 3;
        let flush = (first.bounds.x0 as f32) < after.bounds.x0 as f32 + 0.5 * body.cap;
        let item = after.list_item.is_some() || paragraphs[*b].first().and_then(list::counted).is_some();
        if next_column && above && full && flush && !item {
            regions[*b].continues = true;
        }
    }
}
