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

/// What is told of a character under the pointer.
pub(crate) mod hover_card {
    use engine::decode::Origin;

    /// In the place of the forwards of the first round, which has none of its own.
    pub(crate) const PROMPT: &str = "Read with the picture";
    pub(crate) const REFUSED: &str = "Refused:";

    pub(crate) fn round(round: u32) -> String {
        format!("Round {round}")
    }

    /// How a character was committed.
    pub(crate) fn origin(origin: Origin, round: u32, drafted: u32) -> &'static str {
        match origin {
            Origin::Causal if round == 0 => "The model's first token",
            Origin::Causal if drafted > 0 => "The draft forward's own token",
            Origin::Causal => "The model's own token, not drafted",
            Origin::Accepted => "An accepted draft",
            Origin::Correction => "The verifier's correction",
            Origin::Bonus => "The verifier's own token after a draft accepted in full",
            Origin::Diffusion => "Filled in by diffusion, not verified",
        }
    }

    pub(crate) fn counts(drafted: u32, accepted: u32, corrected: u32) -> String {
        if corrected == 0 {
            format!("{drafted} drafted, {accepted} accepted")
        } else {
            format!("{drafted} drafted, {accepted} accepted, {corrected} corrected")
        }
    }

    /// Numbered in their request from 1.
    pub(crate) fn forwards(first: u32, last: u32) -> String {
        if first == last { format!("Forward {first}") } else { format!("Forwards {first}–{last}") }
    }

    pub(crate) fn with_tokens(forwards: &str, tokens: u32) -> String {
        let unit = if tokens == 1 { "token" } else { "tokens" };
        format!("{forwards}, {tokens} {unit}")
    }
}

/// The reading pane.
pub(crate) mod reading {
    use engine::page::Status;
    use engine::region::{Label, Role};

    pub(crate) const LIVE: &str = "Live";
    pub(crate) const PREVIEW: &str = "Preview";
    pub(crate) const SOURCE: &str = "Source";
    pub(crate) const THIS_PAGE: &str = "This page";
    pub(crate) const WHOLE_DOCUMENT: &str = "Whole document";

    pub(crate) const NO_PAGE: &str = "Open a scan or a PDF to read it here.";
    pub(crate) const NO_REGIONS: &str = "No regions on this page. Draw one, or detect them again.";
    pub(crate) const NOT_DETECTED: &str = "Recognize the page, or detect its regions first.";
    pub(crate) const NOTHING_READ: &str = "Nothing was read yet.";
    pub(crate) const PREPARING: &str = "Preparing…";

    pub(crate) const COPY_BUTTON: &str = "Copy";
    pub(crate) const CELLS_BUTTON: &str = "Cells";
    pub(crate) const EDIT_BUTTON: &str = "Edit";
    pub(crate) const READ_BUTTON: &str = "Read";
    pub(crate) const AGAIN_BUTTON: &str = "Read again";
    pub(crate) const REVERT_BUTTON: &str = "Revert";
    pub(crate) const KEEP: &str = "Keep";
    pub(crate) const DROP: &str = "Cancel";
    pub(crate) const DRAG: &str = "Drag to another place in the reading order";
    pub(crate) const TABLE_IS_HTML: &str = "A table is edited as HTML.";

    pub(crate) const LEFT_OUT: &str = "left out of the document";
    pub(crate) const NO_INK: &str = "No ink here; nothing was read.";
    pub(crate) const FIGURE: &str = "Figure";

    pub(crate) const ROUND: &str = "Round";
    pub(crate) const AGAIN: &str = "then again";
    pub(crate) const AGAIN_MORE: &str =
        "Each draft-verify round has the next colour and pattern; after six they repeat";
    pub(crate) const DRAFT: &str = "draft";
    pub(crate) const DRAFT_MORE: &str = "Drafted, not verified yet";
    pub(crate) const REFUSED: &str = "refused";
    pub(crate) const REFUSED_MORE: &str =
        "The verifier refused this part of a draft; behind the bar stands its correction";

    pub(crate) fn round_swatch(round: u32) -> String {
        format!("Round {round}")
    }

    pub(crate) fn card(number: usize, label: Label) -> String {
        format!("Region {number}: {}", super::label(label))
    }

    pub(crate) fn copy(number: usize) -> String {
        format!("Copy region {number}")
    }

    pub(crate) fn copy_cells(number: usize) -> String {
        format!("Copy the cells of region {number} for a spreadsheet")
    }

    pub(crate) fn edit(number: usize) -> String {
        format!("Edit region {number}")
    }

    pub(crate) fn revert(number: usize) -> String {
        format!("Back to the model's text of region {number}")
    }

    pub(crate) fn recognize(number: usize, again: bool) -> String {
        if again { format!("Recognize region {number} again") } else { format!("Recognize region {number}") }
    }

    pub(crate) fn drag(number: usize) -> String {
        format!("Move region {number}")
    }

    pub(crate) fn kind(number: usize, label: Label) -> String {
        format!("Type of region {number}: {}", super::label(label))
    }

    pub(crate) fn edit_of(number: usize) -> String {
        format!("Text of region {number}")
    }

    pub(crate) fn print_of(number: usize) -> String {
        format!("Region {number} on the page")
    }

    pub(crate) fn formula_number(number: &str) -> String {
        format!("({number})")
    }

    /// `page` from 0.
    pub(crate) fn figure_on(page: usize) -> String {
        format!("Figure on page {}", page + 1)
    }

    /// Why there is no text.
    pub(crate) fn picture(role: Role) -> &'static str {
        match role {
            Role::Formula => "Kept as a picture: this checkpoint does not read formulas.",
            _ => "Kept as a picture.",
        }
    }

    /// What about a reading needs a sentence.
    pub(crate) fn trouble(status: &Status) -> Option<String> {
        match status {
            Status::Done | Status::Empty | Status::Picture => None,
            Status::Truncated => Some("The token limit was reached; the text is the beginning.".to_owned()),
            Status::LoopStopped => {
                Some("It repeated itself and was stopped; the text holds one round of it.".to_owned())
            }
            Status::Cancelled => Some("Cancelled; the text is what was read by then.".to_owned()),
            Status::Failed(reason) => Some(reason.clone()),
        }
    }
}
