//! End-to-end tests: the command is run as a user runs it. One binary, so that it is linked once.

#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

// Running the command, and making its inputs.
mod support;

// Wrong usage, help, and what is said without a command.
mod usage;
// Files that cannot be read, in part or at all: a sentence, the exit code, and the other files still written.
mod bad_input;
// Where results go: names, collisions, overwriting, folders that cannot be written.
mod output;
// What standard output and standard error show, and when they are cut off.
mod streams;
// The sample document against what it says; every format; the trace of its rounds.
mod sample;
// `models` and checkpoint folders that are not sound.
mod models;
// `bench`.
mod bench;
// The engine's seams, with a recognizer and a detector that it has never seen.
mod recognizer;
