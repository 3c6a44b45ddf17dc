//! Reads pages whose line boxes are known (`NN.png` beside `NN.lines.json`), so that what the model loses can be told from
//! what the layout loses.
//!
//!     cargo run --release -p engine --example known_lines -- PAGES_FOLDER OUTPUT_FOLDER [f32|bf16|int8]
//!
//! writes `NN.txt` for each page, a line for each box, to be scored against the page's text.
#![allow(clippy::print_stdout, reason = "a measuring program talks to its terminal")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measuring program may stop at the first fault")]

#[path = "../tests/common/known.rs"]
mod known;
#[path = "../tests/common/reading.rs"]
mod reading;

use std::path::Path;
use std::time::Instant;

use engine::decode::Decode;
use engine::precision::WeightFormat;
use engine::{CheckpointSource, Engine, EngineOptions};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let pages = arguments.next().expect("a folder of pages");
    let output = arguments.next().expect("an output folder");
    std::fs::create_dir_all(&output).unwrap();
    let weights = match arguments.next().as_deref() {
        None | Some("bf16") => WeightFormat::Bf16,
        Some("f32") => WeightFormat::F32,
        Some("int8") => WeightFormat::Int8,
        Some(other) => panic!("no number format {other}"),
    };
    let engine = Engine::start(EngineOptions { weights, ..EngineOptions::new(CheckpointSource::Bundled) }).unwrap();
    let mut files: Vec<_> = std::fs::read_dir(&pages).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let Some(stem) = known::stem(&file) else { continue };
        let page = image::open(Path::new(&pages).join(format!("{stem}.png"))).unwrap().to_rgb8();
        let regions = known::regions(&file);
        let start = Instant::now();
        let read = reading::read(&engine, &page, regions, Decode::SPEC);
        println!("{stem}: {} lines in {:.2} s", read.len(), start.elapsed().as_secs_f64());
        let text: Vec<&str> = read.iter().map(|region| region.text.as_str()).collect();
        std::fs::write(Path::new(&output).join(format!("{stem}.txt")), text.join("\n")).unwrap();
    }
}
