//! The one place that changes the state.

use eframe::egui::{self, ViewportCommand};
use engine::document::Turn;
use engine::region::Label;

use super::action::Action;
use super::app::Window;
use super::canvas::camera::{Zoom, zoomed};
use super::clipboard;
use super::command::Command;
use super::librarian::Want;
use super::state::{Confirm, Fit, Modal, ReadingTab, State, Tone, Tool, Workspace};
use super::workspace::history::{Held, History};
use super::workspace::path_form::Asked;
use super::workspace::project::{PageKey, Project, RegionId};
use super::workspace::race::RaceAsk;
use super::workspace::replay::{Replay, ReplayAsk};
use super::workspace::run::Scope;
use super::workspace::settings::Settings;

impl Window {
    /// Makes a change that was asked for.
    pub(super) fn apply(&mut self, action: Action) {
        let state = &mut self.state;
        if action.leaves_text() {
            state.finish_edit();
        }
        match action {
            Action::Do(command) => {
                if command.enabled(state) {
                    self.command(command);
                } else if let Some(sentence) = command.refusal(state) {
                    state.tell(Tone::Warning, sentence);
                }
            }
            Action::OpenPaths(paths) => self.open_paths(paths),
            Action::PasteImage(image) => self.paste_image(image),
            Action::PasteText(text) => self.paste(Some(text)),
            Action::OpenAgain(document) => state.open_again(document),
            Action::Go(key) => self.go(key),
            Action::Unlock(document, password) => {
                if let Some(document) = state.project.document_mut(document) {
                    document.password = Some(password);
                    document.state = super::workspace::project::DocumentState::Opening;
                }
                state.modal = None;
            }
            Action::AskPassword(document) => {
                state.modal = Some(Modal::Password { document, text: String::new() });
            }
            Action::CancelRun => state.cancel_run(),
            Action::ChooseCheckpoint => self.browse(Asked::Checkpoint),

            Action::Select(ids) => {
                state.view.focus = ids.last().copied();
                state.view.scroll_to = state.view.focus;
                state.view.selection = ids.into_iter().collect();
            }
            Action::ToggleSelect(id) => {
                if !state.view.selection.remove(&id) {
                    state.view.selection.insert(id);
                    state.view.focus = Some(id);
                } else if state.view.focus == Some(id) {
                    state.view.focus = state.view.selection.last().copied();
                }
            }
            Action::Hover(id) => state.view.hover = id,
            Action::Draw(bounds) => {
                state.draw_region(bounds, Label::Text);
                state.view.tool = Tool::Select;
            }
            Action::Reshape { boxes, merge } => state.reshape(&boxes, merge),
            Action::Relabel(label) => state.relabel(label),
            Action::Reorder { region, to } => state.reorder(region, to),
            Action::Recognize(ids) => {
                if let Some(key) = state.view.page {
                    self.recognize(Scope::Regions(key, ids));
                }
            }
            Action::RecognizeAs(label) => {
                state.relabel(label);
                self.command(Command::RecognizeAgain);
            }

            Action::Edit(id) => state.begin_edit(id),
            Action::Editing(text) => {
                if let Some((_, editing)) = &mut state.view.editing {
                    *editing = text;
                }
            }
            Action::FinishEdit => {
                if let Some((id, text)) = state.view.editing.take() {
                    state.edit_text(id, text);
                }
            }
            Action::AbandonEdit => state.view.editing = None,
            Action::Camera(camera) => state.view.camera = camera,
            Action::Tab(tab) => state.view.reading = tab,
            Action::Scrolled => state.view.scroll_to = None,
            Action::Settings(settings) => self.change_settings(*settings),
            Action::Panes(panes) => state.settings.panes = panes,
            Action::Thumbnails(keys) => state.view.thumbnails = keys,
            Action::Modal(modal) => state.modal = modal,
            Action::Confirmed => self.confirmed(),
            Action::Dismiss(text) => state.messages.retain(|message| message.text != text),
            Action::Replay(ask) => state.replay(ask),
            Action::Race(ask) => self.race(ask),
            Action::Copy { text, html } => self.copy(text, html),
            Action::CopyRegions(ids) => self.copy_regions(&ids.into_iter().collect()),
            Action::Browse(asked) => self.browse(asked),
            Action::Typed(asked, path) => self.chosen(asked, vec![path], false),
            Action::Export(form) => self.export(form),
            Action::CancelExport(at) => {
                if let Some(export) = state.exports.get(at) {
                    export.cancel();
                }
            }
        }
    }

    fn command(&mut self, command: Command) {
        use Command::*;
        let state = &mut self.state;
        match command {
            Open => self.browse(Asked::Files),
            OpenFolder => self.browse(Asked::Folder),
            OpenProject => self.browse(Asked::Project),
            SaveProject => self.save_project(),
            SaveProjectAs => self.browse(Asked::SaveProject),
            Export => self.ask_export(),
            Paste => self.paste(None),
            OpenSample => self.open_sample(),
            CloseDocument => {
                if let Some(document) = state.document() {
                    let id = document.id;
                    match state.has_work(id) {
                        true => state.modal = Some(Modal::Confirm(Confirm::CloseDocument(id))),
                        false => self.close(id),
                    }
                }
            }
            Quit => self.context.send_viewport_cmd(ViewportCommand::Close),

            Undo => self.travel(History::undo),
            Redo => self.travel(History::redo),
            SelectAll => {
                let ids = state.page().map(|page| page.regions.iter().map(|region| region.id).collect());
                state.view.selection = ids.unwrap_or_default();
                state.view.focus = state.view.focus.or(state.view.selection.first().copied());
            }
            Delete => state.delete_selected(),
            CopyRegions => {
                let selection = state.view.selection.clone();
                self.copy_regions(&selection);
            }
            CopyPage => {
                let (Some(key), Some(page)) = (state.view.page, state.page()) else { return };
                let text = clipboard::page_markdown(page, key.page, state.settings.furniture);
                self.copy(text, None);
            }
            CopyDocument => {
                let text = state.document().map(|d| clipboard::document_markdown(d, state.settings.furniture));
                self.copy(text.unwrap_or_default(), None);
            }
            CopyTable => {
                let table = state.selected().find_map(|region| clipboard::table(region));
                if let Some((tsv, html)) = table {
                    self.copy(tsv, Some(html));
                }
            }

            PreviousPage => self.look(|state| state.neighbour(false)),
            NextPage => self.look(|state| state.neighbour(true)),
            FirstPage => self.look(|state| state.end_page(false)),
            LastPage => self.look(|state| state.end_page(true)),
            RotateLeft => self.rotate(Turn::Left),
            RotateRight => self.rotate(Turn::Right),
            Detect => {
                if let Some(key) = state.view.page {
                    self.detect(&[key]);
                }
            }
            DetectDocument => {
                let keys: Vec<PageKey> = state.document().map_or(Vec::new(), |document| {
                    let bare = |page: &std::sync::Arc<super::workspace::project::Page>| page.regions.is_empty();
                    let pages = document.pages.iter().enumerate().filter(|(_, page)| bare(page));
                    pages.map(|(page, _)| PageKey { document: document.id, page }).collect()
                });
                if keys.is_empty() {
                    self.state.tell(Tone::Warning, super::strings::ALL_DETECTED);
                }
                self.detect(&keys);
            }

            DrawRegion => {
                state.view.tool = if state.view.tool == Tool::Draw { Tool::Select } else { Tool::Draw };
            }
            NextRegion => state.step_region(true),
            PreviousRegion => state.step_region(false),
            MoveEarlier => state.shift_selected(false),
            MoveLater => state.shift_selected(true),
            EditText => {
                if let Some(id) = state.view.focus {
                    state.begin_edit(id);
                }
            }
            RevertText => {
                if let Some(id) = state.view.focus {
                    state.revert_text(id);
                }
            }

            Recognize => {
                let whole = state.view.selection.is_empty();
                self.command(if whole { RecognizePage } else { RecognizeAgain });
            }
            RecognizePage => {
                if let Some(key) = state.view.page {
                    self.recognize(Scope::Page(key));
                }
            }
            RecognizeDocument => {
                if let Some(key) = state.view.page {
                    self.recognize(Scope::Document(key.document));
                }
            }
            RecognizeAgain => {
                if let Some(key) = state.view.page {
                    let ids: Vec<RegionId> = state.view.selection.iter().copied().collect();
                    self.recognize(Scope::Regions(key, ids));
                }
            }
            Cancel => self.cancel(),
            PlayRounds => state.toggle_replay(),

            Race => {
                if let Some(id) = state.view.focus {
                    self.race(RaceAsk::Start(id));
                }
            }
            ZoomIn => self.zoom(Zoom::In),
            ZoomOut => self.zoom(Zoom::Out),
            ActualSize => self.zoom(Zoom::Actual),
            FitPage => state.view.camera.fit = Fit::Page,
            FitWidth => state.view.camera.fit = Fit::Width,
            TogglePages => state.settings.panes.pages ^= true,
            ToggleReading => state.settings.panes.reading ^= true,
            ToggleRounds => state.settings.panes.rounds ^= true,
            ToggleColours => state.settings.colours ^= true,
            ToggleGhosts => state.settings.ghosts ^= true,
            ToggleRefused => state.settings.refused ^= true,
            ToggleFurniture => state.settings.furniture ^= true,
            LargerText => self.scale(10),
            SmallerText => self.scale(-10),
            Settings => {
                state.modal = Some(Modal::Settings);
                self.list_devices();
            }
            Shortcuts => state.modal = Some(Modal::Shortcuts),
            About => state.modal = Some(Modal::About),
        }
    }

    /// Esc: the innermost thing is left first, the run last.
    fn cancel(&mut self) {
        let state = &mut self.state;
        if state.modal == Some(Modal::Race) {
            self.race(RaceAsk::Close);
        } else if state.modal.is_some() {
            state.modal = None;
        } else if state.view.editing.is_some() {
            state.view.editing = None;
        } else if state.view.tool == Tool::Draw {
            state.view.tool = Tool::Select;
        } else if state.is_busy() {
            state.cancel_run();
        } else if state.detecting > 0 {
            self.librarian.want(Want::CancelDetection);
        } else if state.replay.is_some() {
            state.replay = None;
        } else {
            state.view.select(None);
        }
    }

    fn zoom(&mut self, zoom: Zoom) {
        self.state.view.camera = zoomed(&self.context, &self.state.view.camera, zoom);
    }

    /// Looks at another page.
    pub(super) fn go(&mut self, key: PageKey) {
        if self.state.project.document(key.document).is_none() {
            return; // it was closed in the same moment
        }
        if let Some(run) = &mut self.state.run {
            run.follow = run.page_progress(key).is_some();
        }
        self.state.go(key);
    }

    fn look(&mut self, page: impl Fn(&State) -> Option<PageKey>) {
        if let Some(key) = page(&self.state) {
            self.go(key);
        }
    }

    fn rotate(&mut self, turn: Turn) {
        let Some(key) = self.state.view.page else { return };
        if self.state.rotate(turn) {
            self.state.sheets.forget(|other| other == key);
        }
    }

    fn detect(&mut self, keys: &[PageKey]) {
        let state = &mut self.state;
        state.detect_merge = state.history.revision() | 1 << 62;
        let (later, now): (Vec<PageKey>, Vec<PageKey>) = keys.iter().partition(|key| state.lock(**key).is_some());
        if let Some(key) = later.first() {
            state.refuses(*key);
        }
        now.into_iter().for_each(|key| self.want_detection(key));
    }

    /// Asks for a page's regions as the page lies now.
    pub(super) fn want_detection(&self, key: PageKey) {
        if let Some(page) = self.state.project.page(key) {
            let dpi = self.state.resolution(key) as f32;
            self.librarian.want(Want::Detect { key, turn: page.turn, dpi });
        }
    }

    /// Undoes or redoes, and shows where.
    fn travel(&mut self, travel: impl Fn(&mut History, &mut Project) -> Result<Vec<PageKey>, Held>) {
        let state = &mut self.state;
        let replayed = state.replayed();
        let Workspace { history, project, .. } = &mut state.workspace;
        match travel(history, project) {
            Ok(touched) => {
                state.close_stale_replay(replayed);
                self.show_touched(&touched);
            }
            Err(Held) => state.tell(Tone::Warning, super::workspace::notice::Notice::UndoLocked),
        }
    }

    /// Shows a page that undo or redo changed.
    fn show_touched(&mut self, touched: &[PageKey]) {
        let state = &mut self.state;
        if let (Some(&first), false) = (touched.first(), touched.iter().any(|key| state.view.page == Some(*key))) {
            self.go(first);
        }
        let state = &mut self.state;
        for &key in touched {
            let turn = state.project.page(key).map(|page| page.turn);
            let stale = state.sheets.full(key).is_some_and(|sheet| Some(sheet.turn) != turn)
                || state.sheets.thumbnail(key).is_some_and(|thumbnail| Some(thumbnail.turn) != turn);
            if stale {
                state.sheets.forget(|other| other == key);
            }
        }
        if let Some(key) = state.view.page {
            let page = state.project.page(key).cloned();
            state.view.drop_strangers(page.as_deref(), key);
        }
    }

    pub(super) fn change_settings(&mut self, settings: Settings) {
        let settings = settings.sane();
        let before = std::mem::replace(&mut self.state.settings, settings);
        let after = &self.state.workspace.settings;
        if before.checkpoint != after.checkpoint {
            self.state.devices.size_up(after);
        }
        if before.engine() != after.engine() {
            self.state.cancel_run();
            self.race(RaceAsk::Close);
            self.drop_engine();
        }
        if before.pdf() != self.state.settings.pdf() {
            self.draw_anew();
        }
        if before.dpi != self.state.settings.dpi {
            self.state.forgive_pages();
        }
        self.dress();
    }

    fn scale(&mut self, percent: i32) {
        let scale = self.state.settings.scale.saturating_add_signed(percent);
        self.state.settings.scale = scale.clamp(50, 300);
        self.dress();
    }

    /// Puts theme and text size into force.
    pub(super) fn dress(&self) {
        use super::workspace::settings::Theme;
        let settings = &self.state.settings;
        self.context.set_theme(match settings.theme {
            Theme::System => egui::ThemePreference::System,
            Theme::Light => egui::ThemePreference::Light,
            Theme::Dark => egui::ThemePreference::Dark,
        });
        self.context.set_zoom_factor(settings.scale as f32 / 100.0);
    }

    fn confirmed(&mut self) {
        let Some(Modal::Confirm(question)) = self.state.modal.take() else { return };
        match question {
            Confirm::CloseDocument(document) => self.close(document),
            Confirm::OpenProject(path) => self.open_project(path),
        }
    }
}

impl Workspace {
    /// The first page that is open, or the last.
    fn end_page(&self, last: bool) -> Option<PageKey> {
        let with_pages = |document: &&super::workspace::project::Document| !document.pages.is_empty();
        let mut documents = self.project.documents.iter();
        let document = if last { documents.rfind(with_pages) } else { documents.find(with_pages) }?;
        let page = if last { document.pages.len().saturating_sub(1) } else { 0 };
        Some(PageKey { document: document.id, page })
    }

    /// Whether the focused region is the page's last, or its first.
    pub(crate) fn is_at_last_region(&self, forward: bool) -> bool {
        let regions = self.page().map_or(&[][..], |page| &page.regions);
        let last = if forward { regions.last() } else { regions.first() };
        last.is_some_and(|region| self.view.focus == Some(region.id))
    }

    fn step_region(&mut self, forward: bool) {
        let Some(page) = self.page() else { return };
        let count = page.regions.len();
        let at = self.view.focus.and_then(|id| page.position(id));
        let next = match (at, forward) {
            _ if count == 0 => return,
            (None, true) => 0,
            (None, false) => count - 1,
            (Some(at), true) => (at + 1) % count,
            (Some(at), false) => (at + count - 1) % count,
        };
        let id = page.regions[next].id;
        self.view.select(Some(id));
        self.view.scroll_to = Some(id);
    }

    fn begin_edit(&mut self, id: RegionId) {
        if self.refuses_text(id) {
            return;
        }
        let Some(region) = self.page().and_then(|page| page.region(id)) else { return };
        let text = region.text().to_owned();
        self.view.select(Some(id));
        self.view.scroll_to = Some(id);
        self.view.edit_from.clone_from(&text);
        self.view.editing = Some((id, text));
        self.view.reading = ReadingTab::Live;
        self.settings.panes.reading = true;
    }

    fn replay(&mut self, ask: ReplayAsk) {
        match ask {
            ReplayAsk::Open(id) => {
                let read = self.page().and_then(|page| page.region(id)).and_then(|region| region.read.clone());
                self.replay = read.map(|read| Replay::open(id, read.detail.logs()));
                self.view.select(Some(id));
                self.settings.panes.rounds = true;
            }
            ReplayAsk::Close => self.replay = None,
            ask => {
                if let Some(replay) = &mut self.replay {
                    replay.ask(ask);
                }
            }
        }
    }

    fn toggle_replay(&mut self) {
        let Some(id) = self.view.focus else { return };
        match &self.replay {
            Some(replay) if replay.region == id => {
                let ask = if replay.playing { ReplayAsk::Pause } else { ReplayAsk::Play };
                self.replay(ask);
            }
            _ => {
                self.replay(ReplayAsk::Open(id));
                self.replay(ReplayAsk::Play);
            }
        }
    }
}
