//! cyclictest of rt-tests: its lines of threads, verbose output, histogram and JSON. Times are delays of a timer's wake-up, in
//! microseconds unless the JSON has `-N` in its command line; the texts do not tell. Averages in texts are cut to whole numbers,
//! those of the JSON are rounded to two decimals.

use super::json::{self, Node};
use super::lines::Lines;
use super::number::Number;
use super::out::{Data, Out, Spot, ns, unit, us};
use super::{ImportError, Imported};
use crate::Statements;
use crate::statement::{Clock, Dimension, Loop, Of, Quantity, Samples, Statistic, Unit};
use std::collections::BTreeMap;

/// The most threads of one file.
const THREADS: usize = 4_096;

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    match input.is_json()? {
        true => document(input),
        false => text(input),
    }
}

fn data(out: &mut Out, thread: u64, unit: Unit) -> Data {
    let mut data = out
        .data(&format!("thread {thread}"), Quantity::Time, unit)
        .with("thread", thread.to_string());
    data.method.load = Some(Loop::Open);
    data.method.time = Some(Clock::Wall);
    data.method.clocks = Some(1);
    data
}

fn document(input: &mut Lines<'_>) -> Imported<Statements> {
    let document = json::document(input)?;
    let root = Node::root(&document);
    let mut out = Out::new(input.tool());
    // Version 2 of rt-tests writes the colon into the key.
    let find = |key: &str| root.find(key).or_else(|| root.find(&format!("{key}:")));
    let command = find("cmdline")
        .map(|c| c.text())
        .transpose()?
        .unwrap_or_default();
    let in_ns = command
        .split_whitespace()
        .any(|w| w == "--nsecs" || (w.starts_with('-') && !w.starts_with("--") && w.contains('N')));
    for key in ["cmdline", "rt_test_version", "start_time"] {
        if let Some(node) = find(key) {
            out.banner_value(&node.path, &format!("{key}: {}", node.text()?));
        }
    }
    if let Some(start) = find("start_time") {
        out.tested(start.text()?);
    }
    for (name, thread) in root.get("thread")?.members()? {
        let number = Number::count(name).map_err(|e| thread.error(e))?;
        let cycles = thread.get("cycles")?.count()?;
        if cycles == 0 {
            continue;
        }
        let unit = if in_ns { ns() } else { us() };
        let data = data(&mut out, number, unit).of(Of::Samples, Some(cycles));
        for (key, statistic, decimals) in [
            ("min", Statistic::Min, 0),
            ("max", Statistic::Max, 0),
            ("avg", Statistic::Mean, 2),
        ] {
            let node = thread.get(key)?;
            // Whole units of a clock that is finer: cut.
            let value = match decimals {
                0 => node.rounded(0)?.cut(),
                decimals => node.rounded(decimals)?,
            };
            out.put(&data, statistic, value, Spot::Path(&node.path))?;
        }
    }
    Ok(out.done())
}

#[derive(Default)]
struct Text {
    /// The last line of each thread, which is overwritten on a terminal.
    threads: BTreeMap<u64, (u64, String)>,
    verbose: BTreeMap<u64, (Data, Samples)>,
    histogram: Option<Histogram>,
}

#[derive(Default)]
struct Histogram {
    columns: usize,
    /// What stands below the buckets, by its name.
    below: BTreeMap<&'static str, (u64, String, Vec<u64>)>,
}

/// Below the buckets.
const BELOW: [&str; 5] = [
    "Total",
    "Min Latencies",
    "Avg Latencies",
    "Max Latencies",
    "Histogram Overflows",
];

fn text(input: &mut Lines<'_>) -> Imported<Statements> {
    let mut out = Out::new(input.tool());
    let mut found = Text::default();
    while let Some(line) = input.next()? {
        let line = line.to_owned();
        let at = input.number();
        let fail = |e: String| ImportError::line(at, e);
        if let Some(rest) = line.strip_prefix("T:") {
            let thread = rest.split('(').next().unwrap_or_default().trim();
            let thread = Number::count(thread).map_err(fail)?;
            full(found.threads.len(), at)?;
            found.threads.insert(thread, (at, line));
        } else if let Some(rest) = line.strip_prefix("# ") {
            if rest.starts_with("Histogram") && !rest.contains(':') {
                if found.histogram.replace(Histogram::default()).is_some() {
                    return Err(fail(
                        "a second histogram begins; give each a file of its own".to_owned(),
                    ));
                }
            } else if let Some(name) = BELOW.iter().find(|b| rest.starts_with(&format!("{b}:"))) {
                let values = rest.split(':').nth(1).unwrap_or_default();
                let values: Result<Vec<u64>, String> =
                    values.split_whitespace().map(Number::count).collect();
                let values = values.map_err(fail)?;
                let histogram = found.histogram.get_or_insert_default();
                histogram.below.insert(name, (at, line, values));
            } else {
                out.banner(Spot::Line(at, &line));
            }
        } else if line.starts_with("policy:") || line.starts_with("Max CPUs") {
            out.banner(Spot::Line(at, &line));
        } else if line.trim().is_empty()
            || line.starts_with("Thread ")
            || line.starts_with("Online CPUs")
        {
        } else if found.histogram.as_ref().is_some_and(|h| h.below.is_empty())
            && line.starts_with(|c: char| c.is_ascii_digit())
        {
            let cells: Result<Vec<u64>, String> =
                line.split_whitespace().map(Number::count).collect();
            let cells = cells.map_err(fail)?;
            full(cells.len(), at)?;
            if let Some(h) = &mut found.histogram {
                if h.columns != 0 && h.columns != cells.len() {
                    return Err(fail(format!(
                        "a bucket has {} columns, the ones before have {}; the file is cut off",
                        cells.len(),
                        h.columns
                    )));
                }
                h.columns = cells.len();
            }
        } else if let [thread, cycle, value] =
            line.split(':').map(str::trim).collect::<Vec<_>>()[..]
        {
            // `n:c:v` of -v.
            if ![thread, cycle, value]
                .iter()
                .all(|c| c.starts_with(|c: char| c.is_ascii_digit()))
            {
                continue;
            }
            let thread = Number::count(thread).map_err(fail)?;
            Number::count(cycle).map_err(fail)?;
            let value = Number::parse(value).map_err(fail)?.cut();
            full(found.verbose.len(), at)?;
            let (data, raw) = found.verbose.entry(thread).or_insert_with(|| {
                let data = data(&mut out, thread, us());
                let raw = out.raw(&data, "time", at);
                (data, raw)
            });
            out.add(raw, data, &value, 1);
        } else {
            input.own(&line)?;
        }
    }
    for (_, raw) in found.verbose.into_values() {
        out.keep(raw);
    }
    for (thread, (at, line)) in &found.threads {
        of_thread(&mut out, *thread, Spot::Line(*at, line))?;
    }
    if let Some(histogram) = found.histogram {
        of_histogram(&mut out, &histogram, input.number())?;
    }
    Ok(out.done())
}

fn full(threads: usize, at: u64) -> Imported<()> {
    match threads > THREADS {
        true => Err(ImportError::line(
            at,
            format!("there are more than {THREADS} threads"),
        )),
        false => Ok(()),
    }
}

/// `T: 0 ( 5156) P: 0 I:1000 C:    500 Min:     67 Act:   90 Avg:  111 Max:    4971`.
fn of_thread(out: &mut Out, thread: u64, spot: Spot<'_>) -> Imported<()> {
    let Spot::Line(_, line) = spot else {
        return Ok(());
    };
    let after = |key: &str| {
        let rest = line.split_once(key).map(|(_, rest)| rest.trim_start());
        let word = rest.and_then(|r| r.split_whitespace().next());
        word.ok_or_else(|| spot.error(format!("there is no `{key}`; the line is cut off")))
    };
    let cycles = Number::count(after(" C:")?).map_err(|e| spot.error(e))?;
    if cycles == 0 {
        return Ok(());
    }
    let mut data = data(out, thread, us()).of(Of::Samples, Some(cycles));
    let interval = Number::count(after(" I:")?).map_err(|e| spot.error(e))?;
    data = data
        .with("interval", format!("{interval} µs"))
        .with("priority", after(" P:")?);
    for (key, statistic) in [
        ("Min:", Statistic::Min),
        ("Avg:", Statistic::Mean),
        ("Max:", Statistic::Max),
    ] {
        let number = Number::parse(after(key)?).map_err(|e| spot.error(e))?;
        out.put(&data, statistic, number.cut(), spot)?;
    }
    Ok(())
}

fn of_histogram(out: &mut Out, histogram: &Histogram, end: u64) -> Imported<()> {
    let get = |name: &'static str| {
        let found = histogram.below.get(name);
        found.ok_or_else(|| {
            ImportError::line(
                end,
                format!("the histogram has no `# {name}:`; the file is cut off"),
            )
        })
    };
    let (_, _, totals) = get("Total")?;
    let (over_at, over_line, overflows) = get("Histogram Overflows")?;
    for (thread, total) in totals.iter().enumerate() {
        // `-H` adds a column of all threads, which has neither minimum nor overflow of its own.
        let Some(overflow) = overflows.get(thread) else {
            continue;
        };
        let n = total.saturating_add(*overflow);
        let data = data(out, thread as u64, us()).of(Of::Samples, Some(n));
        let mut rows = Vec::new();
        for (name, statistic) in [
            ("Min Latencies", Statistic::Min),
            ("Avg Latencies", Statistic::Mean),
            ("Max Latencies", Statistic::Max),
        ] {
            let (at, line, values) = get(name)?;
            let value = values.get(thread).ok_or_else(|| {
                ImportError::line(
                    *at,
                    format!(
                        "there are {} values for {} threads; the line is cut off",
                        values.len(),
                        totals.len()
                    ),
                )
            })?;
            rows.push((statistic, *value, Spot::Line(*at, line)));
        }
        if n == 0 {
            continue;
        }
        for (statistic, value, spot) in rows {
            out.put(&data, statistic, Number::of(value as f64, 1.0), spot)?;
        }
        let count = data.other(Quantity::Count, unit("samples", Dimension::One, 1.0));
        let overflow = Number::of(*overflow as f64, 0.0);
        out.put_named(
            &count,
            "overflows",
            Statistic::Count,
            overflow,
            Spot::Line(*over_at, over_line),
        )?;
    }
    Ok(())
}
