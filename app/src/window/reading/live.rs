//! The page's regions in reading order as cards.

use eframe::egui::{DragAndDrop, Id, Rect, Stroke, Ui, vec2};

use super::card::{self, Dragged, Numbered};
use super::column::{Column, Shown, Target};
use crate::window::action::{Action, Actions};
use crate::window::colours;
use crate::window::state::State;
use crate::window::strings::reading as words;
use crate::window::workspace::live::Live;
use crate::window::workspace::project::{Page, RegionId};

/// How close to the pane's edge a moved card makes it scroll, points.
const EDGE: f32 = 28.0;
/// How far it scrolls in a frame, points.
const STRIDE: f32 = 8.0;

/// Whether the pane follows the region that is being read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Following {
    /// The person scrolled away from it.
    away: bool,
    /// The person holds the scroll bar.
    holds_bar: bool,
    /// The pane lit a region on the page.
    lit: bool,
    /// The region whose text is edited.
    editing: Option<RegionId>,
    /// How far a card that is dragged over the pane's edge makes it scroll.
    nudge: f32,
}

impl Following {
    /// Takes in how the person scrolled: up is away, down to the end of what is being read is back.
    fn update(&mut self, ui: &Ui, wheel: f32, shown: &Shown, reading: Option<usize>) {
        let Some(reading) = reading else {
            self.away = false;
            return;
        };
        let bar = Rect::from_min_max(
            shown.window.right_top() - vec2(12.0, 0.0),
            shown.window.right_bottom() + vec2(16.0, 0.0),
        );
        let (pointer, pressed) = ui.input(|input| (input.pointer.latest_pos(), input.pointer.primary_down()));
        let over = |rect: Rect| pointer.is_some_and(|pointer| rect.contains(pointer));
        let is_end_seen = is_end_seen(shown, reading);
        let held_bar = self.holds_bar;
        self.holds_bar = pressed && (held_bar || over(bar));
        if self.holds_bar {
            self.away = true;
        } else if held_bar {
            self.away = !is_end_seen;
        } else if over(shown.window.union(bar)) && wheel != 0.0 {
            self.away = wheel > 0.0 || (self.away && !is_end_seen);
        }
    }
}

/// Draws the tab.
pub(super) fn show(ui: &mut Ui, state: &State, actions: &mut Actions) {
    let Some(page) = state.page() else {
        ui.weak(words::NO_PAGE);
        return;
    };
    if let Some(error) = &page.error {
        ui.colored_label(colours::error(ui.visuals()), error);
    }
    if let Some(notice) = &page.notice {
        ui.colored_label(colours::warning(ui.visuals()), notice);
    }
    if page.regions.is_empty() {
        ui.weak(if page.detected { words::NO_REGIONS } else { words::NOT_DETECTED });
        return;
    }
    let memory = Id::unique("reading following");
    let mut following: Following = ui.data(|data| data.get_temp(memory)).unwrap_or_default();
    let reading = being_read(page, &state.live);
    let editing = state.view.editing.as_ref().map(|(id, _)| *id);
    let begun = editing.filter(|_| editing != following.editing);
    following.editing = editing;
    let revealed = state.view.scroll_to.or(begun).and_then(|id| page.position(id));
    let target = match (revealed, reading) {
        (Some(at), _) => Some(Target::Reveal(at)),
        _ if following.nudge != 0.0 => Some(Target::Nudge(following.nudge)),
        (None, Some(at)) if !following.away && editing.is_none() => Some(Target::Follow(at)),
        _ => None,
    };
    if state.view.scroll_to.is_some() {
        actions.ask(Action::Scrolled);
    }

    // The column takes what it scrolls.
    let wheel = ui.input(|input| input.smooth_scroll_delta().y);
    let keys: Vec<u64> = page.regions.iter().map(|region| region.id.0).collect();
    let width = ui.available_width();
    let estimate = |at: usize| {
        page.regions
            .get(at)
            .map_or(0.0, |region| 44.0 + 18.0 * (region.text().len() as f32 * 7.0 / width.max(60.0)).ceil())
    };
    let id = Id::unique(("reading cards", state.view.page));
    let shown = Column { id, keys: &keys, estimate: &estimate, target }.show(ui, |ui, at| {
        if let Some(region) = page.regions.get(at) {
            card::show(ui, state, Numbered { number: at + 1, region }, actions);
        }
    });

    following.update(ui, wheel, &shown, reading);
    hover(ui, state, page, &shown, &mut following.lit, actions);
    following.nudge = drop_card(ui, page, &shown, actions);
    ui.data_mut(|data| data.insert_temp(memory, following));
}

/// The place of the region that is being read: the last that has begun.
fn being_read(page: &Page, live: &Live) -> Option<usize> {
    page.regions.iter().rposition(|region| live.region(region.id).is_some_and(|live| live.begun().next().is_some()))
}

fn is_end_seen(shown: &Shown, item: usize) -> bool {
    shown.items.iter().any(|(at, rect)| *at == item && shown.window.y_range().contains(rect.bottom()))
}

/// Lights the card under the pointer on the page too.
fn hover(ui: &Ui, state: &State, page: &Page, shown: &Shown, lit: &mut bool, actions: &mut Actions) {
    let pointer = ui.input(|input| input.pointer.hover_pos());
    let inside = pointer.filter(|pointer| shown.window.contains(*pointer) && ui.rect_contains_pointer(shown.window));
    let under: Option<RegionId> = inside.and_then(|pointer| {
        let (at, _) = shown.items.iter().find(|(_, rect)| rect.contains(pointer))?;
        page.regions.get(*at).map(|region| region.id)
    });
    if (under.is_some() || *lit) && under != state.view.hover {
        actions.ask(Action::Hover(under));
    }
    *lit = under.is_some();
}

/// Shows where a dragged card would go, and asks for it when it is let go; how far the pane is to scroll for it.
fn drop_card(ui: &Ui, page: &Page, shown: &Shown, actions: &mut Actions) -> f32 {
    let Some(Dragged(region)) = DragAndDrop::payload::<Dragged>(ui.ctx()).map(|dragged| *dragged) else { return 0.0 };
    let Some(from) = page.position(region) else { return 0.0 };
    card::follow_pointer(ui, &words::card(from + 1, page.regions[from].region.label));
    let Some(pointer) = ui.ctx().pointer_interact_pos().filter(|pointer| shown.window.x_range().contains(pointer.x))
    else {
        return 0.0;
    };
    let below = shown.items.iter().find(|(_, rect)| pointer.y < rect.center().y);
    let (before, y) = match (below, shown.items.last()) {
        (Some((at, rect)), _) => (*at, rect.top() - ui.spacing().item_spacing.y / 2.0),
        (None, Some((at, rect))) => (at + 1, rect.bottom() + ui.spacing().item_spacing.y / 2.0),
        (None, None) => return 0.0,
    };
    ui.painter().hline(shown.window.x_range(), y, Stroke::new(2.0, ui.visuals().selection.stroke.color));
    if ui.input(|input| input.pointer.any_released()) {
        DragAndDrop::clear_payload(ui.ctx());
        // Its own place closes when it is taken out.
        let to = if before > from { before - 1 } else { before };
        if to != from {
            actions.ask(Action::Reorder { region, to });
        }
        return 0.0;
    }
    let nudge = match pointer.y {
        y if y < shown.window.top() + EDGE => -STRIDE,
        y if y > shown.window.bottom() - EDGE => STRIDE,
        _ => return 0.0,
    };
    ui.request_repaint();
    nudge
}
