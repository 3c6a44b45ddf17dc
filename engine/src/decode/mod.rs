//! Decoding: autoregressive, self-speculative and by unverified diffusion, over one narrow seam to the model.

mod round;

pub use round::{Committed, Origin, Round};
