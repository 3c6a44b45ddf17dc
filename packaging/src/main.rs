//! Packaging.
fn main() {}
