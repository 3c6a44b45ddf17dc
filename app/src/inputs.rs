//! Which files are read, and what the files made from them are called.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::output::reason;

/// Endings of files in a folder that are worth opening. A file that is named itself is opened whatever its name.
pub(crate) const READABLE: [&str; 10] = ["pdf", "png", "jpg", "jpeg", "tif", "tiff", "webp", "bmp", "gif", "jfif"];

/// One file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Input {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Name without folder and ending for what is made from it; no two inputs share one.
    pub(crate) stem: String,
}

impl Input {
    /// The file's name without its folder.
    pub(crate) fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

/// Lists the files that the arguments name, folders' files in order of their names; and a sentence for each argument
/// that names nothing readable.
pub(crate) fn expand(arguments: &[PathBuf]) -> (Vec<Input>, Vec<String>) {
    let (mut paths, mut faults) = (Vec::new(), Vec::new());
    for argument in arguments {
        if argument.is_dir() {
            match readable_files(argument) {
                Ok(files) if files.is_empty() => {
                    faults.push(format!("{}: the folder holds no PDF and no picture", argument.display()));
                }
                Ok(files) => paths.extend(files),
                Err(error) => faults.push(format!("{}: cannot be listed: {}", argument.display(), reason(&error))),
            }
        } else if let Err(error) = fs::metadata(argument) {
            faults.push(format!("{}: cannot be read: {}", argument.display(), reason(&error)));
        } else {
            paths.push(argument.clone());
        }
    }
    (with_stems(paths), faults)
}

fn readable_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default().to_lowercase();
        if READABLE.contains(&ending.as_str()) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Gives every path its own stem: a name that is taken gets a number. Names that differ in case only count as equal,
/// since they are on the usual file systems of Windows and macOS.
fn with_stems(paths: Vec<PathBuf>) -> Vec<Input> {
    let plain: Vec<String> = paths.iter().map(|path| stem(path)).collect();
    // A number must not make a name that a later input has by itself.
    let own: HashSet<String> = plain.iter().map(|stem| stem.to_lowercase()).collect();
    let mut taken = HashSet::new();
    let mut inputs = Vec::with_capacity(paths.len());
    for (path, plain) in paths.into_iter().zip(plain) {
        let mut stem = plain.clone();
        let mut number = 2;
        while taken.contains(&stem.to_lowercase()) || (number > 2 && own.contains(&stem.to_lowercase())) {
            stem = format!("{plain}-{number}");
            number += 1;
        }
        taken.insert(stem.to_lowercase());
        inputs.push(Input { path, stem });
    }
    inputs
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| "document".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use super::*;

    fn stems(paths: &[&str]) -> Vec<String> {
        with_stems(paths.iter().map(PathBuf::from).collect()).into_iter().map(|input| input.stem).collect()
    }

    #[test]
    fn equal_names_are_told_apart() {
        assert_eq!(stems(&["a/scan.pdf", "b/scan.pdf", "scan.png"]), ["scan", "scan-2", "scan-3"]);
        assert_eq!(stems(&["Scan.pdf", "scan.pdf"]), ["Scan", "scan-2"]);
    }

    #[test]
    fn a_number_takes_no_other_inputs_name() {
        assert_eq!(stems(&["x/a.pdf", "y/a.pdf", "a-2.pdf"]), ["a", "a-3", "a-2"]);
        assert_eq!(stems(&["a-2.pdf", "x/a.pdf", "y/a.pdf"]), ["a-2", "a", "a-3"]);
    }

    #[test]
    fn only_the_last_ending_is_dropped() {
        assert_eq!(stems(&["report.v1.pdf", "report.v2.pdf", ".hidden"]), ["report.v1", "report.v2", ".hidden"]);
    }

    #[test]
    fn folders_give_their_readable_files_in_order() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.PNG", "a.pdf", "notes.txt", "c.tiff"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        fs::create_dir(folder.path().join("d.pdf")).unwrap();
        let (inputs, faults) = expand(&[folder.path().to_path_buf(), PathBuf::from("/nowhere/at-all.pdf")]);
        assert_eq!(inputs.iter().map(|input| &input.stem).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(faults, ["/nowhere/at-all.pdf: cannot be read: there is no such file or folder"]);
    }

    #[test]
    fn a_folder_of_other_things_is_a_fault() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("notes.txt"), "x").unwrap();
        let (inputs, faults) = expand(&[folder.path().to_path_buf()]);
        assert_eq!((inputs.len(), faults.len()), (0, 1));
    }
}
