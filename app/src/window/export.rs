//! Writing the document where a person wants it.

use std::path::PathBuf;

use engine::export::Format;

/// What to write.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExportForm {
    pub(crate) format: Format,
    pub(crate) furniture: bool,
    pub(crate) pipe_tables: bool,
    /// Whether figures are written into a folder beside the document.
    pub(crate) figures: bool,
    /// Where to; asked for by a dialog when not given.
    pub(crate) target: Option<PathBuf>,
}

/// Draws it.
pub(crate) fn show(
    ui: &mut eframe::egui::Ui,
    form: &ExportForm,
    state: &super::state::State,
    actions: &mut super::action::Actions,
) {
    let _ = (ui, form, state, actions);
}
