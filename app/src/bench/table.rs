//! What `bench` measured, for people: tables, with what was not measured said so.

use engine::device::{Device, Plan};

use super::{CeilingSpreads, Measured, Spread, Stage, Way};
use crate::devices::size;

/// Everything that was measured.
pub(super) fn text(measured: &Measured) -> String {
    let tables = [head(measured), ceilings(measured), stages(measured), side_by_side(measured), rates(measured)];
    let ways = measured.ways.iter().map(way);
    tables.into_iter().chain(ways).filter(|table| !table.is_empty()).collect::<Vec<_>>().join("\n")
}

/// What was measured, on what.
fn head(measured: &Measured) -> String {
    let facts = &measured.facts;
    let peak = measured.peak_memory.map_or("not measured".to_owned(), |bytes| format!("{:.0} MB", bytes as f64 / 1e6));
    let machine = match &facts.card {
        None => {
            let threads = facts.threads;
            format!(
                "kernel {}, {threads} thread{}, peak memory {peak}\n",
                facts.kernel,
                if threads == 1 { "" } else { "s" }
            )
        }
        Some(card) => {
            let ((major, minor), memory) = (card.capability, size(card.memory));
            let name = &card.name;
            let room = taken(&card.plan);
            format!("{name}, {memory}, compute capability {major}.{minor}; peak memory beside it {peak}\n{room}")
        }
    };
    let no_graphs = measured
        .no_graphs
        .as_ref()
        .map(|reason| format!("the driver makes no graphs, so every kernel is started by itself: {reason}\n"));
    format!(
        "{}{}: weights {}, {:.0} MB, loaded in {:.2} s\ndevice {}, {machine}{}",
        facts.checkpoint,
        if facts.random_weights { " (synthetic: random weights)" } else { "" },
        facts.format_name(),
        facts.weight_bytes / 1e6,
        facts.load_seconds,
        measured.device,
        no_graphs.unwrap_or_default()
    )
}

/// A card's memory by purpose.
fn taken(plan: &Plan) -> String {
    let [all, weights, caches, windows, bulk] =
        [plan.bytes(), plan.weights, plan.cache, plan.window, plan.bulk].map(|bytes| size(bytes as u64));
    format!(
        "{all} of the card: weights {weights}, caches {caches}, windows {windows}, vision and prefill {bulk}; {}\n",
        match plan.extent.sequences {
            1 => "one request at a time".to_owned(),
            requests => format!("{requests} requests side by side"),
        }
    )
}

/// The ceilings.
fn ceilings(measured: &Measured) -> String {
    let CeilingSpreads { read, copy, product, product_sizes: [rows, inner, columns] } = measured.ceilings;
    let (machine, reading) = match measured.device {
        Device::Cpu => ("this machine", Some(("reading memory".to_owned(), "GB/s", read))),
        Device::Cuda(_) => ("this card", None),
    };
    let mut out = format!("{machine:<34} {:>9} {:>9} {:>9}\n", "median", "min", "max");
    for (name, unit, spread) in reading.into_iter().chain([
        ("copying memory, both ways".to_owned(), "GB/s", copy),
        (format!("product {rows} x {inner} x {columns}"), "GFLOP/s", product),
    ]) {
        out.push_str(&format!("  {name:<32}{} {unit}\n", columns_of(&spread, 1)));
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
        "stage",
        "ms",
        "min",
        "max",
        "GB/s",
        format!("of {}", measured.memory().0),
        "GFLOP/s",
        "of prod."
    );
    for (name, stage) in measured.stages.named() {
        let label = match name {
            "ar" => "ar (1 row)".to_owned(),
            "draft" | "verify" => format!("{name}{rows}"),
            "token" => "decoding a token".to_owned(),
            "round" => "decoding a round".to_owned(),
            "round_draft" => "  its draft".to_owned(),
            "round_verify" => "  its verification".to_owned(),
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
        columns_of(&stage.ms, digits(measured)),
        stage.gigabytes.median,
        share(stage.gigabytes.share(measured.memory().1)),
        stage.gigaflop.median,
        share(stage.gigaflop.share(&measured.ceilings.product)),
    )
}

/// Decimals of milliseconds; a card's are short.
fn digits(measured: &Measured) -> usize {
    match measured.device {
        Device::Cpu => 2,
        Device::Cuda(_) => 3,
    }
}

/// Rounds of several requests at once; nothing where there are none.
fn side_by_side(measured: &Measured) -> String {
    if measured.side_by_side.is_empty() {
        return String::new();
    }
    let mut out =
        format!("{:<22}{:>10} {:>9} {:>9} {:>16}\n", "rounds side by side", "ms", "min", "max", "tok/s together");
    for together in &measured.side_by_side {
        let requests = format!("{} request{}", together.requests, if together.requests == 1 { "" } else { "s" });
        let rate = measured.together_rate(together);
        let rate = if rate.count == 0 { "-".to_owned() } else { format!("{:.1}", rate.median) };
        out.push_str(&format!("  {requests:<20}{} {rate:>16}\n", columns_of(&together.ms, digits(measured))));
    }
    out
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
    notes.extend(measured.stages.forwards_per_round().map(|times| format!("a round takes {times:.2} ar forwards")));
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
    use super::super::testing::{measured, on_card};
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
    fn a_card_is_named_with_its_memory_its_ceilings_and_its_rounds() {
        let text = text(&on_card());
        let start = "nano: weights bf16, 1800 MB, loaded in 0.50 s\ndevice cuda:1, NVIDIA H200, 150.8 GB, compute capability 9.0; ";
        assert!(text.starts_with(start), "{text}");
        assert!(text.contains(" of the card: weights 1.8 GB, caches 2.1 GB, windows "), "{text}");
        assert!(text.contains(", vision and prefill 230 MB; one request at a time\n"), "{text}");
        has(&text, "the driver makes no graphs, so every kernel is started by itself: operation not permitted");
        has(&text, "this card                             median       min       max");
        has(&text, "  copying memory, both ways              8.0       8.0      16.0 GB/s");
        has(&text, "  stage                       ms       min       max      GB/s  of copy   GFLOP/s of prod.");
        has(&text, "  ar (1 row)               2.000     1.000     4.000      2.00     25 %       2.0     25 %");
        has(&text, "  decoding a token         1.000     1.000     2.000      2.00     25 %       2.0     25 %");
        has(&text, "  decoding a round         4.000     4.000     8.000      2.00     25 %       2.0     25 %");
        has(&text, "    its draft              1.500     1.500     3.000      2.00     25 %       2.0     25 %");
        has(&text, "rounds side by side           ms       min       max   tok/s together");
        has(&text, "  1 request                4.000     4.000     8.000           4500.0");
        has(&text, "  2 requests               5.000     5.000    10.000           7200.0");
        assert!(text.contains("a round takes 4.00 ar forwards, synthetic: assumed acceptance"), "{text}");
        assert!(!text.contains("reading memory") && !text.contains("of read"), "{text}");
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
