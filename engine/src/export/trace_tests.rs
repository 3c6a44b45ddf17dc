//! Traces against their published schema.

use serde_json::Value;

use super::export_tests::{document, page, region};
use super::{DocumentWriter, ExportOptions, Format, PageOutcome, trace, trace_page};
use crate::decode::{Committed, FillStep, Origin, Round};
use crate::page::{PageResult, Reading, Status, Timings};
use crate::region::{Label, Rect, Task};

const SCHEMA: &str = include_str!("../../../assets/trace.schema.json");

/// A page with one region that took a prefill and one round.
pub(super) fn traced_page() -> PageResult {
    let token = |id, origin| Committed { id, origin, confidence: 0.875 };
    let prefill = Round { index: 0, committed: vec![token(5, Origin::Causal)], ..Round::default() };
    let round = Round {
        index: 1,
        draft: vec![7, 8, 9],
        draft_confidence: vec![0.5, 0.75, 0.25],
        verify: vec![7, 8, 3, 2],
        accepted: 2,
        committed: vec![
            token(6, Origin::Causal),
            token(7, Origin::Accepted),
            token(8, Origin::Accepted),
            token(3, Origin::Correction),
        ],
        draft_forwards: 1,
        verify_forwards: 1,
        draft_ms: 1.5,
        verify_ms: 2.25,
        steps: vec![FillStep { open: vec![1, 2, 3], confidence: vec![0.5; 3], filled: vec![1], tokens: vec![7] }],
        ..Round::default()
    };
    let mut read = region(Label::Text, "Hello");
    read.readings = vec![Reading {
        bounds: Rect::new(1, 2, 3, 4),
        task: Task::Text,
        status: Status::Done,
        text: "Hello".into(),
        rounds: vec![prefill, round],
        timings: Timings { vision_ms: 3.0, prefill_ms: 4.0, draft_ms: 1.5, verify_ms: 2.25 },
        line: Some(0),
    }];
    let mut failed = region(Label::Table, "");
    failed.status = Status::Failed("out of memory".into());
    failed.readings = vec![Reading {
        status: failed.status.clone(),
        line: None,
        rounds: vec![],
        task: Task::Table,
        ..read.readings[0].clone()
    }];
    page(0, vec![read, failed])
}

/// The part of JSON Schema that `trace.schema.json` uses.
fn violations(value: &Value, schema: &Value, root: &Value, at: &str) -> Vec<String> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or(vec![format!("{at}: no {reference}")], |target| violations(value, target, root, at));
    }
    if let Some(options) = schema.get("oneOf").and_then(Value::as_array) {
        let fitting = options.iter().filter(|option| violations(value, option, root, at).is_empty()).count();
        return if fitting == 1 { vec![] } else { vec![format!("{at}: {fitting} of oneOf fit")] };
    }
    let mut found = Vec::new();
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    let fits = |name: &&str| match *name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        _ => false,
    };
    if !types.is_empty() && !types.iter().any(fits) {
        found.push(format!("{at}: {value} is no {types:?}"));
    }
    if schema.get("enum").and_then(Value::as_array).is_some_and(|options| !options.contains(value)) {
        found.push(format!("{at}: {value} is none of the enum"));
    }
    if schema.get("const").is_some_and(|constant| constant != value) {
        found.push(format!("{at}: {value} is not the constant"));
    }
    if let (Some(number), Some(minimum)) = (value.as_f64(), schema.get("minimum").and_then(Value::as_f64))
        && number < minimum
    {
        found.push(format!("{at}: {number} < {minimum}"));
    }
    if let (Some(number), Some(maximum)) = (value.as_f64(), schema.get("maximum").and_then(Value::as_f64))
        && number > maximum
    {
        found.push(format!("{at}: {number} > {maximum}"));
    }
    if let Some(fields) = value.as_object() {
        let known = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                found.push(format!("{at}: {name} is missing"));
            }
        }
        for (name, field) in fields {
            match known.get(name) {
                Some(schema) => found.extend(violations(field, schema, root, &format!("{at}/{name}"))),
                None => found.push(format!("{at}: {name} is unknown")),
            }
        }
    }
    if let (Some(elements), Some(schema)) = (value.as_array(), schema.get("items")) {
        for (index, element) in elements.iter().enumerate() {
            found.extend(violations(element, schema, root, &format!("{at}/{index}")));
        }
    }
    found
}

fn check(value: &Value) -> Vec<String> {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap_or_default();
    assert!(schema.is_object(), "the schema is JSON");
    violations(value, &schema, &schema, "")
}

#[test]
fn traces_follow_their_schema() {
    let mut document = document(vec![traced_page()]);
    document.pages.push(PageOutcome::Failed { index: 1, message: "too large".into() });
    let traced = trace(&document);
    assert_eq!(check(&traced), Vec::<String>::new());
    let request = &traced["pages"][0]["regions"][0]["requests"][0];
    assert_eq!(request["prompt"], "Text Recognition:");
    assert_eq!(request["rounds"][1]["committed"][3]["origin"], "correction");
    assert_eq!(traced["pages"][0]["regions"][1]["status"]["failed"], "out of memory");
    assert_eq!(traced["pages"][1], trace_page(&document.pages[1]));
}

#[test]
fn the_schema_refuses_what_is_no_trace() {
    let mut traced = trace(&document(vec![traced_page()]));
    traced["pages"][0]["regions"][0]["requests"][0]["rounds"][1]["accepted"] = Value::from("two");
    traced["version"] = Value::from(2);
    assert_eq!(check(&traced).len(), 2);
}

#[test]
fn every_field_of_the_schema_is_described() {
    fn walk(schema: &Value, at: &str, missing: &mut Vec<String>) {
        if let Some(fields) = schema.get("properties").and_then(Value::as_object) {
            for (name, field) in fields {
                if field.get("description").is_none() && field.get("const").is_none() && field.get("$ref").is_none() {
                    missing.push(format!("{at}/{name}"));
                }
                walk(field, &format!("{at}/{name}"), missing);
            }
        }
        for definition in schema.get("$defs").and_then(Value::as_object).into_iter().flatten() {
            walk(definition.1, definition.0, missing);
        }
    }
    let mut missing = Vec::new();
    walk(&serde_json::from_str(SCHEMA).unwrap_or_default(), "", &mut missing);
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn a_trace_written_page_by_page_is_the_same() {
    let document = document(vec![traced_page()]);
    let written = (|| {
        let mut writer = DocumentWriter::new(Vec::new(), Format::Trace, "report.pdf", ExportOptions::default())?;
        writer.page(&traced_page())?;
        writer.finish()
    })();
    let value: Option<Value> = written.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    assert_eq!(value, Some(trace(&document)));
}
