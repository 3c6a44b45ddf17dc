//! Drafting a block: in one forward, or in several that each fill in the most certain positions.

use super::sampling::{Chooser, Draft};
use super::{Drafter, FillStep, Mask, Peak, Round, Target, TargetError, timed};

/// Drafts after the boundary token. Leaves the last draft forward's rows in the cache, the boundary's first.
///
/// Window slot 0 holds `x0`, slot 1 the place of `a0`, slot j + 1 that of `d_j`; `d_B` has no slot. With more than one
/// step, `a0` (already autoregressive) and the surest drafts take their slots for the next forward, about `B / steps`
/// more of them each time.
pub(super) fn draft(
    target: &mut dyn Target,
    boundary: u32,
    drafter: Drafter,
    steps: u32,
    chooser: &mut Chooser,
    round: &mut Round,
) -> Result<Draft, TargetError> {
    let Drafter { block, mask } = drafter;
    let past = target.cached();
    let mut window = vec![mask; block + 1];
    window[0] = boundary;
    let mut peaks = Vec::new();
    timed(target, &window, Mask::Draft, &mut peaks, &mut round.draft_ms)?;
    round.draft_forwards += 1;
    if steps <= 1 {
        return Ok(chooser.draft(target, &peaks));
    }

    let first = chooser.choose(target, 0, peaks[0]);
    let mut filled: Vec<Option<Peak>> = vec![None; block];
    window[1] = first.id;
    for step in 1..=steps {
        let open: Vec<usize> = (0..block).filter(|&j| filled[j].is_none()).collect();
        let mut order = open.clone();
        order.sort_by(|&a, &b| peaks[b + 1].probability.total_cmp(&peaks[a + 1].probability).then(a.cmp(&b)));
        let goal = (block * step as usize).div_ceil(steps as usize);
        order.truncate(goal.saturating_sub(block - open.len()));
        order.sort_unstable();
        for &j in &order {
            filled[j] = Some(peaks[j + 1]);
            if j + 2 <= block {
                window[j + 2] = peaks[j + 1].id;
            }
        }
        round.steps.push(FillStep {
            confidence: open.iter().map(|&j| peaks[j + 1].probability).collect(),
            tokens: order.iter().map(|&j| peaks[j + 1].id).collect(),
            open: open.iter().map(|&j| j as u32 + 1).collect(),
            filled: order.iter().map(|&j| j as u32 + 1).collect(),
        });
        if filled.iter().all(Option::is_some) {
            break;
        }
        target.truncate(past);
        timed(target, &window, Mask::Draft, &mut peaks, &mut round.draft_ms)?;
        round.draft_forwards += 1;
    }
    Ok(Draft::certain(first, filled.into_iter().flatten().collect()))
}
