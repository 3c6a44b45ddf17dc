//! What can be wrong with a checkpoint folder.

use std::fmt::Display;

/// A fault of a checkpoint: one sentence that names the file, the fault and, where there is one, the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// The path is no folder.
    #[error("{path} is not a folder: choose the folder that holds config.json and model.safetensors")]
    NotAFolder {
        /// The path as given.
        path: String,
    },
    /// A file that every checkpoint has is not there.
    #[error("{file} is missing: the checkpoint is incomplete, download it again")]
    MissingFile {
        /// The file.
        file: String,
    },
    /// The system would not let the file be read.
    #[error("{file} cannot be read: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// The system's words.
        reason: String,
    },
    /// A text file of a size that no checkpoint has.
    #[error("{file} is too large to be what its name says (more than {limit} MB)")]
    TooLarge {
        /// The file.
        file: String,
        /// The limit, megabytes.
        limit: u64,
    },
    /// The file breaks off.
    #[error("{file} is cut short: {missing} bytes are missing at its end, download it again")]
    Truncated {
        /// The file.
        file: String,
        /// Bytes that its header promises and that are not there.
        missing: u64,
    },
    /// The file's content contradicts itself or its format.
    #[error("{file} is damaged: {fault}; download the checkpoint again")]
    Damaged {
        /// The file.
        file: String,
        /// What does not fit.
        fault: String,
    },
    /// A setting is missing, makes no sense, or asks for something this program does not do.
    #[error("{file}: {key} {fault}")]
    Setting {
        /// The file.
        file: String,
        /// The key, with the names of its enclosing objects.
        key: String,
        /// What is wrong with it.
        fault: String,
    },
    /// A tensor of the architecture is in no weight file.
    #[error("{file} holds no tensor {tensor}: the weights do not belong to this config.json")]
    MissingTensor {
        /// The weight file or its index.
        file: String,
        /// The tensor.
        tensor: String,
    },
    /// A tensor of another size than the configuration asks for.
    #[error("{file}: tensor {tensor} is {found}, but config.json asks for {expected}")]
    WrongShape {
        /// The weight file.
        file: String,
        /// The tensor.
        tensor: String,
        /// Its shape in the file.
        found: String,
        /// The shape that follows from the configuration.
        expected: String,
    },
    /// Weights in a number format that cannot be read.
    #[error("{file}: tensor {tensor} is stored as {dtype}; only bf16, f16 and f32 can be read")]
    UnsupportedDtype {
        /// The weight file.
        file: String,
        /// The tensor.
        tensor: String,
        /// Its format.
        dtype: String,
    },
    /// A weight that is infinite or not a number.
    #[error("{file}: tensor {tensor} holds a value that is not a finite number, download it again")]
    NotFinite {
        /// The weight file.
        file: String,
        /// The tensor.
        tensor: String,
    },
    /// Weights that the machine has no room for.
    #[error(
        "{name} needs {needed} MB of memory for its weights, but only {free} MB are free: close other programs or take a smaller model"
    )]
    OutOfMemory {
        /// The checkpoint.
        name: String,
        /// What its weights need, megabytes.
        needed: u64,
        /// What there is, megabytes.
        free: u64,
    },
    /// The chat template failed.
    #[error("{file}: the chat template {fault}")]
    Template {
        /// The file that holds it.
        file: String,
        /// What it did.
        fault: String,
    },
    /// The checkpoint does not do what was asked of it.
    #[error("{0}")]
    Unsupported(String),
}

/// A library's words or a file's content, cut so that a sentence with it stays readable.
pub(super) fn brief(text: impl Display) -> String {
    const LIMIT: usize = 100;
    let text = text.to_string();
    // Lists of everything that would have been right help nobody.
    let text = text.split(", expected").next().unwrap_or_default();
    match text.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
