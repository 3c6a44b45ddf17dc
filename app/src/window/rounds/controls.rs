//! The replay's controls.

use eframe::egui::{Button, ComboBox, Painter, Pos2, Rect, Response, Role, Slider, Stroke, Ui, WidgetInfo, pos2, vec2};

use crate::window::action::{Action, Actions};
use crate::window::command::Command;
use crate::window::replay::{Pace, Replay, ReplayAsk};
use crate::window::state::State;
use crate::window::strings::rounds as words;

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
        // The slider takes what the rest leaves.
        ui.spacing_mut().slider_width = (ui.available_width() - 246.0).clamp(60.0, 900.0);
        let mut at = replay.at();
        let slider = ui.add(Slider::new(&mut at, 0..=replay.len().max(1)).show_value(false));
        slider.widget_info(|| WidgetInfo::slider(ui.is_enabled(), replay.at() as f64, words::POSITION));
        if slider.changed() {
            ask(ReplayAsk::Seek(at));
        }
        ui.label(position);
        let mut pace = replay.pace;
        let chooser =
            ComboBox::from_id_salt("replay pace").selected_text(words::pace(pace)).width(104.0).show_ui(ui, |ui| {
                for choice in Pace::CHOICES {
                    ui.selectable_value(&mut pace, choice, words::pace(choice));
                }
            });
        chooser.response.widget_info(|| {
            let mut info = WidgetInfo::labeled(Role::ComboBox, ui.is_enabled(), words::PACE);
            info.current_text_value = Some(words::pace(replay.pace));
            info
        });
        if pace != replay.pace {
            ask(ReplayAsk::Pace(pace));
        }
        if icon_button(ui, Icon::Close, words::CLOSE, true).clicked() {
            ask(ReplayAsk::Close);
        }
    });
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

/// A picture on a button; painted, since no font is sure to have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Icon {
    Play,
    Pause,
    Back,
    Forward,
    Close,
}

/// A button with a picture; the name is for the tooltip and for screen readers.
pub(crate) fn icon_button(ui: &mut Ui, icon: Icon, name: &str, enabled: bool) -> Response {
    let button = ui.add_enabled(enabled, Button::new("").min_size(vec2(24.0, 20.0)));
    button.widget_info(|| WidgetInfo::labeled(Role::Button, enabled, name));
    let mut stroke = ui.style().interact(&button).fg_stroke;
    if !enabled {
        stroke.color = ui.visuals().weak_text_color().gamma_multiply(0.5);
    }
    icon.paint(ui.painter(), Rect::from_center_size(button.rect.center(), vec2(10.0, 10.0)), stroke);
    button.on_hover_text(name)
}

impl Icon {
    fn paint(self, painter: &Painter, within: Rect, stroke: Stroke) {
        use eframe::egui::Shape;
        let triangle = |tip: Pos2, foot: f32| {
            let points = vec![pos2(foot, within.top()), tip, pos2(foot, within.bottom())];
            painter.add(Shape::convex_polygon(points, stroke.color, Stroke::NONE));
        };
        let bar = |x: f32, width: f32| {
            let bar = Rect::from_min_max(pos2(x, within.top()), pos2(x + width, within.bottom()));
            painter.rect_filled(bar, 0.0, stroke.color);
        };
        match self {
            Icon::Play => triangle(within.right_center(), within.left()),
            Icon::Pause => {
                bar(within.left(), 3.5);
                bar(within.right() - 3.5, 3.5);
            }
            Icon::Forward => {
                triangle(within.right_center() - vec2(2.0, 0.0), within.left());
                bar(within.right() - 2.0, 2.0);
            }
            Icon::Back => {
                triangle(within.left_center() + vec2(2.0, 0.0), within.right());
                bar(within.left(), 2.0);
            }
            Icon::Close => {
                let stroke = Stroke::new(1.5, stroke.color);
                let cross = within.shrink(1.0);
                painter.line_segment([cross.left_top(), cross.right_bottom()], stroke);
                painter.line_segment([cross.right_top(), cross.left_bottom()], stroke);
            }
        }
    }
}
