//! wrk and wrk2. wrk waits for each answer on each connection, and from version 4 on adds to its samples what a stall kept it from
//! sending; wrk2 sends by the clock and times from the intended instant, which its line of calibration or its HdrHistogram tells.

use super::Imported;
use super::lines::Lines;
use super::number::{Number, with_suffix};
use super::out::{Data, Out, Spot, per_second, percent, time, unit};
use crate::Statements;
use crate::statement::{Clock, Dimension, Loop, Of, Quantity, Statistic, Trip, Unit};

/// What is known of a run when its lines are read.
#[derive(Default)]
struct Run {
    target: Option<String>,
    connections: Option<u64>,
    threads: Option<u64>,
    /// It is of wrk2, which sends by the clock.
    open_loop: bool,
    /// Lines with their numbers, and whether they are of the latencies without correction.
    lines: Vec<(String, u64, bool)>,
    /// Values of the latencies, and of those without correction.
    samples: [Option<u64>; 2],
}

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    let mut out = Out::new(input.tool());
    let mut run = Run::default();
    let (mut spectrum, mut uncorrected) = (false, false);
    while let Some(line) = input.next()? {
        let line = line.to_owned();
        let words: Vec<&str> = line.split_whitespace().collect();
        let fail = |e: String| input.error(e);
        if let ["Running", .., "@", url] = words[..] {
            finish(&mut out, input, run)?;
            run = Run::default();
            (run.target, uncorrected) = (Some(url.to_owned()), false);
        } else if let [t, "threads", "and", c, "connections"] = words[..] {
            run.threads = Some(Number::count(t).map_err(fail)?);
            run.connections = Some(Number::count(c).map_err(fail)?);
        } else if line.contains("Thread calibration") || line.contains("HdrHistogram") {
            run.open_loop = true;
            // Its own spelling.
            uncorrected |= line.contains("Uncorrect");
        } else if line.contains("Detailed Percentile spectrum") {
            spectrum = true;
        } else if let Some(rest) = line.split("Total count    =").nth(1) {
            let count = rest.trim().trim_end_matches(']');
            run.samples[usize::from(uncorrected)] = Some(Number::count(count).map_err(fail)?);
            spectrum = true;
        } else if line.starts_with("-----") {
            spectrum = false;
        } else if !spectrum && !words.is_empty() {
            run.lines.push((line, input.number(), uncorrected));
            if run.lines.len() > 1_000 {
                return Err(input.error("this is no line of wrk"));
            }
        }
    }
    finish(&mut out, input, run)?;
    Ok(out.done())
}

/// One run of the tool: its lines, when it is known what it was.
fn finish(out: &mut Out, input: &Lines<'_>, run: Run) -> Imported<()> {
    let Some(target) = run.target else {
        return Ok(());
    };
    let ended = |(line, ..): &(String, u64, bool)| line.trim().starts_with("Transfer/sec:");
    if !run.lines.iter().any(ended) {
        return Err(input.cut("Transfer/sec:"));
    }
    let name = match run.threads {
        Some(threads) => format!("{target} ({threads} threads)"),
        None => target.clone(),
    };
    let describe = |mut data: Data| {
        data = data.with("target", target.as_str());
        if let Some(connections) = run.connections {
            data = data.with("connections", connections.to_string());
        }
        // wrk 4 adds to its samples those that a stall kept it from sending (`stats_correct` in its source), so they are
        // neither those of its closed loop nor of a schedule.
        data.method.load = run.open_loop.then_some(Loop::Open);
        data.method.trip = Some(Trip::Round);
        data.method.clocks = Some(1);
        data.method.time = Some(Clock::Wall);
        data
    };
    let milliseconds = || unit("ms", Dimension::Time, 1e-3);
    let [corrected, uncorrected] = run.samples;
    let data = out.data(&name, Quantity::Latency, milliseconds());
    let data = describe(data.of(Of::Samples, corrected));
    let mut service = None;
    for (line, number, without) in run.lines {
        // The end of the run stands behind both distributions.
        let of_latency =
            line.trim_start().starts_with(|c: char| c.is_ascii_digit()) && line.contains('%');
        let data = match without && of_latency {
            true => service.get_or_insert_with(|| {
                let name = format!("{name}, uncorrected");
                // It is timed from the real send.
                let mut data = describe(out.data(&name, Quantity::Latency, milliseconds()));
                data.method.load = None;
                data.of(Of::Samples, uncorrected)
            }),
            false => &data,
        };
        row(out, data, (&line, number), run.open_loop)?;
    }
    out.holds(&data, "{count} = {rate} * {duration-value}");
    out.holds(&data, "{size-sum} = {bandwidth-rate} * {duration-value}");
    Ok(())
}

fn row(out: &mut Out, data: &Data, (line, number): (&str, u64), is_wrk2: bool) -> Imported<()> {
    let spot = Spot::Line(number, line);
    let words: Vec<&str> = line.split_whitespace().collect();
    let fail = |e: String| spot.error(e);
    match words[..] {
        ["Latency", "Distribution", ..] | ["Thread", "Stats", ..] => {}
        ["Latency", mean, sd, max, within] => {
            for (statistic, text) in [
                (Statistic::Mean, mean),
                (Statistic::Sd, sd),
                (Statistic::Max, max),
            ] {
                put_time(out, data, statistic, (text, is_wrk2), spot)?;
            }
            put_within(out, data, within, spot)?;
        }
        ["Req/Sec", mean, sd, max, _] => {
            // Of intervals of each thread, whose number is not printed.
            let data = Data {
                name: format!("{} each thread", data.name),
                ..data.other(Quantity::Rate, per_second())
            };
            for (statistic, text) in [
                (Statistic::Mean, mean),
                (Statistic::Sd, sd),
                (Statistic::Max, max),
            ] {
                let (n, suffix) = with_suffix(text).map_err(fail)?;
                let factor =
                    prefix(suffix).ok_or_else(|| spot.error(format!("`{text}` is no rate")))?;
                let data = Data {
                    unit: unit(&format!("{suffix}/s"), Dimension::Rate, factor),
                    ..data.clone()
                };
                out.put(&data, statistic, n, spot)?;
            }
        }
        ["Latency" | "Req/Sec", ..] => {
            return Err(spot.error("the line ends too early; the file is cut off"));
        }
        [share, value] if share.ends_with('%') => {
            let p = Number::parse(share.trim_end_matches('%')).map_err(fail)?;
            if !(0.0..=100.0).contains(&p.value) {
                return Err(spot.error(format!("`{share}` is no percentile")));
            }
            let statistic = match p.value {
                100.0 => Statistic::Max,
                p => Statistic::Percentile(p),
            };
            put_time(out, data, statistic, (value, is_wrk2), spot)?;
        }
        [count, "requests", "in", time, ref read @ ..] => {
            let n = Number::parse(count).map_err(fail)?.exact();
            let of = data.other(Quantity::Count, unit("requests", Dimension::One, 1.0));
            out.put(&of, Statistic::Count, n, spot)?;
            let (n, own) = duration(time).map_err(fail)?;
            out.put(
                &data.other(Quantity::Duration, own),
                Statistic::Value,
                n,
                spot,
            )?;
            if let [size, "read"] = *read {
                let (n, suffix) = with_suffix(size).map_err(fail)?;
                let factor =
                    bytes(suffix).ok_or_else(|| fail(format!("`{size}` has no unit of wrk")))?;
                let of = data.other(Quantity::Size, unit(suffix, Dimension::Size, factor));
                out.put(&of, Statistic::Sum, n, spot)?;
            }
        }
        ["Requests/sec:", rate] => {
            let n = Number::parse(rate).map_err(fail)?;
            out.put(
                &data.other(Quantity::Rate, per_second()),
                Statistic::Rate,
                n,
                spot,
            )?;
        }
        ["Transfer/sec:", rate] => {
            let (n, suffix) = with_suffix(rate).map_err(fail)?;
            let factor = bytes(suffix).ok_or_else(|| {
                spot.error(format!("`{rate}` has no unit of wrk; the file is cut off"))
            })?;
            let unit = unit(&format!("{suffix}/s"), Dimension::Bandwidth, factor);
            out.put(
                &data.other(Quantity::Bandwidth, unit),
                Statistic::Rate,
                n,
                spot,
            )?;
        }
        ["Non-2xx", "or", "3xx", "responses:", count] => {
            let n = Number::parse(count).map_err(fail)?.exact();
            let of = data.other(Quantity::Errors, unit("answers", Dimension::One, 1.0));
            out.put_named(&of, "errors", Statistic::Count, n, spot)?;
        }
        ["Socket", "errors:", ..] => {
            out.note(format!("line {number}: {}", line.trim()));
            out.banner(spot);
        }
        _ => {}
    }
    Ok(())
}

fn put_time(
    out: &mut Out,
    data: &Data,
    statistic: Statistic,
    (text, is_wrk2): (&str, bool),
    spot: Spot<'_>,
) -> Imported<()> {
    let (mut n, suffix) = with_suffix(text).map_err(|e| spot.error(e))?;
    if is_wrk2 {
        // Out of a histogram with 1,024 buckets in each doubling, the largest by its lower edge and percentiles by their upper.
        n.half_step += n.value.abs() / 2048.0;
    }
    let unit = time(suffix)
        .ok_or_else(|| spot.error(format!("`{text}` has no unit of time; the file is cut off")))?;
    out.put(
        &Data {
            unit,
            ..data.clone()
        },
        statistic,
        n,
        spot,
    )
}

/// wrk's units of binary prefixes are printed as KB, MB, GB (src/units.c).
fn bytes(suffix: &str) -> Option<f64> {
    let powers = ["B", "KB", "MB", "GB", "TB"];
    let power = powers.iter().position(|p| *p == suffix)?;
    Some(1024f64.powi(i32::try_from(power).ok()?))
}

/// `30.00s,` or `1.00m,`.
fn duration(text: &str) -> Result<(Number, Unit), String> {
    let (number, suffix) = with_suffix(text.trim_end_matches(','))?;
    let unit = time(suffix).ok_or_else(|| format!("`{text}` has no unit of time"))?;
    Ok((number, unit))
}

fn put_within(out: &mut Out, data: &Data, text: &str, spot: Spot<'_>) -> Imported<()> {
    let Some(share) = text.strip_suffix('%') else {
        return Err(spot.error(format!("`{text}` is no share; the file is cut off")));
    };
    let n = Number::parse(share).map_err(|e| spot.error(e))?;
    let data = Data {
        unit: percent(),
        ..data.clone()
    };
    out.put_named(&data, "within-1sd", Statistic::WithinOneSd, n, spot)
}

fn prefix(suffix: &str) -> Option<f64> {
    Some(match suffix {
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    })
}
