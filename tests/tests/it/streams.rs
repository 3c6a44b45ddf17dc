use std::io::Read;
use std::process::Stdio;

use super::support::{Ran, Sandbox, few_lines, pdf, sample_pdf};

#[test]
fn piped_output_has_no_escape_codes() {
    let sandbox = Sandbox::new();
    sandbox.write("scan.png", few_lines());
    let ran = sandbox.recognize("scan.png");
    assert_eq!(ran.code, 0);
    assert!(!ran.out.contains('\x1b') && !ran.err.contains(['\x1b', '\r']), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "a line a page and nothing else: {}", ran.err);
    assert!(ran.err.starts_with("scan.png: page 1 (1 of 1): "), "{}", ran.err);
}

#[test]
fn colours_can_be_asked_for_and_forbidden() {
    let sandbox = Sandbox::new();
    sandbox.write("scan.png", few_lines());
    let coloured = sandbox.recognize("scan.png --color always");
    assert!(coloured.err.contains("\x1b[38;5;"), "{}", coloured.err);
    assert!(!coloured.err.contains("\x1b[J") && !coloured.err.contains('\r'), "nothing is redrawn in a pipe");
    assert!(!coloured.out.contains('\x1b'), "colours are for standard error only");
    let plain = sandbox.command().args(["recognize", "scan.png"]).env("NO_COLOR", "1").output().unwrap();
    assert!(!Ran::of(plain).err.contains('\x1b'));
    assert!(!sandbox.recognize("scan.png --color never").err.contains('\x1b'));
}

#[test]
fn coloured_text_is_the_text() {
    let sandbox = Sandbox::new();
    sandbox.write("scan.png", few_lines());
    let ran = sandbox.recognize("scan.png --color always");
    let mut shown = String::new();
    let mut rest = ran.err.as_str();
    while let Some(start) = rest.find('\x1b') {
        shown.push_str(&rest[..start]);
        rest = &rest[start + rest[start..].find('m').unwrap() + 1..];
    }
    shown.push_str(rest);
    // Lines joined into a paragraph are the lines that were shown, up to hyphens at their ends.
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let page_line = shown.lines().position(|line| line.starts_with("scan.png: page")).unwrap();
    let lines: Vec<_> = shown.lines().take(page_line).collect();
    assert_eq!(words(&lines.join(" ")), words(&ran.out));
}

#[test]
fn a_reader_that_goes_away_ends_the_command_quietly() {
    let sandbox = Sandbox::new();
    sandbox.write("many.pdf", pdf(60));
    let mut child = sandbox
        .command()
        .args(["recognize", "many.pdf", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 1];
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut first).unwrap();
    drop(out);
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(!ran.err.contains("pipe"), "{}", ran.err);
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_is_finished() {
    use std::io::{BufRead, BufReader};
    let sandbox = Sandbox::new();
    // Pages 1 and 2 of the sample in turn: enough to be in the middle of when the signal comes.
    let sample = sample_pdf();
    let mut child = sandbox
        .command()
        .args(["recognize", sample.to_str().unwrap(), "-o", "out.md"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    err.read_line(&mut line).unwrap();
    assert!(line.contains("page 1 (1 of 2)"), "{line}");
    let signal = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(signal.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let text = sandbox.read("out.md");
    let whole = std::fs::read_to_string(sample.with_extension("md")).unwrap();
    let title = whole.lines().next().unwrap();
    let end = whole.lines().next_back().unwrap();
    assert!(text.contains(title), "page 1 is kept: {text}");
    assert!(!text.contains(end), "the end of page 2 was not read: {text}");
}
