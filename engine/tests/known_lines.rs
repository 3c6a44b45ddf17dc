//! The invariant on real pages: on every line whose box is known, speculative decoding gives the autoregressive tokens.
//! The pages are not part of the repository; without them the test says that it was skipped, which on CI is a fault.

#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

#[path = "common/known.rs"]
mod known;
#[path = "common/reading.rs"]
mod reading;
#[path = "../../tests/skipped.rs"]
mod skipped;

use std::path::Path;

use engine::decode::Decode;
use engine::page::RegionResult;
use engine::precision::WeightFormat;
use engine::{CheckpointSource, Engine, EngineOptions};

fn tokens(region: &RegionResult) -> Vec<u32> {
    region.readings.iter().flat_map(|r| &r.rounds).flat_map(|r| &r.committed).map(|t| t.id).collect()
}

#[test]
fn speculative_equals_autoregressive_on_every_line_of_the_pages() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/pages");
    let Ok(entries) = std::fs::read_dir(&pages) else {
        return skipped::skipped(&format!("{} is not there", pages.display()));
    };
    let weights = WeightFormat::Bf16;
    let engine = Engine::start(EngineOptions { weights, ..EngineOptions::new(CheckpointSource::Bundled) }).unwrap();
    let (mut lines, mut drafts) = (0, 0);
    for file in entries.map(|entry| entry.unwrap().path()) {
        let Some(stem) = known::stem(&file) else { continue };
        let page = image::open(pages.join(format!("{stem}.png"))).unwrap().to_rgb8();
        let regions = known::regions(&file);
        let read = |decode| reading::read(&engine, &page, regions.clone(), decode);
        for (ar, spec) in read(Decode::Ar).iter().zip(&read(Decode::SPEC)) {
            assert_eq!(tokens(ar), tokens(spec), "{stem}: {:?}", ar.region.bounds);
            lines += 1;
            drafts += spec.readings.iter().flat_map(|r| &r.rounds).map(|r| r.accepted).sum::<u32>();
        }
    }
    assert!(lines > 400 && drafts > lines, "{lines} lines, {drafts} accepted drafts");
}
