use std::fs;
use std::sync::OnceLock;

use serde_json::Value;

use super::support::{Ran, Sandbox, few_lines, root, sample_pdf};

fn sample() -> &'static Ran {
    static RAN: OnceLock<Ran> = OnceLock::new();
    RAN.get_or_init(|| Sandbox::new().recognize(sample_pdf().to_str().unwrap()))
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
    let ran = Sandbox::new().recognize(&format!("{} --pages 2 --furniture", sample_pdf().to_str().unwrap()));
    assert!(ran.out.contains(head), "{}", ran.out);
}

#[test]
fn every_format_holds_the_text() {
    let sandbox = Sandbox::new();
    sandbox.write("scan.png", few_lines());
    for (format, start) in [("md", ""), ("txt", ""), ("html", "<!DOCTYPE html>"), ("json", "{")] {
        let ran = sandbox.recognize(&format!("scan.png --format {format}"));
        assert_eq!(ran.code, 0, "{format}: {}", ran.err);
        assert!(ran.out.starts_with(start) && ran.out.contains("stone"), "{format}: {}", ran.out);
    }
    let json: Value = serde_json::from_str(&sandbox.recognize("scan.png --format json").out).unwrap();
    assert_eq!(json["name"], "scan.png");
}

#[test]
fn every_way_of_decoding_reads() {
    let sandbox = Sandbox::new();
    sandbox.write("scan.png", few_lines());
    let [ar, spec, refined] =
        ["ar", "spec", "spec:3"].map(|way| sandbox.recognize(&format!("scan.png --decode {way}")).out);
    assert_eq!(ar, spec);
    assert_eq!(ar, refined);
    let diffusion = sandbox.recognize("scan.png --decode diffusion --tau 0.9");
    assert_eq!(diffusion.code, 0);
    assert!(diffusion.out.contains("stone"), "{}", diffusion.out);
}

#[test]
fn a_seed_gives_the_same_text_again_whatever_runs_beside_it() {
    let sandbox = Sandbox::new();
    sandbox.write("scan.png", few_lines());
    let read = |line: &str| sandbox.recognize(&format!("scan.png --temperature 1.5 {line}"));
    let first = read("--seed 7 --threads 1");
    assert_eq!(first.code, 0, "{}", first.err);
    assert!(first.err.starts_with("sampling at temperature 1.5 with seed 7\n"), "{}", first.err);
    assert_eq!(read("--seed 7 --threads 2").out, first.out);
    assert_ne!(read("--seed 8").out, first.out, "at this temperature another seed reads something else");
    assert_eq!(read("--color never").out, read("--seed 0").out, "the seed that is taken when none is given");
    // No chance at all is the likeliest text.
    assert_eq!(sandbox.recognize("scan.png --temperature 0").out, sandbox.recognize("scan.png").out);
}

/// What `export` makes of a result is what `recognize` would have written.
#[test]
fn a_result_is_exported_without_reading_again() {
    let sandbox = Sandbox::new();
    let sample = sample_pdf();
    let ran = sandbox.recognize(&format!("{} --format json -o note.json", sample.to_str().unwrap()));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let export = |line: &str| sandbox.run(["export"].into_iter().chain(line.split(' ')));
    let printed = export("note.json --format md");
    assert_eq!((printed.code, printed.err.as_str()), (0, ""));
    assert_eq!(printed.out, expected());
    // The picture that the result left beside it is the new document's, too.
    let ran = export("note.json --format md -o note.md");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let [picture] = &sandbox.listing("note-images")[..] else { panic!("the sample has one picture") };
    assert!(sandbox.read("note.md").contains(&format!("](note-images/{picture})")));
    // A trace is JSON of this program, but no result.
    sandbox.write("scan.png", few_lines());
    assert_eq!(sandbox.recognize("scan.png --trace rounds.json").code, 0);
    let ran = export("rounds.json --format md");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.faults()[0].starts_with("rounds.json: this is not a GravityOCR document"), "{}", ran.err);
    assert_eq!(export("note.json").code, 2, "a format has to be named");
}

/// In every round of the trace: the accepted drafts are those that the verifier would have said, and no more.
#[test]
fn the_trace_shows_what_was_drafted_and_what_was_accepted() {
    let sandbox = Sandbox::new();
    sandbox.write("scan.png", few_lines());
    let ran = sandbox.recognize("scan.png --trace rounds.json");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let trace: Value = serde_json::from_str(&sandbox.read("rounds.json")).unwrap();
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
