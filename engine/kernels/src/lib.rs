//! Numeric kernels and the memory that weights live in.

pub mod memory;
