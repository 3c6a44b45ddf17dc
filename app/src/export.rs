//! `export`: a JSON result in another format, without reading the scan again.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use engine::export::{DocumentResult, Format, PageOutcome, figure_file_name, from_json, is_figure};
use engine::page::{Figure, PageResult, Status};
use engine::region::{Label, Role};

use crate::Exit;
use crate::cli::Export;
use crate::inputs::Input;
use crate::output::{Destination, parent, reason, refusal};
use crate::printer::Printer;
use crate::results::{Output, Results, images_folder};

/// Bytes of a result: those of some thousand pages with all their rounds.
const MAX_BYTES: u64 = 500_000_000;

/// Bytes of one picture.
const MAX_PICTURE_BYTES: u64 = 500_000_000;

/// The command as it was typed.
pub(crate) fn command(args: &Export, printer: &mut Printer) -> Exit {
    let destination = match Destination::new(args.output.as_deref(), false) {
        Ok(destination) => destination,
        Err(sentence) => {
            printer.failure(&sentence);
            return Exit::Usage;
        }
    };
    match export(args, &destination, printer) {
        Ok(()) => Exit::Done,
        Err(sentence) => {
            printer.failure(&sentence);
            Exit::Failed
        }
    }
}

fn export(args: &Export, destination: &Destination, printer: &mut Printer) -> Result<(), String> {
    let stem = args.result.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let input = Input { path: args.result.clone(), stem };
    let format = Format::from(args.format);
    let target = destination.file(&input, format.extension());
    let inputs = [input];
    if let Some(refusal) = target.as_deref().and_then(|target| refusal(target, &inputs, args.force)) {
        return Err(refusal);
    }
    let text = read(&args.result, MAX_BYTES)?;
    let text =
        String::from_utf8(text).map_err(|_| format!("{}: this is not JSON, but other data", args.result.display()))?;
    let document = from_json(&text).map_err(|error| format!("{}: {error}", args.result.display()))?;
    drop(text);

    let pictures = Pictures::beside(&args.result, target.as_deref());
    let output = Output {
        format,
        furniture: args.furniture,
        force: args.force,
        trace: None,
        pictures_are_there: pictures.are_in_place,
    };
    let DocumentResult { name, pages } = document;
    let mut results = Results::new(target.as_deref(), &name, output, printer.results());
    let mut missing = 0;
    for page in pages {
        match page {
            PageOutcome::Failed { index, message } => results.failed_page(index, &message)?,
            PageOutcome::Page(mut page) if target.is_some() => {
                let figures = pictures.of(&mut page, &output, &mut missing)?;
                results.page(&page, &figures)?;
            }
            // What goes to standard output links to no picture.
            PageOutcome::Page(page) => results.page(&page, &[])?,
        }
    }
    results.finish()?;
    if missing > 0 {
        let what = if missing == 1 { "1 picture is".to_owned() } else { format!("{missing} pictures are") };
        printer.failure(&format!("{what} not in {}; the document says so in their place", pictures.folder.display()));
    }
    Ok(())
}

/// A file's content, if it is no larger than that.
fn read(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let unreadable = |error| format!("{} cannot be read: {}", path.display(), reason(&error));
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    // Some files (pipes, /proc) have more bytes than they say.
    let size = file.metadata().map_err(unreadable)?.len();
    if size <= limit {
        file.take(limit + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    if size.max(bytes.len() as u64) > limit {
        return Err(format!("{} has more than {} MB, which no result has", path.display(), limit / 1_000_000));
    }
    Ok(bytes)
}

/// The pictures of a result, which JSON does not name: they are in the folder beside it that is named after it.
struct Pictures {
    folder: PathBuf,
    /// Whether that is the folder of the new document, too.
    are_in_place: bool,
}

impl Pictures {
    fn beside(result: &Path, target: Option<&Path>) -> Self {
        let folder = parent(result).join(images_folder(result));
        let same = |target: &Path| fs::canonicalize(parent(target).join(images_folder(target)));
        let are_in_place = match (fs::canonicalize(&folder), target.map(same)) {
            (Ok(from), Some(Ok(to))) => from == to,
            _ => false,
        };
        Self { folder, are_in_place }
    }

    /// The pictures of a page that are to be put beside the new document. Where one is missing, the document says so
    /// instead of linking to nothing.
    fn of(&self, page: &mut PageResult, output: &Output<'_>, missing: &mut usize) -> Result<Vec<Figure>, String> {
        let mut figures = Vec::new();
        let everything = output.furniture || output.format == Format::Json;
        for (number, result) in page.regions.iter_mut().enumerate() {
            if !is_figure(result) || (!everything && result.region.label.role() == Role::Furniture) {
                continue;
            }
            let file = self.folder.join(figure_file_name(page.index, number));
            if !file.is_file() {
                *missing += 1;
                if output.format != Format::Json {
                    result.region.label = Label::Text;
                    result.status = Status::Failed("its picture is missing".to_owned());
                }
            } else if !self.are_in_place {
                figures.push(Figure { region: number, png: read(&file, MAX_PICTURE_BYTES)? });
            }
        }
        Ok(figures)
    }
}

#[cfg(test)]
#[path = "export_tests.rs"]
mod tests;
