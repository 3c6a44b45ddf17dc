//! Which command a key asks for.

use eframe::egui::{Event, FocusDirection, Key, KeyboardShortcut, Modifiers, Popup, Ui};

use crate::window::canvas;
use crate::window::command::Command;
use crate::window::state::State;

/// The keys of a command, as menus show them.
pub(crate) fn shortcut_text(ui: &Ui, command: Command) -> Option<String> {
    command.shortcuts().first().map(|keys| ui.ctx().format_shortcut(keys))
}

/// The commands whose keys were pressed, taken from the input.
///
/// While a text is being typed, keys that make or move text belong to it; while something lies over the window, only Esc
/// is heard.
pub(crate) fn asked_by_keys(ui: &Ui, state: &State) -> Vec<Command> {
    // This is asked every frame, and most frames bring no key.
    if !ui.input(|input| input.events.iter().any(|event| matches!(event, Event::Key { pressed: true, .. }))) {
        return Vec::new();
    }
    let typing = ui.ctx().text_edit_focused();
    // A control that was reached by Tab takes Space, Enter and arrows, and Tab goes on from it.
    let focused = ui.ctx().memory(|memory| memory.focused().is_some());
    let mut asked = Vec::new();
    // Longer combinations first: Ctrl+Shift+Z is no Ctrl+Z.
    let mut keys: Vec<(KeyboardShortcut, Command)> =
        Command::ALL.iter().flat_map(|command| command.shortcuts().iter().map(move |keys| (*keys, *command))).collect();
    keys.retain(|(_, command)| !command.is_clipboard_event());
    keys.sort_by_key(|(keys, _)| std::cmp::Reverse(weight(keys.modifiers)));
    for (keys, command) in keys {
        let plain = !keys.modifiers.command && !is_function_key(keys.logical_key);
        let heard = match command {
            // A drag and an open menu are left first, by themselves.
            Command::Cancel if canvas::is_dragging(ui.ctx()) || Popup::is_any_open(ui.ctx()) => false,
            Command::Cancel => !focused || state.modal.is_some() || state.view.editing.is_some(),
            _ if state.modal.is_some() => false,
            _ if typing => !plain && !edits_text(keys),
            // After the last region Tab goes on to the controls.
            Command::NextRegion if state.is_at_last_region(true) => false,
            Command::PreviousRegion if state.is_at_last_region(false) => false,
            _ if focused => !(plain && matches!(keys.logical_key, Key::Space | Key::Tab | Key::Enter)),
            _ => true,
        };
        let answers = || command.enabled(state) || command.refusal(state).is_some();
        if heard && answers() && ui.input_mut(|input| input.consume_shortcut(&keys)) {
            asked.push(command);
            if keys.logical_key == Key::Tab {
                // Tab went to a region; no control takes the focus as well.
                ui.memory_mut(|memory| memory.move_focus(FocusDirection::None));
            }
        }
    }
    asked
}

fn weight(modifiers: Modifiers) -> u32 {
    [modifiers.command, modifiers.ctrl, modifiers.shift, modifiers.alt].into_iter().map(u32::from).sum()
}

fn is_function_key(key: Key) -> bool {
    use Key::*;
    matches!(key, F1 | F2 | F7 | F8 | F9)
}

/// Combinations that mean something inside a text field.
fn edits_text(keys: KeyboardShortcut) -> bool {
    use Key::*;
    matches!(keys.logical_key, A | C | V | X | Y | Z | Home | End | ArrowLeft | ArrowRight | ArrowUp | ArrowDown)
        || (keys.logical_key == Enter && !keys.modifiers.shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_commands_share_their_keys() {
        let mut seen = std::collections::HashMap::new();
        for &command in Command::ALL {
            for keys in command.shortcuts() {
                assert_eq!(seen.insert((keys.modifiers, keys.logical_key), command), None, "{command:?}");
            }
        }
        assert!(seen.len() > 30);
    }
}
