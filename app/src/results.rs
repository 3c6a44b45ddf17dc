//! What is made from one input: its document, its pictures and its trace, written page by page.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use engine::export::{DocumentWriter, ExportOptions, figure_file_name};
use engine::page::{Figure, PageResult};

use crate::cli::Recognize;
use crate::output::{self, Figures, PendingFile};
use crate::printer;

/// The results of one input. Files take their places in `finish`; dropping this without it leaves no trace.
pub(crate) struct Results {
    document: Sink,
    trace: Option<Sink>,
    figures: Option<Figures>,
    /// Something could not be written: the rest is not worth having.
    broken: bool,
}

impl Results {
    /// Results for the input called `name`, to go to `target` or else to standard output.
    pub(crate) fn new(target: Option<&Path>, name: &str, args: &Recognize, stdout: printer::Results) -> Self {
        // Pictures stand in a folder named after the document that links to them.
        let stem = target.and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
        let images = stem.map(|stem| format!("{stem}-images"));
        let figures = target.zip(images.as_deref()).map(|(target, images)| Figures::beside(target, images, args.force));
        let options = ExportOptions { furniture: args.furniture, images, ..ExportOptions::default() };
        let sink = |place, format| Sink {
            place,
            format,
            name: name.to_owned(),
            options: options.clone(),
            force: args.force,
            writer: None,
        };
        let place = target.map_or(Place::Stdout(stdout), |target| Place::File(target.to_path_buf()));
        Self {
            document: sink(place, args.format.into()),
            trace: args.trace.as_ref().map(|file| sink(Place::File(file.clone()), engine::export::Format::Trace)),
            figures,
            broken: false,
        }
    }

    /// Whether standard output was asked for and nobody reads it any more.
    pub(crate) fn is_unwanted(&self) -> bool {
        matches!(&self.document.place, Place::Stdout(stdout) if stdout.is_closed())
    }

    /// Adds a page. The error is a sentence; after one, nothing is put in its place.
    pub(crate) fn page(&mut self, page: &PageResult, figures: &[Figure]) -> Result<(), String> {
        let written = self.figures(page, figures).and_then(|()| self.each_sink(|writer| writer.page(page)));
        self.broken |= written.is_err();
        written
    }

    /// Adds the news that a page could not be read.
    pub(crate) fn failed_page(&mut self, index: usize, message: &str) -> Result<(), String> {
        let written = self.each_sink(|writer| writer.failed_page(index, message));
        self.broken |= written.is_err();
        written
    }

    fn figures(&mut self, page: &PageResult, figures: &[Figure]) -> Result<(), String> {
        let Some(place) = &mut self.figures else { return Ok(()) };
        figures.iter().try_for_each(|figure| place.keep(&figure_file_name(page.index, figure.region), &figure.png))
    }

    fn each_sink(&mut self, write: impl Fn(&mut DocumentWriter<Out>) -> io::Result<()>) -> Result<(), String> {
        std::iter::once(&mut self.document).chain(&mut self.trace).try_for_each(|sink| sink.add(&write))
    }

    /// Puts everything in its place; nothing at all when no page came. The document comes last: once it is there,
    /// everything that it refers to is there.
    pub(crate) fn finish(self) -> Result<(), String> {
        if self.broken {
            return Ok(());
        }
        if let Some(figures) = self.figures {
            figures.place()?;
        }
        if let Some(trace) = self.trace {
            trace.finish()?;
        }
        self.document.finish()
    }
}

/// One document in one format, begun with its first page.
struct Sink {
    place: Place,
    format: engine::export::Format,
    name: String,
    options: ExportOptions,
    force: bool,
    writer: Option<DocumentWriter<Out>>,
}

enum Place {
    Stdout(printer::Results),
    File(PathBuf),
}

enum Out {
    Stream(printer::Results),
    /// Standard output on a terminal waits until the live view is over.
    Held(Vec<u8>, printer::Results),
    File(PendingFile),
}

impl Sink {
    fn add(&mut self, write: impl FnOnce(&mut DocumentWriter<Out>) -> io::Result<()>) -> Result<(), String> {
        self.begun().and_then(write).map_err(|error| self.place.unwritten(&error))
    }

    fn begun(&mut self) -> io::Result<&mut DocumentWriter<Out>> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => {
                let out = match &self.place {
                    Place::Stdout(stdout) if stdout.is_terminal() => Out::Held(Vec::new(), stdout.clone()),
                    Place::Stdout(stdout) => Out::Stream(stdout.clone()),
                    Place::File(target) => Out::File(PendingFile::create(target, self.force)?),
                };
                DocumentWriter::new(out, self.format, &self.name, self.options.clone())?
            }
        };
        Ok(self.writer.insert(writer))
    }

    fn finish(self) -> Result<(), String> {
        let Some(writer) = self.writer else { return Ok(()) };
        let placed = writer.finish().and_then(|out| match out {
            Out::Stream(mut stdout) => stdout.flush(),
            Out::Held(text, mut stdout) => stdout.write_all(&text).and_then(|()| stdout.flush()),
            Out::File(file) => file.place(),
        });
        placed.map_err(|error| self.place.unwritten(&error))
    }
}

impl Place {
    fn unwritten(&self, error: &io::Error) -> String {
        match self {
            Place::Stdout(_) => format!("standard output cannot be written: {}", output::reason(error)),
            Place::File(target) => output::unwritten(target, error),
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Out::Stream(stdout) => stdout.write(bytes),
            Out::Held(text, _) => text.write(bytes),
            Out::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Out::Stream(stdout) => stdout.flush(),
            Out::Held(text, _) => text.flush(),
            Out::File(file) => file.flush(),
        }
    }
}
