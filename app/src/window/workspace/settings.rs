//! What a person chose once and for all.

use std::io::Read;
use std::path::{Path, PathBuf};

use engine::CheckpointSource;
use engine::decode::Decode;
use engine::device::Device;
use engine::document::{OpenOptions, PdfRenderer};
use engine::precision::WeightFormat;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::notice::Notice;

/// Files opened lately that are remembered.
const RECENT: usize = 10;
/// The settings, saved with the session. Every field has a default, so that settings of another version still load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Settings {
    pub(crate) theme: Theme,
    /// Size of all text and controls, percent.
    pub(crate) scale: u32,
    /// A checkpoint folder; the bundled one when not given.
    pub(crate) checkpoint: Option<PathBuf>,
    pub(crate) decoding: Decoding,
    /// Where the model runs.
    pub(crate) device: Device,
    /// How weights are kept on the processor.
    pub(crate) weights: WeightFormat,
    /// Threads that compute; all of the machine's when not given.
    pub(crate) threads: Option<usize>,
    /// The most tokens of one request.
    pub(crate) max_tokens: usize,
    /// Resolution at which PDF pages are read, dots per inch.
    pub(crate) dpi: u32,
    /// What draws the pages of a PDF.
    pub(crate) renderer: Renderer,
    /// The folder where pdfium's library lies, or the library itself; the usual places when not given.
    pub(crate) pdfium: Option<PathBuf>,
    /// Whether running heads, page numbers and notes in the margin go into the document.
    pub(crate) furniture: bool,
    /// Whether characters are coloured by round.
    pub(crate) colours: bool,
    /// Whether drafts are shown until verified.
    pub(crate) ghosts: bool,
    /// Whether what the verifier refused is shown too, struck through.
    pub(crate) refused: bool,
    pub(crate) panes: Panes,
    /// Files opened lately, newest first.
    pub(crate) recent: Vec<PathBuf>,
}

/// Which panes are open, and how large.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Panes {
    pub(crate) pages: bool,
    pub(crate) reading: bool,
    pub(crate) rounds: bool,
    pub(crate) widths: Widths,
}

/// Sizes of the panes, points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Widths {
    pub(crate) pages: f32,
    pub(crate) reading: f32,
    /// A height.
    pub(crate) rounds: f32,
}

/// Light or dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Theme {
    #[default]
    System,
    Light,
    Dark,
}

/// How tokens are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Decoding {
    /// Draft and verify where the checkpoint can, otherwise one by one.
    #[default]
    Best,
    /// One by one.
    Autoregressive,
}

/// What draws the pages of a PDF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Renderer {
    /// pdfium when its library is found, else what is built in.
    #[default]
    Automatic,
    Pdfium,
    BuiltIn,
}

/// How PDFs are opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PdfOptions {
    pub(crate) pdfium_dir: Option<PathBuf>,
    pub(crate) renderer: PdfRenderer,
}

impl PdfOptions {
    /// The engine's word for it.
    pub(crate) fn open_options(&self, password: Option<String>) -> OpenOptions {
        let Self { pdfium_dir, renderer } = self.clone();
        OpenOptions { password, pdfium_dir, pdf_renderer: renderer, ..OpenOptions::default() }
    }
}

impl Default for Panes {
    fn default() -> Self {
        Self { pages: true, reading: true, rounds: false, widths: Widths::default() }
    }
}

impl Default for Widths {
    fn default() -> Self {
        Self { pages: 168.0, reading: 420.0, rounds: 220.0 }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            theme: Theme::default(),
            scale: 100,
            checkpoint: None,
            decoding: Decoding::default(),
            device: Device::default(),
            weights: WeightFormat::default(),
            threads: None,
            max_tokens: 4096,
            dpi: 200,
            renderer: Renderer::default(),
            pdfium: None,
            furniture: false,
            colours: true,
            ghosts: true,
            refused: false,
            panes: Panes::default(),
            recent: Vec::new(),
        }
    }
}

/// Adds fields that only the stored object has.
fn keep_unknown(written: &mut Value, stored: Value) {
    let (Value::Object(written), Value::Object(stored)) = (written, stored) else { return };
    for (name, value) in stored {
        match written.get_mut(&name) {
            Some(known) => keep_unknown(known, value),
            None => drop(written.insert(name, value)),
        }
    }
}

impl Settings {
    /// Largest settings file, bytes.
    pub(crate) const LARGEST: u64 = 1 << 20;

    /// The engine's word for the checkpoint.
    pub(crate) fn checkpoint_source(&self) -> CheckpointSource {
        self.checkpoint.clone().map_or(CheckpointSource::Bundled, CheckpointSource::Folder)
    }

    /// What another engine is started for.
    pub(crate) fn engine(&self) -> (CheckpointSource, Device, WeightFormat, Option<usize>, PdfOptions) {
        (self.checkpoint_source(), self.device, self.weights, self.threads, self.pdf())
    }

    /// How PDFs are opened.
    pub(crate) fn pdf(&self) -> PdfOptions {
        let renderer = match self.renderer {
            Renderer::Automatic => PdfRenderer::Best,
            Renderer::Pdfium => PdfRenderer::Pdfium,
            Renderer::BuiltIn => PdfRenderer::Hayro,
        };
        PdfOptions { pdfium_dir: self.pdfium.clone(), renderer }
    }

    /// The engine's word for the decoding; `None` lets it take the best it has.
    pub(crate) fn decode(&self) -> Option<Decode> {
        match self.decoding {
            Decoding::Best => None,
            Decoding::Autoregressive => Some(Decode::Ar),
        }
    }

    /// The same settings with every number in its range, whatever a file said.
    pub(crate) fn sane(mut self) -> Self {
        self.scale = self.scale.clamp(50, 300);
        self.max_tokens = self.max_tokens.clamp(1, 65_536);
        self.dpi = self.dpi.clamp(50, 600);
        self.threads = self.threads.map(|threads| threads.clamp(1, 1024));
        self.recent.truncate(RECENT);
        let Widths { pages, reading, rounds } = &mut self.panes.widths;
        for width in [pages, reading, rounds] {
            *width = if width.is_nan() { 200.0 } else { width.clamp(40.0, 4000.0) };
        }
        self
    }

    /// Where they lie in the data folder.
    pub(crate) fn path(data_folder: &Path) -> PathBuf {
        data_folder.join("settings.json")
    }

    /// The settings of a data folder, and a sentence when they are damaged; the damaged file is kept aside.
    pub(crate) fn load(data_folder: &Path) -> (Self, Option<String>) {
        let path = Self::path(data_folder);
        let mut text = Vec::new();
        let read = std::fs::File::open(&path).and_then(|file| file.take(Self::LARGEST).read_to_end(&mut text));
        let Ok(_) = read else { return (Self::default(), None) };
        if let Ok(settings) = serde_json::from_slice::<Self>(&text) {
            return (settings.sane(), None);
        }
        let aside = path.with_extension("json.bad");
        if let Ok(Value::Object(fields)) = serde_json::from_slice(&text) {
            // A newer version may have written them: what this one understands is taken over.
            let reads = |name: &String, value: &Value| {
                let alone = Map::from_iter([(name.clone(), value.clone())]);
                serde_json::from_value::<Self>(Value::Object(alone)).is_ok()
            };
            let (known, unknown): (Map<_, _>, Map<_, _>) =
                fields.into_iter().partition(|(name, value)| reads(name, value));
            let settings: Self = serde_json::from_value(Value::Object(known)).unwrap_or_default();
            let names: Vec<_> = unknown.into_iter().map(|(name, _)| name).collect();
            let kept = std::fs::copy(&path, &aside).is_ok();
            return (
                settings.sane(),
                Some(Notice::SettingsUnknown { path, names: names.join(", "), kept }.to_string()),
            );
        }
        let kept = std::fs::rename(&path, aside).is_ok();
        (Self::default(), Some(Notice::SettingsLost { path, kept }.to_string()))
    }

    /// These settings as a file, with what a newer version has written of its own into the one that is there.
    pub(crate) fn over(&self, stored: &[u8]) -> serde_json::Result<Vec<u8>> {
        let mut written = serde_json::to_value(self)?;
        if let Ok(stored) = serde_json::from_slice(stored) {
            keep_unknown(&mut written, stored);
        }
        serde_json::to_vec(&written)
    }

    /// Remembers a file that was opened, as the newest.
    pub(crate) fn remember(&mut self, file: &Path) {
        // Settings are text; a path that is none cannot be kept in them.
        if file.to_str().is_none() {
            return;
        }
        self.recent.retain(|known| known != file);
        self.recent.insert(0, file.to_path_buf());
        self.recent.truncate(RECENT);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use super::*;

    fn load(text: &str) -> (Settings, Option<String>, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(Settings::path(folder.path()), text).unwrap();
        let (settings, warning) = Settings::load(folder.path());
        (settings, warning, folder)
    }

    #[test]
    fn settings_of_another_version_still_load() {
        let text = r#"{"dpi": 300, "weights": "bf16", "panes": {"rounds": true}, "later": [1, 2]}"#;
        let (settings, warning, _folder) = load(text);
        assert_eq!(warning, None);
        let panes = Panes { rounds: true, ..Panes::default() };
        let weights = WeightFormat::Bf16;
        assert_eq!(settings, Settings { dpi: 300, weights, panes, ..Settings::default() });
    }

    #[test]
    fn numbers_are_brought_into_their_ranges() {
        let text = r#"{"scale": 0, "dpi": 4000000000, "max_tokens": 0, "threads": 0,
            "panes": {"widths": {"pages": -5, "reading": 1e300, "rounds": 100}}}"#;
        let (settings, warning, _folder) = load(text);
        assert_eq!(warning, None);
        assert_eq!((settings.scale, settings.dpi, settings.max_tokens, settings.threads), (50, 600, 1, Some(1)));
        assert_eq!(settings.panes.widths, Widths { pages: 40.0, reading: 4000.0, rounds: 100.0 });
    }

    #[test]
    fn damaged_settings_are_kept_aside_and_named() {
        let (settings, warning, folder) = load(r#"{"dpi": "#);
        assert_eq!(settings, Settings::default());
        assert!(warning.unwrap().contains("settings.json is damaged"));
        assert_eq!(std::fs::read_to_string(folder.path().join("settings.json.bad")).unwrap(), r#"{"dpi": "#);
        assert_eq!(Settings::load(folder.path()), (Settings::default(), None), "told once");
    }

    #[test]
    fn one_value_of_a_newer_version_costs_that_setting_alone() {
        let text = r#"{"dpi": 300, "decoding": "psychic", "theme": "dark"}"#;
        let (settings, warning, folder) = load(text);
        assert_eq!(settings, Settings { dpi: 300, theme: Theme::Dark, ..Settings::default() });
        assert!(warning.unwrap().contains("(decoding)"));
        assert_eq!(std::fs::read_to_string(folder.path().join("settings.json.bad")).unwrap(), text);
    }

    #[test]
    fn what_a_newer_version_keeps_of_its_own_stays_in_the_file() {
        let stored =
            br#"{"dpi": 300, "later": [1, 2], "panes": {"rounds": true, "fourth": 7, "widths": {"fourth": 90}}}"#;
        let written = Settings { dpi: 150, ..Settings::default() }.over(stored).unwrap();
        let value: Value = serde_json::from_slice(&written).unwrap();
        assert_eq!((&value["dpi"], &value["panes"]["rounds"]), (&150.into(), &false.into()));
        assert_eq!((&value["later"][1], &value["panes"]["fourth"]), (&2.into(), &7.into()));
        assert_eq!(
            (&value["panes"]["widths"]["fourth"], &value["panes"]["widths"]["pages"]),
            (&90.into(), &168.0.into())
        );
        assert_eq!(serde_json::from_slice::<Settings>(&written).unwrap(), Settings { dpi: 150, ..Settings::default() });
        assert!(Settings::default().over(b"{").is_ok(), "a damaged file is replaced");
    }

    #[test]
    fn ten_files_are_remembered_each_once_the_newest_first() {
        let mut settings = Settings::default();
        for number in 0..12 {
            settings.remember(Path::new(&format!("/scans/{number}.pdf")));
        }
        settings.remember(Path::new("/scans/5.pdf"));
        let names: Vec<_> = settings.recent.iter().map(|path| path.file_stem().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["5", "11", "10", "9", "8", "7", "6", "4", "3", "2"]);
    }
}
