//! Whole folders: what opens, and what is said about those that do not.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures")
}

/// A copy of the reference checkpoint to be broken.
fn copy() -> TempDir {
    let folder = TempDir::new().unwrap();
    for entry in fs::read_dir(fixtures().join("glm_ocr_tiny")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    folder
}

fn edit(folder: &Path, file: &str, change: impl FnOnce(&mut Value)) {
    let mut value = serde_json::from_slice(&fs::read(folder.join(file)).unwrap()).unwrap();
    change(&mut value);
    fs::write(folder.join(file), value.to_string()).unwrap();
}

/// What is said about a folder, without the folder's path.
fn fault(folder: &Path) -> String {
    let sentence = Checkpoint::open(folder).err().unwrap().to_string();
    let prefix = format!("{}/", folder.display());
    assert!(sentence.contains(&prefix) || sentence.starts_with("The chat template"), "no file is named: {sentence}");
    sentence.replace(&prefix, "")
}

#[test]
fn reference_checkpoint_opens() {
    let checkpoint = Checkpoint::open(&fixtures().join("glm_ocr_tiny_trained")).unwrap();
    checkpoint.verify().unwrap();
    assert_eq!(checkpoint.name, "glm_ocr_tiny_trained");
    assert_eq!(checkpoint.end_tokens, [560, 567]);
    assert_eq!(checkpoint.config.text.head_dim, 24);
    assert_eq!(checkpoint.config.text.mrope_section, [3, 4, 5]);
    assert_eq!(checkpoint.config.vision.merger_size(), 192);
    assert_eq!(checkpoint.traits, Traits::default());
    assert_eq!(checkpoint.block_diffusion.as_ref().unwrap().block_size, 8);
    assert_eq!(checkpoint.why_not(), None);
    // 9 image tokens between the marks, as the published template writes them.
    let mut expected = vec![562, 564, 567, 198, 570];
    expected.extend([594; 9]);
    expected.extend([571, 511, 380, 25, 568, 198]);
    assert_eq!(checkpoint.prompt(Task::Text, 9).unwrap(), expected);
}

#[test]
fn sizes_alone_are_read_from_a_folder_with_nothing_else() {
    let folder = TempDir::new().unwrap();
    assert!(ModelConfig::open(folder.path()).unwrap_err().to_string().contains("config.json"));
    fs::copy(fixtures().join("glm_ocr_tiny/config.json"), folder.path().join("config.json")).unwrap();
    let config = ModelConfig::open(folder.path()).unwrap();
    assert_eq!(config, Checkpoint::open(&fixtures().join("glm_ocr_tiny")).unwrap().config);
    assert_eq!(ModelConfig::bundled().unwrap(), Checkpoint::bundled().unwrap().config);
}

#[test]
fn prompts_are_those_of_the_reference() {
    let checkpoint = Checkpoint::open(&fixtures().join("glm_ocr_tiny")).unwrap();
    for name in ["line", "paragraph", "tall", "minimal"] {
        let folder = fixtures().join("glm_ocr_cases").join(name);
        let case: Value = serde_json::from_slice(&fs::read(folder.join("case.json")).unwrap()).unwrap();
        let file = fs::read(folder.join("tensors.safetensors")).unwrap();
        let tensors = safetensors::SafeTensors::deserialize(&file).unwrap();
        let (ids, _) = tensors.tensor("input_ids").unwrap().data().as_chunks::<8>();
        let ids: Vec<u32> = ids.iter().map(|bytes| i64::from_le_bytes(*bytes) as u32).collect();
        let task = [Task::Text, Task::Table, Task::Formula]
            .into_iter()
            .find(|task| task.prompt() == case["prompt"].as_str().unwrap())
            .unwrap();
        let image_tokens = case["image_tokens"].as_u64().unwrap() as usize;
        assert_eq!(checkpoint.prompt(task, image_tokens).unwrap(), ids);
    }
}

#[test]
fn bundled_checkpoint_opens() {
    let checkpoint = Checkpoint::bundled().unwrap();
    checkpoint.verify().unwrap();
    assert_eq!(checkpoint.source, None);
    assert!(matches!(checkpoint.traits.unit, Unit::Line { height: 28, .. }));
    assert!(checkpoint.can_verify_drafts());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/nano");
    let same = Checkpoint::open(&folder).unwrap();
    assert_eq!(same.config, checkpoint.config);
    assert_eq!(same.traits, checkpoint.traits);
    assert_eq!(same.prompt(Task::Text, 3).unwrap(), checkpoint.prompt(Task::Text, 3).unwrap());
}

#[test]
fn missing_files_are_named() {
    for file in
        ["config.json", "preprocessor_config.json", "tokenizer.json", "chat_template.jinja", "model.safetensors"]
    {
        let folder = copy();
        fs::remove_file(folder.path().join(file)).unwrap();
        let expected = format!("{file} is missing: the checkpoint is incomplete, download it again");
        assert_eq!(fault(folder.path()), expected);
    }
    let folder = copy();
    let nowhere = folder.path().join("nowhere");
    assert!(
        Checkpoint::open(&nowhere).err().unwrap().to_string().contains("nowhere is not a folder: choose the folder")
    );
    let file = folder.path().join("config.json");
    assert!(Checkpoint::open(&file).err().unwrap().to_string().contains("config.json is not a folder"));
}

#[test]
fn optional_files_may_be_missing() {
    let folder = copy();
    fs::remove_file(folder.path().join("generation_config.json")).unwrap();
    fs::remove_file(folder.path().join("tokenizer_config.json")).unwrap();
    fs::rename(folder.path().join("preprocessor_config.json"), folder.path().join("processor_config.json")).unwrap();
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    assert_eq!(checkpoint.end_tokens, [560, 567], "config.json names them too");
    edit(folder.path(), "config.json", |config| config["text_config"]["eos_token_id"] = Value::Null);
    assert_eq!(
        fault(folder.path()),
        "generation_config.json: eos_token_id is missing here and in config.json: answers would never end"
    );
}

#[test]
fn invalid_json_is_told_apart_by_file() {
    for file in ["config.json", "preprocessor_config.json", "generation_config.json", "block_diffusion.json"] {
        let folder = copy();
        fs::write(folder.path().join(file), "{\"a\": ").unwrap();
        let sentence = fault(folder.path());
        assert!(sentence.starts_with(&format!("{file} is damaged: it is not valid JSON (")), "{sentence}");
        fs::write(folder.path().join(file), "[1, 2]").unwrap();
        assert_eq!(
            fault(folder.path()),
            format!("{file} is damaged: it holds no JSON object; download the checkpoint again")
        );
        fs::write(folder.path().join(file), [0xff, 0xfe, 0]).unwrap();
        assert_eq!(
            fault(folder.path()),
            format!("{file} is damaged: it is not UTF-8 text; download the checkpoint again")
        );
        fs::write(folder.path().join(file), "[".repeat(1 << 20)).unwrap();
        assert!(
            fault(folder.path()).starts_with(&format!("{file} is damaged")),
            "deep nesting must not end the program"
        );
        fs::write(folder.path().join(file), " ".repeat((16 << 20) + 1)).unwrap();
        assert_eq!(fault(folder.path()), format!("{file} is too large to be what its name says (more than 16 MB)"));
    }
}

#[test]
fn folder_in_place_of_a_file_is_refused() {
    let folder = copy();
    fs::remove_file(folder.path().join("model.safetensors")).unwrap();
    fs::create_dir(folder.path().join("model.safetensors")).unwrap();
    assert_eq!(fault(folder.path()), "model.safetensors cannot be read: it is not a regular file");
}

#[test]
fn settings_that_do_not_fit_together_are_refused() {
    /// File, change, and what is then said.
    type Case = (&'static str, fn(&mut Value), &'static str);
    let cases: [Case; 9] = [
        (
            "config.json",
            |config| config["text_config"]["hidden_act"] = "relu".into(),
            "config.json: text_config.hidden_act is \"relu\", but only \"silu\" is supported",
        ),
        (
            "preprocessor_config.json",
            |config| config["patch_size"] = 16.into(),
            "preprocessor_config.json: patch_size is 16, but the vision tower of config.json has 14",
        ),
        (
            "preprocessor_config.json",
            |config| config["size"]["longest_edge"] = 1000.into(),
            "preprocessor_config.json: size.longest_edge is 1000, but must be at least 12544",
        ),
        (
            "preprocessor_config.json",
            |config| config["do_rescale"] = false.into(),
            "preprocessor_config.json: do_rescale is false, but only true is supported",
        ),
        (
            "preprocessor_config.json",
            |config| config["image_std"] = json!([0.5, 0.0, 0.5]),
            "preprocessor_config.json: image_std must be positive",
        ),
        (
            "generation_config.json",
            |config| config["eos_token_id"] = json!([560, 1000]),
            "generation_config.json: eos_token_id names 1000, outside the vocabulary of 600",
        ),
        (
            "block_diffusion.json",
            |config| config["bd_size"] = 0.into(),
            "block_diffusion.json: bd_size is 0, but must be a whole number from 1 to 1024",
        ),
        (
            "config.json",
            |config| config["text_config"]["intermediate_size"] = 97.into(),
            "model.safetensors: tensor model.language_model.layers.0.mlp.gate_up_proj.weight is 192 x 64, but config.json asks for 194 x 64",
        ),
        (
            "config.json",
            |config| config["vision_config"]["depth"] = 4.into(),
            "model.safetensors holds no tensor model.visual.blocks.3.norm1.weight: the weights do not belong to this config.json",
        ),
    ];
    for (file, change, sentence) in cases {
        let folder = copy();
        edit(folder.path(), file, change);
        assert_eq!(fault(folder.path()), sentence);
    }
    let folder = copy();
    edit(folder.path(), "config.json", |config| config["text_config"]["vocab_size"] = 596.into());
    assert_eq!(
        fault(folder.path()),
        "config.json: text_config.vocab_size is 596, but tokenizer.json has ids up to 596"
    );
}

#[test]
fn reason_for_plain_decoding_is_given() {
    let folder = copy();
    let why = |folder: &TempDir| {
        let checkpoint = Checkpoint::open(folder.path()).unwrap();
        assert!(!checkpoint.can_verify_drafts());
        checkpoint.why_not().unwrap()
    };
    edit(folder.path(), "block_diffusion.json", |config| config["mask_id"] = 59_282.into());
    assert_eq!(
        why(&folder),
        "The mask token 59282 of block_diffusion.json is not in tokenizer.json: drafts would be useless"
    );
    // A row of the embedding that no token owns.
    edit(folder.path(), "block_diffusion.json", |config| config["mask_id"] = 598.into());
    assert!(why(&folder).starts_with("The mask token 598"));
    edit(folder.path(), "block_diffusion.json", |config| {
        config["mask_id"] = 596.into();
        config["ar_loss_weight"] = 0.into();
    });
    assert!(why(&folder).contains("ar_loss_weight is 0"));
    fs::remove_file(folder.path().join("block_diffusion.json")).unwrap();
    assert_eq!(why(&folder), "This checkpoint has no block_diffusion.json: it was not trained to draft");
}

#[test]
fn template_is_found_wherever_it_is_kept() {
    let folder = copy();
    let path = folder.path().join("chat_template.jinja");
    let source = fs::read_to_string(&path).unwrap();
    let expected = Checkpoint::open(folder.path()).unwrap().prompt(Task::Table, 4).unwrap();
    let prompt = || Checkpoint::open(folder.path()).unwrap().prompt(Task::Table, 4).unwrap();
    fs::remove_file(&path).unwrap();
    edit(folder.path(), "tokenizer_config.json", |config| config["chat_template"] = source.clone().into());
    assert_eq!(prompt(), expected);
    edit(folder.path(), "tokenizer_config.json", |config| {
        config["chat_template"] =
            json!([{"name": "tools", "template": "{{ x"}, {"name": "default", "template": source.clone()}]);
    });
    assert_eq!(prompt(), expected);
    fs::write(folder.path().join("chat_template.json"), json!({"chat_template": source}).to_string()).unwrap();
    edit(folder.path(), "tokenizer_config.json", |config| config["chat_template"] = "{{ broken".into());
    assert_eq!(prompt(), expected);
}

#[test]
fn template_must_place_one_image() {
    let folder = copy();
    let path = folder.path().join("chat_template.jinja");
    for (source, places) in [("{{ messages[0].content[1].text }}", 0), ("<|image|><|image|>", 2)] {
        fs::write(&path, source).unwrap();
        let sentence = Checkpoint::open(folder.path()).err().unwrap().to_string();
        assert!(sentence.contains(&format!("puts {places} image placeholders (token 594)")), "{sentence}");
    }
    fs::write(&path, "{{ messages | nonsense }}").unwrap();
    assert!(fault(folder.path()).starts_with("chat_template.jinja: the chat template fails"));
}

#[test]
fn traits_come_from_the_file() {
    let folder = copy();
    let write = |value: Value| fs::write(folder.path().join("gravity.json"), value.to_string()).unwrap();
    write(
        json!({"name": "lines", "unit": "line", "line_height": 28, "max_width": 560, "tasks": ["text", "formula"], "languages": ["en", "ko"]}),
    );
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    assert_eq!(checkpoint.name, "lines");
    let expected = Traits {
        name: Some("lines".to_owned()),
        unit: Unit::Line { height: 28, max_width: 560 },
        tasks: vec![Task::Text, Task::Formula],
        languages: vec!["en".to_owned(), "ko".to_owned()],
    };
    assert_eq!(checkpoint.traits, expected);
    write(json!({"unit": "word"}));
    assert_eq!(fault(folder.path()), "gravity.json: unit is \"word\", but must be \"line\" or \"region\"");
    write(json!({"unit": "line"}));
    assert_eq!(fault(folder.path()), "gravity.json: line_height is missing");
    write(json!({"tasks": ["music"]}));
    assert_eq!(fault(folder.path()), "gravity.json: tasks names \"music\", which is no task");
}

#[test]
fn cache_folders_are_named_after_their_repository() {
    let root = TempDir::new().unwrap();
    let snapshot = root.path().join("models--zai-org--GLM-OCR/snapshots/0123abcd");
    fs::create_dir_all(&snapshot).unwrap();
    assert_eq!(folder_name(&snapshot), "zai-org/GLM-OCR");
    assert_eq!(folder_name(&snapshot.join("..")), "snapshots");
}
