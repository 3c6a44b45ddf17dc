//! Every word the window says, in one place, so that another language can be added.

/// Names and explanations of commands.
pub(crate) mod command {
    use crate::window::command::Command;

    /// The name on menus and buttons.
    pub(crate) fn label(command: Command) -> &'static str {
        use Command::*;
        match command {
            Open => "Open files…",
            OpenFolder => "Open folder…",
            Paste => "Paste",
            OpenSample => "Open the sample",
            OpenProject => "Open project…",
            SaveProject => "Save project",
            SaveProjectAs => "Save project as…",
            Export => "Export…",
            CloseDocument => "Close document",
            Quit => "Quit",
            Undo => "Undo",
            Redo => "Redo",
            SelectAll => "Select all regions",
            Delete => "Delete regions",
            CopyRegions => "Copy text of regions",
            CopyPage => "Copy page",
            CopyDocument => "Copy document",
            CopyTable => "Copy table for a spreadsheet",
            PreviousPage => "Previous page",
            NextPage => "Next page",
            FirstPage => "First page",
            LastPage => "Last page",
            RotateLeft => "Rotate left",
            RotateRight => "Rotate right",
            Detect => "Detect regions",
            DetectDocument => "Detect regions in the document",
            DrawRegion => "Draw a region",
            NextRegion => "Next region",
            PreviousRegion => "Previous region",
            MoveEarlier => "Move earlier",
            MoveLater => "Move later",
            EditText => "Edit text",
            RevertText => "Back to the model's text",
            Recognize => "Recognize",
            RecognizePage => "Recognize page",
            RecognizeDocument => "Recognize document",
            RecognizeAgain => "Recognize selected regions",
            Cancel => "Cancel",
            Race => "Race",
            PlayRounds => "Play rounds",
            ZoomIn => "Zoom in",
            ZoomOut => "Zoom out",
            ActualSize => "Actual size",
            FitPage => "Fit page",
            FitWidth => "Fit width",
            TogglePages => "Pages",
            ToggleReading => "Reading",
            ToggleRounds => "Rounds",
            ToggleColours => "Colour by round",
            ToggleGhosts => "Show drafts",
            ToggleFurniture => "Keep headers and footers",
            LargerText => "Larger text",
            SmallerText => "Smaller text",
            Settings => "Settings…",
            Shortcuts => "Keyboard shortcuts",
            About => "About GravityOCR",
        }
    }

    /// One sentence more.
    pub(crate) fn tooltip(command: Command) -> &'static str {
        use Command::*;
        match command {
            Open => "Open PDFs and pictures",
            OpenFolder => "Open every PDF and picture of a folder",
            Paste => "Open the picture or the files on the clipboard",
            OpenSample => "Open a page that comes with the program",
            OpenProject => "Open documents with their regions and results as they were saved",
            SaveProject => "Save documents, regions, results and edits in one file",
            SaveProjectAs => "Save the project under another name",
            Export => "Write Markdown, HTML, JSON or plain text",
            CloseDocument => "Close this document; its results go with it",
            Quit => "Close the window; your work is kept for the next start",
            Undo => "Take the last change back",
            Redo => "Do it again",
            SelectAll => "Select all regions of the page",
            Delete => "Delete the selected regions",
            CopyRegions => "Copy the text of the selected regions",
            CopyPage => "Copy the page as Markdown",
            CopyDocument => "Copy the whole document as Markdown",
            CopyTable => "Copy the selected table as cells that a spreadsheet takes",
            PreviousPage => "Go to the page before",
            NextPage => "Go to the page after",
            FirstPage => "Go to the first page",
            LastPage => "Go to the last page",
            RotateLeft => "Turn the page a quarter to the left",
            RotateRight => "Turn the page a quarter to the right",
            Detect => "Find text, tables and pictures on this page",
            DetectDocument => "Find text, tables and pictures on every page",
            DrawRegion => "Drag a box around what you want to read",
            NextRegion => "Select the next region",
            PreviousRegion => "Select the region before",
            MoveEarlier => "Read this region before the one above it in the list",
            MoveLater => "Read this region after the one below it in the list",
            EditText => "Correct the text of this region",
            RevertText => "Drop your edit of this region",
            Recognize => "Read the selected regions, or the page when none is selected",
            RecognizePage => "Read this page",
            RecognizeDocument => "Read every page of this document",
            RecognizeAgain => "Read the selected regions again",
            Cancel => "Stop; what is finished stays",
            Race => "Read this region both ways and compare the measured times",
            PlayRounds => "Play the rounds of this region again",
            ZoomIn => "See the page larger",
            ZoomOut => "See the page smaller",
            ActualSize => "One page pixel for one screen pixel",
            FitPage => "Show the whole page",
            FitWidth => "Show the whole width of the page",
            TogglePages => "Show or hide the pages",
            ToggleReading => "Show or hide the text",
            ToggleRounds => "Show or hide the rounds",
            ToggleColours => "Colour each character by the round that committed it",
            ToggleGhosts => "Show drafts until they are verified, and what was refused",
            ToggleFurniture => "Take running heads, page numbers and margin notes into the document",
            LargerText => "Make text and controls larger",
            SmallerText => "Make text and controls smaller",
            Settings => "Checkpoint, decoding, resolution, appearance",
            Shortcuts => "All keys at a glance",
            About => "Version, licence, and where your data goes",
        }
    }
}

/// Names of groups of commands.
pub(crate) fn group(group: super::command::Group) -> &'static str {
    use super::command::Group::*;
    match group {
        File => "File",
        Edit => "Edit",
        Page => "Page",
        Region => "Region",
        Recognize => "Recognize",
        View => "View",
        Help => "Help",
    }
}

/// The name of a region's kind.
pub(crate) fn label(label: engine::region::Label) -> &'static str {
    use engine::region::Label::*;
    match label {
        Abstract => "Abstract",
        Algorithm => "Algorithm",
        AsideText => "Margin note",
        Chart => "Chart",
        Content => "Contents",
        DisplayFormula => "Formula",
        DocTitle => "Title",
        FigureTitle => "Caption",
        Footer => "Footer",
        FooterImage => "Footer picture",
        Footnote => "Footnote",
        FormulaNumber => "Formula number",
        Header => "Header",
        HeaderImage => "Header picture",
        Image => "Figure",
        InlineFormula => "Inline formula",
        Number => "Page number",
        ParagraphTitle => "Heading",
        Reference => "References",
        ReferenceContent => "Reference",
        Seal => "Seal",
        Table => "Table",
        Text => "Text",
        VerticalText => "Vertical text",
        VisionFootnote => "Figure note",
    }
}

/// The kinds that a person chooses from, the usual first.
pub(crate) const CHOICES: [engine::region::Label; 7] = {
    use engine::region::Label::*;
    [Text, ParagraphTitle, Table, DisplayFormula, Image, FigureTitle, Header]
};

/// A state of a region or page.
pub(crate) mod status {
    pub(crate) const WAITING: &str = "waiting";
    pub(crate) const READING: &str = "reading";
    pub(crate) const NOT_READ: &str = "not read";
    pub(crate) const EDITED: &str = "edited";

    /// How a reading ended.
    pub(crate) fn ended(status: &engine::page::Status) -> &'static str {
        use engine::page::Status::*;
        match status {
            Done => "done",
            Empty => "empty",
            Picture => "picture",
            Truncated => "truncated",
            LoopStopped => "loop stopped",
            Cancelled => "cancelled",
            Failed(_) => "failed",
        }
    }
}

/// Where the data goes.
pub(crate) const OFFLINE: &str = "Offline — nothing leaves this computer";
/// For times that were not taken.
pub(crate) const NOT_MEASURED: &str = "not measured";

/// What is said about keeping work, settings and project files.
pub(crate) mod session {
    /// A restored document whose file is gone.
    pub(crate) fn no_longer_there(name: &str) -> String {
        format!("{name}: the file is no longer there; what was read of it is kept and can be exported")
    }

    /// A restored document whose file has another number of pages now.
    pub(crate) fn changed_since(name: &str, before: usize, now: usize) -> String {
        let pages = if now == 1 { "page" } else { "pages" };
        format!("{name} was changed: it has {now} {pages} now instead of {before}, so what was read before was dropped")
    }

    /// There is no folder for sessions.
    pub(crate) const NO_FOLDER: &str =
        "Your work is not kept when the window closes: this system names no folder for it; save a project file instead";

    /// A file of the session cannot be written.
    pub(crate) fn not_kept(path: &std::path::Path, reason: &str) -> String {
        format!(
            "Your work is not kept when the window closes: {} cannot be written: {reason}; save a project file instead",
            path.display()
        )
    }

    /// A page of the session cannot be read.
    pub(crate) fn page_lost(name: &str, page: usize) -> String {
        format!(
            "{name}: page {} could not be restored: what was kept of it is damaged; the other pages are whole",
            page + 1
        )
    }

    /// The session's list of documents cannot be read.
    pub(crate) const INDEX_LOST: &str = "The list of open documents was damaged: documents that were read are restored, \
                                         others have to be opened again";

    /// Another window left its work.
    pub(crate) const ANOTHER: &str = "Work of another window is kept, too: open a second window to go on with it";

    /// A fault of ours on a thread.
    pub(crate) const INTERNAL: &str = "an internal error stopped this; your documents are as they were";

    /// The settings cannot be read.
    pub(crate) fn settings_lost(path: &std::path::Path, kept: bool) -> String {
        let kept = if kept { "; the file is kept beside it, ending in .bad" } else { "" };
        format!("{} is damaged, so all settings are as at first{kept}", path.display())
    }
}

/// What is said about project files.
pub(crate) mod project_file {
    use std::io;
    use std::path::Path;

    use crate::output::reason;

    /// A file that cannot be written.
    pub(crate) fn unwritten(path: &Path, error: &io::Error) -> String {
        match error.kind() {
            io::ErrorKind::AlreadyExists => format!("{} exists already and was left as it is", path.display()),
            _ => format!("{} cannot be written: {}", path.display(), reason(error)),
        }
    }

    /// A path that is one of the scans.
    pub(crate) fn is_source(path: &Path) -> String {
        format!("{} is an open document and is not overwritten; choose another name", path.display())
    }

    /// A file that cannot be read at all.
    pub(crate) fn unreadable(path: &Path, reason: &str) -> String {
        format!("{} cannot be opened: {reason}", path.display())
    }

    /// A file of another kind.
    pub(crate) fn foreign(path: &Path) -> String {
        format!("{} is no GravityOCR project; open scans and PDFs with Open files", path.display())
    }

    /// A project of a later version.
    pub(crate) fn newer(path: &Path) -> String {
        format!("{} was saved by a newer version of GravityOCR; update this program to open it", path.display())
    }

    /// A project that is not whole.
    pub(crate) fn damaged(path: &Path) -> String {
        format!("{} is damaged and was not opened; what is open stays as it is", path.display())
    }
}

/// What is said around file dialogs.
pub(crate) mod dialogs {
    use crate::window::dialogs::Asked;

    /// What a dialog is for.
    pub(crate) fn title(asked: Asked) -> &'static str {
        match asked {
            Asked::Files => "Open files",
            Asked::Folder => "Open a folder",
            Asked::Project => "Open a project",
            Asked::SaveProject => "Save the project",
            Asked::Export => "Export to",
            Asked::Checkpoint => "Choose a checkpoint folder",
        }
    }

    /// The button that agrees.
    pub(crate) fn verb(asked: Asked) -> &'static str {
        match asked {
            Asked::Files | Asked::Folder | Asked::Project => "Open",
            Asked::SaveProject => "Save",
            Asked::Export | Asked::Checkpoint => "Choose",
        }
    }

    pub(crate) const CANCEL: &str = "Cancel";
    pub(crate) const PATH: &str = "Path";
    pub(crate) const NO_DIALOG: &str = "This system shows no file dialog, so type or paste the path.";
    pub(crate) const READABLE: &str = "PDFs and pictures";
    pub(crate) const PROJECTS: &str = "GravityOCR projects";
    pub(crate) const ALL: &str = "All files";
}

/// What is said about exports.
pub(crate) mod export {
    use std::path::Path;

    use engine::export::Format;

    pub(crate) const TITLE: &str = "Export";
    pub(crate) const FORMAT: &str = "Format";
    pub(crate) const SCOPE: &str = "Pages";
    pub(crate) const CONTENT: &str = "Content";
    pub(crate) const FILE: &str = "File";
    pub(crate) const WHOLE_DOCUMENT: &str = "Whole document";
    pub(crate) const FURNITURE: &str = "Keep headers and footers";
    pub(crate) const FIGURES: &str = "Pictures in a folder beside the file";
    pub(crate) const PIPE_TABLES: &str = "Pipe tables where no cells are merged";
    pub(crate) const PIPE_TABLES_MORE: &str =
        "Without this, every table is HTML, which keeps line breaks and merged cells";
    pub(crate) const JSON_HOLDS_ALL: &str = "JSON holds everything: regions, boxes, text and rounds";
    pub(crate) const CHOOSE: &str = "Choose file…";
    pub(crate) const EXPORT: &str = "Export";
    pub(crate) const CANCEL: &str = "Cancel";
    pub(crate) const CANCEL_MORE: &str = "Stop writing; no file is left behind";
    pub(crate) const REPLACE: &str = "Replace it";
    pub(crate) const UNTITLED: &str = "Untitled";
    pub(crate) const NO_NAME: &str = "Give the file a name";
    pub(crate) const NOTHING_READ: &str = "Nothing has been read here yet: recognize it first";
    pub(crate) const EMPTY_PICTURE: &str = "its box lies outside of the page";

    /// A format's name.
    pub(crate) fn format(format: Format) -> &'static str {
        match format {
            Format::Markdown => "Markdown",
            Format::Html => "HTML",
            Format::Json => "JSON",
            Format::Text => "Plain text",
            Format::Trace => "Trace",
        }
    }

    /// The page that is looked at, from 0.
    pub(crate) fn one_page(page: usize) -> String {
        format!("Page {} only", page + 1)
    }

    /// A file or its pictures are there.
    pub(crate) fn exists(target: &Path) -> String {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        format!("{name} or its folder of pictures exists already.")
    }

    /// Where pictures go.
    pub(crate) fn figures_go_to(folder: &str) -> String {
        format!("Pictures go to {folder}")
    }

    /// How far it is.
    pub(crate) fn progress(name: &str, done: usize, total: usize) -> String {
        format!("{name}: page {} of {total}", (done + 1).min(total.max(1)))
    }

    /// An export is there.
    pub(crate) fn written(path: &Path) -> String {
        format!("Exported to {}", path.display())
    }

    /// A folder that is not there.
    pub(crate) fn no_folder(folder: &Path) -> String {
        format!("There is no folder {}: choose another or make it first", folder.display())
    }

    /// Another export writes this file.
    pub(crate) fn being_written(target: &Path) -> String {
        format!("{} is being written by another export; choose another name", target.display())
    }

    /// Pictures of a page, from 0, that could not be had.
    pub(crate) fn left_out(page: usize, reason: &str) -> String {
        format!("Page {}: a picture is left out: {reason}", page + 1)
    }
}
