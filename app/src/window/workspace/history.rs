//! Undo and redo over pages: what a page was before a change, and after.
//!
//! The results of a run that goes on are one change that grows. It cannot be undone before the run is over, and other
//! changes pass it by: those from before the run on pages that are not the run's, and all that were made since.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::project::{Page, PageKey, Project};

/// Most changes that are kept.
const DEPTH: usize = 1000;

/// What a change did, for "Undo move region".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Draw,
    Move,
    Relabel,
    Delete,
    Reorder,
    Edit,
    Revert,
    Rotate,
    Detect,
    Recognize,
}

/// Undo or redo would take back what a run has read, or change what it is going to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held;

/// What one undo takes back.
#[derive(Clone, Debug)]
struct Change {
    operation: Operation,
    pages: Vec<(PageKey, Arc<Page>, Arc<Page>)>,
    /// Changes with the same merge key that follow each other on the same page are one: keystrokes, drags.
    merge: Option<u64>,
}

/// The results of a run that goes on, and what of the history is older than the run.
#[derive(Clone, Debug)]
struct Open {
    /// All pages of the run, also those that are not read yet.
    change: Change,
    /// So many of the changes so far were made before the run.
    done: usize,
    /// So many of those taken back were taken back before it.
    undone: usize,
}

/// The changes so far, and those taken back.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    done: VecDeque<Change>,
    undone: Vec<Change>,
    open: Option<Open>,
    /// Grows with every change, undo and redo.
    revision: u64,
    /// Grows with what was learned about pages.
    amendments: u64,
}

impl Change {
    fn touches(&self, pages: &HashSet<PageKey>) -> bool {
        self.pages.iter().any(|(key, ..)| pages.contains(key))
    }

    /// The pages that it changed.
    fn keys(&self) -> Vec<PageKey> {
        self.pages.iter().map(|(key, ..)| *key).collect()
    }

    fn shares_page(&self, other: &Change) -> bool {
        self.pages.iter().any(|(key, ..)| other.pages.iter().any(|(k, ..)| k == key))
    }
}

impl History {
    /// Changes a page. `merge` joins it to the change before when that has the same key and page.
    pub(crate) fn change(
        &mut self,
        project: &mut Project,
        operation: Operation,
        key: PageKey,
        page: Page,
        merge: Option<u64>,
    ) {
        let Some(before) = project.page(key).cloned() else { return };
        if *before == page {
            return;
        }
        let after = Arc::new(page);
        project.set_page(key, Arc::clone(&after));
        self.revision += 1;
        self.undone.clear();
        let older = self.open.as_mut().map_or(0, |open| {
            open.undone = 0;
            open.done
        });
        if self.done.len() > older
            && let (Some(last), Some(_)) = (self.done.back_mut(), merge)
            && last.merge == merge
        {
            match last.pages.iter_mut().find(|(k, ..)| *k == key) {
                Some((_, _, last_after)) => *last_after = after,
                None => last.pages.push((key, before, after)),
            }
            // A drag there and back is nothing to undo.
            if last.pages.iter().all(|(_, before, after)| before == after) {
                self.done.pop_back();
            }
            return;
        }
        self.done.push_back(Change { operation, pages: vec![(key, before, after)], merge });
        self.trim();
    }

    /// Drops the oldest changes; those made during a run are not dropped from under its results.
    fn trim(&mut self) {
        while self.done.len() > DEPTH && self.open.as_ref().is_none_or(|open| open.done > 0) {
            self.done.pop_front();
            if let Some(open) = &mut self.open {
                open.done -= 1;
            }
        }
    }

    /// A run over these pages begins: what it [writes](Self::write) becomes one change when it is
    /// [over](Self::end_run).
    pub(crate) fn begin_run(&mut self, project: &Project, pages: impl Iterator<Item = PageKey>) {
        self.end_run();
        let pages = pages.filter_map(|key| {
            let page = project.page(key)?;
            Some((key, Arc::clone(page), Arc::clone(page)))
        });
        let change = Change { operation: Operation::Recognize, pages: pages.collect(), merge: None };
        self.open = Some(Open { change, done: self.done.len(), undone: self.undone.len() });
    }

    /// Writes a result of the run that goes on; whether the page is another one now. What was changed on the page since
    /// the run began, and can be undone or redone, has the result before and after.
    pub(crate) fn write(&mut self, project: &mut Project, key: PageKey, write: impl Fn(&mut Page)) -> bool {
        let Some(open) = &mut self.open else { return false };
        let Some(page) = project.page(key) else { return false };
        let written = altered(page, &write);
        if written == *page {
            return false;
        }
        project.set_page(key, written);
        self.revision += 1;
        open.change
            .pages
            .iter_mut()
            .filter(|(k, ..)| *k == key)
            .for_each(|(.., after)| *after = altered(after, &write));
        let since = self.done.iter_mut().skip(open.done).chain(self.undone.iter_mut().skip(open.undone));
        for (k, before, after) in since.flat_map(|change| &mut change.pages) {
            if *k == key {
                (*before, *after) = (altered(before, &write), altered(after, &write));
            }
        }
        true
    }

    /// The run is over: what it wrote can be undone.
    pub(crate) fn end_run(&mut self) {
        let Some(Open { mut change, done, undone }) = self.open.take() else { return };
        change.pages.retain(|(_, before, after)| before != after);
        if change.pages.is_empty() {
            return;
        }
        // What was taken back before the run would bring back pages without its results, and so would what follows it.
        let mut written: HashSet<PageKey> = change.pages.iter().map(|(key, ..)| *key).collect();
        let mut since = self.undone.split_off(undone);
        self.undone.reverse();
        self.undone.retain(|older| {
            let touches = older.touches(&written);
            if touches {
                written.extend(older.keys());
            }
            !touches
        });
        self.undone.reverse();
        self.undone.append(&mut since);
        self.done.insert(done, change);
        self.trim();
    }

    /// Changes a page in a way that cannot be undone, such as learning its size. What undo would bring back learns it too.
    pub(crate) fn amend(&mut self, project: &mut Project, key: PageKey, amend: impl Fn(&mut Page)) {
        let Some(page) = project.page(key) else { return };
        let learned = altered(page, &amend);
        if learned != *page {
            project.set_page(key, learned);
            self.amendments += 1;
        }
        let open = self.open.iter_mut().map(|open| &mut open.change);
        let changes = self.done.iter_mut().chain(&mut self.undone).chain(open);
        for (k, before, after) in changes.flat_map(|change| &mut change.pages) {
            if *k == key {
                (*before, *after) = (altered(before, &amend), altered(after, &amend));
            }
        }
    }

    /// Takes the last change back; the pages it touched.
    pub(crate) fn undo(&mut self, project: &mut Project) -> Result<Vec<PageKey>, Held> {
        if self.is_undo_held() {
            return Err(Held);
        }
        let Some(change) = self.done.pop_back() else { return Ok(Vec::new()) };
        if let Some(open) = &mut self.open {
            open.done = open.done.min(self.done.len());
        }
        for (key, before, _) in change.pages.iter().rev() {
            project.set_page(*key, Arc::clone(before));
        }
        self.revision += 1;
        let keys = change.keys();
        self.undone.push(change);
        Ok(keys)
    }

    /// Does the last change again that was taken back; the pages it touched.
    pub(crate) fn redo(&mut self, project: &mut Project) -> Result<Vec<PageKey>, Held> {
        if self.is_redo_held() {
            return Err(Held);
        }
        let Some(change) = self.undone.pop() else { return Ok(Vec::new()) };
        if let Some(open) = &mut self.open {
            open.undone = open.undone.min(self.undone.len());
        }
        for (key, _, after) in &change.pages {
            project.set_page(*key, Arc::clone(after));
        }
        self.revision += 1;
        let keys = change.keys();
        self.done.push_back(change);
        Ok(keys)
    }

    /// What the next undo takes back.
    pub(crate) fn undo_operation(&self) -> Option<Operation> {
        self.done.back().map(|change| change.operation)
    }

    /// What the next redo does again.
    pub(crate) fn redo_operation(&self) -> Option<Operation> {
        self.undone.last().map(|change| change.operation)
    }

    /// Whether a run that goes on forbids the next undo.
    pub(crate) fn is_undo_held(&self) -> bool {
        let Some(open) = &self.open else { return false };
        match self.done.back() {
            Some(change) => self.done.len() <= open.done && change.shares_page(&open.change),
            None => open.change.pages.iter().any(|(_, before, after)| before != after),
        }
    }

    /// Whether a run that goes on forbids the next redo.
    pub(crate) fn is_redo_held(&self) -> bool {
        let Some(open) = &self.open else { return false };
        self.undone.len() <= open.undone && self.undone.last().is_some_and(|change| change.shares_page(&open.change))
    }

    /// The pages whose regions detection alone has found, on pages that had none.
    pub(crate) fn only_detected(&self) -> HashSet<PageKey> {
        let mut only: HashMap<PageKey, bool> = HashMap::new();
        let open = self.open.iter().map(|open| &open.change);
        for change in self.done.iter().chain(open) {
            for (key, before, _) in change.pages.iter().filter(|(_, before, after)| before != after) {
                let from_nothing = only.entry(*key).or_insert_with(|| !before.holds_work());
                *from_nothing &= change.operation == Operation::Detect;
            }
        }
        only.into_iter().filter_map(|(key, only)| only.then_some(key)).collect()
    }

    /// Moves with every change, undo and redo: what a project file lacks when it has moved since.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Moves also with what was learned about pages: the session saves when it moved.
    pub(crate) fn pulse(&self) -> u64 {
        self.revision + self.amendments
    }

    /// Forgets the changes of pages that are gone; what else a change did can still be undone.
    pub(crate) fn forget(&mut self, gone: impl Fn(PageKey) -> bool) {
        let stays = |change: &mut Change| {
            change.pages.retain(|(key, ..)| !gone(*key));
            !change.pages.is_empty()
        };
        if let Some(open) = &mut self.open {
            open.done = self.done.iter_mut().take(open.done).map(stays).filter(|stays| *stays).count();
            open.undone = self.undone.iter_mut().take(open.undone).map(stays).filter(|stays| *stays).count();
            stays(&mut open.change);
        }
        self.undone.retain_mut(stays);
        self.done.retain_mut(stays);
    }
}

fn altered(page: &Page, alter: impl Fn(&mut Page)) -> Arc<Page> {
    let mut page = page.clone();
    alter(&mut page);
    Arc::new(page)
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
