//! What the panel shows of a region: its figures, and a bar for each round.

use engine::page::Timings;

use crate::tally::Tally;
use crate::window::workspace::log::{RequestLog, RoundCounts};

/// The rounds of a region's requests, in reading order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Chart {
    pub(crate) figures: Figures,
    pub(crate) bars: Vec<Bar>,
}

/// Sums over a region.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    /// Of all requests that have begun. Times are those of the requests that have ended.
    pub(crate) tally: Tally,
    /// Of the requests that have ended, whose times are known.
    pub(crate) ended: Tally,
    /// All rounds, the prompts' own included.
    pub(crate) rounds: usize,
    times: Timings,
}

/// A round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bar {
    pub(crate) request: usize,
    pub(crate) counts: RoundCounts,
    /// Decoder forwards of the request before this round.
    pub(crate) forwards_before: u32,
    /// Steps of all requests until this round stands committed: where a replay shows it.
    pub(crate) done_at: usize,
}

/// The verifier's own token at the end of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// In the place of a refused draft.
    Correction,
    /// After a block that was accepted in full.
    Bonus,
}

impl Figures {
    /// Adds a request.
    pub(crate) fn add(&mut self, log: &RequestLog) {
        self.rounds += log.rounds().count();
        add(&mut self.tally, log);
        if log.status.is_some() {
            add(&mut self.ended, log);
            self.times.vision_ms += log.timings.vision_ms;
            self.times.prefill_ms += log.timings.prefill_ms;
            self.times.draft_ms += log.timings.draft_ms;
            self.times.verify_ms += log.timings.verify_ms;
        }
    }

    /// Whether any round drafted.
    pub(crate) fn drafts(&self) -> bool {
        self.tally.verified_rounds > 0
    }

    /// Where the time went; none while nothing was measured.
    pub(crate) fn times(&self) -> Option<&Timings> {
        (total_ms(&self.times) > 0.0).then_some(&self.times)
    }
}

impl<'a> FromIterator<&'a RequestLog> for Figures {
    fn from_iter<I: IntoIterator<Item = &'a RequestLog>>(logs: I) -> Self {
        let mut figures = Self::default();
        logs.into_iter().for_each(|log| figures.add(log));
        figures
    }
}

/// Milliseconds of all stages.
pub(crate) fn total_ms(times: &Timings) -> f64 {
    times.vision_ms + times.prefill_ms + times.draft_ms + times.verify_ms
}

/// As [`Tally::add`], from what was seen of a request.
fn add(tally: &mut Tally, log: &RequestLog) {
    tally.requests += 1;
    tally.before_ms += log.timings.vision_ms + log.timings.prefill_ms;
    tally.decode_ms += log.timings.draft_ms + log.timings.verify_ms;
    for counts in log.rounds() {
        tally.tokens += counts.tokens as usize;
        if counts.round == 0 {
            tally.prefill_tokens += counts.tokens as usize;
        }
        tally.forwards = tally.forwards.saturating_add(counts.forwards);
        if counts.drafted > 0 {
            tally.verified_rounds += 1;
            tally.accepted = tally.accepted.saturating_add(kept(&counts));
        }
    }
}

/// Accepted drafts that were committed: an end token or the limit may cut a round short. Each round that drafts begins
/// with the draft forward's own token.
fn kept(counts: &RoundCounts) -> u32 {
    counts.accepted.min(counts.tokens.saturating_sub(1))
}

impl Chart {
    /// The rounds of requests, each with its number in the region.
    pub(crate) fn of<'a>(logs: impl IntoIterator<Item = (usize, &'a RequestLog)>) -> Self {
        let mut chart = Self::default();
        let mut steps = 0;
        for (request, log) in logs {
            chart.figures.add(log);
            let mut forwards_before: u32 = 0;
            for step in &log.steps {
                steps += 1;
                if let Some(counts) = step.counts() {
                    chart.bars.push(Bar { request, counts, forwards_before, done_at: steps });
                    forwards_before = forwards_before.saturating_add(counts.forwards);
                }
            }
        }
        chart
    }

    /// The height of the tallest bar, tokens.
    pub(crate) fn tallest(&self) -> u32 {
        self.bars.iter().map(Bar::height).max().unwrap_or(0)
    }

    /// The bar of the round that a replay shows after so many steps: the last committed one.
    pub(crate) fn bar_at(&self, steps: usize) -> Option<usize> {
        self.bars.partition_point(|bar| bar.done_at <= steps).checked_sub(1)
    }
}

impl Bar {
    /// Accepted drafts that were committed.
    pub(crate) fn kept(&self) -> u32 {
        if self.counts.drafted > 0 { kept(&self.counts) } else { 0 }
    }

    /// Whether and how the verifier's own token ended the round.
    pub(crate) fn ending(&self) -> Option<Ending> {
        let RoundCounts { drafted, accepted, tokens, .. } = self.counts;
        if drafted == 0 || tokens != accepted.saturating_add(2) {
            return None;
        }
        Some(if accepted < drafted { Ending::Correction } else { Ending::Bonus })
    }

    /// Tokens drafted or committed, whichever is more.
    pub(crate) fn height(&self) -> u32 {
        let RoundCounts { drafted, tokens, .. } = self.counts;
        tokens.max(drafted.saturating_add(u32::from(drafted > 0)))
    }

    pub(crate) fn last_forward(&self) -> u32 {
        self.forwards_before.saturating_add(self.counts.forwards)
    }
}
