//! The number format in which weights are kept and multiplied.

use std::fmt;

use crate::checkpoint::CheckpointError;

/// A number format for the weights of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WeightFormat {
    /// As the checkpoint stores them.
    #[default]
    Auto,
    /// 32-bit floats.
    F32,
    /// bfloat16.
    Bf16,
    /// 8-bit integers with scales.
    Int8,
}

impl WeightFormat {
    /// The name by which it is chosen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::Int8 => "int8",
        }
    }

    /// Refuses what the model cannot do.
    pub(crate) fn check(self) -> Result<(), CheckpointError> {
        match self {
            Self::Auto => Ok(()),
            other => Err(CheckpointError::Unsupported(format!(
                "Weights cannot be converted to {other}: they are used as the checkpoint stores them (auto)"
            ))),
        }
    }
}

impl fmt::Display for WeightFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
