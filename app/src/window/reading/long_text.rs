//! Layout of texts with very long paragraphs. egui keeps the layouts of paragraphs, so that a letter typed into one costs
//! no more than that one; a paragraph of a whole book is laid out in parts here, for the same reason.

use std::sync::Arc;

use eframe::egui::text::LayoutJob;
use eframe::egui::{FontId, Galley, Ui};

/// Bytes of a paragraph that is laid out in one.
const LONG: usize = 4000;

/// Lays a text out as a text field does.
pub(super) fn layout(ui: &Ui, text: &str, font: &FontId, wrap: f32) -> Arc<Galley> {
    let visuals = ui.visuals();
    let colour = visuals.override_text_color.unwrap_or_else(|| visuals.widgets.inactive.text_color());
    let job = |text: &str| LayoutJob::simple(text.to_owned(), font.clone(), colour, wrap);
    let lay_out = |text: &str| ui.fonts_mut(|fonts| fonts.layout_job(job(text)));
    if text.split('\n').all(|paragraph| paragraph.len() <= LONG) {
        return lay_out(text);
    }
    let (mut parts, mut joints, mut rows) = (Vec::new(), Vec::new(), 0);
    let mut add = |part: Arc<Galley>, goes_on: bool| {
        rows += part.rows.len();
        if goes_on {
            joints.push(rows - 1);
        }
        parts.push(part);
    };
    for paragraph in text.split('\n') {
        let mut rest = paragraph;
        while let Some((part, after)) = split(rest, lay_out) {
            add(lay_out(part), true);
            rest = after;
        }
        add(lay_out(rest), false);
    }
    let mut whole = Galley::concat(Arc::new(job(text)), &parts, ui.pixels_per_point());
    for joint in joints {
        // No new line of the text ends there.
        if let Some(row) = whole.rows.get_mut(joint) {
            row.ends_with_newline = false;
        }
    }
    Arc::new(whole)
}

/// Splits a long paragraph where a row of it begins: what stands before does not depend on what comes after.
fn split(text: &str, lay_out: impl Fn(&str) -> Arc<Galley>) -> Option<(&str, &str)> {
    if text.len() <= LONG {
        return None;
    }
    let head = text.get(..text.floor_char_boundary(LONG))?;
    let galley = lay_out(head);
    // The last row may go on.
    let (_, whole) = galley.rows.split_last()?;
    let characters: usize = whole.iter().map(|row| row.char_count_excluding_newline().0).sum();
    let (at, _) = head.char_indices().nth(characters).filter(|(at, _)| *at > 0)?;
    text.split_at_checked(at)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use eframe::egui::epaint::text::PlacedRow;
    use egui_kittest::Harness;

    use super::*;

    /// Words of different lengths, without a new line.
    fn paragraph(words: u32, seed: u32) -> String {
        let word = |n: u32| "länge".chars().cycle().take(1 + (n.wrapping_mul(2_654_435_761) >> 28) as usize);
        (seed..seed + words).flat_map(|n| word(n).chain([' '])).collect()
    }

    /// Not to the letter as egui lays it out in one: there, places far along a paragraph are too large to be exact, and a
    /// word that just fits may fall either way.
    #[test]
    fn in_parts_a_text_is_whole_and_keeps_to_its_width() {
        let texts = [
            paragraph(3000, 1),
            format!("short\n\n{}\n{}", paragraph(2000, 7), paragraph(1500, 9)),
            format!("{}\n", "x".repeat(9000)),
            format!("{}{}", paragraph(900, 3), "語".repeat(2000)),
        ];
        drop(Harness::builder().allow_missing_glyphs().build_ui(move |ui| {
            for (text, wrap) in texts.iter().flat_map(|text| [(text, 90.0), (text, 377.0)]) {
                let font = FontId::proportional(14.0);
                let parts = layout(ui, text, &font, wrap);
                let colour = ui.visuals().widgets.inactive.text_color();
                let one = LayoutJob::simple(text.clone(), font.clone(), colour, wrap);
                let one = ui.fonts_mut(|fonts| fonts.layout_job(one));
                // What cursors count by: all characters, and new lines only where there are some.
                let end = |row: &PlacedRow| if row.ends_with_newline { "\n" } else { "" };
                let told: String = parts.rows.iter().map(|row| row.text() + end(row)).collect();
                assert_eq!(&told, text);
                assert!(parts.rows.len().abs_diff(one.rows.len()) <= one.rows.len() / 50);
                assert!(parts.size().x <= wrap.max(one.size().x) + 1.0, "{} in {wrap}", parts.size().x);
                let height = one.size().y / one.rows.len() as f32;
                for (at, row) in parts.rows.iter().enumerate() {
                    assert!((row.pos.y - at as f32 * height).abs() < 2.0, "row {at} at {}", row.pos.y);
                }
                assert!(parts.rows.iter().all(|row| row.glyphs.len() < 120), "no row is cut short or left long");
            }
        }));
    }

    #[test]
    fn a_letter_typed_into_a_book_costs_a_part_of_it() {
        let mut text = paragraph(22_000, 1);
        assert!(text.chars().count() > 190_000);
        let mut times = Vec::new();
        drop(Harness::builder().build_ui(move |ui| {
            let font = FontId::proportional(14.0);
            let time = |text: &str| {
                let start = Instant::now();
                layout(ui, text, &font, 377.0);
                start.elapsed()
            };
            if !times.is_empty() {
                return; // The first frame tells it all.
            }
            let first = time(&text);
            let middle = text.floor_char_boundary(text.len() / 2);
            for letter in 0..40 {
                text.insert(middle + letter, 'e');
                times.push(time(&text));
            }
            times.sort();
            assert!(times.get(20).is_some_and(|median| *median < first / 3), "{first:?} {times:?}");
        }));
    }
}
