//! The device kernels on the CPU, for tests: the same sources compiled for this machine (`cuda/host`), very slow.

use super::launch::Launch;

#[cfg(cuda_emulation)]
unsafe extern "C" {
    fn emulate_launch(
        name: *const std::ffi::c_char,
        grid: *const u32,
        threads: u32,
        shared: u32,
        argument: *const u8,
        size: usize,
    ) -> i32;
    fn emulate_argument_size(name: *const std::ffi::c_char) -> usize;
}

/// Whether a C++ compiler was there when this was built.
pub const AVAILABLE: bool = cfg!(cuda_emulation);

/// Runs a launch; the addresses in it are host addresses. It ends when all blocks have.
///
/// # Safety
/// The addresses must be of memory as large and as aligned as `cuda/abi.h` says, that nothing else uses meanwhile.
///
/// # Errors
/// No emulation in this build, no such kernel, an argument of the wrong size, or a write beyond the shared memory.
pub unsafe fn run(launch: &Launch) -> Result<(), String> {
    #[cfg(cuda_emulation)]
    {
        let name = std::ffi::CString::new(launch.kernel).map_err(|error| error.to_string())?;
        let [x, y, z] = launch.block;
        // SAFETY: the pointers are of live values; the caller vouches for the addresses in the argument.
        let code = unsafe {
            emulate_launch(
                name.as_ptr(),
                launch.grid.as_ptr(),
                x * y * z,
                launch.shared,
                launch.argument.as_ptr(),
                launch.argument.len(),
            )
        };
        match code {
            0 => Ok(()),
            1 => Err(format!("there is no kernel {}", launch.kernel)),
            2 => Err(format!("{} does not take {} bytes", launch.kernel, launch.argument.len())),
            3 => Err(format!("{} cannot run with {} threads", launch.kernel, x * y * z)),
            _ => Err(format!("{} wrote beyond its {} bytes of shared memory", launch.kernel, launch.shared)),
        }
    }
    #[cfg(not(cuda_emulation))]
    {
        let _ = launch;
        Err("the emulation of the CUDA kernels was not built".to_owned())
    }
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
