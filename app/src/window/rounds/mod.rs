//! The rounds panel: how the focused region was decoded, round by round, and its replay.

mod bars;
mod controls;
mod figures;

use std::sync::Arc;

use eframe::egui::{Align, Id, Layout, Rect, RichText, ScrollArea, Ui, UiBuilder, pos2};

use super::workspace::chart::{Chart, Figures, total_ms};

use super::action::Actions;
use super::command::Command;
use super::record::record;
use super::state::State;
use super::strings::{self, rounds as words};
use super::workspace::detail::Detail;
use super::workspace::live::LiveRegion;
use super::workspace::log::RequestLog;
use super::workspace::project::{PageRegion, RegionId};

/// Width of the figures beside the bars.
const FIGURES: f32 = 316.0;
/// Height of all figures above the bars, and what the bars keep.
const FIGURES_HEIGHT: f32 = 152.0;
const BARS: f32 = 84.0;
/// From this width on the figures stand beside the bars, below it above them.
const WIDE: f32 = 560.0;
/// Height of a row of controls.
const ROW: f32 = 26.0;

/// Draws the panel.
pub(crate) fn show(ui: &mut Ui, state: &State, actions: &mut Actions) {
    let Some(region) = state.focused() else { return hint(ui, words::SELECT) };
    let in_line = state.live.region(region.id);
    // Until it is read again, what was read before stays in view.
    let live = in_line.filter(|live| live.begun().next().is_some());
    let chart = match (live, &region.read) {
        (Some(live), _) => Arc::new(Chart::of(logs_of(live))),
        (None, Some(read)) => match recorded(ui, region.id, &read.detail) {
            Some(chart) => chart,
            None => return hint(ui, words::LOADING),
        },
        (None, None) if in_line.is_some() => return hint(ui, words::WAITING),
        (None, None) => return hint(ui, words::NOT_READ),
    };
    if chart.bars.is_empty() && live.is_none() {
        return hint(ui, words::NONE);
    }

    ui.horizontal(|ui| {
        ui.add(eframe::egui::Label::new(RichText::new(title(state, region)).strong()).truncate());
        if live.is_some() {
            ui.weak(strings::status::READING);
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            controls::command_button(ui, state, actions, Command::Race)
        });
    });
    let replay = state.replay.as_ref().filter(|replay| replay.region == region.id && live.is_none());
    let space = ui.available_rect_before_wrap();
    let controls = if live.is_none() { ROW } else { 0.0 };
    let body = space.with_max_y((space.bottom() - controls).max(space.top()));
    if space.width() >= WIDE {
        let middle = body.left() + FIGURES;
        let height =
            if body.height() < FIGURES_HEIGHT { figures::whole_rows(ui, body.height()) } else { body.height() };
        within(ui, body.with_max_x(middle - 12.0).with_max_y(body.top() + height), |ui| {
            ScrollArea::vertical().id_salt("figures").show(ui, |ui| figures::show(ui, &chart.figures));
        });
        within(ui, body.with_min_x(middle), |ui| bars::show(ui, region.id, &chart, live.is_none(), replay, actions));
    } else {
        // Where there is no room for both, the bars stay.
        let room = (body.height() - BARS).min(FIGURES_HEIGHT);
        let height = if room < FIGURES_HEIGHT { figures::whole_rows(ui, room.max(0.0)) } else { room };
        let middle = body.top() + height;
        if height > 0.0 {
            within(ui, body.with_max_y(middle), |ui| {
                ScrollArea::vertical().id_salt("figures").show(ui, |ui| figures::show(ui, &chart.figures));
            });
        }
        within(ui, body.with_min_y(middle), |ui| bars::show(ui, region.id, &chart, live.is_none(), replay, actions));
    }
    if live.is_none() {
        let row = Rect::from_min_max(pos2(space.left(), body.bottom()), space.max);
        within(ui, row, |ui| controls::show(ui, state, replay, actions));
    }
}

/// What was seen so far of a region that is being read, with the requests' numbers.
fn logs_of(live: &LiveRegion) -> impl Iterator<Item = (usize, &RequestLog)> {
    live.requests.iter().enumerate().filter_map(|(number, request)| Some((number, &request.as_ref()?.log)))
}

/// Which region this is, for headings.
pub(crate) fn title(state: &State, region: &PageRegion) -> String {
    let place = state.page().and_then(|page| page.position(region.id)).unwrap_or(0);
    let page = state.view.page.map_or(0, |key| key.page);
    words::title(place + 1, strings::label(region.region.label), page + 1)
}

fn hint(ui: &mut Ui, text: &str) {
    ui.centered_and_justified(|ui| ui.weak(text));
}

/// Draws in a part of the panel.
fn within(ui: &mut Ui, part: Rect, add: impl FnOnce(&mut Ui)) {
    ui.scope_builder(UiBuilder::new().max_rect(part), |ui| {
        ui.set_clip_rect(ui.clip_rect().intersect(part.expand(2.0)));
        ui.set_min_size(part.size());
        add(ui);
    });
}

/// The rounds of a finished region, counted once for the region one looks at; none while its record is being unpacked.
fn recorded(ui: &Ui, region: RegionId, detail: &Detail) -> Option<Arc<Chart>> {
    #[derive(Clone)]
    struct Counted {
        region: RegionId,
        /// Kept, so that no other record can come to lie at its address.
        detail: Detail,
        chart: Arc<Chart>,
    }
    let id = Id::unique("the rounds panel's record");
    let known = ui.data(|data| data.get_temp::<Counted>(id));
    if let Some(known) = known
        && known.region == region
        && std::ptr::eq(known.detail.bytes(), detail.bytes())
    {
        return Some(known.chart);
    }
    let record = record(ui.ctx(), detail)?;
    let chart = Arc::new(Chart::of(record.requests.iter().map(|(log, _)| log).enumerate()));
    let counted = Counted { region, detail: detail.clone(), chart: Arc::clone(&chart) };
    ui.data_mut(|data| data.insert_temp(id, counted));
    Some(chart)
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
