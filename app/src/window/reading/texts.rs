//! The coloured texts of regions, laid out once and kept while they are looked at.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use eframe::egui::{Galley, Id, Rect, TextStyle, Ui, pos2};
use engine::region::{Label, Region, Role};

use super::underline::{Kind, Mark};
use crate::window::colours;
use crate::window::hover_card::Card;
use crate::window::live::LiveRegion;
use crate::window::log::{LiveText, RequestLog};
use crate::window::project::{PageRegion, RegionId, RegionRead};
use crate::window::round_text::{RoundSpans, RoundStyle, layout_joined};
use crate::window::settings::Settings;

/// Laid-out regions kept; more than fit on a screen.
const KEPT: usize = 96;

/// Height of a line in sizes of its font: underlines need room.
const LINE_HEIGHT: f32 = 1.5;

/// A region's text with its colours.
pub(super) struct Coloured {
    pub(super) galley: Arc<Galley>,
    /// From the galley's corner.
    pub(super) marks: Vec<Mark>,
    spans: Vec<RoundSpans>,
    /// The record of a finished region; a region that is being read has it in the state.
    record: Option<Arc<Record>>,
}

/// A finished region's requests.
struct Record {
    logs: Vec<RequestLog>,
    texts: Vec<LiveText>,
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
    /// What `record` was unpacked from.
    read: Option<Arc<RegionRead>>,
    record: Option<Arc<Record>>,
    look: Look,
    coloured: Arc<Coloured>,
    used: u64,
}

/// All that a layout depends on beside the record.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Look {
    label: Label,
    /// Steps seen of a region that is being read.
    steps: usize,
    wrap: f32,
    pixels_per_point: f32,
    font: f32,
    dark: bool,
    colours: bool,
    ghosts: bool,
    refused: bool,
}

impl Texts {
    /// The window's.
    pub(super) fn of(ui: &Ui) -> Self {
        ui.data_mut(|data| data.get_temp_mut_or_default::<Self>(Id::unique("reading texts")).clone())
    }

    /// The text of a region that is being read.
    pub(super) fn live(&self, ui: &Ui, region: &PageRegion, live: &LiveRegion, settings: &Settings) -> Arc<Coloured> {
        let steps = live.begun().map(|request| 1 + request.log.steps.len() + usize::from(request.log.status.is_some()));
        let look = Look::new(ui, &region.region, settings, 1 + steps.sum::<usize>());
        self.entry(region.id, None, look, |_| {
            let requests: Vec<_> = live.begun().map(|request| (request.log.bounds, &request.text)).collect();
            (Arc::new(lay_out(ui, &region.region, &requests, settings, None)), None)
        })
    }

    /// The text of a region that was read.
    pub(super) fn read(
        &self,
        ui: &Ui,
        region: &PageRegion,
        read: &Arc<RegionRead>,
        settings: &Settings,
    ) -> Arc<Coloured> {
        let look = Look::new(ui, &region.region, settings, 0);
        self.entry(region.id, Some(read), look, |record| {
            let record = record.unwrap_or_else(|| Arc::new(Record::unpack(read)));
            let bounds = record.logs.iter().map(|log| log.bounds);
            let requests: Vec<_> = bounds.zip(&record.texts).collect();
            let coloured = lay_out(ui, &region.region, &requests, settings, Some(Arc::clone(&record)));
            (Arc::new(coloured), Some(record))
        })
    }

    fn entry(
        &self,
        id: RegionId,
        read: Option<&Arc<RegionRead>>,
        look: Look,
        lay_out: impl FnOnce(Option<Arc<Record>>) -> (Arc<Coloured>, Option<Arc<Record>>),
    ) -> Arc<Coloured> {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.clock += 1;
        let now = cache.clock;
        let is_same = |entry: &Entry| match (&entry.read, read) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        let mut record = None;
        if let Some(entry) = cache.entries.get_mut(&id).filter(|entry| is_same(entry)) {
            entry.used = now;
            if entry.look == look {
                return Arc::clone(&entry.coloured);
            }
            record.clone_from(&entry.record);
        }
        let (coloured, record) = lay_out(record);
        let entry = Entry { read: read.cloned(), record, look, coloured: Arc::clone(&coloured), used: now };
        cache.entries.insert(id, entry);
        if cache.entries.len() > KEPT
            && let Some(oldest) = cache.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(id, _)| *id)
        {
            cache.entries.remove(&oldest);
        }
        coloured
    }
}

impl Look {
    fn new(ui: &Ui, region: &Region, settings: &Settings, steps: usize) -> Self {
        Self {
            label: region.label,
            steps,
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

impl Record {
    fn unpack(read: &RegionRead) -> Self {
        let logs = read.detail.unpack().logs;
        let texts = logs.iter().map(|log| LiveText::after(&log.steps)).collect();
        Self { logs, texts }
    }
}

impl Coloured {
    /// What is known of a character of the layout.
    pub(super) fn card(&self, character: usize, live: Option<&LiveRegion>) -> Option<Card> {
        let (request, at) = self
            .spans
            .iter()
            .enumerate()
            .find_map(|(request, spans)| Some((request, spans.committed_at(character)?)))?;
        match (&self.record, live) {
            (Some(record), _) => Card::of(record.logs.get(request)?, record.texts.get(request)?, at),
            (None, Some(live)) => live.begun().nth(request).and_then(|live| Card::of(&live.log, &live.text, at)),
            (None, None) => None,
        }
    }

    /// Whether it says anything.
    pub(super) fn is_empty(&self) -> bool {
        self.galley.job.text.is_empty()
    }
}

fn lay_out(
    ui: &Ui,
    region: &Region,
    requests: &[(engine::region::Rect, &LiveText)],
    settings: &Settings,
    record: Option<Arc<Record>>,
) -> Coloured {
    let monospace = region.preformatted || region.label.role() == Role::Formula;
    let font = if monospace { TextStyle::Monospace } else { TextStyle::Body };
    let style = RoundStyle {
        font: font.resolve(ui.style()),
        round: colours::round,
        plain: ui.visuals().text_color(),
        ghost: colours::ghost(ui.visuals()),
        colours: settings.colours,
        ghosts: settings.ghosts,
        refused: settings.refused,
        wrap: ui.available_width(),
    };
    let texts = requests.iter().enumerate().map(|(at, (bounds, text))| {
        let before = at.checked_sub(1).and_then(|before| requests.get(before));
        (before.map_or("", |(above, before)| separator(region, *above, before, *bounds)), *text)
    });
    let (mut job, spans) = layout_joined(texts, &style, ui.visuals());
    for section in &mut job.sections {
        section.format.line_height = Some(style.font.size * LINE_HEIGHT);
    }
    let galley = ui.painter().layout_job(job);
    let marks = if settings.colours { marks(&galley, &spans, requests) } else { Vec::new() };
    Coloured { galley, marks, spans, record }
}

/// What stands between the answers of two requests of a region.
fn separator(
    region: &Region,
    above: engine::region::Rect,
    before: &LiveText,
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

/// The marks of a laid-out text, row by row.
fn marks(galley: &Galley, spans: &[RoundSpans], requests: &[(engine::region::Rect, &LiveText)]) -> Vec<Mark> {
    let mut pieces: Vec<(std::ops::Range<usize>, u32, Kind)> = Vec::new();
    for (spans, (_, text)) in spans.iter().zip(requests) {
        for ((run, range), rejected) in text.runs.iter().zip(&spans.runs).zip(&spans.rejected) {
            if rejected.is_some() || run.rejected.is_some() {
                pieces.push((range.clone(), run.round, Kind::Rejected));
            }
            pieces.push((range.clone(), run.round, Kind::Round));
        }
        pieces.push((spans.ghost.clone(), 0, Kind::Ghost));
    }
    pieces.retain(|(range, ..)| !range.is_empty());
    let mut marks = Vec::new();
    let mut first = 0;
    let mut row_start = 0;
    for row in &galley.rows {
        let row_end = row_start + row.glyphs.len();
        while pieces.get(first).is_some_and(|(range, ..)| range.end <= row_start) {
            first += 1;
        }
        for (range, round, kind) in pieces.iter().skip(first).take_while(|(range, ..)| range.start < row_end) {
            let (from, to) =
                (range.start.max(row_start) - row_start, range.end.min(row_end).max(row_start) - row_start);
            let (Some(left), Some(right)) = (row.glyphs.get(from), to.checked_sub(1).and_then(|at| row.glyphs.get(at)))
            else {
                continue;
            };
            if *kind == Kind::Rejected && range.start < row_start {
                continue; // The bar stands where the correction begins.
            }
            let x = row.pos.x + left.pos.x..row.pos.x + right.pos.x + right.advance_width;
            marks.push((
                Rect::from_min_max(pos2(x.start, row.pos.y), pos2(x.end, row.pos.y + row.size.y)),
                *round,
                *kind,
            ));
        }
        row_start = row_end + usize::from(row.ends_with_newline);
    }
    marks
}

#[cfg(test)]
mod tests {
    use engine::decode::Origin;
    use engine::region::{Label, Line, Rect as Box};

    use super::*;
    use crate::window::log::Run;

    fn text(text: &str) -> LiveText {
        let run = Run { text: text.to_owned(), round: 0, origin: Origin::Causal, rejected: None };
        LiveText { runs: vec![run], ghost: String::new() }
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
        assert_eq!(separator(&region, at(0), &LiveText::default(), at(30)), "");
        region.preformatted = true;
        assert_eq!(separator(&region, at(0), &text("fn main()"), at(30)), "\n");
        let table = Region::new(Label::Table, Box::new(0, 0, 500, 100));
        assert_eq!(separator(&table, at(0), &text("cell"), at(0)), "\n");
    }
}
