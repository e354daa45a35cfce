//! sockperf: the summary of a client, and the raw log of `--full-log`. Its latency is half of a round trip (`avg-latency`) unless it was
//! run with `--full-rtt` (`avg-rtt`). It does not print its mode, so that nothing is said of the load.
//!
//! Its `MBps` are of 1024 × 1024 bytes: 86,479 messages of 1,000 bytes a second are 82.473 to it.

use super::Imported;
use super::lines::Lines;
use super::number::Number;
use super::out::{Data, Out, Spot, per_second, unit, us};
use crate::Statements;
use crate::statement::{Clock, Dimension, Of, Quantity, Samples, Statistic, Trip};

/// In place of a summary.
const NOTHING: &str = "No messages were received";

#[derive(Default)]
struct Block {
    data: Option<Data>,
    lines: Vec<(u64, String)>,
    n: Option<u64>,
    transport: Option<String>,
    /// Bytes of a message.
    payload: Option<u64>,
}

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    let mut out = Out::new(input.tool());
    let mut block = Block::default();
    let mut raw: Option<(Data, Samples)> = None;
    let mut last: Option<Data> = None;
    while let Some(line) = input.next()? {
        let line = line.to_owned();
        let at = input.number();
        let fail = |e: String| Spot::Line(at, &line).error(e);
        // Whatever stands before its name is not its own.
        let own = line
            .split_once("sockperf: ")
            .map_or(line.as_str(), |(_, own)| own);
        let text = own.trim().to_owned();
        if let Some((_, size)) = text.split_once("using msg-size=") {
            let size = size
                .split(|c: char| !c.is_ascii_digit())
                .next()
                .unwrap_or_default();
            block.payload = Some(Number::count(size).map_err(fail)?);
        } else if let Some((_, transport)) = text.split_once(" # ")
            && text.starts_with('[')
        {
            block.transport = Some(transport.trim().to_owned());
        } else if text.starts_with("[Total Run]") || text.starts_with("Total of ") {
            last = finish(&mut out, input, &mut block)?.or(last);
            block.lines.push((at, text));
        } else if text.starts_with("packet, txTime(sec), rxTime(sec)") {
            last = finish(&mut out, input, &mut block)?.or(last);
            let unit = match (text.contains("latency(usec)"), text.contains("rtt(usec)")) {
                (true, _) => Trip::Half,
                (_, true) => Trip::Round,
                _ => return Err(fail("the raw log has no column `latency(usec)`".to_owned())),
            };
            let mut data = match &last {
                Some(data) => data.clone(),
                None => out.data("client", Quantity::Latency, us()),
            };
            data.method.trip = Some(unit);
            let samples = out.raw(&data, "latency", at + 1);
            raw = Some((data, samples));
        } else if let Some((data, samples)) = &mut raw
            && line.starts_with(|c: char| c.is_ascii_digit())
        {
            let cells: Vec<&str> = line.split(", ").collect();
            let [packet, sent, received, latency] = cells[..] else {
                return Err(fail("a packet has a number, two instants and a latency; the file is cut off, or has commas as decimal points".to_owned()));
            };
            Number::count(packet).map_err(fail)?;
            let sent = Number::parse(sent).map_err(fail)?;
            Number::parse(received).map_err(fail)?;
            let latency = Number::parse(latency).map_err(fail)?;
            if out.add(samples, data, &latency, 1) {
                samples.sent.push(sent.value);
            }
        } else if text.contains('=')
            || text.contains("observations")
            || text.starts_with("Summary:")
            || text.starts_with(NOTHING)
        {
            block.lines.push((at, text));
            if block.lines.len() > 1_000 {
                return Err(fail("this is no line of sockperf".to_owned()));
            }
        } else {
            input.own(&line)?;
        }
    }
    finish(&mut out, input, &mut block)?;
    if let Some((_, samples)) = raw {
        out.keep(samples);
    }
    Ok(out.done())
}

/// The figures of one summary; its number of observations stands below its mean.
fn finish(out: &mut Out, input: &Lines<'_>, block: &mut Block) -> Imported<Option<Data>> {
    let lines = std::mem::take(&mut block.lines);
    for (at, text) in &lines {
        if let Some(rest) = text.strip_prefix("Total ")
            && let Some(n) = rest.split_once(" observations").map(|(n, _)| n)
        {
            block.n = Some(Number::count(n).map_err(|e| Spot::Line(*at, text).error(e))?);
        }
    }
    for (at, text) in &lines {
        row(out, block, Spot::Line(*at, text), text)?;
    }
    let count = |what: &str| lines.iter().filter(|(_, text)| text.contains(what)).count();
    let servers = count("Server No:");
    let begun = count("[Total Run]") + count("====> avg-") > 0;
    if begun && count("<MIN> observation") < servers.max(1) && count(NOTHING) == 0 {
        return Err(input.cut("<MIN> observation"));
    }
    if count("Total of ") > 0 && count("Summary: BandWidth") == 0 {
        return Err(input.cut("Summary: BandWidth"));
    }
    if let Some(data) = &block.data {
        if servers <= 1 {
            out.holds(data, "{received-count} <= {sent-count} + {duplicated}");
        }
        out.holds(data, "{sent-count} = {sent-rate} * {duration-value}");
        if let Some(bytes) = block.payload {
            out.holds(
                data,
                &format!("{{bandwidth-rate}} = {{sent-rate}} * {bytes}"),
            );
        }
    }
    (block.n, block.payload) = (None, None);
    Ok(block.data.take())
}

fn row(out: &mut Out, block: &mut Block, spot: Spot<'_>, text: &str) -> Imported<()> {
    let fail = |e: String| spot.error(e);
    let number = |text: &str| Number::parse(text.trim()).map_err(|e| spot.error(e));
    if let Some(rest) = text.strip_prefix("====> avg-") {
        let cut = || spot.error("the line has no `(std-dev=…)`; the file is cut off");
        let (kind, rest) = rest.split_once('=').ok_or_else(cut)?;
        let (mean, rest) = rest.split_once("(std-dev=").ok_or_else(cut)?;
        let sd = rest.trim().strip_suffix(')').ok_or_else(cut)?;
        // Versions after 3.7 print more behind it (`client.cpp`): `(std-dev=…, mean-ad=…, …, 99.0% ci=[…, …])`.
        let sd = sd.split_once(", mean-ad=").map_or(sd, |(sd, _)| sd);
        let trip = if kind == "rtt" {
            Trip::Round
        } else {
            Trip::Half
        };
        let data = start(out, block, Some(trip));
        out.put(&data, Statistic::Mean, number(mean)?, spot)?;
        out.put(&data, Statistic::Sd, number(sd)?, spot)?;
    } else if let Some(rest) = text.strip_prefix("---> ") {
        let Some((what, value)) = rest.split_once('=') else {
            return Err(spot.error("the line has no value; the file is cut off"));
        };
        let statistic = match what.trim() {
            "<MAX> observation" => Statistic::Max,
            "<MIN> observation" => Statistic::Min,
            what => {
                let p = number(what.strip_prefix("percentile").unwrap_or_default())?.value;
                if !(0.0..=100.0).contains(&p) {
                    return Err(fail(format!("{p} is no percentile")));
                }
                Statistic::Percentile(p)
            }
        };
        let data = start(out, block, None);
        out.put(&data, statistic, number(value)?, spot)?;
    } else if let Some(rest) = text.strip_prefix("Summary: Message Rate is ") {
        let rate = rest.split_whitespace().next().unwrap_or_default();
        // It counts what it sends, whether or not anything arrives.
        let data = start(out, block, None);
        out.put(
            &data.other(Quantity::Sent, per_second()),
            Statistic::Rate,
            number(rate)?.cut(),
            spot,
        )?;
    } else if let Some(rest) = text.strip_prefix("Summary: BandWidth is ") {
        let Some((value, _)) = rest.split_once(" MBps") else {
            return Err(spot.error("the line has no `MBps`; the file is cut off"));
        };
        let data = start(out, block, None);
        let unit = unit("MBps", Dimension::Bandwidth, 1048576.0);
        out.put(
            &data
                .other(Quantity::Bandwidth, unit)
                .with("counted", "sent"),
            Statistic::Rate,
            number(value)?,
            spot,
        )?;
    } else if let Some(rest) = text.strip_prefix("# dropped messages =") {
        let dropped = rest.split(';').next().unwrap_or_default();
        let data = start(out, block, None);
        put_count(out, &data, (Quantity::Loss, "dropped"), dropped, spot)?;
        if let Some((_, rest)) = text.split_once("# duplicated messages =") {
            let duplicated = rest.split(';').next().unwrap_or_default();
            put_count(
                out,
                &data,
                (Quantity::Count, "duplicated"),
                duplicated,
                spot,
            )?;
        }
    } else if let Some(rest) = text.strip_prefix("[Valid Duration] ") {
        let data = start(out, block, None);
        for part in rest.split("; ") {
            let Some((key, value)) = part.split_once('=') else {
                continue;
            };
            match key {
                "SentMessages" => {
                    put_count(out, &data, (Quantity::Sent, "sent-count"), value, spot)?
                }
                "ReceivedMessages" => {
                    put_count(
                        out,
                        &data,
                        (Quantity::Received, "received-count"),
                        value,
                        spot,
                    )?;
                }
                "RunTime" => put_seconds(out, &data, value, spot)?,
                _ => {}
            }
        }
    } else if let Some((sent, rest)) = text
        .strip_prefix("Total of ")
        .and_then(|t| t.split_once(" messages sent in "))
    {
        let data = start(out, block, None);
        put_count(out, &data, (Quantity::Sent, "sent-count"), sent, spot)?;
        put_seconds(out, &data, rest, spot)?;
    }
    Ok(())
}

fn put_count(
    out: &mut Out,
    data: &Data,
    (quantity, part): (Quantity, &str),
    text: &str,
    spot: Spot<'_>,
) -> Imported<()> {
    let count = Number::count(text.trim()).map_err(|e| spot.error(e))?;
    let of = data.other(quantity, unit("messages", Dimension::One, 1.0));
    out.put_named(
        &of,
        part,
        Statistic::Count,
        Number::of(count as f64, 0.0),
        spot,
    )
}

/// `29.550 sec`.
fn put_seconds(out: &mut Out, data: &Data, text: &str, spot: Spot<'_>) -> Imported<()> {
    let seconds = text.split_whitespace().next().unwrap_or_default();
    let number = Number::parse(seconds).map_err(|e| spot.error(e))?;
    let of = data.other(Quantity::Duration, unit("s", Dimension::Time, 1.0));
    out.put(&of, Statistic::Value, number, spot)
}

/// The data of this summary, made by the first line that needs it.
fn start(out: &mut Out, block: &mut Block, trip: Option<Trip>) -> Data {
    let (n, transport, payload) = (block.n, block.transport.clone(), block.payload);
    let data = block.data.get_or_insert_with(|| {
        let mut data = out
            .data("client", Quantity::Latency, us())
            .of(Of::Samples, n);
        data.method.clocks = Some(1);
        data.method.time = Some(Clock::Wall);
        data.method.payload_bytes = payload.map(|bytes| bytes as f64);
        match transport {
            Some(transport) => data.with("transport", transport),
            None => data,
        }
    });
    data.method.trip = trip.or(data.method.trip);
    data.clone()
}
