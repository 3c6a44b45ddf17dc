//! Packaging: `cargo xtask dist` makes the archive that people download; `cargo xtask fetch-nvcc` gets the compiler that a
//! build with the feature `cuda` needs, and prints its path.

mod nvcc;

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Files of the repository that go into the archive beside the program.
const FILES: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE", "assets/samples/gravity-sample.pdf"];

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["dist"] => dist(),
        ["fetch-nvcc"] => root().and_then(|root| nvcc(&target(&root))),
        _ => Err(io::Error::other("usage: cargo xtask dist | fetch-nvcc")),
    };
    match done {
        Ok(made) => {
            answer(&made);
            ExitCode::SUCCESS
        }
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "a developer's tool; scripts take the path from here")]
fn answer(made: &Path) {
    println!("{}", made.display());
}

#[expect(clippy::print_stderr, reason = "a developer's tool")]
fn complain(error: &io::Error) {
    eprintln!("xtask: {error}");
}

/// The workspace's folder.
fn root() -> io::Result<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()
}

/// The folder of what is built.
fn target(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// The compiler of the CUDA kernels: the one that is named, or fetched.
fn nvcc(target: &Path) -> io::Result<PathBuf> {
    match env::var_os(nvcc::VARIABLE) {
        Some(named) => Ok(named.into()),
        None => nvcc::fetch(&target.join("cuda")),
    }
}

/// Builds the program as released and packs it; gives the archive. With the CUDA decoder where there are NVIDIA cards: the
/// program needs no more than their driver, and starts without it.
fn dist() -> io::Result<PathBuf> {
    let root = root()?;
    let target = target(&root);
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--release", "--locked", "--package", "gravityocr"]).current_dir(&root);
    if !cfg!(target_os = "macos") {
        cargo.args(["--features", "cuda"]).env(nvcc::VARIABLE, nvcc(&target)?);
    }
    if !cargo.status()?.success() {
        return Err(io::Error::other("the program could not be built"));
    }
    let program = target.join("release").join(format!("gravityocr{}", env::consts::EXE_SUFFIX));
    pack(&root, &program, &target.join("dist"))
}

/// Packs the program and [`FILES`] into `<name>.tar.gz` in `folder`, everything below one folder `<name>`.
fn pack(root: &Path, program: &Path, folder: &Path) -> io::Result<PathBuf> {
    let name = format!("gravityocr-{}-{}-{}", env!("CARGO_PKG_VERSION"), env::consts::OS, env::consts::ARCH);
    fs::create_dir_all(folder)?;
    let path = folder.join(format!("{name}.tar.gz"));
    let mut archive = tar::Builder::new(GzEncoder::new(File::create(&path)?, Compression::best()));
    archive.append_path_with_name(program, format!("{name}/gravityocr{}", env::consts::EXE_SUFFIX))?;
    for file in FILES {
        let file_name = file.rsplit('/').next().unwrap_or(file);
        archive.append_path_with_name(root.join(file), format!("{name}/{file_name}"))?;
    }
    archive.into_inner()?.finish()?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use super::*;

    #[test]
    fn the_archive_holds_the_program_and_its_papers_in_one_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = tempfile::tempdir().unwrap();
        let archive = pack(&root, &env::current_exe().unwrap(), folder.path()).unwrap();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(File::open(archive).unwrap()));
        let paths: Vec<_> =
            archive.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect();
        let (top, _) = paths[0].split_once('/').unwrap();
        let program = format!("gravityocr{}", env::consts::EXE_SUFFIX);
        let expected = [program.as_str(), "README.md", "CHANGELOG.md", "LICENSE", "gravity-sample.pdf"];
        assert_eq!(paths, expected.map(|name| format!("{top}/{name}")));
    }
}
