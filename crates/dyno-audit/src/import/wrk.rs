//! wrk and wrk2. wrk waits for each answer on each connection, and from version 4 on adds to its samples what a stall kept it from
//! sending; wrk2 sends by the clock and times from the intended instant, which its line of calibration or its HdrHistogram tells.

use super::Imported;
use super::lines::Lines;
use super::number::{Number, with_suffix};
use super::out::{Data, Out, Spot, per_second, percent, time, unit};
use crate::Statements;
use crate::statement::{Clock, Dimension, Loop, Of, Quantity, Statistic, Trip};

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    let mut out = Out::new(input.tool());
    let mut target = None;
    let (mut connections, mut threads) = (None, None);
    let mut pending: Vec<(String, u64)> = Vec::new();
    let mut open_loop = false;
    let mut spectrum = false;
    let mut samples = None;
    while let Some(line) = input.next()? {
        let line = line.to_owned();
        let words: Vec<&str> = line.split_whitespace().collect();
        let fail = |e: String| input.error(e);
        if let ["Running", .., "@", url] = words[..] {
            finish(
                &mut out,
                target.take(),
                &mut pending,
                (connections, threads, open_loop, samples),
            )?;
            (target, open_loop, samples) = (Some(url.to_owned()), false, None);
        } else if let [t, "threads", "and", c, "connections"] = words[..] {
            threads = Some(Number::count(t).map_err(fail)?);
            connections = Some(Number::count(c).map_err(fail)?);
        } else if line.contains("Thread calibration") || line.contains("HdrHistogram") {
            open_loop = true;
        } else if line.contains("Detailed Percentile spectrum") {
            spectrum = true;
        } else if let Some(rest) = line.split("Total count    =").nth(1) {
            let count = rest.trim().trim_end_matches(']');
            samples = Some(Number::count(count).map_err(fail)?);
            spectrum = true;
        } else if line.starts_with("-----") {
            spectrum = false;
        } else if !spectrum && !words.is_empty() {
            pending.push((line, input.number()));
            if pending.len() > 1_000 {
                return Err(input.error("this is no line of wrk"));
            }
        }
    }
    finish(
        &mut out,
        target,
        &mut pending,
        (connections, threads, open_loop, samples),
    )?;
    Ok(out.done())
}

/// One run of the tool: its lines, when it is known what it was.
fn finish(
    out: &mut Out,
    target: Option<String>,
    lines: &mut Vec<(String, u64)>,
    (connections, threads, open_loop, samples): (Option<u64>, Option<u64>, bool, Option<u64>),
) -> Imported<()> {
    let Some(target) = target else {
        lines.clear();
        return Ok(());
    };
    let name = match threads {
        Some(threads) => format!("{target} ({threads} threads)"),
        None => target.clone(),
    };
    let mut data = out
        .data(&name, Quantity::Latency, unit("ms", Dimension::Time, 1e-3))
        .of(Of::Samples, samples)
        .with("target", target);
    if let Some(connections) = connections {
        data = data.with("connections", connections.to_string());
    }
    // wrk 4 adds to its samples those that a stall kept it from sending (`stats_correct` in its source), so they are
    // neither those of its closed loop nor of a schedule.
    data.method.load = open_loop.then_some(Loop::Open);
    data.method.trip = Some(Trip::Round);
    data.method.clocks = Some(1);
    data.method.time = Some(Clock::Wall);
    for (line, number) in std::mem::take(lines) {
        row(out, &data, &line, number)?;
    }
    Ok(())
}

fn row(out: &mut Out, data: &Data, line: &str, number: u64) -> Imported<()> {
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
                put_time(out, data, statistic, text, spot)?;
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
            put_time(out, data, statistic, value, spot)?;
        }
        [count, "requests", "in", ..] => {
            let n = Number::parse(count).map_err(fail)?.exact();
            let data = data.other(Quantity::Count, unit("requests", Dimension::One, 1.0));
            out.put(&data, Statistic::Count, n, spot)?;
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
            // wrk's units of binary prefixes are printed as KB, MB, GB (src/units.c).
            let (n, suffix) = with_suffix(rate).map_err(fail)?;
            let factor = match suffix {
                "B" => 1.0,
                "KB" => 1024.0,
                "MB" => 1024.0 * 1024.0,
                "GB" => 1024.0 * 1024.0 * 1024.0,
                "TB" => 1024.0f64.powi(4),
                _ => {
                    return Err(
                        spot.error(format!("`{rate}` has no unit of wrk; the file is cut off"))
                    );
                }
            };
            let unit = unit(&format!("{suffix}/s"), Dimension::Bandwidth, factor);
            out.put(
                &data.other(Quantity::Bandwidth, unit),
                Statistic::Rate,
                n,
                spot,
            )?;
        }
        [first, ..] if first == "Socket" || first == "Non-2xx" => out.banner(spot),
        _ => {}
    }
    Ok(())
}

fn put_time(
    out: &mut Out,
    data: &Data,
    statistic: Statistic,
    text: &str,
    spot: Spot<'_>,
) -> Imported<()> {
    let (n, suffix) = with_suffix(text).map_err(|e| spot.error(e))?;
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
