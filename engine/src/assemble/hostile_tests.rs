//! Answers come from models and servers that nobody vouches for: no panic, no hang.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{Table, clean, clean_line, clean_listing, cut_loop};
use crate::region::Task;

const TASKS: [Task; 3] = [Task::Text, Task::Table, Task::Formula];

fn try_all(answer: &str) {
    for task in TASKS {
        clean(answer, task);
        cut_loop(answer, task);
    }
    clean_line(answer);
    clean_listing(answer);
    if let Some(table) = Table::parse(answer) {
        table.grid();
        let html = table.to_html();
        assert_eq!(Table::parse(&html).map(|table| table.to_html()), Some(html), "what was written reads the same");
    }
}

#[test]
fn large_hostile_answers_take_a_moment_only() {
    for unit in [
        "<",
        "&",
        "$",
        "$ ",
        "*",
        "<td",
        "<td>",
        "<table>",
        "<script>",
        "<script></script>",
        "<!--",
        "<!-- -->",
        "<td a=\"",
        "<sup>",
        "\\",
        ". ",
        "_",
        "- ",
        "\n",
        "\\begin{math}",
        "```\n",
        "```x\n",
        "```\nx\n```\ny\n",
        "<think>",
        "</td>",
        "&#x",
        "<tr><td rowspan=9999 colspan=9999>",
        "é\u{AD}",
    ] {
        let started = Instant::now();
        try_all(&unit.repeat(200_000 / unit.len()));
        // Linear work takes well under a second; quadratic work would take minutes.
        assert!(started.elapsed() < Duration::from_secs(20), "{unit}: {:?}", started.elapsed());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_answer_is_taken(pieces in prop::collection::vec(prop::sample::select(vec![
        "<table>", "</table>", "<tr>", "</tr>", "<td rowspan=2>", "<th colspan='3'>", "</td>", "<caption>", "</caption>", "<thead>", "<sup>", "</sup>",
        "<br>", "<p>", "<", ">", "&lt;", "&", ";", "<script>", "</script>", "text", " ", "\n", "é", "中", "\u{FFFD}", "\u{0}", "\"", "1.", "•", "(a)",
        "$", "\\", "...", "<!--", "-->", "```", "<think>", "</think>",
    ]), 0..40)) {
        try_all(&pieces.concat());
    }

    #[test]
    fn any_characters_are_taken(answer in "\\PC{0,60}") {
        try_all(&answer);
    }
}
