//! Where the page lies on the screen: the one place that knows how page pixels become screen points.

use eframe::egui::{Pos2, Rect, Vec2, pos2, vec2};

use crate::window::state::{Camera, Fit};

/// Smallest and largest zoom that a person can choose, screen points per page pixel at 100 % scaling.
pub(crate) const ZOOM: std::ops::RangeInclusive<f32> = 0.05..=8.0;
/// Points left free around a page that fits.
const MARGIN: f32 = 16.0;

/// The page on the screen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Placement {
    /// The canvas, screen points.
    pub(crate) canvas: Rect,
    /// The whole page, screen points; may reach far beyond the canvas.
    pub(crate) page: Rect,
    /// Screen points per page pixel.
    pub(crate) zoom: f32,
}

impl Placement {
    /// Where a page of this many pixels lies under a camera.
    pub(crate) fn new(camera: &Camera, size: [u32; 2], canvas: Rect) -> Self {
        let size = vec2(size[0].max(1) as f32, size[1].max(1) as f32);
        let room = (canvas.size() - Vec2::splat(2.0 * MARGIN)).max(Vec2::splat(1.0));
        let zoom = match camera.fit {
            Fit::Page => (room.x / size.x).min(room.y / size.y),
            Fit::Width => room.x / size.x,
            Fit::Free => camera.zoom.clamp(*ZOOM.start(), *ZOOM.end()),
        };
        let shown = size * zoom;
        // An axis on which the page fits is centred; on the other the camera decides, the page never leaving the canvas.
        let place = |centre: f32, extent: f32, low: f32, high: f32| {
            let middle = 0.5 * (low + high);
            if extent + 2.0 * MARGIN <= high - low {
                return middle - 0.5 * extent;
            }
            (middle - centre * extent).clamp(high - MARGIN - extent, low + MARGIN)
        };
        let min = pos2(
            place(camera.centre.x, shown.x, canvas.left(), canvas.right()),
            place(camera.centre.y, shown.y, canvas.top(), canvas.bottom()),
        );
        Self { canvas, page: Rect::from_min_size(min, shown), zoom }
    }

    /// A page point on the screen.
    pub(crate) fn to_screen(self, page: Pos2) -> Pos2 {
        self.page.min + page.to_vec2() * self.zoom
    }

    /// A screen point on the page; may be outside it.
    pub(crate) fn to_page(self, screen: Pos2) -> Pos2 {
        ((screen - self.page.min) / self.zoom).to_pos2()
    }

    /// A box of page pixels on the screen.
    pub(crate) fn rect(self, bounds: engine::region::Rect) -> Rect {
        let corner = |x: u32, y: u32| self.to_screen(pos2(x as f32, y as f32));
        Rect::from_min_max(corner(bounds.x0, bounds.y0), corner(bounds.x1, bounds.y1))
    }

    /// The camera that shows the page as it lies, moved by `pan` screen points and zoomed by `factor` around a screen
    /// point.
    pub(crate) fn moved(self, pan: Vec2, factor: f32, around: Pos2) -> Camera {
        let zoom = (self.zoom * factor).clamp(*ZOOM.start(), *ZOOM.end());
        let min = around + (self.page.min + pan - around) * (zoom / self.zoom);
        let extent = self.page.size() * (zoom / self.zoom);
        let centre = (self.canvas.center() - min) / extent;
        Camera { fit: Fit::Free, zoom, centre: centre.clamp(Vec2::ZERO, Vec2::splat(1.0)) }
    }
}
