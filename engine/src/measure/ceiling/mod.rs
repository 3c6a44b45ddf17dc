//! What a machine can do at best: moving memory, multiplying large matrices.

mod card;
mod processor;

use kernels::{Format, cuda};

use super::MeasureError;
use crate::cancel::Cancel;
use crate::device::Device;

/// A machine's ceilings, one figure a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ceilings {
    /// Reading: 10⁹ bytes a second. Not measured on a card, which has nothing that only reads.
    pub read: Vec<f64>,
    /// Copying: 10⁹ bytes a second, those read and those written both counted.
    pub copy: Vec<f64>,
    /// A large matrix product: 10⁹ floating-point operations a second.
    pub product: Vec<f64>,
    /// Rows, inner size and columns of that product.
    pub product_sizes: [usize; 3],
}

impl Ceilings {
    /// Measures a device `runs` times after a warm-up; the processor on so many threads and multiplying in the given
    /// format, a card in bf16. Meanwhile it takes about 0.6 GB of memory, on a card at most 4.2 GB of the card's.
    ///
    /// # Errors
    /// No threads, no such card, a fault of the card, or the caller asked to stop.
    pub fn measure(
        device: Device,
        threads: usize,
        format: Format,
        runs: u32,
        cancel: &Cancel,
    ) -> Result<Self, MeasureError> {
        match device {
            Device::Cpu => processor::measure(threads, format, runs, cancel),
            Device::Cuda(ordinal) => card::measure(cuda::open(ordinal)?.as_mut(), runs, cancel),
        }
    }
}
