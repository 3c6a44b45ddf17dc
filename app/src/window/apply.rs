//! The one place that changes the state.

use std::time::Instant;

use super::action::Action;
use super::app::Window;

impl Window {
    /// Makes a change that was asked for.
    pub(super) fn apply(&mut self, action: Action) {
        let _ = action;
    }

    /// Takes in what the librarian has to say; whether there is more.
    pub(super) fn hear_librarian(&mut self, until: Instant) -> bool {
        let _ = until;
        false
    }

    /// Takes in what the run has to say; whether there is more.
    pub(super) fn hear_run(&mut self, until: Instant) -> bool {
        let _ = until;
        false
    }
}
