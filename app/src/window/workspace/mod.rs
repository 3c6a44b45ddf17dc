//! What is open and how far it is, without a window: the work and its history, what runs, what is shown, and what is kept.
//! Nothing here draws; what it has to tell a person is a [`notice::Notice`].

pub(crate) mod background_task;
pub(crate) mod chart;
pub(crate) mod detail;
pub(crate) mod edits;
pub(crate) mod export;
pub(crate) mod history;
pub(crate) mod live;
pub(crate) mod log;
pub(crate) mod notice;
pub(crate) mod path_form;
pub(crate) mod project;
pub(crate) mod project_file;
pub(crate) mod race;
pub(crate) mod replay;
pub(crate) mod result;
pub(crate) mod run;
pub(crate) mod run_events;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod state;
pub(crate) mod stored;
