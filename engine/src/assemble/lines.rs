//! The lines of a region, joined to its text.

use super::clean::{clean, clean_line, clean_listing};
use super::hyphen::{Vocabulary, append, append_strip};
use super::table::table_html;
use crate::page::Reading;
use crate::region::{Cell, Region, Role, Task};

/// Indents deeper than this many characters are a fault of the segmentation.
const MAX_INDENT: usize = 160;

/// What was read in one line: the texts of its strips from left to right (a long line is read in several).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineText {
    /// The strips' texts.
    pub strips: Vec<String>,
}

impl LineText {
    /// A line read in one strip.
    pub fn new(text: impl Into<String>) -> Self {
        Self { strips: vec![text.into()] }
    }

    /// The whole line, blanks between the strips.
    pub fn joined(&self) -> String {
        let mut line = String::new();
        for strip in self.strips.iter().filter(|strip| !strip.trim().is_empty()) {
            append_strip(&mut line, strip);
        }
        line
    }
}

/// The text of a region from its readings, whichever way it was read: cleaned answers for the whole region, or lines and
/// cells' lines (`Reading::line` tells which) cleaned and joined.
pub fn region_text(region: &Region, readings: &[Reading]) -> String {
    if readings.iter().all(|reading| reading.line.is_none()) {
        let answers = readings.iter().map(|reading| match reading.task {
            Task::Text if region.is_listing() => clean_listing(&reading.text),
            task => clean(&reading.text, task),
        });
        return answers.filter(|answer| !answer.is_empty()).collect::<Vec<_>>().join("\n\n");
    }
    // Cells of a region that is no table are left over from another label.
    let is_segmented_table = region.label.role() == Role::Table && !region.cells.is_empty();
    let in_cells = region.cells.iter().map(|cell| cell.lines.len()).sum();
    let count = if is_segmented_table { in_cells } else { region.lines.len() };
    let mut lines = vec![LineText::default(); count];
    for reading in readings {
        if let Some(line) = reading.line.and_then(|line| lines.get_mut(line)) {
            let text = if region.is_listing() { clean_listing(&reading.text) } else { clean_line(&reading.text) };
            line.strips.push(text);
        }
    }
    if !is_segmented_table {
        return join_lines(region, &lines);
    }
    let mut rest = lines.as_slice();
    let texts: Vec<String> = (region.cells.iter())
        .map(|cell| {
            let (own, others) = rest.split_at(cell.lines.len().min(rest.len()));
            rest = others;
            join_cell_lines(cell, own)
        })
        .collect();
    table_html(&region.cells, &texts)
}

/// Joins the texts of a text region's lines. `lines[i]` belongs to `region.lines[i]`.
///
/// In running text, lines are joined by a blank (by nothing in scripts that have none between words), words divided at a
/// line end are repaired while real hyphens stay, and paragraphs are separated by a blank line. In a listing
/// each line stays a line, with its indent.
pub fn join_lines(region: &Region, lines: &[LineText]) -> String {
    let lines: Vec<String> = lines.iter().map(LineText::joined).collect();
    if region.is_listing() { listing(region, &lines) } else { running_text(region, &lines) }
}

fn running_text(region: &Region, lines: &[String]) -> String {
    let words = Vocabulary::new(lines.iter().map(String::as_str));
    let mut paragraphs = vec![String::new()];
    for (index, line) in lines.iter().enumerate() {
        if line.is_empty() {
            continue;
        }
        let starts = region.lines.get(index).is_some_and(|line| line.starts_paragraph);
        match paragraphs.last_mut() {
            Some(last) if !starts || last.is_empty() => append(last, line, &words),
            _ => paragraphs.push(line.clone()),
        }
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs.join("\n\n")
}

fn listing(region: &Region, lines: &[String]) -> String {
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        let geometry = region.lines.get(index);
        if index > 0 {
            text.push('\n');
            if geometry.is_some_and(|line| line.starts_paragraph) {
                text.push('\n');
            }
        }
        let indent = geometry.map_or(0, |line| line.indent as usize).min(MAX_INDENT);
        if !line.is_empty() {
            text.push_str(&" ".repeat(indent));
            text.push_str(line);
        }
    }
    text.trim_matches('\n').to_string()
}

/// Joins the lines of one table cell. `lines[i]` belongs to `cell.lines[i]`.
///
/// A line is wrapped text, and joined, when the first word of the next one would not have fitted behind it; otherwise the
/// break was wanted and stays, as `\n`.
pub fn join_cell_lines(cell: &Cell, lines: &[LineText]) -> String {
    let lines: Vec<String> = lines.iter().map(LineText::joined).collect();
    let words = Vocabulary::new(lines.iter().map(String::as_str));
    let mut text = String::new();
    let mut previous = None;
    for (index, line) in lines.iter().enumerate() {
        if line.is_empty() {
            continue;
        }
        if !text.is_empty() && !previous.is_some_and(|previous| is_wrapped(cell, previous, index, line)) {
            text.push('\n');
            text.push_str(line);
        } else {
            append(&mut text, line, &words);
        }
        previous = Some(index);
    }
    text
}

fn is_wrapped(cell: &Cell, previous: usize, index: usize, text: &str) -> bool {
    let (Some(above), Some(below)) = (cell.lines.get(previous), cell.lines.get(index)) else { return false };
    let first_word = text.split_whitespace().next().unwrap_or(text).chars().count() as u64;
    // One more character for the blank. Twice the left margin: the cell's padding on both sides.
    let needed = u64::from(below.bounds.width()) * (first_word + 1) / (text.chars().count().max(1) as u64);
    let left = cell.lines.iter().map(|line| line.bounds.x0).min().unwrap_or(cell.bounds.x0);
    let right = cell.lines.iter().map(|line| line.bounds.x1).max().unwrap_or(cell.bounds.x1);
    let padding = left.saturating_sub(cell.bounds.x0);
    let edge = cell.bounds.x1.saturating_sub(padding).max(right);
    u64::from(above.bounds.x1) + needed > u64::from(edge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::{Label, Line, Rect};

    fn region(starts: &[bool]) -> Region {
        let mut region = Region::new(Label::Text, Rect::new(0, 0, 500, 100));
        region.lines = starts
            .iter()
            .map(|&starts_paragraph| Line { bounds: Rect::new(0, 0, 500, 20), starts_paragraph, indent: 0 })
            .collect();
        region
    }

    fn texts(lines: &[&str]) -> Vec<LineText> {
        lines.iter().map(|line| LineText::new(*line)).collect()
    }

    #[test]
    fn paragraphs_are_separated_and_lines_joined() {
        let lines = texts(&["First para-", "graph ends here.", "Second one", "", "goes on."]);
        assert_eq!(
            join_lines(&region(&[true, false, true, false, false]), &lines),
            "First paragraph ends here.\n\nSecond one goes on."
        );
    }

    #[test]
    fn strips_of_one_line_are_joined_by_a_blank_and_never_repaired() {
        let line = LineText { strips: vec!["a long ".into(), "".into(), "line - of".into(), "text".into()] };
        assert_eq!(line.joined(), "a long line - of text");
        let hyphen = LineText { strips: vec!["post-".into(), "war".into()] };
        assert_eq!(join_lines(&region(&[false]), &[hyphen]), "post- war");
        let chinese = LineText { strips: vec!["这是".into(), "一行".into()] };
        assert_eq!(chinese.joined(), "这是一行");
    }

    #[test]
    fn listings_keep_lines_and_indents() {
        let mut listing = region(&[false, false, true]);
        listing.preformatted = true;
        listing.lines[1].indent = 4;
        listing.lines[2].indent = u32::MAX;
        let text = join_lines(&listing, &texts(&["for x in y:", "print(x-", "done"]));
        assert_eq!(text, format!("for x in y:\n    print(x-\n\n{}done", " ".repeat(MAX_INDENT)));
    }

    #[test]
    fn a_label_that_has_no_listings_or_cells_ignores_those_of_another() {
        let readings = [reading(Some(0), "A  title -", Task::Text), reading(Some(1), "in two lines", Task::Text)];
        let plain = Region { label: Label::ParagraphTitle, ..region(&[true, false]) };
        let bounds = plain.bounds;
        let cell =
            Cell { row: 0, column: 0, rowspan: 1, colspan: 1, header: false, bounds, lines: plain.lines.clone() };
        let retyped = Region { preformatted: true, cells: vec![cell], ..plain.clone() };
        assert_eq!(region_text(&retyped, &readings), region_text(&plain, &readings));
        assert_eq!(region_text(&plain, &readings), "A title - in two lines");
    }

    fn reading(line: Option<usize>, text: &str, task: Task) -> Reading {
        Reading {
            bounds: Rect::default(),
            task,
            status: crate::page::Status::Done,
            text: text.into(),
            rounds: Vec::new(),
            timings: crate::page::Timings::default(),
            line,
        }
    }

    #[test]
    fn readings_of_lines_of_cells_and_of_whole_regions_become_text() {
        let text = region(&[true, false]);
        let strips =
            [(0, "A long line........ of", Task::Text), (0, "two strips recog-", Task::Text), (1, "nised", Task::Text)];
        let readings = strips.map(|(line, text, task)| reading(Some(line), text, task));
        assert_eq!(region_text(&text, &readings), "A long line... of two strips recognised");
        // The second cell is empty; the third has two lines, far shorter than the cell.
        let mut table = Region::new(Label::Table, Rect::new(0, 0, 400, 40));
        let line = |y: u32| Line { bounds: Rect::new(10, y, 60, y + 15), starts_paragraph: false, indent: 0 };
        for (column, lines) in [vec![line(0)], vec![], vec![line(0), line(20)]].into_iter().enumerate() {
            let bounds = Rect::new(0, 0, 400, 40);
            table.cells.push(Cell {
                row: 0,
                column: column as u32,
                rowspan: 1,
                colspan: 1,
                header: false,
                bounds,
                lines,
            });
        }
        let readings = [(0, "a"), (1, "b"), (2, "c & d")].map(|(line, text)| reading(Some(line), text, Task::Text));
        assert_eq!(
            region_text(&table, &readings),
            "<table>\n<tr><td>a</td><td></td><td>b<br>c &amp; d</td></tr>\n</table>"
        );
        let whole = [reading(None, "<think></think>\none\ntwo", Task::Text)];
        assert_eq!(region_text(&Region::new(Label::Text, Rect::default()), &whole), "one\n\ntwo");
        assert_eq!(region_text(&Region::new(Label::Image, Rect::default()), &[]), "");
    }

    #[test]
    fn a_mismatch_of_lines_and_texts_loses_no_text() {
        assert_eq!(join_lines(&region(&[]), &texts(&["one", "two"])), "one two");
        assert_eq!(join_lines(&region(&[true, true]), &[]), "");
    }

    #[test]
    fn cells_tell_wrapped_text_from_wanted_breaks() {
        let line =
            |x1: u32, y0: u32| Line { bounds: Rect::new(10, y0, x1, y0 + 20), starts_paragraph: false, indent: 0 };
        let mut cell = Cell {
            row: 0,
            column: 0,
            rowspan: 1,
            colspan: 1,
            header: false,
            bounds: Rect::new(0, 0, 220, 60),
            lines: vec![line(200, 5), line(150, 30)],
        };
        // 200 + a word of 8 of 14 characters in 140 px does not fit into 210.
        assert_eq!(
            join_cell_lines(&cell, &texts(&["a measured quanti-", "fication table"])),
            "a measured quantification table"
        );
        cell.lines = vec![line(60, 5), line(70, 30)];
        assert_eq!(join_cell_lines(&cell, &texts(&["12.5", "(0.3)"])), "12.5\n(0.3)");
        assert_eq!(join_cell_lines(&cell, &[]), "");
    }
}
