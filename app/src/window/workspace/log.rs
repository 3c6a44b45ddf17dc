//! What was seen of a request while it decoded, step by step, and the text as it stood after any of them. The live view,
//! the finished page, the replay and the race all draw from this.

use engine::decode::Origin;
use engine::document::Turn;
use engine::event::Piece;
use engine::page::{Status, Timings};
use engine::region::Rect;
use serde::{Deserialize, Serialize};

/// One request, from its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RequestLog {
    /// The part of the page that was read, pixels of the page as it was turned then.
    pub(crate) bounds: Rect,
    /// How the person had turned the page.
    #[serde(default)]
    pub(crate) turn: Turn,
    pub(crate) steps: Vec<Step>,
    /// How it ended; none while it runs.
    pub(crate) status: Option<Status>,
    pub(crate) timings: Timings,
}

/// Something that happened to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// Milliseconds since the request started, by the engine's clock.
    pub(crate) at_ms: f64,
    pub(crate) what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum What {
    /// A draft awaits its verification.
    Drafted { round: u32, text: String },
    /// A round was committed. The counts are those of [`engine::event::Event::Committed`].
    Committed { round: u32, drafted: u32, accepted: u32, tokens: u32, forwards: u32, pieces: Vec<Piece> },
}

/// The text of a request after some of its steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RequestText {
    /// Runs of characters that one round committed in one way, in order.
    pub(crate) runs: Vec<TextRun>,
    /// The current draft, until it is verified.
    pub(crate) ghost: String,
}

/// Characters that one round committed in one way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TextRun {
    pub(crate) text: String,
    pub(crate) round: u32,
    pub(crate) origin: Origin,
    /// The part of the round's draft that the verifier refused, where this run is the correction.
    pub(crate) rejected: Option<String>,
}

/// The counts of one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RoundCounts {
    pub(crate) round: u32,
    pub(crate) drafted: u32,
    pub(crate) accepted: u32,
    pub(crate) tokens: u32,
    pub(crate) forwards: u32,
}

impl RequestText {
    /// The text after the given steps.
    pub(crate) fn after(steps: &[Step]) -> Self {
        let mut text = Self::default();
        steps.iter().for_each(|step| text.apply(&step.what));
        text
    }

    /// Goes one step on.
    pub(crate) fn apply(&mut self, what: &What) {
        match what {
            What::Drafted { text, .. } => self.ghost.clone_from(text),
            What::Committed { round, drafted, accepted, pieces, .. } => {
                let ghost = std::mem::take(&mut self.ghost);
                let mut rejected = (accepted < drafted).then(|| refused(&ghost, pieces)).flatten();
                for piece in pieces {
                    let rejected = if piece.origin == Origin::Correction { rejected.take() } else { None };
                    self.runs.push(TextRun { text: piece.text.clone(), round: *round, origin: piece.origin, rejected });
                }
            }
        }
    }

    /// All committed characters.
    #[cfg(test)]
    pub(crate) fn plain(&self) -> String {
        self.runs.iter().map(|run| run.text.as_str()).collect()
    }
}

/// What is left of a draft after the part of it that was committed.
fn refused(ghost: &str, pieces: &[Piece]) -> Option<String> {
    let stood: usize = pieces.iter().filter(|p| p.origin != Origin::Correction).map(|p| p.text.len()).sum();
    // The draft's text begins with the draft forward's own token, which every round commits.
    ghost.get(stood.min(ghost.len())..).filter(|rest| !rest.is_empty()).map(str::to_owned)
}

impl RequestLog {
    /// The counts of its rounds, in order.
    pub(crate) fn rounds(&self) -> impl Iterator<Item = RoundCounts> {
        self.steps.iter().filter_map(Step::counts)
    }
}

impl Step {
    /// The counts of the round that it committed, if it did.
    pub(crate) fn counts(&self) -> Option<RoundCounts> {
        match self.what {
            What::Committed { round, drafted, accepted, tokens, forwards, .. } => {
                Some(RoundCounts { round, drafted, accepted, tokens, forwards })
            }
            What::Drafted { .. } => None,
        }
    }
}
