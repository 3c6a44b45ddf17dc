//! Any document can be written, and none takes long.

use proptest::prelude::*;

use super::export_tests::{document, ended, page, region};
use super::{ExportOptions, PageOutcome, from_json, html, json, markdown, text};
use crate::decode::{Committed, FillStep, Origin, Round};
use crate::page::{PageResult, Reading, RegionResult, Status, Timings};
use crate::region::{Label, ListItem, Marker, Rect, Task};

#[test]
fn large_hostile_texts_take_a_moment_only() {
    for unit in [
        "<",
        "$",
        "$a ",
        "`",
        "```\n",
        "```\nx\n```\n\n",
        "*",
        "_ ",
        "[",
        "](",
        "&",
        "- x\n\n",
        "1. x\n\n",
        "#",
        "\n",
        "$$x$$\n\n",
        "\\",
    ] {
        let started = std::time::Instant::now();
        let document = document(vec![page(0, vec![region(Label::Text, &unit.repeat(300_000 / unit.len()))])]);
        markdown(&document, &ExportOptions::default());
        html(&document, &ExportOptions::default());
        assert!(started.elapsed().as_secs() < 10, "{unit}: {:?}", started.elapsed());
    }
}

/// Whether every tag of some HTML is closed in order.
fn is_balanced(html: &str) -> bool {
    let mut open = Vec::new();
    for part in html.split('<').skip(1) {
        let name: String = part.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        match part.strip_prefix('/') {
            Some(_) if open.pop() != Some(name.clone()) => return false,
            None if !matches!(name.as_str(), "" | "meta" | "br" | "img" | "DOCTYPE") => open.push(name),
            _ => {}
        }
    }
    open.is_empty()
}

fn any_region() -> impl Strategy<Value = RegionResult> {
    let label = prop::sample::select(vec![
        Label::Text,
        Label::DocTitle,
        Label::ParagraphTitle,
        Label::FigureTitle,
        Label::Table,
        Label::DisplayFormula,
        Label::FormulaNumber,
        Label::Image,
        Label::Header,
        Label::Algorithm,
    ]);
    let text = "(<table><tr><td>)?[a-c<>&\"' \n#*$`-]{0,12}(\n\n- x\n\n- y)?\\PC{0,4}";
    let status = prop::sample::select(vec![
        Status::Done,
        Status::Truncated,
        Status::Picture,
        Status::Failed("<--> & \"".into()),
    ]);
    let item = prop::option::of((0u8..5, prop::bool::ANY));
    (label, text, status, item, prop::bool::ANY, prop::bool::ANY, prop::option::of(0u8..9)).prop_map(
        |(label, text, status, item, preformatted, continues, level)| {
            let mut result = ended(status, region(label, &text));
            let marker = |number| if number { Marker::Number } else { Marker::Bullet };
            result.region.list_item = item.map(|(depth, number)| ListItem { depth, marker: marker(number) });
            result.region.preformatted = preformatted;
            result.region.continues = continues;
            result.region.level = level;
            result
        },
    )
}

/// A reading of which every number is anything that its type can hold.
fn any_reading() -> impl Strategy<Value = Reading> {
    use prop::num::{f32, f64};
    let confidences = prop::array::uniform3(f32::ANY);
    let times = prop::array::uniform7(f64::ANY);
    (confidences, times).prop_map(|([drafted, offered, committed], times)| {
        let [vision_ms, prefill_ms, draft_ms, verify_ms, prompt, draft, verify] = times;
        let round = Round {
            index: u32::MAX,
            draft: vec![1],
            draft_confidence: vec![drafted],
            verify: vec![1, 2],
            steps: vec![FillStep { open: vec![1], confidence: vec![offered], filled: vec![1], tokens: vec![1] }],
            accepted: 1,
            committed: vec![Committed { id: 1, origin: Origin::Accepted, confidence: committed }],
            draft_forwards: 1,
            verify_forwards: 1,
            prefill_ms: prompt,
            draft_ms: draft,
            verify_ms: verify,
        };
        Reading {
            bounds: Rect::new(0, 0, u32::MAX, u32::MAX),
            task: Task::Text,
            status: Status::Done,
            text: "text".into(),
            rounds: vec![round],
            timings: Timings { vision_ms, prefill_ms, draft_ms, verify_ms },
            line: Some(usize::MAX),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_document_can_be_written(pages in prop::collection::vec(prop::collection::vec(any_region(), 0..6), 0..4)) {
        let document = document(pages.into_iter().enumerate().map(|(at, regions)| page(at, regions)).collect());
        for furniture in [false, true] {
            let options = ExportOptions { furniture, images: furniture.then(|| "i".into()), pipe_tables: furniture };
            markdown(&document, &options);
            text(&document, &options);
            let html = html(&document, &options);
            prop_assert!(is_balanced(&html), "{}", html);
        }
        prop_assert_eq!(from_json(&json(&document, &ExportOptions::default())).ok(), Some(document));
    }

    /// What is written is read back, whatever the numbers in it.
    #[test]
    fn any_result_is_read_back(
        dpi in prop::option::of(prop::num::f32::ANY),
        skew_degrees in prop::num::f32::ANY,
        readings in prop::collection::vec(any_reading(), 0..3),
    ) {
        let result = RegionResult { readings, ..region(Label::Text, "text") };
        let figure = ended(Status::Picture, region(Label::Image, ""));
        let read = PageResult { dpi, skew_degrees, ..page(usize::MAX, vec![result, figure]) };
        let failed = PageOutcome::Failed { index: usize::MAX, message: "\0\u{FFFF}".into() };
        let mut document = document(vec![read]);
        document.pages.push(failed);
        for options in [ExportOptions::default(), ExportOptions { images: Some("i".into()), ..ExportOptions::default() }] {
            markdown(&document, &options);
            html(&document, &options);
            text(&document, &options);
        }
        let written = json(&document, &ExportOptions::default());
        let reopened = match from_json(&written) {
            Ok(reopened) => reopened,
            Err(error) => return Err(TestCaseError::fail(format!("{error}: {written}"))),
        };
        prop_assert_eq!(&reopened.pages[1], &document.pages[1]);
        let PageOutcome::Page(page) = &reopened.pages[0] else { return Err(TestCaseError::fail("the page failed")) };
        prop_assert_eq!(page.dpi, dpi.filter(|dpi| dpi.is_finite()));
        prop_assert_eq!(page.skew_degrees, if skew_degrees.is_finite() { skew_degrees } else { 0.0 });
        let confidences = |page: &PageResult| -> Vec<f32> {
            let rounds = page.regions[0].readings.iter().flat_map(|reading| &reading.rounds);
            rounds.flat_map(|round| [round.draft_confidence[0], round.steps[0].confidence[0]]).collect()
        };
        let PageOutcome::Page(before) = &document.pages[0] else { return Err(TestCaseError::fail("it was a page")) };
        let finite = |confidence: f32| if confidence.is_finite() { confidence } else { 0.0 };
        prop_assert_eq!(confidences(page), confidences(before).into_iter().map(finite).collect::<Vec<_>>());
    }
}
