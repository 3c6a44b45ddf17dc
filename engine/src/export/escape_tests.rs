//! What was read must be what a Markdown tool shows.

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::escape;
use super::export_tests::{document, lines_region, page, region};
use super::{ExportOptions, markdown};
use crate::region::{Label, ListItem, Marker};

/// What a Markdown tool with the usual extensions shows, block by block. Anything but plain blocks is named, so that a mark
/// that was taken for Markdown shows up.
fn rendered(source: &str) -> String {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH
        | Options::ENABLE_WIKILINKS
        | Options::ENABLE_GFM
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
    let mut shown = String::new();
    for event in Parser::new_ext(source, options) {
        match event {
            Event::Text(text) => shown.push_str(&text),
            Event::InlineMath(latex) => shown.push_str(&format!("${latex}$")),
            Event::DisplayMath(latex) => shown.push_str(&format!("$${latex}$$")),
            Event::SoftBreak | Event::HardBreak => shown.push('\n'),
            Event::Start(Tag::Paragraph) | Event::End(_) => {}
            other => shown.push_str(&format!("<<{other:?}>>")),
        }
    }
    shown
}

/// Markdown of one paragraph, by way of a whole document.
fn paragraph(text: &str) -> String {
    markdown(&document(vec![page(0, vec![lines_region(Label::Text, text)])]), &ExportOptions::default())
}

/// The text as a reader may expect to see it: runs of blanks are one, and LaTeX may get a blank after `<`.
fn expected(text: &str) -> String {
    text.split([' ', '\t']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ").replace("< ", "<")
}

#[track_caller]
fn shows_as_read(text: &str) {
    let source = paragraph(text);
    assert_eq!(rendered(&source).replace("< ", "<"), expected(text), "source: {source}");
}

#[test]
fn text_that_looks_like_markdown_shows_as_it_was_read() {
    for text in [
        "# not a heading",
        "#hashtag",
        "####### seven",
        "> not a quotation",
        "- not an item",
        "+ 5 percent",
        "* footnote",
        "1. is not a list",
        "12) neither",
        "1986. A great year",
        "---",
        "- - -",
        "***",
        "* * *",
        "___",
        "===",
        "```",
        "~~~",
        "```rust",
        "a `code` b",
        "*stars* and **two** and _under_ and __two__",
        "snake_case and __init__ and _x",
        "2 * 3 * 4",
        "a*b*c",
        "*",
        "a*",
        "<b>bold</b> and <br> and <http://x.org>",
        "a < b > c",
        "<!-- comment -->",
        "<?php ?>",
        "[link](http://x.org)",
        "![image](x.png)",
        "[1]: http://x.org",
        "[1] and [2] and [a][b]",
        "[^1] note",
        "[^1]: note",
        "[[wiki]]",
        "[ ] task",
        "[x] task",
        "- [ ] task",
        "&amp; &copy; &#65; AT&T &",
        "C:\\dir\\*.txt",
        "back\\slash\\",
        "\\# \\* \\\\",
        "a | b",
        "| a | b |",
        "|---|",
        "~~struck~~ and ~x~ and ~/home",
        ": definition",
        "::: div",
        "+++",
        "%%",
        "$5 and $6",
        "US$5-$6 or $7.50",
        "only $5",
        "$HOME/$USER",
        "$",
        "$$",
        "$ x $ y",
        "term\\",
        "a  b",
        "\u{FFFD}",
        "“quoted” & <tagged> \u{FFFD}",
        "שלום *עולם*",
        "这是*强调*吗",
        "Ünder_score_ä",
        "0. zero",
        "007. Bond",
        "1.",
        "-",
        "#",
        ">",
    ] {
        shows_as_read(text);
    }
}

#[test]
fn prices_beside_formulas_stay_prices() {
    // Case F3.
    shows_as_read("It costs $5 and $6, where $x_1$ is the price and $a<b$ holds, or $7.");
    assert_eq!(paragraph("pay $5 and $6 for $x$"), "pay \\$5 and \\$6 for $x$\n");
    shows_as_read("$x$$y$ and $a*b*c$ *d*");
}

#[test]
fn formulas_are_told_from_money_and_shell_variables() {
    use escape::Span::{Display, Math, Text};
    assert_eq!(escape::spans("a $x$ b"), [Text("a "), Math("x"), Text(" b")]);
    assert_eq!(escape::spans("$$x$$"), [Display("x")]);
    assert_eq!(escape::spans(r"$\theta$"), [Math(r"\theta")]);
    for text in
        ["$5 and $6", "$ x $", "5$ or 6$", "$HOME/$USER", "$each and every$", r"\$x$", "$x$5", "$`$", "$x", "$$$"]
    {
        assert_eq!(escape::spans(text), [Text(text)], "{text}");
    }
}

#[test]
fn readable_source_is_not_escaped_without_need() {
    for text in [
        "snake_case, 2 * 3, a < b, [1], (a), AT&T, 50 %, C# and F#, x > y, a | b, ~10, only $5, {braces}, #hashtag, -5 degrees",
        "1986 was a year. 3.14 is not. --option and -o",
        "e-mail: me@x.org; https://example.org/a_b/c~d?x=1&y=2",
        "a + b = c!",
        "\\theta",
    ] {
        assert_eq!(paragraph(text), format!("{text}\n"));
    }
}

#[test]
fn line_breaks_inside_a_paragraph_stay_line_breaks() {
    let text = "a $5\n===\nb $6\n--- | ---\n# c\n~x\ny~";
    let mut poem = region(Label::Text, text);
    poem.region.lines = lines_region(Label::Text, "x").region.lines;
    let source = markdown(&document(vec![page(0, vec![poem])]), &ExportOptions::default());
    assert_eq!(rendered(&source), text, "source: {source}");
}

#[test]
fn headings_and_captions_show_as_read() {
    for text in
        ["C #", "#", "1. Introduction", "a ## b ##", "* x", "_a_ `b` <i>", "(a) *x*", "- dash", "ends in *", "\\"]
    {
        for label in [Label::ParagraphTitle, Label::FigureTitle] {
            let source = markdown(&document(vec![page(0, vec![lines_region(label, text)])]), &ExportOptions::default());
            let shown = rendered(&source);
            let inner = match label {
                Label::FigureTitle => shown.strip_prefix("<<Start(Emphasis)>>"),
                _ => shown.split_once("})>>").or(shown.split_once("] })>>")).map(|(_, inner)| inner),
            };
            assert_eq!(inner, Some(text), "source: {source}");
        }
    }
}

/// The skeleton of a document: lists with their numbers, items, paragraphs, formulas.
fn skeleton(source: &str) -> String {
    let mut shown = String::new();
    for event in Parser::new_ext(source, Options::ENABLE_MATH) {
        match event {
            Event::Start(Tag::List(None)) => shown.push_str("[ul "),
            Event::Start(Tag::List(Some(first))) => shown.push_str(&format!("[ol{first} ")),
            Event::Start(Tag::Item) => shown.push_str("(li "),
            Event::Start(Tag::Paragraph) => shown.push_str("(p "),
            Event::End(TagEnd::List(_)) => shown.push(']'),
            Event::End(TagEnd::Item | TagEnd::Paragraph) => shown.push(')'),
            Event::Text(text) => shown.push_str(&text),
            Event::Html(_) | Event::Start(Tag::HtmlBlock) | Event::End(TagEnd::HtmlBlock) => {}
            other => shown.push_str(&format!("{other:?}")),
        }
    }
    shown
}

#[test]
fn lists_are_seen_as_lists() {
    let item = |depth, marker, text: &str| {
        let mut item = lines_region(Label::Text, text);
        item.region.list_item = Some(ListItem { depth, marker });
        item
    };
    use Marker::{Bullet, Number};
    let items = vec![
        item(0, Bullet, "a"),
        item(1, Number, "1. b"),
        item(2, Bullet, "c"),
        item(1, Number, "2. d"),
        item(1, Number, "5. e"),
        item(0, Bullet, "f"),
        item(1, Number, "3. g"),
        item(0, Number, "9. h"),
        item(0, Number, "10. i"),
        item(1, Bullet, "j"),
        item(0, Number, "12) k"),
        item(0, Number, "14) l"),
    ];
    let source = markdown(&document(vec![page(0, items)]), &ExportOptions::default());
    assert_eq!(
        skeleton(&source),
        "[ul (li (p a)[ol1 (li b[ul (li c)])(li d)][ol5 (li e)])(li (p f)[ol3 (li g)])][ol9 (li h)(li i[ul (li j)])][ol12 (li k)][ol14 (li l)]",
        "source: {source}"
    );
}

#[test]
fn displayed_formulas_are_seen_as_formulas() {
    for latex in [
        "x",
        "a\n= b\n- c",
        "- x\n+ y",
        "> 0\n===\n1. x\n* z",
        "\\begin{aligned}\n a &<b \\\\\n\n # c\n\\end{aligned}",
        "#\n```\n~~~",
    ] {
        let source =
            markdown(&document(vec![page(0, vec![region(Label::DisplayFormula, latex)])]), &ExportOptions::default());
        let events: Vec<Event<'_>> = Parser::new_ext(&source, Options::ENABLE_MATH).collect();
        assert!(
            matches!(events.as_slice(), [Event::Start(Tag::Paragraph), Event::DisplayMath(_), Event::End(_)]),
            "{source}: {events:?}"
        );
    }
}

/// Strings over the characters that mean something to Markdown.
fn nasty() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "*",
        "_",
        "`",
        "#",
        ">",
        "-",
        "+",
        "=",
        "~",
        "$",
        "|",
        "<",
        "&",
        "[",
        "]",
        "(",
        ")",
        "!",
        ":",
        "\\",
        "1.",
        "2)",
        "^",
        "{",
        "}",
        "\"",
        "'",
        " ",
        " ",
        " ",
        "a",
        "b",
        "word",
        "5",
        "amp;",
        "http://x.org",
        "é",
        "中",
        "ש",
        "\u{FFFD}",
        "/",
        ".",
        ";",
        "x]",
        "%",
        "@",
        "**",
        "__",
        "$$",
        "```",
    ]);
    prop::collection::vec(piece, 1..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_paragraph_shows_as_read(text in nasty()) {
        let source = paragraph(&text);
        prop_assert_eq!(rendered(&source).replace("< ", "<"), expected(&text), "source: {}", source);
    }

    #[test]
    fn any_item_shows_as_read(text in nasty(), depth in 0u8..4) {
        let text = format!("{text}x");
        let mut item = lines_region(Label::Text, &text);
        item.region.list_item = Some(ListItem { depth, marker: Marker::Bullet });
        let source = markdown(&document(vec![page(0, vec![item])]), &ExportOptions::default());
        let shown = rendered(&source);
        let shown = shown.strip_prefix("<<Start(List(None))>><<Start(Item)>>").unwrap_or(&shown).replace("< ", "<");
        prop_assert_eq!(shown, expected(&text), "source: {}", source);
    }

    #[test]
    fn any_lines_show_as_read(lines in prop::collection::vec(nasty(), 2..5)) {
        let lines: Vec<String> = lines.iter().map(|line| expected(line.trim_matches([' ', '\t'])) + "x").collect();
        let text = lines.join("\n");
        let source = paragraph(&text);
        prop_assert_eq!(rendered(&source).replace("< ", "<"), text.replace("< ", "<"), "source: {}", source);
    }

    #[test]
    fn any_caption_shows_as_read(text in nasty()) {
        let text = expected(&format!("{text}x{text}"));
        let shown = rendered(&escape::markdown_emphasis(&text));
        let shown = shown.strip_prefix("<<Start(Emphasis)>>").map(|shown| shown.replace("< ", "<"));
        prop_assert_eq!(shown.as_deref(), Some(text.trim()), "source: {}", escape::markdown_emphasis(&text));
    }

    #[test]
    fn any_cell_shows_as_read(text in nasty()) {
        let text = expected(&format!("{text}x"));
        let html = format!("<table><tr><th>h</th></tr><tr><td>{}</td></tr></table>", escape::html(&text));
        let options = ExportOptions { pipe_tables: true, ..ExportOptions::default() };
        let source = markdown(&document(vec![page(0, vec![region(Label::Table, &html)])]), &options);
        let shown = rendered(&source);
        let cell = shown.rsplit_once("<<Start(TableCell)>>").map(|(_, cell)| cell.replace("< ", "<"));
        prop_assert_eq!(cell.as_deref(), Some(text.trim()), "source: {}", source);
    }

    #[test]
    fn any_comment_stays_a_comment(text in "[->! <a]{0,20}") {
        let comment = escape::comment(&text);
        prop_assert!(comment.ends_with(" -->"));
        prop_assert_eq!(comment.matches("-->").count(), 1);
        prop_assert_eq!(comment.matches("--").count(), 2);
    }
}
