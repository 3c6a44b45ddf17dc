//! A recognition that runs: what was asked, how far it is, and whose events come in.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::time::Instant;

use engine::worker::PageOrder;

use super::project::{DocumentId, PageKey, RegionId};
use crate::reader::Running;

/// A run over one document after another.
pub(crate) struct Run {
    /// Documents still to be read after the one that runs.
    pub(crate) queue: VecDeque<(DocumentId, Vec<PageOrder>)>,
    pub(crate) document: DocumentId,
    pub(crate) job: Box<dyn Running>,
    /// Which region of the project a region of the job is.
    pub(crate) targets: HashMap<(usize, usize), RegionId>,
    /// The page that is being read.
    pub(crate) page: Option<PageKey>,
    pub(crate) pages_done: usize,
    pub(crate) pages_total: usize,
    pub(crate) regions_done: usize,
    pub(crate) regions_total: usize,
    /// Committed tokens so far.
    pub(crate) tokens: u64,
    pub(crate) started: Instant,
    /// Whether the person asked to stop.
    pub(crate) cancelled: bool,
    /// Joins the results of this run into one undo.
    pub(crate) merge: u64,
}
