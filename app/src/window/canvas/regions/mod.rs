//! The boxes of regions: selecting, drawing, moving and resizing them.

mod cue;
mod drag;
mod hit;
mod keys;
mod menu;
mod paint;
mod shape;
mod tag;
#[cfg(test)]
pub(super) mod tests;

use std::collections::BTreeSet;

use eframe::egui::{
    Context, CursorIcon, Id, Key, Modifiers, PointerButton, Popup, Pos2, Rect, Response, Sense, SetOpenCommand, Ui,
    WidgetInfo, accesskit::Role as NodeRole,
};
use engine::region::Rect as Bounds;

use self::cue::Cue;
use self::drag::{Drag, Grip};
use self::keys::Nudging;
use self::paint::Look;
use super::placement::Placement;
use crate::window::action::{Action, Actions};
use crate::window::state::{State, Tool};
use crate::window::strings;
use crate::window::workspace::project::{Page, PageKey, RegionId};

/// Clicks within this distance are at the same place, points.
const SAME_PLACE: f32 = 4.0;

/// A tag may reach this far over another box, points.
const TOUCH: f32 = 3.0;
/// More selected boxes than this are moved together but not resized: their handles would hide what they are on.
const RESIZABLE: usize = 8;

/// What lasts from frame to frame.
#[derive(Clone, Debug, Default)]
struct Scratch {
    /// The page that all of this is about.
    page: Option<PageKey>,
    drag: Option<Drag>,
    /// Where the last click selected, to go round the boxes there.
    clicked: Option<Pos2>,
    nudging: Option<Nudging>,
    /// The region that was lit from here.
    lit: Option<RegionId>,
    /// Where the menu is that a key opened.
    menu: Option<Keyed>,
}

/// A menu that a key opened.
#[derive(Clone, Copy, Debug)]
struct Keyed {
    at: Pos2,
    /// Whether one of its entries has the focus.
    has_focus: bool,
}

/// One frame of the canvas.
struct Frame<'a> {
    placement: Placement,
    state: &'a State,
    page: &'a Page,
    /// Width and height of the page, pixels.
    size: [u32; 2],
    /// Every region's box in reading order.
    boxes: Vec<(RegionId, Bounds)>,
    scratch: Scratch,
}

/// Draws the boxes and turns what the pointer and the keys do on the canvas into actions. `canvas` senses clicks and
/// drags of the whole canvas; one that senses neither says that the pointer moves the page.
pub(super) fn show(ui: &mut Ui, canvas: &Response, placement: Placement, state: &State, actions: &mut Actions) {
    let Some(page) = state.page() else { return };
    let Some(size) = page.size else { return };
    let scratch = scratch(ui).filter(|scratch| scratch.page == state.view.page);
    let mut frame = Frame {
        placement,
        state,
        page,
        size,
        boxes: page.regions.iter().map(|region| (region.id, region.bounds())).collect(),
        scratch: scratch.unwrap_or(Scratch { page: state.view.page, ..Scratch::default() }),
    };
    let response = frame.nodes(ui, canvas, actions);
    if canvas.sense.senses_drag() {
        frame.drag(ui, canvas, actions);
        frame.click(ui, &response, actions);
        frame.hover(ui, canvas, actions);
    } else {
        frame.scratch.drag = None;
    }
    frame.keys(ui, actions);
    frame.paint(ui, canvas);
    frame.menu(ui, &response, actions);
    ui.data_mut(|data| data.insert_temp(scratch_id(), frame.scratch));
}

/// Whether something is dragged on the canvas: Escape then abandons the drag, and means nothing else.
pub(crate) fn is_dragging(context: &Context) -> bool {
    scratch(context).is_some_and(|scratch| scratch.drag.is_some())
}

fn scratch(context: &Context) -> Option<Scratch> {
    context.data(|data| data.get_temp(scratch_id()))
}

fn scratch_id() -> Id {
    Id::unique("regions on the canvas")
}

impl Frame<'_> {
    fn selected(&self, id: RegionId) -> bool {
        self.state.view.selection.contains(&id)
    }

    /// Whether a box shows its handles.
    fn resizable(&self, id: RegionId) -> bool {
        self.selected(id) && self.state.view.selection.len() <= RESIZABLE
    }

    fn grip(&self, pointer: Pos2) -> Grip {
        drag::grip(&self.boxes, |id| self.selected(id), |id| self.resizable(id), self.placement, pointer)
    }

    /// Makes each box known to screen readers. A click on one of them is a click on the canvas, wherever it was.
    fn nodes(&self, ui: &Ui, canvas: &Response, actions: &mut Actions) -> Response {
        let mut all = canvas.clone();
        for (at, region) in self.page.regions.iter().enumerate() {
            let on_screen = self.placement.rect(region.bounds()).intersect(self.placement.canvas);
            if !on_screen.is_positive() {
                continue;
            }
            let node = ui.interact(on_screen, Id::unique(("region on the canvas", region.id)), Sense::CLICK);
            node.widget_info(|| {
                let cue = Cue::of(self.state, region).word();
                let name = strings::regions::name(at + 1, strings::label(region.region.label), cue);
                WidgetInfo::selected(NodeRole::ListBoxOption, true, self.selected(region.id), name)
            });
            if node.clicked() && !node.clicked_by(PointerButton::Primary) {
                // Asked for by a screen reader: there is no pointer that says where.
                actions.ask(Action::Select(vec![region.id]));
            }
            all = all.union(node);
        }
        all
    }

    fn drag(&mut self, ui: &Ui, canvas: &Response, actions: &mut Actions) {
        if canvas.drag_started_by(PointerButton::Primary) && !ui.input(|input| input.key_down(Key::Space)) {
            self.begin(ui, actions);
        }
        let Some(drag) = self.scratch.drag.clone() else { return };
        if canvas.dragged_by(PointerButton::Primary) {
            return;
        }
        // egui ends a drag on Escape by itself; then the button is still down and nothing happens to the page.
        self.scratch.drag = None;
        let let_go = canvas.drag_stopped() && !ui.input(|input| input.pointer.primary_down());
        if let (true, Some(pointer)) = (let_go, canvas.interact_pointer_pos().or(ui.input(|i| i.pointer.latest_pos())))
        {
            self.finish(&drag, pointer, actions);
        }
    }

    fn begin(&mut self, ui: &Ui, actions: &mut Actions) {
        let (from, modifiers) = ui.input(|input| (input.pointer.press_origin(), input.modifiers));
        let Some(from) = from else { return };
        let selected = |id| self.state.view.selection.contains(&id);
        let (grip, tool) = (self.grip(from), self.state.view.tool);
        let drag = Drag::begin(grip, &self.boxes, selected, tool, modifiers, self.placement.to_page(from));
        if let Drag::Move { boxes, .. } = &drag
            && let [(id, _)] = boxes[..]
            && !selected(id)
        {
            actions.ask(Action::Select(vec![id]));
        }
        self.scratch.drag = Some(drag);
        self.scratch.clicked = None;
    }

    fn finish(&self, drag: &Drag, pointer: Pos2, actions: &mut Actions) {
        let to = self.placement.to_page(pointer);
        if let Some(bounds) = drag.drawn(to, self.size) {
            actions.ask(Action::Draw(bounds));
        }
        let there = |(id, bounds): &(RegionId, Bounds)| self.page.region(*id).is_some_and(|r| r.bounds() != *bounds);
        let boxes: Vec<_> = drag.boxes(to, self.size).into_iter().filter(there).collect();
        if !boxes.is_empty() {
            let merge = Id::unique(("drag", self.state.history.revision())).value();
            actions.ask(Action::Reshape { boxes, merge });
        }
        if let Drag::Band { .. } = drag {
            actions.ask(Action::Select(self.banded(drag, pointer).into_iter().collect()));
        }
    }

    /// What is selected with a rubber band as it stands.
    fn banded(&self, drag: &Drag, pointer: Pos2) -> BTreeSet<RegionId> {
        let Some(band) = drag.band(pointer, self.placement) else { return BTreeSet::new() };
        let touched = hit::boxes_in(self.boxes.iter().copied(), self.placement, band);
        let keep = matches!(drag, Drag::Band { keep: true, .. });
        self.state.view.selection.iter().copied().filter(|_| keep).chain(touched).collect()
    }

    fn click(&mut self, ui: &Ui, response: &Response, actions: &mut Actions) {
        let Some(pointer) = response.interact_pointer_pos() else { return };
        let found = hit::boxes_at(self.boxes.iter().copied(), self.placement, pointer);
        let view = &self.state.view;
        if response.secondary_clicked() {
            match found.first() {
                _ if found.iter().any(|id| self.selected(*id)) => {}
                Some(id) => actions.ask(Action::Select(vec![*id])),
                None => actions.ask(Action::Select(Vec::new())),
            }
        }
        if !response.clicked_by(PointerButton::Primary) || response.triple_clicked() {
            return;
        }
        if response.double_clicked() {
            // The first click selected; the second must not go on to another box.
            let focused = view.focus.filter(|focus| found.contains(focus)).and_then(|id| self.page.region(id));
            if let Some(region) = focused.filter(|region| region.read.is_some() || region.edit.is_some()) {
                actions.ask(Action::Edit(region.id));
            }
            return;
        }
        let modifiers = ui.input(|input| input.modifiers);
        if modifiers.command || modifiers.shift {
            if let Some(id) = found.first() {
                actions.ask(Action::ToggleSelect(*id));
            }
            return;
        }
        let on_handle = matches!(self.grip(pointer), Grip::Handle(..));
        if found.is_empty() && on_handle {
            return;
        }
        let again = self.scratch.clicked.is_some_and(|before| before.distance(pointer) <= SAME_PLACE);
        let one = view.selection.first().copied().filter(|_| again && view.selection.len() == 1);
        let next = hit::next_of(&found, one);
        self.scratch.clicked = next.map(|_| pointer);
        if next.is_some() || !view.selection.is_empty() {
            actions.ask(Action::Select(next.into_iter().collect()));
        }
    }

    /// Lights the region under the pointer, and says by the pointer's shape what a drag would do.
    fn hover(&mut self, ui: &Ui, canvas: &Response, actions: &mut Actions) {
        let pointer = ui.input(|input| input.pointer.hover_pos()).filter(|_| canvas.contains_pointer());
        let cursor = match (&self.scratch.drag, pointer) {
            (Some(Drag::Move { .. }), _) => Some(CursorIcon::Grabbing),
            (Some(Drag::Resize { handle, .. }), _) => Some(handle.cursor()),
            (Some(Drag::Draw { .. }), _) => Some(CursorIcon::Crosshair),
            (Some(Drag::Band { .. }), _) | (None, None) => None,
            (None, Some(pointer)) => self.cursor(ui, pointer),
        };
        if let Some(cursor) = cursor {
            ui.set_cursor_icon(cursor);
        }
        if self.scratch.drag.is_some() {
            return;
        }
        let under = pointer.and_then(|pointer| {
            let found = hit::boxes_at(self.boxes.iter().copied(), self.placement, pointer);
            // The selected one stays lit where several lie over each other.
            found.iter().find(|id| self.selected(**id)).or(found.first()).copied()
        });
        let was = self.state.view.hover;
        let left = under.is_none() && was.is_some() && self.scratch.lit == was;
        if (pointer.is_some() && under != was) || left {
            actions.ask(Action::Hover(under));
        }
        self.scratch.lit = under;
    }

    fn cursor(&self, ui: &Ui, pointer: Pos2) -> Option<CursorIcon> {
        let modifiers = ui.input(|input| input.modifiers);
        let grip = self.grip(pointer);
        if modifiers.alt || grip == Grip::Outside {
            return None;
        }
        if self.state.view.tool == Tool::Draw || modifiers.command {
            return Some(CursorIcon::Crosshair);
        }
        match grip {
            Grip::Handle(_, _, handle) => Some(handle.cursor()),
            Grip::Box(id) if self.selected(id) => Some(CursorIcon::Move),
            Grip::Box(_) => Some(CursorIcon::PointingHand),
            Grip::Paper => Some(CursorIcon::Crosshair),
            Grip::Outside => None,
        }
    }

    /// Whether keys mean something else than a change here.
    fn is_busy(&self, ui: &Ui) -> bool {
        let elsewhere = ui.egui_wants_keyboard_input() || Popup::is_any_open(ui) || self.state.modal.is_some();
        elsewhere || self.scratch.drag.is_some()
    }

    /// The menu of a right click, of the menu key and of Shift+F10. Opened by a key it lies at the region and has the
    /// focus.
    fn menu(&mut self, ui: &Ui, response: &Response, actions: &mut Actions) {
        let asked = |ui: &Ui| {
            ui.input_mut(|input| {
                input.consume_key(Modifiers::NONE, Key::Menu) || input.consume_key(Modifiers::SHIFT, Key::F10)
            })
        };
        let mut popup = Popup::context_menu(response);
        if response.secondary_clicked() {
            self.scratch.menu = None;
        } else if !self.is_busy(ui) && asked(ui) {
            let canvas = self.placement.canvas;
            let focused = self.state.focused().map(|region| self.placement.rect(region.bounds()).intersect(canvas));
            let at = focused.filter(|seen| seen.is_positive()).map_or(canvas.center(), |seen| seen.left_top());
            self.scratch.menu = Some(Keyed { at, has_focus: false });
            popup = popup.open_memory(Some(SetOpenCommand::Bool(true)));
        }
        if let Some(keyed) = self.scratch.menu {
            popup = popup.at_position(keyed.at);
        }
        let keyed = &mut self.scratch.menu;
        let wants_focus = keyed.is_some_and(|keyed| !keyed.has_focus);
        let shown = popup.show(|ui| menu::show(ui, self.state, wants_focus, actions));
        match (shown, keyed) {
            (Some(shown), Some(keyed)) => keyed.has_focus |= shown.inner,
            (None, keyed) => *keyed = None,
            (Some(_), None) => {}
        }
    }

    fn keys(&mut self, ui: &Ui, actions: &mut Actions) {
        if self.is_busy(ui) {
            return;
        }
        let boxes: Vec<_> = self.boxes.iter().copied().filter(|(id, _)| self.selected(*id)).collect();
        if let Some((boxes, merge)) = keys::nudged(ui, boxes, self.size, &mut self.scratch.nudging) {
            actions.ask(Action::Reshape { boxes, merge });
        }
    }

    fn paint(&self, ui: &Ui, canvas: &Response) {
        let painter = ui.painter_at(self.placement.canvas);
        let pointer = canvas.interact_pointer_pos();
        let drag = self.scratch.drag.as_ref().zip(pointer);
        let to = pointer.map(|pointer| self.placement.to_page(pointer));
        let changed = drag.zip(to).map(|((drag, _), to)| drag.boxes(to, self.size)).unwrap_or_default();
        let banded = drag.map(|(drag, pointer)| self.banded(drag, pointer)).unwrap_or_default();
        let bounds = |id: RegionId, was: Bounds| changed.iter().find(|(c, _)| *c == id).map_or(was, |(_, now)| *now);
        let look = |id: RegionId| {
            let selected = self.selected(id) || banded.contains(&id);
            let handles = self.resizable(id) && self.state.view.tool == Tool::Select;
            Look { hovered: self.state.view.hover == Some(id), selected, handles }
        };
        // Strong ones over the others, and all tags over all boxes.
        let mut order: Vec<_> = self.page.regions.iter().enumerate().collect();
        order.sort_by_key(|(_, region)| (look(region.id).selected, look(region.id).hovered));
        let shown = |id, was| self.placement.rect(bounds(id, was));
        for (_, region) in &order {
            let on_screen = shown(region.id, region.bounds());
            if on_screen.expand(8.0).intersects(self.placement.canvas) {
                paint::outline(&painter, on_screen, region.region.label.role(), look(region.id));
            }
        }
        let boxes: Vec<_> = order.iter().map(|(_, region)| (region.id, shown(region.id, region.bounds()))).collect();
        for (at, region) in &order {
            let on_screen = shown(region.id, region.bounds());
            if on_screen.intersects(self.placement.canvas) {
                let cue = Cue::of(self.state, region);
                let others = boxes.iter().filter(|(id, _)| *id != region.id).map(|(_, other)| other.shrink(TOUCH));
                let free = |place: Rect| !others.clone().any(|other| other.intersects(place));
                tag::draw(ui, &painter, on_screen, (at + 1, region, cue), look(region.id), free);
            }
        }
        let Some(((drag, pointer), to)) = drag.zip(to) else { return };
        if let Some(bounds) = drag.drawn(to, self.size) {
            paint::drawing(ui, &painter, self.placement, bounds, pointer);
        }
        if let (Drag::Resize { .. }, [(_, bounds)]) = (drag, &changed[..]) {
            paint::note(ui, &painter, pointer, strings::regions::size(bounds.width(), bounds.height()));
        }
        if let Some(band) = drag.band(pointer, self.placement) {
            paint::band(&painter, band);
        }
    }
}
