//! Looking for what a person pointed at: files in folders, and what is on the clipboard.

use std::path::PathBuf;

use super::strings;
use super::workspace::background_task::BackgroundTask;
use super::workspace::path_form::{Asked, PathForm};

/// Most paths in a pasted text.
const MOST_PASTED: usize = 1000;

/// What was found where a person pointed.
pub(super) enum Found {
    /// Files to open, and sentences about what cannot be.
    Files(Vec<PathBuf>, Vec<String>),
    /// A picture from the clipboard, as PNG.
    Picture(Vec<u8>),
    /// A sentence.
    Nothing(String),
}

/// Searches that are under way.
#[derive(Default)]
pub(super) struct Searches(pub(super) Vec<BackgroundTask<Found>>);

/// What is on the clipboard.
pub(super) fn pasted() -> Result<Found, arboard::Error> {
    let mut clipboard = arboard::Clipboard::new()?;
    if let Ok(files) = clipboard.get().file_list()
        && !files.is_empty()
    {
        return Ok(self::files(&files));
    }
    if let Ok(image) = clipboard.get_image()
        && let Some(bytes) = png(image.width, image.height, image.bytes.into_owned())
    {
        return Ok(Found::Picture(bytes));
    }
    let text = clipboard.get_text()?;
    Ok(named_files(&text).unwrap_or_else(|| Found::Nothing(strings::NOTHING_TO_PASTE.to_owned())))
}

/// The files that a text names, a path or address in each line; none when a line is something else.
pub(super) fn named_files(text: &str) -> Option<Found> {
    let path = |line: &str| PathForm { asked: Asked::Files, text: line.to_owned() }.path().filter(|path| path.exists());
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let paths: Vec<PathBuf> = lines.take(MOST_PASTED + 1).map(path).collect::<Option<_>>()?;
    if paths.is_empty() || paths.len() > MOST_PASTED {
        return None;
    }
    Some(files(&paths))
}

/// The files that paths name, those of folders among them.
pub(super) fn files(paths: &[PathBuf]) -> Found {
    let (inputs, faults) = crate::inputs::expand(paths);
    Found::Files(inputs.into_iter().map(|input| input.path).collect(), faults)
}

pub(super) fn png(width: usize, height: usize, rgba: Vec<u8>) -> Option<Vec<u8>> {
    let image = image::RgbaImage::from_raw(u32::try_from(width).ok()?, u32::try_from(height).ok()?, rgba)?;
    let mut png = std::io::Cursor::new(Vec::new());
    image.write_to(&mut png, image::ImageFormat::Png).ok()?;
    Some(png.into_inner())
}
