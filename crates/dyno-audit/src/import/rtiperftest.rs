//! RTI Perftest: its text, CSV and JSON, as its `PerftestPrinter.cxx` writes them. What it calls one-way latency is half of a round trip.
//! Its Mbps are decimal. The numbers of intervals are running ones and left out, but for the single latencies among them.

use super::json::{self, Node};
use super::lines::Lines;
use super::number::Number;
use super::out::{Data, Out, Spot, per_second, percent, time, unit, us};
use super::{ImportError, Imported};
use crate::Statements;
use crate::statement::{Clock, Dimension, Of, Quantity, Samples, Statistic, Trip, Unit};

fn mbps() -> Unit {
    unit("Mbps", Dimension::Bandwidth, 125e3)
}

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    match input.is_json() {
        true => document(input),
        false => text(input),
    }
}

fn data(out: &mut Out, what: &str, length: u64, quantity: Quantity, unit: Unit) -> Data {
    let mut data = out
        .data(&format!("{what} {length} B"), quantity, unit)
        .with("payload", format!("{length} B"));
    data.method.payload_bytes = Some(length as f64);
    data.method.time = Some(Clock::Wall);
    match quantity {
        Quantity::Latency => {
            data.method.trip = Some(Trip::Half);
            data.method.clocks = Some(1);
        }
        _ => data.method.loss_stated = Some(true),
    }
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
    while let Some(line) = input.next()? {
        let line = line.trim().to_owned();
        let at = input.number();
        let spot = Spot::Line(at, &line);
        let fail = |e: String| spot.error(e);
        if let Some(length) = line.strip_prefix("********** New data length is ") {
            raw.close(&mut out);
            raw.length = Some(Number::count(length).map_err(fail)?);
        } else if let Some(rest) = line.strip_prefix("One way Latency:") {
            let (value, unit) = first(rest, spot)?;
            raw.add(&mut out, value, unit, at);
        } else if line.starts_with("Length:") && line.contains("Latency:") {
            raw.close(&mut out);
            latency(&mut out, &line, spot)?;
        } else if line.starts_with("Length:") && line.contains("Packets:") {
            throughput(&mut out, &line, spot)?;
        } else if line.starts_with("Length (Bytes)") {
            columns = line.split(',').map(|c| c.trim().to_owned()).collect();
        } else if !columns.is_empty() && line.starts_with(|c: char| c.is_ascii_digit()) {
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            if cells.len() != columns.len() {
                return Err(spot.error(format!(
                    "a row has {} cells and its header {}; it is cut off, or has commas as decimal points",
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

const CUT: &str = "the line ends too early; the file is cut off";

/// A number and its unit of time.
fn first(rest: &str, spot: Spot<'_>) -> Imported<(Number, Unit)> {
    let mut words = rest.split_whitespace();
    let (Some(value), Some(unit)) = (words.next(), words.next()) else {
        return Err(spot.error(CUT));
    };
    let unit = time(unit).ok_or_else(|| spot.error(format!("`{unit}` is no unit of time")))?;
    Ok((Number::parse(value).map_err(|e| spot.error(e))?, unit))
}

/// `Length:   100 Latency: Ave    126 us Std  146.0 us Min     47 us … 99.9999%    505 us`.
fn latency(out: &mut Out, line: &str, spot: Spot<'_>) -> Imported<()> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["Length:", length, "Latency:", ref rest @ ..] = words[..] else {
        return Err(spot.error(CUT));
    };
    let length = Number::count(length).map_err(|e| spot.error(e))?;
    let mut figures = Vec::new();
    let mut rest = rest;
    while let [word, more @ ..] = rest {
        let Some(statistic) = statistic(word) else {
            break;
        };
        let (value, unit) = first(
            &more.iter().take(2).copied().collect::<Vec<_>>().join(" "),
            spot,
        )?;
        figures.push((statistic, value, unit));
        rest = more.get(2..).unwrap_or_default();
    }
    if figures.len() < 9 {
        return Err(spot.error(CUT));
    }
    let of = data(out, "latency", length, Quantity::Latency, us()).of(Of::Samples, None);
    for (statistic, value, unit) in figures {
        out.put(&Data { unit, ..of.clone() }, statistic, value, spot)?;
    }
    Ok(())
}

/// `Length:   100  Packets:  6163858  Packets/s(ave): 2055011  Mbps(ave):  1644.0  Lost:     0 (0.00%)`.
fn throughput(out: &mut Out, line: &str, spot: Spot<'_>) -> Imported<()> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [
        "Length:",
        length,
        "Packets:",
        packets,
        "Packets/s(ave):",
        rate,
        "Mbps(ave):",
        mbps,
        "Lost:",
        lost,
        ref share @ ..,
    ] = words[..]
    else {
        return Err(spot.error(CUT));
    };
    let length = Number::count(length).map_err(|e| spot.error(e))?;
    let data = data(out, "throughput", length, Quantity::Rate, per_second());
    for (key, text) in [
        ("packets", packets),
        ("rate", rate),
        ("mbps", mbps),
        ("lost", lost),
    ] {
        let number = Number::parse(text).map_err(|e| spot.error(e))?;
        put_throughput(out, &data, key, number, spot)?;
    }
    let share = share
        .first()
        .and_then(|s| s.strip_prefix('(')?.strip_suffix("%)"));
    if let Some(share) = share {
        let number = Number::parse(share).map_err(|e| spot.error(e))?;
        put_throughput(out, &data, "share", number, spot)?;
    }
    relations(out, &data, length);
    Ok(())
}

/// What holds between the numbers of a summary: its bits per second are of the payload, and its share of those that were sent.
fn relations(out: &mut Out, data: &Data, length: u64) {
    out.holds(data, &format!("{{bandwidth-rate}} = {{rate}} * {length}"));
    out.holds(
        data,
        "{loss-share} = {loss-count} / ( {count} + {loss-count} )",
    );
}

fn put_throughput(
    out: &mut Out,
    data: &Data,
    key: &str,
    number: Number,
    spot: Spot<'_>,
) -> Imported<()> {
    let count = || unit("packets", Dimension::One, 1.0);
    match key {
        // A division of whole numbers.
        "rate" => out.put(data, Statistic::Rate, number.cut(), spot),
        "mbps" => out.put(
            &data.other(Quantity::Bandwidth, mbps()),
            Statistic::Rate,
            number,
            spot,
        ),
        "packets" => out.put(
            &data.other(Quantity::Count, count()),
            Statistic::Count,
            number.exact(),
            spot,
        ),
        "lost" => out.put(
            &data.other(Quantity::Loss, count()),
            Statistic::Count,
            number.exact(),
            spot,
        ),
        _ => out.put(
            &data.other(Quantity::Loss, percent()),
            Statistic::Share,
            number,
            spot,
        ),
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
                "Total Samples" => "packets",
                "Ave Samples/s" => "rate",
                "Ave Mbps" => "mbps",
                "Lost Samples" => "lost",
                "Lost Samples (%)" => "share",
                _ => continue,
            };
            put_throughput(out, &of, key, number(i)?, spot)?;
        }
        relations(out, &of, length);
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

fn document(input: &mut Lines<'_>) -> Imported<Statements> {
    let documents = json::documents(input)?;
    let mut out = Out::new(input.tool());
    let mut tests = Vec::new();
    for root in Node::roots(&documents) {
        tests.extend(root.get("perftest")?.items()?);
    }
    for test in tests {
        let length = test.get("length")?.count()?;
        let summary = test.get("summary")?;
        let mut latencies = None;
        for (key, node) in summary.members()? {
            let spot = Spot::Path(&node.path);
            if let Some(word) = key.strip_prefix("latency_") {
                let statistic =
                    statistic(word).ok_or_else(|| node.error("is no statistic of rtiperftest"))?;
                let of = latencies.get_or_insert_with(|| {
                    data(&mut out, "latency", length, Quantity::Latency, us()).of(Of::Samples, None)
                });
                let number = match statistic {
                    Statistic::Mean | Statistic::Sd => node.rounded(2)?,
                    _ => node.rounded(0)?,
                };
                out.put(of, statistic, number, spot)?;
            }
        }
        if let Some(packets) = summary.find("packets") {
            let of = data(&mut out, "throughput", length, Quantity::Rate, per_second());
            put_throughput(
                &mut out,
                &of,
                "packets",
                packets.exact()?,
                Spot::Path(&packets.path),
            )?;
            for (key, decimals, what) in [
                ("packets/sAve", 0, "rate"),
                ("mbpsAve", 1, "mbps"),
                ("lost", 0, "lost"),
                ("lostPercent", 2, "share"),
            ] {
                let node = summary.get(key)?;
                put_throughput(
                    &mut out,
                    &of,
                    what,
                    node.rounded(decimals)?,
                    Spot::Path(&node.path),
                )?;
            }
            relations(&mut out, &of, length);
        } else if latencies.is_none() {
            return Err(ImportError::path(
                summary.path,
                "has neither latencies nor packets",
            ));
        }
    }
    Ok(out.done())
}
