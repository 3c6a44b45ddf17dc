//! A request's text laid out with each run in the colour of its round: in the reading pane, on the page, in the replay
//! and in the race.

use eframe::egui::text::{LayoutJob, TextFormat};
use eframe::egui::{Color32, FontId, Stroke};
use engine::decode::Origin;

use super::log::{LiveText, Run};

/// How to lay out.
#[derive(Clone, Debug)]
pub(crate) struct RoundStyle {
    pub(crate) font: FontId,
    /// The colour of a round's characters.
    pub(crate) round: fn(u32, &eframe::egui::Visuals) -> Color32,
    /// Colour of everything when rounds are not coloured.
    pub(crate) plain: Color32,
    pub(crate) ghost: Color32,
    /// Whether rounds are coloured.
    pub(crate) colours: bool,
    /// Whether drafts and refused drafts are shown.
    pub(crate) ghosts: bool,
    /// Points at which lines wrap; infinite for one line.
    pub(crate) wrap: f32,
}

/// What stands where in a laid-out text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RoundSpans {
    /// For each run of the text: its characters (not bytes), counted from 0 in the layout.
    pub(crate) runs: Vec<std::ops::Range<usize>>,
    /// For each run: the characters of the refused draft shown before it, if it is shown.
    pub(crate) rejected: Vec<Option<std::ops::Range<usize>>>,
    /// The characters of the ghost.
    pub(crate) ghost: std::ops::Range<usize>,
}

/// Lays a text out; the spans say which characters belong to which run.
pub(crate) fn layout(text: &LiveText, style: &RoundStyle, visuals: &eframe::egui::Visuals) -> (LayoutJob, RoundSpans) {
    let mut job = LayoutJob::default();
    job.wrap.max_width = style.wrap;
    let mut spans = RoundSpans::default();
    let mut at = 0;
    let mut append = |job: &mut LayoutJob, text: &str, format: TextFormat| {
        job.append(text, 0.0, format);
        let start = at;
        at += text.chars().count();
        start..at
    };
    for run in &text.runs {
        let rejected = run.rejected.as_ref().filter(|_| style.ghosts && style.colours).map(|refused| {
            let mut format = TextFormat::simple(style.font.clone(), super::colours::REJECTED.gamma_multiply(0.6));
            format.strikethrough = Stroke::new(1.0, super::colours::REJECTED);
            append(&mut job, refused, format)
        });
        spans.rejected.push(rejected);
        spans.runs.push(append(&mut job, &run.text, format(run, style, visuals)));
    }
    spans.ghost = if style.ghosts {
        let mut format = TextFormat::simple(style.font.clone(), style.ghost);
        format.italics = true;
        append(&mut job, &text.ghost, format)
    } else {
        at..at
    };
    (job, spans)
}

fn format(run: &Run, style: &RoundStyle, visuals: &eframe::egui::Visuals) -> TextFormat {
    let colour = if style.colours { (style.round)(run.round, visuals) } else { style.plain };
    let mut format = TextFormat::simple(style.font.clone(), colour);
    if style.colours && run.origin == Origin::Correction {
        format.background = super::colours::REJECTED.gamma_multiply(0.12);
    }
    format
}
