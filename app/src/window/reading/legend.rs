//! What the colours mean, and the switches for them.

use eframe::egui::text::LayoutJob;
use eframe::egui::{FontId, Response, RichText, Role, Sense, Stroke, TextFormat, TextStyle, Ui, WidgetInfo, vec2};

use super::underline::underlines;
use crate::window::action::Actions;
use crate::window::colours;
use crate::window::command::Command;
use crate::window::highlight::MarkKind;
use crate::window::round_marks::Mark;
use crate::window::state::State;
use crate::window::strings::reading as words;

/// Draws the legend and its switches.
pub(super) fn show(ui: &mut Ui, state: &State, actions: &mut Actions) {
    let settings = &state.settings;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 12.0;
        switch(ui, Command::ToggleColours, settings.colours, actions);
        switch(ui, Command::ToggleGhosts, settings.ghosts, actions);
        switch(ui, Command::ToggleRefused, settings.refused, actions);
    });
    if settings.colours {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 5.0;
            let font = TextStyle::Small.resolve(ui.style());
            ui.label(RichText::new(words::ROUND).small());
            for round in 1..=colours::CYCLE {
                swatch(ui, round, &font);
            }
            ui.label(RichText::new(words::AGAIN).small()).on_hover_text(words::AGAIN_MORE);
            if settings.ghosts {
                ui.add_space(6.0);
                sample(ui, words::DRAFT, MarkKind::Ghost, &font).on_hover_text(words::DRAFT_MORE);
            }
            ui.add_space(6.0);
            sample(ui, words::REFUSED, MarkKind::Rejected, &font).on_hover_text(words::REFUSED_MORE);
        });
    }
}

fn switch(ui: &mut Ui, command: Command, mut on: bool, actions: &mut Actions) {
    if ui.checkbox(&mut on, command.label()).on_hover_text(command.tooltip()).changed() {
        actions.command(command);
    }
}

/// A round's number in its colour over its pattern.
fn swatch(ui: &mut Ui, round: u32, font: &FontId) {
    let job = LayoutJob::simple_singleline(round.to_string(), font.clone(), colours::round(round, ui.visuals()));
    marked(ui, job, 18.0, round, MarkKind::Round, &words::round_swatch(round));
}

/// A word as drafts or refused drafts look.
fn sample(ui: &mut Ui, word: &str, kind: MarkKind, font: &FontId) -> Response {
    let mut format = TextFormat::simple(font.clone(), colours::ghost(ui.visuals()));
    if kind == MarkKind::Rejected {
        format.color = colours::refused(ui.visuals());
        format.strikethrough = Stroke::new(1.0, colours::REJECTED);
    } else {
        format.italics = true;
    }
    marked(ui, LayoutJob::single_section(word.to_owned(), format), 0.0, 0, kind, word)
}

/// A text with its mark, at least so wide.
fn marked(ui: &mut Ui, job: LayoutJob, width: f32, round: u32, kind: MarkKind, name: &str) -> Response {
    let text = ui.painter().layout_job(job);
    let size = vec2(text.size().x.max(width), text.size().y + 2.0);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    // What was refused stands before the bar, and the bar before the correction.
    let shift = if kind == MarkKind::Rejected { vec2(rect.width() + 3.0, 0.0) } else { vec2(0.0, 0.0) };
    underlines(ui, rect.expand(6.0), [Mark { rect: rect.translate(shift), round, kind }]);
    let at = rect.center_top() - vec2(text.size().x / 2.0, 0.0);
    ui.painter().galley(at, text, ui.visuals().text_color());
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, name));
    response
}
