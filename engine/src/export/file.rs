//! Files that are written whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What is done when the file is already there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It is replaced; the user said so.
    Replace,
    /// It stays, and nothing is written.
    Refuse,
    /// It stays, and the new file gets a name of its own: `report (2).md`.
    Rename,
}

/// Why a file could not be written. What was there before is as it was.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// There is such a file.
    #[error("{path} is already there: choose another name or allow it to be replaced")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("{path} could not be written because {reason}")]
    Failed {
        /// The file.
        path: PathBuf,
        /// The reason and what to do.
        reason: String,
    },
}

/// Names tried for [`Existing::Rename`].
const MAX_NAMES: u32 = 10_000;

/// Writes a file by way of a temporary one beside it; returns the path that it got.
///
/// The target appears complete or not at all, whatever fails, and two savers of the same name never overwrite each other
/// unless told to.
///
/// # Errors
/// [`SaveError::Exists`] as `existing` says, [`SaveError::Failed`] for everything that the system or `write` reports. The
/// temporary file is gone then.
pub fn save(
    path: &Path,
    existing: Existing,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<PathBuf, SaveError> {
    if existing == Existing::Refuse && path.exists() {
        return Err(SaveError::Exists { path: path.to_path_buf() });
    }
    let temporary = temporary_beside(path);
    let saved = write_whole(&temporary, write).and_then(|()| place(&temporary, path, existing));
    if !matches!(saved, Ok(Some(_))) {
        let _ = fs::remove_file(&temporary); // It may never have come into being.
    }
    match saved {
        Ok(Some(target)) => Ok(target),
        Ok(None) => Err(SaveError::Exists { path: path.to_path_buf() }),
        Err(error) => Err(SaveError::Failed { path: path.to_path_buf(), reason: reason(&error) }),
    }
}

/// Moves the finished file to its name; `None` when that is taken.
fn place(temporary: &Path, path: &Path, existing: Existing) -> io::Result<Option<PathBuf>> {
    let target = match existing {
        Existing::Replace => {
            fs::rename(temporary, path)?;
            return Ok(Some(path.to_path_buf()));
        }
        Existing::Refuse => reserve(path)?.then(|| path.to_path_buf()),
        Existing::Rename => free_name(path)?,
    };
    if let Some(target) = &target
        && let Err(error) = fs::rename(temporary, target)
    {
        let _ = fs::remove_file(target); // The empty file that held the name.
        return Err(error);
    }
    Ok(target)
}

fn write_whole(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(OpenOptions::new().write(true).create_new(true).open(path)?);
    write(&mut out)?;
    out.flush()?;
    out.get_ref().sync_all()
}

/// Takes a name by creating it empty; `false` when somebody has it.
fn reserve(path: &Path) -> io::Result<bool> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

fn free_name(path: &Path) -> io::Result<Option<PathBuf>> {
    for number in 1..MAX_NAMES {
        let candidate = if number == 1 { path.to_path_buf() } else { numbered(path, number) };
        if reserve(&candidate)? {
            return Ok(Some(candidate));
        }
    }
    Ok(None)
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push(format!(" ({number})"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

fn temporary_beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}-{}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    path.with_file_name(name)
}

/// The reason in words, with what to do about it.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "its folder does not exist: choose another folder".into(),
        io::ErrorKind::PermissionDenied => "its folder or an older file is protected: choose another folder".into(),
        io::ErrorKind::ReadOnlyFilesystem => "the disk is read-only: choose another folder".into(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "the disk is full: free some space and try again".into()
        }
        io::ErrorKind::IsADirectory | io::ErrorKind::DirectoryNotEmpty => {
            "a folder has that name: choose another name".into()
        }
        io::ErrorKind::ResourceBusy | io::ErrorKind::ExecutableFileBusy => {
            "another program has it open: close it there".into()
        }
        io::ErrorKind::InvalidFilename => "the name is not allowed here: choose another name".into(),
        _ => format!("the system reports \"{error}\": try another folder"),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_failed_save_leaves_the_old_file_and_nothing_else() {
        // Case F8.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.md");
        fs::write(&path, "old").unwrap();
        for existing in [Existing::Replace, Existing::Rename] {
            let error = save(&path, existing, |out| {
                out.write_all(b"half of the new")?;
                Err(io::ErrorKind::StorageFull.into())
            })
            .unwrap_err();
            let expected = format!(
                "{} could not be written because the disk is full: free some space and try again",
                path.display()
            );
            assert_eq!(error.to_string(), expected);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(folder.path()), ["report.md"]);
    }

    #[test]
    fn a_full_disk_is_reported_at_the_latest_when_the_file_is_closed() {
        let full = Path::new("/dev/full");
        if full.exists() {
            let mut out = BufWriter::new(OpenOptions::new().write(true).open(full).unwrap());
            out.write_all(b"x").unwrap();
            assert_eq!(reason(&out.flush().unwrap_err()), "the disk is full: free some space and try again");
        }
    }

    #[test]
    fn names_do_not_collide() {
        // Case F7.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.md");
        let writers: Vec<_> = (0..8)
            .map(|at: u32| {
                let path = path.clone();
                std::thread::spawn(move || save(&path, Existing::Rename, |out| write!(out, "{at}")).unwrap())
            })
            .collect();
        let mut paths: Vec<PathBuf> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), 8);
        let mut contents: Vec<String> = paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        contents.sort();
        assert_eq!(contents.concat(), "01234567");
        assert!(names(folder.path()).contains(&"report (8).md".to_string()));
    }

    #[test]
    fn an_existing_file_is_replaced_only_when_told_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.md");
        assert_eq!(save(&path, Existing::Refuse, |out| out.write_all(b"1")).unwrap(), path);
        let error = save(&path, Existing::Refuse, |out| out.write_all(b"2")).unwrap_err();
        assert!(matches!(error, SaveError::Exists { .. }), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "1");
        save(&path, Existing::Replace, |out| out.write_all(b"3")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "3");
        assert_eq!(names(folder.path()), ["report.md"]);
    }

    #[test]
    fn a_missing_folder_and_a_folder_of_that_name_are_said_so() {
        let folder = tempfile::tempdir().unwrap();
        let missing = save(&folder.path().join("no/report.md"), Existing::Rename, |_| Ok(())).unwrap_err();
        assert!(missing.to_string().ends_with("because its folder does not exist: choose another folder"), "{missing}");
        let taken = folder.path().join("taken");
        fs::create_dir(&taken).unwrap();
        assert!(save(&taken, Existing::Replace, |_| Ok(())).is_err());
        assert_eq!(names(folder.path()), ["taken"]);
    }
}
