//! Questions and pages that lie over the window.

use eframe::egui::{self, Id, RichText, ScrollArea, TextEdit, Ui};

use super::{settings, shortcut_text};
use crate::window::action::{Action, Actions};
use crate::window::command::{Command, Group};
use crate::window::state::{Confirm, Modal, State};
use crate::window::{colours, strings};

/// Draws what lies over the window, if anything does.
pub(super) fn show(ui: &mut Ui, state: &State, actions: &mut Actions) {
    let Some(modal) = &state.modal else { return };
    if *modal == Modal::Race {
        return crate::window::race::show(ui, state, actions);
    }
    let frame = egui::Frame::popup(ui.style()).inner_margin(egui::Margin::same(18));
    let shown = egui::Modal::new(Id::unique("modal")).frame(frame).show(ui.ctx(), |ui| match modal {
        Modal::Settings => settings::show(ui, state, actions),
        Modal::Shortcuts => shortcuts(ui, actions),
        Modal::About => about(ui, actions),
        Modal::Password { document, text } => {
            if let Some(document) = state.project.document(*document) {
                password(ui, document, text, actions);
            } else {
                actions.ask(Action::Modal(None));
            }
        }
        Modal::Confirm(question) => confirm(ui, question, state, actions),
        Modal::Export(form) => crate::window::export::show(ui, form, state, actions),
        Modal::Path(form) => crate::window::dialogs::show_path(ui, form, actions),
        Modal::Race => {}
    });
    // Esc is a command; a click beside a question leaves it, but not one with typed text.
    if shown.backdrop_response.clicked() && matches!(modal, Modal::Settings | Modal::Shortcuts | Modal::About) {
        actions.ask(Action::Modal(None));
    }
}

fn close_row(ui: &mut Ui, actions: &mut Actions) {
    ui.add_space(8.0);
    if ui.button(strings::CLOSE).clicked() {
        actions.ask(Action::Modal(None));
    }
}

fn shortcuts(ui: &mut Ui, actions: &mut Actions) {
    ui.set_width(720.0_f32.min(ui.ctx().content_rect().width() - 60.0));
    ui.heading(Command::Shortcuts.label());
    ui.add_space(6.0);
    ScrollArea::vertical().max_height(ui.ctx().content_rect().height() - 160.0).show(ui, |ui| {
        ui.columns(2, |columns| {
            for (at, &group) in Group::ALL.iter().enumerate() {
                let ui = &mut columns[usize::from(at >= 4)];
                let with_keys = || Command::ALL.iter().filter(|c| c.group() == group && !c.shortcuts().is_empty());
                if with_keys().next().is_none() {
                    continue;
                }
                ui.add_space(6.0);
                ui.label(RichText::new(strings::group(group)).strong());
                egui::Grid::new(("keys", at)).num_columns(2).spacing([18.0, 4.0]).show(ui, |ui| {
                    for command in with_keys() {
                        ui.label(command.label());
                        ui.label(RichText::new(shortcut_text(ui, *command).unwrap_or_default()).monospace());
                        ui.end_row();
                    }
                    for (what, keys) in strings::mouse(group) {
                        ui.label(*what);
                        ui.label(RichText::new(*keys).monospace());
                        ui.end_row();
                    }
                });
            }
        });
    });
    close_row(ui, actions);
}

fn about(ui: &mut Ui, actions: &mut Actions) {
    ui.set_width(440.0);
    ui.heading(strings::about::TITLE);
    ui.label(strings::about::version(env!("CARGO_PKG_VERSION")));
    ui.add_space(8.0);
    for paragraph in strings::about::TEXT {
        ui.label(paragraph);
        ui.add_space(4.0);
    }
    close_row(ui, actions);
}

fn password(ui: &mut Ui, document: &crate::window::workspace::project::Document, text: &str, actions: &mut Actions) {
    use crate::window::workspace::project::DocumentState;
    ui.set_width(380.0);
    ui.heading(strings::password::TITLE);
    ui.label(strings::password::asked(&document.name));
    if document.state == (DocumentState::Locked { wrong: true }) {
        ui.label(RichText::new(strings::password::WRONG).color(colours::error(ui.visuals())));
    }
    let mut typed = text.to_owned();
    let label = ui.label(strings::password::FIELD);
    let field =
        ui.add(TextEdit::singleline(&mut typed).password(true).desired_width(f32::INFINITY)).labelled_by(label.id);
    if !field.has_focus() && !field.lost_focus() {
        field.request_focus();
    }
    let entered = field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
    if typed != text {
        actions.ask(Action::Modal(Some(Modal::Password { document: document.id, text: typed.clone() })));
    }
    ui.add_space(8.0);
    ui.horizontal(|ui| {
        if ui.button(strings::password::OPEN).clicked() || entered {
            actions.ask(Action::Unlock(document.id, typed));
        }
        if ui.button(strings::CANCEL).clicked() {
            actions.ask(Action::Modal(None));
        }
    });
}

fn confirm(ui: &mut Ui, question: &Confirm, state: &State, actions: &mut Actions) {
    ui.set_width(420.0);
    let (title, text, yes) = match question {
        Confirm::CloseDocument(id) => {
            let name = state.project.document(*id).map(|document| document.name.clone()).unwrap_or_default();
            (strings::confirm::CLOSE, strings::confirm::close(&name), strings::confirm::CLOSE_YES)
        }
        Confirm::OpenProject(_) => {
            (strings::confirm::OPEN, strings::confirm::OPEN_TEXT.to_owned(), strings::confirm::OPEN_YES)
        }
    };
    ui.heading(title);
    ui.label(text);
    ui.add_space(8.0);
    ui.horizontal(|ui| {
        if ui.button(yes).clicked() {
            actions.ask(Action::Confirmed);
        }
        if ui.button(strings::CANCEL).clicked() {
            actions.ask(Action::Modal(None));
        }
    });
}
