//! The stages of a request by their times, and what drafting gives.

use engine::measure::{self, Sample};

use super::{Spread, Way};

/// One stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Stage {
    /// Milliseconds of a forward.
    pub(crate) ms: Spread,
    /// Weights read, GB/s.
    pub(crate) gigabytes: Spread,
    /// Arithmetic, GFLOP/s.
    pub(crate) gigaflop: Spread,
}

impl Stage {
    fn of(samples: &[Sample], bytes_per_weight: f64) -> Self {
        let rate =
            |amount: fn(&Sample) -> f64| Spread::of(samples.iter().map(|sample| amount(sample) / sample.ms / 1e6));
        let weights = rate(|sample| sample.work.weights);
        let bytes = bytes_per_weight;
        Self {
            ms: Spread::of(samples.iter().map(|sample| sample.ms)),
            gigabytes: Spread {
                median: weights.median * bytes,
                min: weights.min * bytes,
                max: weights.max * bytes,
                count: weights.count,
            },
            gigaflop: rate(|sample| sample.work.flop()),
        }
    }
}

/// All stages.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Stages {
    pub(crate) vision: Stage,
    pub(crate) prefill: Stage,
    pub(crate) ar: Stage,
    pub(crate) draft: Stage,
    pub(crate) verify: Stage,
    /// A token and a round as decoding waits for them, and the round's two parts by the card's clock; not measured where
    /// decoding is made of forwards.
    pub(crate) token: Stage,
    pub(crate) round: Stage,
    pub(crate) round_draft: Stage,
    pub(crate) round_verify: Stage,
}

impl Stages {
    pub(crate) fn of(timed: &measure::Stages, bytes_per_weight: f64) -> Self {
        let stage = |samples: &[Sample]| Stage::of(samples, bytes_per_weight);
        Self {
            vision: stage(&timed.vision),
            prefill: stage(&timed.prefill),
            ar: stage(&timed.ar),
            draft: stage(&timed.draft),
            verify: stage(&timed.verify),
            token: stage(&timed.token),
            round: stage(&timed.round),
            round_draft: stage(&timed.round_draft),
            round_verify: stage(&timed.round_verify),
        }
    }

    /// The stages by name, in the order of a request; those of decoding as a whole where they were measured.
    pub(crate) fn named(&self) -> Vec<(&'static str, &Stage)> {
        let Self { vision, prefill, ar, draft, verify, token, round, round_draft, round_verify } = self;
        let forwards = [("vision", vision), ("prefill", prefill), ("ar", ar), ("draft", draft), ("verify", verify)];
        let whole = [("token", token), ("round", round), ("round_draft", round_draft), ("round_verify", round_verify)];
        forwards.into_iter().chain(whole.into_iter().filter(|(_, stage)| stage.ms.count > 0)).collect()
    }

    /// Milliseconds of a token by AR decoding.
    pub(crate) fn ar_ms(&self) -> &Spread {
        if self.token.ms.count > 0 { &self.token.ms } else { &self.ar.ms }
    }

    /// How many AR forwards a round takes.
    pub(crate) fn forwards_per_round(&self) -> Option<f64> {
        let ar = self.ar_ms();
        self.round.ms.share(ar).or_else(|| Some(self.draft.ms.share(ar)? + self.verify.ms.share(ar)?))
    }
}

/// Rounds of several requests at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Together {
    pub(crate) requests: usize,
    /// Milliseconds of a round of each of them.
    pub(crate) ms: Spread,
}

impl Together {
    pub(crate) fn of(timed: measure::Together) -> Self {
        Self { requests: timed.requests, ms: Spread::of(timed.round_ms) }
    }

    /// Tokens per second of all requests with so many accepted drafts in each round.
    pub(crate) fn rate(&self, accepted: f64) -> Spread {
        self.ms.per_second(self.requests as f64 * committed(accepted))
    }
}

/// Tokens that a round commits: the accepted drafts, the one before them and the one after.
fn committed(accepted: f64) -> f64 {
    accepted + 2.0
}

/// What drafting gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spec {
    /// Tokens per second of decoding.
    pub(crate) rate: Spread,
    /// Tokens per forward.
    pub(crate) tpf: Option<f64>,
    /// Accepted drafts per round.
    pub(crate) accepted: Option<f64>,
    /// Whether that many were assumed and not accepted by a verifier.
    pub(crate) assumed: bool,
}

impl Spec {
    /// With so many accepted drafts in each round, which takes the time of a whole one where it was measured, otherwise a
    /// draft and a verify forward.
    pub(crate) fn assumed(accepted: f64, timed: &measure::Stages) -> Self {
        let whole = timed.round.iter().map(|round| round.ms);
        let forwards = timed.draft.iter().zip(&timed.verify).map(|(draft, verify)| draft.ms + verify.ms);
        let rounds: Vec<f64> = if timed.round.is_empty() { forwards.collect() } else { whole.collect() };
        Self {
            rate: Spread::of(rounds).per_second(committed(accepted)),
            tpf: Some(committed(accepted) / 2.0),
            accepted: Some(accepted),
            assumed: true,
        }
    }

    /// As it was decoded.
    pub(crate) fn decoded(way: &Way) -> Self {
        Self {
            rate: way.rate,
            tpf: way.tally.tokens_per_forward(),
            accepted: way.tally.accepted_per_round(),
            assumed: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use engine::measure::Work;

    use super::*;

    fn sample(ms: f64) -> Sample {
        Sample { ms, work: Work { matrix_flop: 3e9, attention_flop: 1e9, weights: 0.5e9 } }
    }

    #[test]
    fn speeds_are_amounts_by_time() {
        // 0.5 G weights of 2 bytes and 4 GFLOP in 20, 25 and 50 ms.
        let stage = Stage::of(&[sample(50.0), sample(20.0), sample(25.0)], 2.0);
        assert_eq!(stage.ms, Spread { median: 25.0, min: 20.0, max: 50.0, count: 3 });
        assert_eq!(stage.gigabytes, Spread { median: 40.0, min: 20.0, max: 50.0, count: 3 });
        assert_eq!(stage.gigaflop, Spread { median: 160.0, min: 80.0, max: 200.0, count: 3 });
    }

    #[test]
    fn an_assumed_round_commits_two_tokens_more_than_it_accepts() {
        let timed = measure::Stages { draft: vec![sample(60.0)], verify: vec![sample(40.0)], ..Default::default() };
        let spec = Spec::assumed(17.4, &timed);
        // 19.4 tokens in 100 ms and two forwards.
        assert!((spec.rate.median - 194.0).abs() < 1e-9, "{spec:?}");
        assert!((spec.tpf.unwrap_or_default() - 9.7).abs() < 1e-9, "{spec:?}");
        assert_eq!((spec.accepted, spec.assumed), (Some(17.4), true));
        // Where a round was timed as a whole, that is what decoding waits for.
        let on_card = measure::Stages { round: vec![sample(50.0)], ..timed };
        assert!((Spec::assumed(17.4, &on_card).rate.median - 388.0).abs() < 1e-9);
        let stages = Stages::of(&measure::Stages { ar: vec![sample(25.0)], ..on_card }, 2.0);
        assert_eq!(stages.forwards_per_round(), Some(2.0));
        let forwards = Stages { round: Stage::default(), ..stages };
        assert_eq!(forwards.forwards_per_round(), Some(4.0));
        let token = Stage { ms: Spread::of([20.0]), ..Stage::default() };
        assert_eq!(Stages { token, ..stages }.forwards_per_round(), Some(2.5));
    }

    #[test]
    fn requests_side_by_side_share_their_rounds() {
        let together = Together::of(measure::Together { requests: 4, round_ms: vec![10.0, 8.0, 16.0] });
        // 4 x 20 tokens in 10, 8 and 16 ms.
        assert_eq!(together.rate(18.0), Spread { median: 8000.0, min: 5000.0, max: 10_000.0, count: 3 });
    }
}
