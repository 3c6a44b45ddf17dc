//! What goes to the clipboard: Markdown of regions, pages and documents, and tables as cells that a spreadsheet takes.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use eframe::egui::Context;
use engine::assemble::Table;
use engine::export::{DocumentResult, ExportOptions, PageOutcome, markdown};
use engine::region::Role;

use super::workspace::project::{Document, Page, PageRegion, RegionId};
use super::workspace::result::{document_result, page_result};

/// Copies that may wait for a clipboard that does not answer.
const WAITING: usize = 4;
/// Longest that a copy waits to hear whether the clipboard took it: a frame or two.
const PATIENCE: Duration = Duration::from_millis(50);

/// The chosen regions of a page as Markdown, in reading order. Furniture is chosen like anything else.
pub(crate) fn regions_markdown(page: &Page, chosen: &BTreeSet<RegionId>) -> String {
    let mut page = page.clone();
    page.regions.retain(|region| chosen.contains(&region.id));
    page_markdown(&page, 0, true)
}

/// A page as Markdown.
pub(crate) fn page_markdown(page: &Page, index: usize, furniture: bool) -> String {
    let document = DocumentResult { name: String::new(), pages: vec![PageOutcome::Page(page_result(page, index))] };
    markdown(&document, &ExportOptions { furniture, ..ExportOptions::default() })
}

/// A document as Markdown.
pub(crate) fn document_markdown(document: &Document, furniture: bool) -> String {
    markdown(&document_result(document, false), &ExportOptions { furniture, ..ExportOptions::default() })
}

/// A table region as tab-separated cells and as HTML; `None` when there is no table in it.
pub(crate) fn table(region: &PageRegion) -> Option<(String, String)> {
    let table = Table::parse(region.text()).filter(|_| region.region.label.role() == Role::Table)?;
    Some((tsv(&table), table.to_html()))
}

/// Tab-separated cells, one row a line; a merged cell stands where it begins and the rest of it is empty. Texts stay as they
/// are: what a spreadsheet makes of a leading `=` is the document's word, not ours.
pub(crate) fn tsv(table: &Table) -> String {
    let quoted = |text: &&str| {
        if text.contains(['\t', '\n', '\r', '"']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            (*text).to_owned()
        }
    };
    table.grid().iter().map(|row| row.iter().map(quoted).collect::<Vec<_>>().join("\t") + "\n").collect()
}

/// Puts plain text on the clipboard.
pub(crate) fn copy_plain(context: &Context, text: String) {
    context.copy_text(text);
}

/// Puts HTML on the clipboard, with plain text for those who take no HTML.
///
/// # Errors
/// One sentence when the clipboard does not take it; [`copy_plain`] may still work.
pub(crate) fn copy_rich(html: String, text: String) -> Result<(), String> {
    static KEEPER: OnceLock<Option<SyncSender<Rich>>> = OnceLock::new();
    let keeper = KEEPER.get_or_init(start_keeper).as_ref().ok_or("no thread for the clipboard could be started")?;
    let (answer, answered) = sync_channel(1);
    keeper.try_send(Rich { html, text, answer }).map_err(|_| "the clipboard does not answer; try again")?;
    match answered.recv_timeout(PATIENCE) {
        Ok(answer) => answer,
        // It may still take it; the window does not wait to hear of it.
        Err(RecvTimeoutError::Timeout) => Ok(()),
        Err(RecvTimeoutError::Disconnected) => Err("the clipboard's thread is gone".to_owned()),
    }
}

struct Rich {
    html: String,
    text: String,
    answer: SyncSender<Result<(), String>>,
}

/// The thread that owns the clipboard as long as the program runs: on X11 and Wayland its content lives with its owner.
fn start_keeper() -> Option<SyncSender<Rich>> {
    let (sender, wishes) = sync_channel::<Rich>(WAITING);
    let keep = move || {
        let mut clipboard = None;
        for Rich { html, text, answer } in wishes {
            let _ = answer.send(set(&mut clipboard, html, text));
        }
    };
    std::thread::Builder::new().name("clipboard".to_owned()).spawn(keep).ok().map(|_| sender)
}

fn set(clipboard: &mut Option<arboard::Clipboard>, html: String, text: String) -> Result<(), String> {
    let refused = |error: arboard::Error| format!("the clipboard does not take the table: {error}");
    let open = match clipboard.take() {
        Some(open) => open,
        None => arboard::Clipboard::new().map_err(refused)?,
    };
    clipboard.insert(open).set_html(html, Some(text)).map_err(refused)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use std::sync::Arc;

    use engine::region::{Label, Rect, Region};

    use super::*;

    fn region(id: u64, label: Label, text: &str) -> Arc<PageRegion> {
        let region = Region::new(label, Rect::new(0, 0, 10, 10));
        Arc::new(PageRegion { id: RegionId(id), region, read: None, edit: Some(text.to_owned()) })
    }

    #[test]
    fn merged_cells_leave_empty_places_in_tab_separated_text() {
        let html = "<table><tr><th rowspan=2>Drug</th><th colspan=2>Dose</th></tr><tr><th>low</th><th>high</th></tr>\
                    <tr><td colspan=2>=1+1</td><td>-3</td></tr></table>";
        assert_eq!(tsv(&Table::parse(html).unwrap()), "Drug\tDose\t\n\tlow\thigh\n=1+1\t\t-3\n");
    }

    #[test]
    fn cells_with_tabs_breaks_and_quotes_are_quoted() {
        let table = Table::parse("<table><tr><td>a<br>b</td><td>5\" pipe</td><td>plain</td></tr></table>").unwrap();
        assert_eq!(tsv(&table), "\"a\nb\"\t\"5\"\" pipe\"\tplain\n");
    }

    #[test]
    fn only_a_table_region_with_a_table_in_it_is_one() {
        let html = "<table><tr><td>a &amp; b</td></tr></table>";
        let cells = table(&region(1, Label::Table, html));
        assert_eq!(cells, Some(("a & b\n".to_owned(), "<table>\n<tr><td>a &amp; b</td></tr>\n</table>".to_owned())));
        assert_eq!(table(&region(1, Label::Text, html)), None);
        assert_eq!(table(&region(1, Label::Table, "no cells")), None);
    }

    #[test]
    fn chosen_regions_are_copied_in_reading_order_and_furniture_with_them() {
        let page = Page {
            regions: vec![
                region(5, Label::Header, "Running head"),
                region(2, Label::ParagraphTitle, "Title"),
                region(9, Label::Text, "left out"),
                region(1, Label::Text, "two\n\nparagraphs"),
            ],
            ..Page::default()
        };
        let chosen = BTreeSet::from([RegionId(1), RegionId(2), RegionId(5)]);
        assert_eq!(regions_markdown(&page, &chosen), "Running head\n\n## Title\n\ntwo\n\nparagraphs\n");
        assert_eq!(page_markdown(&page, 0, false), "## Title\n\nleft out\n\ntwo\n\nparagraphs\n");
    }
}
