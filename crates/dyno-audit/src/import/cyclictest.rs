//! cyclictest of rt-tests: its lines of threads, verbose output, histogram and JSON, and the JSON of those of rt-tests that time how one
//! thread wakes another. Times of cyclictest are delays of a timer's wake-up, in microseconds unless the JSON has `-N` in its command line; the
//! texts tell only by numbers that no machine gives. Averages in texts are cut to whole numbers, those of the JSON are rounded to
//! two decimals.

use super::error::{ImportError, Imported};
use super::json::{self, Node};
use super::lines::Lines;
use super::number::Number;
use super::out::{Data, Out, SAMPLES, Spot, ns, us};
use crate::Statements;
use crate::statement::FAILED;
use crate::statement::{Clock, Loop, Of, Quantity, Samples, Statistic, Trip, Unit};
use std::collections::BTreeMap;

/// The most threads of one file.
const THREADS: usize = 4_096;

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    match input.is_json() {
        true => json::each(input, test),
        false => text(input),
    }
}

/// The data of a thread, of a sibling where it is one.
fn data(out: &mut Out, thread: u64, unit: Unit, of: Option<&Sibling>) -> Data {
    let quantity = match of {
        None => Quantity::Time,
        Some(_) => Quantity::Latency,
    };
    let mut data = out
        .data(&format!("thread {thread}"), quantity, unit)
        .with("thread", thread.to_string());
    data.method.time = Some(Clock::Wall);
    data.method.clocks = Some(1);
    match of {
        None => data.method.load = Some(Loop::Open),
        // From the call that wakes to the other thread: one way.
        Some((program, through)) => {
            data.method.tool = Some((*program).to_owned());
            data.method.trip = Some(Trip::OneWay);
            data = data.with("through", *through);
        }
    }
    data
}

type Sibling = (&'static str, &'static str);

/// What else of rt-tests writes JSON of this form, and what it times: a thread wakes another through this.
const SIBLINGS: [Sibling; 5] = [
    ("pmqtest", "POSIX message queue"),
    ("ptsematest", "POSIX mutexes"),
    ("svsematest", "System V semaphores"),
    ("sigwaittest", "sigwait"),
    ("signaltest", "signals"),
];

/// Whether `-N` is among these short options, of which those before it take no argument.
fn is_in_ns(options: &str) -> bool {
    let alone = |c: &char| "MqrsSmvnU".contains(*c);
    options.chars().find(|c| !alone(c)) == Some('N')
}

fn test(out: &mut Out, root: &Node<'_>) -> Imported<()> {
    // Version 2 of rt-tests writes the colon into the key.
    let find = |key: &str| root.find(key).or_else(|| root.find(&format!("{key}:")));
    let command = find("cmdline")
        .map(|c| c.text())
        .transpose()?
        .unwrap_or_default();
    let program = command.split_whitespace().next().unwrap_or("cyclictest");
    let program = program.rsplit('/').next().unwrap_or(program);
    let sibling = SIBLINGS.iter().find(|(name, _)| *name == program);
    if sibling.is_none() && program != "cyclictest" {
        return Err(root.error(format!(
            "is of `{program}` of rt-tests, which is not read; cyclictest and {} are",
            SIBLINGS.map(|(name, _)| name).join(", ")
        )));
    }
    // Without its command line it is as open as a text.
    let in_ns = command
        .split_whitespace()
        .any(|w| w == "--nsecs" || w.strip_prefix('-').is_some_and(is_in_ns));
    for key in ["cmdline", "rt_test_version", "start_time"] {
        if let Some(node) = find(key) {
            out.banner_value(&node.path, &format!("{key}: {}", node.text()?));
        }
    }
    if let Some(start) = find("start_time") {
        out.tested(start.text()?);
    }
    let code = find("return_code").map(|c| c.count()).transpose()?;
    let failed = code.filter(|c| *c != 0).map(|c| format!("return code {c}"));
    for (name, thread) in root.get("thread")?.members()? {
        let number = Number::count(name).map_err(|e| thread.error(e))?;
        // Those that wake each other have the counts with the sender and the times with the receiver.
        let sender = thread.find("sender").unwrap_or_else(|| thread.clone());
        let times = thread.find("receiver").unwrap_or_else(|| thread.clone());
        let cycles = match sender.find("samples") {
            Some(samples) => samples.count()?,
            None => sender.get("cycles")?.count()?,
        };
        if cycles == 0 {
            continue;
        }
        let unit = if in_ns { ns() } else { us() };
        let mut data = data(out, number, unit, sibling).of(Of::Samples, Some(cycles));
        if command.is_empty() {
            let mut values = [0.0; 3];
            for (value, key) in values.iter_mut().zip(["min", "avg", "max"]) {
                *value = times.get(key)?.float()?;
            }
            data = in_unit(out, data, None, values);
        }
        if let Some(how) = &failed {
            data = data.with(FAILED, how.as_str());
        }
        for (key, statistic, decimals) in [
            ("min", Statistic::Min, 0),
            ("max", Statistic::Max, 0),
            ("avg", Statistic::Mean, 2),
        ] {
            let node = times.get(key)?;
            // Whole units of a clock that is finer: cut.
            let value = match decimals {
                0 => node.rounded(0)?.cut(),
                decimals => node.rounded(decimals)?,
            };
            out.put(&data, statistic, value, node.spot())?;
        }
        if let Some(buckets) = thread.find("histogram") {
            let mut all = Buckets::default();
            for (key, node) in buckets.members()? {
                let at = Number::count(key).map_err(|e| node.error(e))?;
                all.add(at, node.count()?);
            }
            // Its histogram leaves out what lies above, and does not say how much.
            all.figures(out, &data, None, buckets.spot())?;
        }
    }
    Ok(())
}

/// What is counted.
const SAMPLES_OF: (Quantity, &str) = (Quantity::Count, "samples");

/// Counts of whole units, in ascending order.
#[derive(Default)]
struct Buckets(Vec<(u64, u64)>);

/// Ranks that are figures, as far as a value lies beyond them.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

impl Buckets {
    fn add(&mut self, at: u64, count: u64) {
        if count > 0 {
            self.0.push((at, count));
        }
    }

    /// Percentiles, and what must agree with what is printed beside the buckets. `above` lie beyond the last bucket: `None` where it
    /// is not said how many.
    fn figures(
        &mut self,
        out: &mut Out,
        data: &Data,
        above: Option<u64>,
        spot: Spot<'_>,
    ) -> Imported<()> {
        self.0.sort_unstable();
        let (Some((least, _)), Some((most, _))) = (self.0.first().copied(), self.0.last().copied())
        else {
            return Ok(());
        };
        let counted = self
            .0
            .iter()
            .fold(0u64, |sum, (_, n)| sum.saturating_add(*n));
        out.count(data, SAMPLES_OF, ("in-buckets", counted), spot)?;
        let edge = |value: u64| Number::of(value as f64, 0.5).cut();
        let bucket = data.other(Quantity::Other, data.unit.clone());
        for (part, at) in [("lowest-bucket", least), ("highest-bucket", most)] {
            out.put_named(&bucket, part, Statistic::Value, edge(at), spot)?;
        }
        out.holds(data, "{min} = {lowest-bucket}");
        let all = match above {
            Some(above) => counted.saturating_add(above),
            None => data.n.unwrap_or(counted),
        };
        match all > counted {
            true => out.holds(data, "{highest-bucket} <= {max}"),
            false => {
                out.holds(data, "{max} = {highest-bucket}");
                let sum: f64 = self.0.iter().map(|(at, n)| *at as f64 * *n as f64).sum();
                let mean = Number::of(sum / all as f64, 0.01);
                out.put_named(&bucket, "mean-of-buckets", Statistic::Value, mean, spot)?;
                out.holds(data, "{mean} = {mean-of-buckets}");
            }
        }
        if let (None, Some(n)) = (above, data.n) {
            out.holds(data, &format!("{{in-buckets}} <= {n}"));
        }
        for p in PERCENTILES {
            let rank = (all as f64 * p / 100.0).ceil();
            let mut below = 0u64;
            let found = self.0.iter().find(|(_, n)| {
                below = below.saturating_add(*n);
                below as f64 >= rank
            });
            if let Some((value, _)) =
                found.filter(|_| all as f64 * (100.0 - p) >= 100.0 * (1.0 - 1e-9))
            {
                out.put(data, Statistic::Percentile(p), edge(*value), spot)?;
            }
        }
        Ok(())
    }
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
    /// Line of the first bucket.
    first: u64,
    /// The last bucket.
    last: u64,
    /// What each column counts.
    buckets: Vec<Buckets>,
    /// Buckets that count something.
    filled: usize,
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

impl Histogram {
    /// Takes a row of the buckets: a value, and how often each column counts it.
    fn bucket(&mut self, line: &str, at: u64) -> Imported<()> {
        let fail = |e: String| ImportError::line(at, e);
        let cells: Result<Vec<u64>, String> = line.split_whitespace().map(Number::count).collect();
        let cells = cells.map_err(fail)?;
        full(cells.len(), at)?;
        if self.columns != 0 && self.columns != cells.len() {
            return Err(fail(format!(
                "a bucket has {} columns, the ones before have {}; give each histogram a file of its own",
                cells.len(),
                self.columns
            )));
        }
        if self.columns == 0 {
            (self.columns, self.first) = (cells.len(), at);
            self.buckets.resize_with(cells.len() - 1, Buckets::default);
        }
        self.last = cells[0];
        for (column, count) in self.buckets.iter_mut().zip(&cells[1..]) {
            self.filled += usize::from(*count > 0);
            column.add(cells[0], *count);
        }
        if self.filled > SAMPLES {
            return Err(fail(format!(
                "there are more than {SAMPLES} buckets that count something"
            )));
        }
        Ok(())
    }
}

impl Text {
    /// Takes `n:c:v` of -v: a thread, its cycle and a latency. Other lines with two colons are passed over.
    fn cycle(&mut self, out: &mut Out, cells: [&str; 3], at: u64) -> Imported<()> {
        if !cells
            .iter()
            .all(|c| c.starts_with(|c: char| c.is_ascii_digit()))
        {
            return Ok(());
        }
        let fail = |e: String| ImportError::line(at, e);
        let [thread, cycle, value] = cells;
        let thread = Number::count(thread).map_err(fail)?;
        Number::count(cycle).map_err(fail)?;
        let value = Number::parse(value).map_err(fail)?.cut();
        full(self.verbose.len(), at)?;
        let (data, raw) = self.verbose.entry(thread).or_insert_with(|| {
            let data = data(out, thread, us(), None);
            let raw = out.raw(&data, "time", at);
            (data, raw)
        });
        out.add(raw, data, &value, 1);
        Ok(())
    }
}

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
            if let Some(h) = &mut found.histogram {
                h.bucket(&line, at)?;
            }
        } else if let [thread, cycle, value] =
            line.split(':').map(str::trim).collect::<Vec<_>>()[..]
        {
            found.cycle(&mut out, [thread, cycle, value], at)?;
        } else {
            input.own(&line)?;
        }
    }
    for (data, mut raw) in found.verbose.into_values() {
        let least = raw.values.iter().copied().fold(f64::INFINITY, f64::min) / data.unit.factor;
        let read = in_unit(&mut out, data, None, [least; 3]);
        if read.unit == ns() {
            raw.values.iter_mut().for_each(|value| *value *= 1e-3);
            raw.step *= 1e-3;
        }
        (raw.quantity, raw.conditions) = (Some(read.quantity), read.conditions);
        out.keep(raw);
    }
    for (thread, (at, line)) in &found.threads {
        of_thread(&mut out, *thread, Spot::Line(*at, line))?;
    }
    if let Some(mut histogram) = found.histogram {
        of_histogram(&mut out, &mut histogram, input.number())?;
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
        word.ok_or_else(|| {
            spot.error(format!(
                "there is no `{key}`, which each line of a thread has"
            ))
        })
    };
    let cycles = Number::count(after(" C:")?).map_err(|e| spot.error(e))?;
    if cycles == 0 {
        return Ok(());
    }
    let number = |key: &str| Number::parse(after(key)?).map_err(|e| spot.error(e));
    let [min, mean, max] = [number("Min:")?, number("Avg:")?, number("Max:")?];
    let interval = match line.contains(" I:") {
        true => Some(Number::count(after(" I:")?).map_err(|e| spot.error(e))?),
        false => None,
    };
    let of_interval = interval.map(|i| (i as f64, cycles as f64));
    // signaltest prints such lines, but for the interval.
    let sibling = SIBLINGS
        .iter()
        .find(|(name, _)| interval.is_none() && *name == "signaltest");
    let data = data(out, thread, us(), sibling)
        .of(Of::Samples, Some(cycles))
        .with("priority", after(" P:")?);
    let values = [min.value, mean.value, max.value];
    let mut data = match sibling {
        None => in_unit(out, data, of_interval, values),
        Some(_) => data,
    };
    if let Some(interval) = interval {
        data = data.with("interval", format!("{interval} µs"));
    }
    for (statistic, number) in [
        (Statistic::Min, min),
        (Statistic::Mean, mean),
        (Statistic::Max, max),
    ] {
        out.put(&data, statistic, number.cut(), spot)?;
    }
    Ok(())
}

/// Later than this no timer without high resolution is, in microseconds.
const JIFFY: f64 = 10_000.0;

/// No machine wakes a thread within so many nanoseconds of its timer: a smaller time is in microseconds.
const SOON: f64 = 300.0;

/// The condition of times whose unit is not said.
const ASSUMED: (&str, &str) = ("unit", "assumed: µs");

/// The text does not say whether it is in microseconds or, with `-N`, in nanoseconds; the interval is in microseconds always. That all
/// wake-ups are later than a jiffy and than their interval, or than half of it where one is later than all intervals together, is no
/// machine's way, nor is one within [`SOON`]. Between these the unit is assumed: the values are of no quantity that a check may judge.
fn in_unit(
    out: &mut Out,
    mut data: Data,
    interval: Option<(f64, f64)>,
    [min, mean, max]: [f64; 3],
) -> Data {
    let in_ns = match interval {
        Some((each, cycles)) => {
            let always = min > each && mean > JIFFY;
            always || (max > each * cycles && min > each / 2.0 && mean > each)
        }
        None => min > JIFFY,
    };
    if in_ns {
        out.note(format!(
            "{} is taken to be in nanoseconds (-N): in microseconds, the latencies would be implausibly long",
            data.name
        ));
        data.unit = ns();
    } else if min >= SOON {
        out.note(format!(
            "{} is assumed to be in microseconds; with -N the tool prints nanoseconds, but only the output of `--json=FILE` states this",
            data.name
        ));
        data = out.unjudged(data).with(ASSUMED.0, ASSUMED.1);
    }
    data
}

fn of_histogram(out: &mut Out, histogram: &mut Histogram, end: u64) -> Imported<()> {
    let below = &histogram.below;
    let get = |name: &'static str| {
        let found = below.get(name);
        found.ok_or_else(|| {
            ImportError::line(
                end,
                format!("the histogram has no `# {name}:`; the file is cut off"),
            )
        })
    };
    let histogram_total = get("Total")?;
    let totals = &histogram_total.2;
    let (over_at, over_line, overflows) = get("Histogram Overflows")?;
    // `-H` adds a column of all threads, which has no minimum of its own.
    let (at, _, minima) = get("Min Latencies")?;
    let threads = minima.len();
    if threads < totals.len().saturating_sub(1) {
        let all = totals.len();
        let reason =
            format!("there are {threads} values for {all} threads, but each thread has one");
        return Err(ImportError::line(*at, reason));
    }
    for (thread, total) in totals.iter().enumerate().take(threads) {
        let Some(overflow) = overflows.get(thread) else {
            continue;
        };
        let n = total.saturating_add(*overflow);
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
                        "there are {} values for {} threads, but each thread has one",
                        values.len(),
                        threads
                    ),
                )
            })?;
            rows.push((statistic, *value, Spot::Line(*at, line)));
        }
        if n == 0 {
            continue;
        }
        let row = |i: usize| rows.get(i).map_or(0.0, |(_, value, _)| *value as f64);
        let data = data(out, thread as u64, us(), None).of(Of::Samples, Some(n));
        let data = in_unit(out, data, None, [row(0), row(1), row(2)]);
        for (statistic, value, spot) in rows {
            out.put(&data, statistic, Number::of(value as f64, 1.0), spot)?;
        }
        let spot = Spot::Line(histogram.first, "# Histogram");
        if let Some(buckets) = histogram.buckets.get_mut(thread) {
            buckets.figures(out, &data, Some(*overflow), spot)?;
            let (at, line, _) = histogram_total;
            out.count(&data, SAMPLES_OF, ("total", *total), Spot::Line(*at, line))?;
            out.holds(&data, "{total} = {in-buckets}");
            if *overflow > 0 {
                let first = Number::of((histogram.last + 1) as f64, 0.0);
                let of = data.other(Quantity::Other, data.unit.clone());
                out.put_named(&of, "beyond-buckets", Statistic::Value, first, spot)?;
                out.holds(&data, "{beyond-buckets} <= {max}");
            }
        }
        let spot = Spot::Line(*over_at, over_line);
        out.count(&data, SAMPLES_OF, ("overflows", *overflow), spot)?;
    }
    Ok(())
}
