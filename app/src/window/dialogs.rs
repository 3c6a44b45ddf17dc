//! The system's file dialogs. They are waited for on a thread, never on the frame; where the system has none, a path can
//! be typed instead.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake};
use std::thread::Thread;
use std::time::{Duration, Instant};

use eframe::egui::{Key, TextEdit, Ui};
use rfd::{AsyncFileDialog, FileHandle};

use super::action::{Action, Actions};
use super::state::Modal;
use super::strings::dialogs as words;
use super::workspace::path_form::{Asked, PathForm};
use super::workspace::project_file;
use crate::reader::Waker;

/// Nobody closes a dialog so soon after it was asked for: the system has none.
const TOO_SOON: Duration = Duration::from_millis(150);

/// What came of a dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The chosen paths, at least one. That a file which is to be saved replaces another was agreed to in the dialog.
    Chosen(Asked, Vec<PathBuf>),
    /// Nothing was chosen.
    Cancelled(Asked),
    /// The system shows no dialog.
    Unavailable(Asked),
}

/// Where answers come from.
#[derive(Clone, Debug, Default)]
pub enum DialogsKind {
    /// The system's dialogs.
    #[default]
    System,
    /// Prepared answers, in order: paths, or none for a dialog that was cancelled. Without one left the dialog counts as
    /// unavailable.
    Scripted(Script),
}

/// Answers that were prepared.
pub type Script = Arc<Mutex<VecDeque<Option<Vec<PathBuf>>>>>;

/// At most one dialog that is open.
pub(crate) struct Dialogs {
    kind: DialogsKind,
    open: Option<(Asked, Receiver<Answer>)>,
}

type Chosen = Box<dyn Future<Output = Option<Vec<FileHandle>>> + Send>;

impl Dialogs {
    pub(crate) fn new(kind: DialogsKind) -> Self {
        Self { kind, open: None }
    }

    /// Asks for files to open.
    pub(crate) fn open_files(&mut self, waker: Waker) {
        self.ask(Asked::Files, waker, || {
            let dialog = AsyncFileDialog::new()
                .set_title(words::title(Asked::Files))
                .add_filter(words::READABLE, &crate::inputs::READABLE)
                .add_filter(words::ALL, &["*"]);
            let chosen = dialog.pick_files();
            Box::new(chosen)
        });
    }

    /// Asks for a folder: one to open, or one with a checkpoint.
    pub(crate) fn open_folder(&mut self, asked: Asked, waker: Waker) {
        self.ask(asked, waker, || {
            let chosen = AsyncFileDialog::new().set_title(words::title(asked)).pick_folder();
            Box::new(async { chosen.await.map(|folder| vec![folder]) })
        });
    }

    /// Asks for a project file.
    pub(crate) fn open_project(&mut self, waker: Waker) {
        self.ask(Asked::Project, waker, || {
            let dialog = AsyncFileDialog::new()
                .set_title(words::title(Asked::Project))
                .add_filter(words::PROJECTS, &[project_file::EXTENSION]);
            let chosen = dialog.pick_file();
            Box::new(async { chosen.await.map(|file| vec![file]) })
        });
    }

    /// Asks where to save, proposing a path.
    pub(crate) fn save_as(&mut self, asked: Asked, proposed: &Path, extension: &str, waker: Waker) {
        let name = proposed.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.ask(asked, waker, || {
            let mut dialog = AsyncFileDialog::new()
                .set_title(words::title(asked))
                .set_file_name(name)
                .add_filter(extension, &[extension]);
            if let Some(folder) = proposed.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                dialog = dialog.set_directory(folder);
            }
            let chosen = dialog.save_file();
            Box::new(async { chosen.await.map(|file| vec![file]) })
        });
    }

    /// The answer, once it is there.
    pub(crate) fn poll(&mut self) -> Option<Answer> {
        let (_, answer) = self.open.as_ref()?;
        let answer = answer.try_recv().ok()?;
        self.open = None;
        Some(answer)
    }

    /// Whether one is open; a second is not opened beside it.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Opens a dialog. It is made here, since macOS wants that on the main thread, and waited for elsewhere.
    fn ask(&mut self, asked: Asked, waker: Waker, dialog: impl FnOnce() -> Chosen) {
        if self.is_open() {
            return;
        }
        let (sender, answer) = sync_channel(1);
        match &self.kind {
            DialogsKind::Scripted(script) => {
                let next = script.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                let _ = sender.try_send(next.map_or(Answer::Unavailable(asked), |paths| answered(asked, paths)));
                waker();
            }
            DialogsKind::System => {
                let since = Instant::now();
                let chosen = dialog();
                let unavailable = sender.clone();
                let spawned = std::thread::Builder::new().name("dialog".to_owned()).spawn(move || {
                    let chosen = wait(Box::into_pin(chosen));
                    let paths = chosen.map(|files| files.iter().map(|file| file.path().to_path_buf()).collect());
                    let answer = match answered(asked, paths) {
                        Answer::Cancelled(asked) if since.elapsed() < TOO_SOON => Answer::Unavailable(asked),
                        answer => answer,
                    };
                    // Nobody waits any more once the window is closed.
                    let _ = sender.send(answer);
                    waker();
                });
                if spawned.is_err() {
                    let _ = unavailable.try_send(Answer::Unavailable(asked));
                }
            }
        }
        self.open = Some((asked, answer));
    }
}

fn answered(asked: Asked, paths: Option<Vec<PathBuf>>) -> Answer {
    match paths.filter(|paths| !paths.is_empty()) {
        Some(paths) => Answer::Chosen(asked, paths),
        None => Answer::Cancelled(asked),
    }
}

/// Wakes a thread that waits for a future.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on this thread.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(done) => return done,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Shows the form, inside of a modal.
pub(crate) fn show_path(ui: &mut Ui, form: &PathForm, actions: &mut Actions) {
    ui.set_width(460.0);
    ui.heading(words::title(form.asked));
    ui.label(words::NO_DIALOG);
    ui.add_space(ui.spacing().item_spacing.y);
    let mut text = form.text.clone();
    let label = ui.label(words::PATH);
    let edit = ui.add(TextEdit::singleline(&mut text).desired_width(f32::INFINITY)).labelled_by(label.id);
    let form = PathForm { text, asked: form.asked };
    let entered = edit.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
    if !entered && ui.memory(|memory| memory.focused().is_none()) {
        edit.request_focus();
    }
    if edit.changed() {
        actions.ask(Action::Modal(Some(Modal::Path(form.clone()))));
    }
    ui.add_space(ui.spacing().item_spacing.y);
    ui.horizontal(|ui| {
        let path = form.path();
        let clicked = ui.add_enabled(path.is_some(), eframe::egui::Button::new(words::verb(form.asked))).clicked();
        if let Some(path) = path.filter(|_| clicked || entered) {
            actions.ask(Action::Modal(None));
            actions.ask(Action::Typed(form.asked, path));
        }
        if ui.button(words::CANCEL).clicked() {
            actions.ask(Action::Modal(None));
        }
    });
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    use super::*;

    fn quiet() -> Waker {
        Box::new(|| ())
    }

    #[test]
    fn prepared_answers_come_in_order() {
        let script = Script::default();
        script.lock().unwrap().extend([Some(vec!["/a.pdf".into(), "/b.pdf".into()]), None, Some(Vec::new())]);
        let mut dialogs = Dialogs::new(DialogsKind::Scripted(script));
        assert_eq!(dialogs.poll(), None);
        dialogs.open_files(quiet());
        dialogs.open_project(quiet());
        assert!(dialogs.is_open(), "the second was not opened beside the first");
        assert_eq!(dialogs.poll(), Some(Answer::Chosen(Asked::Files, vec!["/a.pdf".into(), "/b.pdf".into()])));
        dialogs.open_folder(Asked::Folder, quiet());
        assert_eq!(dialogs.poll(), Some(Answer::Cancelled(Asked::Folder)));
        dialogs.save_as(Asked::Export, Path::new("/x/scan.md"), "md", quiet());
        assert_eq!(dialogs.poll(), Some(Answer::Cancelled(Asked::Export)));
        dialogs.open_project(quiet());
        assert_eq!(dialogs.poll(), Some(Answer::Unavailable(Asked::Project)));
    }

    #[test]
    fn a_future_is_waited_for() {
        let (sender, receiver) = sync_channel(1);
        let mut sent = false;
        let future = std::future::poll_fn(move |context| {
            if !std::mem::replace(&mut sent, true) {
                let (waker, sender) = (context.waker().clone(), sender.clone());
                std::thread::spawn(move || {
                    sender.send(7).unwrap();
                    waker.wake();
                });
            }
            receiver.try_recv().map_or(Poll::Pending, Poll::Ready)
        });
        assert_eq!(wait(future), 7);
    }

    #[test]
    fn a_path_can_be_typed_and_entered() {
        let form = PathForm { asked: Asked::Files, text: "/a".to_owned() };
        let mut harness = Harness::new_ui_state(
            |ui, (form, asked): &mut (PathForm, Vec<Action>)| {
                let mut actions = Actions::default();
                show_path(ui, form, &mut actions);
                for action in actions.take() {
                    match action {
                        Action::Modal(Some(Modal::Path(changed))) => *form = changed,
                        other => asked.push(other),
                    }
                }
            },
            (form, Vec::new()),
        );
        harness.run();
        let field = harness.get_by_label(words::PATH);
        assert!(field.is_focused(), "one can type at once");
        field.type_text("/b.pdf");
        harness.run();
        assert_eq!(harness.state().0.text, "/a/b.pdf");
        harness.key_press(Key::Enter);
        harness.run();
        let typed = Action::Typed(Asked::Files, "/a/b.pdf".into());
        assert_eq!(harness.state().1, [Action::Modal(None), typed]);
        harness.get_by_label(words::CANCEL).click();
        harness.run();
        assert_eq!(harness.state().1.last(), Some(&Action::Modal(None)));
    }
}
