//! Self-speculative decoding: a round drafts a block in parallel and verifies it with the model's own causal path
//! ("Diffusion Drafts, AR Verifies", Trillion Labs 2026).
//!
//! The cache holds every committed token except the boundary token `x0`, the last one, whose keys and values are written
//! by the next draft forward.

use super::sampling::Chooser;
use super::{CommitLog, Drafter, Mask, Origin, Round, Target, TargetError, refine, timed};

pub(super) fn run(
    target: &mut dyn Target,
    mut boundary: u32,
    drafter: Drafter,
    steps: u32,
    chooser: &mut Chooser,
    log: &mut CommitLog<'_, '_>,
) -> Result<(), TargetError> {
    let mut peaks = Vec::new();
    while !log.is_over() {
        let mut round = Round::default();
        let past = target.cached();
        let whole = steps == 1 && !chooser.samples();
        let fused = if whole { target.round(boundary, drafter, log.room())? } else { None };

        // Draft: row 0 is causal, so its prediction a0 is autoregressive already; row j proposes d_j.
        let draft = match &fused {
            Some(fused) => {
                (round.draft_ms, round.draft_forwards) = (fused.draft_ms, 1);
                chooser.draft(target, &fused.draft)
            }
            None => {
                let draft = refine::draft(target, boundary, drafter, steps, chooser, &mut round)?;
                target.truncate(past + 1); // keep x0; the mask rows saw what no causal row may see
                draft
            }
        };
        round.draft = draft.tokens.iter().map(|d| d.id).collect();
        round.draft_confidence = draft.tokens.iter().map(|d| d.probability).collect();
        log.show_draft(&[&[draft.first.id], round.draft.as_slice()].concat());
        if log.is_over() {
            break;
        }

        // Verify: row j of [a0, d_1 ..= d_B] predicts a_(j+1).
        match fused {
            Some(fused) => {
                round.verify_ms = fused.verify_ms;
                peaks = fused.verify;
            }
            None => {
                let window: Vec<u32> = std::iter::once(draft.first.id).chain(round.draft.iter().copied()).collect();
                timed(target, &window, Mask::Causal, &mut peaks, &mut round.verify_ms)?;
            }
        }
        round.verify_forwards = 1;
        let verdict = chooser.verify(target, &draft, &peaks);
        let accepted = verdict.accepted;
        target.truncate(past + 2 + accepted); // x0, a0 and the accepted drafts

        round.verify = peaks.iter().map(|p| p.id).collect();
        round.accepted = accepted as u32;
        round.committed.push(draft.first.committed(Origin::Causal));
        round.committed.extend(
            verdict.confidences.iter().zip(&draft.tokens).map(|(&confidence, d)| super::Committed {
                id: d.id,
                origin: Origin::Accepted,
                confidence,
            }),
        );
        let last = if accepted < draft.tokens.len() { Origin::Correction } else { Origin::Bonus };
        round.committed.push(verdict.next.committed(last));
        boundary = verdict.next.id;
        log.commit(round);
    }
    Ok(())
}
