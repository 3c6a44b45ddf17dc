#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use serde_json::Value;

use super::*;

fn read(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures").join(name).join("config.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn published_sizes_are_read() {
    let config = ModelConfig::parse("config.json", &read("real_size")).unwrap();
    let expected = TextConfig {
        vocab_size: 59_392,
        hidden_size: 1536,
        intermediate_size: 4608,
        num_hidden_layers: 16,
        num_attention_heads: 16,
        num_key_value_heads: 8,
        head_dim: 128,
        rms_norm_eps: 1e-5,
        rope_theta: 10_000.0,
        mrope_section: [16, 24, 24],
        max_position_embeddings: 131_072,
    };
    assert_eq!(config.text, expected);
    assert_eq!(config.vision.merger_size(), 4608);
    assert_eq!(config.vision.head_dim(), 64);
    assert_eq!(config.image_token_id, 59_280);
    assert_eq!(config.eos_token_ids, [59_246, 59_253]);
}

/// The published file has 526 tensors, 16 of them in the MTP layer, which is not read.
#[test]
fn published_tensors_are_counted() {
    let tensors = ModelConfig::parse("config.json", &read("real_size")).unwrap().tensors();
    assert_eq!(tensors.len(), 526 - 16);
    let numbers: usize = tensors.iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
    assert!((1_000_000_000..1_200_000_000).contains(&numbers), "{numbers} weights");
}

#[test]
fn absent_optional_keys_take_the_published_values() {
    let mut value = read("real_size");
    for key in ["rope_parameters", "rms_norm_eps", "max_position_embeddings", "attention_bias", "hidden_act"] {
        value["text_config"].as_object_mut().unwrap().remove(key);
    }
    for key in ["rope_parameters", "in_channels", "rms_norm_eps", "patch_size", "spatial_merge_size", "attention_bias"]
    {
        value["vision_config"].as_object_mut().unwrap().remove(key);
    }
    value.as_object_mut().unwrap().remove("architectures");
    assert_eq!(ModelConfig::parse("c", &value), ModelConfig::parse("c", &read("real_size")));
}

#[test]
fn older_rope_keys_are_understood() {
    let mut value = read("glm_ocr_tiny");
    let text = value["text_config"].as_object_mut().unwrap();
    text.remove("rope_parameters");
    text.insert("rope_theta".to_owned(), 5000.into());
    text.insert("rope_scaling".to_owned(), serde_json::json!({"rope_type": "default", "mrope_section": [4, 2, 2]}));
    let config = ModelConfig::parse("c", &value).unwrap();
    assert_eq!((config.text.rope_theta, config.text.mrope_section), (5000.0, [4, 2, 2]));
}

#[test]
fn head_dim_without_a_key_is_hidden_over_heads() {
    let mut value = read("glm_ocr_tiny");
    value["text_config"].as_object_mut().unwrap().remove("head_dim");
    assert_eq!(ModelConfig::parse("c", &value).unwrap().text.head_dim, 16);
}

#[test]
fn tied_embeddings_need_no_head() {
    let mut value = read("glm_ocr_tiny");
    assert_eq!(ModelConfig::parse("c", &value).unwrap().lm_head(), "lm_head.weight");
    value["tie_word_embeddings"] = true.into();
    let config = ModelConfig::parse("c", &value).unwrap();
    assert_eq!(config.lm_head(), "model.language_model.embed_tokens.weight");
    assert!(config.tensors().iter().all(|(name, _)| name != "lm_head.weight"));
}

#[test]
fn nonsense_is_refused_with_file_and_key() {
    let cases = [
        ("/model_type", r#""llama""#, r#"config.json: model_type is "llama", but this program reads "glm_ocr" only"#),
        ("/model_type", "null", r#"config.json: model_type is missing; it should be "glm_ocr""#),
        (
            "/architectures",
            r#"["LlamaForCausalLM"]"#,
            "config.json: architectures is LlamaForCausalLM, but this program reads GlmOcrForConditionalGeneration only",
        ),
        ("/text_config", "null", "config.json: text_config is missing"),
        ("/text_config", "[]", "config.json: text_config is not an object"),
        ("/text_config/hidden_size", "null", "config.json: text_config.hidden_size is missing"),
        (
            "/text_config/num_attention_heads",
            "0",
            "config.json: text_config.num_attention_heads is 0, but must be a whole number from 1 to 512",
        ),
        (
            "/text_config/num_key_value_heads",
            "3",
            "config.json: text_config.num_key_value_heads is 3, which does not divide 4 heads",
        ),
        (
            "/text_config/hidden_size",
            "4611686018427387904",
            "config.json: text_config.hidden_size is 4611686018427387904, but must be a whole number from 1 to 65536",
        ),
        (
            "/text_config/vocab_size",
            "-600",
            "config.json: text_config.vocab_size is -600, but must be a whole number from 1 to 1048576",
        ),
        (
            "/text_config/num_hidden_layers",
            "2.5",
            "config.json: text_config.num_hidden_layers is 2.5, but must be a whole number from 1 to 256",
        ),
        ("/text_config/head_dim", "15", "config.json: text_config.head_dim is 15, but must be even"),
        (
            "/text_config/rope_parameters/mrope_section",
            "[2, 3, 4]",
            "config.json: text_config.rope_parameters.mrope_section adds up to 9, but must add up to half of head_dim, 8",
        ),
        (
            "/text_config/rope_parameters/mrope_section",
            "[2, 6]",
            "config.json: text_config.rope_parameters.mrope_section must be a list of three numbers",
        ),
        (
            "/text_config/rope_parameters/mrope_section",
            "[-2, 5, 5]",
            "config.json: text_config.rope_parameters.mrope_section must hold whole numbers",
        ),
        (
            "/text_config/rope_parameters/rope_type",
            r#""yarn""#,
            r#"config.json: text_config.rope_parameters.rope_type is "yarn", but only "default" is supported"#,
        ),
        (
            "/text_config/rope_parameters/rope_theta",
            "0",
            "config.json: text_config.rope_parameters.rope_theta is 0, but must be a positive number",
        ),
        (
            "/text_config/hidden_act",
            r#""gelu""#,
            r#"config.json: text_config.hidden_act is "gelu", but only "silu" is supported"#,
        ),
        (
            "/vision_config/num_heads",
            "5",
            "config.json: vision_config.num_heads is 5, which does not cut 48 into heads of a multiple of 4",
        ),
        (
            "/vision_config/num_heads",
            "8",
            "config.json: vision_config.num_heads is 8, which does not cut 48 into heads of a multiple of 4",
        ),
        (
            "/vision_config/out_hidden_size",
            "32",
            "config.json: vision_config.out_hidden_size is 32, but text_config.hidden_size is 64",
        ),
        ("/vision_config/in_channels", "1", "config.json: vision_config.in_channels is 1, but only 3 is supported"),
        ("/image_token_id", "600", "config.json: image_token_id is 600, outside the vocabulary of 600"),
        ("/image_token_id", "null", "config.json: image_token_id is missing"),
        ("/image_token_id", r#""<|image|>""#, r#"config.json: image_token_id is "<|image|>", but must be a token id"#),
    ];
    for (pointer, replacement, sentence) in cases {
        let mut value = read("glm_ocr_tiny");
        *value.pointer_mut(pointer).unwrap() = serde_json::from_str(replacement).unwrap();
        assert_eq!(ModelConfig::parse("config.json", &value).unwrap_err().to_string(), sentence);
    }
}
