//! The canvas as it is drawn, read back pixel by pixel, and as it answers to the pointer.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use eframe::egui::{self, Color32, Event, Modifiers, MouseWheelUnit, PointerButton, Pos2, Rect, Vec2, pos2, vec2};
use eframe::egui_wgpu::{RenderState, Renderer, RendererOptions};
use eframe::wgpu::TextureFormat;
use egui_kittest::kittest::Queryable as _;
use egui_kittest::wgpu::{WgpuTestRenderer, create_render_state, default_wgpu_setup};
use egui_kittest::{Harness, HarnessBuilder};
use image::{Rgb, RgbImage, RgbaImage};

use super::camera::{Zoom, percent, zoomed};
use super::gpu::highlights;
use super::*;
use crate::window::colours::{self, Pattern};
use crate::window::highlight::{Highlight, MarkKind};
use crate::window::sheets::Sheet;
use crate::window::state::{Camera, Fit};
use crate::window::workspace::project::{DocumentId, DocumentState, Page, PageKey};

/// A device that draws into pictures of this format, or the one egui likes best.
fn renderer(format: Option<TextureFormat>) -> WgpuTestRenderer {
    WgpuTestRenderer::from_render_state(device(format))
}

fn device(format: Option<TextureFormat>) -> RenderState {
    let options = RendererOptions::PREDICTABLE;
    let mut render_state = create_render_state(default_wgpu_setup(), options);
    if let Some(format) = format {
        let renderer = Renderer::new(&render_state.device, format, options);
        render_state.renderer = Arc::new(egui::mutex::RwLock::new(renderer));
        render_state.target_format = format;
    }
    prepare(&render_state);
    prepare(&render_state); // once is enough, twice does no harm
    render_state
}

/// The canvas with actions applied as the window would.
fn harness(builder: HarnessBuilder<State>, state: State) -> Harness<'static, State> {
    builder.renderer(renderer(None)).build_ui_state(canvas, state)
}

fn canvas(ui: &mut Ui, state: &mut State) {
    let mut actions = Actions::default();
    let rect = ui.ctx().content_rect();
    let mut ui = ui.new_child(UiBuilder::new().max_rect(rect));
    show(&mut ui, state, &mut actions);
    for action in actions.take() {
        match action {
            Action::Camera(camera) => state.view.camera = camera,
            // Regions have their own tests.
            Action::Draw(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// A state that looks at a page.
fn looking_at(page: Page) -> (State, PageKey) {
    let mut state = State::default();
    let source = engine::job::Source::Bytes { name: "page.png".to_owned(), bytes: Vec::new() };
    let document: DocumentId = state.project.add("page.png".to_owned(), source);
    let entry = state.project.document_mut(document).unwrap();
    entry.state = DocumentState::Open;
    entry.pages = vec![Arc::new(page)];
    let key = PageKey { document, page: 0 };
    state.view.page = Some(key);
    (state, key)
}

/// A state that looks at this raster.
fn raster(image: RgbImage, camera: Camera) -> State {
    let page = Page { size: Some([image.width(), image.height()]), ..Page::default() };
    let (mut state, key) = looking_at(page);
    let sheet = Sheet { turn: engine::document::Turn::None, dpi: 200, pyramid: Arc::new(image.into()) };
    state.sheets.keep_full(key, sheet);
    state.view.camera = camera;
    state
}

fn free(zoom: f32) -> Camera {
    Camera { fit: Fit::Free, zoom, centre: [0.5; 2] }
}

/// Renders until every tile is there.
fn render(harness: &mut Harness<'_, State>) -> RgbaImage {
    for _ in 0..4 {
        harness.step();
        harness.render().unwrap();
    }
    harness.render().unwrap()
}

/// Where the page lies on the picture, pixels.
fn page_on_screen(harness: &Harness<'_, State>, size: [u32; 2]) -> Rect {
    let canvas = harness.ctx.content_rect();
    let ppp = harness.ctx.pixels_per_point();
    Placement::new(&harness.state().view.camera, size, canvas, ppp).page * ppp
}

#[test]
fn white_grey_and_black_come_out_as_they_are() {
    let encoding = Some(TextureFormat::Rgba8UnormSrgb); // a target that encodes by itself
    for (value, zoom, pixels_per_point, format) in [
        (255, 0.3, 1.0, None),
        (128, 0.7, 1.0, None),
        (0, 1.0, 2.0, None),
        (77, 5.3, 1.5, None),
        (255, 1.37, 1.25, encoding),
        (128, 0.7, 1.0, encoding),
        (9, 5.3, 1.0, encoding),
    ] {
        let state = raster(RgbImage::from_pixel(900, 1100, Rgb([value; 3])), free(zoom));
        let builder = Harness::builder().with_size(vec2(320.0, 240.0)).with_pixels_per_point(pixels_per_point);
        let mut harness = builder.renderer(renderer(format)).build_ui_state(canvas, state);
        let picture = render(&mut harness);
        let page = page_on_screen(&harness, [900, 1100]);
        let mut seen = 0;
        for (x, y, pixel) in picture.enumerate_pixels() {
            if page.shrink(1.0).contains(pos2(x as f32 + 0.5, y as f32 + 0.5)) {
                assert_eq!(pixel.0, [value, value, value, 255], "at {x}, {y}, zoom {zoom}, {format:?}");
                seen += 1;
            }
        }
        assert!(seen > 20_000, "{seen}");
    }
}

#[test]
fn at_actual_size_every_pixel_is_the_page_s_own() {
    let noise = |x: u32, y: u32| (x.wrapping_mul(2_654_435_761) ^ y.wrapping_mul(40_503)).wrapping_mul(97) >> 13;
    let image = RgbImage::from_fn(1300, 1200, |x, y| {
        let value = noise(x, y);
        Rgb([value as u8, (value >> 3) as u8, (value >> 5) as u8])
    });
    for pixels_per_point in [1.0, 1.25, 2.0] {
        let builder = Harness::builder().with_size(vec2(640.0, 600.0)).with_pixels_per_point(pixels_per_point);
        let camera = Camera { centre: [0.41, 0.43], ..free(1.0) }; // tiles meet at 512 and 1024
        let mut harness = harness(builder, raster(image.clone(), camera));
        let picture = render(&mut harness);
        let origin = page_on_screen(&harness, [1300, 1200]).min.round();
        let mut seen = 0;
        for (x, y, pixel) in picture.enumerate_pixels() {
            let (page_x, page_y) = (x as i32 - origin.x as i32, y as i32 - origin.y as i32);
            if (0..1300).contains(&page_x) && (0..1200).contains(&page_y) {
                let expected = image.get_pixel(page_x as u32, page_y as u32).0;
                let off = (0..3).map(|c| expected[c].abs_diff(pixel.0[c])).max().unwrap();
                assert!(off <= 2, "page {page_x}, {page_y}: {expected:?} is {:?}", pixel.0);
                seen += 1;
            }
        }
        assert!(seen > 300_000, "{seen}");
    }
}

#[test]
fn tiles_meet_without_a_seam() {
    // A ramp that climbs one grey value every eight pixels: at any zoom neighbouring screen pixels differ by little.
    let image = RgbImage::from_fn(1900, 1400, |x, y| Rgb([(x / 8) as u8, (y / 8) as u8, ((x + y) / 16) as u8]));
    for zoom in [0.33, 0.77, 1.41, 2.9] {
        let builder = Harness::builder().with_size(vec2(700.0, 520.0));
        let camera = Camera { centre: [0.54, 0.73], ..free(zoom) };
        let mut harness = harness(builder, raster(image.clone(), camera));
        let picture = render(&mut harness);
        let page = page_on_screen(&harness, [1900, 1400]).shrink(2.0);
        let inside = |x: u32, y: u32| page.contains(pos2(x as f32 + 0.5, y as f32 + 0.5));
        let most = (1.0 / (8.0 * zoom)).ceil() as u8 + 1;
        for (x, y, pixel) in picture.enumerate_pixels() {
            for (x1, y1) in [(x + 1, y), (x, y + 1)] {
                if x1 < picture.width() && y1 < picture.height() && inside(x, y) && inside(x1, y1) {
                    let next = picture.get_pixel(x1, y1);
                    let step = (0..3).map(|c| next.0[c].abs_diff(pixel.0[c])).max().unwrap();
                    assert!(step <= most, "a step of {step} at {x}, {y}, zoom {zoom}");
                }
            }
        }
    }
}

/// Renders until nothing more asks to be drawn; how many frames that took.
fn settle(harness: &mut Harness<'_, State>) -> usize {
    let frames = (0..200).find(|_| {
        harness.step();
        harness.render().unwrap();
        !harness.ctx.has_requested_repaint()
    });
    frames.unwrap()
}

#[test]
fn tiles_come_once_and_go_with_their_page() {
    let device = device(None);
    let renderer = WgpuTestRenderer::from_render_state(device.clone());
    let held = || gpu::held(&device);
    let image = RgbImage::from_pixel(30_000, 300, Rgb([200, 90, 30]));
    let camera = Camera { centre: [0.2, 0.5], ..free(1.0) };
    let builder = Harness::builder().with_size(vec2(3_000.0, 300.0));
    let mut harness = builder.renderer(renderer).build_ui_state(canvas, raster(image, camera));
    settle(&mut harness);
    let before = held();
    // Six or seven tiles of 514 × 302 texels, and the coarsest level.
    assert!((3_500_000..5_500_000).contains(&before), "{before}");
    for _ in 0..3 {
        harness.step();
        harness.render().unwrap();
        assert_eq!(held(), before);
        assert!(!harness.ctx.has_requested_repaint(), "nothing is left to bring");
    }
    harness.state_mut().view.camera.centre[0] = 0.8;
    settle(&mut harness);
    assert!(held() > before, "what was passed is kept while there is room");
    // The document is closed, and nothing else is looked at.
    *harness.state_mut() = State::default();
    settle(&mut harness);
    assert_eq!(held(), 0);
}

#[test]
fn a_strip_wider_than_any_texture_is_drawn_to_its_end() {
    let value = |x: u32| [(x / 37 % 256) as u8, (x / 256) as u8, 90];
    let image = RgbImage::from_fn(30_000, 90, |x, _| Rgb(value(x)));
    let camera = Camera { centre: [1.0, 0.5], ..free(8.0) };
    let mut end = harness(Harness::builder().with_size(vec2(300.0, 200.0)), raster(image.clone(), camera));
    let picture = render(&mut end);
    let page = page_on_screen(&end, [30_000, 90]);
    assert!((page.right() - 284.0).abs() < 1.0, "{page:?}");
    let at = |from_right: u32| picture.get_pixel(page.right() as u32 - 8 * from_right - 4, 100).0;
    for from_right in [0, 1, 20, 34] {
        let [r, g, b] = value(29_999 - from_right);
        assert_eq!(at(from_right), [r, g, b, 255]);
    }
    let mut whole = harness(Harness::builder().with_size(vec2(1032.0, 200.0)), raster(image, Camera::default()));
    let picture = render(&mut whole);
    for (x, page_x) in [(16 + 100, 3_000), (16 + 900, 27_000)] {
        let green = picture.get_pixel(x, 100).0[1];
        assert!(green.abs_diff(value(page_x)[1]) <= 1, "{green} at {page_x}");
    }
}

#[test]
fn above_four_hundred_percent_pixels_are_squares() {
    let image = RgbImage::from_fn(64, 64, |x, y| Rgb([if (x + y) % 2 == 0 { 255 } else { 0 }; 3]));
    for (zoom, crisp) in [(6.0, true), (3.5, false)] {
        let mut harness = harness(Harness::builder().with_size(vec2(200.0, 200.0)), raster(image.clone(), free(zoom)));
        let picture = render(&mut harness);
        let page = page_on_screen(&harness, [64, 64]);
        let grey = picture.enumerate_pixels().filter(|(x, y, pixel)| {
            page.shrink(3.0).contains(pos2(*x as f32, *y as f32)) && (1..255).contains(&pixel.0[0])
        });
        assert_eq!(grey.count() == 0, crisp, "zoom {zoom}");
    }
}

#[test]
fn a_coarse_picture_stands_in_while_tiles_arrive() {
    let image = RgbImage::from_fn(4000, 4000, |x, _| Rgb([(x / 16) as u8; 3]));
    let builder = Harness::builder().with_size(vec2(1600.0, 1500.0)).with_pixels_per_point(2.0);
    let mut harness = harness(builder, raster(image, free(1.0)));
    harness.step();
    let picture = harness.render().unwrap();
    let value = |x: u32| f32::from(picture.get_pixel(x, 1500).0[0]);
    // All 49 tiles are 50 MB: not in one frame; yet the ramp is there from edge to edge.
    assert!((value(40) - 26.0).abs() < 4.0 && (value(3160) - 222.0).abs() < 4.0, "{} {}", value(40), value(3160));
}

/// Renders marks alone on white.
fn marks(pixels_per_point: f32, size: Vec2, marks: Vec<Highlight>) -> RgbaImage {
    let builder = Harness::builder().with_size(size).with_pixels_per_point(pixels_per_point);
    let mut harness = builder.renderer(renderer(None)).build_ui(move |ui| {
        let rect = ui.ctx().content_rect();
        ui.set_clip_rect(rect);
        ui.painter().rect_filled(rect, 0.0, Color32::WHITE);
        highlights(ui, rect, marks.clone());
    });
    harness.render().unwrap()
}

fn mark(rect: Rect, pattern: Pattern) -> Highlight {
    Highlight { rect, colour: Color32::BLACK, pattern, kind: MarkKind::Round }
}

const PATTERNS: [Pattern; 6] =
    [Pattern::Solid, Pattern::Dashed, Pattern::Dotted, Pattern::Double, Pattern::Wavy, Pattern::DashDot];

/// Dark pixels of an underline: row by row along 240 points, the lowest six points of a mark of 24.
fn ink(picture: &RgbaImage, top: f32, pixels_per_point: f32) -> Vec<Vec<bool>> {
    let rows = ((top + 18.0) * pixels_per_point) as u32..((top + 24.0) * pixels_per_point) as u32;
    let columns = (20.0 * pixels_per_point) as u32..(260.0 * pixels_per_point) as u32;
    rows.map(|y| columns.clone().map(|x| picture.get_pixel(x, y).0[0] < 140).collect()).collect()
}

#[test]
fn every_underline_can_be_told_from_the_others() {
    for pixels_per_point in [1.0, 2.0] {
        let rect = |at: usize| Rect::from_min_size(pos2(20.0, 10.0 + 30.0 * at as f32), vec2(240.0, 24.0));
        let all = (0..).zip(PATTERNS).map(|(at, pattern)| mark(rect(at), pattern)).collect();
        let picture = marks(pixels_per_point, vec2(280.0, 200.0), all);
        let share: Vec<_> = (0..6)
            .map(|at| {
                let ink = ink(&picture, rect(at).top(), pixels_per_point);
                let columns = ink[0].len();
                // Columns with any ink, most ink in one row, and rows with any ink.
                let inked = (0..columns).filter(|&x| ink.iter().any(|row| row[x])).count() as f32 / columns as f32;
                let fullest = ink.iter().map(|row| row.iter().filter(|&&dark| dark).count()).max().unwrap_or(0);
                let rows = ink.iter().filter(|row| row.contains(&true)).count();
                (inked, fullest as f32 / columns as f32, rows)
            })
            .collect();
        let [solid, dashed, dotted, double, wavy, dash_dot] = share[..] else { unreachable!() };
        assert!(solid.0 == 1.0 && solid.1 == 1.0, "{share:?}");
        assert!(double.0 == 1.0 && double.1 == 1.0 && double.2 > solid.2, "two full rows with one between: {share:?}");
        assert!((0.5..0.8).contains(&dashed.0), "{share:?}");
        assert!((0.2..0.7).contains(&dotted.0), "{share:?}");
        assert!(wavy.0 > 0.9 && wavy.1 < 0.8 && wavy.2 > solid.2, "{share:?}");
        assert!((0.4..0.8).contains(&dash_dot.0), "{share:?}");
        // Dashes, dots and both differ in the lengths of their strokes.
        let strokes = |at: usize| {
            let ink = ink(&picture, rect(at).top(), pixels_per_point);
            let row = ink.iter().max_by_key(|row| row.iter().filter(|&&dark| dark).count()).unwrap();
            let mut lengths: Vec<_> = row.split(|dark| !dark).map(<[bool]>::len).filter(|&len| len > 0).collect();
            lengths.pop(); // the last may be cut
            lengths.remove(0);
            lengths
        };
        let range = |lengths: &[usize]| (*lengths.iter().min().unwrap(), *lengths.iter().max().unwrap());
        let (dashes, dots, mixed) = (range(&strokes(1)), range(&strokes(2)), range(&strokes(5)));
        assert!(dashes.0 > dots.1, "{dashes:?} {dots:?}");
        assert!(mixed.0 <= dots.1 && mixed.1 >= dashes.0, "{mixed:?} {dashes:?} {dots:?}");
    }
}

#[test]
fn runs_of_a_round_that_meet_have_one_underline() {
    for pattern in PATTERNS {
        let whole = Rect::from_min_size(pos2(20.0, 10.0), vec2(240.0, 24.0));
        let (left, right) = whole.split_left_right_at_x(127.37);
        let one = marks(1.0, vec2(280.0, 44.0), vec![mark(whole, pattern)]);
        let two = marks(1.0, vec2(280.0, 44.0), vec![mark(left, pattern), mark(right, pattern)]);
        // The ground has a faint joint, less than its own strength; the line has none.
        for (one, two) in one.pixels().zip(two.pixels()) {
            assert!(one.0[0].abs_diff(two.0[0]) <= 33, "{pattern:?}: {one:?} is {two:?}");
        }
    }
}

#[test]
fn bars_and_drafts_have_looks_of_their_own() {
    let rect = |x: f32, width: f32| Rect::from_min_size(pos2(x, 10.0), vec2(width, 24.0));
    let with = |rect, kind, colour| Highlight { rect, colour, pattern: Pattern::Solid, kind };
    let picture = marks(
        1.0,
        vec2(120.0, 44.0),
        vec![
            with(rect(10.0, 2.0), MarkKind::Rejected, colours::REJECTED),
            with(rect(20.0, 80.0), MarkKind::Ghost, Color32::BLACK),
        ],
    );
    assert_eq!(picture.get_pixel(10, 20).0, colours::REJECTED.to_array());
    assert_eq!(picture.get_pixel(13, 20).0, [255; 4]);
    let row: Vec<_> = (30..90).map(|x| picture.get_pixel(x, 22).0[0]).collect();
    assert!(row.iter().all(|&value| value > 160), "pale: {row:?}");
    let lines = row.windows(2).filter(|pair| pair[0] > 235 && pair[1] <= 235).count();
    assert!((6..12).contains(&lines), "hatched: {lines} in {row:?}");
}

/// What happens with a wheel.
fn wheel(harness: &Harness<'_, State>, delta: Vec2, modifiers: Modifiers) {
    harness.event_modifiers(
        Event::MouseWheel {
            unit: MouseWheelUnit::Point,
            delta,
            phase: egui::TouchPhase::Move,
            source: egui::MouseWheelSource::Wheel,
            modifiers,
        },
        modifiers,
    );
}

fn plain(camera: Camera) -> Harness<'static, State> {
    let image = RgbImage::from_pixel(1654, 2339, Rgb([255; 3]));
    let builder = Harness::builder().with_size(vec2(600.0, 500.0)).with_max_steps(200).with_step_dt(1.0 / 60.0);
    builder.build_ui_state(canvas, raster(image, camera))
}

fn placement(harness: &Harness<'_, State>) -> Placement {
    Placement::new(
        &harness.state().view.camera,
        [1654, 2339],
        harness.ctx.content_rect(),
        harness.ctx.pixels_per_point(),
    )
}

#[test]
fn the_wheel_scrolls_and_zooms_around_the_pointer() {
    let mut harness = plain(free(1.0));
    let pointer = pos2(410.0, 120.0);
    harness.hover_at(pointer);
    harness.run();
    let before = placement(&harness);
    wheel(&harness, vec2(0.0, -40.0), Modifiers::NONE);
    harness.run();
    let scrolled = placement(&harness);
    assert!((scrolled.page.min - before.page.min - vec2(0.0, -40.0)).length() <= 1.0, "{scrolled:?}");

    wheel(&harness, vec2(0.0, 60.0), Modifiers::COMMAND);
    harness.run();
    let zoomed = placement(&harness);
    assert!(zoomed.zoom > 1.1, "{zoomed:?}");
    let off = zoomed.to_page(pointer) - scrolled.to_page(pointer);
    assert!(off.length() < 1.0, "{off:?}");
    assert_eq!(percent(&harness.ctx), Some((zoomed.zoom * 100.0).round() as u32));

    // Against the lower edge there is nothing more to scroll, and the page does not change.
    for _ in 0..40 {
        wheel(&harness, vec2(0.0, -400.0), Modifiers::NONE);
        harness.run();
    }
    let end = placement(&harness);
    assert!(end.page.bottom() <= 500.0 && harness.state().view.page.is_some_and(|key| key.page == 0));
}

#[test]
fn scrolling_keeps_a_zoom_that_follows_the_width() {
    let mut harness = plain(Camera { fit: Fit::Width, ..Camera::default() });
    harness.hover_at(pos2(300.0, 250.0));
    harness.run();
    wheel(&harness, vec2(0.0, -30.0), Modifiers::NONE);
    harness.run();
    let camera = harness.state().view.camera;
    assert!(camera.fit == Fit::Width && camera.centre[1] > 0.5, "{camera:?}");
}

#[test]
fn the_middle_button_and_the_space_bar_move_the_page() {
    let drag = |harness: &mut Harness<'_, State>, button: PointerButton| {
        let press =
            |pos: Pos2, pressed: bool| Event::PointerButton { pos, button, pressed, modifiers: Modifiers::NONE };
        let (from, to) = (pos2(300.0, 250.0), pos2(260.0, 300.0));
        harness.hover_at(from);
        harness.run();
        let before = placement(harness);
        harness.event(press(from, true));
        harness.step();
        harness.event(Event::PointerMoved(to));
        harness.step();
        harness.event(press(to, false));
        harness.run();
        placement(harness).page.min - before.page.min
    };
    let mut harness = plain(free(1.0));
    assert_eq!(drag(&mut harness, PointerButton::Middle), vec2(-40.0, 50.0));
    harness.key_down(egui::Key::Space);
    assert_eq!(drag(&mut harness, PointerButton::Primary), vec2(-40.0, 50.0));
    harness.key_up(egui::Key::Space);
    assert_eq!(drag(&mut harness, PointerButton::Primary), Vec2::ZERO, "that is for regions");
}

#[test]
fn arrow_keys_move_the_page_unless_regions_are_selected() {
    let mut harness = plain(free(1.0));
    harness.run();
    let press = |harness: &mut Harness<'_, State>, key| {
        let before = placement(harness).page.min;
        harness.key_press(key);
        harness.run();
        placement(harness).page.min - before
    };
    assert_eq!(press(&mut harness, egui::Key::ArrowDown), vec2(0.0, -60.0));
    assert_eq!(press(&mut harness, egui::Key::ArrowLeft), vec2(60.0, 0.0));
    harness.state_mut().view.selection.insert(crate::window::workspace::project::RegionId(1));
    assert_eq!(press(&mut harness, egui::Key::ArrowDown), Vec2::ZERO);
}

#[test]
fn zoom_commands_go_from_step_to_step_around_the_middle() {
    let mut harness = plain(Camera::default());
    harness.run();
    assert_eq!(percent(&harness.ctx), Some(20), "468 points for 2339 pixels");
    let mut go = |zoom| {
        let middle = placement(&harness).to_page(harness.ctx.content_rect().center());
        let camera = zoomed(&harness.ctx, &harness.state().view.camera, zoom);
        harness.state_mut().view.camera = camera;
        harness.run();
        let off = placement(&harness).to_page(harness.ctx.content_rect().center()) - middle;
        assert!(off.length() < 1.0, "{off:?}");
        percent(&harness.ctx).unwrap()
    };
    let steps = [Zoom::In, Zoom::In, Zoom::Actual, Zoom::In, Zoom::Out, Zoom::Out].map(&mut go);
    assert_eq!(steps, [25, 33, 100, 125, 100, 75]);
    assert_eq!((0..9).map(|_| go(Zoom::In)).last(), Some(800));
    assert_eq!((0..20).map(|_| go(Zoom::Out)).last(), Some(5));
}

#[test]
fn a_page_that_cannot_be_shown_says_why() {
    let page = Page { error: Some("Page 3 of scan.pdf is damaged.".to_owned()), ..Page::default() };
    let harness = Harness::builder().build_ui_state(canvas, looking_at(page).0);
    harness.get_by_label("Page 3 of scan.pdf is damaged.");
    harness.get_by_label(words::NO_PICTURE);
}

#[test]
fn a_notice_stands_over_the_page() {
    let page = Page { notice: Some("Read at 150 dpi, because the page is very large.".to_owned()), ..Page::default() };
    let (mut state, key) = looking_at(page);
    let pyramid = Arc::new(RgbImage::from_pixel(80, 60, Rgb([255; 3])).into());
    state.sheets.keep_full(key, Sheet { turn: engine::document::Turn::None, dpi: 150, pyramid });
    let harness = Harness::builder().build_ui_state(canvas, state);
    harness.get_by_label("Read at 150 dpi, because the page is very large.");
    harness.get_by_label(words::NAME);
}

#[test]
fn nothing_is_shown_without_a_page() {
    let harness = Harness::builder().build_ui_state(canvas, State::default());
    assert!(harness.query_by_label(words::NAME).is_none());
}

#[test]
fn neither_no_room_nor_wild_numbers_do_harm() {
    for size in [[0, 0], [1, 1], [70_000, 1]] {
        for (zoom, centre) in [(f32::NAN, f32::NAN), (f32::INFINITY, 9.0), (0.0, f32::NEG_INFINITY), (-3.0, 0.5)] {
            for room in [vec2(1.0, 1.0), vec2(300.0, 200.0)] {
                let camera = Camera { fit: Fit::Free, zoom, centre: [centre; 2] };
                let state = raster(RgbImage::new(size[0], size[1]), camera);
                let mut harness = Harness::builder().with_size(room).build_ui_state(canvas, state);
                harness.hover_at(pos2(0.5, 0.5));
                wheel(&harness, vec2(0.0, 60.0), Modifiers::COMMAND);
                harness.run_steps(3);
                let placement = Placement::new(&harness.state().view.camera, size, harness.ctx.content_rect(), 1.0);
                assert!(placement.page.is_finite() && placement.zoom > 0.0, "{placement:?} of {size:?}");
                assert!(percent(&harness.ctx).is_some());
            }
        }
    }
}
