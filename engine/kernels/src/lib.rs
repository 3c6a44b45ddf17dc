//! Numeric kernels of the GravityOCR engine, and the memory that weights live in. The only crate with unsafe code.

pub mod cuda;
pub mod memory;

mod attention;
mod cache;
mod elementwise;
mod kernel;
mod matrix;
mod operand;
mod panel;
mod product;
mod sharing;
mod simd;

pub use attention::Attention;
pub use cache::KeyValues;
pub use kernel::{Kernel, Peak};
pub use matrix::Matrix;
pub use operand::{Format, Operand};

#[cfg(test)]
mod tests;
