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

use kernels::cuda::abi::MAX_WINDOW;
use kernels::cuda::driver::{DeviceInfo, Driver, DriverError};

use crate::checkpoint::{Checkpoint, ModelConfig, Weights};
use crate::decode::{Drafter, Mask};
use crate::model::ImageFeatures;
use crate::model::image_processor::Patches;
use batch::{Batchable, Batcher};
use executor::Executor;
use rounds::Answer;

/// Why a device cannot be used or a request on it failed; displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct DeviceError {
    sentence: String,
    /// Whether the card is of no more use.
    fatal: bool,
}

impl DeviceError {
    /// A request or a model that does not fit; the card itself is well.
    fn unfit(sentence: String) -> Self {
        Self { sentence, fatal: false }
    }

    fn is_fatal(&self) -> bool {
        self.fatal
    }
}

impl From<DriverError> for DeviceError {
    fn from(error: DriverError) -> Self {
        Self { fatal: !matches!(error, DriverError::OutOfMemory { .. }), sentence: error.to_string() }
    }
}

/// The most tokens that a round drafts on a card.
pub const LONGEST_DRAFT: usize = MAX_WINDOW - 1;

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
    type Key = Kind;

    fn key(&self) -> Kind {
        match self.step {
            Step::Window { ref ids, mask, with_logits } => {
                Kind::Window { rows: ids.len(), mask, logits: with_logits.then_some(self.lease.slot) }
            }
            Step::Round { drafter, .. } => Kind::Round(drafter),
        }
    }
}

/// What can run together.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
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
    /// The picture does not fit, or the card failed.
    pub fn encode_image(&self, patches: &Patches) -> Result<ImageFeatures, DeviceError> {
        self.executor().guarded(|executor| executor.encode(patches))
    }

    /// Starts a request: prompt ids whose image placeholders are replaced by `image` in order, and at most `max_tokens` of
    /// answer. Waits while all room is taken.
    ///
    /// # Errors
    /// The prompt does not fit, or the card failed.
    pub fn session(
        &self,
        prompt: &[u32],
        image: &ImageFeatures,
        max_tokens: usize,
    ) -> Result<DeviceSession<'_>, DeviceError> {
        let most = self.plan.extent.sequence_tokens;
        if room(prompt.len(), 0) > most {
            let tokens = prompt.len();
            return Err(DeviceError::unfit(format!("the prompt of {tokens} tokens does not fit the card's cache")));
        }
        let tokens = room(prompt.len(), max_tokens).min(most);
        let mut executor = self.executor();
        let lease = loop {
            if let Some(fault) = &executor.broken {
                return Err(fault.clone());
            }
            match executor.claim(tokens) {
                Some(lease) => break lease,
                None => executor = self.released.wait(executor).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(executor);
        Ok(DeviceSession::new(self, lease, prompt, image))
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
