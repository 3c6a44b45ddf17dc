//! Text over the page: how it fits, what is marked, and when it is there.

#![expect(clippy::unwrap_used, reason = "a panic is a failed test")]

use std::sync::Arc;

use eframe::egui::{FontFamily, Pos2, Vec2, pos2, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use engine::decode::Origin;
use engine::document::Turn;
use engine::event::Piece;
use engine::page::Status;
use engine::region::{Label, Rect};

use super::fit::{Fitted, Fitting, fit};
use crate::window::canvas::regions::tests::TestCanvas;
use crate::window::colours;
use crate::window::highlight::MarkKind;
use crate::window::round_marks;
use crate::window::workspace::detail::Contents;
use crate::window::workspace::log::{RequestLog, RequestText, Step, What};
use crate::window::workspace::project::RegionId;
use crate::window::workspace::replay::{Replay, ReplayAsk};

pub(in crate::window::canvas) fn drafted(round: u32, text: &str) -> What {
    What::Drafted { round, text: text.to_owned() }
}

pub(in crate::window::canvas) fn committed(round: u32, drafted: u32, pieces: &[(&str, Origin)]) -> What {
    let accepted = pieces.iter().filter(|(_, origin)| *origin == Origin::Accepted).count() as u32;
    let tokens = pieces.len() as u32;
    let pieces = pieces.iter().map(|&(text, origin)| Piece { text: text.to_owned(), round, origin }).collect();
    What::Committed { round, drafted, accepted, tokens, forwards: if round == 0 { 0 } else { 2 }, pieces }
}

/// "The quick brown cat", in three rounds, "fox" having been refused for "cat".
pub(in crate::window::canvas) fn steps() -> Vec<Step> {
    [
        committed(0, 0, &[("T", Origin::Causal)]),
        drafted(1, "he quick "),
        committed(1, 2, &[("he ", Origin::Causal), ("qui", Origin::Accepted), ("ck ", Origin::Accepted)]),
        drafted(2, "brown fox"),
        committed(2, 2, &[("brown", Origin::Causal), (" ", Origin::Accepted), ("cat", Origin::Correction)]),
    ]
    .into_iter()
    .map(|what| Step { at_ms: 0.0, what })
    .collect()
}

fn log(bounds: Rect) -> RequestLog {
    RequestLog { bounds, steps: steps(), status: Some(Status::Done), ..RequestLog::default() }
}

fn fitting(room: Vec2, done: bool) -> Fitting {
    Fitting {
        room,
        cap: 0.9 * room.y,
        family: FontFamily::Proportional,
        colours: true,
        ghosts: true,
        refused: false,
        done,
    }
}

/// Does something where there are fonts.
fn with_fonts(mut does: impl FnMut(&eframe::egui::Ui)) {
    drop(Harness::new_ui(|ui| does(ui)));
}

fn size(ui: &eframe::egui::Ui, fitted: &Fitted) -> (Vec2, usize) {
    let galley = ui.fonts_mut(|fonts| fonts.layout_job(fitted.job.clone()));
    (galley.size(), galley.rows.len())
}

#[test]
fn a_finished_line_fills_its_strip_and_is_not_higher() {
    with_fonts(|ui| {
        let text = RequestText::after(&steps());
        for room in [vec2(170.0, 20.0), vec2(400.0, 44.0), vec2(60.0, 12.0)] {
            let (shown, rows) = size(ui, &fit(ui, &text, &fitting(room, true)));
            assert_eq!(rows, 1, "{room}");
            assert!((shown.x - room.x).abs() < 0.06 * room.x, "{shown} in {room}");
            assert!(shown.y <= 1.1 * room.y, "{shown} in {room}");
        }
    });
}

#[test]
fn a_growing_line_is_not_spread() {
    with_fonts(|ui| {
        let text = RequestText::after(&steps()[..1]);
        let fitted = fit(ui, &text, &fitting(vec2(300.0, 30.0), false));
        assert_eq!(fitted.size, 27.0);
        assert!(size(ui, &fitted).0.x < 30.0);
    });
}

#[test]
fn a_long_text_wraps_inside_its_box() {
    with_fonts(|ui| {
        let mut text = RequestText::default();
        for round in 0..300 {
            text.apply(&committed(round, 0, &[("word and word\u{20}", Origin::Causal)]));
        }
        let room = vec2(400.0, 300.0);
        let fitted = fit(ui, &text, &fitting(room, true));
        let (shown, rows) = size(ui, &fitted);
        assert!(rows > 10);
        assert!(shown.x <= room.x + 1.0 && shown.y <= room.y + 1.0, "{shown}");
        assert!(shown.y > 0.75 * room.y, "it uses the room: {shown}");
    });
}

#[test]
fn runs_of_one_round_share_a_mark_and_a_correction_has_its_bar() {
    with_fonts(|ui| {
        let text = RequestText::after(&steps());
        let fitted = fit(ui, &text, &fitting(vec2(400.0, 30.0), false));
        let rounds: Vec<_> = fitted.marks.iter().filter(|mark| mark.kind == MarkKind::Round).collect();
        let colours: Vec<_> = rounds.iter().map(|mark| mark.colour).collect();
        assert_eq!(colours, [0, 1, 2].map(colours::round_on_paper));
        assert!(rounds.windows(2).all(|pair| (pair[0].rect.right() - pair[1].rect.left()).abs() < 2.0));
        let bars: Vec<_> = fitted.marks.iter().filter(|mark| mark.kind == MarkKind::Rejected).collect();
        let [bar] = bars[..] else { panic!("one correction") };
        assert!(bar.rect.left() > rounds[2].rect.left() && bar.rect.right() < rounds[2].rect.right());
    });
}

#[test]
fn marks_go_on_in_the_next_line() {
    with_fonts(|ui| {
        let mut text = RequestText::default();
        text.apply(&committed(0, 0, &[("one\ntwo\n", Origin::Causal)]));
        text.apply(&committed(1, 0, &[("three", Origin::Causal)]));
        text.apply(&drafted(2, "\nfour"));
        let fitted = fit(ui, &text, &fitting(vec2(200.0, 200.0), false));
        let tops: Vec<_> = fitted.marks.iter().map(|mark| (mark.rect.top(), mark.kind)).collect();
        assert_eq!(tops.len(), 4);
        assert!(tops.windows(2).all(|pair| pair[0].0 < pair[1].0), "{tops:?}");
        assert_eq!(tops[3].1, MarkKind::Ghost);
    });
}

#[test]
fn every_place_knows_its_character() {
    with_fonts(|ui| {
        let text = RequestText::after(&steps());
        for refused in [false, true] {
            let fitting = Fitting { refused, ..fitting(vec2(600.0, 30.0), false) };
            let fitted = fit(ui, &text, &fitting);
            let galley = ui.fonts_mut(|fonts| fonts.layout_job(fitted.job.clone()));
            let found: Vec<_> = galley.rows[0]
                .glyphs
                .iter()
                .filter_map(|glyph| {
                    let middle = pos2(0.5 * (glyph.pos.x + glyph.max_x()), 0.5 * galley.size().y);
                    fitted.spans.committed_at(round_marks::character_at(&galley, middle)?)
                })
                .collect();
            let mut expected: Vec<usize> = (0.."The quick brown cat".len()).collect();
            if refused {
                // The three letters of "fox" stand for the correction after them.
                expected.splice(16..16, [16, 16, 16]);
            }
            assert_eq!(found, expected);
            assert_eq!(round_marks::character_at(&galley, pos2(-1.0, 5.0)), None);
            assert_eq!(round_marks::character_at(&galley, pos2(5.0, 500.0)), None);
        }
    });
}

/// A page with two lines of one region, read.
fn desk() -> TestCanvas {
    let lines = [Rect::new(100, 100, 440, 140), Rect::new(100, 160, 440, 200)];
    let mut desk = TestCanvas::new([1000, 700], &[(Label::Text, Rect::new(100, 100, 500, 200))]);
    let contents = Contents { logs: lines.map(log).into(), ..Contents::default() };
    desk.read(1, Status::Done, &contents);
    desk
}

/// The texts that are painted on the canvas.
fn painted(harness: &Harness<'_, TestCanvas>) -> Vec<String> {
    let texts = harness.output().shapes.iter().filter_map(|shape| match &shape.shape {
        eframe::egui::Shape::Text(text) if text.opacity_factor > 0.0 => Some(text.galley.text().to_owned()),
        _ => None,
    });
    texts.filter(|text| text.contains("quick")).collect()
}

fn at(harness: &Harness<'_, TestCanvas>, x: f32, y: f32) -> Pos2 {
    harness.state().placement().to_screen(pos2(x, y))
}

#[test]
fn a_finished_region_shows_its_text_while_the_pointer_rests_on_it() {
    let mut harness = desk().harness();
    harness.run();
    assert!(painted(&harness).is_empty());
    harness.hover_at(at(&harness, 300.0, 150.0));
    harness.step();
    harness.step();
    assert!(painted(&harness).is_empty(), "not at once");
    harness.run_steps(40);
    assert_eq!(painted(&harness).len(), 2);
    harness.hover_at(at(&harness, 800.0, 600.0));
    harness.run_steps(40);
    assert!(painted(&harness).is_empty());
}

#[test]
fn what_was_read_in_a_run_stays_until_the_run_is_over() {
    let desk = desk();
    with_fonts(|ui| {
        let mut cache = super::Cache::default();
        let mut strips = |running| {
            let page = desk.state.page().unwrap();
            let (placement, cache) = (desk.placement(), &mut cache);
            let mut overlay =
                super::Overlay { ui, placement, state: &desk.state, page, pointer: None, cache, shown: Vec::new() };
            overlay.region(&page.regions[0], running);
            overlay.shown.iter().filter(|shown| shown.opacity == 1.0).count()
        };
        assert_eq!(strips(true), 2);
    });
}

#[test]
fn without_colours_a_finished_region_is_left_as_scanned() {
    let mut desk = desk();
    desk.state.settings.colours = false;
    let mut harness = desk.harness();
    harness.run();
    harness.hover_at(at(&harness, 300.0, 150.0));
    harness.run_steps(60);
    assert!(painted(&harness).is_empty());
}

#[test]
fn the_card_tells_of_the_character_under_the_pointer() {
    let mut harness = desk().harness();
    harness.run();
    harness.hover_at(at(&harness, 430.0, 180.0));
    harness.run_steps(60);
    harness.get_by_label("Round 2");
    harness.get_by_label("The verifier's correction");
    harness.get_by_label("Forwards 3–4, 3 tokens");
}

#[test]
fn what_was_read_elsewhere_is_not_shown_over_a_moved_box() {
    let mut desk = desk();
    desk.state.reshape(&[(RegionId(1), Rect::new(100, 150, 500, 400))], 1);
    let mut harness = desk.harness();
    harness.run();
    harness.hover_at(at(&harness, 300.0, 300.0));
    harness.run_steps(60);
    assert_eq!(painted(&harness).len(), 1);
}

/// A square region in the middle of a square page lies on itself, however the page is turned; its lines do not.
#[test]
fn what_was_read_before_a_turn_is_not_shown_over_the_turned_page() {
    let bounds = Rect::new(300, 300, 700, 700);
    let mut desk = TestCanvas::new([1000, 1000], &[(Label::Text, bounds)]);
    let logs = vec![log(Rect::new(310, 400, 690, 440)), log(bounds)];
    desk.read(1, Status::Done, &Contents { logs: logs.clone(), ..Contents::default() });
    let mut harness = desk.harness();
    let hovered = |harness: &mut Harness<'_, TestCanvas>| {
        harness.hover_at(at(harness, 500.0, 500.0));
        harness.run_steps(60);
        painted(harness).len()
    };
    assert_eq!(hovered(&mut harness), 2);
    for (turn, shown) in [(Turn::Right, 0), (Turn::Right, 0), (Turn::Right, 0), (Turn::Right, 2)] {
        harness.state_mut().state.rotate(turn);
        assert_eq!(harness.state().state.page().unwrap().regions[0].bounds(), bounds);
        assert_eq!(hovered(&mut harness), shown);
    }
    // Neither is its replay; read again after the turn, it lies where it was read.
    harness.state_mut().state.rotate(Turn::Half);
    let mut replay = Replay::open(RegionId(1), logs.clone());
    replay.ask(ReplayAsk::Seek(usize::MAX));
    harness.state_mut().state.replay = Some(replay);
    assert_eq!(hovered(&mut harness), 0);
    let turned = |log: RequestLog| RequestLog { turn: Turn::Half, ..log };
    let mut replay = Replay::open(RegionId(1), logs.into_iter().map(turned).collect());
    replay.ask(ReplayAsk::Seek(usize::MAX));
    harness.state_mut().state.replay = Some(replay);
    assert_eq!(hovered(&mut harness), 2);
}

#[test]
fn what_is_being_read_is_always_there_with_its_draft() {
    let mut desk = TestCanvas::new([1000, 700], &[(Label::Text, Rect::new(100, 100, 500, 140))]);
    let (id, live) = (RegionId(1), &mut desk.state.live);
    live.start(id, 0, Rect::new(100, 100, 500, 140));
    for step in &steps()[..4] {
        live.step(id, 0, 0.0, step.what.clone());
    }
    let mut harness = desk.harness();
    harness.run();
    assert_eq!(painted(&harness), ["The quick brown fox"]);
    harness.state_mut().state.settings.ghosts = false;
    harness.run();
    assert_eq!(painted(&harness), ["The quick "]);
}

#[test]
fn a_refused_draft_is_shown_only_under_the_pointer() {
    let mut desk = TestCanvas::new([1000, 700], &[(Label::Text, Rect::new(100, 100, 500, 140))]);
    desk.state.settings.refused = true;
    let (id, live) = (RegionId(1), &mut desk.state.live);
    live.start(id, 0, Rect::new(100, 100, 500, 140));
    steps().into_iter().for_each(|step| live.step(id, 0, 0.0, step.what));
    let mut harness = desk.harness();
    harness.run();
    assert_eq!(painted(&harness), ["The quick brown cat"]);
    harness.hover_at(at(&harness, 300.0, 120.0));
    harness.run();
    assert_eq!(painted(&harness), ["The quick brown foxcat"]);
}

#[test]
fn letters_do_not_jump_while_text_comes_in() {
    with_fonts(|ui| {
        let mut cache = super::Cache::default();
        let mut last = f32::INFINITY;
        let mut text = RequestText::default();
        for round in 0..60 {
            text.apply(&drafted(round, if round % 2 == 0 { "a long draft indeed" } else { "a" }));
            let fitted = cache.fitted(ui, (RegionId(1), 0), &text, fitting(vec2(300.0, 30.0), false));
            assert!(fitted.size <= last);
            last = fitted.size;
            text.apply(&committed(round, 3, &[("ab", Origin::Causal)]));
        }
        assert!(last < 27.0, "it did shrink");
    });
}

#[test]
fn a_long_text_is_not_laid_out_in_every_frame() {
    let mut desk = TestCanvas::new([1000, 700], &[(Label::Text, Rect::new(100, 100, 900, 600))]);
    let (id, live) = (RegionId(1), &mut desk.state.live);
    live.start(id, 0, Rect::new(100, 100, 900, 600));
    for round in 0..200 {
        live.step(
            id,
            0,
            0.0,
            committed(round, 0, &[("quick words, a hundred of them or so, to fill a page\u{20}", Origin::Causal)]),
        );
    }
    let mut harness = desk.harness();
    harness.run();
    let mut draft = |text: &str, frames: usize| {
        harness.state_mut().state.live.step(id, 0, 0.0, drafted(200, text));
        harness.run_steps(frames);
        painted(&harness).concat().rsplit(' ').next().map(str::to_owned)
    };
    assert_eq!(draft("first", 20).as_deref(), Some("first"));
    assert_eq!(draft("second", 1).as_deref(), Some("second"));
    assert_eq!(draft("third", 1).as_deref(), Some("second"), "too soon");
    assert_eq!(draft("third", 20).as_deref(), Some("third"));
}

#[test]
fn an_equal_text_is_not_laid_out_again() {
    with_fonts(|ui| {
        let mut cache = super::Cache::default();
        let text = RequestText::after(&steps());
        let mut fitted = |room| cache.fitted(ui, (RegionId(1), 0), &text, fitting(room, true));
        let (first, again, other) = (fitted(vec2(300.0, 30.0)), fitted(vec2(300.0, 30.0)), fitted(vec2(310.0, 30.0)));
        assert!(Arc::ptr_eq(&first, &again));
        assert!(!Arc::ptr_eq(&first, &other));
    });
}
