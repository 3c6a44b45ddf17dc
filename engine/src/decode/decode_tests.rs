//! Decoding over a scripted model. The script's causal rows depend on the cached tokens themselves, so a cache that keeps
//! a rejected draft, loses a token or keeps a mask row's state shows up as different text.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::ops::ControlFlow;
use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::cancel::Cancel;

/// Vocabulary of the script; the mask token is the last id.
const VOCAB: u32 = 13;
const MASK: u32 = VOCAB - 1;

/// A deterministic "language": the logits after a prefix hash all of it. Drafts copy the truth with some probability.
struct Script {
    seed: u64,
    /// In 0..=8: how many of eight draft rows guess as the causal row would.
    skill: u64,
    /// Cached tokens; a row that saw the window's future is remembered as spoiled.
    cache: Vec<(u32, bool)>,
    logits: Vec<Vec<f32>>,
    kept: bool,
    forwards: usize,
    cancel_after: Option<(usize, Cancel)>,
    /// The forward, from 0 for the prefill, that is cancelled on the way.
    broken_off: Option<usize>,
}

impl Script {
    fn new(seed: u64, skill: u64) -> Self {
        Self {
            seed,
            skill,
            cache: Vec::new(),
            logits: Vec::new(),
            kept: false,
            forwards: 0,
            cancel_after: None,
            broken_off: None,
        }
    }

    fn hash(&self, prefix: &[u32], salt: u64) -> u64 {
        prefix.iter().fold(self.seed ^ salt, |h, &t| {
            let h = (h ^ u64::from(t)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            h ^ (h >> 29)
        })
    }

    /// Logits after a prefix.
    fn row(&self, prefix: &[u32], salt: u64) -> Vec<f32> {
        (0..u64::from(VOCAB)).map(|id| (self.hash(prefix, salt ^ (id << 32)) >> 40) as f32 / 4e6).collect()
    }

    /// The greedy continuation of a prefix, computed without any cache.
    fn greedy(&self, limits: &Limits<'_>) -> Vec<u32> {
        let mut tokens = vec![0];
        while tokens.len() <= limits.max_tokens {
            tokens.push(peak(&self.row(&tokens, 0)).id);
            if limits.end_tokens.contains(tokens.last().unwrap()) {
                break;
            }
        }
        tokens.split_off(1)
    }
}

fn peak(row: &[f32]) -> Peak {
    let max = row.iter().copied().fold(f32::MIN, f32::max);
    let id = row.iter().position(|&v| v == max).unwrap() as u32;
    Peak { id, probability: 1.0 / row.iter().map(|v| (v - max).exp()).sum::<f32>() }
}

impl Target for Script {
    fn prefill(&mut self) -> Result<Peak, TargetError> {
        if self.broken_off == Some(0) {
            return Err(TargetError::Cancelled);
        }
        self.cache = vec![(0, false)];
        self.logits = vec![self.row(&[0], 0)];
        Ok(peak(&self.logits[0]))
    }

    fn forward(&mut self, window: &[u32], mask: Mask, peaks: &mut Vec<Peak>) -> Result<(), TargetError> {
        assert!(!window.is_empty());
        assert!(self.cache.iter().all(|(_, spoiled)| !spoiled), "a row that saw the future stayed in the cache");
        self.forwards += 1;
        if let Some((after, cancel)) = &self.cancel_after
            && self.forwards == *after
        {
            cancel.cancel();
        }
        if self.broken_off == Some(self.forwards) {
            return Err(TargetError::Cancelled);
        }
        let past: Vec<u32> = self.cache.iter().map(|(t, _)| *t).collect();
        self.logits = (0..window.len())
            .map(|row| {
                let causal = mask == Mask::Causal || (mask == Mask::Draft && row == 0);
                let prefix = [&past, &window[..=row]].concat();
                if causal {
                    return self.row(&prefix, 0);
                }
                // A draft row knows what stands before it only as far as it can guess it.
                let mut guess = past.clone();
                guess.extend(window.iter().take(row + 1).filter(|&&t| t != MASK));
                while guess.len() < prefix.len() {
                    guess.push(peak(&self.row(&guess, 0)).id);
                }
                let lucky = self.hash(&guess, 77) % 8 < self.skill;
                self.row(&guess, if lucky { 0 } else { 99 })
            })
            .collect();
        let future = |row: usize| mask == Mask::Block || (mask == Mask::Draft && row > 0);
        self.cache.extend(window.iter().enumerate().map(|(row, &t)| (t, future(row))));
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

    fn keep_logits(&mut self, keep: bool) {
        self.kept = keep;
    }

    fn logits(&self, row: usize) -> &[f32] {
        assert!(self.kept, "logits are there when they were asked for");
        &self.logits[row]
    }
}

/// A target that does whole rounds and steps, and drafts what it likes, never more than B tokens.
struct Whole(Script);

impl Target for Whole {
    fn prefill(&mut self) -> Result<Peak, TargetError> {
        self.0.prefill()
    }

    fn forward(&mut self, _: &[u32], _: Mask, _: &mut Vec<Peak>) -> Result<(), TargetError> {
        Err(TargetError::failed("it was asked for a forward"))
    }

    fn round(&mut self, boundary: u32, drafter: Drafter, room: usize) -> Result<Option<Fused>, TargetError> {
        assert!(room > 0, "a round was asked for of which nothing is wanted");
        let past = self.cached();
        let length = 1 + self.0.hash(&[boundary], past as u64) as usize % drafter.block;
        let (mut draft, mut verify) = (Vec::new(), Vec::new());
        let mut window = vec![drafter.mask; length + 1];
        window[0] = boundary;
        self.0.forward(&window, Mask::Draft, &mut draft)?;
        self.truncate(past + 1);
        let window: Vec<u32> = draft.iter().map(|peak| peak.id).collect();
        self.0.forward(&window, Mask::Causal, &mut verify)?;
        let accepted = draft[1..].iter().zip(&verify).take_while(|(d, a)| d.id == a.id).count();
        self.truncate(past + 2 + accepted);
        Ok(Some(Fused { draft, verify, accepted, draft_ms: 1.0, verify_ms: 1.0 }))
    }

    fn token(&mut self, boundary: u32, room: usize) -> Result<Option<(Peak, f64)>, TargetError> {
        assert!(room > 0, "a token was asked for that is not wanted");
        let mut peaks = Vec::new();
        self.0.forward(&[boundary], Mask::Causal, &mut peaks)?;
        Ok(Some((peaks[0], 1.0)))
    }

    fn cached(&self) -> usize {
        self.0.cached()
    }

    fn truncate(&mut self, tokens: usize) {
        self.0.truncate(tokens);
    }

    fn keep_logits(&mut self, keep: bool) {
        self.0.keep_logits(keep);
    }

    fn logits(&self, row: usize) -> &[f32] {
        self.0.logits(row)
    }
}

static NEVER: LazyLock<Cancel> = LazyLock::new(Cancel::new);

fn run(script: &mut Script, mode: Decode, block: usize, limits: &Limits<'_>) -> Decoded {
    decode(script, mode, Some(Drafter { block, mask: MASK }), None, limits, &mut ()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// The invariant: every block size, limit, skill and set of end tokens gives the greedy sequence.
    #[test]
    fn speculative_equals_autoregressive(
        seed: u64, skill in 0u64..=8, block in 1usize..=40, max_tokens in 0usize..70, steps in 1u32..5,
        end_tokens in prop::collection::vec(0..VOCAB, 0..3),
    ) {
        let limits = Limits { max_tokens, end_tokens: &end_tokens, cancel: &NEVER };
        let truth = Script::new(seed, skill).greedy(&limits);
        let ar = run(&mut Script::new(seed, skill), Decode::Ar, block, &limits);
        prop_assert_eq!(&ar.tokens, &truth);
        let spec = run(&mut Script::new(seed, skill), Decode::Spec { steps }, block, &limits);
        prop_assert_eq!(&spec.tokens, &truth);
        prop_assert_eq!(spec.stop, ar.stop);
        let ends = truth.last().is_some_and(|t| end_tokens.contains(t));
        prop_assert_eq!(spec.stop, if ends { Stop::End } else { Stop::Length });

        // The record adds up.
        let told: Vec<u32> = spec.rounds.iter().flat_map(|r| r.committed.iter().map(|t| t.id)).collect();
        prop_assert_eq!(&told, &truth);
        for (n, round) in spec.rounds.iter().enumerate() {
            prop_assert_eq!(round.index as usize, n);
            if n == 0 { continue; }
            prop_assert_eq!(round.draft.len(), block);
            prop_assert_eq!(round.verify.len(), block + 1);
            prop_assert!(round.accepted as usize <= block);
            if n + 1 < spec.rounds.len() {
                prop_assert_eq!(round.committed.len(), round.accepted as usize + 2);
            }
            if steps == 1 {
                prop_assert_eq!((round.draft_forwards, round.verify_forwards), (1, 1));
            } else {
                prop_assert!(round.draft_forwards <= steps);
                prop_assert_eq!(round.steps.iter().map(|s| s.filled.len()).sum::<usize>(), block);
            }
        }
    }

    /// The invariant again, over a target that does rounds of its own and drafts more or less each time.
    #[test]
    fn whole_rounds_of_any_length_equal_autoregressive(
        seed: u64, skill in 0u64..=8, block in 1usize..=40, max_tokens in 0usize..70,
        end_tokens in prop::collection::vec(0..VOCAB, 0..3),
    ) {
        let limits = Limits { max_tokens, end_tokens: &end_tokens, cancel: &NEVER };
        let drafter = Some(Drafter { block, mask: MASK });
        let mut target = Whole(Script::new(seed, skill));
        let spec = decode(&mut target, Decode::SPEC, drafter, None, &limits, &mut ()).unwrap();
        prop_assert_eq!(&spec.tokens, &Script::new(seed, skill).greedy(&limits));
        let mut target = Whole(Script::new(seed, skill));
        let ar = decode(&mut target, Decode::Ar, None, None, &limits, &mut ()).unwrap();
        prop_assert_eq!(&ar.tokens, &spec.tokens);
        for (n, round) in spec.rounds.iter().enumerate().skip(1) {
            prop_assert_eq!(round.verify.len(), round.draft.len() + 1);
            if n + 1 < spec.rounds.len() {
                let all = round.accepted as usize == round.draft.len();
                let last = if all { Origin::Bonus } else { Origin::Correction };
                prop_assert_eq!(round.committed.last().unwrap().origin, last);
            }
        }
    }

    /// A perfect drafter commits B + 2 tokens in each full round.
    #[test]
    fn perfect_drafts_are_accepted_whole(seed: u64, block in 1usize..=40) {
        let limits = Limits { max_tokens: 200, end_tokens: &[], cancel: &NEVER };
        let spec = run(&mut Script::new(seed, 8), Decode::SPEC, block, &limits);
        let full = spec.rounds.len() - 1;
        for round in &spec.rounds[1..full] {
            prop_assert_eq!(round.accepted as usize, block);
            prop_assert_eq!(round.committed.last().unwrap().origin, Origin::Bonus);
        }
    }

    /// Unverified diffusion keeps its own promises: limits, ends, whole blocks, and with tau under zero one step a block.
    #[test]
    fn diffusion_ends_where_it_should(
        seed: u64, block in 1usize..=40, max_tokens in 0usize..70, tau in -0.1f32..1.0, end in 0..VOCAB,
    ) {
        let ends = [end];
        let limits = Limits { max_tokens, end_tokens: &ends, cancel: &NEVER };
        for causal_seed in [false, true] {
            let out = run(&mut Script::new(seed, 5), Decode::Diffusion { tau, causal_seed }, block, &limits);
            prop_assert!(out.tokens.len() <= max_tokens);
            match out.stop {
                Stop::End => prop_assert_eq!(out.tokens.last(), Some(&end)),
                Stop::Length => prop_assert_eq!(out.tokens.len(), max_tokens),
                Stop::Cancelled | Stop::Observer => prop_assert!(false),
            }
            let early = out.tokens.len().saturating_sub(1);
            prop_assert!(!out.tokens[..early].contains(&end));
            for round in out.rounds.iter().skip(1) {
                prop_assert!(round.steps.len() < block.max(1));
                if tau < 0.0 {
                    prop_assert!(round.steps.len() <= 1);
                }
            }
        }
    }

    /// Cancelling acts before the next forward and keeps what was committed.
    #[test]
    fn cancel_acts_between_forwards(seed: u64, after in 1usize..12, mode in 0usize..3) {
        let cancel = Cancel::new();
        let limits = Limits { max_tokens: 10_000, end_tokens: &[], cancel: &cancel };
        let mode = [Decode::Ar, Decode::SPEC, Decode::Diffusion { tau: 0.9, causal_seed: false }][mode];
        let mut script = Script::new(seed, 6);
        script.cancel_after = Some((after, cancel.clone()));
        let out = run(&mut script, mode, 8, &limits);
        prop_assert_eq!(out.stop, Stop::Cancelled);
        prop_assert_eq!(script.forwards, after);
        if !matches!(mode, Decode::Diffusion { .. }) {
            let truth = Script::new(seed, 6).greedy(&Limits { max_tokens: out.tokens.len(), end_tokens: &[], cancel: &NEVER });
            prop_assert_eq!(out.tokens, truth);
        }
    }

    /// A forward that is cancelled on the way (the prefill, a draft, a verification) leaves the rounds before it, whole.
    #[test]
    fn a_forward_cancelled_on_the_way_commits_nothing(seed: u64, at in 0usize..14, mode in 0usize..4) {
        let limits = Limits { max_tokens: 400, end_tokens: &[], cancel: &NEVER };
        let mode = [
            Decode::Ar, Decode::SPEC, Decode::Spec { steps: 3 }, Decode::Diffusion { tau: 0.9, causal_seed: false },
        ][mode];
        let drafter = Some(Drafter { block: 8, mask: MASK });
        let whole = mode == Decode::SPEC && seed.is_multiple_of(2);
        let run = |broken_off| {
            let script = Script { broken_off, ..Script::new(seed, 6) };
            let mut target: Box<dyn Target> = if whole { Box::new(Whole(script)) } else { Box::new(script) };
            decode(target.as_mut(), mode, drafter, None, &limits, &mut ()).unwrap()
        };
        let timeless = |rounds: &[Round]| -> Vec<Round> {
            let timeless = |r: &Round| Round { prefill_ms: 0.0, draft_ms: 0.0, verify_ms: 0.0, ..r.clone() };
            rounds.iter().map(timeless).collect()
        };
        let (all, some) = (run(None), run(Some(at)));
        prop_assert_eq!(some.stop, Stop::Cancelled);
        prop_assert!(all.tokens.starts_with(&some.tokens));
        prop_assert_eq!(timeless(&some.rounds), timeless(&all.rounds[..some.rounds.len()]));
        // Every forward before it belongs to a round that was committed, or to the one that was not.
        let forwards = 1 + all.rounds[..some.rounds.len()].iter().map(|r| r.draft_forwards + r.verify_forwards).sum::<u32>();
        let next = all.rounds[some.rounds.len()].clone();
        let next = (next.draft_forwards + next.verify_forwards).max(1);
        if at == 0 {
            prop_assert!(some.rounds.is_empty());
        } else {
            prop_assert!((forwards..forwards + next).contains(&(at as u32)), "{} in {}..+{}", at, forwards, next);
        }
    }
}

#[test]
fn a_checkpoint_that_cannot_draft_is_refused_with_a_sentence() {
    let limits = Limits { max_tokens: 5, end_tokens: &[], cancel: &NEVER };
    let err = decode(&mut Script::new(1, 1), Decode::SPEC, None, None, &limits, &mut ()).unwrap_err();
    assert!(err.to_string().contains("only autoregressive"), "{err}");
    assert!(decode(&mut Script::new(1, 1), Decode::Ar, None, None, &limits, &mut ()).is_ok());
}

#[test]
fn the_observer_hears_drafts_before_their_round() {
    #[derive(Default)]
    struct Log(Vec<String>);
    impl Observer for Log {
        fn drafted(&mut self, round: u32, tokens: &[u32]) {
            self.0.push(format!("draft {round} of {}", tokens.len()));
        }
        fn committed(&mut self, round: &Round) -> ControlFlow<()> {
            self.0.push(format!("round {}", round.index));
            ControlFlow::Continue(())
        }
    }
    let mut log = Log::default();
    let limits = Limits { max_tokens: 4, end_tokens: &[], cancel: &NEVER };
    let drafter = Some(Drafter { block: 3, mask: MASK });
    decode(&mut Script::new(9, 0), Decode::SPEC, drafter, None, &limits, &mut log).unwrap();
    assert_eq!(log.0[..3], ["round 0", "draft 1 of 4", "round 1"]);
}

/// At a temperature, speculative sampling draws from the autoregressive distribution: frequencies of two-token endings
/// against their exact probabilities.
#[test]
fn sampling_keeps_the_autoregressive_distribution() {
    let temperature = 0.7;
    let softmax = |row: &[f32]| {
        let e: Vec<f64> = row.iter().map(|v| f64::from(v / temperature).exp()).collect();
        let sum: f64 = e.iter().sum();
        e.into_iter().map(|v| v / sum).collect::<Vec<_>>()
    };
    let script = Script::new(42, 4);
    // Exact distribution of the third token, the first that a verifier decides.
    let mut exact = vec![0.0; VOCAB as usize];
    for (t1, p1) in softmax(&script.row(&[0], 0)).into_iter().enumerate() {
        for (t2, p2) in softmax(&script.row(&[0, t1 as u32], 0)).into_iter().enumerate() {
            for (t3, p3) in softmax(&script.row(&[0, t1 as u32, t2 as u32], 0)).into_iter().enumerate() {
                exact[t3] += p1 * p2 * p3;
            }
        }
    }
    let runs = 20_000;
    for mode in [Decode::Ar, Decode::SPEC, Decode::Spec { steps: 2 }] {
        let mut counts = vec![0.0f64; VOCAB as usize];
        for seed in 0..runs {
            let limits = Limits { max_tokens: 3, end_tokens: &[], cancel: &NEVER };
            let sampling = Some(Sampling { temperature, seed });
            let drafter = Some(Drafter { block: 4, mask: MASK });
            let out = decode(&mut Script::new(42, 4), mode, drafter, sampling, &limits, &mut ()).unwrap();
            counts[out.tokens[2] as usize] += 1.0;
        }
        // Pearson's statistic with 12 degrees of freedom exceeds 32.9 once in a thousand; seeds are fixed.
        let n = runs as f64;
        let chi: f64 = exact.iter().zip(&counts).map(|(p, c)| (c - n * p).powi(2) / (n * p)).sum();
        assert!(chi < 32.9, "{mode:?}: {chi}");
    }
}
