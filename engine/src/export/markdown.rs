//! Blocks -> Markdown (CommonMark with dollar formulas).

use super::escape;
use super::flow::{Block, count};
use super::{ExportOptions, figure_file_name};
use crate::assemble::Table;

/// Writes blocks as Markdown. Keeps what the next block depends on: the open lists, and whether anything was written.
#[derive(Debug, Default)]
pub(super) struct Markdown {
    started: bool,
    /// The open lists, outer first; empty when the last block was no list item.
    lists: Vec<List>,
}

#[derive(Clone, Debug)]
struct List {
    /// Column where its items' text begins.
    content: usize,
    /// The last item's number and the mark behind it; `None` for bullets.
    last: Option<(u64, char)>,
}

impl Markdown {
    /// The Markdown of one more block, with the separation from the one before.
    pub(super) fn block(&mut self, block: &Block, options: &ExportOptions) -> String {
        let mut out = String::new();
        let in_list = !self.lists.is_empty();
        if let Block::ListItem { depth, number, text } = block {
            out.push_str(if !self.started {
                ""
            } else if in_list {
                "\n"
            } else {
                "\n\n"
            });
            self.item(&mut out, usize::from(*depth), number.as_deref(), text);
        } else {
            self.lists.clear();
            if self.started {
                out.push_str("\n\n");
            }
            out.push_str(&simple_block(block, options));
        }
        self.started = true;
        out
    }

    /// What ends the document.
    pub(super) fn finish(&self) -> &'static str {
        if self.started { "\n" } else { "" }
    }

    fn item(&mut self, out: &mut String, depth: usize, number: Option<&str>, text: &str) {
        let depth = depth.min(self.lists.len());
        let is_nested_start = depth > 0 && depth == self.lists.len();
        self.lists.truncate(depth + 1);
        let indent = depth.checked_sub(1).and_then(|parent| self.lists.get(parent)).map_or(0, |list| list.content);
        let mark = number.unwrap_or("-");
        let this = number.map(|number| (count(number).unwrap_or(0), number.chars().last().unwrap_or('.')));
        if let (Some(Some((last, last_mark))), Some((next, mark))) = (self.lists.get(depth).map(|list| list.last), this)
            && last_mark == mark
            && next != last + 1
        {
            // Markdown counts by itself: a jump needs a list of its own.
            out.push_str(&format!("{}<!-- -->\n", " ".repeat(indent)));
        } else if is_nested_start && this.is_some_and(|(number, _)| number != 1) {
            out.push('\n'); // Only a list that begins at 1 may follow a line of text.
        }
        let list = List { content: indent + mark.len() + 1, last: this };
        let inner = " ".repeat(list.content);
        self.lists.truncate(depth);
        self.lists.push(list);
        let paragraphs: Vec<String> = text
            .split("\n\n")
            .map(|paragraph| escape::markdown(paragraph).replace('\n', &format!("\n{inner}")))
            .collect();
        let body = paragraphs.join(&format!("\n\n{inner}"));
        out.push_str(format!("{}{mark} {body}", " ".repeat(indent)).trim_end());
    }
}

fn simple_block(block: &Block, options: &ExportOptions) -> String {
    match block {
        Block::Heading { level, text } => heading(*level, text),
        Block::Paragraph(text) | Block::Aside(text) => escape::markdown(text),
        Block::Caption(text) => escape::markdown_emphasis(text),
        Block::ListItem { text, .. } => escape::markdown(text),
        Block::Preformatted(text) => fenced(text),
        Block::Table(table) if options.pipe_tables && !table.has_spans() => pipe_table(table),
        Block::Table(table) => table.to_html(),
        Block::Formula { latex, number } => format!("$$\n{}\n$$", display(latex, number.as_deref())),
        Block::Figure { page, region, caption } => match &options.images {
            Some(folder) => {
                let path = format!("{}/{}", folder.trim_end_matches('/'), figure_file_name(*page, *region));
                let alt = escape::markdown_alt(caption.as_deref().unwrap_or("Figure"));
                format!("![{alt}]({})", escape::link_target(&path))
            }
            None => escape::comment(&format!("figure on page {}", page.saturating_add(1))),
        },
        Block::Notice(text) => escape::comment(text),
    }
}

fn heading(level: u8, text: &str) -> String {
    let mut title = escape::markdown_heading(text);
    // A last run of `#` would be taken for the end of the heading.
    let before = title.trim_end_matches('#');
    if before.len() < title.len() && (before.is_empty() || before.ends_with([' ', '\t'])) {
        title.insert(before.len(), '\\');
    }
    format!("{} {title}", "#".repeat(usize::from(level.clamp(1, 6))))
}

/// A code block whose fence is longer than any run of backticks in it.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}

/// LaTeX for a `$$` block: no blank line, and no line that Markdown would take for a list, quotation or underline.
fn display(latex: &str, number: Option<&str>) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in escape::no_tags(latex).replace("$$", "").lines().map(str::trim).filter(|line| !line.is_empty()) {
        let first = line.chars().next().unwrap_or(' ');
        let line = match first {
            '-' | '+' | '*' => format!("{first}{}", line[1..].trim_start()),
            '>' => format!("\\gt {}", line[1..].trim_start()),
            _ => line.to_string(),
        };
        let is_underline = line.chars().all(|c| matches!(c, '-' | '=' | '*' | '_'));
        let is_mark =
            line.starts_with(['#', '`', '~', '<', '|', ':']) || line.starts_with(|c: char| c.is_ascii_digit());
        match lines.last_mut() {
            Some(last) if is_underline || is_mark => *last = format!("{last} {line}"),
            _ if is_underline || line.starts_with(['#', '`', '~']) => lines.push(format!("{{}}{line}")),
            _ => lines.push(line),
        }
    }
    if let Some(number) = number.filter(|number| !number.is_empty() && !latex.contains(r"\tag")) {
        match lines.last_mut() {
            Some(last) => last.push_str(&format!(" \\tag{{{number}}}")),
            None => lines.push(format!("\\tag{{{number}}}")),
        }
    }
    lines.join("\n")
}

/// A pipe table. Its header is the first row when that consists of header cells, else an empty one, which GFM demands.
fn pipe_table(table: &Table) -> String {
    let grid = table.grid();
    let width = grid.first().map_or(0, Vec::len).max(1);
    let row = |cells: &[&str]| {
        let cells: Vec<String> = cells.iter().map(|text| escape::markdown_cell(text)).collect();
        format!("| {} |", cells.join(" | "))
    };
    let has_header = table.rows.first().is_some_and(|row| !row.is_empty() && row.iter().all(|cell| cell.header));
    let (header, body) = match grid.split_first() {
        Some((first, rest)) if has_header => (row(first), rest),
        _ => (row(&vec![""; width]), grid.as_slice()),
    };
    let mut lines = Vec::new();
    if !table.caption.is_empty() {
        lines.push(format!("{}\n", escape::markdown(&table.caption)));
    }
    lines.push(header);
    lines.push(format!("|{}", " --- |".repeat(width)));
    lines.extend(body.iter().map(|cells| row(cells)));
    lines.join("\n")
}
