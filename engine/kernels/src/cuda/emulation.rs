//! The device kernels on the CPU, for tests: the same sources compiled for this machine (`cuda/host`), very slow.

use super::launch::Launch;

#[cfg(cuda_emulation)]
unsafe extern "C" {
    fn emulate_blocks(
        name: *const std::ffi::c_char,
        grid: *const u32,
        threads: u32,
        shared: u32,
        argument: *const u8,
        size: usize,
        first: u32,
        end: u32,
        salt: u32,
    ) -> i32;
    fn emulate_argument_size(name: *const std::ffi::c_char) -> usize;
}

/// Whether a C++ compiler was there when this was built.
pub const AVAILABLE: bool = cfg!(cuda_emulation);

/// Runs a launch, its blocks spread over the processor's cores; the addresses in it are host addresses. It ends when all
/// blocks have.
///
/// # Safety
/// The addresses must be of memory as large and as aligned as `cuda/abi.h` says, that nothing else uses meanwhile.
///
/// # Errors
/// No emulation in this build, no such kernel, an argument of the wrong size, a write beyond the shared memory, or a thread
/// that did not wait for the launch before.
pub unsafe fn run(launch: &Launch) -> Result<(), String> {
    #[cfg(cuda_emulation)]
    {
        let name = std::ffi::CString::new(launch.kernel).map_err(|error| error.to_string())?;
        let threads = launch.block.iter().product();
        let salt = LAUNCHES.replace(LAUNCHES.get().wrapping_add(1));
        // SAFETY: the pointers are of live values; the caller vouches for the addresses in the argument.
        let blocks = |first, end| unsafe {
            emulate_blocks(
                name.as_ptr(),
                launch.grid.as_ptr(),
                threads,
                launch.shared,
                launch.argument.as_ptr(),
                launch.argument.len(),
                first,
                end,
                salt,
            )
        };
        match spread(launch.grid.iter().product(), &blocks) {
            0 => Ok(()),
            1 => Err(format!("there is no kernel {}", launch.kernel)),
            2 => Err(format!("{} does not take {} bytes", launch.kernel, launch.argument.len())),
            3 => Err(format!("{} cannot run with {threads} threads", launch.kernel)),
            4 => Err(format!("{} wrote beyond its {} bytes of shared memory", launch.kernel, launch.shared)),
            _ => Err(format!("{} ended without waiting for the launch before it", launch.kernel)),
        }
    }
    #[cfg(not(cuda_emulation))]
    {
        let _ = launch;
        Err("the emulation of the CUDA kernels was not built".to_owned())
    }
}

#[cfg(cuda_emulation)]
thread_local! {
    /// Launches of this thread: a test's launches take place in the same order in every run.
    static LAUNCHES: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// Runs blocks `0..count` on all cores, a few at a time, and gives the largest code.
#[cfg(cuda_emulation)]
fn spread(count: u32, blocks: &(impl Fn(u32, u32) -> i32 + Sync)) -> i32 {
    use std::sync::atomic::{AtomicI32, AtomicU32, Ordering::Relaxed};

    /// Blocks that are worth a thread.
    const FEW: u32 = 8;
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    let (next, code) = (AtomicU32::new(0), AtomicI32::new(0));
    let work = || {
        loop {
            let first = next.fetch_add(FEW, Relaxed);
            if first >= count {
                break;
            }
            code.fetch_max(blocks(first, count.min(first + FEW)), Relaxed);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..cores.min(count / FEW) {
            scope.spawn(work);
        }
        work();
    });
    code.into_inner()
}

/// Bytes of a kernel's argument in `cuda/abi.h`.
pub fn argument_size(kernel: &str) -> Option<usize> {
    #[cfg(cuda_emulation)]
    {
        let name = std::ffi::CString::new(kernel).ok()?;
        // SAFETY: the name is a C string.
        Some(unsafe { emulate_argument_size(name.as_ptr()) }).filter(|&size| size > 0)
    }
    #[cfg(not(cuda_emulation))]
    {
        let _ = kernel;
        None
    }
}
