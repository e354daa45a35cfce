//! Tables of iceperf, the latency example of Eclipse iceoryx. What holds for all of them stands in its source, versions 0.17 to
//! 2.0 (`iceoryx_examples/iceperf/base.cpp` and `iceoryx.cpp`): the duration of all round trips divided by twice
//! their number, one exchange at a time, and a reader of iceoryx that takes in a loop.

use super::lines::Lines;
use super::number::Number;
use super::out::{Out, Spot, us};
use super::{ImportError, Imported};
use crate::Statements;
use crate::statement::{Access, Loop, Of, Quantity, Statistic, Trip, Wait};

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    let mut out = Out::new(input.tool());
    let mut mechanism = String::new();
    let mut trips = None;
    let (mut in_table, mut in_kib, mut finished) = (false, false, false);
    let mut rows = 0;
    while let Some(line) = input.next()? {
        let line = line.trim().to_owned();
        let at = input.number();
        let spot = Spot::Line(at, &line);
        if line.starts_with("****") {
            unfinished(in_table && rows == 0, at)?;
            mechanism = line.trim_matches(['*', ' ']).to_owned();
            (trips, in_table, finished) = (None, false, false);
        } else if let Some(count) = line.strip_suffix(" round trips for each payload.") {
            let count = Number::count(count).map_err(|e| input.error(e))?;
            trips = Some(count);
        } else if line.starts_with("| Payload Size") {
            in_kib = line.starts_with("| Payload Size [kB]");
            let unit = ["Average Latency [µs]", "Average Latency [us]"];
            if !unit.iter().any(|u| line.contains(u)) {
                return Err(input.error("this table has no column `Average Latency [µs]`"));
            }
            (in_table, rows, finished) = (true, 0, false);
        } else if in_table && line.starts_with('|') {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            if cells.iter().all(|c| c.starts_with(['-', ':'])) {
                continue;
            }
            let [size, latency] = cells[..] else {
                return Err(input.error("a row has a size and a latency; was the line cut off?"));
            };
            if !line.ends_with('|') {
                return Err(input.error("the row has no end; the file is cut off"));
            }
            let (size, word) = match size.split_once(' ') {
                None if in_kib => (size, "kB"),
                None => {
                    return Err(input.error("a size has neither a unit nor a column that says it"));
                }
                // Newer versions: `16 [B]`, `1 [kB]`.
                Some((size, word)) => (size, word.trim().trim_matches(['[', ']'])),
            };
            let factor: u64 = match word {
                "B" => 1,
                "kB" => 1024,
                "MB" => 1024 * 1024,
                other => return Err(input.error(format!("`{other}` is no unit of a size"))),
            };
            let size = Number::count(size).map_err(|e| input.error(e))?;
            let Some(bytes) = size.checked_mul(factor) else {
                return Err(input.error(format!("{size} {word} is no size of a payload")));
            };
            let latency = Number::parse(latency).map_err(|e| input.error(e))?;
            rows += 1;
            let name = match mechanism.as_str() {
                "" => format!("{size} {word}"),
                mechanism => format!("{mechanism}/{size} {word}"),
            };
            let mut data = out
                .data(&name, Quantity::Latency, us())
                .of(Of::Samples, trips)
                .with(
                    "payload",
                    format!("{size} {}", word.replace("kB", "KiB").replace("MB", "MiB")),
                );
            if !mechanism.is_empty() {
                data = data.with("stack", mechanism.as_str());
            }
            let polls = mechanism.starts_with("ICEORYX");
            data.method.load = Some(Loop::Closed);
            data.method.clients = Some(1);
            data.method.trip = Some(Trip::Half);
            data.method.clocks = Some(1);
            data.method.payload_bytes = Some(bytes as f64);
            if polls {
                data.method.wait = Some(Wait::Poll);
                data.method.access = Some(Access::Untouched);
            } else if ["MESSAGE QUEUE", "UNIX DOMAIN SOCKET"].contains(&mechanism.as_str()) {
                data.method.wait = Some(Wait::Block);
                data.method.access = Some(Access::Copied);
            }
            out.put(&data, Statistic::Mean, latency, spot)?;
        } else {
            unfinished(in_table && rows == 0, at)?;
            in_table = false;
            finished |= line == "Finished!";
            input.own(&line)?;
        }
    }
    unfinished(in_table && rows == 0, input.number())?;
    if !finished {
        input.note_cut("Finished!");
    }
    Ok(out.done())
}

fn unfinished(is: bool, line: u64) -> Imported<()> {
    match is {
        true => Err(ImportError::line(
            line,
            "the table before has no row; the file is cut off",
        )),
        false => Ok(()),
    }
}
