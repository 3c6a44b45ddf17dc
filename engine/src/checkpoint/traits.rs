//! What a checkpoint says about itself beyond its sizes: `gravity.json` and `block_diffusion.json`.

use serde_json::Value;

use super::CheckpointError;
use super::settings::Settings;
use crate::region::Task;

/// How much of a page goes into one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A whole region.
    Region,
    /// One line of text on a strip.
    Line {
        /// Height of the strip, pixels.
        height: u32,
        /// Greatest width of the strip, pixels.
        max_width: u32,
    },
}

/// `gravity.json`, which only line readers have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traits {
    /// The checkpoint's name, where the file gives one.
    pub name: Option<String>,
    /// What one request reads.
    pub unit: Unit,
    /// What can be asked; never empty.
    pub tasks: Vec<Task>,
    /// Languages it was trained on, as BCP 47 tags; empty when the file does not say.
    pub languages: Vec<String>,
}

impl Default for Traits {
    /// Whole regions and all three tasks.
    fn default() -> Self {
        Self {
            name: None,
            unit: Unit::Region,
            tasks: vec![Task::Text, Task::Table, Task::Formula],
            languages: Vec::new(),
        }
    }
}

impl Traits {
    /// Reads the content of a `gravity.json`; `file` is its name in messages.
    pub fn parse(file: &str, value: &Value) -> Result<Self, CheckpointError> {
        let settings = Settings::new(file, value);
        let unit = match settings.string("unit")? {
            None | Some("region") => Unit::Region,
            Some("line") => {
                let height = settings.size("line_height", None, 1024)?;
                let max_width = settings.size("max_width", Some(36 * height), 65_536)?;
                if max_width < height {
                    return Err(settings.fault("max_width", format!("is {max_width}, less than the line height")));
                }
                Unit::Line { height: height as u32, max_width: max_width as u32 }
            }
            Some(other) => {
                return Err(settings.fault("unit", format!("is \"{other}\", but must be \"line\" or \"region\"")));
            }
        };
        let mut traits = Self { unit, ..Self::default() };
        if let Some(tasks) = settings.strings("tasks")? {
            traits.tasks = tasks
                .iter()
                .map(|task| match *task {
                    "text" => Ok(Task::Text),
                    "table" => Ok(Task::Table),
                    "formula" => Ok(Task::Formula),
                    other => Err(settings.fault("tasks", format!("names \"{other}\", which is no task"))),
                })
                .collect::<Result<_, _>>()?;
            if traits.tasks.is_empty() {
                return Err(settings.fault("tasks", "names no task"));
            }
        }
        traits.name = settings.string("name")?.map(str::to_owned);
        traits.languages = settings.strings("languages")?.unwrap_or_default().into_iter().map(str::to_owned).collect();
        Ok(traits)
    }
}

/// `block_diffusion.json`: how the checkpoint drafts.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockDiffusion {
    /// Block size B: tokens drafted at once.
    pub block_size: usize,
    /// The token `<|mask|>`.
    pub mask_id: u32,
    /// Weight of the next-token loss in training; above 0 the checkpoint can verify its own drafts.
    pub ar_loss_weight: f64,
}

impl BlockDiffusion {
    /// Reads the content of a `block_diffusion.json`; `file` is its name in messages.
    pub fn parse(file: &str, value: &Value) -> Result<Self, CheckpointError> {
        let settings = Settings::new(file, value);
        let ar_loss_weight = match settings.get("ar_loss_weight") {
            None => 1.0,
            Some(value) => value
                .as_f64()
                .filter(|weight| weight.is_finite() && *weight >= 0.0)
                .ok_or_else(|| settings.fault("ar_loss_weight", "must be a number of at least 0"))?,
        };
        Ok(Self {
            block_size: settings.size("bd_size", None, 1024)?,
            mask_id: settings.token("mask_id")?.ok_or_else(|| settings.fault("mask_id", "is missing"))?,
            ar_loss_weight,
        })
    }
}
