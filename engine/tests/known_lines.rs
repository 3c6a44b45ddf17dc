//! The invariant on real pages: on every line whose box is known, speculative decoding gives the autoregressive tokens.
//! The pages are not part of the repository; without them the test says that it was skipped.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail by panicking, and says what it skipped")]

use std::path::Path;

use engine::checkpoint::Checkpoint;
use engine::decode::Decode;
use engine::page::RegionResult;
use engine::reader::{ReadOptions, Reader, Recorder};
use engine::region::{Label, Line, Rect, Region};
use kernels::Kernel;

#[derive(serde::Deserialize)]
struct KnownLine {
    #[serde(rename = "box")]
    bounds: [f64; 4],
}

fn tokens(region: &RegionResult) -> Vec<u32> {
    region.readings.iter().flat_map(|r| &r.rounds).flat_map(|r| &r.committed).map(|t| t.id).collect()
}

#[test]
fn speculative_equals_autoregressive_on_every_line_of_the_pages() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/pages");
    let Ok(entries) = std::fs::read_dir(&pages) else {
        println!("skipped: {} is not there", pages.display());
        return;
    };
    let reader = Reader::new(Checkpoint::bundled().unwrap(), Kernel::best()).unwrap();
    let (mut lines, mut drafts) = (0, 0);
    for file in entries.map(|entry| entry.unwrap().path()) {
        let Some(stem) = file.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_suffix(".lines.json")) else {
            continue;
        };
        let page = image::open(pages.join(format!("{stem}.png"))).unwrap().to_rgb8();
        let known: Vec<KnownLine> = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let regions: Vec<Region> = known
            .iter()
            .map(|line| {
                let [x0, y0, x1, y1] = line.bounds;
                let bounds = Rect::new(x0.floor() as u32, y0.floor() as u32, x1.ceil() as u32, y1.ceil() as u32);
                let line = Line { bounds, starts_paragraph: false, indent: 0 };
                Region { lines: vec![line], ..Region::new(Label::Text, bounds) }
            })
            .collect();
        let read = |decode| {
            let options = ReadOptions { decode, sampling: None, max_tokens: 4096 };
            reader.read_page(0, &page, regions.clone(), &options, &Recorder::default()).regions
        };
        for (ar, spec) in read(Decode::Ar).iter().zip(&read(Decode::SPEC)) {
            assert_eq!(tokens(ar), tokens(spec), "{stem}: {:?}", ar.region.bounds);
            lines += 1;
            drafts += spec.readings.iter().flat_map(|r| &r.rounds).map(|r| r.accepted).sum::<u32>();
        }
    }
    assert!(lines > 400 && drafts > lines, "{lines} lines, {drafts} accepted drafts");
}
