//! Where the page lies on the screen: the one place that knows how page pixels become screen points.

use std::ops::RangeInclusive;

use eframe::egui::{Pos2, Rect, Vec2, pos2, vec2};

use crate::window::state::{Camera, Fit};

/// Smallest and largest zoom that a person can choose, physical screen pixels per page pixel. A page that does not fit
/// at the smallest may be seen smaller still.
pub(crate) const ZOOM: RangeInclusive<f32> = 0.05..=8.0;
/// Points left free around a page that fits.
const MARGIN: f32 = 16.0;
/// How near a zoom is to a whole number to count as one.
const WHOLE: f32 = 1e-3;

/// The page on the screen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Placement {
    /// The canvas, screen points.
    pub(crate) canvas: Rect,
    /// The whole page, screen points; may reach far beyond the canvas.
    pub(crate) page: Rect,
    /// Screen points per page pixel.
    pub(crate) zoom: f32,
    /// Physical screen pixels per screen point.
    pub(crate) pixels_per_point: f32,
    /// The page's corner before it was put on a whole screen pixel: where slow movements add up.
    corner: Pos2,
}

impl Placement {
    /// Where a page of this many pixels lies under a camera.
    pub(crate) fn new(camera: &Camera, size: [u32; 2], canvas: Rect, pixels_per_point: f32) -> Self {
        let size = vec2(size[0].max(1) as f32, size[1].max(1) as f32);
        let limits = zooms(size, canvas, pixels_per_point);
        let zoom = match camera.fit {
            Fit::Page => whole(size, canvas),
            Fit::Width => room(canvas).x / size.x,
            Fit::Free => (camera.zoom / pixels_per_point).max(*limits.start()),
        };
        let zoom = zoom.min(*limits.end());
        let shown = size * zoom;
        // An axis on which the page fits is centred; on the other the camera decides, the page never leaving the canvas.
        let place = |centre: f32, extent: f32, low: f32, high: f32| {
            let middle = 0.5 * (low + high);
            if extent + 2.0 * MARGIN <= high - low {
                return middle - 0.5 * extent;
            }
            (middle - centre * extent).min(low + MARGIN).max(high - MARGIN - extent)
        };
        let corner = pos2(
            place(camera.centre[0], shown.x, canvas.left(), canvas.right()),
            place(camera.centre[1], shown.y, canvas.top(), canvas.bottom()),
        );
        // Page pixels that cover whole screen pixels also begin at one, so that they stay crisp.
        let physical = zoom * pixels_per_point;
        let crisp = physical > 0.5 && (physical - physical.round()).abs() < WHOLE;
        let whole = || ((corner.to_vec2() * pixels_per_point).round() / pixels_per_point).to_pos2();
        let page = Rect::from_min_size(if crisp { whole() } else { corner }, shown);
        Self { canvas, page, zoom, pixels_per_point, corner }
    }

    /// Physical screen pixels per page pixel: 1 is "100 %".
    pub(crate) fn scale(self) -> f32 {
        self.zoom * self.pixels_per_point
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
        let limits = zooms(self.page.size() / self.zoom, self.canvas, self.pixels_per_point);
        let zoom = (self.zoom * factor).max(*limits.start()).min(*limits.end());
        let min = around + (self.corner + pan - around) * (zoom / self.zoom);
        let extent = self.page.size() * (zoom / self.zoom);
        let centre = (self.canvas.center() - min) / extent;
        Camera {
            fit: Fit::Free,
            zoom: zoom * self.pixels_per_point,
            centre: centre.clamp(Vec2::ZERO, Vec2::splat(1.0)).into(),
        }
    }
}

/// What the canvas offers to a page that fits.
fn room(canvas: Rect) -> Vec2 {
    (canvas.size() - Vec2::splat(2.0 * MARGIN)).max(Vec2::splat(1.0))
}

/// The zoom that shows the whole page, screen points per page pixel.
fn whole(size: Vec2, canvas: Rect) -> f32 {
    (room(canvas) / size).min_elem()
}

/// Zooms that can be chosen, screen points per page pixel.
fn zooms(size: Vec2, canvas: Rect, pixels_per_point: f32) -> RangeInclusive<f32> {
    (*ZOOM.start() / pixels_per_point).min(whole(size, canvas))..=*ZOOM.end() / pixels_per_point
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: [u32; 2] = [1654, 2339];
    const SCALES: [f32; 4] = [1.0, 1.25, 1.5, 2.0];
    const SCALE_OF_PAGE: [f32; 12] = [0.05, 0.1, 0.25, 0.333, 0.5, 0.75, 1.0, 1.37, 2.0, 3.0, 5.0, 8.0];

    fn canvas() -> Rect {
        Rect::from_min_size(pos2(221.3, 47.7), vec2(801.0, 655.0))
    }

    fn free(zoom: f32, centre: Vec2) -> Camera {
        Camera { fit: Fit::Free, zoom, centre: centre.into() }
    }

    #[test]
    fn page_points_come_back_from_the_screen_at_every_scaling() {
        for pixels_per_point in SCALES {
            for zoom in SCALE_OF_PAGE {
                for size in [SIZE, [30_000, 4_000]] {
                    let placement = Placement::new(&free(zoom, vec2(0.3, 0.6)), size, canvas(), pixels_per_point);
                    assert!((placement.scale() - zoom).abs() < 1e-4, "{zoom} at {pixels_per_point}");
                    let [width, height] = size.map(|side| side as f32);
                    for page in [pos2(0.0, 0.0), pos2(width, height), pos2(0.37 * width, 0.81 * height)] {
                        let back = placement.to_page(placement.to_screen(page));
                        assert!(
                            (back - page).abs().max_elem() < 0.5,
                            "{page:?} is {back:?} at {zoom} × {pixels_per_point}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_point_under_the_pointer_stays_there() {
        // Large enough to reach beyond the canvas at the smallest zoom, where the margins would decide.
        let size = [60_000, 60_000];
        for pixels_per_point in SCALES {
            for zoom in SCALE_OF_PAGE {
                for factor in [0.8, 1.1, 1.9] {
                    let before = Placement::new(&free(zoom, vec2(0.52, 0.47)), size, canvas(), pixels_per_point);
                    let pointer = pos2(411.0, 333.0);
                    let camera = before.moved(Vec2::ZERO, factor, pointer);
                    let after = Placement::new(&camera, size, canvas(), pixels_per_point);
                    let moved = after.to_page(pointer) - before.to_page(pointer);
                    assert!(moved.abs().max_elem() < 0.5, "{moved:?} at {zoom} × {factor} × {pixels_per_point}");
                }
            }
        }
    }

    #[test]
    fn zoom_stays_between_five_and_eight_hundred_percent_of_physical_pixels() {
        for pixels_per_point in SCALES {
            let place = |camera: &Camera| Placement::new(camera, SIZE, canvas(), pixels_per_point);
            let scale = |zoom| place(&free(zoom, Vec2::splat(0.5))).scale();
            assert!((scale(0.001) - 0.05).abs() < 1e-5);
            assert!((scale(99.0) - 8.0).abs() < 1e-4);
            let far_out = place(&free(1.0, Vec2::splat(0.5))).moved(Vec2::ZERO, 1e-6, canvas().center());
            assert!((far_out.zoom - 0.05).abs() < 1e-5);
        }
    }

    #[test]
    fn a_page_that_only_fits_below_five_percent_can_be_zoomed_from_there() {
        let size = [30_000, 4_000];
        let fit = Placement::new(&Camera::default(), size, canvas(), 1.0);
        assert!(fit.scale() < 0.03);
        let nearer = Placement::new(&fit.moved(Vec2::ZERO, 1.1, canvas().center()), size, canvas(), 1.0);
        assert!((nearer.zoom / fit.zoom - 1.1).abs() < 1e-3, "no jump to five percent");
        assert_eq!(fit.moved(Vec2::ZERO, 0.5, canvas().center()).zoom, fit.scale(), "no smaller than fitting");
    }

    #[test]
    fn a_small_picture_is_not_blown_up_without_bounds() {
        assert!((Placement::new(&Camera::default(), [12, 8], canvas(), 2.0).scale() - 8.0).abs() < 1e-4);
    }

    #[test]
    fn at_whole_zooms_page_pixels_begin_at_screen_pixels() {
        for pixels_per_point in SCALES {
            for zoom in [1.0, 2.0, 8.0] {
                let placement = Placement::new(&free(zoom, vec2(0.313, 0.477)), SIZE, canvas(), pixels_per_point);
                let first = placement.page.min.to_vec2() * pixels_per_point;
                assert!((first - first.round()).abs().max_elem() < 2e-3, "{first:?}");
            }
        }
    }

    #[test]
    fn slow_movements_add_up() {
        let mut placement = Placement::new(&free(1.0, Vec2::splat(0.5)), SIZE, canvas(), 1.0);
        let before = placement.page.min;
        for _ in 0..50 {
            let camera = placement.moved(vec2(0.2, -0.2), 1.0, canvas().center());
            placement = Placement::new(&camera, SIZE, canvas(), 1.0);
        }
        assert!((placement.page.min - before - vec2(10.0, -10.0)).abs().max_elem() <= 1.0, "{placement:?}");
    }

    #[test]
    fn the_page_never_leaves_the_canvas() {
        for centre in [Vec2::ZERO, Vec2::splat(1.0), vec2(1.0, 0.0)] {
            let placement = Placement::new(&free(1.0, centre), SIZE, canvas(), 1.0);
            assert!(placement.page.contains_rect(canvas().shrink(MARGIN + 0.5)), "{placement:?}");
        }
        // A canvas that is squeezed to nothing is no reason to fail.
        let nothing = Rect::from_min_size(pos2(5.0, 5.0), Vec2::ZERO);
        assert!(Placement::new(&Camera::default(), SIZE, nothing, 1.0).zoom > 0.0);
    }
}
