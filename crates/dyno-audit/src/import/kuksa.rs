//! kuksa-perf (formerly databroker-perf) of Eclipse KUKSA: the summary of each group and of all, as its `src/utils.rs` prints them.
//! A provider and a subscriber in one process send by cycle time; the latency is one way, by one clock.
//!
//! The global `95% in under` is the mean of the groups' own percentiles, so it is of means there and is left out in favour
//! of that in the distribution.

use super::Imported;
use super::lines::Lines;
use super::number::Number;
use super::out::{Data, Out, Spot, ms, per_second, unit};
use crate::Statements;
use crate::statement::{Clock, Dimension, Loop, Of, Quantity, Statistic, Trip};

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    let mut out = Out::new(input.tool());
    let mut current: Option<Data> = None;
    let mut all: Vec<Data> = Vec::new();
    let mut global = false;
    let (mut has_mean, mut has_distribution) = (true, true);
    while let Some(line) = input.next()? {
        let line = line.trim().to_owned();
        let spot = Spot::Line(input.number(), &line);
        let group = line
            .strip_prefix("Group: ")
            .and_then(|g| g.split_once(" | Cycle time(ms): "));
        if line == "Global Summary:" || group.is_some() {
            global = group.is_none();
            (has_mean, has_distribution) = (false, false);
            let name = group.map_or("all groups", |(name, _)| name);
            let mut data = out
                .data(name, Quantity::Latency, ms())
                .of(Of::Samples, None);
            data.method.load = Some(Loop::Open);
            data.method.trip = Some(Trip::OneWay);
            data.method.clocks = Some(1);
            data.method.time = Some(Clock::Wall);
            if let Some((_, cycle)) = group {
                let cycle = Number::count(cycle).map_err(|e| input.error(e))?;
                data = data.with("cycle", format!("{cycle} ms"));
            }
            all.push(data.clone());
            current = Some(data);
            continue;
        }
        let Some(data) = &mut current else {
            continue;
        };
        if let Some((key, value)) = line.split_once(": ") {
            let value = value.trim();
            let first = value.split_whitespace().next().unwrap_or_default();
            let fail = |e: String| spot.error(e);
            match key {
                "API" => *data = data.clone().with("api", value),
                "Received" => {
                    let count = Number::count(first).map_err(fail)?;
                    data.n = Some(count);
                    put_count(&mut out, data, "received", count, spot)?;
                }
                "Sent" => {
                    // Of a group: `300 iterations * 2 signals = 600 updates`.
                    let total = value.rsplit("= ").next().unwrap_or_default();
                    let total = total.split_whitespace().next().unwrap_or_default();
                    put_count(
                        &mut out,
                        data,
                        "sent",
                        Number::count(total).map_err(fail)?,
                        spot,
                    )?;
                }
                "Skipped" => {
                    put_count(
                        &mut out,
                        data,
                        "skipped",
                        Number::count(first).map_err(fail)?,
                        spot,
                    )?;
                }
                "Total elapsed seconds" => {
                    let seconds = Number::parse(first).map_err(fail)?.cut();
                    let of = data.other(Quantity::Duration, unit("s", Dimension::Time, 1.0));
                    out.put(&of, Statistic::Value, seconds, spot)?;
                }
                "Signal/Second" => {
                    let rate = Number::parse(first).map_err(fail)?.cut();
                    out.put(
                        &data.other(Quantity::Rate, per_second()),
                        Statistic::Rate,
                        rate,
                        spot,
                    )?;
                }
                "Fastest" => put(&mut out, data, Statistic::Min, value, spot)?,
                "Slowest" => put(&mut out, data, Statistic::Max, value, spot)?,
                "Average" => {
                    has_mean = true;
                    put(&mut out, data, Statistic::Mean, value, spot)?;
                }
                "95% in under" if !global => {
                    put(&mut out, data, Statistic::Percentile(95.0), value, spot)?;
                }
                _ => {}
            }
        } else if let Some((share, value)) = line.split_once("% in under ") {
            let p = Number::parse(share).map_err(|e| spot.error(e))?;
            has_distribution |= p.value == 99.0;
            let stated = !global && p.value == 95.0;
            if (0.0..=100.0).contains(&p.value) && !stated {
                put(&mut out, data, Statistic::Percentile(p.value), value, spot)?;
            }
        } else {
            input.own(&line)?;
        }
    }
    match (has_mean, has_distribution) {
        (false, _) => return Err(input.cut("Average:")),
        (true, false) => input.note_cut("99% in under"),
        _ => {}
    }
    for data in all {
        out.holds(&data, "{received} + {skipped} <= {sent}");
        out.holds(&data, "{received} <= {sent}");
    }
    Ok(out.done())
}

fn put(
    out: &mut Out,
    data: &Data,
    statistic: Statistic,
    value: &str,
    spot: Spot<'_>,
) -> Imported<()> {
    let Some(number) = value.strip_suffix(" ms") else {
        return Err(spot.error(format!("`{value}` has no `ms`; the file is cut off")));
    };
    let number = Number::parse(number.trim()).map_err(|e| spot.error(e))?;
    out.put(data, statistic, number, spot)
}

fn put_count(out: &mut Out, data: &Data, what: &str, count: u64, spot: Spot<'_>) -> Imported<()> {
    let quantity = match what {
        "sent" => Quantity::Sent,
        "received" => Quantity::Received,
        _ => Quantity::Count,
    };
    let data = data.other(quantity, unit("updates", Dimension::One, 1.0));
    out.put_named(
        &data,
        what,
        Statistic::Count,
        Number::of(count as f64, 0.0),
        spot,
    )
}
