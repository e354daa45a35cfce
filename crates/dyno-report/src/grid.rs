//! A table of texts: as many columns side by side as there is room for, the others below.

use crate::markdown::escape;
use crate::text::{cell, width};

/// How a cell is set off. Not by colour alone: the sign stands in every format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mark {
    #[default]
    None,
    Smallest,
    Largest,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) mark: Mark,
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        text.as_str().into()
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text {
            text: cell(text),
            mark: Mark::None,
        }
    }
}

impl Text {
    fn shown(&self, markdown: bool) -> String {
        let text = match markdown {
            // GitHub would take two marks of one row for a strike-through.
            true => self.text.replace('~', "\\~").replace('|', "\\|"),
            false => self.text.clone(),
        };
        match (self.mark, markdown) {
            (Mark::None, _) => text,
            (Mark::Smallest, true) => format!("**↓ {text}**"),
            (Mark::Largest, true) => format!("_↑ {text}_"),
            (Mark::Smallest, false) => format!("↓ {text}"),
            (Mark::Largest, false) => format!("↑ {text}"),
        }
    }
}

/// A table whose first columns are labels.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Grid {
    /// Titles of all columns.
    pub(crate) head: Vec<String>,
    /// How many of the first columns are labels: left-aligned, and repeated where columns are split.
    pub(crate) labels: usize,
    /// As many cells as titles.
    pub(crate) rows: Vec<Vec<Text>>,
}

impl Grid {
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether it needs no more than `limit` columns of a terminal.
    pub(crate) fn fits(&self, limit: Option<usize>) -> bool {
        let lines = self.lines(None, false);
        limit.is_none_or(|limit| lines.iter().all(|line| width(line) <= limit))
    }

    /// The table's lines; of a table that is wider than `limit` several below each other.
    pub(crate) fn lines(&self, limit: Option<usize>, markdown: bool) -> Vec<String> {
        let mut cells: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| {
                let shown = |(i, cell): (usize, &Text)| match markdown && i < self.labels {
                    true => escape(&cell.text),
                    false => cell.shown(markdown),
                };
                row.iter().enumerate().map(shown).collect()
            })
            .collect();
        let column_width = |cells: &[Vec<String>], i: usize| {
            let all = cells.iter().map(|row| width(&row[i]));
            all.chain([width(&self.head[i])]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..self.head.len())
            .map(|i| column_width(&cells, i))
            .collect();
        if let Some(limit) = limit.filter(|_| self.labels > 0) {
            let widest = widths.iter().skip(self.labels).max().copied().unwrap_or(0);
            let others: usize = widths[1..self.labels].iter().map(|w| w + 3).sum();
            let room = limit.saturating_sub(others + widest + 7).max(LEAST_LABEL);
            for row in &mut cells {
                row[0] = cut(&row[0], room);
            }
            widths[0] = column_width(&cells, 0);
        }
        let mut lines = Vec::new();
        for columns in self.split(&widths, limit) {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            let line = |row: &[String]| {
                let cell = |i: &usize| {
                    let pad = " ".repeat(widths[*i].saturating_sub(width(&row[*i])));
                    match *i < self.labels {
                        true => format!(" {}{pad} |", row[*i]),
                        false => format!(" {pad}{} |", row[*i]),
                    }
                };
                format!("|{}", columns.iter().map(cell).collect::<String>())
            };
            lines.push(line(&self.head));
            let rule = |i: &usize| match *i < self.labels {
                true => format!("{}|", "-".repeat(widths[*i] + 2)),
                false => format!("{}:|", "-".repeat(widths[*i] + 1)),
            };
            lines.push(format!("|{}", columns.iter().map(rule).collect::<String>()));
            lines.extend(cells.iter().map(|row| line(row)));
        }
        lines
    }

    /// The columns of each part: the labels, and at least one other.
    fn split(&self, widths: &[usize], limit: Option<usize>) -> Vec<Vec<usize>> {
        let labels: Vec<usize> = (0..self.labels).collect();
        // A bar and a blank on each side of a cell, and the first bar.
        let needed = |i: usize| widths[i] + 3;
        let base = 1 + labels.iter().map(|i| needed(*i)).sum::<usize>();
        let mut parts: Vec<Vec<usize>> = Vec::new();
        let mut used = usize::MAX;
        for i in self.labels..self.head.len() {
            let fits = limit.is_none_or(|limit| used.saturating_add(needed(i)) <= limit);
            match parts.last_mut().filter(|_| fits && used != usize::MAX) {
                Some(part) => {
                    part.push(i);
                    used += needed(i);
                }
                None => {
                    parts.push(labels.iter().copied().chain([i]).collect());
                    used = base + needed(i);
                }
            }
        }
        parts
    }
}

/// No label is cut shorter than this.
const LEAST_LABEL: usize = 12;

/// `text` in at most `room` terminal cells; the lists below the tables have it whole.
fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut short = String::new();
    for c in text.chars() {
        short.push(c);
        if width(&short) >= room {
            short.pop();
            break;
        }
    }
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        Grid {
            head: ["stack", "C1-1", "D1-1"].map(str::to_owned).to_vec(),
            labels: 1,
            rows: vec![vec![
                "a_b".into(),
                Text {
                    text: "1.00 ±0.1".into(),
                    mark: Mark::Smallest,
                },
                "2.00".into(),
            ]],
        }
    }

    #[test]
    fn columns_that_have_no_room_stand_below() {
        assert_eq!(
            grid().lines(None, false),
            [
                "| stack |        C1-1 | D1-1 |",
                "|-------|------------:|-----:|",
                "| a_b   | ↓ 1.00 ±0.1 | 2.00 |",
            ]
        );
        assert_eq!(
            grid().lines(Some(25), false),
            [
                "| stack |        C1-1 |",
                "|-------|------------:|",
                "| a_b   | ↓ 1.00 ±0.1 |",
                "",
                "| stack | D1-1 |",
                "|-------|-----:|",
                "| a_b   | 2.00 |",
            ]
        );
    }

    #[test]
    fn marks_are_signs_and_not_only_emphasis() {
        assert_eq!(
            grid().lines(None, true)[2],
            "| a\\_b  | **↓ 1.00 ±0.1** | 2.00 |"
        );
    }
}
