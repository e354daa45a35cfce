//! RTI Perftest: its text, CSV and JSON, as its `PerftestPrinter.cxx` writes them. What it calls one-way latency is half of a round trip.
//! Its Mbps are decimal. The numbers of intervals are running ones and left out, but for the single latencies among them.

use super::error::{ImportError, Imported};
use super::json::{self, Node};
use super::lines::Lines;
use super::number::Number;
use super::out::{Data, Out, Spot, per_second, time, us};
use super::tables::{Field, PLAIN, Reader, Role, Said, Table, fields, of_members};
use crate::Statements;
use crate::statement::{Clock, Of, Quantity, Samples, Statistic, Trip, Unit};

fn size(length: u64) -> Said {
    Said::from([("size", length.to_string())])
}

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    match input.is_json() {
        true => json::each(input, |out, root| {
            let tests = root.get("perftest")?.items()?;
            tests.iter().try_for_each(|test| of_test(out, test))
        }),
        false => text(input),
    }
}

fn data(out: &mut Out, what: &str, length: u64, quantity: Quantity, unit: Unit) -> Data {
    let mut data = out
        .data(&format!("{what} {length} B"), quantity, unit)
        .with("payload", format!("{length} B"));
    data.method.payload_bytes = Some(length as f64);
    method(&mut data);
    data
}

/// A statistic by what a heading or a key calls it.
fn statistic(word: &str) -> Option<Statistic> {
    match word.to_ascii_lowercase().as_str() {
        "ave" => Some(Statistic::Mean),
        "std" => Some(Statistic::Sd),
        "min" => Some(Statistic::Min),
        "max" => Some(Statistic::Max),
        word => {
            let p = word.trim_end_matches('%').parse::<f64>().ok()?;
            (0.0..=100.0)
                .contains(&p)
                .then_some(Statistic::Percentile(p))
        }
    }
}

const LATENCY: Table = Table {
    lines: &[(
        Role::Set,
        "Length: {size} Latency: Ave {mean} us Std {sd} us Min {min} us Max {max} us 50% {median} us 90% {p90} us 99% {p99} us 99.99% {p99.99} us 99.9999% {p99.9999} us",
    )],
    name: "latency {size} B",
    unit: "us",
    describe: |data, _| method(data),
    ..PLAIN
};

const THROUGHPUT: Table = Table {
    lines: &[
        (
            Role::Set,
            "Length: {size} Packets: {count} Packets/s(ave): {rate} Mbps(ave): {mbps} Lost: {lost} ({share}%)",
        ),
        (
            Role::Set,
            "Length: {size} Packets: {count} Packets/s(ave): {rate} Mbps(ave): {mbps} Lost: {lost}",
        ),
    ],
    fields: fields! {
        "count": Count Count "packets" Exact;
        // A division of whole numbers.
        "rate": Rate Rate "1/s" Cut;
        "mbps": Bandwidth Rate "Mbps" Rounded;
        "lost": Loss Count "packets" Exact;
        "share": Loss Share "%" Rounded;
    },
    name: "throughput {size} B",
    quantity: Quantity::Rate,
    unit: "1/s",
    describe: |data, _| method(data),
    holds: &[
        "{bandwidth-rate} = {rate} * $size",
        "{loss-share} = {loss-count} / ( {count} + {loss-count} )",
    ],
    ..PLAIN
};

/// Of its JSON.
const PACKETS: &[Field] = fields! {
    "packets": Count Count "packets" Exact;
    "packets/sAve": Rate Rate "1/s" Cut;
    "mbpsAve": Bandwidth Rate "Mbps" Rounded .decimals(1);
    "lost": Loss Count "packets" Exact;
    "lostPercent": Loss Share "%" Rounded .decimals(2);
};

fn method(data: &mut Data) {
    data.method.time = Some(Clock::Wall);
    match data.quantity {
        Quantity::Latency => {
            data.method.trip = Some(Trip::Half);
            data.method.clocks = Some(1);
        }
        _ => data.method.loss_stated = Some(true),
    }
}

/// Raw latencies of intervals, in the order of the file.
struct Raw {
    length: Option<u64>,
    open: Option<(Data, Samples)>,
}

fn text(input: &mut Lines<'_>) -> Imported<Statements> {
    let mut out = Out::new(input.tool());
    let mut raw = Raw {
        length: None,
        open: None,
    };
    let mut columns: Vec<String> = Vec::new();
    let (mut latency, mut throughput) = (Reader::new(&LATENCY), Reader::new(&THROUGHPUT));
    while let Some(line) = input.next()? {
        let line = line.trim().to_owned();
        let at = input.number();
        let spot = Spot::Line(at, &line);
        let fail = |e: String| spot.error(e);
        if let Some(length) = line.strip_prefix("********** New data length is ") {
            raw.close(&mut out);
            raw.length = Some(Number::count(length).map_err(fail)?);
        } else if let Some(rest) = line.strip_prefix("One way Latency:") {
            let mut words = rest.split_whitespace();
            let (Some(value), Some(word)) = (words.next(), words.next()) else {
                return Err(spot.error("the line ends before its latency and unit"));
            };
            let unit = time(word).ok_or_else(|| fail(format!("`{word}` is not a unit of time")))?;
            raw.add(&mut out, Number::parse(value).map_err(fail)?, unit, at);
        } else if line.starts_with("Length:") && line.contains("Latency:") {
            raw.close(&mut out);
            latency.line(&mut out, input, &line)?;
        } else if line.starts_with("Length:") {
            throughput.line(&mut out, input, &line)?;
        } else if line.starts_with("Length (Bytes)") {
            columns = line.split(',').map(|c| c.trim().to_owned()).collect();
        } else if !columns.is_empty() && line.starts_with(|c: char| c.is_ascii_digit()) {
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            if cells.len() != columns.len() {
                return Err(spot.error(format!(
                    "a row has {} cells and its header {}; where a comma is the decimal point, run the tool with LC_ALL=C",
                    cells.len(),
                    columns.len()
                )));
            }
            csv_row(&mut out, &mut raw, &columns, &cells, spot)?;
        } else {
            input.own(&line)?;
        }
    }
    if raw.open.is_some() {
        input.note_cut(if columns.is_empty() {
            "Latency: Ave"
        } else {
            "Ave (us)"
        });
    }
    raw.close(&mut out);
    Ok(out.done())
}

impl Raw {
    fn add(&mut self, out: &mut Out, value: Number, unit: Unit, at: u64) {
        let length = self.length.unwrap_or(0);
        let (data, samples) = self.open.get_or_insert_with(|| {
            let data = data(out, "latency intervals", length, Quantity::Latency, unit);
            let samples = out.raw(&data, "latency", at);
            (data, samples)
        });
        out.add(samples, data, &value, 1);
    }

    fn close(&mut self, out: &mut Out) {
        if let Some((_, samples)) = self.open.take() {
            out.keep(samples);
        }
    }
}

fn csv_row(
    out: &mut Out,
    raw: &mut Raw,
    columns: &[String],
    cells: &[&str],
    spot: Spot<'_>,
) -> Imported<()> {
    let number = |i: usize| Number::parse(cells[i]).map_err(|e| spot.error(e));
    let at = |name: &str| columns.iter().position(|c| c.starts_with(name));
    let length = Number::count(cells[0]).map_err(|e| spot.error(e))?;
    let Spot::Line(line, _) = spot else {
        return Ok(());
    };
    if let Some(latency) = at("Latency (") {
        if raw.length != Some(length) {
            raw.close(out);
            raw.length = Some(length);
        }
        let unit = heading_unit(&columns[latency], spot)?;
        raw.add(out, number(latency)?, unit, line);
    } else if at("Ave (").is_some() {
        raw.close(out);
        let of = data(out, "latency", length, Quantity::Latency, us()).of(Of::Samples, None);
        for (i, column) in columns.iter().enumerate() {
            let word = column.split_whitespace().next().unwrap_or_default();
            if column.contains('(')
                && !column.starts_with("CPU")
                && let Some(statistic) = statistic(word)
            {
                let unit = heading_unit(column, spot)?;
                out.put(&Data { unit, ..of.clone() }, statistic, number(i)?, spot)?;
            }
        }
    } else if at("Ave Samples/s").is_some() && at("Samples/s").is_none() {
        let of = data(out, "throughput", length, Quantity::Rate, per_second());
        for (i, column) in columns.iter().enumerate() {
            let key = match column.as_str() {
                "Total Samples" => "count",
                "Ave Samples/s" => "rate",
                "Ave Mbps" => "mbps",
                "Lost Samples" => "lost",
                "Lost Samples (%)" => "share",
                _ => continue,
            };
            THROUGHPUT.put(out, &of, (key, number(i)?), spot)?;
        }
        THROUGHPUT.hold(out, &of, &size(length));
    }
    Ok(())
}

fn heading_unit(column: &str, spot: Spot<'_>) -> Imported<Unit> {
    let word = column
        .rsplit_once('(')
        .map(|(_, u)| u.trim_end_matches(')'));
    word.and_then(time)
        .ok_or_else(|| spot.error(format!("the column `{column}` has no unit of time")))
}

fn of_test(out: &mut Out, test: &Node<'_>) -> Imported<()> {
    let length = test.get("length")?.count()?;
    let summary = test.get("summary")?;
    let mut latencies = None;
    for (key, node) in summary.members()? {
        let spot = node.spot();
        if let Some(word) = key.strip_prefix("latency_") {
            let statistic =
                statistic(word).ok_or_else(|| node.error("is not a statistic of rtiperftest"))?;
            let of = latencies.get_or_insert_with(|| {
                data(out, "latency", length, Quantity::Latency, us()).of(Of::Samples, None)
            });
            let number = match statistic {
                Statistic::Mean | Statistic::Sd => node.rounded(2)?,
                _ => node.rounded(0)?,
            };
            out.put(of, statistic, number, spot)?;
        }
    }
    if summary.find("packets").is_some() {
        let of = data(out, "throughput", length, Quantity::Rate, per_second());
        of_members(out, &of, &summary, PACKETS)?;
        THROUGHPUT.hold(out, &of, &size(length));
    } else if latencies.is_none() {
        return Err(ImportError::path(
            summary.path,
            "has neither latencies nor packets",
        ));
    }
    Ok(())
}
