//! Which device the model runs on, and which ones there are.

use std::fmt;
use std::str::FromStr;

use kernels::cuda;
use kernels::cuda::driver::{DeviceInfo, DriverError, OLDEST_CAPABILITY};
use serde::{Deserialize, Serialize};

/// A device by its name: `cpu`, `cuda:0`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// An NVIDIA card, by its number.
    Cuda(usize),
}

/// The most cards that a name can tell apart.
const CARDS: usize = 1024;

impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "cpu" => Ok(Device::Cpu),
            "cuda" => Ok(Device::Cuda(0)),
            _ => match text.strip_prefix("cuda:").map(str::parse) {
                Some(Ok(ordinal)) if ordinal < CARDS => Ok(Device::Cuda(ordinal)),
                _ => Err("use cpu, cuda, or cuda:N for the card of number N".to_owned()),
            },
        }
    }
}

impl TryFrom<String> for Device {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Device> for String {
    fn from(device: Device) -> Self {
        device.to_string()
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Cpu => f.write_str("cpu"),
            Device::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
        }
    }
}

/// A device as it is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The device.
    pub device: Device,
    /// What it is, for people: the card's name, or the CPU's kernels.
    pub name: String,
    /// A card's memory, bytes.
    pub memory: Option<u64>,
    /// A card's compute capability.
    pub capability: Option<(u32, u32)>,
    /// Why it cannot be used, in one sentence; `None` when it can.
    pub reason: Option<String>,
}

/// The CPU, then every card; where there is none, `cuda:0` with the reason.
pub fn choices() -> Vec<Choice> {
    with_cards(cuda::devices())
}

fn with_cards(cards: Result<Vec<DeviceInfo>, DriverError>) -> Vec<Choice> {
    let name = kernels::Kernel::best().name().to_owned();
    let mut choices = vec![Choice { device: Device::Cpu, name, memory: None, capability: None, reason: None }];
    match cards {
        Ok(cards) => choices.extend(cards.into_iter().map(card)),
        Err(error) => choices.push(Choice {
            device: Device::Cuda(0),
            name: "NVIDIA card".to_owned(),
            memory: None,
            capability: None,
            reason: Some(error.to_string()),
        }),
    }
    choices
}

fn card(card: DeviceInfo) -> Choice {
    let too_old = card.capability < OLDEST_CAPABILITY;
    let reason = || DriverError::DeviceTooOld { name: card.name.clone(), capability: card.capability }.to_string();
    Choice {
        device: Device::Cuda(card.ordinal),
        reason: too_old.then(reason),
        name: card.name.clone(),
        memory: Some(card.memory),
        capability: Some(card.capability),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn devices_are_named_as_on_the_command_line() {
        for (text, device) in [("cpu", Device::Cpu), ("cuda", Device::Cuda(0)), ("cuda:3", Device::Cuda(3))] {
            assert_eq!(text.parse(), Ok(device));
        }
        for text in ["", "CPU", "cuda:", "cuda:-1", "cuda:x", "cuda:99999999999999999999", "cuda:1024", "gpu"] {
            assert!(text.parse::<Device>().is_err(), "{text}");
        }
        assert_eq!(serde_json::to_string(&Device::Cuda(2)).unwrap(), "\"cuda:2\"");
        assert!(serde_json::from_str::<Device>("\"tpu\"").is_err());
    }

    #[test]
    fn a_machine_without_a_driver_says_so() {
        let choices = with_cards(Err(DriverError::NoDriver));
        assert_eq!(choices[0].reason, None, "the CPU is always there");
        assert_eq!((choices[1].device, choices[1].reason.as_deref()), (Device::Cuda(0), Some("no CUDA driver")));
    }

    #[test]
    fn an_old_card_is_listed_with_the_reason() {
        let card = |ordinal, name: &str, capability| DeviceInfo {
            ordinal,
            name: name.to_owned(),
            capability,
            memory: 16 << 30,
            multiprocessors: 40,
        };
        let choices = with_cards(Ok(vec![card(0, "Tesla T4", (7, 5)), card(1, "NVIDIA A10", (8, 6))]));
        let sentence = "Tesla T4 has compute capability 7.5, and 8.0 is needed";
        assert_eq!(choices[1].reason.as_deref(), Some(sentence));
        assert_eq!(
            (choices[2].device, choices[2].memory, &choices[2].reason),
            (Device::Cuda(1), Some(16 << 30), &None)
        );
    }
}
