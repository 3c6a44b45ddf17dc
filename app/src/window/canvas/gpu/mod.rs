//! What is drawn on the graphics device beside egui's shapes: the page's tiles and the marks under characters.

mod device;
mod marks;
mod page;

use eframe::egui::{Rect, Ui};
use eframe::egui_wgpu::RenderState;

pub(super) use page::page;
pub(crate) use page::release;

use crate::window::highlight::Highlight;

/// Makes pipelines for the device, once.
pub(crate) fn prepare(render_state: &RenderState) {
    let resources = &mut render_state.renderer.write().callback_resources;
    if resources.contains::<device::Screen>() {
        return;
    }
    let (device, format) = (&render_state.device, render_state.target_format);
    let screen = device::Screen::new(device);
    resources.insert(page::Resources::new(device, format, &screen));
    resources.insert(marks::Resources::new(device, format, &screen));
    resources.insert(screen);
}

/// Draws marks over what was painted so far, inside `clip`; text painted afterwards stands on them.
pub(crate) fn highlights(ui: &Ui, clip: Rect, instances: Vec<Highlight>) {
    let clip = clip.intersect(ui.clip_rect());
    let seen = instances.iter().filter(|mark| mark.rect.intersects(clip));
    if clip.is_positive()
        && let Some(marks) = marks::Marks::new(seen)
    {
        ui.painter().with_clip_rect(clip).add(device::shape(clip, marks));
    }
}

/// Bytes of the tiles on the graphics device.
#[cfg(test)]
pub(super) fn held(render_state: &RenderState) -> usize {
    render_state.renderer.read().callback_resources.get::<page::Resources>().map_or(0, page::Resources::bytes)
}
