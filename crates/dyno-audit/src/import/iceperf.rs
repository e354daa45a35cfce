//! Tables of iceperf, the latency example of Eclipse iceoryx. What holds for all of them stands in its source, versions 0.17 to
//! 2.0 (`iceoryx_examples/iceperf/base.cpp` and `iceoryx.cpp`): the duration of all round trips divided by twice
//! their number, one exchange at a time, and a reader of iceoryx that takes in a loop.

use super::error::Imported;
use super::lines::Lines;
use super::out::{Data, Out};
use super::tables::{PLAIN, Reader, Role, Said, Table};
use crate::Statements;
use crate::statement::{Access, Loop, Trip, Wait};

const TABLE: Table = Table {
    lines: &[
        (Role::Stays, "{n} round trips for each payload."),
        (
            Role::Stays,
            "| Payload Size [{word*}] | Average Latency [µs] |",
        ),
        (
            Role::Stays,
            "| Payload Size [{word*}] | Average Latency [us] |",
        ),
        // Newer versions have a unit in each size.
        (Role::Stays, "| Payload Size | Average Latency [µs] |"),
        (Role::Set, "| {size} [{word*}] | {mean} |"),
        (Role::Set, "| {size} | {mean} |"),
    ],
    name: "{stack}/{size} {word}|{size} {word}",
    conditions: &[("stack", "{stack}")],
    describe,
    ..PLAIN
};

fn describe(data: &mut Data, said: &Said) {
    let get = |field| said.get(field).map_or("", String::as_str);
    let (word, factor) = match get("word") {
        "kB" => ("KiB", 1024.0),
        "MB" => ("MiB", 1048576.0),
        _ => ("B", 1.0),
    };
    let payload = format!("{} {word}", get("size"));
    data.conditions.insert("payload".to_owned(), payload);
    data.method.payload_bytes = data.method.payload_bytes.map(|size| size * factor);
    data.method.load = Some(Loop::Closed);
    data.method.clients = Some(1);
    data.method.trip = Some(Trip::Half);
    data.method.clocks = Some(1);
    (data.method.wait, data.method.access) = match get("stack") {
        stack if stack.starts_with("ICEORYX") => (Some(Wait::Poll), Some(Access::Untouched)),
        "MESSAGE QUEUE" | "UNIX DOMAIN SOCKET" => (Some(Wait::Block), Some(Access::Copied)),
        _ => (None, None),
    };
}

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    let mut out = Out::new(input.tool());
    let mut reader = Reader::new(&TABLE);
    let (mut rows, mut finished) = (None, false);
    while let Some(line) = input.next()? {
        let line = line.trim().to_owned();
        if rows == Some(0) && !line.starts_with('|') {
            return Err(input.error("the table before has no row; take it out, or measure again"));
        }
        if line.starts_with("****") {
            reader = Reader::new(&TABLE);
            reader.say("stack", line.trim_matches(['*', ' ']).to_owned());
            finished = false;
        } else if line.starts_with("| Payload Size") && !line.contains("Average Latency [") {
            return Err(input.error("this table has no column `Average Latency [µs]`"));
        }
        let is_row = reader.line(&mut out, input, &line)? && line.starts_with('|');
        if line.starts_with("| Payload Size") {
            (rows, finished) = (Some(0), false);
        } else if is_row {
            rows = rows.map(|n| n + 1);
        } else if line.starts_with('|') && !line.contains("--") {
            return Err(input.error(
                "a row needs a size with its unit and a latency, which this line does not have",
            ));
        } else if !line.starts_with('|') {
            rows = None;
            finished |= line == "Finished!";
            input.own(&line)?;
        }
    }
    if rows == Some(0) {
        return Err(input.error("the table before has no row; the file is cut off"));
    }
    if !finished {
        input.note_cut("Finished!");
    }
    Ok(out.done())
}
