//! `config.json`: the sizes of the model, and the tensors that follow from them.

use serde_json::{Value, json};

use super::CheckpointError;
use super::settings::Settings;

/// Upper limits of sizes: far above any published checkpoint, low enough that no product of a tensor's extents
/// overflows.
mod limit {
    pub(super) const VOCABULARY: usize = 1 << 20;
    pub(super) const WIDTH: usize = 1 << 16;
    pub(super) const LAYERS: usize = 256;
    pub(super) const HEADS: usize = 512;
    pub(super) const HEAD_DIM: usize = 1024;
    pub(super) const POSITIONS: usize = 1 << 24;
}

/// Sizes of the text decoder.
#[derive(Clone, Debug, PartialEq)]
pub struct TextConfig {
    /// Rows of the embedding and of the LM head (padding rows included).
    pub vocab_size: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width of the gated MLP; `gate_up_proj` has twice as many rows.
    pub intermediate_size: usize,
    /// Decoder layers, the MTP layer not counted.
    pub num_hidden_layers: usize,
    /// Query heads.
    pub num_attention_heads: usize,
    /// Key and value heads; divides the query heads.
    pub num_key_value_heads: usize,
    /// Width of one head. Its own key: heads times this may differ from the hidden size.
    pub head_dim: usize,
    /// Added to the mean square in every RMS norm.
    pub rms_norm_eps: f64,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// Frequency pairs that turn with t, h and w, in this order; they add up to half of `head_dim`.
    pub mrope_section: [usize; 3],
    /// Longest sequence the model was made for, tokens.
    pub max_position_embeddings: usize,
}

/// Sizes of the vision tower and its merger.
#[derive(Clone, Debug, PartialEq)]
pub struct VisionConfig {
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Blocks.
    pub depth: usize,
    /// Attention heads, each `hidden_size / num_heads` wide.
    pub num_heads: usize,
    /// Width of the gated MLP.
    pub intermediate_size: usize,
    /// Width of an image token: the text decoder's hidden size.
    pub out_hidden_size: usize,
    /// Side of a patch, pixels.
    pub patch_size: usize,
    /// Patches per side of the square that becomes one image token.
    pub spatial_merge_size: usize,
    /// Frames per patch; a still image fills all of them.
    pub temporal_patch_size: usize,
    /// Colour channels: 3.
    pub in_channels: usize,
    /// Added to the mean square in every RMS norm.
    pub rms_norm_eps: f64,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
}

impl VisionConfig {
    /// Width of one attention head.
    pub fn head_dim(&self) -> usize {
        self.hidden_size / self.num_heads
    }

    /// Width of the merger's MLP. No key says so: it is the output width times the number of input channels.
    pub fn merger_size(&self) -> usize {
        self.out_hidden_size * self.in_channels
    }
}

/// Sizes of the whole model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    /// The decoder.
    pub text: TextConfig,
    /// The vision tower.
    pub vision: VisionConfig,
    /// The placeholder `<|image|>` that image features replace.
    pub image_token_id: u32,
    /// `<|begin_of_image|>`, where named.
    pub image_start_token_id: Option<u32>,
    /// `<|end_of_image|>`, where named.
    pub image_end_token_id: Option<u32>,
    /// Whether the LM head is the embedding.
    pub tie_word_embeddings: bool,
    /// End tokens named here; `generation_config.json` comes first.
    pub eos_token_ids: Vec<u32>,
}

impl ModelConfig {
    /// Reads the content of a `config.json`; `file` is its name in messages.
    ///
    /// Absent optional keys take the published checkpoint's values. Sizes that contradict each other, another
    /// architecture, and options that are not implemented are errors.
    pub fn parse(file: &str, value: &Value) -> Result<Self, CheckpointError> {
        let top = Settings::new(file, value);
        architecture(&top)?;
        let text_settings = section(&top, "text_config")?;
        let text = text(&text_settings)?;
        let vision_settings = section(&top, "vision_config")?;
        let vision = vision(&vision_settings)?;
        if vision.out_hidden_size != text.hidden_size {
            let fault = format!("is {}, but text_config.hidden_size is {}", vision.out_hidden_size, text.hidden_size);
            return Err(vision_settings.fault("out_hidden_size", fault));
        }
        let inside = |key: &str| match top.token(key)? {
            Some(id) if id as usize >= text.vocab_size => {
                Err(top.fault(key, format!("is {id}, outside the vocabulary of {}", text.vocab_size)))
            }
            id => Ok(id),
        };
        let tied = text_settings.flag("tie_word_embeddings", false)?;
        let mut eos_token_ids = text_settings.tokens("eos_token_id")?;
        if eos_token_ids.is_empty() {
            eos_token_ids = top.tokens("eos_token_id")?;
        }
        Ok(Self {
            image_token_id: inside("image_token_id")?.ok_or_else(|| top.fault("image_token_id", "is missing"))?,
            image_start_token_id: inside("image_start_token_id")?,
            image_end_token_id: inside("image_end_token_id")?,
            tie_word_embeddings: top.flag("tie_word_embeddings", tied)?,
            eos_token_ids,
            text,
            vision,
        })
    }

    /// Name of the LM head's tensor `[vocab_size, hidden_size]`: the embedding when they are tied.
    pub fn lm_head(&self) -> &'static str {
        if self.tie_word_embeddings { "model.language_model.embed_tokens.weight" } else { "lm_head.weight" }
    }

    /// Numbers in all tensors together.
    pub fn weight_count(&self) -> u64 {
        let elements =
            |shape: &[usize]| shape.iter().fold(1_u64, |product, &extent| product.saturating_mul(extent as u64));
        self.tensors().iter().fold(0, |sum, (_, shape)| sum.saturating_add(elements(shape)))
    }

    /// Every tensor that the model reads, with its shape.
    pub fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let mut list = Vec::new();
        let mut add = |name: String, shape: &[usize]| list.push((name, shape.to_vec()));

        let text = &self.text;
        let hidden = text.hidden_size;
        let (q, kv) = (text.num_attention_heads * text.head_dim, text.num_key_value_heads * text.head_dim);
        add("model.language_model.embed_tokens.weight".to_owned(), &[text.vocab_size, hidden]);
        for layer in 0..text.num_hidden_layers {
            let mut add =
                |name: &str, shape: &[usize]| add(format!("model.language_model.layers.{layer}.{name}"), shape);
            add("input_layernorm.weight", &[hidden]);
            add("self_attn.q_proj.weight", &[q, hidden]);
            add("self_attn.k_proj.weight", &[kv, hidden]);
            add("self_attn.v_proj.weight", &[kv, hidden]);
            add("self_attn.o_proj.weight", &[hidden, q]);
            add("post_self_attn_layernorm.weight", &[hidden]);
            add("post_attention_layernorm.weight", &[hidden]);
            add("mlp.gate_up_proj.weight", &[2 * text.intermediate_size, hidden]);
            add("mlp.down_proj.weight", &[hidden, text.intermediate_size]);
            add("post_mlp_layernorm.weight", &[hidden]);
        }
        add("model.language_model.norm.weight".to_owned(), &[hidden]);
        if !self.tie_word_embeddings {
            add("lm_head.weight".to_owned(), &[text.vocab_size, hidden]);
        }

        let vision = &self.vision;
        let (hidden, mlp, out) = (vision.hidden_size, vision.intermediate_size, vision.out_hidden_size);
        let (patch, merge, wide) = (vision.patch_size, vision.spatial_merge_size, vision.merger_size());
        let mut add = |name: &str, shape: &[usize]| add(format!("model.visual.{name}"), shape);
        add("patch_embed.proj.weight", &[hidden, vision.in_channels, vision.temporal_patch_size, patch, patch]);
        add("patch_embed.proj.bias", &[hidden]);
        for block in 0..vision.depth {
            let mut add = |name: &str, shape: &[usize]| add(&format!("blocks.{block}.{name}"), shape);
            add("norm1.weight", &[hidden]);
            add("attn.qkv.weight", &[3 * hidden, hidden]);
            add("attn.qkv.bias", &[3 * hidden]);
            add("attn.q_norm.weight", &[vision.head_dim()]);
            add("attn.k_norm.weight", &[vision.head_dim()]);
            add("attn.proj.weight", &[hidden, hidden]);
            add("attn.proj.bias", &[hidden]);
            add("norm2.weight", &[hidden]);
            for name in ["gate_proj", "up_proj"] {
                add(&format!("mlp.{name}.weight"), &[mlp, hidden]);
                add(&format!("mlp.{name}.bias"), &[mlp]);
            }
            add("mlp.down_proj.weight", &[hidden, mlp]);
            add("mlp.down_proj.bias", &[hidden]);
        }
        add("post_layernorm.weight", &[hidden]);
        add("downsample.weight", &[out, hidden, merge, merge]);
        add("downsample.bias", &[out]);
        add("merger.proj.weight", &[out, out]);
        add("merger.post_projection_norm.weight", &[out]);
        add("merger.post_projection_norm.bias", &[out]);
        add("merger.gate_proj.weight", &[wide, out]);
        add("merger.up_proj.weight", &[wide, out]);
        add("merger.down_proj.weight", &[out, wide]);
        list
    }
}

fn architecture(top: &Settings<'_>) -> Result<(), CheckpointError> {
    const MODEL: &str = "glm_ocr";
    const CLASS: &str = "GlmOcrForConditionalGeneration";
    match top.string("model_type")? {
        Some(MODEL) => {}
        Some(other) => {
            return Err(top.fault("model_type", format!("is \"{other}\", but this program reads \"{MODEL}\" only")));
        }
        None => return Err(top.fault("model_type", format!("is missing; it should be \"{MODEL}\""))),
    }
    match top.strings("architectures")? {
        Some(classes) if !classes.contains(&CLASS) => {
            let fault = format!("is {}, but this program reads {CLASS} only", classes.join(", "));
            Err(top.fault("architectures", fault))
        }
        _ => Ok(()),
    }
}

fn section<'a>(top: &Settings<'a>, key: &str) -> Result<Settings<'a>, CheckpointError> {
    let section = top.object(key)?;
    if section.is_empty() { Err(top.fault(key, "is missing")) } else { Ok(section) }
}

fn text(settings: &Settings<'_>) -> Result<TextConfig, CheckpointError> {
    settings.only("model_type", &json!("glm_ocr_text"))?;
    settings.only("hidden_act", &json!("silu"))?;
    settings.only("attention_bias", &json!(false))?;
    let hidden_size = settings.size("hidden_size", None, limit::WIDTH)?;
    let heads = settings.size("num_attention_heads", None, limit::HEADS)?;
    let kv_heads = settings.size("num_key_value_heads", Some(heads), limit::HEADS)?;
    if heads % kv_heads != 0 {
        return Err(
            settings.fault("num_key_value_heads", format!("is {kv_heads}, which does not divide {heads} heads"))
        );
    }
    let head_dim = settings.size("head_dim", Some((hidden_size / heads).max(1)), limit::HEAD_DIM)?;
    if !head_dim.is_multiple_of(2) {
        return Err(settings.fault("head_dim", format!("is {head_dim}, but must be even")));
    }
    let rope = rope(settings)?;
    rope.only("rope_type", &json!("default"))?;
    rope.only("partial_rotary_factor", &json!(1.0))?;
    Ok(TextConfig {
        vocab_size: settings.size("vocab_size", None, limit::VOCABULARY)?,
        hidden_size,
        intermediate_size: settings.size("intermediate_size", None, limit::WIDTH)?,
        num_hidden_layers: settings.size("num_hidden_layers", None, limit::LAYERS)?,
        num_attention_heads: heads,
        num_key_value_heads: kv_heads,
        head_dim,
        rms_norm_eps: settings.positive("rms_norm_eps", 1e-5)?,
        rope_theta: rope.positive("rope_theta", settings.positive("rope_theta", 10_000.0)?)?,
        mrope_section: mrope_section(&rope, head_dim)?,
        max_position_embeddings: settings.size("max_position_embeddings", Some(131_072), limit::POSITIONS)?,
    })
}

/// The rotary settings: `rope_parameters`, or `rope_scaling` in files of older versions.
fn rope<'a>(settings: &Settings<'a>) -> Result<Settings<'a>, CheckpointError> {
    let rope = settings.object("rope_parameters")?;
    if rope.is_empty() && settings.get("rope_scaling").is_some() { settings.object("rope_scaling") } else { Ok(rope) }
}

fn mrope_section(rope: &Settings<'_>, head_dim: usize) -> Result<[usize; 3], CheckpointError> {
    let section = rope.triple("mrope_section", [16.0, 24.0, 24.0])?;
    let whole = |number: f64| (number.fract() == 0.0 && (0.0..=1e6).contains(&number)).then_some(number as usize);
    let [Some(t), Some(h), Some(w)] = section.map(whole) else {
        return Err(rope.fault("mrope_section", "must hold whole numbers"));
    };
    if t + h + w != head_dim / 2 {
        let fault = format!("adds up to {}, but must add up to half of head_dim, {}", t + h + w, head_dim / 2);
        return Err(rope.fault("mrope_section", fault));
    }
    Ok([t, h, w])
}

fn vision(settings: &Settings<'_>) -> Result<VisionConfig, CheckpointError> {
    settings.only("model_type", &json!("glm_ocr_vision"))?;
    settings.only("hidden_act", &json!("silu"))?;
    settings.only("attention_bias", &json!(true))?;
    settings.only("in_channels", &json!(3))?;
    let hidden_size = settings.size("hidden_size", None, limit::WIDTH)?;
    let num_heads = settings.size("num_heads", None, limit::HEADS)?;
    // Rows and columns take half of a head each, and each half turns in pairs.
    if hidden_size % num_heads != 0 || !(hidden_size / num_heads).is_multiple_of(4) {
        let fault = format!("is {num_heads}, which does not cut {hidden_size} into heads of a multiple of 4");
        return Err(settings.fault("num_heads", fault));
    }
    let rope = rope(settings)?;
    Ok(VisionConfig {
        hidden_size,
        depth: settings.size("depth", None, limit::LAYERS)?,
        num_heads,
        intermediate_size: settings.size("intermediate_size", None, limit::WIDTH)?,
        out_hidden_size: settings.size("out_hidden_size", None, limit::WIDTH)?,
        patch_size: settings.size("patch_size", Some(14), 64)?,
        spatial_merge_size: settings.size("spatial_merge_size", Some(2), 8)?,
        temporal_patch_size: settings.size("temporal_patch_size", Some(2), 8)?,
        in_channels: 3,
        rms_norm_eps: settings.positive("rms_norm_eps", 1e-5)?,
        rope_theta: rope.positive("rope_theta", settings.positive("rope_theta", 10_000.0)?)?,
    })
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
