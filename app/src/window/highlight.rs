//! A mark on characters as it is drawn: what is handed to the graphics device.

use eframe::egui::{Color32, Rect};

use super::colours::Pattern;

/// A mark under characters, or before them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Highlight {
    /// Screen points.
    pub(crate) rect: Rect,
    /// In full; the shader makes fills paler.
    pub(crate) colour: Color32,
    /// The underline of a round; nothing to the other kinds.
    pub(crate) pattern: Pattern,
    pub(crate) kind: MarkKind,
}

/// What a mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkKind {
    /// Characters that a round committed: a faint ground, underlined in the round's pattern along its lower edge.
    Round,
    /// Before a correction: a bar that fills its rectangle, which is a point or two wide.
    Rejected,
    /// A draft that is not verified: hatched.
    Ghost,
}
