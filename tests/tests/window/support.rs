//! A person in front of a window.

use std::cell::Cell;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use eframe::egui::{self, Event as Input, Key, Modifiers, Pos2, Vec2, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use egui_kittest::{Harness, Node};
use engine::EngineInfo;
use engine::decode::Origin;
use engine::event::{Event, Outcome, Piece, RequestId};
use engine::job::Job;
use engine::page::{PageResult, Status, Timings};
use engine::region::{Label, Rect, Region};
use gravityocr::window::{
    Backend, DeviceList, DialogsKind, Next, Reader, Running, Started, Waker, Window, WindowOptions, engine_backend,
};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(45);

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

pub(crate) fn sample_pdf() -> PathBuf {
    root().join("assets/samples/gravity-sample.pdf")
}

/// Someone who uses the window, and what is theirs.
pub(crate) struct Person {
    pub(crate) window: Harness<'static, Window>,
    /// Holds what the window keeps.
    folder: tempfile::TempDir,
}

/// How to begin.
pub(crate) struct Begin {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) backend: Backend,
    pub(crate) theme: egui::Theme,
    pub(crate) size: Vec2,
    pub(crate) rendered: bool,
    /// What is answered to file dialogs, in order.
    pub(crate) answers: Vec<PathBuf>,
    /// What the model can run on.
    pub(crate) devices: DeviceList,
}

impl Default for Begin {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            backend: Arc::new(engine_backend),
            theme: egui::Theme::Light,
            size: vec2(1280.0, 820.0),
            rendered: false,
            answers: Vec::new(),
            devices: Arc::new(engine::device::choices),
        }
    }
}

impl Person {
    pub(crate) fn begins(begin: Begin) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = WindowOptions {
            data_folder: Some(folder.path().join("data")),
            dialogs: DialogsKind::Scripted(Arc::new(Mutex::new(
                begin.answers.into_iter().map(|path| Some(vec![path])).collect(),
            ))),
            devices: begin.devices,
            ..WindowOptions::new(begin.files, begin.backend)
        };
        let mut builder = Harness::builder()
            .with_size(begin.size)
            .with_theme(begin.theme)
            .with_os(egui::os::OperatingSystem::Nix)
            .with_max_steps(50);
        if begin.rendered {
            builder = builder.wgpu();
        }
        let window = builder.build_eframe(|creation| Window::new(creation, options).unwrap());
        Self { window, folder }
    }

    /// A file that the window keeps, as text; empty where there is none yet.
    pub(crate) fn kept(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join("data").join(name)).unwrap_or_default()
    }

    /// One frame, and a moment for the threads behind the window.
    pub(crate) fn frame(&mut self) {
        self.window.step();
        std::thread::sleep(Duration::from_millis(4));
    }

    /// Waits until something can be seen.
    #[track_caller]
    pub(crate) fn wait(&mut self, what: &str, seen: impl Fn(&Self) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !seen(self) {
            assert!(Instant::now() < until, "{what} was not seen; what was:\n{}", self.names().join("\n"));
            self.frame();
        }
    }

    /// Waits for a control whose name contains this.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, name: &str) {
        self.wait(name, |person| person.sees(name));
    }

    /// Whether a control's name or text contains this.
    pub(crate) fn sees(&self, name: &str) -> bool {
        self.window.query_all_by_label_contains(name).next().is_some()
    }

    /// A control by its exact name.
    #[track_caller]
    pub(crate) fn control<'a>(&'a self, name: &'a str) -> Node<'a> {
        self.window.get_by_label(name)
    }

    /// Clicks a control, once it is there and can be used.
    #[track_caller]
    pub(crate) fn click(&mut self, name: &str) {
        self.wait(name, |person| {
            person.window.query_all_by_label(name).any(|node| !node.accesskit_node().is_disabled())
        });
        let mut nodes: Vec<_> = self.window.query_all_by_label(name).collect();
        nodes.retain(|node| !node.accesskit_node().is_disabled());
        assert_eq!(nodes.len(), 1, "several controls are called {name}");
        nodes[0].click();
        self.settle();
    }

    /// Opens a menu and clicks an entry; an entry's name goes on with its keys.
    #[track_caller]
    pub(crate) fn choose(&mut self, menu: &str, entry: &str) {
        self.click(menu);
        self.wait(entry, |person| person.name_of(entry).is_some());
        let entry = self.name_of(entry).unwrap();
        self.click(&entry);
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, modifiers: Modifiers, key: Key) {
        self.window.key_press_modifiers(modifiers, key);
        self.settle();
    }

    /// Types into what has the focus.
    pub(crate) fn types(&mut self, text: &str) {
        self.window.event(Input::Text(text.to_owned()));
        self.settle();
    }

    /// Drags the pointer.
    pub(crate) fn drag(&mut self, from: Pos2, to: Pos2, modifiers: Modifiers) {
        let button =
            |pos, pressed| Input::PointerButton { pos, button: egui::PointerButton::Primary, pressed, modifiers };
        self.window.event(Input::ModifiersChanged(modifiers));
        self.window.event(Input::PointerMoved(from));
        self.frame();
        self.window.event(button(from, true));
        self.frame();
        for n in 1..=4 {
            self.window.event(Input::PointerMoved(from + (to - from) * (n as f32 / 4.0)));
            self.frame();
        }
        self.window.event(button(to, false));
        self.frame();
        self.window.event(Input::ModifiersChanged(Modifiers::NONE));
        self.settle();
    }

    /// A few frames, so that what was done is drawn.
    pub(crate) fn settle(&mut self) {
        (0..4).for_each(|_| self.frame());
    }

    /// The names of everything that is shown.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        collect(self.window.root().accesskit_node(), &mut names);
        names
    }

    /// The name of the first control that begins so.
    pub(crate) fn name_of(&self, start: &str) -> Option<String> {
        self.names().into_iter().find(|name| name.starts_with(start))
    }

    /// Everything that was put on the clipboard in the last frame.
    pub(crate) fn copied(&self) -> Option<String> {
        self.window.output().platform_output.commands.iter().rev().find_map(|command| match command {
            egui::OutputCommand::CopyText(text) => Some(text.clone()),
            _ => None,
        })
    }
}

fn collect(node: egui_kittest::kittest::AccessKitNode<'_>, names: &mut Vec<String>) {
    let name = node.label().or_else(|| node.value()).unwrap_or_default();
    if !name.is_empty() {
        names.push(name);
    }
    node.children().for_each(|child| collect(child, names));
}

/// A backend that plays prepared events instead of reading.
pub(crate) fn recorded(script: Script) -> Backend {
    Arc::new(move |_| {
        let info = EngineInfo {
            checkpoint: "recorded".to_owned(),
            device: engine::device::Device::Cpu,
            fallback: None,
            kernel: "none",
            threads: 1,
            only_ar: None,
        };
        Ok(Started { reader: Box::new(Player(script.clone())), info })
    })
}

type Events = dyn Fn(&Job) -> Vec<Event> + Send + Sync;

/// Events prepared for a job; a gate stops the play until it is opened further.
#[derive(Clone)]
pub(crate) struct Script {
    events: Arc<Events>,
    /// How many events of a job may be played by now.
    gate: Arc<Mutex<usize>>,
}

impl Script {
    pub(crate) fn new(events: impl Fn(&Job) -> Vec<Event> + Send + Sync + 'static) -> Self {
        Self { gate: Arc::new(Mutex::new(usize::MAX)), events: Arc::new(events) }
    }

    pub(crate) fn open_to(&self, count: usize) {
        *self.gate.lock().unwrap() = count;
    }
}

struct Player(Script);

impl Reader for Player {
    fn start(&self, job: Job, waker: Waker) -> Result<Box<dyn Running>, String> {
        waker();
        let events = (self.0.events)(&job);
        Ok(Box::new(Playing { events, gate: Arc::clone(&self.0.gate), at: 0, cancelled: Cell::new(false) }))
    }
}

struct Playing {
    events: Vec<Event>,
    gate: Arc<Mutex<usize>>,
    at: usize,
    cancelled: Cell<bool>,
}

impl Running for Playing {
    fn next(&mut self, _: Duration) -> Next {
        if self.cancelled.get() {
            return Next::Event(Event::Finished { outcome: Outcome::Cancelled });
        }
        if self.at >= *self.gate.lock().unwrap() {
            return Next::Quiet;
        }
        match self.events.get(self.at) {
            Some(event) => {
                self.at += 1;
                Next::Event(event.clone())
            }
            None => Next::Gone,
        }
    }

    fn cancel(&self) {
        self.cancelled.set(true);
    }
}

/// The events of a page with one region of text that takes `rounds` rounds of `per_round` characters; every third round
/// has its draft refused after its first word.
pub(crate) fn long_region(rounds: u32, per_round: usize) -> Vec<Event> {
    const WORDS: [&str; 8] = ["gravity ", "bends ", "light ", "around ", "every ", "massive ", "body ", "slowly "];
    let bounds = Rect::new(150, 180, 1500, 2000);
    let region = Region::new(Label::Text, bounds);
    let id = RequestId { page: 0, region: 0, request: 0 };
    let mut events = VecDeque::from([
        Event::Opened { page_count: 1, pages: vec![0] },
        Event::PageStarted { page: 0, width: 1654, height: 2339, regions: vec![region.clone()], notice: None },
        Event::RequestStarted { id, bounds },
    ]);
    let mut whole = String::new();
    for round in 1..=rounds {
        let mut text = String::new();
        let mut word = round as usize;
        while text.len() < per_round {
            text.push_str(WORDS[word % WORDS.len()]);
            word = word * 5 + 3;
        }
        let refused = round % 3 == 0;
        let at_ms = f64::from(round) * 12.0;
        let draft = if refused { format!("{}some other words", &text[..8]) } else { text.clone() };
        events.push_back(Event::Drafted { id, at_ms, round, text: draft });
        let piece = |text: &str, origin| Piece { text: text.to_owned(), round, origin };
        let pieces = match refused {
            true => vec![piece(&text[..8], Origin::Accepted), piece(&text[8..], Origin::Correction)],
            false => vec![piece(&text, Origin::Accepted)],
        };
        let (drafted, accepted) = (32, if refused { 3 } else { 32 });
        events.push_back(Event::Committed {
            id,
            at_ms: at_ms + 6.0,
            round,
            drafted,
            accepted,
            tokens: accepted + 2,
            forwards: 2,
            pieces,
        });
        whole.push_str(&text);
    }
    let timings = Timings { vision_ms: 40.0, prefill_ms: 12.0, draft_ms: 700.0, verify_ms: 800.0 };
    let result =
        PageResult { index: 0, width: 1654, height: 2339, dpi: Some(200.0), skew_degrees: 0.0, regions: Vec::new() };
    events.extend([
        Event::RequestFinished { id, status: Status::Done, timings },
        Event::RegionFinished { page: 0, region: 0, status: Status::Done, text: whole, readings: Vec::new() },
        Event::PageFinished { page: Box::new(result), figures: Vec::new() },
        Event::Finished { outcome: Outcome::Completed },
    ]);
    events.into()
}
