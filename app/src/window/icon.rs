//! Signs drawn with lines: no font is sure to have them.

use eframe::egui::{Button, Painter, Pos2, Rect, Response, Role, Shape, Stroke, Ui, WidgetInfo, pos2, vec2};

/// A picture on a button; painted, since no font is sure to have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Icon {
    Play,
    Pause,
    Back,
    Forward,
    Close,
    RotateLeft,
    RotateRight,
    Down,
}

/// A button with a picture; the name is for the tooltip and for screen readers.
pub(crate) fn icon_button(ui: &mut Ui, icon: Icon, name: &str, enabled: bool) -> Response {
    let button = ui.add_enabled(enabled, Button::new("").min_size(vec2(24.0, 20.0)));
    adorn(ui, icon, name, &button);
    button.on_hover_text(name)
}

/// Puts a sign on a button without text, and gives it its name.
pub(crate) fn adorn(ui: &Ui, icon: Icon, name: &str, button: &Response) {
    let enabled = button.enabled();
    button.widget_info(|| WidgetInfo::labeled(Role::Button, enabled, name));
    let mut stroke = ui.style().interact(button).fg_stroke;
    if !enabled {
        stroke.color = ui.visuals().weak_text_color().gamma_multiply(0.5);
    }
    icon.paint(ui.painter(), Rect::from_center_size(button.rect.center(), vec2(10.0, 10.0)), stroke);
}

impl Icon {
    fn paint(self, painter: &Painter, within: Rect, stroke: Stroke) {
        let triangle = |tip: Pos2, foot: f32| {
            let points = vec![pos2(foot, within.top()), tip, pos2(foot, within.bottom())];
            painter.add(Shape::convex_polygon(points, stroke.color, Stroke::NONE));
        };
        let bar = |x: f32, width: f32| {
            let bar = Rect::from_min_max(pos2(x, within.top()), pos2(x + width, within.bottom()));
            painter.rect_filled(bar, 0.0, stroke.color);
        };
        match self {
            Icon::Play => triangle(within.right_center(), within.left()),
            Icon::Pause => {
                bar(within.left(), 3.5);
                bar(within.right() - 3.5, 3.5);
            }
            Icon::Forward => {
                triangle(within.right_center() - vec2(2.0, 0.0), within.left());
                bar(within.right() - 2.0, 2.0);
            }
            Icon::Back => {
                triangle(within.left_center() + vec2(2.0, 0.0), within.right());
                bar(within.left(), 2.0);
            }
            Icon::RotateLeft | Icon::RotateRight => {
                let side = if self == Icon::RotateRight { 1.0 } else { -1.0 };
                // Three quarters of a circle, from the top on, with a head at its end.
                let (centre, radius) = (within.center(), 0.5 * within.width());
                let on = |turn: f32| {
                    let angle = turn * std::f32::consts::TAU;
                    centre + radius * vec2(side * angle.sin(), -angle.cos())
                };
                let arc: Vec<Pos2> = (0..=18).map(|n| on(0.28 + 0.72 * n as f32 / 18.0)).collect();
                painter.add(Shape::line(arc, Stroke::new(1.5, stroke.color)));
                let tip = on(0.0) + vec2(side * 3.0, 0.0);
                let head = vec![tip, on(0.0) + vec2(-side, -3.5), on(0.0) + vec2(-side, 3.5)];
                painter.add(Shape::convex_polygon(head, stroke.color, Stroke::NONE));
            }
            Icon::Down => {
                let foot = within.shrink2(vec2(0.0, 2.5));
                let points = vec![foot.left_top(), foot.right_top(), foot.center_bottom()];
                painter.add(Shape::convex_polygon(points, stroke.color, Stroke::NONE));
            }
            Icon::Close => {
                let stroke = Stroke::new(1.5, stroke.color);
                let cross = within.shrink(1.0);
                painter.line_segment([cross.left_top(), cross.right_bottom()], stroke);
                painter.line_segment([cross.right_top(), cross.left_bottom()], stroke);
            }
        }
    }
}
