//! All that the window shows. Views borrow it and ask for changes with an [`Action`](super::action::Action); `apply`
//! alone makes them.

use std::ops::{Deref, DerefMut};

use super::devices::Devices;
use super::sheets::Sheets;
use super::workspace::export::{ExportForm, Exporting};
use super::workspace::path_form::PathForm;
use super::workspace::project::DocumentId;
use super::workspace::race::Race;
pub(crate) use super::workspace::state::{Camera, EngineState, Fit, ReadingTab, Tone, Tool, View, Workspace};

/// The workspace, and what is only drawn; it stands for the workspace where that is read.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) workspace: Workspace,
    /// Rendered pages and thumbnails.
    pub(crate) sheets: Sheets,
    pub(crate) devices: Devices,
    pub(crate) race: Option<Race>,
    /// Exports that are being written.
    pub(crate) exports: Vec<Exporting>,
    /// The question or page that lies over everything else.
    pub(crate) modal: Option<Modal>,
}

impl Deref for State {
    type Target = Workspace;

    fn deref(&self) -> &Workspace {
        &self.workspace
    }
}

impl DerefMut for State {
    fn deref_mut(&mut self) -> &mut Workspace {
        &mut self.workspace
    }
}

/// What lies over the window.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Modal {
    Settings,
    Shortcuts,
    About,
    /// A document asks for its password; the text typed so far.
    Password {
        document: DocumentId,
        text: String,
    },
    /// What to export and how.
    Export(ExportForm),
    /// A path is typed, where the system shows no dialog.
    Path(PathForm),
    /// The race of a region.
    Race,
    /// "There are unsaved changes": what to do after the answer.
    Confirm(Confirm),
}

/// A question before something that cannot be undone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Confirm {
    /// Close a document with its results.
    CloseDocument(DocumentId),
    /// Replace what is open by this project file.
    OpenProject(std::path::PathBuf),
}

impl Modal {
    /// The document it is about, if it is about one.
    pub(crate) fn document(&self) -> Option<DocumentId> {
        match self {
            Modal::Password { document, .. } | Modal::Confirm(Confirm::CloseDocument(document)) => Some(*document),
            Modal::Export(form) => Some(form.document),
            _ => None,
        }
    }
}
