//! From a scan or a PDF to Markdown. The modules stand in the order of a page's journey, which `pipeline` tells.

// Open file -> page raster -> layout regions -> requests.
pub mod document;
pub mod layout;
pub mod pipeline;
mod plan;
pub mod region;

// Request -> vision tower -> decoder rounds -> answer.
pub mod checkpoint;
pub mod decode;
pub mod device;
pub mod model;
pub mod precision;
pub mod recognizer;

// Answers -> events and region texts -> document -> Markdown.
pub mod assemble;
pub mod event;
pub mod export;
pub mod page;

// What drives it all and what stops it, many jobs at a time; and the times of its stages.
pub mod cancel;
mod engine;
pub mod job;
pub mod measure;
mod run;
mod scheduler;

pub use engine::{CheckpointSource, Engine, EngineError, EngineInfo, EngineOptions, EngineParts};

// A test that cannot run here says so.
#[cfg(test)]
#[path = "../../tests/skipped.rs"]
mod skipped;
