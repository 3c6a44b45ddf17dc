//! What is seen before anything is open.

use eframe::egui::{self, Align, Layout, RichText, Ui};

use super::{command_button, hint};
use crate::window::action::{Action, Actions};
use crate::window::command::Command;
use crate::window::state::State;
use crate::window::{colours, strings};

/// Draws it.
pub(crate) fn show(ui: &mut Ui, state: &State, actions: &mut Actions) {
    let height = ui.available_height();
    ui.with_layout(Layout::top_down(Align::Center), |ui| {
        ui.add_space((height * 0.18).max(12.0));
        ui.label(RichText::new(strings::welcome::TITLE).size(30.0).strong());
        ui.add_space(4.0);
        ui.label(RichText::new(strings::welcome::SUBTITLE).size(15.0).weak());
        ui.add_space(26.0);
        ui.allocate_ui_with_layout(egui::vec2(300.0, 0.0), Layout::top_down_justified(Align::Center), |ui| {
            ui.spacing_mut().button_padding = egui::vec2(16.0, 9.0);
            ui.spacing_mut().item_spacing.y = 8.0;
            let text = RichText::new(Command::Open.label()).size(15.0).strong().color(egui::Color32::WHITE);
            let open = egui::Button::new(text).fill(colours::accent(ui.visuals()));
            if ui.add(open).on_hover_text(hint(ui, Command::Open)).clicked() {
                actions.command(Command::Open);
            }
            for command in [Command::Paste, Command::OpenSample] {
                command_button(ui, command, command.label(), state, actions);
            }
        });
        ui.add_space(14.0);
        ui.label(RichText::new(strings::welcome::DROP).weak());
        if !state.settings.recent.is_empty() {
            ui.add_space(22.0);
            ui.label(RichText::new(strings::RECENT).strong());
            for path in state.settings.recent.iter().take(6) {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                if ui.link(name).on_hover_text(path.display().to_string()).clicked() {
                    actions.ask(Action::OpenPaths(vec![path.clone()]));
                }
            }
        }
        ui.add_space(22.0);
        ui.label(RichText::new(strings::OFFLINE).weak().small());
    });
}

/// In the place of a page: why the document shows none.
pub(crate) fn no_page(ui: &mut Ui, document: &crate::window::workspace::project::Document, actions: &mut Actions) {
    use crate::window::workspace::project::DocumentState;
    let height = ui.available_height();
    ui.with_layout(Layout::top_down(Align::Center), |ui| {
        ui.add_space((height * 0.3).max(12.0));
        ui.label(RichText::new(&document.name).size(18.0).strong());
        ui.add_space(8.0);
        match &document.state {
            DocumentState::Opening => {
                ui.spinner();
                ui.label(strings::OPENING);
            }
            DocumentState::Open => drop(ui.label(strings::NO_PAGES)),
            DocumentState::Locked { .. } => {
                ui.label(strings::LOCKED);
                if ui.button(strings::ENTER_PASSWORD).clicked() {
                    actions.ask(Action::AskPassword(document.id));
                }
            }
            DocumentState::Failed(message) => {
                ui.set_max_width(520.0);
                ui.label(RichText::new(message).color(colours::error(ui.visuals())));
                ui.add_space(8.0);
                if ui.button(strings::TRY_AGAIN).clicked() {
                    actions.ask(Action::OpenAgain(document.id));
                }
                if ui.button(Command::CloseDocument.label()).clicked() {
                    actions.command(Command::CloseDocument);
                }
            }
        }
    });
}
