//! The program itself, in a window on a screen that nobody sees: keys go in, and what the session and the export say
//! comes out.

use std::fmt::Debug;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::support::{root, sample_pdf};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often one looks.
const GLANCE: Duration = Duration::from_millis(25);
/// From one key to the next, where the second has a meaning only when the first was drawn.
const MOMENT: Duration = Duration::from_millis(500);
/// How long a run that was cancelled may be quiet before nothing more is expected of it.
const QUIET: Duration = Duration::from_secs(2);
/// Regions of the sample's pages.
const REGIONS: [usize; 2] = [20, 24];

/// Waits until there is an answer.
#[track_caller]
fn wait<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, look).unwrap_or_else(|| panic!("{what}: waited for it in vain"))
}

fn within<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + patience;
    loop {
        let found = look();
        if found.is_some() || Instant::now() > until {
            return found;
        }
        sleep(GLANCE);
    }
}

/// A process that ends with its owner.
struct Owned(Child);

impl Owned {
    fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().unwrap()
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A screen that nobody sees, with a keyboard.
struct Screen {
    display: String,
    driver: PathBuf,
    server: Owned,
}

impl Screen {
    /// None where what it takes is not installed.
    fn open() -> Option<Self> {
        let screen = Self::start();
        if let Err(missing) = &screen {
            crate::skipped::skipped(missing);
        }
        screen.ok()
    }

    fn start() -> Result<Self, String> {
        let missing = |what: &str| format!("{what} is not installed, so no real window was opened");
        let driver = software_vulkan().ok_or_else(|| missing("a software Vulkan driver (lavapipe)"))?;
        let xdotool = Command::new("xdotool").arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        xdotool.map_err(|_| missing("xdotool"))?;
        // The server takes the next number that is free, and tells it; two that look for one together may take the same.
        // Without -noreset it starts anew, and refuses who comes, whenever its last client leaves.
        static ONE_BY_ONE: Mutex<()> = Mutex::new(());
        let _turn = ONE_BY_ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", "1400x900x24", "-noreset", "-nolisten", "tcp"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut server = Owned(server.map_err(|_| missing("Xvfb"))?);
        let mut number = String::new();
        BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut number).unwrap();
        assert!(!number.trim().is_empty(), "Xvfb did not start");
        Ok(Self { display: format!(":{}", number.trim()), driver, server })
    }

    fn xdotool(&self, words: &[&str]) -> Option<String> {
        let output = Command::new("xdotool").args(words).env("DISPLAY", &self.display).output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    }

    fn press(&self, keys: &str) {
        assert!(self.xdotool(&["key", keys]).is_some(), "{keys} could not be pressed");
    }

    /// The windows that are shown.
    fn windows(&self) -> Vec<String> {
        let found = self.xdotool(&["search", "--onlyvisible", "--name", "GravityOCR"]);
        found.unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Gives a new window the keyboard; there is no window manager to do it.
    fn focus_another_than(&self, known: &[String]) -> String {
        wait("a window with the keyboard's focus", || {
            let window = self.windows().into_iter().find(|window| !known.contains(window))?;
            self.xdotool(&["windowfocus", &window])?;
            (self.xdotool(&["getwindowfocus"])?.trim() == window).then_some(window)
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Asked to end, it takes its socket with it.
        let _ = Command::new("sh").args(["-c", "kill \"$0\"", &self.server.0.id().to_string()]).status();
        within(Duration::from_secs(2), || self.server.ended());
    }
}

/// The description of the Vulkan driver that draws on the CPU.
fn software_vulkan() -> Option<PathBuf> {
    ["/usr/share", "/usr/local/share", "/etc"].into_iter().find_map(|folder| {
        let mut entries = fs::read_dir(Path::new(folder).join("vulkan/icd.d")).ok()?.flatten();
        let lavapipe = entries.find(|entry| entry.file_name().to_string_lossy().starts_with("lvp_icd"))?;
        Some(lavapipe.path())
    })
}

/// Somebody's computer: a home, and a screen.
struct Desk {
    home: tempfile::TempDir,
    screen: Screen,
}

/// A region as the session keeps it.
#[derive(Clone, PartialEq)]
struct Kept {
    id: u64,
    /// `None` as long as it is still to be read.
    read: Option<Value>,
}

impl Debug for Kept {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let status = self.read.as_ref().map(|read| &read["status"]);
        write!(formatter, "{} {}", self.id, status.unwrap_or(&Value::Null))
    }
}

impl Desk {
    fn new() -> Option<Self> {
        let screen = Screen::open()?;
        let home = tempfile::tempdir().unwrap();
        fs::copy(sample_pdf(), home.path().join("gravity-sample.pdf")).unwrap();
        fs::create_dir(home.path().join("run")).unwrap();
        fs::set_permissions(home.path().join("run"), fs::Permissions::from_mode(0o700)).unwrap();
        Some(Self { home, screen })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// The program, with nothing of the user's own around it.
    fn program(&self, arguments: &[&str]) -> Owned {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tests"));
        for name in [
            "HF_HOME",
            "HF_HUB_CACHE",
            "XDG_CACHE_HOME",
            "XDG_CONFIG_HOME",
            "WAYLAND_DISPLAY",
            "WAYLAND_SOCKET",
            "DBUS_SESSION_BUS_ADDRESS",
        ] {
            command.env_remove(name);
        }
        command
            .args(arguments)
            .current_dir(self.home.path())
            .env("HOME", self.home.path())
            .env("XDG_DATA_HOME", self.path("data"))
            .env("XDG_RUNTIME_DIR", self.path("run"))
            .env("DISPLAY", &self.screen.display)
            .env("VK_DRIVER_FILES", &self.screen.driver)
            .env("VK_ICD_FILENAMES", &self.screen.driver)
            .stdin(Stdio::null());
        Owned(command.spawn().unwrap())
    }

    /// Starts the program, gives its window the keyboard, and waits until its document is open.
    fn start(&self, arguments: &[&str]) -> Owned {
        let program = self.program(arguments);
        self.screen.focus_another_than(&[]);
        wait("the document in the session", || {
            let index = self.json("index.json")?;
            (index["documents"][0]["page_count"] == 2).then_some(())
        });
        program
    }

    fn json(&self, name: &str) -> Option<Value> {
        let bytes = fs::read(self.session("session").join(name)).ok()?;
        // Whatever is there is whole, at every moment.
        Some(serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{name} is damaged: {error}")))
    }

    fn session(&self, name: &str) -> PathBuf {
        self.path("data/gravityocr").join(name)
    }

    /// The regions of a page, as they are on the disk.
    fn page(&self, number: usize) -> Vec<Kept> {
        let Some(file) = self.json(&format!("doc-1/page-{number:04}.json")) else { return Vec::new() };
        let kept = |region: &Value| {
            let read = &region["read"];
            let unread = read.is_null() || read["status"] == "cancelled" || read["status"].get("failed").is_some();
            Kept { id: region["id"].as_u64().unwrap(), read: (!unread).then(|| read.clone()) }
        };
        file["content"]["regions"].as_array().unwrap().iter().map(kept).collect()
    }

    fn pages(&self) -> Vec<Kept> {
        [self.page(1), self.page(2)].concat()
    }

    /// How many regions are read.
    fn read(&self) -> usize {
        self.pages().iter().filter(|region| region.read.is_some()).count()
    }

    fn all_read(&self) -> Option<()> {
        let complete = |(number, count)| {
            let page = self.page(number);
            page.len() == count && page.iter().all(|region| region.read.is_some())
        };
        (1..).zip(REGIONS).all(complete).then_some(())
    }

    /// Whether a run is at work: it has read more before long.
    fn is_reading(&self) -> bool {
        let before = self.read();
        within(QUIET, || (self.read() > before).then_some(())).is_some()
    }

    /// Asks for the whole document until something is read: a run that was cancelled may still be ending.
    fn recognize(&self) {
        wait("a region that is read", || {
            self.screen.press("ctrl+shift+Return");
            self.is_reading().then_some(())
        });
    }

    /// Presses Ctrl+Q; the program ends by itself.
    fn quit(&self, mut program: Owned) {
        self.screen.press("ctrl+q");
        let status = wait("the end of the program", || program.ended());
        assert_eq!(status.code(), Some(0));
    }
}

#[test]
fn a_path_by_keyboard() {
    let Some(desk) = Desk::new() else { return };
    let program = desk.start(&["gravity-sample.pdf"]);

    desk.screen.press("ctrl+d");
    wait("the regions", || (desk.page(1).len() == REGIONS[0]).then_some(()));
    assert_eq!(desk.read(), 0);

    desk.recognize();
    wait("some regions", || (desk.read() >= 3).then_some(()));
    desk.screen.press("Escape");
    wait("the end of the run", || (!desk.is_reading()).then_some(()));
    let kept = desk.page(1);
    let read = desk.read();
    assert!((3..REGIONS[0]).contains(&read), "{kept:?}");
    assert!(desk.page(2).is_empty(), "the second page was not reached");

    desk.recognize();
    wait("the whole document", || desk.all_read());
    for (before, after) in kept.iter().zip(&desk.page(1)) {
        assert_eq!(before.id, after.id);
        assert!(before.read.is_none() || before == after, "{before:?} was read again");
    }

    // Nothing but keys: the form proposes a file beside the document, and Enter takes it.
    let target = desk.path("gravity-sample.md");
    wait("the exported document", || {
        desk.screen.press("ctrl+e");
        sleep(MOMENT);
        desk.screen.press("Return");
        within(3 * QUIET, || target.exists().then_some(()))
    });
    // The command writes no figures to standard output; the window writes them beside the document.
    let expected = fs::read_to_string(root().join("assets/samples/gravity-sample.md")).unwrap();
    let caption = expected.lines().find_map(|line| line.strip_prefix("*Figure 1.")?.strip_suffix('*')).unwrap();
    let figure = format!("![Figure 1.{caption}](gravity-sample-images/page-0001-region-07.png)");
    let expected = expected.replacen("<!-- figure on page 1 -->", &figure, 1);
    assert_eq!(fs::read_to_string(&target).unwrap(), expected);
    assert!(desk.path("gravity-sample-images/page-0001-region-07.png").exists());

    desk.quit(program);
}

#[test]
fn a_kill_loses_at_most_the_region_in_flight() {
    let Some(desk) = Desk::new() else { return };
    let mut program = desk.start(&["gravity-sample.pdf"]);
    desk.recognize();
    wait("five regions", || (desk.read() >= 5).then_some(()));
    let before = desk.page(1);
    assert!(program.ended().is_none());
    program.kill();
    let after = desk.page(1);
    assert!(after.iter().any(|region| region.read.is_none()), "the run was still going: {after:?}");
    assert_eq!(after.len(), REGIONS[0]);
    for (before, after) in before.iter().zip(&after) {
        assert!(before.read.is_none() || before == after, "{before:?} became {after:?}");
    }

    // Without arguments: the session has it all.
    let program = desk.start(&[]);
    assert_eq!(desk.page(1), after);
    desk.recognize();
    wait("the whole document", || desk.all_read());
    let finished = desk.page(1);
    for (after, finished) in after.iter().zip(&finished) {
        assert!(after.read.is_none() || after == finished, "{after:?} was read again");
    }
    desk.quit(program);
    assert_eq!(desk.page(1), finished);
    assert!(desk.all_read().is_some());
}

#[test]
fn a_second_window_leaves_the_first_ones_session_alone() {
    let Some(desk) = Desk::new() else { return };
    let first = desk.start(&["gravity-sample.pdf"]);
    desk.screen.press("ctrl+d");
    // Pages are written before the index, which tells that there is unsaved work.
    let unsaved = || desk.json("index.json").is_some_and(|index| index["unsaved"] == true);
    wait("the regions", || (desk.page(1).len() == REGIONS[0] && unsaved()).then_some(()));
    let (index, page) = (desk.json("index.json"), desk.page(1));
    let known = desk.screen.windows();

    let second = desk.program(&[]);
    desk.screen.focus_another_than(&known);
    wait("a session of its own", || desk.session("session-2/lock").exists().then_some(()));
    desk.quit(second);
    assert_eq!((desk.json("index.json"), desk.page(1)), (index, page));

    // The first one still keeps what is done in it.
    desk.screen.focus_another_than(&[]);
    wait("the regions' end", || {
        desk.screen.press("ctrl+a");
        sleep(MOMENT);
        desk.screen.press("Delete");
        within(QUIET, || desk.page(1).is_empty().then_some(()))
    });
    desk.quit(first);
}
