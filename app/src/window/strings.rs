//! Every word the window says, in one place, so that another language can be added.

use engine::device::Device;

/// Names and explanations of commands.
pub(crate) mod command {
    use crate::window::command::Command;

    /// The name on menus and buttons.
    fn label(command: Command) -> &'static str {
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
            ToggleRefused => "Show what was refused",
            ToggleFurniture => "Keep headers and footers",
            LargerText => "Larger text",
            SmallerText => "Smaller text",
            Settings => "Settings…",
            Shortcuts => "Keyboard shortcuts",
            About => "About GravityOCR",
        }
    }

    /// One sentence more.
    fn tooltip(command: Command) -> &'static str {
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
            DetectDocument => "Find text, tables and pictures on every page that has no regions yet",
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
            ToggleGhosts => "Show drafts until they are verified",
            ToggleRefused => "Show the part of each draft that the verifier refused, struck through",
            ToggleFurniture => "Take running heads, page numbers and margin notes into the document",
            LargerText => "Make text and controls larger",
            SmallerText => "Make text and controls smaller",
            Settings => "Checkpoint, decoding, resolution, appearance",
            Shortcuts => "All keys at a glance",
            About => "Version, licence, and where your data goes",
        }
    }

    impl Command {
        /// Its name on a menu or button; also its accessible name.
        pub(crate) fn label(self) -> &'static str {
            label(self)
        }

        /// One sentence more.
        pub(crate) fn tooltip(self) -> &'static str {
            tooltip(self)
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
/// Said on Paste when there is nothing to open.
pub(crate) const NOTHING_TO_PASTE: &str =
    "The clipboard holds no picture and no files; copy a screenshot or files first";
/// Said when there is no page without regions.
pub(crate) const ALL_DETECTED: &str =
    "Every page of this document has regions already; Detect regions looks for those of one page anew";
/// Said when Detect found no region.
pub(crate) const NOTHING_DETECTED: &str =
    "Nothing to read was found on this page; draw a region where there is something";

/// The name of a picture from the clipboard.
pub(crate) fn pasted_name(number: usize) -> String {
    format!("Pasted picture {number}.png")
}

/// For times that were not taken.
pub(crate) const NOT_MEASURED: &str = "not measured";

/// Names of changes, for "Undo …".
pub(crate) mod change {
    use crate::window::workspace::history::Operation;

    pub(crate) fn name(operation: Operation) -> &'static str {
        match operation {
            Operation::Draw => "Draw region",
            Operation::Move => "Move region",
            Operation::Relabel => "Change type",
            Operation::Delete => "Delete regions",
            Operation::Reorder => "Reorder regions",
            Operation::Edit => "Edit text",
            Operation::Revert => "Revert text",
            Operation::Rotate => "Rotate page",
            Operation::Detect => "Detect regions",
            Operation::Recognize => "Recognize",
        }
    }
}

/// What is told of a run.
pub(crate) mod run {
    pub(crate) use crate::window::workspace::notice::{count, duration};
}

pub(crate) const RECENT: &str = "Recent files";
pub(crate) const CLOSE: &str = "Close";
pub(crate) const CANCEL: &str = "Cancel";
pub(crate) const DISMISS: &str = "Dismiss";
pub(crate) const WARNING: &str = "Note";
pub(crate) const ERROR: &str = "Error";
pub(crate) const OPENING: &str = "Opening…";
pub(crate) const NO_PAGES: &str = "This document has no pages.";
pub(crate) const TRY_AGAIN: &str = "Try again";
pub(crate) const DROP_HERE: &str = "Drop files and folders to open them";
pub(crate) const LOCKED: &str = "This document is protected by a password.";
pub(crate) const ENTER_PASSWORD: &str = "Enter the password…";
pub(crate) const OFFLINE_HINT: &str =
    "Files are read, recognized and kept on this computer only; this program has no network code in use.";
pub(crate) const ENGINE_LOADING: &str = "Loading the checkpoint…";
pub(crate) const ENGINE_FAILED: &str = "Checkpoint not usable";

/// The status bar before the engine was needed.
pub(crate) fn engine_asleep(checkpoint: Option<&std::path::Path>, device: Device) -> String {
    let name = checkpoint.map_or_else(|| "gravity-nano".to_owned(), |path| path.display().to_string());
    format!("{name} · {} · loads when needed", place(device))
}

/// The status bar when the engine is there.
pub(crate) fn engine_ready(info: &engine::EngineInfo) -> String {
    match info.device {
        Device::Cpu => {
            format!("{} · CPU · {} · {}", info.checkpoint, info.kernel, run::count(info.threads, "thread"))
        }
        card => format!("{} · {}", info.checkpoint, place(card)),
    }
}

/// A device as the status line names it.
fn place(device: Device) -> String {
    match device {
        Device::Cpu => "CPU".to_owned(),
        card => card.to_string(),
    }
}

/// How it decodes.
pub(crate) fn engine_hint(info: &engine::EngineInfo) -> String {
    match &info.only_ar {
        Some(reason) => format!("Reads token by token: {reason}"),
        None => "Drafts a block of tokens and verifies it".to_owned(),
    }
}

/// Pages that wait for their regions.
pub(crate) fn detecting(pages: usize) -> String {
    format!("Detecting regions, {} to go", run::count(pages, "page"))
}

/// What is known of a page.
pub(crate) fn page_facts(page: &super::workspace::project::Page) -> String {
    let mut facts = Vec::new();
    if let Some([width, height]) = page.size {
        facts.push(format!("{width} × {height} px"));
    }
    if let Some(dpi) = page.dpi {
        facts.push(format!("{dpi:.0} dpi"));
    }
    if page.skew_degrees.abs() > 0.05 {
        facts.push(format!("straightened by {:.1}°", page.skew_degrees.abs()));
    }
    facts.join(" · ")
}

/// A document in the list.
pub(crate) fn document_row(document: &super::workspace::project::Document) -> String {
    use super::workspace::project::DocumentState::*;
    match &document.state {
        Opening => format!("{}, opening", document.name),
        Locked { .. } => format!("{}, locked", document.name),
        Open => format!("{}, {}", document.name, run::count(document.pages.len(), "page")),
        Failed(_) => format!("{}, cannot be opened", document.name),
    }
}

/// More about it.
pub(crate) fn document_hint(document: &super::workspace::project::Document) -> String {
    let place = match &document.source {
        engine::job::Source::Path(path) => path.display().to_string(),
        engine::job::Source::Bytes { name, .. } => name.clone(),
    };
    match &document.state {
        super::workspace::project::DocumentState::Failed(message) => format!("{place}\n{message}"),
        _ => place,
    }
}

/// A page in the list.
pub(crate) fn page_row(page: usize, state: &str) -> String {
    if state.is_empty() { format!("Page {}", page + 1) } else { format!("Page {}, {state}", page + 1) }
}

/// States of a page in the list.
pub(crate) mod page {
    pub(crate) const FAILED: &str = "failed";
    pub(crate) const EMPTY: &str = "empty";
    pub(crate) const DONE: &str = "done";

    pub(crate) fn reading(done: usize, regions: usize) -> String {
        format!("reading {done} / {regions}")
    }

    pub(crate) fn partly(read: usize, regions: usize) -> String {
        format!("{read} / {regions} read")
    }

    pub(crate) fn troubled(regions: usize) -> String {
        format!("{regions} to check")
    }
}

/// The toolbar.
pub(crate) mod tool {
    pub(crate) const OPEN: &str = "Open";
    pub(crate) const DETECT: &str = "Detect";
    pub(crate) const DRAW: &str = "Draw";
    pub(crate) const CANCEL: &str = "Cancel";
    pub(crate) const STOPPING: &str = "Stopping…";
    pub(crate) const LOADING: &str = "Loading the checkpoint…";
    pub(crate) const PROGRESS: &str = "Progress";
    pub(crate) const MORE_SCOPES: &str = "What to recognize";
    pub(crate) const PAGE_NUMBER: &str = "Page number";
    pub(crate) const PAGE_FIELD: &str = "Click to type a page number";
    pub(crate) const ZOOM: &str = "Zoom";
    pub(crate) const NO_PAGE: &str = "– / –";

    /// Behind the page's number.
    pub(crate) fn of_pages(count: usize) -> String {
        format!(" / {count}")
    }

    pub(crate) fn zoom(percent: Option<impl std::fmt::Display>) -> String {
        percent.map_or_else(|| "–".to_owned(), |percent| format!("{percent} %"))
    }

    /// The main button names its scope.
    pub(crate) fn recognize(selected: usize) -> String {
        match selected {
            0 => "Recognize page".to_owned(),
            1 => "Recognize 1 region".to_owned(),
            n => format!("Recognize {n} regions"),
        }
    }

    /// How far a run is.
    pub(crate) fn progress(progress: &crate::window::workspace::run::Progress) -> String {
        let mut parts = Vec::new();
        if progress.pages > 1 {
            parts.push(format!("page {} of {}", progress.page, progress.pages));
        }
        if progress.regions > 0 {
            parts.push(format!("{} / {} regions", progress.regions_done, progress.regions));
        }
        if let Some(speed) = progress.tokens_per_second {
            parts.push(format!("{speed:.0} tokens/s"));
        }
        if let Some(left) = progress.seconds_left {
            parts.push(format!("{} left", super::run::duration(left)));
        }
        parts.join(" · ")
    }
}

/// Before anything is open.
pub(crate) mod welcome {
    pub(crate) const TITLE: &str = "GravityOCR";
    pub(crate) const SUBTITLE: &str = "Scans and PDFs into clean Markdown, on this computer";
    pub(crate) const DROP: &str = "or drop files and folders anywhere in this window";
}

/// Asking for a password.
pub(crate) mod password {
    pub(crate) const TITLE: &str = "Password needed";
    pub(crate) const WRONG: &str = "That password does not open it.";
    pub(crate) const FIELD: &str = "Password";
    pub(crate) const OPEN: &str = "Open";

    pub(crate) fn asked(name: &str) -> String {
        format!("{name} is protected. The password is used for opening it and kept nowhere.")
    }
}

/// Questions.
pub(crate) mod confirm {
    pub(crate) const CLOSE: &str = "Close the document?";
    pub(crate) const CLOSE_YES: &str = "Close it";
    pub(crate) const OPEN: &str = "Open the project?";
    pub(crate) const OPEN_TEXT: &str =
        "It takes the place of what is open now. Save that as a project first if you want to keep it.";
    pub(crate) const OPEN_YES: &str = "Open it";

    pub(crate) fn close(name: &str) -> String {
        format!(
            "What was recognized, drawn and corrected in {name} goes with it. Export or save the project first if you want to keep it."
        )
    }
}

/// The settings page.
pub(crate) mod settings {
    use engine::precision::WeightFormat;

    use crate::window::workspace::settings::Renderer;

    pub(crate) const TITLE: &str = "Settings";
    pub(crate) const THEME: &str = "Appearance";
    pub(crate) const SYSTEM: &str = "System";
    pub(crate) const LIGHT: &str = "Light";
    pub(crate) const DARK: &str = "Dark";
    pub(crate) const SCALE: &str = "Size of text and controls";
    pub(crate) const CHECKPOINT: &str = "Checkpoint";
    pub(crate) const BUNDLED: &str = "gravity-nano (bundled)";
    pub(crate) const NANO: &str = "gravity-nano";
    pub(crate) const THIS_CHECKPOINT: &str = "this checkpoint";
    pub(crate) const FOLDER: &str = "A folder";
    pub(crate) const FOLDER_HINT: &str = "Folder with config.json and weights";
    pub(crate) const CHOOSE: &str = "Choose…";
    pub(crate) const USE: &str = "Use this folder";
    pub(crate) const DECODING: &str = "Decoding";
    pub(crate) const BEST: &str = "Draft and verify";
    pub(crate) const ONE_BY_ONE: &str = "Autoregressive, token by token";
    pub(crate) const DEVICE: &str = "Computes on";
    pub(crate) const LOOKING_FOR_DEVICES: &str = "Looking for cards…";
    pub(crate) const WEIGHTS: &str = "Weights";
    pub(crate) const WEIGHTS_OF_CARDS: &str = "A card always computes in bf16.";
    pub(crate) const THREADS: &str = "Threads";
    pub(crate) const ALL_THREADS: &str = "All of the machine";
    pub(crate) const LIMIT: &str = "Tokens for one request";
    pub(crate) const DPI: &str = "Resolution for PDF pages";
    pub(crate) const RENDERER: &str = "PDF pages are drawn by";
    pub(crate) const PDFIUM: &str = "Folder of pdfium's library";
    pub(crate) const PDFIUM_HINT: &str = "The usual places";
    pub(crate) const CHOOSE_PDFIUM: &str = "Choose the library's folder…";
    pub(crate) const USE_PDFIUM: &str = "Use this library";
    pub(crate) const LANGUAGE: &str = "Language";
    pub(crate) const ENGLISH: &str = "English";
    pub(crate) const SHOWN: &str = "Text";

    /// What draws the pages of a PDF.
    pub(crate) fn renderer(renderer: Renderer) -> &'static str {
        match renderer {
            Renderer::Automatic => "pdfium if it is found, else hayro",
            Renderer::Pdfium => "pdfium",
            Renderer::BuiltIn => "hayro, which is built in",
        }
    }

    /// How the processor keeps weights.
    pub(crate) fn weights(format: WeightFormat) -> &'static str {
        match format {
            WeightFormat::Auto => "As stored: bf16 or 32-bit floats",
            WeightFormat::F32 => "32-bit floats",
            WeightFormat::Bf16 => "bf16, where stored so",
            WeightFormat::Int8 => "8-bit integers: smaller and faster",
        }
    }

    /// A device as it is offered.
    pub(crate) fn device(choice: &engine::device::Choice) -> String {
        match (&choice.reason, choice.memory) {
            (Some(reason), _) => format!("{}: {reason}", choice.device),
            (None, Some(memory)) => {
                format!("{}: {}, {:.0} GB", choice.device, choice.name, memory as f64 / 1e9)
            }
            (None, None) => format!("{}: {}", choice.device, choice.name),
        }
    }
}

/// The about page.
pub(crate) mod about {
    pub(crate) const TITLE: &str = "GravityOCR Desktop";
    pub(crate) const TEXT: [&str; 3] = [
        "Turns scans and PDFs into Markdown on your own machine. One set of weights drafts a block of tokens by block diffusion and verifies it with its own autoregressive path: the text is exactly what token-by-token decoding gives.",
        "Nothing leaves this computer.",
        "MIT licence. The method is GravityOCR's (Trillion Labs, 2026), on the architecture of GLM-OCR.",
    ];

    pub(crate) fn version(version: &str) -> String {
        format!("Version {version}")
    }
}

/// What the mouse does, for the page of shortcuts.
pub(crate) fn mouse(group: super::command::Group) -> &'static [(&'static str, &'static str)] {
    use super::command::Group;
    match group {
        Group::Region => &[
            ("Draw a region", "Drag on paper"),
            ("Draw over a region", "Ctrl+Drag"),
            ("Select several", "Ctrl+Click, Alt+Drag"),
            ("Nudge", "Arrows, Shift: ten pixels"),
            ("Resize", "Alt+Arrows"),
        ],
        Group::View => &[("Zoom at the pointer", "Ctrl+Wheel"), ("Move the page", "Middle drag, Space+Drag")],
        _ => &[],
    }
}

/// What goes wrong with a file without its fault.
pub(crate) mod librarian {
    pub(crate) const DOCUMENT_STOPPED: &str = "an internal error stopped this document";
    pub(crate) const PAGE_STOPPED: &str = "an internal error stopped this page";
}

/// The canvas.
pub(crate) mod canvas {
    /// Its accessible name.
    pub(crate) const NAME: &str = "Page canvas";
    /// Over the reason why a page cannot be shown.
    pub(crate) const NO_PICTURE: &str = "This page cannot be shown";
}

/// The rounds panel and the replay.
pub(crate) mod rounds {
    use crate::window::workspace::chart::Ending;
    use crate::window::workspace::log::RoundCounts;
    use crate::window::workspace::replay::Pace;

    pub(crate) const SELECT: &str = "Select a region that was read to see its rounds";
    pub(crate) const NOT_READ: &str = "Not read yet: recognize this region to see its rounds";
    pub(crate) const WAITING: &str = "This region waits for its turn";
    pub(crate) const NONE: &str = "No rounds: the model was not asked about this region";
    pub(crate) const LOADING: &str = "Loading the rounds…";

    pub(crate) const REQUESTS: &str = "Requests";
    pub(crate) const ROUNDS: &str = "Rounds";
    pub(crate) const TOKENS: &str = "Tokens";
    pub(crate) const FORWARDS: &str = "Forwards";
    pub(crate) const PER_FORWARD: &str = "Tokens per forward";
    pub(crate) const PER_ROUND: &str = "Accepted per round";
    pub(crate) const RATE: &str = "Tokens per second";
    pub(crate) const NO_DRAFTS: &str = "no drafts";

    pub(crate) const REQUESTS_HELP: &str = "Pictures handed to the model, each with a prompt of its own";
    pub(crate) const ROUNDS_HELP: &str = "Times that tokens were committed, the prompts' own included";
    pub(crate) const TOKENS_HELP: &str = "Committed tokens, end tokens included";
    pub(crate) const FORWARDS_HELP: &str = "Passes through the decoder for drafts and for their verification";
    pub(crate) const PER_FORWARD_HELP: &str =
        "What the decoder's forwards committed, by their number; one by one it is 1";
    pub(crate) const PER_ROUND_HELP: &str = "Accepted drafts, over the rounds that drafted";
    pub(crate) const RATE_HELP: &str = "While decoding; the picture and the prompt are left out";
    pub(crate) const NO_DRAFTS_HELP: &str = "This region was decoded one token after the other";

    pub(crate) const VISION: &str = "vision";
    pub(crate) const PREFILL: &str = "prefill";
    pub(crate) const DRAFT: &str = "draft";
    pub(crate) const VERIFY: &str = "verify";
    /// The forwards of a region that was read without drafts.
    pub(crate) const DECODE: &str = "decode";
    pub(crate) const TIMES: &str = "Time";

    pub(crate) const DRAFTED: &str = "drafted";
    pub(crate) const ACCEPTED: &str = "accepted";
    pub(crate) const CORRECTED: &str = "corrected";
    pub(crate) const BONUS: &str = "bonus";
    pub(crate) const COMMITTED: &str = "committed";
    pub(crate) const PROMPT: &str = "prompt";

    pub(crate) const POSITION: &str = "Replay position";
    pub(crate) const PACE: &str = "Replay pace";
    pub(crate) const PLAY: &str = "Play rounds";
    pub(crate) const PAUSE: &str = "Pause";
    pub(crate) const FORWARD: &str = "Step forward";
    pub(crate) const BACK: &str = "Step back";
    pub(crate) const CLOSE: &str = "Close replay";

    /// Which region the panel is about; numbers from 1.
    pub(crate) fn title(region: usize, label: &str, page: usize) -> String {
        format!("Region {region} · {label} · page {page}")
    }

    /// Milliseconds, as exact as they are worth telling.
    pub(crate) fn ms(ms: f64) -> String {
        match ms {
            ms if ms >= 9_999.5 => format!("{:.1} s", ms / 1e3),
            ms if ms >= 99.95 => format!("{ms:.0} ms"),
            ms if ms >= 9.995 => format!("{ms:.1} ms"),
            ms => format!("{ms:.2} ms"),
        }
    }

    /// A number and its noun.
    pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
        format!("{number} {}", if number == 1 { one } else { many })
    }

    /// How far a replay is.
    pub(crate) fn position(round: usize, rounds: usize) -> String {
        format!("Round {round} of {rounds}")
    }

    /// The bars as a screen reader tells them.
    pub(crate) fn summary(rounds: usize, requests: usize, tokens: usize, forwards: u32) -> String {
        format!(
            "{} in {}: {}, {}",
            count(rounds, "round", "rounds"),
            count(requests, "request", "requests"),
            count(tokens, "token", "tokens"),
            count(forwards as usize, "forward", "forwards"),
        )
    }

    /// The height that the tallest bar stands for.
    pub(crate) fn scale(tokens: u32) -> String {
        tokens.to_string()
    }

    /// A round in one sentence. `request` is its number where there are several; `forwards` are the first and the last.
    pub(crate) fn round(
        request: Option<usize>,
        counts: &RoundCounts,
        kept: u32,
        ending: Option<Ending>,
        forwards: Option<(u32, u32)>,
    ) -> String {
        let mut text = match request {
            Some(request) => format!("Request {request}, round {}: ", counts.round),
            None => format!("Round {}: ", counts.round),
        };
        if counts.drafted > 0 {
            text += &format!("{} drafted, {kept} accepted", counts.drafted);
            text += match ending {
                Some(Ending::Correction) => ", 1 corrected",
                Some(Ending::Bonus) => ", 1 bonus",
                None => ", cut at the end",
            };
        } else {
            text += &count(counts.tokens as usize, "token", "tokens");
            text += if counts.round == 0 { " with the prompt" } else { ", no draft" };
        }
        match forwards {
            Some((first, last)) if first == last => text += &format!(", forward {first}"),
            Some((first, last)) => text += &format!(", forwards {first}-{last}"),
            None => {}
        }
        text
    }

    /// A pace to choose.
    pub(crate) fn pace(pace: Pace) -> String {
        match pace {
            Pace::Rounds(1.0) => "1 round/s".to_owned(),
            Pace::Rounds(rounds) => format!("{rounds} rounds/s"),
            Pace::Measured(1.0) => "true pace".to_owned(),
            Pace::Measured(times) if times < 1.0 => format!("{} × slower", 1.0 / times),
            Pace::Measured(times) => format!("{times} × faster"),
        }
    }
}

/// The race.
pub(crate) mod race {
    use super::rounds::{count, ms};
    use crate::window::workspace::race::Way;

    pub(crate) const TITLE: &str = "Race";
    pub(crate) const WAITING: &str = "The engine is starting";
    pub(crate) const DONE: &str = "Each way was measured alone, one after the other; the median counts";
    pub(crate) const STOPPED: &str = "Stopped; what was measured so far stays";
    pub(crate) const DECODING: &str = "Decoding";
    pub(crate) const DECODING_HELP: &str = "Time of all decoder forwards: the median, and the shortest and the longest";
    pub(crate) const ALL_RUNS: &str = "All runs";
    pub(crate) const ALL_RUNS_HELP: &str = "The decoding time of each run, in order";
    pub(crate) const VISION: &str = "Vision";
    pub(crate) const VISION_HELP: &str = "The picture's way to the decoder, the same for both";
    pub(crate) const PREFILL: &str = "Prefill";
    pub(crate) const PREFILL_HELP: &str = "The prompt's forward, the same for both";
    pub(crate) const WHOLE: &str = "Whole requests";
    pub(crate) const WHOLE_HELP: &str = "Vision, prefill and decoding";

    pub(crate) const AGAIN: &str = "Race again";
    pub(crate) const AGAIN_HELP: &str = "Measure both ways anew";
    pub(crate) const STOP: &str = "Stop";
    pub(crate) const STOP_HELP: &str = "Measure no more; what was measured stays";
    pub(crate) const CLOSE: &str = "Close";
    pub(crate) const CLOSE_HELP: &str = "Close the race (Esc)";
    pub(crate) const PLAY: &str = "Play both";
    pub(crate) const PACE: &str = "Pace of both";
    pub(crate) const PACE_HELP: &str = "Both are played on one clock from their measured times, vision included; lines that were read side by side follow one another";

    /// Paces at which a race is played, times the measured one.
    pub(crate) const PACES: [f32; 4] = [1.0, 0.1, 0.01, 0.001];

    /// The name of a way.
    pub(crate) fn way(way: Way) -> &'static str {
        match way {
            Way::Spec => "Draft and verify",
            Way::Ar => "Autoregressive",
        }
    }

    /// What is measured now; the run from 1.
    pub(crate) fn measuring(way: &str, run: usize, runs: usize) -> String {
        format!("Measuring: {way}, run {run} of {runs}")
    }

    /// Why there is only one lane.
    pub(crate) fn only_ar(reason: &str) -> String {
        format!("Only the autoregressive lane runs: {reason}")
    }

    /// The name of a lane's progress bar.
    pub(crate) fn progress(way: &str) -> String {
        format!("Progress of {way}")
    }

    /// A median with its range.
    pub(crate) fn median(median: f64, shortest: f64, longest: f64) -> String {
        format!("{} ({} to {})", ms(median), ms(shortest), ms(longest))
    }

    /// Both ways gave the same.
    pub(crate) fn same(tokens: usize) -> String {
        format!("The same {}", count(tokens, "token", "tokens"))
    }

    /// Where the ways part; both numbers from 1.
    pub(crate) fn differ(request: usize, token: usize) -> String {
        format!("The tokens differ, first at token {token} of request {request}")
    }

    /// The time of draft and verify by that of one by one.
    pub(crate) fn ratio(ratio: f64, overlap: bool) -> String {
        let mut text = if (ratio - 1.0).abs() < 0.005 {
            "Draft and verify took as long as decoding one by one".to_owned()
        } else if ratio < 1.0 {
            format!("Draft and verify took {ratio:.2} times the time: {:.2} times as fast", 1.0 / ratio)
        } else {
            format!("Draft and verify took {ratio:.2} times the time: it was slower here")
        };
        if overlap {
            text += "; the measured times overlap, so this may be chance";
        }
        text
    }

    /// A pace to choose.
    pub(crate) fn pace(pace: f32) -> String {
        if pace == 1.0 { "true pace".to_owned() } else { format!("{:.0} × slower", 1.0 / pace) }
    }
}

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

/// Boxes on the page.
pub(crate) mod regions {
    pub(crate) const READ: &str = "Recognize";
    pub(crate) const READ_AGAIN: &str = "Recognize again";
    pub(crate) const READ_AS: &str = "Recognize as";
    pub(crate) const KIND: &str = "Type";
    pub(crate) const LEAVE_OUT: &str = "Leave out of the document";
    pub(crate) const TAKE_IN: &str = "Take into the document";

    pub(crate) fn number(number: usize) -> String {
        number.to_string()
    }

    /// What a screen reader says of a box.
    pub(crate) fn name(number: usize, kind: &str, state: &str) -> String {
        format!("Region {number}: {kind}, {state}")
    }

    /// Beside the pointer while a box is drawn or resized.
    pub(crate) fn size(width: u32, height: u32) -> String {
        format!("{width} × {height} px")
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

/// What is said around file dialogs.
pub(crate) mod dialogs {
    use crate::window::workspace::path_form::Asked;

    /// What a dialog is for.
    pub(crate) fn title(asked: Asked) -> &'static str {
        match asked {
            Asked::Files => "Open files",
            Asked::Folder => "Open a folder",
            Asked::Project => "Open a project",
            Asked::SaveProject => "Save the project",
            Asked::Export => "Export to",
            Asked::Checkpoint => "Choose a checkpoint folder",
            Asked::Pdfium => "Choose the folder of pdfium's library",
        }
    }

    /// The button that agrees.
    pub(crate) fn verb(asked: Asked) -> &'static str {
        match asked {
            Asked::Files | Asked::Folder | Asked::Project => "Open",
            Asked::SaveProject => "Save",
            Asked::Export | Asked::Checkpoint | Asked::Pdfium => "Choose",
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

    pub(crate) const TITLE: &str = "Export as";
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
}

/// Proposed for a project without a document.
pub(crate) const UNTITLED_PROJECT: &str = "project.gravityocr";
/// Said when the export's form has to do without a dialog.
pub(crate) const NO_DIALOG_EXPORT: &str = "This system shows no file dialog; type the path instead";
pub(crate) const EXPORT_CANCELLED: &str = "The export was cancelled; nothing was written";
pub(crate) const COPIED: &str = "Copied";

pub(crate) fn project_saved(path: &std::path::Path) -> String {
    format!("Saved as {}", path.display())
}

/// What is said when the window or the engine does not start.
pub(crate) mod start {
    pub(crate) const NO_DISPLAY: &str =
        "there is no display to open a window on; to read files, use: gravityocr recognize FILES";
    pub(crate) const STOPPED: &str = "The engine could not start: an internal error stopped it; recognize to try again";

    pub(crate) fn no_window(error: &dyn std::error::Error) -> String {
        format!("the window could not be opened ({error}); to read files without it, use: gravityocr recognize FILES")
    }

    pub(crate) fn no_thread(error: &std::io::Error) -> String {
        format!("The engine could not start: {}; recognize to try again", crate::output::reason(error))
    }
}
