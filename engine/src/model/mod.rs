//! GLM-OCR: image processor, vision tower, merger, text decoder.
