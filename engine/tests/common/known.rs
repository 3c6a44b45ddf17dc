//! Pages whose line boxes are known: `NN.png` beside `NN.lines.json`.

use std::path::Path;

use engine::region::{Label, Line, Rect, Region};

#[derive(serde::Deserialize)]
struct KnownLine {
    #[serde(rename = "box")]
    bounds: [f64; 4],
}

/// The page's name when `file` is a list of line boxes.
pub(crate) fn stem(file: &Path) -> Option<&str> {
    file.file_name()?.to_str()?.strip_suffix(".lines.json")
}

/// A region for each line of a list of line boxes.
pub(crate) fn regions(file: &Path) -> Vec<Region> {
    let known: Vec<KnownLine> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let region = |line: &KnownLine| {
        let [x0, y0, x1, y1] = line.bounds;
        let bounds = Rect::new(x0.floor() as u32, y0.floor() as u32, x1.ceil() as u32, y1.ceil() as u32);
        let line = Line { bounds, starts_paragraph: false, indent: 0 };
        Region { lines: vec![line], ..Region::new(Label::Text, bounds) }
    };
    known.iter().map(region).collect()
}
