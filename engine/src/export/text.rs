//! Blocks -> plain text.

use super::flow::{Block, one_line};

/// Writes blocks as plain text, paragraphs separated by blank lines, tables as rows of tab-separated cells.
#[derive(Debug, Default)]
pub(super) struct Text {
    started: bool,
    after_item: bool,
}

impl Text {
    /// The text of one more block, with the separation from the one before.
    pub(super) fn block(&mut self, block: &Block) -> String {
        let is_item = matches!(block, Block::ListItem { .. });
        let separator = match (self.started, is_item && self.after_item) {
            (false, _) => "",
            (true, true) => "\n",
            (true, false) => "\n\n",
        };
        self.started = true;
        self.after_item = is_item;
        format!("{separator}{}", plain(block))
    }

    /// What ends the document.
    pub(super) fn finish(&self) -> &'static str {
        if self.started { "\n" } else { "" }
    }
}

fn plain(block: &Block) -> String {
    match block {
        Block::Heading { text, .. }
        | Block::Paragraph(text)
        | Block::Aside(text)
        | Block::Caption(text)
        | Block::Preformatted(text) => text.clone(),
        Block::ListItem { depth, number, text } => {
            let indent = "  ".repeat(usize::from(*depth));
            let mark = number.as_deref().unwrap_or("-");
            let inner = format!("\n{indent}{}", " ".repeat(mark.len() + 1));
            format!("{indent}{mark} {}", text.replace('\n', &inner))
        }
        Block::Table(table) => {
            let rows = table.grid().into_iter().map(|row| row.into_iter().map(one_line).collect::<Vec<_>>().join("\t"));
            let caption = Some(one_line(&table.caption)).filter(|caption| !caption.is_empty());
            caption.into_iter().chain(rows).collect::<Vec<_>>().join("\n")
        }
        Block::Formula { latex, number } => match number {
            Some(number) => format!("{latex} ({number})"),
            None => latex.clone(),
        },
        Block::Figure { page, .. } => format!("[figure on page {}]", page.saturating_add(1)),
        Block::Notice(text) => format!("[{text}]"),
    }
}
