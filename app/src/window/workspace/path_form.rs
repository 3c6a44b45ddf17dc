//! What a path is asked for, and a path that is typed where the system shows no dialog.

use std::path::PathBuf;

/// What a dialog is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Asked {
    /// Files to open.
    Files,
    /// A folder whose files are opened.
    Folder,
    /// A project file to open.
    Project,
    /// Where to save the project.
    SaveProject,
    /// Where to write the export.
    Export,
    /// A folder with a checkpoint.
    Checkpoint,
    /// The folder with pdfium's library.
    Pdfium,
}

/// A path that is typed where the system shows no dialog.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PathForm {
    pub(crate) asked: Asked,
    pub(crate) text: String,
}

impl PathForm {
    pub(crate) fn new(asked: Asked) -> Self {
        Self { asked, text: String::new() }
    }

    /// The typed path; a file manager's `file://` address and quotes from a shell are taken as well.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        let text = self.text.trim();
        let bare = ['"', '\''].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(text);
        let bare = bare.strip_prefix("file://").map(unescaped).unwrap_or_else(|| bare.to_owned());
        if bare.is_empty() {
            return None;
        }
        let home = bare.strip_prefix("~/").and_then(|rest| Some(std::env::home_dir()?.join(rest)));
        Some(home.unwrap_or_else(|| bare.into()))
    }
}

/// `%20` and the like as characters.
fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = text.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let (next, width) = match (byte, hex) {
            (b'%', Some(value)) => (value, 3),
            _ => (byte, 1),
        };
        plain.push(next);
        at += width;
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use super::*;

    #[test]
    fn typed_paths_are_taken_as_people_paste_them() {
        let path = |text: &str| PathForm { asked: Asked::Files, text: text.to_owned() }.path();
        assert_eq!(path("  "), None);
        assert_eq!(path(" /a b.pdf\n"), Some("/a b.pdf".into()));
        assert_eq!(path("'/a b.pdf'"), Some("/a b.pdf".into()));
        assert_eq!(path("\"/a.pdf\""), Some("/a.pdf".into()));
        assert_eq!(path("file:///a%20b%C3%A9%.pdf"), Some("/a bé%.pdf".into()));
        assert_eq!(path("~/a.pdf"), Some(std::env::home_dir().unwrap().join("a.pdf")));
    }
}
