//! What is known of a character: the round that committed it, and how.

use eframe::egui::{RichText, Stroke, TextFormat, TextStyle, Ui, text::LayoutJob};
use engine::decode::Origin;

use super::colours;
use super::strings::hover_card as words;
use super::workspace::log::{RequestLog, RequestText, RoundCounts};

/// Longest refused draft that is shown, characters.
const LONGEST: usize = 120;

/// How a character came to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Card {
    pub(crate) counts: RoundCounts,
    pub(crate) origin: Origin,
    /// The first and last forward of the round, counted from 1 in its request; none for the prompt's own token.
    pub(crate) forwards: Option<(u32, u32)>,
    /// What the verifier refused in this round, if it can be shown.
    pub(crate) refused: Option<String>,
}

impl Card {
    /// The card of a committed character, counted from 0 in the request's text; none beyond its end.
    pub(crate) fn of(log: &RequestLog, text: &RequestText, character: usize) -> Option<Self> {
        let mut left = character;
        let run = text.runs.iter().find(|run| {
            let length = run.text.chars().count();
            let here = left < length;
            left = left.saturating_sub(length);
            here
        })?;
        let mut before: u32 = 0;
        let counts = log.rounds().find(|counts| {
            let here = counts.round == run.round;
            before = if here { before } else { before.saturating_add(counts.forwards) };
            here
        })?;
        let refused = text.runs.iter().filter(|other| other.round == run.round).find_map(|run| run.rejected.clone());
        let forwards =
            (counts.forwards > 0).then(|| (before.saturating_add(1), before.saturating_add(counts.forwards)));
        Some(Self { counts, origin: run.origin, forwards, refused })
    }

    /// Tokens that the verifier put in a refused draft's place: one or none.
    fn corrected(&self) -> u32 {
        let RoundCounts { drafted, accepted, tokens, .. } = self.counts;
        // A round commits the draft forward's own token, the accepted ones, and the verifier's unless the text ended.
        u32::from(accepted < drafted && tokens > accepted.saturating_add(1))
    }

    /// Its lines, the first being the title.
    pub(crate) fn lines(&self) -> Vec<String> {
        let RoundCounts { round, drafted, accepted, tokens, .. } = self.counts;
        let mut lines = vec![words::round(round), words::origin(self.origin, round, drafted).to_owned()];
        if drafted > 0 {
            lines.push(words::counts(drafted, accepted, self.corrected()));
        }
        let forwards =
            self.forwards.map_or_else(|| words::PROMPT.to_owned(), |(first, last)| words::forwards(first, last));
        lines.push(words::with_tokens(&forwards, tokens));
        lines
    }
}

/// Draws a card; meant for the inside of a tooltip.
pub(crate) fn show(ui: &mut Ui, card: &Card) {
    ui.spacing_mut().item_spacing.y = 2.0;
    let mut lines = card.lines().into_iter();
    if let Some(title) = lines.next() {
        let colour = colours::round(card.counts.round, ui.visuals());
        ui.label(RichText::new(title).strong().color(colour));
    }
    for line in lines {
        ui.label(line);
    }
    if let Some(refused) = &card.refused {
        let font = TextStyle::Body.resolve(ui.style());
        let mut job = LayoutJob::default();
        job.append(words::REFUSED, 0.0, TextFormat::simple(font.clone(), ui.visuals().text_color()));
        let mut struck = TextFormat::simple(font, ui.visuals().text_color());
        struck.strikethrough = Stroke::new(1.0, colours::REJECTED);
        job.append(&shortened(refused), 4.0, struck);
        ui.label(job);
    }
}

/// The beginning of a text on one line.
fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a panic is a failed test")]
mod tests {
    use super::*;
    use crate::window::workspace::log::{Step, What};
    use engine::event::Piece;

    fn committed(round: u32, [drafted, accepted, tokens, forwards]: [u32; 4], pieces: &[(&str, Origin)]) -> Step {
        let pieces = pieces.iter().map(|&(text, origin)| Piece { text: text.to_owned(), round, origin }).collect();
        Step { at_ms: 0.0, what: What::Committed { round, drafted, accepted, tokens, forwards, pieces } }
    }

    /// "Ä" from the prompt, "pfel" drafted as "pfxx", then "kuchen" accepted in full.
    fn log() -> (RequestLog, RequestText) {
        let draft = |round, text: &str| Step { at_ms: 0.0, what: What::Drafted { round, text: text.to_owned() } };
        let steps = vec![
            committed(0, [0, 0, 1, 0], &[("Ä", Origin::Causal)]),
            draft(1, "pfxx"),
            committed(1, [3, 1, 3, 2], &[("p", Origin::Causal), ("f", Origin::Accepted), ("el", Origin::Correction)]),
            draft(2, "kuche"),
            committed(2, [3, 3, 5, 2], &[("k", Origin::Causal), ("uche", Origin::Accepted), ("n", Origin::Bonus)]),
        ];
        let text = RequestText::after(&steps);
        (RequestLog { steps, ..RequestLog::default() }, text)
    }

    #[test]
    fn a_character_knows_its_round() {
        let (log, text) = log();
        let of = |character| Card::of(&log, &text, character).unwrap();
        let prompt = of(0);
        assert_eq!((prompt.counts.round, prompt.origin, prompt.forwards), (0, Origin::Causal, None));
        // Characters, not bytes: "Ä" has two.
        assert_eq!((of(1).origin, of(2).origin, of(3).origin), (Origin::Causal, Origin::Accepted, Origin::Correction));
        assert_eq!(of(4).forwards, Some((1, 2)));
        assert_eq!(of(5).forwards, Some((3, 4)));
        assert_eq!((of(10).counts.round, of(10).origin), (2, Origin::Bonus));
        assert_eq!(Card::of(&log, &text, 11), None);
        assert_eq!(Card::of(&RequestLog::default(), &text, 0), None, "a record without the round");
    }

    #[test]
    fn every_character_of_a_round_tells_what_was_refused() {
        let (log, text) = log();
        for character in 1..5 {
            assert_eq!(Card::of(&log, &text, character).unwrap().refused.as_deref(), Some("xx"));
        }
        assert_eq!(Card::of(&log, &text, 6).unwrap().refused, None);
    }

    #[test]
    fn the_words_are_right() {
        let (log, text) = log();
        let lines = |character| Card::of(&log, &text, character).unwrap().lines();
        assert_eq!(lines(0), ["Round 0", "The model's first token", "Read with the picture, 1 token"]);
        assert_eq!(
            lines(3),
            ["Round 1", "The verifier's correction", "3 drafted, 1 accepted, 1 corrected", "Forwards 1–2, 3 tokens"]
        );
        assert_eq!(lines(9)[2], "3 drafted, 3 accepted");
    }

    #[test]
    fn a_long_refused_draft_is_cut() {
        assert_eq!(shortened("a\nb"), "a b");
        let short = shortened(&"漢".repeat(LONGEST + 1));
        assert_eq!(short.chars().count(), LONGEST + 1);
        assert!(short.ends_with('…'));
    }
}
