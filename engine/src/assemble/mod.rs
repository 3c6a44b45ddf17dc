//! From answers of the model to the text of a region: lines joined, cells put into a table, scaffolding and loops cut.

mod clean;
mod hyphen;
mod lines;
mod repeat;
mod table;
mod table_parse;

#[cfg(test)]
mod hostile_tests;

pub use clean::{clean, clean_line, clean_listing};
pub(crate) use hyphen::{Vocabulary, append};
pub use lines::{LineText, join_cell_lines, join_lines, region_text};
pub use repeat::cut_loop;
pub use table::{GridCell, Table, TableCell, table_html};
