//! Whole documents, written out by hand.

use super::{
    DocumentResult, DocumentWriter, ExportOptions, Format, PageOutcome, from_json, html, json, markdown, text,
};
use crate::page::{PageResult, RegionResult, Status};
use crate::region::{Label, Line, ListItem, Marker, Rect, Region};

/// A region read as a whole.
pub(super) fn region(label: Label, text: &str) -> RegionResult {
    RegionResult {
        region: Region::new(label, Rect::new(100, 100, 900, 200)),
        status: Status::Done,
        text: text.into(),
        readings: Vec::new(),
    }
}

/// A region that the detector cut into lines.
pub(super) fn lines_region(label: Label, text: &str) -> RegionResult {
    let mut result = region(label, text);
    result.region.lines = vec![Line { bounds: result.region.bounds, starts_paragraph: false, indent: 0 }];
    result
}

pub(super) fn page(index: usize, regions: Vec<RegionResult>) -> PageResult {
    PageResult { index, width: 1700, height: 2200, dpi: Some(200.0), skew_degrees: 0.25, regions }
}

pub(super) fn document(pages: Vec<PageResult>) -> DocumentResult {
    DocumentResult { name: "report.pdf".into(), pages: pages.into_iter().map(PageOutcome::Page).collect() }
}
