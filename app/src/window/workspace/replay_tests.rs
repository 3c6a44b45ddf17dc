use engine::decode::Origin;
use engine::event::Piece;
use proptest::prelude::*;

use super::*;

fn drafted(at_ms: f64, round: u32, text: &str) -> Step {
    Step { at_ms, what: What::Drafted { round, text: text.to_owned() } }
}

fn committed(at_ms: f64, round: u32, text: &str) -> Step {
    let pieces = vec![Piece { text: text.to_owned(), round, origin: Origin::Causal }];
    let what = What::Committed { round, drafted: 4, accepted: 2, tokens: 4, forwards: 2, pieces };
    Step { at_ms, what }
}

fn log(steps: Vec<Step>) -> RequestLog {
    RequestLog { steps, ..RequestLog::default() }
}

/// Two requests: one of 30 ms with a prefill and a round, one of 10 ms with a prefill; an empty one between them.
fn two() -> Replay {
    let first = vec![committed(10.0, 0, "A"), drafted(20.0, 1, "pple"), committed(30.0, 1, "pple")];
    Replay::open(RegionId(1), vec![log(first), log(vec![]), log(vec![committed(10.0, 0, "B")])])
}

fn plain(replay: &Replay) -> Vec<String> {
    replay.texts().iter().map(RequestText::plain).collect()
}

#[test]
fn requests_follow_one_another_at_their_measured_pace() {
    let mut replay = two();
    replay.ask(ReplayAsk::Pace(Pace::Measured(1.0)));
    replay.ask(ReplayAsk::Play);
    assert!(replay.tick(0.009));
    assert_eq!(replay.at(), 0);
    assert!((replay.clock_ms() - 9.0).abs() < 1e-6);
    replay.tick(0.0125);
    assert_eq!((replay.at(), replay.current()), (2, Some((0, 1))));
    assert_eq!(replay.texts()[0].ghost, "pple");
    replay.tick(0.010);
    assert_eq!(plain(&replay), ["Apple"]);
    // The second begins when the first is over, at 30 ms.
    assert!(replay.tick(0.008));
    assert_eq!(replay.at(), 3);
    assert!(!replay.tick(0.001));
    assert_eq!((replay.is_at_end(), replay.playing), (true, false));
    assert_eq!(plain(&replay), ["Apple", "", "B"]);
    assert_eq!((replay.clock_ms(), replay.length_ms()), (40.0, 40.0));
    assert_eq!(replay.current(), Some((2, 0)));
}

#[test]
fn ten_times_the_pace_takes_a_tenth() {
    let mut replay = two();
    replay.ask(ReplayAsk::Pace(Pace::Measured(10.0)));
    replay.ask(ReplayAsk::Play);
    assert!(replay.tick(0.0039));
    assert!(!replay.tick(0.0002));
}

#[test]
fn rounds_a_second_pay_no_heed_to_measured_times() {
    let mut replay = two();
    replay.ask(ReplayAsk::Pace(Pace::Rounds(2.0)));
    replay.ask(ReplayAsk::Play);
    let mut seen = Vec::new();
    for _ in 0..7 {
        replay.tick(0.25);
        seen.push((replay.at(), replay.rounds_done()));
    }
    // Half a second a round; a draft stands half of that.
    assert_eq!(seen, [(0, 0), (1, 1), (2, 1), (3, 2), (3, 2), (4, 3), (4, 3)]);
    assert_eq!(replay.rounds(), 3);
}

#[test]
fn the_pace_can_change_in_the_middle_of_a_wait() {
    let mut replay = two();
    replay.ask(ReplayAsk::Pace(Pace::Rounds(1.0)));
    replay.ask(ReplayAsk::Play);
    replay.tick(0.5);
    // Half of the wait is left, whatever its length now is.
    replay.ask(ReplayAsk::Pace(Pace::Rounds(10.0)));
    replay.tick(0.049);
    assert_eq!(replay.at(), 0);
    replay.tick(0.002);
    assert_eq!(replay.at(), 1);
}

#[test]
fn playing_at_the_end_starts_again_and_a_pause_holds() {
    let mut replay = two();
    replay.ask(ReplayAsk::Seek(usize::MAX));
    assert!(replay.is_at_end());
    replay.ask(ReplayAsk::Play);
    assert_eq!((replay.at(), replay.playing), (0, true));
    replay.ask(ReplayAsk::Pause);
    assert!(!replay.tick(100.0));
    assert_eq!(replay.at(), 0);
    replay.ask(ReplayAsk::Forward);
    replay.ask(ReplayAsk::Forward);
    replay.ask(ReplayAsk::Back);
    assert_eq!(plain(&replay), ["A"]);
    replay.ask(ReplayAsk::Back);
    replay.ask(ReplayAsk::Back);
    assert_eq!((replay.at(), plain(&replay).len()), (0, 0));
}

#[test]
fn nothing_to_play_does_not_play() {
    let mut replay = Replay::open(RegionId(1), vec![log(vec![])]);
    replay.ask(ReplayAsk::Play);
    assert!(!replay.tick(1.0));
    assert_eq!((replay.len(), replay.rounds(), replay.current()), (0, 0, None));
}

#[test]
fn damaged_times_and_paces_stop_nothing() {
    let steps = vec![committed(f64::NAN, 0, "A"), committed(-5.0, 1, "B"), committed(7.0, 2, "C")];
    let mut replay = Replay::open(RegionId(1), vec![log(steps)]);
    assert_eq!(replay.length_ms(), 7.0);
    for pace in [Pace::Measured(f32::NAN), Pace::Measured(0.0), Pace::Rounds(-1.0), Pace::Rounds(f32::INFINITY)] {
        replay.ask(ReplayAsk::Pace(pace));
        replay.ask(ReplayAsk::Play);
        assert!(!replay.tick(1e9));
        assert!(replay.is_at_end());
    }
}

proptest! {
    /// By whatever way one comes to a step, the texts are those of the steps before it.
    #[test]
    fn seeking_is_the_same_by_any_path(lengths in prop::collection::vec(0_usize..6, 0..5), path in prop::collection::vec(0_usize..30, 1..12)) {
        let logs: Vec<RequestLog> = lengths.iter().map(|&length| {
            log((0..length).map(|n| {
                let (round, text) = (n as u32 / 2, format!("{n}"));
                if n % 2 == 1 { drafted(n as f64, round, &text) } else { committed(n as f64, round, &text) }
            }).collect())
        }).collect();
        let mut replay = Replay::open(RegionId(1), logs.clone());
        for to in path {
            replay.ask(ReplayAsk::Seek(to));
            let mut left = replay.at();
            prop_assert_eq!(left, to.min(lengths.iter().sum()));
            let texts = replay.texts();
            for (request, log) in logs.iter().enumerate() {
                let done = left.min(log.steps.len());
                left -= done;
                let expected = RequestText::after(&log.steps[..done]);
                prop_assert_eq!(texts.get(request).cloned().unwrap_or_default(), expected);
                prop_assert!(done == 0 || request < texts.len());
            }
            prop_assert_eq!(replay.current().is_none(), replay.at() == 0);
            if let Some((request, step)) = replay.current() {
                let before: usize = lengths[..request].iter().sum();
                prop_assert_eq!(before + step + 1, replay.at());
            }
        }
    }
}
