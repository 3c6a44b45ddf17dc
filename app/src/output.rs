//! Where results go: standard output, a file or a folder. Files are written whole or not at all.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempDir};

use crate::inputs::Input;

/// Where the results of a command go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Standard output, one document after another.
    Stdout,
    /// One file.
    File(PathBuf),
    /// A folder, one file in it for each input.
    Folder(PathBuf),
}

impl Destination {
    /// A folder is meant when there are several inputs, when the path ends in a slash, or when it is one.
    pub(crate) fn new(path: Option<&Path>, several: bool) -> Result<Self, String> {
        let Some(path) = path else { return Ok(Self::Stdout) };
        let ends_in_slash = path.as_os_str().to_string_lossy().ends_with(std::path::is_separator);
        if several || ends_in_slash || path.is_dir() {
            if path.is_file() {
                return Err(format!("{} is a file, but a folder is needed for several results", path.display()));
            }
            Ok(Self::Folder(path.to_path_buf()))
        } else {
            Ok(Self::File(path.to_path_buf()))
        }
    }

    /// The file for this input, unless it goes to standard output.
    pub(crate) fn file(&self, input: &Input, extension: &str) -> Option<PathBuf> {
        match self {
            Self::Stdout => None,
            Self::File(path) => Some(path.clone()),
            Self::Folder(path) => Some(path.join(format!("{}.{extension}", input.stem))),
        }
    }
}

/// Why a file may not be written, before any work was done for it.
pub(crate) fn refusal(target: &Path, inputs: &[Input], force: bool) -> Option<String> {
    let same = |input: &Input| {
        input.path == target
            || matches!((fs::canonicalize(&input.path), fs::canonicalize(target)), (Ok(a), Ok(b)) if a == b)
    };
    if inputs.iter().any(same) {
        return Some(format!("{} is an input and is not overwritten", target.display()));
    }
    (target.symlink_metadata().is_ok() && !force)
        .then(|| format!("{} exists already and was left as it is{FORCE_HINT}", target.display()))
}

/// A file that is being written under another name and takes its place in one step: a reader sees the old one or the
/// new one, and a failure leaves the old one.
pub(crate) struct PendingFile {
    file: BufWriter<NamedTempFile>,
    target: PathBuf,
    force: bool,
}

impl PendingFile {
    /// Begins a file that will become `target`.
    pub(crate) fn create(target: &Path, force: bool) -> io::Result<Self> {
        let folder = parent(target);
        make_folder(folder)?;
        Ok(Self { file: BufWriter::new(temporary(folder)?), target: target.to_path_buf(), force })
    }

    /// Puts the file where it belongs. An existing one is replaced only if that was allowed.
    pub(crate) fn place(self) -> io::Result<()> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        persist(file, &self.target, self.force)
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// What the command line advises when something is there already.
pub(crate) const FORCE_HINT: &str = "; use --force to overwrite it";

/// The sentence for a file that could not be written.
pub(crate) fn unwritten(target: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AlreadyExists => {
            format!("{} exists already and was left as it is{FORCE_HINT}", target.display())
        }
        _ => format!("{} cannot be written: {}", target.display(), reason(error)),
    }
}

/// Makes a folder unless it is there. A file of that name is "not a folder", not "already there".
fn make_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => io::ErrorKind::NotADirectory.into(),
        _ => error,
    })
}

fn persist(file: NamedTempFile, target: &Path, force: bool) -> io::Result<()> {
    if force { file.persist(target).map(drop) } else { file.persist_noclobber(target).map(drop) }
        .map_err(|error| error.error)
}

/// A temporary file that will become an ordinary one: readable by whom the user's umask says.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.prefix(".gravityocr-").tempfile_in(folder)
}

fn parent(target: &Path) -> &Path {
    target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Pictures of a document on their way into its images folder. They are kept in a hidden folder beside it as pages are
/// finished, so that memory stays flat, and moved into place with the document.
pub(crate) struct Figures {
    folder: PathBuf,
    force: bool,
    waiting: Option<TempDir>,
    names: Vec<String>,
}

impl Figures {
    /// For a document that will be written to `target`.
    pub(crate) fn beside(target: &Path, images: &str, force: bool) -> Self {
        Self { folder: parent(target).join(images), force, waiting: None, names: Vec::new() }
    }

    /// Keeps a picture under its final name.
    pub(crate) fn keep(&mut self, name: &str, png: &[u8]) -> Result<(), String> {
        let kept = self.waiting_folder().and_then(|folder| {
            let mut file = temporary(&folder)?;
            file.write_all(png)?;
            persist(file, &folder.join(name), true)
        });
        kept.map_err(|error| unwritten(&self.folder.join(name), &error))?;
        self.names.push(name.to_owned());
        Ok(())
    }

    fn waiting_folder(&mut self) -> io::Result<PathBuf> {
        if self.waiting.is_none() {
            let beside = parent(&self.folder);
            make_folder(beside)?;
            self.waiting = Some(tempfile::Builder::new().prefix(".gravityocr-").tempdir_in(beside)?);
        }
        Ok(self.waiting.as_ref().map(|folder| folder.path().to_path_buf()).unwrap_or_default())
    }

    /// Moves every picture into place. Without `force` nothing is moved when any of them is there already.
    pub(crate) fn place(self) -> Result<(), String> {
        let Some(waiting) = &self.waiting else { return Ok(()) };
        if !self.force
            && let Some(taken) = self.names.iter().map(|name| self.folder.join(name)).find(|path| path.exists())
        {
            return Err(unwritten(&taken, &io::ErrorKind::AlreadyExists.into()));
        }
        make_folder(&self.folder).map_err(|error| unwritten(&self.folder, &error))?;
        for name in &self.names {
            let target = self.folder.join(name);
            fs::rename(waiting.path().join(name), &target).map_err(|error| unwritten(&target, &error))?;
        }
        Ok(())
    }
}

/// Why an operation failed, in words that need no manual.
pub(crate) fn reason(error: &io::Error) -> String {
    use io::ErrorKind::*;
    match error.kind() {
        NotFound => "there is no such file or folder".to_owned(),
        PermissionDenied => "permission is denied".to_owned(),
        StorageFull | QuotaExceeded => "the disk is full".to_owned(),
        ReadOnlyFilesystem => "the disk is read-only".to_owned(),
        NotADirectory => "a part of the path is a file, not a folder".to_owned(),
        IsADirectory => "it is a folder".to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or_default().to_lowercase()
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use super::*;

    fn write(target: &Path, bytes: &[u8], force: bool) -> Result<(), String> {
        let written = PendingFile::create(target, force).and_then(|mut file| {
            file.write_all(bytes)?;
            file.place()
        });
        written.map_err(|error| unwritten(target, &error))
    }

    fn input(path: &Path) -> Input {
        Input { path: path.to_path_buf(), stem: "scan".to_owned() }
    }

    pub(crate) fn listing(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_is_meant_for_several_inputs_or_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("out");
        let scan = input(Path::new("a/scan.pdf"));
        let file = |path: &Path, several| Destination::new(Some(path), several).unwrap().file(&scan, "md");
        assert_eq!(file(&missing, false), Some(missing.clone()));
        assert_eq!(file(&missing, true), Some(missing.join("scan.md")));
        assert_eq!(file(&missing.join(""), false), Some(missing.join("scan.md")));
        assert_eq!(file(folder.path(), false), Some(folder.path().join("scan.md")));
        assert_eq!(Destination::new(None, true).unwrap().file(&scan, "md"), None);

        fs::write(&missing, "a file").unwrap();
        assert!(Destination::new(Some(&missing), true).is_err());
    }

    #[test]
    fn nothing_is_overwritten_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("new/out.md");
        write(&target, b"old", false).unwrap();
        assert!(write(&target, b"new", false).unwrap_err().contains("--force"));
        assert_eq!(fs::read(&target).unwrap(), b"old");
        write(&target, b"new", true).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert_eq!(listing(target.parent().unwrap()), ["out.md"], "no temporary file stays behind");

        assert!(refusal(&target, &[], false).unwrap().contains("--force"));
        assert_eq!(refusal(&target, &[], true), None);
        assert!(refusal(&target, &[input(&target)], true).unwrap().contains("is an input"));
    }

    #[test]
    fn a_path_through_a_file_is_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "keep").unwrap();
        let sentence = write(&file.join("out.md"), b"x", false).unwrap_err();
        assert!(
            sentence.ends_with("out.md cannot be written: a part of the path is a file, not a folder"),
            "{sentence}"
        );
        assert_eq!(fs::read(&file).unwrap(), b"keep");
    }

    #[cfg(unix)]
    #[test]
    fn written_files_are_as_readable_as_any_other() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain");
        fs::write(&plain, "x").unwrap();
        let target = folder.path().join("out.md");
        write(&target, b"x", false).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&target), mode(&plain));
    }

    #[test]
    fn figures_appear_together_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("scan.md");
        let mut figures = Figures::beside(&target, "scan-images", false);
        figures.keep("page-1-figure-1.png", b"one").unwrap();
        figures.keep("page-2-figure-1.png", b"two").unwrap();
        assert!(!folder.path().join("scan-images").exists());
        figures.place().unwrap();
        assert_eq!(listing(&folder.path().join("scan-images")), ["page-1-figure-1.png", "page-2-figure-1.png"]);
        assert_eq!(listing(folder.path()), ["scan-images"], "the waiting folder is gone");

        let mut again = Figures::beside(&target, "scan-images", false);
        again.keep("page-0-figure-1.png", b"zero").unwrap();
        again.keep("page-1-figure-1.png", b"other").unwrap();
        assert!(again.place().unwrap_err().contains("--force"));
        assert_eq!(fs::read(folder.path().join("scan-images/page-1-figure-1.png")).unwrap(), b"one");
        assert_eq!(listing(&folder.path().join("scan-images")).len(), 2);

        Figures::beside(&target, "other-images", false).place().unwrap();
        assert!(!folder.path().join("other-images").exists(), "no empty folder for a document without pictures");
    }
}
