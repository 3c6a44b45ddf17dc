//! CUDA: the kernels' launches, and the driver they run on.
//!
//! The driver library is loaded when the program runs: nothing of CUDA is needed to build without the feature `cuda`, and
//! a program built with it starts on a machine without an NVIDIA driver.

pub mod abi;
pub mod driver;
#[cfg(feature = "cuda-emulation")]
pub mod emulation;
pub mod fake;
#[cfg(feature = "cuda")]
pub mod image;
pub mod launch;

#[cfg(feature = "cuda")]
mod api;

use driver::{DeviceInfo, Driver, DriverError};

/// The cards of this machine; one that is too old is listed too.
///
/// # Errors
/// Why there is none: not built, no driver, an old driver, no card.
pub fn devices() -> Result<Vec<DeviceInfo>, DriverError> {
    #[cfg(feature = "cuda")]
    return api::devices();
    #[cfg(not(feature = "cuda"))]
    Err(DriverError::NotBuilt)
}

/// Opens the card `cuda:ordinal` with its kernels loaded.
///
/// # Errors
/// As [`devices`], and: no such card, a card that is too old, kernels that do not load.
pub fn open(ordinal: usize) -> Result<Box<dyn Driver>, DriverError> {
    #[cfg(feature = "cuda")]
    return api::open(ordinal, image::image);
    #[cfg(not(feature = "cuda"))]
    {
        let _ = ordinal;
        Err(DriverError::NotBuilt)
    }
}
