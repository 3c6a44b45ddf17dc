use std::fs;

use serde_json::Value;

use super::support::{Sandbox, few_lines, root};

/// The tiny architecture's settings without weights or tokenizer, in a folder of the sandbox. It drafts 32 tokens.
fn config_only(sandbox: &Sandbox, name: &str) {
    for file in ["config.json", "preprocessor_config.json", "generation_config.json"] {
        let bytes = fs::read(root().join("tests/fixtures/glm_ocr_tiny").join(file)).unwrap();
        sandbox.write(&format!("{name}/{file}"), bytes);
    }
    sandbox.write(&format!("{name}/block_diffusion.json"), r#"{"bd_size": 32, "mask_id": 599}"#);
}

fn json(out: &str) -> Value {
    serde_json::from_str(out).unwrap()
}

#[test]
fn every_way_is_measured_and_drafting_changes_no_token() {
    let sandbox = Sandbox::new();
    sandbox.write("lines.png", few_lines());
    let ran = sandbox.run(["bench", "lines.png", "--decode", "ar,spec,diffusion", "--runs", "2", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let report = json(&ran.out);
    assert_eq!(report["checkpoint"], "gravity-nano");
    assert_eq!((&report["synthetic"], &report["weights"]), (&Value::Bool(false), &"bf16".into()));
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
    // What was really decoded is the report's, too.
    assert_eq!(report["spec"]["tpf"], spec["tokens_per_forward"]);
    assert_eq!(report["ar"]["tokens_per_s"], ar["decode_rate"]["median"]);
}

#[test]
fn a_folder_with_sizes_only_is_measured_with_random_weights() {
    let sandbox = Sandbox::new();
    config_only(&sandbox, "sizes");
    let ran = sandbox.run(["bench", "--checkpoint", "sizes", "--assume-accepted", "17.4", "--runs", "2", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let report = json(&ran.out);
    for (object, keys) in [
        ("ar", &["tokens_per_s", "min_tokens_per_s", "max_tokens_per_s", "ms", "of_read"][..]),
        ("spec", &["tokens_per_s", "min_tokens_per_s", "max_tokens_per_s", "tpf", "accepted_per_round"]),
        ("draft", &["ms", "min_ms", "max_ms", "gb_per_s", "gflop_per_s", "of_product"]),
        ("verify", &["ms", "min_ms", "max_ms"]),
        ("vision", &["ms", "min_ms", "max_ms"]),
        ("prefill", &["ms", "min_ms", "max_ms"]),
        ("ceilings", &["read_gb_per_s", "copy_gb_per_s", "product_gflop_per_s"]),
    ] {
        for key in keys {
            assert!(report[object][key].as_f64().is_some_and(|value| value > 0.0), "{object}.{key} in {report}");
        }
    }
    assert_eq!((&report["synthetic"], &report["random_weights"]), (&Value::Bool(true), &Value::Bool(true)));
    // A round of 17.4 accepted drafts commits 19.4 tokens in two forwards.
    let tpf = report["spec"]["tpf"].as_f64().unwrap();
    assert!((tpf - 9.7).abs() < 1e-9, "{tpf}");
    assert_eq!((&report["spec"]["accepted_per_round"], &report["spec"]["assumed"]), (&17.4.into(), &true.into()));
    assert_eq!((&report["patches"], &report["prompt_tokens"]), (&1276.into(), &330.into()));
    assert_eq!((&report["weights"], &report["block"], &report["runs"]), (&"f32".into(), &32.into(), &2.into()));
    assert!(report["kernel"].is_string() && report["threads"].is_u64());
    assert!(report["ways"].as_array().unwrap().is_empty(), "an assumed acceptance asks for no decoding");
    if cfg!(target_os = "linux") {
        assert!(report["peak_rss_mb"].as_f64().is_some_and(|mb| mb > 1.0), "{report}");
    }
}

#[test]
fn random_weights_are_called_synthetic_and_decode_the_same_in_both_ways() {
    let sandbox = Sandbox::new();
    config_only(&sandbox, "sizes");
    let ran = sandbox.run(["bench", "--checkpoint", "sizes", "--runs", "1", "--threads", "1"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.starts_with("sizes (synthetic: random weights): weights f32, "), "{}", ran.out);
    for line in [
        "one request of 800 x 300 pixels: 1276 patches, 330 prompt tokens; 1 run",
        "  same ids as ar       1 of 1 (100.0 %)",
    ] {
        assert!(ran.out.lines().any(|found| found == line), "{line} in {}", ran.out);
    }
    assert!(!ran.out.contains("assumed"), "{}", ran.out);
}

#[test]
fn other_commands_refuse_a_folder_with_sizes_only() {
    let sandbox = Sandbox::new();
    config_only(&sandbox, "sizes");
    sandbox.write("lines.png", few_lines());
    for args in [&["recognize", "lines.png", "--checkpoint", "sizes"][..], &["models", "verify", "sizes"]] {
        let ran = sandbox.run(args.iter().copied());
        assert_eq!((ran.code, ran.out.as_str()), (1, ""));
        assert!(ran.err.contains("tokenizer.json is missing"), "{}", ran.err);
    }
}

#[test]
fn what_the_checkpoint_cannot_do_is_wrong_usage() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(["bench", "--assume-accepted", "33"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert_eq!(ran.faults(), ["--assume-accepted 33 is more than the 32 drafts of a round"]);

    config_only(&sandbox, "sizes");
    fs::remove_file(sandbox.path("sizes/block_diffusion.json")).unwrap();
    let ran = sandbox.run(["bench", "--checkpoint", "sizes", "--decode", "spec"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.faults()[0].ends_with("only autoregressive decoding is offered"), "{}", ran.err);
    for wrong in [["--weights", "int4"], ["--assume-accepted", "-1"], ["--runs", "0"]] {
        let ran = sandbox.run(["bench"].into_iter().chain(wrong));
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{wrong:?}: {}", ran.err);
    }
}

/// Wherever there is no such card.
#[test]
fn the_processor_is_not_measured_in_place_of_a_card() {
    let sandbox = Sandbox::new();
    sandbox.write("lines.png", few_lines());
    config_only(&sandbox, "sizes");
    for args in [
        &["lines.png", "--runs", "1"][..],
        &["--assume-accepted", "17"],
        &["--checkpoint", "sizes", "--json"],
        &["--checkpoint", "sizes", "--assume-accepted", "17"],
    ] {
        let ran = sandbox.run(["bench", "--device", "cuda:1023"].iter().chain(args));
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{args:?}");
        let [fault] = ran.faults()[..] else { panic!("one sentence: {}", ran.err) };
        assert!(fault.starts_with("cuda:1023 cannot be used: "), "{fault}");
        assert!(fault.ends_with(", so nothing was measured"), "{fault}");
    }
}

#[test]
fn a_fault_is_no_measurement() {
    let sandbox = Sandbox::new();
    sandbox.write("empty.png", "");
    let ran = sandbox.run(["bench", "empty.png"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.faults()[0].contains("empty.png is empty"), "{}", ran.err);
}
