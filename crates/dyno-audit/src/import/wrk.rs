//! wrk and wrk2. wrk waits for each answer on each connection, and from version 4 on adds to its samples what a stall kept it from
//! sending; wrk2 sends by the clock and times from the intended instant, which its line of calibration or its HdrHistogram tells.

use super::error::Imported;
use super::lines::Lines;
use super::out::{Out, Spot};
use super::tables::{Field, PLAIN, Reader, Role, Table, fields};
use crate::Statements;
use crate::statement::{Clock, Loop, Trip};

const EACH: &str = " each thread";

const FIELDS: &[Field] = fields! {
    // What wrk2 prints below its spectrum, in the unit of that.
    "again-mean": Latency Mean "ms" Rounded;
    "again-sd": Latency Sd "ms" Rounded;
    "within": Latency WithinOneSd "%" Rounded .part("within-1sd");
    // Of intervals of each thread, whose number is not printed.
    "each-mean": Rate Mean "" Rounded .of(EACH);
    "each-sd": Rate Sd "" Rounded .of(EACH);
    "each-max": Rate Max "" Rounded .of(EACH);
    "count": Count Count "requests" Exact;
    "duration": Duration Value "" Rounded;
    "size-sum": Size Sum "" Rounded;
    "rate": Rate Rate "1/s" Rounded;
    "transfer": Bandwidth Rate "" Rounded;
    "errors": Errors Count "answers" Exact .part("errors");
};

const TABLE: Table = Table {
    lines: &[
        (Role::Begin, "Running {_} test @ {target*}"),
        (Role::Row, "{threads} threads and {connections} connections"),
        (Role::Row, "Thread calibration: {open**}"),
        (Role::Row, "Latency Distribution (HdrHistogram {open**}"),
        (Role::Row, "Latency Distribution ."),
        (Role::Row, "Latency {mean} {sd} {max} {within}%"),
        (Role::Row, "Req/Sec {each-mean} {each-sd} {each-max} {_}%"),
        (Role::Row, "{p}% {at} ."),
        (
            Role::Row,
            "#[Mean = {again-mean} StdDeviation = {again-sd}]",
        ),
        (Role::Row, "#[Max = {_} Total count = {n}]"),
        (Role::Row, "{count} requests in {duration} {size-sum} read"),
        (Role::Row, "{count} requests in {duration}"),
        (Role::Row, "Requests/sec: {rate}"),
        (Role::Row, "Transfer/sec: {transfer}"),
        (Role::Row, "Non-2xx or 3xx responses: {errors}"),
    ],
    fields: FIELDS,
    name: "{target} ({threads} threads)|{target}",
    unit: "",
    conditions: &[("target", "{target}"), ("connections", "{connections}")],
    describe: |data, said| {
        // wrk 4 adds to its samples those that a stall kept it from sending (`stats_correct` in its source), so they are
        // neither those of its closed loop nor of a schedule.
        data.method.load = said.contains_key("open").then_some(Loop::Open);
        data.method.trip = Some(Trip::Round);
        data.method.clocks = Some(1);
        data.method.time = Some(Clock::Wall);
    },
    // wrk2's values are out of a histogram with 1,024 buckets in each doubling, the largest by its lower edge and percentiles by their upper.
    adjust: |said, number| {
        if said.contains_key("open") {
            number.half_step += number.value.abs() / 2048.0;
        }
    },
    holds: &[
        "$n <= {count}",
        "{count} = {rate} * {duration-value}",
        "{size-sum} = {bandwidth-rate} * {duration-value}",
    ],
    lacks: |lines| {
        let ended = lines.iter().any(|line| line.text.contains("Transfer/sec:"));
        (!ended).then_some(("Transfer/sec:", false))
    },
    ..PLAIN
};

/// wrk2's latencies from the real send, which it prints too.
const UNCORRECTED: Table = Table {
    name: "{target} ({threads} threads), uncorrected|{target}, uncorrected",
    describe: |data, said| {
        (TABLE.describe)(data, said);
        data.method.load = None;
    },
    holds: &["$n <= {count}"],
    lacks: |_| None,
    ..TABLE
};

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    let mut out = Out::new(input.tool());
    let (mut main, mut uncorrected) = (Reader::new(&TABLE), Reader::new(&UNCORRECTED));
    let (mut is_spectrum, mut is_uncorrected) = (false, false);
    while let Some(line) = input.next()? {
        let line = line.to_owned();
        let text = line.trim_start();
        let begins = text.starts_with("Running ");
        is_spectrum |= text.starts_with("Detailed Percentile spectrum") || text.starts_with("#[");
        is_spectrum &= !line.starts_with("-----");
        is_uncorrected = !begins && (is_uncorrected || text.contains("- Uncorrect"));
        if text.starts_with("Socket errors:") {
            out.note(format!("line {}: {text}", input.number()));
            out.banner(Spot::Line(input.number(), &line));
        }
        let of_both = begins || text.contains(" threads and ") || text.contains("HdrHistogram");
        // The end of the run stands behind both distributions.
        let below = text.starts_with("#[M");
        let of_latency = text.contains('%') || below;
        let is_row = !is_spectrum || below;
        if is_row && (of_both || (is_uncorrected && of_latency)) {
            uncorrected.line(&mut out, input, &line)?;
        }
        if is_row && !(is_uncorrected && of_latency) {
            main.line(&mut out, input, &line)?;
        }
    }
    main.done(&mut out, input)?;
    uncorrected.done(&mut out, input)?;
    Ok(out.done())
}
