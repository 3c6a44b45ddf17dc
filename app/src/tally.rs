//! Counting what rounds did.

use engine::decode::{Origin, Round};
use engine::page::Reading;

/// Sums over the rounds of any number of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    /// Requests counted.
    pub(crate) requests: usize,
    /// Committed tokens, end tokens included.
    pub(crate) tokens: usize,
    /// Tokens that came with the prompt's forward (round 0), which no decoder forward paid for.
    pub(crate) prefill_tokens: usize,
    /// Decoder forwards, draft and verify alike; the prompt's forward is not one.
    pub(crate) forwards: u32,
    /// Rounds in which a draft was verified.
    pub(crate) verified_rounds: u32,
    /// Drafts accepted in those and committed: what a verifier accepts behind an end token counts for nothing.
    pub(crate) accepted: u32,
    /// Time of the decoder forwards, milliseconds.
    pub(crate) decode_ms: f64,
    /// Vision and prompt, milliseconds.
    pub(crate) before_ms: f64,
}

impl Tally {
    /// Adds one request.
    pub(crate) fn add(&mut self, reading: &Reading) {
        self.requests += 1;
        self.before_ms += reading.timings.vision_ms + reading.timings.prefill_ms;
        self.decode_ms += reading.timings.draft_ms + reading.timings.verify_ms;
        for round in &reading.rounds {
            self.add_round(round);
        }
    }

    fn add_round(&mut self, round: &Round) {
        self.tokens += round.committed.len();
        if round.index == 0 {
            self.prefill_tokens += round.committed.len();
        }
        self.forwards += round.draft_forwards + round.verify_forwards;
        if round.verify_forwards > 0 {
            self.verified_rounds += 1;
            self.accepted += round.committed.iter().filter(|token| token.origin == Origin::Accepted).count() as u32;
        }
    }

    /// Tokens per forward: what the decoder's forwards committed, by their number (AR is 1 by definition).
    pub(crate) fn tokens_per_forward(&self) -> Option<f64> {
        (self.forwards > 0).then(|| (self.tokens - self.prefill_tokens) as f64 / f64::from(self.forwards))
    }

    /// Accepted drafts per verified round.
    pub(crate) fn accepted_per_round(&self) -> Option<f64> {
        (self.verified_rounds > 0).then(|| f64::from(self.accepted) / f64::from(self.verified_rounds))
    }

    /// Tokens per second of decoding, vision and prompt left out.
    pub(crate) fn decode_rate(&self) -> Option<f64> {
        (self.decode_ms > 0.0).then(|| (self.tokens - self.prefill_tokens) as f64 / self.decode_ms * 1e3)
    }

    /// Tokens per second of whole requests.
    pub(crate) fn request_rate(&self) -> Option<f64> {
        let ms = self.decode_ms + self.before_ms;
        (ms > 0.0).then(|| self.tokens as f64 / ms * 1e3)
    }
}

impl<'a> FromIterator<&'a Reading> for Tally {
    fn from_iter<I: IntoIterator<Item = &'a Reading>>(readings: I) -> Self {
        let mut tally = Self::default();
        readings.into_iter().for_each(|reading| tally.add(reading));
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::testing::{reading, round};

    #[test]
    fn counts_are_those_of_the_method() {
        // Prefill, then a round with 5 accepted (7 tokens, 2 forwards) and one with 4 accepted, cut at its end token (3 tokens,
        // 2 of them drafts).
        let readings = [reading(vec![round(0, 1, 0, 0), round(1, 7, 5, 2), round(2, 3, 4, 2)])];
        let tally: Tally = readings.iter().collect();
        assert_eq!((tally.tokens, tally.forwards), (11, 4));
        assert_eq!(tally.tokens_per_forward(), Some(2.5));
        assert_eq!(tally.accepted_per_round(), Some(3.5));
        assert_eq!(tally.decode_rate(), Some(10.0 / 20.0 * 1e3));
        assert_eq!(tally.request_rate(), Some(11.0 / 25.0 * 1e3));
    }

    #[test]
    fn autoregressive_decoding_commits_one_token_per_forward() {
        let rounds = vec![round(0, 1, 0, 0), round(1, 1, 0, 1), round(2, 1, 0, 1)];
        let tally: Tally = [reading(rounds)].iter().collect();
        assert_eq!(tally.tokens_per_forward(), Some(1.0));
        assert_eq!(tally.accepted_per_round(), None);
    }

    #[test]
    fn nothing_read_gives_no_figures() {
        assert_eq!(Tally::default().tokens_per_forward(), None);
        assert_eq!(Tally::default().decode_rate(), None);
    }
}
