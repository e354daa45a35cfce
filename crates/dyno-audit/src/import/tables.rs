//! Tools whose output is lines of one form, declared as data: the form of a row, what each field is, and what the tool always does.
//! One reader serves them all, and finds rows wherever they stand.

use super::Imported;
use super::lines::Lines;
use super::number::{Number, with_suffix};
use super::out::{Data, FIGURES, Out, Spot, time, unit, us};
use crate::Statements;
use crate::statement::{Clock, Dimension, Loop, Of, Quantity, Samples, Statistic, Trip, Unit};
use std::collections::BTreeMap;

/// What a tool prints.
struct Table {
    /// Forms of a row, of which the first that fits counts: words between blanks and commas, with fields in braces. `{size}` in bytes, `{n}`,
    /// `{name}`, `{duration}`, `{raw}` for one measured value, `{_}` for what is left out, else a statistic. More may stand
    /// behind them, unless a point ends the form.
    rows: &'static [&'static str],
    /// The text before the first number of a line that belongs to all rows after it: the payload in bytes.
    payload: Option<&'static str>,
    /// What a row is called, with its fields.
    name: &'static str,
    /// Of numbers without one.
    unit: fn() -> Unit,
    /// Whether the tool cuts its numbers off.
    cut: bool,
    trip: Trip,
    /// What holds between the figures of a row, with its fields; `{count}` is its n.
    holds: &'static [&'static str],
}

/// Latency tests of Fast DDS (`LatencyTestPublisher.cpp`).
const FASTDDS: Table = Table {
    rows: &["{size} {n} {sd} {mean} {min} {median} {p90} {p99} {p99.99} {max} ."],
    payload: None,
    name: "{size} B",
    unit: us,
    cut: false,
    trip: Trip::Round,
    holds: &[],
};

/// z_ping of zenoh's examples: one line for each round trip, cut to whole microseconds.
const Z_PING: Table = Table {
    rows: &["{size} bytes: seq={_} rtt={raw} lat={_}"],
    payload: None,
    name: "{size} B",
    unit: us,
    cut: true,
    trip: Trip::Round,
    holds: &[],
};

/// iceoryx2's benchmarks: the time of all exchanges, and what half of one takes.
const ICEORYX2: Table = Table {
    rows: &[
        "{name} ::: Iterations: {n} Time: {duration} s Latency: {mean} ns Sample Size: {size}",
        "{name} ::: Iterations: {n} Time: {duration} s Latency: {mean} ns",
    ],
    payload: None,
    name: "{name}",
    unit: ns,
    cut: true,
    trip: Trip::Half,
    holds: &["{duration-value} = {mean} * {count} * 2"],
};

/// The example RoundtripPing of Cyclone DDS: a line for each second, and one of all.
const CYCLONE: Table = Table {
    rows: &[
        "# Overall {n} {median} {min} {p99} {max} {_} {_} {_} {_} {_} {_}",
        "{second} {n} {median} {min} {p99} {max} {_} {_} {_} {_} {_} {_}",
    ],
    payload: Some("# payloadSize:"),
    name: "{second}",
    unit: us,
    cut: false,
    trip: Trip::Round,
    holds: &[],
};

fn ns() -> Unit {
    super::out::ns()
}

pub(super) fn fastdds(input: &mut Lines<'_>) -> Imported<Statements> {
    read(input, &FASTDDS)
}

pub(super) fn z_ping(input: &mut Lines<'_>) -> Imported<Statements> {
    read(input, &Z_PING)
}

pub(super) fn iceoryx2(input: &mut Lines<'_>) -> Imported<Statements> {
    read(input, &ICEORYX2)
}

pub(super) fn cyclone(input: &mut Lines<'_>) -> Imported<Statements> {
    read(input, &CYCLONE)
}

type Fields<'a> = Vec<(&'static str, &'a str)>;

/// The fields of a line of this form.
fn fields<'a>(form: &'static str, line: &'a str) -> Option<Fields<'a>> {
    let mut words = line.split([' ', '\t', ',']).filter(|w| !w.is_empty());
    let mut found = Vec::new();
    for part in form.split(' ') {
        if part == "." {
            return words.all(|w| w.trim().is_empty()).then_some(found);
        }
        let word = words.next()?;
        let Some((before, rest)) = part.split_once('{') else {
            if part != word {
                return None;
            }
            continue;
        };
        let (field, after) = rest.split_once('}')?;
        let value = word.strip_prefix(before)?.strip_suffix(after)?;
        // Words stand in no place of a number.
        let digits = value.strip_prefix('-').unwrap_or(value);
        if field != "name" && !digits.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        found.push((field, value));
    }
    Some(found)
}

fn read(input: &mut Lines<'_>, table: &'static Table) -> Imported<Statements> {
    let mut out = Out::new(input.tool());
    let mut raw: BTreeMap<String, (Data, Samples)> = BTreeMap::new();
    let mut payload = None;
    while let Some(line) = input.next()? {
        let line = line.to_owned();
        let spot = Spot::Line(input.number(), &line);
        let said = table.payload.and_then(|before| line.split_once(before));
        if let Some((_, rest)) = said {
            let word = rest.split_whitespace().next().unwrap_or_default();
            payload = Some(Number::count(word).map_err(|e| spot.error(e))?);
        }
        match table.rows.iter().find_map(|form| fields(form, &line)) {
            Some(fields) => row(&mut out, &mut raw, table, (&fields, payload), spot)?,
            None => {
                let pointed = with_points(&line);
                if pointed != line
                    && table
                        .rows
                        .iter()
                        .any(|form| fields(form, &pointed).is_some())
                {
                    return Err(spot.error(
                        "a number has a comma where a point belongs; run the tool with LC_ALL=C, commas are not interpreted",
                    ));
                }
                input.own(&line)?;
            }
        }
    }
    let mut all: Vec<Samples> = raw.into_values().map(|(_, raw)| raw).collect();
    all.sort_by_key(|raw| raw.line);
    for raw in all {
        out.keep(raw);
    }
    Ok(out.done())
}

/// With a point in place of each comma between two digits.
fn with_points(line: &str) -> String {
    let digit = |i: Option<usize>| {
        let byte = i.and_then(|i| line.as_bytes().get(i));
        byte.is_some_and(u8::is_ascii_digit)
    };
    let point =
        |(i, c): (usize, char)| match c == ',' && digit(i.checked_sub(1)) && digit(Some(i + 1)) {
            true => '.',
            false => c,
        };
    line.char_indices().map(point).collect()
}

fn row(
    out: &mut Out,
    raw: &mut BTreeMap<String, (Data, Samples)>,
    table: &Table,
    (fields, payload): (&Fields<'_>, Option<u64>),
    spot: Spot<'_>,
) -> Imported<()> {
    let get = |name: &str| {
        fields
            .iter()
            .find(|(field, _)| *field == name)
            .map(|(_, v)| *v)
    };
    let count = |name| {
        get(name)
            .map(Number::count)
            .transpose()
            .map_err(|e| spot.error(e))
    };
    let mut name = table.name.to_owned();
    for (field, value) in fields {
        name = name.replace(&format!("{{{field}}}"), value);
    }
    let name = match get("second") {
        Some(second) => format!("second {second}"),
        None => name.replace("{second}", "overall"),
    };
    let (n, bytes) = (count("n")?, count("size")?.or(payload));
    let describe = |mut data: Data| {
        data.method.load = Some(Loop::Closed);
        data.method.clients = Some(1);
        data.method.trip = Some(table.trip);
        data.method.clocks = Some(1);
        data.method.time = Some(Clock::Wall);
        if let Some(bytes) = bytes {
            data.method.payload_bytes = Some(bytes as f64);
            data = data.with("payload", format!("{bytes} B"));
        }
        data
    };
    if let (Some(value), Spot::Line(line, _)) = (get("raw"), spot) {
        if raw.len() >= FIGURES && !raw.contains_key(&name) {
            return Err(spot.error(format!("there are more than {FIGURES} series")));
        }
        let (number, own) = measured(table, value, spot)?;
        let (data, samples) = raw.entry(name.clone()).or_insert_with(|| {
            let data = describe(out.data(&name, Quantity::Latency, own.clone()));
            let samples = out.raw(&data, "latency", line);
            (data, samples)
        });
        let data = Data {
            unit: own,
            ..data.clone()
        };
        out.add(samples, &data, &number, 1);
        return Ok(());
    }
    let data = describe(
        out.data(&name, Quantity::Latency, (table.unit)())
            .of(Of::Samples, n),
    );
    for (field, value) in fields {
        if let Some(statistic) = Statistic::from_word(field) {
            let (number, unit) = measured(table, value, spot)?;
            out.put(
                &Data {
                    unit,
                    ..data.clone()
                },
                statistic,
                number,
                spot,
            )?;
        }
    }
    if let Some(seconds) = get("duration") {
        let number = Number::parse(seconds).map_err(|e| spot.error(e))?;
        let of = data.other(Quantity::Duration, unit("s", Dimension::Time, 1.0));
        out.put(&of, Statistic::Value, number, spot)?;
    }
    if let Some(n) = n {
        for relation in table.holds {
            out.holds(&data, &relation.replace("{count}", &n.to_string()));
        }
    }
    Ok(())
}

/// A number with its unit, or with that of the table.
fn measured(table: &Table, text: &str, spot: Spot<'_>) -> Imported<(Number, Unit)> {
    let (number, word) = with_suffix(text).map_err(|e| spot.error(e))?;
    let unit = match word {
        "" => (table.unit)(),
        word => time(word).ok_or_else(|| spot.error(format!("`{word}` is no unit of time")))?,
    };
    Ok((if table.cut { number.cut() } else { number }, unit))
}
