//! The window's looks beyond egui's own: text large enough to read for hours, and room between things.

use eframe::egui::{Color32, Context, CornerRadius, FontFamily, FontId, TextStyle, vec2};

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
        // Text for hours of reading; what is quiet still has 4.5 : 1 against the panels.
        let (text, weak) = if style.visuals.dark_mode { (0xd2, 0xa0) } else { (0x26, 0x5c) };
        style.visuals.weak_text_color = Some(Color32::from_gray(weak));
        let widgets = &mut style.visuals.widgets;
        widgets.noninteractive.fg_stroke.color = Color32::from_gray(text);
        widgets.inactive.fg_stroke.color = Color32::from_gray(text);
        for widget in [&mut widgets.inactive, &mut widgets.hovered, &mut widgets.active, &mut widgets.open] {
            widget.corner_radius = CornerRadius::same(5);
        }
    });
}
