//! Laying out columns in a given width: first in one line per row, with intervals in full and then relative,
//! then with each interval below its number, then with columns left out, and never wider than asked.

use crate::number::Measured;
use crate::text::{width, wrap};
use comfy_table::{Attribute, Cell, CellAlignment, Color, ColumnConstraint, Table, Width};
use std::ops::Range;

/// A column of text is not made narrower than this while others can still be left out.
const TEXT_DEMAND: usize = 12;

/// Nor is it made narrower than this for the sake of an extra column.
const ROOMY_TEXT: usize = 24;

/// Draws the line below the head and nothing else.
const PRESET: &str = "     ─             ";

/// A column of a table.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// What it holds.
    pub(crate) title: &'static str,
    /// The title where there is little room, in lines.
    pub(crate) short: &'static str,
    /// Unit of its numbers; empty for none.
    pub(crate) unit: &'static str,
    /// Text stands left and may be wrapped; numbers stand right and are not.
    pub(crate) text: bool,
    /// Its intervals are the first to go where there is little room.
    pub(crate) derived: bool,
    /// Columns with higher ranks are left out first; rank 0 always stays.
    pub(crate) rank: u8,
    /// One per row.
    pub(crate) cells: Vec<Measured>,
}

impl Column {
    /// Title and unit in one line.
    pub(crate) fn head(&self) -> String {
        match self.unit {
            "" => self.title.to_owned(),
            unit => format!("{} {unit}", self.title),
        }
    }
}

/// How a row is set off from the others where colours are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Floor,
    Unstable,
    Failed,
}

/// Columns and what is said of their rows.
#[derive(Debug, Clone)]
pub(crate) struct Sheet {
    pub(crate) columns: Vec<Column>,
    pub(crate) tones: Vec<Tone>,
    /// Rows that belong together, in their order, each with a title above; empty where all do.
    pub(crate) blocks: Vec<(Range<usize>, String)>,
    /// Titles of columns that this form of the table does without.
    pub(crate) spared: Vec<&'static str>,
    /// Titles of columns that the reader did not ask for.
    pub(crate) unasked: Vec<&'static str>,
}

/// A sheet as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Laid {
    /// The lines, each ended by a newline.
    pub(crate) text: String,
    /// Intervals are relative to their numbers.
    pub(crate) relative: bool,
    /// Titles of the columns that did not fit.
    pub(crate) left_out: Vec<&'static str>,
    /// The extra column is there.
    pub(crate) shaped: bool,
}

/// How a number and its interval stand in their cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// In one line, the interval in the unit of the number.
    Full,
    /// In one line, the interval relative to the number.
    Relative,
    /// The interval below the number, relative to it.
    Stacked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    form: Form,
    gap: usize,
    /// Without the intervals of derived columns.
    bare: bool,
    /// What a column of text is not made narrower than, if it asks for that much.
    text: usize,
}

const WIDE: Shape = Shape {
    form: Form::Full,
    gap: 2,
    bare: false,
    text: ROOMY_TEXT,
};
const RELATIVE: Shape = Shape {
    form: Form::Relative,
    ..WIDE
};
const CLOSE: Shape = Shape { gap: 1, ..RELATIVE };
const BARE: Shape = Shape {
    bare: true,
    ..CLOSE
};
const STACKED: Shape = Shape {
    form: Form::Stacked,
    gap: 2,
    bare: false,
    text: TEXT_DEMAND,
};
const TIGHT: Shape = Shape { gap: 1, ..STACKED };

/// Lays out the first of `sheets` that fits: they hold the same rows, each with less room for the
/// conditions than the one before. Never empty. `extra` is a last column for what room is left: it
/// never costs another column or a narrower form, and texts keep most of their room.
pub(crate) fn lay_out(
    sheets: &[Sheet],
    extra: Option<&Column>,
    limit: Option<usize>,
    color: bool,
) -> Laid {
    let Some(limit) = limit else {
        let all: Vec<&Column> = sheets[0].columns.iter().collect();
        let widths: Vec<usize> = all.iter().map(|c| natural(c, WIDE)).collect();
        return finish(&sheets[0], &all, &widths, WIDE, color);
    };
    for shape in [WIDE, RELATIVE, CLOSE, BARE, STACKED, TIGHT] {
        for sheet in sheets {
            let all: Vec<&Column> = sheet.columns.iter().collect();
            if let Some(widths) = fit(&all, shape, limit, shape.text) {
                let (all, widths) = with_extra(all, widths, extra, shape, limit);
                return finish(sheet, &all, &widths, shape, color);
            }
        }
    }
    let sheet = &sheets[sheets.len() - 1];
    let mut kept: Vec<&Column> = sheet.columns.iter().collect();
    loop {
        if let Some(widths) = fit(&kept, TIGHT, limit, TEXT_DEMAND) {
            return finish(sheet, &kept, &widths, TIGHT, color);
        }
        let highest = kept.iter().map(|c| c.rank).max().unwrap_or(0);
        if highest == 0 {
            let widths = squeeze(&kept, TIGHT, limit);
            return finish(sheet, &kept, &widths, TIGHT, color);
        }
        kept.retain(|c| c.rank != highest);
    }
}

/// Widths of columns that fit into `limit` where texts have `least` cells, with what is left over given to
/// the texts.
fn fit(columns: &[&Column], shape: Shape, limit: usize, least: usize) -> Option<Vec<usize>> {
    let full: Vec<usize> = columns.iter().map(|c| natural(c, shape)).collect();
    let mut widths: Vec<usize> = columns
        .iter()
        .zip(&full)
        .map(|(c, w)| demand(c, *w, least))
        .collect();
    let gaps = shape.gap * columns.len().saturating_sub(1);
    let mut spare = limit.checked_sub(widths.iter().sum::<usize>() + gaps)?;
    // Cell by cell to the column whose texts would take the most lines.
    let lines = |i: usize, widths: &[usize]| full[i] as f64 / widths[i].max(1) as f64;
    while spare > 0 {
        let cut = (0..widths.len()).filter(|i| widths[*i] < full[*i]);
        let Some(next) = cut.max_by(|a, b| lines(*a, &widths).total_cmp(&lines(*b, &widths)))
        else {
            break;
        };
        widths[next] += 1;
        spare -= 1;
    }
    Some(widths)
}

/// The columns and widths with `extra` at the end, where there is room for it.
fn with_extra<'a>(
    columns: Vec<&'a Column>,
    widths: Vec<usize>,
    extra: Option<&'a Column>,
    shape: Shape,
    limit: usize,
) -> (Vec<&'a Column>, Vec<usize>) {
    if extra.is_none() {
        return (columns, widths);
    }
    let more: Vec<&Column> = columns.iter().copied().chain(extra).collect();
    match fit(&more, shape, limit, ROOMY_TEXT) {
        Some(widths) => (more, widths),
        None => (columns, widths),
    }
}

/// Widths that add up to `limit` by taking cells from the widest column, one after the other.
fn squeeze(columns: &[&Column], shape: Shape, limit: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = columns
        .iter()
        .map(|c| demand(c, natural(c, shape), TEXT_DEMAND))
        .collect();
    let gaps = shape.gap * columns.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > limit {
        match widths.iter_mut().max() {
            // Two cells hold any one character.
            Some(widest) if *widest > 2 => *widest -= 1,
            _ => break,
        }
    }
    widths
}

/// The width that a column asks for when room is short.
fn demand(column: &Column, natural: usize, least: usize) -> usize {
    match column.text {
        true => natural.min(least),
        false => natural,
    }
}

fn natural(column: &Column, shape: Shape) -> usize {
    let cells = (0..column.cells.len()).map(|row| width(&content(column, row, shape)));
    cells.max().unwrap_or(0).max(width(&head(column, shape)))
}

fn content(column: &Column, row: usize, shape: Shape) -> String {
    let cell = &column.cells[row];
    match shape.form {
        Form::Full => cell.line(),
        Form::Stacked => cell.stacked(),
        Form::Relative if shape.bare && column.derived => cell.value.clone(),
        Form::Relative => {
            // Numbers stand below each other, whatever their intervals take.
            let most = column.cells.iter().map(|c| width(&c.below)).max();
            match most.unwrap_or(0) {
                0 => cell.value.clone(),
                most => {
                    let room = most - width(&cell.below);
                    format!("{} {}{}", cell.value, cell.below, "\u{a0}".repeat(room))
                }
            }
        }
    }
}

fn head(column: &Column, shape: Shape) -> String {
    match (shape.form == Form::Full || column.text, column.unit) {
        (true, _) => column.head(),
        (false, "") => column.short.to_owned(),
        (false, unit) => format!("{}\n{unit}", column.short),
    }
}

fn finish(sheet: &Sheet, kept: &[&Column], widths: &[usize], shape: Shape, color: bool) -> Laid {
    let rows = 0..sheet.tones.len();
    let mut text = String::new();
    let part = |text: &mut String, rows: Range<usize>, headed: bool| {
        let table = draw(sheet, kept, widths, shape, color, rows, headed);
        for line in table.lines() {
            text.push_str(line.replace('\u{a0}', " ").trim_end());
            text.push('\n');
        }
    };
    match sheet.blocks.as_slice() {
        [] => part(&mut text, rows, true),
        blocks => {
            part(&mut text, 0..0, true);
            let gaps = shape.gap * widths.len().saturating_sub(1);
            let whole = widths.iter().sum::<usize>() + gaps;
            for (rows, title) in blocks {
                for line in wrap(title, Some(whole), 2) {
                    text.push_str(&line);
                    text.push('\n');
                }
                part(&mut text, rows.clone(), false);
            }
        }
    }
    let known = |c: &Column| sheet.columns.iter().any(|s| std::ptr::eq(s, c));
    let out = sheet
        .columns
        .iter()
        .filter(|c| !kept.iter().any(|k| std::ptr::eq(*k, *c)));
    Laid {
        text,
        relative: shape.form != Form::Full,
        left_out: out.map(|c| c.title).chain(sheet.spared.clone()).collect(),
        shaped: kept.iter().any(|c| !known(c)),
    }
}

/// Some of the rows, with the head or without.
fn draw(
    sheet: &Sheet,
    kept: &[&Column],
    widths: &[usize],
    shape: Shape,
    color: bool,
    rows: Range<usize>,
    headed: bool,
) -> Table {
    let mut table = Table::new();
    table.load_preset(PRESET).force_no_tty();
    if color {
        table.enforce_styling();
    }
    if headed {
        table.set_header(kept.iter().map(|c| {
            let cell = Cell::new(head(c, shape)).set_alignment(alignment(c));
            match color {
                true => cell.add_attribute(Attribute::Bold),
                false => cell,
            }
        }));
    }
    for row in rows {
        let tone = sheet.tones[row];
        table.add_row(kept.iter().map(|c| {
            let cell = Cell::new(content(c, row, shape)).set_alignment(alignment(c));
            match (color, tone) {
                (false, _) | (true, Tone::Plain) => cell,
                (true, Tone::Floor) => cell.fg(Color::Cyan),
                (true, Tone::Unstable) => cell.fg(Color::Yellow),
                (true, Tone::Failed) => cell.fg(Color::Red),
            }
        }));
    }
    let last = kept.len().saturating_sub(1);
    for (i, (column, width)) in table.column_iter_mut().zip(widths).enumerate() {
        let gap = if i == last { 0 } else { shape.gap };
        let cells = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        column.set_padding((0, cells(gap)));
        let width = Width::Fixed(cells(*width + gap));
        column.set_constraint(ColumnConstraint::Absolute(width));
    }
    table
}

fn alignment(column: &Column) -> CellAlignment {
    match column.text {
        true => CellAlignment::Left,
        false => CellAlignment::Right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        let measured = Measured {
            value: "12.3".into(),
            beside: "[12.0, 15.9]".into(),
            below: "-3+30%".into(),
        };
        let number = |title: &'static str, rank| Column {
            title,
            short: title,
            unit: "µs",
            text: false,
            derived: false,
            rank,
            cells: vec![measured.clone()],
        };
        let name = Column {
            unit: "",
            text: true,
            cells: vec![Measured::bare("a name of more than twelve characters")],
            ..number("stack", 0)
        };
        Sheet {
            columns: vec![name, number("p50", 0), number("p90", 2), number("p99", 1)],
            tones: vec![Tone::Plain],
            blocks: Vec::new(),
            spared: Vec::new(),
            unasked: Vec::new(),
        }
    }

    #[test]
    fn blocks_have_a_title_each_and_one_head_together() {
        let mut sheet = sheet();
        for column in &mut sheet.columns {
            let first = column.cells[0].clone();
            column.cells.push(first);
        }
        sheet.tones.push(Tone::Floor);
        let plain = lay_out(std::slice::from_ref(&sheet), None, None, false).text;
        sheet.blocks = vec![
            (0..1, "waits by spin:".into()),
            (1..2, "waits by block:".into()),
        ];
        let laid = lay_out(&[sheet], None, None, false).text;
        let lines: Vec<&str> = laid.lines().collect();
        assert_eq!((lines[2], lines[4]), ("waits by spin:", "waits by block:"));
        let without = laid.replace("waits by spin:\n", "");
        assert_eq!(without.replace("waits by block:\n", ""), plain);
    }

    fn extra() -> Column {
        Column {
            title: "shape",
            short: "shape",
            unit: "",
            text: true,
            derived: false,
            rank: 0,
            cells: vec![Measured::bare("▁▂█  ▁")],
        }
    }

    #[test]
    fn an_extra_column_takes_room_that_is_left_and_costs_no_other() {
        let extra = extra();
        let mut shown = 0;
        for limit in 12..130 {
            let without = lay_out(&[sheet()], None, Some(limit), false);
            let with = lay_out(&[sheet()], Some(&extra), Some(limit), false);
            assert_eq!(
                (with.relative, &with.left_out),
                (without.relative, &without.left_out),
                "{limit}"
            );
            assert_eq!(with.text.contains("▁▂█  ▁"), with.shaped, "{limit}");
            // The name keeps at least its 24 cells.
            let first = with.text.lines().nth(if with.relative { 3 } else { 2 });
            let whole = first.is_some_and(|l| l.starts_with("a name of more than"));
            assert!(whole || !with.shaped, "{limit}\n{}", with.text);
            shown += u32::from(with.shaped);
        }
        assert!(shown > 40, "{shown}");
        let piped = lay_out(&[sheet()], Some(&extra), None, false);
        assert!(!piped.shaped);
    }

    #[test]
    fn room_is_used_in_order_of_what_reads_best() {
        let sheets = [sheet()];
        let shape = |limit| {
            let laid = lay_out(&sheets, None, limit, false);
            let heads = laid.text.lines().position(|l| l.starts_with('─'));
            // An interval in a line of its own.
            let stacked = laid.text.lines().count() > heads.unwrap_or(0) + 2;
            (laid.relative, stacked, laid.left_out)
        };
        assert_eq!(shape(None), (false, false, vec![]));
        assert_eq!(shape(Some(100)), (false, false, vec![]));
        assert_eq!(shape(Some(80)), (true, false, vec![]));
        assert_eq!(shape(Some(50)), (true, true, vec![]));
        assert_eq!(shape(Some(32)), (true, true, vec!["p90"]));
        assert_eq!(shape(Some(20)), (true, true, vec!["p90", "p99"]));
    }

    #[test]
    fn no_line_is_wider_than_asked() {
        for limit in 12..130 {
            let laid = lay_out(&[sheet()], Some(&extra()), Some(limit), false);
            assert!(width(&laid.text) <= limit, "{limit}\n{}", laid.text);
        }
    }

    #[test]
    fn colours_appear_only_when_asked_for() {
        let mut sheet = sheet();
        sheet.tones = vec![Tone::Failed];
        assert!(
            !lay_out(std::slice::from_ref(&sheet), None, None, false)
                .text
                .contains('\x1b')
        );
        assert!(lay_out(&[sheet], None, None, true).text.contains('\x1b'));
    }
}
