//! The trace: how each region was read, request by request and round by round. `assets/trace.schema.json` describes it.

use serde_json::{Value, json};

use super::document::{DocumentResult, PageOutcome};
use super::json::finite;
use crate::page::PageResult;

/// Name of the format, in every file.
pub(super) const FORMAT: &str = "gravityocr-trace";
/// Version of the format.
pub(super) const VERSION: u32 = 1;

/// The trace of a document: each region's requests with their rounds, as `assets/trace.schema.json` describes it.
pub fn trace(document: &DocumentResult) -> Value {
    let pages: Vec<Value> = document.pages.iter().map(trace_page).collect();
    json!({ "format": FORMAT, "version": VERSION, "document": document.name, "pages": pages })
}

/// The trace of one page: an element of the trace's `pages`.
pub fn trace_page(page: &PageOutcome) -> Value {
    match page {
        PageOutcome::Page(page) => read_page(page),
        PageOutcome::Failed { index, message } => failed_page(*index, message),
    }
}

pub(super) fn failed_page(index: usize, message: &str) -> Value {
    json!({ "page": index, "error": message })
}

pub(super) fn read_page(page: &PageResult) -> Value {
    let page = finite(page);
    let regions: Vec<Value> = page
        .regions
        .iter()
        .enumerate()
        .map(|(index, result)| {
            let requests: Vec<Value> = result
                .readings
                .iter()
                .enumerate()
                .map(|(request, reading)| {
                    json!({
                        "request": request,
                        "bounds": reading.bounds,
                        "task": reading.task,
                        "prompt": reading.task.prompt(),
                        "line": reading.line,
                        "status": reading.status,
                        "text": reading.text,
                        "timings": reading.timings,
                        "rounds": reading.rounds,
                    })
                })
                .collect();
            json!({
                "region": index,
                "label": result.region.label,
                "bounds": result.region.bounds,
                "status": result.status,
                "text": result.text,
                "requests": requests,
            })
        })
        .collect();
    json!({ "page": page.index, "width": page.width, "height": page.height, "regions": regions })
}
