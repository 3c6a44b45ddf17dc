//! Editing a region's text in place.

use eframe::egui::{
    Button, EventFilter, Id, Key, KeyboardShortcut, Modifiers, Role, ScrollArea, TextBuffer, TextEdit, TextStyle, Ui,
    WidgetInfo,
};
use engine::region::Role as RegionRole;

use super::card::Numbered;
use super::{figure, long_text};
use crate::window::action::{Action, Actions};
use crate::window::state::State;
use crate::window::strings::reading as words;
use crate::window::workspace::project::RegionId;

/// Keeps the edit.
const KEEP: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Enter);
/// Drops it.
const DROP: KeyboardShortcut = KeyboardShortcut::new(Modifiers::NONE, Key::Escape);
/// Tallest print above the text, points.
const PRINT: f32 = 150.0;
/// Tallest text before it is scrolled, points.
const TALLEST: f32 = 380.0;

/// Draws the print and the text with its two buttons.
pub(super) fn show(ui: &mut Ui, state: &State, numbered: Numbered<'_>, text: &str, actions: &mut Actions) {
    let Numbered { number, region } = numbered;
    if let (Some(key), Some(page)) = (state.view.page, state.page()) {
        let most = eframe::egui::vec2(ui.available_width(), PRINT);
        figure::show(ui, state, key, page, region.bounds(), most, &words::print_of(number));
    }
    let role = region.region.label.role();
    let font = if matches!(role, RegionRole::Table | RegionRole::Formula) || region.region.preformatted {
        TextStyle::Monospace
    } else {
        TextStyle::Body
    };
    // Keys first: the text would take Ctrl+Enter for a new line.
    let (keep, drop) = ui.input_mut(|input| (input.consume_shortcut(&KEEP), input.consume_shortcut(&DROP)));
    let mut typed = text.to_owned();
    let id = Id::unique(("edit region", region.id));
    ScrollArea::vertical().id_salt(id).max_height(TALLEST).show(ui, |ui| {
        let filter = EventFilter { horizontal_arrows: true, vertical_arrows: true, escape: true, tab: false };
        let kept = font.resolve(ui.style());
        let mut layouter =
            |ui: &Ui, text: &dyn TextBuffer, wrap: f32| long_text::layout(ui, text.as_str(), &kept, wrap);
        let edit = TextEdit::multiline(&mut typed)
            .id(id)
            .font(font)
            .layouter(&mut layouter)
            .desired_width(f32::INFINITY)
            .desired_rows(3)
            .event_filter(filter);
        let output = edit.show(ui);
        output.response.response.widget_info(|| {
            let mut info = WidgetInfo::text_edit(true, "", "", "");
            info.label = Some(words::edit_of(number));
            info.current_text_value = None;
            info
        });
        if is_new(ui, region.id) {
            output.response.response.request_focus();
        }
    });
    if typed != text {
        actions.ask(Action::Editing(typed));
    }
    ui.horizontal(|ui| {
        if button(ui, words::KEEP, &KEEP) || keep {
            actions.ask(Action::FinishEdit);
        }
        if button(ui, words::DROP, &DROP) || drop {
            actions.ask(Action::AbandonEdit);
        }
        if role == RegionRole::Table {
            ui.weak(words::TABLE_IS_HTML);
        }
    });
}

/// A button with its keys; whether it was clicked.
fn button(ui: &mut Ui, name: &str, shortcut: &KeyboardShortcut) -> bool {
    let response = ui.add(Button::new(name).shortcut_text(ui.ctx().format_shortcut(shortcut)));
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, name));
    response.clicked()
}

/// Whether this region's text was not edited the frame before.
fn is_new(ui: &Ui, region: RegionId) -> bool {
    let frame = ui.ctx().cumulative_frame_nr();
    let id = Id::unique("reading editor");
    let last = ui.data_mut(|data| {
        let last = data.get_temp::<(RegionId, u64)>(id);
        data.insert_temp(id, (region, frame));
        last
    });
    last.is_none_or(|(other, at)| other != region || at + 1 < frame)
}
