//! The `gravityocr` command, built beside the tests that run it.

fn main() -> std::process::ExitCode {
    gravityocr::main()
}
