//! Autoregressive decoding: one token per forward.

use super::sampling::Chooser;
use super::{CommitLog, Mask, Origin, Round, Target, TargetError, timed};

pub(super) fn run(
    target: &mut dyn Target,
    mut boundary: u32,
    chooser: &mut Chooser,
    log: &mut CommitLog<'_, '_>,
) -> Result<(), TargetError> {
    let mut peaks = Vec::new();
    while !log.is_over() {
        let mut round = Round { draft_forwards: 1, ..Round::default() };
        let stepped = if chooser.samples() { None } else { target.token(boundary, log.room())? };
        let next = match stepped {
            Some((next, ms)) => {
                round.draft_ms = ms;
                next
            }
            None => {
                timed(target, &[boundary], Mask::Causal, &mut peaks, &mut round.draft_ms)?;
                chooser.choose(target, 0, peaks[0])
            }
        };
        boundary = next.id;
        round.committed.push(next.committed(Origin::Causal));
        log.commit(round);
    }
    Ok(())
}
