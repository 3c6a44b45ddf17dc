//! Sampling over a model of a few tokens, whose distributions are known: what drafting and verifying gives must be
//! distributed as what one forward per token gives, over several tokens together.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use crate::cancel::Cancel;

use super::super::*;
use super::softmax;

/// Tokens of the model; the last is the mask, which no causal row gives and draft rows may.
const VOCAB: u32 = 4;
const MASK: u32 = VOCAB - 1;
/// Tokens of an answer, over which the distribution is compared.
const LENGTH: usize = 4;
const ANSWERS: usize = (MASK as usize).pow(LENGTH as u32);
/// Answers that are drawn.
const DRAWS: u64 = 30_000;
/// Chi-square of 80 degrees of freedom (all answers but one) is below this, but for one seed in a million.
const CRITICAL: f64 = 153.0;

/// The logits after each prefix are made from its hash, those of draft rows from another one.
#[derive(Default)]
struct Model {
    cache: Vec<u32>,
    logits: Vec<Vec<f32>>,
    /// Whether its verification repeats what the draft rows said, so that every drawn draft is accepted.
    agrees_always: bool,
    drafted: Vec<Vec<f32>>,
}

/// The logits after a prefix: as different as 3 to 1 in probability.
fn logits(prefix: &[u32], salt: u64) -> Vec<f32> {
    let hash = prefix.iter().fold(salt, |hash, &token| {
        let hash = (hash ^ u64::from(token + 1)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash ^ (hash >> 29)
    });
    (0..VOCAB).map(|token| (hash >> (16 * token) & 0xFFFF) as f32 / 60_000.0).collect()
}

fn causal(prefix: &[u32]) -> Vec<f32> {
    let mut logits = logits(prefix, 1);
    logits[MASK as usize] = f32::NEG_INFINITY;
    logits
}

fn peak(row: &[f32]) -> Peak {
    let id = (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
    Peak { id: id as u32, probability: softmax(row, 1.0)[id] }
}

impl Target for Model {
    fn prefill(&mut self) -> Result<Peak, TargetError> {
        self.cache = vec![0];
        self.logits = vec![causal(&[0])];
        Ok(peak(&self.logits[0]))
    }

    fn forward(&mut self, window: &[u32], mask: Mask, peaks: &mut Vec<Peak>) -> Result<(), TargetError> {
        let past = self.cache.len();
        self.cache.extend_from_slice(window);
        let row = |row: usize| {
            let prefix = &self.cache[..=past + row];
            if mask == Mask::Causal || row == 0 { causal(prefix) } else { logits(prefix, 2) }
        };
        self.logits = (0..window.len()).map(row).collect();
        if mask == Mask::Draft {
            self.drafted = self.logits[1..].to_vec();
        } else if self.agrees_always {
            self.logits[..self.drafted.len()].clone_from_slice(&self.drafted);
        }
        peaks.clear();
        peaks.extend(self.logits.iter().map(|row| peak(row)));
        Ok(())
    }

    fn cached(&self) -> usize {
        self.cache.len()
    }

    fn truncate(&mut self, tokens: usize) {
        self.cache.truncate(tokens);
    }

    fn keep_logits(&mut self, _: bool) {}

    fn logits(&self, row: usize) -> &[f32] {
        &self.logits[row]
    }
}

/// The number of an answer.
fn index(answer: &[u32]) -> usize {
    answer.iter().fold(0, |index, &token| index * MASK as usize + token as usize)
}

/// The probability of every answer, from the causal rows alone.
fn exact(temperature: f32) -> Vec<f64> {
    let mut probabilities = vec![1.0];
    let mut prefixes = vec![vec![0]];
    for _ in 0..LENGTH {
        let next = prefixes.iter().zip(&probabilities).flat_map(|(prefix, &probability)| {
            let p = softmax(&causal(prefix), temperature);
            (0..MASK)
                .map(move |token| ([prefix.as_slice(), &[token]].concat(), probability * f64::from(p[token as usize])))
        });
        (prefixes, probabilities) = next.unzip();
    }
    probabilities
}

/// How far the answers of `DRAWS` seeds are from the exact distribution.
fn chi_square(mode: Decode, block: usize, temperature: f32, agrees_always: bool) -> f64 {
    let cancel = Cancel::new();
    let limits = Limits { max_tokens: LENGTH, end_tokens: &[], cancel: &cancel };
    let mut counts = vec![0_u32; ANSWERS];
    for seed in 0..DRAWS {
        let mut model = Model { agrees_always, ..Model::default() };
        let sampling = Some(Sampling { temperature, seed });
        let drafter = Some(Drafter { block, mask: MASK });
        let decoded = decode(&mut model, mode, drafter, sampling, &limits, &mut ()).unwrap();
        assert!(decoded.tokens.len() == LENGTH);
        // A draft may hold the mask, and a rule that accepts it would commit it.
        if decoded.tokens.iter().all(|&token| token < MASK) {
            counts[index(&decoded.tokens)] += 1;
        }
    }
    let distance = |(count, probability): (&u32, &f64)| {
        let expected = probability * DRAWS as f64;
        assert!(expected > 5.0, "the test wants more draws");
        (f64::from(*count) - expected).powi(2) / expected
    };
    counts.iter().zip(&exact(temperature)).map(distance).sum()
}

#[test]
fn speculative_sampling_is_distributed_as_autoregressive_sampling() {
    let ar = chi_square(Decode::Ar, 1, 1.0, false);
    assert!(ar < CRITICAL, "the draws themselves: {ar}");
    // Whole drafts are drawn from the draft rows; with more steps they are chosen outright.
    for (steps, block, temperature) in [(1, 3, 1.0), (1, 1, 1.0), (1, 2, 1.5), (2, 3, 1.0), (3, 4, 1.5)] {
        let spec = chi_square(Decode::Spec { steps }, block, temperature, false);
        assert!(spec < CRITICAL, "{steps} steps, {block} drafts, temperature {temperature}: {spec}");
    }
}

#[test]
fn the_comparison_notices_a_wrong_rule() {
    for (steps, block) in [(1, 3), (2, 3)] {
        let wrong = chi_square(Decode::Spec { steps }, block, 1.0, true);
        assert!(wrong > 10.0 * CRITICAL, "every draft was accepted: {wrong}");
    }
}

#[test]
fn diffusion_and_temperature_zero_take_no_chance() {
    let cancel = Cancel::new();
    let limits = Limits { max_tokens: LENGTH, end_tokens: &[], cancel: &cancel };
    let drafter = Some(Drafter { block: 3, mask: MASK });
    let answer = |mode, temperature, seed| {
        let sampling = Some(Sampling { temperature, seed });
        decode(&mut Model::default(), mode, drafter, sampling, &limits, &mut ()).unwrap().tokens
    };
    for (mode, temperature) in [(Decode::SPEC, 0.0), (Decode::Diffusion { tau: 0.9, causal_seed: false }, 2.0)] {
        let greedy = decode(&mut Model::default(), mode, drafter, None, &limits, &mut ()).unwrap().tokens;
        assert!((0..50).all(|seed| answer(mode, temperature, seed) == greedy), "{mode:?}");
    }
    let drawn: std::collections::BTreeSet<_> = (0..50).map(|seed| answer(Decode::SPEC, 1.0, seed)).collect();
    assert!(drawn.len() > 10, "other seeds give other answers: {drawn:?}");
    assert_eq!(answer(Decode::SPEC, 1.0, 7), answer(Decode::SPEC, 1.0, 7));
}
