//! Percentile texts of HdrHistogram (`outputPercentileDistribution`), plain and as CSV. They do not say their unit; Dyno's exports say it
//! in a comment. A value is the upper end of its bucket, whose width follows from the number of sub-buckets.

use super::error::Imported;
use super::hdr_log::{Comments, messages, of_metric, put_lost};
use super::lines::Lines;
use super::number::Number;
use super::out::{Out, Spot, time, unit};
use crate::Statements;
use crate::statement::{Dimension, Of, Quantity, Statistic, Unit};

/// The most rows; the library's own have a few hundred.
const ROWS: usize = 50_000;

struct Row {
    line: u64,
    text: String,
    value: Number,
    percentile: f64,
    /// Values at or below.
    count: u64,
}

#[derive(Default)]
struct File {
    rows: Vec<Row>,
    unit: Option<Unit>,
    comments: Comments,
    lost: u64,
    /// The line that says so.
    lost_at: u64,
    /// Mean, deviation, maximum with their lines.
    below: Vec<(Statistic, Number, u64, String)>,
    total: Option<u64>,
    sub_buckets: Option<u64>,
    csv: bool,
}

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    let mut file = File::default();
    while let Some(line) = input.next()? {
        let line = line.to_owned();
        let at = input.number();
        let fail = |e: String| Spot::Line(at, &line).error(e);
        if let Some(comment) = line.strip_prefix('#') {
            file.comment(comment, at, &line).map_err(fail)?;
        } else if line.contains("1/(1-Percentile)") {
            if !file.rows.is_empty() {
                return Err(input.error("a second table begins; give each a file of its own"));
            }
            file.csv = line.contains(',');
        } else if !line.trim().is_empty() {
            input.own(&line)?;
            let row = file.row(&line, at).map_err(fail)?;
            if file
                .rows
                .last()
                .is_some_and(|r| r.percentile > row.percentile)
            {
                return Err(input.error("percentiles go down; two files are mixed"));
            }
            if file.rows.len() >= ROWS {
                return Err(input.error(format!("there are more than {ROWS} rows")));
            }
            file.rows.push(row);
        }
    }
    let ended = match file.csv {
        true => file.rows.last().is_some_and(|r| r.percentile >= 1.0),
        false => file.sub_buckets.is_some(),
    };
    if !ended {
        return Err(input.error("the table has no end; the file is cut off"));
    }
    let out = Out::new(input.tool());
    file.done(out)
}

impl File {
    /// What a comment says; its `#` is off.
    fn comment(&mut self, comment: &str, at: u64, line: &str) -> Result<(), String> {
        if let Some(rest) = comment.strip_prefix('[') {
            for part in rest.trim_end_matches(']').split(", ") {
                let Some((key, value)) = part.split_once('=') else {
                    return Err("the line below the table is incomplete".to_owned());
                };
                let value = value.trim();
                let mut put = |statistic| {
                    let number = Number::parse(value)?;
                    self.below.push((statistic, number, at, line.to_owned()));
                    Ok::<(), String>(())
                };
                match key.trim() {
                    "Mean" => put(Statistic::Mean)?,
                    "StdDeviation" => put(Statistic::Sd)?,
                    "Max" => put(Statistic::Max)?,
                    // The library for Python writes `TotalCount = 10.00`.
                    "Total count" | "TotalCount" => {
                        let whole = value
                            .split_once('.')
                            .filter(|(_, zeros)| zeros.bytes().all(|b| b == b'0'));
                        self.total = Some(Number::count(whole.map_or(value, |(whole, _)| whole))?);
                    }
                    "SubBuckets" => self.sub_buckets = Some(Number::count(value)?),
                    _ => {}
                }
            }
            if !rest.ends_with(']') || self.below.len() > 3 {
                return Err(
                    "this does not belong below one table; give each table a file of its own"
                        .to_owned(),
                );
            }
        } else if let Some(word) = comment.strip_prefix("values in ") {
            self.unit = match word.trim() {
                "nanoseconds" => time("ns"),
                "microseconds" => time("µs"),
                "milliseconds" => time("ms"),
                _ => None,
            };
        } else if let Some(rest) = comment.strip_prefix("lost: ") {
            self.lost = messages(rest)?;
            self.lost_at = at;
        } else if let Some((key, value)) = comment.split_once(": ") {
            self.comments.take(key, value);
        }
        Ok(())
    }

    fn row(&self, line: &str, at: u64) -> Result<Row, String> {
        let cells: Vec<&str> = match self.csv {
            true => line.split(',').map(str::trim).collect(),
            false => line.split_whitespace().collect(),
        };
        let ([value, percentile, count] | [value, percentile, count, _]) = cells[..] else {
            return Err(
                "a row needs a value, a percentile and a count, which this line does not have; remove lines that do not belong to the table".to_owned(),
            );
        };
        let percentile = Number::parse(percentile)?.value;
        if !(0.0..=1.0).contains(&percentile) {
            return Err(format!("{percentile} is not a percentile between 0 and 1"));
        }
        Ok(Row {
            line: at,
            text: line.to_owned(),
            value: Number::parse(value)?,
            percentile,
            count: Number::count(count)?,
        })
    }

    fn done(self, mut out: Out) -> Imported<Statements> {
        let name = self.comments.metric.as_deref().unwrap_or("histogram");
        let (quantity, trip, own) = match &self.unit {
            Some(unit) => {
                let (quantity, trip) = of_metric(name);
                (quantity, trip, unit.clone())
            }
            None => (Quantity::Other, None, unit("", Dimension::One, 1.0)),
        };
        let mut data = out.data(name, quantity, own).of(Of::Samples, self.total);
        data.method.trip = trip;
        data.conditions.extend(self.comments.conditions.clone());
        // Half of the sub-buckets lie in each doubling.
        let part = self.sub_buckets.map_or(0.0, |n| 2.0 / n.max(2) as f64);
        let with_lost = data
            .clone()
            .of(Of::Samples, self.total.map(|n| n.saturating_add(self.lost)));
        let all = self.rows.iter().map(|r| r.count).max();
        // The library prints ranks until one has all values at or below it: that is the largest value, by its own count.
        let is_largest =
            |row: &&Row| Some(row.count) == all && (0.0..1.0).contains(&row.percentile);
        for row in self.rows.iter().filter(|row| !is_largest(row)) {
            let mut number = row.value.clone();
            number.half_step += (part * number.value).abs();
            // A log ends at the share that arrived, which is no largest value where messages were lost.
            let statistic = match row.percentile {
                0.0 => Statistic::Min,
                1.0 => Statistic::Max,
                // Twelve decimals are printed.
                p => Statistic::Percentile((p * 1e12).round() / 1e10),
            };
            out.put(
                &with_lost,
                statistic,
                number,
                Spot::Line(row.line, &row.text),
            )?;
        }
        if let (Some(total), Some(all), Some(row)) = (self.total, all, self.rows.last()) {
            let spot = Spot::Line(row.line, &row.text);
            for count in [("total", total), ("in-rows", all)] {
                out.count(&data, (Quantity::Count, "values"), count, spot)?;
            }
            out.holds(&data, "{total} = {in-rows}");
        }
        let text = format!("lost: {}", self.lost);
        put_lost(&mut out, &data, self.lost, Spot::Line(self.lost_at, &text))?;
        let values = self.rows.iter().map(|r| r.value.value);
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let range = values.fold(f64::NEG_INFINITY, f64::max) * (1.0 + part) - least * (1.0 - part);
        for (statistic, number, line, text) in self.below {
            // The library for Python divides the values by a ratio, and not their deviation.
            if statistic == Statistic::Sd && number.value > range.max(number.half_step) {
                out.note(format!(
                    "line {line}: the standard deviation exceeds the range of the values, perhaps because a library scaled only the values; it is left out"
                ));
                continue;
            }
            let mut number = number;
            number.half_step += (part * number.value).abs();
            out.put(&data, statistic, number, Spot::Line(line, &text))?;
        }
        Ok(out.done())
    }
}
