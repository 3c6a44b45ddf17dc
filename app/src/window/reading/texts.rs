//! The coloured texts of regions, laid out once and kept while they are looked at.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use eframe::egui::{Galley, Id, TextStyle, Ui};
use engine::region::{Label, Region, Role};

use super::epoch::Epoch;
use crate::window::hover_card::Card;
use crate::window::record::Record;
use crate::window::round_marks::{Mark, marks};
use crate::window::round_text::{RoundSpans, RoundStyle, layout_joined};
use crate::window::workspace::detail::Detail;
use crate::window::workspace::live::LiveRegion;
use crate::window::workspace::log::{RequestLog, RequestText};
use crate::window::workspace::project::{PageRegion, RegionId};
use crate::window::workspace::replay::Replay;
use crate::window::workspace::settings::Settings;

/// Laid-out regions kept; more than fit on a screen.
const KEPT: usize = 96;

/// Height of a line in sizes of its font: underlines need room.
const LINE_HEIGHT: f32 = 1.5;

/// What there is to tell of a region: its requests with their texts.
pub(super) struct Told<'a> {
    requests: Vec<(&'a RequestLog, &'a RequestText)>,
    source: TextsOf,
}

/// Where a text comes from, and how far it is.
#[derive(Clone, Debug, PartialEq)]
enum TextsOf {
    /// A region that is being read, and what was seen of it.
    Live { seen: usize },
    /// A replay after so many steps.
    Replay { at: usize },
    /// A finished region.
    Read(Detail),
}

/// A region's text with its colours.
pub(super) struct Coloured {
    pub(super) galley: Arc<Galley>,
    /// From the galley's corner.
    pub(super) marks: Vec<Mark>,
    spans: Vec<RoundSpans>,
}

/// The cache. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Texts(Arc<Mutex<Cache>>);

#[derive(Default)]
struct Cache {
    entries: HashMap<RegionId, Entry>,
    clock: u64,
}

struct Entry {
    look: Look,
    coloured: Arc<Coloured>,
    used: u64,
}

/// All that a layout depends on.
#[derive(Clone, Debug, PartialEq)]
struct Look {
    source: TextsOf,
    epoch: Epoch,
    label: Label,
    wrap: f32,
    pixels_per_point: f32,
    font: f32,
    dark: bool,
    colours: bool,
    ghosts: bool,
    refused: bool,
}

impl<'a> Told<'a> {
    /// Of a region that is being read.
    pub(super) fn live(live: &'a LiveRegion) -> Self {
        let seen = live.begun().map(|request| 1 + request.log.steps.len() + usize::from(request.log.status.is_some()));
        let requests = live.begun().map(|request| (&request.log, &request.text)).collect();
        Self { requests, source: TextsOf::Live { seen: seen.sum() } }
    }

    /// Of a region that is played again.
    pub(super) fn replay(replay: &'a Replay) -> Self {
        Self { requests: replay.requests().collect(), source: TextsOf::Replay { at: replay.at() } }
    }

    /// Of a region that was read.
    pub(super) fn read(detail: &Detail, record: &'a Record) -> Self {
        let requests = record.requests.iter().map(|(log, text)| (log, text)).collect();
        Self { requests, source: TextsOf::Read(detail.clone()) }
    }
}

impl Texts {
    /// The window's.
    pub(super) fn of(ui: &Ui) -> Self {
        ui.data_mut(|data| data.get_temp_mut_or_default::<Self>(Id::unique("reading texts")).clone())
    }

    /// The text of a region.
    pub(super) fn laid_out(&self, ui: &Ui, region: &PageRegion, told: &Told<'_>, settings: &Settings) -> Arc<Coloured> {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.clock += 1;
        let now = cache.clock;
        let look = Look::new(ui, &region.region, told, settings);
        if let Some(entry) = cache.entries.get_mut(&region.id).filter(|entry| entry.look == look) {
            entry.used = now;
            return Arc::clone(&entry.coloured);
        }
        let coloured = Arc::new(lay_out(ui, &region.region, &told.requests, settings));
        cache.entries.insert(region.id, Entry { look, coloured: Arc::clone(&coloured), used: now });
        if cache.entries.len() > KEPT
            && let Some(oldest) = cache.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(id, _)| *id)
        {
            cache.entries.remove(&oldest);
        }
        coloured
    }
}

impl Look {
    fn new(ui: &Ui, region: &Region, told: &Told<'_>, settings: &Settings) -> Self {
        Self {
            source: told.source.clone(),
            epoch: Epoch::now(ui),
            label: region.label,
            wrap: ui.available_width(),
            pixels_per_point: ui.pixels_per_point(),
            font: TextStyle::Body.resolve(ui.style()).size,
            dark: ui.visuals().dark_mode,
            colours: settings.colours,
            ghosts: settings.ghosts,
            refused: settings.refused,
        }
    }
}

impl Coloured {
    /// What is known of a character of the layout.
    pub(super) fn card(&self, told: &Told<'_>, character: usize) -> Option<Card> {
        let mut requests = self.spans.iter().zip(&told.requests);
        requests.find_map(|(spans, (log, text))| Card::of(log, text, spans.committed_at(character)?))
    }

    /// Whether it says anything.
    pub(super) fn is_empty(&self) -> bool {
        self.galley.job.text.is_empty()
    }
}

fn lay_out(ui: &Ui, region: &Region, requests: &[(&RequestLog, &RequestText)], settings: &Settings) -> Coloured {
    let monospace = region.preformatted || region.label.role() == Role::Formula;
    let font = if monospace { TextStyle::Monospace } else { TextStyle::Body };
    let style = RoundStyle::of(settings, font.resolve(ui.style()), ui.available_width(), ui.visuals());
    let texts = requests.iter().enumerate().map(|(at, (log, text))| {
        let before = at.checked_sub(1).and_then(|before| requests.get(before));
        (before.map_or("", |(above, before)| separator(region, above.bounds, before, log.bounds)), *text)
    });
    let (mut job, spans) = layout_joined(texts, &style, ui.visuals());
    for section in &mut job.sections {
        section.format.line_height = Some(style.font.size * LINE_HEIGHT);
    }
    let galley = ui.painter().layout_job(job);
    let texts = requests.iter().map(|(_, text)| *text);
    let marks = if settings.colours { marks(&galley, texts.zip(&spans)) } else { Vec::new() };
    Coloured { galley, marks, spans }
}

/// What stands between the answers of two requests of a region.
fn separator(
    region: &Region,
    above: engine::region::Rect,
    before: &RequestText,
    bounds: engine::region::Rect,
) -> &'static str {
    let line_of = |bounds: engine::region::Rect| {
        let shared = |at: usize| region.lines.get(at).map_or(0, |line| line.bounds.intersection(&bounds).area());
        (0..region.lines.len()).filter(|at| shared(*at) > 0).max_by_key(|at| shared(*at))
    };
    if region.preformatted || region.label.role() == Role::Table {
        return "\n";
    }
    let line = line_of(bounds);
    if line != line_of(above) && line.and_then(|at| region.lines.get(at)).is_some_and(|line| line.starts_paragraph) {
        return "\n";
    }
    match before.runs.last() {
        Some(run) if run.text.ends_with(['-', '\u{2010}']) => "",
        None => "",
        Some(_) => " ",
    }
}

#[cfg(test)]
mod tests {
    use engine::decode::Origin;
    use engine::region::{Label, Line, Rect as Box};

    use super::*;
    use crate::window::workspace::log::TextRun;

    fn text(text: &str) -> RequestText {
        let run = TextRun { text: text.to_owned(), round: 0, origin: Origin::Causal, rejected: None };
        RequestText { runs: vec![run], ghost: String::new() }
    }

    fn line(y: u32, starts_paragraph: bool) -> Line {
        Line { bounds: Box::new(0, y, 500, y + 20), starts_paragraph, indent: 0 }
    }

    #[test]
    fn lines_flow_into_paragraphs() {
        let mut region = Region::new(Label::Text, Box::new(0, 0, 500, 100));
        region.lines = vec![line(0, true), line(30, false), line(60, true)];
        let at = |y: u32| Box::new(0, y, 500, y + 20);
        assert_eq!(separator(&region, at(0), &text("one"), at(30)), " ");
        assert_eq!(separator(&region, at(0), &text("divi-"), at(30)), "");
        assert_eq!(separator(&region, at(30), &text("end."), at(60)), "\n");
        assert_eq!(separator(&region, at(60), &text("left"), Box::new(300, 60, 500, 80)), " ", "parts of one line");
        assert_eq!(separator(&region, at(0), &RequestText::default(), at(30)), "");
        region.preformatted = true;
        assert_eq!(separator(&region, at(0), &text("fn main()"), at(30)), "\n");
        let table = Region::new(Label::Table, Box::new(0, 0, 500, 100));
        assert_eq!(separator(&table, at(0), &text("cell"), at(0)), "\n");
    }
}
