//! GLM-OCR: image processor, vision tower, merger, text decoder.

pub mod image_processor;
pub mod resize;
