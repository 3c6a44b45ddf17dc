//! Tables: read from detected cells or from a model's HTML, written as HTML that holds nothing but a table.

use crate::region::Cell;

/// More columns than any page has.
const MAX_COLUMNS: usize = 512;
/// More rows than any page has.
const MAX_ROWS: usize = 4096;

/// A table as text: no markup is left in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The text of its `<caption>`, if any.
    pub caption: String,
    /// Its rows, each with the cells that begin in it.
    pub rows: Vec<Vec<TableCell>>,
}

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub struct TableCell {
    /// Plain text; `\n` where the cell breaks a line.
    pub text: String,
    /// Whether it is a header cell.
    pub header: bool,
    /// Grid rows covered, at least 1.
    pub rowspan: usize,
    /// Grid columns covered, at least 1.
    pub colspan: usize,
}

/// A cell on its table's grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridCell<'a> {
    /// First grid row, from 0.
    pub row: usize,
    /// First grid column, from 0.
    pub column: usize,
    /// Grid rows covered, none of them outside the table.
    pub rowspan: usize,
    /// Grid columns covered.
    pub colspan: usize,
    /// The cell.
    pub cell: &'a TableCell,
}

/// HTML of a table from its detected cells and their texts (`texts[i]` belongs to `cells[i]`): `colspan` and `rowspan`,
/// `<th>` for header cells, everything escaped, line breaks as `<br>`.
pub fn table_html(cells: &[Cell], texts: &[String]) -> String {
    let mut table = Table::default();
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by_key(|&index| cells.get(index).map(|cell| (cell.row, cell.column)));
    for cell in order {
        let (Some(geometry), text) = (cells.get(cell), texts.get(cell)) else { continue };
        let row = (geometry.row as usize).min(MAX_ROWS - 1);
        if table.rows.len() <= row {
            table.rows.resize(row + 1, Vec::new());
        }
        if let Some(row) = table.rows.get_mut(row) {
            row.push(TableCell {
                text: text.map_or(String::new(), |text| text.trim().to_string()),
                header: geometry.header,
                rowspan: (geometry.rowspan as usize).clamp(1, MAX_ROWS),
                colspan: (geometry.colspan as usize).clamp(1, MAX_COLUMNS),
            });
        }
    }
    table.to_html()
}

impl Table {
    /// Whether some cell covers more than one grid place.
    pub fn has_spans(&self) -> bool {
        self.rows.iter().flatten().any(|cell| cell.rowspan > 1 || cell.colspan > 1)
    }

    /// The table as HTML: `table`, `caption`, `tr`, `th`, `td`, `br`, `rowspan` and `colspan`, and nothing else. One row a
    /// line and no blank line, so that it can stand in Markdown.
    pub fn to_html(&self) -> String {
        let mut html = String::from("<table>\n");
        if !self.caption.is_empty() {
            html.push_str(&format!("<caption>{}</caption>\n", cell_html(&self.caption)));
        }
        for row in &self.rows {
            html.push_str("<tr>");
            for cell in row {
                let tag = if cell.header { "th" } else { "td" };
                html.push_str(&format!("<{tag}"));
                for (name, span) in [("rowspan", cell.rowspan), ("colspan", cell.colspan)] {
                    if span > 1 {
                        html.push_str(&format!(" {name}=\"{span}\""));
                    }
                }
                html.push_str(&format!(">{}</{tag}>", cell_html(&cell.text)));
            }
            html.push_str("</tr>\n");
        }
        html.push_str("</table>");
        html
    }

    /// Where its cells stand on the grid, in the order in which they are written.
    pub fn grid_cells(&self) -> Vec<GridCell<'_>> {
        let rows = self.rows.len().min(MAX_ROWS);
        let mut taken: Vec<Vec<bool>> = vec![Vec::new(); rows];
        let mut placed = Vec::new();
        for (row, cells) in self.rows.iter().take(rows).enumerate() {
            let mut column = 0;
            for cell in cells {
                while taken[row].get(column).is_some_and(|taken| *taken) {
                    column += 1;
                }
                if column >= MAX_COLUMNS {
                    break;
                }
                let rowspan = cell.rowspan.clamp(1, rows - row);
                let colspan = cell.colspan.clamp(1, MAX_COLUMNS - column);
                for line in &mut taken[row..row + rowspan] {
                    if line.len() < column + colspan {
                        line.resize(column + colspan, false);
                    }
                    line[column..column + colspan].fill(true);
                }
                placed.push(GridCell { row, column, rowspan, colspan, cell });
                column += colspan;
            }
        }
        placed
    }

    /// The texts on the table's grid, every row equally long. A cell stands where it begins; the other places that it
    /// covers are empty.
    pub fn grid(&self) -> Vec<Vec<&str>> {
        let placed = self.grid_cells();
        let width = placed.iter().map(|place| place.column + place.colspan).max().unwrap_or(0);
        let mut grid = vec![vec![""; width]; self.rows.len().min(MAX_ROWS)];
        for place in placed {
            grid[place.row][place.column] = &place.cell.text;
        }
        grid
    }
}

fn cell_html(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\n' => html.push_str("<br>"),
            c if c.is_control() => {}
            c => html.push(c),
        }
    }
    html
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use crate::region::Rect;

    fn cell(row: u32, column: u32, rowspan: u32, colspan: u32, header: bool) -> Cell {
        Cell { row, column, rowspan, colspan, header, bounds: Rect::default(), lines: Vec::new() }
    }

    #[test]
    fn cells_become_html_with_spans_headers_escapes_and_breaks() {
        let cells = [
            cell(0, 0, 2, 1, true),
            cell(0, 1, 1, 2, true),
            cell(1, 1, 1, 1, false),
            cell(1, 2, 1, 1, false),
            cell(3, 0, 1, 3, false),
        ];
        let texts = ["Name", "A & B", "p < 0.05", "two\nlines", "\"x\""].map(String::from);
        assert_eq!(
            table_html(&cells, &texts),
            "<table>\n<tr><th rowspan=\"2\">Name</th><th colspan=\"2\">A &amp; B</th></tr>\n\
             <tr><td>p &lt; 0.05</td><td>two<br>lines</td></tr>\n<tr></tr>\n\
             <tr><td colspan=\"3\">&quot;x&quot;</td></tr>\n</table>"
        );
    }

    #[test]
    fn the_grid_puts_each_cell_where_it_begins() {
        // Two header levels and a row span of four, as in case E6.
        let html = "<table><tr><th rowspan=2>Drug</th><th colspan=2>Dose</th></tr><tr><th>low</th><th>high</th></tr>\
                    <tr><td rowspan=4>X</td><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr><tr><td>5</td><td>6</td></tr>\
                    <tr><td>7</td><td>8</td></tr></table>";
        let table = Table::parse(html).unwrap();
        assert_eq!(
            table.grid(),
            [
                ["Drug", "Dose", ""],
                ["", "low", "high"],
                ["X", "1", "2"],
                ["", "3", "4"],
                ["", "5", "6"],
                ["", "7", "8"]
            ]
        );
        assert!(table.has_spans());
        let cells: Vec<_> = table.grid_cells().iter().map(|p| (p.row, p.column, p.rowspan, p.colspan)).collect();
        assert_eq!(cells[..5], [(0, 0, 2, 1), (0, 1, 1, 2), (1, 1, 1, 1), (1, 2, 1, 1), (2, 0, 4, 1)]);
        assert_eq!(Table::parse(&table.to_html()).unwrap(), table);
    }

    #[test]
    fn hostile_spans_stay_small() {
        let row = "<tr>".to_string() + &"<td rowspan=99999999 colspan=99999999>x</td>".repeat(300) + "</tr>";
        let grid_size = |html: &str| Table::parse(html).unwrap().grid().iter().map(Vec::len).sum::<usize>();
        assert!(grid_size(&format!("<table>{}</table>", row.repeat(100))) <= 100 * MAX_COLUMNS);
        let html = table_html(&[cell(u32::MAX, 0, u32::MAX, u32::MAX, false)], &["x".into()]);
        assert!(html.len() < 100_000);
    }

    #[test]
    fn markup_of_a_model_is_reduced_to_a_table() {
        let html = "<p>noise</p><table onclick=\"evil()\" style='x'><thead><tr><td>H</td></tr></thead><tbody>\
                    <tr><td><script>alert(1)</script>a<br/>b <b>bold</b> x<sup>2</sup> H<sub>2</sub>O</td>\
                    <td><img src=x onerror=alert(1)>5 &lt; 6 &amp;&#x41;&nbsp;z</td></tr></tbody></table>";
        assert_eq!(
            Table::parse(html).unwrap().to_html(),
            "<table>\n<tr><th>H</th></tr>\n<tr><td>a<br>b bold x² H₂O</td><td>5 &lt; 6 &amp;A z</td></tr>\n</table>"
        );
    }

    #[test]
    fn unfinished_and_odd_tables_are_read_as_far_as_they_go() {
        let rows = |html: &str| -> Vec<Vec<String>> {
            Table::parse(html)
                .unwrap()
                .rows
                .iter()
                .map(|row| row.iter().map(|cell| cell.text.clone()).collect())
                .collect()
        };
        assert_eq!(
            rows("<table><tr><td>a<td>b<tr><td>p < 0.05 and $a<b$</td></tr><tr><td"),
            [vec!["a", "b"], vec!["p < 0.05 and $a<b$"]]
        );
        assert_eq!(rows("<tr><td>no table tag</td></tr>"), [["no table tag"]]);
        assert_eq!(
            rows("<table><tr><td>a <table><tr><td>in</td><td>ner</td></tr></table> z</td></tr></table>"),
            [["a in ner z"]]
        );
        assert_eq!(rows("<table><tr><td>&bogus; &#0; &#99999999;</td></tr>"), [["&bogus; &#0; &#99999999;"]]);
        assert_eq!(rows("<table><tr><td>x<sup>th a</sup></td></tr>"), [["x^(th a)"]]);
        assert!(Table::parse("no cells at all").is_none());
        assert!(Table::parse("<table></table>").is_none());
    }
}
