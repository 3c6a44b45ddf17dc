//! Rounds that a card does ahead of its requests, and drafts that it shortens: on an emulated card.

use std::sync::Barrier;

use engine::checkpoint::{Checkpoint, ModelConfig, Weights};
use engine::decode::{Decode, Drafter, Fused, Limits, Target, decode};
use engine::device::{DeviceModel, DeviceSession, Extent, Plan};
use engine::model::ImageFeatures;
use kernels::cuda::fake::{Call, Fake, Log};

use crate::checks::{self, NEVER, fixtures};
use crate::emulated::{GIB, available};

/// Random sizes and weights on an emulated card, and its calls.
struct Card {
    config: ModelConfig,
    device: DeviceModel,
    log: Log,
}

impl Card {
    /// With room for so many requests.
    fn new(seed: u64, sequences: usize, ends: &[u32]) -> Self {
        let checkpoint = Checkpoint::open(&fixtures().join("glm_ocr_tiny")).unwrap();
        let (config, weights): (ModelConfig, Weights) =
            checks::random(&checkpoint.config, &mut fastrand::Rng::with_seed(seed));
        let driver = Fake::emulated(GIB);
        let log = driver.log();
        let plan = Plan::new(&config, Extent { sequences, cache_tokens: 400 * sequences, sequence_tokens: 400 });
        let device = DeviceModel::planned(Box::new(driver), &config, &weights, ends, plan).unwrap();
        Self { config, device, log }
    }

    fn session(&self, prompt: &[u32]) -> DeviceSession<'_> {
        let image = ImageFeatures { grid: [0, 0], rows: Vec::new() };
        self.device.session(prompt, &image, 200, &NEVER).unwrap()
    }

    fn drafter(&self, block: usize) -> Drafter {
        Drafter { block, mask: self.config.text.vocab_size as u32 - 1 }
    }

    /// Rounds that were started, launch by launch or as graphs.
    fn rounds(&self) -> usize {
        self.log.count(|call| matches!(call, Call::Launch("settle") | Call::Replay(_)))
    }

    fn tokens(&self, prompt: &[u32], mode: Decode, block: usize, max_tokens: usize) -> Vec<u32> {
        let limits = Limits { max_tokens, end_tokens: &[], cancel: &NEVER };
        let drafter = Some(self.drafter(block));
        decode(&mut self.session(prompt), mode, drafter, None, &limits, &mut ()).unwrap().tokens
    }
}

/// The next boundary token.
fn next(fused: &Fused) -> u32 {
    fused.verify[fused.accepted].id
}

#[test]
fn the_next_round_is_under_way_when_one_is_answered() {
    if !available() {
        return;
    }
    let card = Card::new(1, 1, &[]);
    let drafter = card.drafter(8);
    let mut session = card.session(&[1, 2, 3]);
    let first = session.prefill().unwrap().id;
    let fused = session.round(first, drafter, 100).unwrap().unwrap();
    assert_eq!(card.rounds(), 2);
    let again = session.round(next(&fused), drafter, 50).unwrap().unwrap();
    assert_eq!(card.rounds(), 3);
    // Nothing is done of which nothing is wanted.
    let room = fused.accepted + again.accepted + 4;
    drop(session);
    let before = card.rounds();
    let mut session = card.session(&[1, 2, 3]);
    session.prefill().unwrap();
    session.round(first, drafter, room).unwrap();
    assert_eq!(session.round(next(&fused), drafter, again.accepted + 2).unwrap().unwrap().verify, again.verify);
    assert_eq!(card.rounds() - before, 2);
}

#[test]
fn the_next_token_is_under_way_when_one_is_answered() {
    if !available() {
        return;
    }
    let card = Card::new(1, 1, &[]);
    let mut session = card.session(&[1, 2, 3]);
    let mut boundary = session.prefill().unwrap().id;
    for (room, rounds) in [(3, 2), (2, 3), (1, 3)] {
        let (next, _) = session.token(boundary, room).unwrap().unwrap();
        assert_eq!(card.rounds(), rounds, "{room} are wanted");
        boundary = next.id;
    }
    assert_eq!(session.cached(), 6);
}

#[test]
fn the_card_does_not_go_past_an_end_token() {
    if !available() {
        return;
    }
    let prompt = [1, 2, 3];
    let tokens = Card::new(2, 1, &[]).tokens(&prompt, Decode::Ar, 8, 40);
    let (&end, at) = tokens.iter().zip(0..).skip(4).find(|(id, at)| !tokens[..*at].contains(id)).unwrap();
    let card = Card::new(2, 1, &[end]);
    let limits = Limits { max_tokens: 40, end_tokens: &[end], cancel: &NEVER };
    let mut session = card.session(&prompt);
    let spec = decode(&mut session, Decode::SPEC, Some(card.drafter(8)), None, &limits, &mut ()).unwrap();
    assert_eq!(spec.tokens, tokens[..=at]);
    assert_eq!(card.rounds(), spec.rounds.len() - 1, "one for each that was asked for");
}

/// A request that goes away while the card works ahead for it leaves nothing behind for the next one in its place, nor does
/// one that turns back.
#[test]
fn what_was_done_ahead_is_for_its_request_alone() {
    if !available() {
        return;
    }
    let card = Card::new(3, 1, &[]);
    let drafter = card.drafter(8);
    let want = card.tokens(&[9, 8, 7, 6, 5], Decode::Ar, 8, 60);
    let mut gone = card.session(&[1, 2, 3]);
    let first = gone.prefill().unwrap().id;
    gone.round(first, drafter, 100).unwrap();
    drop(gone);
    assert_eq!(card.tokens(&[9, 8, 7, 6, 5], Decode::SPEC, 8, 60), want);

    let mut session = card.session(&[1, 2, 3]);
    session.prefill().unwrap();
    session.round(first, drafter, 100).unwrap();
    session.truncate(3);
    let other = (first + 1) % 10;
    let turned = session.round(other, drafter, 100).unwrap().unwrap();
    drop(session);
    let mut fresh = card.session(&[1, 2, 3]);
    fresh.prefill().unwrap();
    let want = fresh.round(other, drafter, 100).unwrap().unwrap();
    assert_eq!((turned.draft, turned.verify), (want.draft, want.verify));
}

/// Requests that come and go at different times, drafting, one token at a time and by forwards, on a card whose time grows
/// with its rows: all give what they give alone, and drafts get shorter where rows cost.
#[test]
fn a_crowd_reads_what_each_reads_alone_with_shorter_drafts() {
    if !available() {
        return;
    }
    let card = Card::new(4, 4, &[]);
    let prompts: Vec<Vec<u32>> = (1..=7).map(|n| (0..n).map(|at| (n * 5 + at) % 17).collect()).collect();
    let mode = |n: usize| match n {
        3 => Decode::Ar,
        5 => Decode::Spec { steps: 2 },
        _ => Decode::SPEC,
    };
    let want: Vec<_> = prompts.iter().map(|prompt| card.tokens(prompt, Decode::Ar, 32, 64)).collect();
    let barrier = Barrier::new(prompts.len());
    let (got, drafts): (Vec<_>, Vec<_>) = std::thread::scope(|scope| {
        let threads: Vec<_> = prompts
            .iter()
            .enumerate()
            .map(|(n, prompt)| {
                let (card, barrier) = (&card, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let limits = Limits { max_tokens: 16 + 8 * n, end_tokens: &[], cancel: &NEVER };
                    let drafter = Some(card.drafter(32));
                    let decoded = decode(&mut card.session(prompt), mode(n), drafter, None, &limits, &mut ()).unwrap();
                    let drafted = decoded.rounds.iter().map(|round| round.draft.len());
                    let drafts: Vec<usize> = drafted.filter(|&length| length > 0).collect();
                    (decoded.tokens, drafts)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).unzip()
    });
    for (n, (got, want)) in got.iter().zip(&want).enumerate() {
        assert_eq!(got, &want[..16 + 8 * n], "request {n}");
    }
    let drafts = drafts.concat();
    assert!(drafts.iter().any(|&length| length < 32), "{drafts:?}");
    assert!(drafts.iter().all(|length| [32, 24, 16, 8].contains(length)), "{drafts:?}");
}

/// A block that is larger than the card's windows is drafted in part.
#[test]
fn a_large_block_is_cut_to_the_window() {
    if !available() {
        return;
    }
    let card = Card::new(6, 1, &[]);
    let prompt = [1, 2, 3];
    let limits = Limits { max_tokens: 12, end_tokens: &[], cancel: &NEVER };
    let drafter = Some(card.drafter(64));
    let spec = decode(&mut card.session(&prompt), Decode::SPEC, drafter, None, &limits, &mut ()).unwrap();
    assert_eq!(spec.tokens, card.tokens(&prompt, Decode::Ar, 64, 12));
    assert!(spec.rounds[1..].iter().all(|round| round.draft.len() == 39));
}

/// A request whose room is used up hears it; those in its batch go on.
#[test]
fn a_request_without_room_does_not_harm_the_others() {
    if !available() {
        return;
    }
    let card = Card::new(5, 2, &[]);
    let image = ImageFeatures { grid: [0, 0], rows: Vec::new() };
    let prompt = [1, 2, 3];
    let want = card.tokens(&prompt, Decode::Ar, 32, 120);
    let barrier = Barrier::new(2);
    let limits = Limits { max_tokens: 120, end_tokens: &[], cancel: &NEVER };
    let run = |room: usize, mode| {
        let mut session = card.device.session(&prompt, &image, room, &NEVER).unwrap();
        barrier.wait();
        decode(&mut session, mode, Some(card.drafter(32)), None, &limits, &mut ())
    };
    for mode in [Decode::SPEC, Decode::Ar] {
        std::thread::scope(|scope| {
            let small = scope.spawn(|| run(0, mode));
            let large = scope.spawn(|| run(200, mode));
            let error = small.join().unwrap().unwrap_err();
            assert_eq!(error.to_string(), "the answer is longer than the card has room for", "{mode:?}");
            assert_eq!(large.join().unwrap().unwrap().tokens, want, "{mode:?}");
        });
    }
    assert_eq!(card.device.fault(), None);
}
