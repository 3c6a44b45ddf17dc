//! What `bench` measured, for programs: JSON in which what was not measured is null.
//!
//! Medians stand under their own name, minimum and maximum beside them as `min_...` and `max_...`. MB and GB are powers of
//! ten.

use engine::measure::Card;
use serde_json::{Map, Value, json};

use super::{Measured, Spread, Stage, Together, Way};

/// The report, with a line break at its end.
pub(super) fn json(measured: &Measured) -> String {
    let Measured { facts, ceilings, spec, .. } = measured;
    let mut report = Map::new();
    let mut put = |key: &str, value: Value| drop(report.insert(key.to_owned(), value));

    put("checkpoint", json!(facts.checkpoint));
    put("device", json!(measured.device.to_string()));
    put("kernel", json!(facts.kernel));
    put("threads", json!(facts.threads));
    put("weights", json!(facts.format_name()));
    put("synthetic", json!(measured.is_synthetic()));
    put("random_weights", json!(facts.random_weights));
    put("runs", json!(measured.runs));
    put("load_s", json!(facts.load_seconds));
    put("weights_mb", json!(facts.weight_bytes / 1e6));
    put("peak_rss_mb", json!(measured.peak_memory.map(|bytes| bytes as f64 / 1e6)));

    let request = measured.requests.first();
    put("patches", json!(request.map(|request| request.patches)));
    put("prompt_tokens", json!(request.map(|request| request.prompt_tokens)));
    put("block", json!(facts.block));
    let requests = measured.requests.iter().map(|request| {
        json!({
            "width": request.width,
            "height": request.height,
            "patches": request.patches,
            "prompt_tokens": request.prompt_tokens,
        })
    });
    put("requests", requests.collect());

    for (name, stage) in measured.stages.named() {
        let mut object = stage_json(measured, stage);
        if name == "ar" {
            object.extend(spread("tokens_per_s", &measured.ar_rate()));
        }
        put(name, Value::Object(object));
    }
    let mut drafting = spread("tokens_per_s", &spec.map(|spec| spec.rate).unwrap_or_default());
    drafting.insert("tpf".to_owned(), json!(spec.and_then(|spec| spec.tpf)));
    drafting.insert("accepted_per_round".to_owned(), json!(spec.and_then(|spec| spec.accepted)));
    drafting.insert("assumed".to_owned(), json!(spec.map(|spec| spec.assumed)));
    put("spec", Value::Object(drafting));

    let mut machine = spread("read_gb_per_s", &ceilings.read);
    machine.extend(spread("copy_gb_per_s", &ceilings.copy));
    machine.extend(spread("product_gflop_per_s", &ceilings.product));
    machine.insert("product".to_owned(), json!(ceilings.product_sizes));
    put("ceilings", Value::Object(machine));
    if let Some(card) = &facts.card {
        put("card", card_json(measured, card));
        put("side_by_side", measured.side_by_side.iter().map(|together| together_json(measured, together)).collect());
    }
    put("ways", measured.ways.iter().map(way_json).collect());
    format!("{:#}\n", Value::Object(report))
}

fn stage_json(measured: &Measured, stage: &Stage) -> Map<String, Value> {
    let mut object = spread("ms", &stage.ms);
    object.extend(spread("gb_per_s", &stage.gigabytes));
    object.extend(spread("gflop_per_s", &stage.gigaflop));
    let (moved, ceiling) = measured.memory();
    object.insert(format!("of_{moved}"), json!(stage.gigabytes.share(ceiling)));
    object.insert("of_product".to_owned(), json!(stage.gigaflop.share(&measured.ceilings.product)));
    object
}

fn card_json(measured: &Measured, card: &Card) -> Value {
    let megabytes = |bytes: usize| bytes as f64 / 1e6;
    let plan = &card.plan;
    json!({
        "name": card.name,
        "compute_capability": [card.capability.0, card.capability.1],
        "memory_mb": card.memory as f64 / 1e6,
        "taken_mb": {
            "all": megabytes(plan.bytes()),
            "weights": megabytes(plan.weights),
            "caches": megabytes(plan.cache),
            "windows": megabytes(plan.window),
            "vision_and_prefill": megabytes(plan.bulk),
        },
        "requests_side_by_side": plan.extent.sequences,
        "no_graphs": measured.no_graphs,
    })
}

fn together_json(measured: &Measured, together: &Together) -> Value {
    let mut object = spread("round_ms", &together.ms);
    object.insert("requests".to_owned(), json!(together.requests));
    object.extend(spread("tokens_per_s", &measured.together_rate(together)));
    Value::Object(object)
}

/// The median under `key`, minimum and maximum beside it.
fn spread(key: &str, spread: &Spread) -> Map<String, Value> {
    let value = |value: f64| if spread.count == 0 { Value::Null } else { json!(value) };
    Map::from_iter([
        (key.to_owned(), value(spread.median)),
        (format!("min_{key}"), value(spread.min)),
        (format!("max_{key}"), value(spread.max)),
    ])
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
        "decode_rate": spread(&way.rate),
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
    use super::super::testing::{measured, on_card};
    use super::*;

    #[test]
    fn programs_read_null_for_what_was_not_measured() {
        let value: Value = serde_json::from_str(&json(&measured())).unwrap();
        assert_eq!(value["device"], "cpu");
        assert_eq!(value["peak_rss_mb"], Value::Null);
        assert_eq!(value["verify"]["ms"], Value::Null);
        let way = &value["ways"][0];
        assert_eq!(way["tokens_per_forward"], 5.0);
        assert_eq!((&way["accepted_per_round"], &way["verify_forward_ms"]), (&Value::Null, &Value::Null));
        assert_eq!(way["identical_to_ar"], json!({ "requests": 2, "of": 3 }));
    }

    #[test]
    fn medians_have_their_ends_beside_them() {
        let value: Value = serde_json::from_str(&json(&measured())).unwrap();
        let ar = &value["ar"];
        assert_eq!((&ar["ms"], &ar["min_ms"], &ar["max_ms"]), (&json!(2.0), &json!(1.0), &json!(4.0)));
        // No AR way was decoded, so its rate follows from the stage.
        assert_eq!((&ar["tokens_per_s"], &ar["max_tokens_per_s"]), (&json!(500.0), &json!(1000.0)));
        assert_eq!(ar["of_read"], 0.5);
        assert_eq!(value["ceilings"]["read_gb_per_s"], 4.0);
    }
    #[test]
    fn the_shares_of_a_card_are_of_its_copies() {
        let value: Value = serde_json::from_str(&json(&on_card())).unwrap();
        assert_eq!(
            (&value["device"], &value["kernel"], &value["weights"]),
            (&"cuda:1".into(), &"cuda".into(), &"bf16".into())
        );
        // 2 GB/s of 8.
        assert_eq!((&value["ar"]["of_copy"], value["ar"].get("of_read")), (&json!(0.25), None));
        assert_eq!(value["ceilings"]["read_gb_per_s"], Value::Null);
        assert_eq!((&value["round"]["ms"], &value["round_verify"]["ms"]), (&json!(4.0), &json!(2.0)));
        // A token a millisecond, as decoding waits for it.
        assert_eq!((&value["token"]["ms"], &value["ar"]["tokens_per_s"]), (&json!(1.0), &json!(1000.0)));
        let card = &value["card"];
        assert_eq!((&card["name"], &card["compute_capability"]), (&"NVIDIA H200".into(), &json!([9, 0])));
        assert_eq!((&card["taken_mb"]["weights"], &card["taken_mb"]["caches"]), (&json!(1800.0), &json!(2150.0)));
        assert_eq!(card["no_graphs"], "operation not permitted");
        // Two requests, 16 accepted and two more tokens each, in 5 ms.
        let two = &value["side_by_side"][1];
        assert_eq!((&two["requests"], &two["round_ms"]), (&json!(2), &json!(5.0)));
        assert!((two["tokens_per_s"].as_f64().unwrap() - 7200.0).abs() < 1e-6, "{two}");
    }

    #[test]
    fn the_processor_has_no_keys_of_cards() {
        let value: Value = serde_json::from_str(&json(&measured())).unwrap();
        for key in ["card", "side_by_side", "token", "round", "round_draft"] {
            assert_eq!(value.get(key), None, "{key}");
        }
    }
}
