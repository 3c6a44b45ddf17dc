//! Loops: an answer that goes round in circles until its limit. Repetition that stands on the page is not one.

use crate::region::Task;

/// Shorter answers are never cut.
const MIN_TEXT: usize = 2048;
/// The shortest unit that counts, characters.
const MIN_UNIT: usize = 10;
/// The longest unit looked for, characters.
const MAX_UNIT: usize = 2048;
/// Repetitions from which running text is a loop.
const MIN_REPEATS: usize = 10;
/// Shorter stretches (a row of zeros, a dot leader) are left alone, characters.
const MIN_STRETCH: usize = 512;
/// Repetitions from which rows, cells or short lines are a loop: more than a page can show one below the other.
const MIN_ROW_REPEATS: usize = 64;
/// Lines up to this length may be items of a list, characters.
const SHORT_LINE: usize = 80;
/// Only the last part of a longer answer is searched, so that no answer costs more than a moment.
const MAX_SEARCH: usize = 1 << 14;

/// A stretch of equal units, the last of which may be cut short.
#[derive(Clone, Copy)]
struct Stretch {
    start: usize,
    unit: usize,
    length: usize,
}

impl Stretch {
    fn repeats(&self) -> usize {
        self.length / self.unit
    }

    fn end(&self) -> usize {
        self.start + self.length
    }

    /// The end of the first unit that begins where a row, cell, line or word does. The first equal character seldom does.
    fn aligned_end(&self, chars: &[char]) -> usize {
        let begins = |at: usize, mark: &str| chars[at..].iter().copied().take(mark.len()).eq(mark.chars());
        let follows = |at: usize, mark: char| at > 0 && chars[at - 1] == mark;
        let places = self.start..self.start + self.unit;
        let start = (places.clone().find(|&at| begins(at, "<tr")))
            .or_else(|| places.clone().find(|&at| begins(at, "<td") || begins(at, "<th")))
            .or_else(|| places.clone().find(|&at| follows(at, '\n')))
            .or_else(|| places.clone().find(|&at| follows(at, ' ')))
            .unwrap_or(self.start);
        start + self.unit
    }
}

/// Finds a loop and returns the text with one unit of it; `None` when there is none.
///
/// The rule of METHOD section 5 (2048 characters or more, a unit of 10 or more, 10 or more times in a row), with what
/// tells a loop from a page that repeats itself: a table that was finished keeps its rows, rows, cells and short lines
/// may come up to 63 times, and a stretch under 512 characters is left alone.
pub fn cut_loop(text: &str, task: Task) -> Option<String> {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() < MIN_TEXT {
        return None;
    }
    let offset = chars.len().saturating_sub(MAX_SEARCH);
    let searched = &chars[offset..];
    let stretch = longest_loop(searched, task)?;
    let (kept, rest) = if stretch.end() < searched.len() {
        // It does not matter which of the units go.
        (stretch.start + stretch.length - (stretch.repeats() - 1) * stretch.unit, stretch.end())
    } else {
        // It ran into the limit: the piece of one more unit at the end goes too.
        (stretch.aligned_end(searched), searched.len())
    };
    Some(chars[..offset + kept].iter().chain(&searched[rest..]).collect())
}

/// The longest stretch that is a loop, described by its shortest unit.
fn longest_loop(chars: &[char], task: Task) -> Option<Stretch> {
    let mut best: Option<Stretch> = None;
    for unit in MIN_UNIT..=MAX_UNIT.min(chars.len() / MIN_REPEATS) {
        let mut equal = 0;
        let count = chars.len() - unit;
        for (at, (a, b)) in chars.iter().zip(&chars[unit..]).enumerate() {
            if a == b {
                equal += 1;
            }
            if a != b || at + 1 == count {
                let end = if a == b { at + 1 } else { at };
                let found = Stretch { start: end - equal, unit, length: equal + unit };
                // Multiples of a unit give stretches as long: the shortest unit came first.
                let longer = best.is_none_or(|best| found.length > best.length + best.unit);
                let long = found.repeats() >= MIN_REPEATS && found.length >= MIN_STRETCH;
                if long && longer && is_loop(chars, &found, task) {
                    best = Some(found);
                }
                equal = 0;
            }
        }
    }
    best
}

fn is_loop(chars: &[char], stretch: &Stretch, task: Task) -> bool {
    let unit: String = chars[stretch.start..stretch.start + stretch.unit].iter().collect();
    // The first characters of what follows may still be equal: "<" of "<tr" and of "</table".
    let rest = || chars[stretch.end().saturating_sub(8)..].iter().collect::<String>();
    let many = stretch.repeats() >= MIN_ROW_REPEATS;
    match task {
        Task::Table if is_rows(&unit) => many && !rest().contains("</table"),
        Task::Formula if unit.contains('&') || unit.contains(r"\\") => many && !rest().contains(r"\end{"),
        _ if unit.contains('\n') && unit.split('\n').all(|line| line.chars().count() <= SHORT_LINE) => many,
        _ => true,
    }
}

/// Whether a unit holds rows or cells. It may begin anywhere in one.
fn is_rows(unit: &str) -> bool {
    unit.contains("<td") || unit.contains("<th") || unit.contains("<tr") || unit.contains("td>") || unit.contains("th>")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intro() -> String {
        (0..60).map(|i| format!("Sentence number {i} says something. ")).collect()
    }

    #[test]
    fn a_loop_is_cut_to_one_unit() {
        let unit = "and the model goes round ";
        let text = format!("{}{}and the mod", intro(), unit.repeat(40));
        assert_eq!(cut_loop(&text, Task::Text), Some(format!("{}{unit}", intro())));
    }

    #[test]
    fn what_follows_a_loop_is_kept() {
        let text = format!("{}{}Then it ended.", intro(), "round and round ".repeat(40));
        assert_eq!(cut_loop(&text, Task::Text), Some(format!("{}round and round Then it ended.", intro())));
    }

    #[test]
    fn a_single_character_that_never_ends_is_a_loop() {
        let text = format!("Total{}", "x".repeat(4000));
        assert_eq!(cut_loop(&text, Task::Text), Some(format!("Total{}", "x".repeat(10))));
    }

    #[test]
    fn short_answers_and_nine_repeats_are_not_loops() {
        assert_eq!(cut_loop(&"the same again ".repeat(100), Task::Text), None); // 1500 characters
        let sentence = "This sentence of some eighty characters comes nine times, which is legitimate. ";
        assert_eq!(cut_loop(&format!("{}{}", intro(), sentence.repeat(9)), Task::Text), None);
        assert!(cut_loop(&format!("{}{}", intro(), sentence.repeat(10)), Task::Text).is_some());
    }

    #[test]
    fn identical_rows_of_a_table_are_kept() {
        let row = "<tr><td>0.00</td><td>0.00</td><td>0.00</td><td>not measured, see the note below the table</td><td>1</td><td>2</td></tr>";
        for rows in [12, 30, 200] {
            let table = format!("<table><tr><th>A</th></tr>{}</table>", row.repeat(rows));
            assert_eq!(cut_loop(&table, Task::Table), None, "{rows} rows, closed");
        }
        // Still being written: thirty rows may be true, a hundred and more are not.
        assert_eq!(cut_loop(&format!("<table>{}", row.repeat(30)), Task::Table), None);
        let cut = cut_loop(&format!("<table>{}<tr><td>0.", row.repeat(120)), Task::Table);
        assert_eq!(cut.as_deref(), Some(format!("<table>{row}").as_str()));
    }

    #[test]
    fn a_loop_inside_a_cell_is_cut() {
        let text = format!("<table><tr><td>a</td><td>{}</td></tr></table>", "very very good ".repeat(200));
        let expected = "<table><tr><td>a</td><td>very very good </td></tr></table>";
        assert_eq!(cut_loop(&text, Task::Table).as_deref(), Some(expected));
    }

    #[test]
    fn repeated_list_lines_are_kept_until_no_page_could_hold_them() {
        let line = "- not applicable to this item\n";
        assert_eq!(cut_loop(&format!("{}\n{}", intro(), line.repeat(30)), Task::Text), None);
        let cut = cut_loop(&format!("{}\n{}", intro(), line.repeat(150)), Task::Text);
        assert_eq!(cut, Some(format!("{}\n{line}", intro())));
    }

    #[test]
    fn a_large_matrix_is_kept() {
        let row = "0 & 0 & 0 & 0 & 0 & 0 & 0 & 0 & 0 & 0 & 0 & 0 & 0 & 0 & 0 & 0 & 0 & 0 & 0 & 0 \\\\ ";
        let matrix = format!("\\begin{{pmatrix}} {} \\end{{pmatrix}}", row.repeat(30));
        assert_eq!(cut_loop(&matrix, Task::Formula), None);
    }

    #[test]
    fn a_row_of_zeros_in_a_long_text_is_kept() {
        assert_eq!(cut_loop(&format!("{}{}{}", intro(), "0.00 ".repeat(40), intro()), Task::Text), None);
    }

    #[test]
    fn a_huge_answer_takes_a_moment_only() {
        let varied: String =
            (0..400_000u32).map(|i| char::from(b'a' + (i.wrapping_mul(2_654_435_761) >> 28) as u8)).collect();
        assert_eq!(cut_loop(&varied, Task::Text), None);
    }
}
