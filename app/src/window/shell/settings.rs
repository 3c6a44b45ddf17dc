//! The settings page.

use eframe::egui::{self, ComboBox, DragValue, RichText, ScrollArea, Slider, TextEdit, Ui};

use engine::precision::WeightFormat;

use crate::window::action::{Action, Actions};
use crate::window::state::{EngineState, State};
use crate::window::strings::settings as s;
use crate::window::workspace::path_form::Asked;
use crate::window::workspace::settings::{Decoding, Renderer, Settings, Theme};
use crate::window::{colours, strings};

/// Draws the page; every change is in force at once.
pub(super) fn show(ui: &mut Ui, state: &State, actions: &mut Actions) {
    let mut settings: Settings = state.settings.clone();
    ui.set_width(520.0_f32.min(ui.ctx().content_rect().width() - 60.0));
    ui.heading(s::TITLE);
    ui.add_space(6.0);
    let height = ui.ctx().content_rect().height() - 160.0;
    ScrollArea::vertical().max_height(height).auto_shrink([false, true]).show(ui, |ui| {
        rows(ui, &mut settings, state, actions);
    });
    ui.add_space(10.0);
    if ui.button(strings::CLOSE).clicked() {
        actions.ask(Action::Modal(None));
    }
    if settings != state.settings {
        actions.ask(Action::Settings(Box::new(settings)));
    }
}

fn rows(ui: &mut Ui, settings: &mut Settings, state: &State, actions: &mut Actions) {
    egui::Grid::new("settings").num_columns(2).spacing([24.0, 10.0]).show(ui, |ui| {
        ui.label(s::THEME);
        ui.horizontal(|ui| {
            for (theme, name) in [(Theme::System, s::SYSTEM), (Theme::Light, s::LIGHT), (Theme::Dark, s::DARK)] {
                ui.selectable_value(&mut settings.theme, theme, name);
            }
        });
        ui.end_row();

        let label = ui.label(s::SCALE);
        ui.add(DragValue::new(&mut settings.scale).range(50..=300).suffix(" %").speed(1.0)).labelled_by(label.id);
        ui.end_row();

        let label = ui.label(s::CHECKPOINT);
        ui.vertical(|ui| checkpoint(ui, settings, label.id, state, actions));
        ui.end_row();

        let label = ui.label(s::DECODING);
        let way = |decoding| match decoding {
            Decoding::Best => s::BEST,
            Decoding::Autoregressive => s::ONE_BY_ONE,
        };
        ComboBox::from_id_salt("decoding")
            .selected_text(way(settings.decoding))
            .width(260.0)
            .show_ui(ui, |ui| {
                for decoding in [Decoding::Best, Decoding::Autoregressive] {
                    ui.selectable_value(&mut settings.decoding, decoding, way(decoding));
                }
            })
            .response
            .labelled_by(label.id);
        ui.end_row();

        let label = ui.label(s::DEVICE);
        ui.vertical(|ui| device(ui, settings, label.id, state));
        ui.end_row();

        let label = ui.label(s::WEIGHTS);
        ui.vertical(|ui| weights(ui, settings, label.id));
        ui.end_row();

        let label = ui.label(s::THREADS);
        ui.horizontal(|ui| {
            let mut all = settings.threads.is_none();
            ui.checkbox(&mut all, s::ALL_THREADS);
            let machine = std::thread::available_parallelism().map_or(1, usize::from);
            let mut threads = settings.threads.unwrap_or(machine);
            ui.add_enabled(!all, DragValue::new(&mut threads).range(1..=machine.max(1))).labelled_by(label.id);
            settings.threads = (!all).then_some(threads);
        });
        ui.end_row();

        let label = ui.label(s::LIMIT);
        ui.add(DragValue::new(&mut settings.max_tokens).range(1..=65_536).speed(16.0)).labelled_by(label.id);
        ui.end_row();

        let label = ui.label(s::DPI);
        ui.add(Slider::new(&mut settings.dpi, 100..=400).step_by(50.0).suffix(" dpi")).labelled_by(label.id);
        ui.end_row();

        let label = ui.label(s::RENDERER);
        ComboBox::from_id_salt("renderer")
            .selected_text(s::renderer(settings.renderer))
            .width(260.0)
            .show_ui(ui, |ui| {
                for renderer in [Renderer::Automatic, Renderer::Pdfium, Renderer::BuiltIn] {
                    ui.selectable_value(&mut settings.renderer, renderer, s::renderer(renderer));
                }
            })
            .response
            .labelled_by(label.id);
        ui.end_row();

        let label = ui.label(s::PDFIUM);
        ui.vertical(|ui| {
            ui.add_enabled_ui(settings.renderer != Renderer::BuiltIn, |ui| pdfium(ui, settings, label.id, actions));
        });
        ui.end_row();

        ui.label(s::LANGUAGE);
        ui.label(s::ENGLISH);
        ui.end_row();

        ui.label(s::SHOWN);
        ui.vertical(|ui| {
            use crate::window::command::Command::*;
            ui.checkbox(&mut settings.colours, ToggleColours.label()).on_hover_text(ToggleColours.tooltip());
            ui.checkbox(&mut settings.ghosts, ToggleGhosts.label()).on_hover_text(ToggleGhosts.tooltip());
            ui.checkbox(&mut settings.refused, ToggleRefused.label()).on_hover_text(ToggleRefused.tooltip());
            ui.checkbox(&mut settings.furniture, ToggleFurniture.label()).on_hover_text(ToggleFurniture.tooltip());
        });
        ui.end_row();
    });
}

/// The devices, each card with what the checkpoint takes of it; one that cannot be used is shown with the reason.
fn device(ui: &mut Ui, settings: &mut Settings, label: egui::Id, state: &State) {
    let room = |device| state.devices.room(device, &state.settings);
    ComboBox::from_id_salt("device")
        .selected_text(settings.device.to_string())
        .width(260.0)
        .show_ui(ui, |ui| {
            if state.devices.choices.is_empty() {
                ui.weak(s::LOOKING_FOR_DEVICES);
            }
            for choice in &state.devices.choices {
                let text = [Some(s::device(choice)), room(choice.device)];
                let text = text.into_iter().flatten().collect::<Vec<_>>().join("\n");
                let usable = choice.reason.is_none();
                ui.add_enabled_ui(usable, |ui| ui.selectable_value(&mut settings.device, choice.device, text));
            }
        })
        .response
        .labelled_by(label);
    if let Some(room) = room(settings.device) {
        ui.label(RichText::new(room).small());
    }
}

/// How weights are kept; cards have no choice.
fn weights(ui: &mut Ui, settings: &mut Settings, label: egui::Id) {
    ComboBox::from_id_salt("weights")
        .selected_text(s::weights(settings.weights))
        .width(260.0)
        .show_ui(ui, |ui| {
            for format in [WeightFormat::Auto, WeightFormat::F32, WeightFormat::Bf16, WeightFormat::Int8] {
                ui.selectable_value(&mut settings.weights, format, s::weights(format));
            }
        })
        .response
        .labelled_by(label);
    ui.label(RichText::new(s::WEIGHTS_OF_CARDS).small());
}

/// Where pdfium's library lies.
fn pdfium(ui: &mut Ui, settings: &mut Settings, label: egui::Id, actions: &mut Actions) {
    // What is typed is taken when it is complete.
    let id = egui::Id::unique("pdfium folder");
    let stored = settings.pdfium.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let mut typed: String = ui.data(|data| data.get_temp(id)).unwrap_or_else(|| stored.clone());
    let field =
        ui.add(TextEdit::singleline(&mut typed).hint_text(s::PDFIUM_HINT).desired_width(300.0)).labelled_by(label);
    ui.horizontal(|ui| {
        if ui.button(s::CHOOSE_PDFIUM).clicked() {
            ui.data_mut(|data| data.remove_temp::<String>(id));
            actions.ask(Action::Browse(Asked::Pdfium));
        }
        let ready = typed.trim() != stored;
        let entered = field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        if ui.add_enabled(ready, egui::Button::new(s::USE_PDFIUM)).clicked() || (ready && entered) {
            settings.pdfium = Some(typed.trim()).filter(|path| !path.is_empty()).map(Into::into);
            ui.data_mut(|data| data.remove_temp::<String>(id));
        } else if field.changed() {
            ui.data_mut(|data| data.insert_temp(id, typed.clone()));
        }
    });
}

fn checkpoint(ui: &mut Ui, settings: &mut Settings, label: egui::Id, state: &State, actions: &mut Actions) {
    // What is typed is taken when it is complete: a half-written path is no checkpoint.
    let id = egui::Id::unique("checkpoint folder");
    let mut own = settings.checkpoint.is_some() || ui.data(|data| data.get_temp::<String>(id)).is_some();
    ui.horizontal(|ui| {
        ui.selectable_value(&mut own, false, s::BUNDLED);
        ui.selectable_value(&mut own, true, s::FOLDER);
    });
    let stored = settings.checkpoint.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    if own {
        let mut typed: String = ui.data(|data| data.get_temp(id)).unwrap_or(stored.clone());
        let field =
            ui.add(TextEdit::singleline(&mut typed).hint_text(s::FOLDER_HINT).desired_width(300.0)).labelled_by(label);
        ui.horizontal(|ui| {
            if ui.button(s::CHOOSE).clicked() {
                ui.data_mut(|data| data.remove_temp::<String>(id));
                actions.ask(Action::ChooseCheckpoint);
            }
            let ready = !typed.trim().is_empty() && typed != stored;
            let entered = field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
            if ui.add_enabled(ready, egui::Button::new(s::USE)).clicked() || (ready && entered) {
                settings.checkpoint = Some(typed.trim().into());
                ui.data_mut(|data| data.remove_temp::<String>(id));
            } else if field.changed() {
                ui.data_mut(|data| data.insert_temp(id, typed.clone()));
            } else if settings.checkpoint.is_none() && ui.data(|data| data.get_temp::<String>(id)).is_none() {
                ui.data_mut(|data| data.insert_temp(id, String::new()));
            }
        });
    } else {
        settings.checkpoint = None;
        ui.data_mut(|data| data.remove_temp::<String>(id));
    }
    if let EngineState::Failed(message) = &state.engine {
        ui.label(RichText::new(message).color(colours::error(ui.visuals())));
    }
}
