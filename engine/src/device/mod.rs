//! The model on a card, over the narrow CUDA driver seam. Nothing above the decoding seam knows of it.
//!
//! A request is a [`DeviceSession`] on a thread of its own (`session`). What it asks for is gathered with what others ask
//! for (`batch`) and done by the one `executor`: pictures and prompts by themselves (`prompt`), rounds together and one
//! ahead (`rounds`, with drafts of the length that pays: `drafting`). A forward is a list of launches (`forward`), played
//! as a graph when it comes again (`graphs`), on memory that is planned beforehand (`plan`, `pool`, `weights`).

mod batch;
mod choice;
mod drafting;
mod executor;
mod forward;
mod graphs;
mod plan;
mod pool;
mod prompt;
mod rounds;
mod session;
mod weights;

pub use choice::{Choice, Device, choices};
pub use plan::{Extent, Plan};
pub use session::DeviceSession;

use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kernels::cuda::abi::MAX_WINDOW;
use kernels::cuda::driver::{DeviceInfo, Driver, DriverError};

use crate::cancel::{Cancel, Cancelled};
use crate::checkpoint::{Checkpoint, ModelConfig, Weights};
use crate::decode::{Drafter, Mask, TargetError};
use crate::model::ImageFeatures;
use crate::model::image_processor::Patches;
use batch::{Batchable, Batcher};
use executor::Executor;
use rounds::Answer;

/// Why a device cannot be used or a request on it gave nothing; displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// A request or a model does not fit; the card itself is well.
    #[error("{0}")]
    Unfit(String),
    /// The card failed and is of no more use.
    #[error("{0}")]
    Failed(String),
    /// The request was no longer wanted; the card itself is well.
    #[error("the request was cancelled")]
    Cancelled,
}

impl From<DriverError> for DeviceError {
    fn from(error: DriverError) -> Self {
        let sentence = error.to_string();
        if matches!(error, DriverError::OutOfMemory { .. }) { Self::Unfit(sentence) } else { Self::Failed(sentence) }
    }
}

impl From<Cancelled> for DeviceError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<DeviceError> for TargetError {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Cancelled => Self::Cancelled,
            DeviceError::Unfit(sentence) | DeviceError::Failed(sentence) => Self::Failed(sentence),
        }
    }
}

/// The most tokens that a round drafts on a card.
pub const LONGEST_DRAFT: usize = MAX_WINDOW - 1;

/// How often a request that waits for room looks whether it is still wanted.
const CANCEL_CHECK: Duration = Duration::from_millis(20);

/// Tokens of a request's cache: the prompt, the answer, and the windows of the last round, which may go past it.
fn room(prompt_tokens: usize, max_tokens: usize) -> usize {
    (prompt_tokens + 2 * MAX_WINDOW).saturating_add(max_tokens)
}

/// A request's room: its slot and its tokens in the pool of caches.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Lease {
    slot: usize,
    range: Range<usize>,
}

/// What a request wants of the card next, and where it stands.
#[derive(Clone, Debug)]
struct Work {
    lease: Lease,
    /// Tokens in the cache before it.
    cached: usize,
    /// Position of a token minus its index in the cache.
    shift: i32,
    step: Step,
}

#[derive(Clone, Debug)]
enum Step {
    /// A forward of a window under a mask.
    Window { ids: Vec<u32>, mask: Mask, with_logits: bool },
    /// A whole round after the boundary token, of a request that takes at most `room` more tokens; without a drafter, one
    /// token.
    Round { boundary: u32, drafter: Option<Drafter>, room: usize },
}

impl Batchable for Work {
    type Key = BatchKey;

    fn key(&self) -> BatchKey {
        match self.step {
            Step::Window { ref ids, mask, with_logits } => {
                BatchKey::Window { rows: ids.len(), mask, logits: with_logits.then_some(self.lease.slot) }
            }
            Step::Round { drafter, .. } => BatchKey::Round(drafter),
        }
    }
}

/// What is equal in work that runs together.
#[derive(Clone, Copy, Debug, PartialEq)]
enum BatchKey {
    /// What wants logits runs alone, because there is room for one request's.
    Window {
        rows: usize,
        mask: Mask,
        logits: Option<usize>,
    },
    Round(Option<Drafter>),
}

/// A model on a card. Shared by all its sessions.
pub struct DeviceModel {
    executor: Mutex<Executor>,
    /// Told when a session gave its room back.
    released: Condvar,
    batcher: Batcher<Work, Answer>,
    info: DeviceInfo,
    plan: Plan,
    image_token: u32,
    hidden: usize,
    vocabulary: usize,
}

impl DeviceModel {
    /// Loads a checkpoint onto the card `cuda:ordinal`.
    ///
    /// # Errors
    /// Why the card cannot be used: no driver, too old, too little memory, a model that the kernels cannot run.
    pub fn open(ordinal: usize, checkpoint: &Checkpoint) -> Result<Self, DeviceError> {
        Self::on(kernels::cuda::open(ordinal)?, &checkpoint.config, &checkpoint.weights, &checkpoint.end_tokens)
    }

    /// As [`open`](Self::open), on a driver.
    pub fn on(
        mut driver: Box<dyn Driver>,
        config: &ModelConfig,
        weights: &Weights,
        end_tokens: &[u32],
    ) -> Result<Self, DeviceError> {
        let plan = Plan::fitting(config, driver.memory()?.free);
        Self::planned(driver, config, weights, end_tokens, plan)
    }

    /// As [`on`](Self::on), with a plan.
    pub fn planned(
        driver: Box<dyn Driver>,
        config: &ModelConfig,
        weights: &Weights,
        end_tokens: &[u32],
        plan: Plan,
    ) -> Result<Self, DeviceError> {
        let info = driver.device().clone();
        let executor = Executor::open(driver, config, weights, end_tokens, &plan)?;
        Ok(Self {
            info,
            batcher: Batcher::new(plan.extent.sequences),
            plan,
            executor: Mutex::new(executor),
            released: Condvar::new(),
            image_token: config.image_token_id,
            hidden: config.text.hidden_size,
            vocabulary: config.text.vocab_size,
        })
    }

    /// The card.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// What memory it took.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Requests that run side by side.
    pub fn sequences(&self) -> usize {
        self.plan.extent.sequences
    }

    /// How many requests of so many tokens find room together; another waits for one of them to end.
    pub fn side_by_side(&self, prompt_tokens: usize, max_tokens: usize) -> usize {
        self.sequences().min(self.plan.extent.cache_tokens / room(prompt_tokens, max_tokens))
    }

    /// Why the card is of no more use; `None` while it is.
    pub fn fault(&self) -> Option<String> {
        self.executor().broken.as_ref().map(ToString::to_string)
    }

    /// Why the driver runs everything launch by launch instead of as graphs, which is slower; `None` while it does not.
    pub fn why_no_graphs(&self) -> Option<String> {
        self.executor().graphs.refusal().map(ToString::to_string)
    }

    /// Drafts whole blocks from now on, whatever they cost and bring, for measurements.
    pub fn keep_drafts_whole(&self) {
        self.executor().rounds.keep_drafts_whole();
    }

    /// Runs the vision tower and the merger.
    ///
    /// # Errors
    /// The picture does not fit, the card failed, or it was cancelled.
    pub fn encode_image(&self, patches: &Patches, cancel: &Cancel) -> Result<ImageFeatures, DeviceError> {
        self.executor().guarded(|executor| executor.encode(patches, cancel))
    }

    /// Starts a request: prompt ids whose image placeholders are replaced by `image` in order, and at most `max_tokens` of
    /// answer. Waits while all room is taken. A cancel ends the waiting and the prompt's forward; the rounds after it are
    /// short, and the decoding loops look between them.
    ///
    /// # Errors
    /// The prompt does not fit, the card failed, or it was cancelled.
    pub fn session(
        &self,
        prompt: &[u32],
        image: &ImageFeatures,
        max_tokens: usize,
        cancel: &Cancel,
    ) -> Result<DeviceSession<'_>, DeviceError> {
        let most = self.plan.extent.sequence_tokens;
        if room(prompt.len(), 0) > most {
            let tokens = prompt.len();
            return Err(DeviceError::Unfit(format!("the prompt of {tokens} tokens does not fit the card's cache")));
        }
        let tokens = room(prompt.len(), max_tokens).min(most);
        let mut executor = self.executor();
        let lease = loop {
            if let Some(fault) = &executor.broken {
                return Err(fault.clone());
            }
            cancel.check()?;
            match executor.claim(tokens) {
                Some(lease) => break lease,
                None => {
                    let woken = self.released.wait_timeout(executor, CANCEL_CHECK);
                    executor = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        };
        drop(executor);
        Ok(DeviceSession::new(self, lease, prompt, image, cancel))
    }

    fn executor(&self) -> MutexGuard<'_, Executor> {
        self.executor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn release(&self, lease: Lease) {
        self.executor().release(lease);
        self.released.notify_all();
    }

    /// Runs a batch; every request hears of a fault of the card.
    fn run(&self, batch: &[Work], more: bool) -> Vec<Option<Answer>> {
        let done = self.executor().guarded(|executor| executor.run(batch, more));
        done.unwrap_or_else(|error| batch.iter().map(|_| Some(Err(error.clone()))).collect())
    }
}
