//! CSV logs of Apex.AI's performance_test: a header of `key: value` lines, then a row for each second. The first [`INTERVALS`] rows
//! give figures, named by their number since their instants differ in each run; the means of all give raw values. The column `latency_variance (ms)` holds seconds² times a thousand
//! (`analysis_result.cpp`), which is no variance in ms, and is left out.

use super::ddsperf::INTERVALS;
use super::error::Imported;
use super::json::{self, Node};
use super::lines::Lines;
use super::number::Number;
use super::out::{Data, Out, Spot, ms, second};
use super::tables::{PLAIN, Table, fields};
use crate::Statements;
use crate::statement::Quantity::Latency;
use crate::statement::SECOND;
use crate::statement::{Clock, Loop, Of, Samples, Statistic, Trip};

/// What a row, or a result of its JSON, has of each second.
const EACH: Table = Table {
    fields: fields! {
        "received": Received Count "samples" Exact .part("received");
        "sent": Sent Count "samples" Exact .part("sent");
        "lost": Loss Count "samples" Exact .part("lost");
        "cpu": CpuShare Share "%" Rounded .part("cpu");
    },
    ..PLAIN
};

/// Of the times of a second.
const STATISTICS: [Statistic; 3] = [Statistic::Min, Statistic::Max, Statistic::Mean];

/// The most lines of its header that are conditions.
const HEAD: usize = 64;

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    match input.is_json() {
        true => document(input),
        false => csv(input),
    }
}

/// What its JSON says, in the words of the CSV: a result for each second, times in seconds.
fn document(input: &mut Lines<'_>) -> Imported<Statements> {
    let documents = json::documents(input)?;
    let mut out = Out::new(input.tool());
    let second = second();
    for root in Node::roots(&documents) {
        let mut head = Vec::new();
        for (key, name) in [
            ("perf_test_version", "Performance Test Version"),
            ("com_mean_str", "Communication mean"),
            ("rate", "Rate"),
            ("topic_name", "Topic name"),
            ("msg_name", "Msg name"),
            ("number_of_publishers", "Number of publishers"),
            ("number_of_subscribers", "Number of subscribers"),
        ] {
            if let Some(node) = root.find(key) {
                let value = node
                    .value
                    .as_str()
                    .map_or_else(|| node.value.to_string(), str::to_owned);
                head.push((name.to_owned(), value));
            }
        }
        let mut all = describe(out.data("run", Latency, second.clone()), &head);
        // A round trip is timed where the other process sends back.
        if root
            .find("roundtrip_mode")
            .is_some_and(|m| m.value == "Main")
        {
            all.method.trip = Some(Trip::Round);
        }
        let mut raw = out.raw(&all, "means", 1);
        let mut sums = [0u64; 3];
        for (i, result) in root.get("analysis_results")?.items()?.iter().enumerate() {
            let counts = ["received", "sent", "lost"];
            let mut numbers = Vec::new();
            for (name, sum) in counts.into_iter().zip(&mut sums) {
                let count = result.get(&format!("num_samples_{name}"))?.count()?;
                *sum = sum.saturating_add(count);
                numbers.push((name, Number::of(count as f64, 0.0)));
            }
            if let Some(cpu) = result.find("cpu_info_cpu_usage") {
                numbers.push(("cpu", cpu.exact()?));
            }
            let n = result.get("num_samples_received")?.count()?;
            if n == 0 {
                continue;
            }
            let mut times = [None, None, None];
            for (time, key) in times
                .iter_mut()
                .zip(["latency_min", "latency_max", "latency_mean"])
            {
                *time = result
                    .measured(&mut out, key)?
                    .map(|t| t.exact())
                    .transpose()?;
            }
            match &times[2] {
                Some(mean) => {
                    out.add(&mut raw, &all, mean, n);
                }
                None => raw.left_out += 1,
            }
            let all = (&all, i as u64);
            interval(&mut out, all, (n, times, numbers), result.spot())?;
        }
        totals(&mut out, &all, sums, root.spot())?;
        out.keep(raw);
    }
    Ok(out.done())
}

/// What was received, sent and lost in all seconds.
fn totals(out: &mut Out, all: &Data, sums: [u64; 3], spot: Spot<'_>) -> Imported<()> {
    for (name, sum) in ["received", "sent", "lost"].into_iter().zip(sums) {
        EACH.put(out, all, (name, Number::of(sum as f64, 0.0)), spot)?;
    }
    Ok(())
}

fn csv(input: &mut Lines<'_>) -> Imported<Statements> {
    let mut out = Out::new(input.tool());
    let mut head: Vec<(String, String)> = Vec::new();
    let mut columns: Vec<String> = Vec::new();
    let mut all: Option<(Data, Samples)> = None;
    let (mut rows, mut sums) = (0, [0u64; 3]);
    while let Some(line) = input.next()? {
        let line = line.to_owned();
        let at = input.number();
        let spot = Spot::Line(at, &line);
        let cells: Vec<&str> = line
            .trim()
            .trim_end_matches(',')
            .split(',')
            .map(str::trim)
            .collect();
        if cells.first() == Some(&"T_experiment") {
            columns = cells.iter().map(|c| (*c).to_owned()).collect();
        } else if columns.is_empty() {
            if let Some((key, value)) = line.split_once(": ")
                && head.len() < HEAD
            {
                head.push((key.trim().to_owned(), value.trim().to_owned()));
            } else {
                input.own(&line)?;
            }
        } else if line.trim().is_empty() || !line.starts_with(|c: char| c.is_ascii_digit()) {
            // What it prints at its end.
            input.own(&line)?;
        } else {
            if cells.len() != columns.len() {
                return Err(spot.error(format!(
                    "a row has {} cells and its header {}; where a comma is the decimal point, run the tool with LC_ALL=C",
                    cells.len(),
                    columns.len()
                )));
            }
            let (data, raw) = all.get_or_insert_with(|| {
                let data = describe(out.data("run", Latency, ms()), &head);
                let raw = out.raw(&data, "means", at);
                (data, raw)
            });
            for (name, sum) in ["received", "sent", "lost"].into_iter().zip(&mut sums) {
                let at = columns.iter().position(|c| c == name);
                let count = at.and_then(|i| cells.get(i)?.parse().ok()).unwrap_or(0);
                *sum = sum.saturating_add(count);
            }
            if let Some((mean, n)) = row(&mut out, (data, rows), (&columns, &cells), spot)? {
                out.add(raw, data, &mean, n);
            }
            rows += 1;
        }
    }
    if let Some((data, raw)) = all {
        totals(&mut out, &data, sums, Spot::Path("all rows"))?;
        out.keep(raw);
    }
    Ok(out.done())
}

fn describe(mut data: Data, head: &[(String, String)]) -> Data {
    data.method.load = Some(Loop::Open);
    data.method.trip = Some(Trip::OneWay);
    data.method.time = Some(Clock::Wall);
    data.method.loss_stated = Some(true);
    let count = |value: &str| value.parse::<u64>().ok();
    for (key, value) in head {
        match key.as_str() {
            "Publishing rate" | "Rate" => {
                data.method.sender_rate = count(value).map(|r| r as f64).filter(|r| *r > 0.0)
            }
            "Number of publishers" => data.method.senders = count(value),
            "Number of subscribers" => data.method.receivers = count(value),
            "Communication mean" | "Communicator" => data = data.with("stack", value.as_str()),
            "Topic name" | "Msg name" | "Topic" | "QOS" | "Performance Test Version" => {
                data = data.with(&key.to_lowercase(), value.as_str());
            }
            _ => {}
        }
    }
    data
}

/// The mean of a row and of how many, and its figures while they are wanted, where so many rows were `seen` before; nothing where it
/// received nothing.
fn row(
    out: &mut Out,
    (all, seen): (&Data, u64),
    (columns, cells): (&[String], &[&str]),
    spot: Spot<'_>,
) -> Imported<Option<(Number, u64)>> {
    let cell = |name: &str| -> Imported<&str> {
        let at = columns.iter().position(|c| c == name);
        let cell = at.and_then(|i| cells.get(i)).copied();
        cell.ok_or_else(|| {
            spot.error(format!(
                "there is no column `{name}`; is this from another version of the tool?"
            ))
        })
    };
    let fail = |e: String| spot.error(e);
    let n = Number::count(cell("received")?).map_err(fail)?;
    let [min, max, mean] = ["min", "max", "mean"].map(|s| format!("latency_{s} (ms)"));
    Number::parse(cell("T_experiment")?).map_err(fail)?;
    let mut numbers = Vec::new();
    for name in ["received", "sent", "lost"] {
        let count = Number::count(cell(name)?).map_err(fail)?;
        numbers.push((name, Number::of(count as f64, 0.0)));
    }
    if n == 0 {
        return Ok(None);
    }
    if let Ok(cpu) = cell("cpu_usage (%)") {
        numbers.push(("cpu", Number::parse(cpu).map_err(fail)?));
    }
    let number = |name: &str| cell(name).and_then(|c| Number::parse(c).map_err(fail));
    let mean = number(&mean)?;
    let times = [number(&min)?, number(&max)?, mean.clone()].map(Some);
    interval(out, (all, seen), (n, times, numbers), spot)?;
    Ok(Some((mean, n)))
}

type Interval = (u64, [Option<Number>; 3], Vec<(&'static str, Number)>);

/// The figures of one second, while they are wanted.
fn interval(
    out: &mut Out,
    (all, seen): (&Data, u64),
    (n, times, numbers): Interval,
    spot: Spot<'_>,
) -> Imported<()> {
    if seen >= INTERVALS {
        return Ok(());
    }
    let named = out.data(&format!("interval {}", seen + 1), Latency, all.unit.clone());
    let data = Data {
        name: named.name.clone(),
        ..all.clone()
    };
    let data = data
        .of(Of::Samples, Some(n))
        .with("benchmark", named.name)
        .with(SECOND, (seen + 1).to_string());
    for (statistic, number) in STATISTICS.into_iter().zip(times) {
        if let Some(number) = number {
            out.put(&data, statistic, number, spot)?;
        }
    }
    for (field, number) in numbers {
        EACH.put(out, &data, (field, number), spot)?;
    }
    Ok(())
}
