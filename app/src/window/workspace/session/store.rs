//! The session's folder: an index of the documents, and a file for each page that has anything worth keeping.
//!
//! ```text
//! session/index.json               the documents in order, the page that is looked at
//! session/doc-7/source             the bytes of a pasted picture
//! session/doc-7/page-0001.json     a page, with its document's entry of the index
//! ```
//!
//! Every file is replaced in one step, pages before the index: whatever moment the program ends at, each page is the old
//! one or the new one. Pages name their document, so that they can be found without an index.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::Restored;
use super::not_kept;
use crate::output::reason;
use crate::window::workspace::notice::Notice;
use crate::window::workspace::project::{DocumentId, Page, PageKey};
use crate::window::workspace::settings::Settings;
use crate::window::workspace::stored::{
    self, Header, LARGEST_PAGE, MOST_DOCUMENTS, MOST_PAGES, StoredPath, StoredSource,
};

/// Most windows that keep their work.
const MOST_WINDOWS: usize = 32;
const LARGEST_INDEX: u64 = 256 << 20;
const LARGEST_SOURCE: u64 = 2_000_000_000;
const INDEX: &str = "index.json";
const VERSION: u32 = 1;
/// What a file that is being written is called.
const TEMPORARY: &str = ".writing-";

/// What is to be written.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// All documents in order.
    pub(super) headers: Arc<Vec<Arc<Header>>>,
    pub(super) index: Index,
    /// Pages that changed.
    pub(super) pages: HashMap<PageKey, Arc<Page>>,
    /// Pasted bytes of new documents.
    pub(super) sources: HashMap<DocumentId, Vec<u8>>,
    pub(super) settings: Option<Settings>,
}

/// What the index holds beside the documents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Index {
    pub(super) page: Option<PageKey>,
    pub(super) project_file: Option<StoredPath>,
    pub(super) unsaved: bool,
}

#[derive(Serialize, Deserialize)]
struct IndexFile<H> {
    version: u32,
    documents: H,
    #[serde(flatten)]
    index: Index,
}

#[derive(Serialize)]
struct PageFile<'a> {
    document: &'a Header,
    page: usize,
    content: &'a Page,
}

#[derive(Deserialize)]
struct OwnedPageFile {
    document: Header,
    page: usize,
    content: Page,
}

impl Snapshot {
    /// Takes in what came later.
    pub(super) fn update(&mut self, later: Snapshot) {
        self.headers = later.headers;
        self.index = later.index;
        self.pages.extend(later.pages);
        self.sources.extend(later.sources);
        self.settings = later.settings.or(self.settings.take());
    }
}

/// A session folder that this window owns.
pub(super) struct Store {
    data_folder: PathBuf,
    folder: PathBuf,
    /// Holds the lock.
    _lock: Option<File>,
    /// The index as it was written last.
    index: Vec<u8>,
    /// Documents that may have a folder.
    folders: HashSet<DocumentId>,
    /// Changes to files that may still be made; a test ends the program in its middle with it.
    #[cfg(test)]
    pub(super) budget: Option<usize>,
}

/// Takes a session folder that no other window has: one with work in it, or else the first. Folders of a newer version
/// are left as they are. Sentences say what no window shows.
pub(super) fn claim(data_folder: &Path) -> Result<(Store, Vec<String>), (PathBuf, io::Error)> {
    let mut warnings = Vec::new();
    let mut empty = None;
    let mut with_work = Vec::new();
    for number in 1..=MOST_WINDOWS {
        let name = if number == 1 { "session".to_owned() } else { format!("session-{number}") };
        let folder = data_folder.join(name);
        if (empty.is_some() || !with_work.is_empty()) && !folder.exists() {
            break;
        }
        if is_newer(&folder) {
            warnings.push(Notice::NewerSession { folder }.to_string());
            continue;
        }
        let Some(store) = lock(data_folder, &folder).map_err(|error| (folder.clone(), error))? else { continue };
        if store.has_work() {
            with_work.push(store);
        } else if empty.is_none() {
            empty = Some(store);
        }
    }
    warnings.extend((with_work.len() > 1).then(|| Notice::OtherWork.to_string()));
    let store = with_work.into_iter().next().or(empty);
    store.map(|store| (store, warnings)).ok_or_else(|| (data_folder.to_path_buf(), io::ErrorKind::ResourceBusy.into()))
}

/// Whether a newer version of the program wrote the session in this folder.
fn is_newer(folder: &Path) -> bool {
    #[derive(Deserialize)]
    struct Version {
        version: u64,
    }
    let index = read(&folder.join(INDEX), LARGEST_INDEX).ok();
    let version = index.and_then(|bytes| serde_json::from_slice::<Version>(&bytes).ok());
    version.is_some_and(|Version { version }| version > u64::from(VERSION))
}

/// A store for this folder unless another window has it.
fn lock(data_folder: &Path, folder: &Path) -> io::Result<Option<Store>> {
    fs::create_dir_all(folder)?;
    let lock = File::options().read(true).write(true).create(true).truncate(false).open(folder.join("lock"))?;
    match lock.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        // A file system without locks: keeping the work matters more than a second window.
        Err(TryLockError::Error(_)) => Ok(Some(Store::new(data_folder, folder, None))),
        Ok(()) => Ok(Some(Store::new(data_folder, folder, Some(lock)))),
    }
}

impl Store {
    fn new(data_folder: &Path, folder: &Path, lock: Option<File>) -> Self {
        Self {
            data_folder: data_folder.to_path_buf(),
            folder: folder.to_path_buf(),
            _lock: lock,
            index: Vec::new(),
            folders: HashSet::new(),
            #[cfg(test)]
            budget: None,
        }
    }

    fn document_folder(&self, id: DocumentId) -> PathBuf {
        self.folder.join(format!("doc-{}", id.0))
    }

    fn page_path(&self, key: PageKey) -> PathBuf {
        self.document_folder(key.document).join(format!("page-{:04}.json", key.page + 1))
    }

    fn has_work(&self) -> bool {
        match self.read_index() {
            Some(Ok(file)) => !file.documents.is_empty(),
            Some(Err(_)) => !self.list_documents().is_empty(),
            None => false,
        }
    }

    fn read_index(&self) -> Option<Result<IndexFile<Vec<Header>>, String>> {
        let path = self.folder.join(INDEX);
        match read(&path, LARGEST_INDEX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => Some(Err(reason(&error))),
            Ok(bytes) => {
                let parsed: Result<IndexFile<Vec<Header>>, _> = serde_json::from_slice(&bytes);
                Some(parsed.map_err(|error| error.to_string()))
            }
        }
    }

    /// The documents that have a folder.
    fn list_documents(&self) -> Vec<DocumentId> {
        let name = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_prefix("doc-")?.parse().ok();
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut ids: Vec<_> = entries.filter_map(name).map(DocumentId).take(MOST_DOCUMENTS).collect();
        ids.sort_unstable();
        ids
    }

    /// Reads what is there. What is damaged is left out and named, and kept aside.
    pub(super) fn restore(&mut self) -> Restored {
        let mut restored = Restored::default();
        let listed = self.list_documents();
        self.folders = listed.iter().copied().collect();
        let (headers, index) = match self.read_index() {
            None if listed.is_empty() => return restored,
            Some(Ok(file)) => (Some(file.documents), file.index),
            None | Some(Err(_)) => {
                let _ = fs::rename(self.folder.join(INDEX), self.folder.join("index.json.bad"));
                restored.warnings.push(Notice::IndexLost.to_string());
                (None, Index::default())
            }
        };
        let mut pages: BTreeMap<DocumentId, Vec<OwnedPageFile>> = BTreeMap::new();
        let mut lost = Vec::new();
        let wanted: Option<HashSet<DocumentId>> = headers.as_ref().map(|h| h.iter().map(|h| h.id).collect());
        for id in listed {
            // What the index does not name was closed, or the program ended before it was named. Another document may get
            // its name, so nothing of it may stay.
            if wanted.as_ref().is_some_and(|wanted| !wanted.contains(&id)) {
                let _ = fs::remove_dir_all(self.document_folder(id));
                self.folders.remove(&id);
                continue;
            }
            let found = self.read_pages(id, &mut lost);
            pages.insert(id, found);
        }
        let headers = headers.unwrap_or_else(|| found_headers(&pages));
        let mut documents = Vec::new();
        let (mut all_pages, mut named) = (0_usize, HashSet::new());
        for mut header in headers.into_iter().take(MOST_DOCUMENTS) {
            let id = header.id;
            if !named.insert(id) {
                continue;
            }
            header.page_count = header.page_count.min(MOST_PAGES.saturating_sub(all_pages));
            all_pages += header.page_count;
            let pasted = match &header.source {
                StoredSource::Pasted { .. } => read(&self.document_folder(id).join("source"), LARGEST_SOURCE).ok(),
                StoredSource::File { .. } => None,
            };
            let source = header.source.clone();
            let mut document = header.document(pasted);
            let own = |file: &OwnedPageFile| file.document.source == source;
            for file in pages.remove(&id).unwrap_or_default().into_iter().filter(own) {
                if let Some(place) = document.pages.get_mut(file.page) {
                    *place = Arc::new(stored::checked(file.content));
                }
            }
            for (_, page) in lost.iter().filter(|(lost, _)| *lost == id) {
                restored.warnings.push(Notice::PageLost { name: document.name.clone(), page: *page }.to_string());
            }
            documents.push(document);
        }
        restored.project = stored::project(documents);
        restored.page = index.page.filter(|key| restored.project.page(*key).is_some());
        restored.project_file = index.project_file.map(|path| path.path());
        restored.unsaved = index.unsaved;
        restored
    }

    /// The pages of a document that can be read; the numbers of those that cannot go to `lost`.
    fn read_pages(&self, id: DocumentId, lost: &mut Vec<(DocumentId, usize)>) -> Vec<OwnedPageFile> {
        let mut pages = Vec::new();
        for entry in fs::read_dir(self.document_folder(id)).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(TEMPORARY) {
                let _ = fs::remove_file(entry.path());
                continue;
            }
            let number = name.strip_prefix("page-").and_then(|rest| rest.strip_suffix(".json")?.parse::<usize>().ok());
            let Some(page) = number.and_then(|number| number.checked_sub(1)) else { continue };
            let file = read(&entry.path(), LARGEST_PAGE)
                .ok()
                .and_then(|bytes| serde_json::from_slice::<OwnedPageFile>(&bytes).ok())
                .filter(|file| file.page == page && file.document.id == id);
            match file {
                Some(file) => pages.push(file),
                None => {
                    let _ = fs::rename(entry.path(), entry.path().with_extension("json.bad"));
                    lost.push((id, page));
                }
            }
        }
        lost.sort_unstable();
        pages
    }

    /// Writes a snapshot. What was written is taken out of it, so that it can be tried again after a fault.
    pub(super) fn save(&mut self, snapshot: &mut Snapshot) -> Result<(), String> {
        let headers: HashMap<DocumentId, &Arc<Header>> =
            snapshot.headers.iter().map(|header| (header.id, header)).collect();
        snapshot.sources.retain(|id, _| headers.contains_key(id));
        snapshot.pages.retain(|key, _| headers.contains_key(&key.document));

        let ids: Vec<_> = snapshot.sources.keys().copied().collect();
        for id in ids {
            let path = self.document_folder(id).join("source");
            if let Some(bytes) = snapshot.sources.get(&id) {
                self.write(&path, bytes)?;
            }
            self.folders.insert(id);
            snapshot.sources.remove(&id);
        }
        let mut keys: Vec<_> = snapshot.pages.keys().copied().collect();
        keys.sort_unstable();
        for key in keys {
            if let (Some(page), Some(header)) = (snapshot.pages.get(&key), headers.get(&key.document)) {
                self.folders.insert(key.document);
                self.save_page(key, header, page)?;
            }
            snapshot.pages.remove(&key);
        }
        let file = IndexFile { version: VERSION, documents: &*snapshot.headers, index: snapshot.index.clone() };
        let index = json(&file, &self.folder.join(INDEX))?;
        if index != self.index {
            self.write(&self.folder.join(INDEX), &index)?;
            self.index = index;
        }
        let gone: Vec<_> = self.folders.iter().copied().filter(|id| !headers.contains_key(id)).collect();
        for id in gone {
            self.spend(&self.document_folder(id))?;
            // What cannot be removed is in nobody's way: the index does not name it.
            let _ = fs::remove_dir_all(self.document_folder(id));
            self.folders.remove(&id);
        }
        if let Some(settings) = &snapshot.settings {
            let path = Settings::path(&self.data_folder);
            let stored = read(&path, Settings::LARGEST).unwrap_or_default();
            let bytes = settings.over(&stored).map_err(|error| not_kept(&path, error.to_string()))?;
            self.write(&path, &bytes)?;
            snapshot.settings = None;
        }
        Ok(())
    }

    fn save_page(&mut self, key: PageKey, header: &Header, page: &Page) -> Result<(), String> {
        let path = self.page_path(key);
        if page.holds_work() {
            let bytes = json(&PageFile { document: header, page: key.page, content: page }, &path)?;
            return self.write(&path, &bytes);
        }
        self.spend(&path)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(not_kept(&path, reason(&error))),
            _ => Ok(()),
        }
    }

    /// Puts a file in its place in one step. Others on this computer cannot read it.
    fn write(&mut self, path: &Path, bytes: &[u8]) -> Result<(), String> {
        self.spend(path)?;
        replace(path, bytes).map_err(|error| not_kept(path, reason(&error)))
    }

    #[cfg(test)]
    fn spend(&mut self, path: &Path) -> Result<(), String> {
        match &mut self.budget {
            Some(0) => return Err(not_kept(path, "the program was ended".to_owned())),
            Some(budget) => *budget -= 1,
            None => {}
        }
        Ok(())
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "tests end the program here")]
    fn spend(&mut self, _: &Path) -> Result<(), String> {
        Ok(())
    }
}

/// The documents of which pages were found, in the order of their names.
fn found_headers(pages: &BTreeMap<DocumentId, Vec<OwnedPageFile>>) -> Vec<Header> {
    let header = |files: &Vec<OwnedPageFile>| {
        let mut header = files.last()?.document.clone();
        let last = files.iter().map(|file| file.page + 1).max();
        header.page_count = header.page_count.max(last.unwrap_or(0));
        Some(header)
    };
    pages.values().filter_map(header).collect()
}

fn json(value: &impl Serialize, path: &Path) -> Result<Vec<u8>, String> {
    serde_json::to_vec(value).map_err(|error| not_kept(path, error.to_string()))
}

/// Reads a file of at most `limit` bytes.
pub(super) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > limit {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Replaces a file in one step.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = NamedTempFile::with_prefix_in(TEMPORARY, folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
