//! The race as it is shown: two lanes side by side, their measured times, and what they say.

use eframe::egui::{
    Align, Button, ComboBox, Grid, Id, Key, Layout, Modal, Modifiers, ProgressBar, Rect, Response, RichText, Role,
    ScrollArea, Sense, Spinner, Stroke, TextStyle, Ui, WidgetInfo, vec2,
};

use super::workspace::race::{Lane, Measured, Phase, RUNS, Race, RaceAsk, Verdict, Way};
use crate::window::action::{Action, Actions};
use crate::window::colours;
use crate::window::icon::{Icon, icon_button};
use crate::window::round_text::{self, RoundStyle};
use crate::window::rounds;
use crate::window::state::{EngineState, State};
use crate::window::strings::{self, race as words, rounds as round_words};
use crate::window::workspace::replay::Replay;

/// The most room that the race takes, points.
const LARGEST: [f32; 2] = [980.0, 660.0];
/// What is left free around it.
const MARGIN: f32 = 48.0;
/// Space between the lanes.
const BETWEEN: f32 = 16.0;
/// Width of a column of figures.
const COLUMN: f32 = 184.0;
/// Room for all but the lanes' texts.
const FIGURES: f32 = 380.0;
/// Room for the controls.
const CONTROLS: f32 = 40.0;

/// Draws the race over the window, if one is open.
pub(crate) fn show(ui: &mut Ui, state: &State, actions: &mut Actions) {
    if let Some(race) = &state.race {
        draw(ui, state, race, actions);
    }
}

/// Draws the race over the window.
fn draw(ui: &mut Ui, state: &State, race: &Race, actions: &mut Actions) {
    let ctx = ui.ctx().clone();
    let room = ctx.content_rect().size() - vec2(MARGIN, MARGIN);
    let height = room.y.min(LARGEST[1]);
    let frame = eframe::egui::Frame::popup(ui.style()).inner_margin(eframe::egui::Margin::same(16));
    let modal = Modal::new(Id::unique("race")).frame(frame).show(&ctx, |ui| {
        ui.set_width(room.x.clamp(200.0, LARGEST[0]));
        ui.set_max_height(height);
        // In a small window all but the controls scrolls; texts keep to a part of the height.
        let scroll = ScrollArea::vertical().id_salt("race").max_height(height - CONTROLS).auto_shrink([false, true]);
        scroll.show(ui, |ui| content(ui, state, race, (height - CONTROLS - FIGURES).max(72.0)));
        ui.add_space(6.0);
        controls(ui, race, actions);
    });
    // A click beside it must not end a measurement; Esc does.
    let escape = || ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape));
    if modal.is_top_modal && !modal.any_popup_open && escape() {
        actions.ask(Action::Race(RaceAsk::Close));
    }
}

fn content(ui: &mut Ui, state: &State, race: &Race, text_height: f32) {
    ui.horizontal(|ui| {
        ui.heading(words::TITLE);
        let region = state.project.page(race.page).and_then(|page| page.region(race.region));
        if let Some(region) = region {
            ui.add(eframe::egui::Label::new(rounds::title(state, region)).truncate());
        }
    });
    progress(ui, state, race);
    ui.add_space(6.0);

    let ways = if race.only_ar.is_some() { &[Way::Ar][..] } else { &[Way::Spec, Way::Ar][..] };
    let longest = ways.iter().filter_map(|&way| race.lane(way).replay.as_ref()).map(Replay::length_ms);
    let longest = longest.fold(0.0, f64::max);
    ui.scope(|ui| {
        let between = std::mem::replace(&mut ui.spacing_mut().item_spacing.x, BETWEEN);
        ui.columns(ways.len(), |columns| {
            for (column, &way) in columns.iter_mut().zip(ways) {
                column.spacing_mut().item_spacing.x = between;
                lane(column, state, race, way, longest, text_height);
            }
        });
    });
    ui.add_space(6.0);
    conclusion(ui, race);
    figures(ui, race, ways);
}

/// What happens now.
fn progress(ui: &mut Ui, state: &State, race: &Race) {
    if let Some(reason) = &race.only_ar {
        ui.label(words::only_ar(reason));
    }
    match (&race.phase, &state.engine) {
        (Phase::Due(_), EngineState::Failed(message)) | (Phase::Failed(message), _) => {
            ui.colored_label(colours::error(ui.visuals()), message);
        }
        (Phase::Due(_), EngineState::Asleep | EngineState::Loading) => {
            ui.label(words::WAITING);
        }
        (Phase::Due(way), EngineState::Ready(_)) => measuring(ui, race, *way),
        (Phase::Running(run), _) => measuring(ui, race, run.way),
        (Phase::Done, _) => {
            ui.weak(words::DONE);
        }
        (Phase::Stopped, _) => {
            ui.label(words::STOPPED);
        }
    }
}

fn measuring(ui: &mut Ui, race: &Race, way: Way) {
    ui.horizontal(|ui| {
        ui.add(Spinner::new().size(12.0));
        ui.label(words::measuring(words::way(way), race.lane(way).runs.len() + 1, RUNS));
    });
}

/// A lane: its clock and its text.
fn lane(ui: &mut Ui, state: &State, race: &Race, way: Way, longest_ms: f64, text_height: f32) {
    let name = words::way(way);
    let replay = race.lane(way).replay.as_ref().filter(|_| !race.is_measuring());
    ui.horizontal(|ui| {
        ui.strong(name);
        if let Some(replay) = replay {
            let clock = RichText::new(round_words::ms(replay.clock_ms())).monospace();
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.label(clock));
        }
    });
    if let Some(replay) = replay.filter(|_| longest_ms > 0.0) {
        // Both bars have the length of the longer race, so that they show one clock.
        let (share, own) = (replay.clock_ms() / longest_ms, replay.length_ms() / longest_ms);
        let width = ui.available_width();
        let bar =
            ProgressBar::new((share / own.max(1e-9)) as f32).desired_width(width * own as f32).desired_height(6.0);
        let bar = ui.add(bar);
        bar.widget_info(|| {
            let mut info = WidgetInfo::labeled(Role::ProgressIndicator, true, words::progress(name));
            info.value = Some(share / own.max(1e-9) * 100.0);
            info
        });
    } else {
        ui.add_space(6.0 + ui.spacing().item_spacing.y);
    }
    let frame = eframe::egui::Frame::group(ui.style());
    frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        let scroll = ScrollArea::vertical().id_salt(name).max_height(text_height).min_scrolled_height(text_height);
        scroll.auto_shrink(false).stick_to_bottom(true).show(ui, |ui| {
            let font = TextStyle::Body.resolve(ui.style());
            let style = RoundStyle::of(&state.settings, font, ui.available_width(), ui.visuals());
            // Columns justify what is in them; text is better left ragged.
            ui.with_layout(Layout::top_down(Align::LEFT), |ui| {
                ui.spacing_mut().item_spacing.y = 2.0;
                for text in race.texts(way) {
                    ui.label(round_text::layout(text, &style, ui.visuals()).0);
                }
            });
        });
    });
}

/// Adds to a column of figures, which end where those above and below end.
fn right(ui: &mut Ui, add: impl FnOnce(&mut Ui) -> Response) {
    let size = vec2(COLUMN, ui.text_style_height(&TextStyle::Body));
    ui.allocate_ui_with_layout(size, Layout::right_to_left(Align::Center), add);
}

/// The measured figures, the ways side by side.
fn figures(ui: &mut Ui, race: &Race, ways: &[Way]) {
    let row = |ui: &mut Ui, name: &str, help: &str, value: &dyn Fn(&Lane) -> Option<String>| {
        ui.weak(name).on_hover_text(help);
        for &way in ways {
            right(ui, |ui| match value(race.lane(way)) {
                Some(value) => ui.label(value),
                None => ui.weak(strings::NOT_MEASURED),
            });
        }
        ui.end_row();
    };
    let median = |get: fn(&Measured) -> Option<f64>| move |lane: &Lane| lane.median().and_then(get);
    let ms = |get: fn(&Measured) -> Option<f64>| move |lane: &Lane| median(get)(lane).map(round_words::ms);
    let tally =
        |get: fn(&crate::tally::Tally) -> String| move |lane: &Lane| lane.median().map(|m| get(&m.figures.tally));
    Grid::new("race figures").num_columns(ways.len() + 1).spacing(vec2(28.0, 2.0)).striped(true).show(ui, |ui| {
        ui.weak("");
        for &way in ways {
            right(ui, |ui| ui.strong(words::way(way)));
        }
        ui.end_row();
        row(ui, words::DECODING, words::DECODING_HELP, &|lane| {
            let (shortest, longest) = lane.range_ms()?;
            Some(words::median(lane.median()?.decode_ms()?, shortest, longest))
        });
        row(ui, words::ALL_RUNS, words::ALL_RUNS_HELP, &|lane| {
            let runs: Vec<_> = lane.runs.iter().filter_map(Measured::decode_ms).map(round_words::ms).collect();
            (!runs.is_empty()).then(|| runs.join(" · "))
        });
        row(ui, words::VISION, words::VISION_HELP, &ms(|m| m.figures.times().map(|t| t.vision_ms)));
        row(ui, words::PREFILL, words::PREFILL_HELP, &ms(|m| m.figures.times().map(|t| t.prefill_ms)));
        row(ui, words::WHOLE, words::WHOLE_HELP, &ms(Measured::whole_ms));
        row(ui, round_words::TOKENS, round_words::TOKENS_HELP, &tally(|t| t.tokens.to_string()));
        row(ui, round_words::FORWARDS, round_words::FORWARDS_HELP, &tally(|t| t.forwards.to_string()));
        row(ui, round_words::PER_FORWARD, round_words::PER_FORWARD_HELP, &|lane| {
            Some(format!("{:.2}", lane.median()?.figures.tally.tokens_per_forward()?))
        });
        row(ui, round_words::RATE, round_words::RATE_HELP, &|lane| {
            Some(format!("{:.0}", lane.median()?.figures.ended.decode_rate()?))
        });
    });
}

/// What the measurement says, whichever way it goes.
fn conclusion(ui: &mut Ui, race: &Race) {
    let Some(verdict) = race.verdict() else { return };
    let text = match verdict {
        Verdict::Same { tokens } => words::same(tokens),
        Verdict::Differ { request, token } => words::differ(request + 1, token + 1),
    };
    ui.horizontal_wrapped(|ui| {
        mark(ui, matches!(verdict, Verdict::Same { .. }));
        ui.strong(text);
        ui.add_space(12.0);
        let times = |lane: &Lane| Some((lane.median()?.decode_ms()?, lane.range_ms()?));
        let (spec, ar) = (times(race.lane(Way::Spec)), times(race.lane(Way::Ar)));
        if let (Some((spec_ms, spec_range)), Some((ar_ms, ar_range))) = (spec, ar) {
            let overlap = spec_range.0 <= ar_range.1 && ar_range.0 <= spec_range.1;
            ui.label(words::ratio(spec_ms / ar_ms, overlap));
        }
    });
    ui.add_space(6.0);
}

/// A check mark or a cross.
fn mark(ui: &mut Ui, good: bool) {
    let (space, _) = ui.allocate_exact_size(vec2(14.0, 14.0), Sense::hover());
    let at = Rect::from_center_size(space.center(), vec2(10.0, 10.0));
    let painter = ui.painter();
    if good {
        let stroke = Stroke::new(2.0, colours::same(ui.visuals()));
        painter.line_segment([at.left_center(), at.center_bottom() - vec2(1.0, 1.0)], stroke);
        painter.line_segment([at.center_bottom() - vec2(1.0, 1.0), at.right_top()], stroke);
    } else {
        let stroke = Stroke::new(2.0, colours::REJECTED);
        painter.line_segment([at.left_top(), at.right_bottom()], stroke);
        painter.line_segment([at.right_top(), at.left_bottom()], stroke);
    }
}

fn controls(ui: &mut Ui, race: &Race, actions: &mut Actions) {
    let mut ask = |ask| actions.ask(Action::Race(ask));
    ui.horizontal(|ui| {
        if race.is_measuring() {
            if ui.button(words::STOP).on_hover_text(words::STOP_HELP).clicked() {
                ask(RaceAsk::Stop);
            }
        } else {
            if ui.add(Button::new(words::AGAIN)).on_hover_text(words::AGAIN_HELP).clicked() {
                ask(RaceAsk::Again);
            }
            let playable = [&race.spec, &race.ar].iter().any(|lane| lane.replay.is_some());
            if playable {
                ui.separator();
                if race.is_playing() {
                    if icon_button(ui, Icon::Pause, round_words::PAUSE, true).clicked() {
                        ask(RaceAsk::Pause);
                    }
                } else if icon_button(ui, Icon::Play, words::PLAY, true).clicked() {
                    ask(RaceAsk::Play);
                }
                let mut pace = race.pace;
                let chooser = ComboBox::from_id_salt("race pace").selected_text(words::pace(pace)).show_ui(ui, |ui| {
                    for choice in words::PACES {
                        ui.selectable_value(&mut pace, choice, words::pace(choice));
                    }
                });
                chooser.response.on_hover_text(words::PACE_HELP).widget_info(|| {
                    let mut info = WidgetInfo::labeled(Role::ComboBox, true, words::PACE);
                    info.current_text_value = Some(words::pace(race.pace));
                    info
                });
                if pace != race.pace {
                    ask(RaceAsk::Pace(pace));
                }
            }
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if ui.button(words::CLOSE).on_hover_text(words::CLOSE_HELP).clicked() {
                ask(RaceAsk::Close);
            }
        });
    });
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::panic, reason = "a test that fails may panic")]
mod tests;
