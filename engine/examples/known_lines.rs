//! Reads pages whose line boxes are known (`NN.png` beside `NN.lines.json`), so that what the model loses can be told from
//! what the layout loses. Also checks that speculative decoding gives the autoregressive tokens on every line.
//!
//! `cargo run --release -p engine --example known_lines -- PAGES_FOLDER OUT_FOLDER` writes `NN.txt` for each page, to be
//! scored against the pages' text.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measuring tool, not the product")]

use std::path::Path;
use std::time::Instant;

use engine::checkpoint::Checkpoint;
use engine::decode::Decode;
use engine::reader::{ReadOptions, Reader, Recorder};
use engine::region::{Label, Line, Rect, Region};
use serde_json::Value;

fn main() {
    let folders: Vec<String> = std::env::args().skip(1).collect();
    let [pages, out] = folders.as_slice() else { panic!("usage: known_lines PAGES_FOLDER OUT_FOLDER") };
    std::fs::create_dir_all(out).unwrap();
    let reader = Reader::new(Checkpoint::bundled().unwrap(), kernels::Kernel::best()).unwrap();
    let mut paths: Vec<_> = std::fs::read_dir(pages).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let (mut lines, mut same, mut tokens, mut forwards, mut accepted, mut rounds) = (0, 0, 0, 0, 0, 0);
    for path in paths {
        let Some(stem) = path.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_suffix(".lines.json")) else {
            continue;
        };
        let image = image::open(Path::new(pages).join(format!("{stem}.png"))).unwrap().to_rgb8();
        let boxes: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let regions: Vec<Region> = boxes
            .as_array()
            .unwrap()
            .iter()
            .map(|line| {
                let b: Vec<f64> = line["box"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
                let bounds =
                    Rect::new(b[0].floor() as u32, b[1].floor() as u32, b[2].ceil() as u32, b[3].ceil() as u32);
                let line = Line { bounds, starts_paragraph: false, indent: 0 };
                Region { lines: vec![line], ..Region::new(Label::Text, bounds) }
            })
            .collect();
        let read = |decode| {
            let options = ReadOptions { decode, sampling: None, max_tokens: 4096 };
            let start = Instant::now();
            let reading = reader.read_page(0, &image, regions.clone(), &options, &Recorder::default());
            (reading.regions, start.elapsed().as_secs_f64())
        };
        let (ar, ar_seconds) = read(Decode::Ar);
        let (spec, spec_seconds) = read(Decode::SPEC);
        println!("{stem}: {} lines, AR {ar_seconds:.2} s, speculative {spec_seconds:.2} s", regions.len());
        for (a, s) in ar.iter().zip(&spec) {
            let ids = |r: &engine::page::RegionResult| -> Vec<u32> {
                r.readings.iter().flat_map(|r| &r.rounds).flat_map(|r| &r.committed).map(|t| t.id).collect()
            };
            lines += 1;
            same += usize::from(ids(a) == ids(s));
            for round in s.readings.iter().flat_map(|r| r.rounds.iter().skip(1)) {
                tokens += round.committed.len();
                forwards += round.draft_forwards + round.verify_forwards;
                accepted += round.accepted;
                rounds += 1;
            }
        }
        let text: Vec<&str> = spec.iter().map(|r| r.text.as_str()).collect();
        std::fs::write(Path::new(out).join(format!("{stem}.txt")), text.join("\n")).unwrap();
    }
    println!("{same} of {lines} lines have the same tokens in both modes");
    println!(
        "TPF {:.2}, {:.2} accepted drafts a round",
        f64::from(tokens as u32) / f64::from(forwards),
        f64::from(accepted) / f64::from(rounds)
    );
}
