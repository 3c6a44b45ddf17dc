//! How many tokens a round drafts.
//!
//! Alone, a request drafts the whole block: the weights are read once whatever the number of rows. Many requests side by
//! side make arithmetic the bound (the paper's gain falls from 1.85x at batch 1 to 1.13x at 64), and then the last drafts,
//! which are seldom accepted, cost more than they bring. What rounds took and how far drafts were accepted decides. The
//! text does not depend on it.

use std::collections::BTreeMap;

use kernels::cuda::abi::MAX_WINDOW;

/// What was learnt from the rounds so far.
#[derive(Clone, Debug)]
pub(super) struct Drafting {
    /// How often the `j`-th draft was offered with all before it accepted, and how often it was accepted too.
    offered: [f64; MAX_WINDOW],
    accepted: [f64; MAX_WINDOW],
    /// Milliseconds of a round by its rows, all sequences together.
    times: BTreeMap<usize, f64>,
    /// Whether the whole block is drafted whatever was learnt.
    whole: bool,
}

/// Offers of the first draft that are remembered, about.
const MEMORY: f64 = 512.0;
/// The weight of the latest time among those before it.
const LATEST: f64 = 0.125;
/// A shorter draft has to promise so much more.
const ADVANTAGE: f64 = 1.05;

impl Drafting {
    pub(super) fn new() -> Self {
        // As if one draft of each had been accepted: long drafts are tried first.
        Self { offered: [1.0; MAX_WINDOW], accepted: [1.0; MAX_WINDOW], times: BTreeMap::new(), whole: false }
    }

    /// From now on drafts the whole block.
    pub(super) fn keep_whole(&mut self) {
        self.whole = true;
    }

    /// How many tokens, of at most `most`, each of so many sequences is to draft.
    pub(super) fn length(&self, most: usize, sequences: usize) -> usize {
        let rate = |length: usize| Some(self.committed(length) / self.milliseconds(sequences * (length + 1))?);
        // What never ran at full length is tried at full length.
        let Some(full) = rate(most).filter(|_| !self.whole) else { return most };
        let promising = lengths(most).filter_map(|length| Some((rate(length)?, length)));
        promising.fold((full * ADVANTAGE, most), |best, one| if one.0 > best.0 { one } else { best }).1
    }

    /// Learns how many drafts of a round were accepted, of how many.
    pub(super) fn judged(&mut self, accepted: usize, length: usize) {
        for j in 0..length.min(accepted + 1).min(MAX_WINDOW) {
            self.offered[j] += 1.0;
            self.accepted[j] += f64::from(u8::from(j < accepted));
        }
        if self.offered[0] > MEMORY {
            self.offered.iter_mut().chain(&mut self.accepted).for_each(|count| *count *= 0.5);
        }
    }

    /// Learns what a round of so many rows took.
    pub(super) fn took(&mut self, rows: usize, milliseconds: f64) {
        if milliseconds > 0.0 {
            let known = self.times.entry(rows).or_insert(milliseconds);
            *known += LATEST * (milliseconds - *known);
        }
    }

    /// Tokens that a round with drafts of this length may be expected to commit.
    fn committed(&self, length: usize) -> f64 {
        let shares = self.offered.iter().zip(&self.accepted).take(length).map(|(offered, accepted)| accepted / offered);
        let all_so_far = shares.scan(1.0, |all, share| {
            *all *= share;
            Some(*all)
        });
        2.0 + all_so_far.sum::<f64>()
    }

    /// What a round of so many rows takes, between the nearest that are known; fewer rows than any take no less. Unknown
    /// above the most rows that ever ran.
    fn milliseconds(&self, rows: usize) -> Option<f64> {
        let (&above, &most) = self.times.range(rows..).next()?;
        match self.times.range(..rows).next_back() {
            Some((&below, &least)) => Some(least + (most - least) * (rows - below) as f64 / (above - below) as f64),
            None => Some(most),
        }
    }
}

/// The lengths in use: few, so that few graphs serve all.
fn lengths(most: usize) -> impl Iterator<Item = usize> {
    [4, 3, 2, 1].into_iter().map(move |quarters| (most * quarters).div_ceil(4))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After rounds in which the first `accepted` of 32 drafts stood, and the times of 33 and 264 rows.
    fn learnt(accepted: usize, alone: f64, eight: f64) -> Drafting {
        let mut drafting = Drafting::new();
        (0..200).for_each(|_| drafting.judged(accepted, 32));
        drafting.took(33, alone);
        drafting.took(264, eight);
        drafting
    }

    #[test]
    fn the_whole_block_is_drafted_until_something_is_known() {
        let mut drafting = Drafting::new();
        assert_eq!(drafting.length(32, 8), 32);
        drafting.took(33, 1.0);
        (0..50).for_each(|_| drafting.judged(0, 32));
        assert_eq!(drafting.length(32, 8), 32, "264 rows never ran");
        assert_eq!(drafting.length(32, 1), 32, "fewer rows than 33 never ran, and may take as long");
    }

    #[test]
    fn drafts_are_shortened_where_rows_cost_and_bring_nothing() {
        // Six drafts stand: eight drafted bring all of that, for 72 rows instead of 264.
        assert_eq!(learnt(6, 1.0, 8.0).length(32, 8), 8);
        let mut whole = learnt(6, 1.0, 8.0);
        whole.keep_whole();
        assert_eq!(whole.length(32, 8), 32, "unless whole blocks are measured");
        assert_eq!(learnt(14, 1.0, 3.0).length(32, 8), 16);
        // Rows are free: the bound is memory.
        assert_eq!(learnt(6, 1.0, 1.0).length(32, 8), 32);
        // Everything drafted stands, and eight times the rows take twice as long.
        assert_eq!(learnt(32, 1.0, 2.0).length(32, 8), 32);
    }

    #[test]
    fn a_change_of_text_is_noticed() {
        let mut drafting = learnt(6, 1.0, 2.5);
        let before = drafting.length(32, 8);
        assert!(before < 32, "{before}");
        // From here on the verifier accepts whatever is drafted.
        for _ in 0..2000 {
            let length = drafting.length(32, 8);
            drafting.judged(length, length);
        }
        assert_eq!(drafting.length(32, 8), 32);
    }

    #[test]
    fn a_time_between_two_is_between_them() {
        let drafting = learnt(6, 1.0, 8.0);
        assert_eq!(drafting.milliseconds(20), Some(1.0));
        assert_eq!(drafting.milliseconds(33), Some(1.0));
        assert!(drafting.milliseconds(149).is_some_and(|ms| (4.5..4.53).contains(&ms)));
        assert_eq!(drafting.milliseconds(265), None);
    }

    #[test]
    fn lengths_of_a_small_block_are_at_least_one() {
        assert_eq!(lengths(32).collect::<Vec<_>>(), [32, 24, 16, 8]);
        assert_eq!(lengths(1).collect::<Vec<_>>(), [1, 1, 1, 1]);
    }
}
