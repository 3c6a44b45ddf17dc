use serde_json::Value;

use super::support::{Place, few_lines};

#[test]
fn every_way_is_measured_and_drafting_changes_no_token() {
    let place = Place::new();
    place.write("lines.png", few_lines());
    let ran = place.run(["bench", "--images", "lines.png", "--decode", "ar,spec,diffusion", "--runs", "2", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["checkpoint"], "gravity-nano");
    let ways = report["ways"].as_array().unwrap();
    let names: Vec<_> = ways.iter().map(|way| way["decode"].as_str().unwrap()).collect();
    assert_eq!(names, ["ar", "spec", "diffusion"]);
    let (ar, spec) = (&ways[0], &ways[1]);
    assert_eq!(ar["tokens_per_forward"], 1.0);
    assert_eq!((&ar["accepted_per_round"], &ar["verify_forward_ms"]), (&Value::Null, &Value::Null));
    assert_eq!(ar["tokens"], spec["tokens"]);
    assert!(spec["tokens_per_forward"].as_f64().unwrap() > 1.0, "{spec}");
    let identical = &spec["identical_to_ar"];
    assert_eq!(identical["requests"], identical["of"], "in exact arithmetic drafting changes nothing");
    assert_eq!(spec["wall_seconds"]["count"], 2);
}

#[test]
fn a_fault_is_no_measurement() {
    let place = Place::new();
    place.write("empty.png", "");
    let ran = place.run(["bench", "--images", "empty.png"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.faults()[0].contains("empty.png is empty"), "{}", ran.err);
}
