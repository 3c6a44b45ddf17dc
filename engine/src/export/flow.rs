//! Pages -> a flow of blocks, the one thing that Markdown, HTML and plain text are written from: furniture left out,
//! formula numbers and captions matched, paragraphs joined across columns and pages.

use crate::assemble::{Table, Vocabulary, append};
use crate::export::ExportOptions;
use crate::page::{PageResult, RegionResult, Status};
use crate::region::{Label, Marker, Role};

/// Blocks held back for a paragraph that may go on; more than stand between its parts.
const MAX_HELD: usize = 64;

/// One block of a document. All texts are plain: markup in them is text.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A heading.
    Heading {
        /// Its level, 1 to 6.
        level: u8,
        /// One line.
        text: String,
    },
    /// A paragraph of the running text; a newline in it is a line break.
    Paragraph(String),
    /// What stands below or above a figure or table.
    Caption(String),
    /// A paragraph beside the running text: furniture, notes, numbers. It neither goes on nor is gone on with.
    Aside(String),
    /// An item of a list.
    ListItem {
        /// Nesting depth, from 0.
        depth: u8,
        /// `None`: a bullet. `Some`: the item's own number, with its dot or bracket.
        number: Option<String>,
        /// Its paragraphs, separated by blank lines.
        text: String,
    },
    /// A listing whose line breaks and indents matter.
    Preformatted(String),
    /// A table.
    Table(Table),
    /// A formula of its own.
    Formula {
        /// LaTeX without delimiters.
        latex: String,
        /// Its number, without brackets.
        number: Option<String>,
    },
    /// A picture, by page and region from 0.
    Figure {
        /// The page's number in the document.
        page: usize,
        /// The region's number on the page.
        region: usize,
        /// The text of its caption, which also stands by itself.
        caption: Option<String>,
    },
    /// Something that the reader of the document must know: truncated, failed, …
    Notice(String),
}

impl Block {
    /// The text that a continuation may be appended to.
    fn open_text(&mut self) -> Option<&mut String> {
        match self {
            Block::Paragraph(text) | Block::ListItem { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Whether a paragraph can go on behind this block.
    fn lets_pass(&self) -> bool {
        matches!(
            self,
            Block::Table(_) | Block::Formula { .. } | Block::Figure { .. } | Block::Caption(_) | Block::Aside(_)
        )
    }
}

/// Turns pages into blocks one by one, holding back only what the next page may still change.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// A paragraph, list item or listing that may go on, and what stands behind it.
    held: Vec<Block>,
    ready: Vec<Block>,
}

impl Flow {
    /// Adds a page; returns the blocks that are complete.
    pub(super) fn page(&mut self, page: &PageResult, options: &ExportOptions) -> Vec<Block> {
        let numbers = formula_numbers(&page.regions);
        for (index, result) in page.regions.iter().enumerate() {
            let furniture = result.region.label.role() == Role::Furniture;
            let is_used_number = numbers.contains(&Some(index));
            if (furniture && !options.furniture) || is_used_number {
                continue;
            }
            let number = numbers.get(index).copied().flatten().and_then(|at| page.regions.get(at));
            self.region(page, index, result, number);
        }
        std::mem::take(&mut self.ready)
    }

    /// Adds a page that could not be read.
    pub(super) fn failed_page(&mut self, index: usize, message: &str) -> Vec<Block> {
        self.push(Block::Notice(format!("page {} could not be read: {}", index.saturating_add(1), visible(message))));
        std::mem::take(&mut self.ready)
    }

    /// The blocks that were still held back.
    pub(super) fn finish(&mut self) -> Vec<Block> {
        self.ready.append(&mut self.held);
        std::mem::take(&mut self.ready)
    }

    fn region(&mut self, page: &PageResult, index: usize, result: &RegionResult, number: Option<&RegionResult>) {
        let region = &result.region;
        let text = visible(&result.text);
        if is_figure(result) {
            let caption = caption_of(&page.regions, index);
            self.push(Block::Figure { page: page.index, region: index, caption });
            // A formula kept as a picture keeps its number too.
            if let Some(number) = number {
                self.push(Block::Aside(one_line(&visible(&number.text))));
            }
        } else if !text.trim().is_empty() {
            match region.label.role() {
                Role::Table => match Table::parse(&text) {
                    Some(table) => self.push(Block::Table(table)),
                    None => self.text(result, &text),
                },
                Role::Formula => {
                    let number = number.map(|number| bare_number(&number.text));
                    self.push(Block::Formula { latex: text, number });
                }
                _ => self.text(result, &text),
            }
        }
        if let Some(what) = notice(&result.status) {
            self.push(Block::Notice(format!("page {}, region {}: {what}", page.index.saturating_add(1), index + 1)));
        }
    }

    fn text(&mut self, result: &RegionResult, text: &str) {
        let region = &result.region;
        if region.is_listing() {
            return self.listing(region.continues, text);
        }
        let mut rest = text;
        // A model that read a whole region marks code by fences.
        while region.lines.is_empty()
            && let Some((before, code, after)) = split_code(rest)
        {
            self.running_text(result, before);
            self.push(Block::Preformatted(code.to_string()));
            rest = after;
        }
        self.running_text(result, rest);
    }

    fn running_text(&mut self, result: &RegionResult, text: &str) {
        let region = &result.region;
        let mut paragraphs = paragraphs(text).peekable();
        if region.continues
            && region.label.is_running_text()
            && let Some(first) = paragraphs.peek()
            && let Some(open) = self.held.first_mut().and_then(Block::open_text)
        {
            let is_divided = open.ends_with(['-', '\u{2010}']);
            let words = if is_divided { [open.as_str(), first.as_str()].map(without_ends) } else { [""; 2] };
            let words = Vocabulary::new(words);
            append(open, first, &words);
            paragraphs.next();
        }
        let paragraphs: Vec<String> = paragraphs.collect();
        if let Some(item) = region.list_item.filter(|_| region.label.is_running_text()) {
            let text = paragraphs.join("\n\n");
            if !text.is_empty() {
                self.push(match item.marker {
                    Marker::Number => numbered(item.depth, &text),
                    Marker::Bullet => Block::ListItem { depth: item.depth, number: None, text },
                });
            }
            return;
        }
        // A region read as a whole may hold a list. Lines cut by the detector never do: it saw the marks.
        let items = if region.lines.is_empty() { list_runs(&paragraphs) } else { vec![false; paragraphs.len()] };
        for (paragraph, is_item) in paragraphs.into_iter().zip(items) {
            let formula = paragraph.strip_prefix("$$").and_then(|rest| rest.strip_suffix("$$"));
            if let Some(latex) = formula.filter(|latex| !latex.trim().is_empty() && !latex.contains("$$"))
                && region.lines.is_empty()
            {
                self.push(Block::Formula { latex: latex.trim().to_string(), number: None });
                continue;
            }
            self.push(match region.label {
                Label::DocTitle => heading(1, &paragraph),
                // The first level is the document's title; here it is left over from that label.
                Label::ParagraphTitle => heading(region.level.unwrap_or(2).max(2), &paragraph),
                Label::FigureTitle => Block::Caption(paragraph),
                _ if is_item => match paragraph.strip_prefix("- ") {
                    Some(text) => Block::ListItem { depth: 0, number: None, text: text.to_string() },
                    None => numbered(0, &paragraph),
                },
                Label::FormulaNumber | Label::Seal | Label::VisionFootnote => Block::Aside(paragraph),
                label if label.role() == Role::Furniture => Block::Aside(paragraph),
                _ => Block::Paragraph(paragraph),
            });
        }
    }

    fn listing(&mut self, continues: bool, text: &str) {
        let text = text.trim_matches('\n');
        match self.held.first_mut() {
            Some(Block::Preformatted(open)) if continues => {
                open.push('\n');
                open.push_str(text);
            }
            _ => self.push(Block::Preformatted(text.to_string())),
        }
    }

    fn push(&mut self, block: Block) {
        let opens = matches!(block, Block::Paragraph(_) | Block::ListItem { .. } | Block::Preformatted(_));
        if opens || !block.lets_pass() || self.held.is_empty() || self.held.len() >= MAX_HELD {
            self.ready.append(&mut self.held);
        }
        if opens || !self.held.is_empty() {
            self.held.push(block);
        } else {
            self.ready.push(block);
        }
    }
}

/// Whether a region stands in the document as a picture. A text that was put there wins over it.
pub fn is_figure(result: &RegionResult) -> bool {
    let is_picture = result.region.label.role() == Role::Figure || result.status == Status::Picture;
    is_picture && visible(&result.text).trim().is_empty()
}

/// What stands before, inside and behind the first fenced code of a text.
fn split_code(text: &str) -> Option<(&str, &str, &str)> {
    let start = if text.starts_with("```") { 0 } else { text.find("\n```")? + 1 };
    let (before, fenced) = text.split_at(start);
    let body = &fenced[fenced.find('\n')? + 1..];
    let end = if body.starts_with("```") { 0 } else { body.find("\n```")? };
    let (code, rest) = body.split_at(end);
    let rest = rest.trim_start_matches('\n').strip_prefix("```")?;
    (rest.is_empty() || rest.starts_with('\n')).then_some((before, code, rest))
}

/// A text without its first and last word: those may be parts of a divided one.
fn without_ends(text: &str) -> &str {
    let start = text.find(char::is_whitespace).unwrap_or(text.len());
    let end = text.rfind(char::is_whitespace).unwrap_or(0);
    text.get(start..end).unwrap_or("")
}

/// The text without the characters that no format can carry: controls (newline and tab stay), non-characters. Other line
/// separators become newlines.
pub(super) fn visible(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars()
        .filter_map(|c| match c {
            '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{B}' | '\u{C}' => Some('\n'),
            '\n' | '\t' => Some(c),
            c if c.is_control() => None,
            '\u{FDD0}'..='\u{FDEF}' => None,
            c if (c as u32) & 0xFFFE == 0xFFFE => None,
            c => Some(c),
        })
        .collect()
}

/// The paragraphs of a text, each with its runs of blanks collapsed. A single newline in one is a line break.
fn paragraphs(text: &str) -> impl Iterator<Item = String> {
    let mut paragraphs: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.split('\n') {
        let line = line.split([' ', '\t']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        if line.trim().is_empty() {
            open = false;
            continue;
        }
        match paragraphs.last_mut() {
            Some(paragraph) if open => {
                paragraph.push('\n');
                paragraph.push_str(&line);
            }
            _ => paragraphs.push(line),
        }
        open = true;
    }
    paragraphs.into_iter()
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn heading(level: u8, text: &str) -> Block {
    let text = one_line(text);
    let hashes = text.len() - text.trim_start_matches('#').len();
    let title = match text.get(hashes..) {
        Some(rest) if (1..=6).contains(&hashes) && rest.starts_with(' ') => rest.trim().to_string(),
        _ => text,
    };
    Block::Heading { level: level.clamp(1, 6), text: title }
}

/// A list item that brings its own number. What is no number (`(a)`, `iv.`) stays in the text of a bullet.
fn numbered(depth: u8, paragraph: &str) -> Block {
    match split_number(paragraph) {
        Some((number, text)) => Block::ListItem { depth, number: Some(number.to_string()), text: text.to_string() },
        None => Block::ListItem { depth, number: None, text: paragraph.to_string() },
    }
}

/// Splits `12. text` or `3) text`; `None` where a Markdown list would change the number.
fn split_number(text: &str) -> Option<(&str, &str)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let plain = (1..=9).contains(&digits) && (digits == 1 || !text.starts_with('0'));
    let after = text.get(digits..)?.strip_prefix(['.', ')'])?.strip_prefix(' ')?;
    plain.then(|| (&text[..=digits], after.trim_start()))
}

/// Which paragraphs are items of lists: bullets, or numbers counting up, two or more in a row.
fn list_runs(paragraphs: &[String]) -> Vec<bool> {
    let follows = |a: &str, b: &str| match (split_number(a), split_number(b)) {
        (Some((a, _)), Some((b, _))) => count(a).is_some_and(|a| count(b) == Some(a + 1)),
        (None, None) => a.starts_with("- ") && b.starts_with("- "),
        _ => false,
    };
    let mut items = vec![false; paragraphs.len()];
    for (at, pair) in paragraphs.windows(2).enumerate() {
        if let [a, b] = pair
            && follows(a, b)
        {
            items[at] = true;
            items[at + 1] = true;
        }
    }
    items
}

/// The number in `12.`.
pub(super) fn count(number: &str) -> Option<u64> {
    number.trim_end_matches(['.', ')']).parse().ok()
}

/// For each region the formula number that belongs to it: the next region or the one before, beside it on the page.
fn formula_numbers(regions: &[RegionResult]) -> Vec<Option<usize>> {
    let mut used = vec![false; regions.len()];
    let is_number = |at: usize| {
        regions.get(at).is_some_and(|other| other.region.label == Label::FormulaNumber && !other.text.trim().is_empty())
    };
    let beside = |a: usize, b: usize| match (regions.get(a), regions.get(b)) {
        (Some(a), Some(b)) => {
            let (a, b) = (a.region.bounds, b.region.bounds);
            a.y0.max(b.y0) < a.y1.min(b.y1)
        }
        _ => false,
    };
    (0..regions.len())
        .map(|at| {
            let takes_number = regions.get(at).is_some_and(|formula| formula.region.label.role() == Role::Formula);
            let candidates = [Some(at + 1), at.checked_sub(1)];
            let found = candidates.into_iter().flatten().find(|&number| {
                takes_number && is_number(number) && beside(at, number) && !used.get(number).copied().unwrap_or(true)
            });
            if let Some(used) = found.and_then(|number| used.get_mut(number)) {
                *used = true;
            }
            found
        })
        .collect()
}

/// `(3.1)` -> `3.1`: `\tag` writes the brackets itself.
fn bare_number(text: &str) -> String {
    let text = one_line(&visible(text)).replace(['$', '{', '}', '\\'], "");
    let inner = text.strip_prefix(['(', '（']).and_then(|rest| rest.strip_suffix([')', '）']));
    inner.unwrap_or(&text).trim().to_string()
}

/// The caption next to a figure: below it, or above it unless that one belongs to a figure further up.
fn caption_of(regions: &[RegionResult], figure: usize) -> Option<String> {
    let title = |at: usize| regions.get(at).filter(|other| other.region.label == Label::FigureTitle);
    let above = || {
        let at = figure.checked_sub(1)?;
        let other = at.checked_sub(1).and_then(|before| regions.get(before));
        title(at).filter(|_| other.is_none_or(|other| other.region.label.role() != Role::Figure))
    };
    let caption = title(figure + 1).or_else(above)?;
    Some(one_line(&visible(&caption.text))).filter(|caption| !caption.is_empty())
}

fn notice(status: &Status) -> Option<String> {
    match status {
        Status::Done | Status::Empty | Status::Picture => None,
        Status::Truncated => Some("truncated, the token limit was reached".into()),
        Status::LoopStopped => Some("a loop was stopped, the text holds one round of it".into()),
        Status::Cancelled => Some("cancelled, the text is what was read by then".into()),
        Status::Failed(message) => Some(format!("could not be read: {}", one_line(&visible(message)))),
    }
}
