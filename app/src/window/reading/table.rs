//! Tables drawn as tables, merged cells included.

use std::sync::{Arc, Mutex, PoisonError};

use eframe::egui::{
    FontSelection, Galley, Id, Label, Rect, RichText, ScrollArea, Sense, Shape, TextStyle, Ui, UiBuilder, Vec2,
    WidgetText, pos2, vec2,
};
use engine::assemble::{GridCell, Table};

use super::epoch::Epoch;

/// Room between a cell's text and its lines, points.
const PADDING: Vec2 = vec2(6.0, 4.0);
/// A column is not made narrower than this for the sake of the others, points.
const NARROWEST: f32 = 48.0;
/// LaidOutTables kept.
const KEPT: usize = 32;

/// A table laid out for a width.
struct LaidOutTable {
    table: Table,
    look: Look,
    cells: Vec<Cell>,
    size: Vec2,
}

struct Cell {
    /// From the table's corner.
    rect: Rect,
    text: Arc<Galley>,
    header: bool,
}

/// What a layout depends on beside the table.
#[derive(Clone, PartialEq)]
struct Look {
    epoch: Epoch,
    width: f32,
    pixels_per_point: f32,
    font: f32,
    dark: bool,
}

/// Draws a table across the available width; one that cannot be made so narrow is scrolled sideways.
pub(super) fn show(ui: &mut Ui, table: &Table, id: Id) {
    if !table.caption.is_empty() {
        ui.label(RichText::new(&table.caption).italics());
    }
    let layout = laid_out(ui, table);
    ScrollArea::horizontal().id_salt(id).auto_shrink([false, true]).show(ui, |ui| {
        let (rect, _) = ui.allocate_exact_size(layout.size, Sense::hover());
        let visuals = ui.visuals();
        let (line, ground) = (visuals.widgets.noninteractive.bg_stroke, visuals.faint_bg_color);
        for cell in &layout.cells {
            let place = cell.rect.translate(rect.min.to_vec2());
            if !ui.is_rect_visible(place) {
                continue;
            }
            if cell.header {
                ui.painter().add(Shape::rect_filled(place, 0, ground));
            }
            ui.painter().rect_stroke(place, 0, line, eframe::egui::StrokeKind::Middle);
            if !cell.text.is_empty() {
                let inner = Rect::from_min_size(place.min + PADDING, cell.text.size());
                ui.scope_builder(UiBuilder::new().max_rect(inner), |ui| ui.add(Label::new(Arc::clone(&cell.text))));
            }
        }
    });
}

/// The table in a text, read once for as long as the text stays.
pub(super) fn parsed(ui: &Ui, text: &str) -> Option<Arc<Table>> {
    type Parsed = Arc<Mutex<Vec<(String, Option<Arc<Table>>)>>>;
    let parsed = ui.data_mut(|data| data.get_temp_mut_or_default::<Parsed>(Id::unique("reading parsed")).clone());
    let mut parsed = parsed.lock().unwrap_or_else(PoisonError::into_inner);
    let entry = match parsed.iter().position(|(known, _)| known == text) {
        Some(at) => parsed.remove(at),
        None => (text.to_owned(), Table::parse(text).map(Arc::new)),
    };
    let table = entry.1.clone();
    parsed.push(entry);
    if parsed.len() > KEPT {
        parsed.remove(0);
    }
    table
}

/// The layout of a table; those used lately are kept.
fn laid_out(ui: &Ui, table: &Table) -> Arc<LaidOutTable> {
    type LaidOutTables = Arc<Mutex<Vec<Arc<LaidOutTable>>>>;
    let look = Look {
        epoch: Epoch::now(ui),
        width: ui.available_width(),
        pixels_per_point: ui.pixels_per_point(),
        font: TextStyle::Body.resolve(ui.style()).size,
        dark: ui.visuals().dark_mode,
    };
    let layouts =
        ui.data_mut(|data| data.get_temp_mut_or_default::<LaidOutTables>(Id::unique("reading tables")).clone());
    let mut layouts = layouts.lock().unwrap_or_else(PoisonError::into_inner);
    let found = layouts.iter().position(|layout| layout.look == look && layout.table == *table);
    let layout = match found {
        Some(at) => layouts.remove(at),
        None => Arc::new(lay_out(ui, table, look)),
    };
    layouts.push(Arc::clone(&layout));
    if layouts.len() > KEPT {
        layouts.remove(0);
    }
    layout
}

fn lay_out(ui: &Ui, table: &Table, look: Look) -> LaidOutTable {
    let places = table.grid_cells();
    let text = |place: &GridCell<'_>, wrap: f32| {
        let text = RichText::new(&place.cell.text);
        let text = WidgetText::from(if place.cell.header { text.strong() } else { text });
        text.into_galley(ui, Some(eframe::egui::TextWrapMode::Wrap), wrap, FontSelection::Default)
    };
    let wanted: Vec<(&GridCell<'_>, f32)> =
        places.iter().map(|place| (place, text(place, f32::INFINITY).size().x + 2.0 * PADDING.x)).collect();
    let columns = columns(&wanted, look.width);
    let lefts = edges(&columns);
    let galleys: Vec<Arc<Galley>> = places
        .iter()
        .map(|place| {
            let width = lefts[place.column + place.colspan] - lefts[place.column];
            text(place, (width - 2.0 * PADDING.x).max(1.0))
        })
        .collect();
    let heights: Vec<(&GridCell<'_>, f32)> =
        places.iter().zip(&galleys).map(|(place, text)| (place, text.size().y + 2.0 * PADDING.y)).collect();
    let tops = edges(&rows(&heights, table.rows.len(), ui.text_style_height(&TextStyle::Body) + 2.0 * PADDING.y));
    let cells = places
        .iter()
        .zip(galleys)
        .map(|(place, text)| Cell {
            rect: Rect::from_min_max(
                pos2(lefts[place.column], tops[place.row]),
                pos2(lefts[place.column + place.colspan], tops[place.row + place.rowspan]),
            ),
            text,
            header: place.cell.header,
        })
        .collect();
    let size = vec2(lefts.last().copied().unwrap_or(0.0), tops.last().copied().unwrap_or(0.0));
    LaidOutTable { table: table.clone(), look, cells, size }
}

/// Widths of the columns: what their texts want, and where that is too much, an equal share at least.
fn columns(wanted: &[(&GridCell<'_>, f32)], available: f32) -> Vec<f32> {
    let count = wanted.iter().map(|(place, _)| place.column + place.colspan).max().unwrap_or(0);
    let mut widths = vec![2.0 * PADDING.x + 8.0; count];
    let mut by_span: Vec<_> = wanted.iter().collect();
    by_span.sort_by_key(|(place, _)| place.colspan);
    for (place, wanted) in by_span {
        let covered = &mut widths[place.column..place.column + place.colspan];
        let missing = wanted - covered.iter().sum::<f32>();
        if missing > 0.0 {
            let share = missing / covered.len() as f32;
            covered.iter_mut().for_each(|width| *width += share);
        }
    }
    let available = available - 1.0; // the last line
    // The widest give way until all fit: the cap under which all widths lie falls.
    let fits = |cap: f32| widths.iter().map(|width| width.min(cap)).sum::<f32>() <= available;
    if !fits(f32::INFINITY) {
        let (mut low, mut high) = (NARROWEST, available.max(NARROWEST));
        for _ in 0..24 {
            let middle = (low + high) / 2.0;
            if fits(middle) { low = middle } else { high = middle }
        }
        widths.iter_mut().for_each(|width| *width = width.min(low));
    }
    widths
}

/// Heights of the rows; what a merged cell wants beyond its rows' heights goes to the last of them.
fn rows(wanted: &[(&GridCell<'_>, f32)], count: usize, least: f32) -> Vec<f32> {
    let mut heights = vec![least; count];
    let mut by_span: Vec<_> = wanted.iter().collect();
    by_span.sort_by_key(|(place, _)| place.rowspan);
    for (place, wanted) in by_span {
        let covered = &mut heights[place.row..place.row + place.rowspan];
        let missing = wanted - covered.iter().sum::<f32>();
        if let Some(last) = covered.last_mut().filter(|_| missing > 0.0) {
            *last += missing;
        }
    }
    heights
}

/// Where each begins, and the last ends.
fn edges(sizes: &[f32]) -> Vec<f32> {
    let mut edges = vec![0.0];
    edges.extend(sizes.iter().scan(0.0, |at, size| {
        *at += size;
        Some(*at)
    }));
    edges
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    #[test]
    fn columns_shrink_from_the_widest_and_rows_grow_for_merged_cells() {
        let table = Table::parse(
            "<table><tr><td rowspan=2>a</td><td>b</td></tr><tr><td>c</td></tr><tr><td colspan=2>d</td></tr></table>",
        )
        .unwrap();
        let places = table.grid_cells();
        let want = |sizes: [f32; 4]| places.iter().zip(sizes).collect::<Vec<_>>();
        assert_eq!(columns(&want([60.0, 300.0, 40.0, 100.0]), 1001.0), [60.0, 300.0]);
        let shrunk = columns(&want([60.0, 300.0, 40.0, 100.0]), 201.0);
        assert_eq!(shrunk[0], 60.0);
        assert!((shrunk[1] - 140.0).abs() < 0.01, "{shrunk:?}");
        assert_eq!(columns(&want([60.0, 60.0, 60.0, 200.0]), 1001.0), [100.0, 100.0]);
        assert_eq!(columns(&want([300.0, 300.0, 40.0, 100.0]), 20.0), [NARROWEST, NARROWEST]);
        assert_eq!(rows(&want([90.0, 20.0, 20.0, 20.0]), 3, 16.0), [20.0, 70.0, 20.0]);
        assert_eq!(edges(&[1.0, 2.0]), [0.0, 1.0, 3.0]);
    }
}
