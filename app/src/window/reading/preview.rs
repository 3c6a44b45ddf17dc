//! The document as it will look: the blocks that the exports are written from, drawn.

use eframe::egui::{Align, Frame, Id, Label, Layout, RichText, ScrollArea, TextStyle, Ui, vec2};
use engine::export::Block;

use super::column::Column;
use super::rendered::{Rendered, Scope, rendered};
use super::{figure, table};
use crate::window::colours;
use crate::window::state::State;
use crate::window::strings::reading as words;
use crate::window::workspace::project::PageKey;

/// Indent of a nested list, points.
const INDENT: f32 = 20.0;
/// Tallest picture, points.
const TALLEST: f32 = 420.0;

/// Draws the tab.
pub(super) fn show(ui: &mut Ui, state: &State, scope: Scope) {
    let Some(rendered) = rendered(ui, state, scope) else {
        ui.weak(words::PREPARING);
        return;
    };
    if rendered.blocks.is_empty() {
        ui.weak(words::NOTHING_READ);
        return;
    }
    let keys: Vec<u64> = (0..rendered.blocks.len() as u64).collect();
    let estimate = |at: usize| rendered.blocks.get(at).map_or(0.0, |block| estimate(block, ui.available_width()));
    let id = Id::unique(("preview", scope.place(state.view.page)));
    let estimate: Vec<f32> = keys.iter().map(|at| estimate(*at as usize)).collect();
    let column = Column { id, keys: &keys, estimate: &|at| estimate.get(at).copied().unwrap_or(0.0), target: None };
    ui.spacing_mut().item_spacing.y = 8.0;
    column.show(ui, |ui, at| {
        if let Some(block) = rendered.blocks.get(at) {
            draw(ui, state, &rendered, at, block);
        }
    });
}

/// About how high a block is, points.
fn estimate(block: &Block, width: f32) -> f32 {
    let lines = |text: &str| (text.len() as f32 * 6.5 / width.max(50.0)).ceil().max(1.0);
    match block {
        Block::Heading { text, .. } => 30.0 * lines(text),
        Block::Paragraph(text) | Block::Caption(text) | Block::Aside(text) | Block::ListItem { text, .. } => {
            18.0 * lines(text)
        }
        Block::Preformatted(text) => 16.0 + 15.0 * text.lines().count() as f32,
        Block::Table(table) => 26.0 * table.rows.len() as f32,
        Block::Formula { latex, .. } => 20.0 + 15.0 * latex.lines().count() as f32,
        Block::Figure { .. } => 160.0,
        Block::Notice(_) => 20.0,
    }
}

fn draw(ui: &mut Ui, state: &State, rendered: &Rendered, at: usize, block: &Block) {
    let wrapped = |ui: &mut Ui, text: RichText| ui.add(Label::new(text).wrap());
    match block {
        Block::Heading { level, text } => {
            if at > 0 {
                ui.add_space(if *level <= 2 { 8.0 } else { 4.0 });
            }
            let size = TextStyle::Body.resolve(ui.style()).size * heading_scale(*level);
            wrapped(ui, RichText::new(text).size(size).strong());
        }
        Block::Paragraph(text) => drop(wrapped(ui, RichText::new(text))),
        Block::Caption(text) => drop(wrapped(ui, RichText::new(text).italics())),
        Block::Aside(text) => drop(wrapped(ui, RichText::new(text).weak())),
        Block::ListItem { depth, number, text } => {
            ui.spacing_mut().item_spacing.y = 4.0;
            ui.horizontal_top(|ui| {
                ui.spacing_mut().item_spacing.x = 6.0;
                ui.add_space(INDENT * (f32::from(*depth) + 0.3));
                ui.label(number.as_deref().unwrap_or("•"));
                ui.with_layout(Layout::top_down(Align::Min), |ui| wrapped(ui, RichText::new(text)));
            });
        }
        Block::Preformatted(text) => code(ui, text, at),
        Block::Table(block) => table::show(ui, block, Id::unique(("preview table", at))),
        Block::Formula { latex, number } => {
            code(ui, latex, at);
            if let Some(number) = number {
                ui.with_layout(Layout::top_down(Align::Max), |ui| ui.weak(words::formula_number(number)));
            }
        }
        Block::Figure { page, region, caption } => draw_figure(ui, state, *page, *region, caption.as_deref()),
        Block::Notice(text) => drop(wrapped(ui, RichText::new(text).color(colours::warning(ui.visuals())))),
    }
    // The end of a list.
    let next = rendered.blocks.get(at + 1);
    if matches!(block, Block::ListItem { .. }) && !matches!(next, Some(Block::ListItem { .. })) {
        ui.add_space(4.0);
    }
}

fn heading_scale(level: u8) -> f32 {
    match level {
        1 => 1.7,
        2 => 1.4,
        3 => 1.2,
        _ => 1.08,
    }
}

fn code(ui: &mut Ui, text: &str, at: usize) {
    Frame::new().fill(ui.visuals().code_bg_color).corner_radius(4).inner_margin(8).show(ui, |ui| {
        ScrollArea::horizontal().id_salt(("code", at)).auto_shrink([false, true]).show(ui, |ui| {
            ui.add(Label::new(RichText::new(text).monospace()).extend());
        });
    });
}

fn draw_figure(ui: &mut Ui, state: &State, page: usize, region: usize, caption: Option<&str>) {
    let name = caption.unwrap_or(words::FIGURE);
    let key = state.view.page.map(|key| PageKey { page, ..key });
    let drawn = key.and_then(|key| {
        let sheet = state.project.page(key)?;
        let bounds = sheet.regions.get(region)?.bounds();
        let most = vec2(ui.available_width(), TALLEST);
        Some(figure::show(ui, state, key, sheet, bounds, most, name))
    });
    if drawn != Some(true) {
        figure::placeholder(ui, &words::figure_on(page));
    }
}
