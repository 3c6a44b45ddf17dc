//! Compiles the CUDA kernels: with `nvcc` for the cards (feature `cuda`), with the C++ compiler for this machine's own
//! processor (feature `cuda-emulation`, for tests).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, thread};

/// What is compiled for the cards: the name of the file in `OUT_DIR`, and the flags that choose the target. Machine code
/// for the capabilities of today's cards, and PTX that the driver compiles for later ones.
const TARGETS: [(&str, &[&str]); 5] = [
    ("sm_80.cubin", &["-cubin", "-arch=sm_80"]),
    ("sm_86.cubin", &["-cubin", "-arch=sm_86"]),
    ("sm_89.cubin", &["-cubin", "-arch=sm_89"]),
    ("sm_90.cubin", &["-cubin", "-arch=sm_90"]),
    ("compute_90.ptx", &["-ptx", "-arch=compute_90"]),
];

fn main() {
    println!("cargo:rerun-if-changed=cuda");
    println!("cargo:rustc-check-cfg=cfg(cuda_emulation)");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    if env::var_os("CARGO_FEATURE_CUDA").is_some() {
        println!("cargo:rerun-if-env-changed=GRAVITYOCR_NVCC");
        compile_for_cards(&out);
    }
    if env::var_os("CARGO_FEATURE_CUDA_EMULATION").is_some() {
        println!("cargo:rerun-if-env-changed=CXX");
        match compile_for_this_machine(&out) {
            Ok(()) => println!("cargo:rustc-cfg=cuda_emulation"),
            Err(reason) => println!("cargo:warning=the CUDA kernels are not emulated: {reason}"),
        }
    }
}

/// The card images, and beside each the compiler's report of registers, spills and shared memory.
fn compile_for_cards(out: &Path) {
    let nvcc = env::var_os("GRAVITYOCR_NVCC").unwrap_or_else(|| "nvcc".into());
    let jobs: Vec<_> = TARGETS
        .map(|(file, target)| {
            let (nvcc, image) = (nvcc.clone(), out.join(file));
            thread::spawn(move || {
                let mut command = Command::new(&nvcc);
                command.args(target).args(["-O3", "-std=c++17", "-Werror", "all-warnings"]);
                if file.ends_with("cubin") {
                    command.arg("-Xptxas=-v");
                }
                let output = command.arg("-o").arg(&image).arg("cuda/kernels.cu").output();
                let output = output.map_err(|error| {
                    format!(
                        "{} could not be started: {error}. Put nvcc 13.0 on the PATH or name it in GRAVITYOCR_NVCC \
                         (cargo xtask fetch-nvcc fetches it)",
                        nvcc.display()
                    )
                })?;
                let report = String::from_utf8_lossy(&output.stderr).into_owned();
                if !output.status.success() {
                    return Err(format!("nvcc failed on {file}:\n{report}"));
                }
                fs::write(image.with_extension("report.txt"), report).map_err(|error| error.to_string())
            })
        })
        .into_iter()
        .collect();
    for job in jobs {
        if let Ok(Err(fault)) = job.join() {
            eprintln!("{fault}");
            std::process::exit(1);
        }
    }
}

/// The emulation as a static library.
fn compile_for_this_machine(out: &Path) -> Result<(), String> {
    let system = |key| env::var(key).unwrap_or_default();
    let linux = system("CARGO_CFG_TARGET_OS") == "linux" && system("CARGO_CFG_TARGET_ENV") == "gnu";
    if !linux || env::var("TARGET").ok() != env::var("HOST").ok() {
        return Err("it is built on Linux, for the machine that builds it".into());
    }
    let compiler = env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let object = out.join("cuda_emulation.o");
    let mut compile = Command::new(compiler);
    compile.args([
        "-std=c++17",
        "-O2",
        "-fPIC",
        "-fno-exceptions",
        "-fno-rtti",
        "-Wall",
        "-Wextra",
        "-Wno-unknown-pragmas",
    ]);
    // Jumps between stacks are what fibers are made of; the fortified longjmp takes them for a fault.
    compile.args(["-U_FORTIFY_SOURCE", "-c", "cuda/host/emulation.cpp", "-o"]).arg(&object);
    let archive = out.join("libcuda_emulation.a");
    let mut collect = Command::new("ar");
    collect.arg("crs").arg(&archive).arg(&object);
    for mut command in [compile, collect] {
        let output = command.output().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
    }
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=cuda_emulation");
    Ok(())
}
