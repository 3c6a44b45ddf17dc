//! Writing the document where a person wants it: what is asked (`ExportForm`), and the thread that writes (`write`).

mod write;

use std::path::{Path, PathBuf};

use eframe::egui::{self, Button, Key, ProgressBar, RichText, TextEdit, Ui};
use engine::export::Format;
use engine::worker::Source;

pub(crate) use self::write::Exporting;
use super::action::{Action, Actions};
use super::colours;
use super::dialogs::{Asked, PathForm};
use super::project::{Document, DocumentId};
use super::settings::Settings;
use super::state::{Modal, State};
use super::strings::export as words;

/// The formats that are offered.
const FORMATS: [Format; 4] = [Format::Markdown, Format::Html, Format::Json, Format::Text];

/// Width of the labels, points.
const LABELS: f32 = 64.0;

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

    fn settle_path(&mut self) {
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
    fn shows_figures(&self) -> bool {
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
fn stem(name: &str) -> String {
    let stem = Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let plain: String =
        stem.chars().map(|c| if c.is_control() || r#"/\:*?"<>|"#.contains(c) { '_' } else { c }).take(120).collect();
    let plain = plain.trim().trim_end_matches('.');
    if plain.is_empty() { words::UNTITLED.to_owned() } else { plain.to_owned() }
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

/// Shows the form, inside of a modal. It opens with the focus on Export, and Enter in the field of the path exports too.
pub(crate) fn show(ui: &mut Ui, form: &ExportForm, state: &State, actions: &mut Actions) {
    ui.set_width(520.0);
    ui.heading(words::TITLE);
    ui.add_space(ui.spacing().item_spacing.y);
    let mut changed = form.clone();
    let mut entered = false;
    let document = state.project.document(form.document);
    row(ui, words::FORMAT, |ui, _| {
        ui.horizontal_wrapped(|ui| {
            for format in FORMATS {
                if ui.radio(form.format == format, words::format(format)).clicked() {
                    changed.set_format(format);
                }
            }
        });
    });
    row(ui, words::SCOPE, |ui, _| {
        ui.horizontal_wrapped(|ui| {
            let name = document.map(|document| document.name.as_str()).unwrap_or_default();
            ui.radio_value(&mut changed.scope, Scope::Document, words::WHOLE_DOCUMENT).on_hover_text(name);
            if let Some(page) = form.page {
                ui.radio_value(&mut changed.scope, Scope::Page, words::one_page(page));
            }
        });
    });
    row(ui, words::CONTENT, |ui, _| content(ui, &mut changed));
    row(ui, words::FILE, |ui, label| {
        ui.horizontal(|ui| {
            let button = ui.add(Button::new(words::CHOOSE));
            let field = TextEdit::singleline(&mut changed.path).desired_width(ui.available_width());
            let field = ui.add(field).labelled_by(label);
            if field.changed() {
                changed.settle_path();
            }
            entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
            if button.clicked() {
                actions.ask(Action::Browse(Asked::Export));
            }
        });
        target(ui, &mut changed);
    });
    ui.add_space(ui.spacing().item_spacing.y);
    let read = document.is_some_and(|document| write::is_read(document, changed.scope, changed.page));
    if !read {
        ui.label(RichText::new(words::NOTHING_READ).color(colours::warning(ui.visuals())));
    }
    ui.horizontal(|ui| {
        let ready = read && changed.target().is_some() && (!changed.exists || changed.replace);
        let export = ui.add_enabled(ready, Button::new(words::EXPORT));
        if has_opened(ui) && ready {
            export.request_focus();
        }
        if export.clicked() || (entered && ready) {
            actions.ask(Action::Export(changed.clone()));
        }
        if ui.button(words::CANCEL).clicked() {
            actions.ask(Action::Modal(None));
        }
    });
    if changed != *form {
        actions.ask(Action::Modal(Some(Modal::Export(changed))));
    }
}

/// Whether the form was not there in the frame before.
fn has_opened(ui: &Ui) -> bool {
    let id = egui::Id::unique("export form shown");
    let frame = ui.ctx().cumulative_frame_nr();
    let before = ui.data_mut(|data| {
        let before = data.get_temp::<u64>(id);
        data.insert_temp(id, frame);
        before
    });
    before.is_none_or(|before| before + 1 < frame)
}

/// A row of the form: its label, and what stands beside it.
fn row(ui: &mut Ui, label: &str, add: impl FnOnce(&mut Ui, egui::Id)) {
    ui.horizontal_top(|ui| {
        let size = egui::vec2(LABELS, ui.spacing().interact_size.y);
        let layout = egui::Layout::left_to_right(egui::Align::Center);
        let label = ui.allocate_ui_with_layout(size, layout, |ui| {
            ui.set_min_width(LABELS);
            ui.label(label)
        });
        ui.vertical(|ui| add(ui, label.inner.id));
    });
    ui.add_space(ui.spacing().item_spacing.y);
}

/// What goes into the file, as far as its format leaves a choice.
fn content(ui: &mut Ui, form: &mut ExportForm) {
    let json = form.format == Format::Json;
    let markdown = form.format == Format::Markdown;
    let figures = form.shows_figures();
    ui.add_enabled_ui(!json, |ui| ui.checkbox(&mut form.furniture, words::FURNITURE));
    ui.add_enabled_ui(figures, |ui| ui.checkbox(&mut form.figures, words::FIGURES));
    ui.add_enabled_ui(markdown, |ui| ui.checkbox(&mut form.pipe_tables, words::PIPE_TABLES))
        .response
        .on_hover_text(words::PIPE_TABLES_MORE);
    if json {
        ui.weak(words::JSON_HOLDS_ALL);
    }
}

/// What to know about the place.
fn target(ui: &mut Ui, form: &mut ExportForm) {
    let Some(target) = form.target() else {
        ui.weak(words::NO_NAME);
        return;
    };
    if form.exists {
        ui.label(RichText::new(words::exists(&target)).color(colours::warning(ui.visuals())));
        ui.checkbox(&mut form.replace, words::REPLACE);
    } else if form.figures && form.shows_figures() {
        ui.weak(words::figures_go_to(&write::images(&target)));
    }
}

/// Shows the exports that are being written, each with its Cancel.
pub(crate) fn progress(ui: &mut Ui, exports: &[Exporting], actions: &mut Actions) {
    for (number, export) in exports.iter().enumerate() {
        let (done, total) = export.progress();
        ui.horizontal(|ui| {
            let text = words::progress(export.name(), done, total);
            let share = done as f32 / total.max(1) as f32;
            ui.add(ProgressBar::new(share).text(text).desired_width(320.0));
            let cancel = ui.small_button(words::CANCEL).on_hover_text(words::CANCEL_MORE);
            if cancel.clicked() {
                actions.ask(Action::CancelExport(number));
            }
        });
    }
}

#[cfg(test)]
mod tests;
