//! The seam to whatever finds the regions of a page.

use std::fmt;

use image::RgbImage;

use crate::region::Region;

/// Why regions were not found; displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DetectorError(pub String);

/// Finds regions. Shared by the engine and whoever shows pages before they are read.
pub trait Detector: fmt::Debug + Send + Sync {
    /// The regions of a page in reading order, in pixels of the page; none on an empty page.
    ///
    /// # Errors
    /// Why the page could not be searched.
    fn detect(&self, page: &RgbImage) -> Result<Vec<Region>, DetectorError>;
}

/// The detector that needs no weights ([`detect`](super::detect)).
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltInDetector;

impl Detector for BuiltInDetector {
    fn detect(&self, page: &RgbImage) -> Result<Vec<Region>, DetectorError> {
        Ok(super::detect(page))
    }
}
