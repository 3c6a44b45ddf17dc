//! Text that must show as the characters that were read: Markdown and HTML escapes, formulas inside text left alone.

/// A piece of running text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Span<'a> {
    /// Characters as they are.
    Text(&'a str),
    /// LaTeX between single dollars.
    Math(&'a str),
    /// LaTeX between double dollars.
    Display(&'a str),
}

/// Divides running text into characters and formulas.
///
/// A formula stands between dollars that touch it (`$x$`, not `$5 and $6`), the closing one not before a digit, and does
/// not read like words between two prices.
pub(super) fn spans(text: &str) -> Vec<Span<'_>> {
    let mut spans = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(found) = text[at..].find('$') {
        let open = at + found;
        match formula_at(&text[open..]) {
            Some((span, length)) if !text[..open].ends_with('\\') => {
                if start < open {
                    spans.push(Span::Text(&text[start..open]));
                }
                spans.push(span);
                at = open + length;
                start = at;
            }
            _ => at = open + 1,
        }
    }
    if start < text.len() {
        spans.push(Span::Text(&text[start..]));
    }
    spans
}

/// Longest formula inside running text, bytes. It bounds the search for a closing dollar.
const MAX_INLINE: usize = 4096;

fn formula_at(text: &str) -> Option<(Span<'_>, usize)> {
    let dollars = if text.starts_with("$$") { 2 } else { 1 };
    let body = text.get(dollars..)?;
    let mut escaped = false;
    let end = body.char_indices().take_while(|(at, _)| *at < MAX_INLINE).find_map(|(at, c)| {
        let closes = c == '$' && !escaped;
        escaped = c == '\\' && !escaped;
        closes.then_some(at)
    })?;
    let (inner, rest) = (&body[..end], &body[end + 1..]);
    if inner.trim().is_empty() || inner.contains('\n') {
        return None;
    }
    if dollars == 2 {
        (rest.starts_with('$') && has_balanced_braces(inner) && !inner.contains('`')).then_some(())?;
        return Some((Span::Display(inner), end + 4));
    }
    let touches = !inner.starts_with(char::is_whitespace) && !inner.ends_with(char::is_whitespace);
    let closed = !rest.starts_with(|c: char| c.is_ascii_digit() || c == '$');
    (touches && closed && reads_like_math(inner)).then_some((Span::Math(inner), end + 2))
}

/// Words between two dollar signs are prose about money or shell variables; LaTeX words have a backslash or stand in braces.
fn reads_like_math(inner: &str) -> bool {
    // A backtick could pair with one behind the formula; some tools demand balanced braces.
    if inner.contains('`') || !has_balanced_braces(inner) {
        return false;
    }
    if inner.contains(['\\', '^', '_', '{', '=']) {
        return !inner.ends_with('\\');
    }
    !inner.split(|c: char| !c.is_alphabetic()).any(|word| word.chars().count() >= 3)
}

fn has_balanced_braces(latex: &str) -> bool {
    let (mut depth, mut escaped) = (0_i32, false);
    for c in latex.chars() {
        match c {
            '{' if !escaped => depth += 1,
            '}' if !escaped => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return false;
        }
        escaped = c == '\\' && !escaped;
    }
    depth == 0
}

/// Escapes a paragraph or list item for Markdown, as little as its meaning allows. Newlines become hard line breaks.
pub(super) fn markdown(text: &str) -> String {
    let inside = Inside { several_lines: text.contains('\n'), ..Inside::default() };
    let lines = text.split('\n').map(|line| {
        let line = line.trim_matches([' ', '\t']);
        escape_start(&escape_line(line, inside), line, inside.several_lines)
    });
    lines.collect::<Vec<_>>().join("\\\n")
}

/// Escapes the text of a heading.
pub(super) fn markdown_heading(text: &str) -> String {
    escape_line(text.trim(), Inside::default())
}

/// Text in italics.
pub(super) fn markdown_emphasis(text: &str) -> String {
    let inside = Inside { several_lines: text.contains('\n'), emphasis: true, ..Inside::default() };
    let lines: Vec<String> = text.trim().split('\n').map(|line| escape_line(line.trim(), inside)).collect();
    format!("*{}*", lines.join("\\\n"))
}

/// Escapes a cell of a pipe table. Newlines become `<br>`.
pub(super) fn markdown_cell(text: &str) -> String {
    let inside = Inside { several_lines: text.contains('\n'), cell: true, ..Inside::default() };
    text.split('\n').map(|line| escape_line(line.trim(), inside)).collect::<Vec<_>>().join("<br>")
}

/// Escapes the description of an image.
pub(super) fn markdown_alt(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if "\\`*_[]<&$~!".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// What surrounds a line that is escaped.
#[derive(Clone, Copy, Default)]
struct Inside {
    /// Whether marks on other lines of the same paragraph could pair with those of this one.
    several_lines: bool,
    /// Whether it stands in a cell of a pipe table.
    cell: bool,
    /// Whether asterisks stand around it.
    emphasis: bool,
}

/// Which marks of a line could mean something.
struct Marks {
    dollars: bool,
    tildes: bool,
    pipes: bool,
}

fn escape_line(line: &str, inside: Inside) -> String {
    let pieces = spans(line);
    let literal = |mark: char| -> usize {
        pieces.iter().map(|span| if let Span::Text(text) = span { text.matches(mark).count() } else { 0 }).sum()
    };
    let has_math = pieces.iter().any(|span| !matches!(span, Span::Text(_)));
    let marks = Marks {
        dollars: has_math || literal('$') > 1 || inside.several_lines,
        tildes: literal('~') > 1 || inside.several_lines,
        pipes: inside.several_lines || inside.cell,
    };
    let mut out = String::with_capacity(line.len() + 8);
    for (at, span) in pieces.iter().enumerate() {
        let (latex, dollars) = match span {
            Span::Text(text) => {
                // A formula's dollar neighbours the text before and behind it.
                let edge = inside.emphasis.then_some('*');
                let before = out.chars().last().or(edge);
                let after = if at + 1 < pieces.len() { Some('$') } else { edge };
                escape_text(&mut out, text, before, after, &marks);
                continue;
            }
            Span::Math(latex) => (latex, "$"),
            Span::Display(latex) => (latex, "$$"),
        };
        let latex = no_tags(latex);
        let latex = if inside.cell { latex.replace('|', "\\|") } else { latex };
        out.push_str(&format!("{dollars}{latex}{dollars}"));
    }
    out
}

/// LaTeX without anything that Markdown takes for an HTML tag: a blank after `<` changes nothing in a formula.
pub(super) fn no_tags(latex: &str) -> String {
    let mut out = String::with_capacity(latex.len());
    for (at, c) in latex.char_indices() {
        out.push(c);
        let next = latex[at + c.len_utf8()..].chars().next();
        if c == '<' && next.is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?')) {
            out.push(' ');
        }
    }
    out
}

fn escape_text(out: &mut String, text: &str, before: Option<char>, after: Option<char>, marks: &Marks) {
    let mut rest = text;
    let mut left = before;
    while let Some(c) = rest.chars().next() {
        if matches!(c, '*' | '_') {
            // The whole run decides whether it can open or close emphasis.
            let run = rest.len() - rest.trim_start_matches(c).len();
            let right = rest[run..].chars().next().or(after);
            let blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
            let inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            let plain = (blank(left) && blank(right)) || (c == '_' && inside(left) && inside(right));
            let mark = if plain { c.to_string() } else { format!("\\{c}") };
            out.push_str(&mark.repeat(run));
            rest = &rest[run..];
        } else {
            rest = &rest[c.len_utf8()..];
            if is_mark(c, rest, after, marks) {
                out.push('\\');
            }
            out.push(c);
        }
        left = Some(c);
    }
}

/// Whether a character, followed by `rest`, would mean something.
fn is_mark(c: char, rest: &str, after: Option<char>, marks: &Marks) -> bool {
    let next = rest.chars().next().or(after);
    match c {
        '\\' => next.is_none_or(|next| next.is_ascii_punctuation()),
        '`' => true,
        '~' => marks.tildes,
        '$' => marks.dollars,
        '|' => marks.pipes,
        '<' => next.is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?')) || is_mail(rest),
        '&' => is_entity(rest),
        '[' => matches!(next, Some('^' | '[')),
        ']' => next == Some('('),
        _ => false,
    }
}

/// Whether what follows a `<` could be a mail address, which may begin with almost anything.
fn is_mail(rest: &str) -> bool {
    rest.chars().take(320).take_while(|c| !c.is_whitespace()).any(|c| c == '@')
}

/// Whether what follows an `&` makes it an entity.
fn is_entity(rest: &str) -> bool {
    let Some(end) = rest.bytes().take(34).position(|byte| byte == b';') else { return false };
    let name = &rest[..end];
    let body = name.strip_prefix('#').map_or(name, |number| number.strip_prefix(['x', 'X']).unwrap_or(number));
    !body.is_empty() && body.chars().all(|c| c.is_ascii_alphanumeric())
}

/// Escapes what would turn the beginning of a line into a heading, quotation, list, rule, fence or definition.
fn escape_start(escaped: &str, line: &str, several_lines: bool) -> String {
    let Some(first) = line.chars().next() else { return escaped.to_string() };
    let ends_mark =
        |length: usize| line.get(length..).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
    let run = line.len() - line.trim_start_matches(first).len();
    let only = |mark: char| line.chars().all(|c| c == mark || c == ' ' || c == '\t');
    let needs = match first {
        '#' => run <= 6 && ends_mark(run),
        '>' => true,
        '-' => ends_mark(1) || only('-'),
        '+' => ends_mark(1) || run >= 3,
        '*' | '_' => (ends_mark(1) && first == '*') || only(first),
        '=' => only('='),
        ':' => ends_mark(1) || run >= 3,
        '~' => run >= 3,
        '|' => true,
        '0'..='9' => {
            let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if digits <= 9 && line[digits..].starts_with(['.', ')']) && ends_mark(digits + 1) {
                // Digits are never escaped, so both texts agree up to here.
                let (number, rest) = escaped.split_at(digits);
                return format!("{number}\\{rest}");
            }
            false
        }
        // A link definition, or a task box.
        '[' => several_lines || line.contains("]:") || matches!(line.get(1..3), Some(" ]" | "x]" | "X]")),
        _ => false,
    };
    if needs && !escaped.starts_with('\\') { format!("\\{escaped}") } else { escaped.to_string() }
}

/// Escapes text for HTML; newlines become `<br>`.
pub(super) fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("<br>\n"),
            c => out.push(c),
        }
    }
    out
}

/// An HTML comment. What would end it early is broken up.
pub(super) fn comment(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("--", "- -").replace("--", "- -");
    format!("<!-- {text} -->")
}

/// A relative path as the target of a link, in Markdown and HTML alike.
pub(super) fn link_target(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.replace('\\', "/").chars() {
        match c {
            c if c.is_control() => {}
            c if c.is_ascii() && !c.is_ascii_alphanumeric() && !"/._-".contains(c) => {
                out.push_str(&format!("%{:02X}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}
