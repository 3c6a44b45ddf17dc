//! What the settings offer, and what becomes of it.

use std::sync::{Arc, Mutex};

use eframe::egui::{Key, Modifiers};
use engine::device::{Choice, Device};
use engine::precision::WeightFormat;

use super::scene::{scan, script};
use super::support::{Begin, Person, recorded, root};

/// The processor, a large card, one with 64 MB, and one that cannot be used.
fn devices() -> Vec<Choice> {
    let card = |number, name: &str, memory, reason: Option<&str>| Choice {
        device: Device::Cuda(number),
        name: name.to_owned(),
        memory: Some(memory),
        capability: Some((9, 0)),
        reason: reason.map(str::to_owned),
    };
    let processor =
        Choice { device: Device::Cpu, name: "avx2".to_owned(), memory: None, capability: None, reason: None };
    vec![
        processor,
        card(0, "NVIDIA H200", 150_754_820_096, None),
        card(1, "Toy", 64_000_000, None),
        card(2, "Old", 16_000_000_000, Some("Old has compute capability 7.5, and 8.0 is needed")),
    ]
}

fn open_settings(person: &mut Person) {
    person.press(Modifiers::COMMAND, Key::Comma);
    person.wait_for("Computes on");
    person.settle();
}

/// The entry of a device, opened list.
fn entry(person: &Person, device: &str) -> String {
    person.name_of(&format!("{device}: ")).unwrap()
}

#[test]
fn what_a_checkpoint_takes_of_a_card_is_told_before_it_is_loaded() {
    // Only the sizes of a model, nothing that could be loaded.
    let real_size = root().join("tests/fixtures/real_size");
    let (sender, listed) = std::sync::mpsc::sync_channel(1);
    let mut person = Person::begins(Begin {
        backend: Arc::new(|_| Err("nothing is loaded here".to_owned())),
        devices: Arc::new(move || {
            sender.send(()).unwrap();
            devices()
        }),
        answers: vec![real_size, std::env::temp_dir()],
        ..Begin::default()
    });
    open_settings(&mut person);
    // They are looked for on a thread; the list is opened when they are there.
    listed.recv().unwrap();
    person.settle();
    person.click("Computes on");
    person.wait_for("cuda:0: ");
    let large = entry(&person, "cuda:0");
    assert!(large.starts_with("cuda:0: NVIDIA H200, 151 GB\ngravity-nano takes "), "{large}");
    assert!(large.ends_with(" and reads 8 requests side by side"), "{large}");
    let toy = entry(&person, "cuda:1");
    assert!(toy.contains("\ngravity-nano does not fit: it takes "), "{toy}");
    assert_eq!(entry(&person, "cuda:2"), "cuda:2: Old has compute capability 7.5, and 8.0 is needed");
    assert_eq!(entry(&person, "cpu"), "cpu: avx2");

    // It goes on standing there for the card that was chosen.
    person.click(&large);
    person.wait_for("gravity-nano takes ");
    person.click("Computes on");
    person.click(&toy);
    person.wait_for("gravity-nano does not fit: it takes ");

    // 0.9 billion weights of two bytes each and their caches are some gigabytes.
    person.click("A folder");
    person.click("Choose…");
    person.wait_for("real_size does not fit: it takes ");
    let takes = person.name_of("real_size does not fit: it takes ").unwrap();
    assert!(takes.ends_with(" GB"), "{takes}");
    person.click("Choose…");
    person.wait("nothing about a folder without a model", |person| !person.sees("does not fit"));
    assert!(!person.sees(" takes "), "{:?}", person.names());
}

/// In the smallest window everything can be reached, and the way out is in sight.
#[test]
fn the_settings_fit_the_smallest_window() {
    let size = eframe::egui::vec2(640.0, 420.0);
    let mut person = Person::begins(Begin { size, devices: Arc::new(devices), ..Begin::default() });
    open_settings(&mut person);
    person.settle();
    let inside = |rect: eframe::egui::Rect| rect.top() >= 0.0 && rect.bottom() <= size.y;
    assert!(inside(person.control("Close").rect()));
    // The last row is below the edge until one scrolls to it.
    let last = "Keep headers and footers";
    assert!(!inside(person.control(last).rect()));
    person.control(last).scroll_to_me();
    person.settle();
    assert!(inside(person.control(last).rect()) && inside(person.control("Close").rect()));
}

#[test]
fn how_weights_are_kept_is_chosen_and_saved() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (seen, read) = (Arc::clone(&asked), recorded(script()));
    let mut person = Person::begins(Begin {
        files: vec![scan()],
        backend: Arc::new(move |options| {
            seen.lock().unwrap().push(options.weights);
            read(options)
        }),
        ..Begin::default()
    });
    person.wait_for("1700 × 2200 px");
    person.click("Recognize page");
    person.wait("an engine", |_| asked.lock().unwrap().len() == 1);

    open_settings(&mut person);
    assert!(person.sees("A card always computes in bf16."));
    person.click("Weights");
    person.click("8-bit integers: smaller and faster");
    person.click("Close");
    // The engine has other weights: another one is started for what is read next.
    person.wait_for("loads when needed");
    person.wait("saved", |person| person.kept("settings.json").contains(r#""weights":"int8""#));
    person.click("Recognize page");
    person.wait("another engine", |_| asked.lock().unwrap().len() == 2);
    assert_eq!(*asked.lock().unwrap(), [WeightFormat::Auto, WeightFormat::Int8]);
}
