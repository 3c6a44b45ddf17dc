//! What a test does that cannot run here. The tests of every crate include this file.

use std::io::Write;

/// Says on standard error that a test was skipped, and why. Where `CI` is set everything that tests need is there, so
/// that a skipped test is a fault.
#[track_caller]
pub(crate) fn skipped(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "skipped on CI: {why}");
    // Not as a test's own output, which is shown for failures only.
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}
