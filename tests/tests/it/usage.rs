use super::support::Sandbox;

#[test]
fn without_a_display_the_window_points_to_recognize() {
    for arguments in [&[][..], &["scan.pdf"]] {
        let ran = Sandbox::new().run(arguments.iter().copied());
        assert_eq!((ran.code, ran.out.as_str()), (1, ""));
        let sentence = "there is no display to open a window on; to read files, use: gravityocr recognize FILES";
        assert_eq!(ran.faults(), [sentence]);
    }
}

#[test]
fn help_and_version_go_to_standard_output() {
    let sandbox = Sandbox::new();
    let help = sandbox.run(["recognize", "--help"]);
    assert_eq!((help.code, help.err.as_str()), (0, ""));
    for flag in [
        "--output",
        "--format",
        "--decode",
        "--tau",
        "--temperature",
        "--seed",
        "--pdfium",
        "--pdf-renderer",
        "--checkpoint",
        "--layout",
        "--pages",
        "--dpi",
        "--password",
        "--device",
        "--trace",
        "--furniture",
        "--threads",
        "--weights",
        "--force",
        "--color",
    ] {
        assert!(help.out.contains(flag), "{flag} in {}", help.out);
    }
    assert_eq!(sandbox.run(["--version"]).out, format!("gravityocr {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_mistyped_command_is_no_file() {
    let ran = Sandbox::new().run(["recognise", "scan.pdf"]);
    assert_eq!(ran.code, 2);
    assert_eq!(ran.faults(), ["there is no command and no file recognise; try gravityocr --help"]);
}

#[test]
fn wrong_arguments_are_exit_code_two() {
    let sandbox = Sandbox::new();
    sandbox.write("a.png", "");
    for line in
        ["a.png --format docx", "a.png --dpi -3", "a.png --decode guess", "a.png --device tpu", "a.png --tau 0.5"]
    {
        let ran = sandbox.recognize(line);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{line}: {}", ran.err);
        assert!(ran.err.starts_with("error: "), "{line}: {}", ran.err);
    }
}
