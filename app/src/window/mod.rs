//! The window: pages on the left, the page in the middle, what was read on the right.
//!
//! `workspace` is what is open, what runs and what is kept, without anything that is drawn; `state` adds what only the
//! window needs. Views (`canvas`, `reading`, `rounds`, `race`, `export`, `shell`) borrow the state and ask for changes with
//! an `action`; `apply` alone makes them, with `documents`, `files` and `recognize` for those that take a while. Threads
//! work behind the window and answer by messages that `app` drains: the engine, the `librarian`, who opens and draws pages,
//! and the writer of the session. What may import what is in `layers_tests`.

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
