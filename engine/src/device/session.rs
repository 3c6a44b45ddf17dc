//! One request on a card: the decoding loops' target.

use std::sync::MutexGuard;

use super::batch::Membership;
use super::executor::{Executor, Outcome};
use super::rounds::Answer;
use super::{DeviceError, DeviceModel, Lease, Step, Work};
use crate::cancel::Cancel;
use crate::decode::{Drafter, Fused, Mask, Peak, Target, TargetError};
use crate::model::{ImageFeatures, prompt_positions};

/// One request. Requests of one model run side by side on several threads; their forwards are gathered into batches.
pub struct DeviceSession<'m> {
    model: &'m DeviceModel,
    cancel: Cancel,
    /// Room in the card's caches; taken while the request lives.
    lease: Option<Lease>,
    membership: Option<Membership<'m, Work, Answer>>,
    /// Token ids; `-1 - n` stands for row `n` of the features.
    ids: Vec<i32>,
    positions: Vec<[i32; 3]>,
    features: Vec<f32>,
    /// What is to be added to a token's index in the cache to get its position, from the end of the prompt on.
    shift: i32,
    cached: usize,
    /// Whether logits are read back with every forward.
    keep_logits: bool,
    logits: Vec<f32>,
}

impl<'m> DeviceSession<'m> {
    pub(super) fn new(
        model: &'m DeviceModel,
        lease: Lease,
        prompt: &[u32],
        image: &ImageFeatures,
        cancel: &Cancel,
    ) -> Self {
        let (positions, next) = prompt_positions(prompt, model.image_token, image.grid);
        let rows = image.rows.len() / model.hidden.max(1);
        let mut features = 0..rows as i32;
        let ids = prompt.iter().map(|&id| match (id == model.image_token).then(|| features.next()).flatten() {
            Some(row) => -1 - row,
            None => id as i32,
        });
        Self {
            ids: ids.collect(),
            positions: positions.into_iter().map(|axes| axes.map(|axis| axis as i32)).collect(),
            features: image.rows.clone(),
            shift: next as i32 - prompt.len() as i32,
            cancel: cancel.clone(),
            lease: Some(lease),
            membership: None,
            cached: 0,
            keep_logits: false,
            logits: Vec::new(),
            model,
        }
    }

    fn lease(&self) -> Result<&Lease, TargetError> {
        self.lease.as_ref().ok_or_else(|| TargetError::failed("the request has no room on the card"))
    }

    fn submit(&self, step: Step) -> Result<Outcome, TargetError> {
        let work = Work { lease: self.lease()?.clone(), cached: self.cached, shift: self.shift, step };
        let lost = || DeviceError::Unfit("an internal error stopped the card's work".to_owned());
        let answer = self.model.batcher.submit(work, |batch, more| self.model.run(batch, more));
        Ok(answer.unwrap_or_else(|| Err(lost()))?)
    }

    fn whole(&self, step: Step) -> Result<Fused, TargetError> {
        match self.submit(step)? {
            Outcome::Round(fused) => Ok(fused),
            Outcome::Peaks(..) => Err(TargetError::failed("the card answered another question")),
        }
    }

    fn executor(&self) -> MutexGuard<'m, Executor> {
        self.model.executor()
    }
}

impl Target for DeviceSession<'_> {
    fn prefill(&mut self) -> Result<Peak, TargetError> {
        if self.ids.is_empty() {
            return Err(TargetError::failed("the checkpoint's chat template gives an empty prompt"));
        }
        self.membership = None;
        let lease = self.lease()?;
        let Self { ids, positions, features, keep_logits, cancel, .. } = &*self;
        let (peak, logits) = self
            .executor()
            .guarded(|executor| executor.prefill(lease, ids, positions, features, *keep_logits, cancel))?;
        self.cached = self.ids.len();
        self.logits = logits;
        self.membership = Some(self.model.batcher.join());
        Ok(peak)
    }

    fn forward(&mut self, window: &[u32], mask: Mask, peaks: &mut Vec<Peak>) -> Result<(), TargetError> {
        let step = Step::Window { ids: window.to_vec(), mask, with_logits: self.keep_logits };
        match self.submit(step)? {
            Outcome::Peaks(found, logits) => {
                self.cached += window.len();
                self.logits = logits;
                *peaks = found;
                Ok(())
            }
            Outcome::Round(_) => Err(TargetError::failed("the card answered another question")),
        }
    }

    fn round(&mut self, boundary: u32, drafter: Drafter, room: usize) -> Result<Option<Fused>, TargetError> {
        let fused = self.whole(Step::Round { boundary, drafter: Some(drafter), room })?;
        self.cached += 2 + fused.accepted; // the boundary, a0, the accepted drafts
        Ok(Some(fused))
    }

    fn token(&mut self, boundary: u32, room: usize) -> Result<Option<(Peak, f64)>, TargetError> {
        let fused = self.whole(Step::Round { boundary, drafter: None, room })?;
        self.cached += 1;
        Ok(fused.verify.first().map(|&next| (next, fused.draft_ms)))
    }

    fn cached(&self) -> usize {
        self.cached
    }

    fn truncate(&mut self, tokens: usize) {
        self.cached = self.cached.min(tokens);
    }

    fn keep_logits(&mut self, keep: bool) {
        self.keep_logits = keep;
    }

    fn logits(&self, row: usize) -> &[f32] {
        let vocab = self.model.vocabulary;
        self.logits.get(row * vocab..(row + 1) * vocab).unwrap_or_default()
    }
}

impl Drop for DeviceSession<'_> {
    fn drop(&mut self) {
        self.membership = None;
        if let Some(lease) = self.lease.take() {
            self.model.release(lease);
        }
    }
}
