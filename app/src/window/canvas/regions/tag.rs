//! The tag at a region's top-left corner: its number in the reading order, its kind, and how far it is.

use std::sync::Arc;

use eframe::egui::{Galley, Painter, Pos2, Rect, Stroke, TextStyle, Ui, Vec2, pos2, vec2};

use super::cue::{self, Cue};
use super::paint::{HANDLE, Look, PADDING};
use crate::window::workspace::project::PageRegion;
use crate::window::{colours, strings};

/// What a tag takes on the screen, points.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// With the number alone.
    bare: f32,
    /// With number and state.
    short: f32,
    /// With the kind.
    full: f32,
    height: f32,
}

/// Draws a region's tag, as much of it as has room; `free` says whether a place covers no other region.
pub(super) fn draw(
    ui: &Ui,
    painter: &Painter,
    on_screen: Rect,
    (number, region, cue): (usize, &PageRegion, Cue<'_>),
    look: Look,
    free: impl Fn(Rect) -> bool,
) {
    let font = TextStyle::Small.resolve(ui.style());
    let line = |text: String| painter.layout_no_wrap(text, font.clone(), colours::ON_TAG);
    let number = line(strings::regions::number(number));
    let side = cue::square(0.0, Rect::from_min_size(Pos2::ZERO, number.size())).width();
    let drawing = if cue.is_drawn() { side + PADDING.x } else { 0.0 };
    let mut rest = vec![line(strings::label(region.region.label).to_owned())];
    if look.strong() && cue.is_drawn() {
        rest.push(line(cue.word().to_owned()));
    }
    let widths = |words: &[Arc<Galley>]| words.iter().map(|word| word.size().x + PADDING.x).sum::<f32>();
    let bare = number.size().x + 2.0 * PADDING.x;
    let short = bare + drawing;
    let sizes = Sizes { bare, short, full: short + widths(&rest), height: number.size().y + 2.0 * PADDING.y };

    let clip = painter.clip_rect();
    let plate = if look.strong() {
        let raised = if look.handles { 0.5 * HANDLE } else { 0.0 };
        Some(kept(above(on_screen, vec2(sizes.full, sizes.height)).translate(vec2(0.0, -raised)), on_screen, clip))
    } else {
        place(on_screen, sizes, clip, free)
    };
    let Some(plate) = plate.filter(|plate| clip.intersects(*plate)) else { return };
    painter.rect_filled(plate, 2.0, colours::tag(region.region.label.role()));
    let mut x = plate.left() + PADDING.x;
    let word = |galley: Arc<Galley>, x: &mut f32| {
        let width = galley.size().x + PADDING.x;
        painter.galley(pos2(*x, plate.top() + PADDING.y), galley, colours::ON_TAG);
        *x += width;
    };
    word(number, &mut x);
    if plate.width() > sizes.short - 0.5 {
        cue.draw(painter, cue::square(x, plate), Stroke::new(1.2, colours::ON_TAG));
        x += drawing;
    }
    if plate.width() > sizes.full - 0.5 {
        rest.into_iter().for_each(|galley| word(galley, &mut x));
    }
}

/// Where the tag of a box goes that does not stand out: over empty paper if there is some beside the box, so that it
/// hides no words. None when the box is too small to be told anything about.
fn place(on_screen: Rect, sizes: Sizes, clip: Rect, free: impl Fn(Rect) -> bool) -> Option<Rect> {
    let Sizes { bare, short, full, height } = sizes;
    if on_screen.height() < height || on_screen.width() < short {
        return None;
    }
    let [full_above, short_above] = [full, short].map(|width| above(on_screen, vec2(width, height)));
    let [left, left_bare] = [short, bare]
        .map(|width| Rect::from_min_size(on_screen.left_top() - vec2(width + 1.0, 0.0), vec2(width, height)));
    let fits = on_screen.width() >= full;
    let empty = |place: &Rect| clip.contains_rect(*place) && free(*place);
    let open = [full_above].into_iter().filter(|_| fits).chain([short_above, left, left_bare]).find(empty);
    // In a crowd the margin is the least bad: it hides an end of a line at most, not a beginning.
    let open = open.or(Some(left_bare).filter(|left| clip.contains_rect(*left)));
    let large = fits && on_screen.height() >= 3.0 * height && on_screen.width() >= 2.0 * full;
    Some(open.unwrap_or_else(|| kept(if large { full_above } else { short_above }, on_screen, clip)))
}

/// On a box's upper edge, at its left end.
fn above(on_screen: Rect, size: Vec2) -> Rect {
    Rect::from_min_size(on_screen.left_top() - vec2(0.5, size.y), size)
}

/// A place moved into view: inside the box where the box begins above the canvas.
fn kept(mut place: Rect, on_screen: Rect, clip: Rect) -> Rect {
    if place.top() < clip.top() {
        place = place.translate(vec2(0.0, on_screen.top().max(clip.top()) - place.top()));
    }
    let x = place.left().min(clip.right() - place.width()).max(clip.left());
    place.translate(vec2(x - place.left(), 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { bare: 12.0, short: 20.0, full: 60.0, height: 12.0 };
    const CLIP: Rect = Rect { min: Pos2::ZERO, max: pos2(800.0, 600.0) };

    fn rect(x: f32, y: f32, width: f32, height: f32) -> Rect {
        Rect::from_min_size(pos2(x, y), vec2(width, height))
    }

    fn among(others: &[Rect], on_screen: Rect) -> Option<Rect> {
        place(on_screen, SIZES, CLIP, |place| !others.iter().any(|other| other.intersects(place)))
    }

    #[test]
    fn a_tag_goes_where_it_hides_nothing() {
        let on_screen = rect(100.0, 100.0, 300.0, 30.0);
        assert_eq!(among(&[], on_screen), Some(rect(99.5, 88.0, 60.0, 12.0)));
        // A word above on the right leaves room for the number; a paragraph above sends it to the margin.
        assert_eq!(among(&[rect(130.0, 60.0, 200.0, 35.0)], on_screen), Some(rect(99.5, 88.0, 20.0, 12.0)));
        assert_eq!(among(&[rect(90.0, 60.0, 300.0, 35.0)], on_screen), Some(rect(79.0, 100.0, 20.0, 12.0)));
        let crowd = [rect(0.0, 60.0, 300.0, 35.0), rect(0.0, 60.0, 95.0, 200.0)];
        // Between two columns there is room for the number alone, and where there is none it hides the least.
        assert_eq!(among(&crowd, on_screen), Some(rect(87.0, 100.0, 12.0, 12.0)));
        let column = [rect(90.0, 60.0, 300.0, 35.0), rect(0.0, 60.0, 86.0, 200.0)];
        assert_eq!(among(&column, on_screen), Some(rect(87.0, 100.0, 12.0, 12.0)));
    }

    #[test]
    fn small_boxes_say_less_and_then_nothing() {
        assert_eq!(among(&[], rect(100.0, 100.0, 40.0, 20.0)).map(|place| place.width()), Some(20.0));
        assert_eq!(among(&[], rect(100.0, 100.0, 40.0, 10.0)), None);
        assert_eq!(among(&[], rect(100.0, 100.0, 15.0, 20.0)), None);
    }

    #[test]
    fn a_box_that_begins_above_the_canvas_keeps_its_tag_in_view() {
        assert_eq!(among(&[], rect(100.0, -50.0, 300.0, 400.0)), Some(rect(99.5, 0.0, 60.0, 12.0)));
        assert_eq!(among(&[], rect(-50.0, -50.0, 300.0, 400.0)), Some(rect(0.0, 0.0, 60.0, 12.0)));
    }
}
