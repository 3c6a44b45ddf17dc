//! A person's path, from the welcome page to the exported Markdown, with the real engine and the bundled checkpoint.

use std::fs;

use eframe::egui::{Key, Modifiers, vec2};

use super::support::{Begin, Person, root, sample_pdf};

/// How many cards say this of their region.
fn states(person: &Person, state: &str) -> usize {
    person.names().iter().filter(|name| name.starts_with("Region ") && name.ends_with(state)).count()
}

#[test]
fn from_a_pdf_to_markdown() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("note.md");
    let answers = vec![sample_pdf(), target.clone()];
    let mut person = Person::begins(Begin { answers, ..Begin::default() });

    // Open.
    person.click("Open files…");
    person.wait_for("Page 1");
    person.wait("the page's size", |person| person.sees("1700 × 2200 px"));

    // Detect.
    person.click("Detect");
    person.wait_for("Region 2: Title");
    assert!(person.sees("Region 7: Figure"), "{:?}", person.names());

    // Change one region's type: the sentence before the list becomes a heading.
    let before = person.name_of("Type of region 12").unwrap();
    person.click(&before);
    person.click("Heading");
    person.wait_for("Type of region 12: Heading");
    person.press(Modifiers::COMMAND, Key::Z);
    person.wait_for(&before);
    person.press(Modifiers::COMMAND, Key::Y);
    person.wait_for("Type of region 12: Heading");

    // Draw another, around the running head: it becomes a region of text at the top.
    let head = person.name_of("Region 1: Header,").unwrap();
    let head = person.control(&head).rect();
    person.drag(head.left_top() - vec2(12.0, 8.0), head.right_bottom() + vec2(12.0, 4.0), Modifiers::NONE);
    person.wait_for("Recognize 1 region");
    person.press(Modifiers::NONE, Key::Escape);
    person.wait_for("Recognize page");
    assert!(person.sees("Page 1, 21 regions"), "{:?}", person.name_of("Page 1"));

    // Recognize, watch, cancel: what is finished stays.
    person.click("Recognize page");
    person.wait("a region being read", |person| states(person, "reading") > 0);
    person.wait("two finished regions", |person| states(person, "done") >= 2);
    person.click("Cancel");
    person.wait_for("Recognize page");
    let kept = states(&person, "done");
    assert!((2..20).contains(&kept), "{kept} regions were kept");
    person.wait_for("kept"); // the cancel is told

    // Go on: with the rest, and the second page.
    person.choose("Recognize", "Recognize document");
    person.wait_for("Page 2, reading");
    person.wait_for("Page 1, done");
    person.wait_for("Page 2, done");
    person.wait_for("Recognize page");

    // Play a region again and scrub.
    person.click("Previous page");
    person.wait("the first page", |person| person.sees("Region 3:"));
    let third = person.name_of("Region 4: Text").unwrap();
    person.click(&third);
    person.press(Modifiers::NONE, Key::F9);
    person.click("Play rounds");
    person.wait_for("Replay position");
    person.click("Pause");
    person.control("Replay position").set_value_accesskit(5.0);
    person.settle();
    let round = person.names().into_iter().find(|name| name.starts_with("Round ") && name.contains(" of ")).unwrap();
    // Five steps: the prompt's forward, and two drafts with their rounds.
    assert!(round.starts_with("Round 3 of "), "{round}");

    // Edit a word.
    person.click("Edit region 4");
    person.wait_for("Text of region 4");
    let text = person.control("Text of region 4").value().unwrap();
    assert!(text.starts_with("Hold a stone in one hand"), "{text}");
    person.press(Modifiers::COMMAND, Key::A);
    person.types(&text.replace("Hold a stone", "Hold a pebble"));
    person.press(Modifiers::COMMAND, Key::Enter);
    person.wait("the edit", |person| person.sees("edited"));

    // Copy.
    person.control("Copy region 4").click();
    let mut copied = None;
    for _ in 0..10 {
        person.frame();
        copied = copied.or_else(|| person.copied());
    }
    assert!(copied.unwrap_or_default().starts_with("Hold a pebble in one hand"));

    // Export.
    person.press(Modifiers::COMMAND, Key::E);
    person.wait_for("Markdown");
    person.click("Choose file…");
    person.click("Export");
    person.wait_for("Exported to");
    let expected = fs::read_to_string(root().join("assets/samples/gravity-sample.md")).unwrap();
    let heading = "From this came three rules that hold to this day:";
    let expected = expected.replacen("Hold a stone", "Hold a pebble", 1).replacen(heading, &format!("## {heading}"), 1);
    // The command writes no figures to standard output; the window writes them beside the document.
    let caption = expected.lines().find_map(|line| line.strip_prefix("*Figure 1.")?.strip_suffix('*')).unwrap();
    let figure = format!("![Figure 1.{caption}](note-images/page-0001-region-08.png)");
    let expected = expected.replacen("<!-- figure on page 1 -->", &figure, 1);
    assert_eq!(fs::read_to_string(&target).unwrap(), format!("A short note on gravity\n\n{expected}"));
    let figure = image::open(folder.path().join("note-images/page-0001-region-08.png")).unwrap();
    assert!(figure.width() > 500 && figure.height() > 300, "{} x {}", figure.width(), figure.height());
}
