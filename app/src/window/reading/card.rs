//! A region as a card: what it is and how far it is, what can be done with it, and its text.

use std::sync::Arc;

use eframe::egui::{
    Align, Button, Color32, CursorIcon, Frame, Id, Label as Words, Layout, Margin, Rect, RichText, Sense, Shape,
    Stroke, Ui, UiBuilder, WidgetInfo, pos2, vec2,
};
use engine::page::Status;
use engine::region::Role;

use super::texts::{Texts, Told};
use super::underline::underlines;
use super::{editor, table};
use crate::window::action::{Action, Actions};
use crate::window::clipboard::tsv;
use crate::window::colours;
use crate::window::command::Command;
use crate::window::hover_card;
use crate::window::record::record;
use crate::window::round_marks::character_at;
use crate::window::state::State;
use crate::window::strings::{self, reading as words};
use crate::window::workspace::live::LiveRegion;
use crate::window::workspace::project::{PageRegion, RegionId};

/// Width of the stripe in the colour of the region's kind, points.
const STRIPE: f32 = 3.0;

/// A region with its number in the reading order, from 1.
#[derive(Clone, Copy)]
pub(super) struct Numbered<'a> {
    pub(super) number: usize,
    pub(super) region: &'a Arc<PageRegion>,
}

/// What is dragged when a card is moved to another place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dragged(pub(super) RegionId);

/// How far a region is.
#[derive(Clone, Debug, PartialEq)]
enum Progress<'a> {
    NotRead,
    Waiting,
    Reading,
    Ended(&'a Status),
}

/// Draws a card.
pub(super) fn show(ui: &mut Ui, state: &State, numbered: Numbered<'_>, actions: &mut Actions) {
    let Numbered { number, region } = numbered;
    let live = state.live.region(region.id);
    let progress = progress(region, live);
    let is_selected = state.view.selection.contains(&region.id);
    let is_lit = is_selected || state.view.hover == Some(region.id);
    let is_left_out = region.region.label.role() == Role::Furniture && !state.settings.furniture;
    let builder = UiBuilder::new().id_salt("card").sense(Sense::click());
    let drawn = ui.scope_builder(builder, |ui| {
        let clicked = ui.response();
        let visuals = ui.visuals();
        let (fill, stroke) = match (is_selected, is_lit) {
            (true, _) => (visuals.selection.bg_fill.gamma_multiply(0.18), visuals.selection.stroke),
            (false, true) => (visuals.faint_bg_color, visuals.widgets.hovered.bg_stroke),
            (false, false) => (Color32::TRANSPARENT, visuals.widgets.noninteractive.bg_stroke),
        };
        let stroke = Stroke::new(1.0, stroke.color);
        let margin = Margin { left: 12, right: 8, top: 5, bottom: 7 };
        Frame::new().fill(fill).stroke(stroke).corner_radius(6).inner_margin(margin).show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.spacing_mut().item_spacing.y = 5.0;
            header(ui, state, numbered, &progress, actions);
            if is_left_out {
                ui.label(RichText::new(words::LEFT_OUT).small().italics());
            }
            match &state.view.editing {
                Some((id, text)) if *id == region.id => editor::show(ui, state, numbered, text, actions),
                _ => body(ui, state, numbered, live, actions),
            }
        });
        clicked
    });
    let (clicked, rect) = (drawn.inner, drawn.response.rect);
    let stripe = Rect::from_min_max(rect.min + vec2(3.0, 6.0), pos2(rect.left() + 3.0 + STRIPE, rect.bottom() - 6.0));
    ui.painter().rect_filled(stripe, 1.5, colours::role(region.region.label.role()));
    clicked.widget_info(|| {
        WidgetInfo::selected(
            eframe::egui::Role::ListBoxOption,
            true,
            is_selected,
            words::card(number, region.region.label),
        )
    });
    if clicked.clicked() {
        actions.ask(chosen(ui, region.id));
    }
}

/// What a click asks for: with Ctrl or Shift one more or less, else only this one.
fn chosen(ui: &Ui, id: RegionId) -> Action {
    let modifiers = ui.input(|input| input.modifiers);
    if modifiers.command || modifiers.shift { Action::ToggleSelect(id) } else { Action::Select(vec![id]) }
}

fn progress<'a>(region: &'a PageRegion, live: Option<&LiveRegion>) -> Progress<'a> {
    match (live, &region.read) {
        (Some(live), _) if live.begun().next().is_some() => Progress::Reading,
        (Some(_), _) => Progress::Waiting,
        (None, Some(read)) => Progress::Ended(&read.status),
        (None, None) => Progress::NotRead,
    }
}

fn header(ui: &mut Ui, state: &State, numbered: Numbered<'_>, progress: &Progress<'_>, actions: &mut Actions) {
    let Numbered { number, region } = numbered;
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        handle(ui, numbered);
        ui.label(RichText::new(number.to_string()).strong());
        kind(ui, numbered, state.is_page_locked(), actions);
        if region.edit.is_some() {
            ui.label(RichText::new(strings::status::EDITED).small().color(colours::notable(ui.visuals())));
        } else {
            state_word(ui, progress);
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = 0.0;
            ui.spacing_mut().button_padding.x = 4.0;
            let editing = state.view.editing.as_ref().is_some_and(|(id, _)| *id == region.id);
            let is_read = region.read.is_some() || region.edit.is_some();
            let is_busy = matches!(progress, Progress::Waiting | Progress::Reading);
            let can_read = state.run.is_none() && !is_busy && region.region.label.role() != Role::Figure;
            let again = if is_read { words::AGAIN_BUTTON } else { words::READ_BUTTON };
            if action(ui, can_read, again, &words::recognize(number, is_read)) {
                actions.ask(Action::Recognize(vec![region.id]));
            }
            if action(ui, !editing && !is_busy, words::EDIT_BUTTON, &words::edit(number)) {
                actions.ask(Action::Edit(region.id));
            }
            if action(ui, !region.text().is_empty(), words::COPY_BUTTON, &words::copy(number)) {
                actions.ask(Action::CopyRegions(vec![region.id]));
            }
            if region.region.label.role() == Role::Table
                && let Some(cells) = table::parsed(ui, region.text())
                && action(ui, true, words::CELLS_BUTTON, &words::copy_cells(number))
            {
                actions.ask(Action::Copy { text: tsv(&cells), html: Some(cells.to_html()) });
            }
            if region.edit.is_some() && !editing && action(ui, !is_busy, words::REVERT_BUTTON, &words::revert(number)) {
                actions.ask(Action::Select(vec![region.id]));
                actions.command(Command::RevertText);
            }
        });
    });
    if let Progress::Ended(status) = progress
        && region.edit.is_none()
        && let Some(sentence) = words::trouble(status)
    {
        let colour = if matches!(status, Status::Failed(_)) {
            colours::error(ui.visuals())
        } else {
            colours::warning(ui.visuals())
        };
        ui.add(Words::new(RichText::new(sentence).small().color(colour)).wrap());
    }
}

/// A small button; whether it was clicked.
fn action(ui: &mut Ui, enabled: bool, face: &str, name: &str) -> bool {
    let button = Button::new(RichText::new(face).small()).small().frame_when_inactive(false);
    let response = ui.add_enabled(enabled, button).on_hover_text(name);
    response.widget_info(|| WidgetInfo::labeled(eframe::egui::Role::Button, enabled, name));
    response.clicked()
}

/// Six dots to drag the card by.
fn handle(ui: &mut Ui, numbered: Numbered<'_>) {
    let (rect, response) = ui.allocate_exact_size(vec2(10.0, 16.0), Sense::drag());
    let colour = ui.style().interact(&response).fg_stroke.color.gamma_multiply(0.7);
    for (x, y) in [(-2.5, -4.5), (2.5, -4.5), (-2.5, 0.0), (2.5, 0.0), (-2.5, 4.5), (2.5, 4.5)] {
        ui.painter().circle_filled(rect.center() + vec2(x, y), 1.2, colour);
    }
    response.dnd_set_drag_payload(Dragged(numbered.region.id));
    let response = response.on_hover_cursor(CursorIcon::Grab).on_hover_text(words::DRAG);
    response.widget_info(|| WidgetInfo::labeled(eframe::egui::Role::Button, true, words::drag(numbered.number)));
}

/// The kind, and a menu to change it.
fn kind(ui: &mut Ui, numbered: Numbered<'_>, is_locked: bool, actions: &mut Actions) {
    let Numbered { number, region } = numbered;
    let label = region.region.label;
    let face = RichText::new(format!("{}    ", strings::label(label))).small();
    let menu = ui.add_enabled_ui(!is_locked, |ui| {
        ui.menu_button(face, |ui| {
            for choice in strings::CHOICES {
                if ui.selectable_label(choice == label, strings::label(choice)).clicked() {
                    actions.ask(Action::Select(vec![region.id]));
                    actions.ask(Action::Relabel(choice));
                    ui.close();
                }
            }
        })
    });
    let menu = menu.inner;
    // A triangle says that there is more.
    let tip = menu.response.rect.right_center() - vec2(9.0, -1.5);
    let colour = ui.style().interact(&menu.response).fg_stroke.color;
    let corners = [vec2(-3.0, -3.0), vec2(3.0, -3.0), vec2(0.0, 1.0)].map(|corner| tip + corner);
    ui.painter().add(Shape::convex_polygon(corners.to_vec(), colour, Stroke::NONE));
    let name = words::kind(number, label);
    menu.response.widget_info(|| WidgetInfo::labeled(eframe::egui::Role::Button, !is_locked, &name));
}

fn state_word(ui: &mut Ui, progress: &Progress<'_>) {
    let visuals = ui.visuals();
    let (word, colour) = match progress {
        Progress::NotRead => (strings::status::NOT_READ, visuals.weak_text_color()),
        Progress::Waiting => (strings::status::WAITING, visuals.weak_text_color()),
        Progress::Reading => (strings::status::READING, colours::notable(visuals)),
        Progress::Ended(status) => {
            let colour = match status {
                Status::Failed(_) => colours::error(visuals),
                Status::Truncated | Status::LoopStopped | Status::Cancelled => colours::warning(visuals),
                Status::Done | Status::Empty | Status::Picture => visuals.weak_text_color(),
            };
            (strings::status::ended(status), colour)
        }
    };
    ui.label(RichText::new(word).small().color(colour));
}

fn body(ui: &mut Ui, state: &State, numbered: Numbered<'_>, live: Option<&LiveRegion>, actions: &mut Actions) {
    let region = numbered.region;
    // While it waits to be read again, what was read before is still to be seen.
    if let Some(live) = live.filter(|live| live.begun().next().is_some()) {
        coloured(ui, state, region, &Told::live(live));
        return;
    }
    if let Some(replay) = state.replay.as_ref().filter(|replay| replay.region == region.id) {
        coloured(ui, state, region, &Told::replay(replay));
        return;
    }
    let role = region.region.label.role();
    if role == Role::Table
        && let Some(cells) = table::parsed(ui, region.text())
    {
        return table::show(ui, &cells, Id::unique(("card table", region.id)));
    }
    match (&region.edit, &region.read) {
        (Some(edit), _) => plain(ui, region, edit, actions),
        (None, Some(read)) if read.status == Status::Picture || role == Role::Figure => note(ui, words::picture(role)),
        (None, Some(read)) if read.status == Status::Empty => note(ui, words::NO_INK),
        (None, Some(read)) => {
            // A record may still be unpacked, or missing, as in a project of which only the texts were kept.
            let record = state.settings.colours.then(|| record(ui.ctx(), &read.detail)).flatten();
            if !record.is_some_and(|record| coloured(ui, state, region, &Told::read(&read.detail, &record))) {
                plain(ui, region, &read.text, actions);
            }
        }
        (None, None) if role == Role::Figure => note(ui, words::picture(role)),
        (None, None) => {}
    }
}

fn note(ui: &mut Ui, sentence: &str) {
    ui.label(RichText::new(sentence).italics().weak());
}

/// A text without rounds, to be selected and copied.
fn plain(ui: &mut Ui, region: &PageRegion, text: &str, actions: &mut Actions) {
    if text.is_empty() {
        return;
    }
    let monospace = region.region.preformatted || region.region.label.role() == Role::Formula;
    let text = RichText::new(text);
    let response = ui.add(Words::new(if monospace { text.monospace() } else { text }).wrap());
    if response.clicked() {
        actions.ask(chosen(ui, region.id));
    }
}

/// A text with its rounds, if it says anything. It is not to be selected: refused drafts among it are not the region's
/// text.
fn coloured(ui: &mut Ui, state: &State, region: &PageRegion, told: &Told<'_>) -> bool {
    let text = Texts::of(ui).laid_out(ui, region, told, &state.settings);
    if text.is_empty() {
        return false;
    }
    let label = Words::new(Arc::clone(&text.galley)).selectable(false);
    let (at, galley, response) = label.layout_in_ui(ui);
    response.widget_info(|| WidgetInfo::labeled(eframe::egui::Role::Label, true, galley.text()));
    if !ui.is_rect_visible(response.rect) {
        return true;
    }
    underlines(ui, ui.clip_rect(), text.marks.iter().map(|mark| mark.translate(at.to_vec2())));
    ui.painter().galley(at, Arc::clone(&galley), ui.visuals().text_color());
    let under = response.hover_pos().and_then(|pointer| character_at(&galley, (pointer - at).to_pos2()));
    if let Some(card) = under.and_then(|character| text.card(told, character)) {
        response.on_hover_ui_at_pointer(|ui| hover_card::show(ui, &card));
    }
    true
}

/// Draws what follows the pointer while a card is moved.
pub(super) fn follow_pointer(ui: &Ui, words: &str) {
    if let Some(pointer) = ui.ctx().pointer_interact_pos() {
        let visuals = ui.visuals();
        let painter =
            ui.ctx().layer_painter(eframe::egui::LayerId::new(eframe::egui::Order::Tooltip, Id::unique("moved card")));
        let font = eframe::egui::TextStyle::Body.resolve(ui.style());
        let text = painter.layout_no_wrap(words.to_owned(), font, visuals.strong_text_color());
        let rect = Rect::from_min_size(pointer + vec2(12.0, 4.0), text.size()).expand2(vec2(8.0, 4.0));
        painter.rect(rect, 4, visuals.window_fill, visuals.window_stroke, eframe::egui::StrokeKind::Inside);
        painter.galley(rect.min + vec2(8.0, 4.0), text, visuals.strong_text_color());
    }
}
