//! Which pages: the "1-3,7" that people type.

/// Why a page selection was not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// Nothing was selected.
    #[error("no page is selected; write for example 1-3,7")]
    Empty,
    /// Not a number or a range.
    #[error("\"{part}\" is not a page or a range of pages; write for example 1-3,7 or 5-")]
    NotARange {
        /// The part between commas that was not understood.
        part: String,
    },
    /// A range whose end comes before its start.
    #[error("\"{part}\" runs backwards; write the smaller page first")]
    Backwards {
        /// The range.
        part: String,
    },
    /// A page that the document does not have.
    #[error("there is no page {page}; the document has {}", pages(*.count))]
    OutOfRange {
        /// The page asked for, from 1.
        page: String,
        /// How many there are.
        count: usize,
    },
}

fn pages(count: usize) -> String {
    if count == 1 { "1 page".to_owned() } else { format!("{count} pages") }
}

/// Page numbers from 0 for a selection written from 1, such as `1-3,7` or `5-` (to the end) or `-4` (from the start).
/// The order is kept; a page named twice is returned once.
pub fn parse_pages(spec: &str, page_count: usize) -> Result<Vec<usize>, SelectionError> {
    let mut selected = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for part in spec.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let number = |text: &str| page_number(text, part, page_count);
        let (first, last) = match part.split_once('-') {
            None => {
                let page = number(part)?;
                (page, page)
            }
            Some(("", "")) => return Err(SelectionError::NotARange { part: part.to_owned() }),
            Some((first, "")) => (number(first)?, page_count),
            Some(("", last)) => (1, number(last)?),
            Some((first, last)) => (number(first)?, number(last)?),
        };
        if first > last {
            return Err(SelectionError::Backwards { part: part.to_owned() });
        }
        selected.extend((first - 1..last).filter(|page| seen.insert(*page)));
    }
    if selected.is_empty() { Err(SelectionError::Empty) } else { Ok(selected) }
}

/// A page number from 1, which the document has.
fn page_number(text: &str, part: &str, page_count: usize) -> Result<usize, SelectionError> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(SelectionError::NotARange { part: part.to_owned() });
    }
    // A number too long for usize is out of range as well.
    match text.parse::<usize>() {
        Ok(page) if (1..=page_count).contains(&page) => Ok(page),
        _ => Err(SelectionError::OutOfRange { page: text.to_owned(), count: page_count }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections() {
        assert_eq!(parse_pages("1-3,7", 9), Ok(vec![0, 1, 2, 6]));
        assert_eq!(parse_pages(" 7 , 1 - 3 ", 9), Ok(vec![6, 0, 1, 2]));
        assert_eq!(parse_pages("2,1-3,2", 9), Ok(vec![1, 0, 2]));
        assert_eq!(parse_pages("8-", 9), Ok(vec![7, 8]));
        assert_eq!(parse_pages("9-", 9), Ok(vec![8]));
        assert_eq!(parse_pages("-2", 9), Ok(vec![0, 1]));
        assert_eq!(parse_pages("1,", 1), Ok(vec![0]));
    }

    #[test]
    fn mistakes_are_named() {
        let message = |spec: &str, count| parse_pages(spec, count).map_err(|error| error.to_string());
        assert_eq!(message("3-12", 9), Err("there is no page 12; the document has 9 pages".into()));
        assert_eq!(message("2", 1), Err("there is no page 2; the document has 1 page".into()));
        assert_eq!(message("0", 9), Err("there is no page 0; the document has 9 pages".into()));
        assert_eq!(
            message("99999999999999999999999", 9),
            Err("there is no page 99999999999999999999999; the document has 9 pages".into())
        );
        assert!(message("", 9).is_err_and(|m| m.contains("no page is selected")));
        assert!(message("5-2", 9).is_err_and(|m| m.contains("backwards")));
        for nonsense in ["a", "1-b", "-", "1--2", "+1", "1.5", "--3"] {
            assert!(message(nonsense, 9).is_err_and(|m| m.contains("not a page")), "{nonsense}");
        }
    }
}
