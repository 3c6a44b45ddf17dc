//! Parity on checkpoints that nobody has looked at: `tests/reference/fresh_parity.py` makes them, with what the reference
//! implementation computes, from any seed. Where no folder is named the test says that it was skipped.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![expect(clippy::print_stderr, reason = "tells what was skipped and how close the engine came")]

use std::path::{Path, PathBuf};

use kernels::{Format, Kernel};

use super::Model;
use super::image_processor::ImageProcessor;
use super::model_tests::{Golden, json, numbers};
use crate::cancel::Cancel;
use crate::checkpoint::Checkpoint;
use crate::decode::{Decode, Limits, Mask, Target, decode};
use crate::region::Task;

/// The variable that names the folder which the script wrote.
const FOLDER: &str = "GRAVITYOCR_FRESH_FIXTURES";

#[test]
fn fresh_checkpoints_agree_with_the_reference() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        eprintln!("skipped: {FOLDER} names no folder written by tests/reference/fresh_parity.py");
        return;
    };
    let mut cases: Vec<PathBuf> =
        std::fs::read_dir(folder.join("cases")).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    assert!(!cases.is_empty(), "{} holds no cases", folder.display());
    for case in cases {
        let info = json(&case.join("case.json"));
        let checkpoint = Checkpoint::open(&folder.join(info["model"].as_str().unwrap())).unwrap();
        for kernel in Kernel::available() {
            for format in [Format::F32, Format::Bf16] {
                agrees(&checkpoint, &case, kernel, format);
            }
        }
    }
}

/// One case on one kernel in one number format.
fn agrees(checkpoint: &Checkpoint, case: &Path, kernel: Kernel<'static>, format: Format) {
    let (info, golden) = (json(&case.join("case.json")), Golden::read(case));
    let name = format!("{} {} {format:?}", info["model"].as_str().unwrap(), kernel.name());
    let model = Model::load(checkpoint, kernel, format).unwrap();
    // In f32: the fixtures' tolerance, which is for logits of this deviation. In bf16 no more is asked than the reference
    // gives when it computes in bf16.
    let allowed = |key: &str| if format == Format::F32 { 2e-4 } else { info[key].as_f64().unwrap() as f32 };
    let (tolerance, rms_tolerance) = (allowed("bf16_error"), allowed("bf16_rms_error"));
    let (mut worst, mut squares, mut count) = (0.0f32, 0.0f64, 0usize);
    let mut check = |what: &str, got: &[f32], want: &[f32]| {
        assert_eq!(got.len(), want.len(), "{name}: {what}");
        let off = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(got.iter().all(|v| v.is_finite()) && off <= tolerance, "{name}: {what} is off by {off}");
        worst = worst.max(off);
        squares += got.iter().zip(want).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>();
        count += got.len();
    };

    let never = Cancel::new();
    let picture = image::open(case.join("resized.png")).unwrap().to_rgb8();
    let image = model
        .encode_image(&ImageProcessor::new(checkpoint.processor.clone()).process(&picture).unwrap(), &never)
        .unwrap();
    check("pooler_output", &image.rows, golden.get("pooler_output"));
    let prompt = checkpoint.prompt(Task::Text, image.grid[0] * image.grid[1]).unwrap();
    assert_eq!(prompt, golden.ids("prompt_ids"), "{name}: prompt");

    let vocab = checkpoint.config.text.vocab_size;
    let greedy = golden.ids("greedy_ids");
    let mut session = model.session(&prompt, &image, &never);
    session.keep_logits(true);
    let mut peaks = vec![session.prefill().unwrap()];
    for (step, (&id, want)) in greedy.iter().zip(golden.get("greedy_logits").chunks_exact(vocab)).enumerate() {
        check("greedy_logits", session.logits(0), want);
        let second =
            want.iter().enumerate().filter(|&(at, _)| at != id as usize).map(|(_, &v)| v).fold(f32::MIN, f32::max);
        if want[id as usize] - second > 2.0 * tolerance {
            assert_eq!(peaks[0].id, id, "{name}: token {step}");
        }
        session.forward(&[id], Mask::Causal, &mut peaks).unwrap();
    }

    for (k, state) in info["forced"].as_array().unwrap().iter().enumerate() {
        session.prefill().unwrap();
        let committed: Vec<u32> = numbers(&state["committed"]);
        if !committed.is_empty() {
            session.forward(&committed, Mask::Causal, &mut peaks).unwrap();
        }
        for (kind, mask) in [("draft", Mask::Draft), ("verify", Mask::Causal)] {
            let past = session.cached();
            let window: Vec<u32> = numbers(&state[format!("{kind}_window")]);
            session.forward(&window, mask, &mut peaks).unwrap();
            let logits = format!("{kind}_logits_{k}");
            for (row, want) in golden.get(&logits).chunks_exact(vocab).enumerate() {
                check(&format!("{logits} row {row}"), session.logits(row), want);
            }
            session.truncate(past + 1);
        }
    }

    let rms = (squares / count as f64).sqrt() as f32;
    assert!(rms <= rms_tolerance, "{name}: the root mean square distance is {rms}, over {rms_tolerance}");
    eprintln!(
        "{name}: off by {worst:.1e} at most, {rms:.1e} on average (allowed {tolerance:.1e}, {rms_tolerance:.1e})"
    );

    let ends = [];
    let limits = Limits { max_tokens: 60, end_tokens: &ends, cancel: &never };
    let run = |mode| {
        let mut session = model.session(&prompt, &image, &never);
        decode(&mut session, mode, checkpoint.drafter(), None, &limits, &mut ()).unwrap().tokens
    };
    assert_eq!(run(Decode::Ar), run(Decode::SPEC), "{name}: spec equals ar");
}
