//! Things to tell, at the lower edge of the window. Errors stay until they are read; good news goes away by itself.

use std::time::Duration;

use eframe::egui::{self, Align2, Area, Frame, Id, Order, RichText, Ui};

use crate::window::action::{Action, Actions};
use crate::window::state::{State, Tone};
use crate::window::{colours, export, strings};

/// How long good news stays.
const STAY: Duration = Duration::from_secs(6);

/// Draws them.
pub(super) fn show(ui: &mut Ui, state: &State, actions: &mut Actions) {
    if state.messages.is_empty() && state.exports.is_empty() {
        return;
    }
    let context = ui.ctx().clone();
    let area = Area::new(Id::unique("messages")).order(Order::Foreground).anchor(Align2::CENTER_BOTTOM, [0.0, -36.0]);
    area.show(&context, |ui| {
        ui.set_max_width((ui.ctx().content_rect().width() - 80.0).clamp(200.0, 640.0));
        if !state.exports.is_empty() {
            Frame::popup(ui.style()).show(ui, |ui| export::progress(ui, &state.exports, actions));
        }
        for message in &state.messages {
            Frame::popup(ui.style()).show(ui, |ui| {
                ui.horizontal(|ui| {
                    let (word, colour) = match message.tone {
                        Tone::Good => (None, ui.visuals().text_color()),
                        Tone::Warning => (Some(strings::WARNING), colours::warning(ui.visuals())),
                        Tone::Error => (Some(strings::ERROR), colours::error(ui.visuals())),
                    };
                    if let Some(word) = word {
                        ui.label(RichText::new(word).strong().color(colour));
                    }
                    if ui.button(strings::DISMISS).clicked() {
                        actions.ask(Action::Dismiss(message.text.clone()));
                    }
                    ui.add(egui::Label::new(&message.text).wrap());
                });
            });
            if message.tone == Tone::Good {
                match STAY.checked_sub(message.since.elapsed()) {
                    Some(left) if state.modal.is_none() => ui.ctx().request_repaint_after(left),
                    Some(_) => {}
                    None => actions.ask(Action::Dismiss(message.text.clone())),
                }
            }
        }
    });
}
