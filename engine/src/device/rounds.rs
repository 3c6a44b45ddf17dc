//! Rounds on the card, one ahead of the requests.
//!
//! When a round is done, the card goes on with the next one of the same requests at once, while these look at what came
//! back, show it and ask for more. What the card did ahead lies ready when they ask. It never runs past an end token or a
//! request's limit, and it does not go ahead while other work waits.

use std::time::Instant;

use kernels::cuda::abi::{self, state};

use super::drafting::Drafting;
use super::executor::{Executor, Outcome, no_room, peak};
use super::graphs::{GraphKey, GraphKind};
use super::plan::chunk_bucket;
use super::{DeviceError, LONGEST_DRAFT, Lease, Step, Work};
use crate::decode::{Drafter, Fused, Peak};

/// What a request hears of its work.
pub(super) type Answer = Result<Outcome, DeviceError>;

/// The rounds of an executor.
pub(super) struct Rounds {
    /// What the card is doing.
    in_flight: Option<RoundInFlight>,
    /// By slot: what was done and not asked for yet.
    ready: Vec<Option<Ready>>,
    drafting: Drafting,
}

/// A round of several requests.
struct RoundInFlight {
    /// By sequence; none where the request has gone meanwhile.
    works: Vec<Option<Work>>,
    /// Rows of all sequences, idle ones too, where its time teaches something about drafting.
    rows: Option<usize>,
    since: Instant,
}

/// A round that is done.
struct Ready {
    work: Work,
    answer: Answer,
    /// What the request will ask for next, if it goes on.
    next: Option<Work>,
}

impl Rounds {
    pub(super) fn new(slots: usize) -> Self {
        Self { in_flight: None, ready: (0..slots).map(|_| None).collect(), drafting: Drafting::new() }
    }

    /// Drafts whole blocks from now on.
    pub(super) fn keep_drafts_whole(&mut self) {
        self.drafting.keep_whole();
    }

    /// Forgets a slot's request.
    pub(super) fn forget(&mut self, slot: usize) {
        if let Some(ready) = self.ready.get_mut(slot) {
            *ready = None;
        }
        let works = self.in_flight.iter_mut().flat_map(|round| &mut round.works);
        works.filter(|work| work.as_ref().is_some_and(|work| work.lease.slot == slot)).for_each(|work| *work = None);
    }

    /// What lies ready for this work, and what comes after it.
    fn take(&mut self, work: &Work) -> Option<(Answer, Option<Work>)> {
        let ready = self.ready.get_mut(work.lease.slot)?.take()?;
        ready.work.is_same_round(work).then_some((ready.answer, ready.next))
    }

    fn put(&mut self, work: Work, answer: Answer, next: Option<Work>) {
        let slot = work.lease.slot;
        if let Some(ready) = self.ready.get_mut(slot) {
            *ready = Some(Ready { work, answer, next });
        }
    }
}

impl Work {
    /// Whether the other asks for the same round of the same request.
    fn is_same_round(&self, other: &Work) -> bool {
        let start = |work: &Work| match work.step {
            Step::Round { boundary, drafter, .. } => Some((work.lease.slot, work.cached, boundary, drafter)),
            Step::Window { .. } => None,
        };
        start(self).is_some() && start(self) == start(other)
    }

    /// The round that follows this one.
    fn after(&self, fused: &Fused) -> Option<Work> {
        let Step::Round { drafter, room, .. } = self.step else { return None };
        // a0, the accepted drafts, the verifier's own; or that one token.
        let committed = if drafter.is_some() { fused.accepted + 2 } else { 1 };
        let boundary = fused.verify.get(fused.accepted)?.id;
        let room = room.checked_sub(committed).filter(|&room| room > 0)?;
        Some(Work { cached: self.cached + committed, step: Step::Round { boundary, drafter, room }, ..self.clone() })
    }
}

impl Executor {
    /// The rounds of several requests that draft alike, or their next tokens; none for a request that is to ask again.
    /// `more`: other work waits.
    pub(super) fn rounds(
        &mut self,
        batch: &[Work],
        drafter: Option<Drafter>,
        more: bool,
    ) -> Result<Vec<Option<Answer>>, DeviceError> {
        let take = |rounds: &mut Rounds| batch.iter().map(|work| rounds.take(work)).collect::<Vec<_>>();
        let mut done = take(&mut self.rounds);
        if done.iter().all(Option::is_none) {
            self.start_round(batch, drafter)?;
            self.finish_round()?;
            done = take(&mut self.rounds);
        }
        if !more && done.iter().all(Option::is_some) {
            let next: Vec<Work> = done.iter().flatten().filter_map(|(_, next)| next.clone()).collect();
            self.start_round(&next, drafter)?;
        }
        Ok(done.into_iter().map(|done| done.map(|(answer, _)| answer)).collect())
    }

    /// Starts a round and the copy of its records.
    fn start_round(&mut self, batch: &[Work], drafter: Option<Drafter>) -> Result<(), DeviceError> {
        let (kind, window, tokens) = match drafter {
            Some(Drafter { block, mask }) => {
                let length = self.rounds.drafting.length(block.min(LONGEST_DRAFT), self.bucket(batch.len()));
                (GraphKind::Round(mask), length + 1, length + 2) // the boundary, then a window after it
            }
            None => (GraphKind::Token, 1, 1),
        };
        let (fitting, others): (Vec<Work>, _) =
            batch.iter().cloned().partition(|work| work.cached + tokens <= self.capacity(&work.lease));
        others.into_iter().for_each(|work| self.rounds.put(work, Err(no_room()), None));
        let Some(longest) = fitting.iter().map(|work| work.cached + tokens).max() else { return Ok(()) };
        let sequences = self.bucket(fitting.len());
        for work in &fitting {
            if let Step::Round { boundary, .. } = work.step {
                self.set_slot(&work.lease, work.cached, work.shift, boundary);
            }
        }
        let leases: Vec<&Lease> = fitting.iter().map(|work| &work.lease).collect();
        self.control(&leases, sequences, &[])?;
        let key = GraphKey { kind, sequences, window, chunks: chunk_bucket(longest) };
        let since = Instant::now();
        let graph = self.play(key)?;
        self.driver.download(self.at(self.pieces.records), sequences * size_of::<abi::Record>())?;
        let works = fitting.into_iter().map(Some).collect();
        let rows = (graph && drafter.is_some()).then_some(sequences * window);
        self.rounds.in_flight = Some(RoundInFlight { works, rows, since });
        Ok(())
    }

    /// Waits for the round that the card is doing, if there is one; what it gave lies ready then.
    pub(super) fn finish_round(&mut self) -> Result<(), DeviceError> {
        let Some(round) = self.rounds.in_flight.take() else { return Ok(()) };
        let records: Vec<abi::Record> = self.end_reading()?;
        let (draft_ms, verify_ms) = self.round_times(round.since);
        if let Some(rows) = round.rows {
            self.rounds.drafting.took(rows, draft_ms + verify_ms);
        }
        for (work, record) in round.works.into_iter().zip(&records) {
            let Some(work) = work else { continue };
            let accepted = record.accepted.max(0) as usize;
            let window = (record.window.max(0) as usize).min(abi::MAX_WINDOW);
            if record.state == state::FULL || accepted >= window {
                self.rounds.put(work, Err(no_room()), None);
                continue;
            }
            self.rounds.drafting.judged(accepted, window - 1); // of one token nothing was drafted
            let [draft, verify] = [&record.draft, &record.verify]
                .map(|peaks| -> Vec<Peak> { peaks[..window].iter().map(peak).collect() });
            let fused = Fused { draft, verify, accepted, draft_ms, verify_ms };
            let next = (record.state == state::RUNNING).then(|| work.after(&fused)).flatten();
            self.rounds.put(work, Ok(Outcome::Round(fused)), next);
        }
        Ok(())
    }

    /// Milliseconds of the draft, and of verification and acceptance. By the host's clock, half each, where the driver
    /// tells no times.
    fn round_times(&mut self, since: Instant) -> (f64, f64) {
        let [start, middle, end] = self.marks;
        let told = self.driver.elapsed_ms(start, middle).and_then(|draft| {
            let verify = self.driver.elapsed_ms(middle, end)?;
            Ok((f64::from(draft), f64::from(verify)))
        });
        told.unwrap_or_else(|_| {
            let half = since.elapsed().as_secs_f64() * 500.0;
            (half, half)
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use std::path::Path;

    use kernels::cuda::emulation;
    use kernels::cuda::fake::Fake;

    use super::*;
    use crate::cancel::Cancel;
    use crate::checkpoint::Checkpoint;
    use crate::device::{Extent, Plan};

    /// A round of a request after so many tokens.
    fn work(lease: &Lease, cached: usize, boundary: u32) -> Work {
        let drafter = Some(Drafter { block: 4, mask: 5 });
        Work { lease: lease.clone(), cached, shift: 0, step: Step::Round { boundary, drafter, room: 100 } }
    }

    fn fused(answer: Option<Answer>) -> Fused {
        match answer {
            Some(Ok(Outcome::Round(fused))) => fused,
            other => panic!("{other:?} is no round"),
        }
    }

    /// One that comes while the card works ahead for another waits for it, and from then on they run together.
    #[test]
    fn a_newcomer_falls_into_step() {
        if !emulation::AVAILABLE {
            return crate::skipped::skipped("no C++ compiler was there to compile the CUDA kernels for this processor");
        }
        let checkpoint =
            Checkpoint::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/glm_ocr_tiny"));
        let Checkpoint { config, weights, .. } = checkpoint.unwrap();
        let plan = Plan::new(&config, Extent { sequences: 2, cache_tokens: 400, sequence_tokens: 200 });
        let driver = Box::new(Fake::emulated(1 << 30));
        let mut card = Executor::open(driver, &config, &weights, &[], &plan).unwrap();
        let leases = [card.claim(200).unwrap(), card.claim(200).unwrap()];
        let positions = [[0; 3], [1; 3], [2; 3]];
        for (lease, ids) in leases.iter().zip([[1, 2, 3], [4, 5, 6]]) {
            card.prefill(lease, &ids, &positions, &[], false, &Cancel::new()).unwrap();
        }
        let mut rounds = |batch: &[Work]| card.guarded(|card| card.run(batch, false)).unwrap();
        let next = |work: &Work, fused: &Fused| work.after(fused).unwrap();

        let (mut first, newcomer) = (work(&leases[0], 3, 7), work(&leases[1], 3, 8));
        let alone = fused(rounds(std::slice::from_ref(&first)).remove(0));
        first = next(&first, &alone);
        let mut answers = rounds(&[first.clone(), newcomer.clone()]);
        assert_eq!(answers.pop().unwrap(), None, "its round has not begun");
        first = next(&first, &fused(answers.remove(0)));
        let mut both = [first, newcomer];
        for _ in 0..3 {
            let answers = rounds(&both);
            for (work, answer) in both.iter_mut().zip(answers) {
                *work = next(work, &fused(answer));
            }
        }
        assert_eq!(card.rounds.in_flight.as_ref().map(|round| round.works.len()), Some(2), "both, one ahead");
    }
}
