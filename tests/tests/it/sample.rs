use std::fs;
use std::sync::OnceLock;

use serde_json::Value;

use super::support::{Place, Ran, few_lines, root, sample_pdf};

fn sample() -> &'static Ran {
    static RAN: OnceLock<Ran> = OnceLock::new();
    RAN.get_or_init(|| Place::new().recognize(sample_pdf().to_str().unwrap()))
}

fn expected() -> String {
    fs::read_to_string(root().join("assets/samples/gravity-sample.md")).unwrap()
}

#[test]
fn the_sample_is_read_as_it_is_written() {
    let ran = sample();
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.out, expected());
}

#[test]
fn running_heads_and_page_numbers_come_on_demand() {
    let head = "note on gravity";
    assert!(!sample().out.contains(head), "{}", sample().out);
    let ran = Place::new().recognize(&format!("{} --pages 2 --furniture", sample_pdf().to_str().unwrap()));
    assert!(ran.out.contains(head), "{}", ran.out);
}

#[test]
fn every_format_holds_the_text() {
    let place = Place::new();
    place.write("scan.png", few_lines());
    for (format, start) in [("md", ""), ("txt", ""), ("html", "<!DOCTYPE html>"), ("json", "{")] {
        let ran = place.recognize(&format!("scan.png --format {format}"));
        assert_eq!(ran.code, 0, "{format}: {}", ran.err);
        assert!(ran.out.starts_with(start) && ran.out.contains("stone"), "{format}: {}", ran.out);
    }
    let json: Value = serde_json::from_str(&place.recognize("scan.png --format json").out).unwrap();
    assert_eq!(json["name"], "scan.png");
}

#[test]
fn every_way_of_decoding_reads() {
    let place = Place::new();
    place.write("scan.png", few_lines());
    let [ar, spec, refined] =
        ["ar", "spec", "spec:3"].map(|way| place.recognize(&format!("scan.png --decode {way}")).out);
    assert_eq!(ar, spec);
    assert_eq!(ar, refined);
    let diffusion = place.recognize("scan.png --decode diffusion --tau 0.9");
    assert_eq!(diffusion.code, 0);
    assert!(diffusion.out.contains("stone"), "{}", diffusion.out);
}

/// In every round of the trace: the accepted drafts are those that the verifier would have said, and no more.
#[test]
fn the_trace_shows_what_was_drafted_and_what_was_accepted() {
    let place = Place::new();
    place.write("scan.png", few_lines());
    let ran = place.recognize("scan.png --trace rounds.json");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let trace: Value = serde_json::from_str(&place.read("rounds.json")).unwrap();
    let list = |value: &Value| value.as_array().unwrap().clone();
    let mut verified = 0;
    for region in list(&trace["pages"][0]["regions"]) {
        for request in list(&region["requests"]) {
            for round in list(&request["rounds"]) {
                let (draft, verify) = (list(&round["draft"]), list(&round["verify"]));
                if verify.is_empty() {
                    continue;
                }
                verified += 1;
                let agree = draft.iter().zip(&verify).take_while(|(drafted, verified)| drafted == verified).count();
                assert_eq!(round["accepted"], agree, "{round}");
                let committed: Vec<_> = list(&round["committed"]).iter().map(|token| token["id"].clone()).collect();
                // a_0, the accepted drafts, and the verifier's own token, cut at an end token.
                let whole: Vec<_> = draft[..agree].iter().chain(&verify[agree..=agree]).cloned().collect();
                assert!(whole.starts_with(&committed[1..]), "{round}");
            }
        }
    }
    assert!(verified >= 3, "three lines take at least three rounds");
}
