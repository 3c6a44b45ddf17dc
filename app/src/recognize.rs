//! `recognize`: files in, Markdown out.

use std::time::{Duration, Instant};

use engine::decode::Sampling;
use engine::event::{Event, Outcome};
use engine::page::{PageResult, Status};
use engine::region::Role;

use crate::Exit;
use crate::cli::Recognize;
use crate::inputs::{self, Input};
use crate::interrupt::Interrupt;
use crate::output::{self, Destination};
use crate::printer::Printer;
use crate::progress::{self, Progress, Style};
use crate::reader::{EngineReader, Next, Reader};
use crate::results::{Output, Results};

/// How long to wait for an event before looking at the clock and at Ctrl+C.
const PATIENCE: Duration = Duration::from_millis(50);

/// The command as it was typed: with the engine and the streams of this process.
pub(crate) fn command(args: &Recognize, printer: &mut Printer) -> Exit {
    let interrupt = Interrupt::listen();
    let (inputs, faults) = inputs::expand(&args.files);
    for fault in &faults {
        printer.failure(fault);
    }
    if inputs.is_empty() {
        return Exit::Failed;
    }
    let several = args.files.len() > 1 || args.files.iter().any(|file| file.is_dir());
    let destination = match Destination::new(args.output.as_deref(), several) {
        Ok(destination) => destination,
        Err(sentence) => {
            printer.failure(&sentence);
            return Exit::Usage;
        }
    };
    let reader = match EngineReader::start(&args.model) {
        Ok(reader) => reader,
        Err(sentence) => {
            printer.failure(&sentence);
            return Exit::Failed;
        }
    };
    if let Some(sentence) = &reader.info().fallback {
        printer.failure(sentence);
    }
    if let Some(Sampling { temperature, seed }) = args.sampling() {
        printer.progress(&format!("sampling at temperature {temperature} with seed {seed}\n"));
    }
    let style = Style::detect(printer.err_is_terminal(), args.color);
    let session = Session { args, reader: &reader, inputs: &inputs, destination, style, interrupt };
    match session.run(printer) {
        Exit::Done if !faults.is_empty() => Exit::Failed,
        exit => exit,
    }
}

/// Reads every input in turn; a fault of one is named and never stops the others.
struct Session<'a> {
    args: &'a Recognize,
    reader: &'a dyn Reader,
    inputs: &'a [Input],
    destination: Destination,
    style: Style,
    interrupt: Interrupt,
}

impl Session<'_> {
    fn run(&self, printer: &mut Printer) -> Exit {
        let mut exit = Exit::Done;
        for input in self.inputs {
            if self.interrupt.is_asked() {
                return Exit::Interrupted;
            }
            match self.input(input, printer) {
                Exit::Done => {}
                Exit::Interrupted => return Exit::Interrupted,
                other => exit = other,
            }
        }
        exit
    }

    fn input(&self, input: &Input, printer: &mut Printer) -> Exit {
        let target = self.destination.file(input, engine::export::Format::from(self.args.format).extension());
        let files = target.iter().chain(&self.args.trace);
        if let Some(refusal) = files.filter_map(|file| output::refusal(file, self.inputs, self.args.force)).next() {
            printer.failure(&refusal);
            return Exit::Failed;
        }
        let mut reading = Reading { progress: Progress::new(self.style, &input.name()), input, printer, failed: false };
        let output = Output {
            format: self.args.format.into(),
            furniture: self.args.furniture,
            force: self.args.force,
            trace: self.args.trace.as_deref(),
            pictures_are_there: false,
        };
        let mut results = Results::new(target.as_deref(), &input.name(), output, reading.printer.results());
        let cancelled = self.follow(&mut reading, &mut results);
        reading.clear();
        if let Err(sentence) = results.finish() {
            reading.fault(&sentence);
        }
        match (cancelled, reading.failed) {
            (true, _) => Exit::Interrupted,
            (false, true) => Exit::Failed,
            (false, false) => Exit::Done,
        }
    }

    /// Follows a job from its start to its last event; whether the user cancelled it.
    fn follow(&self, reading: &mut Reading<'_>, results: &mut Results) -> bool {
        let mut job = match self.reader.start(self.args.job(&reading.input.path), Box::new(|| ())) {
            Ok(job) => job,
            Err(sentence) => {
                reading.fault(&sentence);
                return false;
            }
        };
        let mut stopping = false;
        loop {
            // A reader of standard output that went away (`| head`) ends the work too, but quietly.
            if !stopping && (self.interrupt.is_asked() || results.is_unwanted()) {
                stopping = true;
                job.cancel();
            }
            let event = match job.next(PATIENCE) {
                Next::Event(event) => event,
                Next::Quiet => {
                    reading.draw();
                    continue;
                }
                Next::Gone => {
                    reading.fault("the engine stopped; what was finished is kept");
                    return self.interrupt.is_asked();
                }
            };
            reading.show(&event);
            let written = match event {
                Event::PageFinished { page, figures } => {
                    reading.remark(&page);
                    results.page(&page, &figures)
                }
                Event::PageFailed { page, message } => {
                    reading.page_fault(page, &message);
                    results.failed_page(page, &message)
                }
                Event::PageStarted { page, notice: Some(notice), .. } => {
                    reading.say(&format!("page {}: {notice}", page + 1));
                    Ok(())
                }
                Event::RequestRestarted { id, reason, .. } => {
                    reading.say(&format!("page {}, region {}: {reason}", id.page + 1, id.region + 1));
                    Ok(())
                }
                Event::Finished { outcome } => {
                    if let Outcome::Failed(message) = &outcome {
                        reading.fault(message);
                    }
                    return outcome == Outcome::Cancelled && self.interrupt.is_asked();
                }
                _ => Ok(()),
            };
            if let Err(sentence) = written {
                reading.fault(&sentence);
                stopping = true;
                job.cancel();
            }
            reading.draw();
        }
    }
}

/// One input while it is read: what is shown of it, and whether something went wrong.
struct Reading<'a> {
    progress: Progress,
    input: &'a Input,
    printer: &'a mut Printer,
    failed: bool,
}

impl Reading<'_> {
    fn show(&mut self, event: &Event) {
        let text = self.progress.event(event);
        self.printer.progress(&text);
    }

    fn draw(&mut self) {
        let text = self.progress.draw(Instant::now(), progress::columns());
        self.printer.progress(&text);
    }

    /// Names something that went wrong.
    fn fault(&mut self, sentence: &str) {
        self.failed = true;
        self.say(sentence);
    }

    /// Names why a page could not be read; the sentence may name the page itself.
    fn page_fault(&mut self, page: usize, sentence: &str) {
        let page = format!("page {}", page + 1);
        if sentence.contains(&page) {
            self.fault(sentence);
        } else {
            self.fault(&format!("{page}: {sentence}"));
        }
    }

    /// Names what about a page its text alone does not tell.
    fn remark(&mut self, page: &PageResult) {
        for remark in remarks(page) {
            self.failed |= remark.is_fault;
            self.say(&format!("page {}: {}", page.index + 1, remark.text));
        }
    }

    /// Takes away what is redrawn, before something that stays.
    fn clear(&mut self) {
        let erased = self.progress.erase();
        self.printer.progress(&erased);
    }

    fn say(&mut self, sentence: &str) {
        self.clear();
        self.printer.failure(&named(sentence, self.input));
    }
}

/// The sentence with the file in it as the user wrote it, since several files may have one name.
fn named(sentence: &str, input: &Input) -> String {
    let (path, name) = (input.path.display().to_string(), input.name());
    if sentence.contains(&path) {
        sentence.to_owned()
    } else if sentence.contains(&name) {
        sentence.replacen(&name, &path, 1)
    } else {
        let separator = if sentence.starts_with("page ") { "," } else { ":" };
        format!("{path}{separator} {sentence}")
    }
}

/// Something about a page that its text alone does not tell.
struct Remark {
    text: String,
    is_fault: bool,
}

/// What to say about a page: regions that failed, were cut short or are kept as pictures although they hold text.
fn remarks(page: &PageResult) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let mut remark = |text: String, is_fault| remarks.push(Remark { text, is_fault });
    if page.regions.is_empty() {
        remark("nothing to read was found".to_owned(), false);
    }
    let mut formulas = 0;
    for (number, region) in page.regions.iter().enumerate() {
        let number = number + 1;
        match &region.status {
            Status::Failed(message) => remark(format!("region {number} could not be read: {message}"), true),
            Status::Truncated => remark(format!("region {number} is cut short: the token limit was reached"), false),
            Status::LoopStopped => remark(format!("region {number} repeated itself and was stopped"), false),
            Status::Picture if region.region.label.role() == Role::Formula => formulas += 1,
            Status::Done | Status::Empty | Status::Picture | Status::Cancelled => {}
        }
    }
    if formulas > 0 {
        let what = if formulas == 1 {
            "1 formula stays a picture".to_owned()
        } else {
            format!("{formulas} formulas stay pictures")
        };
        remark(format!("{what}: this checkpoint does not read formulas"), false);
    }
    remarks
}

#[cfg(test)]
#[path = "recognize_tests.rs"]
mod tests;
