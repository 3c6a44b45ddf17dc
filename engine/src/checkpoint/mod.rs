//! A checkpoint folder: configuration, weights, tokenizer, chat template.

use std::path::{Path, PathBuf};

mod bundled;
mod config;
mod error;
mod folder;
mod processor;
mod random;
mod settings;
mod synthetic;
mod template;
mod tokenizer;
mod traits;
mod weights;

pub use config::{ModelConfig, TextConfig, VisionConfig};
pub use error::CheckpointError;
pub use processor::ProcessorConfig;
pub use synthetic::Synthetic;
pub use template::ChatTemplate;
pub use tokenizer::{DecodeStream, Tokenizer};
pub use traits::{BlockDiffusion, Traits, Unit};
pub use weights::Weights;

use kernels::memory::Dtype;

use crate::decode::Drafter;
use crate::region::Task;
use folder::{Folder, SETTINGS_LIMIT, TOKENIZER_LIMIT};

/// Everything a checkpoint folder holds, checked to fit together. The weights stay in their files.
#[derive(Clone)]
pub struct Checkpoint {
    /// Name for people: from `gravity.json`, the Hugging Face cache, or the folder.
    pub name: String,
    /// The folder; `None` for the bundled checkpoint.
    pub source: Option<PathBuf>,
    /// Sizes of the model.
    pub config: ModelConfig,
    /// Settings of the image processor.
    pub processor: ProcessorConfig,
    /// The tokenizer.
    pub tokenizer: Tokenizer,
    /// The chat template.
    pub template: ChatTemplate,
    /// Tokens that end an answer; at least one.
    pub end_tokens: Vec<u32>,
    /// How the checkpoint drafts, when it does.
    pub block_diffusion: Option<BlockDiffusion>,
    /// What one request reads, which tasks, which languages.
    pub traits: Traits,
    /// The tensors.
    pub weights: Weights,
}

impl ModelConfig {
    /// The sizes of a folder's model; nothing else of the folder is read.
    pub fn open(dir: &Path) -> Result<Self, CheckpointError> {
        Self::read(&Folder::open(dir)?)
    }

    /// The sizes of the model that is part of the program.
    pub fn bundled() -> Result<Self, CheckpointError> {
        Self::read(&Folder::Bundled(bundled::NANO))
    }

    fn read(folder: &Folder) -> Result<Self, CheckpointError> {
        let value = folder.json("config.json")?.ok_or_else(|| folder.missing("config.json"))?;
        Self::parse(&folder.label("config.json"), &value)
    }
}

impl Checkpoint {
    /// Opens a folder. Reads the settings and the headers of the weight files, not the weights: every file, key, tensor
    /// name and shape is checked, and that no weight file is cut short. [`verify`](Self::verify) checks the numbers.
    pub fn open(dir: &Path) -> Result<Self, CheckpointError> {
        let mut checkpoint = Self::read(&Folder::open(dir)?, folder_name(dir))?;
        checkpoint.source = Some(dir.to_path_buf());
        Ok(checkpoint)
    }

    /// The checkpoint that is part of the program.
    pub fn bundled() -> Result<Self, CheckpointError> {
        Self::read(&Folder::Bundled(bundled::NANO), "bundled".to_owned())
    }

    fn read(folder: &Folder, name: String) -> Result<Self, CheckpointError> {
        let config = ModelConfig::read(folder)?;
        let processor = read_processor(folder, &config.vision)?;
        let tokenizer = folder
            .text("tokenizer.json", TOKENIZER_LIMIT)?
            .ok_or_else(|| folder.missing("tokenizer.json"))
            .and_then(|json| Tokenizer::parse(&folder.label("tokenizer.json"), &json))?;
        if tokenizer.id_count() > config.text.vocab_size {
            return Err(CheckpointError::Setting {
                file: folder.label("config.json"),
                key: "text_config.vocab_size".to_owned(),
                fault: format!(
                    "is {}, but tokenizer.json has ids up to {}",
                    config.text.vocab_size,
                    tokenizer.id_count() - 1
                ),
            });
        }
        let template = read_template(folder)?;
        let end_tokens = read_end_tokens(folder, &config)?;
        let optional = |name: &str| Ok(folder.json(name)?.map(|value| (folder.label(name), value)));
        let block_diffusion =
            optional("block_diffusion.json")?.map(|(file, value)| BlockDiffusion::parse(&file, &value)).transpose()?;
        let traits = optional("gravity.json")?
            .map(|(file, value)| Traits::parse(&file, &value))
            .transpose()?
            .unwrap_or_default();
        let weights = Weights::open(folder)?;
        weights.check(&config.tensors())?;

        let name = traits.name.clone().unwrap_or(name);
        let checkpoint = Self {
            name,
            source: None,
            config,
            processor,
            tokenizer,
            template,
            end_tokens,
            block_diffusion,
            traits,
            weights,
        };
        // A template that cannot make a prompt is a fault of the folder, not of the first page.
        for &task in &checkpoint.traits.tasks {
            checkpoint.prompt(task, 1)?;
        }
        Ok(checkpoint)
    }

    /// Reads every weight once and checks that it is a finite number.
    pub fn verify(&self) -> Result<(), CheckpointError> {
        self.weights.check_finite(&self.config.tensors())
    }

    /// Number format of the decoder's matrices, as its LM head is stored.
    pub fn stored_format(&self) -> Dtype {
        self.weights.dtype(self.config.lm_head()).unwrap_or(Dtype::F32)
    }

    /// Whether the checkpoint can draft and verify its own drafts.
    pub fn can_verify_drafts(&self) -> bool {
        self.why_not().is_none()
    }

    /// What drafting needs, where the checkpoint can draft.
    pub fn drafter(&self) -> Option<Drafter> {
        let diffusion = self.block_diffusion.as_ref().filter(|_| self.can_verify_drafts())?;
        Some(Drafter { block: diffusion.block_size, mask: diffusion.mask_id })
    }

    /// Why only AR decoding is offered: one sentence, or `None` when drafting works.
    pub fn why_not(&self) -> Option<String> {
        let Some(diffusion) = &self.block_diffusion else {
            return Some("This checkpoint has no block_diffusion.json: it was not trained to draft".to_owned());
        };
        if diffusion.ar_loss_weight <= 0.0 {
            return Some("This checkpoint was trained without the next-token loss (ar_loss_weight is 0 in block_diffusion.json): it cannot verify its drafts".to_owned());
        }
        (!self.tokenizer.has_id(diffusion.mask_id)).then(|| {
            format!(
                "The mask token {} of block_diffusion.json is not in tokenizer.json: drafts would be useless",
                diffusion.mask_id
            )
        })
    }

    /// The token ids of a task's prompt for an image of so many tokens.
    pub fn prompt(&self, task: Task, image_tokens: usize) -> Result<Vec<u32>, CheckpointError> {
        self.prompt_of(task.prompt(), image_tokens)
    }

    /// The token ids of a prompt in any words: the template's single image placeholder is repeated.
    pub fn prompt_of(&self, text: &str, image_tokens: usize) -> Result<Vec<u32>, CheckpointError> {
        let ids = self.tokenizer.encode(&self.template.render(text)?)?;
        let image = self.config.image_token_id;
        let places = ids.iter().filter(|&&id| id == image).count();
        if places != 1 || image_tokens == 0 {
            return Err(CheckpointError::Unsupported(format!(
                "The chat template of {} puts {places} image placeholders (token {image}) into a prompt where one is needed",
                self.name
            )));
        }
        let expand = |id: u32| std::iter::repeat_n(id, if id == image { image_tokens } else { 1 });
        Ok(ids.into_iter().flat_map(expand).collect())
    }
}

/// The folder's own name, or `owner/name` for a snapshot in the Hugging Face cache
/// (`models--owner--name/snapshots/<commit>`).
fn folder_name(dir: &Path) -> String {
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
    let part = |path: Option<&Path>| path.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    if part(dir.parent()).as_deref() == Some("snapshots")
        && let Some(repository) = part(dir.parent().and_then(Path::parent))
        && let Some(name) = repository.strip_prefix("models--")
    {
        return name.replacen("--", "/", 1);
    }
    part(Some(&dir)).unwrap_or_else(|| dir.display().to_string())
}

fn read_processor(folder: &Folder, vision: &VisionConfig) -> Result<ProcessorConfig, CheckpointError> {
    for name in ["preprocessor_config.json", "processor_config.json"] {
        if let Some(value) = folder.json(name)? {
            return ProcessorConfig::parse(&folder.label(name), &value, vision);
        }
    }
    Err(folder.missing("preprocessor_config.json"))
}

/// The template from `chat_template.jinja`, `chat_template.json` or `tokenizer_config.json`.
fn read_template(folder: &Folder) -> Result<ChatTemplate, CheckpointError> {
    if let Some(source) = folder.text("chat_template.jinja", SETTINGS_LIMIT)? {
        return ChatTemplate::parse(&folder.label("chat_template.jinja"), source);
    }
    for name in ["chat_template.json", "tokenizer_config.json"] {
        let Some(value) = folder.json(name)? else { continue };
        let source = match value.get("chat_template") {
            Some(serde_json::Value::String(source)) => Some(source.as_str()),
            // Several named templates: the one for plain chats.
            Some(serde_json::Value::Array(list)) => list
                .iter()
                .find(|entry| entry.get("name").and_then(|name| name.as_str()) == Some("default"))
                .and_then(|entry| entry.get("template")?.as_str()),
            _ => None,
        };
        if let Some(source) = source {
            return ChatTemplate::parse(&folder.label(name), source.to_owned());
        }
    }
    Err(folder.missing("chat_template.jinja"))
}

/// The end tokens of `generation_config.json`, or else of `config.json`.
fn read_end_tokens(folder: &Folder, config: &ModelConfig) -> Result<Vec<u32>, CheckpointError> {
    let file = folder.label("generation_config.json");
    let value = folder.json("generation_config.json")?.unwrap_or_default();
    let settings = settings::Settings::new(&file, &value);
    let mut tokens = settings.tokens("eos_token_id")?;
    if tokens.is_empty() {
        tokens.clone_from(&config.eos_token_ids);
    }
    if tokens.is_empty() {
        return Err(settings.fault("eos_token_id", "is missing here and in config.json: answers would never end"));
    }
    match tokens.iter().find(|&&id| id as usize >= config.text.vocab_size) {
        Some(id) => {
            let fault = format!("names {id}, outside the vocabulary of {}", config.text.vocab_size);
            Err(settings.fault("eos_token_id", fault))
        }
        None => Ok(tokens),
    }
}

#[cfg(test)]
mod open_tests;
