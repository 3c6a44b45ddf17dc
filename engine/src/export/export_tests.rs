//! Whole documents, written out by hand.

use super::{
    Block, DocumentResult, DocumentWriter, ExportOptions, Format, PageOutcome, blocks, from_json, html, json, markdown,
    text,
};
use crate::page::{PageResult, RegionResult, Status};
use crate::region::{Cell, Label, Line, ListItem, Marker, Rect, Region};

/// A region read as a whole.
pub(super) fn region(label: Label, text: &str) -> RegionResult {
    RegionResult {
        region: Region::new(label, Rect::new(100, 100, 900, 200)),
        status: Status::Done,
        text: text.into(),
        readings: Vec::new(),
    }
}

/// A region that the detector cut into lines.
pub(super) fn lines_region(label: Label, text: &str) -> RegionResult {
    let mut result = region(label, text);
    result.region.lines = vec![Line { bounds: result.region.bounds, starts_paragraph: false, indent: 0 }];
    result
}

pub(super) fn page(index: usize, regions: Vec<RegionResult>) -> PageResult {
    PageResult { index, width: 1700, height: 2200, dpi: Some(200.0), skew_degrees: 0.25, regions }
}

pub(super) fn document(pages: Vec<PageResult>) -> DocumentResult {
    DocumentResult { name: "report.pdf".into(), pages: pages.into_iter().map(PageOutcome::Page).collect() }
}

fn item(depth: u8, marker: Marker, text: &str) -> RegionResult {
    let mut item = lines_region(Label::Text, text);
    item.region.list_item = Some(ListItem { depth, marker });
    item
}

fn continued(mut result: RegionResult) -> RegionResult {
    result.region.continues = true;
    result
}

fn listing(text: &str) -> RegionResult {
    let mut result = lines_region(Label::Text, text);
    result.region.preformatted = true;
    result
}

fn leveled(level: u8, text: &str) -> RegionResult {
    let mut result = lines_region(Label::ParagraphTitle, text);
    result.region.level = Some(level);
    result
}

pub(super) fn ended(status: Status, mut result: RegionResult) -> RegionResult {
    result.status = status;
    result
}

fn picture(label: Label) -> RegionResult {
    ended(Status::Picture, region(label, ""))
}

fn md(regions: Vec<RegionResult>) -> String {
    markdown(&document(vec![page(2, regions)]), &ExportOptions::default())
}

#[test]
fn a_small_document() {
    let document = document(vec![
        page(
            0,
            vec![
                region(Label::Header, "Running head"),
                lines_region(Label::DocTitle, "# Annual Report"),
                lines_region(Label::Text, "The first para\u{AD}graph.\n\nThe second one of sev-"),
                picture(Label::Image),
                lines_region(Label::FigureTitle, "Figure 1: Sales [in *euro*]"),
                region(Label::Number, "1"),
            ],
        ),
        page(
            1,
            vec![
                region(Label::Header, "Running head"),
                continued(lines_region(Label::Text, "eral.")),
                leveled(2, "1. Results"),
                leveled(3, "Costs"),
                region(Label::Table, "<table><tr><th>A</th></tr><tr><td>1<br>2</td></tr></table>"),
            ],
        ),
    ]);
    let options = ExportOptions { images: Some("report images".into()), ..ExportOptions::default() };
    // The soft hyphen inside a line is the assembler's business, not the export's.
    assert_eq!(
        markdown(&document, &options),
        "# Annual Report\n\nThe first para\u{AD}graph.\n\nThe second one of several.\n\n\
         ![Figure 1: Sales \\[in \\*euro\\*\\]](report%20images/page-0001-region-04.png)\n\n*Figure 1: Sales [in \\*euro\\*]*\n\n\
         ## 1. Results\n\n### Costs\n\n<table>\n<tr><th>A</th></tr>\n<tr><td>1<br>2</td></tr>\n</table>\n"
    );
    assert_eq!(
        text(&document, &options),
        "Annual Report\n\nThe first para\u{AD}graph.\n\nThe second one of several.\n\n[figure on page 1]\n\n\
         Figure 1: Sales [in *euro*]\n\n1. Results\n\nCosts\n\nA\n1 2\n"
    );
}

#[test]
fn furniture_is_left_out_by_a_switch() {
    let document = document(vec![page(
        0,
        vec![region(Label::Header, "Head"), region(Label::Text, "Body"), region(Label::Footnote, "Note")],
    )]);
    assert_eq!(markdown(&document, &ExportOptions::default()), "Body\n");
    let options = ExportOptions { furniture: true, ..ExportOptions::default() };
    assert_eq!(markdown(&document, &options), "Head\n\nBody\n\nNote\n");
}

#[test]
fn lists_are_tight_nested_and_keep_their_numbers() {
    use Marker::{Bullet, Number};
    let list = vec![
        lines_region(Label::Text, "Before"),
        item(0, Bullet, "first"),
        item(1, Bullet, "inner"),
        item(1, Number, "1. counted"),
        item(1, Number, "2. again"),
        item(0, Bullet, "# second"),
        item(1, Number, "3. from three"),
        lines_region(Label::Text, "Between"),
        item(0, Number, "9. nine"),
        item(0, Number, "10. ten"),
        item(1, Bullet, "under ten"),
        item(0, Number, "12. twelve"),
        item(0, Number, "(a) lettered"),
        item(0, Number, "07. not a Markdown number"),
        item(3, Bullet, "two\n\nparagraphs"),
        lines_region(Label::Text, "After"),
    ];
    assert_eq!(
        md(list),
        "Before\n\n- first\n  - inner\n  1. counted\n  2. again\n- \\# second\n\n  3. from three\n\nBetween\n\n\
         9. nine\n10. ten\n    - under ten\n<!-- -->\n12. twelve\n- (a) lettered\n- 07\\. not a Markdown number\n  - two\n\n    paragraphs\n\nAfter\n"
    );
}

#[test]
fn a_list_read_as_one_region_is_a_list() {
    assert_eq!(md(vec![region(Label::Text, "Intro\n\n- one\n\n- two\n\nEnd")]), "Intro\n\n- one\n- two\n\nEnd\n");
    assert_eq!(md(vec![region(Label::Text, "1. one\n\n2. two\n\n4. four")]), "1. one\n2. two\n\n4\\. four\n");
    assert_eq!(md(vec![region(Label::Text, "- a dash alone")]), "\\- a dash alone\n");
    assert_eq!(md(vec![lines_region(Label::Text, "- cut\n\n- into lines")]), "\\- cut\n\n\\- into lines\n");
}

#[test]
fn code_and_formulas_inside_a_region_read_as_a_whole() {
    let answer = "Use this:\n```html\n<a>\n\n  *b*\n```\nso that\n$$\nx\n= y\n$$\nholds";
    let cleaned = crate::assemble::clean(answer, crate::region::Task::Text);
    assert_eq!(
        md(vec![region(Label::Text, &cleaned)]),
        "Use this:\n\n```\n<a>\n\n  *b*\n```\n\nso that\n\n$$\nx = y\n$$\n\nholds\n"
    );
    // Without its end a fence is three backticks that were read.
    assert_eq!(md(vec![region(Label::Text, "```\n\na")]), "\\`\\`\\`\n\na\n");
}

#[test]
fn listings_are_fenced_beyond_their_backticks() {
    assert_eq!(md(vec![listing("def f(x):\n    return `x`")]), "```\ndef f(x):\n    return `x`\n```\n");
    assert_eq!(md(vec![listing("````\ncode\n````")]), "`````\n````\ncode\n````\n`````\n");
    assert_eq!(md(vec![listing("a"), continued(listing("  b"))]), "```\na\n  b\n```\n");
}

#[test]
fn formulas_get_their_numbers() {
    // Case F3: a formula of several lines.
    let aligned = "\\begin{aligned}\na &= b \\\\\n- c &< d\n\n\\end{aligned}";
    assert_eq!(
        md(vec![region(Label::DisplayFormula, aligned), region(Label::FormulaNumber, "(3.1)")]),
        "$$\n\\begin{aligned}\na &= b \\\\\n-c &< d\n\\end{aligned} \\tag{3.1}\n$$\n"
    );
    assert_eq!(
        md(vec![
            region(Label::FormulaNumber, "（2）"),
            region(Label::DisplayFormula, "x"),
            region(Label::DisplayFormula, "y \\tag{7}")
        ]),
        "$$\nx \\tag{2}\n$$\n\n$$\ny \\tag{7}\n$$\n"
    );
    // A number further down the page belongs to no formula.
    let mut far = region(Label::FormulaNumber, "(9)");
    far.region.bounds = Rect::new(800, 900, 900, 950);
    assert_eq!(md(vec![region(Label::DisplayFormula, "x"), far]), "$$\nx\n$$\n\n(9)\n");
    assert_eq!(md(vec![region(Label::DisplayFormula, "=\n> y\n# z\n$$\n===")]), "$$\n{}=\n\\gt y # z ===\n$$\n");
    assert_eq!(
        md(vec![region(Label::DisplayFormula, r"\theta \times \text{a}")]),
        "$$\n\\theta \\times \\text{a}\n$$\n"
    );
}

#[test]
fn a_formula_kept_as_a_picture_keeps_its_number() {
    let regions = vec![picture(Label::DisplayFormula), region(Label::FormulaNumber, "(4)")];
    assert_eq!(md(regions), "<!-- figure on page 3 -->\n\n(4)\n");
}

#[test]
fn nothing_is_dropped_silently() {
    let document = DocumentResult {
        name: "x".into(),
        pages: vec![
            PageOutcome::Page(page(
                0,
                vec![
                    ended(Status::Truncated, region(Label::Text, "The beginning of")),
                    ended(Status::LoopStopped, region(Label::Text, "again")),
                    ended(Status::Cancelled, region(Label::Text, "")),
                    ended(Status::Failed("the server said --> no".into()), region(Label::Table, "")),
                    ended(Status::Empty, region(Label::Text, "")),
                ],
            )),
            PageOutcome::Failed { index: 1, message: "the page is larger than 300 megapixels".into() },
            PageOutcome::Page(page(2, vec![continued(region(Label::Text, "not glued to page 1"))])),
        ],
    };
    assert_eq!(
        markdown(&document, &ExportOptions::default()),
        "The beginning of\n\n<!-- page 1, region 1: truncated, the token limit was reached -->\n\nagain\n\n\
         <!-- page 1, region 2: a loop was stopped, the text holds one round of it -->\n\n\
         <!-- page 1, region 3: cancelled, the text is what was read by then -->\n\n\
         <!-- page 1, region 4: could not be read: the server said - -> no -->\n\n\
         <!-- page 2 could not be read: the page is larger than 300 megapixels -->\n\nnot glued to page 1\n"
    );
    let html = html(&document, &ExportOptions::default());
    assert!(html.contains("<p class=\"notice\">page 2 could not be read: the page is larger than 300 megapixels</p>"));
    assert!(html.contains("the server said --&gt; no"));
    assert!(
        text(&document, &ExportOptions::default())
            .contains("[page 1, region 1: truncated, the token limit was reached]")
    );
}

#[test]
fn paragraphs_go_on_across_columns_figures_and_pages() {
    let pages = vec![
        page(
            0,
            vec![
                lines_region(Label::Text, "A state-of-"),
                region(Label::Table, "<table><tr><td>1</td></tr></table>"),
                region(Label::Footer, "foot"),
            ],
        ),
        page(
            1,
            vec![
                continued(lines_region(Label::Text, "the-art recog-")),
                continued(lines_region(Label::Text, "nition.\n\nNew.")),
            ],
        ),
        page(2, vec![continued(lines_region(Label::Text, "More of new."))]),
        page(
            3,
            vec![
                lines_region(Label::ParagraphTitle, "Title"),
                continued(lines_region(Label::Text, "not glued to a title")),
            ],
        ),
        page(4, vec![item(0, Marker::Bullet, "an item that"), continued(lines_region(Label::Text, "goes on"))]),
    ];
    assert_eq!(
        markdown(&document(pages), &ExportOptions::default()),
        "A state-of-the-art recognition.\n\n<table>\n<tr><td>1</td></tr>\n</table>\n\nNew. More of new.\n\n## Title\n\n\
         not glued to a title\n\n- an item that goes on\n"
    );
}

#[test]
fn what_stands_beside_the_text_does_not_go_on_with_it() {
    let pages = vec![
        page(
            0,
            vec![
                lines_region(Label::Text, "The recog-"),
                region(Label::VisionFootnote, "* a note"),
                region(Label::Footer, "page 1"),
            ],
        ),
        page(
            1,
            vec![
                region(Label::Header, "Head"),
                continued(lines_region(Label::Text, "nition.")),
                continued(region(Label::Footnote, "1 See there.")),
            ],
        ),
    ];
    let options = ExportOptions { furniture: true, ..ExportOptions::default() };
    assert_eq!(
        markdown(&document(pages), &options),
        "The recognition.\n\n\\* a note\n\npage 1\n\nHead\n\n1 See there.\n"
    );
}

#[test]
fn pipe_tables_where_nothing_is_lost() {
    // Case F2: a newline in a cell must not end the table.
    let plain = "<table><tr><th>A|B</th><th>C</th></tr><tr><td>two<br>lines</td><td>$|x|$ and $5</td></tr></table>";
    let merged = "<table><tr><td colspan=2>A</td></tr><tr><td>1</td><td>2</td></tr></table>";
    let headless = "<table><tr><td>1</td><td>*</td></tr></table>";
    let regions = vec![region(Label::Table, plain), region(Label::Table, merged), region(Label::Table, headless)];
    let options = ExportOptions { pipe_tables: true, ..ExportOptions::default() };
    assert_eq!(
        markdown(&document(vec![page(0, regions)]), &options),
        "| A\\|B | C |\n| --- | --- |\n| two<br>lines | $\\|x\\|$ and \\$5 |\n\n\
         <table>\n<tr><td colspan=\"2\">A</td></tr>\n<tr><td>1</td><td>2</td></tr>\n</table>\n\n|  |  |\n| --- | --- |\n| 1 | * |\n"
    );
}

#[test]
fn a_table_region_without_a_table_is_text() {
    assert_eq!(md(vec![region(Label::Table, "a * b\n\n# c")]), "a * b\n\n\\# c\n");
}

#[test]
fn html_is_complete_and_escaped() {
    // Case F5.
    let regions = vec![
        lines_region(Label::DocTitle, "“Q” & <A>"),
        lines_region(Label::Text, "x < y & \u{FFFD}\u{0}\u{1B}[31m \"q\" $a<b$\n\nשלום"),
        item(0, Marker::Number, "3. three"),
        item(1, Marker::Bullet, "in"),
        item(0, Marker::Number, "4. four"),
        region(
            Label::Table,
            "<table onload=evil()><tr><td colspan=2 style=x><script>evil()</script>&lt;b&gt;</td></tr></table>",
        ),
        region(Label::DisplayFormula, "a<b"),
        listing("if a < b:\n    c"),
        picture(Label::Image),
    ];
    let options = ExportOptions { images: Some("a\"b".into()), ..ExportOptions::default() };
    let document = document(vec![page(0, regions)]);
    let html = html(&document, &options);
    assert!(html.starts_with("<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n"));
    assert!(html.contains("<title>report.pdf</title>"));
    let body = html.split_once("<body>\n").map(|(_, body)| body);
    assert_eq!(
        body,
        Some(
            "<h1>“Q” &amp; &lt;A&gt;</h1>\n\
             <p>x &lt; y &amp; \u{FFFD}[31m &quot;q&quot; <span class=\"math inline\">\\(a&lt;b\\)</span></p>\n\
             <p dir=\"auto\">שלום</p>\n\
             <ol>\n<li value=\"3\">three<ul>\n<li>in</li>\n</ul>\n</li>\n<li value=\"4\">four</li>\n</ol>\n\
             <table>\n<tr><td colspan=\"2\">&lt;b&gt;</td></tr>\n</table>\n\
             <div class=\"math display\">\\[a&lt;b\\]</div>\n\
             <pre><code>if a &lt; b:\n    c</code></pre>\n\
             <figure><img src=\"a%22b/page-0001-region-09.png\" alt=\"Figure\"></figure>\n</body>\n</html>\n"
        )
    );
}

/// What a region looks like whose label a person changed: everything that the old label left behind is still there.
fn retyped(label: Label, text: &str) -> RegionResult {
    let mut result = item(1, Marker::Number, text);
    result.region.label = label;
    result.region.preformatted = true;
    result.region.continues = true;
    result.region.level = Some(1);
    result.region.cells = vec![Cell {
        row: 0,
        column: 0,
        rowspan: 1,
        colspan: 1,
        header: false,
        bounds: result.region.bounds,
        lines: result.region.lines.clone(),
    }];
    result
}

#[test]
fn the_label_decides_and_what_another_left_behind_does_not_count() {
    let text = "1. One  two";
    assert_eq!(md(vec![retyped(Label::DocTitle, text)]), "# 1. One two\n");
    assert_eq!(md(vec![retyped(Label::ParagraphTitle, text)]), "## 1. One two\n");
    let all = ExportOptions { furniture: true, ..ExportOptions::default() };
    for label in [Label::FigureTitle, Label::Header, Label::Footnote, Label::Seal, Label::Table, Label::DisplayFormula]
    {
        let written = |result| {
            let before = lines_region(Label::Text, "This goes");
            blocks(&document(vec![page(0, vec![before, result])]), &all)
        };
        assert_eq!(written(retyped(label, text)), written(lines_region(label, text)), "{label:?}");
    }
    // Where the label is that of running text, the marks say more.
    assert!(matches!(blocks(&document(vec![page(0, vec![listing("a  b")])]), &all)[..], [Block::Preformatted(_)]));
    let mut reference = item(0, Marker::Number, text);
    reference.region.label = Label::ReferenceContent;
    assert_eq!(md(vec![reference]), "1. One two\n");
}

#[test]
fn json_reopens_as_it_was() {
    let mut read = page(0, vec![region(Label::Text, "“ & < > \u{FFFD} \u{0} \"quoted\""), picture(Label::Image)]);
    read.regions.extend([item(1, Marker::Number, "1. x"), leveled(3, "T")]);
    let mut document = document(vec![read]);
    document.pages.push(PageOutcome::Failed { index: 1, message: "no \"page\"".into() });
    document.pages.push(PageOutcome::Page(super::trace_tests::traced_page()));
    let json = json(&document, &ExportOptions::default());
    assert_eq!(from_json(&json).ok(), Some(document));
    let value: serde_json::Value = serde_json::from_str(&json).unwrap_or_default();
    // Names that other programs rely on.
    assert_eq!(value["format"], "gravityocr-document");
    assert_eq!(value["version"], 1);
    assert_eq!(value["name"], "report.pdf");
    assert_eq!(value["pages"][0]["outcome"], "page");
    assert_eq!(value["pages"][0]["regions"][0]["region"]["label"], "text");
    assert_eq!(value["pages"][0]["regions"][0]["region"]["bounds"]["x1"], 900);
    assert_eq!(value["pages"][0]["regions"][1]["status"], "picture");
    assert_eq!(value["pages"][1]["message"], "no \"page\"");
    assert_eq!(value["pages"][2]["regions"][0]["readings"][0]["rounds"][1]["accepted"], 2);
}

#[test]
fn json_survives_numbers_that_are_none() {
    let mut read = super::trace_tests::traced_page();
    read.regions[0].readings[0].rounds[0].committed[0].confidence = f32::NAN;
    read.regions[0].readings[0].timings.vision_ms = f64::INFINITY;
    assert!(from_json(&json(&document(vec![read]), &ExportOptions::default())).is_ok());
}

#[test]
fn what_cannot_be_reopened_says_why() {
    let message = |json: &str| from_json(json).map(|_| ()).map_err(|error| error.to_string());
    assert_eq!(
        message("{"),
        Err("this is not a GravityOCR document, or it is damaged at line 1, column 1: export it again".into())
    );
    assert_eq!(
        message("{\"a\":1}"),
        Err("this is not a GravityOCR document: open a JSON file that this program exported".into())
    );
    let newer = "{\"format\":\"gravityocr-document\",\"version\":2}";
    assert_eq!(
        message(newer),
        Err("this document was written by a newer version of the program (format 2): update to open it".into())
    );
}

#[test]
fn page_by_page_gives_the_same_as_all_at_once() {
    let pages: Vec<PageResult> =
        (0..5).map(|at| page(at, vec![continued(lines_region(Label::Text, "some text-")), listing("x")])).collect();
    let document = document(pages.clone());
    let options = ExportOptions::default();
    for (format, whole) in [
        (Format::Markdown, markdown(&document, &options)),
        (Format::Html, html(&document, &options)),
        (Format::Json, json(&document, &options)),
        (Format::Text, text(&document, &options)),
    ] {
        let written = (|| {
            let mut writer = DocumentWriter::new(Vec::new(), format, "report.pdf", options.clone())?;
            pages.iter().try_for_each(|page| writer.page(page))?;
            writer.finish()
        })();
        assert_eq!(written.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).ok(), Some(whole));
    }
}

#[test]
fn a_long_document_is_written_as_it_goes() {
    let written = (|| {
        let mut writer = DocumentWriter::new(Vec::new(), Format::Markdown, "long", ExportOptions::default())?;
        for at in 0..1000 {
            writer.page(&page(at, vec![region(Label::Table, "<table><tr><td>1</td></tr></table>")]))?;
        }
        writer.finish()
    })();
    assert_eq!(written.map(|bytes| String::from_utf8_lossy(&bytes).matches("<table>").count()).ok(), Some(1000));
}

#[test]
fn an_empty_document_is_empty() {
    let options = ExportOptions::default();
    assert_eq!(markdown(&document(vec![]), &options), "");
    assert_eq!(text(&document(vec![page(0, vec![])]), &options), "");
    assert!(html(&document(vec![]), &options).ends_with("<body>\n</body>\n</html>\n"));
    assert_eq!(from_json(&json(&document(vec![]), &options)).ok(), Some(document(vec![])));
}

#[test]
fn blocks_are_those_the_formats_are_written_from() {
    let mut document = document(vec![
        page(0, vec![region(Label::DocTitle, "Title"), region(Label::Header, "7"), picture(Label::Image)]),
        page(1, vec![lines_region(Label::Text, "begins a"), continued(lines_region(Label::Text, "sentence."))]),
    ]);
    document.pages.push(PageOutcome::Failed { index: 2, message: "it is damaged".into() });
    assert_eq!(
        blocks(&document, &ExportOptions::default()),
        [
            Block::Heading { level: 1, text: "Title".into() },
            Block::Figure { page: 0, region: 2, caption: None },
            Block::Paragraph("begins a sentence.".into()),
            Block::Notice("page 3 could not be read: it is damaged".into()),
        ]
    );
}
