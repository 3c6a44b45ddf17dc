//! Turns a request's rounds into text while it decodes.

use std::ops::ControlFlow;
use std::time::Instant;

use super::local::milliseconds;
use super::{Sink, Step};
use crate::assemble::cut_loop;
use crate::checkpoint::{Checkpoint, DecodeStream};
use crate::decode::{Observer, Round};
use crate::event::Piece;
use crate::region::Task;

/// Characters between two looks for a loop.
const LOOP_CHECK: usize = 1024;

/// Streams one request's text.
pub(super) struct Live<'a> {
    start: Instant,
    task: Task,
    checkpoint: &'a Checkpoint,
    sink: &'a dyn Sink,
    stream: DecodeStream,
    /// The ids of `<think>` and `</think>`, where the tokenizer has them.
    think: Option<(u32, u32)>,
    thinking: bool,
    text: String,
    /// Length of the text at which a loop is looked for next.
    check_at: usize,
}

impl<'a> Live<'a> {
    /// Follows a request that began at `start`.
    pub(super) fn new(start: Instant, task: Task, checkpoint: &'a Checkpoint, sink: &'a dyn Sink) -> Self {
        let tokenizer = &checkpoint.tokenizer;
        Self {
            start,
            task,
            checkpoint,
            sink,
            stream: tokenizer.stream(),
            think: tokenizer.token_id("<think>").zip(tokenizer.token_id("</think>")),
            thinking: false,
            text: String::new(),
            check_at: 2 * LOOP_CHECK,
        }
    }

    /// The whole text, U+FFFD at its end where a character was left incomplete.
    pub(super) fn finish(mut self) -> String {
        let end = self.stream.finish();
        self.text.push_str(&end);
        self.text
    }

    /// The characters that a token completes; none of scaffolding.
    fn push(stream: &mut DecodeStream, thinking: &mut bool, think: Option<(u32, u32)>, id: u32) -> String {
        match think {
            Some((open, _)) if id == open => *thinking = true,
            Some((_, close)) if id == close => *thinking = false,
            _ if *thinking => {}
            _ => return stream.push(id),
        }
        String::new()
    }
}

impl Observer for Live<'_> {
    fn drafted(&mut self, round: u32, tokens: &[u32]) {
        // On a copy, so that a rejected draft leaves no trace.
        let (mut stream, mut thinking) = (self.stream.clone(), self.thinking);
        let end = tokens.iter().position(|id| self.checkpoint.end_tokens.contains(id)).unwrap_or(tokens.len());
        let text = tokens[..end].iter().map(|&id| Self::push(&mut stream, &mut thinking, self.think, id)).collect();
        self.sink.step(Step::Drafted { at_ms: milliseconds(self.start), round, text });
    }

    fn committed(&mut self, round: &Round) -> ControlFlow<()> {
        let mut pieces: Vec<Piece> = Vec::new();
        for token in &round.committed {
            let text = Self::push(&mut self.stream, &mut self.thinking, self.think, token.id);
            if text.is_empty() {
                continue;
            }
            self.text.push_str(&text);
            match pieces.last_mut() {
                Some(piece) if piece.origin == token.origin => piece.text.push_str(&text),
                _ => pieces.push(Piece { text, round: round.index, origin: token.origin }),
            }
        }
        self.sink.step(Step::Committed {
            at_ms: milliseconds(self.start),
            round: round.index,
            drafted: round.draft.len() as u32,
            accepted: round.accepted,
            tokens: round.committed.len() as u32,
            forwards: round.draft_forwards + round.verify_forwards,
            pieces,
        });
        if self.text.len() >= self.check_at {
            self.check_at = self.text.len() + LOOP_CHECK;
            if cut_loop(&self.text, self.task).is_some() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}
