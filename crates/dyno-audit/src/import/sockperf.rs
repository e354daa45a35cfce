//! sockperf: the summary of a client, and the raw log of `--full-log`. Its latency is half of a round trip (`avg-latency`) unless it was
//! run with `--full-rtt` (`avg-rtt`). It does not print its mode, so that nothing is said of the load.
//!
//! Its `MBps` are of 1024 × 1024 bytes: 86,479 messages of 1,000 bytes a second are 82.473 to it.

use super::error::Imported;
use super::lines::Lines;
use super::number::Number;
use super::out::{Data, Out, Spot, us};
use super::tables::{Field, Line, PLAIN, Reader, Role, Table, fields};
use crate::Statements;
use crate::statement::{Clock, Quantity, Samples, Trip};

/// Before the summaries of a run.
const TOTAL: &str = "[Total Run]";

/// In place of a summary.
const NOTHING: &str = "No messages were received";

const FIELDS: &[Field] = fields! {
    "duration": Duration Value "s" Rounded;
    "sent-count": Sent Count "messages" Exact;
    "received-count": Received Count "messages" Exact;
    "dropped": Loss Count "messages" Exact .part("dropped");
    "duplicated": Count Count "messages" Exact .part("duplicated");
    "rtt": Latency Mean "µs" Rounded;
    // It counts what it sends, whether or not anything arrives.
    "rate": Sent Rate "1/s" Cut;
    "bandwidth": Bandwidth Rate "MBps" Rounded .with("counted", "sent");
};

const TABLE: Table = Table {
    lines: &[
        (Role::Stays, "[ {_} {_**} # {transport*}"),
        (
            Role::Begin,
            "[Total Run] RunTime={_} sec Warm up time={_} msec SentMessages={all} {_**}",
        ),
        (Role::Begin, "[Total Run] {_**}"),
        (
            Role::Begin,
            "Total of {sent-count} messages sent in {duration} sec",
        ),
        (Role::Row, "using msg-size={size}."),
        (Role::Row, "using msg-size={size}"),
        (Role::Row, "statistics for Server No: {server}"),
        (Role::Row, "No messages were received {_**}"),
        (
            Role::Row,
            "[Valid Duration] RunTime={duration} sec SentMessages={sent-count} ReceivedMessages={received-count}",
        ),
        (Role::Row, "====> avg-rtt={rtt} (std-dev={sd})"),
        (Role::Row, "====> avg-latency={mean} (std-dev={sd})"),
        // Versions after 3.7 print more behind it (`client.cpp`).
        (
            Role::Row,
            "====> avg-rtt={rtt} (std-dev={sd} mean-ad={_} {_**} 99.0% {_**}",
        ),
        (
            Role::Row,
            "====> avg-latency={mean} (std-dev={sd} mean-ad={_} {_**} 99.0% {_**}",
        ),
        (
            Role::Row,
            "# dropped messages = {dropped} # duplicated messages = {duplicated}",
        ),
        (Role::Row, "Total {n} observations"),
        (Role::Row, "---> <MAX> observation = {max}"),
        (Role::Row, "---> <MIN> observation = {min}"),
        (Role::Row, "---> percentile {p} = {at}"),
        (Role::Row, "Summary: Message Rate is {rate} [msg/sec]"),
        (Role::Row, "Summary: BandWidth is {bandwidth} MBps"),
    ],
    fields: FIELDS,
    name: "client",
    conditions: &[("transport", "{transport}")],
    describe: |data, said| {
        data.method.clocks = Some(1);
        data.method.time = Some(Clock::Wall);
        data.method.trip = match (said.contains_key("rtt"), said.contains_key("mean")) {
            (true, _) => Some(Trip::Round),
            (false, true) => Some(Trip::Half),
            _ => None,
        };
    },
    holds: &[
        "{received-count} <= {sent-count} + {duplicated}",
        "$n <= {received-count}",
        "{dropped} <= $all",
        "{sent-count} = {sent-rate} * {duration-value}",
        "{bandwidth-rate} = {sent-rate} * $size",
    ],
    lacks: |lines| {
        let count = |what: &str| {
            lines
                .iter()
                .filter(|l: &&Line| l.text.contains(what))
                .count()
        };
        let begun = count(TOTAL) > 0;
        if begun && count("<MIN> observation") < count("Server No:").max(1) && count(NOTHING) == 0 {
            return Some(("<MIN> observation", false));
        }
        let sent = !begun && count("Summary: BandWidth") == 0;
        sent.then_some(("Summary: BandWidth", false))
    },
    anywhere: true,
    ..PLAIN
};

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    let (mut out, mut reader) = (Out::new(input.tool()), Reader::new(&TABLE));
    let mut raw: Option<(Data, Samples)> = None;
    let mut runs = false;
    while let Some(line) = input.next()? {
        let line = line.to_owned();
        runs |= line.contains("[CLIENT] send on:");
        runs &= ![TOTAL, "Total of ", NOTHING]
            .iter()
            .any(|mark| line.contains(mark));
        let spot = Spot::Line(input.number(), &line);
        if line.starts_with("packet, txTime(sec), rxTime(sec)") {
            reader.end(&mut out, input)?;
            let last = reader.last.clone();
            let mut data = last.unwrap_or_else(|| out.data("client", Quantity::Latency, us()));
            data.method.trip = match (line.contains("latency(usec)"), line.contains("rtt(usec)")) {
                (true, _) => Some(Trip::Half),
                (_, true) => Some(Trip::Round),
                _ => return Err(spot.error("the raw log has no column `latency(usec)`")),
            };
            let samples = out.raw(&data, "latency", input.number() + 1);
            raw = Some((data, samples));
        } else if let Some((data, samples)) = &mut raw
            && line.starts_with(|c: char| c.is_ascii_digit())
        {
            packet(&mut out, (data, samples), &line).map_err(|e| spot.error(e))?;
        } else if !reader.line(&mut out, input, &line)? {
            input.own(&line)?;
        }
    }
    if runs {
        return Err(input.cut(TOTAL));
    }
    reader.done(&mut out, input)?;
    if let Some((_, samples)) = raw {
        out.keep(samples);
    }
    Ok(out.done())
}

fn packet(out: &mut Out, (data, samples): (&Data, &mut Samples), line: &str) -> Result<(), String> {
    let cells: Vec<&str> = line.split(", ").collect();
    let [packet, sent, received, latency] = cells[..] else {
        return Err("a packet needs a number, two instants and a latency, which this line does not have; where a comma is the decimal point, run the tool with LC_ALL=C".to_owned());
    };
    Number::count(packet)?;
    let sent = Number::parse(sent)?;
    Number::parse(received)?;
    if out.add(samples, data, &Number::parse(latency)?, 1) {
        samples.sent.push(sent.value);
    }
    Ok(())
}
