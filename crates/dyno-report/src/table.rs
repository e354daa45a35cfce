//! The table of stacks for a terminal.

use crate::columns::Columns;
use crate::format::{Notes, RenderOptions};
use crate::layout::lay_out;
use crate::legend;
use crate::notes::{self, Section};
use crate::spark;
use crate::summary::{ExperimentSummary, Summary};
use crate::text::wrap;
use crate::view::View;

/// Terminal cells of a brief table where nobody knows the width, as in a pipe.
const WIDTH: usize = 120;

/// Heading, table, legend and remarks of the experiments that `keep` selects. No line is wider
/// than the width, if that is at least 40.
pub(crate) fn render(
    summary: &Summary,
    keep: impl Fn(&ExperimentSummary) -> bool,
    options: &RenderOptions,
) -> String {
    let width = options.width;
    let view = View::new(summary, keep, &options.columns);
    let mut out = Lines {
        text: String::new(),
        width,
    };
    out.add(&notes::title(&summary.run), 2);
    out.add(&notes::origin(&summary.run), 2);
    let conditions = notes::conditions(&view);
    if !conditions.is_empty() {
        out.add(&conditions, 2);
    }
    out.blank();
    if view.rows.is_empty() {
        out.add("No experiments.", 0);
        out.sections(&notes::sections(&view));
        return out.text;
    }
    let shape = view.shape().filter(|_| options.sparklines);
    let sheets = view.sheets();
    let is_brief = options.columns == Columns::Brief;
    let limit = width.or(is_brief.then_some(WIDTH));
    let laid = lay_out(&sheets, shape.as_ref(), limit, options.color);
    out.text.push_str(&laid.text);
    out.blank();
    let unasked = sheets.first().map_or(&[][..], |s| &s.unasked);
    let hidden = [laid.left_out.as_slice(), unasked].concat();
    if options.notes == Notes::Short {
        short_notes(&mut out, &view, laid.shaped, &hidden);
        return out.text;
    }
    for line in legend::legend(&view, laid.relative, &hidden) {
        out.add(&line, 2);
    }
    if laid.shaped {
        out.add(spark::LEGEND, 2);
    }
    let (said, titles, remedy) = match is_brief {
        true => ("Not shown", hidden, "`dyno show --wide` shows all columns"),
        false => (
            "No room for",
            laid.left_out,
            "a wider terminal or --format markdown shows them",
        ),
    };
    if !titles.is_empty() {
        out.add(&format!("{said}: {}; {remedy}.", titles.join(", ")), 2);
    }
    out.sections(&notes::sections(&view));
    out.text
}

/// Lines below a table unless all are asked for, with the one that tells of the rest.
const SHORT_NOTES: usize = 12;

/// Items of one section among them.
const SHORT_SECTION: usize = 2;

/// What the signs mean, then the most serious remarks.
fn short_notes(out: &mut Lines, view: &View<'_>, shaped: bool, hidden: &[&str]) {
    let mut below = Lines {
        text: String::new(),
        width: out.width,
    };
    below.add(&legend::signs(view, shaped, hidden), 2);
    let mut left = 0;
    for section in notes::sections(view) {
        let more = section.items.len().saturating_sub(SHORT_SECTION);
        for item in section.items.iter().take(SHORT_SECTION) {
            let mut lines = Lines {
                text: String::new(),
                width: out.width,
            };
            lines.add(&format!("{}: {}", section.title, item.short()), 2);
            let used = below.text.lines().count() + lines.text.lines().count();
            match used < SHORT_NOTES {
                true => below.text.push_str(&lines.text),
                false => left += 1,
            }
        }
        left += more;
    }
    out.text.push_str(&below.text);
    let rest = match left {
        0 => "--notes all explains the signs; --wide shows all columns.".to_owned(),
        1 => "1 more remark: --notes all; --wide shows all columns.".to_owned(),
        n => format!("{n} more remarks: --notes all; --wide shows all columns."),
    };
    out.add(&rest, 2);
}

/// Text that grows by wrapped lines.
pub(crate) struct Lines {
    pub(crate) text: String,
    pub(crate) width: Option<usize>,
}

impl Lines {
    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Adds a paragraph whose lines after the first are indented.
    pub(crate) fn add(&mut self, text: &str, indent: usize) {
        for line in wrap(text, self.width, indent) {
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }

    pub(crate) fn sections(&mut self, sections: &[Section]) {
        for section in sections {
            self.blank();
            self.add(&format!("{}:", section.title), 2);
            for item in &section.items {
                self.add(&format!("  {}", item.text), 4);
                for line in &item.lines {
                    self.add(&format!("    | {line}"), 6);
                }
            }
        }
    }
}
