//! The reading pane: what was read, region by region, as it appears and as it will be exported.

mod card;
mod column;
mod editor;
mod epoch;
mod figure;
mod legend;
mod live;
mod long_text;
mod preview;
mod rendered;
mod source;
mod table;
#[cfg(test)]
pub(super) mod tests;
mod texts;
mod underline;

use eframe::egui::{Align, Button, Id, Layout, Panel, Ui};

use self::rendered::Scope;
use super::action::{Action, Actions};
use super::command::Command;
use super::state::{ReadingTab, State};
use super::strings::reading as words;

/// Draws the pane.
pub(crate) fn show(ui: &mut Ui, state: &State, actions: &mut Actions) {
    ui.add_space(4.0);
    ui.horizontal(|ui| {
        for (tab, name) in [
            (ReadingTab::Live, words::LIVE),
            (ReadingTab::Preview, words::PREVIEW),
            (ReadingTab::Source, words::SOURCE),
        ] {
            if ui.selectable_label(state.view.reading == tab, name).clicked() {
                actions.ask(Action::Tab(tab));
            }
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| copy(ui, state, actions));
    });
    ui.separator();
    match state.view.reading {
        ReadingTab::Live => {
            Panel::bottom("legend").show_separator_line(true).show(ui, |ui| {
                ui.add_space(2.0);
                legend::show(ui, state, actions);
                ui.add_space(2.0);
            });
            live::show(ui, state, actions);
        }
        ReadingTab::Preview => {
            let scope = scope(ui, state);
            preview::show(ui, state, scope);
        }
        ReadingTab::Source => {
            let scope = scope(ui, state);
            source::show(ui, state, scope);
        }
    }
}

/// Copies what the tab shows.
fn copy(ui: &mut Ui, state: &State, actions: &mut Actions) {
    let whole = state.view.reading != ReadingTab::Live && kept_scope(ui) == Scope::Document;
    let command = if whole { Command::CopyDocument } else { Command::CopyPage };
    let response = ui.add_enabled(command.enabled(state), Button::new(command.label()).small());
    if response.on_hover_text(command.tooltip()).clicked() {
        actions.command(command);
    }
}

/// The choice between the page and the whole document, where there is one.
fn scope(ui: &mut Ui, state: &State) -> Scope {
    if state.document().is_none_or(|document| document.pages.len() < 2) {
        return Scope::Page;
    }
    let before = kept_scope(ui);
    let mut scope = before;
    ui.horizontal(|ui| {
        ui.selectable_value(&mut scope, Scope::Page, words::THIS_PAGE);
        ui.selectable_value(&mut scope, Scope::Document, words::WHOLE_DOCUMENT);
    });
    ui.add_space(4.0);
    if scope != before {
        ui.data_mut(|data| data.insert_temp(scope_id(), scope));
    }
    scope
}

fn kept_scope(ui: &Ui) -> Scope {
    ui.data(|data| data.get_temp(scope_id())).unwrap_or_default()
}

fn scope_id() -> Id {
    Id::unique("reading scope")
}
