//! All colours of the window. Rounds cycle through six that people with any common colour blindness tell apart (after
//! Okabe and Ito), and through as many underline patterns as a second cue.

use eframe::egui::{Color32, Visuals};

/// The second cue beside the colour: how a round's characters are underlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    Solid,
    Dashed,
    Dotted,
    Double,
    Wavy,
    DashDot,
}

/// Rounds after which colour and pattern repeat.
pub(crate) const CYCLE: u32 = 6;

/// Text colours on light ground; each has at least 4.5 : 1 against white.
const ON_LIGHT: [Color32; CYCLE as usize] = [
    Color32::from_rgb(0x00, 0x5f, 0x9e), // blue
    Color32::from_rgb(0x9a, 0x5b, 0x00), // orange
    Color32::from_rgb(0x00, 0x73, 0x54), // green
    Color32::from_rgb(0xa3, 0x3d, 0x7c), // purple
    Color32::from_rgb(0x1b, 0x74, 0x9e), // sky
    Color32::from_rgb(0xb2, 0x3f, 0x00), // vermilion
];

/// Text colours on dark ground; each has at least 4.5 : 1 against the panels.
const ON_DARK: [Color32; CYCLE as usize] = [
    Color32::from_rgb(0x5a, 0xae, 0xf0),
    Color32::from_rgb(0xe6, 0x9f, 0x00),
    Color32::from_rgb(0x2f, 0xc4, 0x97),
    Color32::from_rgb(0xe3, 0x8f, 0xc2),
    Color32::from_rgb(0x8f, 0xd3, 0xf7),
    Color32::from_rgb(0xf0, 0x85, 0x45),
];

/// A round's colour for text on the window's ground.
pub(crate) fn round(round: u32, visuals: &Visuals) -> Color32 {
    let table = if visuals.dark_mode { &ON_DARK } else { &ON_LIGHT };
    table[(round % CYCLE) as usize]
}

/// A round's colour for text on the page, which is paper in every theme.
pub(crate) fn round_on_paper(round: u32) -> Color32 {
    ON_LIGHT[(round % CYCLE) as usize]
}

/// A round's underline.
pub(crate) fn pattern(round: u32) -> Pattern {
    [Pattern::Solid, Pattern::Dashed, Pattern::Dotted, Pattern::Double, Pattern::Wavy, Pattern::DashDot]
        [(round % CYCLE) as usize]
}

/// Drafts that are not verified yet.
pub(crate) fn ghost(visuals: &Visuals) -> Color32 {
    visuals.weak_text_color()
}

/// Words of a draft that were refused, on the window's ground.
pub(crate) fn refused(visuals: &Visuals) -> Color32 {
    error(visuals)
}

/// The bar before a correction, and refused drafts on the page.
pub(crate) const REJECTED: Color32 = Color32::from_rgb(0xd6, 0x27, 0x28);

/// The page's ground.
pub(crate) const PAPER: Color32 = Color32::WHITE;

/// Quiet signs on the page's ground.
pub(crate) const PAPER_INK_WEAK: Color32 = Color32::from_gray(0x8c);

/// What the sheet lies on.
pub(crate) fn desk(visuals: &Visuals) -> Color32 {
    Color32::from_gray(if visuals.dark_mode { 0x14 } else { 0xe6 })
}

/// The line around the sheet.
pub(crate) fn sheet_edge(visuals: &Visuals) -> Color32 {
    Color32::from_gray(if visuals.dark_mode { 0x50 } else { 0xc4 })
}

/// The sheet's shadow on what it lies on.
pub(crate) fn sheet_shadow(visuals: &Visuals) -> Color32 {
    Color32::from_black_alpha(if visuals.dark_mode { 0x90 } else { 0x30 })
}

/// A region's colour on the page, by what is done with it.
pub(crate) fn role(role: engine::region::Role) -> Color32 {
    use engine::region::Role;
    match role {
        Role::Text => Color32::from_rgb(0x1f, 0x77, 0xb4),
        Role::Table => Color32::from_rgb(0x00, 0x8a, 0x6a),
        Role::Formula => Color32::from_rgb(0x8a, 0x4f, 0xbf),
        Role::Figure => Color32::from_rgb(0xc2, 0x6a, 0x00),
        Role::Furniture => Color32::from_rgb(0x80, 0x80, 0x80),
    }
}

/// The main button.
pub(crate) fn accent(visuals: &Visuals) -> Color32 {
    if visuals.dark_mode { Color32::from_rgb(0x1f, 0x6f, 0xb2) } else { Color32::from_rgb(0x0b, 0x5c, 0x9e) }
}

/// Words about what goes on now, or was changed by hand.
pub(crate) fn notable(visuals: &Visuals) -> Color32 {
    round(0, visuals)
}

/// What went well.
pub(crate) fn good(visuals: &Visuals) -> Color32 {
    if visuals.dark_mode { Color32::from_rgb(0x62, 0xc0, 0x8f) } else { Color32::from_rgb(0x1b, 0x6e, 0x47) }
}

/// What deserves a look.
pub(crate) fn warning(visuals: &Visuals) -> Color32 {
    if visuals.dark_mode { Color32::from_rgb(0xe6, 0xb4, 0x4c) } else { Color32::from_rgb(0x8a, 0x5a, 0x00) }
}

/// What went wrong.
pub(crate) fn error(visuals: &Visuals) -> Color32 {
    if visuals.dark_mode { Color32::from_rgb(0xf4, 0x8a, 0x80) } else { Color32::from_rgb(0xb0, 0x1e, 0x1e) }
}

/// The rim of a sheet of paper.
pub(crate) fn edge(visuals: &Visuals) -> Color32 {
    if visuals.dark_mode { Color32::from_gray(0x60) } else { Color32::from_gray(0xb4) }
}

/// The parts of a time bar, one after another; each is named with its number beside the bar.
pub(crate) fn stage(place: usize, visuals: &Visuals) -> Color32 {
    const ROUNDS: [u32; 4] = [3, 1, 0, 2];
    round(ROUNDS[place % ROUNDS.len()], visuals)
}

/// A bar's outline where nothing fills it.
pub(crate) fn outline(visuals: &Visuals) -> Color32 {
    visuals.widgets.noninteractive.fg_stroke.color.gamma_multiply(0.7)
}

/// The check mark where two ways gave the same.
pub(crate) fn same(visuals: &Visuals) -> Color32 {
    round(2, visuals)
}

/// The ground of a region's tag: its colour, dark enough for small letters in [`ON_TAG`].
pub(crate) fn tag(of: engine::region::Role) -> Color32 {
    role(of).lerp_to_gamma(Color32::BLACK, 0.3)
}

/// Words on a region's tag.
pub(crate) const ON_TAG: Color32 = Color32::WHITE;

/// Words on the page that have no round's colour.
pub(crate) const INK: Color32 = Color32::from_rgb(0x22, 0x22, 0x22);

/// Drafts on the page.
pub(crate) const GHOST_ON_PAPER: Color32 = Color32::from_rgb(0x6e, 0x6e, 0x6e);

#[cfg(test)]
mod tests {
    use engine::region::Role;

    use super::*;

    /// The contrast of two colours as WCAG has it.
    fn contrast(a: Color32, b: Color32) -> f32 {
        let linear = |value: u8| match f32::from(value) / 255.0 {
            value if value <= 0.04045 => value / 12.92,
            value => ((value + 0.055) / 1.055).powf(2.4),
        };
        let luminance = |c: Color32| 0.2126 * linear(c.r()) + 0.7152 * linear(c.g()) + 0.0722 * linear(c.b());
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn words_can_be_read_on_their_ground() {
        assert!((contrast(Color32::BLACK, Color32::WHITE) - 21.0).abs() < 0.01);
        for visuals in [Visuals::light(), Visuals::dark()] {
            let words = [refused, notable, good, warning, error, same].map(|of| of(&visuals));
            let rounds = (0..CYCLE).map(|number| round(number, &visuals));
            for colour in words.into_iter().chain(rounds) {
                let found = contrast(colour, visuals.panel_fill);
                assert!(found >= 4.5, "{colour:?} has {found} on {:?}", visuals.panel_fill);
            }
        }
        for colour in (0..CYCLE).map(round_on_paper).chain([INK, GHOST_ON_PAPER, REJECTED]) {
            assert!(contrast(colour, PAPER) >= 4.5, "{colour:?} on paper");
        }
        for role in [Role::Text, Role::Table, Role::Formula, Role::Figure, Role::Furniture] {
            assert!(contrast(ON_TAG, tag(role)) >= 4.5, "{role:?}");
        }
    }
}
