//! What can be asked on the command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use engine::decode::{Decode, Sampling};
use engine::device::Device;
use engine::document::PdfRenderer;
use engine::job::{Job, LayoutMode, Pages, Source};
use engine::precision::WeightFormat;
use engine::{CheckpointSource, EngineOptions};

/// Turns scans and PDFs into Markdown, on this computer.
///
/// Without a command it opens the window, with the files that are named: gravityocr [FILES]
#[derive(Debug, Parser)]
#[command(name = "gravityocr", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Read files and write their text
    Recognize(Recognize),
    /// Write a JSON result in another format, without reading the scan again
    Export(Export),
    /// Time every stage of reading, and compare the ways of decoding
    Bench(Bench),
    /// List and check the models on this computer
    Models(Models),
    /// List what the model can run on, and why not
    Devices(Devices),
    #[command(external_subcommand)]
    Other(Vec<OsString>),
}

#[derive(Debug, Args)]
pub(crate) struct Recognize {
    /// PDFs, pictures, or folders of them
    #[arg(required = true, value_name = "FILES")]
    pub(crate) files: Vec<PathBuf>,
    /// Write here instead of to standard output: a file, or a folder for several inputs
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long)]
    pub(crate) force: bool,
    /// What to write
    #[arg(long, value_enum, default_value_t = Format::Md)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// How tokens are found: spec (draft and verify), ar (one by one) or diffusion (unverified, may differ) [default:
    /// spec where the checkpoint drafts, otherwise ar]
    #[arg(long, value_name = "WAY", value_parser = DecodeArg::parse)]
    pub(crate) decode: Option<DecodeArg>,
    /// Confidence above which diffusion commits a token
    #[arg(long, value_name = "T", value_parser = parse_tau)]
    pub(crate) tau: Option<f32>,
    /// Draw tokens at random, from their distribution sharpened (below 1) or flattened (above), from 0 (no chance: the
    /// likeliest token) to 2; spec draws from the same distribution as ar
    #[arg(long, value_name = "T", value_parser = parse_temperature)]
    pub(crate) temperature: Option<f32>,
    /// The chance that --temperature takes: the same number gives the same text [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Find regions on the page, or read it as one
    #[arg(long, value_enum, default_value_t = LayoutArg::Auto)]
    pub(crate) layout: LayoutArg,
    /// Pages to read, such as 1-3,7
    #[arg(long, value_name = "PAGES")]
    pub(crate) pages: Option<String>,
    /// Resolution at which PDF pages are drawn
    #[arg(long, value_name = "N", default_value_t = 200.0, value_parser = parse_dpi)]
    pub(crate) dpi: f32,
    /// Password of an encrypted PDF
    #[arg(long, value_name = "P")]
    pub(crate) password: Option<String>,
    /// Write every round of every request as JSON (one input only)
    #[arg(long, value_name = "FILE.json")]
    pub(crate) trace: Option<PathBuf>,
    /// Keep running heads, page numbers and notes in the margin
    #[arg(long)]
    pub(crate) furniture: bool,
    /// Colours on standard error; NO_COLOR is honoured
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
    pub(crate) color: When,
}

#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// A checkpoint folder, or nano for the bundled one
    #[arg(long, value_name = "DIR|nano", default_value = "nano")]
    pub(crate) checkpoint: PathBuf,
    /// Where the model runs: cpu, cuda or cuda:N (gravityocr devices lists what there is)
    #[arg(long, value_name = "DEVICE", default_value_t = Device::Cpu)]
    pub(crate) device: Device,
    /// Threads that compute [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Number format of the weights on the processor; a card computes in bf16
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Weights::Auto)]
    pub(crate) weights: Weights,
    /// The folder of pdfium's library, or the library itself
    #[arg(long, value_name = "PATH")]
    pub(crate) pdfium: Option<PathBuf>,
    /// What draws the pages of PDFs
    #[arg(long, value_enum, value_name = "RENDERER", default_value_t = PdfRendererArg::Auto)]
    pub(crate) pdf_renderer: PdfRendererArg,
}

impl ModelArgs {
    /// What starts an engine.
    pub(crate) fn options(&self) -> EngineOptions {
        EngineOptions {
            device: self.device,
            threads: self.threads.map(usize::from),
            pdfium_dir: self.pdfium.clone(),
            pdf_renderer: self.pdf_renderer.into(),
            weights: self.weights.into(),
            ..EngineOptions::new(self.source())
        }
    }

    pub(crate) fn source(&self) -> CheckpointSource {
        source(&self.checkpoint)
    }

    /// What no single argument can tell.
    fn check(&self) -> Result<(), Answer> {
        match &self.pdfium {
            Some(path) if !path.exists() => {
                Err(wrong(&format!("--pdfium {}: there is no such file or folder", path.display())))
            }
            Some(_) if self.pdf_renderer == PdfRendererArg::Hayro => {
                Err(wrong("--pdfium does not belong to --pdf-renderer hayro"))
            }
            _ => Ok(()),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// A result that recognize --format json or the window wrote
    #[arg(value_name = "RESULT.json")]
    pub(crate) result: PathBuf,
    /// What to write
    #[arg(long, value_enum)]
    pub(crate) format: Format,
    /// Write here instead of to standard output: a file, or a folder
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long)]
    pub(crate) force: bool,
    /// Keep running heads, page numbers and notes in the margin
    #[arg(long)]
    pub(crate) furniture: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Pictures or PDFs to read instead of the built-in sample; the stages are timed on the first page of each
    #[arg(value_name = "FILES")]
    pub(crate) images: Vec<PathBuf>,
    /// Ways of decoding to compare, such as ar,spec [default: ar,spec where the checkpoint drafts; none with
    /// --assume-accepted]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = DecodeArg::parse)]
    pub(crate) decode: Vec<DecodeArg>,
    /// Say how fast drafting would be with so many accepted drafts per round, such as 17.4: for untrained weights
    #[arg(long, value_name = "N", value_parser = parse_accepted)]
    pub(crate) assume_accepted: Option<f64>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Times that each stage is run, and that everything is read in each way
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
}

#[derive(Debug, Args)]
pub(crate) struct Models {
    #[command(subcommand)]
    pub(crate) command: ModelsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// List the checkpoints that were found
    List,
    /// Read a checkpoint in full and name every fault
    Verify {
        /// The checkpoint folder; without it the bundled checkpoint
        dir: Option<PathBuf>,
    },
    /// Print the folders where models are looked for
    Path,
}

#[derive(Debug, Args)]
pub(crate) struct Devices {
    /// Say how much memory this checkpoint needs: a folder, or nano for the bundled one
    #[arg(long, value_name = "DIR|nano", default_value = "nano")]
    pub(crate) checkpoint: PathBuf,
}

/// The checkpoint that an argument names.
pub(crate) fn source(checkpoint: &Path) -> CheckpointSource {
    if checkpoint == Path::new("nano") {
        CheckpointSource::Bundled
    } else {
        CheckpointSource::Folder(checkpoint.to_path_buf())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Markdown
    Md,
    /// One HTML page
    Html,
    /// Regions, boxes, text and rounds
    Json,
    /// Plain text
    Txt,
}

impl From<Format> for engine::export::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Md => Self::Markdown,
            Format::Html => Self::Html,
            Format::Json => Self::Json,
            Format::Txt => Self::Text,
        }
    }
}

/// What draws the pages of PDFs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PdfRendererArg {
    /// pdfium where its library is found, otherwise hayro
    Auto,
    /// pdfium or nothing
    Pdfium,
    /// hayro, which is built in
    Hayro,
}

impl From<PdfRendererArg> for PdfRenderer {
    fn from(renderer: PdfRendererArg) -> Self {
        match renderer {
            PdfRendererArg::Auto => Self::Best,
            PdfRendererArg::Pdfium => Self::Pdfium,
            PdfRendererArg::Hayro => Self::Hayro,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutArg {
    /// Find columns, headings, lists, tables and figures
    Auto,
    /// The page is one region
    None,
}

impl From<LayoutArg> for LayoutMode {
    fn from(layout: LayoutArg) -> Self {
        match layout {
            LayoutArg::Auto => LayoutMode::Auto,
            LayoutArg::None => LayoutMode::None,
        }
    }
}

/// Number format of the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Weights {
    /// bf16 where the checkpoint stores bf16, otherwise f32
    Auto,
    /// Kept as stored, computed with in 32-bit floats
    F32,
    /// bfloat16, where the checkpoint stores it
    Bf16,
    /// 8-bit integers with scales, quantised when loaded
    Int8,
}

impl From<Weights> for WeightFormat {
    fn from(weights: Weights) -> Self {
        match weights {
            Weights::Auto => Self::Auto,
            Weights::F32 => Self::F32,
            Weights::Bf16 => Self::Bf16,
            Weights::Int8 => Self::Int8,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// A way of decoding by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecodeArg {
    Ar,
    Spec { steps: u32 },
    Diffusion,
}

/// The confidence threshold of diffusion when none is given, the paper's middle setting.
const TAU: f32 = 0.9;

impl DecodeArg {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "ar" => Ok(Self::Ar),
            "spec" => Ok(Self::Spec { steps: 1 }),
            "diffusion" => Ok(Self::Diffusion),
            _ => match text.strip_prefix("spec:").map(str::parse) {
                Some(Ok(steps @ 1..=32)) => Ok(Self::Spec { steps }),
                _ => Err("use spec, ar, diffusion, or spec:N for N drafting steps (1 to 32)".to_owned()),
            },
        }
    }

    pub(crate) fn decode(self, tau: Option<f32>) -> Decode {
        match self {
            Self::Ar => Decode::Ar,
            Self::Spec { steps } => Decode::Spec { steps },
            Self::Diffusion => Decode::Diffusion { tau: tau.unwrap_or(TAU), causal_seed: false },
        }
    }

    pub(crate) fn name(self) -> String {
        match self {
            Self::Ar => "ar".to_owned(),
            Self::Spec { steps: 1 } => "spec".to_owned(),
            Self::Spec { steps } => format!("spec:{steps}"),
            Self::Diffusion => "diffusion".to_owned(),
        }
    }
}

fn parse_tau(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(tau) if (0.0..=1.0).contains(&tau) => Ok(tau),
        _ => Err("use a number from 0 to 1".to_owned()),
    }
}

fn parse_temperature(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(temperature) if (0.0..=2.0).contains(&temperature) => Ok(temperature),
        _ => Err("use a number from 0 to 2".to_owned()),
    }
}

fn parse_accepted(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(accepted) if (0.0..=1024.0).contains(&accepted) => Ok(accepted),
        _ => Err("use a number of accepted drafts, from 0 to the checkpoint's block size".to_owned()),
    }
}

fn parse_dpi(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(dpi) if (36.0..=1200.0).contains(&dpi) => Ok(dpi),
        _ => Err("use a number from 36 to 1200".to_owned()),
    }
}

/// What is said instead of running a command: help, the version, or what was wrong.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) to_stdout: bool,
    pub(crate) exit: u8,
}

impl Cli {
    pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, Answer> {
        let cli = Self::try_parse_from(args).map_err(|error| Answer {
            text: error.render().to_string(),
            to_stdout: !error.use_stderr(),
            exit: if error.use_stderr() { 2 } else { 0 },
        })?;
        match &cli.command {
            Some(Command::Recognize(args)) => args.model.check().and_then(|()| args.check())?,
            Some(Command::Bench(args)) => args.model.check()?,
            Some(Command::Export(_) | Command::Models(_) | Command::Devices(_) | Command::Other(_)) | None => {}
        }
        Ok(cli)
    }
}

/// Wrong usage.
fn wrong(what: &str) -> Answer {
    Answer { text: format!("error: {what}\n\nFor more information, try '--help'.\n"), to_stdout: false, exit: 2 }
}

impl Recognize {
    /// What no single argument can tell.
    fn check(&self) -> Result<(), Answer> {
        if self.tau.is_some() && self.decode != Some(DecodeArg::Diffusion) {
            return Err(wrong("--tau belongs to --decode diffusion"));
        }
        if self.sampling().is_some() && self.decode == Some(DecodeArg::Diffusion) {
            return Err(wrong("--temperature does not belong to --decode diffusion, which takes no chance"));
        }
        if self.seed.is_some() && self.temperature.is_none() {
            return Err(wrong("--seed belongs to --temperature"));
        }
        if self.trace.is_some() && (self.files.len() > 1 || self.files.iter().any(|file| file.is_dir())) {
            return Err(wrong("--trace takes one input file"));
        }
        if self.trace.is_some() && self.trace == self.output {
            return Err(wrong("--trace and --output name the same file"));
        }
        Ok(())
    }

    /// Sampling, where a temperature above 0 asks for it. The seed is a fixed one unless it is given, so that every run
    /// can be repeated.
    pub(crate) fn sampling(&self) -> Option<Sampling> {
        let temperature = self.temperature.filter(|temperature| *temperature > 0.0)?;
        Some(Sampling { temperature, seed: self.seed.unwrap_or(0) })
    }

    /// What the engine is asked for one file.
    pub(crate) fn job(&self, file: &Path) -> Job {
        Job {
            password: self.password.clone(),
            pages: self.pages.clone().map_or(Pages::All, Pages::Listed),
            dpi: self.dpi,
            layout: self.layout.into(),
            decode: self.decode.map(|decode| decode.decode(self.tau)),
            sampling: self.sampling(),
            ..Job::new(Source::Path(file.to_path_buf()))
        }
    }
}

/// The files that `words` name, or what to do instead when the first of them looks like a mistyped command.
pub(crate) fn files(words: &[OsString]) -> Result<Vec<PathBuf>, String> {
    let files: Vec<PathBuf> = words.iter().map(PathBuf::from).collect();
    match files.first() {
        Some(first) if !first.exists() && first.extension().is_none() => {
            Err(format!("there is no command and no file {}; try gravityocr --help", first.display()))
        }
        _ => Ok(files),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use super::*;

    fn parse(line: &str) -> Result<Cli, Answer> {
        Cli::parse(line.split(' ').map(OsString::from))
    }

    #[test]
    fn the_definition_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn wrong_usage_is_exit_code_two() {
        for line in [
            "gravityocr recognize",
            "gravityocr recognize a.pdf --format docx",
            "gravityocr recognize a.pdf --decode spec:0",
            "gravityocr recognize a.pdf --decode spec:33",
            "gravityocr recognize a.pdf --tau 0.9",
            "gravityocr recognize a.pdf --decode diffusion --tau 1.5",
            "gravityocr recognize a.pdf --dpi 0",
            "gravityocr recognize a.pdf --dpi NaN",
            "gravityocr recognize a.pdf --threads 0",
            "gravityocr recognize a.pdf --device tpu",
            "gravityocr recognize a.pdf b.pdf --trace t.json",
            "gravityocr recognize a.pdf -o x.json --trace x.json",
            "gravityocr recognize a.pdf --weights int4",
            "gravityocr recognize a.pdf --temperature 2.1",
            "gravityocr recognize a.pdf --temperature NaN",
            "gravityocr recognize a.pdf --temperature -0.5",
            "gravityocr recognize a.pdf --temperature 0.5 --decode diffusion",
            "gravityocr recognize a.pdf --seed 7",
            "gravityocr recognize a.pdf --temperature 1 --seed -7",
            "gravityocr recognize a.pdf --pdfium /nowhere/at/all",
            "gravityocr recognize a.pdf --pdfium / --pdf-renderer hayro",
            "gravityocr recognize a.pdf --pdf-renderer poppler",
            "gravityocr bench --pdfium /nowhere/at/all",
            "gravityocr export",
            "gravityocr export a.json",
            "gravityocr export a.json --format docx",
            "gravityocr export a.json b.json --format md",
            "gravityocr bench --assume-accepted many",
            "gravityocr bench --assume-accepted -1",
            "gravityocr bench --assume-accepted NaN",
            "gravityocr bench --runs 0",
            "gravityocr models",
        ] {
            let answer = parse(line).map(|_| ()).unwrap_err();
            assert_eq!((answer.exit, answer.to_stdout), (2, false), "{line}");
        }
    }

    #[test]
    fn help_and_version_are_answers_not_faults() {
        for line in ["gravityocr --help", "gravityocr recognize --help", "gravityocr --version"] {
            let answer = parse(line).map(|_| ()).unwrap_err();
            assert_eq!((answer.exit, answer.to_stdout), (0, true), "{line}");
        }
    }

    #[test]
    fn decoding_is_chosen_by_name() {
        let Some(Command::Recognize(args)) =
            parse("gravityocr recognize a --decode diffusion --tau 0.7").unwrap().command
        else {
            panic!("recognize was asked for")
        };
        assert_eq!(args.decode.unwrap().decode(args.tau), Decode::Diffusion { tau: 0.7, causal_seed: false });
        assert_eq!(DecodeArg::parse("spec:4").unwrap().decode(None), Decode::Spec { steps: 4 });
        assert_eq!(DecodeArg::parse("spec:4").unwrap().name(), "spec:4");
    }

    #[test]
    fn sampling_and_the_renderer_reach_the_engine() {
        let recognize = |line: &str| match parse(&format!("gravityocr recognize a.pdf {line}")).unwrap().command {
            Some(Command::Recognize(args)) => args,
            _ => panic!("recognize was asked for"),
        };
        let job = |line: &str| recognize(line).job(Path::new("a.pdf"));
        assert_eq!(job("--temperature 0.5 --seed 7").sampling, Some(Sampling { temperature: 0.5, seed: 7 }));
        assert_eq!(job("--temperature 0.5").sampling, Some(Sampling { temperature: 0.5, seed: 0 }));
        assert_eq!(job("--temperature 0 --seed 7 --decode diffusion").sampling, None);
        assert_eq!(job("--decode ar").sampling, None);
        let options = recognize("--pdfium / --pdf-renderer pdfium").model.options();
        assert_eq!((options.pdfium_dir, options.pdf_renderer), (Some(PathBuf::from("/")), PdfRenderer::Pdfium));
        assert_eq!(recognize("--color never").model.options().pdf_renderer, PdfRenderer::Best);
    }

    #[test]
    fn files_without_a_command_are_for_the_window() {
        let Some(Command::Other(words)) = parse("gravityocr scan.pdf more.png").unwrap().command else {
            panic!("not a command")
        };
        assert_eq!(files(&words).unwrap(), [PathBuf::from("scan.pdf"), PathBuf::from("more.png")]);
        let sentence = "there is no command and no file recognise; try gravityocr --help";
        assert_eq!(files(&["recognise".into()]).unwrap_err(), sentence);
    }
}
