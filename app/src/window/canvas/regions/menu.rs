//! What a right click on the page offers: for the selected regions, or for the page when none is selected.

use eframe::egui::{Button, Response, Ui};
use engine::region::{Label, Role};

use crate::window::action::{Action, Actions};
use crate::window::command::Command;
use crate::window::state::State;
use crate::window::strings::{self, regions as words};
use crate::window::workspace::project::RegionId;

/// The menu. Where it `wants_focus`, its first entry that can be chosen gets it; whether it has it now.
pub(super) fn show(ui: &mut Ui, state: &State, wants_focus: bool, actions: &mut Actions) -> bool {
    let mut focus = Focus { wanted: wants_focus, given: false };
    let ids: Vec<RegionId> = state.selected().map(|region| region.id).collect();
    if ids.is_empty() {
        for entry in [Command::Recognize, Command::Detect, Command::DrawRegion, Command::SelectAll, Command::CopyPage] {
            focus.offer(&command(ui, entry, entry.label(), state, actions));
        }
        return focus.given;
    }
    let idle = state.run.is_none();
    let read = state.selected().any(|region| region.read.is_some());
    let label = if read { words::READ_AGAIN } else { words::READ };
    let read = ui.add_enabled(idle, with_shortcut(ui, Command::RecognizeAgain, label));
    focus.offer(&read);
    if read.clicked() {
        actions.ask(Action::Recognize(ids));
        ui.close();
    }
    ui.add_enabled_ui(idle, |ui| {
        ui.menu_button(words::READ_AS, |ui| {
            for label in strings::CHOICES.into_iter().filter(|label| label.role() != Role::Figure) {
                if ui.button(strings::label(label)).clicked() {
                    actions.ask(Action::RecognizeAs(label));
                    ui.close();
                }
            }
        });
    });
    let is_free = !state.is_page_locked();
    let kinds = ui.add_enabled_ui(is_free, |ui| ui.menu_button(words::KIND, |ui| kinds(ui, state, actions)).response);
    focus.offer(&kinds.inner);
    let furniture = state.selected().all(|region| region.region.label.role() == Role::Furniture);
    let (label, to) = if furniture { (words::TAKE_IN, Label::Text) } else { (words::LEAVE_OUT, Label::Header) };
    if ui.add_enabled(is_free, Button::new(label)).clicked() {
        actions.ask(Action::Relabel(to));
        ui.close();
    }
    ui.separator();
    command(ui, Command::CopyRegions, Command::CopyRegions.label(), state, actions);
    if state.selected().any(|region| region.region.label.role() == Role::Table) {
        command(ui, Command::CopyTable, Command::CopyTable.label(), state, actions);
    }
    command(ui, Command::EditText, Command::EditText.label(), state, actions);
    ui.separator();
    for entry in [Command::MoveEarlier, Command::MoveLater] {
        command(ui, entry, entry.label(), state, actions);
    }
    ui.separator();
    command(ui, Command::Delete, Command::Delete.label(), state, actions);
    focus.given
}

/// The keyboard's focus, for the first entry that can take it.
struct Focus {
    wanted: bool,
    given: bool,
}

impl Focus {
    fn offer(&mut self, entry: &Response) {
        if self.wanted && !self.given && entry.enabled() {
            entry.request_focus();
            self.given = true;
        }
    }
}

/// The kinds to choose from; the present one is marked when all selected regions share it.
fn kinds(ui: &mut Ui, state: &State, actions: &mut Actions) {
    let mut labels = state.selected().map(|region| region.region.label);
    let first = labels.next();
    let present = first.filter(|first| labels.all(|label| label == *first));
    let unusual = present.filter(|label| !strings::CHOICES.contains(label));
    for label in unusual.into_iter().chain(strings::CHOICES) {
        if ui.radio(present == Some(label), strings::label(label)).clicked() && present != Some(label) {
            actions.ask(Action::Relabel(label));
            ui.close();
        }
    }
}

fn command(ui: &mut Ui, command: Command, label: &'static str, state: &State, actions: &mut Actions) -> Response {
    let entry = ui.add_enabled(command.enabled(state), with_shortcut(ui, command, label));
    if entry.clicked() {
        actions.command(command);
        // A click closes a menu by itself, a key does not.
        ui.close();
    }
    entry
}

fn with_shortcut(ui: &Ui, command: Command, label: &'static str) -> Button<'static> {
    let button = Button::new(label);
    match command.shortcuts().first() {
        Some(shortcut) => button.shortcut_text(ui.format_shortcut(shortcut)),
        None => button,
    }
}
