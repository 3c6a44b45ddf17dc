//! Who may know whom in this folder, read from the sources: the workspace knows nothing that is drawn, nobody knows
//! anybody above, and there are no circles.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The modules of the window from the bottom up. A module may import from the lines above its own in this list.
const LAYERS: &[&[&str]] = &[
    &["workspace"],
    &["colours", "command", "pyramid"],
    &["strings"],
    &["devices", "highlight", "icon", "librarian", "record", "sheets"],
    &["state"],
    &["action"],
    &["dialogs", "round_text", "search"],
    &["hover_card", "round_marks"],
    &["canvas", "clipboard", "export", "rounds"],
    &["race", "reading"],
    &["shell"],
    &["app"],
    &["apply", "documents", "files", "recognize"],
];

/// The same within the workspace.
const WORKSPACE_LAYERS: &[&[&str]] = &[
    &["notice", "path_form", "log"],
    &["background_task", "chart", "detail", "settings"],
    &["project"],
    &["history", "live", "replay", "result", "run", "stored"],
    &["project_file", "race"],
    &["export", "state"],
    &["edits", "session"],
    &["run_events"],
];

/// What imports what, by module.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// The sources below a folder as pairs of a module's path and its text, without tests.
fn sources(folder: &Path, path: &[String], found: &mut Vec<(Vec<String>, String)>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        let is_test = name.contains("tests") || name.starts_with("testing");
        if entry.file_type().unwrap().is_dir() {
            if !is_test {
                sources(&entry.path(), &[path, &[name]].concat(), found);
            }
        } else if let Some(stem) = name.strip_suffix(".rs").filter(|_| !is_test) {
            let own = if stem == "mod" { path.to_vec() } else { [path, &[stem.to_owned()]].concat() };
            found.push((own, without_tests(&std::fs::read_to_string(entry.path()).unwrap())));
        }
    }
}

/// A source without comments, and without what follows the first module for tests.
fn without_tests(source: &str) -> String {
    let mut kept = String::new();
    let mut after_cfg = false;
    for line in source.lines() {
        let code = line.trim_start();
        if code.starts_with("//") {
            continue;
        }
        if after_cfg && !code.starts_with("#[") {
            if code.contains("mod ") && code.ends_with('{') {
                break;
            }
            after_cfg = false;
        }
        after_cfg |= code == "#[cfg(test)]";
        kept.push_str(code.split(" // ").next().unwrap_or_default());
        kept.push('\n');
    }
    kept
}

/// The names that stand at the beginning of a path or of a list of paths in braces, each with what follows it.
fn heads(rest: &str) -> Vec<(String, String)> {
    let split = |path: &str| {
        let path = path.trim();
        let end = path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
        (path[..end].to_owned(), path[end..].to_owned())
    };
    let Some(list) = rest.strip_prefix('{') else { return vec![split(rest)] };
    let (mut depth, mut begin, mut found) = (0, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' if depth == 0 => {
                found.push(split(&list[begin..at]));
                begin = at + 1;
            }
            '}' => {
                found.push(split(&list[begin..at]));
                break;
            }
            _ => {}
        }
    }
    found
}

/// Whether a module that is written within its file is open at the end of this part of a source.
fn is_in_inline_module(before: &str) -> bool {
    let opens = |line: &str| !line.starts_with(' ') && line.contains("mod ") && line.ends_with('{');
    before.lines().rev().find_map(|line| if line == "}" { Some(false) } else { opens(line).then_some(true) })
        == Some(true)
}

/// The paths below the window that a module's text names, as far as they matter: two segments.
fn paths(own: &[String], text: &str) -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    let mut add = |base: &[String], rest: &str| {
        for (head, rest) in heads(rest) {
            let second = rest.strip_prefix("::").map(|rest| heads(rest).into_iter().map(|(head, _)| head).collect());
            for second in second.unwrap_or_else(|| vec![String::new()]) {
                let path = [base, std::slice::from_ref(&head), &[second]].concat();
                found.insert(path.into_iter().take(2).filter(|segment| !segment.is_empty()).collect());
            }
        }
    };
    for (at, _) in text.match_indices("crate::window::") {
        add(&[], &text[at + "crate::window::".len()..]);
    }
    let is_path = |at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
    for (at, _) in text.match_indices("super::").filter(|(at, _)| is_path(*at)) {
        let rest = &text[at..];
        let ups = rest.split("::").take_while(|segment| *segment == "super").count();
        let depth = own.len() + usize::from(is_in_inline_module(&text[..at]));
        if let Some(base) = depth.checked_sub(ups).filter(|base| *base <= own.len()) {
            add(&own[..base], &rest["super::".len() * ups..]);
        }
    }
    found
}

fn sources_of_the_window() -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/window"), &[], &mut found);
    found.retain(|(own, _)| !own.is_empty());
    found
}

/// The imports among the modules of the window, and among those of the workspace.
fn imports(sources: &[(Vec<String>, String)]) -> (Imports, Imports) {
    let (mut window, mut workspace) = (Imports::new(), Imports::new());
    for (own, text) in sources {
        let top = window.entry(own[0].clone()).or_default();
        let within = (own[0] == "workspace").then(|| own.get(1).cloned()).flatten();
        let paths = paths(own, text);
        top.extend(paths.iter().map(|path| path[0].clone()).filter(|module| *module != own[0]));
        if let Some(module) = within {
            let known = workspace.entry(module.clone()).or_default();
            let siblings = paths.iter().filter(|path| path[0] == "workspace").filter_map(|path| path.get(1));
            known.extend(siblings.filter(|other| **other != module).cloned());
        }
    }
    let modules: BTreeSet<String> = window.keys().cloned().collect();
    window.values_mut().for_each(|known| known.retain(|module| modules.contains(module)));
    let modules: BTreeSet<String> = workspace.keys().cloned().collect();
    workspace.values_mut().for_each(|known| known.retain(|module| modules.contains(module)));
    (window, workspace)
}

/// What is wrong with imports, seen from these layers.
fn faults(imports: &Imports, layers: &[&[&str]]) -> Vec<String> {
    let layer = |module: &str| layers.iter().position(|layer| layer.contains(&module));
    let mut faults = Vec::new();
    for (module, known) in imports {
        let Some(own) = layer(module) else {
            faults.push(format!("{module} is in no layer"));
            continue;
        };
        // A layer knows those below it only, so that there can be no circle.
        let upward = known.iter().filter(|other| layer(other).is_none_or(|other| other >= own));
        faults.extend(upward.map(|other| format!("{module} imports {other}")));
    }
    faults
}

/// What of the drawing a source of the workspace names.
fn drawing(own: &[String], text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let mut found: Vec<String> =
        words.filter(|word| ["egui", "eframe", "strings"].contains(word)).map(str::to_owned).collect();
    let outside = paths(own, text).into_iter().filter(|path| path[0] != "workspace");
    found.extend(outside.map(|path| path.join("::")));
    found.iter().map(|name| format!("{} names {name}", own.join("::"))).collect()
}

#[test]
fn the_workspace_knows_nothing_that_is_drawn() {
    let sources = sources_of_the_window();
    let workspace: Vec<_> = sources.iter().filter(|(own, _)| own[0] == "workspace").collect();
    assert!(workspace.len() > 20, "the sources were found");
    let faults: Vec<_> = workspace.iter().flat_map(|(own, text)| drawing(own, text)).collect();
    assert_eq!(faults, [""; 0]);
}

#[test]
fn nobody_imports_from_above_or_in_a_circle() {
    let (window, workspace) = imports(&sources_of_the_window());
    assert_eq!(faults(&window, LAYERS), [""; 0]);
    assert_eq!(faults(&workspace, WORKSPACE_LAYERS), [""; 0]);
}

/// The sources with one import more.
fn with(module: &[&str], import: &str) -> Vec<(Vec<String>, String)> {
    let mut sources = sources_of_the_window();
    let source = sources.iter_mut().find(|(own, _)| own == module).unwrap_or_else(|| panic!("{module:?}"));
    source.1.push_str(import);
    sources
}

#[test]
fn an_import_that_is_not_allowed_is_found() {
    for (module, import, fault) in [
        (&["state"][..], "use super::canvas::Placement;", "state imports canvas"),
        (&["canvas", "gpu", "page"], "use crate::window::{colours, shell};", "canvas imports shell"),
        (&["canvas", "gpu", "page"], "use super::super::super::reading::{\nshow};", "canvas imports reading"),
        (&["dialogs"], "fn f(_: super::app::Window) {}", "dialogs imports app"),
    ] {
        assert_eq!(faults(&imports(&with(module, import)).0, LAYERS), [fault], "{import}");
    }
    for (module, import, fault) in [
        (&["workspace", "history"][..], "use super::state::Tone;", "history imports state"),
        (&["workspace", "session", "store"], "use super::super::run_events;", "session imports run_events"),
        (&["workspace", "log"], "use crate::window::workspace::{log, detail::Detail};", "log imports detail"),
    ] {
        assert_eq!(faults(&imports(&with(module, import)).1, WORKSPACE_LAYERS), [fault], "{import}");
    }
    for import in
        ["use eframe::epaint;", "use crate::window::strings;", "fn f(_: &egui::Ui) {}", "use super::super::canvas;"]
    {
        let sources = with(&["workspace", "run"], import);
        let all = sources.iter().filter(|(own, _)| own[0] == "workspace");
        assert!(all.flat_map(|(own, text)| drawing(own, text)).next().is_some(), "{import}");
    }
}
