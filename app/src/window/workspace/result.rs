//! From the project to what the exports take. A person's text wins over the model's.

use engine::export::{DocumentResult, PageOutcome};
use engine::page::{PageResult, RegionResult, Status};
use engine::region::Role;

use super::project::{Document, Page, PageRegion};

/// A page as the exports take it, without its rounds. `index` is its number in the document, from 0.
pub(crate) fn page_result(page: &Page, index: usize) -> PageResult {
    page_with(page, index, false)
}

/// A document as the exports take it: the pages that were read and those that could not be. `with_rounds` unpacks how each
/// region was read, which only JSON and traces want.
pub(crate) fn document_result(document: &Document, with_rounds: bool) -> DocumentResult {
    let pages = document.pages.iter().enumerate();
    let outcomes = pages.filter_map(|(index, page)| page_outcome(page, index, with_rounds)).collect();
    DocumentResult { name: document.name.clone(), pages: outcomes }
}

/// A page or why there is none; `None` for a page that nobody has read yet.
pub(crate) fn page_outcome(page: &Page, index: usize, with_rounds: bool) -> Option<PageOutcome> {
    // What was read before something went wrong is kept.
    if page.regions.iter().any(|region| region.read.is_some() || region.edit.is_some()) {
        return Some(PageOutcome::Page(page_with(page, index, with_rounds)));
    }
    page.error.as_ref().map(|message| PageOutcome::Failed { index, message: message.clone() })
}

fn page_with(page: &Page, index: usize, with_rounds: bool) -> PageResult {
    let [width, height] = page.size.unwrap_or_default();
    PageResult {
        index,
        width,
        height,
        dpi: page.dpi,
        skew_degrees: page.skew_degrees,
        regions: page.regions.iter().map(|region| region_result(region, with_rounds)).collect(),
    }
}

fn region_result(region: &PageRegion, with_rounds: bool) -> RegionResult {
    let readings = match &region.read {
        Some(read) if with_rounds => read.detail.unpack().readings,
        _ => Vec::new(),
    };
    let (status, text) = outcome(region);
    RegionResult { region: region.region.clone(), status, text: text.to_owned(), readings }
}

/// How a region counts in the document, and its text there.
fn outcome(region: &PageRegion) -> (Status, &str) {
    let role = region.region.label.role();
    match (&region.edit, &region.read) {
        // The person's text stands, however the reading ended.
        (Some(edit), _) => (Status::Done, edit),
        // What is called a figure is one, also where text was read before it was called so.
        (None, _) if role == Role::Figure => (Status::Picture, ""),
        (None, Some(read)) => (read.status.clone(), &read.text),
        // What could not be shown as text yet is not dropped.
        (None, None) if role == Role::Formula => (Status::Picture, ""),
        (None, None) => (Status::Empty, ""),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use std::sync::Arc;

    use engine::job::Source;
    use engine::page::{Reading, Timings};
    use engine::region::{Label, Rect, Region, Task};

    use super::super::detail::{Contents, Detail};
    use super::super::project::{DocumentId, DocumentState, RegionId, RegionRead};
    use super::*;

    fn region(id: u64, label: Label, read: Option<(Status, &str)>, edit: Option<&str>) -> Arc<PageRegion> {
        let bounds = Rect::new(10, id as u32 * 100, 500, id as u32 * 100 + 80);
        let reading = Reading {
            bounds,
            task: Task::Text,
            status: Status::Done,
            text: "raw".to_owned(),
            rounds: Vec::new(),
            timings: Timings::default(),
            line: Some(0),
        };
        let detail = Detail::pack(&Contents { logs: Vec::new(), readings: vec![reading] });
        let read = read.map(|(status, text)| Arc::new(RegionRead { status, text: text.to_owned(), detail }));
        let edit = edit.map(str::to_owned);
        Arc::new(PageRegion { id: RegionId(id), region: Region::new(label, bounds), read, edit })
    }

    fn document(pages: Vec<Page>) -> Document {
        Document {
            id: DocumentId(1),
            name: "a.pdf".to_owned(),
            source: Source::Bytes { name: "a.pdf".to_owned(), bytes: Vec::new() },
            password: None,
            state: DocumentState::Open,
            pages: pages.into_iter().map(Arc::new).collect(),
        }
    }

    #[test]
    fn edits_win_and_what_was_not_read_is_empty_or_a_picture() {
        let page = Page {
            size: Some([600, 800]),
            dpi: Some(200.0),
            skew_degrees: 0.5,
            regions: vec![
                region(1, Label::Text, Some((Status::Truncated, "model")), Some("mine")),
                region(2, Label::Text, Some((Status::Truncated, "model")), None),
                region(3, Label::Text, None, None),
                region(4, Label::Image, None, None),
                region(5, Label::Image, Some((Status::Done, "was text")), None),
                region(6, Label::DisplayFormula, None, None),
                region(7, Label::Text, Some((Status::Failed("no".to_owned()), "")), Some("")),
            ],
            ..Page::default()
        };
        let result = page_result(&page, 4);
        assert_eq!((result.index, result.width, result.height, result.dpi), (4, 600, 800, Some(200.0)));
        assert_eq!(result.skew_degrees, 0.5);
        let got: Vec<_> = result.regions.iter().map(|r| (r.status.clone(), r.text.as_str())).collect();
        assert_eq!(
            got,
            [
                (Status::Done, "mine"),
                (Status::Truncated, "model"),
                (Status::Empty, ""),
                (Status::Picture, ""),
                (Status::Picture, ""),
                (Status::Picture, ""),
                (Status::Done, ""),
            ]
        );
        assert_eq!(result.regions[3].region.bounds, Rect::new(10, 400, 500, 480));
    }

    #[test]
    fn pages_nobody_read_are_left_out_and_failed_ones_say_why() {
        let read = Page { regions: vec![region(1, Label::Text, Some((Status::Done, "a")), None)], ..Page::default() };
        let late = Page { error: Some("later fault".to_owned()), ..read.clone() };
        let unread = Page { regions: vec![region(2, Label::Text, None, None)], detected: true, ..Page::default() };
        let failed = Page { error: Some("page 3 is damaged".to_owned()), ..unread.clone() };
        let result = document_result(&document(vec![read, unread, failed, late]), false);
        assert_eq!(result.name, "a.pdf");
        let indices: Vec<_> = result
            .pages
            .iter()
            .map(|page| match page {
                PageOutcome::Page(page) => (page.index, None),
                PageOutcome::Failed { index, message } => (*index, Some(message.as_str())),
            })
            .collect();
        assert_eq!(indices, [(0, None), (2, Some("page 3 is damaged")), (3, None)]);
    }

    #[test]
    fn rounds_are_unpacked_only_when_wanted() {
        let page = Page { regions: vec![region(1, Label::Text, Some((Status::Done, "a")), None)], ..Page::default() };
        let document = document(vec![page]);
        let texts = |with_rounds| match document_result(&document, with_rounds).pages.pop().unwrap() {
            PageOutcome::Page(page) => {
                page.regions[0].readings.iter().map(|reading| reading.text.clone()).collect::<Vec<_>>()
            }
            PageOutcome::Failed { message, .. } => panic!("{message}"),
        };
        assert_eq!(texts(false), [""; 0]);
        assert_eq!(texts(true), ["raw"]);
    }

    #[test]
    fn an_edited_table_is_exported_as_a_table() {
        let html = "<table><tr><td>1</td><td>x</td></tr></table>";
        let page = Page { regions: vec![region(1, Label::Table, None, Some(html))], ..Page::default() };
        let markdown = engine::export::markdown(&document_result(&document(vec![page]), false), &Default::default());
        assert_eq!(markdown, "<table>\n<tr><td>1</td><td>x</td></tr>\n</table>\n");
    }
}
