//! A bar for each round: drafted as an outline, what stood of it filled, the verifier's own token as a cap.

use eframe::egui::{
    Align2, Color32, FontId, Id, Label, Painter, Rect, RichText, Role, ScrollArea, Sense, Shape, Stroke, StrokeKind,
    Ui, Vec2, Visuals, WidgetInfo, pos2, vec2,
};

use crate::window::action::{Action, Actions};
use crate::window::colours::{self, Pattern};
use crate::window::strings::rounds as words;
use crate::window::workspace::chart::{Bar, Chart, Ending};
use crate::window::workspace::project::RegionId;
use crate::window::workspace::replay::{Replay, ReplayAsk};

/// Width of a bar, points.
const WIDTH: f32 = 8.0;
/// From the left edge of a bar to that of the next.
const STEP: f32 = 11.0;
/// Extra space between requests, with a line in its middle.
const GAP: f32 = 9.0;
/// Bars are drawn as if one were at least this high, so that single tokens look like little.
const LOWEST: u32 = 4;
/// Space below the bars, for the mark of the replay.
const FOOT: f32 = 7.0;
/// Space on the left, for the scale.
const SCALE: f32 = 24.0;
/// From this height on there is room for both ends of the scale.
const TWO_NUMBERS: f32 = 28.0;
/// From this height on there is room for the legend.
const LEGEND: f32 = 100.0;

/// Draws the bars; in a finished region a click on one asks for a replay at that round.
pub(super) fn show(
    ui: &mut Ui,
    region: RegionId,
    chart: &Chart,
    finished: bool,
    replay: Option<&Replay>,
    actions: &mut Actions,
) {
    if ui.available_height() >= LEGEND {
        match replay.and_then(|replay| chart.bar_at(replay.at())).and_then(|at| chart.bars.get(at)) {
            Some(bar) => {
                ui.horizontal(|ui| {
                    ui.add_space(SCALE);
                    ui.add(Label::new(RichText::new(describe(chart, bar)).small()).truncate());
                });
            }
            None => legend(ui, chart.figures.drafts()),
        }
    }
    // There is nothing to replay of a region that is still being read.
    let sense = if finished { Sense::click() } else { Sense::hover() };
    let tallest = chart.tallest().max(LOWEST);
    let space = ui.available_rect_before_wrap();
    let ruler = ui.painter().clone();
    let right = chart.bars.last().map_or(0.0, |last| left_of(chart.bars.len() - 1, last) + WIDTH);
    let scroll = ScrollArea::horizontal().id_salt(("round bars", region.0)).auto_shrink(false);
    ui.scope_builder(eframe::egui::UiBuilder::new().max_rect(space.with_min_x(space.left() + SCALE)), |ui| {
        scroll.show_viewport(ui, |ui, viewport| {
            let (rect, response) =
                ui.allocate_exact_size(vec2(right.max(viewport.width()), ui.available_height()), sense);
            let tally = &chart.figures.tally;
            response.widget_info(|| {
                let summary = words::summary(chart.figures.rounds, tally.requests, tally.tokens, tally.forwards);
                let role = if finished { Role::Button } else { Role::Image };
                WidgetInfo::labeled(role, ui.is_enabled(), summary)
            });
            let area = Rect::from_min_max(rect.min + vec2(0.0, 4.0), rect.max - vec2(0.0, FOOT));
            let unit = area.height() / tallest as f32;
            let current = replay.and_then(|replay| chart.bar_at(replay.at()));
            let drawing = Drawing { painter: ui.painter(), visuals: ui.visuals(), area, unit };
            drawing.ruler(&ruler, space.left(), tallest);

            let first = first_right_of(chart, viewport.left());
            for (place, bar) in chart.bars.iter().enumerate().skip(first) {
                let left = left_of(place, bar);
                if left > viewport.right() {
                    break;
                }
                let new_request = place > 0 && chart.bars.get(place - 1).is_some_and(|b| b.request != bar.request);
                if new_request {
                    drawing.divide(left);
                }
                let done = replay.is_none() || current.is_some_and(|current| place <= current);
                drawing.bar(left, bar, done);
                if current == Some(place) {
                    drawing.mark(left);
                }
            }

            if let Some(current) = current {
                follow(ui, region, current, || {
                    let left = chart.bars.get(current).map_or(0.0, |bar| left_of(current, bar));
                    Rect::from_min_size(pos2(rect.left() + left, rect.top()), Vec2::splat(WIDTH))
                        .expand2(vec2(40.0, 0.0))
                });
            }
            let under = response.hover_pos().or(response.interact_pointer_pos());
            let under = under.and_then(|pointer| under_pointer(chart, pointer.x - rect.left()));
            if response.clicked() {
                if replay.is_none() {
                    actions.ask(Action::Replay(ReplayAsk::Open(region)));
                }
                if let Some(bar) = under {
                    actions.ask(Action::Replay(ReplayAsk::Seek(bar.done_at)));
                }
            }
            if let Some(bar) = under {
                response.on_hover_text_at_pointer(describe(chart, bar));
            }
        });
    });
}

/// Brings the bar of the replay's position into view when it has moved.
fn follow(ui: &Ui, region: RegionId, current: usize, bar: impl FnOnce() -> Rect) {
    let id = Id::unique(("the replay's bar", region.0));
    let before = ui.data_mut(|data| data.get_temp_mut_or(id, usize::MAX).to_owned());
    if before != current {
        ui.data_mut(|data| data.insert_temp(id, current));
        ui.scroll_to_rect_animation(bar(), None, eframe::egui::style::ScrollAnimation::none());
    }
}

/// Where a bar begins, from the left edge of the first.
fn left_of(place: usize, bar: &Bar) -> f32 {
    place as f32 * STEP + bar.request as f32 * GAP
}

/// The first bar that is not wholly left of a line.
fn first_right_of(chart: &Chart, x: f32) -> usize {
    // Bars stand in order, so that half of them can be set aside at a time.
    let (mut low, mut high) = (0, chart.bars.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let left = chart.bars.get(middle).map_or(f32::INFINITY, |bar| left_of(middle, bar));
        if left + WIDTH < x { low = middle + 1 } else { high = middle }
    }
    low
}

/// The bar under the pointer; the space after a bar belongs to it.
fn under_pointer(chart: &Chart, x: f32) -> Option<&Bar> {
    let place = first_right_of(chart, x - (STEP - WIDTH));
    chart.bars.get(place).filter(|bar| (0.0..=STEP).contains(&(x - left_of(place, bar))))
}

/// How to draw bars.
struct Drawing<'a> {
    painter: &'a Painter,
    visuals: &'a Visuals,
    /// From the foot of the bars to the top of the tallest; bars may lie to its left and right.
    area: Rect,
    /// Height of one token.
    unit: f32,
}

impl Drawing<'_> {
    /// The part of a bar between two numbers of tokens.
    fn part(&self, left: f32, from: u32, to: u32) -> Rect {
        let left = self.area.left() + left;
        let y = |tokens: u32| self.area.bottom() - tokens as f32 * self.unit;
        Rect::from_min_max(pos2(left, y(to)), pos2(left + WIDTH, y(from)))
    }

    fn bar(&self, left: f32, bar: &Bar, done: bool) {
        let colour = colours::round(bar.counts.round, self.visuals);
        let outline = Stroke::new(1.0, colours::outline(self.visuals));
        let (drafted, tokens) = (bar.counts.drafted, bar.counts.tokens);
        // The draft forward's own token, then its drafts.
        let whole = self.part(left, 0, if drafted > 0 { drafted.saturating_add(1) } else { tokens });
        if done {
            let ending = bar.ending();
            let stood = tokens.saturating_sub(u32::from(ending.is_some()));
            let filled = self.part(left, 0, stood);
            self.painter.rect_filled(filled, 1.0, colour);
            if bar.counts.round == 0 {
                // The prompt's own token came without a decoder forward: hollow.
                self.painter.rect_filled(filled.shrink(2.0), 0.0, self.visuals.panel_fill);
            } else {
                self.texture(filled, colours::pattern(bar.counts.round));
            }
            if let Some(ending) = ending {
                self.cap(self.part(left, stood, tokens), ending, colour);
            }
        }
        self.painter.rect_stroke(whole, 1.0, outline, StrokeKind::Inside);
    }

    /// The verifier's own token: a red bar in the place of a refused draft, a hollow one on top of a block.
    fn cap(&self, cap: Rect, ending: Ending, colour: Color32) {
        let cap = cap.with_min_y(cap.bottom() - cap.height().clamp(3.0, 5.0));
        match ending {
            Ending::Correction => {
                self.painter.rect_filled(
                    cap.with_min_x(cap.left() - 1.5).with_max_x(cap.right() + 1.5),
                    0.0,
                    colours::REJECTED,
                );
            }
            Ending::Bonus => {
                self.painter.rect_stroke(cap, 0.0, Stroke::new(1.5, colour), StrokeKind::Inside);
            }
        }
    }

    /// The second cue beside the colour, cut into a bar.
    fn texture(&self, bar: Rect, pattern: Pattern) {
        let stroke = Stroke::new(1.2, self.visuals.panel_fill);
        let painter = self.painter.with_clip_rect(bar.intersect(self.painter.clip_rect()));
        let rows = |gap: f32| {
            (0..).map(move |n| bar.bottom() - (n as f32 + 0.5) * gap).take_while(move |y| *y > bar.top() - gap)
        };
        let middle = bar.center().x;
        match pattern {
            Pattern::Solid => {}
            Pattern::Dashed => {
                for y in rows(5.0) {
                    painter.hline(bar.x_range(), y, stroke);
                }
            }
            Pattern::Dotted => {
                for y in rows(4.0) {
                    painter.circle_filled(pos2(middle, y), 1.2, stroke.color);
                }
            }
            Pattern::Double => {
                painter.vline(middle, bar.y_range(), stroke);
            }
            Pattern::Wavy => {
                for y in rows(6.0) {
                    painter.line_segment([pos2(bar.left(), y + 3.0), pos2(bar.right(), y - 3.0)], stroke);
                }
            }
            Pattern::DashDot => {
                for y in rows(8.0) {
                    painter.hline(bar.x_range(), y, stroke);
                    painter.circle_filled(pos2(middle, y - 4.0), 1.2, stroke.color);
                }
            }
        }
    }

    /// The line before a request.
    fn divide(&self, left: f32) {
        let x = self.area.left() + left - (STEP - WIDTH + GAP) / 2.0;
        self.painter.vline(
            x,
            self.area.y_range(),
            Stroke::new(1.0, colours::outline(self.visuals).gamma_multiply(0.6)),
        );
    }

    /// The mark below the bar at which the replay stands.
    fn mark(&self, left: f32) {
        let tip = pos2(self.area.left() + left + WIDTH / 2.0, self.area.bottom() + 1.0);
        let feet = [tip + vec2(4.5, FOOT - 1.0), tip + vec2(-4.5, FOOT - 1.0)];
        let colour = self.visuals.strong_text_color();
        self.painter.add(Shape::convex_polygon(vec![tip, feet[0], feet[1]], colour, Stroke::NONE));
    }

    /// The ground line, and what the height stands for.
    fn ruler(&self, painter: &Painter, left: f32, tallest: u32) {
        let (font, colour) = (FontId::proportional(10.0), self.visuals.weak_text_color());
        let end = left + SCALE - 4.0;
        let numbers = [(tallest, Align2::RIGHT_TOP), (0, Align2::RIGHT_BOTTOM)];
        let room = if self.area.height() < TWO_NUMBERS { 1 } else { 2 };
        for (tokens, align) in numbers.into_iter().take(room) {
            let y = self.area.bottom() - tokens as f32 * self.unit;
            painter.text(pos2(end, y), align, words::scale(tokens), font.clone(), colour);
        }
        let ground = Stroke::new(1.0, self.visuals.widgets.noninteractive.bg_stroke.color);
        self.painter.hline(self.painter.clip_rect().x_range(), self.area.bottom() + 0.5, ground);
    }
}

/// What outline, filling and cap mean.
fn legend(ui: &mut Ui, drafts: bool) {
    let visuals = ui.visuals().clone();
    let colour = colours::round(0, &visuals);
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        ui.add_space(SCALE);
        let mut entry = |name, paint: &dyn Fn(&Painter, Rect)| {
            let (swatch, _) = ui.allocate_exact_size(vec2(8.0, 8.0), Sense::hover());
            paint(ui.painter(), swatch);
            ui.small(name);
            ui.add_space(6.0);
        };
        let framed = |painter: &Painter, swatch: Rect, stroke: Stroke| {
            painter.rect_stroke(swatch, 1.0, stroke, StrokeKind::Inside);
        };
        let filled = |painter: &Painter, swatch: Rect, colour: Color32| {
            painter.rect_filled(swatch, 1.0, colour);
        };
        let cap = |swatch: Rect| swatch.shrink2(vec2(0.0, 2.0));
        if drafts {
            entry(words::DRAFTED, &|painter, at| framed(painter, at, Stroke::new(1.0, colours::outline(&visuals))));
            entry(words::ACCEPTED, &|painter, at| filled(painter, at, colour));
            entry(words::CORRECTED, &|painter, at| filled(painter, cap(at), colours::REJECTED));
            entry(words::BONUS, &|painter, at| framed(painter, cap(at), Stroke::new(1.5, colour)));
        } else {
            entry(words::COMMITTED, &|painter, at| filled(painter, at, colour));
        }
        entry(words::PROMPT, &|painter, at| framed(painter, at, Stroke::new(2.0, colour)));
    });
}

/// A round in one sentence.
fn describe(chart: &Chart, bar: &Bar) -> String {
    let request = (chart.figures.tally.requests > 1).then_some(bar.request + 1);
    let forwards = (bar.counts.forwards > 0).then(|| (bar.forwards_before.saturating_add(1), bar.last_forward()));
    words::round(request, &bar.counts, bar.kept(), bar.ending(), forwards)
}

#[cfg(test)]
#[path = "chart_tests.rs"]
mod chart_tests;
