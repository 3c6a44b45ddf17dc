//! The window: pages on the left, the page in the middle, what was read on the right.
//!
//! `state` is all that is shown, `project` the part of it that is saved. Views (`canvas`, `reading`, `rounds`, `pages`,
//! `shell`) borrow the state and ask for changes with an `action`; `apply` alone makes them. Two threads work behind the
//! window and answer by messages that `app` drains: the engine (`run`) and the `librarian`, who opens and draws pages.

mod action;
mod app;
#[cfg(test)]
mod app_tests;
mod apply;
mod canvas;
mod clipboard;
mod colours;
mod command;
mod devices;
mod dialogs;
mod documents;
mod export;
mod files;
mod highlight;
mod hover_card;
mod icon;
#[cfg(test)]
mod layers_tests;
mod librarian;
mod pyramid;
mod race;
mod reading;
mod recognize;
mod record;
mod round_marks;
mod round_text;
mod rounds;
mod search;
mod sheets;
mod shell;
mod state;
mod strings;
mod workspace;

pub use crate::reader::{Next, Reader, Running, Waker};
pub use app::{Backend, Started, Window, WindowOptions, engine_backend, open};
pub use devices::DeviceList;
pub use dialogs::{DialogsKind, Script};
