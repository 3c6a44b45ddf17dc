//! The replay's controls.

use eframe::egui::{Button, ComboBox, Role, Slider, Ui, WidgetInfo};

use crate::window::action::{Action, Actions};
use crate::window::command::Command;
use crate::window::icon::{Icon, icon_button};
use crate::window::state::State;
use crate::window::strings::rounds as words;
use crate::window::workspace::replay::{Pace, Replay, ReplayAsk};

/// Widths of the controls behind the slider with the space before them, and of a slider that is easy to use, points.
const CLOSE: f32 = 40.0;
const PACE: f32 = 116.0;
const POSITION: f32 = 116.0;
const SLIDER: f32 = 48.0;

/// Draws the controls: all of them while a replay is open, a way to open it otherwise.
pub(super) fn show(ui: &mut Ui, state: &State, replay: Option<&Replay>, actions: &mut Actions) {
    ui.horizontal_centered(|ui| {
        let Some(replay) = replay else {
            command_button(ui, state, actions, Command::PlayRounds);
            return;
        };
        let mut ask = |ask| actions.ask(Action::Replay(ask));
        if icon_button(ui, Icon::Back, words::BACK, replay.at() > 0).clicked() {
            ask(ReplayAsk::Back);
        }
        if replay.playing {
            if icon_button(ui, Icon::Pause, words::PAUSE, true).clicked() {
                ask(ReplayAsk::Pause);
            }
        } else if icon_button(ui, Icon::Play, words::PLAY, replay.len() > 0).clicked() {
            ask(ReplayAsk::Play);
        }
        if icon_button(ui, Icon::Forward, words::FORWARD, !replay.is_at_end()).clicked() {
            ask(ReplayAsk::Forward);
        }
        let position = words::position(replay.rounds_done(), replay.rounds());
        // In a narrow panel the pace and then the position give way; the slider takes what the rest leaves.
        let mut room = ui.available_width() - CLOSE;
        let with_pace = room >= PACE + SLIDER;
        room -= if with_pace { PACE } else { 0.0 };
        let with_position = room >= POSITION + SLIDER;
        room -= if with_position { POSITION } else { 0.0 };
        ui.spacing_mut().slider_width = room.clamp(0.5 * SLIDER, 900.0);
        let mut at = replay.at();
        let slider = ui.add(Slider::new(&mut at, 0..=replay.len().max(1)).show_value(false));
        slider.widget_info(|| WidgetInfo::slider(ui.is_enabled(), replay.at() as f64, words::POSITION));
        if slider.changed() {
            ask(ReplayAsk::Seek(at));
        }
        slider.on_hover_text(&position);
        if with_position {
            ui.label(position);
        }
        if with_pace {
            choose_pace(ui, replay.pace, |pace| ask(ReplayAsk::Pace(pace)));
        }
        if icon_button(ui, Icon::Close, words::CLOSE, true).clicked() {
            ask(ReplayAsk::Close);
        }
    });
}

/// The pace, and a menu to change it.
fn choose_pace(ui: &mut Ui, before: Pace, ask: impl FnOnce(Pace)) {
    let mut pace = before;
    let chooser =
        ComboBox::from_id_salt("replay pace").selected_text(words::pace(pace)).width(104.0).show_ui(ui, |ui| {
            for choice in Pace::CHOICES {
                ui.selectable_value(&mut pace, choice, words::pace(choice));
            }
        });
    chooser.response.widget_info(|| {
        let mut info = WidgetInfo::labeled(Role::ComboBox, ui.is_enabled(), words::PACE);
        info.current_text_value = Some(words::pace(before));
        info
    });
    if pace != before {
        ask(pace);
    }
}

/// A button for a command, with its words and keys.
pub(crate) fn command_button(ui: &mut Ui, state: &State, actions: &mut Actions, command: Command) {
    let keys = command.shortcuts().first().map(|keys| ui.ctx().format_shortcut(keys));
    let tooltip = match keys {
        Some(keys) => format!("{} ({keys})", command.tooltip()),
        None => command.tooltip().to_owned(),
    };
    let button = ui.add_enabled(command.enabled(state), Button::new(command.label()));
    if button.on_hover_text(tooltip).clicked() {
        actions.command(command);
    }
}
