//! iperf3's JSON (`-J`). It measures throughput, and no time of a message: of a TCP connection it repeats what the kernel estimated
//! as its round trip, already smoothed; of UDP the jitter of RFC 1889.

use super::error::Imported;
use super::json::{self, Node};
use super::lines::Lines;
use super::out::{Data, Out, percent, second, unit, us};
use super::tables::{Field, fields, of_members};
use crate::Statements;
use crate::statement::{Clock, Dimension, Loop, Quantity, Statistic, Trip};
use serde_json::{Map, Value};

const SUM: &[Field] = fields! {
    "bits_per_second": Bandwidth Rate "bit/s" Exact;
    "bytes": Size Sum "B" Exact;
    "retransmits": Count Count "segments" Exact .part("retransmits");
};

const DATAGRAMS: &[Field] = fields! {
    "jitter_ms": Jitter Value "ms" Exact .part("jitter_ms");
    "packets": Count Count "datagrams" Exact .part("packets");
};

const LOST: &[Field] = fields! {
    "lost_packets": Loss Count "datagrams" Exact .part("lost_packets");
    "lost_percent": Loss Share "%" Rounded .part("lost_percent");
};

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    let documents = merged(json::documents(input)?);
    let mut out = Out::new(input.tool());
    for root in Node::roots(&documents) {
        out.document();
        test(&mut out, &root)?;
    }
    Ok(out.done())
}

/// One document for each test: `--json-stream` writes an object for each event of one.
fn merged(documents: Vec<Value>) -> Vec<Value> {
    let mut found = Vec::new();
    for document in documents {
        let Some(event) = document.get("event").and_then(Value::as_str) else {
            found.push(document);
            continue;
        };
        if event == "start" || found.is_empty() {
            found.push(Value::Object(Map::new()));
        }
        if let (Some(Value::Object(test)), "start" | "end" | "error") = (found.last_mut(), event) {
            let data = document.get("data").cloned().unwrap_or_default();
            test.insert(event.to_owned(), data);
        }
    }
    found
}

fn test(out: &mut Out, root: &Node<'_>) -> Imported<()> {
    if let Some(error) = root.find("error") {
        let text: String = error.text()?.chars().take(200).collect();
        return Err(error.error(format!(
            "iperf3 ended with the error `{text}`; measure again"
        )));
    }
    let start = root.get("start")?;
    for key in ["version", "system_info"] {
        if let Some(node) = start.find(key) {
            out.banner_value(&node.path, node.text()?);
        }
    }
    if let Some(time) = start.find("timestamp").and_then(|t| t.find("time")) {
        out.tested(time.text()?);
    }
    let test = start.get("test_start")?;
    let end = root.get("end")?;
    for (key, sum) in end.members()? {
        let Some(name) = key.strip_prefix("sum") else {
            continue;
        };
        // Of datagrams the sender's and the receiver's sums repeat what these two say of the loss, or know nothing of it.
        let datagrams =
            matches!(key, "sum" | "sum_bidir_reverse") && sum.find("jitter_ms").is_some();
        // Versions before 3.8 have no others.
        let alone = key == "sum" && end.find("sum_sent").is_none();
        if key == "sum" && !datagrams {
            continue;
        }
        let name = match name {
            "" => "datagrams".to_owned(),
            name => name.trim_start_matches('_').replace('_', " "),
        };
        let mut data = out.data(
            &name,
            Quantity::Bandwidth,
            unit("bit/s", Dimension::Bandwidth, 0.125),
        );
        describe(&mut data, &test)?;
        if key != "sum" || alone {
            of_members(out, &data, &sum, SUM)?;
        }
        if datagrams {
            of_datagrams(out, &data, &sum, omits(&test))?;
        }
        // The rate of these two is over the sender's seconds, which stand in its streams.
        let sender = sender_seconds(&end)?.filter(|_| datagrams && !key.contains("bidir"));
        let seconds = match sender {
            Some(seconds) if alone => seconds,
            _ => sum.get("seconds")?,
        };
        let of = data.other(Quantity::Duration, second());
        out.put(&of, Statistic::Value, seconds.rounded(6)?, seconds.spot())?;
        if !datagrams || alone {
            out.holds(&data, "{size-sum} = {rate} * {duration-value}");
        }
    }
    ends(out, &test, &end)?;
    round_trips(out, &test, &end)?;
    if let Some(cpu) = end.find("cpu_utilization_percent") {
        let data = out.data("processor", Quantity::CpuShare, percent());
        for (key, node) in cpu.members()? {
            out.put_named(&data, key, Statistic::Share, node.exact()?, node.spot())?;
        }
    }
    Ok(())
}

/// The round trips that the kernel of the sender knows of each stream.
fn round_trips(out: &mut Out, test: &Node<'_>, end: &Node<'_>) -> Imported<()> {
    for (i, stream) in end.get("streams")?.items()?.iter().enumerate() {
        if let Some(sender) = stream.find("sender") {
            let mut data = out.data(
                &format!("stream {i} kernel round trip"),
                Quantity::Latency,
                us(),
            );
            describe(&mut data, test)?;
            data.method.trip = Some(Trip::Round);
            data.method.clocks = Some(1);
            // iperf3 only asks for it.
            data.method.tool = Some("the kernel (TCP_INFO)".to_owned());
            for (key, statistic) in [
                ("min_rtt", Statistic::Min),
                ("mean_rtt", Statistic::Mean),
                ("max_rtt", Statistic::Max),
            ] {
                // 0 is what it writes where it knows none.
                if let Some(node) = sender.find(key).filter(|n| n.value.as_f64() != Some(0.0)) {
                    out.put(&data, statistic, node.rounded(0)?.cut(), node.spot())?;
                }
            }
        }
    }
    Ok(())
}

/// Whether the first seconds are left out of what is counted.
fn omits(test: &Node<'_>) -> bool {
    let seconds = test.find("omit").and_then(|o| o.value.as_f64());
    seconds.is_some_and(|s| s > 0.0)
}

/// What both ends counted. With `--omit` they begin at other instants. A sender that is stopped may have written a block that it has
/// not counted, and a network may deliver a datagram twice, which counts as out of order.
fn ends(out: &mut Out, test: &Node<'_>, end: &Node<'_>) -> Imported<()> {
    if omits(test) {
        return Ok(());
    }
    let (block, streams) = (
        test.get("blksize")?.count()?,
        test.get("num_streams")?.count()?,
    );
    let datagrams = test.get("protocol")?.text()? == "UDP";
    let late = |s: &Node<'_>| {
        s.find("udp")
            .and_then(|u| u.find("out_of_order")?.value.as_u64())
    };
    let in_order = end
        .get("streams")?
        .items()?
        .iter()
        .all(|s| late(s) == Some(0));
    for way in ["", " bidir reverse"] {
        let of = format!("datagrams{way}").replace("datagrams bidir", "bidir");
        let [arrived, sent] = ["received", "sent"].map(|end| format!("{{{end}{way}/size-sum}}"));
        match datagrams {
            false => out.holds_of(&format!(
                "{arrived} <= {sent} + {}",
                block.saturating_mul(streams)
            )),
            true => {
                let [packets, lost] =
                    ["packets", "lost_packets"].map(|part| format!("{{{of}/{part}}}"));
                let times = if in_order { 1 } else { 2 };
                out.holds_of(&format!("{arrived} <= {sent} * {times}"));
                out.holds_of(&format!(
                    "{arrived} <= {packets} * {}",
                    block.saturating_mul(times)
                ));
                // A datagram that comes twice takes one from the lost, but not below none.
                out.holds_of(&format!("({packets} - {lost}) * {block} <= {sent}"));
            }
        }
    }
    Ok(())
}

/// How long the first sender of datagrams sent.
fn sender_seconds<'a>(end: &Node<'a>) -> Imported<Option<Node<'a>>> {
    let streams = end.get("streams")?.items()?;
    let first = streams.first().and_then(|s| s.find("udp"));
    Ok(first.and_then(|udp| udp.find("seconds")))
}

fn describe(data: &mut Data, test: &Node<'_>) -> Imported<()> {
    let protocol = test.get("protocol")?.text()?;
    data.conditions
        .insert("protocol".to_owned(), protocol.to_owned());
    let block = test.get("blksize")?.count()? as f64;
    data.method.payload_bytes = Some(block);
    data.method.senders = Some(test.get("num_streams")?.count()?);
    data.method.time = Some(Clock::Wall);
    if protocol == "UDP" {
        data.method.loss_stated = Some(true);
        let target = test.find("target_bitrate").map(|t| t.float()).transpose()?;
        if let Some(bits) = target.filter(|t| *t > 0.0 && block > 0.0) {
            data.method.load = Some(Loop::Open);
            data.method.sender_rate = Some(bits / 8.0 / block);
        }
    }
    Ok(())
}

fn of_datagrams(out: &mut Out, data: &Data, sum: &Node<'_>, omits: bool) -> Imported<()> {
    if omits
        && sum
            .find("lost_packets")
            .is_some_and(|n| n.value.as_f64() > Some(0.0))
    {
        out.note(format!(
            "{}: of the seconds that --omit excludes, iperf3 counts the lost messages but not the sent ones; the loss is left out",
            sum.path
        ));
    }
    of_members(out, data, sum, DATAGRAMS)?;
    if !omits {
        of_members(out, data, sum, LOST)?;
    }
    out.holds(data, "{lost_percent} = {lost_packets} / {packets}");
    out.holds(data, "{lost_packets} <= {packets}");
    Ok(())
}
