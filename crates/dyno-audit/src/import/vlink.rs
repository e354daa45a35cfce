//! vlink-bench of VLink: the JSON of `run`, a result for each scenario. It stamps each message by the machine's steady clock and keeps the
//! latencies of the measured window (`cli/bench/bench.cc`); of how many values they are statistics it does not say.

use super::error::Imported;
use super::json::{self, Node};
use super::lines::Lines;
use super::out::{Out, us};
use super::tables::{Field, fields, of_members};
use crate::Statements;
use crate::statement::{Clock, Loop, Of, Quantity, Trip};

const LATENCIES: &[Field] = fields! {
    "avg_latency_us": Latency Mean "µs" Exact;
    "p50_latency_us": Latency Percentile(50.0) "µs" Exact;
    "p90_latency_us": Latency Percentile(90.0) "µs" Exact;
    "p95_latency_us": Latency Percentile(95.0) "µs" Exact;
    "p99_latency_us": Latency Percentile(99.0) "µs" Exact;
    "p999_latency_us": Latency Percentile(99.9) "µs" Exact;
    "p9999_latency_us": Latency Percentile(99.99) "µs" Exact;
    "max_latency_us": Latency Max "µs" Exact;
    "latency_stddev_us": Latency Sd "µs" Exact;
};

const COUNTS: &[Field] = fields! {
    "send_msgs_per_sec": Sent Rate "1/s" Exact;
    "recv_msgs_per_sec": Rate Rate "1/s" Exact;
    "sent": Sent Count "messages" Exact .part("sent");
    "received": Received Count "messages" Exact .part("received");
    "expected": Count Count "messages" Exact .part("expected");
    "lost": Loss Count "messages" Exact .part("lost");
};

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    json::each(input, |out, root| {
        out.tested(root.get("created_at")?.text()?);
        let results = root.get("scenarios")?.items()?;
        results.iter().try_for_each(|result| scenario(out, result))
    })
}

fn scenario(out: &mut Out, result: &Node<'_>) -> Imported<()> {
    let said = result.get("scenario")?;
    let (suite, mode) = (said.get("suite")?.text()?, said.get("mode")?.text()?);
    let (payload, hz) = (
        said.get("payload_size")?.count()?,
        said.get("rate_hz")?.count()?,
    );
    let url = said.get("url")?.text()?;
    let rate = if hz > 0 {
        format!(", {hz} Hz")
    } else {
        String::new()
    };
    let name = format!("{suite} {mode} {url} {payload} B{rate}");
    if result.get("success")?.value == false {
        out.note(format!("{name} failed: {}", result.get("error")?.text()?));
        return Ok(());
    }
    let mut data = out
        .data(&name, Quantity::Latency, us())
        .of(Of::Samples, None);
    data = data.with("payload", format!("{payload} B"));
    data.method.payload_bytes = Some(payload as f64);
    data.method.trip = Some(Trip::OneWay);
    data.method.clocks = Some(1);
    data.method.time = Some(Clock::Wall);
    data.method.loss_stated = Some(true);
    data.method.senders = Some(said.get("publishers")?.count()?);
    data.method.receivers = Some(said.get("subscribers")?.count()?);
    if hz > 0 {
        (data.method.load, data.method.sender_rate) = (Some(Loop::Open), Some(hz as f64));
    }
    // Suites that time no message write zeros.
    if result.get("max_latency_us")?.float()? > 0.0 {
        of_members(out, &data, result, LATENCIES)?;
    }
    of_members(out, &data, result, COUNTS)?;
    out.holds(&data, "{lost} <= {expected}");
    Ok(())
}
