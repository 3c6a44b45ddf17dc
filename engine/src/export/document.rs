//! A whole document's results, as the exports take them.

use serde::{Deserialize, Serialize};

use crate::page::PageResult;

/// What was read of a document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DocumentResult {
    /// Name of the file, without its folder.
    pub name: String,
    /// The pages that were asked for, in order.
    pub pages: Vec<PageOutcome>,
}

/// A page that was read, or the reason why it was not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum PageOutcome {
    /// The page was read.
    Page(PageResult),
    /// It was not.
    Failed {
        /// Number in its document, from 0.
        index: usize,
        /// One sentence: what and what to do.
        message: String,
    },
}
