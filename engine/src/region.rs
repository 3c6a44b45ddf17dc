//! A region of a page: where it is, what it is, and the lines or cells it was cut into.

use serde::{Deserialize, Serialize};

/// A half-open rectangle in pixels of the page raster: `x0 <= x < x1`, `y0 <= y < y1`, origin at the top left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Rect {
    /// Left edge, inside.
    pub x0: u32,
    /// Top edge, inside.
    pub y0: u32,
    /// Right edge, outside.
    pub x1: u32,
    /// Bottom edge, outside.
    pub y1: u32,
}

impl Rect {
    /// A rectangle from its edges, whatever their order.
    pub fn new(x0: u32, y0: u32, x1: u32, y1: u32) -> Self {
        Self { x0: x0.min(x1), y0: y0.min(y1), x1: x0.max(x1), y1: y0.max(y1) }
    }

    /// Width in pixels.
    pub fn width(&self) -> u32 {
        self.x1.saturating_sub(self.x0)
    }

    /// Height in pixels.
    pub fn height(&self) -> u32 {
        self.y1.saturating_sub(self.y0)
    }

    /// Area in pixels.
    pub fn area(&self) -> u64 {
        u64::from(self.width()) * u64::from(self.height())
    }

    /// Whether it holds no pixel.
    pub fn is_empty(&self) -> bool {
        self.area() == 0
    }

    /// The smallest rectangle around both. An empty one adds nothing.
    pub fn union(&self, other: &Rect) -> Rect {
        if self.is_empty() {
            return *other;
        }
        if other.is_empty() {
            return *self;
        }
        Rect {
            x0: self.x0.min(other.x0),
            y0: self.y0.min(other.y0),
            x1: self.x1.max(other.x1),
            y1: self.y1.max(other.y1),
        }
    }

    /// The common part; empty when there is none.
    pub fn intersection(&self, other: &Rect) -> Rect {
        let (x0, y0) = (self.x0.max(other.x0), self.y0.max(other.y0));
        Rect { x0, y0, x1: self.x1.min(other.x1).max(x0), y1: self.y1.min(other.y1).max(y0) }
    }

    /// The part inside a raster of the given size.
    pub fn clamped(&self, width: u32, height: u32) -> Rect {
        self.intersection(&Rect { x0: 0, y0: 0, x1: width, y1: height })
    }
}

/// What a region is. The names are the 25 labels of PP-DocLayoutV3, so that a layout checkpoint, the built-in detector
/// and a person who draws a box all speak the same language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the labels' names are their documentation")]
pub enum Label {
    Abstract,
    Algorithm,
    AsideText,
    Chart,
    Content,
    DisplayFormula,
    DocTitle,
    FigureTitle,
    Footer,
    FooterImage,
    Footnote,
    FormulaNumber,
    Header,
    HeaderImage,
    Image,
    InlineFormula,
    Number,
    ParagraphTitle,
    Reference,
    ReferenceContent,
    Seal,
    Table,
    Text,
    VerticalText,
    VisionFootnote,
}

/// What is done with a region of some label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Read with `Text Recognition:`.
    Text,
    /// Read with `Table Recognition:`, the answer being HTML.
    Table,
    /// Read with `Formula Recognition:`, the answer being LaTeX.
    Formula,
    /// Kept as a picture.
    Figure,
    /// Running heads, page numbers, notes in the margin: shown, read as text, left out of the document by a switch.
    Furniture,
}

impl Label {
    /// The role of this label (METHOD: label -> task).
    pub fn role(self) -> Role {
        use Label::*;
        match self {
            Abstract | Algorithm | Content | DocTitle | FigureTitle | ParagraphTitle | ReferenceContent | Text
            | VerticalText | VisionFootnote | Seal | FormulaNumber => Role::Text,
            Table => Role::Table,
            DisplayFormula | InlineFormula => Role::Formula,
            Chart | Image => Role::Figure,
            Header | Footer | Number | Footnote | AsideText | Reference | HeaderImage | FooterImage => Role::Furniture,
        }
    }

    /// Whether its regions are parts of the running text: those may be items of a list or listings, and go on in another
    /// column or on the next page. Elsewhere such marks are left over from an earlier label.
    pub fn is_running_text(self) -> bool {
        use Label::*;
        matches!(self, Abstract | Algorithm | Content | ReferenceContent | Text | VerticalText)
    }
}

/// What the model is asked to do with an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Running text.
    Text,
    /// A table, answered in HTML.
    Table,
    /// A formula, answered in LaTeX.
    Formula,
}

impl Task {
    /// The prompt that the checkpoints were trained with.
    pub fn prompt(self) -> &'static str {
        match self {
            Task::Text => "Text Recognition:",
            Task::Table => "Table Recognition:",
            Task::Formula => "Formula Recognition:",
        }
    }
}

/// One line of text as the built-in segmentation cut it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The ink's box.
    pub bounds: Rect,
    /// Whether the line starts a paragraph (indent, or a gap above) inside its region.
    #[serde(default)]
    pub starts_paragraph: bool,
    /// Indent in characters relative to the region's left edge, for monospaced listings; 0 elsewhere.
    #[serde(default)]
    pub indent: u32,
}

/// One cell of a table as the built-in detector found it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// First grid row, from 0.
    pub row: u32,
    /// First grid column, from 0.
    pub column: u32,
    /// Grid rows covered, at least 1.
    pub rowspan: u32,
    /// Grid columns covered, at least 1.
    pub colspan: u32,
    /// Whether the cell belongs to a header row.
    pub header: bool,
    /// The cell's box between its rules (or white gaps), without the rules.
    pub bounds: Rect,
    /// The lines of text in it; none in an empty cell.
    pub lines: Vec<Line>,
}

/// What a list item's mark looked like. The mark of a bullet is cut away from the line before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Marker {
    /// A bullet, dash or other small mark; not part of `lines`.
    Bullet,
    /// A number or letter; it stays in the line and is read with it.
    Number,
}

/// A list item's place in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListItem {
    /// Nesting depth, from 0.
    pub depth: u8,
    /// The kind of mark.
    pub marker: Marker,
}

/// A region of a page. Regions stand in reading order in their page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Region {
    /// What it is.
    pub label: Label,
    /// Its box in pixels of the page raster.
    pub bounds: Rect,
    /// How sure the detector is of it, 0..=1, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
    /// Its outline in pixels of the page raster, as corners in order, where the detector found one that is no rectangle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub polygon: Vec<[u32; 2]>,
    /// Heading level from 1, where the label is a title and the detector could tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
    /// Set when the region is one item of a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_item: Option<ListItem>,
    /// Whether the text is a listing in a monospaced face, whose line breaks and indents matter.
    #[serde(default)]
    pub preformatted: bool,
    /// Whether this text goes on a paragraph that an earlier region began (a column or page break inside it).
    #[serde(default)]
    pub continues: bool,
    /// Lines from top to bottom, in a text region that was segmented. Empty: not segmented, or no ink.
    #[serde(default)]
    pub lines: Vec<Line>,
    /// Cells in row-major order, in a table region that was segmented.
    #[serde(default)]
    pub cells: Vec<Cell>,
}

impl Region {
    /// A region with nothing known but its label and box.
    pub fn new(label: Label, bounds: Rect) -> Self {
        Self {
            label,
            bounds,
            score: None,
            polygon: Vec::new(),
            level: None,
            list_item: None,
            preformatted: false,
            continues: false,
            lines: Vec::new(),
            cells: Vec::new(),
        }
    }
    /// Whether it is a listing, whose line breaks and indents are kept: running text that is marked as one.
    pub fn is_listing(&self) -> bool {
        self.preformatted && self.label.is_running_text()
    }
}
