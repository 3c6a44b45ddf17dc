//! Dialogs, projects, exports and the session: asking, and what becomes of the answers.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

use super::app::Window;
use super::dialogs::Answer;
use super::librarian::Want;
use super::state::{Confirm, Modal, Tone, View};
use super::strings;
use super::workspace::export::{self, ExportForm, Exported};
use super::workspace::history::History;
use super::workspace::path_form::{Asked, PathForm};
use super::workspace::project::{PageKey, Project, RegionId};
use super::workspace::project_file::{self, Loaded};
use super::workspace::race::RaceAsk;
use super::workspace::settings::Settings;

impl Window {
    /// Shows a file dialog.
    pub(super) fn browse(&mut self, asked: Asked) {
        let waker = self.waker();
        match asked {
            Asked::Files => self.dialogs.open_files(waker),
            Asked::Folder | Asked::Checkpoint | Asked::Pdfium => self.dialogs.open_folder(asked, waker),
            Asked::Project => self.dialogs.open_project(waker),
            Asked::SaveProject => {
                let proposed = self.proposed_project();
                self.dialogs.save_as(asked, &proposed, project_file::EXTENSION, waker);
            }
            Asked::Export => {
                if let Some(Modal::Export(form)) = &self.state.modal {
                    let proposed = form.target().unwrap_or_else(|| form.path.clone().into());
                    self.dialogs.save_as(asked, &proposed, form.format.extension(), waker);
                }
            }
        }
    }

    /// A name for the project file: that of the document, beside it.
    fn proposed_project(&self) -> PathBuf {
        if let Some(path) = &self.state.project_file {
            return path.clone();
        }
        let Some(document) = self.state.document().or(self.state.project.documents.first()) else {
            return PathBuf::from(strings::UNTITLED_PROJECT);
        };
        let form = ExportForm::new(document, None, &self.state.settings);
        form.target().unwrap_or_default().with_extension(project_file::EXTENSION)
    }

    /// Takes in the answers of dialogs, of files being read and written, and of the session.
    pub(super) fn hear_files(&mut self) {
        match self.dialogs.poll() {
            Some(Answer::Chosen(asked, paths)) => self.chosen(asked, paths, true),
            Some(Answer::Unavailable(asked)) if asked != Asked::Export => {
                self.state.modal = Some(Modal::Path(PathForm::new(asked)));
            }
            Some(Answer::Unavailable(_)) => self.state.tell(Tone::Warning, strings::NO_DIALOG_EXPORT),
            Some(Answer::Cancelled(_)) | None => {}
        }
        if let Some(loaded) = self.loading.as_ref().and_then(super::workspace::background_task::BackgroundTask::done) {
            self.loading = None;
            match loaded {
                Ok(loaded) => self.take_project(loaded),
                Err(message) => self.state.tell(Tone::Error, message),
            }
        }
        if let Some((saved, revision)) = self.saving.as_ref().and_then(|(task, at)| task.done().map(|done| (done, *at)))
        {
            self.saving = None;
            match saved {
                Ok(path) => {
                    self.state.tell(Tone::Good, strings::project_saved(&path));
                    self.state.settings.remember(&path);
                    self.state.project_file = Some(path);
                    self.state.saved_revision = revision;
                }
                Err(message) => self.state.tell(Tone::Error, message),
            }
        }
        let mut over = Vec::new();
        self.state.exports.retain(|export| match export.done() {
            Some(done) => {
                over.push(done);
                false
            }
            None => true,
        });
        for done in over {
            match done {
                Ok(Exported::Written { path, left_out }) => {
                    left_out.into_iter().for_each(|sentence| self.state.tell(Tone::Warning, sentence));
                    self.state.tell(Tone::Good, strings::export::written(&path));
                }
                Ok(Exported::Exists(form)) => self.state.modal = Some(Modal::Export(form)),
                Ok(Exported::Cancelled) => self.state.tell(Tone::Good, strings::EXPORT_CANCELLED),
                Err(message) => self.state.tell(Tone::Error, message),
            }
        }
    }

    /// A path was chosen or typed. `agreed`: the dialog has asked whether a file may be replaced.
    pub(super) fn chosen(&mut self, asked: Asked, paths: Vec<PathBuf>, agreed: bool) {
        let Some(first) = paths.first().cloned() else { return };
        match asked {
            Asked::Files | Asked::Folder => self.open_paths(paths),
            Asked::Project => self.ask_open_project(first),
            Asked::SaveProject => self.save_project_to(first, agreed),
            Asked::Export => {
                if let Some(Modal::Export(form)) = &mut self.state.modal {
                    form.choose(first);
                }
            }
            Asked::Checkpoint => {
                let settings = Settings { checkpoint: Some(first), ..self.state.settings.clone() };
                self.change_settings(settings);
            }
            Asked::Pdfium => {
                let settings = Settings { pdfium: Some(first), ..self.state.settings.clone() };
                self.change_settings(settings);
            }
        }
    }

    /// Opens a project file; asks first when work would be lost.
    pub(super) fn ask_open_project(&mut self, path: PathBuf) {
        self.state.finish_edit();
        let unsaved = self.state.history.revision() != self.state.saved_revision;
        if unsaved && self.state.project.documents.iter().any(|document| self.state.has_work(document.id)) {
            self.state.modal = Some(Modal::Confirm(Confirm::OpenProject(path)));
        } else {
            self.open_project(path);
        }
    }

    /// Opens a project file in the place of what is open.
    pub(super) fn open_project(&mut self, path: PathBuf) {
        let waker = self.waker();
        self.loading = Some(project_file::start_load(path, waker));
    }

    fn take_project(&mut self, loaded: Loaded) {
        let Loaded { project, page, path } = loaded.apart_from(&self.state.project);
        self.replace_project(project, page);
        self.state.saved_revision = self.state.history.revision();
        self.state.settings.remember(&path);
        self.state.project_file = Some(path);
    }

    fn replace_project(&mut self, project: Project, page: Option<PageKey>) {
        self.race(RaceAsk::Close);
        let state = &mut self.state;
        state.cancel_run();
        state.modal.take_if(|modal| modal.document().is_some());
        state.project.documents.iter().for_each(|document| self.librarian.want(Want::Close(document.id)));
        self.opening = None;
        state.sheets.forget(|_| true);
        state.history = History::default();
        state.replay = None;
        state.view = View { camera: state.view.camera, ..View::default() };
        let first = project.documents.first().map(|document| PageKey { document: document.id, page: 0 });
        let page = page.filter(|key| project.document(key.document).is_some());
        state.project = project;
        state.view.page = page.or(first);
    }

    /// Saves the project where it was saved before, or asks where.
    pub(super) fn save_project(&mut self) {
        match self.state.project_file.clone() {
            Some(path) => self.save_project_to(path, true),
            None => self.browse(Asked::SaveProject),
        }
    }

    fn save_project_to(&mut self, path: PathBuf, replace: bool) {
        if self.saving.is_some() {
            return;
        }
        // A dialog that was answered without the ending asked about another file.
        let target = project_file::with_extension(path.clone());
        let replace = replace && target == path;
        let revision = self.state.history.revision();
        let (state, waker) = (&self.state, self.waker());
        let task = project_file::start_save(&state.project, state.view.page, target, replace, waker);
        self.saving = Some((task, revision));
    }

    /// Asks what to export and how.
    pub(super) fn ask_export(&mut self) {
        let page = self.state.view.page.map(|key| key.page);
        if let Some(document) = self.state.document() {
            self.state.modal = Some(Modal::Export(ExportForm::new(document, page, &self.state.settings)));
        }
    }

    /// Writes what the form describes.
    pub(super) fn export(&mut self, form: ExportForm) {
        self.state.modal = None;
        let context = self.context.clone();
        let Some(document) = self.state.project.document(form.document) else { return };
        let exporting = export::start(form, document, &self.state.settings, move || context.request_repaint());
        self.state.exports.push(exporting);
    }

    /// Takes over what the session has kept, once; then opens the files that were named at the start.
    pub(super) fn hear_session(&mut self) {
        if let Some(restored) = self.session.restored() {
            if !restored.project.documents.is_empty() {
                self.replace_project(restored.project, restored.page);
            }
            self.state.project_file = restored.project_file;
            self.state.saved_revision = if restored.unsaved {
                self.state.history.revision().wrapping_sub(1)
            } else {
                self.state.history.revision()
            };
            restored.warnings.into_iter().for_each(|warning| self.state.tell(Tone::Warning, warning));
        }
        let tick = self.session.tick(&self.state, Instant::now());
        if let Some(again) = tick.again {
            self.context.request_repaint_after(again);
        }
        if let Some(trouble) = tick.trouble {
            self.state.tell(Tone::Error, trouble);
        }
    }

    /// Copies regions of the page that is looked at, as Markdown.
    pub(super) fn copy_regions(&mut self, ids: &BTreeSet<RegionId>) {
        let text = self.state.page().map(|page| super::clipboard::regions_markdown(page, ids));
        self.copy(text.unwrap_or_default(), None);
    }

    /// Copies text, with cells for spreadsheets beside it where there are any.
    pub(super) fn copy(&mut self, text: String, html: Option<String>) {
        if text.is_empty() {
            return;
        }
        let rich = html.is_some_and(|html| super::clipboard::copy_rich(html, text.clone()).is_ok());
        if !rich {
            super::clipboard::copy_plain(&self.context, text);
        }
        self.state.tell(Tone::Good, strings::COPIED);
    }
}
