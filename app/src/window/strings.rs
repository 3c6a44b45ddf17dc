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

/// The rounds panel and the replay.
pub(crate) mod rounds {
    use crate::window::log::RoundCounts;
    use crate::window::replay::Pace;
    use crate::window::rounds::Ending;

    pub(crate) const SELECT: &str = "Select a region that was read to see its rounds";
    pub(crate) const NOT_READ: &str = "Not read yet: recognize this region to see its rounds";
    pub(crate) const WAITING: &str = "This region waits for its turn";
    pub(crate) const NONE: &str = "No rounds: the model was not asked about this region";

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
    use crate::window::race::Way;

    pub(crate) const TITLE: &str = "Race";
    pub(crate) const WAITING: &str = "The engine is starting";
    pub(crate) const DONE: &str = "Each way was measured alone, one after the other; the median counts";
    pub(crate) const STOPPED: &str = "Stopped; what was measured so far stays";
    pub(crate) const GONE: &str = "The engine has stopped; start the program again";
    pub(crate) const NOTHING: &str = "There is no text in this region that the model would be asked to read";

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
