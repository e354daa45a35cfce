//! The table of stacks for a terminal.

use crate::RenderOptions;
use crate::layout::lay_out;
use crate::notes::{self, Section};
use crate::spark;
use crate::summary::{ExperimentSummary, Summary};
use crate::text::wrap;
use crate::view::View;

/// Heading, table, legend and remarks of the experiments that `keep` selects. No line is wider
/// than the width, if that is at least 40.
pub(crate) fn render(
    summary: &Summary,
    keep: impl Fn(&ExperimentSummary) -> bool,
    options: &RenderOptions,
) -> String {
    let width = options.width;
    let view = View::new(summary, keep);
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
    let laid = lay_out(&view.sheets(), shape.as_ref(), width, options.color);
    out.text.push_str(&laid.text);
    out.blank();
    for line in notes::legend(&view, laid.stacked, &laid.left_out) {
        out.add(&line, 2);
    }
    if laid.shaped {
        out.add(spark::LEGEND, 2);
    }
    if !laid.left_out.is_empty() {
        out.add(
            &format!(
                "Left out for want of room: {}; a wider terminal or --format markdown shows them.",
                laid.left_out.join(", ")
            ),
            2,
        );
    }
    out.sections(&notes::sections(&view));
    out.text
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
