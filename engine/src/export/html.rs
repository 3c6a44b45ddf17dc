//! Blocks -> one complete HTML document.

use super::escape::{self, Span};
use super::flow::Block;
use super::{ExportOptions, figure_file_name};

/// Writes blocks as HTML. Lists stay open from item to item.
#[derive(Debug, Default)]
pub(super) struct Html {
    /// The tags of the open lists, outer first; each has an open item.
    lists: Vec<&'static str>,
}

const STYLE: &str = "body{max-width:46rem;margin:2rem auto;padding:0 1rem;font:1rem/1.5 serif}\
table{border-collapse:collapse}td,th{border:1px solid #999;padding:.2rem .5rem;vertical-align:top}\
pre{overflow-x:auto;background:#f4f4f4;padding:.6rem}img{max-width:100%}\
.display{display:block;text-align:center;overflow-x:auto}\
.notice{border-left:4px solid #b00;padding-left:.6rem;color:#b00}";

impl Html {
    /// What stands before the first block.
    pub(super) fn start(name: &str) -> String {
        format!(
            "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
            escape::html(&super::flow::one_line(&super::flow::visible(name)))
        )
    }

    /// The HTML of one more block.
    pub(super) fn block(&mut self, block: &Block, options: &ExportOptions) -> String {
        if let Block::ListItem { depth, number, text } = block {
            return self.item(usize::from(*depth), number.as_deref(), text);
        }
        let mut out = self.close_lists(0);
        out.push_str(&simple_block(block, options));
        out.push('\n');
        out
    }

    /// What ends the document.
    pub(super) fn finish(&mut self) -> String {
        format!("{}</body>\n</html>\n", self.close_lists(0))
    }

    fn close_lists(&mut self, depth: usize) -> String {
        let mut out = String::new();
        while self.lists.len() > depth {
            let tag = self.lists.pop().unwrap_or("ul");
            out.push_str(&format!("</li>\n</{tag}>\n"));
        }
        out
    }

    fn item(&mut self, depth: usize, number: Option<&str>, text: &str) -> String {
        let depth = depth.min(self.lists.len());
        let tag = if number.is_some() { "ol" } else { "ul" };
        let mut out = self.close_lists(depth + 1);
        if self.lists.get(depth).is_some_and(|open| *open != tag) {
            out.push_str(&self.close_lists(depth));
        }
        if self.lists.len() > depth {
            out.push_str("</li>\n");
        } else {
            out.push_str(&format!("<{tag}>\n"));
            self.lists.push(tag);
        }
        let paragraphs: Vec<String> = text.split("\n\n").map(inline).collect();
        let body = match paragraphs.as_slice() {
            [one] => one.clone(),
            several => several.iter().map(|text| format!("<p>{text}</p>")).collect(),
        };
        let value = number.map(|number| number.trim_end_matches(['.', ')'])).unwrap_or_default();
        let value = if value.is_empty() { String::new() } else { format!(" value=\"{}\"", escape::html(value)) };
        out.push_str(&format!("<li{value}{}>{body}", direction(text)));
        out
    }
}

fn simple_block(block: &Block, options: &ExportOptions) -> String {
    match block {
        Block::Heading { level, text } => format!("<h{level}{}>{}</h{level}>", direction(text), inline(text)),
        Block::Paragraph(text) | Block::Aside(text) | Block::ListItem { text, .. } => {
            format!("<p{}>{}</p>", direction(text), inline(text))
        }
        Block::Caption(text) => format!("<p class=\"caption\"{}><em>{}</em></p>", direction(text), inline(text)),
        Block::Preformatted(text) => {
            // The first newline inside `pre` is not shown, and `<br>` is not what code has.
            format!("<pre><code>{}</code></pre>", escape::html(text).replace("<br>\n", "\n"))
        }
        Block::Table(table) => table.to_html(),
        Block::Formula { latex, number } => {
            let tag = number.as_deref().filter(|number| !number.is_empty() && !latex.contains(r"\tag"));
            let tag = tag.map(|number| format!(" \\tag{{{number}}}")).unwrap_or_default();
            format!("<div class=\"math display\">\\[{}\\]</div>", latex_html(&format!("{latex}{tag}")))
        }
        Block::Figure { page, region, caption } => match &options.images {
            Some(folder) => {
                let path = format!("{}/{}", folder.trim_end_matches('/'), figure_file_name(*page, *region));
                let alt = escape::html(caption.as_deref().unwrap_or("Figure"));
                format!("<figure><img src=\"{}\" alt=\"{alt}\"></figure>", escape::html(&escape::link_target(&path)))
            }
            None => format!("<p class=\"notice\">figure on page {}</p>", page.saturating_add(1)),
        },
        Block::Notice(text) => format!("<p class=\"notice\">{}</p>", escape::html(text)),
    }
}

/// Running text; formulas as MathJax and KaTeX find them.
fn inline(text: &str) -> String {
    escape::spans(text)
        .into_iter()
        .map(|span| match span {
            Span::Text(text) => escape::html(text),
            Span::Math(latex) => format!("<span class=\"math inline\">\\({}\\)</span>", latex_html(latex)),
            Span::Display(latex) => format!("<span class=\"math display\">\\[{}\\]</span>", latex_html(latex)),
        })
        .collect()
}

fn latex_html(latex: &str) -> String {
    escape::html(latex).replace("<br>\n", "\n")
}

/// Says so where text runs from right to left, in part or whole.
fn direction(text: &str) -> &'static str {
    let is_rtl = |c: char| matches!(c, '\u{590}'..='\u{8FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}');
    if text.contains(is_rtl) { " dir=\"auto\"" } else { "" }
}
