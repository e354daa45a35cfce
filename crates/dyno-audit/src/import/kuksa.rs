//! kuksa-perf (formerly databroker-perf) of Eclipse KUKSA: the summary of each group and of all, as its `src/utils.rs` prints them.
//! A provider and a subscriber in one process send by cycle time; the latency is one way, by one clock.
//!
//! The `95% in under:` of a summary is left out in favour of that in its distribution: of all groups it is the mean of their own
//! percentiles, of one group both are the same.

use super::tables::{Field, PLAIN, Role, Table, fields};
use crate::statement::{Clock, Loop, Trip};

const FIELDS: &[Field] = fields! {
    "received": Received Count "updates" Exact .part("received");
    "skipped": Count Count "updates" Exact .part("skipped");
    "sent": Sent Count "updates" Exact .part("sent");
    "duration": Duration Value "s" Cut;
    "rate": Rate Rate "1/s" Cut;
};

pub(super) const TABLE: Table = Table {
    lines: &[
        (Role::Begin, "Global Summary:"),
        (Role::Begin, "Group: {group**} | Cycle time(ms): {cycle}"),
        (Role::Row, "API: {api**}"),
        (Role::Row, "Received: {received}"),
        (
            Role::Row,
            "Sent: {_} iterations * {_} signals = {sent} updates",
        ),
        (Role::Row, "Sent: {sent}"),
        (Role::Row, "Skipped: {skipped}"),
        (Role::Row, "Total elapsed seconds: {duration}"),
        (Role::Row, "Skipped test seconds: {idle}"),
        (Role::Row, "Signal/Second: {rate}"),
        // The newest version.
        (Role::Row, "Throughput: {rate} signal/second"),
        (Role::Row, "Fastest: {min} ms"),
        (Role::Row, "Slowest: {max} ms"),
        (Role::Row, "Average: {mean} ms"),
        (Role::Row, "{p}% in under {at} ms"),
    ],
    fields: FIELDS,
    n: "received",
    unit: "ms",
    name: "{group}|all groups",
    conditions: &[("cycle", "{cycle} ms"), ("api", "{api}")],
    describe: |data, _| {
        data.method.load = Some(Loop::Open);
        data.method.trip = Some(Trip::OneWay);
        data.method.clocks = Some(1);
        data.method.time = Some(Clock::Wall);
    },
    // Its histogram has three digits.
    adjust: |_, number| number.half_step += number.value.abs() / 2048.0,
    holds: &[
        "{received} + {skipped} <= {sent}",
        "{received} <= {sent}",
        "{rate} = {received} / ($duration - $idle)",
    ],
    lacks: |lines| {
        let has = |what: &str| lines.iter().any(|line| line.text.contains(what));
        match (has("Average:"), has("99% in under")) {
            (false, _) => Some(("Average:", false)),
            (true, false) => Some(("99% in under", true)),
            _ => None,
        }
    },
    ..PLAIN
};
