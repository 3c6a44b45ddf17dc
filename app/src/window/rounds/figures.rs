//! The figures of a region, and where its time went.

use eframe::egui::{Grid, Rect, Sense, TextStyle, Ui, pos2, vec2};

use super::{Figures, total_ms};
use crate::window::colours;
use crate::window::strings::{self, rounds as words};

/// From this width on there are two columns of figures.
const TWO_COLUMNS: f32 = 296.0;
/// Space between rows.
const GAP: f32 = 2.0;

/// As many whole rows of figures as fit into a height.
pub(super) fn whole_rows(ui: &Ui, height: f32) -> f32 {
    let row = ui.spacing().interact_size.y.max(ui.text_style_height(&TextStyle::Body)) + GAP;
    (height / row).floor() * row
}

/// Draws the figures.
pub(super) fn show(ui: &mut Ui, figures: &Figures) {
    let tally = &figures.tally;
    let two = |value: Option<f64>| value.map(|value| format!("{value:.2}"));
    let per_round = match figures.drafts() {
        true => figure(words::PER_ROUND, two(tally.accepted_per_round()), words::PER_ROUND_HELP),
        false => figure(words::PER_ROUND, Some(words::NO_DRAFTS.to_owned()), words::NO_DRAFTS_HELP),
    };
    let rows = [
        [
            figure(words::REQUESTS, Some(tally.requests.to_string()), words::REQUESTS_HELP),
            figure(words::PER_FORWARD, two(tally.tokens_per_forward()), words::PER_FORWARD_HELP),
        ],
        [figure(words::ROUNDS, Some(figures.rounds.to_string()), words::ROUNDS_HELP), per_round],
        [
            figure(words::TOKENS, Some(tally.tokens.to_string()), words::TOKENS_HELP),
            figure(words::RATE, figures.ended.decode_rate().map(|rate| format!("{rate:.0}")), words::RATE_HELP),
        ],
    ];
    // A narrow panel has them one below the other.
    let narrow = ui.available_width() < TWO_COLUMNS;
    Grid::new("figures").num_columns(if narrow { 2 } else { 4 }).spacing(vec2(12.0, GAP)).show(ui, |ui| {
        for row in rows {
            for figure in row {
                figure.show(ui);
                if narrow {
                    ui.end_row();
                }
            }
            if !narrow {
                ui.end_row();
            }
        }
        figure(words::FORWARDS, Some(tally.forwards.to_string()), words::FORWARDS_HELP).show(ui);
        ui.end_row();
    });
    ui.add_space(4.0);
    times(ui, figures);
}

struct Figure {
    name: &'static str,
    value: Option<String>,
    help: &'static str,
}

fn figure(name: &'static str, value: Option<String>, help: &'static str) -> Figure {
    Figure { name, value, help }
}

impl Figure {
    fn show(self, ui: &mut Ui) {
        ui.weak(self.name).on_hover_text(self.help);
        match self.value {
            Some(value) => ui.label(value),
            None => ui.weak(strings::NOT_MEASURED),
        }
        .on_hover_text(self.help);
    }
}

/// A bar of the stages' shares, and each with its time.
fn times(ui: &mut Ui, figures: &Figures) {
    let Some(times) = figures.times() else {
        figure(words::TIMES, None, words::TIMES).show(ui);
        return;
    };
    let draft = if figures.drafts() { words::DRAFT } else { words::DECODE };
    let mut stages =
        vec![(words::VISION, times.vision_ms), (words::PREFILL, times.prefill_ms), (draft, times.draft_ms)];
    if figures.drafts() {
        stages.push((words::VERIFY, times.verify_ms));
    }
    let visuals = ui.visuals().clone();
    let (bar, _) = ui.allocate_exact_size(vec2(ui.available_width(), 8.0), Sense::hover());
    let (total, mut left) = (total_ms(times), bar.left());
    for (place, (_, ms)) in stages.iter().enumerate() {
        let right = left + (ms / total) as f32 * bar.width();
        let part = Rect::from_min_max(pos2(left, bar.top()), pos2((right - 1.0).max(left), bar.bottom()));
        ui.painter().rect_filled(part, 1.0, colours::stage(place, &visuals));
        left = right;
    }
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        for (place, (name, ms)) in stages.iter().enumerate() {
            let time = if *ms > 0.0 { words::ms(*ms) } else { strings::NOT_MEASURED.to_owned() };
            let text = format!("{name} {time}");
            let font = TextStyle::Small.resolve(ui.style());
            let width = ui.painter().layout_no_wrap(text.clone(), font, visuals.text_color()).size().x;
            if ui.available_size_before_wrap().x < width + 12.0 {
                ui.end_row(); // A swatch stays with its name.
            }
            let (swatch, _) = ui.allocate_exact_size(vec2(8.0, 8.0), Sense::hover());
            ui.painter().rect_filled(swatch, 1.0, colours::stage(place, &visuals));
            ui.small(text);
            ui.add_space(6.0);
        }
    });
}
