//! The pages pane: documents and their pages as thumbnails, with each page's state.
//!
//! Only the rows that are seen are laid out: a document of ten thousand pages costs no more than one of ten.

use eframe::egui::{
    self, Align2, Color32, CornerRadius, FontId, Id, Rect, Role, ScrollArea, Sense, Stroke, StrokeKind, TextureOptions,
    Ui, WidgetInfo, pos2, vec2,
};
use engine::page::Status;

use crate::window::action::{Action, Actions};
use crate::window::state::State;
use crate::window::workspace::project::{Document, DocumentState, Page, PageKey};
use crate::window::{colours, strings};

/// Height of a document's name.
const HEADER: f32 = 30.0;
/// Height of a page: its picture, and its number and state below.
const ROW: f32 = 170.0;
/// Height of the picture.
const PICTURE: f32 = 134.0;

/// Draws the pane.
pub(crate) fn show(ui: &mut Ui, state: &State, actions: &mut Actions) {
    let documents = &state.project.documents;
    let height = |document: &Document| HEADER + ROW * document.pages.len() as f32;
    let total: f32 = documents.iter().map(height).sum();
    let mut area = ScrollArea::vertical().auto_shrink(false);
    // Bring the page that is looked at into view when it is another one than before.
    let shown = Id::unique("shown page");
    let before: Option<PageKey> = ui.data(|data| data.get_temp(shown));
    if let Some(key) = state.view.page.filter(|key| before != Some(*key)) {
        ui.data_mut(|data| data.insert_temp(shown, key));
        let top: f32 = documents.iter().take_while(|document| document.id != key.document).map(height).sum();
        let row = top + HEADER + ROW * key.page as f32;
        let seen: Option<Rect> = ui.data(|data| data.get_temp(shown.with("seen")));
        if seen.is_none_or(|seen| row < seen.top() || row + ROW > seen.bottom()) {
            area = area.vertical_scroll_offset((row - 40.0).max(0.0));
        }
    }
    area.show_viewport(ui, |ui, viewport| {
        ui.data_mut(|data| data.insert_temp(shown.with("seen"), viewport));
        ui.set_height(total);
        let (left, width) = (ui.max_rect().left(), ui.max_rect().width());
        let origin = ui.max_rect().top();
        let mut seen = Vec::new();
        let mut top = 0.0;
        for document in documents {
            let bottom = top + height(document);
            if bottom >= viewport.top() && top <= viewport.bottom() {
                let header = Rect::from_min_size(pos2(left, origin + top), vec2(width, HEADER));
                show_header(ui, header, document, state, actions);
                let first = ((viewport.top() - top - HEADER) / ROW).floor().max(0.0) as usize;
                let last = ((viewport.bottom() - top - HEADER) / ROW).ceil().max(0.0) as usize;
                for page in first..last.min(document.pages.len()) {
                    let key = PageKey { document: document.id, page };
                    let y = origin + top + HEADER + ROW * page as f32;
                    let rect = Rect::from_min_size(pos2(left, y), vec2(width, ROW));
                    show_page(ui, rect, key, &document.pages[page], state, actions);
                    seen.push(key);
                }
            }
            top = bottom;
        }
        if seen != state.view.thumbnails {
            actions.ask(Action::Thumbnails(seen));
        }
    });
}

fn show_header(ui: &mut Ui, rect: Rect, document: &Document, state: &State, actions: &mut Actions) {
    let response = ui.interact(rect, Id::unique(("document", document.id.0)), Sense::click());
    let label = strings::document_row(document);
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
    let current = state.view.page.is_some_and(|key| key.document == document.id);
    let colour = if current { ui.visuals().strong_text_color() } else { ui.visuals().text_color() };
    let text = rect.shrink2(vec2(4.0, 0.0));
    let colour = match document.state {
        DocumentState::Failed(_) => colours::error(ui.visuals()),
        _ => colour,
    };
    let mut job = egui::text::LayoutJob::simple_singleline(document.name.clone(), FontId::proportional(12.5), colour);
    job.wrap = egui::text::TextWrapping::truncate_at_width(text.width());
    let galley = ui.painter().layout_job(job);
    ui.painter().galley(pos2(text.left(), text.center().y - 0.5 * galley.size().y), galley, colour);
    if response.on_hover_text(strings::document_hint(document)).clicked() {
        actions.ask(Action::Go(PageKey { document: document.id, page: 0 }));
    }
}

fn show_page(ui: &mut Ui, rect: Rect, key: PageKey, page: &Page, state: &State, actions: &mut Actions) {
    let id = Id::unique(("page", key.document.0, key.page));
    let response = ui.interact(rect, id, Sense::click());
    let selected = state.view.page == Some(key);
    let (sign, words, colour) = look(ui, key, page, state);
    let label = strings::page_row(key.page, &words);
    response.widget_info(|| WidgetInfo::selected(Role::ListItem, true, selected, &label));
    if !ui.is_rect_visible(rect) {
        return;
    }
    let painter = ui.painter();
    if selected || response.hovered() || response.has_focus() {
        let fill =
            if selected { ui.visuals().selection.bg_fill.gamma_multiply(0.45) } else { ui.visuals().faint_bg_color };
        painter.rect_filled(rect.shrink(2.0), CornerRadius::same(6), fill);
    }
    if response.has_focus() {
        painter.rect_stroke(rect.shrink(2.0), CornerRadius::same(6), ui.visuals().selection.stroke, StrokeKind::Inside);
    }
    let room = Rect::from_min_size(rect.min + vec2(0.0, 8.0), vec2(rect.width(), PICTURE)).shrink2(vec2(10.0, 0.0));
    let thumbnail = state.sheets.thumbnail(key).filter(|thumbnail| thumbnail.turn == page.turn);
    let size = match (thumbnail, page.size) {
        (Some(thumbnail), _) => thumbnail.image.source_size,
        (None, Some([width, height])) => vec2(width as f32, height as f32),
        (None, None) => vec2(210.0, 297.0),
    };
    let scale = (room.width() / size.x.max(1.0)).min(room.height() / size.y.max(1.0));
    let picture = Rect::from_center_size(room.center(), size * scale);
    painter.rect_filled(picture, CornerRadius::ZERO, colours::PAPER);
    if let Some(thumbnail) = thumbnail {
        let texture = ui.ctx().load_texture_cached("thumbnail", id, thumbnail.image.clone(), TextureOptions::LINEAR);
        let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
        ui.painter().image(texture.id(), picture, whole, Color32::WHITE);
    }
    let painter = ui.painter();
    painter.rect_stroke(
        picture,
        CornerRadius::ZERO,
        Stroke::new(1.0, colours::edge(ui.visuals())),
        StrokeKind::Outside,
    );
    let foot = pos2(rect.center().x, rect.bottom() - 14.0);
    let text = format!("{}{}{sign}", key.page + 1, if sign.is_empty() { "" } else { "  ·  " });
    painter.text(foot, Align2::CENTER_CENTER, text, FontId::proportional(11.5), colour);
    if response.on_hover_text(&label).clicked() {
        actions.ask(Action::Go(key));
    }
}

/// A page's state: a short word for the foot, the same in full, and a colour.
fn look(ui: &Ui, key: PageKey, page: &Page, state: &State) -> (String, String, Color32) {
    let visuals = ui.visuals();
    if let Some(error) = &page.error {
        return (strings::page::FAILED.to_owned(), error.clone(), colours::error(visuals));
    }
    if let Some((done, regions)) = state.run.as_ref().and_then(|run| run.page_progress(key)) {
        let text = strings::page::reading(done, regions);
        return (text.clone(), text, visuals.strong_text_color());
    }
    let count = |wanted: &dyn Fn(&Status) -> bool| {
        page.regions.iter().filter(|region| region.read.as_ref().is_some_and(|read| wanted(&read.status))).count()
    };
    let (read, troubled) = (
        count(&|_| true),
        count(&|status| {
            matches!(status, Status::Truncated | Status::LoopStopped | Status::Cancelled | Status::Failed(_))
        }),
    );
    let regions = page.regions.len();
    let (text, colour) = match () {
        () if regions == 0 && page.detected => (strings::page::EMPTY.to_owned(), visuals.weak_text_color()),
        () if regions == 0 => (String::new(), visuals.weak_text_color()),
        () if read == 0 => (strings::run::count(regions, "region"), visuals.weak_text_color()),
        () if read < regions => (strings::page::partly(read, regions), visuals.text_color()),
        () if troubled > 0 => (strings::page::troubled(troubled), colours::warning(visuals)),
        () => (strings::page::DONE.to_owned(), colours::good(visuals)),
    };
    (text.clone(), text, colour)
}
