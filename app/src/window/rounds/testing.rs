//! A window with one region that was read, for the tests of the panel and the race.

use std::sync::Arc;

use engine::decode::Origin;
use engine::event::Piece;
use engine::job::Source;
use engine::page::{Status, Timings};
use engine::region::{Label, Rect, Region};

use crate::window::state::State;
use crate::window::workspace::detail::{Contents, Detail};
use crate::window::workspace::log::{RequestLog, Step, What};
use crate::window::workspace::project::{DocumentState, Page, PageKey, PageRegion, RegionId, RegionRead};

/// A round as it is seen: its draft, if it has one, and what was committed.
pub(crate) fn round(at_ms: f64, round: u32, drafted: u32, accepted: u32, tokens: u32) -> Vec<Step> {
    let forwards = if round == 0 { 0 } else { 1 + u32::from(drafted > 0) };
    let mut pieces = vec![Piece { text: "Word ".to_owned(), round, origin: Origin::Causal }];
    if accepted > 0 {
        pieces.push(Piece { text: "wordy ".repeat(accepted.min(32) as usize), round, origin: Origin::Accepted });
    }
    if drafted > 0 && tokens == accepted.saturating_add(2) {
        let origin = if accepted < drafted { Origin::Correction } else { Origin::Bonus };
        pieces.push(Piece { text: "end ".to_owned(), round, origin });
    }
    let text = format!("Word {}", "wordy ".repeat(drafted.min(32) as usize));
    let draft = Step { at_ms: at_ms - 1.0, what: What::Drafted { round, text } };
    let commit = Step { at_ms, what: What::Committed { round, drafted, accepted, tokens, forwards, pieces } };
    if drafted > 0 { vec![draft, commit] } else { vec![commit] }
}

/// A request that ended.
pub(crate) fn request(rounds: impl IntoIterator<Item = Vec<Step>>) -> RequestLog {
    let timings = Timings { vision_ms: 4.0, prefill_ms: 1.0, draft_ms: 12.0, verify_ms: 8.0 };
    let steps = rounds.into_iter().flatten().collect();
    RequestLog { bounds: Rect::new(0, 0, 280, 28), steps, status: Some(Status::Done), timings, ..RequestLog::default() }
}

/// The requests of a draft that is accepted now more, now less.
pub(crate) fn requests(rounds: u32, requests: u32) -> Vec<RequestLog> {
    let rounds = rounds / requests;
    let log = |_| {
        request((0..rounds).map(|n| match n {
            0 => round(6.0, 0, 0, 0, 1),
            n => {
                let accepted = (n * 7 + n / 3) % 17;
                round(6.0 + 4.0 * f64::from(n), n, 16, accepted, accepted + 2)
            }
        }))
    };
    (0..requests).map(log).collect()
}

/// A window that looks at a page of two regions; the second, a table, is focused and was read with these requests.
pub(crate) fn window(logs: Option<Vec<RequestLog>>) -> (State, RegionId) {
    let mut state = State::default();
    let document = state.project.add("two.png".to_owned(), Source::Path("two.png".into()));
    let ids = [state.project.new_region(), state.project.new_region()];
    let bounds = Rect::new(0, 0, 280, 56);
    let region = |id, label| PageRegion { id, region: Region::new(label, bounds), read: None, edit: None };
    let mut table = region(ids[1], Label::Table);
    table.read = logs.map(|logs| {
        let detail = Detail::pack(&Contents { logs, readings: Vec::new() });
        Arc::new(RegionRead { status: Status::Done, text: "Words".to_owned(), detail })
    });
    let regions = vec![Arc::new(region(ids[0], Label::Text)), Arc::new(table)];
    let page = Page { size: Some([300, 100]), detected: true, regions, ..Page::default() };
    if let Some(document) = state.project.document_mut(document) {
        document.state = DocumentState::Open;
        document.pages = vec![Arc::new(page)];
    }
    state.view.page = Some(PageKey { document, page: 0 });
    state.view.select(Some(ids[1]));
    (state, ids[1])
}
