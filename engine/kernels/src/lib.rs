//! Numeric kernels of the GravityOCR engine, and the memory that weights live in. The only crate with unsafe code.

pub mod cuda;
pub mod memory;

mod attention;
mod elementwise;
mod kernel;
mod product;
mod sharing;
mod simd;

pub use attention::Attention;
pub use kernel::Kernel;
pub use product::Weights;
pub use sharing::alone;

#[cfg(test)]
mod tests;
