//! What views ask for. They collect actions while they draw; `apply` makes them afterwards.

use engine::region::{Label, Rect};

use super::command::Command;
use super::state::{Camera, Modal, ReadingTab};
use super::workspace::project::{DocumentId, PageKey, RegionId};
use super::workspace::race::RaceAsk;
use super::workspace::replay::ReplayAsk;
use super::workspace::settings::{Panes, Settings};

/// A wish for a change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Something that also stands in a menu.
    Do(Command),
    /// Open these files and folders.
    OpenPaths(Vec<std::path::PathBuf>),
    /// Open a picture that was pasted.
    PasteImage(std::sync::Arc<eframe::egui::ColorImage>),
    /// Look at a page.
    Go(PageKey),
    /// Try again to open a document.
    OpenAgain(DocumentId),
    /// Text was pasted while none was being typed: it may name files.
    PasteText(String),
    /// The password that was typed.
    Unlock(DocumentId, String),
    /// Ask for a document's password.
    AskPassword(DocumentId),
    /// Choose a checkpoint folder in a dialog.
    ChooseCheckpoint,
    /// Stop the run.
    CancelRun,

    /// Select only these; the last is focused.
    Select(Vec<RegionId>),
    /// Select one more, or one less.
    ToggleSelect(RegionId),
    /// The pointer is over this region (or none).
    Hover(Option<RegionId>),
    /// A new box was drawn.
    Draw(Rect),
    /// Boxes were moved or resized. `merge` joins the steps of one drag into one undo.
    Reshape { boxes: Vec<(RegionId, Rect)>, merge: u64 },
    /// The selected regions are of another type.
    Relabel(Label),
    /// A region goes to this place in the reading order.
    Reorder { region: RegionId, to: usize },
    /// Read these regions.
    Recognize(Vec<RegionId>),
    /// Read again as another type.
    RecognizeAs(Label),

    /// Begin to edit a region's text.
    Edit(RegionId),
    /// The text as it stands while it is edited.
    Editing(String),
    /// Keep the edit.
    FinishEdit,
    /// Drop the edit that is under way.
    AbandonEdit,
    /// Copy plain text (with HTML beside it where there is any).
    Copy { text: String, html: Option<String> },
    /// Copy regions as Markdown.
    CopyRegions(Vec<RegionId>),

    /// Move the camera.
    Camera(Camera),
    /// Show another tab of the reading pane.
    Tab(ReadingTab),
    /// The reading pane has scrolled where it was asked to.
    Scrolled,
    /// Change the settings.
    Settings(Box<Settings>),
    /// These pages' thumbnails are seen.
    Thumbnails(Vec<PageKey>),
    /// Panes were opened, closed or resized by hand.
    Panes(Panes),
    /// Open or close what lies over the window.
    Modal(Option<Modal>),
    /// The answer to a question was yes.
    Confirmed,
    /// The message with this text was read.
    Dismiss(String),
    /// Show a file dialog.
    Browse(super::workspace::path_form::Asked),
    /// A path was typed; it stands for the answer of such a dialog, but that a file is replaced was not agreed to.
    Typed(super::workspace::path_form::Asked, std::path::PathBuf),
    /// Write the export that the form describes.
    Export(super::workspace::export::ExportForm),
    /// Stop writing an export; see [`State::exports`](super::state::State::exports).
    CancelExport(usize),
    /// Replay controls.
    Replay(ReplayAsk),
    /// Race controls.
    Race(RaceAsk),
}

impl Action {
    /// Whether it leaves the text that is being edited, or needs it as it stands. It is kept first: nothing that was typed
    /// is lost on the way.
    pub(crate) fn leaves_text(&self) -> bool {
        match self {
            Action::Do(command) => command.leaves_text(),
            Action::Panes(panes) => !panes.reading,
            Action::Edit(_)
            | Action::Recognize(_)
            | Action::RecognizeAs(_)
            | Action::CopyRegions(_)
            | Action::Tab(_)
            | Action::Confirmed
            | Action::Export(_) => true,
            _ => false,
        }
    }
}

/// The actions of one frame, in order.
#[derive(Debug, Default)]
pub(crate) struct Actions(Vec<Action>);

impl Actions {
    /// Asks for something.
    pub(crate) fn ask(&mut self, action: Action) {
        self.0.push(action);
    }

    /// Asks for a command.
    pub(crate) fn command(&mut self, command: Command) {
        self.ask(Action::Do(command));
    }

    /// Takes all.
    pub(crate) fn take(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.0)
    }
}
