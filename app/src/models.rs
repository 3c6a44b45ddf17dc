//! `models`: which checkpoints are on this computer, and whether one is sound.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use engine::checkpoint::{Checkpoint, CheckpointError};

use crate::Exit;
use crate::cli::ModelsCommand;
use crate::printer::Printer;

pub(crate) fn command(command: &ModelsCommand, printer: &mut Printer) -> Exit {
    let places = Places::of_this_user();
    match command {
        ModelsCommand::List => list(&places, printer),
        ModelsCommand::Verify { dir } => verify(dir.as_deref(), printer),
        ModelsCommand::Path => path(&places, printer),
    }
}

/// Where checkpoints are looked for.
struct Places {
    /// The folder of this program's models: one folder each.
    own: Option<PathBuf>,
    /// The Hugging Face cache.
    hub: Option<PathBuf>,
}

/// The folder where this program keeps what is its own: models, sessions, settings.
pub(crate) fn data_folder() -> Option<PathBuf> {
    let data = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        home().map(|home| home.join("Library/Application Support"))
    } else {
        variable("XDG_DATA_HOME").or_else(|| home().map(|home| home.join(".local/share")))
    };
    data.map(|data| data.join("gravityocr"))
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}

impl Places {
    fn of_this_user() -> Self {
        // The order of huggingface_hub: HF_HUB_CACHE, then HF_HOME, then XDG_CACHE_HOME.
        let hub = variable("HF_HUB_CACHE").or_else(|| {
            let hub = variable("HF_HOME").or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("huggingface")));
            Some(hub.or_else(|| home().map(|home| home.join(".cache/huggingface")))?.join("hub"))
        });
        Self { own: data_folder().map(|data| data.join("models")), hub }
    }

    /// Folders that look like checkpoints, each once, in order of their paths.
    fn folders(&self) -> BTreeSet<PathBuf> {
        let own = self.own.iter().flat_map(|own| subfolders(own));
        let hub = self.hub.iter().flat_map(|hub| subfolders(hub));
        let snapshots = hub
            .filter(|folder| folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("models--")))
            .flat_map(|repository| subfolders(&repository.join("snapshots")));
        own.chain(snapshots).filter(|folder| looks_like_ours(folder)).collect()
    }
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// Whether the folder's configuration names the architecture that this program reads. The cache may hold anything.
fn looks_like_ours(folder: &Path) -> bool {
    const LIMIT: u64 = 1 << 20; // a configuration has a few kilobytes
    let config = folder.join("config.json");
    let small = fs::metadata(&config).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= LIMIT);
    let text = if small { fs::read_to_string(&config).unwrap_or_default() } else { String::new() };
    text.contains("glm_ocr") || text.contains("GlmOcr")
}

fn list(places: &Places, printer: &mut Printer) -> Exit {
    let mut rows = vec![[String::from("name"), "size".into(), "reads".into(), "drafts".into(), "folder".into()]];
    let mut exit = Exit::Done;
    match Checkpoint::bundled() {
        Ok(checkpoint) => rows.push(row(&checkpoint, "(bundled; --checkpoint nano)".to_owned(), None)),
        Err(error) => {
            printer.failure(&error.to_string());
            exit = Exit::Failed;
        }
    }
    for folder in places.folders() {
        match Checkpoint::open(&folder) {
            Ok(checkpoint) => rows.push(row(&checkpoint, folder.display().to_string(), Some(&folder))),
            Err(error) => rows.push([
                folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
                size(&folder),
                "-".to_owned(),
                "-".to_owned(),
                format!("{}: {error}", folder.display()),
            ]),
        }
    }
    say(&table(&rows), printer, exit)
}

fn row(checkpoint: &Checkpoint, place: String, folder: Option<&Path>) -> [String; 5] {
    let traits = &checkpoint.traits;
    let unit = match traits.unit {
        engine::checkpoint::Unit::Line { .. } => "lines of",
        engine::checkpoint::Unit::Region => "regions of",
    };
    let tasks: Vec<_> = traits
        .tasks
        .iter()
        .map(|task| match task {
            engine::region::Task::Text => "text",
            engine::region::Task::Table => "tables",
            engine::region::Task::Formula => "formulas",
        })
        .collect();
    let drafts = match (&checkpoint.block_diffusion, checkpoint.can_verify_drafts()) {
        (Some(diffusion), true) => format!("yes, blocks of {}", diffusion.block_size),
        _ => "no".to_owned(),
    };
    let size = folder.map_or_else(|| "built in".to_owned(), size);
    [checkpoint.name.clone(), size, format!("{unit} {}", tasks.join(", ")), drafts, place]
}

/// The size of the weights in a folder.
fn size(folder: &Path) -> String {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let weights = files.filter(|path| path.extension().is_some_and(|ending| ending == "safetensors"));
    // The cache holds links to its files, which `metadata` follows.
    let bytes: u64 = weights.filter_map(|path| fs::metadata(path).ok()).map(|metadata| metadata.len()).sum();
    match bytes {
        0..1_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

/// Columns of equal width, the last one as it is.
fn table(rows: &[[String; 5]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..4).map(width).collect();
    let mut out = String::new();
    for row in rows {
        for (cell, width) in row.iter().zip(&widths) {
            out.push_str(&format!("{cell:width$}  "));
        }
        out.push_str(&row[4]);
        out.push('\n');
    }
    out
}

fn verify(dir: Option<&Path>, printer: &mut Printer) -> Exit {
    let opened = dir.map_or_else(Checkpoint::bundled, Checkpoint::open);
    let checked = opened.and_then(|checkpoint| checkpoint.verify().map(|()| checkpoint));
    match checked {
        Ok(checkpoint) => {
            let drafts = checkpoint.why_not().unwrap_or_else(|| "It drafts and verifies its drafts".to_owned());
            say(&format!("{}: every tensor was read and is sound. {drafts}\n", checkpoint.name), printer, Exit::Done)
        }
        Err(error) => fault(&error, printer),
    }
}

fn fault(error: &CheckpointError, printer: &mut Printer) -> Exit {
    printer.failure(&error.to_string());
    Exit::Failed
}

fn path(places: &Places, printer: &mut Printer) -> Exit {
    let lines: Vec<_> = places.own.iter().chain(&places.hub).map(|folder| format!("{}\n", folder.display())).collect();
    say(&lines.concat(), printer, Exit::Done)
}

fn say(text: &str, printer: &mut Printer, exit: Exit) -> Exit {
    match printer.result(text) {
        Ok(()) => exit,
        Err(error) => {
            printer.failure(&format!("standard output cannot be written: {}", crate::output::reason(&error)));
            Exit::Failed
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use super::*;
    use crate::printer::tests::Shared;

    fn folder(path: &Path, config: &str) {
        fs::create_dir_all(path).unwrap();
        fs::write(path.join("config.json"), config).unwrap();
    }

    #[test]
    fn only_folders_of_this_architecture_are_found() {
        let home = tempfile::tempdir().unwrap();
        let (own, hub) = (home.path().join("models"), home.path().join("hub"));
        let ours = r#"{"architectures": ["GlmOcrForConditionalGeneration"]}"#;
        folder(&own.join("mine"), ours);
        folder(&own.join("other"), r#"{"architectures": ["BertModel"]}"#);
        folder(&hub.join("models--zai-org--GLM-OCR/snapshots/0123"), ours);
        folder(&hub.join("datasets--x--y/snapshots/0123"), ours);
        let places = Places { own: Some(own.clone()), hub: Some(hub.clone()) };
        let found: Vec<_> = places.folders().into_iter().collect();
        assert_eq!(found, [hub.join("models--zai-org--GLM-OCR/snapshots/0123"), own.join("mine")]);
    }

    #[test]
    fn a_broken_folder_is_listed_with_its_fault() {
        let home = tempfile::tempdir().unwrap();
        folder(&home.path().join("mine"), r#"{"model_type": "glm_ocr"}"#);
        let out = Shared::default();
        let places = Places { own: Some(home.path().to_path_buf()), hub: None };
        let exit = list(&places, &mut Printer::to(out.clone(), Shared::default()));
        assert_eq!(exit, Exit::Done);
        let text = out.text();
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[1].starts_with("gravity-nano "), "{text}");
        assert!(lines[2].starts_with("mine ") && lines[2].contains("config.json"), "{text}");
    }
}
