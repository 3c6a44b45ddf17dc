//! Writes a document page by page, so that a thousand pages need no more memory than a few.

use std::io::{self, Write};

use super::flow::{Block, Flow};
use super::html::Html;
use super::markdown::Markdown;
use super::text::Text;
use super::{ExportOptions, Format, json, trace};
use crate::page::PageResult;

/// Writes one document in one format. Pages are handed over in order; [`finish`](Self::finish) must be the last call.
///
/// The writer holds back only the last paragraph (and what follows it) for the case that the next page goes on with it.
#[derive(Debug)]
pub struct DocumentWriter<W> {
    out: W,
    options: ExportOptions,
    style: Style,
}

#[derive(Debug)]
enum Style {
    Markdown(Flow, Markdown),
    Html(Flow, Html),
    Text(Flow, Text),
    /// Whether a page was written.
    Json(bool),
    Trace(bool),
}

impl<W: Write> DocumentWriter<W> {
    /// Begins a document of this name.
    ///
    /// # Errors
    /// Whatever `out` answers.
    pub fn new(mut out: W, format: Format, name: &str, options: ExportOptions) -> io::Result<Self> {
        let style = match format {
            Format::Markdown => Style::Markdown(Flow::default(), Markdown::default()),
            Format::Html => {
                out.write_all(Html::start(name).as_bytes())?;
                Style::Html(Flow::default(), Html::default())
            }
            Format::Text => Style::Text(Flow::default(), Text::default()),
            Format::Json => {
                out.write_all(json::start(json::FORMAT, json::VERSION, "name", name).as_bytes())?;
                Style::Json(false)
            }
            Format::Trace => {
                out.write_all(json::start(trace::FORMAT, trace::VERSION, "document", name).as_bytes())?;
                Style::Trace(false)
            }
        };
        Ok(Self { out, options, style })
    }

    /// Writes a page.
    ///
    /// # Errors
    /// Whatever `out` answers.
    pub fn page(&mut self, page: &PageResult) -> io::Result<()> {
        match &mut self.style {
            Style::Json(started) => write_element(&mut self.out, started, &json::page(page)),
            Style::Trace(started) => write_element(&mut self.out, started, &trace::read_page(page).to_string()),
            Style::Markdown(flow, _) | Style::Html(flow, _) | Style::Text(flow, _) => {
                let blocks = flow.page(page, &self.options);
                self.write_blocks(&blocks)
            }
        }
    }

    /// Writes that a page (from 0) could not be read, and why.
    ///
    /// # Errors
    /// Whatever `out` answers.
    pub fn failed_page(&mut self, index: usize, message: &str) -> io::Result<()> {
        match &mut self.style {
            Style::Json(started) => write_element(&mut self.out, started, &json::failed_page(index, message)),
            Style::Trace(started) => {
                write_element(&mut self.out, started, &trace::failed_page(index, message).to_string())
            }
            Style::Markdown(flow, _) | Style::Html(flow, _) | Style::Text(flow, _) => {
                let blocks = flow.failed_page(index, message);
                self.write_blocks(&blocks)
            }
        }
    }

    /// Ends the document, flushes and hands `out` back.
    ///
    /// # Errors
    /// Whatever `out` answers.
    pub fn finish(mut self) -> io::Result<W> {
        if let Style::Markdown(flow, _) | Style::Html(flow, _) | Style::Text(flow, _) = &mut self.style {
            let blocks = flow.finish();
            self.write_blocks(&blocks)?;
        }
        let end = match &mut self.style {
            Style::Markdown(_, markdown) => markdown.finish().to_string(),
            Style::Html(_, html) => html.finish(),
            Style::Text(_, text) => text.finish().to_string(),
            Style::Json(_) | Style::Trace(_) => json::END.to_string(),
        };
        self.out.write_all(end.as_bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn write_blocks(&mut self, blocks: &[Block]) -> io::Result<()> {
        for block in blocks {
            let text = match &mut self.style {
                Style::Markdown(_, markdown) => markdown.block(block, &self.options),
                Style::Html(_, html) => html.block(block, &self.options),
                Style::Text(_, text) => text.block(block),
                Style::Json(_) | Style::Trace(_) => String::new(),
            };
            self.out.write_all(text.as_bytes())?;
        }
        Ok(())
    }
}

fn write_element(out: &mut impl Write, started: &mut bool, element: &str) -> io::Result<()> {
    let separator = if std::mem::replace(started, true) { ",\n" } else { "\n" };
    out.write_all(separator.as_bytes())?;
    out.write_all(element.as_bytes())
}
