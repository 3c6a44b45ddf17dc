//! `preprocessor_config.json`: how an image is sized and normalised.

use serde_json::{Value, json};

use super::settings::Settings;
use super::{CheckpointError, VisionConfig};

/// Settings of the image processor.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessorConfig {
    /// Fewest pixels after resizing, *times two frames*, as the file counts them.
    pub min_pixels: usize,
    /// Most pixels after resizing, *times two frames*.
    pub max_pixels: usize,
    /// Side of a patch, pixels.
    pub patch_size: usize,
    /// Patches per side of an image token.
    pub merge_size: usize,
    /// Frames per patch.
    pub temporal_patch_size: usize,
    /// Mean of red, green, blue, in 0..1.
    pub mean: [f64; 3],
    /// Standard deviation of red, green, blue, in 0..1.
    pub std: [f64; 3],
}

impl ProcessorConfig {
    /// Reads the content of a `preprocessor_config.json` or `processor_config.json`; `file` is its name in messages.
    ///
    /// Absent keys take the defaults of the published processor class. Steps that are switched off or done in another
    /// way are errors, and so is a patch that differs from the vision tower's.
    pub fn parse(file: &str, value: &Value, vision: &VisionConfig) -> Result<Self, CheckpointError> {
        let top = Settings::new(file, value);
        // A `processor_config.json` keeps the image processor in an object of its own.
        let nested = top.object("image_processor")?;
        let settings = if nested.is_empty() { top } else { nested };
        for step in ["do_resize", "do_rescale", "do_normalize", "do_convert_rgb"] {
            settings.only(step, &json!(true))?;
        }
        settings.only("resample", &json!(3))?; // bicubic
        let factor = settings.positive("rescale_factor", 1.0 / 255.0)?;
        if (factor * 255.0 - 1.0).abs() > 1e-6 {
            return Err(settings.fault("rescale_factor", format!("is {factor}, but only 1/255 is supported")));
        }

        // Whatever a file says, no picture of more than this is made: about ten times the published limit.
        const LIMIT: usize = 1 << 27;
        let size = settings.object("size")?;
        let min_pixels = size.size("shortest_edge", Some(112 * 112), LIMIT)?;
        let max_pixels = size.size("longest_edge", Some(28 * 28 * 15_000), LIMIT)?;
        let same = |key: &str, tower: usize| {
            settings.size(key, Some(tower), 64).and_then(|size| {
                let differs = || format!("is {size}, but the vision tower of config.json has {tower}");
                if size == tower { Ok(size) } else { Err(settings.fault(key, differs())) }
            })
        };
        let patch_size = same("patch_size", vision.patch_size)?;
        let merge_size = same("merge_size", vision.spatial_merge_size)?;
        let temporal_patch_size = same("temporal_patch_size", vision.temporal_patch_size)?;
        let token_pixels = (patch_size * merge_size).pow(2) * temporal_patch_size;
        if max_pixels < min_pixels.max(token_pixels) {
            let least = min_pixels.max(token_pixels);
            return Err(size.fault("longest_edge", format!("is {max_pixels}, but must be at least {least}")));
        }

        let mean = settings.triple("image_mean", [0.481_454_66, 0.457_827_5, 0.408_210_73])?;
        let std = settings.triple("image_std", [0.268_629_54, 0.261_302_58, 0.275_777_11])?;
        if std.iter().any(|&deviation| deviation < 1e-6) {
            return Err(settings.fault("image_std", "must be positive"));
        }
        Ok(Self { min_pixels, max_pixels, patch_size, merge_size, temporal_patch_size, mean, std })
    }
}
