//! The number format in which weights are kept and multiplied.

use std::fmt;

use kernels::Format;
use kernels::memory::Dtype;
use serde::{Deserialize, Serialize};

/// A number format for the weights of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeightFormat {
    /// Bf16 where the checkpoint stores bf16, otherwise f32.
    #[default]
    Auto,
    /// Kept as stored, computed with in 32-bit floats.
    F32,
    /// bfloat16, also in what they are multiplied with; f32 where they are not stored so.
    Bf16,
    /// 8-bit integers with scales, quantised when loaded.
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

    /// How products see weights that are stored as `stored`: bf16 where they are stored so, and otherwise f32, unless
    /// another format is asked for.
    pub(crate) fn of(self, stored: Dtype) -> Format {
        match self {
            Self::Auto | Self::Bf16 if stored == Dtype::Bf16 => Format::Bf16,
            Self::Auto | Self::Bf16 | Self::F32 => Format::F32,
            Self::Int8 => Format::Int8,
        }
    }
}

impl fmt::Display for WeightFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_stored_in_bf16_is_multiplied_in_it() {
        assert_eq!(WeightFormat::Auto.of(Dtype::Bf16), Format::Bf16);
        assert_eq!(WeightFormat::Auto.of(Dtype::F16), Format::F32);
        assert_eq!(WeightFormat::Bf16.of(Dtype::F32), Format::F32);
        assert_eq!(WeightFormat::F32.of(Dtype::Bf16), Format::F32);
        assert_eq!(WeightFormat::Int8.of(Dtype::F32), Format::Int8);
    }
}
