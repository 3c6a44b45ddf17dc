//! Choosing tokens: the arg-max, or at a temperature by accept-reject, which keeps the autoregressive distribution
//! (Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding").

use super::{Peak, Target};

/// Sampling instead of the arg-max.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Divides the logits; above 0.
    pub temperature: f32,
    /// The same seed gives the same choices. Each request begins the seed's one stream of random numbers, so that its
    /// text depends on nothing that is read beside it; two requests that see the same image give the same text.
    pub seed: u64,
}

/// A draft: `a0` and `d_1 ..= d_B`.
pub(super) struct Draft {
    /// `a0`, chosen from the causal row.
    pub(super) first: Peak,
    /// The proposals.
    pub(super) tokens: Vec<Peak>,
    /// What each proposal was drawn from; empty when they were not drawn but taken as certain.
    distributions: Vec<Vec<f32>>,
}

impl Draft {
    /// A draft whose proposals were chosen outright.
    pub(super) fn certain(first: Peak, tokens: Vec<Peak>) -> Self {
        Self { first, tokens, distributions: Vec::new() }
    }
}

/// What the verifier says of a draft.
pub(super) struct Verdict {
    /// How many proposals stand.
    pub(super) accepted: usize,
    /// The verifier's probability of each accepted one.
    pub(super) confidences: Vec<f32>,
    /// The verifier's own token after them.
    pub(super) next: Peak,
}

/// Chooses tokens from rows of logits.
pub(super) struct Chooser {
    sampling: Option<(f32, fastrand::Rng)>,
}

impl Chooser {
    pub(super) fn new(sampling: Option<Sampling>) -> Self {
        // A temperature of zero means greedy, as everywhere.
        let sampling = sampling.filter(|s| s.temperature > 0.0);
        Self { sampling: sampling.map(|s| (s.temperature, fastrand::Rng::with_seed(s.seed))) }
    }

    /// Whether it looks at logits, not only at the arg-max.
    pub(super) fn samples(&self) -> bool {
        self.sampling.is_some()
    }

    /// The token of a causal row.
    pub(super) fn choose(&mut self, target: &dyn Target, row: usize, peak: Peak) -> Peak {
        match &mut self.sampling {
            None => peak,
            Some((temperature, rng)) => draw(&softmax(target.logits(row), *temperature), rng),
        }
    }

    /// Proposals from a draft forward's rows.
    pub(super) fn draft(&mut self, target: &dyn Target, peaks: &[Peak]) -> Draft {
        let first = self.choose(target, 0, peaks[0]);
        let Some((temperature, rng)) = &mut self.sampling else {
            return Draft::certain(first, peaks[1..].to_vec());
        };
        let distributions: Vec<Vec<f32>> =
            (1..peaks.len()).map(|row| softmax(target.logits(row), *temperature)).collect();
        Draft { first, tokens: distributions.iter().map(|q| draw(q, rng)).collect(), distributions }
    }

    /// Accepts a prefix of the draft by the verify forward's rows.
    pub(super) fn verify(&mut self, target: &dyn Target, draft: &Draft, peaks: &[Peak]) -> Verdict {
        let Some((temperature, rng)) = &mut self.sampling else {
            let accepted = draft.tokens.iter().zip(peaks).take_while(|(d, a)| d.id == a.id).count();
            let confidences = peaks[..accepted].iter().map(|a| a.probability).collect();
            return Verdict { accepted, confidences, next: peaks[accepted] };
        };
        let mut confidences = Vec::new();
        for (row, proposal) in draft.tokens.iter().enumerate() {
            let mut p = softmax(target.logits(row), *temperature);
            let at = proposal.id as usize;
            let q = draft.distributions.get(row);
            // A proposal taken as certain was drawn from the distribution that is 1 there.
            let q_at = q.map_or(1.0, |q| q[at]);
            if rng.f32() * q_at < p[at] {
                confidences.push(p[at]);
                continue;
            }
            match q {
                Some(q) => p.iter_mut().zip(q).for_each(|(p, q)| *p = (*p - q).max(0.0)),
                None => p[at] = 0.0,
            }
            let sum: f32 = p.iter().sum();
            if sum > 0.0 {
                p.iter_mut().for_each(|p| *p /= sum);
            } else {
                p = softmax(target.logits(row), *temperature);
            }
            return Verdict { accepted: row, confidences, next: draw(&p, rng) };
        }
        let accepted = draft.tokens.len();
        let next = draw(&softmax(target.logits(accepted), *temperature), rng);
        Verdict { accepted, confidences, next }
    }
}

/// Softmax of `logits / temperature`.
fn softmax(logits: &[f32], temperature: f32) -> Vec<f32> {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut p: Vec<f32> = logits.iter().map(|l| ((l - max) / temperature).exp()).collect();
    let sum: f32 = p.iter().sum();
    p.iter_mut().for_each(|p| *p /= sum);
    p
}

/// One draw from a distribution.
fn draw(p: &[f32], rng: &mut fastrand::Rng) -> Peak {
    let mut left = rng.f32();
    let mut last = 0;
    for (id, &mass) in p.iter().enumerate() {
        if mass > 0.0 {
            last = id;
            if left < mass {
                break;
            }
            left -= mass;
        }
    }
    Peak { id: last as u32, probability: p.get(last).copied().unwrap_or(0.0) }
}

#[cfg(test)]
#[path = "sampling_tests.rs"]
mod tests;
