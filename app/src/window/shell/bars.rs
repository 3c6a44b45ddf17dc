//! Menus and toolbar at the top, the status bar at the bottom.

use eframe::egui::{self, Align, Button, Frame, Layout, MenuBar, Panel, ProgressBar, RichText, Ui};

use super::{command_button, command_entry, explained, hint};
use crate::window::action::{Action, Actions};
use crate::window::command::{Command, Group};
use crate::window::icon::{Icon, adorn, icon_button};
use crate::window::state::{EngineState, State, Tool};
use crate::window::workspace::project::PageKey;
use crate::window::{canvas, strings};

/// Draws all three.
pub(crate) fn bars(ui: &mut Ui, state: &State, actions: &mut Actions) {
    Panel::top("menus").resizable(false).show_separator_line(false).show(ui, |ui| menus(ui, state, actions));
    Panel::top("tools").resizable(false).show(ui, |ui| tools(ui, state, actions));
    Panel::bottom("status").resizable(false).show(ui, |ui| status(ui, state));
}

fn menus(ui: &mut Ui, state: &State, actions: &mut Actions) {
    MenuBar::new().ui(ui, |ui| {
        for &group in Group::ALL {
            ui.menu_button(strings::group(group), |ui| {
                for &command in Command::ALL.iter().filter(|command| command.group() == group) {
                    if separated(command) {
                        ui.separator();
                    }
                    command_entry(ui, command, state, actions);
                    if command == Command::OpenSample {
                        recent(ui, state, actions);
                    }
                }
            });
        }
    });
}

/// Whether a line stands above an entry.
fn separated(command: Command) -> bool {
    use Command::*;
    matches!(
        command,
        OpenProject
            | Export
            | CloseDocument
            | Quit
            | SelectAll
            | CopyRegions
            | RotateLeft
            | Detect
            | NextRegion
            | MoveEarlier
            | EditText
            | Cancel
            | Race
            | TogglePages
            | ToggleColours
            | LargerText
            | Settings
            | About
    )
}

fn recent(ui: &mut Ui, state: &State, actions: &mut Actions) {
    ui.add_enabled_ui(!state.settings.recent.is_empty(), |ui| {
        ui.menu_button(strings::RECENT, |ui| {
            for path in &state.settings.recent {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                if ui.button(name).on_hover_text(path.display().to_string()).clicked() {
                    actions.ask(Action::OpenPaths(vec![path.clone()]));
                    ui.close();
                }
            }
        });
    });
}

fn tools(ui: &mut Ui, state: &State, actions: &mut Actions) {
    Frame::new().inner_margin(egui::Margin::symmetric(0, 3)).show(ui, |ui| {
        ui.horizontal(|ui| {
            ui.spacing_mut().button_padding = egui::vec2(9.0, 5.0);
            command_button(ui, Command::Open, strings::tool::OPEN, state, actions);
            ui.separator();
            command_button(ui, Command::Detect, strings::tool::DETECT, state, actions);
            let drawing = state.view.tool == Tool::Draw;
            let draw = Button::new(strings::tool::DRAW).selected(drawing);
            let draw = ui.add_enabled(Command::DrawRegion.enabled(state), draw);
            if explained(draw, hint(ui, Command::DrawRegion), Command::DrawRegion, state).clicked() {
                actions.command(Command::DrawRegion);
            }
            ui.separator();
            pager(ui, state, actions);
            ui.separator();
            zoom(ui, state, actions);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| main_button(ui, state, actions));
        });
    });
}

/// The one main button. It names what it reads; while it reads, Cancel stands in its place.
fn main_button(ui: &mut Ui, state: &State, actions: &mut Actions) {
    ui.spacing_mut().button_padding = egui::vec2(14.0, 5.0);
    if state.is_busy() {
        let stopping = state.run.as_ref().is_some_and(|run| run.cancelled);
        let text = if stopping { strings::tool::STOPPING } else { strings::tool::CANCEL };
        let cancel = ui.add_enabled(!stopping, Button::new(RichText::new(text).strong()));
        if cancel.on_hover_text(hint(ui, Command::Cancel)).clicked() {
            actions.ask(Action::CancelRun);
        }
        progress(ui, state);
        return;
    }
    ui.add_enabled_ui(state.page().is_some(), |ui| {
        let more = ui.menu_button(" ", |ui| {
            command_entry(ui, Command::RecognizePage, state, actions);
            command_entry(ui, Command::RecognizeDocument, state, actions);
            command_entry(ui, Command::RecognizeAgain, state, actions);
        });
        adorn(ui, Icon::Down, strings::tool::MORE_SCOPES, &more.response);
    });
    let enabled = Command::Recognize.enabled(state);
    let visuals = ui.visuals().clone();
    let accent = crate::window::colours::accent(&visuals);
    let text = RichText::new(strings::tool::recognize(state.view.selection.len())).strong();
    let button = match enabled {
        true => Button::new(text.color(egui::Color32::WHITE)).fill(accent),
        false => Button::new(text),
    };
    if ui.add_enabled(enabled, button).on_hover_text(hint(ui, Command::Recognize)).clicked() {
        actions.command(Command::Recognize);
    }
}

fn progress(ui: &mut Ui, state: &State) {
    let Some(run) = &state.run else {
        ui.label(strings::tool::LOADING);
        ui.spinner();
        return;
    };
    let progress = run.progress();
    let bar = ProgressBar::new(progress.share).desired_width(120.0).desired_height(14.0);
    name(&ui.add(bar), egui::Role::ProgressIndicator, strings::tool::PROGRESS);
    ui.label(strings::tool::progress(&progress));
}

fn pager(ui: &mut Ui, state: &State, actions: &mut Actions) {
    let back = command_button(ui, Command::PreviousPage, "‹", state, actions);
    name(&back, egui::Role::Button, Command::PreviousPage.label());
    let count = state.document().map_or(0, |document| document.pages.len());
    match state.view.page.filter(|_| count > 0) {
        Some(PageKey { document, page }) => {
            let mut number = page + 1;
            let field =
                egui::DragValue::new(&mut number).range(1..=count).speed(0.1).suffix(strings::tool::of_pages(count));
            let field = ui.add(field).on_hover_text(strings::tool::PAGE_FIELD);
            name(&field, egui::Role::SpinButton, strings::tool::PAGE_NUMBER);
            if field.changed() && number != page + 1 {
                actions.ask(Action::Go(PageKey { document, page: number.saturating_sub(1).min(count - 1) }));
            }
        }
        None => {
            ui.weak(strings::tool::NO_PAGE);
        }
    }
    let next = command_button(ui, Command::NextPage, "›", state, actions);
    name(&next, egui::Role::Button, Command::NextPage.label());
    for (command, icon) in [(Command::RotateLeft, Icon::RotateLeft), (Command::RotateRight, Icon::RotateRight)] {
        if icon_button(ui, icon, command.label(), command.enabled(state)).clicked() {
            actions.command(command);
        }
    }
}

fn zoom(ui: &mut Ui, state: &State, actions: &mut Actions) {
    let out = command_button(ui, Command::ZoomOut, "−", state, actions);
    name(&out, egui::Role::Button, Command::ZoomOut.label());
    let percent = canvas::camera::percent(ui.ctx()).filter(|_| state.page().is_some());
    let text = strings::tool::zoom(percent);
    ui.add_enabled_ui(state.page().is_some(), |ui| {
        let menu = ui.menu_button(text, |ui| {
            for command in [Command::FitPage, Command::FitWidth, Command::ActualSize, Command::ZoomIn, Command::ZoomOut]
            {
                command_entry(ui, command, state, actions);
            }
        });
        name(&menu.response, egui::Role::Button, strings::tool::ZOOM);
    });
    let larger = command_button(ui, Command::ZoomIn, "+", state, actions);
    name(&larger, egui::Role::Button, Command::ZoomIn.label());
}

/// Gives a control whose face is a sign its name in words.
fn name(response: &egui::Response, kind: egui::Role, name: &str) {
    let enabled = response.enabled();
    response.widget_info(|| egui::WidgetInfo::labeled(kind, enabled, name));
}

fn status(ui: &mut Ui, state: &State) {
    ui.horizontal(|ui| {
        ui.label(RichText::new(strings::OFFLINE).small()).on_hover_text(strings::OFFLINE_HINT);
        if state.detecting > 0 {
            ui.separator();
            ui.add(egui::Spinner::new().size(10.0));
            ui.label(RichText::new(strings::detecting(state.detecting)).small());
        }
        if let Some(page) = state.page() {
            ui.separator();
            ui.label(RichText::new(strings::page_facts(page)).small());
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let text = match &state.engine {
                EngineState::Asleep => {
                    strings::engine_asleep(state.settings.checkpoint.as_deref(), state.settings.device)
                }
                EngineState::Loading => strings::ENGINE_LOADING.to_owned(),
                EngineState::Ready(info) => strings::engine_ready(info),
                EngineState::Failed(_) => strings::ENGINE_FAILED.to_owned(),
            };
            let label = ui.label(RichText::new(text).small());
            match &state.engine {
                EngineState::Failed(message) => label.on_hover_text(message),
                EngineState::Ready(info) => label.on_hover_text(strings::engine_hint(info)),
                _ => label,
            };
        });
    });
}
