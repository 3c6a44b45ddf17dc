//! A scrolled column of items of different heights, of which only the visible ones are laid out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use eframe::egui::{Id, Rect, ScrollArea, Ui, UiBuilder, vec2};

/// Room kept above or below an item that was scrolled to, points.
const MARGIN: f32 = 12.0;
/// Heights whose difference nobody sees, points.
const SAME: f32 = 0.5;

/// Where to scroll.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Target {
    /// The item comes into view, unless it is.
    Reveal(usize),
    /// The item's end comes into view: it grows.
    Follow(usize),
    /// So many points further.
    Nudge(f32),
}

/// The items.
pub(super) struct Column<'a> {
    /// Names the column.
    pub(super) id: Id,
    /// Names the items, whatever their order.
    pub(super) keys: &'a [u64],
    /// Height of an item that was not laid out yet.
    pub(super) estimate: &'a dyn Fn(usize) -> f32,
    pub(super) target: Option<Target>,
}

/// What was shown.
#[derive(Debug)]
pub(super) struct Shown {
    /// The column's window on the screen.
    pub(super) window: Rect,
    /// The items laid out, with their places on the screen.
    pub(super) items: Vec<(usize, Rect)>,
}

/// What is known from the frames before.
#[derive(Default)]
struct Memory {
    /// Measured heights, and the width at which each was measured.
    heights: HashMap<u64, (f32, f32)>,
    offset: f32,
    window: f32,
    /// How far to scroll so that what is in view stays there.
    shift: f32,
}

impl Column<'_> {
    /// Lays out what is visible; `item` draws one.
    pub(super) fn show(&self, ui: &mut Ui, mut item: impl FnMut(&mut Ui, usize)) -> Shown {
        let memory = ui.data_mut(|data| data.get_temp_mut_or_default::<Arc<Mutex<Memory>>>(self.id).clone());
        let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.heights.len() > 2 * self.keys.len() + 64 {
            let keys: std::collections::HashSet<_> = self.keys.iter().collect();
            memory.heights.retain(|key, _| keys.contains(key));
        }
        memory.window = ui.available_height();
        let gap = ui.spacing().item_spacing.y;
        let tops = self.tops(&memory, gap);
        let mut area = ScrollArea::vertical().id_salt(self.id).auto_shrink(false);
        if let Some(offset) = self.offset(&memory, &tops) {
            area = area.vertical_scroll_offset(offset);
        }
        memory.shift = 0.0;
        let mut items = Vec::new();
        let output = area.show_viewport(ui, |ui, view| {
            ui.set_height((tops.last().copied().unwrap_or(0.0) - gap).max(0.0));
            let width = ui.available_width();
            let origin = ui.max_rect().min;
            let first = tops.partition_point(|top| *top <= view.top()).saturating_sub(1);
            let mut top = tops.get(first).copied().unwrap_or(0.0);
            for (at, &key) in self.keys.iter().enumerate().skip(first) {
                if top > view.bottom() {
                    break;
                }
                let place = Rect::from_min_size(origin + vec2(0.0, top), vec2(width, 0.0));
                let builder = UiBuilder::new().max_rect(place).id_salt(key);
                let rect = ui.scope_builder(builder, |ui| item(ui, at)).response.rect;
                let known = tops.get(at + 1).map_or(0.0, |next| next - tops[at] - gap);
                let change = rect.height() - known;
                if change.abs() > SAME {
                    let is_first = memory.heights.get(&key).is_none_or(|(_, measured_at)| *measured_at != width);
                    if is_first && top < view.top() {
                        memory.shift += change;
                    }
                    if is_first {
                        ui.request_discard("an item's height is known now");
                    }
                    ui.request_repaint();
                }
                memory.heights.insert(key, (rect.height(), width));
                items.push((at, rect));
                top += rect.height() + gap;
            }
        });
        memory.offset = output.state.clamped_offset().y;
        Shown { window: output.inner_rect, items }
    }

    /// Where each item begins, and where the next one would.
    fn tops(&self, memory: &Memory, gap: f32) -> Vec<f32> {
        let mut top = 0.0;
        let mut tops = Vec::with_capacity(self.keys.len() + 1);
        for (at, key) in self.keys.iter().enumerate() {
            tops.push(top);
            top += memory.heights.get(key).map_or_else(|| (self.estimate)(at), |(height, _)| *height) + gap;
        }
        tops.push(top);
        tops
    }

    /// The offset to scroll to, where it is not the person who decides.
    fn offset(&self, memory: &Memory, tops: &[f32]) -> Option<f32> {
        let span = |at: usize| Some((*tops.get(at)?, *tops.get(at + 1)?));
        let (start, end) = (memory.offset, memory.offset + memory.window);
        let offset = match self.target {
            Some(Target::Reveal(at)) => {
                let (top, bottom) = span(at)?;
                let is_seen = top >= start && (bottom <= end || top < start + memory.window / 4.0);
                (!is_seen).then_some(top - MARGIN)
            }
            Some(Target::Follow(at)) => {
                let (_, bottom) = span(at)?;
                (bottom > end || bottom < start).then_some(bottom - memory.window + MARGIN)
            }
            Some(Target::Nudge(by)) => Some(memory.offset + by),
            None => (memory.shift != 0.0).then_some(memory.offset + memory.shift),
        };
        let last = (tops.last().copied().unwrap_or(0.0) - memory.window).max(0.0);
        offset.map(|offset| offset.clamp(0.0, last))
    }
}
