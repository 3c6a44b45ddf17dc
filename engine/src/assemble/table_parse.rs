//! A tolerant reader of the table HTML that models write. It never fails: what it does not know is text.

use super::table::{Table, TableCell};

/// Tags that are dropped and leave their text. Anything else in angle brackets is text ("p <b and c> d" excepted).
const INLINE: [&str; 30] = [
    "a", "abbr", "b", "big", "center", "code", "col", "colgroup", "div", "em", "font", "h1", "h2", "h3", "i", "img",
    "input", "kbd", "mark", "p", "pre", "s", "small", "span", "strong", "svg", "tt", "u", "body", "html",
];
/// Tags that are dropped with their content.
const DROPPED: [&str; 6] = ["script", "style", "iframe", "object", "template", "head"];
/// Tags that break a line inside a cell.
const BREAKS: [&str; 3] = ["br", "li", "hr"];
/// Longest attributes of one tag that are looked at, characters.
const MAX_ATTRIBUTES: usize = 512;
/// Tags with a meaning here.
const STRUCTURE: [&str; 12] =
    ["table", "thead", "tbody", "tfoot", "caption", "tr", "td", "th", "sup", "sub", "ul", "ol"];

impl Table {
    /// Reads the first table of some HTML; `None` when there is no cell in it.
    ///
    /// Attributes other than `rowspan` and `colspan` are dropped, so are scripts and every tag that is no table tag (their
    /// text stays); `<br>` becomes `\n`, `<sup>2</sup>` becomes `²`. Unclosed rows and cells end where the next one begins,
    /// and a table inside a cell becomes that cell's text.
    pub fn parse(html: &str) -> Option<Table> {
        let mut reader = Reader::default();
        let mut rest = html;
        while !rest.is_empty() && !reader.finished {
            let next = rest.find('<').unwrap_or(rest.len());
            reader.text(&rest[..next]);
            rest = &rest[next..];
            if rest.is_empty() {
                break;
            }
            match Tag::read(rest) {
                Some((tag, length)) => {
                    rest = &rest[length..];
                    if !tag.closing && DROPPED.contains(&tag.name.as_str()) {
                        rest = after_closing(rest, &tag.name);
                    } else {
                        reader.tag(&tag);
                    }
                }
                None if is_cut_tag(rest) => break,
                None => {
                    let length = rest.chars().next().map_or(1, char::len_utf8);
                    reader.text(&rest[..length]);
                    rest = &rest[length..];
                }
            }
        }
        reader.finish()
    }
}

struct Tag<'a> {
    name: String,
    closing: bool,
    attributes: &'a str,
}

impl<'a> Tag<'a> {
    /// Reads a known tag, or a comment, at the start of `html`; returns it with its length.
    fn read(html: &'a str) -> Option<(Self, usize)> {
        if html.starts_with("<!--") {
            let length = html.find("-->").map_or(html.len(), |end| end + 3);
            return Some((Tag { name: String::new(), closing: false, attributes: "" }, length));
        }
        let inner = html.strip_prefix('<')?;
        let (closing, inner) = inner.strip_prefix('/').map_or((false, inner), |inner| (true, inner));
        let name_length = inner.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inner.len());
        let name = inner[..name_length].to_ascii_lowercase();
        let known = [&INLINE[..], &DROPPED, &BREAKS, &STRUCTURE].iter().any(|names| names.contains(&name.as_str()));
        let after = &inner[name_length..];
        if !known || !after.starts_with(|c: char| c == '>' || c == '/' || c.is_whitespace()) {
            return None;
        }
        let end = end_of_tag(after)?;
        let length = html.len() - after.len() + end + 1;
        Some((Tag { name, closing, attributes: &after[..end] }, length))
    }

    fn span(&self, wanted: &str) -> usize {
        let lower = self.attributes.to_ascii_lowercase();
        let Some(at) = lower.find(wanted) else { return 1 };
        let value = lower[at + wanted.len()..].trim_start().strip_prefix('=').unwrap_or("");
        let value = value.trim_start().trim_start_matches(['"', '\'', '\\']);
        let digits: String = value.chars().take_while(char::is_ascii_digit).take(9).collect();
        // The bounds of the HTML standard.
        let most = if wanted == "colspan" { 1000 } else { 65534 };
        digits.parse::<usize>().unwrap_or(1).clamp(1, most)
    }
}

/// Position of the `>` that ends a tag, quoted values skipped.
fn end_of_tag(attributes: &str) -> Option<usize> {
    let mut quote = None;
    let mut first = None;
    for (at, c) in attributes.char_indices().take(MAX_ATTRIBUTES) {
        match (quote, c) {
            (None, '>') => return Some(at),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
        if c == '>' && first.is_none() {
            first = Some(at);
        }
    }
    first // A quote that never closes.
}

/// Whether the text ends inside a tag, as an answer does that ran into the limit.
fn is_cut_tag(html: &str) -> bool {
    if html.len() > MAX_ATTRIBUTES || html.contains('>') {
        return false;
    }
    let name = html.trim_start_matches(['<', '/']);
    let name = name.split(char::is_whitespace).next().unwrap_or(name).to_ascii_lowercase();
    (html.len() <= 10 || html.contains("span")) && STRUCTURE.iter().any(|known| known.starts_with(&name))
}

/// What follows the closing tag of an element whose content is dropped.
fn after_closing<'a>(html: &'a str, name: &str) -> &'a str {
    let mut rest = html;
    while let Some(at) = rest.find("</") {
        rest = &rest[at + 2..];
        if rest.get(..name.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(name)) {
            return rest.find('>').map_or("", |end| &rest[end + 1..]);
        }
    }
    ""
}

#[derive(Default)]
struct Reader {
    table: Table,
    /// Tables open around the place, the outer one included.
    depth: usize,
    in_head: bool,
    in_caption: bool,
    row_open: bool,
    cell: Option<TableCell>,
    /// What is inside the open `<sup>` or `<sub>`.
    script: Option<(char, String)>,
    finished: bool,
}

impl Reader {
    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let text = decode_entities(text);
        if let Some((_, script)) = &mut self.script {
            push_collapsed(script, &text);
        } else if let Some(cell) = &mut self.cell {
            push_collapsed(&mut cell.text, &text);
        } else if self.in_caption {
            push_collapsed(&mut self.table.caption, &text);
        }
    }

    fn tag(&mut self, tag: &Tag<'_>) {
        let nested = self.depth > 1;
        match (tag.name.as_str(), tag.closing) {
            ("table", false) => {
                self.depth += 1;
                self.separate(' ');
            }
            ("table", true) => {
                self.depth = self.depth.saturating_sub(1);
                self.separate(' ');
                self.finished = self.depth == 0;
            }
            ("tr" | "td" | "th" | "caption", _) if nested => self.separate(' '),
            ("thead", closing) if !nested => self.in_head = !closing,
            ("tbody" | "tfoot", _) if !nested => self.in_head = false,
            ("caption", closing) => self.in_caption = !closing,
            ("tr", closing) => {
                self.end_cell();
                self.row_open = !closing;
                if !closing {
                    self.table.rows.push(Vec::new());
                }
            }
            ("td" | "th", true) => self.end_cell(),
            ("td" | "th", false) => {
                self.end_cell();
                if !self.row_open {
                    self.table.rows.push(Vec::new());
                    self.row_open = true;
                }
                self.in_caption = false;
                self.cell = Some(TableCell {
                    text: String::new(),
                    header: tag.name == "th" || self.in_head,
                    rowspan: tag.span("rowspan"),
                    colspan: tag.span("colspan"),
                });
            }
            ("sup" | "sub", false) => {
                self.end_script();
                self.script = Some((if tag.name == "sup" { '^' } else { '_' }, String::new()));
            }
            ("sup" | "sub", true) => self.end_script(),
            ("br" | "li" | "hr", false) => self.separate('\n'),
            ("p" | "div", _) => self.separate('\n'),
            _ => {}
        }
    }

    /// A blank or a line break, unless there is one.
    fn separate(&mut self, separator: char) {
        self.end_script();
        if let Some(cell) = &mut self.cell {
            cell.text.truncate(cell.text.trim_end_matches(' ').len());
            if !cell.text.is_empty() && (separator == '\n' || !cell.text.ends_with('\n')) {
                cell.text.push(separator);
            }
        }
    }

    fn end_script(&mut self) {
        let Some((mark, text)) = self.script.take() else { return };
        let text = script_text(mark, text.trim());
        if let Some(cell) = &mut self.cell {
            cell.text.push_str(&text);
        } else if self.in_caption {
            self.table.caption.push_str(&text);
        }
    }

    fn end_cell(&mut self) {
        self.end_script();
        if let Some(mut cell) = self.cell.take() {
            let lines: Vec<&str> = cell.text.split('\n').map(str::trim).filter(|line| !line.is_empty()).collect();
            cell.text = lines.join("\n");
            if let Some(row) = self.table.rows.last_mut() {
                row.push(cell);
            }
        }
    }

    fn finish(mut self) -> Option<Table> {
        self.end_cell();
        self.table.caption = self.table.caption.trim().to_string();
        // A row that an answer cut short has just begun.
        if !self.finished && self.table.rows.last().is_some_and(Vec::is_empty) {
            self.table.rows.pop();
        }
        self.table.rows.iter().any(|row| !row.is_empty()).then_some(self.table)
    }
}

/// Appends text with its white space collapsed, as a browser shows it.
fn push_collapsed(out: &mut String, text: &str) {
    for c in text.chars() {
        if !c.is_ascii_whitespace() {
            out.extend((!c.is_control()).then_some(c));
        } else if !out.is_empty() && !out.ends_with([' ', '\n']) {
            out.push(' ');
        }
    }
}

/// Raised or lowered text as Unicode has it, or else in LaTeX's manner: losing it would turn 10³ into 103.
fn script_text(mark: char, text: &str) -> String {
    const PLAIN: &str = "0123456789+-=()n";
    let raised = if mark == '^' {
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ"
    } else {
        "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙ"
    };
    let shifted: Option<String> = text
        .chars()
        .map(|c| PLAIN.chars().position(|plain| plain == c).and_then(|at| raised.chars().nth(at)))
        .collect();
    match shifted {
        Some(shifted) => shifted,
        None if text.chars().count() == 1 => format!("{mark}{text}"),
        None => format!("{mark}({text})"),
    }
}

fn decode_entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let decoded =
            rest.bytes().take(11).position(|byte| byte == b';').and_then(|end| Some((entity(&rest[1..end])?, end + 1)));
        match decoded {
            Some((c, length)) => {
                out.push(c);
                rest = &rest[length..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|c| !c.is_control());
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "times" => '×',
        "minus" => '−',
        "plusmn" => '±',
        "deg" => '°',
        "ndash" => '–',
        "mdash" => '—',
        "hellip" => '…',
        "middot" => '·',
        "euro" => '€',
        "pound" => '£',
        "copy" => '©',
        "reg" => '®',
        "le" => '≤',
        "ge" => '≥',
        "ne" => '≠',
        _ => return None,
    })
}
