//! Who reads pictures: the seam between a page's journey and whatever answers requests.
//!
//! A [`Request`] is one picture and one prompt. A [`Recognizer`] answers it, live, to the request's [`Sink`]. The processor
//! ([`CpuRecognizer`]), a card ([`CardRecognizer`]) and a recording ([`RecordedRecognizer`]) are recognizers, and so is
//! falling back from one to another ([`Fallback`]). Nothing outside of this module knows which one reads.

mod card;
mod cpu;
mod fallback;
mod lanes;
mod live;
mod local;
mod recorded;

#[cfg(test)]
mod recognizer_tests;

pub use card::CardRecognizer;
pub use cpu::CpuRecognizer;
pub use fallback::Fallback;
pub use recorded::{RecordedAnswer, RecordedRecognizer};

use std::sync::Arc;

use image::RgbImage;

use crate::cancel::Cancel;
use crate::checkpoint::Unit;
use crate::decode::{Decode, Round, Sampling};
use crate::event::Piece;
use crate::page::{Status, Timings};
use crate::region::Task;

/// What is asked about a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// One of the tasks that checkpoints are trained for, in the words they were trained with.
    Task(Task),
    /// In the caller's own words, for checkpoints that take them ([`Abilities::free_prompts`]).
    Free(String),
}

impl Prompt {
    /// Its words.
    pub fn text(&self) -> &str {
        match self {
            Prompt::Task(task) => task.prompt(),
            Prompt::Free(text) => text,
        }
    }

    /// The task that the answer is handled as: one to a free prompt is text.
    pub fn task(&self) -> Task {
        match self {
            Prompt::Task(task) => *task,
            Prompt::Free(_) => Task::Text,
        }
    }
}

/// How requests are decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestOptions {
    /// The decoding mode.
    pub decode: Decode,
    /// Sampling instead of the arg-max.
    pub sampling: Option<Sampling>,
    /// The most tokens of an answer.
    pub max_tokens: usize,
}

/// One picture and one prompt.
#[derive(Clone, Debug)]
pub struct Request {
    /// The picture, at its own resolution.
    pub image: RgbImage,
    /// What is asked about it.
    pub prompt: Prompt,
    /// Whether it is a strip with one line of text, whose answer is no longer than its width allows.
    pub is_line: bool,
    /// How it is decoded.
    pub options: RequestOptions,
}

/// What is heard of a request before its answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// It went to the model.
    Started,
    /// A draft awaits its verification.
    Drafted {
        /// Milliseconds since the request started.
        at_ms: f64,
        /// The round.
        round: u32,
        /// The drafted text; characters cut short at the end of the draft are left out.
        text: String,
    },
    /// A round was committed.
    Committed {
        /// Milliseconds since the request started.
        at_ms: f64,
        /// The round.
        round: u32,
        /// Drafted tokens.
        drafted: u32,
        /// Accepted ones of them.
        accepted: u32,
        /// Tokens committed.
        tokens: u32,
        /// Decoder forwards that the round took, draft and verify alike; 0 for the prefill.
        forwards: u32,
        /// The new text; empty while a character is incomplete.
        pieces: Vec<Piece>,
    },
    /// What was heard so far is void: another recognizer reads it from its beginning.
    Restarted {
        /// One sentence: why, and who reads now.
        reason: String,
    },
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// How it ended. What went wrong with this picture is a status; see [`Fault`] for what is wrong with the recognizer.
    pub status: Status,
    /// The text as decoded from the token ids, think scaffolding and special tokens removed.
    pub text: String,
    /// Every round in order, round 0 being the prefill.
    pub rounds: Vec<Round>,
    /// Where the time went.
    pub timings: Timings,
}

impl Answer {
    /// The answer to a request that nothing was read of.
    pub fn nothing(status: Status) -> Self {
        Self { status, text: String::new(), rounds: Vec::new(), timings: Timings::default() }
    }
}

/// Why a recognizer cannot answer a request that another one may be able to answer: a device failed, memory does not
/// suffice, a server is away. Displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Fault(pub String);

/// Hears of one request. The answer ends it; a sink that is dropped without one was given up by a fault of ours.
pub trait Sink: Send {
    /// Hears how the request goes on. Must not wait.
    fn step(&self, step: Step);
    /// Hears how it ended. What was told before a fault is void.
    fn answer(self: Box<Self>, answer: Result<Answer, Fault>);
}

/// What a recognizer takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// How much of a page goes into one request.
    pub unit: Unit,
    /// The tasks that can be asked; never empty.
    pub tasks: Vec<Task>,
    /// Whether prompts in other words are taken.
    pub free_prompts: bool,
    /// Why drafting is not offered, in one sentence; `None` when it is.
    pub only_ar: Option<String>,
    /// Requests that it answers side by side, at least 1. More of them wait inside.
    pub concurrency: usize,
}

/// Answers requests, several of them side by side.
pub trait Recognizer: Send + Sync {
    /// What it takes.
    fn abilities(&self) -> &Abilities;

    /// Takes a request and returns; `sink` hears the rest, from other threads or before this returns. A request that is
    /// cancelled is answered with what was committed by then, soon.
    fn submit(&self, request: Arc<Request>, sink: Box<dyn Sink>, cancel: Cancel);

    /// Why it will answer nothing any more, in one sentence; `None` while it does.
    fn fault(&self) -> Option<String> {
        None
    }
}
