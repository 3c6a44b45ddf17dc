//! The text as it appears: each character in the colour of the round that committed it, the draft pale until verified.

use std::collections::BTreeMap;

use engine::decode::Origin;
use engine::event::{Event, Piece, RequestId};
use unicode_width::UnicodeWidthChar;

use crate::palette;

/// What one request has said so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Line {
    pieces: Vec<Piece>,
    ghost: String,
    over: bool,
}

/// The requests that are under way. Lines of a page are read side by side; they are shown in reading order.
#[derive(Debug, Default)]
pub(crate) struct LiveLines {
    lines: BTreeMap<(usize, usize, usize), Line>,
}

impl LiveLines {
    /// Takes an event; gives the lines that are complete and have no unfinished one before them.
    pub(crate) fn event(&mut self, event: &Event) -> Vec<Line> {
        match event {
            Event::RequestStarted { id, .. } => drop(self.line(id)),
            Event::Drafted { id, text, .. } => self.line(id).ghost.clone_from(text),
            Event::Committed { id, pieces, .. } => {
                let line = self.line(id);
                line.ghost.clear();
                line.pieces.extend_from_slice(pieces);
            }
            Event::RequestRestarted { id, .. } => *self.line(id) = Line::default(),
            Event::RequestFinished { id, .. } => {
                let line = self.line(id);
                line.ghost.clear();
                line.over = true;
            }
            Event::PageFinished { .. } | Event::PageFailed { .. } | Event::Finished { .. } => {
                // What is left was broken off.
                self.lines.values_mut().for_each(|line| line.over = true);
            }
            Event::Opened { .. } | Event::PageStarted { .. } | Event::RegionFinished { .. } => {}
        }
        let mut complete = Vec::new();
        while let Some(first) = self.lines.first_entry() {
            if !first.get().over {
                break;
            }
            complete.push(first.remove());
        }
        complete.retain(|line| !line.pieces.is_empty());
        complete
    }

    /// The first line in reading order that is still being read.
    pub(crate) fn front(&self) -> Option<&Line> {
        self.lines.values().next()
    }

    fn line(&mut self, id: &RequestId) -> &mut Line {
        self.lines.entry((id.page, id.region, id.request)).or_default()
    }
}

/// A whole line.
pub(crate) fn line(line: &Line, colours: bool) -> String {
    let characters: Vec<_> = line.characters().collect();
    painted(&characters, colours)
}

/// The end of a line that fits into `columns`, its ghost included.
pub(crate) fn tail(line: &Line, colours: bool, columns: usize) -> String {
    let mut characters: Vec<_> = line.characters().collect();
    characters.extend(shown(&line.ghost).map(|character| (character, Paint::Ghost)));
    if let Some(newline) = characters.iter().rposition(|&(character, _)| character == '\n') {
        characters.drain(..=newline);
    }
    let mut room = columns.saturating_sub(1); // the last column would wrap on some terminals
    let mut fits = |character: char| {
        let rest = room.checked_sub(character.width().unwrap_or(0));
        room = rest.unwrap_or(0);
        rest.is_some()
    };
    let kept = characters.iter().rev().take_while(|&&(character, _)| fits(character)).count();
    painted(&characters[characters.len() - kept..], colours)
}

/// The beginning of a plain text that fits into `columns`.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    let mut room = columns.saturating_sub(1);
    let mut kept = String::new();
    for character in text.chars().filter(|character| !character.is_control()) {
        let Some(rest) = room.checked_sub(character.width().unwrap_or(0)) else { break };
        room = rest;
        kept.push(character);
    }
    kept
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Paint {
    Round { round: u32, corrected: bool },
    Ghost,
}

impl Line {
    fn characters(&self) -> impl Iterator<Item = (char, Paint)> {
        self.pieces.iter().flat_map(|piece| {
            let paint = Paint::Round { round: piece.round, corrected: piece.origin == Origin::Correction };
            shown(&piece.text).map(move |character| (character, paint))
        })
    }
}

/// The characters of a text without those that would steer the terminal.
fn shown(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|character| *character == '\n' || !character.is_control())
}

fn painted(characters: &[(char, Paint)], colours: bool) -> String {
    let mut out = String::new();
    for run in characters.chunk_by(|(_, a), (_, b)| a == b) {
        if colours && let Some((_, paint)) = run.first() {
            out.push_str(&match paint {
                Paint::Round { round, corrected } => palette::round(*round, *corrected),
                Paint::Ghost => palette::GHOST.to_owned(),
            });
        }
        out.extend(run.iter().map(|(character, _)| character));
        if colours {
            out.push_str(palette::RESET);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::region::Rect;

    fn id(region: usize, request: usize) -> RequestId {
        RequestId { page: 0, region, request }
    }

    fn started(id: RequestId) -> Event {
        Event::RequestStarted { id, bounds: Rect::default() }
    }

    fn committed(id: RequestId, round: u32, text: &str, origin: Origin) -> Event {
        let pieces = vec![Piece { text: text.to_owned(), round, origin }];
        Event::Committed { id, at_ms: 1.0, round, drafted: 0, accepted: 0, tokens: 1, forwards: 1, pieces }
    }

    fn finished(id: RequestId) -> Event {
        Event::RequestFinished { id, status: engine::page::Status::Done, timings: Default::default() }
    }

    fn plain(lines: Vec<Line>) -> Vec<String> {
        lines.iter().map(|one| line(one, false)).collect()
    }

    #[test]
    fn lines_come_in_reading_order_however_they_end() {
        let mut text = LiveLines::default();
        for event in [
            started(id(0, 0)),
            started(id(0, 1)),
            started(id(1, 0)),
            committed(id(1, 0), 0, "third", Origin::Causal),
            committed(id(0, 1), 0, "second", Origin::Causal),
            finished(id(1, 0)),
            finished(id(0, 1)),
            committed(id(0, 0), 0, "first", Origin::Causal),
        ] {
            assert!(text.event(&event).is_empty());
        }
        assert_eq!(plain(text.event(&finished(id(0, 0)))), ["first", "second", "third"]);
        assert_eq!(text.front(), None);
    }

    #[test]
    fn what_was_broken_off_is_shown_at_the_end() {
        let mut text = LiveLines::default();
        text.event(&committed(id(0, 0), 0, "half", Origin::Causal));
        let outcome = engine::event::Outcome::Cancelled;
        assert_eq!(plain(text.event(&Event::Finished { outcome })), ["half"]);
    }

    #[test]
    fn a_correction_is_underlined_and_a_round_keeps_its_colour() {
        let mut text = LiveLines::default();
        text.event(&committed(id(0, 0), 1, "ab", Origin::Causal));
        text.event(&committed(id(0, 0), 1, "cd", Origin::Accepted));
        text.event(&committed(id(0, 0), 1, "e", Origin::Correction));
        let lines = text.event(&finished(id(0, 0)));
        assert_eq!(line(&lines[0], true), "\x1b[38;5;172mabcd\x1b[0m\x1b[38;5;172;4me\x1b[0m");
    }

    #[test]
    fn a_line_too_long_shows_its_end() {
        let line = Line {
            pieces: vec![Piece { text: "first\nabc漢字".to_owned(), round: 0, origin: Origin::Causal }],
            ghost: "xy".to_owned(),
            over: false,
        };
        assert_eq!(tail(&line, false, 8), "c漢字xy"); // 1 + 2 + 2 + 2 columns of 7
        assert_eq!(tail(&line, false, 7), "漢字xy");
        assert_eq!(tail(&line, false, 80), "abc漢字xy", "an earlier line of the same answer is not the current one");
        assert_eq!(tail(&line, false, 0), "");
    }

    #[test]
    fn text_cannot_steer_the_terminal() {
        let mut text = LiveLines::default();
        text.event(&committed(id(0, 0), 0, "a\x1b[2Jb\u{9b}c\r", Origin::Causal));
        assert_eq!(plain(text.event(&finished(id(0, 0)))), ["a[2Jbc"]);
        assert_eq!(cut("n\x1bame: page", 6), "name:");
    }
}
