//! The only place that writes to standard output and standard error.

use std::cell::{Cell, RefCell};
use std::io::{self, IsTerminal, Write};
use std::rc::Rc;

use crate::cli::Answer;

/// Standard output and standard error, or two buffers in a test.
pub(crate) struct Printer {
    out: Results,
    err: Box<dyn Write>,
    err_is_terminal: bool,
}

/// Standard output, to be written from several places. A reader that went away (`| head`) is no fault: what is written
/// from then on is dropped.
#[derive(Clone)]
pub(crate) struct Results {
    stream: Rc<RefCell<Box<dyn Write>>>,
    closed: Rc<Cell<bool>>,
    is_terminal: bool,
}

impl Results {
    fn new(stream: impl Write + 'static, is_terminal: bool) -> Self {
        Self { stream: Rc::new(RefCell::new(Box::new(stream))), closed: Rc::default(), is_terminal }
    }

    /// Whether nobody reads any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.get()
    }

    /// Whether a person reads along.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    fn unless_closed<T>(&self, done: io::Result<T>, dropped: T) -> io::Result<T> {
        match done {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed.set(true);
                Ok(dropped)
            }
            other => other,
        }
    }
}

impl Write for Results {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_closed() {
            return Ok(bytes.len());
        }
        let done = self.stream.borrow_mut().write(bytes);
        self.unless_closed(done, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_closed() {
            return Ok(());
        }
        let done = self.stream.borrow_mut().flush();
        self.unless_closed(done, ())
    }
}

impl Printer {
    /// The streams of this process.
    pub(crate) fn standard() -> Self {
        Self {
            out: Results::new(io::stdout(), io::stdout().is_terminal()),
            err: Box::new(io::stderr()),
            err_is_terminal: io::stderr().is_terminal(),
        }
    }

    /// Two other streams, neither a terminal.
    #[cfg(test)]
    pub(crate) fn to(out: impl Write + 'static, err: impl Write + 'static) -> Self {
        Self { out: Results::new(out, false), err: Box::new(err), err_is_terminal: false }
    }

    /// Whether standard error can be redrawn.
    pub(crate) fn err_is_terminal(&self) -> bool {
        self.err_is_terminal
    }

    /// Standard output.
    pub(crate) fn results(&self) -> Results {
        self.out.clone()
    }

    /// Writes a whole result.
    pub(crate) fn result(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush())
    }

    /// Names a fault.
    pub(crate) fn failure(&mut self, sentence: &str) {
        self.progress(&format!("gravityocr: {sentence}\n"));
    }

    /// Writes to standard error as it is. Nobody listening there is no reason to stop.
    pub(crate) fn progress(&mut self, text: &str) {
        let _ = self.err.write_all(text.as_bytes()).and_then(|()| self.err.flush());
    }

    /// Says what the command line itself has to say.
    pub(crate) fn answer(&mut self, answer: &Answer) {
        if answer.to_stdout {
            let _ = self.result(&answer.text);
        } else {
            self.progress(&answer.text);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use super::*;
    use std::sync::{Arc, Mutex};

    /// A stream that can be read afterwards.
    #[derive(Clone, Default)]
    pub(crate) struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Shared {
        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Broken(io::ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_quiet_and_a_full_disk_is_not() {
        let err = Shared::default();
        assert!(Printer::to(Broken(io::ErrorKind::BrokenPipe), err.clone()).result("text").is_ok());
        assert!(Printer::to(Broken(io::ErrorKind::StorageFull), err.clone()).result("text").is_err());
        assert_eq!(err.text(), "");
    }
}
