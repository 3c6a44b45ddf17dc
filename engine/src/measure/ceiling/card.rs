//! A card's ceilings, by its own clock: copying memory, and a large matrix product by the kernel that prefill uses.

use half::bf16;
use kernels::cuda::abi::{Epilogue, ProductArguments, bytes_of};
use kernels::cuda::driver::{Driver, DriverError};

use super::Ceilings;
use crate::cancel::Cancel;
use crate::measure::MeasureError;

/// Bytes that are copied where the card has room for them: many times its cache.
const BUFFER: usize = 2 << 30;
/// Rows, inner size and columns of the large product: several tiles for every multiprocessor.
const PRODUCT: [usize; 3] = [4096, 4096, 4096];

/// Measures a card on which there is no model. What it takes is given back with the driver.
pub(super) fn measure(driver: &mut dyn Driver, runs: u32, cancel: &Cancel) -> Result<Ceilings, MeasureError> {
    let bytes = BUFFER.min((driver.memory()?.free / 4) as usize);
    let (from, to) = (driver.alloc(bytes)?, driver.alloc(bytes)?);
    driver.clear(from, bytes)?;
    let copies = seconds(driver, runs, cancel, |driver| driver.copy(from, to, bytes))?;
    driver.release(from)?;
    driver.release(to)?;
    let launch = product(driver, PRODUCT)?.bulk();
    let products = seconds(driver, runs, cancel, |driver| driver.launch(&launch))?;
    let operations = 2.0 * PRODUCT.iter().product::<usize>() as f64;
    Ok(Ceilings {
        read: Vec::new(),
        copy: copies.into_iter().map(|seconds| 2.0 * bytes as f64 / seconds / 1e9).collect(),
        product: products.into_iter().map(|seconds| operations / seconds / 1e9).collect(),
        product_sizes: PRODUCT,
    })
}

/// Seconds of each run after the first, between two marks in the card's stream.
fn seconds(
    driver: &mut dyn Driver,
    runs: u32,
    cancel: &Cancel,
    mut work: impl FnMut(&mut dyn Driver) -> Result<(), DriverError>,
) -> Result<Vec<f64>, MeasureError> {
    let (start, end) = (driver.event()?, driver.event()?);
    let mut seconds = Vec::new();
    for run in 0..=runs {
        cancel.check()?;
        driver.record(start)?;
        work(driver)?;
        driver.record(end)?;
        let ms = driver.elapsed_ms(start, end)?;
        if run > 0 {
            seconds.push(f64::from(ms) / 1e3);
        }
    }
    Ok(seconds)
}

/// The product of two uploaded matrices, `[rows, inner]` and `[columns, inner]`, into a third, all in bf16.
fn product(driver: &mut dyn Driver, [rows, inner, columns]: [usize; 3]) -> Result<ProductArguments, DriverError> {
    // Small whole numbers: nothing overflows, and no value is special.
    let value = |n: usize| bf16::from_f32((n % 7) as f32 - 3.0);
    let mut matrix = |count: usize| {
        let at = driver.alloc(2 * count)?;
        driver.upload(at, bytes_of(&(0..count).map(value).collect::<Vec<bf16>>()))?;
        Ok(at.0)
    };
    let (x, weight) = (matrix(rows * inner)?, matrix(columns * inner)?);
    Ok(ProductArguments {
        x,
        weight,
        out: driver.alloc(2 * rows * columns)?.0,
        rows: rows as i32,
        n: columns as i32,
        k: inner as i32,
        x_pitch: inner as i32,
        out_pitch: columns as i32,
        splits: 1,
        epilogue: Epilogue::Half as i32,
        ..Default::default()
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use kernels::cuda::driver::DevicePtr;
    use kernels::cuda::emulation;
    use kernels::cuda::fake::{Call, Fake};

    use super::*;

    #[test]
    fn each_run_is_a_large_copy_and_a_product_by_the_kernel_of_many_rows() {
        let mut card = Fake::new(1 << 30);
        let log = card.log();
        let ceilings = measure(&mut card, 3, &Cancel::new()).unwrap();
        assert_eq!((ceilings.read.len(), ceilings.copy.len(), ceilings.product.len()), (0, 3, 3));
        assert_eq!(log.count(|call| matches!(call, Call::Launch("product_bulk"))), 4, "the first is a warm-up");
        assert_eq!(log.count(|call| matches!(call, Call::Alloc(268_435_456))), 2, "a quarter of the card each");
    }

    #[test]
    fn the_product_is_one() {
        if !emulation::AVAILABLE {
            return crate::skipped::skipped("no C++ compiler was there to compile the CUDA kernels for this processor");
        }
        let [rows, inner, columns] = [9, 64, 70];
        let mut card = Fake::emulated(1 << 20);
        let arguments = product(&mut card, [rows, inner, columns]).unwrap();
        card.launch(&arguments.bulk()).unwrap();
        let bytes = card.bytes(DevicePtr(arguments.out), 2 * rows * columns).unwrap();
        let (halves, _) = bytes.as_chunks::<2>();
        let value = |n: usize| (n % 7) as i32 - 3;
        for (at, &half) in halves.iter().enumerate() {
            let (row, column) = (at / columns, at % columns);
            let sum: i32 = (0..inner).map(|k| value(row * inner + k) * value(column * inner + k)).sum();
            assert_eq!(bf16::from_le_bytes(half), bf16::from_f32(sum as f32), "row {row}, column {column}");
        }
    }

    #[test]
    fn a_card_that_is_too_small_or_fails_is_one_sentence() {
        let fault = measure(&mut Fake::new(1 << 20), 1, &Cancel::new()).unwrap_err().to_string();
        assert_eq!(fault, "the card's memory does not suffice: 32 MiB needed, 1 MiB free");
        let mut card = Fake::new(1 << 30);
        card.fail_after(1);
        let fault = measure(&mut card, 1, &Cancel::new()).unwrap_err().to_string();
        assert_eq!(fault, "the CUDA driver could not run a kernel: unspecified launch failure");
    }
}
