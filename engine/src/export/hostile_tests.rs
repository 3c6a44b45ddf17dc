//! Any document can be written, and none takes long.

use proptest::prelude::*;

use super::export_tests::{document, ended, page, region};
use super::{ExportOptions, from_json, html, json, markdown, text};
use crate::page::{RegionResult, Status};
use crate::region::{Label, ListItem, Marker};

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
}
