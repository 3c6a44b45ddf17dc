//! Falling back and playing back, with recognizers that answer as the test says.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;

/// Answers with its name, or gives every request back.
struct Named {
    name: &'static str,
    abilities: Abilities,
    /// How it gives requests back: alone, or because it is broken.
    gives_back: Option<&'static str>,
    broken: AtomicBool,
}

impl Named {
    fn new(name: &'static str, gives_back: Option<&'static str>) -> Arc<Self> {
        let (unit, tasks) = (Unit::Region, vec![Task::Text]);
        let abilities = Abilities { unit, tasks, free_prompts: true, only_ar: None, concurrency: 1 };
        Arc::new(Self { name, abilities, gives_back, broken: AtomicBool::new(false) })
    }
}

impl Recognizer for Named {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn submit(&self, _: Arc<Request>, sink: Box<dyn Sink>, _: Cancel) {
        sink.step(Step::Started);
        match self.gives_back {
            Some(reason) => sink.answer(Err(Fault(reason.to_owned()))),
            None => sink.answer(Ok(Answer { text: self.name.to_owned(), ..Answer::nothing(Status::Done) })),
        }
    }

    fn fault(&self) -> Option<String> {
        self.broken.load(Ordering::Relaxed).then(|| "it broke".to_owned())
    }
}

/// What a sink heard.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Words>>);

#[derive(Clone, Default)]
struct Words {
    steps: Vec<Step>,
    answer: Option<Result<Answer, Fault>>,
}

impl Sink for Heard {
    fn step(&self, step: Step) {
        self.0.lock().unwrap().steps.push(step);
    }

    fn answer(self: Box<Self>, answer: Result<Answer, Fault>) {
        self.0.lock().unwrap().answer = Some(answer);
    }
}

fn ask(recognizer: &dyn Recognizer) -> (Vec<Step>, Result<String, String>) {
    let options = RequestOptions { decode: Decode::Ar, sampling: None, max_tokens: 10 };
    let request = Request { image: RgbImage::new(1, 1), prompt: Prompt::Task(Task::Text), is_line: false, options };
    let heard = Heard::default();
    recognizer.submit(Arc::new(request), Box::new(heard.clone()), Cancel::new());
    let Words { steps, answer } = heard.0.lock().unwrap().clone();
    (steps, answer.unwrap().map(|answer| answer.text).map_err(|fault| fault.to_string()))
}

/// The second is made when it is needed first, once; from a restart on a request is told as one.
#[test]
fn what_the_first_gives_back_the_second_reads() {
    let made = Arc::new(AtomicUsize::new(0));
    let fallback = |first: &Arc<Named>| {
        let (made, first) = (Arc::clone(&made), Arc::clone(first));
        Fallback::new(first, "the other", move || {
            made.fetch_add(1, Ordering::Relaxed);
            Ok(Named::new("other", None))
        })
    };
    let well = fallback(&Named::new("first", None));
    assert_eq!(ask(&well), (vec![Step::Started], Ok("first".to_owned())));
    assert_eq!(made.load(Ordering::Relaxed), 0, "nothing is loaded that nobody needs");

    let first = Named::new("first", Some("it has no room"));
    let full = fallback(&first);
    let restarted = |what: &str| Step::Restarted { reason: format!("it has no room; the other reads {what}") };
    for _ in 0..2 {
        assert_eq!(ask(&full), (vec![Step::Started, restarted("this part")], Ok("other".to_owned())));
    }
    assert_eq!(made.load(Ordering::Relaxed), 1);
    assert_eq!(full.fault(), None);

    // Broken while it read: said once; from then on nobody asks it any more.
    let failing = Named::new("first", Some("it has no room"));
    let broken = fallback(&failing);
    failing.broken.store(true, Ordering::Relaxed);
    assert_eq!(ask(&broken), (vec![Step::Started], Ok("other".to_owned())));
    assert_eq!(broken.fault(), None, "the other reads on");
}

/// Without a second one, the sentence of what was in its way is the request's.
#[test]
fn no_second_recognizer_is_a_fault() {
    let none = Fallback::new(Named::new("first", Some("it has no room")), "the other", || {
        Err("the weights are damaged".to_owned())
    });
    assert_eq!(ask(&none).1, Err("the weights are damaged".to_owned()));
}

/// A recording runs out.
#[test]
fn a_recording_answers_in_order_and_ends() {
    let answer = |text: &str| RecordedAnswer {
        steps: vec![Step::Started],
        answer: Answer { text: text.to_owned(), ..Answer::nothing(Status::Done) },
    };
    let abilities = Named::new("", None).abilities.clone();
    let recorded = RecordedRecognizer::new(abilities, [answer("one"), answer("two")]);
    assert_eq!(ask(&recorded), (vec![Step::Started], Ok("one".to_owned())));
    assert_eq!(ask(&recorded).1, Ok("two".to_owned()));
    assert!(ask(&recorded).1.unwrap_err().contains("no more answers"));
}
