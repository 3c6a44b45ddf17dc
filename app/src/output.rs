//! Where results go: standard output, a file or a folder. Files are written whole or not at all.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempDir, TempPath};

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
        let Self { file, target, force } = self;
        persist(complete(file)?, &target, force)
    }

    /// Puts the file where it belongs, together with others.
    pub(crate) fn place_with(self, placement: &mut Placement) -> Result<(), Unwritten> {
        let Self { file, target, force } = self;
        let placed = complete(file).and_then(|file| placement.place(file, &target, force));
        placed.map_err(|error| Unwritten::new(&target, error))
    }
}

/// The file when everything is on the disk.
fn complete(file: BufWriter<NamedTempFile>) -> io::Result<TempPath> {
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    Ok(file.into_temp_path())
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

/// A file that could not be written, and why.
#[derive(Debug)]
pub(crate) struct Unwritten {
    target: PathBuf,
    error: io::Error,
    /// What else there is to say, beginning with a semicolon or empty.
    also: String,
}

impl Unwritten {
    pub(crate) fn new(target: &Path, error: io::Error) -> Self {
        Self { target: target.to_path_buf(), error, also: String::new() }
    }

    /// Whether something is in its place that may not be overwritten.
    #[cfg(any(feature = "gui", test))]
    pub(crate) fn is_taken(&self) -> bool {
        self.error.kind() == io::ErrorKind::AlreadyExists
    }
}

impl std::fmt::Display for Unwritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", unwritten(&self.target, &self.error), self.also)
    }
}

/// Puts several files in their places: all of them, or none when one of them cannot be put there. Those that were
/// there already are taken away again, and what they replaced is put back.
pub(crate) fn place_together(place: impl FnOnce(&mut Placement) -> Result<(), Unwritten>) -> Result<(), Unwritten> {
    let mut placement = Placement::default();
    place(&mut placement).map_err(|fault| Unwritten { also: placement.undo(), ..fault })
}

/// Files that are being put in their places together.
#[derive(Default)]
pub(crate) struct Placement {
    placed: Vec<Placed>,
    /// Folders that were made for them.
    folders: Vec<PathBuf>,
}

struct Placed {
    target: PathBuf,
    /// What it replaced.
    before: Option<TempPath>,
}

impl Placement {
    fn place(&mut self, file: TempPath, target: &Path, force: bool) -> io::Result<()> {
        let before = if force { second_name(target)? } else { None };
        persist(file, target, force)?;
        self.placed.push(Placed { target: target.to_path_buf(), before });
        Ok(())
    }

    fn make_folder(&mut self, folder: &Path) -> io::Result<()> {
        let is_new = folder.symlink_metadata().is_err();
        make_folder(folder)?;
        if is_new {
            self.folders.push(folder.to_path_buf());
        }
        Ok(())
    }

    /// Takes everything away again; gives the end of the sentence that says so.
    fn undo(self) -> String {
        let mut also = "; nothing was written".to_owned();
        for Placed { target, before } in self.placed.into_iter().rev() {
            let Some(before) = before else {
                let _ = fs::remove_file(target);
                continue;
            };
            // Where it cannot be put back it must not be lost.
            if let Err(fault) = before.persist(&target)
                && let Ok(kept) = fault.path.keep()
            {
                also.push_str(&format!(", but what was in {} is now in {}", target.display(), kept.display()));
            }
        }
        for folder in self.folders.into_iter().rev() {
            // Only when nothing else is in it.
            let _ = fs::remove_dir(folder);
        }
        also
    }
}

/// A second name for the file at `target`, or a copy where the file system knows no second names; `None` when nothing is
/// there. `target` itself stays where it is until it is replaced in one step.
fn second_name(target: &Path) -> io::Result<Option<TempPath>> {
    match target.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
        Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => {}
    }
    let kept = tempfile::Builder::new().prefix(".gravityocr-").make_in(parent(target), |path| {
        let copy = || fs::copy(target, path).map(drop).inspect_err(|_| drop(fs::remove_file(path)));
        fs::hard_link(target, path).or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Err(error), // another name is tried
            _ => copy(),
        })
    })?;
    Ok(Some(kept.into_temp_path()))
}

/// Makes a folder unless it is there. A file of that name is "not a folder", not "already there".
fn make_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => io::ErrorKind::NotADirectory.into(),
        _ => error,
    })
}

fn persist(file: TempPath, target: &Path, force: bool) -> io::Result<()> {
    if force { file.persist(target) } else { file.persist_noclobber(target) }.map_err(|error| error.error)
}

/// A temporary file that will become an ordinary one: readable by whom the user's umask says.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.prefix(".gravityocr-").tempfile_in(folder)
}

/// The folder of a file.
pub(crate) fn parent(target: &Path) -> &Path {
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
    pub(crate) fn keep(&mut self, name: &str, png: &[u8]) -> Result<(), Unwritten> {
        let kept = self.waiting_folder().and_then(|folder| {
            let mut file = temporary(&folder)?;
            file.write_all(png)?;
            persist(file.into_temp_path(), &folder.join(name), true)
        });
        kept.map_err(|error| Unwritten::new(&self.folder.join(name), error))?;
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

    /// Moves every picture into place.
    pub(crate) fn place_with(self, placement: &mut Placement) -> Result<(), Unwritten> {
        let Some(waiting) = &self.waiting else { return Ok(()) };
        placement.make_folder(&self.folder).map_err(|error| Unwritten::new(&self.folder, error))?;
        for name in &self.names {
            let (file, target) = (TempPath::try_from_path(waiting.path().join(name)), self.folder.join(name));
            let placed = file.and_then(|file| placement.place(file, &target, self.force));
            placed.map_err(|error| Unwritten::new(&target, error))?;
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
        place_together(|placement| figures.place_with(placement)).unwrap();
        assert_eq!(listing(&folder.path().join("scan-images")), ["page-1-figure-1.png", "page-2-figure-1.png"]);
        assert_eq!(listing(folder.path()), ["scan-images"], "the waiting folder is gone");

        let mut again = Figures::beside(&target, "scan-images", false);
        again.keep("page-0-figure-1.png", b"zero").unwrap();
        again.keep("page-1-figure-1.png", b"other").unwrap();
        let fault = place_together(|placement| again.place_with(placement)).unwrap_err();
        assert!(fault.is_taken() && fault.to_string().contains("--force"), "{fault}");
        assert_eq!(fs::read(folder.path().join("scan-images/page-1-figure-1.png")).unwrap(), b"one");
        assert_eq!(listing(&folder.path().join("scan-images")).len(), 2);

        place_together(|placement| Figures::beside(&target, "other-images", false).place_with(placement)).unwrap();
        assert!(!folder.path().join("other-images").exists(), "no empty folder for a document without pictures");
    }

    /// Two pictures and their document replace older ones; where a folder has the name of one of them, it fails.
    fn replace_all(folder: &Path) -> Result<(), Unwritten> {
        let target = folder.join("scan.md");
        let mut figures = Figures::beside(&target, "scan-images", true);
        for name in ["1.png", "2.png", "3.png"] {
            figures.keep(name, b"new").unwrap();
        }
        let mut document = PendingFile::create(&target, true).unwrap();
        document.write_all(b"new").unwrap();
        place_together(|placement| {
            figures.place_with(placement)?;
            document.place_with(placement)
        })
    }

    #[test]
    fn a_fault_in_the_middle_puts_everything_back() {
        for in_the_way in ["scan-images/3.png", "scan.md"] {
            let folder = tempfile::tempdir().unwrap();
            let images = folder.path().join("scan-images");
            fs::create_dir(&images).unwrap();
            fs::write(images.join("1.png"), "old").unwrap();
            fs::create_dir_all(folder.path().join(in_the_way).join("full")).unwrap();
            let before = (listing(folder.path()), listing(&images));
            let sentence = replace_all(folder.path()).unwrap_err().to_string();
            assert!(sentence.ends_with("cannot be written: it is a folder; nothing was written"), "{sentence}");
            assert_eq!((listing(folder.path()), listing(&images)), before);
            assert_eq!(fs::read(images.join("1.png")).unwrap(), b"old");
        }
        // Without anything in the way all are new, and no second name of an old one is left.
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("scan.md"), "old").unwrap();
        replace_all(folder.path()).unwrap();
        assert_eq!(fs::read(folder.path().join("scan.md")).unwrap(), b"new");
        assert_eq!(listing(folder.path()), ["scan-images", "scan.md"]);
        assert_eq!(listing(&folder.path().join("scan-images")), ["1.png", "2.png", "3.png"]);
    }

    #[test]
    fn a_folder_made_for_pictures_goes_with_them() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("scan.md/full")).unwrap();
        replace_all(folder.path()).unwrap_err();
        assert_eq!(listing(folder.path()), ["scan.md"]);
    }
}
