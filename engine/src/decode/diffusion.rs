//! Block diffusion without verification: faster where it is right, and wrong without noticing where it is not.

use super::{CommitLog, Committed, Drafter, FillStep, Mask, Origin, Peak, Round, Target, TargetError, timed};

/// Decodes block by block. A block is its seed (the causal prediction after everything before) and `B - 1` masks; each
/// step runs the block on the causal past and fills every open position whose probability exceeds `tau`, at least the
/// surest one. A finished block is run once more causally, which rewrites its keys and values and gives the next seed.
/// End tokens are looked for when a block is finished.
pub(super) fn run(
    target: &mut dyn Target,
    first: u32,
    drafter: Drafter,
    tau: f32,
    mask: Mask,
    log: &mut CommitLog<'_, '_>,
) -> Result<(), TargetError> {
    // The first seed is committed by the prefill's round; later ones belong to their block's round.
    let mut seed = Peak { id: first, probability: 1.0 };
    let mut committed_seed = true;
    let mut peaks = Vec::new();
    while !log.is_over() {
        let past = target.cached();
        let mut round = Round::default();
        let mut block = vec![drafter.mask; drafter.block];
        block[0] = seed.id;
        let mut filled: Vec<Option<Peak>> = vec![None; drafter.block];
        filled[0] = Some(seed);
        while filled.iter().any(Option::is_none) {
            if log.is_over() {
                return Ok(());
            }
            timed(target, &block, mask, &mut peaks, &mut round.draft_ms)?;
            round.draft_forwards += 1;
            target.truncate(past);
            // Row i predicts position i + 1.
            let open: Vec<usize> = (1..drafter.block).filter(|&i| filled[i].is_none()).collect();
            let mut take: Vec<usize> = open.iter().copied().filter(|&i| peaks[i - 1].probability > tau).collect();
            if take.is_empty() {
                let surest = open
                    .iter()
                    .copied()
                    .max_by(|&a, &b| peaks[a - 1].probability.total_cmp(&peaks[b - 1].probability).then(b.cmp(&a)));
                take.extend(surest);
            }
            for &i in &take {
                block[i] = peaks[i - 1].id;
                filled[i] = Some(peaks[i - 1]);
            }
            round.steps.push(FillStep {
                confidence: open.iter().map(|&i| peaks[i - 1].probability).collect(),
                tokens: take.iter().map(|&i| block[i]).collect(),
                open: open.iter().map(|&i| i as u32).collect(),
                filled: take.iter().map(|&i| i as u32).collect(),
            });
            log.show_draft(&block);
        }
        if log.is_over() {
            return Ok(());
        }
        timed(target, &block, Mask::Causal, &mut peaks, &mut round.draft_ms)?;
        round.draft_forwards += 1;
        round.committed = filled
            .into_iter()
            .flatten()
            .enumerate()
            .skip(usize::from(committed_seed))
            .map(|(i, peak)| {
                let origin = if i == 0 { Origin::Causal } else { Origin::Diffusion };
                Committed { id: peak.id, origin, confidence: peak.probability }
            })
            .collect();
        committed_seed = false;
        log.commit(round);
        if let Some(&last) = peaks.last() {
            seed = last;
        }
    }
    Ok(())
}
