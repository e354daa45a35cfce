//! The table of stacks in GitHub's Markdown: all columns, no width.

use crate::columns::Columns;
use crate::layout::{Column, Sheet};
use crate::legend;
use crate::notes::{self, Section};
use crate::summary::{AnswersSummary, ExperimentSummary, Summary};
use crate::text::clean;
use crate::view::View;

/// Heading, table, legend and remarks of the experiments that `keep` selects.
pub(crate) fn render(
    summary: &Summary,
    keep: impl Fn(&ExperimentSummary) -> bool,
    columns: &Columns,
) -> String {
    let view = View::new(summary, keep, columns);
    let mut out = format!(
        "## {}\n\n{}\n",
        escape(&notes::title(&summary.run)),
        escape(&notes::origin(&summary.run))
    );
    let conditions = notes::conditions(&view);
    if !conditions.is_empty() {
        out.push_str(&format!("\n**{}**\n", escape(&conditions)));
    }
    out.push('\n');
    if view.rows.is_empty() {
        out.push_str("No experiments.\n");
    } else {
        let sheet = view.sheet();
        table(&mut out, &sheet);
        out.push('\n');
        for line in legend::legend(&view, false, &sheet.unasked) {
            out.push_str(&format!("- {}\n", escape(&line)));
        }
    }
    sections(&mut out, &notes::sections(&view));
    out
}

/// The answers above the table, with a blank line below.
pub(crate) fn answers(answers: &AnswersSummary) -> String {
    let own = |text: &str| escaped_markdown(text, false);
    let (shown, more) = answers.shown();
    let mut out = format!("**{}**\n\n", own(&answers.title));
    for a in shown {
        out.push_str(&format!("- {}: {}\n", own(&a.question), own(&a.answer)));
    }
    if let Some(more) = more {
        out.push_str(&format!("- {more}: see the table\n"));
    }
    out.push_str(&format!("\n{}\n\n", own(&answers.how_sure)));
    out
}

fn table(out: &mut String, sheet: &Sheet) {
    let columns: &[Column] = &sheet.columns;
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    out.push_str(&line(columns.iter().map(|c| escape(&c.head())).collect()));
    let rules = columns.iter().map(|c| if c.text { "---" } else { "---:" });
    out.push_str(&line(rules.map(str::to_owned).collect()));
    for row in 0..sheet.tones.len() {
        // A row of its own, because these tables know no cell across columns.
        let title = sheet.blocks.iter().find(|(rows, _)| rows.start == row);
        if let Some((_, title)) = title {
            let mut cells = vec![String::new(); columns.len()];
            if let Some(first) = cells.first_mut() {
                *first = format!("**{}**", escape(title));
            }
            out.push_str(&line(cells));
        }
        let cells = columns.iter().map(|c| match c.text {
            true => escape(&c.cells[row].line()),
            // Numbers are ours, and escaped brackets would spoil the source.
            false => c.cells[row].line(),
        });
        out.push_str(&line(cells.collect()));
    }
}

/// Remarks as lists.
pub(crate) fn sections(out: &mut String, sections: &[Section]) {
    for section in sections {
        out.push_str(&format!("\n**{}**\n\n", escape(section.title)));
        for item in &section.items {
            out.push_str(&format!("- {}\n", escape(&item.text)));
            for line in &item.lines {
                out.push_str(&format!("  - {}\n", escape(line)));
            }
        }
    }
}

/// [`escaped_markdown`] with all brackets escaped.
pub(crate) fn escape(text: &str) -> String {
    escaped_markdown(text, true)
}

/// Cleans `text` and makes it mean itself: what would start a cell, a tag, an emphasis or a link is escaped. Without `brackets`
/// those of intervals stay as they are.
pub fn escaped_markdown(text: &str, brackets: bool) -> String {
    let text = clean(text);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let is_escaped = match c {
            '\\' | '|' | '<' | '>' | '*' | '_' | '`' | '~' | '#' => true,
            ']' if chars.peek() == Some(&'(') => true,
            '[' | ']' => brackets,
            _ => false,
        };
        if is_escaped {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_a_table() {
        assert_eq!(escape("a|b <i> ~x"), r"a\|b \<i\> \~x");
        assert_eq!(escape("[a](b) [1, 2]"), r"\[a\](b) \[1, 2\]");
        assert_eq!(escaped_markdown("[a](b) [1, 2]", false), r"[a\](b) [1, 2]");
    }
}
