//! What the window looks like, light and dark. `UPDATE_SNAPSHOTS=1` takes new pictures.

use std::sync::Arc;

use eframe::egui::{Key, Modifiers, Rect, Theme, pos2};
use egui_kittest::{SnapshotOptions, SnapshotResults};

use super::scene::{mid_decode, scan, script};
use super::support::{Begin, Person, Script, recorded};

const SIZE: [f32; 2] = [1200.0, 760.0];

/// Takes the picture in both themes.
fn both(name: &str, begin: impl Fn() -> Begin, prepare: impl Fn(&mut Person)) {
    let mut results = SnapshotResults::new();
    for (theme, suffix) in [(Theme::Light, "light"), (Theme::Dark, "dark")] {
        let mut person = Person::begins(Begin { theme, rendered: true, size: SIZE.into(), ..begin() });
        person.settle();
        prepare(&mut person);
        // Tiles of the page come in over a few frames; the pointer leaves no mark.
        person.window.remove_cursor();
        for _ in 0..6 {
            person.window.run_steps(3);
            let _ = person.window.render();
        }
        // Speed and time left are of this machine.
        if person.sees("Cancel") {
            person.window.mask(Rect::from_min_max(pos2(620.0, 30.0), pos2(1000.0, 58.0)));
        }
        // Drivers round a little differently.
        let options = SnapshotOptions::new().threshold(1.2).max_failed_pixels(400usize);
        results.add(person.window.try_snapshot_options(format!("{name}-{suffix}"), &options));
    }
}

fn with_scan(script: Script) -> Begin {
    Begin { files: vec![scan()], backend: recorded(script), ..Begin::default() }
}

/// Waits for the page and its small picture.
fn page_is_there(person: &mut Person) {
    person.wait_for("1700 × 2200 px");
    for _ in 0..40 {
        person.frame();
    }
}

/// The regions of the page are found, and one of them is selected.
fn a_region_is_selected(person: &mut Person) {
    page_is_there(person);
    person.click("Detect");
    person.wait_for("Region 20:");
    let region = person.name_of("Region 4: Text,").unwrap();
    person.click(&region);
}

/// Good news goes away by itself; here it goes at once.
fn dismiss(person: &mut Person) {
    while person.sees("Dismiss") {
        person.click("Dismiss");
    }
}

#[test]
fn welcome() {
    both("welcome", || Begin { backend: recorded(script()), ..Begin::default() }, |_| ());
}

#[test]
fn a_page_with_regions() {
    both(
        "regions",
        || with_scan(script()),
        |person| {
            a_region_is_selected(person);
        },
    );
}

#[test]
fn in_mid_decode() {
    both(
        "mid-decode",
        || {
            let script = script();
            script.open_to(mid_decode());
            with_scan(script)
        },
        |person| {
            page_is_there(person);
            person.click("Recognize page");
            person.wait_for("Region 3: Text, reading");
        },
    );
}

#[test]
fn a_finished_page_with_its_rounds() {
    both(
        "finished",
        || with_scan(script()),
        |person| {
            page_is_there(person);
            person.click("Recognize page");
            person.wait_for("Page 1, done");
            person.wait_for("Read 20 regions");
            dismiss(person);
            person.press(Modifiers::NONE, Key::F9);
            // The pane has followed the reading; back to its top first.
            for start in ["Region 1: Header,", "Region 4: Text,"] {
                let region = person.name_of(start).unwrap();
                person.click(&region);
                (0..20).for_each(|_| person.frame());
            }
            person.click("Play rounds");
            person.click("Pause");
            person.control("Replay position").set_value_accesskit(9.0);
            person.settle();
        },
    );
}

#[test]
fn a_race() {
    both(
        "race",
        || with_scan(script()),
        |person| {
            a_region_is_selected(person);
            person.choose("Recognize", "Race");
            person.wait_for("The same");
            // Played to its end.
            person.window.run_steps(600);
        },
    );
}

#[test]
fn an_error() {
    let broken = Arc::new(tempfile::tempdir().unwrap());
    let file = broken.path().join("minutes-1974.pdf");
    std::fs::write(&file, "%PDF-1.7\nnothing of what should follow").unwrap();
    both(
        "error",
        || Begin { files: vec![file.clone()], ..with_scan(script()) },
        |person| {
            person.wait_for("is damaged");
        },
    );
}

#[test]
fn the_settings() {
    both(
        "settings",
        || with_scan(script()),
        |person| {
            page_is_there(person);
            person.press(Modifiers::COMMAND, Key::Comma);
            person.wait_for("Resolution for PDF pages");
        },
    );
}
