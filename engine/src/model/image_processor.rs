//! From a picture to the vision tower's input: size, normalisation, patches.

use image::RgbImage;
use rayon::prelude::*;

use super::resize::resize_bicubic_until;
use crate::cancel::{Cancel, Cancelled};
use crate::checkpoint::ProcessorConfig;

/// Longest side over shortest side at most.
const ASPECT_LIMIT: f64 = 200.0;

/// Why a picture cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// It has no pixel.
    #[error("the picture has no pixels")]
    Empty,
    /// It is too long and thin for the model.
    #[error(
        "the picture of {width} x {height} pixels is too long and thin: one side may be at most 200 times the other"
    )]
    TooElongated {
        /// Its width, pixels.
        width: u32,
        /// Its height, pixels.
        height: u32,
    },
    /// It was no longer wanted.
    #[error("the picture's preparation was cancelled")]
    Cancelled,
}

impl From<Cancelled> for ImageError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// A picture cut into patches.
#[derive(Clone, Debug, PartialEq)]
pub struct Patches {
    /// Rows and columns of patches.
    pub grid: [usize; 2],
    /// `[rows * columns, 3 * patch * patch]`, normalised; a patch is flattened as channel, y, x. Patches are ordered by
    /// merge window (window row, window column, then the patches inside, row by row), as the tower's position table and
    /// its merging convolution expect.
    ///
    /// This is *one* frame. A still picture fills all frames of a temporal patch with the same values, so the tower
    /// applies the sum of its temporal kernels instead.
    pub values: Vec<f32>,
    /// Width and height of the resized picture, pixels.
    pub resized: (u32, u32),
}

impl Patches {
    /// Image tokens that the tower makes of them.
    pub fn tokens(&self, merge_size: usize) -> usize {
        self.grid.iter().product::<usize>() / (merge_size * merge_size).max(1)
    }
}

/// Prepares pictures as the checkpoint's `preprocessor_config.json` asks.
#[derive(Clone, Debug)]
pub struct ImageProcessor {
    config: ProcessorConfig,
    /// The normalised value of every level of every channel.
    levels: Box<[[f32; 256]; 3]>,
}

impl ImageProcessor {
    /// A processor with these settings.
    pub fn new(config: ProcessorConfig) -> Self {
        // Rescaling to 0..1 and normalising are one step on 0..255, in f32, as in the reference.
        let channel = |index: usize| {
            let (mean, std) = (config.mean[index] as f32 * 255.0, config.std[index] as f32 * 255.0);
            std::array::from_fn(|level| (level as f32 - mean) / std)
        };
        let levels = Box::new([channel(0), channel(1), channel(2)]);
        Self { config, levels }
    }

    /// The settings.
    pub fn config(&self) -> &ProcessorConfig {
        &self.config
    }

    /// Image tokens for a picture of this size, without making anything.
    pub fn image_tokens(&self, width: u32, height: u32) -> Result<usize, ImageError> {
        let (width, height) = smart_resize(width, height, &self.config)?;
        let side = self.config.patch_size * self.config.merge_size;
        Ok((width as usize / side) * (height as usize / side))
    }

    /// Resizes, normalises and cuts a picture. Its pixels are resampled once, from the original.
    pub fn process(&self, image: &RgbImage) -> Result<Patches, ImageError> {
        self.process_until(image, &Cancel::new())
    }

    /// As [`process`](Self::process), looking row by row whether it is still wanted: a scan of a whole page at a high
    /// resolution takes its time.
    pub fn process_until(&self, image: &RgbImage, cancel: &Cancel) -> Result<Patches, ImageError> {
        let (width, height) = smart_resize(image.width(), image.height(), &self.config)?;
        if (width, height) == image.dimensions() {
            return self.cut(image, cancel);
        }
        let resized = resize_bicubic_until(image, width, height, cancel);
        cancel.check()?;
        self.cut(&resized, cancel)
    }

    /// Normalises and cuts a picture whose sides are multiples of a merge window's.
    fn cut(&self, image: &RgbImage, cancel: &Cancel) -> Result<Patches, ImageError> {
        let (patch, merge) = (self.config.patch_size, self.config.merge_size);
        let window = patch * merge;
        let (width, height) = (image.width() as usize, image.height() as usize);
        let (window_rows, window_columns) = (height / window, width / window);
        let patch_values = 3 * patch * patch;
        let mut values = vec![0.0; window_rows * window_columns * merge * merge * patch_values];
        let rows: Vec<&[[u8; 3]]> = image.as_raw().chunks_exact(3 * width).map(|row| row.as_chunks::<3>().0).collect();
        let window_row_values = window_columns * merge * merge * patch_values;
        values.par_chunks_exact_mut(window_row_values.max(1)).zip(rows.par_chunks_exact(window)).for_each(
            |(values, rows)| {
                if cancel.is_cancelled() {
                    return;
                }
                for (index, values) in values.chunks_exact_mut(patch_values).enumerate() {
                    let (window_column, inside) = (index / (merge * merge), index % (merge * merge));
                    let top = inside / merge * patch;
                    let left = window_column * window + inside % merge * patch;
                    for (channel, plane) in values.chunks_exact_mut(patch * patch).enumerate() {
                        for (line, row) in plane.chunks_exact_mut(patch).zip(rows.iter().skip(top)) {
                            for (value, pixel) in line.iter_mut().zip(row.iter().skip(left)) {
                                *value = self.levels[channel][usize::from(pixel[channel])];
                            }
                        }
                    }
                }
            },
        );
        cancel.check()?;
        Ok(Patches {
            grid: [window_rows * merge, window_columns * merge],
            values,
            resized: (image.width(), image.height()),
        })
    }
}

/// Width and height to which a picture of the given width and height is resized: multiples of a merge window's side
/// whose pixels, counted once a frame, are between the processor's limits where the aspect allows it.
///
/// The rule and its roundings are those of the reference (`smart_resize` of Glm46VImageProcessor): halves round to
/// even; a picture with a side shorter than a window is first scaled up in f64 and truncated.
pub fn smart_resize(width: u32, height: u32, config: &ProcessorConfig) -> Result<(u32, u32), ImageError> {
    if width == 0 || height == 0 {
        return Err(ImageError::Empty);
    }
    let side = (config.patch_size * config.merge_size) as f64;
    let frames = config.temporal_patch_size as f64;
    let (mut w, mut h) = (f64::from(width), f64::from(height));
    if h < side || w < side {
        let scale = (side / h).max(side / w);
        (w, h) = ((w * scale).trunc(), (h * scale).trunc());
    }
    if w.max(h) / w.min(h) > ASPECT_LIMIT {
        return Err(ImageError::TooElongated { width, height });
    }
    let (least, most) = (config.min_pixels as f64, config.max_pixels as f64);
    let mut windows = [w, h].map(|length| (length / side).round_ties_even());
    let pixels = frames * (windows[0] * side) * (windows[1] * side);
    if pixels > most {
        let beta = (frames * h * w / most).sqrt();
        windows = [w, h].map(|length| (length / beta / side).floor().max(1.0));
    } else if pixels < least {
        let beta = (least / (frames * h * w)).sqrt();
        windows = [w, h].map(|length| (length * beta / side).ceil());
    }
    let [w, h] = windows.map(|count| (count * side) as u32);
    Ok((w, h))
}

#[cfg(test)]
#[path = "image_processor_tests.rs"]
mod tests;
