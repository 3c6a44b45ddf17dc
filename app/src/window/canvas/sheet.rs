//! The sheet of paper: the page as it is, a preview while it is being drawn, or why it cannot be.

use std::sync::Arc;

use eframe::egui::{
    Align2, Color32, Frame, Id, Label, Layout, Margin, Rect, RichText, Spinner, StrokeKind, TextureOptions, Ui,
    UiBuilder, Vec2, epaint::Shadow, pos2, vec2,
};

use super::placement::Placement;
use super::{gpu, words};
use crate::window::colours;
use crate::window::pyramid::Pyramid;
use crate::window::sheets::{Sheets, Thumbnail};
use crate::window::workspace::project::{Page, PageKey};

/// Width and height of a page of which nothing is known yet: A4 at 200 dpi.
const UNKNOWN: [u32; 2] = [1654, 2339];
/// Widest line of a message, points.
const MESSAGE: f32 = 420.0;

/// What there is of a page to show.
pub(super) enum Sheet<'a> {
    /// The page itself.
    Whole(&'a Arc<Pyramid>),
    /// The page is being drawn; perhaps there is a small picture of it.
    Coming { key: PageKey, size: [u32; 2], thumbnail: Option<&'a Thumbnail> },
    /// There is no picture of the page and there will be none.
    Failed,
}

impl<'a> Sheet<'a> {
    /// What there is of this page, as it is turned now.
    pub(super) fn of(key: PageKey, page: &Page, sheets: &'a Sheets) -> Self {
        if let Some(sheet) = sheets.full(key).filter(|sheet| sheet.turn == page.turn) {
            return Self::Whole(&sheet.pyramid);
        }
        if page.error.is_some() {
            return Self::Failed;
        }
        let thumbnail = sheets.thumbnail(key).filter(|thumbnail| thumbnail.turn == page.turn);
        let like = |thumbnail: &Thumbnail| {
            let [width, height] = thumbnail.image.size.map(|side| side.max(1) as f32);
            let scale = UNKNOWN[1] as f32 / width.max(height);
            [(width * scale) as u32, (height * scale) as u32]
        };
        let size = page.size.or_else(|| thumbnail.map(like)).unwrap_or(UNKNOWN);
        Self::Coming { key, size, thumbnail }
    }

    /// Width and height, pixels.
    pub(super) fn size(&self) -> [u32; 2] {
        match self {
            Self::Whole(pyramid) => pyramid.size(),
            Self::Coming { size, .. } => *size,
            Self::Failed => UNKNOWN,
        }
    }

    /// Paints it.
    pub(super) fn paint(&self, ui: &mut Ui, placement: Placement, page: &Page) {
        match self {
            Self::Whole(pyramid) => {
                desk(ui, placement);
                gpu::page(ui, placement, pyramid);
            }
            Self::Coming { key, thumbnail, .. } => {
                desk(ui, placement);
                ui.painter().rect_filled(near(placement), 0.0, colours::PAPER);
                if let Some(thumbnail) = thumbnail {
                    preview(ui, placement, *key, thumbnail);
                }
                let middle = placement.page.intersect(placement.canvas).center();
                let ring = Rect::from_center_size(middle, Vec2::splat(28.0));
                ui.painter().circle_filled(middle, 22.0, colours::PAPER.gamma_multiply(0.8));
                Spinner::new().color(colours::PAPER_INK_WEAK).paint_at(ui, ring);
            }
            Self::Failed => {
                ui.painter().rect_filled(placement.canvas, 0.0, colours::desk(ui.visuals()));
                failure(ui, placement.canvas, page.error.as_deref().unwrap_or_default());
            }
        }
    }
}

/// The page's rectangle, cut off where nothing is seen of it, so that numbers stay small.
fn near(placement: Placement) -> Rect {
    placement.page.intersect(placement.canvas.expand(64.0))
}

/// What the sheet lies on, with the sheet's shadow and edge; not under the sheet itself, where it would cost time unseen.
fn desk(ui: &Ui, placement: Placement) {
    let (canvas, sheet) = (placement.canvas, near(placement));
    let shadow = Shadow { offset: [0, 2], blur: 12, spread: 0, color: colours::sheet_shadow(ui.visuals()) };
    let (above, rest) = canvas.split_top_bottom_at_y(sheet.top());
    let (rest, below) = rest.split_top_bottom_at_y(sheet.bottom());
    let (left, rest) = rest.split_left_right_at_x(sheet.left());
    let (_, right) = rest.split_left_right_at_x(sheet.right());
    for side in [above, below, left, right].map(|side| side.intersect(canvas)) {
        if side.is_positive() {
            let painter = ui.painter().with_clip_rect(side);
            painter.rect_filled(canvas, 0.0, colours::desk(ui.visuals()));
            painter.add(shadow.as_shape(sheet, 0));
        }
    }
    ui.painter().rect_stroke(sheet, 0.0, (1.0, colours::sheet_edge(ui.visuals())), StrokeKind::Outside);
}

fn preview(ui: &Ui, placement: Placement, key: PageKey, thumbnail: &Thumbnail) {
    let id = Id::unique(("canvas preview", key));
    let image = Arc::clone(&thumbnail.image);
    let texture = ui.load_texture_cached("canvas preview", id, image, TextureOptions::LINEAR);
    let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
    ui.painter().image(texture.id(), placement.page, whole, Color32::WHITE);
}

/// Why there is no page, in the middle.
fn failure(ui: &mut Ui, canvas: Rect, message: &str) {
    let width = MESSAGE.min(canvas.width() - 48.0).max(80.0);
    let space = Rect::from_center_size(canvas.center(), vec2(width, canvas.height().min(160.0)));
    let builder = UiBuilder::new().id_salt("canvas failure").max_rect(space);
    ui.scope_builder(builder.layout(Layout::top_down(eframe::egui::Align::Center)), |ui| {
        ui.add_space(24.0);
        ui.add(Label::new(RichText::new(words::NO_PICTURE).heading()).selectable(false));
        ui.add_space(6.0);
        ui.add(Label::new(message).wrap());
    });
}

/// What there is to tell about the page, in a strip along the upper edge.
pub(super) fn notice(ui: &mut Ui, canvas: Rect, page: &Page, sheet: &Sheet<'_>) {
    let error = page.error.as_deref().filter(|_| !matches!(sheet, Sheet::Failed));
    let Some(text) = error.or(page.notice.as_deref()) else { return };
    let frame = Frame::new()
        .fill(ui.visuals().window_fill)
        .stroke(ui.visuals().window_stroke)
        .corner_radius(6)
        .inner_margin(Margin::symmetric(10, 4));
    let width = (2.0 * MESSAGE).min(canvas.width() - 32.0).max(80.0) - 22.0;
    let font = eframe::egui::TextStyle::Small.resolve(ui.style());
    let galley = ui.painter().layout(text.to_owned(), font, ui.visuals().text_color(), width);
    let size = galley.size() + vec2(22.0, 10.0);
    let strip = Align2::CENTER_TOP.align_size_within_rect(size, canvas.shrink(8.0));
    ui.scope_builder(UiBuilder::new().id_salt("canvas notice").max_rect(strip), |ui| {
        frame.show(ui, |ui| ui.add(Label::new(galley).selectable(false)));
    });
}
