//! Numeric kernels of the GravityOCR engine, and the memory that weights live in. The only crate with unsafe code.

pub mod memory;

mod attention;
mod elementwise;
mod kernel;
mod product;
mod simd;

pub use attention::Attention;
pub use kernel::Kernel;
pub use product::Weights;

#[cfg(test)]
mod tests;
