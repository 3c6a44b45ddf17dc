//! Undo and redo over pages: what a page was before a change, and after.

use std::sync::Arc;

use super::project::{Page, PageKey, Project};

/// Most changes that are kept.
const DEPTH: usize = 1000;

/// What one undo takes back.
#[derive(Clone, Debug)]
struct Change {
    /// For the menu: "Undo Move region".
    name: &'static str,
    pages: Vec<(PageKey, Arc<Page>, Arc<Page>)>,
    /// Changes with the same merge key that follow each other on the same page are one: keystrokes, drags, the results
    /// of one run.
    merge: Option<u64>,
}

/// The changes so far, and those taken back.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    done: std::collections::VecDeque<Change>,
    undone: Vec<Change>,
    /// Grows with every change, undo and redo.
    revision: u64,
    /// Grows with what was learned about pages.
    amendments: u64,
}

impl History {
    /// Changes a page. `merge` joins it to the change before when that has the same key and page.
    pub(crate) fn change(
        &mut self,
        project: &mut Project,
        name: &'static str,
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
        if let (Some(last), Some(_)) = (self.done.back_mut(), merge)
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
        self.done.push_back(Change { name, pages: vec![(key, before, after)], merge });
        if self.done.len() > DEPTH {
            self.done.pop_front();
        }
    }

    /// Changes a page in a way that cannot be undone, such as learning its size. What undo would bring back learns it too.
    pub(crate) fn amend(&mut self, project: &mut Project, key: PageKey, amend: impl Fn(&mut Page)) {
        let amended = |page: &Arc<Page>| {
            let mut page = Page::clone(page);
            amend(&mut page);
            Arc::new(page)
        };
        let Some(page) = project.page(key) else { return };
        let learned = amended(page);
        if learned != *page {
            project.set_page(key, learned);
            self.amendments += 1;
        }
        for (k, before, after) in self.done.iter_mut().chain(&mut self.undone).flat_map(|change| &mut change.pages) {
            if *k == key {
                *before = amended(before);
                *after = amended(after);
            }
        }
    }

    /// Takes the last change back; the pages it touched.
    pub(crate) fn undo(&mut self, project: &mut Project) -> Vec<PageKey> {
        let Some(change) = self.done.pop_back() else { return Vec::new() };
        for (key, before, _) in change.pages.iter().rev() {
            project.set_page(*key, Arc::clone(before));
        }
        self.revision += 1;
        let keys = change.pages.iter().map(|(key, ..)| *key).collect();
        self.undone.push(change);
        keys
    }

    /// Does the last change again that was taken back; the pages it touched.
    pub(crate) fn redo(&mut self, project: &mut Project) -> Vec<PageKey> {
        let Some(change) = self.undone.pop() else { return Vec::new() };
        for (key, _, after) in &change.pages {
            project.set_page(*key, Arc::clone(after));
        }
        self.revision += 1;
        let keys = change.pages.iter().map(|(key, ..)| *key).collect();
        self.done.push_back(change);
        keys
    }

    /// What the next undo takes back.
    pub(crate) fn undo_name(&self) -> Option<&'static str> {
        self.done.back().map(|change| change.name)
    }

    /// What the next redo does again.
    pub(crate) fn redo_name(&self) -> Option<&'static str> {
        self.undone.last().map(|change| change.name)
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
        self.undone.retain_mut(stays);
        self.done.retain_mut(stays);
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
