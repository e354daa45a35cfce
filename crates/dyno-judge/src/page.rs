//! A judgement on paper: heading, one table, remarks. The same page for the terminal and for Markdown.

use comfy_table::{Cell, CellAlignment, Color, ContentArrangement, Table};
use dyno_report::{RenderOptions, clean, escaped_markdown, wrap};

/// Draws the line below the head and nothing else.
const PRESET: &str = "     ─             ";
/// comfy-table does not lay out below this.
const NARROWEST: usize = 40;

/// What a row says, for colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Good,
    Bad,
    Unsure,
}

/// A column's title, and whether it holds numbers, which stand right.
pub(crate) type Head = (&'static str, bool);

/// A titled list of remarks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) title: &'static str,
    pub(crate) items: Vec<String>,
}

/// Everything that is shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Page {
    pub(crate) title: String,
    /// Paragraphs below the title.
    pub(crate) lead: Vec<String>,
    pub(crate) heads: Vec<Head>,
    pub(crate) rows: Vec<(Tone, Vec<String>)>,
    /// What stands in place of a table without rows.
    pub(crate) nothing: String,
    pub(crate) sections: Vec<Section>,
}

/// Gives a judgement `render`; it has `page`, `json` and `csv` of its own.
macro_rules! rendered {
    ($judgement:ty) => {
        impl $judgement {
            /// As text, ended by a newline (CSV: by CR LF). JSON and CSV take no notice of `options`.
            pub fn render(
                &self,
                format: dyno_report::Format,
                options: &dyno_report::RenderOptions,
            ) -> String {
                match format {
                    dyno_report::Format::Table => self.page().text(options),
                    dyno_report::Format::Markdown => self.page().markdown(),
                    dyno_report::Format::Json => self.json(),
                    dyno_report::Format::Csv => self.csv(),
                }
            }
        }
    };
}
pub(crate) use rendered;

impl Page {
    /// Adds remarks, if there are any.
    pub(crate) fn section(&mut self, title: &'static str, items: Vec<String>) {
        if !items.is_empty() {
            self.sections.push(Section { title, items });
        }
    }

    /// For a terminal; no line is wider than the width asked for, if that is at least 40.
    pub(crate) fn text(&self, options: &RenderOptions) -> String {
        let width = options.width.map(|w| w.max(NARROWEST));
        let mut out = String::new();
        let add = |out: &mut String, text: &str, indent: usize| {
            for line in wrap(text, width, indent) {
                out.push_str(&line);
                out.push('\n');
            }
        };
        for line in [&self.title].into_iter().chain(&self.lead) {
            add(&mut out, line, 2);
        }
        out.push('\n');
        if self.rows.is_empty() {
            out.push_str(&clean(&self.nothing));
            out.push('\n');
        } else {
            self.table(&mut out, width, options.color);
        }
        for section in &self.sections {
            out.push('\n');
            out.push_str(&format!("{}:\n", section.title));
            for item in &section.items {
                add(&mut out, &format!("  {item}"), 4);
            }
        }
        out
    }

    fn table(&self, out: &mut String, width: Option<usize>, color: bool) {
        let mut table = Table::new();
        table.load_preset(PRESET).force_no_tty();
        if color {
            table.enforce_styling();
        }
        match width.and_then(|w| u16::try_from(w).ok()) {
            Some(width) => {
                table.set_content_arrangement(ContentArrangement::Dynamic);
                table.set_width(width);
            }
            None => {
                table.set_content_arrangement(ContentArrangement::Disabled);
            }
        }
        let cell = |text: &str, right: bool| {
            Cell::new(text).set_alignment(match right {
                true => CellAlignment::Right,
                false => CellAlignment::Left,
            })
        };
        table.set_header(self.heads.iter().map(|(title, right)| cell(title, *right)));
        for (tone, cells) in &self.rows {
            table.add_row(cells.iter().zip(&self.heads).map(|(text, (_, right))| {
                let cell = cell(&dyno_report::cell(text), *right);
                match (color, tone) {
                    (false, _) | (true, Tone::Plain) => cell,
                    (true, Tone::Good) => cell.fg(Color::Green),
                    (true, Tone::Bad) => cell.fg(Color::Red),
                    (true, Tone::Unsure) => cell.fg(Color::Yellow),
                }
            }));
        }
        let last = self.heads.len().saturating_sub(1);
        for (i, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, if i == last { 0 } else { 2 }));
        }
        for line in table.lines() {
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }

    /// GitHub's Markdown, all columns.
    pub(crate) fn markdown(&self) -> String {
        let mut out = format!("## {}\n", escape(&self.title));
        for line in &self.lead {
            out.push_str(&format!("\n{}\n", escape(line)));
        }
        out.push('\n');
        if self.rows.is_empty() {
            out.push_str(&format!("{}\n", escape(&self.nothing)));
        } else {
            let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
            out.push_str(&line(self.heads.iter().map(|h| escape(h.0)).collect()));
            let rules = self.heads.iter().map(|h| if h.1 { "---:" } else { "---" });
            out.push_str(&line(rules.map(str::to_owned).collect()));
            for (tone, cells) in &self.rows {
                let cells = cells.iter().map(|c| match (tone, c.is_empty()) {
                    (Tone::Bad, false) => format!("**{}**", escape(c)),
                    _ => escape(c),
                });
                out.push_str(&line(cells.collect()));
            }
        }
        for section in &self.sections {
            out.push_str(&format!("\n**{}**\n\n", escape(section.title)));
            for item in &section.items {
                out.push_str(&format!("- {}\n", escape(item)));
            }
        }
        out
    }
}

/// Brackets are left to intervals.
fn escape(text: &str) -> String {
    escaped_markdown(text, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    fn page() -> Page {
        let row = vec![
            "a stack with a long name, stream 1 kHz, 64 B".to_owned(),
            "×1.04 [1.02, 1.06]".to_owned(),
            "undecided: the machine itself changed (floor ×1.28); measure both interleaved"
                .to_owned(),
        ];
        let mut page = Page {
            title: "what | is shown".into(),
            lead: vec!["a paragraph of some words that must be broken somewhere".into()],
            heads: vec![("cell", false), ("ratio", true), ("verdict", false)],
            rows: vec![(Tone::Bad, row)],
            ..Page::default()
        };
        page.section("Remarks", vec!["x\x1b[31my".into()]);
        page.section("None", Vec::new());
        page
    }

    #[test]
    fn no_line_is_wider_than_asked() {
        for width in 40..120 {
            let options = RenderOptions {
                width: Some(width),
                color: false,
                ..RenderOptions::default()
            };
            for line in page().text(&options).lines() {
                assert!(line.width() <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn text_cannot_break_the_table_or_the_terminal() {
        let markdown = page().markdown();
        assert!(markdown.starts_with("## what \\| is shown\n"), "{markdown}");
        assert!(markdown.contains("- xy\n") && !markdown.contains("None"));
        let text = page().text(&RenderOptions::default());
        assert!(!text.contains('\x1b'), "{text}");
        let color = RenderOptions {
            color: true,
            ..RenderOptions::default()
        };
        assert!(page().text(&color).contains("\x1b[38;5;9m"));
    }
}
