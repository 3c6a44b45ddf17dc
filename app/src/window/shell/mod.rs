//! What frames the panes: menus, toolbar, status bar, the list of pages, questions.

pub(super) mod pages;

use eframe::egui::Ui;

use super::action::Actions;
use super::state::State;

/// Menus and toolbar at the top, the status bar at the bottom.
pub(super) fn bars(ui: &mut Ui, state: &State, actions: &mut Actions) {
    let _ = (ui, state, actions);
}

/// What lies over the panes: messages, questions, settings.
pub(super) fn over(ui: &mut Ui, state: &State, actions: &mut Actions) {
    let _ = (ui, state, actions);
}
