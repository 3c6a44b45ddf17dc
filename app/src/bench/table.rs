//! What `bench` measured, for people: tables, with what was not measured said so.

use engine::device::Device;

use super::{Measured, Spread, Stage, Way};

/// Everything that was measured.
pub(super) fn text(measured: &Measured) -> String {
    let tables = match measured.device {
        Device::Cpu => vec![head(measured), machine(measured), stages(measured), rates(measured)],
        // What the processor can do at best says nothing of a card.
        Device::Cuda(_) => vec![head(measured), rates(measured)],
    };
    let ways = measured.ways.iter().map(way);
    tables.into_iter().chain(ways).filter(|table| !table.is_empty()).collect::<Vec<_>>().join("\n")
}

/// What was measured, on what.
fn head(measured: &Measured) -> String {
    let facts = &measured.facts;
    let memory =
        measured.peak_memory.map_or("not measured".to_owned(), |bytes| format!("{:.0} MB", bytes as f64 / 1e6));
    let name = &facts.checkpoint;
    let (format, load) = (facts.format_name(), facts.load_seconds);
    let model = match measured.device {
        Device::Cpu => format!("weights {format}, {:.0} MB, loaded in {load:.2} s", facts.weight_bytes / 1e6),
        Device::Cuda(_) => "weights bf16".to_owned(),
    };
    format!(
        "{name}{}: {model}\ndevice {}, kernel {}, {} thread{}, peak memory {memory}\n",
        if facts.random_weights { " (synthetic: random weights)" } else { "" },
        measured.device,
        facts.kernel,
        facts.threads,
        if facts.threads == 1 { "" } else { "s" }
    )
}

/// The ceilings.
fn machine(measured: &Measured) -> String {
    let [rows, inner, columns] = engine::measure::Ceilings::PRODUCT;
    let ceilings = &measured.ceilings;
    let mut out = format!("{:<34} {:>9} {:>9} {:>9}\n", "this machine", "median", "min", "max");
    for (name, unit, spread) in [
        ("reading memory".to_owned(), "GB/s", &ceilings.read),
        ("copying memory, both ways".to_owned(), "GB/s", &ceilings.copy),
        (format!("product {rows} x {inner} x {columns}"), "GFLOP/s", &ceilings.product),
    ] {
        out.push_str(&format!("  {name:<32}{} {unit}\n", columns_of(spread, 1)));
    }
    out
}

/// The stages beside the ceilings.
fn stages(measured: &Measured) -> String {
    let runs = format!("{} run{}", measured.runs, if measured.runs == 1 { "" } else { "s" });
    let request = match measured.requests.as_slice() {
        [one] => format!(
            "one request of {} x {} pixels: {} patches, {} prompt tokens; {runs}",
            one.width, one.height, one.patches, one.prompt_tokens
        ),
        many => format!("{} requests; {runs}", many.len()),
    };
    let rows = measured.facts.block.map_or(String::new(), |block| format!(" ({} rows)", block + 1));
    let mut out = format!(
        "{request}\n  {:<20}{:>10} {:>9} {:>9} {:>9} {:>8} {:>9} {:>8}\n",
        "stage", "ms", "min", "max", "GB/s", "of read", "GFLOP/s", "of prod."
    );
    for (name, stage) in measured.stages.named() {
        let label = match name {
            "ar" => "ar (1 row)".to_owned(),
            "draft" | "verify" => format!("{name}{rows}"),
            _ => name.to_owned(),
        };
        out.push_str(&format!("  {label:<20}{}\n", stage_columns(measured, stage)));
    }
    out
}

fn stage_columns(measured: &Measured, stage: &Stage) -> String {
    if stage.ms.count == 0 {
        return " not measured".to_owned();
    }
    let share = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.0} %", share * 100.0));
    format!(
        "{} {:>9.2} {:>8} {:>9.1} {:>8}",
        columns_of(&stage.ms, 2),
        stage.gigabytes.median,
        share(stage.gigabytes.share(&measured.ceilings.read)),
        stage.gigaflop.median,
        share(stage.gigaflop.share(&measured.ceilings.product)),
    )
}

/// Median, minimum and maximum in columns.
fn columns_of(spread: &Spread, digits: usize) -> String {
    match spread.count {
        0 => " not measured".to_owned(),
        _ => format!("{:>10.digits$} {:>9.digits$} {:>9.digits$}", spread.median, spread.min, spread.max),
    }
}

/// AR against drafting.
fn rates(measured: &Measured) -> String {
    let rate = |spread: &Spread| match spread.count {
        0 => " not measured".to_owned(),
        _ => format!("{} tok/s", columns_of(spread, 1)),
    };
    let ar = measured.ar_rate();
    let mut out = format!("{:<22}{:>10} {:>9} {:>9}\n", "decoding", "median", "min", "max");
    out.push_str(&format!("  {:<20}{}\n", "ar", rate(&ar)));
    let Some(spec) = measured.spec else { return out };
    out.push_str(&format!("  {:<20}{}\n", "spec", rate(&spec.rate)));
    let mut notes = Vec::new();
    notes.extend(spec.tpf.map(|tpf| format!("{tpf:.2} tokens per forward")));
    notes.extend(spec.accepted.map(|accepted| format!("{accepted:.2} accepted per round")));
    notes.extend(spec.rate.share(&ar).map(|times| format!("{times:.2} x ar")));
    let (draft, verify) = (&measured.stages.draft.ms, &measured.stages.verify.ms);
    if let (Some(draft), Some(verify)) = (draft.share(&measured.stages.ar.ms), verify.share(&measured.stages.ar.ms)) {
        notes.push(format!("a round takes {:.2} ar forwards", draft + verify));
    }
    if spec.assumed {
        notes.push("synthetic: assumed acceptance".to_owned());
    } else if measured.facts.random_weights {
        notes.push("synthetic: random weights".to_owned());
    }
    out.push_str(&format!("  {}\n", notes.join(", ")));
    out
}

fn way(way: &Way) -> String {
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

#[cfg(test)]
mod tests {
    use super::super::testing::measured;
    use super::super::{Spec, Spread};
    use super::*;

    fn has(text: &str, line: &str) {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }

    #[test]
    fn people_read_what_was_not_measured() {
        let text = text(&measured());
        has(&text, "nano: weights bf16, 2 MB, loaded in 0.50 s");
        has(&text, "device cpu, kernel scalar, 1 thread, peak memory not measured");
        has(&text, "  tokens per forward   5.00");
        has(&text, "  accepted per round   not measured");
        has(&text, "  decoding             3000.00 tok/s");
        has(&text, "  draft                2.00 ms a forward (1.00 - 4.00)");
        has(&text, "  verify               not measured");
        has(&text, "  same ids as ar       2 of 3 (66.7 %)");
        has(&text, "  verify (33 rows)     not measured");
        assert!(!text.contains("synthetic"), "{text}");
    }

    #[test]
    fn stages_stand_beside_the_ceilings() {
        let text = text(&measured());
        has(&text, "  stage                       ms       min       max      GB/s  of read   GFLOP/s of prod.");
        has(&text, "  ar (1 row)                2.00      1.00      4.00      2.00     50 %       2.0     25 %");
    }

    #[test]
    fn a_card_is_not_measured_by_what_the_processor_can_do() {
        let mut measured = measured();
        measured.device = Device::Cuda(1);
        let text = text(&measured);
        assert!(text.starts_with("nano: weights bf16\ndevice cuda:1, kernel scalar, "), "{text}");
        has(&text, "  draft                2.00 ms a forward (1.00 - 4.00)");
        assert!(!text.contains("this machine") && !text.contains("of read"), "{text}");
    }

    #[test]
    fn what_is_synthetic_is_called_so() {
        let mut measured = measured();
        measured.facts.random_weights = true;
        let rate = Spread { median: 1500.0, min: 1000.0, max: 2000.0, count: 3 };
        measured.spec = Some(Spec { rate, tpf: Some(9.7), accepted: Some(17.4), assumed: true });
        let text = text(&measured);
        assert!(text.starts_with("nano (synthetic: random weights): weights bf16"), "{text}");
        has(&text, "  9.70 tokens per forward, 17.40 accepted per round, 3.00 x ar, synthetic: assumed acceptance");
    }
}
