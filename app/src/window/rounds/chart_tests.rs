use engine::page::{Status, Timings};

use super::*;
use crate::window::rounds::testing::{request, round};
use crate::window::workspace::chart::{Figures, total_ms};
use crate::window::workspace::log::{RequestLog, What};

fn chart(logs: &[RequestLog]) -> Chart {
    Chart::of(logs.iter().enumerate())
}

#[test]
fn figures_are_those_of_the_command_line() {
    // The rounds of the tally's own test: prefill; 5 accepted of 32 (7 tokens); 4 accepted, cut at its end token (3 tokens,
    // 2 of them drafts).
    let rounds = [round(5.0, 0, 0, 0, 1), round(15.0, 1, 32, 5, 7), round(25.0, 2, 32, 4, 3)];
    let figures: Figures = [request(rounds)].iter().collect();
    assert_eq!((figures.rounds, figures.tally.tokens, figures.tally.forwards), (3, 11, 4));
    assert_eq!(figures.tally.tokens_per_forward(), Some(2.5));
    assert_eq!(figures.tally.accepted_per_round(), Some(3.5));
    // 12 ms of drafting and 8 of verifying for 10 tokens.
    assert_eq!(figures.ended.decode_rate(), Some(500.0));
    assert_eq!(figures.times().map(total_ms), Some(25.0));
}

#[test]
fn without_drafts_there_is_nothing_accepted() {
    let figures: Figures = [request((0..4).map(|n| round(5.0, n, 0, 0, 1)))].iter().collect();
    assert!(!figures.drafts());
    assert_eq!(figures.tally.accepted_per_round(), None);
    assert_eq!((figures.tally.forwards, figures.tally.tokens_per_forward()), (3, Some(1.0)));
}

#[test]
fn what_still_runs_counts_but_has_no_times() {
    let mut running = request([round(5.0, 0, 0, 0, 1), round(9.0, 1, 8, 8, 10)]);
    running.status = None;
    running.timings = Timings::default();
    let figures: Figures = [running.clone()].iter().collect();
    assert_eq!((figures.tally.tokens, figures.times()), (11, None));
    assert_eq!(figures.ended.decode_rate(), None);
    // Its tokens do not flatter the pace of those that have ended.
    let ended = request([round(5.0, 0, 0, 0, 1), round(9.0, 1, 8, 1, 3)]);
    assert_eq!(ended.status, Some(Status::Done));
    let figures: Figures = [ended, running].iter().collect();
    assert_eq!(figures.ended.decode_rate(), Some(150.0));
}

#[test]
fn bars_know_their_forwards_and_their_place_in_the_replay() {
    let first = request([round(5.0, 0, 0, 0, 1), round(9.0, 1, 9, 6, 8), round(13.0, 2, 9, 9, 11)]);
    let second = request([round(5.0, 0, 0, 0, 1), round(9.0, 1, 9, 3, 2)]);
    let chart = chart(&[first, request([]), second]);
    assert_eq!(chart.bars.iter().map(|bar| bar.done_at).collect::<Vec<_>>(), [1, 3, 5, 6, 8]);
    assert_eq!(chart.bars.iter().map(|bar| bar.request).collect::<Vec<_>>(), [0, 0, 0, 2, 2]);
    let told: Vec<_> = chart.bars.iter().map(|bar| describe(&chart, bar)).collect();
    assert_eq!(
        told,
        [
            "Request 1, round 0: 1 token with the prompt",
            "Request 1, round 1: 9 drafted, 6 accepted, 1 corrected, forwards 1-2",
            "Request 1, round 2: 9 drafted, 9 accepted, 1 bonus, forwards 3-4",
            "Request 3, round 0: 1 token with the prompt",
            "Request 3, round 1: 9 drafted, 1 accepted, cut at the end, forwards 1-2",
        ]
    );
    assert_eq!(chart.bars.iter().map(Bar::height).collect::<Vec<_>>(), [1, 10, 11, 1, 10]);
    assert_eq!(
        [0, 1, 2, 3, 7, 8].map(|steps| chart.bar_at(steps)),
        [None, Some(0), Some(0), Some(1), Some(3), Some(4)]
    );
}

#[test]
fn a_round_without_a_draft_is_told_as_such() {
    let chart = chart(&[request([round(5.0, 0, 0, 0, 1), round(6.0, 1, 0, 0, 1)])]);
    assert_eq!(
        chart.bars.last().map(|bar| describe(&chart, bar)).as_deref(),
        Some("Round 1: 1 token, no draft, forward 1")
    );
}

#[test]
fn counts_beyond_all_measure_do_no_harm() {
    let chart = chart(&[request([round(5.0, 0, 0, 0, 0), round(5.0, 1, u32::MAX, u32::MAX, 0)])]);
    assert_eq!(chart.tallest(), u32::MAX);
    assert_eq!(chart.figures.tally.accepted, 0);

    let mut wild = request((0..3).map(|n| round(5.0, n, u32::MAX, u32::MAX, u32::MAX)));
    for step in &mut wild.steps {
        if let What::Committed { forwards, .. } = &mut step.what {
            *forwards = u32::MAX;
        }
    }
    let chart = self::chart(&[wild]);
    assert_eq!((chart.figures.tally.forwards, chart.figures.tally.accepted), (u32::MAX, u32::MAX));
    assert!(chart.bars.iter().all(|bar| !describe(&chart, bar).is_empty()));
}
