//! The session: work is kept by itself while it is done, and is there again at the next start, after a crash as well.
//!
//! In the data folder lie `settings.json` and a folder `session`; a second window has `session-2`, and so on, since each
//! is locked by one window. A thread writes what the window hands over: shared pages, so that handing over costs nothing.

mod store;
mod writer;

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::job::Source;

use self::store::{Index, Snapshot};
use self::writer::{Told, Writer};
use super::notice::Notice;
use super::project::{DocumentId, Page, PageKey, Project};
use super::settings::Settings;
use super::state::Workspace;
use super::stored::{Header, StoredPath};

use crate::reader::Waker;

/// How long changes are gathered before they are written; results of a run are written at once.
const GATHER: Duration = Duration::from_millis(500);

/// What was there at the start.
#[derive(Debug, Default)]
pub(crate) struct Restored {
    /// Documents are still to be opened, or failed because their file is gone; their pages are as they were left.
    pub(crate) project: Project,
    /// The page that was looked at.
    pub(crate) page: Option<PageKey>,
    pub(crate) project_file: Option<PathBuf>,
    /// Whether there are changes that are not in the project file.
    pub(crate) unsaved: bool,
    /// Sentences about what could not be restored or will not be kept.
    pub(crate) warnings: Vec<String>,
}

/// What the window should know or do after a tick.
#[derive(Debug, Default)]
pub(crate) struct Tick {
    /// Call again after this time, even if nothing else happens.
    pub(crate) again: Option<Duration>,
    /// Why the work is not kept, once.
    pub(crate) trouble: Option<String>,
}

/// The window's side.
pub(crate) struct Session {
    writer: Option<Writer>,
    /// Whether what was there has not been taken yet; until then nothing is written.
    restoring: bool,
    restored: Option<Restored>,
    /// What was handed over last of each page.
    handed: HashMap<PageKey, Arc<Page>>,
    /// Documents whose pasted bytes were handed over.
    sources: HashSet<DocumentId>,
    headers: Arc<Vec<Arc<Header>>>,
    settings: Settings,
    seen: Seen,
    due: Option<Instant>,
}

/// What the last tick saw, to notice changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    pulse: u64,
    documents: u64,
    view: u64,
}

impl Session {
    /// Loads the settings and starts to restore the session on a thread; [`restored`](Self::restored) hands it out.
    /// `waker` is called when the thread has something to say.
    pub(crate) fn open(data_folder: Option<&Path>, waker: Waker) -> (Self, Settings) {
        let mut restored = Restored::default();
        let mut settings = Settings::default();
        let writer = match data_folder {
            None => {
                restored.warnings.push(Notice::NoFolder.to_string());
                None
            }
            Some(folder) => {
                let (loaded, warning) = Settings::load(folder);
                settings = loaded;
                restored.warnings.extend(warning);
                match Writer::start(folder.to_path_buf(), waker) {
                    Ok(writer) => Some(writer),
                    Err(error) => {
                        restored.warnings.push(not_kept(folder, crate::output::reason(&error)));
                        None
                    }
                }
            }
        };
        let session = Self {
            restoring: true,
            restored: Some(restored),
            writer,
            handed: HashMap::new(),
            sources: HashSet::new(),
            headers: Arc::default(),
            settings: settings.clone(),
            seen: Seen::default(),
            due: None,
        };
        (session, settings)
    }

    /// What was there at the start, once, as soon as it is read.
    pub(crate) fn restored(&mut self) -> Option<Restored> {
        if !self.restoring {
            return None;
        }
        if let Some(writer) = &self.writer {
            let Told::Restored(mut restored) = writer.told()? else { return None };
            let mut warnings = self.restored.take().unwrap_or_default().warnings;
            warnings.append(&mut restored.warnings);
            restored.warnings = warnings;
            self.restored = Some(*restored);
        }
        self.restoring = false;
        let restored = self.restored.take()?;
        for document in &restored.project.documents {
            if matches!(document.source, Source::Bytes { .. }) {
                self.sources.insert(document.id);
            }
            for (page, content) in document.pages.iter().enumerate().filter(|(_, page)| page.holds_work()) {
                self.handed.insert(PageKey { document: document.id, page }, Arc::clone(content));
            }
        }
        Some(restored)
    }

    /// Whether what was there is still being read: nothing should be opened yet.
    pub(crate) fn is_restoring(&self) -> bool {
        self.restoring
    }

    /// To be called every frame: writes what changed, at once while a run brings results and else after a moment.
    pub(crate) fn tick(&mut self, state: &Workspace, now: Instant) -> Tick {
        if self.restoring || self.writer.is_none() {
            return Tick::default();
        }
        self.notice(Seen::of(state), state.settings != self.settings, state.run.is_some(), now);
        if self.due.is_some_and(|due| due <= now) {
            self.hand_over(state);
        }
        Tick { again: self.due.map(|due| due.saturating_duration_since(now)), trouble: self.trouble() }
    }

    /// Decides when to write. `running`: a change may be a result, which is not to be lost.
    fn notice(&mut self, seen: Seen, settings: bool, running: bool, now: Instant) {
        if seen != self.seen || settings {
            let result = running && seen.pulse != self.seen.pulse;
            let due = if result { now } else { now + GATHER };
            self.due = Some(self.due.map_or(due, |before| before.min(due)));
            self.seen = seen;
        }
    }

    /// Writes everything that is not written yet. Call it when the window closes.
    pub(crate) fn finish(&mut self, state: &Workspace) {
        if !self.restoring && self.writer.is_some() {
            self.hand_over(state);
        }
        self.writer = None;
    }

    fn trouble(&self) -> Option<String> {
        match self.writer.as_ref()?.told()? {
            Told::Trouble(sentence) => Some(sentence),
            Told::Restored(_) => None,
        }
    }

    fn hand_over(&mut self, state: &Workspace) {
        self.due = None;
        let snapshot = self.snapshot(state);
        if let Some(writer) = &self.writer {
            writer.keep(snapshot);
        }
    }

    /// What changed since the last snapshot.
    fn snapshot(&mut self, state: &Workspace) -> Snapshot {
        let mut snapshot = Snapshot::default();
        let documents = &state.project.documents;
        for document in documents {
            if let Source::Bytes { bytes, .. } = &document.source
                && self.sources.insert(document.id)
            {
                snapshot.sources.insert(document.id, bytes.clone());
            }
            for (page, content) in document.pages.iter().enumerate() {
                let key = PageKey { document: document.id, page };
                match self.handed.get(&key) {
                    Some(handed) if Arc::ptr_eq(handed, content) => continue,
                    None if !content.holds_work() => continue,
                    _ => {}
                }
                self.handed.insert(key, Arc::clone(content));
                snapshot.pages.insert(key, Arc::clone(content));
            }
        }
        let headers: Vec<_> = documents.iter().map(Header::of).collect();
        if headers.len() != self.headers.len() || headers.iter().zip(&*self.headers).any(|(a, b)| *a != **b) {
            let open: HashSet<_> = headers.iter().map(|header| header.id).collect();
            self.handed.retain(|key, _| open.contains(&key.document));
            self.sources.retain(|id| open.contains(id));
            self.headers = Arc::new(headers.into_iter().map(Arc::new).collect());
        }
        snapshot.headers = Arc::clone(&self.headers);
        snapshot.index = Index {
            page: state.view.page,
            project_file: state.project_file.as_deref().map(StoredPath::new),
            unsaved: state.history.revision() != state.saved_revision,
        };
        if state.settings != self.settings {
            self.settings = state.settings.clone();
            snapshot.settings = Some(state.settings.clone());
        }
        snapshot
    }
}

impl Seen {
    fn of(state: &Workspace) -> Self {
        let hash = |hash: &dyn Fn(&mut DefaultHasher)| {
            let mut hasher = DefaultHasher::new();
            hash(&mut hasher);
            hasher.finish()
        };
        Self {
            pulse: state.history.pulse(),
            documents: hash(&|hasher| {
                for document in &state.project.documents {
                    (document.id, document.pages.len()).hash(hasher);
                }
            }),
            view: hash(&|hasher| (state.view.page, &state.project_file, state.saved_revision).hash(hasher)),
        }
    }
}

/// Why the work is not kept.
fn not_kept(path: &Path, reason: String) -> String {
    Notice::NotKept { path: path.to_path_buf(), reason }.to_string()
}

#[cfg(test)]
mod tests;
