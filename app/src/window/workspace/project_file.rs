//! Project files: everything that is open, in one file that can be moved and given away with the scans beside it.
//!
//! The first line is JSON and says what it is; what follows is deflated (with a checksum): one JSON value a line, each
//! document followed by its pasted bytes and its pages, and an end mark, so that a file cut short is noticed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use engine::job::Source;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Serialize};

use super::background_task::BackgroundTask;
use super::notice::Notice;
use super::project::{Document, DocumentId, Page, PageKey, Project};
use super::stored::{self, Header, LARGEST_PAGE, MOST_DOCUMENTS, MOST_PAGES, StoredPath, StoredSource};
use crate::output::{PendingFile, reason};

/// The ending of project files.
pub(crate) const EXTENSION: &str = "gravityocr";

const FORMAT: &str = "gravityocr-project";
const VERSION: u32 = 1;
/// Longest first line, bytes.
const LONGEST_TITLE: u64 = 1000;
/// A file may unfold to so many bytes, and to so many times its size more; regions of a page fold to a tenth.
const LARGEST: u64 = 256 << 20;
const FOLDED: u64 = 100;

#[derive(Serialize, Deserialize)]
struct Title {
    format: String,
    version: u32,
}

/// A line of the file.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Document(Header),
    /// Bytes of the document before, as Base64.
    Pasted(String),
    /// A page of the document before.
    Page {
        number: usize,
        content: Page,
    },
    End {
        documents: usize,
        page: Option<PageKey>,
    },
}

/// The same, borrowed.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum LineRef<'a> {
    Document(Header),
    Pasted(String),
    Page { number: usize, content: &'a Page },
    End { documents: usize, page: Option<PageKey> },
}

/// What a project file held.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// Documents are still to be opened, or failed because their file is gone; their pages are as they were saved.
    pub(crate) project: Project,
    /// The page that was looked at.
    pub(crate) page: Option<PageKey>,
    /// The file.
    pub(crate) path: PathBuf,
}

impl Loaded {
    /// The same with names of documents that what is open does not use: the session must not take one for the other.
    pub(crate) fn apart_from(mut self, open: &Project) -> Self {
        let shift = |id: DocumentId| DocumentId(open.last_id().saturating_add(id.0));
        for document in &mut self.project.documents {
            document.id = shift(document.id);
        }
        self.project.renumber();
        self.page = self.page.map(|key| PageKey { document: shift(key.document), ..key });
        self
    }
}

/// Saves a project on a thread. `replace`: the person agreed that a file of this name is replaced. Answers with the path.
pub(crate) fn start_save(
    project: &Project,
    page: Option<PageKey>,
    target: PathBuf,
    replace: bool,
    waker: impl Fn() + Send + 'static,
) -> BackgroundTask<PathBuf> {
    let project = project.clone();
    BackgroundTask::start("save project", waker, move || save(&project, page, &target, replace).map(|()| target))
}

/// Opens a project file on a thread.
pub(crate) fn start_load(path: PathBuf, waker: impl Fn() + Send + 'static) -> BackgroundTask<Loaded> {
    BackgroundTask::start("open project", waker, move || load(&path))
}

/// The path with the ending of project files, unless it has it.
pub(crate) fn with_extension(path: PathBuf) -> PathBuf {
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(EXTENSION)) {
        return path;
    }
    let mut name = path.into_os_string();
    name.push(".");
    name.push(EXTENSION);
    name.into()
}

fn save(project: &Project, page: Option<PageKey>, target: &Path, replace: bool) -> Result<(), String> {
    if project.documents.iter().any(|document| is_source(&document.source, target)) {
        return Err(Notice::IsSource { path: target.to_path_buf() }.into());
    }
    let target = std::path::absolute(target).unwrap_or_else(|_| target.to_path_buf());
    let written = PendingFile::create(&target, replace).and_then(|mut file| {
        let title = Title { format: FORMAT.to_owned(), version: VERSION };
        serde_json::to_writer(&mut file, &title)?;
        file.write_all(b"\n")?;
        let mut body = ZlibEncoder::new(file, Compression::fast());
        write(project, page, target.parent(), &mut body)?;
        body.finish()?.place()
    });
    written.map_err(|error| Notice::unwritten(target, &error).into())
}

fn write(project: &Project, page: Option<PageKey>, folder: Option<&Path>, body: &mut impl Write) -> io::Result<()> {
    let mut line = |line: LineRef<'_>| {
        serde_json::to_writer(&mut *body, &line)?;
        body.write_all(b"\n")
    };
    for document in &project.documents {
        line(LineRef::Document(header(document, folder)))?;
        if let Source::Bytes { bytes, .. } = &document.source {
            line(LineRef::Pasted(BASE64.encode(bytes)))?;
        }
        for (number, content) in document.pages.iter().enumerate().filter(|(_, page)| page.holds_work()) {
            line(LineRef::Page { number, content })?;
        }
    }
    line(LineRef::End { documents: project.documents.len(), page })
}

/// A document's entry with the way to its file from the project file's folder.
fn header(document: &Document, folder: Option<&Path>) -> Header {
    let mut header = Header::of(document);
    if let (StoredSource::File { path, relative }, Source::Path(file)) = (&mut header.source, &document.source) {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        *path = StoredPath::new(&file);
        *relative = folder.and_then(|folder| way(folder, &file)).as_deref().map(StoredPath::new);
    }
    header
}

/// The way from a folder to a file, both absolute; none between drives.
fn way(folder: &Path, file: &Path) -> Option<PathBuf> {
    let (from, to): (Vec<_>, Vec<_>) = (folder.components().collect(), file.components().collect());
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    if common == 0 {
        return None;
    }
    let up = from.iter().skip(common).map(|_| Component::ParentDir);
    Some(up.chain(to.into_iter().skip(common)).collect())
}

/// Whether a path is a document's file.
pub(crate) fn is_source(source: &Source, path: &Path) -> bool {
    let Source::Path(file) = source else { return false };
    file == path || matches!((std::fs::canonicalize(file), std::fs::canonicalize(path)), (Ok(a), Ok(b)) if a == b)
}

fn load(path: &Path) -> Result<Loaded, String> {
    let damaged = || String::from(Notice::DamagedProject { path: path.to_path_buf() });
    let cannot =
        |error: io::Error| String::from(Notice::Unreadable { path: path.to_path_buf(), reason: reason(&error) });
    let file = File::open(path).map_err(cannot)?;
    let metadata = file.metadata().map_err(cannot)?;
    if !metadata.is_file() {
        return Err(Notice::NoProject { path: path.to_path_buf() }.into());
    }
    let mut file = BufReader::new(file);
    let mut title = Vec::new();
    (&mut file).take(LONGEST_TITLE).read_until(b'\n', &mut title).map_err(cannot)?;
    match serde_json::from_slice::<Title>(&title) {
        Ok(title) if title.format != FORMAT => return Err(Notice::NoProject { path: path.to_path_buf() }.into()),
        Ok(title) if title.version > VERSION => return Err(Notice::NewerProject { path: path.to_path_buf() }.into()),
        Ok(_) => {}
        Err(_) => return Err(Notice::NoProject { path: path.to_path_buf() }.into()),
    }
    let most = LARGEST.saturating_add(metadata.len().saturating_mul(FOLDED));
    let mut lines = BufReader::new(ZlibDecoder::new(file).take(most));
    let mut reading = Loading { folder: path.parent().unwrap_or(Path::new("")), documents: Vec::new(), pages: 0 };
    loop {
        let mut line = Vec::new();
        let read = (&mut lines).take(LARGEST_PAGE).read_until(b'\n', &mut line).map_err(|_| damaged())?;
        if read == 0 {
            return Err(damaged());
        }
        let line = serde_json::from_slice::<Line>(&line).map_err(|_| damaged())?;
        if let Line::End { documents, page } = line {
            // The checksum comes after the last line.
            let rest = io::copy(&mut lines.by_ref().take(1), &mut io::sink()).map_err(|_| damaged())?;
            if rest > 0 || documents != reading.documents.len() {
                return Err(damaged());
            }
            return Ok(reading.finish(page, path));
        }
        if !reading.take(line) {
            return Err(damaged());
        }
    }
}

/// A project file that is being read.
struct Loading<'a> {
    folder: &'a Path,
    documents: Vec<Document>,
    pages: usize,
}

impl Loading<'_> {
    /// Takes a line in; whether it makes sense.
    fn take(&mut self, line: Line) -> bool {
        let last = self.documents.last_mut();
        match (line, last) {
            (Line::Document(header), _) => {
                self.pages = self.pages.saturating_add(header.page_count);
                if self.pages > MOST_PAGES || self.documents.len() >= MOST_DOCUMENTS {
                    return false;
                }
                let header = found(header, self.folder);
                // Pasted bytes follow; until then there are none.
                let pasted = matches!(header.source, StoredSource::Pasted { .. }).then(Vec::new);
                self.documents.push(header.document(pasted));
                true
            }
            (Line::Pasted(text), Some(Document { source: Source::Bytes { bytes, .. }, .. })) => {
                BASE64.decode(text).map(|decoded| *bytes = decoded).is_ok()
            }
            (Line::Page { number, content }, Some(document)) => {
                let place = document.pages.get_mut(number);
                place.map(|place| *place = Arc::new(stored::checked(content))).is_some()
            }
            _ => false,
        }
    }

    fn finish(self, page: Option<PageKey>, path: &Path) -> Loaded {
        let project = stored::project(self.documents);
        let page = page.filter(|key| project.page(*key).is_some());
        Loaded { project, page, path: path.to_path_buf() }
    }
}

/// The entry with the path at which its file is now: beside the project file if it moved along, else where it was.
fn found(mut header: Header, folder: &Path) -> Header {
    if let StoredSource::File { path, relative: Some(relative) } = &mut header.source {
        let beside = std::path::absolute(folder.join(relative.path())).unwrap_or_default();
        if beside.is_file() {
            *path = StoredPath::new(&tidy(&beside));
        }
    }
    header
}

/// The path without `..`, where that is safe to say without looking at links: after folders that the path itself names.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(tidy.pop()),
            other => tidy.push(other),
        }
    }
    if tidy.is_file() { tidy } else { path.to_path_buf() }
}

#[cfg(test)]
#[path = "project_file_tests.rs"]
mod tests;
