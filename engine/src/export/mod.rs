//! Page results -> Markdown, HTML, JSON, plain text, and the trace of how they were read.
//!
//! Everything but the JSON formats is written from one flow of blocks: `flow` decides what stands where, `markdown`, `html`
//! and `text` only how it looks.
//!
//! Tables are HTML in Markdown, too: merged cells, header cells and line breaks survive in every tool that way, and a
//! newline in a cell cannot end the table. Who needs pipe tables switches them on; tables with merged cells stay HTML.

mod document;
mod escape;
mod flow;
mod html;
mod json;
mod markdown;
mod text;
mod trace;
mod writer;

#[cfg(test)]
mod escape_tests;
#[cfg(test)]
mod export_tests;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod trace_tests;

pub use document::{DocumentResult, PageOutcome};
pub use flow::{Block, is_figure};
pub use json::{ReopenError, from_json};
pub use trace::{trace, trace_page};
pub use writer::DocumentWriter;

/// What a document is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// CommonMark with HTML tables and dollar formulas.
    Markdown,
    /// One standalone HTML document.
    Html,
    /// All results, to be reopened with [`from_json`].
    Json,
    /// Plain text.
    Text,
    /// Each region's requests and rounds; see [`trace`].
    Trace,
}

impl Format {
    /// The usual ending of the file name, without its dot.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Markdown => "md",
            Format::Html => "html",
            Format::Json | Format::Trace => "json",
            Format::Text => "txt",
        }
    }
}

/// What goes into an export. The JSON formats hold everything and look at none of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportOptions {
    /// Whether running heads, page numbers and notes in the margin are included.
    pub furniture: bool,
    /// Folder of the figures' files, relative to the document, as links name it (see [`figure_file_name`]). `None`: no
    /// files; a comment says where a figure stands.
    pub images: Option<String>,
    /// Whether tables without merged cells become pipe tables in Markdown.
    pub pipe_tables: bool,
}

/// The whole document as Markdown.
pub fn markdown(document: &DocumentResult, options: &ExportOptions) -> String {
    whole(document, Format::Markdown, options)
}

/// The whole document as one HTML document.
pub fn html(document: &DocumentResult, options: &ExportOptions) -> String {
    whole(document, Format::Html, options)
}

/// The whole document as JSON, to be reopened with [`from_json`].
pub fn json(document: &DocumentResult, options: &ExportOptions) -> String {
    whole(document, Format::Json, options)
}

/// The whole document as plain text.
pub fn text(document: &DocumentResult, options: &ExportOptions) -> String {
    whole(document, Format::Text, options)
}

/// The blocks that Markdown, HTML and plain text are written from, for whoever draws a document himself.
pub fn blocks(document: &DocumentResult, options: &ExportOptions) -> Vec<Block> {
    let mut flow = flow::Flow::default();
    let mut blocks = Vec::new();
    for page in &document.pages {
        blocks.extend(match page {
            PageOutcome::Page(page) => flow.page(page, options),
            PageOutcome::Failed { index, message } => flow.failed_page(*index, message),
        });
    }
    blocks.extend(flow.finish());
    blocks
}

/// Name of a figure's file, from its page and region number, both from 0.
pub fn figure_file_name(page: usize, region: usize) -> String {
    format!("page-{:04}-region-{:02}.png", page.saturating_add(1), region.saturating_add(1))
}

fn whole(document: &DocumentResult, format: Format, options: &ExportOptions) -> String {
    let write = || {
        let mut writer = DocumentWriter::new(Vec::new(), format, &document.name, options.clone())?;
        for page in &document.pages {
            match page {
                PageOutcome::Page(page) => writer.page(page)?,
                PageOutcome::Failed { index, message } => writer.failed_page(*index, message)?,
            }
        }
        writer.finish()
    };
    // Writing into memory cannot fail, and every piece written is UTF-8.
    let bytes = write().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}
