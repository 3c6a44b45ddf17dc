//! What is kept from frame to frame: texts that were made to fit.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use eframe::egui::Ui;

use super::fit::{self, Fitted, Fitting};
use crate::window::workspace::log::RequestText;
use crate::window::workspace::project::RegionId;

/// Frames after which what was not looked at is forgotten.
const KEPT: u64 = 120;
/// A text of more characters than this is not made to fit anew in every frame,
const LONG: usize = 2000;
/// but after so many seconds for each of them.
const PATIENCE: f64 = 5e-6;

#[derive(Default)]
pub(super) struct Cache {
    /// By region and request.
    fits: HashMap<(RegionId, usize), Fit>,
    frame: u64,
}

struct Fit {
    stamp: u64,
    fitting: Fitting,
    fitted: Arc<Fitted>,
    /// When it was made, by the window's clock.
    made: f64,
    used: u64,
}

impl Cache {
    /// A new frame: forgets what was not used for long.
    pub(super) fn begin(&mut self, frame: u64) {
        self.frame = frame;
        self.fits.retain(|_, kept| frame.saturating_sub(kept.used) < KEPT);
    }

    /// A text made to fit; a long one perhaps as it was a moment ago, or for a strip of another zoom.
    pub(super) fn fitted(
        &mut self,
        ui: &Ui,
        request: (RegionId, usize),
        text: &RequestText,
        fitting: Fitting,
    ) -> Arc<Fitted> {
        let stamp = stamp(ui, text);
        let now = ui.input(|input| input.time);
        let mut capped = fitting.clone();
        if let Some(kept) = self.fits.get_mut(&request) {
            if kept.stamp == stamp && kept.fitting == fitting {
                kept.used = self.frame;
                return Arc::clone(&kept.fitted);
            }
            let left = kept.patience() - (now - kept.made);
            if left > 0.0 && kept.fitting.colours == fitting.colours {
                kept.used = self.frame;
                ui.request_repaint_after(Duration::from_secs_f64(left));
                return Arc::clone(&kept.fitted);
            }
            // While text comes in, letters only become smaller: they would jump with every draft otherwise.
            if !fitting.done && !kept.fitting.done && kept.fitting.room == fitting.room {
                capped.cap = fitting.cap.min(kept.fitted.size);
            }
        }
        let fitted = Arc::new(fit::fit(ui, text, &capped));
        let kept = Fit { stamp, fitting, fitted: Arc::clone(&fitted), made: now, used: self.frame };
        self.fits.insert(request, kept);
        fitted
    }
}

impl Fit {
    /// Seconds for which it will do, whatever happens to its text and its strip meanwhile.
    fn patience(&self) -> f64 {
        let characters = self.fitted.job.text.len();
        if characters > LONG { PATIENCE * characters as f64 } else { 0.0 }
    }
}

/// Changes with everything that a layout depends on beside the fitting.
fn stamp(ui: &Ui, text: &RequestText) -> u64 {
    let mut hasher = DefaultHasher::new();
    ui.pixels_per_point().to_bits().hash(&mut hasher);
    for run in &text.runs {
        (&run.text, run.round, run.origin, &run.rejected).hash(&mut hasher);
    }
    text.ghost.hash(&mut hasher);
    hasher.finish()
}
