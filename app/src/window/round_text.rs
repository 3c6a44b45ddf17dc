//! Texts laid out with each run in the colour of its round: in the reading pane, on the page, in the replay and in the
//! race.

use std::ops::Range;

use eframe::egui::text::{LayoutJob, TextFormat};
use eframe::egui::{Color32, FontId, Stroke, Visuals};
use engine::decode::Origin;

use super::colours;
use super::workspace::log::{RequestText, TextRun};
use super::workspace::settings::Settings;

/// How to lay out.
#[derive(Clone, Debug)]
pub(crate) struct RoundStyle {
    pub(crate) font: FontId,
    /// The colour of a round's characters.
    pub(crate) round: fn(u32, &Visuals) -> Color32,
    /// Colour of everything when rounds are not coloured.
    pub(crate) plain: Color32,
    pub(crate) ghost: Color32,
    /// Of refused drafts, which are struck through as well.
    pub(crate) refusal: Color32,
    /// Whether rounds are coloured.
    pub(crate) colours: bool,
    /// Whether drafts and refused drafts are shown.
    pub(crate) ghosts: bool,
    /// Whether refused drafts are shown, struck through.
    pub(crate) refused: bool,
    /// Points at which lines wrap; infinite for one line.
    pub(crate) wrap: f32,
}

impl RoundStyle {
    /// As the settings have it, on the window's ground.
    pub(crate) fn of(settings: &Settings, font: FontId, wrap: f32, visuals: &Visuals) -> Self {
        Self {
            font,
            round: colours::round,
            plain: visuals.text_color(),
            ghost: colours::ghost(visuals),
            refusal: colours::refused(visuals),
            colours: settings.colours,
            ghosts: settings.ghosts,
            refused: settings.refused,
            wrap,
        }
    }
}

/// What stands where in a laid-out text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RoundSpans {
    /// For each run of the text: its characters (not bytes), counted from 0 in the layout.
    pub(crate) runs: Vec<Range<usize>>,
    /// For each run: the characters of the refused draft shown before it, if it is shown.
    pub(crate) rejected: Vec<Option<Range<usize>>>,
    /// The characters of the ghost.
    pub(crate) ghost: Range<usize>,
}

impl RoundSpans {
    /// The run that a character of the layout belongs to; a refused draft belongs to the run that took its place.
    pub(crate) fn run_at(&self, character: usize) -> Option<usize> {
        let run = self.runs.iter().position(|run| run.contains(&character));
        let refused =
            || self.rejected.iter().position(|refused| refused.as_ref().is_some_and(|r| r.contains(&character)));
        run.or_else(refused)
    }

    /// The committed character, counted from 0 in the text, that a character of the layout is or stands before.
    pub(crate) fn committed_at(&self, character: usize) -> Option<usize> {
        let at = self.run_at(character)?;
        let before: usize = self.runs.iter().take(at).map(Range::len).sum();
        let start = self.runs.get(at)?.start;
        Some(before + character.saturating_sub(start))
    }
}

/// Lays a text out; the spans say which characters belong to which run.
pub(crate) fn layout(text: &RequestText, style: &RoundStyle, visuals: &Visuals) -> (LayoutJob, RoundSpans) {
    let (job, mut spans) = layout_joined([("", text)], style, visuals);
    (job, spans.pop().unwrap_or_default())
}

/// Lays several texts out as one, each behind its separator; one of the spans for each, all counted from the beginning of
/// the layout.
pub(crate) fn layout_joined<'a>(
    texts: impl IntoIterator<Item = (&'a str, &'a RequestText)>,
    style: &RoundStyle,
    visuals: &Visuals,
) -> (LayoutJob, Vec<RoundSpans>) {
    let mut job = LayoutJob::default();
    job.wrap.max_width = style.wrap;
    let mut out = Out { job, at: 0 };
    let spans = texts
        .into_iter()
        .map(|(separator, text)| {
            out.append(separator, TextFormat::simple(style.font.clone(), style.plain));
            append_text(&mut out, text, style, visuals)
        })
        .collect();
    (out.job, spans)
}

/// A layout under way, and its characters so far.
struct Out {
    job: LayoutJob,
    at: usize,
}

impl Out {
    fn append(&mut self, text: &str, format: TextFormat) -> Range<usize> {
        let start = self.at;
        if !text.is_empty() {
            self.job.append(text, 0.0, format);
            self.at += text.chars().count();
        }
        start..self.at
    }
}

fn append_text(out: &mut Out, text: &RequestText, style: &RoundStyle, visuals: &Visuals) -> RoundSpans {
    let mut spans = RoundSpans::default();
    for run in &text.runs {
        let rejected = run.rejected.as_ref().filter(|_| style.refused && style.colours).map(|refused| {
            let mut format = TextFormat::simple(style.font.clone(), style.refusal);
            format.strikethrough = Stroke::new(1.0, colours::REJECTED);
            out.append(refused, format)
        });
        spans.rejected.push(rejected);
        spans.runs.push(out.append(&run.text, format(run, style, visuals)));
    }
    spans.ghost = if style.ghosts {
        let mut format = TextFormat::simple(style.font.clone(), style.ghost);
        format.italics = true;
        out.append(&text.ghost, format)
    } else {
        out.at..out.at
    };
    spans
}

fn format(run: &TextRun, style: &RoundStyle, visuals: &Visuals) -> TextFormat {
    let colour = if style.colours { (style.round)(run.round, visuals) } else { style.plain };
    let mut format = TextFormat::simple(style.font.clone(), colour);
    if style.colours && run.origin == Origin::Correction {
        format.background = colours::REJECTED.gamma_multiply(0.12);
    }
    format
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    fn style(colours: bool, ghosts: bool) -> RoundStyle {
        RoundStyle {
            font: FontId::proportional(14.0),
            round: colours::round,
            plain: Color32::BLACK,
            ghost: Color32::GRAY,
            refusal: Color32::RED,
            colours,
            ghosts,
            refused: ghosts,
            wrap: 200.0,
        }
    }

    fn run(text: &str, round: u32, origin: Origin, rejected: Option<&str>) -> TextRun {
        TextRun { text: text.to_owned(), round, origin, rejected: rejected.map(str::to_owned) }
    }

    fn sample() -> RequestText {
        RequestText {
            runs: vec![
                run("Zürich", 0, Origin::Causal, None),
                run(" 気", 1, Origin::Accepted, None),
                run("ö", 1, Origin::Correction, Some("öde")),
            ],
            ghost: "…x".to_owned(),
        }
    }

    #[test]
    fn spans_count_characters_not_bytes() {
        let (job, spans) = layout(&sample(), &style(true, true), &Visuals::light());
        assert_eq!(job.text, "Zürich 気ödeö…x");
        assert_eq!(spans.runs, [0..6, 6..8, 11..12]);
        assert_eq!(spans.rejected, [None, None, Some(8..11)]);
        assert_eq!(spans.ghost, 12..14);
        assert_eq!([0, 7, 9, 11, 13].map(|at| spans.run_at(at)), [Some(0), Some(1), Some(2), Some(2), None]);
        assert_eq!([0, 7, 9, 11, 13].map(|at| spans.committed_at(at)), [Some(0), Some(7), Some(8), Some(8), None]);
    }

    #[test]
    fn without_drafts_only_what_was_committed_is_laid_out() {
        let (job, spans) = layout(&sample(), &style(true, false), &Visuals::light());
        assert_eq!(job.text, "Zürich 気ö");
        assert_eq!(spans.runs, [0..6, 6..8, 8..9]);
        assert_eq!((spans.rejected, spans.ghost), (vec![None, None, None], 9..9));
    }

    #[test]
    fn without_colours_everything_has_one() {
        let (job, _) = layout(&sample(), &style(false, true), &Visuals::light());
        assert_eq!(job.text, "Zürich 気ö…x", "refused drafts belong to the colours");
        let colours: Vec<_> = job.sections.iter().map(|section| section.format.color).collect();
        assert_eq!(colours, [Color32::BLACK, Color32::GRAY]);
    }

    #[test]
    fn joined_texts_count_on_behind_their_separators() {
        let second = RequestText { runs: vec![run("é", 0, Origin::Causal, None)], ghost: String::new() };
        let texts = [("", &sample()), ("\n", &second)];
        let (job, spans) = layout_joined(texts, &style(true, false), &Visuals::dark());
        assert_eq!(job.text, "Zürich 気ö\né");
        assert_eq!(spans.len(), 2);
        assert_eq!((spans[1].runs.len(), spans[1].runs[0].clone()), (1, 10..11));
        assert_eq!(job.sections.last().unwrap().format.color, colours::round(0, &Visuals::dark()));
    }
}
