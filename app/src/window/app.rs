//! The window's life: it starts, drains what its threads have to say, draws, and applies what was asked for.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use eframe::egui::text_selection::LabelSelectionState;
use eframe::egui::{self, CentralPanel, Event, Id, Key, Panel};
use engine::device::Choice;
use engine::document::Turn;
use engine::layout::{BuiltInDetector, Detector};
use engine::{EngineInfo, EngineOptions};

use super::action::{Action, Actions};
use super::command::Command;
use super::devices::DeviceList;
use super::dialogs::{Dialogs, DialogsKind};
use super::librarian::Librarian;
use super::search::Searches;
use super::state::{EngineState, State, Tone, Workspace};
use super::workspace::background_task::BackgroundTask;
use super::workspace::project::{Document, DocumentId, DocumentState, PageKey};
use super::workspace::project_file::Loaded;
use super::workspace::race::RaceAsk;
use super::workspace::session::Session;
use super::workspace::settings::{Panes, Widths};
use super::{canvas, reading, rounds, shell, strings};
use crate::reader::{Reader, Waker};

/// Longest time of one frame that is given to what the threads have to say.
const DRAIN: Duration = Duration::from_millis(6);

/// A reader that is ready, and what it is.
pub struct Started {
    /// Takes jobs.
    pub reader: Box<dyn Reader + Send>,
    /// For the status bar.
    pub info: EngineInfo,
}

/// Starts a reader, on a thread of its own. The error is a sentence for the user.
pub type Backend = Arc<dyn Fn(EngineOptions) -> Result<Started, String> + Send + Sync>;

/// How to open the window.
#[derive(Clone)]
pub struct WindowOptions {
    /// Files and folders to open.
    pub files: Vec<PathBuf>,
    /// Where sessions and settings are kept; nothing is kept when there is no such place.
    pub data_folder: Option<PathBuf>,
    /// What reads.
    pub backend: Backend,
    /// Where the answers to file dialogs come from.
    pub dialogs: DialogsKind,
    /// What the model can run on.
    pub devices: DeviceList,
    /// What finds the regions of pages, for the engine and for pages that are looked at.
    pub detector: Arc<dyn Detector>,
}

/// The window.
pub struct Window {
    pub(super) state: State,
    pub(super) librarian: Librarian,
    pub(super) reader: Option<Box<dyn Reader + Send>>,
    /// A reader that is being started.
    starting: Option<Receiver<Result<Started, String>>>,
    pub(super) options: WindowOptions,
    pub(super) context: egui::Context,
    actions: Actions,
    pub(super) session: Session,
    pub(super) dialogs: Dialogs,
    /// A project file that is being read.
    pub(super) loading: Option<BackgroundTask<Loaded>>,
    /// One that is being written, and the history's revision in it.
    pub(super) saving: Option<(BackgroundTask<PathBuf>, u64)>,
    pub(super) searches: Searches,
    /// The devices that are being looked for.
    pub(super) listing: Option<BackgroundTask<Vec<Choice>>>,
    /// The document that is being opened; one at a time, so that the librarian stays free for pages.
    pub(super) opening: Option<DocumentId>,
    /// What the librarian was asked for last.
    pub(super) wanted_page: Option<(PageKey, Turn, u32)>,
    pub(super) wanted_thumbnails: Vec<(PageKey, Turn)>,
}

impl WindowOptions {
    /// A window that keeps nothing.
    pub fn new(files: Vec<PathBuf>, backend: Backend) -> Self {
        Self {
            files,
            data_folder: None,
            backend,
            dialogs: DialogsKind::System,
            devices: Arc::new(engine::device::choices),
            detector: Arc::new(BuiltInDetector),
        }
    }
}

impl Window {
    /// A window that has loaded nothing yet.
    ///
    /// # Errors
    /// When the system gives no thread for opening files.
    pub fn new(creation: &eframe::CreationContext<'_>, options: WindowOptions) -> std::io::Result<Self> {
        let context = creation.egui_ctx.clone();
        let librarian = Librarian::start(Arc::clone(&options.detector), waker(&context))?;
        if let Some(render_state) = &creation.wgpu_render_state {
            canvas::prepare(render_state);
        }
        let (session, settings) = Session::open(options.data_folder.as_deref(), waker(&context));
        let mut window = Self {
            state: State { workspace: Workspace { settings, ..Workspace::default() }, ..State::default() },
            session,
            dialogs: Dialogs::new(options.dialogs.clone()),
            loading: None,
            saving: None,
            listing: None,
            librarian,
            reader: None,
            starting: None,
            options,
            context,
            actions: Actions::default(),
            searches: Searches::default(),
            opening: None,
            wanted_page: None,
            wanted_thumbnails: Vec::new(),
        };
        // Zooming is a command of the page; text has its own size in the settings.
        window.context.options_mut(|options| options.zoom_with_keyboard = false);
        shell::style::set(&window.context);
        window.dress();
        let files = std::mem::take(&mut window.options.files);
        if !files.is_empty() {
            window.actions.ask(Action::OpenPaths(files));
        }
        Ok(window)
    }

    /// Starts the engine on a thread of its own, unless it runs.
    pub(super) fn wake_engine(&mut self) {
        if self.reader.is_some() || self.starting.is_some() {
            return;
        }
        let settings = &self.state.settings;
        let pdf = settings.pdf();
        let options = EngineOptions {
            checkpoint: settings.checkpoint_source(),
            device: settings.device,
            threads: settings.threads,
            pdfium_dir: pdf.pdfium_dir,
            pdf_renderer: pdf.renderer,
            weights: settings.weights,
            detector: Arc::clone(&self.options.detector),
        };
        let (sender, receiver) = sync_channel(1);
        let (backend, waker) = (Arc::clone(&self.options.backend), self.context.clone());
        let spawned = std::thread::Builder::new().name("engine-start".to_owned()).spawn(move || {
            let _ = sender.send(backend(options));
            waker.request_repaint();
        });
        match spawned {
            Ok(_) => {
                self.starting = Some(receiver);
                self.state.engine = EngineState::Loading;
            }
            Err(error) => self.engine_failed(strings::start::no_thread(&error)),
        }
    }

    /// Something that makes the window look at what has come.
    pub(super) fn waker(&self) -> Waker {
        waker(&self.context)
    }

    /// The engine did not start: nothing waits for it any longer.
    fn engine_failed(&mut self, message: String) {
        self.state.pending = None;
        self.race(RaceAsk::Close);
        self.state.tell(Tone::Error, message.clone());
        self.state.engine = EngineState::Failed(message);
    }

    /// Lets the engine go; the next recognition starts another.
    pub(super) fn drop_engine(&mut self) {
        self.starting = None;
        if let Some(reader) = self.reader.take() {
            // Its thread finishes a forward first; the window does not wait for that.
            let _ = std::thread::Builder::new().name("engine-stop".to_owned()).spawn(move || drop(reader));
        }
        self.state.engine = EngineState::Asleep;
    }

    /// Hears whether the engine has started.
    fn hear_engine(&mut self) {
        let answer = match self.starting.as_ref().map(Receiver::try_recv) {
            Some(Ok(answer)) => answer,
            // Its thread is gone without an answer.
            Some(Err(TryRecvError::Disconnected)) => Err(strings::start::STOPPED.to_owned()),
            Some(Err(TryRecvError::Empty)) | None => return,
        };
        self.starting = None;
        match answer {
            Ok(Started { reader, info }) => {
                self.reader = Some(reader);
                if let Some(sentence) = &info.fallback {
                    self.state.tell(Tone::Warning, sentence.clone());
                }
                self.state.engine = EngineState::Ready(info);
                if let Some(scope) = self.state.pending.take() {
                    self.recognize(scope);
                }
            }
            Err(message) => self.engine_failed(message),
        }
    }
}

/// Something that makes a window look at what has come.
pub(super) fn waker(context: &egui::Context) -> Waker {
    let context = context.clone();
    Box::new(move || context.request_repaint())
}

impl eframe::App for Window {
    fn logic(&mut self, ctx: &egui::Context, _: &mut eframe::Frame) {
        let until = Instant::now() + DRAIN;
        self.hear_engine();
        self.hear_searches();
        self.hear_files();
        self.hear_devices();
        self.hear_session();
        let more = self.hear_librarian(until) | self.hear_run(until) | self.hear_race(until);
        let seconds = f64::from(ctx.input(|input| input.stable_dt));
        let replays = self.state.replay.as_mut().is_some_and(|replay| replay.tick(seconds));
        let races = self.state.race.as_mut().is_some_and(|race| race.tick(seconds));
        let more = more || replays || races;
        if more {
            ctx.request_repaint();
        }
    }

    fn on_exit(&mut self) {
        self.state.finish_edit();
        self.session.finish(&self.state);
    }

    fn ui(&mut self, ui: &mut egui::Ui, _: &mut eframe::Frame) {
        let (state, actions) = (&self.state, &mut self.actions);
        for command in shell::asked_by_keys(ui, state) {
            actions.command(command);
        }
        from_outside(ui, state, actions);
        shell::bars(ui, state, actions);
        let mut panes = state.settings.panes;
        if !state.project.documents.is_empty() {
            show_panes(ui, state, actions, &mut panes);
        }
        if state.page().is_none() {
            canvas::release(ui);
        }
        CentralPanel::no_frame().show(ui, |ui| match state.document() {
            None => shell::welcome::show(ui, state, actions),
            Some(document) if !can_be_seen(state, document) => shell::welcome::no_page(ui, document, actions),
            Some(_) => canvas::show(ui, state, actions),
        });
        shell::over(ui, state, actions);
        if panes != state.settings.panes {
            actions.ask(Action::Panes(panes));
        }
        // What was there at the start comes first.
        if !self.session.is_restoring() {
            let mut asked = self.actions.take();
            // What was typed last belongs to the text even if a key or a click ends the edit in the same frame.
            asked.sort_by_key(|action| !matches!(action, Action::Editing(_)));
            for action in asked {
                self.apply(action);
            }
        }
        self.want_what_is_shown();
    }
}

/// Whether there is a page to look at. One that was restored may still be locked, or its file gone.
fn can_be_seen(state: &State, document: &Document) -> bool {
    let shut = matches!(document.state, DocumentState::Locked { .. } | DocumentState::Failed(_));
    let drawn = || state.view.page.is_some_and(|key| state.sheets.full(key).is_some());
    state.page().is_some() && (!shut || drawn())
}

/// The panes around the canvas, as wide as they were left.
fn show_panes(ui: &mut egui::Ui, state: &State, actions: &mut Actions, panes: &mut Panes) {
    let Widths { pages, reading, rounds } = &mut panes.widths;
    let left = Panel::left("pages").default_size(*pages).size_range(120.0..=360.0);
    if let Some(shown) = left.show_collapsible(ui, &mut panes.pages, |ui| shell::pages::show(ui, state, actions)) {
        *pages = shown.response.rect.width();
    }
    let right = Panel::right("reading").default_size(*reading).size_range(240.0..=1200.0);
    if let Some(shown) = right.show_collapsible(ui, &mut panes.reading, |ui| reading::show(ui, state, actions)) {
        *reading = shown.response.rect.width();
    }
    let bottom = Panel::bottom("rounds").default_size(*rounds).size_range(100.0..=600.0);
    if let Some(shown) = bottom.show_collapsible(ui, &mut panes.rounds, |ui| rounds::show(ui, state, actions)) {
        *rounds = shown.response.rect.height();
    }
}

/// Files that were dropped on the window, and what goes to and comes from the clipboard while no text is being typed.
fn from_outside(ui: &egui::Ui, state: &State, actions: &mut Actions) {
    let paths: Vec<PathBuf> =
        ui.input(|input| input.raw.dropped_files.iter().map(|file| file.path().to_path_buf()).collect());
    if !paths.is_empty() {
        actions.ask(Action::OpenPaths(paths));
    }
    if ui.ctx().text_edit_focused() || state.modal.is_some() {
        return;
    }
    let heard = Id::unique("paste was heard");
    for event in ui.input(|input| input.events.clone()) {
        match event {
            Event::PasteImage(image) => {
                actions.ask(Action::PasteImage(image));
                ui.data_mut(|data| data.insert_temp(heard, true));
            }
            Event::Paste(text) => {
                actions.ask(Action::PasteText(text));
                ui.data_mut(|data| data.insert_temp(heard, true));
            }
            // Copied files alone are no event on some systems: then the key's release tells of it.
            Event::Key { key: Key::V, pressed: false, modifiers, .. } if modifiers.command_only() => {
                if !ui.data(|data| data.get_temp(heard).unwrap_or(false)) {
                    actions.command(Command::Paste);
                }
                ui.data_mut(|data| data.remove_temp::<bool>(heard));
            }
            Event::Copy if !is_label_selected(ui) => actions.command(Command::CopyRegions),
            _ => {}
        }
    }
}

/// Whether text outside of fields is selected, which egui copies by itself.
fn is_label_selected(ui: &egui::Ui) -> bool {
    ui.ctx().plugin_opt::<LabelSelectionState>().is_some_and(|labels| labels.lock().has_selection())
}

/// Opens the window with these files and stays until it is closed.
///
/// # Errors
/// One sentence when there is no display, or none that can be drawn on.
pub fn open(files: Vec<PathBuf>) -> Result<(), String> {
    if !has_display() {
        return Err(strings::start::NO_DISPLAY.to_owned());
    }
    let options = WindowOptions {
        data_folder: crate::models::data_folder(),
        ..WindowOptions::new(files, Arc::new(engine_backend))
    };
    let native = eframe::NativeOptions {
        viewport: egui::ViewportBuilder::default()
            .with_title(strings::about::TITLE)
            .with_app_id("gravityocr")
            .with_inner_size([1280.0, 820.0])
            .with_min_inner_size([640.0, 420.0])
            .with_drag_and_drop(true),
        ..eframe::NativeOptions::default()
    };
    let window = Box::new(|creation: &eframe::CreationContext<'_>| {
        Ok(Box::new(Window::new(creation, options)?) as Box<dyn eframe::App>)
    });
    eframe::run_native("gravityocr", native, window).map_err(|error| strings::start::no_window(&error))
}

/// The engine as the window's reader.
///
/// # Errors
/// The sentence of the engine that did not start.
pub fn engine_backend(options: EngineOptions) -> Result<Started, String> {
    let engine = crate::reader::EngineReader::open(options)?;
    Ok(Started { info: engine.info().clone(), reader: Box::new(engine) })
}

/// Whether there is anything to open a window on. Elsewhere than on Linux there always is.
fn has_display() -> bool {
    let named = |variable| std::env::var_os(variable).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || ["WAYLAND_DISPLAY", "WAYLAND_SOCKET", "DISPLAY"].into_iter().any(named)
}
