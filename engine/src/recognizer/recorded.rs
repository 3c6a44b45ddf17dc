//! A recording that answers as what was recorded did.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Abilities, Answer, Fault, Recognizer, Request, Sink, Step};
use crate::cancel::Cancel;
use crate::event::{Event, RequestId};
use crate::page::Status;

/// A request as it was answered.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedAnswer {
    /// What was heard before the answer.
    pub steps: Vec<Step>,
    /// The answer.
    pub answer: Answer,
}

/// Answers requests in the order in which they come with the recorded answers in their order.
pub struct RecordedRecognizer {
    abilities: Abilities,
    answers: Mutex<VecDeque<RecordedAnswer>>,
}

impl RecordedRecognizer {
    /// A recording of answers.
    pub fn new(abilities: Abilities, answers: impl IntoIterator<Item = RecordedAnswer>) -> Self {
        Self { abilities, answers: Mutex::new(answers.into_iter().collect()) }
    }

    /// The requests of a job's events, in the order of its pages and regions.
    pub fn from_events(abilities: Abilities, events: &[Event]) -> Self {
        let mut steps: BTreeMap<RequestId, Vec<Step>> = BTreeMap::new();
        let mut answers = Vec::new();
        for event in events {
            match event {
                Event::RegionFinished { page, region, readings, .. } => {
                    for (request, reading) in readings.iter().enumerate() {
                        let id = RequestId { page: *page, region: *region, request };
                        let answer = Answer {
                            status: reading.status.clone(),
                            text: reading.text.clone(),
                            rounds: reading.rounds.clone(),
                            timings: reading.timings,
                        };
                        answers.push((id, answer));
                    }
                }
                event => {
                    if let Some((id, step)) = event.step() {
                        steps.entry(id).or_default().push(step);
                    }
                }
            }
        }
        answers.sort_by_key(|(id, _)| *id);
        let answers = answers.into_iter().map(|(id, answer)| {
            let steps = steps.remove(&id).unwrap_or_default();
            RecordedAnswer { steps, answer }
        });
        Self::new(abilities, answers)
    }
}

impl Recognizer for RecordedRecognizer {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn submit(&self, _: Arc<Request>, sink: Box<dyn Sink>, cancel: Cancel) {
        if cancel.is_cancelled() {
            return sink.answer(Ok(Answer::nothing(Status::Cancelled)));
        }
        let next = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(RecordedAnswer { steps, answer }) = next else {
            return sink.answer(Err(Fault("the recording holds no more answers".to_owned())));
        };
        steps.into_iter().for_each(|step| sink.step(step));
        sink.answer(Ok(answer));
    }
}
