//! The command line of GravityOCR: what is asked (`cli`), what is done (`recognize`, `export`, `bench`, `models`,
//! `devices`), and what is shown while it happens (`progress`, `live`). The engine does the reading; it is reached through `reader`.

mod bench;
mod cli;
mod devices;
mod export;
mod inputs;
mod interrupt;
mod live;
mod models;
mod output;
mod palette;
mod printer;
mod progress;
pub mod reader;
mod recognize;
mod results;
mod tally;
#[cfg(feature = "gui")]
pub mod window;

use std::process::ExitCode;

use cli::{Cli, Command};
use printer::Printer;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything asked for was done.
    Done,
    /// Some page or file failed; each was named.
    Failed,
    /// The command was not understood.
    Usage,
    /// Ctrl+C: what was finished was kept.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Interrupted => 130, // 128 + SIGINT, as shells expect
        })
    }
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    // The engine catches its faults and names the page they stopped; the report behind them is for developers.
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        std::panic::set_hook(Box::new(|_| {}));
    }
    std::panic::catch_unwind(command).unwrap_or_else(|_| {
        Printer::standard().failure("an internal error stopped the program; with RUST_BACKTRACE=1 it says where");
        Exit::Failed.into()
    })
}

fn command() -> ExitCode {
    let mut printer = Printer::standard();
    match Cli::parse(std::env::args_os()) {
        Ok(cli) => run(cli.command, &mut printer).into(),
        Err(answer) => {
            printer.answer(&answer);
            ExitCode::from(answer.exit)
        }
    }
}

fn run(command: Option<Command>, printer: &mut Printer) -> Exit {
    match command {
        Some(Command::Recognize(args)) => recognize::command(&args, printer),
        Some(Command::Export(args)) => export::command(&args, printer),
        Some(Command::Bench(args)) => bench::command(&args, printer),
        Some(Command::Models(args)) => models::command(&args.command, printer),
        Some(Command::Devices(args)) => devices::command(&args, printer),
        Some(Command::Other(words)) => match cli::files(&words) {
            Ok(files) => open(files, printer),
            Err(advice) => {
                printer.failure(&advice);
                Exit::Usage
            }
        },
        None => open(Vec::new(), printer),
    }
}

/// Opens the window with these files.
#[cfg(feature = "gui")]
fn open(files: Vec<std::path::PathBuf>, printer: &mut Printer) -> Exit {
    match window::open(files) {
        Ok(()) => Exit::Done,
        Err(sentence) => {
            printer.failure(&sentence);
            Exit::Failed
        }
    }
}

/// There is no window in this build.
#[cfg(not(feature = "gui"))]
fn open(_: Vec<std::path::PathBuf>, printer: &mut Printer) -> Exit {
    printer.failure("this build has no window; to read files, use: gravityocr recognize FILES");
    Exit::Usage
}
