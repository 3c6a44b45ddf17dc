//! Text over the page: each request's characters over the box they were read from. What is being read lies there until
//! its run is over; afterwards a region's text appears while the pointer rests on it, and gives way to the scan again.

mod cache;
mod fit;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use eframe::egui::epaint::TextShape;
use eframe::egui::{FontFamily, Id, PopupAnchor, Pos2, Rect, Tooltip, Ui};
use engine::region::Rect as Bounds;

use self::cache::Cache;
use self::fit::{Fitted, Fitting};
use super::gpu;
use super::placement::Placement;
use crate::window::colours;
use crate::window::highlight::Highlight;
use crate::window::hover_card::{self, Card};
use crate::window::record::record;
use crate::window::round_marks;
use crate::window::state::{State, Tool};
use crate::window::workspace::log::{RequestLog, RequestText};
use crate::window::workspace::project::{Page, PageRegion, RegionId};

/// How much of the scan the plate below a text hides.
const COVER: f32 = 0.94;
/// Seconds until a finished region's text is there, or gone.
const FADE: f32 = 0.3;
/// The part of that time in which nothing is to be seen yet: a pointer that only passes by lights nothing up.
const REST: f32 = 0.4;
/// A typical page has so many lines of text: the largest letters of a box that may hold several lines.
const LINES: f32 = 45.0;
/// A box lower than this share of the page, or of its own width, holds a single line.
const SINGLE: f32 = 0.04;
const FLAT: f32 = 0.12;
/// Room around a strip, points.
const MARGIN: f32 = 1.0;

/// A request whose text is shown.
struct Shown {
    strip: Rect,
    opacity: f32,
    fitted: Arc<Fitted>,
    /// What is known of the character under the pointer, if it is one of these.
    card: Option<Card>,
}

/// Paints the text of the page's regions; nothing of it takes the pointer.
pub(super) fn paint(ui: &Ui, placement: Placement, state: &State) {
    let Some(page) = state.page() else { return };
    let kept = ui.data_mut(|data| {
        Arc::clone(data.get_temp_mut_or_default::<Arc<Mutex<Cache>>>(Id::unique("text over the page")))
    });
    let mut cache = kept.lock().unwrap_or_else(PoisonError::into_inner);
    cache.begin(ui.cumulative_pass_nr());
    let pointer = ui.input(|input| input.pointer.hover_pos());
    let pointer = pointer.filter(|_| ui.dragged_id().is_none() && ui.rect_contains_pointer(placement.canvas));
    let mut overlay = Overlay { ui, placement, state, page, pointer, cache: &mut cache, shown: Vec::new() };
    overlay.gather();
    let shown = overlay.shown;
    draw(ui, placement.canvas, &shown);
    if let Some(card) = shown.into_iter().find_map(|shown| shown.card) {
        let id = Id::unique("character under the pointer");
        Tooltip::always_open(ui.ctx().clone(), ui.layer_id(), id, PopupAnchor::Pointer)
            .gap(12.0)
            .show(|ui| hover_card::show(ui, &card));
    }
}

/// Plates first, then marks, then letters, each in one go.
fn draw(ui: &Ui, clip: Rect, shown: &[Shown]) {
    let painter = ui.painter_at(clip);
    for Shown { strip, opacity, .. } in shown {
        painter.rect_filled(strip.expand(MARGIN), 1.0, colours::PAPER.gamma_multiply(COVER * opacity));
    }
    let marks = shown.iter().flat_map(|shown| {
        let to = shown.fitted.on(shown.strip);
        shown.fitted.marks.iter().map(move |mark| Highlight {
            rect: to * mark.rect,
            colour: mark.colour.gamma_multiply(shown.opacity),
            ..*mark
        })
    });
    gpu::highlights(ui, clip, marks.collect());
    for Shown { strip, opacity, fitted, .. } in shown {
        let galley = ui.fonts_mut(|fonts| fonts.layout_job(fitted.job.clone()));
        let mut painter = ui.painter_at(clip.intersect(strip.expand(2.0 * MARGIN)));
        painter.multiply_opacity(*opacity);
        let to = fitted.on(*strip);
        if (to.scaling - 1.0).abs() < 1e-3 {
            painter.galley(to.translation.to_pos2(), galley, colours::INK);
        } else {
            let mut text = TextShape::new(Pos2::ZERO, galley, colours::INK);
            text.transform(to);
            painter.add(text);
        }
    }
}

struct Overlay<'a> {
    ui: &'a Ui,
    placement: Placement,
    state: &'a State,
    page: &'a Page,
    /// Where the pointer is, if it is on the canvas and free.
    pointer: Option<Pos2>,
    cache: &'a mut Cache,
    shown: Vec<Shown>,
}

impl Overlay<'_> {
    fn gather(&mut self) {
        let run = self.state.run.as_ref().zip(self.state.view.page);
        let running: BTreeSet<RegionId> =
            run.map(|(run, key)| run.targets(key).iter().copied().collect()).unwrap_or_default();
        let page = self.page;
        for region in &page.regions {
            self.region(region, running.contains(&region.id));
        }
    }

    /// Shows what there is of a region: what is being read, or its replay, or what was read.
    fn region(&mut self, region: &PageRegion, running: bool) {
        let state = self.state;
        let lit = state.view.hover == Some(region.id);
        let live = state.live.region(region.id);
        let replay = state.replay.as_ref().filter(|replay| replay.region == region.id);
        if let Some(live) = live.filter(|live| live.begun().next().is_some()) {
            for (request, live) in live.requests.iter().enumerate() {
                let Some(live) = live else { continue };
                let done = live.log.status.is_some();
                self.request(region, request, &live.log, &live.text, Show { refused: lit, done, opacity: 1.0 });
            }
        } else if let Some(replay) = replay {
            for (request, (log, text)) in replay.requests().enumerate() {
                if self.is_in_place(log, region) {
                    self.request(region, request, log, text, Show { refused: true, done: false, opacity: 1.0 });
                }
            }
        } else if let Some(read) = &region.read
            && live.is_none()
        {
            let opacity = self.opacity(region.id, lit, running);
            if opacity <= 0.0 || !self.placement.rect(region.bounds()).intersects(self.placement.canvas) {
                return;
            }
            let Some(record) = record(self.ui.ctx(), &read.detail) else { return };
            for (request, (log, text)) in record.requests.iter().enumerate() {
                if self.is_in_place(log, region) {
                    self.request(region, request, log, text, Show { refused: lit && running, done: true, opacity });
                }
            }
        }
    }

    /// Whether what was read still lies where it was read: the page is turned as it was then, and most of the strip is in
    /// the box. After the box was moved, what was read elsewhere is not shown over it.
    fn is_in_place(&self, log: &RequestLog, region: &PageRegion) -> bool {
        let (inside, whole) = (log.bounds.intersection(&region.bounds()).area(), log.bounds.area());
        log.turn == self.page.turn && inside >= whole / 5 * 4
    }

    /// How much of a finished region's text is to be seen.
    fn opacity(&self, id: RegionId, lit: bool, running: bool) -> f32 {
        let view = &self.state.view;
        let looked_at = lit && self.pointer.is_some() && view.tool == Tool::Select;
        let wanted = self.state.settings.colours && (running || looked_at);
        let time = self.ui.animate_bool_with_time(Id::unique(("text over", id)), wanted, FADE);
        if running { 1.0 } else { ((time - REST) / (1.0 - REST)).clamp(0.0, 1.0) }
    }

    fn request(&mut self, region: &PageRegion, request: usize, log: &RequestLog, text: &RequestText, show: Show) {
        let strip = self.placement.rect(log.bounds);
        let empty = text.runs.is_empty() && text.ghost.is_empty();
        if empty || strip.width() < 1.0 || !strip.intersects(self.placement.canvas) {
            return;
        }
        let settings = &self.state.settings;
        let fitting = Fitting {
            room: strip.size(),
            cap: self.cap(log.bounds, region),
            family: if region.region.preformatted { FontFamily::Monospace } else { FontFamily::Proportional },
            colours: settings.colours,
            ghosts: settings.ghosts,
            refused: settings.refused && show.refused,
            done: show.done,
        };
        let fitted = self.cache.fitted(self.ui, (region.id, request), text, fitting);
        let card = self
            .pointer
            .filter(|pointer| strip.expand(MARGIN).contains(*pointer) && show.opacity > 0.99)
            .and_then(|pointer| under(self.ui, &fitted, fitted.on(strip).inverse() * pointer))
            .and_then(|character| Card::of(log, text, character));
        let opacity = show.opacity;
        self.shown.push(Shown { strip, opacity, fitted, card });
    }

    /// The largest letters for a box, points: a line's fill its height, a larger box begins like a page of text.
    fn cap(&self, bounds: Bounds, region: &PageRegion) -> f32 {
        let (width, height) = (bounds.width() as f32, bounds.height() as f32);
        let page = self.page.size.map_or(height, |[_, height]| height as f32);
        let part = bounds.height() < region.bounds().height() / 3 * 2 || region.region.lines.len() == 1;
        let single = part || height <= SINGLE * page || height <= FLAT * width;
        let line = if single { height } else { height.min(page / LINES) };
        0.9 * line * self.placement.zoom
    }
}

/// How a request is shown.
#[derive(Clone, Copy)]
struct Show {
    /// With refused drafts.
    refused: bool,
    /// No more text comes.
    done: bool,
    opacity: f32,
}

/// The character of the text at a place of its layout.
fn under(ui: &Ui, fitted: &Fitted, at: Pos2) -> Option<usize> {
    let galley = ui.fonts_mut(|fonts| fonts.layout_job(fitted.job.clone()));
    fitted.spans.committed_at(round_marks::character_at(&galley, at)?)
}
