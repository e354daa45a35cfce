//! The stacks' own tools, as tables.

use super::out::Data;
use super::tables::{Known, PLAIN, Role, Said, Table, fields};
use crate::statement::SECOND;
use crate::statement::{Clock, Loop, Trip};

/// All of them wait for each answer.
fn waits(data: &mut Data, trip: Trip) {
    data.method.load = Some(Loop::Closed);
    data.method.clients = Some(1);
    data.method.trip = Some(trip);
    data.method.clocks = Some(1);
    data.method.time = Some(Clock::Wall);
}

const ROUND: fn(&mut Data, &Said) = |data, _| waits(data, Trip::Round);

/// Latency tests of Fast DDS (`LatencyTestPublisher.cpp`).
pub(super) const FASTDDS: Table = Table {
    lines: &[(
        Role::Set,
        "{size} {n} {sd} {mean} {min} {median} {p90} {p99} {p99.99} {max} .",
    )],
    name: "{size} B",
    describe: ROUND,
    ..PLAIN
};

/// z_ping of zenoh's examples: one line for each round trip, cut to whole microseconds.
pub(super) const Z_PING: Table = Table {
    lines: &[(Role::Set, "{size} bytes: seq={_} rtt={raw} lat={_}")],
    name: "{size} B",
    known: Known::Cut,
    describe: ROUND,
    ..PLAIN
};

/// iceoryx2's benchmarks: the time of all exchanges, and what half of one takes.
pub(super) const ICEORYX2: Table = Table {
    lines: &[
        (
            Role::Set,
            "{name*} ::: Iterations: {n} Time: {duration} s Latency: {mean} ns Sample Size: {size}",
        ),
        (
            Role::Set,
            "{name*} ::: Iterations: {n} Time: {duration} s Latency: {mean} ns",
        ),
    ],
    fields: fields! { "duration": Duration Value "s" Rounded; },
    unit: "ns",
    known: Known::Cut,
    describe: |data, _| waits(data, Trip::Half),
    holds: &["{duration-value} = {mean} * $n * 2"],
    ..PLAIN
};

/// The example RoundtripPing of Cyclone DDS: a line for each second, and one of all.
pub(super) const CYCLONE: Table = Table {
    lines: &[
        (Role::Stays, "# payloadSize: {size} |"),
        (
            Role::Set,
            "# Overall {n} {median} {min} {p99} {max} {_} {_} {_} {_} {_} {_} .",
        ),
        (
            Role::Set,
            "{second} {n} {median} {min} {p99} {max} {_} {_} {_} {_} {_} {_} .",
        ),
    ],
    name: "second {second}|overall",
    conditions: &[("payload", "{size} B"), (SECOND, "{second}")],
    describe: ROUND,
    ..PLAIN
};
