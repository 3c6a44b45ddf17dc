//! The command under test.
fn main() -> std::process::ExitCode {
    gravityocr::main()
}
