//! One recognizer, and another that answers what the first cannot.

use std::sync::{Arc, OnceLock};

use super::{Abilities, Answer, Fault, Recognizer, Request, Sink, Step};
use crate::cancel::Cancel;

/// Makes the second recognizer when it is needed first. The error is a sentence.
type Make = Box<dyn Fn() -> Result<Arc<dyn Recognizer>, String> + Send + Sync>;

/// Asks the first recognizer; what that gives back with a fault goes to the second, and everything once the first is of no
/// more use. The second is not loaded before it is needed.
pub struct Fallback {
    first: Arc<dyn Recognizer>,
    second: Arc<Second>,
}

struct Second {
    /// Who reads, in sentences: "the CPU".
    name: &'static str,
    make: Make,
    made: OnceLock<Result<Arc<dyn Recognizer>, String>>,
}

impl Fallback {
    /// `name` is what the second recognizer, which `make` makes, is called in sentences.
    pub fn new(
        first: Arc<dyn Recognizer>,
        name: &'static str,
        make: impl Fn() -> Result<Arc<dyn Recognizer>, String> + Send + Sync + 'static,
    ) -> Self {
        let second = Second { name, make: Box::new(make), made: OnceLock::new() };
        Self { first, second: Arc::new(second) }
    }
}

impl Recognizer for Fallback {
    fn abilities(&self) -> &Abilities {
        self.first.abilities()
    }

    fn submit(&self, request: Arc<Request>, sink: Box<dyn Sink>, cancel: Cancel) {
        if self.first.fault().is_some() {
            return self.second.submit(request, sink, cancel);
        }
        let retry = Retry {
            request: Arc::clone(&request),
            sink,
            cancel: cancel.clone(),
            first: Arc::clone(&self.first),
            second: Arc::clone(&self.second),
        };
        self.first.submit(request, Box::new(retry), cancel);
    }

    fn fault(&self) -> Option<String> {
        let first = self.first.fault()?;
        match self.second.made.get() {
            Some(Ok(second)) => second.fault(),
            Some(Err(fault)) => Some(format!("{first}; {fault}")),
            None => None,
        }
    }
}

impl Second {
    fn submit(&self, request: Arc<Request>, sink: Box<dyn Sink>, cancel: Cancel) {
        match self.made.get_or_init(|| (self.make)()) {
            Ok(second) => second.submit(request, sink, cancel),
            Err(sentence) => sink.answer(Err(Fault(sentence.clone()))),
        }
    }
}

/// Hands a request on when the first recognizer gives it back.
struct Retry {
    request: Arc<Request>,
    sink: Box<dyn Sink>,
    cancel: Cancel,
    first: Arc<dyn Recognizer>,
    second: Arc<Second>,
}

impl Sink for Retry {
    fn step(&self, step: Step) {
        self.sink.step(step);
    }

    fn answer(self: Box<Self>, answer: Result<Answer, Fault>) {
        let Self { request, sink, cancel, first, second } = *self;
        let fault = match answer {
            Err(fault) => fault,
            answer => return sink.answer(answer),
        };
        let what = if first.fault().is_some() { "everything from here on" } else { "this part" };
        sink.step(Step::Restarted { reason: format!("{fault}; {} reads {what}", second.name) });
        second.submit(request, Box::new(Restarted(sink)), cancel);
    }
}

/// Begins with a restart instead of a start.
struct Restarted(Box<dyn Sink>);

impl Sink for Restarted {
    fn step(&self, step: Step) {
        if step != Step::Started {
            self.0.step(step);
        }
    }

    fn answer(self: Box<Self>, answer: Result<Answer, Fault>) {
        self.0.answer(answer);
    }
}
