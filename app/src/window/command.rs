//! What a person can ask for without saying more: one list for menus, toolbar, shortcuts, tooltips and the F1 page.

use eframe::egui::{Key, KeyboardShortcut, Modifiers};

use super::workspace::notice::Notice;
use super::workspace::state::{Tool, Workspace};

/// Declares the commands once: the enum, its groups, and which belongs where.
macro_rules! commands {
    ($($group:ident { $($command:ident),+ $(,)? })+) => {
        /// A thing to do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Command {
            $($($command,)+)+
        }

        /// Where a command stands in menus and on the F1 page.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Group {
            $($group,)+
        }

        impl Command {
            /// All of them, in the order of the menus.
            pub(crate) const ALL: &'static [Command] = &[$($(Command::$command,)+)+];

            /// Its place.
            pub(crate) fn group(self) -> Group {
                match self {
                    $($(Command::$command)|+ => Group::$group,)+
                }
            }
        }

        impl Group {
            /// All of them, in the order of the menus.
            pub(crate) const ALL: &'static [Group] = &[$(Group::$group,)+];
        }
    };
}

commands! {
    File {
        Open, OpenFolder, Paste, OpenSample, OpenProject, SaveProject, SaveProjectAs, Export, CloseDocument, Quit,
    }
    Edit { Undo, Redo, SelectAll, Delete, CopyRegions, CopyPage, CopyDocument, CopyTable }
    Page { PreviousPage, NextPage, FirstPage, LastPage, RotateLeft, RotateRight, Detect, DetectDocument }
    Region { DrawRegion, NextRegion, PreviousRegion, MoveEarlier, MoveLater, EditText, RevertText }
    Recognize { Recognize, RecognizePage, RecognizeDocument, RecognizeAgain, Cancel, Race, PlayRounds }
    View {
        ZoomIn, ZoomOut, ActualSize, FitPage, FitWidth, TogglePages, ToggleReading, ToggleRounds, ToggleColours,
        ToggleGhosts, ToggleRefused, ToggleFurniture, LargerText, SmallerText, Settings,
    }
    Help { Shortcuts, About }
}

const CTRL: Modifiers = Modifiers::COMMAND;
const CTRL_SHIFT: Modifiers = Modifiers { alt: false, ctrl: false, shift: true, mac_cmd: false, command: true };

impl Command {
    /// The keys that ask for it, the one to show first.
    pub(crate) fn shortcuts(self) -> &'static [KeyboardShortcut] {
        use Command::*;
        const fn key(modifiers: Modifiers, logical_key: Key) -> KeyboardShortcut {
            KeyboardShortcut { modifiers, logical_key }
        }
        macro_rules! keys {
            ($($modifiers:expr, $key:ident);+) => {{
                const KEYS: &[KeyboardShortcut] = &[$(key($modifiers, Key::$key)),+];
                KEYS
            }};
        }
        const NONE: Modifiers = Modifiers::NONE;
        match self {
            Open => keys![CTRL, O],
            OpenFolder => keys![CTRL_SHIFT, O],
            Paste => keys![CTRL, V],
            SaveProject => keys![CTRL, S],
            SaveProjectAs => keys![CTRL_SHIFT, S],
            Export => keys![CTRL, E],
            CloseDocument => keys![CTRL, W],
            Quit => keys![CTRL, Q],
            Undo => keys![CTRL, Z],
            Redo => keys![CTRL, Y; CTRL_SHIFT, Z],
            SelectAll => keys![CTRL, A],
            Delete => keys![NONE, Delete; NONE, Backspace],
            CopyRegions => keys![CTRL, C],
            CopyPage => keys![CTRL_SHIFT, C],
            PreviousPage => keys![NONE, PageUp],
            NextPage => keys![NONE, PageDown],
            FirstPage => keys![CTRL, Home],
            LastPage => keys![CTRL, End],
            RotateLeft => keys![CTRL_SHIFT, ArrowLeft; CTRL, OpenBracket],
            RotateRight => keys![CTRL_SHIFT, ArrowRight; CTRL, CloseBracket],
            Detect => keys![CTRL, D],
            DrawRegion => keys![NONE, N],
            NextRegion => keys![NONE, Tab],
            PreviousRegion => keys![Modifiers::SHIFT, Tab],
            MoveEarlier => keys![CTRL, ArrowUp],
            MoveLater => keys![CTRL, ArrowDown],
            EditText => keys![NONE, F2],
            Recognize => keys![CTRL, Enter],
            RecognizeDocument => keys![CTRL_SHIFT, Enter],
            RecognizeAgain => keys![CTRL, R],
            Cancel => keys![NONE, Escape],
            PlayRounds => keys![NONE, P],
            ZoomIn => keys![CTRL, Plus; CTRL, Equals],
            ZoomOut => keys![CTRL, Minus],
            ActualSize => keys![CTRL, Num0],
            FitPage => keys![CTRL, Num1],
            FitWidth => keys![CTRL, Num2],
            TogglePages => keys![NONE, F7],
            ToggleReading => keys![NONE, F8],
            ToggleRounds => keys![NONE, F9],
            ToggleColours => keys![CTRL, K],
            Settings => keys![CTRL, Comma],
            Shortcuts => keys![NONE, F1],
            _ => &[],
        }
    }

    /// Whether its keys come as an event of their own, copy or paste, and not as keys.
    pub(crate) fn is_clipboard_event(self) -> bool {
        matches!(self, Command::CopyRegions | Command::Paste)
    }

    /// Whether it leaves the text that is being edited, or needs it as it stands; looking around does not.
    pub(crate) fn leaves_text(self) -> bool {
        use Command::*;
        !matches!(
            self,
            Cancel
                | ZoomIn
                | ZoomOut
                | ActualSize
                | FitPage
                | FitWidth
                | TogglePages
                | ToggleRounds
                | ToggleColours
                | ToggleGhosts
                | ToggleRefused
                | ToggleFurniture
                | LargerText
                | SmallerText
                | Settings
                | Shortcuts
                | About
        )
    }

    /// Whether it can be done now.
    pub(crate) fn enabled(self, state: &Workspace) -> bool {
        self.applies(state) && self.obstacle(state).is_none()
    }

    /// Why it cannot be done just now, where it could be but for a run: one sentence.
    pub(crate) fn refusal(self, state: &Workspace) -> Option<Notice> {
        self.obstacle(state).filter(|_| self.applies(state))
    }

    /// What of a run is in the way.
    fn obstacle(self, state: &Workspace) -> Option<Notice> {
        use Command::*;
        let is_in_the_way = match self {
            Undo => state.history.is_undo_held(),
            Redo => state.history.is_redo_held(),
            DrawRegion if state.view.tool == Tool::Draw => false,
            RotateLeft | RotateRight | Detect | DrawRegion | Delete | MoveEarlier | MoveLater => state.is_page_locked(),
            EditText | RevertText => state.view.focus.is_some_and(|id| state.is_awaited(id)),
            Recognize | RecognizePage | RecognizeDocument | RecognizeAgain | Race => state.is_busy(),
            _ => false,
        };
        is_in_the_way.then_some(match self {
            Undo | Redo => Notice::UndoLocked,
            EditText | RevertText => Notice::RegionLocked,
            Recognize | RecognizePage | RecognizeDocument | RecognizeAgain | Race => Notice::Busy,
            _ => Notice::PageLocked,
        })
    }

    /// Whether there is something to do it to.
    fn applies(self, state: &Workspace) -> bool {
        use Command::*;
        let page = state.page();
        let selected = !state.view.selection.is_empty();
        let has_pages = || state.document().is_some_and(|document| !document.pages.is_empty());
        let read = |region: &super::workspace::project::PageRegion| region.read.is_some() || region.edit.is_some();
        match self {
            Undo => state.history.undo_operation().is_some() || state.history.is_undo_held(),
            Redo => state.history.redo_operation().is_some(),
            SaveProject | SaveProjectAs | Export => !state.project.documents.is_empty(),
            CloseDocument => state.document().is_some(),
            PreviousPage | FirstPage => state.neighbour(false).is_some(),
            NextPage | LastPage => state.neighbour(true).is_some(),
            RecognizeDocument | DetectDocument => has_pages(),
            CopyDocument => state.document().is_some_and(super::workspace::project::Document::has_results),
            RotateLeft | RotateRight | Detect | DrawRegion | FitPage | FitWidth | ZoomIn | ZoomOut | ActualSize
            | Recognize | RecognizePage => page.is_some(),
            CopyPage => page.is_some_and(|page| page.regions.iter().any(|region| read(region))),
            SelectAll | NextRegion | PreviousRegion => page.is_some_and(|page| !page.regions.is_empty()),
            Delete | MoveEarlier | MoveLater | RecognizeAgain => selected,
            CopyRegions => state.selected().any(|region| read(region)),
            CopyTable => state
                .selected()
                .any(|region| region.region.label.role() == engine::region::Role::Table && !region.text().is_empty()),
            EditText => state.focused().is_some_and(|region| read(region)),
            RevertText => state.focused().is_some_and(|region| region.edit.is_some()),
            Cancel => true, // Esc always has something to leave
            Race => state.focused().is_some(),
            PlayRounds => state.focused().is_some_and(|region| region.read.is_some()),
            _ => true,
        }
    }
}
