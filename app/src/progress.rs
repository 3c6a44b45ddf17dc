//! What standard error shows while documents are read: lines that stay, and on a terminal two lines that are redrawn.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use engine::event::Event;

use crate::cli::When;
use crate::live::{self, LiveLines};
use crate::tally::Tally;

/// How often the redrawn lines are drawn anew.
const FRAME: Duration = Duration::from_millis(50);

/// What standard error is able to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    /// Lines can be redrawn.
    pub(crate) redraw: bool,
    /// Colours are wanted.
    pub(crate) colours: bool,
}

impl Style {
    /// For the standard error of this process. `NO_COLOR` (no-color.org) and a dumb terminal are honoured.
    pub(crate) fn detect(is_terminal: bool, color: When) -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let redraw = is_terminal && !dumb;
        let colours = match color {
            When::Always => true,
            When::Never => false,
            When::Auto => redraw && !set("NO_COLOR"),
        };
        Self { redraw, colours }
    }
}

/// The progress of one document. Every method gives the text to write.
pub(crate) struct Progress {
    style: Style,
    name: String,
    text: LiveLines,
    started: Instant,
    drawn_at: Option<Instant>,
    drawn_lines: usize,
    pages: usize,
    pages_over: usize,
    page: usize,
    regions: usize,
    regions_over: usize,
    tokens: u64,
    forwards: u64,
    /// Tokens of rounds that took a forward; the prefill's come for free.
    forwarded_tokens: u64,
}

impl Progress {
    pub(crate) fn new(style: Style, name: &str) -> Self {
        Self {
            style,
            name: name.to_owned(),
            text: LiveLines::default(),
            started: Instant::now(),
            drawn_at: None,
            drawn_lines: 0,
            pages: 0,
            pages_over: 0,
            page: 0,
            regions: 0,
            regions_over: 0,
            tokens: 0,
            forwards: 0,
            forwarded_tokens: 0,
        }
    }

    /// Takes an event; gives the lines that are now complete.
    pub(crate) fn event(&mut self, event: &Event) -> String {
        let mut lines = String::new();
        for line in self.text.event(event) {
            if self.style.redraw || self.style.colours {
                lines.push_str(&live::line(&line, self.style.colours));
                lines.push('\n');
            }
        }
        match event {
            Event::Opened { pages, .. } => self.pages = pages.len(),
            Event::PageStarted { page, regions, .. } => {
                (self.page, self.regions, self.regions_over) = (*page, regions.len(), 0);
            }
            Event::Committed { tokens, forwards, .. } => {
                self.tokens += u64::from(*tokens);
                self.forwards += u64::from(*forwards);
                self.forwarded_tokens += if *forwards > 0 { u64::from(*tokens) } else { 0 };
            }
            Event::RegionFinished { .. } => self.regions_over += 1,
            Event::PageFinished { page, .. } => {
                self.pages_over += 1;
                self.regions_over = 0;
                self.regions = 0;
                let tally: Tally = page.regions.iter().flat_map(|region| &region.readings).collect();
                lines.push_str(&format!(
                    "{}: page {} ({} of {}): {}\n",
                    self.name,
                    page.index + 1,
                    self.pages_over,
                    self.pages,
                    summary(page.regions.len(), &tally)
                ));
            }
            Event::PageFailed { .. } => self.pages_over += 1,
            Event::RequestStarted { .. }
            | Event::RequestRestarted { .. }
            | Event::Drafted { .. }
            | Event::RequestFinished { .. }
            | Event::Finished { .. } => {}
        }
        if lines.is_empty() {
            return lines;
        }
        let erased = self.erase();
        erased + &lines
    }

    /// Draws the lines that change, when it is time to. `columns` is the terminal's width.
    pub(crate) fn draw(&mut self, now: Instant, columns: usize) -> String {
        if !self.style.redraw || self.drawn_at.is_some_and(|at| now < at + FRAME) {
            return String::new();
        }
        let mut out = self.erase();
        let mut lines = Vec::new();
        if let Some(line) = self.text.front() {
            lines.push(live::tail(line, self.style.colours, columns));
        }
        lines.push(live::cut(&self.status(now), columns));
        self.drawn_lines = lines.len();
        self.drawn_at = Some(now);
        out.push_str(&lines.join("\n"));
        out
    }

    /// Takes the redrawn lines away, so that others can be written.
    pub(crate) fn erase(&mut self) -> String {
        let lines = std::mem::take(&mut self.drawn_lines);
        if lines == 0 {
            return String::new();
        }
        self.drawn_at = None;
        // To the first of them, then clear to the end of the screen.
        let up = if lines > 1 { format!("\x1b[{}A", lines - 1) } else { String::new() };
        format!("\r{up}\x1b[J")
    }

    fn status(&self, now: Instant) -> String {
        let seconds = now.saturating_duration_since(self.started).as_secs_f64();
        if self.pages == 0 {
            return format!("{}: opening", self.name);
        }
        let mut parts = vec![format!("page {} of {}", (self.pages_over + 1).min(self.pages), self.pages)];
        if self.regions > 0 {
            parts.push(format!("region {} of {}", (self.regions_over + 1).min(self.regions), self.regions));
        }
        if self.forwards > 0 && seconds > 0.0 {
            parts.push(format!("{:.0} tok/s", self.tokens as f64 / seconds));
            parts.push(format!("TPF {:.1}", self.forwarded_tokens as f64 / self.forwards as f64));
        }
        let share = if self.regions > 0 { self.regions_over as f64 / self.regions as f64 } else { 0.0 };
        let done = (self.pages_over as f64 + share) / self.pages as f64;
        if done > 0.0 && done < 1.0 && seconds > 1.0 {
            parts.push(format!("{} left", clock(seconds / done - seconds)));
        }
        format!("{}: {}", self.name, parts.join(" · "))
    }
}

/// The figures of a page in one line.
fn summary(regions: usize, tally: &Tally) -> String {
    let mut parts = vec![format!("{regions} region{}", if regions == 1 { "" } else { "s" })];
    parts.extend(tally.request_rate().map(|rate| format!("{rate:.0} tok/s")));
    parts.extend(tally.tokens_per_forward().map(|rate| format!("TPF {rate:.1}")));
    parts.extend(tally.accepted_per_round().map(|rate| format!("{rate:.1} accepted a round")));
    parts.join(", ")
}

fn clock(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// The width of the terminal that standard error is, or the usual one.
pub(crate) fn columns() -> usize {
    let stderr = std::io::stderr();
    let size = if stderr.is_terminal() { terminal_size::terminal_size_of(stderr) } else { None };
    size.map_or(80, |(width, _)| usize::from(width.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::testing::two_lines;

    const PLAIN: Style = Style { redraw: false, colours: false };
    const TERMINAL: Style = Style { redraw: true, colours: true };

    #[test]
    fn a_file_gets_one_plain_line_a_page() {
        let mut progress = Progress::new(PLAIN, "scan.pdf");
        let mut shown = String::new();
        for event in two_lines() {
            shown.push_str(&progress.event(&event));
            shown.push_str(&progress.draw(Instant::now(), 80));
        }
        assert_eq!(shown, "scan.pdf: page 1 (1 of 1): 1 region, 240 tok/s, TPF 2.5, 3.0 accepted a round\n");
    }

    #[test]
    fn a_terminal_sees_the_draft_and_where_the_reading_stands() {
        let mut progress = Progress::new(TERMINAL, "scan.pdf");
        for event in two_lines().into_iter().take(5) {
            progress.event(&event);
        }
        let start = progress.started;
        let shown = progress.draw(start + Duration::from_secs(2), 80);
        let (line, status) = shown.split_once('\n').unwrap_or_default();
        assert_eq!(line, "\x1b[38;5;33mA\x1b[0m\x1b[2mpple\x1b[0m");
        assert_eq!(status, "scan.pdf: page 1 of 1 · region 1 of 1");
        assert_eq!(progress.draw(start + Duration::from_millis(2010), 80), "", "too soon for another frame");
        assert_eq!(progress.erase(), "\r\x1b[1A\x1b[J");
        assert_eq!(progress.erase(), "");
    }

    #[test]
    fn time_left_is_said_in_hours_minutes_seconds() {
        assert_eq!(clock(61.2), "1:02");
        assert_eq!(clock(3_725.0), "1:02:05");
    }
}
