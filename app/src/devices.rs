//! `devices`: what the model can run on, and how much memory it takes there.

use engine::checkpoint::ModelConfig;
use engine::device::{Choice, Plan, choices};

use crate::Exit;
use crate::cli::{Devices, source};
use crate::printer::Printer;

pub(crate) fn command(args: &Devices, printer: &mut Printer) -> Exit {
    let checkpoint = match source(&args.checkpoint).open() {
        Ok(checkpoint) => checkpoint,
        Err(error) => {
            printer.failure(&error.to_string());
            return Exit::Failed;
        }
    };
    match printer.result(&listing(&choices(), &checkpoint.name, &checkpoint.config)) {
        Ok(()) => Exit::Done,
        Err(error) => {
            printer.failure(&format!("standard output cannot be written: {}", crate::output::reason(&error)));
            Exit::Failed
        }
    }
}

/// A line for each device.
fn listing(choices: &[Choice], name: &str, config: &ModelConfig) -> String {
    choices
        .iter()
        .map(|choice| {
            let what = match (&choice.reason, choice.memory, choice.capability) {
                (Some(reason), ..) => format!("not available: {reason}"),
                (None, Some(memory), Some((major, minor))) => {
                    let (card, all) = (&choice.name, size(memory));
                    format!("{card}, {all}, compute capability {major}.{minor}; {}", room(name, config, memory))
                }
                _ => format!("kernel {}", choice.name),
            };
            format!("{:<8} {what}\n", choice.device.to_string())
        })
        .collect()
}

/// What a model of these sizes takes of a card with so much memory, in words.
pub(crate) fn room(name: &str, config: &ModelConfig, memory: u64) -> String {
    let plan = Plan::fitting(config, memory);
    let taken = size(plan.bytes() as u64);
    match plan.extent.sequences {
        _ if plan.bytes() as u64 > memory => format!("{name} does not fit: it takes {taken}"),
        1 => format!("{name} takes {taken} and reads one request at a time"),
        requests => format!("{name} takes {taken} and reads {requests} requests side by side"),
    }
}

/// Bytes for people.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000_000 => format!("{:.0} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use engine::checkpoint::Checkpoint;
    use engine::device::Device;

    use super::*;

    #[test]
    fn every_device_is_listed_with_its_memory_or_the_reason() {
        let choice = |device, name: &str, memory: Option<u64>, reason: Option<&str>| Choice {
            device,
            name: name.to_owned(),
            memory,
            capability: memory.map(|_| (9, 0)),
            reason: reason.map(str::to_owned),
        };
        let choices = [
            choice(Device::Cpu, "avx2", None, None),
            choice(Device::Cuda(0), "NVIDIA H200", Some(150_000_000_000), None),
            choice(Device::Cuda(1), "", None, Some("no CUDA driver")),
        ];
        let config = Checkpoint::bundled().unwrap().config;
        let text = listing(&choices, "nano", &config);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "cpu      kernel avx2");
        assert!(lines[1].starts_with("cuda:0   NVIDIA H200, 150.0 GB, compute capability 9.0; nano takes "), "{text}");
        assert!(lines[1].ends_with(" MB and reads 8 requests side by side"), "{text}");
        assert_eq!(lines[2], "cuda:1   not available: no CUDA driver");
    }

    #[test]
    fn a_card_has_room_for_many_requests_or_one_or_none() {
        let config = Checkpoint::bundled().unwrap().config;
        let one = Plan::fitting(&config, 0).bytes() as u64;
        let taken = size(one);
        assert_eq!(room("nano", &config, one - 1), format!("nano does not fit: it takes {taken}"));
        assert_eq!(room("nano", &config, one), format!("nano takes {taken} and reads one request at a time"));
        assert!(room("nano", &config, 1 << 40).ends_with(" and reads 8 requests side by side"));
        assert_eq!((size(999_499_999).as_str(), size(2_160_000_000).as_str()), ("999 MB", "2.2 GB"));
    }
}
