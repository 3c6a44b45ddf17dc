//! How much a forward computes and reads, from the sizes of the model.

use std::ops::Add;

use crate::checkpoint::{ModelConfig, TextConfig, VisionConfig};
use crate::decode::Mask;

/// What a forward takes. Norms, activations and rotations are left out: they are less than a hundredth of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Floating-point operations of matrix products, a multiplication and an addition counted as two.
    pub matrix_flop: f64,
    /// Floating-point operations of attention: scores and weighted sums.
    pub attention_flop: f64,
    /// Weights that are read, each once.
    pub weights: f64,
}

impl Work {
    /// All floating-point operations.
    pub fn flop(&self) -> f64 {
        self.matrix_flop + self.attention_flop
    }

    /// Rows through matrices of so many weights.
    fn matrices(rows: usize, weights: usize) -> Self {
        let weights = weights as f64;
        Self { matrix_flop: 2.0 * rows as f64 * weights, weights, ..Self::default() }
    }

    /// Attention in which all rows together see so many keys, in `layers` layers of this width over all query heads.
    fn attention(seen: f64, width: usize, layers: usize) -> Self {
        Self { attention_flop: 4.0 * seen * width as f64 * layers as f64, ..Self::default() }
    }
}

impl Add for Work {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            matrix_flop: self.matrix_flop + other.matrix_flop,
            attention_flop: self.attention_flop + other.attention_flop,
            weights: self.weights + other.weights,
        }
    }
}

/// The vision tower and the merger on so many patches.
pub fn vision(config: &VisionConfig, patches: usize) -> Work {
    tower(config, patches) + merger(config, patches / config.spatial_merge_size.pow(2))
}

/// The vision tower. Patches are embedded as one frame, whatever the number of frames.
fn tower(v: &VisionConfig, patches: usize) -> Work {
    let embedding = v.hidden_size * v.in_channels * v.patch_size.pow(2);
    let block = 4 * v.hidden_size.pow(2) + 3 * v.hidden_size * v.intermediate_size;
    Work::matrices(patches, embedding + v.depth * block)
        + Work::attention((patches as f64).powi(2), v.hidden_size, v.depth)
}

/// The strided convolution and the merger on so many image tokens.
fn merger(v: &VisionConfig, tokens: usize) -> Work {
    let (out, wide) = (v.out_hidden_size, v.merger_size());
    Work::matrices(tokens, out * v.hidden_size * v.spatial_merge_size.pow(2) + out * out + 3 * out * wide)
}

/// The decoder on `rows` rows after `past` cached tokens, with logits of `predicted` of them.
pub fn decoder(config: &ModelConfig, rows: usize, past: usize, mask: Mask, predicted: usize) -> Work {
    let t = &config.text;
    let seen: f64 = (0..rows).map(|row| mask.visible(past, rows, row) as f64).sum();
    Work::matrices(rows, t.num_hidden_layers * layer(t))
        + Work::attention(seen, t.num_attention_heads * t.head_dim, t.num_hidden_layers)
        + Work::matrices(predicted, t.vocab_size * t.hidden_size)
}

/// Weights in the matrices of one decoder layer.
fn layer(t: &TextConfig) -> usize {
    let (q, kv) = (t.num_attention_heads * t.head_dim, t.num_key_value_heads * t.head_dim);
    t.hidden_size * (2 * q + 2 * kv + 3 * t.intermediate_size)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use serde_json::json;

    use super::*;

    /// The published sizes (0.9 B parameters).
    fn published() -> ModelConfig {
        let value = json!({
            "model_type": "glm_ocr",
            "image_token_id": 59280,
            "text_config": {
                "hidden_size": 1536, "intermediate_size": 4608, "num_hidden_layers": 16, "num_attention_heads": 16,
                "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 59392
            },
            "vision_config": {
                "hidden_size": 1024, "intermediate_size": 4096, "depth": 24, "num_heads": 16, "out_hidden_size": 1536
            }
        });
        ModelConfig::parse("config.json", &value).unwrap()
    }

    #[test]
    fn a_token_reads_what_was_counted_by_hand() {
        let token = decoder(&published(), 1, 330, Mask::Causal, 1);
        // A layer: q and o 1536 x 2048 each, k and v 1536 x 1024 each, the MLP three times 1536 x 4608. Then the head.
        let layer = 2 * 3_145_728 + 2 * 1_572_864 + 3 * 7_077_888;
        assert_eq!(token.weights, f64::from(16 * layer + 91_226_112));
        assert!((token.weights * 2.0 / 1e9 - 1.164).abs() < 1e-3, "1.16 GB in bf16");
        // Each of 16 layers and 16 heads: 331 scores and 331 weighted sums of 128 numbers.
        assert_eq!(token.attention_flop, f64::from(2 * 2 * 331 * 128 * 16 * 16));
    }

    #[test]
    fn a_window_reads_the_same_and_computes_more() {
        let config = published();
        let causal = decoder(&config, 33, 330, Mask::Causal, 33);
        assert_eq!(causal.weights, decoder(&config, 1, 330, Mask::Causal, 1).weights);
        assert!((causal.matrix_flop / 1e9 - 38.4).abs() < 0.05, "{}", causal.matrix_flop);
        // Rows see 331, 332, ... 363 keys; in a draft the first sees 331 and the others 363 each.
        let per_key = f64::from(4 * 2048 * 16);
        assert_eq!(causal.attention_flop, per_key * f64::from((331..=363).sum::<u32>()));
        let draft = decoder(&config, 33, 330, Mask::Draft, 33);
        assert_eq!(draft.attention_flop, per_key * f64::from(331 + 32 * 363));
        // Prefill predicts one token only: 2 x 330 x 490.7 M, and the head once.
        let prefill = decoder(&config, 330, 0, Mask::Causal, 1);
        assert!((prefill.matrix_flop / 1e9 - 324.07).abs() < 0.01, "{}", prefill.matrix_flop);
    }

    #[test]
    fn the_vision_tower_computes_what_was_counted_by_hand() {
        let vision_config = published().vision;
        // A patch: 588 x 1024 to embed; 24 blocks of qkv 3 x 1024², proj 1024² and an MLP of 3 x 1024 x 4096.
        let patch = 602_112.0 + 24.0 * 16_777_216.0;
        let tower = tower(&vision_config, 1276);
        assert_eq!(tower.matrix_flop, 2.0 * 1276.0 * patch);
        assert!((tower.matrix_flop / 1e12 - 1.03).abs() < 2e-3, "{}", tower.matrix_flop);
        assert_eq!(tower.attention_flop, 4.0 * 1276.0 * 1276.0 * 1024.0 * 24.0);
        // An image token: the convolution 4096 x 1536, a projection 1536², an MLP of 3 x 1536 x 4608.
        let merged = 2.0 * 319.0 * f64::from(4096 * 1536 + 1536 * 1536 + 3 * 1536 * 4608);
        assert_eq!(vision(&vision_config, 1276).matrix_flop, tower.matrix_flop + merged);
    }
}
