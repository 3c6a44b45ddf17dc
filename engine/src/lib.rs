//! From a scan or a PDF to Markdown. The modules stand in the order of a page's journey.

pub mod document;
pub mod layout;
pub mod region;

pub mod checkpoint;
pub mod model;

pub mod decode;
pub mod event;

pub mod assemble;
pub mod export;
pub mod page;
