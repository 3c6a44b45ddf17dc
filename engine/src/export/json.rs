//! Results -> JSON, and back.
//!
//! One object: `format` ("gravityocr-document"), `version` (1), `name`, `pages`. A page has `outcome` ("page" or "failed") and
//! either the fields of [`PageResult`](crate::page::PageResult) or `index` and `message`. Everything is in it, furniture too.

use serde::Deserialize;

use super::document::{DocumentResult, PageOutcome};
use crate::decode::{Committed, FillStep, Round};
use crate::page::{PageResult, Reading, RegionResult, Timings};

/// Name of the format, in every file.
pub(super) const FORMAT: &str = "gravityocr-document";
/// Version of the format that is written, and the newest that is read.
pub(super) const VERSION: u32 = 1;

/// Why a JSON export could not be reopened.
#[derive(Debug, thiserror::Error)]
pub enum ReopenError {
    /// It is no JSON, or not of this shape.
    #[error("this is not a GravityOCR document, or it is damaged at line {line}, column {column}: export it again")]
    Damaged {
        /// Line from 1.
        line: usize,
        /// Column from 1.
        column: usize,
    },
    /// It is JSON of another program.
    #[error("this is not a GravityOCR document: open a JSON file that this program exported")]
    Foreign,
    /// A newer program wrote it.
    #[error("this document was written by a newer version of the program (format {0}): update to open it")]
    Newer(u32),
}

#[derive(Deserialize)]
struct Envelope {
    name: String,
    pages: Vec<PageOutcome>,
}

/// Reads a JSON export.
///
/// # Errors
/// When it is damaged, from another program, or from a newer version of this one.
pub fn from_json(json: &str) -> Result<DocumentResult, ReopenError> {
    #[derive(Deserialize)]
    struct Header {
        #[serde(default)]
        format: String,
        #[serde(default)]
        version: u32,
    }
    let damaged = |error: serde_json::Error| ReopenError::Damaged { line: error.line(), column: error.column() };
    let header: Header = serde_json::from_str(json).map_err(damaged)?;
    if header.format != FORMAT {
        return Err(ReopenError::Foreign);
    }
    if header.version > VERSION {
        return Err(ReopenError::Newer(header.version));
    }
    let Envelope { name, pages, .. } = serde_json::from_str(json).map_err(damaged)?;
    Ok(DocumentResult { name, pages })
}

/// What stands before the first page.
pub(super) fn start(format: &str, version: u32, name_key: &str, name: &str) -> String {
    let text = |value: &str| serde_json::Value::from(value).to_string();
    format!("{{\"format\":{},\"version\":{version},{}:{},\"pages\":[", text(format), text(name_key), text(name))
}

/// What ends the document.
pub(super) const END: &str = "\n]}\n";

/// One page, without its separator.
pub(super) fn page(page: &PageResult) -> String {
    let mut value = serde_json::to_value(finite(page)).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.insert("outcome".into(), "page".into());
    }
    value.to_string()
}

/// One failed page, without its separator.
pub(super) fn failed_page(index: usize, message: &str) -> String {
    serde_json::json!({ "outcome": "failed", "index": index, "message": message }).to_string()
}

/// A copy with zero for every number that JSON cannot write, and no resolution for one. A damaged checkpoint gives such
/// confidences, and they must not make the export unreadable. Every field is named, so that a new one is thought of.
pub(super) fn finite(page: &PageResult) -> PageResult {
    let mut page = page.clone();
    let PageResult { index: _, width: _, height: _, dpi, skew_degrees, regions } = &mut page;
    *dpi = dpi.filter(|dpi| dpi.is_finite());
    fix32(skew_degrees);
    for result in regions {
        let RegionResult { region: _, status: _, text: _, readings } = result;
        readings.iter_mut().for_each(fix_reading);
    }
    page
}

fn fix_reading(reading: &mut Reading) {
    let Reading { bounds: _, task: _, status: _, text: _, rounds, timings, line: _ } = reading;
    let Timings { vision_ms, prefill_ms, draft_ms, verify_ms } = timings;
    [vision_ms, prefill_ms, draft_ms, verify_ms].into_iter().for_each(fix64);
    rounds.iter_mut().for_each(fix_round);
}

fn fix_round(round: &mut Round) {
    let Round {
        index: _,
        draft: _,
        draft_confidence,
        verify: _,
        steps,
        accepted: _,
        committed,
        draft_forwards: _,
        verify_forwards: _,
        prefill_ms,
        draft_ms,
        verify_ms,
    } = round;
    draft_confidence.iter_mut().for_each(fix32);
    for FillStep { open: _, confidence, filled: _, tokens: _ } in steps {
        confidence.iter_mut().for_each(fix32);
    }
    for Committed { id: _, origin: _, confidence } in committed {
        fix32(confidence);
    }
    [prefill_ms, draft_ms, verify_ms].into_iter().for_each(fix64);
}

fn fix32(value: &mut f32) {
    if !value.is_finite() {
        *value = 0.0;
    }
}

fn fix64(value: &mut f64) {
    if !value.is_finite() {
        *value = 0.0;
    }
}
