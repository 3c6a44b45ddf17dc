//! What has been committed, and the only place that knows when to stop.

use std::ops::ControlFlow;

use super::{Decoded, Round};
use crate::cancel::Cancel;

/// Why decoding stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// An end token was committed.
    End,
    /// The length limit was reached.
    Length,
    /// The user cancelled.
    Cancelled,
    /// The observer had enough (it saw a loop).
    Observer,
}

/// What ends a request.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// The most tokens to commit, the end token counted.
    pub max_tokens: usize,
    /// The tokens that end it.
    pub end_tokens: &'a [u32],
    /// Looked at between forwards; a target that is to look at it on the way has it from its own beginning.
    pub cancel: &'a Cancel,
}

/// Hears of every draft and every committed round while they happen.
pub trait Observer {
    /// A draft stands and will now be verified (or, in diffusion, be refined; open positions hold the mask token).
    fn drafted(&mut self, _round: u32, _tokens: &[u32]) {}
    /// A round was committed; `Break` ends the request after it.
    fn committed(&mut self, _round: &Round) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Observer for () {}

/// Committed tokens and rounds of one request.
pub(super) struct CommitLog<'a, 'o> {
    limits: &'a Limits<'a>,
    observer: &'o mut dyn Observer,
    tokens: Vec<u32>,
    rounds: Vec<Round>,
    stop: Option<Stop>,
}

impl<'a, 'o> CommitLog<'a, 'o> {
    pub(super) fn new(limits: &'a Limits<'a>, observer: &'o mut dyn Observer) -> Self {
        let stop = (limits.max_tokens == 0).then_some(Stop::Length);
        Self { limits, observer, tokens: Vec::new(), rounds: Vec::new(), stop }
    }

    /// Whether nothing more is to be decoded; to be asked before every forward.
    pub(super) fn is_over(&mut self) -> bool {
        if self.stop.is_none() && self.limits.cancel.is_cancelled() {
            self.stop = Some(Stop::Cancelled);
        }
        self.stop.is_some()
    }

    /// Tokens that may still be committed.
    pub(super) fn room(&self) -> usize {
        self.limits.max_tokens - self.tokens.len()
    }

    /// The number that the next round will have.
    pub(super) fn next_round(&self) -> u32 {
        self.rounds.len() as u32
    }

    /// Shows a draft to the observer.
    pub(super) fn show_draft(&mut self, tokens: &[u32]) {
        let round = self.next_round();
        self.observer.drafted(round, tokens);
    }

    /// Commits a round: cuts it after an end token or at the limit, numbers it, and tells the observer.
    pub(super) fn commit(&mut self, mut round: Round) {
        let room = self.room();
        let end = round.committed.iter().position(|t| self.limits.end_tokens.contains(&t.id));
        match end {
            Some(end) if end < room => {
                round.committed.truncate(end + 1);
                self.stop = Some(Stop::End);
            }
            _ if round.committed.len() >= room => {
                round.committed.truncate(room);
                self.stop = Some(Stop::Length);
            }
            _ => {}
        }
        round.index = self.next_round();
        self.tokens.extend(round.committed.iter().map(|t| t.id));
        if self.observer.committed(&round).is_break() && self.stop.is_none() {
            self.stop = Some(Stop::Observer);
        }
        self.rounds.push(round);
    }

    /// What was decoded. When nothing else stopped it, a forward was cancelled on the way.
    pub(super) fn close(self) -> Decoded {
        Decoded { tokens: self.tokens, stop: self.stop.unwrap_or(Stop::Cancelled), rounds: self.rounds }
    }
}
