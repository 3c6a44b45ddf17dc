//! Rotary positions: M-RoPE of the text decoder, axial rotation of the vision tower.
//!
//! Tables are `[rows, head_dim]` of cosines and sines, angles computed in f32 as the reference does.

/// Cosine and sine tables.
#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) cos: Vec<f32>,
    pub(crate) sin: Vec<f32>,
}

/// `theta^(-2i/dim)` for `i` in `0..dim/2`.
pub(crate) fn inverse_frequencies(theta: f64, dim: usize) -> Vec<f32> {
    (0..dim / 2).map(|i| 1.0 / (theta as f32).powf(2.0 * i as f32 / dim as f32)).collect()
}

/// The text decoder's rotation. Frequencies fall into three blocks that follow the temporal, row and column position;
/// each frequency is repeated twice, because adjacent pairs rotate.
pub(crate) struct MRope {
    frequencies: Vec<f32>,
    /// The axis (0 temporal, 1 row, 2 column) of each frequency.
    axes: Vec<usize>,
}

impl MRope {
    pub(crate) fn new(theta: f64, head_dim: usize, sections: [usize; 3]) -> Self {
        let axes = sections.iter().enumerate().flat_map(|(axis, &n)| std::iter::repeat_n(axis, n)).collect();
        Self { frequencies: inverse_frequencies(theta, head_dim), axes }
    }

    /// Tables for positions `(temporal, row, column)`, into `tables`.
    pub(crate) fn tables(&self, positions: &[[u32; 3]], tables: &mut Tables) {
        tables.cos.clear();
        tables.sin.clear();
        for position in positions {
            for (f, &axis) in self.frequencies.iter().zip(&self.axes) {
                let (sin, cos) = (position[axis] as f32 * f).sin_cos();
                tables.cos.extend([cos; 2]);
                tables.sin.extend([sin; 2]);
            }
        }
    }
}

/// Axial tables for a grid of patches in merge-window order: row frequencies, column frequencies, and both again, because
/// halves rotate.
pub(crate) fn axial_tables(theta: f64, head_dim: usize, grid: [usize; 2], merge: usize) -> Tables {
    let frequencies = inverse_frequencies(theta, head_dim / 2);
    let mut angles = Vec::with_capacity(grid[0] * grid[1] * head_dim);
    for (row, column) in merge_order(grid, merge) {
        for _ in 0..2 {
            angles.extend(frequencies.iter().map(|f| row as f32 * f));
            angles.extend(frequencies.iter().map(|f| column as f32 * f));
        }
    }
    let (cos, sin) = angles.into_iter().map(|a: f32| (a.cos(), a.sin())).unzip();
    Tables { cos, sin }
}

/// Rows and columns of a patch grid in the order that the tower sees them: by merge window, then inside each.
fn merge_order(grid: [usize; 2], merge: usize) -> impl Iterator<Item = (usize, usize)> {
    let [rows, columns] = grid;
    (0..rows / merge).flat_map(move |wr| {
        (0..columns / merge)
            .flat_map(move |wc| (0..merge).flat_map(move |r| (0..merge).map(move |c| (wr * merge + r, wc * merge + c))))
    })
}

/// M-RoPE positions of a prompt, and the position of the first token after it. Text advances all three axes together; an
/// image's tokens count rows and columns from the running position; text goes on at that plus `max(rows, columns)`.
///
/// `grid`: rows and columns of image tokens. Only the first `rows * columns` placeholders belong to the image.
pub(crate) fn prompt_positions(ids: &[u32], image_token: u32, grid: [usize; 2]) -> (Vec<[u32; 3]>, u32) {
    let [rows, columns] = grid;
    let mut positions = Vec::with_capacity(ids.len());
    let mut next = 0u32;
    let mut at = 0;
    let mut image_done = rows * columns == 0;
    while at < ids.len() {
        if ids[at] == image_token && !image_done {
            for row in 0..rows {
                positions.extend((0..columns).map(|column| [next, next + row as u32, next + column as u32]));
            }
            next += rows.max(columns) as u32;
            at += rows * columns;
            image_done = true;
        } else {
            positions.push([next; 3]);
            next += 1;
            at += 1;
        }
    }
    positions.truncate(ids.len());
    (positions, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_advances_by_its_longer_side() {
        // Two words, a picture of 2 x 3 tokens, one word.
        let (positions, next) = prompt_positions(&[5, 6, 9, 9, 9, 9, 9, 9, 7], 9, [2, 3]);
        let picture = [[2, 2, 2], [2, 2, 3], [2, 2, 4], [2, 3, 2], [2, 3, 3], [2, 3, 4]];
        assert_eq!(positions[..2], [[0; 3], [1; 3]]);
        assert_eq!(positions[2..8], picture);
        assert_eq!((positions[8], next), ([5; 3], 6));
        assert_eq!(prompt_positions(&[1, 2], 9, [2, 3]), (vec![[0; 3], [1; 3]], 2));
    }
}
