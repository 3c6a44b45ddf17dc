//! Page results -> Markdown, HTML, JSON, plain text.
