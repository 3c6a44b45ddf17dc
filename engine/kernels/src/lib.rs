//! Numeric kernels.
