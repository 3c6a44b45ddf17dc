//! What frames the panes: menus, toolbar, status bar, the list of pages, questions.

mod bars;
mod messages;
mod modals;
pub(super) mod pages;
mod settings;
mod shortcuts;
pub(super) mod style;
pub(super) mod welcome;

pub(super) use bars::bars;
pub(super) use shortcuts::{asked_by_keys, shortcut_text};

use eframe::egui::{Align2, Button, CornerRadius, FontId, Id, LayerId, Order, Response, StrokeKind, Ui};

use super::action::Actions;
use super::command::Command;
use super::state::State;
use super::strings;

/// What lies over the panes: messages and questions.
pub(super) fn over(ui: &mut Ui, state: &State, actions: &mut Actions) {
    messages::show(ui, state, actions);
    modals::show(ui, state, actions);
    if ui.input(|input| !input.raw.hovered_files.is_empty()) {
        drop_hint(ui);
    }
}

/// Says that files can be let go here.
fn drop_hint(ui: &Ui) {
    let painter = ui.ctx().layer_painter(LayerId::new(Order::Foreground, Id::unique("drop hint")));
    let (visuals, rect) = (ui.visuals(), ui.ctx().content_rect());
    painter.rect_filled(rect, CornerRadius::ZERO, visuals.panel_fill.gamma_multiply(0.85));
    let edge = rect.shrink(12.0);
    painter.rect_stroke(edge, CornerRadius::same(8), visuals.selection.stroke, StrokeKind::Inside);
    let font = FontId::proportional(20.0);
    painter.text(rect.center(), Align2::CENTER_CENTER, strings::DROP_HERE, font, visuals.strong_text_color());
}

/// A button for a command: its name, its explanation with its keys, and whether it can be done now.
pub(super) fn command_button(
    ui: &mut Ui,
    command: Command,
    text: &str,
    state: &State,
    actions: &mut Actions,
) -> Response {
    let response = ui.add_enabled(command.enabled(state), Button::new(text));
    let response = explained(response, hint(ui, command), command, state);
    if response.clicked() {
        actions.command(command);
    }
    response
}

/// A command's explanation with its keys.
pub(super) fn hint(ui: &Ui, command: Command) -> String {
    match shortcut_text(ui, command) {
        Some(keys) => format!("{} ({keys})", command.tooltip()),
        None => command.tooltip().to_owned(),
    }
}

/// A command's control that says what it does, or why it cannot be done just now.
pub(super) fn explained(control: Response, hint: String, command: Command, state: &State) -> Response {
    let control = control.on_hover_text(hint);
    match command.refusal(state) {
        Some(notice) => control.on_disabled_hover_text(notice.to_string()),
        None => control,
    }
}

/// A menu entry for a command; checked where it is a switch that is on.
pub(super) fn command_entry(ui: &mut Ui, command: Command, state: &State, actions: &mut Actions) {
    use Command::*;
    let panes = state.settings.panes;
    let switch = match command {
        TogglePages => Some(panes.pages),
        ToggleReading => Some(panes.reading),
        ToggleRounds => Some(panes.rounds),
        ToggleColours => Some(state.settings.colours),
        ToggleGhosts => Some(state.settings.ghosts),
        ToggleRefused => Some(state.settings.refused),
        ToggleFurniture => Some(state.settings.furniture),
        _ => None,
    };
    let named = |operation| format!("{} {}", command.label(), lower(strings::change::name(operation)));
    let label = match command {
        Undo => state.history.undo_operation().map(named),
        Redo => state.history.redo_operation().map(named),
        _ => None,
    };
    let label = label.unwrap_or_else(|| command.label().to_owned());
    let mut button = Button::new(label).selected(switch == Some(true));
    if let Some(keys) = shortcut_text(ui, command) {
        button = button.shortcut_text(keys);
    }
    let entry = ui.add_enabled(command.enabled(state), button);
    if explained(entry, command.tooltip().to_owned(), command, state).clicked() {
        actions.command(command);
        ui.close();
    }
}

fn lower(name: &str) -> String {
    let mut characters = name.chars();
    characters.next().map(|first| first.to_lowercase().chain(characters).collect()).unwrap_or_default()
}
