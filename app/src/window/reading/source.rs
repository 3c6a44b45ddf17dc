//! The Markdown itself.

use eframe::egui::{Id, Label, RichText, TextStyle, Ui, vec2};

use super::column::Column;
use super::rendered::{Scope, rendered};
use crate::window::state::State;
use crate::window::strings::reading as words;

/// Draws the tab.
pub(super) fn show(ui: &mut Ui, state: &State, scope: Scope) {
    let Some(rendered) = rendered(ui, state, scope) else {
        ui.weak(words::PREPARING);
        return;
    };
    if rendered.lines.is_empty() {
        ui.weak(words::NOTHING_READ);
        return;
    }
    ui.spacing_mut().item_spacing.y = 0.0;
    let keys: Vec<u64> = (0..rendered.lines.len() as u64).collect();
    let height = ui.text_style_height(&TextStyle::Monospace);
    let columns = (ui.available_width() / (height * 0.5)).max(1.0);
    let estimate = |at: usize| {
        let length = rendered.lines.get(at).map_or(0, std::ops::Range::len);
        height * (length as f32 / columns).ceil().max(1.0)
    };
    let id = Id::unique(("source", scope.place(state.view.page)));
    Column { id, keys: &keys, estimate: &estimate, target: None }.show(ui, |ui, at| {
        let line = rendered.lines.get(at).and_then(|range| rendered.markdown.get(range.clone())).unwrap_or("");
        if line.is_empty() {
            ui.allocate_space(vec2(1.0, height));
        } else {
            ui.add(Label::new(RichText::new(line).monospace()).wrap());
        }
    });
}
