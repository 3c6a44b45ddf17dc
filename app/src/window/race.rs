//! One region decoded one by one and by draft and verify, with true times.

use super::project::RegionId;

/// A race that is open.
pub(crate) struct Race {
    pub(crate) region: RegionId,
}

/// What a person asks of a race.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RaceAsk {
    Start(RegionId),
    Stop,
    Close,
}

/// Draws it.
pub(crate) fn show(ui: &mut eframe::egui::Ui, state: &super::state::State, actions: &mut super::action::Actions) {
    let _ = (ui, state, actions);
}
