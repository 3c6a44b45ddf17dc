//! A folder with the sizes of a model and none of its weights: a model of random numbers, for studies of speed.

use std::path::Path;

use kernels::memory::Dtype;

use super::folder::Folder;
use super::random::RandomTensors;
use super::settings::Settings;
use super::weights::{INDEX, SINGLE};
use super::{
    BlockDiffusion, CheckpointError, ModelConfig, ProcessorConfig, Weights, folder_name, read_end_tokens,
    read_processor,
};
use crate::decode::Drafter;

/// Prompt tokens beside the image's, as many as the published template has about a picture.
const TEXT_TOKENS: usize = 11;
/// Whatever the system says of its memory, no more weights than this are made, bytes.
const LARGEST: u64 = 1 << 37;

/// A config-only folder. It has no tokenizer, so it reads nothing; its weights are random.
#[derive(Clone, Debug)]
pub struct Synthetic {
    /// The folder's name.
    pub name: String,
    /// Sizes of the model.
    pub config: ModelConfig,
    /// Settings of the image processor.
    pub processor: ProcessorConfig,
    /// Tokens that end an answer; at least one.
    pub end_tokens: Vec<u32>,
    /// What drafting needs, where `block_diffusion.json` is there.
    pub drafter: Option<Drafter>,
    /// Number format of the weights: bf16 where `config.json` has `"dtype": "bfloat16"`, otherwise f32.
    pub dtype: Dtype,
}

impl Synthetic {
    /// Whether a folder has a `config.json` and no weights.
    pub fn is_in(dir: &Path) -> bool {
        dir.join("config.json").exists() && ![SINGLE, INDEX].iter().any(|name| dir.join(name).exists())
    }

    /// Reads the settings of a folder; weights that may be there are not looked at.
    pub fn open(dir: &Path) -> Result<Self, CheckpointError> {
        let folder = Folder::open(dir)?;
        let file = folder.label("config.json");
        let value = folder.json("config.json")?.ok_or_else(|| folder.missing("config.json"))?;
        let config = ModelConfig::parse(&file, &value)?;
        let settings = Settings::new(&file, &value);
        if config.text.vocab_size < 2 {
            return Err(settings.fault("text_config.vocab_size", "must be at least 2, to tell text from images"));
        }
        let dtype = match settings.string("dtype")?.or(settings.string("torch_dtype")?) {
            Some("bfloat16") => Dtype::Bf16,
            _ => Dtype::F32,
        };
        let drafter = match folder.json("block_diffusion.json")? {
            None => None,
            Some(value) => {
                let file = folder.label("block_diffusion.json");
                let diffusion = BlockDiffusion::parse(&file, &value)?;
                if diffusion.mask_id as usize >= config.text.vocab_size {
                    let fault = format!("is outside the vocabulary of {}", config.text.vocab_size);
                    return Err(Settings::new(&file, &value).fault("mask_id", fault));
                }
                Some(Drafter { block: diffusion.block_size, mask: diffusion.mask_id })
            }
        };
        Ok(Self {
            name: folder_name(dir),
            processor: read_processor(&folder, &config.vision)?,
            end_tokens: read_end_tokens(&folder, &config)?,
            drafter,
            dtype,
            config,
        })
    }

    /// The random weights; each tensor is made when it is asked for, and made again when asked again.
    ///
    /// # Errors
    /// When the system has less memory available than all of them together need at `bytes_per_weight`, the size in
    /// which the caller is going to keep them.
    pub fn weights(&self, bytes_per_weight: f64) -> Result<Weights, CheckpointError> {
        let needed = (self.config.weight_count() as f64 * bytes_per_weight) as u64;
        let free = available_memory().unwrap_or(LARGEST).min(LARGEST);
        if needed > free {
            let (needed, free) = (needed / 1_000_000, free / 1_000_000);
            return Err(CheckpointError::OutOfMemory { name: self.name.clone(), needed, free });
        }
        Ok(Weights::random(&self.name, RandomTensors::new(&self.config, self.dtype)))
    }

    /// Token ids of a prompt with so many image tokens: the image between its marks, and arbitrary text around it.
    pub fn prompt(&self, image_tokens: usize) -> Vec<u32> {
        let image = self.config.image_token_id;
        let word = u32::from(image == 0);
        let mark = |id: Option<u32>| id.filter(|&id| id != image).unwrap_or(word);
        let before = [vec![word; TEXT_TOKENS / 2 - 1], vec![mark(self.config.image_start_token_id)]].concat();
        let after = [vec![mark(self.config.image_end_token_id)], vec![word; TEXT_TOKENS - before.len() - 1]].concat();
        [before, vec![image; image_tokens], after].concat()
    }
}

/// Memory that programs can still get without swapping, bytes, as Linux estimates it; `None` where it is not told.
fn available_memory() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.saturating_mul(1024))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::*;
    use crate::checkpoint::Checkpoint;

    fn fixture(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures").join(name)
    }

    /// A copy of the published sizes, to be spoilt.
    fn copy() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(fixture("real_size")).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
        folder
    }

    fn change(folder: &Path, file: &str, change: impl FnOnce(&mut Value)) {
        let path = folder.join(file);
        let mut value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        change(&mut value);
        fs::write(path, value.to_string()).unwrap();
    }

    #[test]
    fn the_published_sizes_are_0_9_billion_numbers_besides_the_embeddings() {
        let folder = fixture("real_size");
        assert!(Synthetic::is_in(&folder));
        let synthetic = Synthetic::open(&folder).unwrap();
        assert_eq!(synthetic.dtype, Dtype::Bf16);
        assert_eq!(synthetic.end_tokens, [59_246, 59_253]);
        assert_eq!(synthetic.drafter, Some(Drafter { block: 32, mask: 59_282 }));
        let bytes = synthetic.config.weight_count() as f64 * 2.0;
        assert!((bytes / 1e9 - 2.2).abs() < 0.05, "{bytes}: the published file has 2.2 GB");
        let prompt = synthetic.prompt(319);
        assert_eq!(prompt.len(), 330);
        assert_eq!(prompt.iter().filter(|&&id| id == 59_280).count(), 319);
        let at = |id| prompt.iter().position(|&found| found == id).unwrap();
        assert_eq!((at(59_256) + 1, at(59_257)), (at(59_280), at(59_280) + 319), "the image stands between its marks");
    }

    #[test]
    fn tensors_come_from_the_configuration() {
        let weights = Synthetic::open(&fixture("glm_ocr_tiny")).unwrap().weights(4.0).unwrap();
        let name = "model.language_model.layers.0.mlp.down_proj.weight";
        assert_eq!(weights.tensor(name, &[64, 96]).unwrap().len(), 64 * 96);
        assert_eq!(weights.dtype(name), Some(Dtype::F32));
        assert!(!weights.contains("model.language_model.layers.3.mlp.down_proj.weight"), "the MTP layer");
        let fault = weights.tensor(name, &[64, 64]).unwrap_err().to_string();
        assert_eq!(fault, format!("glm_ocr_tiny: tensor {name} is 64 x 96, but config.json asks for 64 x 64"));
        assert!(weights.tensor("lm_head", &[1]).is_err());
    }

    #[test]
    fn only_a_folder_without_weights_is_synthetic() {
        assert!(!Synthetic::is_in(&fixture("glm_ocr_tiny")));
        assert!(!Synthetic::is_in(&fixture("documents")));
        let folder = copy();
        fs::write(folder.path().join(INDEX), "{}").unwrap();
        assert!(!Synthetic::is_in(folder.path()));
        // Nobody else takes such a folder.
        let fault = Checkpoint::open(copy().path()).err().unwrap().to_string();
        assert!(
            fault.ends_with("tokenizer.json is missing: the checkpoint is incomplete, download it again"),
            "{fault}"
        );
    }

    #[test]
    fn weights_that_no_machine_has_room_for_are_not_made() {
        let folder = copy();
        change(folder.path(), "config.json", |config| {
            config["text_config"]["num_hidden_layers"] = json!(256);
            config["text_config"]["intermediate_size"] = json!(65_536);
            config["text_config"]["hidden_size"] = json!(65_536);
            config["vision_config"]["out_hidden_size"] = json!(65_536);
        });
        let fault = Synthetic::open(folder.path()).unwrap().weights(2.0).unwrap_err();
        let CheckpointError::OutOfMemory { needed, free, .. } = fault else { panic!("{fault}") };
        // 256 layers of 3 x 65,536² in the MLP alone.
        assert!(needed > 6_500_000 && free < needed, "{needed} {free}");
    }

    #[test]
    fn settings_that_contradict_each_other_are_refused() {
        let folder = copy();
        change(folder.path(), "block_diffusion.json", |value| value["mask_id"] = json!(59_392));
        let fault = Synthetic::open(folder.path()).unwrap_err().to_string();
        assert!(fault.ends_with("block_diffusion.json: mask_id is outside the vocabulary of 59392"), "{fault}");
        fs::remove_file(folder.path().join("block_diffusion.json")).unwrap();
        assert_eq!(Synthetic::open(folder.path()).unwrap().drafter, None);
        change(folder.path(), "config.json", |config| {
            config["text_config"]["vocab_size"] = json!(1);
            for key in ["image_token_id", "image_start_token_id", "image_end_token_id"] {
                config[key] = json!(0);
            }
        });
        let fault = Synthetic::open(folder.path()).unwrap_err().to_string();
        assert!(fault.contains("vocab_size must be at least 2"), "{fault}");
    }
}
