//! What is told a person about the work: one sentence each.

use std::io;
use std::path::PathBuf;

use crate::output::reason;

/// Something to tell; displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Notice {
    /// What a run holds fast of a page was to be changed.
    #[error("This page is being read; wait until it is done, or cancel first")]
    PageLocked,
    /// The text of a region was to be changed before it is read.
    #[error("This region is being read; wait until it is done, or cancel first")]
    RegionLocked,
    /// Undo or redo would change what a run reads or has read.
    #[error("Undo and redo would change what is being read; wait until it is done, or cancel first")]
    UndoLocked,
    /// A second run was asked for.
    #[error("Something is being read already; wait until it is done, or cancel it first")]
    Busy,
    /// The engine's thread has ended.
    #[error("The engine has stopped; recognize again to start it anew")]
    EngineGone,
    /// A page, from 0, could not be read, or a part of it only otherwise than was asked.
    #[error("Page {}: {reason}", page + 1)]
    Page { page: usize, reason: String },
    /// A run was cancelled.
    #[error("Cancelled; {} kept", count(*regions, "finished region"))]
    Cancelled { regions: usize },
    /// A run is over.
    #[error("Read {} on {} in {time}", count(*regions, "region"), count(*pages, "page"))]
    Completed { pages: usize, regions: usize, time: String },

    /// A restored document whose file is gone.
    #[error("{name}: the file is no longer there; what was read of it is kept and can be exported")]
    FileGone { name: String },
    /// A restored document whose file has another number of pages now.
    #[error(
        "{name} was changed: it has {} now instead of {before}; what was read before is kept, but may not fit the pages any \
         more",
        count(*now, "page")
    )]
    FileChanged { name: String, before: usize, now: usize },

    /// There is no folder for sessions.
    #[error(
        "Your work is not kept when the window closes: this system names no folder for it; save a project file instead"
    )]
    NoFolder,
    /// A file of the session cannot be written.
    #[error(
        "Your work is not kept when the window closes: {} cannot be written: {reason}; save a project file instead",
        path.display()
    )]
    NotKept { path: PathBuf, reason: String },
    /// A page of the session, from 0, cannot be read.
    #[error(
        "{name}: page {} could not be restored: what was kept of it is damaged; the other pages are whole",
        page + 1
    )]
    PageLost { name: String, page: usize },
    /// The session's list of documents cannot be read.
    #[error(
        "The list of open documents was damaged: documents that were read are restored, others have to be opened again"
    )]
    IndexLost,
    /// Another window left its work.
    #[error("Work of another window is kept, too: open a second window to go on with it")]
    OtherWork,
    /// A session folder that is not to be touched.
    #[error(
        "The session in {} was kept by a newer version of this program; it is left as it is, and this window keeps its work \
         beside it",
        folder.display()
    )]
    NewerSession { folder: PathBuf },
    /// The settings cannot be read.
    #[error("{} is damaged, so all settings are as at first{}", path.display(), beside(*kept))]
    SettingsLost { path: PathBuf, kept: bool },
    /// Some settings mean nothing to this version.
    #[error("{} holds what this version does not know ({names}), which is as at first{}", path.display(), beside(*kept))]
    SettingsUnknown { path: PathBuf, names: String, kept: bool },
    /// A fault of ours on a thread.
    #[error("an internal error stopped this; your documents are as they were")]
    Internal,

    /// A file that is not replaced without asking.
    #[error("{} exists already and was left as it is", path.display())]
    Exists { path: PathBuf },
    /// A file that cannot be written.
    #[error("{} cannot be written: {reason}", path.display())]
    Unwritten { path: PathBuf, reason: String },
    /// A file that is to be written is one of the scans.
    #[error("{} is an open document and is not overwritten; choose another name", path.display())]
    IsSource { path: PathBuf },
    /// A project file that cannot be read at all.
    #[error("{} cannot be opened: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    /// A file of another kind.
    #[error("{} is no GravityOCR project; open scans and PDFs with Open files", path.display())]
    NoProject { path: PathBuf },
    /// A project of a later version.
    #[error("{} was saved by a newer version of GravityOCR; update this program to open it", path.display())]
    NewerProject { path: PathBuf },
    /// A project that is not whole.
    #[error("{} is damaged and was not opened; what is open stays as it is", path.display())]
    DamagedProject { path: PathBuf },

    /// An export without a name.
    #[error("Give the file a name")]
    NoName,
    /// An export of nothing.
    #[error("Nothing has been read here yet: recognize it first")]
    NothingRead,
    /// A picture that cannot be cut.
    #[error("its box lies outside of the page")]
    EmptyPicture,
    /// The folder of an export is not there.
    #[error("There is no folder {}: choose another or make it first", folder.display())]
    NoSuchFolder { folder: PathBuf },
    /// Another export writes this file.
    #[error("{} is being written by another export; choose another name", path.display())]
    BeingWritten { path: PathBuf },
    /// Pictures of a page, from 0, that could not be had.
    #[error("Page {}: a picture is left out: {reason}", page + 1)]
    LeftOut { page: usize, reason: String },

    /// The engine went away during a race.
    #[error("The engine has stopped; start the program again")]
    RaceEngineGone,
    /// A race without anything to read.
    #[error("There is no text in this region that the model would be asked to read")]
    NothingToRace,
}

impl Notice {
    /// Why a file cannot be written.
    pub(crate) fn unwritten(path: PathBuf, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists { path },
            _ => Self::Unwritten { path, reason: reason(error) },
        }
    }
}

impl From<Notice> for String {
    fn from(notice: Notice) -> Self {
        notice.to_string()
    }
}

fn beside(kept: bool) -> &'static str {
    if kept { "; the file is kept beside it, ending in .bad" } else { "" }
}

/// A count with its noun.
pub(crate) fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// A length of time as people say it.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 60.0 => format!("{s:.0} s"),
        s if s < 3600.0 => format!("{} min {:02} s", s as u64 / 60, s as u64 % 60),
        s => format!("{} h {:02} min", s as u64 / 3600, s as u64 / 60 % 60),
    }
}
