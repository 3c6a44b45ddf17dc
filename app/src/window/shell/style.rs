//! The window's looks beyond egui's own: text large enough to read for hours, and room between things.

use eframe::egui::{Context, CornerRadius, FontFamily, FontId, TextStyle, vec2};

/// Sets them, for both themes.
pub(crate) fn set(context: &Context) {
    context.all_styles_mut(|style| {
        style.text_styles = [
            (TextStyle::Small, FontId::new(11.5, FontFamily::Proportional)),
            (TextStyle::Body, FontId::new(14.0, FontFamily::Proportional)),
            (TextStyle::Button, FontId::new(13.5, FontFamily::Proportional)),
            (TextStyle::Heading, FontId::new(20.0, FontFamily::Proportional)),
            (TextStyle::Monospace, FontId::new(13.0, FontFamily::Monospace)),
        ]
        .into();
        style.spacing.item_spacing = vec2(8.0, 6.0);
        style.spacing.button_padding = vec2(8.0, 3.0);
        let widgets = &mut style.visuals.widgets;
        for widget in [&mut widgets.inactive, &mut widgets.hovered, &mut widgets.active, &mut widgets.open] {
            widget.corner_radius = CornerRadius::same(5);
        }
    });
}
