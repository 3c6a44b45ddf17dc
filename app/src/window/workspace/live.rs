//! The regions that are being read, or were read since the window opened: their requests step by step.

use std::collections::HashMap;

use engine::page::{Status, Timings};
use engine::region::Rect;

use super::log::{RequestLog, RequestText, Step, What};
use super::project::RegionId;

/// What is under way, by region. Not saved and not undone: what is finished goes into the project.
#[derive(Clone, Debug, Default)]
pub(crate) struct Live {
    regions: HashMap<RegionId, LiveRegion>,
}

/// A region that is being read.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveRegion {
    /// One for each request, in reading order; `None` for those not begun.
    pub(crate) requests: Vec<Option<LiveRequest>>,
}

/// A request with its text as it stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveRequest {
    pub(crate) log: RequestLog,
    pub(crate) text: RequestText,
}

impl Live {
    /// A region that waits its turn or is being read; none when it is not in the run.
    pub(crate) fn region(&self, id: RegionId) -> Option<&LiveRegion> {
        self.regions.get(&id)
    }

    /// Puts a region in line.
    pub(crate) fn wait(&mut self, id: RegionId) {
        self.regions.insert(id, LiveRegion::default());
    }

    /// A request began.
    pub(crate) fn start(&mut self, id: RegionId, request: usize, bounds: Rect) {
        let log = RequestLog { bounds, ..RequestLog::default() };
        let requests = &mut self.regions.entry(id).or_default().requests;
        if requests.len() <= request {
            requests.resize_with(request + 1, || None);
        }
        requests[request] = Some(LiveRequest { log, text: RequestText::default() });
    }

    /// A request went a step on.
    pub(crate) fn step(&mut self, id: RegionId, request: usize, at_ms: f64, what: What) {
        if let Some(request) = self.request(id, request) {
            request.text.apply(&what);
            request.log.steps.push(Step { at_ms, what });
        }
    }

    /// A request ended.
    pub(crate) fn end(&mut self, id: RegionId, request: usize, status: Status, timings: Timings) {
        if let Some(request) = self.request(id, request) {
            request.text.ghost.clear();
            request.log.status = Some(status);
            request.log.timings = timings;
        }
    }

    /// Takes a region out; its logs in reading order.
    pub(crate) fn finish(&mut self, id: RegionId) -> Vec<RequestLog> {
        let requests = self.regions.remove(&id).unwrap_or_default().requests;
        requests.into_iter().flatten().map(|request| request.log).collect()
    }

    /// Forgets everything: the run is over.
    pub(crate) fn clear(&mut self) {
        self.regions.clear();
    }

    fn request(&mut self, id: RegionId, request: usize) -> Option<&mut LiveRequest> {
        self.regions.get_mut(&id)?.requests.get_mut(request)?.as_mut()
    }
}

impl LiveRegion {
    /// The requests that have begun, in reading order.
    pub(crate) fn begun(&self) -> impl Iterator<Item = &LiveRequest> {
        self.requests.iter().flatten()
    }
}
