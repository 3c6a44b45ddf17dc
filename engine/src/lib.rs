//! From a scan or a PDF to Markdown. The modules stand in the order of a page's journey.

// Open file -> page raster -> layout regions.
pub mod document;
pub mod layout;
pub mod region;

// Region crop -> vision tower -> decoder rounds -> events.
pub mod checkpoint;
pub mod decode;
pub mod device;
pub mod event;
pub mod model;
pub mod precision;
pub mod reader;

// Region texts -> document -> Markdown.
pub mod assemble;
pub mod export;
pub mod page;

// The thread that drives it all, what stops it, and the times of its stages.
pub mod cancel;
pub mod measure;
pub mod worker;

// A test that cannot run here says so.
#[cfg(test)]
#[path = "../../tests/skipped.rs"]
mod skipped;
