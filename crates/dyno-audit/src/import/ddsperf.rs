//! ddsperf of Cyclone DDS: the lines of round trips, whose times are halved (`process_pong` in `ddsperf.c`), and those of a subscriber.
//! Each line is of one interval, about a second; the first [`INTERVALS`] give figures, the means of all give raw values.
//!
//! Processes and instants differ in each run. Peers, subscribers and intervals are therefore named by their numbers, so that
//! two runs have figures of one name; the line itself stands at the place of each figure.

use super::error::Imported;
use super::lines::Lines;
use super::number::Number;
use super::out::{Data, Out, Spot, us};
use super::tables::{PLAIN, Reader, Role, Said, Table, fields, fitting};
use crate::Statements;
use crate::statement::SIZES;
use crate::statement::SOME;
use crate::statement::{Clock, Quantity, Samples, Trip};
use std::collections::BTreeMap;

/// Intervals that give figures.
pub(super) const INTERVALS: u64 = 1_000;

/// The most peers, and the most subscribers.
const PEERS: usize = 1_000;

const PING: Table = Table {
    lines: &[(
        Role::Set,
        "[{pid}] {_} {address*} size {size} mean {mean}us min {min}us 50% {median}us 90% {p90}us 99% {p99}us max {max}us cnt {n}",
    )],
    name: "peer {peer}, interval {interval}",
    describe: |data, said| {
        data.method.trip = Some(Trip::Half);
        data.method.clocks = Some(1);
        // It keeps no more for its percentiles (`PINGPONG_RAWSIZE`).
        if said.get("n").and_then(|n| n.parse().ok()) > Some(20_000u64) {
            *data = data.clone().with(SOME, "the first 20,000");
        }
    },
    anywhere: true,
    ..PLAIN
};

const SUB: Table = Table {
    lines: &[(
        Role::Set,
        "[{pid}] {second} size {size} total {total} lost {lost} delta {delta} lost {new} rate {rate} kS/s {bits} Mb/s",
    )],
    fields: fields! {
        "rate": Rate Rate "kS/s" Rounded;
        "bits": Bandwidth Rate "Mb/s" Rounded;
        "total": Count Count "samples" Exact .part("total");
        "delta": Count Count "samples" Exact .part("delta");
        "lost": Loss Count "samples" Exact .part("lost");
        "new": Loss Count "samples" Exact .part("lost-since");
    },
    name: "subscriber {peer}, interval {interval}",
    quantity: Quantity::Rate,
    unit: "kS/s",
    describe: |data, _| {
        data.method.time = Some(Clock::Wall);
        data.method.loss_stated = Some(true);
        *data = data.clone().with(SIZES, "the last sample");
    },
    holds: &[
        "{delta} <= {total}",
        "{lost-since} <= {lost}",
        "{subscriber $peer, interval $last/total} + {delta} <= {total}",
        "{subscriber $peer, interval $last/lost} + {lost-since} <= {lost}",
        // Unless lines between were left out.
        "{total} <= {subscriber $peer, interval $last/total} + {delta} + $out",
        "{lost} <= {subscriber $peer, interval $last/lost} + {lost-since} + $out",
        "{delta} <= {rate} * $longest",
        "{rate} * $shortest <= {delta}",
    ],
    anywhere: true,
    ..PLAIN
};

/// Those that were seen, by what names them, with their numbers and how many lines each has.
type Seen = BTreeMap<String, (usize, u64)>;

/// The number of whoever wrote this line, and that of its interval.
fn number(seen: &mut Seen, key: String, spot: Spot<'_>) -> Imported<(usize, u64)> {
    let next = seen.len() + 1;
    if next > PEERS && !seen.contains_key(&key) {
        return Err(spot.error(format!("there are more than {PEERS} peers or subscribers")));
    }
    let (number, lines) = seen.entry(key).or_insert((next, 0));
    *lines += 1;
    Ok((*number, *lines))
}

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    let mut out = Out::new(input.tool());
    let (mut ping, mut sub) = (Reader::new(&PING), Reader::new(&SUB));
    let (mut peers, mut subscribers) = (Seen::new(), Seen::new());
    let mut means: BTreeMap<usize, (Data, Samples)> = BTreeMap::new();
    // How often each process began: one may have the number of another that ended, as the first of each container does.
    let mut begun: BTreeMap<String, u64> = BTreeMap::new();
    let mut before: BTreeMap<usize, f64> = BTreeMap::new();
    while let Some(line) = input.next()? {
        let line = line.to_owned();
        let spot = Spot::Line(input.number(), &line);
        // In containers each process may have the same number: what stands before it tells them apart.
        let process = line.split(']').next().unwrap_or_default();
        let process = format!("{} {process}", input.source());
        if line.trim_end().ends_with(": new (self)") && begun.len() < PEERS {
            *begun.entry(process.clone()).or_default() += 1;
        }
        let mut found = None;
        for (table, reader, seen) in [
            (&PING, &mut ping, &mut peers),
            (&SUB, &mut sub, &mut subscribers),
        ] {
            let Some((_, fields)) = fitting(table, &line).map_err(|e| spot.error(e))? else {
                continue;
            };
            let said: Said = fields.into_iter().collect();
            let get = |field: &str| said.get(field).map_or("", String::as_str);
            let run = begun.get(&process).copied().unwrap_or(0);
            let key = format!("{process} {run} {}", get("address"));
            let (peer, interval) = number(seen, key, spot)?;
            found = Some(());
            if let Some(mean) = said.get("mean") {
                let (data, raw) = means.entry(peer).or_insert_with(|| {
                    let mut data = out.data(&format!("peer {peer}"), Quantity::Latency, us());
                    (PING.describe)(&mut data, &said);
                    data.method.payload_bytes = get("size").parse().ok();
                    let raw = out.raw(&data, "means", input.number());
                    (data, raw)
                });
                let mean = Number::parse(mean).map_err(|e| spot.error(e))?;
                let n = Number::count(get("n")).map_err(|e| spot.error(e))?;
                out.add(raw, data, &mean, n);
            }
            if let Ok(now) = get("second").parse::<f64>() {
                let passed = before.insert(peer, now).map_or(f64::MAX, |then| now - then);
                // It prints once a second, or not where nothing came; its instants have three decimals.
                let next = (0.0..1.3).contains(&passed);
                for (what, is) in [
                    ("out", if next { 0.0 } else { 1e18 }),
                    (
                        "longest",
                        if passed < 0.0 {
                            1e18
                        } else {
                            passed.min(1e18) + 0.002
                        },
                    ),
                    (
                        "shortest",
                        if next { (passed - 0.002).max(0.0) } else { 0.0 },
                    ),
                ] {
                    reader.say(what, format!("{is:.3}"));
                }
            }
            if interval <= INTERVALS {
                reader.say("peer", peer.to_string());
                reader.say("interval", interval.to_string());
                reader.say("last", (interval - 1).to_string());
                reader.line(&mut out, input, &line)?;
            }
        }
        // All of its lines begin with a number of a process.
        if found.is_none() && !line.starts_with('[') {
            input.own(&line)?;
        }
    }
    if peers.is_empty() && subscribers.is_empty() {
        input.note("only `ddsperf ping` and `ddsperf sub` print what is read: a publisher and a `pong` print neither round trips nor what arrived".to_owned());
    }
    let mut all: Vec<Samples> = means.into_values().map(|(_, raw)| raw).collect();
    all.sort_by_key(|raw| raw.line);
    all.into_iter().for_each(|raw| out.keep(raw));
    Ok(out.done())
}
