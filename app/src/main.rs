//! The `gravityocr` binary.
fn main() -> std::process::ExitCode {
    gravityocr::main()
}
