//! The files of a checkpoint, from a folder on disk or from the program itself. Both are read through the same checks.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use kernels::memory::Bytes;
use serde_json::Value;

use super::CheckpointError;
use super::error::brief;

/// Largest settings file or template, bytes. Real ones have a few kilobytes.
pub(super) const SETTINGS_LIMIT: u64 = 16 << 20;
/// Largest `tokenizer.json`, bytes. Large vocabularies have about 20 MB.
pub(super) const TOKENIZER_LIMIT: u64 = 128 << 20;

/// Where a checkpoint's files are.
pub(super) enum Folder {
    Disk(PathBuf),
    /// File names and contents.
    Bundled(&'static [(&'static str, &'static [u8])]),
}

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Self, CheckpointError> {
        if !path.is_dir() {
            return Err(CheckpointError::NotAFolder { path: path.display().to_string() });
        }
        Ok(Self::Disk(path.to_path_buf()))
    }

    /// The file's name in messages.
    pub(super) fn label(&self, name: &str) -> String {
        match self {
            Folder::Disk(path) => path.join(name).display().to_string(),
            Folder::Bundled(_) => format!("bundled {name}"),
        }
    }

    pub(super) fn missing(&self, name: &str) -> CheckpointError {
        CheckpointError::MissingFile { file: self.label(name) }
    }

    /// A file's bytes; `None` when there is no such file.
    fn read(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>, CheckpointError> {
        let unreadable =
            |error: std::io::Error| CheckpointError::Unreadable { file: self.label(name), reason: error.to_string() };
        let bytes = match self {
            Folder::Bundled(files) => files.iter().find(|(file, _)| *file == name).map(|(_, content)| content.to_vec()),
            Folder::Disk(path) => match regular_file(&path.join(name)).map_err(unreadable)? {
                None => None,
                Some(path) => {
                    let mut bytes = Vec::new();
                    File::open(path)
                        .and_then(|file| file.take(limit + 1).read_to_end(&mut bytes))
                        .map_err(unreadable)?;
                    Some(bytes)
                }
            },
        };
        if bytes.as_ref().is_some_and(|bytes| bytes.len() as u64 > limit) {
            return Err(CheckpointError::TooLarge { file: self.label(name), limit: limit >> 20 });
        }
        Ok(bytes)
    }

    /// A UTF-8 file; `None` when there is no such file. A byte order mark is dropped.
    pub(super) fn text(&self, name: &str, limit: u64) -> Result<Option<String>, CheckpointError> {
        let Some(bytes) = self.read(name, limit)? else { return Ok(None) };
        let text = String::from_utf8(bytes).map_err(|_| CheckpointError::Damaged {
            file: self.label(name),
            fault: "it is not UTF-8 text".to_owned(),
        })?;
        Ok(Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)))
    }

    /// A JSON file whose top level is an object; `None` when there is no such file.
    pub(super) fn json(&self, name: &str) -> Result<Option<Value>, CheckpointError> {
        let Some(text) = self.text(name, SETTINGS_LIMIT)? else { return Ok(None) };
        let damaged = |fault| CheckpointError::Damaged { file: self.label(name), fault };
        let value: Value =
            serde_json::from_str(&text).map_err(|error| damaged(format!("it is not valid JSON ({})", brief(error))))?;
        match value {
            Value::Object(_) => Ok(Some(value)),
            _ => Err(damaged("it holds no JSON object".to_owned())),
        }
    }

    /// A weight file, mapped; `None` when there is no such file.
    pub(super) fn map(&self, name: &str) -> Result<Option<Bytes>, CheckpointError> {
        match self {
            Folder::Bundled(files) => {
                Ok(files.iter().find(|(file, _)| *file == name).map(|(_, content)| Bytes::from_static(content)))
            }
            Folder::Disk(path) => regular_file(&path.join(name))
                .and_then(|path| path.map(Bytes::map_file).transpose())
                .map_err(|error| CheckpointError::Unreadable { file: self.label(name), reason: error.to_string() }),
        }
    }
}

/// The path if it leads to a file; `None` when there is nothing. A folder, pipe or device is an error, so that opening
/// it cannot block.
fn regular_file(path: &Path) -> std::io::Result<Option<&Path>> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(Some(path)),
        Ok(_) => Err(std::io::Error::other("it is not a regular file")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
