//! What is made from one input: its document, its pictures and its trace, written page by page.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use engine::export::{DocumentWriter, ExportOptions, Format, figure_file_name};
use engine::page::{Figure, PageResult};

use crate::output::{Figures, PendingFile, Placement, Unwritten, place_together, reason, unwritten};
use crate::printer;

/// The folder of a document's pictures stands beside it and is named after it.
pub(crate) fn images_folder(document: &Path) -> String {
    let stem = document.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    format!("{}-images", stem.unwrap_or_default())
}

/// The results of one input. Files take their places in `finish`; dropping this without it leaves no trace.
pub(crate) struct Results {
    document: Sink,
    trace: Option<Sink>,
    figures: Option<Figures>,
    /// Something could not be written: the rest is not worth having.
    broken: bool,
}

/// What is written of an input, and how.
#[derive(Clone, Copy)]
pub(crate) struct Output<'a> {
    pub(crate) format: Format,
    pub(crate) furniture: bool,
    pub(crate) force: bool,
    pub(crate) trace: Option<&'a Path>,
    /// Whether the pictures are in their places already.
    pub(crate) pictures_are_there: bool,
}

impl Results {
    /// Results for the input called `name`, to go to `target` or else to standard output.
    pub(crate) fn new(target: Option<&Path>, name: &str, output: Output<'_>, stdout: printer::Results) -> Self {
        let images = target.map(images_folder);
        let kept = target.zip(images.as_deref()).filter(|_| !output.pictures_are_there);
        let figures = kept.map(|(target, images)| Figures::beside(target, images, output.force));
        let options = ExportOptions { furniture: output.furniture, images, ..ExportOptions::default() };
        let sink = |target: Option<&Path>, format| Sink {
            target: target.map(Path::to_path_buf),
            stdout: stdout.clone(),
            format,
            name: name.to_owned(),
            options: options.clone(),
            force: output.force,
            writer: None,
        };
        Self {
            document: sink(target, output.format),
            trace: output.trace.map(|file| sink(Some(file), Format::Trace)),
            figures,
            broken: false,
        }
    }

    /// Whether standard output was asked for and nobody reads it any more.
    pub(crate) fn is_unwanted(&self) -> bool {
        self.document.target.is_none() && self.document.stdout.is_closed()
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
        let Some(kept) = &mut self.figures else { return Ok(()) };
        let mut keep = |figure: &Figure| kept.keep(&figure_file_name(page.index, figure.region), &figure.png);
        figures.iter().try_for_each(|figure| keep(figure).map_err(|fault| fault.to_string()))
    }

    fn each_sink(&mut self, write: impl Fn(&mut DocumentWriter<Out>) -> io::Result<()>) -> Result<(), String> {
        std::iter::once(&mut self.document).chain(&mut self.trace).try_for_each(|sink| sink.add(&write))
    }

    /// Puts everything in its place; nothing at all when no page came. All files get there or none; the document comes
    /// last: once it is there, everything that it refers to is there.
    pub(crate) fn finish(self) -> Result<(), String> {
        let Self { document, trace, figures, broken } = self;
        if broken {
            return Ok(());
        }
        // What goes to standard output cannot be taken back, and does not wait for files.
        let document = if document.target.is_none() {
            document.print()?;
            None
        } else {
            Some(document)
        };
        let placed = place_together(|placement| {
            figures.map_or(Ok(()), |figures| figures.place_with(placement))?;
            trace.into_iter().chain(document).try_for_each(|sink| sink.place_with(placement))
        });
        placed.map_err(|fault| fault.to_string())
    }
}

/// One document in one format, begun with its first page.
struct Sink {
    /// The file; standard output without one.
    target: Option<PathBuf>,
    stdout: printer::Results,
    format: Format,
    name: String,
    options: ExportOptions,
    force: bool,
    writer: Option<DocumentWriter<Out>>,
}

enum Out {
    Stream(printer::Results),
    /// Standard output on a terminal waits until the live view is over.
    Held(Vec<u8>, printer::Results),
    File(PendingFile),
}

impl Sink {
    fn add(&mut self, write: impl FnOnce(&mut DocumentWriter<Out>) -> io::Result<()>) -> Result<(), String> {
        self.begun().and_then(write).map_err(|error| match &self.target {
            Some(target) => unwritten(target, &error),
            None => unprinted(&error),
        })
    }

    fn begun(&mut self) -> io::Result<&mut DocumentWriter<Out>> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => {
                let out = match &self.target {
                    None if self.stdout.is_terminal() => Out::Held(Vec::new(), self.stdout.clone()),
                    None => Out::Stream(self.stdout.clone()),
                    Some(target) => Out::File(PendingFile::create(target, self.force)?),
                };
                DocumentWriter::new(out, self.format, &self.name, self.options.clone())?
            }
        };
        Ok(self.writer.insert(writer))
    }

    /// Ends what goes to standard output.
    fn print(self) -> Result<(), String> {
        let Some(writer) = self.writer else { return Ok(()) };
        let printed = writer.finish().and_then(|out| match out {
            Out::Stream(mut stdout) => stdout.flush(),
            Out::Held(text, mut stdout) => stdout.write_all(&text).and_then(|()| stdout.flush()),
            Out::File(file) => file.place(),
        });
        printed.map_err(|error| unprinted(&error))
    }

    /// Puts the file in its place, together with others.
    fn place_with(self, placement: &mut Placement) -> Result<(), Unwritten> {
        let (Some(writer), Some(target)) = (self.writer, self.target) else { return Ok(()) };
        match writer.finish().map_err(|error| Unwritten::new(&target, error))? {
            Out::File(file) => file.place_with(placement),
            Out::Stream(_) | Out::Held(..) => Ok(()),
        }
    }
}

fn unprinted(error: &io::Error) -> String {
    format!("standard output cannot be written: {}", reason(error))
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
