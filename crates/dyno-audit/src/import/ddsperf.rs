//! ddsperf of Cyclone DDS: the lines of round trips, whose times are halved (`process_pong` in `ddsperf.c`), and those of a subscriber.
//! Each line is of one interval, about a second; the first [`INTERVALS`] give figures, the means of all give raw values.
//!
//! Processes and instants differ in each run. Peers, subscribers and intervals are therefore named by their numbers, so that
//! two runs have figures of one name; the line itself stands at the place of each figure.

use super::Imported;
use super::lines::Lines;
use super::number::{Number, with_suffix};
use super::out::{Data, Out, Spot, time, unit, us};
use crate::Statements;
use crate::statement::{Clock, Dimension, Of, Quantity, Samples, Statistic, Trip};
use std::collections::BTreeMap;

/// Intervals that give figures.
pub(super) const INTERVALS: u64 = 1_000;

/// The most peers, and the most subscribers.
const PEERS: usize = 1_000;

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    let mut out = Out::new(input.tool());
    let mut peers: BTreeMap<(String, String), (Data, Samples, u64)> = BTreeMap::new();
    let mut subscribers: BTreeMap<(String, String), (String, u64)> = BTreeMap::new();
    while let Some(line) = input.next()? {
        let line = line.to_owned();
        let at = input.number();
        let spot = Spot::Line(at, &line);
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_pid = |word: &&str| {
            let inner = word.strip_prefix('[').and_then(|w| w.strip_suffix(']'));
            inner.is_some_and(|pid| pid.parse::<u64>().is_ok())
        };
        let Some(first) = words.iter().position(is_pid) else {
            input.own(&line)?;
            continue;
        };
        // In containers each process may have the same number: what stands before it tells them apart.
        let pid = &words[first];
        let prefix = format!("{}{}", input.source(), words[..first].join(" "));
        match words[first + 1..] {
            [instant, peer, "size", size, "mean", ref rest @ ..] if peer.contains(':') => {
                let number = peers.len() + 1;
                let key = (format!("{prefix}{pid}"), peer.to_owned());
                if number > PEERS && !peers.contains_key(&key) {
                    return Err(spot.error(format!("there are more than {PEERS} peers")));
                }
                let bytes = Number::count(size).map_err(|e| spot.error(e))?;
                let (data, raw, seen) = peers.entry(key).or_insert_with(|| {
                    let mut data = out.data(&format!("peer {number}"), Quantity::Latency, us());
                    data.method.trip = Some(Trip::Half);
                    data.method.clocks = Some(1);
                    data.method.payload_bytes = Some(bytes as f64);
                    let raw = out.raw(&data, "means", at);
                    (data, raw, 0)
                });
                let (mean, n) = round_trips(&mut out, (data, *seen), (instant, size, rest), spot)?;
                *seen += 1;
                out.add(raw, data, &mean, n);
            }
            [instant, "size", size, "total", ref rest @ ..] => {
                let number = subscribers.len() + 1;
                let key = (prefix, (*pid).to_owned());
                if number > PEERS && !subscribers.contains_key(&key) {
                    return Err(spot.error(format!("there are more than {PEERS} subscribers")));
                }
                let own = || (format!("subscriber {number}"), 0);
                let (name, seen) = subscribers.entry(key).or_insert_with(own);
                *seen += 1;
                if *seen <= INTERVALS {
                    let before = format!("{name}, interval {}/total", *seen - 1);
                    let name = format!("{name}, interval {seen}");
                    let data = subscriber(&mut out, &name, (instant, size, rest), spot)?;
                    out.holds(&data, "{delta} <= {total}");
                    out.holds(&data, &format!("{{{before}}} <= {{total}}"));
                }
            }
            _ => {}
        }
    }
    if peers.is_empty() && subscribers.is_empty() {
        input.note("only `ddsperf ping` and `ddsperf sub` print what is read: a publisher and a `pong` print neither round trips nor what arrived".to_owned());
    }
    let mut all: Vec<Samples> = peers.into_values().map(|(_, raw, _)| raw).collect();
    all.sort_by_key(|raw| raw.line);
    for raw in all {
        out.keep(raw);
    }
    Ok(out.done())
}

const CUT: &str = "the line ends too early; the file is cut off";

/// `30.774us min 9.028us 50% 12.704us 90% 14.876us 99% 847.896us max 3672.863us cnt 16242`: the mean and its number, and figures of the
/// interval while they are wanted; so many were `seen` before.
fn round_trips(
    out: &mut Out,
    (data, seen): (&Data, u64),
    (instant, size, rest): (&str, &str, &[&str]),
    spot: Spot<'_>,
) -> Imported<(Number, u64)> {
    let fail = |e: String| spot.error(e);
    let micros = |text: &str| -> Imported<Number> {
        let (number, suffix) = with_suffix(text).map_err(fail)?;
        match time(suffix) {
            Some(unit) if unit.factor == 1e-6 => Ok(number),
            _ => Err(spot.error(format!("`{text}` is no number of us; the file is cut off"))),
        }
    };
    let [mean, ref pairs @ ..] = *rest else {
        return Err(spot.error(CUT));
    };
    let mean = micros(mean)?;
    let mut figures = vec![(Statistic::Mean, mean.clone())];
    let mut n = None;
    for pair in pairs.chunks(2) {
        let [key, value] = pair else {
            return Err(spot.error(CUT));
        };
        let statistic = match *key {
            "cnt" => {
                n = Some(Number::count(value).map_err(fail)?);
                continue;
            }
            "min" => Statistic::Min,
            "max" => Statistic::Max,
            p => {
                let p = Number::parse(p.trim_end_matches('%')).map_err(fail)?.value;
                if !(0.0..=100.0).contains(&p) {
                    return Err(spot.error(format!("`{key}` is no percentile")));
                }
                Statistic::Percentile(p)
            }
        };
        figures.push((statistic, micros(value)?));
    }
    let n = n.ok_or_else(|| spot.error(CUT))?;
    let size = Number::count(size).map_err(fail)?;
    Number::parse(instant).map_err(fail)?;
    if seen < INTERVALS {
        let name = format!("{}, interval {}", data.name, seen + 1);
        let mut of = out
            .data(&name, Quantity::Latency, us())
            .of(Of::Samples, Some(n));
        of.method = data.method.clone();
        of.method.payload_bytes = Some(size as f64);
        let of = of.with("payload", format!("{size} B"));
        for (statistic, number) in figures {
            out.put(&of, statistic, number, spot)?;
        }
    }
    Ok((mean, n))
}

/// `547 lost 0 delta 547 lost 0 rate 0.55 kS/s 0.44 Mb/s (…)`.
fn subscriber(
    out: &mut Out,
    name: &str,
    (instant, size, rest): (&str, &str, &[&str]),
    spot: Spot<'_>,
) -> Imported<Data> {
    let [
        total,
        "lost",
        lost,
        "delta",
        delta,
        "lost",
        _,
        "rate",
        rate,
        "kS/s",
        bits,
        "Mb/s",
        ..,
    ] = *rest
    else {
        return Err(spot.error(CUT));
    };
    let fail = |e: String| spot.error(e);
    let size = Number::count(size).map_err(fail)?;
    Number::parse(instant).map_err(fail)?;
    let mut data = out
        .data(name, Quantity::Rate, unit("kS/s", Dimension::Rate, 1e3))
        .with("payload", format!("{size} B"));
    data.method.payload_bytes = Some(size as f64);
    data.method.time = Some(Clock::Wall);
    data.method.loss_stated = Some(true);
    out.put(
        &data,
        Statistic::Rate,
        Number::parse(rate).map_err(fail)?,
        spot,
    )?;
    let of = data.other(
        Quantity::Bandwidth,
        unit("Mb/s", Dimension::Bandwidth, 125e3),
    );
    out.put(
        &of,
        Statistic::Rate,
        Number::parse(bits).map_err(fail)?,
        spot,
    )?;
    for (part, quantity, text) in [
        ("total", Quantity::Count, total),
        ("delta", Quantity::Count, delta),
        ("lost", Quantity::Loss, lost),
    ] {
        let count = Number::count(text).map_err(fail)?;
        let of = data.other(quantity, unit("samples", Dimension::One, 1.0));
        out.put_named(
            &of,
            part,
            Statistic::Count,
            Number::of(count as f64, 0.0),
            spot,
        )?;
    }
    Ok(data)
}
