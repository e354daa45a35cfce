//! From cells and what their table says of them to figures.

use crate::statement::{
    Bound, Dimension, Figure, Layout, Method, Of, Place, Printed, Quantity, Statements, Statistic,
    Unit,
};
use dyno_report::published::cell::{self, Number};
use dyno_report::published::statement::{
    ColumnFile, Keys, MethodFile, PartFile, StatementError, TableFile, Text, described,
};
use std::collections::BTreeMap;

/// A table whose rows are pasted.
pub(super) fn table(
    statements: &mut Statements,
    table: &TableFile,
    at: &Text,
) -> Result<(), StatementError> {
    let rows = &table.rows;
    let mut layout = Layout {
        id: table.id.get_ref().clone(),
        place: table.place.clone(),
        header: table.columns.iter().map(ColumnFile::heading).collect(),
        rows: Vec::new(),
    };
    let mut used = vec![false; table.particular.len()];
    for line in table.lines() {
        let (cells, labels) = (&line.cells, &line.labels);
        // The text begins behind the quotes, or on the line after them.
        let wrong = |message: String| at.error(rows.span(), line.below + 1, message);
        if cells.len() != table.columns.len() {
            return Err(wrong(format!(
                "this row of `{}` has {} cells for {} columns",
                layout.id,
                cells.len(),
                table.columns.len()
            )));
        }
        let label = labels.join(" ");
        if let Some(i) = line.particular {
            used[i] = true;
        }
        let row = line.particular.map(|i| &table.particular[i]);
        let slugs: Vec<String> = labels.iter().map(|l| cell::slug(l)).collect();
        let row_id = match row.and_then(|r| r.id.clone()) {
            Some(id) => id,
            None => slugs.join("."),
        };
        let row_keys = row.map(|r| r.keys()).unwrap_or_default();
        let mut conditions = conditions_of(&table.columns, labels);
        conditions.extend(row_keys.conditions.clone());
        let mut laid_out = Vec::new();
        for (column, text) in table.columns.iter().zip(cells) {
            // A label may be a figure as well, such as the size that orders a series.
            let figure = column.label.is_none() || column.id.is_some();
            let mut found = Vec::new();
            if figure && !column.skip && !cell::is_empty(text) {
                let place = Place {
                    section: table.place.clone(),
                    row: label.clone(),
                    column: column.heading(),
                    text: cell::label(text),
                };
                let keys = row_keys.clone().within(&column.keys());
                let keys = keys.within(&table.keys());
                let name = format!("{}/{row_id}", layout.id);
                let of_cell = of_cell(column, text, &keys, &place, &name, &conditions);
                found = of_cell.map_err(&wrong)?;
            }
            let names = found.iter().map(|f| f.id.clone()).collect();
            statements.figures.extend(found);
            laid_out.push((cell::label(text), names));
        }
        layout.rows.push(laid_out);
    }
    if let Some(i) = used.iter().position(|used| !used) {
        let label = &table.particular[i].label;
        return Err(at.error(
            label.span(),
            0,
            format!("`{}` has no row {:?}", layout.id, label.get_ref()),
        ));
    }
    statements.layouts.push(layout);
    Ok(())
}

/// The figures of one cell.
fn of_cell(
    column: &ColumnFile,
    text: &str,
    keys: &Keys,
    place: &Place,
    name: &str,
    conditions: &BTreeMap<String, String>,
) -> Result<Vec<Figure>, String> {
    let parts = parts_of(column)?;
    let (numbers, left) = described(text, &parts)?;
    if left > 0 && !column.first {
        return Err(format!(
            "{text:?} has {left} more numbers than its column describes; write `parts`, or `first = true`"
        ));
    }
    figures(numbers, keys, place, name, conditions)
}

fn conditions_of(columns: &[ColumnFile], labels: &[String]) -> BTreeMap<String, String> {
    let names = columns.iter().filter_map(|c| c.label.clone());
    names
        .zip(labels.iter().cloned())
        .filter(|(name, _)| name != "metric")
        .collect()
}

/// The parts of a column; one that has none is one figure.
fn parts_of(column: &ColumnFile) -> Result<Vec<PartFile>, String> {
    if !column.parts.is_empty() {
        return Ok(column.parts.clone());
    }
    let id = column.id.clone();
    let id = id.ok_or("a column needs `id`, `label`, `parts` or `skip = true`")?;
    Ok(vec![PartFile::named(id)])
}

/// The figures that numbers are by the parts that describe them.
pub(super) fn figures(
    numbers: Vec<(&PartFile, Number)>,
    keys: &Keys,
    place: &Place,
    name: &str,
    conditions: &BTreeMap<String, String>,
) -> Result<Vec<Figure>, String> {
    let mut figures = Vec::new();
    for (part, number) in numbers {
        if part.skip {
            continue;
        }
        let keys = part.keys().within(keys);
        let id = format!("{name}/{}", part.id);
        figures.push(figure(id, number, &keys, place, name, conditions)?);
    }
    Ok(figures)
}

fn figure(
    id: String,
    number: Number,
    keys: &Keys,
    place: &Place,
    name: &str,
    conditions: &BTreeMap<String, String>,
) -> Result<Figure, String> {
    let unit = match (&number.unit, &keys.unit) {
        (Some(unit), _) => unit.clone(),
        (None, Some(text)) => Unit::parse(text).ok_or_else(|| format!("{text:?} is not a unit"))?,
        (None, None) => Unit::one(),
    };
    let mut conditions = conditions.clone();
    conditions.extend(keys.conditions.clone());
    // A row is a data set of its table; a figure of a sentence is one of its own.
    let data = match place.row.is_empty() {
        true => id.clone(),
        false => name.split('/').next().unwrap_or(name).to_owned(),
    };
    let mut figure = Figure {
        id,
        place: place.clone(),
        printed: Printed {
            text: number.text,
            value: number.value,
            half_step: number.half_step,
            bound: number.bound,
            unit,
        },
        quantity: Quantity::Other,
        statistic: Statistic::Value,
        n: None,
        of: Of::Unknown,
        each: None,
        data,
        conditions,
        method: Method::default(),
    };
    let said = figure.id.clone();
    say(&mut figure, keys, &said)?;
    // A count is exact, however many zeros it ends in.
    if figure.quantity == Quantity::Count {
        figure.printed.half_step = 0.0;
    }
    Ok(figure)
}

/// Puts what was said of a figure into it.
pub(super) fn say(figure: &mut Figure, keys: &Keys, subject: &str) -> Result<(), String> {
    figure.quantity = keys.quantity.unwrap_or(figure.quantity);
    if let Some(word) = &keys.statistic {
        figure.statistic = Statistic::from_word(word)
            .ok_or_else(|| format!("{word:?} of `{subject}` is not a statistic"))?;
    }
    figure.n = keys.n.or(figure.n);
    figure.of = keys.of.unwrap_or(figure.of);
    figure.each = keys.each.or(figure.each);
    if let Some(data) = &keys.data {
        figure.data.clone_from(data);
    }
    if let Some(word) = &keys.bound {
        figure.printed.bound = match word.as_str() {
            "about" => Bound::About,
            "below" => Bound::Below,
            "above" => Bound::Above,
            _ => {
                return Err(format!(
                    "{word:?} is not a bound; write about, below or above"
                ));
            }
        };
    }
    method(&mut figure.method, &keys.method)
}

fn method(method: &mut Method, file: &MethodFile) -> Result<(), String> {
    let quantity = |text: &Option<String>, wanted: Dimension| match text {
        None => Ok(None),
        Some(text) => measure(text, wanted)
            .map(Some)
            .ok_or_else(|| format!("{text:?} is not a number with a fitting unit")),
    };
    method.load = file.load.or(method.load);
    method.clients = file.clients.or(method.clients);
    method.trip = file.trip.or(method.trip);
    method.clocks = file.clocks.map(|c| c.0).or(method.clocks);
    method.clock_bound = quantity(&file.clock_bound, Dimension::Time)?.or(method.clock_bound);
    method.wait = file.wait.or(method.wait);
    method.access = file.access.or(method.access);
    method.time = file.time.or(method.time);
    method.tool = file.tool.clone().or(method.tool.take());
    method.sender_rate = file.sender_rate.or(method.sender_rate);
    method.senders = file.senders.or(method.senders);
    method.receivers = file.receivers.or(method.receivers);
    method.payload_bytes = file.payload_bytes.or(method.payload_bytes);
    method.link = quantity(&file.link, Dimension::Bandwidth)?.or(method.link);
    method.loss_stated = file.loss_stated.or(method.loss_stated);
    method.warm_up = file.warm_up.or(method.warm_up);
    Ok(())
}

/// A number with a unit of that dimension, in its base unit.
fn measure(text: &str, wanted: Dimension) -> Option<f64> {
    let number = cell::numbers(text).ok()?.into_iter().next()?;
    let unit = number.unit.filter(|u| u.dimension == wanted)?;
    Some(number.value * unit.factor)
}
