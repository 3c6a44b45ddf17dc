//! Asking what to export and how, and how far exports are.

use eframe::egui::{self, Button, Key, ProgressBar, RichText, TextEdit, Ui};
use engine::export::Format;

use super::action::{Action, Actions};
use super::colours;
use super::state::{Modal, State};
use super::strings::export as words;
use super::workspace::export::{ExportForm, Exporting, Scope, is_read};
use super::workspace::notice::Notice;
use super::workspace::path_form::Asked;

/// The formats that are offered.
const FORMATS: [Format; 4] = [Format::Markdown, Format::Html, Format::Json, Format::Text];

/// Width of the labels, points.
const LABELS: f32 = 64.0;

/// Shows the form, inside of a modal. It opens with the focus on Export, and Enter in the field of the path exports too.
pub(crate) fn show(ui: &mut Ui, form: &ExportForm, state: &State, actions: &mut Actions) {
    ui.set_width(520.0);
    ui.heading(words::TITLE);
    ui.add_space(ui.spacing().item_spacing.y);
    let mut changed = form.clone();
    let mut entered = false;
    let document = state.project.document(form.document);
    row(ui, words::FORMAT, |ui, _| {
        ui.horizontal_wrapped(|ui| {
            for format in FORMATS {
                if ui.radio(form.format == format, words::format(format)).clicked() {
                    changed.set_format(format);
                }
            }
        });
    });
    row(ui, words::SCOPE, |ui, _| {
        ui.horizontal_wrapped(|ui| {
            let name = document.map(|document| document.name.as_str()).unwrap_or_default();
            ui.radio_value(&mut changed.scope, Scope::Document, words::WHOLE_DOCUMENT).on_hover_text(name);
            if let Some(page) = form.page {
                ui.radio_value(&mut changed.scope, Scope::Page, words::one_page(page));
            }
        });
    });
    row(ui, words::CONTENT, |ui, _| content(ui, &mut changed));
    row(ui, words::FILE, |ui, label| {
        ui.horizontal(|ui| {
            let button = ui.add(Button::new(words::CHOOSE));
            let field = TextEdit::singleline(&mut changed.path).desired_width(ui.available_width());
            let field = ui.add(field).labelled_by(label);
            if field.changed() {
                changed.settle_path();
            }
            entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
            if button.clicked() {
                actions.ask(Action::Browse(Asked::Export));
            }
        });
        target(ui, &mut changed);
    });
    ui.add_space(ui.spacing().item_spacing.y);
    let read = document.is_some_and(|document| is_read(document, changed.scope, changed.page));
    if !read {
        ui.label(RichText::new(Notice::NothingRead.to_string()).color(colours::warning(ui.visuals())));
    }
    ui.horizontal(|ui| {
        let ready = read && changed.target().is_some() && (!changed.exists || changed.replace);
        let export = ui.add_enabled(ready, Button::new(words::EXPORT));
        if has_opened(ui) && ready {
            export.request_focus();
        }
        if export.clicked() || (entered && ready) {
            actions.ask(Action::Export(changed.clone()));
        }
        if ui.button(words::CANCEL).clicked() {
            actions.ask(Action::Modal(None));
        }
    });
    if changed != *form {
        actions.ask(Action::Modal(Some(Modal::Export(changed))));
    }
}

/// Whether the form was not there in the frame before.
fn has_opened(ui: &Ui) -> bool {
    let id = egui::Id::unique("export form shown");
    let frame = ui.ctx().cumulative_frame_nr();
    let before = ui.data_mut(|data| {
        let before = data.get_temp::<u64>(id);
        data.insert_temp(id, frame);
        before
    });
    before.is_none_or(|before| before + 1 < frame)
}

/// A row of the form: its label, and what stands beside it.
fn row(ui: &mut Ui, label: &str, add: impl FnOnce(&mut Ui, egui::Id)) {
    ui.horizontal_top(|ui| {
        let size = egui::vec2(LABELS, ui.spacing().interact_size.y);
        let layout = egui::Layout::left_to_right(egui::Align::Center);
        let label = ui.allocate_ui_with_layout(size, layout, |ui| {
            ui.set_min_width(LABELS);
            ui.label(label)
        });
        ui.vertical(|ui| add(ui, label.inner.id));
    });
    ui.add_space(ui.spacing().item_spacing.y);
}

/// What goes into the file, as far as its format leaves a choice.
fn content(ui: &mut Ui, form: &mut ExportForm) {
    let json = form.format == Format::Json;
    let markdown = form.format == Format::Markdown;
    let figures = form.shows_figures();
    ui.add_enabled_ui(!json, |ui| ui.checkbox(&mut form.furniture, words::FURNITURE));
    ui.add_enabled_ui(figures, |ui| ui.checkbox(&mut form.figures, words::FIGURES));
    ui.add_enabled_ui(markdown, |ui| ui.checkbox(&mut form.pipe_tables, words::PIPE_TABLES))
        .response
        .on_hover_text(words::PIPE_TABLES_MORE);
    if json {
        ui.weak(words::JSON_HOLDS_ALL);
    }
}

/// What to know about the place.
fn target(ui: &mut Ui, form: &mut ExportForm) {
    let Some(target) = form.target() else {
        ui.weak(Notice::NoName.to_string());
        return;
    };
    if form.exists {
        ui.label(RichText::new(words::exists(&target)).color(colours::warning(ui.visuals())));
        ui.checkbox(&mut form.replace, words::REPLACE);
    } else if form.figures && form.shows_figures() {
        ui.weak(words::figures_go_to(&crate::results::images_folder(&target)));
    }
}

/// Shows the exports that are being written, each with its Cancel.
pub(crate) fn progress(ui: &mut Ui, exports: &[Exporting], actions: &mut Actions) {
    for (number, export) in exports.iter().enumerate() {
        let (done, total) = export.progress();
        ui.horizontal(|ui| {
            let text = words::progress(export.name(), done, total);
            let share = done as f32 / total.max(1) as f32;
            ui.add(ProgressBar::new(share).text(text).desired_width(320.0));
            let cancel = ui.small_button(words::CANCEL).on_hover_text(words::CANCEL_MORE);
            if cancel.clicked() {
                actions.ask(Action::CancelExport(number));
            }
        });
    }
}

#[cfg(test)]
mod tests;
