//! Measures the built-in layout against pages whose line boxes are known, and draws what it found.
//!
//!     cargo run --example layout_eval -- PAGES_FOLDER OUTPUT_FOLDER [NAME_PREFIX] [--read]
//!
//! For every image in the folder an overlay `NAME.png` is written; where `NAME.lines.json` is present, line recall and
//! order are printed and `NAME.md` is written: the known text of the lines in the order found, as a perfect reader would
//! return it. Scoring that file shows what the layout alone costs. With `--read`, `NAME.read.md` is what the bundled
//! checkpoint reads, furniture included.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a measuring program talks to its terminal")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measuring program may stop at the first fault")]

#[path = "../tests/common/reading.rs"]
mod reading;

use std::path::Path;
use std::time::Instant;

use engine::decode::Decode;
use engine::layout::{detect, straighten};
use engine::region::{Label, Rect, Region};
use engine::{CheckpointSource, Engine, EngineOptions};
use image::{Rgb, RgbImage};

#[derive(serde::Deserialize)]
struct Truth {
    #[serde(rename = "box")]
    bounds: [f32; 4],
    text: String,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let pages = arguments.next().expect("a folder of pages");
    let output = arguments.next().expect("an output folder");
    let rest: Vec<String> = arguments.collect();
    let engine = rest
        .iter()
        .any(|a| a == "--read")
        .then(|| Engine::start(EngineOptions::new(CheckpointSource::Bundled)).unwrap());
    let prefix = rest.into_iter().find(|a| a != "--read").unwrap_or_default();
    std::fs::create_dir_all(&output).unwrap();
    let mut paths: Vec<_> = std::fs::read_dir(&pages).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let is_image = path.extension().is_some_and(|e| e == "png" || e == "jpg");
        if is_image && name.starts_with(&prefix) {
            measure(&path, &name, Path::new(&output), engine.as_ref());
        }
    }
}

fn measure(path: &Path, name: &str, output: &Path, engine: Option<&Engine>) {
    let image = image::ImageReader::open(path).unwrap().with_guessed_format().unwrap();
    let page = image.decode().unwrap().to_rgb8();
    let start = Instant::now();
    let (page, skew) = straighten(page);
    let straightened = start.elapsed();
    let start = Instant::now();
    let regions = detect(&page);
    let detected = start.elapsed();
    let lines: Vec<Rect> = regions.iter().flat_map(region_lines).collect();
    println!(
        "{name:.30}: skew {skew:.2}, {} regions, {} lines, straighten {straightened:.0?}, detect {detected:.0?}",
        regions.len(),
        lines.len()
    );
    if let Ok(json) = std::fs::read(path.with_extension("lines.json")) {
        let truth: Vec<Truth> = serde_json::from_slice(&json).unwrap();
        let text = compare(&lines, &truth);
        std::fs::write(output.join(format!("{name}.md")), text).unwrap();
    }
    if let Some(engine) = engine {
        let read = reading::read(engine, &page, regions.clone(), Decode::SPEC);
        let text: Vec<&str> = read.iter().map(|r| r.text.as_str()).filter(|t| !t.is_empty()).collect();
        std::fs::write(output.join(format!("{name}.read.md")), text.join("\n\n")).unwrap();
    }
    draw(page, &regions).save(output.join(format!("{name}.png"))).unwrap();
}

fn region_lines(region: &Region) -> Vec<Rect> {
    let cells = region.cells.iter().flat_map(|c| &c.lines);
    region.lines.iter().chain(cells).map(|l| l.bounds).collect()
}

/// Prints recall and order; returns the known text in the order found.
fn compare(lines: &[Rect], truth: &[Truth]) -> String {
    let rect = |t: &Truth| {
        let [x0, y0, x1, y1] = t.bounds.map(|v| v.max(0.0) as u32);
        Rect { x0, y0, x1: x1 + 1, y1: y1 + 1 }
    };
    let mut first_seen = vec![None; truth.len()];
    let mut pieces = vec![0; truth.len()];
    let mut covered = vec![0u32; truth.len()];
    let (mut invented, mut merged) = (0, 0);
    let mut out = String::new();
    let mut order = Vec::new();
    for line in lines {
        let mut held: Vec<(u32, usize)> = Vec::new();
        for (index, t) in truth.iter().enumerate() {
            let t = rect(t);
            let common = line.intersection(&t);
            let tall = common.height() * 2 >= t.height().min(line.height());
            if tall && common.width() * 10 >= t.width().min(line.width()) * 3 && common.width() > 0 {
                held.push((t.x0, index));
                pieces[index] += 1;
                covered[index] += common.width();
            }
        }
        held.sort_unstable();
        if held.is_empty() {
            invented += 1;
            out.push_str("###\n");
            println!("  no text known at {line:?}");
        }
        let rows = held.iter().any(|a| {
            held.iter().any(|b| {
                let (a, b) = (rect(&truth[a.1]), rect(&truth[b.1]));
                a.y1 < b.y0 + a.height() / 3
            })
        });
        if rows {
            merged += 1;
            println!("  several rows in one line at {line:?}");
        }
        for (_, index) in held {
            if first_seen[index].is_none() {
                first_seen[index] = Some(order.len());
                order.push(index);
                out.push_str(&truth[index].text);
                out.push(' ');
            }
        }
        out.push('\n');
    }
    let found = first_seen.iter().flatten().count();
    for (index, seen) in first_seen.iter().enumerate() {
        if seen.is_none() {
            println!("  lost: {:?} {:?}", truth[index].bounds, truth[index].text);
        }
    }
    let split = pieces.iter().filter(|&&n| n > 1).count();
    let whole = truth.iter().zip(&covered).filter(|(t, c)| **c as f32 >= 0.85 * (t.bounds[2] - t.bounds[0])).count();
    let jumps = order.windows(2).filter(|w| w[1] != w[0] + 1).count();
    println!(
        "  {found}/{} lines found, {whole} whole, {split} split, {merged} merged, {invented} invented, {jumps} jumps",
        truth.len()
    );
    out
}

fn draw(mut page: RgbImage, regions: &[Region]) -> RgbImage {
    for (number, region) in regions.iter().enumerate() {
        let colour = match region.label {
            Label::Text if region.list_item.is_some() => [200, 120, 0],
            Label::Text if region.preformatted => [0, 140, 140],
            Label::Text => [0, 90, 255],
            Label::ParagraphTitle | Label::DocTitle => [220, 0, 0],
            Label::Table => [150, 0, 200],
            Label::Image | Label::Chart => [0, 160, 0],
            Label::FigureTitle => [120, 160, 0],
            Label::DisplayFormula => [255, 0, 200],
            _ => [130, 130, 130],
        };
        for line in region_lines(region) {
            frame(&mut page, line, 0, [160, 160, 255]);
        }
        for cell in &region.cells {
            frame(&mut page, cell.bounds, 0, [255, 160, 0]);
        }
        let thick = if region.continues { 5 } else { 2 };
        for inset in 0..thick {
            frame(&mut page, region.bounds, inset + 1, colour);
        }
        let depth = region.list_item.map_or(0, |item| u32::from(item.depth) + 1);
        let code = number as u32 * 100 + u32::from(region.level.unwrap_or(0)) * 10 + depth;
        write(&mut page, region.bounds.x0.saturating_sub(40), region.bounds.y0, code, colour);
    }
    page
}

fn frame(page: &mut RgbImage, rect: Rect, grow: u32, colour: [u8; 3]) {
    let (x0, y0) = (rect.x0.saturating_sub(grow), rect.y0.saturating_sub(grow));
    let (x1, y1) = (rect.x1 + grow, rect.y1 + grow);
    let (width, height) = page.dimensions();
    let mut dot = |x: u32, y: u32| {
        if x < width && y < height {
            page.put_pixel(x, y, Rgb(colour));
        }
    };
    for x in x0..x1 {
        dot(x, y0);
        dot(x, y1.saturating_sub(1));
    }
    for y in y0..y1 {
        dot(x0, y);
        dot(x1.saturating_sub(1), y);
    }
}

/// Writes order number, level and list depth in digits of 3x5 dots.
fn write(page: &mut RgbImage, x: u32, y: u32, code: u32, colour: [u8; 3]) {
    const DIGITS: [u16; 10] = [0x7B6F, 0x2492, 0x73E7, 0x73CF, 0x5BC9, 0x79CF, 0x79EF, 0x7249, 0x7BEF, 0x7BCF];
    let text =
        if code.is_multiple_of(100) { format!("{}", code / 100) } else { format!("{}.{:02}", code / 100, code % 100) };
    for (place, digit) in text.chars().enumerate() {
        let bits = digit.to_digit(10).map_or(2, |d| DIGITS[d as usize]);
        for row in 0..5u32 {
            for column in 0..3u32 {
                if bits >> (14 - row * 3 - column) & 1 == 1 {
                    let corner = (x + place as u32 * 12 + column * 3, y + row * 3);
                    frame(page, Rect { x0: corner.0, y0: corner.1, x1: corner.0 + 3, y1: corner.1 + 3 }, 0, colour);
                    frame(
                        page,
                        Rect { x0: corner.0 + 1, y0: corner.1 + 1, x1: corner.0 + 2, y1: corner.1 + 2 },
                        0,
                        colour,
                    );
                }
            }
        }
    }
}
