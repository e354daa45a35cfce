//! `stats_path.yaml` of TIER IV's caret_report: response times of paths through ROS 2 nodes, in milliseconds, as a trace of one machine shows
//! them. *Best* counts from the message that the path took in, *worst* from the one before, which waited for it (`analyze_path.py`).

use super::error::Imported;
use super::lines::Lines;
use super::out::Out;
use super::tables::{PLAIN, Reader, Role, Table};
use crate::Statements;
use crate::statement::{Clock, Trip};

const BEST: Table = Table {
    lines: &[
        (Role::Begin, "- target_path_name: {path**}"),
        (Role::Row, "best_avg: {mean}"),
        (Role::Row, "best_min: {min}"),
        (Role::Row, "best_max: {max}"),
        (Role::Row, "best_p50: {median}"),
        (Role::Row, "best_p95: {p95}"),
        (Role::Row, "best_p99: {p99}"),
        (Role::Row, "filename_messageflow: {_**}"),
    ],
    name: "{path}, best",
    unit: "ms",
    describe: |data, _| {
        data.method.trip = Some(Trip::OneWay);
        data.method.clocks = Some(1);
        data.method.time = Some(Clock::Wall);
    },
    // It stands behind all figures.
    lacks: |lines| {
        let ended = lines.iter().any(|line| line.text.contains("filename_"));
        (!ended).then_some(("filename_messageflow:", true))
    },
    ..PLAIN
};

const WORST: Table = Table {
    lines: &[
        (Role::Begin, "- target_path_name: {path**}"),
        (Role::Row, "worst_avg: {mean}"),
        (Role::Row, "worst_min: {min}"),
        (Role::Row, "worst_max: {max}"),
        (Role::Row, "worst_p50: {median}"),
        (Role::Row, "worst_p95: {p95}"),
        (Role::Row, "worst_p99: {p99}"),
    ],
    name: "{path}, worst",
    lacks: |_| None,
    ..BEST
};

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    let mut out = Out::new(input.tool());
    let (mut best, mut worst) = (Reader::new(&BEST), Reader::new(&WORST));
    while let Some(line) = input.next()? {
        let line = line.to_owned();
        let is_best = best.line(&mut out, input, &line)?;
        if !worst.line(&mut out, input, &line)? && !is_best {
            input.own(&line)?;
        }
    }
    best.done(&mut out, input)?;
    worst.done(&mut out, input)?;
    Ok(out.done())
}
