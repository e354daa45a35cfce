//! The console form: columns of name, time, processor time and iterations, then counters and a label. Programs print lines of
//! their own in between, which are passed over.

use super::rows::{Counter, Groups, Row};
use crate::Statements;
use crate::import::error::Imported;
use crate::import::lines::Lines;
use crate::import::number::{Number, with_suffix};
use crate::import::out::{Out, Spot, percent, time};
use crate::statement::Unit;

/// Lines before the table that say something of build and machine.
const BANNERS: &[&str] = &[
    "***WARNING***",
    "Run on (",
    "Running ",
    "Load Average:",
    "CPU Caches:",
];

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    let mut groups = Groups::new(Out::new(input.tool()));
    // Names of counters in columns, of `--benchmark_counters_tabular`.
    let mut columns: Vec<String> = Vec::new();
    let (mut in_table, mut begins) = (false, false);
    let mut half: Option<(u64, String)> = None;
    while let Some(line) = input.next()? {
        let line = line.to_owned();
        let spot = Spot::Line(input.number(), &line);
        half = None;
        let words: Vec<&str> = line.split_whitespace().collect();
        if BANNERS.iter().any(|b| line.trim_start().starts_with(b)) {
            if line.trim_start().starts_with("Running ") {
                groups.finish()?;
            }
            groups.out.banner(spot);
        } else if is_date(line.trim()) {
            groups.out.banner(spot);
            groups.out.tested(line.trim());
        } else if let ["Benchmark", "Time", "CPU", "Iterations", ref rest @ ..] = words[..] {
            (in_table, begins) = (true, true);
            columns = rest.iter().map(|w| (*w).to_owned()).collect();
            columns.retain(|w| w != "UserCounters...");
        } else if let Some((name, message)) = line.split_once("ERROR OCCURRED:") {
            let (name, message) = (name.trim(), message.trim().trim_matches('\''));
            groups.out.note(format!("{name} failed: {message}"));
        } else if in_table {
            match row(&words, &columns).map_err(|e| input.error(e))? {
                Found::Row(row) => {
                    // Tables of one run have other benchmarks.
                    if std::mem::take(&mut begins) && groups.knows(&row.name) {
                        groups.finish()?;
                    }
                    groups.add(*row, spot)?;
                }
                Found::Half(name) if groups.knows(name) => {
                    return Err(input.error(CUT));
                }
                Found::Half(_) => half = Some((input.number(), CUT.to_owned())),
                Found::Other => input.own(&line)?,
            }
        }
    }
    // The last line is half of a row.
    match half {
        Some((line, reason)) => Err(crate::import::error::ImportError::line(line, reason)),
        None => groups.done(),
    }
}

const CUT: &str =
    "a row needs a time, a processor time and iterations, and this one lacks some of them";

fn is_date(line: &str) -> bool {
    let digits = |range: std::ops::Range<usize>| {
        line.get(range)
            .is_some_and(|t| t.bytes().all(|b| b.is_ascii_digit()))
    };
    line.len() < 40
        && digits(0..4)
        && digits(5..7)
        && line.get(4..5) == Some("-")
        && line.contains(':')
}

enum Found<'a> {
    Row(Box<Row>),
    /// A name with a time and nothing behind it.
    Half(&'a str),
    Other,
}

fn unit_of(word: &str) -> Option<Unit> {
    match word {
        "%" => Some(percent()),
        "ns" | "us" | "ms" | "s" => time(word),
        _ => None,
    }
}

fn row<'a>(words: &[&'a str], columns: &[String]) -> Result<Found<'a>, String> {
    let looks = |i: usize| {
        let digit = words
            .get(i)
            .is_some_and(|w| w.starts_with(|c: char| c.is_ascii_digit()));
        digit && words.get(i + 1).is_some_and(|w| unit_of(w).is_some())
    };
    let Some(at) = (1..words.len()).find(|i| looks(*i)) else {
        return Ok(Found::Other);
    };
    // The library's estimates of complexity have no iterations.
    let name = words[..at].join(" ");
    if name.ends_with("_BigO") || name.ends_with("_RMS") {
        return Ok(Found::Other);
    }
    if !looks(at + 2) || words.len() < at + 5 {
        return Ok(match at {
            1 => Found::Half(words[0]),
            _ => Found::Other,
        });
    }
    let unit = unit_of(words[at + 1]).unwrap_or_else(percent);
    let mut counters = Vec::new();
    let behind = &words[at + 5..];
    if columns.is_empty() || behind.len() < columns.len() {
        for word in behind {
            if let Some((name, value)) = word.split_once('=')
                && is_number(value)
            {
                counters.push(counter(name, value)?);
            }
        }
    } else {
        for (name, value) in columns.iter().zip(behind) {
            if is_number(value) {
                counters.push(counter(name, value)?);
            }
        }
    }
    Ok(Found::Row(Box::new(Row {
        name,
        real: Number::parse(words[at])?,
        cpu: Some(Number::parse(words[at + 2])?),
        unit,
        iterations: Number::count(words[at + 4])?,
        counters,
        medians: false,
    })))
}

/// Whether a counter is one: what a program divides by nothing is `nan` or `inf`.
fn is_number(value: &str) -> bool {
    let word = value.trim_start_matches(['-', '+']).to_ascii_lowercase();
    !word.starts_with("nan") && !word.starts_with("inf")
}

/// `20.1404G/s`, `65.536k`, `2.33%`. Bytes per second have prefixes of 1024, whether or not an `i` stands behind them
/// (`SetBytesProcessed` of the library); those of all others are decimal unless it does.
fn counter(name: &str, value: &str) -> Result<Counter, String> {
    let (digits, per_second) = match value.strip_suffix("/s") {
        Some(digits) => (digits, true),
        None => (value, false),
    };
    let (number, suffix) = with_suffix(digits)?;
    let binary = suffix.ends_with('i') || name == "bytes_per_second";
    let step: f64 = if binary { 1024.0 } else { 1000.0 };
    let power = match suffix.trim_end_matches('i') {
        "" | "%" => 0,
        "k" | "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        "P" => 5,
        "m" => -1,
        "u" => -2,
        "n" => -3,
        _ => {
            return Err(format!(
                "`{value}` has a prefix that the tool does not print"
            ));
        }
    };
    Ok(Counter {
        name: name.to_owned(),
        number,
        prefix: match suffix {
            "%" => String::new(),
            prefix if binary && !prefix.is_empty() => format!("{}i", prefix.trim_end_matches('i')),
            prefix => prefix.to_owned(),
        },
        factor: step.powi(power),
        per_second,
        percent: suffix == "%",
    })
}
