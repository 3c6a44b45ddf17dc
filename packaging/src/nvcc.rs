//! NVIDIA's compiler for the CUDA kernels, from the wheels that NVIDIA publishes on PyPI; nothing is installed outside
//! the target folder.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that names the compiler for the build.
pub(crate) const VARIABLE: &str = "GRAVITYOCR_NVCC";

/// The compiler, what it calls, and the headers that it includes.
const WHEELS: [&str; 5] =
    ["nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-crt", "nvidia-cuda-runtime", "nvidia-cuda-cccl"];
/// The toolkit that the kernels are written for.
const VERSION: &str = "13.0.*";

/// Fetches the compiler into `folder`, unless it is there, and gives its path.
///
/// # Errors
/// No Python with pip, or the wheels cannot be had.
pub(crate) fn fetch(folder: &Path) -> io::Result<PathBuf> {
    let nvcc = folder.join("nvidia").join("cu13").join("bin").join(format!("nvcc{}", std::env::consts::EXE_SUFFIX));
    if nvcc.is_file() {
        return Ok(nvcc);
    }
    let python = if cfg!(windows) { "python" } else { "python3" };
    let done = Command::new(python)
        .args(arguments(folder))
        .status()
        .map_err(|error| io::Error::other(format!("{python} with pip is needed to fetch nvcc: {error}")))?;
    if !done.success() {
        return Err(io::Error::other("pip could not fetch nvcc"));
    }
    match nvcc.is_file() {
        true => Ok(nvcc),
        false => Err(io::Error::other(format!("the wheels were unpacked, but {} is not there", nvcc.display()))),
    }
}

/// What Python is called with.
fn arguments(folder: &Path) -> Vec<OsString> {
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--upgrade"];
    let mut arguments: Vec<OsString> = pip.iter().map(OsString::from).collect();
    arguments.extend(["--only-binary=:all:".into(), "--target".into(), folder.into()]);
    arguments.extend(WHEELS.iter().map(|wheel| format!("{wheel}=={VERSION}").into()));
    arguments
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use super::*;

    #[test]
    fn a_compiler_that_is_there_is_not_fetched_again() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("nvidia/cu13/bin");
        std::fs::create_dir_all(&bin).unwrap();
        let nvcc = bin.join(format!("nvcc{}", std::env::consts::EXE_SUFFIX));
        std::fs::write(&nvcc, "").unwrap();
        assert_eq!(fetch(folder.path()).unwrap(), nvcc);
    }

    #[test]
    fn only_wheels_of_one_toolkit_are_asked_for() {
        let arguments = arguments(Path::new("x"));
        let wheels: Vec<_> = arguments.iter().rev().take(5).map(|word| word.to_str().unwrap()).collect();
        assert!(wheels.iter().all(|wheel| wheel.starts_with("nvidia-") && wheel.ends_with("==13.0.*")), "{wheels:?}");
    }
}
