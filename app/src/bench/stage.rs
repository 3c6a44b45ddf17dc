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

    /// How many of something a second, where a forward gives so many.
    pub(crate) fn per_second(&self, each: f64) -> Spread {
        let Spread { median, min, max, count } = self.ms;
        match count {
            0 => Spread::default(),
            _ => Spread { median: each * 1e3 / median, min: each * 1e3 / max, max: each * 1e3 / min, count },
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
        }
    }

    /// The stages by name, in the order of a request.
    pub(crate) fn named(&self) -> [(&'static str, &Stage); 5] {
        let Self { vision, prefill, ar, draft, verify } = self;
        [("vision", vision), ("prefill", prefill), ("ar", ar), ("draft", draft), ("verify", verify)]
    }
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
    /// With so many accepted drafts in each round, which takes a draft and a verify forward and commits two tokens more
    /// than it accepts.
    pub(crate) fn assumed(accepted: f64, timed: &measure::Stages) -> Self {
        let rounds = timed.draft.iter().zip(&timed.verify).map(|(draft, verify)| draft.ms + verify.ms);
        Self {
            rate: Spread::of(rounds.map(|ms| (accepted + 2.0) * 1e3 / ms)),
            tpf: Some((accepted + 2.0) / 2.0),
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
        assert_eq!(stage.per_second(1.0), Spread { median: 40.0, min: 20.0, max: 50.0, count: 3 });
        assert_eq!(Stage::of(&[], 2.0).per_second(1.0).count, 0);
    }

    #[test]
    fn an_assumed_round_commits_two_tokens_more_than_it_accepts() {
        let timed = measure::Stages { draft: vec![sample(60.0)], verify: vec![sample(40.0)], ..Default::default() };
        let spec = Spec::assumed(17.4, &timed);
        // 19.4 tokens in 100 ms and two forwards.
        assert!((spec.rate.median - 194.0).abs() < 1e-9, "{spec:?}");
        assert!((spec.tpf.unwrap_or_default() - 9.7).abs() < 1e-9, "{spec:?}");
        assert_eq!((spec.accepted, spec.assumed), (Some(17.4), true));
    }
}
