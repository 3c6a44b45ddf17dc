//! Changes to the regions and texts of the page that is looked at. Every one goes through the history.

use std::sync::Arc;

use engine::document::Turn;
use engine::region::{Label, Rect, Region, Role};

use super::history::Operation;
use super::notice::Notice;
use super::project::{Drawn, Page, PageKey, PageRegion, RegionId};
use super::state::{Tone, Workspace};

/// Boxes narrower or lower than this are slips of the hand, page pixels.
pub(crate) const SMALLEST: u32 = 4;

impl Workspace {
    /// Changes the boxes, types or order of the page that is looked at, unless a run holds them fast; `change` says
    /// whether it did anything. Whether the change was allowed.
    fn restructure(
        &mut self,
        operation: Operation,
        merge: Option<u64>,
        change: impl FnOnce(&mut Page) -> bool,
    ) -> bool {
        let Some(key) = self.view.page else { return false };
        let allowed = !self.refuses(key);
        if allowed {
            self.change_page(key, operation, merge, change);
        }
        allowed
    }

    /// Changes texts of the page that is looked at: they are kept apart from what a run writes.
    fn write(&mut self, operation: Operation, change: impl FnOnce(&mut Page) -> bool) {
        let Some(key) = self.view.page else { return };
        self.change_page(key, operation, None, change);
    }

    /// Whether a run holds a page fast; says so.
    pub(crate) fn refuses(&mut self, key: PageKey) -> bool {
        let locked = self.lock(key).is_some();
        if locked {
            self.tell(Tone::Warning, Notice::PageLocked);
        }
        locked
    }

    /// Whether a run still reads a region of the page that is looked at; says so.
    pub(crate) fn refuses_text(&mut self, id: RegionId) -> bool {
        let awaited = self.is_awaited(id);
        if awaited {
            self.tell(Tone::Warning, Notice::RegionLocked);
        }
        awaited
    }

    /// Changes any page.
    pub(crate) fn change_page(
        &mut self,
        key: PageKey,
        operation: Operation,
        merge: Option<u64>,
        change: impl FnOnce(&mut Page) -> bool,
    ) {
        let Some(page) = self.project.page(key) else { return };
        let mut page = Page::clone(page);
        let replayed = self.replayed();
        if change(&mut page) {
            self.history.change(&mut self.project, operation, key, page, merge);
            self.close_stale_replay(replayed);
        }
        self.view.drop_strangers(self.project.page(key).map(Arc::as_ref), key);
    }

    /// Adds a box that a person drew, at its place in the reading order, and selects it.
    pub(crate) fn draw_region(&mut self, bounds: Rect, label: Label) {
        let Some([width, height]) = self.page().and_then(|page| page.size) else { return };
        let bounds = bounds.clamped(width, height);
        if bounds.width() < SMALLEST || bounds.height() < SMALLEST {
            return;
        }
        let id = self.project.new_region();
        let drawn = self.restructure(Operation::Draw, None, |page| {
            let place = reading_place(page, bounds);
            let region = PageRegion { id, region: Region::new(label, bounds), read: None, edit: None };
            page.regions.insert(place, Arc::new(region));
            page.detected = true;
            true
        });
        if drawn {
            self.view.select(Some(id));
        }
    }

    /// Moves and resizes boxes. What was read there stays until it is read again.
    pub(crate) fn reshape(&mut self, boxes: &[(RegionId, Rect)], merge: u64) {
        let Some([width, height]) = self.page().and_then(|page| page.size) else { return };
        self.restructure(Operation::Move, Some(merge), |page| {
            let mut changed = false;
            for &(id, bounds) in boxes {
                let bounds = bounds.clamped(width, height);
                if bounds.width() >= SMALLEST && bounds.height() >= SMALLEST {
                    changed |= page.alter(id, |region| {
                        if region.region.bounds == bounds {
                            return;
                        }
                        forget_findings(&mut region.region);
                        region.region.bounds = bounds;
                    });
                }
            }
            changed
        });
    }

    /// Gives the selected regions another label.
    pub(crate) fn relabel(&mut self, label: Label) {
        let ids = self.view.selection.clone();
        self.restructure(Operation::Relabel, None, |page| {
            ids.iter().fold(false, |changed, &id| {
                changed
                    | page.alter(id, |region| {
                        if region.region.label.role() != label.role() {
                            region.region.cells.clear();
                            region.region.list_item = None;
                            region.region.level = None;
                        }
                        if !matches!(label, Label::DocTitle | Label::ParagraphTitle) {
                            region.region.level = None;
                        }
                        region.region.label = label;
                    })
            })
        });
    }

    /// Removes the selected regions and selects the one that took their place.
    pub(crate) fn delete_selected(&mut self) {
        let ids = self.view.selection.clone();
        let first = self.page().and_then(|page| page.regions.iter().position(|region| ids.contains(&region.id)));
        let deleted = self.restructure(Operation::Delete, None, |page| {
            let before = page.regions.len();
            page.regions.retain(|region| !ids.contains(&region.id));
            page.regions.len() != before
        });
        if !deleted {
            return;
        }
        let next = self.page().and_then(|page| {
            let at = first?.min(page.regions.len().checked_sub(1)?);
            Some(page.regions[at].id)
        });
        self.view.select(next);
    }

    /// Moves a region to another place in the reading order.
    pub(crate) fn reorder(&mut self, id: RegionId, to: usize) {
        self.restructure(Operation::Reorder, None, |page| {
            let Some(from) = page.position(id) else { return false };
            let region = page.regions.remove(from);
            let to = to.min(page.regions.len());
            page.regions.insert(to, region);
            to != from
        });
    }

    /// Moves the selected regions one place earlier or later, keeping their order.
    pub(crate) fn shift_selected(&mut self, later: bool) {
        let ids = self.view.selection.clone();
        self.restructure(Operation::Reorder, None, |page| {
            let regions = &mut page.regions;
            let chosen = |region: &Arc<PageRegion>| ids.contains(&region.id);
            let mut changed = false;
            if later {
                for at in (1..regions.len()).rev() {
                    if chosen(&regions[at - 1]) && !chosen(&regions[at]) {
                        regions.swap(at - 1, at);
                        changed = true;
                    }
                }
            } else {
                for at in 1..regions.len() {
                    if chosen(&regions[at]) && !chosen(&regions[at - 1]) {
                        regions.swap(at - 1, at);
                        changed = true;
                    }
                }
            }
            changed
        });
    }

    /// Keeps a person's text for a region; the model's own text is no edit.
    pub(crate) fn edit_text(&mut self, id: RegionId, text: String) {
        self.write(Operation::Edit, |page| {
            page.alter(id, |region| {
                if region.text() == text {
                    return;
                }
                let model = region.read.as_ref().map(|read| read.text.as_str());
                region.edit = (model != Some(text.as_str())).then_some(text);
            })
        });
    }

    /// Keeps the text that is being typed, since what it belongs to is left; text that was not touched is none.
    pub(crate) fn finish_edit(&mut self) {
        let Some((id, text)) = self.view.editing.take() else { return };
        if text != self.view.edit_from {
            self.edit_text(id, text);
        }
    }

    /// Drops a person's text.
    pub(crate) fn revert_text(&mut self, id: RegionId) {
        if self.refuses_text(id) {
            return;
        }
        self.write(Operation::Revert, |page| page.alter(id, |region| region.edit = None));
    }

    /// Turns the page by hand. Regions turn with it; what was read stays. Whether it was allowed.
    pub(crate) fn rotate(&mut self, turn: Turn) -> bool {
        self.restructure(Operation::Rotate, None, |page| {
            if turn == Turn::None {
                return false;
            }
            page.turn = page.turn.then(turn);
            if let Some(size) = page.size {
                for region in &mut page.regions {
                    let region = Arc::make_mut(region);
                    region.region.bounds = turned(region.region.bounds, size, turn);
                    forget_findings(&mut region.region);
                }
                page.size = Some(match turn {
                    Turn::Right | Turn::Left => [size[1], size[0]],
                    Turn::None | Turn::Half => size,
                });
            }
            true
        })
    }

    /// Puts what was detected on a drawing in the place of the page's regions.
    pub(crate) fn replace_regions(&mut self, key: PageKey, drawn: &Drawn, regions: Vec<Region>, merge: Option<u64>) {
        if self.view.page == Some(key) {
            self.finish_edit(); // undo brings it back with its region
        }
        let regions: Vec<_> = regions
            .into_iter()
            .map(|region| Arc::new(PageRegion { id: self.project.new_region(), region, read: None, edit: None }))
            .collect();
        self.learn(key, drawn);
        self.change_page(key, Operation::Detect, merge, |page| {
            page.regions = regions;
            page.detected = true;
            // The page may have been drawn in another way since; the boxes count these pixels.
            drawn.note(page);
            true
        });
    }

    /// Learns what a page looks like.
    pub(crate) fn learn(&mut self, key: PageKey, drawn: &Drawn) {
        self.history.amend(&mut self.project, key, |page| {
            if drawn.drawing.is_of(page) {
                drawn.note(page);
            }
        });
    }
}

/// Forgets what was found inside a box that has changed.
fn forget_findings(region: &mut Region) {
    region.lines.clear();
    region.cells.clear();
    region.polygon.clear();
    region.score = None;
}

/// Where a new box belongs: before the first box that begins below its middle in the same column, or at the end.
fn reading_place(page: &Page, bounds: Rect) -> usize {
    let middle = bounds.y0 / 2 + bounds.y1 / 2;
    let same_column = |other: Rect| other.x0 < bounds.x1 && bounds.x0 < other.x1;
    let body = |region: &Arc<PageRegion>| region.region.label.role() != Role::Furniture;
    page.regions
        .iter()
        .position(|region| body(region) && same_column(region.bounds()) && region.bounds().y0 >= middle)
        .unwrap_or_else(|| {
            let last = page.regions.iter().rposition(|region| body(region) && same_column(region.bounds()));
            last.map_or(page.regions.len(), |last| last + 1)
        })
}

/// A box on a page of the given size, after the page was turned.
fn turned(bounds: Rect, [width, height]: [u32; 2], turn: Turn) -> Rect {
    let Rect { x0, y0, x1, y1 } = bounds.clamped(width, height);
    // A box that lies outside is empty after clamping, but still where it was.
    let (x0, x1, y0, y1) = (x0.min(width), x1.min(width), y0.min(height), y1.min(height));
    match turn {
        Turn::None => Rect { x0, y0, x1, y1 },
        Turn::Right => Rect { x0: height - y1, y0: x0, x1: height - y0, y1: x1 },
        Turn::Half => Rect { x0: width - x1, y0: height - y1, x1: width - x0, y1: height - y0 },
        Turn::Left => Rect { x0: y0, y0: width - x1, x1: y1, y1: width - x0 },
    }
}

#[cfg(test)]
#[path = "edits_tests.rs"]
mod tests;
