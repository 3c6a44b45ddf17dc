//! What `bench` measured, for people and for programs.

use serde_json::{Value, json};

use crate::bench::{Measured, Spread, Way};

/// A table, with what was not measured said so.
pub(crate) fn text(measured: &Measured) -> String {
    let memory =
        measured.peak_memory.map_or("not measured".to_owned(), |bytes| format!("{:.0} MB", bytes as f64 / 1e6));
    let mut out = format!(
        "{}, device {}, kernel {}, {} thread{}, peak memory {memory}\n",
        measured.checkpoint,
        measured.device,
        measured.kernel,
        measured.threads,
        if measured.threads == 1 { "" } else { "s" }
    );
    for way in &measured.ways {
        out.push('\n');
        out.push_str(&way_text(way));
    }
    out
}

fn way_text(way: &Way) -> String {
    let tally = &way.tally;
    let figure =
        |value: Option<f64>, unit: &str| value.map_or("not measured".to_owned(), |value| format!("{value:.2}{unit}"));
    let mut rows = vec![
        ("requests, all runs", tally.requests.to_string()),
        ("tokens, all runs", tally.tokens.to_string()),
        ("tokens per forward", figure(tally.tokens_per_forward(), "")),
        ("accepted per round", figure(tally.accepted_per_round(), "")),
        ("decoding", figure(tally.decode_rate(), " tok/s")),
        ("whole requests", figure(tally.request_rate(), " tok/s")),
        ("vision", spread(&way.vision, "ms a request")),
        ("prefill", spread(&way.prefill, "ms a request")),
        ("draft", spread(&way.draft, "ms a forward")),
        ("verify", spread(&way.verify, "ms a forward")),
        ("wall clock", spread(&way.wall, "s a run")),
    ];
    if let Some((same, all)) = way.identical {
        rows.push(("same ids as ar", format!("{same} of {all} ({:.1} %)", same as f64 / all.max(1) as f64 * 100.0)));
    }
    let mut out = format!("{}\n", way.name);
    for (name, value) in rows {
        out.push_str(&format!("  {name:<20} {value}\n"));
    }
    out
}

fn spread(spread: &Spread, unit: &str) -> String {
    match spread.count {
        0 => "not measured".to_owned(),
        _ => format!("{:.2} {unit} ({:.2} - {:.2})", spread.median, spread.min, spread.max),
    }
}

/// The same as JSON; what was not measured is null.
pub(crate) fn json(measured: &Measured) -> String {
    let ways: Vec<Value> = measured.ways.iter().map(way_json).collect();
    let report = json!({
        "checkpoint": measured.checkpoint,
        "device": measured.device.to_string(),
        "kernel": measured.kernel,
        "threads": measured.threads,
        "peak_memory_bytes": measured.peak_memory,
        "ways": ways,
    });
    format!("{report:#}\n")
}

fn way_json(way: &Way) -> Value {
    let spread = |spread: &Spread| match spread.count {
        0 => Value::Null,
        _ => json!({ "median": spread.median, "min": spread.min, "max": spread.max, "count": spread.count }),
    };
    json!({
        "decode": way.name,
        "requests": way.tally.requests,
        "tokens": way.tally.tokens,
        "forwards": way.tally.forwards,
        "tokens_per_forward": way.tally.tokens_per_forward(),
        "accepted_per_round": way.tally.accepted_per_round(),
        "decode_tokens_per_second": way.tally.decode_rate(),
        "request_tokens_per_second": way.tally.request_rate(),
        "vision_ms": spread(&way.vision),
        "prefill_ms": spread(&way.prefill),
        "draft_forward_ms": spread(&way.draft),
        "verify_forward_ms": spread(&way.verify),
        "wall_seconds": spread(&way.wall),
        "identical_to_ar": way.identical.map(|(same, all)| json!({ "requests": same, "of": all })),
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use super::*;
    use crate::tally::Tally;

    fn measured() -> Measured {
        let some = Spread { median: 2.0, min: 1.0, max: 4.0, count: 3 };
        let way = Way {
            name: "spec".to_owned(),
            tally: Tally {
                requests: 3,
                tokens: 33,
                prefill_tokens: 3,
                forwards: 6,
                decode_ms: 10.0,
                ..Tally::default()
            },
            vision: some,
            prefill: some,
            draft: some,
            verify: Spread::default(),
            wall: some,
            identical: Some((2, 3)),
        };
        Measured {
            checkpoint: "nano".to_owned(),
            device: engine::device::Device::Cpu,
            kernel: "scalar",
            threads: 1,
            peak_memory: None,
            ways: vec![way],
        }
    }

    #[test]
    fn people_read_what_was_not_measured() {
        let text = text(&measured());
        assert!(text.starts_with("nano, device cpu, kernel scalar, 1 thread, peak memory not measured\n"), "{text}");
        for line in [
            "  tokens per forward   5.00",
            "  accepted per round   not measured",
            "  decoding             3000.00 tok/s",
            "  draft                2.00 ms a forward (1.00 - 4.00)",
            "  verify               not measured",
            "  same ids as ar       2 of 3 (66.7 %)",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }

    #[test]
    fn programs_read_null_for_what_was_not_measured() {
        let value: Value = serde_json::from_str(&json(&measured())).unwrap();
        let way = &value["ways"][0];
        assert_eq!(way["tokens_per_forward"], 5.0);
        assert_eq!((&way["accepted_per_round"], &way["verify_forward_ms"]), (&Value::Null, &Value::Null));
        assert_eq!(way["identical_to_ar"], json!({ "requests": 2, "of": 3 }));
    }
}
