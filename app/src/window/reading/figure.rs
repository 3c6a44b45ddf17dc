//! Parts of a page as pictures: figures in the preview, and the print above the text that is edited.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use eframe::egui::{self, Color32, ColorImage, Id, Image, Sense, TextureHandle, TextureOptions, Ui, Vec2, vec2};
use engine::region::Rect;

use crate::window::pyramid::Pyramid;
use crate::window::state::State;
use crate::window::workspace::project::{Page, PageKey};

/// Pictures kept.
const KEPT: usize = 24;
/// Longest side of a picture, pixels.
const LARGEST: u32 = 2048;

/// The pictures cut lately, the last used last.
type Cuts = Arc<Mutex<Vec<Cut>>>;

struct Cut {
    pyramid: Weak<Pyramid>,
    bounds: Rect,
    level: usize,
    texture: TextureHandle,
}

/// Draws a part of a page no larger than `most`; whether the page was at hand.
pub(super) fn show(
    ui: &mut Ui,
    state: &State,
    key: PageKey,
    page: &Page,
    bounds: Rect,
    most: Vec2,
    name: &str,
) -> bool {
    let Some(sheet) = state.sheets.full(key) else { return false };
    let [width, height] = sheet.pyramid.size();
    let bounds = bounds.clamped(width, height);
    if sheet.turn != page.turn || page.size.is_some_and(|size| size != [width, height]) || bounds.is_empty() {
        return false;
    }
    let natural = vec2(bounds.width() as f32, bounds.height() as f32) * (96.0 / sheet.dpi.max(1) as f32);
    let size = natural * (most.x / natural.x).min(most.y / natural.y).min(1.0);
    let shrink = bounds.width() as f32 / (size.x * ui.pixels_per_point()).max(1.0);
    let level = (shrink.log2().floor().max(0.0) as usize).min(sheet.pyramid.levels().len().saturating_sub(1));
    let Some(texture) = cut(ui, &sheet.pyramid, bounds, level) else { return false };
    let image = Image::new(egui::load::SizedTexture::new(texture.id(), size)).alt_text(name).sense(Sense::hover());
    ui.add(image);
    true
}

fn cut(ui: &Ui, pyramid: &Arc<Pyramid>, bounds: Rect, level: usize) -> Option<TextureHandle> {
    let cuts = ui.data_mut(|data| data.get_temp_mut_or_default::<Cuts>(Id::unique("reading figures")).clone());
    let mut cuts = cuts.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = |cut: &Cut| {
        cut.bounds == bounds && cut.level == level && std::ptr::eq(cut.pyramid.as_ptr(), Arc::as_ptr(pyramid))
    };
    if let Some(at) = cuts.iter().position(is_it) {
        let used = cuts.remove(at);
        let texture = used.texture.clone();
        cuts.push(used);
        return Some(texture);
    }
    let picture = pixels(pyramid.levels().get(level)?, bounds, level);
    let texture = ui.load_texture("figure", picture, TextureOptions::LINEAR);
    cuts.push(Cut { pyramid: Arc::downgrade(pyramid), bounds, level, texture: texture.clone() });
    cuts.retain(|cut| cut.pyramid.strong_count() > 0);
    if cuts.len() > KEPT {
        cuts.remove(0);
    }
    Some(texture)
}

/// The pixels of a level inside a box of the page.
fn pixels(raster: &image::RgbImage, bounds: Rect, level: usize) -> ColorImage {
    let at = |x: u32| x >> level;
    let inside = Rect::new(
        at(bounds.x0),
        at(bounds.y0),
        at(bounds.x1).max(at(bounds.x0) + 1),
        at(bounds.y1).max(at(bounds.y0) + 1),
    )
    .clamped(raster.width(), raster.height());
    let (width, height) = (inside.width().min(LARGEST), inside.height().min(LARGEST));
    let mut pixels = Vec::with_capacity(width as usize * height as usize);
    for y in inside.y0..inside.y0 + height {
        for x in inside.x0..inside.x0 + width {
            let [red, green, blue] = raster.get_pixel(x, y).0;
            pixels.push(Color32::from_rgb(red, green, blue));
        }
    }
    ColorImage::new([width as usize, height as usize], pixels)
}

/// A frame where a picture will be, with what it is.
pub(super) fn placeholder(ui: &mut Ui, words: &str) {
    let stroke = ui.visuals().widgets.noninteractive.bg_stroke;
    egui::Frame::new().stroke(stroke).corner_radius(4).inner_margin(12).show(ui, |ui| {
        ui.vertical_centered(|ui| ui.weak(words));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_cut_from_the_level_that_is_asked_for() {
        let raster = image::RgbImage::from_fn(64, 32, |x, y| image::Rgb([x as u8, y as u8, 7]));
        let picture = pixels(&raster, Rect::new(10, 20, 13, 22), 0);
        assert_eq!(picture.size, [3, 2]);
        assert_eq!(picture.pixels.first(), Some(&Color32::from_rgb(10, 20, 7)));
        assert_eq!(picture.pixels.last(), Some(&Color32::from_rgb(12, 21, 7)));
        assert_eq!(pixels(&raster, Rect::new(10, 20, 50, 100), 1).size, [20, 22], "clamped at the raster's end");
        assert_eq!(pixels(&raster, Rect::new(3, 3, 4, 4), 4).size, [1, 1], "never empty");
    }
}
