//! Clean-up of a model's answer (METHOD section 5).

use crate::region::Task;

/// Cleans the answer to a request for a whole region.
///
/// Text: a single newline becomes a paragraph break, bullets become `- `, list marks get one blank, long runs of dots and
/// underscores shrink to three, `$ x $` loses its inner blanks. Table: cut to `<table>…</table>`. Formula: LaTeX without
/// delimiters, without blank lines. `<think>` scaffolding at the beginning goes in all three.
pub fn clean(text: &str, task: Task) -> String {
    let text = without_thinking(text).replace("\r\n", "\n").replace('\r', "\n");
    match task {
        Task::Text => clean_text(unfenced(&text, &["markdown", "md", "text", "plaintext"])),
        Task::Table => clean_table(&text),
        Task::Formula => clean_formula(unfenced(&text, &["", "latex", "tex", "math"])),
    }
}

/// Cleans the answer to a request for one line (or strip) of running text. A newline in it becomes a blank.
pub fn clean_line(text: &str) -> String {
    let line = without_thinking(text).split_whitespace().collect::<Vec<_>>().join(" ");
    tight_math(&short_runs(&line))
}

/// Cleans an answer whose line breaks, blanks and dots matter: a listing, or a line of one.
pub fn clean_listing(text: &str) -> String {
    let text = without_thinking(text).replace("\r\n", "\n").replace('\r', "\n");
    let mut lines: Vec<&str> = text.trim_matches('\n').split('\n').map(str::trim_end).collect();
    if let [first, .., "```"] = lines.as_slice()
        && first.strip_prefix("```").is_some_and(|language| language.chars().all(char::is_alphanumeric))
    {
        lines.pop();
        lines.remove(0);
    }
    lines.join("\n").trim_matches('\n').to_string()
}

/// Removes `<think>…</think>` in front of an answer. A page that prints such tags further down keeps them.
fn without_thinking(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(thought) = rest.strip_prefix("<think>") {
        // Without an end the limit came before the answer did.
        rest = thought.split_once("</think>").map_or("", |(_, answer)| answer).trim_start();
    }
    let answer = rest.strip_prefix("</think>").unwrap_or(rest);
    // An indent that is part of the answer stays; only the line break behind the scaffolding goes.
    if answer.len() == text.trim_start().len() {
        text.trim_start_matches('\n')
    } else {
        answer.trim_start_matches('\n')
    }
}

/// The inside of a code fence around the whole answer, if it names one of these languages.
fn unfenced<'a>(text: &'a str, languages: &[&str]) -> &'a str {
    let inner = text.trim().strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    match inner.and_then(|inner| inner.split_once('\n')) {
        Some((language, body)) if languages.contains(&language.trim()) => body,
        _ => text,
    }
}

fn clean_text(text: &str) -> String {
    let mut paragraphs = Vec::new();
    let last_fence =
        text.split('\n').enumerate().filter(|(_, line)| line.trim() == "```").last().map_or(0, |(at, _)| at);
    let mut lines = text.split('\n').enumerate();
    while let Some((at, line)) = lines.next() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        if line.starts_with("```") && at < last_fence {
            // So does code, and its blanks and blank lines.
            let body: Vec<&str> =
                lines.by_ref().map(|(_, line)| line).take_while(|line| line.trim() != "```").collect();
            paragraphs.push(format!("{line}\n{}\n```", body.join("\n")));
        } else if line == "$$" {
            // A displayed formula keeps its lines together.
            let body: Vec<&str> =
                lines.by_ref().map(|(_, line)| line.trim()).take_while(|line| *line != "$$").collect();
            paragraphs.push(format!("$${}$$", body.join(" ").trim()));
        } else {
            paragraphs.push(tight_math(&short_runs(&list_mark(line))));
        }
    }
    paragraphs.join("\n\n")
}

/// Normalises the mark at the start of a list item.
fn list_mark(line: &str) -> String {
    const BULLETS: [char; 12] = ['•', '●', '○', '◦', '▪', '■', '□', '‣', '⁃', '∙', '·', '➢'];
    if let Some(rest) = line.strip_prefix(BULLETS)
        && !rest.starts_with(BULLETS)
    {
        return format!("- {}", rest.trim_start());
    }
    if let Some(rest) = line.strip_prefix(['*', '-', '+']).filter(|rest| rest.starts_with([' ', '\t'])) {
        let mark = if line.starts_with('+') { '+' } else { '-' };
        return format!("{mark} {}", rest.trim_start());
    }
    let Some(end) = mark_end(line) else { return line.to_string() };
    let (mark, rest) = line.split_at(end);
    let item = rest.trim_start();
    let glued = item.len() == rest.len();
    // "1.5 million" and "(s)he" are not items; "1.Introduction" and "(a)first" are.
    let starts_item = match item.chars().next() {
        None => false,
        Some(first) if mark.starts_with('(') => first.is_alphabetic() && !(mark == "(s)" && item.starts_with("he")),
        Some(first) => first.is_uppercase() || (first.is_alphabetic() && !first.is_ascii() && !first.is_lowercase()),
    };
    if glued && !starts_item { line.to_string() } else { format!("{mark} {item}") }
}

/// Where a mark like `12.`, `3)`, `(a)` or `(iv)` ends.
fn mark_end(line: &str) -> Option<usize> {
    if let Some(inner) = line.strip_prefix('(') {
        let (mark, _) = inner.split_once(')')?;
        let roman = mark.len() <= 4 && mark.chars().all(|c| "ivxIVX".contains(c));
        let short = mark.len() <= 2 && mark.chars().all(|c| c.is_ascii_digit());
        let letter = mark.len() == 1 && mark.chars().all(|c| c.is_ascii_alphabetic());
        return (!mark.is_empty() && (roman || short || letter)).then_some(mark.len() + 2);
    }
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    ((1..=3).contains(&digits) && line[digits..].starts_with(['.', ')'])).then_some(digits + 1)
}

/// Shrinks runs of dots, middle dots and underscores, and dot leaders with blanks, to three.
fn short_runs(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        if !matches!(c, '.' | '·' | '_' | '…') {
            out.push(c);
            at += 1;
            continue;
        }
        let (mut end, mut count) = (at + 1, 1);
        loop {
            let blanks = chars[end..].iter().take_while(|c| **c == ' ').count();
            // Underscores with blanks between them are separate blanks to fill in.
            let next = if c == '_' { end } else { end + blanks };
            if chars.get(next) != Some(&c) {
                break;
            }
            count += 1;
            end = next + 1;
        }
        let long = count > 3 || (c == '…' && count > 1);
        match c {
            '…' if long => out.push('…'),
            _ if long => out.extend([c; 3]),
            _ => out.extend(&chars[at..end]),
        }
        at = end;
    }
    out
}

/// `$ x $` becomes `$x$`; amounts of money do not.
fn tight_math(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('$') {
        out.push_str(&rest[..open]);
        let after = &rest[open + 1..];
        let Some(length) = after.find('$') else {
            rest = &rest[open..];
            break;
        };
        let (body, tail) = (&after[..length], &after[length + 1..]);
        let money = tail.trim_start().starts_with(|c: char| c.is_ascii_digit())
            && body.trim_start().starts_with(|c: char| c.is_ascii_digit());
        if body.starts_with(' ') && body.ends_with(' ') && !body.trim().is_empty() && !money {
            out.push('$');
            out.push_str(body.trim());
            out.push('$');
            rest = tail;
        } else if body.is_empty() || body.starts_with(' ') || money {
            out.push_str(&rest[open..open + 1 + length]);
            rest = &after[length..];
            if body.is_empty() {
                out.push('$');
                rest = tail;
            }
        } else {
            out.push_str(&rest[open..open + length + 2]);
            rest = tail;
        }
    }
    out.push_str(rest);
    out
}

fn clean_table(text: &str) -> String {
    // ASCII lower case keeps byte positions.
    let lower = text.to_ascii_lowercase();
    let Some(start) = lower.find("<table") else { return text.trim().to_string() };
    let end = lower[start..].rfind("</table>").map_or(text.len(), |end| start + end + "</table>".len());
    text[start..end].trim().to_string()
}

fn clean_formula(text: &str) -> String {
    let mut latex = text.trim();
    for _ in 0..MAX_WRAPPERS {
        let stripped = [("$$", "$$"), ("$", "$"), (r"\[", r"\]"), (r"\(", r"\)")]
            .iter()
            .chain(&ENVIRONMENTS)
            .find_map(|(open, close)| latex.strip_prefix(open)?.strip_suffix(close));
        match stripped {
            // "$a$ and $b$" is not one formula in dollars.
            Some(inner) if !inner.contains('$') && !inner.contains(r"\[") && !inner.contains(r"\(") => {
                latex = inner.trim()
            }
            _ => break,
        }
    }
    let latex = without_literal_newlines(latex);
    latex.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

/// Delimiters and environments around each other that are taken off.
const MAX_WRAPPERS: usize = 8;

/// Environments that say no more than `$$` does, and that no Markdown tool takes inside it.
const ENVIRONMENTS: [(&str, &str); 4] = [
    (r"\begin{equation}", r"\end{equation}"),
    (r"\begin{equation*}", r"\end{equation*}"),
    (r"\begin{displaymath}", r"\end{displaymath}"),
    (r"\begin{math}", r"\end{math}"),
];

/// Turns the two characters `\n`, where they cannot be a command (`\nu`, `\neq`), into the newline that was meant.
fn without_literal_newlines(latex: &str) -> String {
    let mut out = String::with_capacity(latex.len());
    let mut chars = latex.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') if !chars.peek().is_some_and(char::is_ascii_alphabetic) => out.push('\n'),
            Some(next) => out.extend(['\\', next]), // `\\n`: a row end, then an n.
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(answer: &str) -> String {
        clean(answer, Task::Text)
    }

    #[test]
    fn thinking_goes_and_printed_tags_stay() {
        assert_eq!(text("<think></think>\nThe answer"), "The answer");
        assert_eq!(text("<think>\nLet me see.\n</think>\n\nThe answer"), "The answer");
        assert_eq!(text("</think>\nThe answer"), "The answer");
        assert_eq!(text("<think>never finished"), "");
        assert_eq!(text("The tag <think>x</think> is printed"), "The tag <think>x</think> is printed");
        assert_eq!(clean("<think></think>\n<table></table>", Task::Table), "<table></table>");
    }

    #[test]
    fn commands_that_look_like_escapes_survive() {
        for latex in [r"\theta", r"\times 2", r"\text{a}", r"\nu + \neq", r"\rho", r"a \\n b", r"\nabla"] {
            assert_eq!(clean(latex, Task::Formula), latex);
            assert_eq!(clean(latex, Task::Text), latex);
        }
        assert_eq!(clean("\t\\theta", Task::Formula), r"\theta");
        assert_eq!(
            clean("\\begin{aligned}\\n a &= b \\\\\\n c &= d\\n\\end{aligned}", Task::Formula),
            "\\begin{aligned}\n a &= b \\\\\n c &= d\n\\end{aligned}"
        );
    }

    #[test]
    fn formula_delimiters_are_stripped() {
        for answer in [
            "$$\nE = mc^2\n$$",
            "$E = mc^2$",
            r"\[E = mc^2\]",
            r"\( E = mc^2 \)",
            "```latex\nE = mc^2\n```",
            "\\begin{equation}\n\nE = mc^2\n\\end{equation}",
            "$$\\begin{equation*}E = mc^2\\end{equation*}$$",
        ] {
            assert_eq!(clean(answer, Task::Formula), "E = mc^2", "{answer}");
        }
        assert_eq!(clean(r"\begin{cases} x \\ y \end{cases}", Task::Formula), r"\begin{cases} x \\ y \end{cases}");
        assert_eq!(clean("$a$ and $b$", Task::Formula), "$a$ and $b$");
    }

    #[test]
    fn tables_are_cut_out() {
        assert_eq!(
            clean("Here:\n```html\n<table><tr><td>1</td></tr></table>\n```\nDone", Task::Table),
            "<table><tr><td>1</td></tr></table>"
        );
        assert_eq!(clean("x <TABLE border=1><tr>", Task::Table), "<TABLE border=1><tr>");
        assert_eq!(clean("</table><table>", Task::Table), "<table>");
        assert_eq!(clean("no table", Task::Table), "no table");
    }

    #[test]
    fn newlines_become_paragraphs_and_list_marks_are_normalised() {
        assert_eq!(text("one\ntwo\r\n\r\n\nthree"), "one\n\ntwo\n\nthree");
        assert_eq!(text("•first\n● second\n*  third\n-  fourth"), "- first\n\n- second\n\n- third\n\n- fourth");
        assert_eq!(
            text("1.Intro\n2.   Method\n10)  Ten\n(a)first\n(iv)  fourth"),
            "1. Intro\n\n2. Method\n\n10) Ten\n\n(a) first\n\n(iv) fourth"
        );
        assert_eq!(
            text("1.5 million\n2.x branch\n(s)he\n(see) that\n2024. Then\n-5 degrees\n*starred*"),
            "1.5 million\n\n2.x branch\n\n(s)he\n\n(see) that\n\n2024. Then\n\n-5 degrees\n\n*starred*"
        );
        assert_eq!(text("a\n```c\n  x = 1;\n\n  y\n```\nb\n```"), "a\n\n```c\n  x = 1;\n\n  y\n```\n\nb\n\n```");
        assert_eq!(text("```markdown\na\nb\n```"), "a\n\nb");
        assert_eq!(clean_listing("```python\n  x\n```"), "  x");
        assert_eq!(text("so\n$$\na\n= b\n$$\nthen"), "so\n\n$$a = b$$\n\nthen");
    }

    #[test]
    fn long_runs_shrink_to_three() {
        assert_eq!(clean_line("Chapter 1 ........... 12"), "Chapter 1 ... 12");
        assert_eq!(clean_line("Chapter 1 . . . . . . 12"), "Chapter 1 ... 12");
        assert_eq!(clean_line("Name: ________ Date: ····· end…… ok"), "Name: ___ Date: ··· end… ok");
        assert_eq!(clean_line("Wait... __init__ a. b. c. d."), "Wait... __init__ a. b. c. d.");
        assert_eq!(clean_listing("  x = '........'\n    y\n"), "  x = '........'\n    y");
    }

    #[test]
    fn inline_formulas_lose_inner_blanks_and_prices_do_not() {
        assert_eq!(text("where $ x $ and $ y_1 $."), "where $x$ and $y_1$.");
        assert_eq!(text("from $5 and $6 to $ 7"), "from $5 and $6 to $ 7");
        assert_eq!(text("$ 5 and $ 6"), "$ 5 and $ 6");
        assert_eq!(text("$a$ or $ b $"), "$a$ or $b$");
        assert_eq!(text("$$ x $$ stays"), "$$ x $$ stays");
    }
}
