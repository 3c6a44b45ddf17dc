//! Writing the document where a person wants it: what is asked (`ExportForm`), and the thread that writes (`write`).

mod write;

use std::path::{Path, PathBuf};

use engine::export::Format;
use engine::job::Source;

pub(crate) use self::write::{Exporting, is_read};
use super::path_form::{Asked, PathForm};
use super::project::{Document, DocumentId};
use super::settings::Settings;

/// The name of a file whose document has none.
const UNTITLED: &str = "Untitled";

/// What to write.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExportForm {
    pub(crate) document: DocumentId,
    /// The page that is looked at, from 0, if it is one of the document's.
    pub(crate) page: Option<usize>,
    pub(crate) scope: Scope,
    pub(crate) format: Format,
    pub(crate) furniture: bool,
    pub(crate) pipe_tables: bool,
    /// Whether figures are written into a folder beside the document.
    pub(crate) figures: bool,
    /// Where to, as it is shown and typed; relative to `folder`.
    pub(crate) path: String,
    pub(crate) folder: PathBuf,
    /// What the system's dialog answered: there the person agreed that this file is replaced.
    pub(crate) chosen: Option<PathBuf>,
    /// Whether `path` is our own proposal: it gets another number rather than replacing anything.
    pub(crate) proposed: bool,
    /// Whether something of that name was found when it was to be written.
    pub(crate) exists: bool,
    /// The person agreed that it is replaced.
    pub(crate) replace: bool,
}

/// How much of the document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The page that is looked at.
    Page,
    /// All its pages.
    #[default]
    Document,
}

/// How an export ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Exported {
    /// It is there.
    Written {
        path: PathBuf,
        /// Sentences about pictures that could not be had.
        left_out: Vec<String>,
    },
    /// Something of that name is there; the form asks whether to replace it.
    Exists(ExportForm),
    /// The person stopped it; nothing was written.
    Cancelled,
}

impl ExportForm {
    /// A form for a document, with a name beside its file that is not taken.
    pub(crate) fn new(document: &Document, page: Option<usize>, settings: &Settings) -> Self {
        let folder = match &document.source {
            Source::Path(path) => path.parent().map(Path::to_path_buf),
            Source::Bytes { .. } => None,
        };
        let folder = folder.filter(|folder| folder.is_dir()).or_else(documents_folder).unwrap_or_default();
        let mut form = Self {
            document: document.id,
            page: page.filter(|page| *page < document.pages.len()),
            scope: Scope::Document,
            format: Format::Markdown,
            furniture: settings.furniture,
            pipe_tables: false,
            figures: true,
            path: String::new(),
            folder,
            chosen: None,
            proposed: true,
            exists: false,
            replace: false,
        };
        let plain = form.folder.join(format!("{}.{}", stem(&document.name), form.format.extension()));
        form.path = write::free(&plain).to_string_lossy().into_owned();
        form
    }

    /// Takes the path that the person chose in the system's dialog.
    pub(crate) fn choose(&mut self, path: PathBuf) {
        self.path = path.to_string_lossy().into_owned();
        self.chosen = Some(path);
        self.settle_path();
    }

    /// Another format has another ending.
    pub(crate) fn set_format(&mut self, format: Format) {
        if let Some(bare) = self.path.strip_suffix(&format!(".{}", self.format.extension())) {
            self.path = format!("{bare}.{}", format.extension());
            let proposed = self.proposed;
            self.settle_path();
            self.proposed = proposed;
        }
        self.format = format;
    }

    pub(crate) fn settle_path(&mut self) {
        (self.proposed, self.exists, self.replace) = (false, false, false);
    }

    /// Where to write; none as long as no name is given.
    pub(crate) fn target(&self) -> Option<PathBuf> {
        if let Some(chosen) = self.chosen.as_ref().filter(|chosen| chosen.to_string_lossy() == self.path) {
            return Some(with_ending(chosen.clone(), self.format));
        }
        let typed = PathForm { asked: Asked::Export, text: self.path.clone() }.path()?;
        typed.file_name()?;
        Some(with_ending(self.folder.join(typed), self.format))
    }

    /// Whether the person agreed that the target is replaced.
    pub(crate) fn may_replace(&self) -> bool {
        // A dialog that was answered without an ending asked about another file.
        self.replace || (self.chosen.is_some() && self.chosen == self.target())
    }

    /// Whether the format has a place for figures.
    pub(crate) fn shows_figures(&self) -> bool {
        matches!(self.format, Format::Markdown | Format::Html)
    }
}

/// Starts writing what the form describes. The settings say how PDFs are opened, and with how many dots per inch a page is
/// drawn of which it is not known how it was read. `waker` is called after each page and at the end.
pub(crate) fn start(
    form: ExportForm,
    document: &Document,
    settings: &Settings,
    waker: impl Fn() + Send + Sync + 'static,
) -> Exporting {
    write::start(form, document, settings, waker)
}

/// A document's name without its ending, as a file name that every system takes.
pub(crate) fn stem(name: &str) -> String {
    let stem = Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let plain: String =
        stem.chars().map(|c| if c.is_control() || r#"/\:*?"<>|"#.contains(c) { '_' } else { c }).take(120).collect();
    let plain = plain.trim().trim_end_matches('.');
    if plain.is_empty() { UNTITLED.to_owned() } else { plain.to_owned() }
}

fn with_ending(path: PathBuf, format: Format) -> PathBuf {
    if path.extension().is_some() {
        return path;
    }
    path.with_extension(format.extension())
}

/// Where a pasted document goes: the person's documents.
fn documents_folder() -> Option<PathBuf> {
    let home = std::env::home_dir().filter(|home| home.is_dir())?;
    Some(Some(home.join("Documents")).filter(|folder| folder.is_dir()).unwrap_or(home))
}
