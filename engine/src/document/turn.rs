//! A page turned by hand.

use image::{RgbImage, imageops};
use serde::{Deserialize, Serialize};

/// Quarter turns clockwise, on top of what the file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// As the file says.
    #[default]
    None,
    /// A quarter to the right.
    Right,
    /// Upside down.
    Half,
    /// A quarter to the left.
    Left,
}

impl Turn {
    /// Both turns, one after the other.
    pub fn then(self, other: Turn) -> Turn {
        [Turn::None, Turn::Right, Turn::Half, Turn::Left][(self as usize + other as usize) % 4]
    }

    /// The turn that takes this one back.
    pub fn inverse(self) -> Turn {
        [Turn::None, Turn::Left, Turn::Half, Turn::Right][self as usize]
    }

    /// A raster turned.
    pub fn apply(self, raster: RgbImage) -> RgbImage {
        match self {
            Turn::None => raster,
            Turn::Right => imageops::rotate90(&raster),
            Turn::Half => imageops::rotate180(&raster),
            Turn::Left => imageops::rotate270(&raster),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_to_the_right_brings_the_top_left_corner_to_the_top_right() {
        let mut raster = RgbImage::new(3, 2);
        raster.put_pixel(0, 0, image::Rgb([9, 9, 9]));
        let at = |turn: Turn| {
            let turned = turn.apply(raster.clone());
            let (x, y, _) =
                turned.enumerate_pixels().find(|(.., p)| p.0[0] == 9).unwrap_or((9, 9, &image::Rgb([0; 3])));
            (turned.dimensions(), (x, y))
        };
        assert_eq!(at(Turn::None), ((3, 2), (0, 0)));
        assert_eq!(at(Turn::Right), ((2, 3), (1, 0)));
        assert_eq!(at(Turn::Half), ((3, 2), (2, 1)));
        assert_eq!(at(Turn::Left), ((2, 3), (0, 2)));
        assert_eq!(Turn::Right.then(Turn::Half), Turn::Left);
        assert_eq!(Turn::Left.then(Turn::Left.inverse()), Turn::None);
    }
}
