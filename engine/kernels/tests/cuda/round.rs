//! What happens between forwards.

use kernels::cuda::abi::*;
use kernels::cuda::launch::Launch;

use super::harness::*;

const MASK: i32 = 596;

fn peaks(ids: &[i32]) -> Vec<Peak> {
    ids.iter().map(|&id| Peak { id, probability: id as f32 / 1000.0, second: id + 1, gap: 0.5 }).collect()
}

/// What the kernels of a round read and write.
struct RoundBuffers {
    slots: Vec<Slot>,
    sequence_slots: Vec<i32>,
    ids: Vec<i32>,
    draft: Vec<Peak>,
    verify: Vec<Peak>,
    records: Vec<Record>,
    ends: Vec<i32>,
    window: usize,
}

impl RoundBuffers {
    fn new(slots: Vec<Slot>, window: usize) -> Self {
        let count = slots.len();
        Self {
            sequence_slots: (0..count as i32).collect(),
            ids: vec![i32::MIN; count * window],
            draft: peaks(&vec![0; count * window]),
            verify: peaks(&vec![0; count * window]),
            records: vec![Record::default(); count],
            ends: vec![560, 567],
            slots,
            window,
        }
    }

    /// Runs one of the round's kernels and takes over what it wrote.
    fn run(&mut self, card: &Card, launch: impl Fn(&RoundArguments) -> Launch) {
        let (slots, sequence_slots, ids) = (card.put(&self.slots), card.put(&self.sequence_slots), card.put(&self.ids));
        let (draft, verify) = (card.put(&self.draft), card.put(&self.verify));
        let (records, ends) = (card.put(&self.records), card.put(&self.ends));
        card.run(launch(&RoundArguments {
            slots: slots.at(),
            sequence_slots: sequence_slots.at(),
            ids: ids.at(),
            draft: draft.at(),
            verify: verify.at(),
            records: records.at(),
            ends: ends.at(),
            sequences: self.sequence_slots.len() as i32,
            window: self.window as i32,
            filler: MASK,
            end_count: self.ends.len() as i32,
        }));
        (self.slots, self.ids, self.records) = (slots.get(), ids.get(), records.get());
    }
}

fn running(cached: i32, capacity: i32, boundary: i32) -> Slot {
    Slot { cached, capacity, boundary, state: state::RUNNING, ..Default::default() }
}

#[test]
fn a_draft_window_is_the_boundary_token_and_masks() {
    let Some(card) = Card::open() else { return };
    // A draft window of 4 and a verifier's from one token later on: 5 places.
    let mut round = RoundBuffers::new(vec![running(10, 15, 42), running(11, 15, 43), running(3, 15, 44)], 4);
    round.slots[2].state = state::ENDED;
    round.run(&card, RoundArguments::begin);
    assert_eq!(round.ids, [42, MASK, MASK, MASK, 43, MASK, MASK, MASK, MASK, MASK, MASK, MASK]);
    assert_eq!(round.slots.iter().map(|s| s.state).collect::<Vec<_>>(), [state::RUNNING, state::FULL, state::ENDED]);

    round.draft = peaks(&[7, 8, 9, 10, 1, 1, 1, 1, 2, 2, 2, 2]);
    round.run(&card, RoundArguments::begin_verify);
    assert_eq!(round.ids[..4], [7, 8, 9, 10]);
    assert_eq!(round.slots.iter().map(|s| s.cached).collect::<Vec<_>>(), [11, 11, 3]);
}

#[test]
fn a_window_of_one_is_the_boundary_token_and_needs_one_place() {
    let Some(card) = Card::open() else { return };
    let mut round = RoundBuffers::new(vec![running(14, 15, 42), running(15, 15, 43)], 1);
    round.sequence_slots = vec![1, 0, -1];
    round.ids = vec![0; 3];
    round.run(&card, RoundArguments::begin);
    assert_eq!(round.ids, [43, 42, MASK]);
    assert_eq!((round.slots[0].state, round.slots[1].state), (state::RUNNING, state::FULL));
}

#[test]
fn the_longest_agreeing_prefix_is_accepted() {
    let Some(card) = Card::open() else { return };
    // After begin_verify: x0 is in the cache. Row j of verify predicts what draft[j + 1] proposed.
    for (draft, verify, accepted, state) in [
        ([7, 1, 2, 3], [1, 2, 3, 4], 3, state::RUNNING),
        ([7, 1, 2, 3], [1, 9, 3, 4], 1, state::RUNNING),
        ([7, 1, 2, 3], [9, 2, 3, 4], 0, state::RUNNING),
        ([560, 1, 2, 3], [9, 2, 3, 4], 0, state::ENDED),   // a0 ends
        ([7, 1, 567, 3], [1, 567, 8, 4], 2, state::ENDED), // an accepted draft ends
        ([7, 1, 2, 3], [1, 2, 560, 4], 2, state::ENDED),   // the correction ends
        ([7, 1, 560, 3], [1, 2, 5, 4], 1, state::RUNNING), // a rejected draft does not
        ([7, 1, 2, 3], [1, 2, 5, 560], 2, state::RUNNING), // nor what follows the correction
    ] {
        let mut round = RoundBuffers::new(vec![running(11, 99, 42)], 4);
        round.slots[0].round = 5;
        round.draft = peaks(&draft);
        round.verify = peaks(&verify);
        round.run(&card, RoundArguments::settle);
        let record = &round.records[0];
        assert_eq!((record.accepted, record.state, record.slot, record.round), (accepted, state, 0, 6), "{draft:?}");
        // a0 and the accepted drafts join x0 in the cache; the verifier's own token is the next boundary.
        assert_eq!(round.slots[0].cached, 11 + 1 + accepted, "{draft:?}");
        assert_eq!(record.cached, round.slots[0].cached);
        assert_eq!(round.slots[0].boundary, verify[accepted as usize]);
        assert_eq!(round.slots[0].state, state);
        assert_eq!((record.window, &record.draft[..4], &record.verify[..4]), (4, &round.draft[..], &round.verify[..]));
    }
}

#[test]
fn a_window_of_forty_is_settled_and_idle_sequences_are_left_alone() {
    let Some(card) = Card::open() else { return };
    let mut round = RoundBuffers::new(vec![running(1, 99, 42), running(20, 99, 43), running(30, 99, 44)], 40);
    round.slots[1].state = state::FULL;
    round.sequence_slots = vec![2, 1, -1];
    let draft: Vec<i32> = (100..140).collect();
    let verify: Vec<i32> = (101..141).collect();
    round.draft = peaks(&draft.repeat(3));
    round.verify = peaks(&verify.repeat(3));
    round.run(&card, RoundArguments::settle);
    let told: Vec<_> = round.records.iter().map(|r| (r.slot, r.accepted, r.state, r.round)).collect();
    assert_eq!(told, [(2, 39, state::RUNNING, 1), (1, 0, state::FULL, 0), (-1, 0, state::IDLE, 0)]);
    assert_eq!(round.slots.iter().map(|s| s.cached).collect::<Vec<_>>(), [1, 20, 30 + 40]);
    assert_eq!(round.slots[2].boundary, 140);
}

#[test]
fn an_ar_round_commits_one_token() {
    let Some(card) = Card::open() else { return };
    let mut round = RoundBuffers::new(vec![running(4, 9, 42), running(5, 9, 43)], 1);
    round.draft = Vec::new();
    round.verify = peaks(&[17, 567]);
    round.run(&card, |arguments| RoundArguments { draft: 0, ..*arguments }.settle());
    assert_eq!(round.slots.iter().map(|s| (s.cached, s.boundary)).collect::<Vec<_>>(), [(5, 17), (6, 567)]);
    assert_eq!(round.records.iter().map(|r| r.state).collect::<Vec<_>>(), [state::RUNNING, state::ENDED]);
    assert_eq!(round.records[0].verify[0], round.verify[0]);
}
