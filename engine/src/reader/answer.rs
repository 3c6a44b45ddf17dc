//! From a region's readings to its text.

use super::plan::{self, Plan};
use crate::assemble::{LineText, clean, clean_line, clean_listing, join_cell_lines, join_lines, table_html};
use crate::page::{Reading, RegionResult, Status};

/// Joins and cleans what was read of a region.
pub(super) fn join(plan: &Plan, readings: Vec<Reading>) -> RegionResult {
    let region = &plan.region;
    let status = match () {
        () if plan.picture => Status::Picture,
        () if plan.requests.is_empty() => Status::Empty,
        // A request that was not even begun left no reading.
        () if readings.len() < plan.requests.len() => Status::Cancelled,
        () => readings.iter().map(|r| r.status.clone()).max_by_key(severity).unwrap_or(Status::Empty),
    };
    let text = match readings.first() {
        None => String::new(),
        Some(only) if only.line.is_none() => clean(&only.text, only.task),
        Some(_) => {
            let mut lines = vec![LineText::default(); plan::lines(region).count()];
            for reading in &readings {
                if let Some(line) = reading.line.and_then(|index| lines.get_mut(index)) {
                    let text =
                        if region.preformatted { clean_listing(&reading.text) } else { clean_line(&reading.text) };
                    line.strips.push(text);
                }
            }
            if plan::is_table(region) {
                let mut rest = lines.as_slice();
                let texts: Vec<String> = (region.cells.iter())
                    .map(|cell| {
                        let (own, others) = rest.split_at(cell.lines.len());
                        rest = others;
                        join_cell_lines(cell, own)
                    })
                    .collect();
                table_html(&region.cells, &texts)
            } else {
                join_lines(region, &lines)
            }
        }
    };
    RegionResult { region: region.clone(), status, text, readings }
}

/// Which of several statuses a region has: the one that most needs to be seen.
fn severity(status: &Status) -> u8 {
    match status {
        Status::Empty => 0,
        Status::Picture => 1,
        Status::Done => 2,
        Status::LoopStopped => 3,
        Status::Truncated => 4,
        Status::Cancelled => 5,
        Status::Failed(_) => 6,
    }
}
