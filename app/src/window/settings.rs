//! What a person chose once and for all.

use std::path::PathBuf;

use engine::decode::Decode;
use engine::worker::CheckpointSource;
use serde::{Deserialize, Serialize};

/// The settings, saved with the session. Every field has a default, so that settings of another version still load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Settings {
    pub(crate) theme: Theme,
    /// Size of all text and controls, percent.
    pub(crate) scale: u32,
    /// A checkpoint folder; the bundled one when not given.
    pub(crate) checkpoint: Option<PathBuf>,
    pub(crate) decoding: Decoding,
    /// Threads that compute; all of the machine's when not given.
    pub(crate) threads: Option<usize>,
    /// The most tokens of one request.
    pub(crate) max_tokens: usize,
    /// Resolution at which PDF pages are read, dots per inch.
    pub(crate) dpi: u32,
    /// Whether running heads, page numbers and notes in the margin go into the document.
    pub(crate) furniture: bool,
    /// Whether characters are coloured by round.
    pub(crate) colours: bool,
    /// Whether drafts are shown until verified, and refused ones in the record.
    pub(crate) ghosts: bool,
    pub(crate) panes: Panes,
    /// Files opened lately, newest first.
    pub(crate) recent: Vec<PathBuf>,
}

/// Which panes are open, and how large.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Panes {
    pub(crate) pages: bool,
    pub(crate) reading: bool,
    pub(crate) rounds: bool,
    pub(crate) widths: Widths,
}

/// Sizes of the panes, points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Widths {
    pub(crate) pages: f32,
    pub(crate) reading: f32,
    /// A height.
    pub(crate) rounds: f32,
}

/// Light or dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Theme {
    #[default]
    System,
    Light,
    Dark,
}

/// How tokens are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Decoding {
    /// Draft and verify where the checkpoint can, otherwise one by one.
    #[default]
    Best,
    /// One by one.
    Autoregressive,
}

impl Default for Panes {
    fn default() -> Self {
        Self { pages: true, reading: true, rounds: false, widths: Widths::default() }
    }
}

impl Default for Widths {
    fn default() -> Self {
        Self { pages: 168.0, reading: 420.0, rounds: 220.0 }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            theme: Theme::default(),
            scale: 100,
            checkpoint: None,
            decoding: Decoding::default(),
            threads: None,
            max_tokens: 4096,
            dpi: 200,
            furniture: false,
            colours: true,
            ghosts: true,
            panes: Panes::default(),
            recent: Vec::new(),
        }
    }
}

impl Settings {
    /// The engine's word for the checkpoint.
    pub(crate) fn checkpoint_source(&self) -> CheckpointSource {
        self.checkpoint.clone().map_or(CheckpointSource::Bundled, CheckpointSource::Folder)
    }

    /// The engine's word for the decoding; `None` lets it take the best it has.
    pub(crate) fn decode(&self) -> Option<Decode> {
        match self.decoding {
            Decoding::Best => None,
            Decoding::Autoregressive => Some(Decode::Ar),
        }
    }

    /// The same settings with every number in its range, whatever a file said.
    pub(crate) fn sane(mut self) -> Self {
        self.scale = self.scale.clamp(50, 300);
        self.max_tokens = self.max_tokens.clamp(1, 65_536);
        self.dpi = self.dpi.clamp(50, 600);
        self.threads = self.threads.map(|threads| threads.clamp(1, 1024));
        self.recent.truncate(20);
        self
    }
}
