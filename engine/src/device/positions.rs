//! M-RoPE positions of a prompt.

/// Temporal, row and column position of each token of a prompt, and the position of the first token after it. Text
/// advances all three together; an image's tokens count rows and columns from the running position, and the text after it
/// goes on at that plus `max(rows, columns)`. `grid`: rows and columns of image tokens.
pub(super) fn prompt_positions(ids: &[u32], image_token: u32, grid: [usize; 2]) -> (Vec<[i32; 3]>, usize) {
    let [rows, columns] = grid;
    let image = ids.iter().position(|&id| id == image_token).filter(|_| rows * columns > 0);
    let (start, end) = image.map_or((ids.len(), ids.len()), |start| (start, start + rows * columns));
    let skipped = rows.max(columns) as i32 - (rows * columns) as i32;
    let positions = (0..ids.len())
        .map(|at| match at {
            _ if at < start => [at as i32; 3],
            _ if at < end => {
                let (row, column) = ((at - start) / columns, (at - start) % columns);
                [start as i32, (start + row) as i32, (start + column) as i32]
            }
            _ => [at as i32 + skipped; 3],
        })
        .collect();
    let shift = if image.is_some() { skipped } else { 0 };
    (positions, (ids.len() as i32 + shift).max(0) as usize)
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
