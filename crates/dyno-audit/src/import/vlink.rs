//! vlink-bench of VLink: the JSON of `run`, a result for each scenario. It stamps each message by the machine's steady clock and keeps the
//! latencies of the measured window (`cli/bench/bench.cc`); of how many values they are statistics it does not say.

use super::Imported;
use super::json::{self, Node};
use super::lines::Lines;
use super::out::{Out, counted, per_second, us};
use crate::Statements;
use crate::statement::{Clock, Loop, Of, Quantity, Statistic, Trip};

const LATENCIES: [(&str, Statistic); 9] = [
    ("avg_latency_us", Statistic::Mean),
    ("p50_latency_us", Statistic::Percentile(50.0)),
    ("p90_latency_us", Statistic::Percentile(90.0)),
    ("p95_latency_us", Statistic::Percentile(95.0)),
    ("p99_latency_us", Statistic::Percentile(99.0)),
    ("p999_latency_us", Statistic::Percentile(99.9)),
    ("p9999_latency_us", Statistic::Percentile(99.99)),
    ("max_latency_us", Statistic::Max),
    ("latency_stddev_us", Statistic::Sd),
];

const RATES: [(&str, Quantity); 2] = [
    ("send_msgs_per_sec", Quantity::Sent),
    ("recv_msgs_per_sec", Quantity::Rate),
];

const COUNTS: [(&str, Quantity); 4] = [
    ("sent", Quantity::Sent),
    ("received", Quantity::Received),
    ("expected", Quantity::Count),
    ("lost", Quantity::Loss),
];

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    let documents = json::documents(input)?;
    let mut out = Out::new(input.tool());
    for root in Node::roots(&documents) {
        out.tested(root.get("created_at")?.text()?);
        for result in root.get("scenarios")?.items()? {
            scenario(&mut out, &result)?;
        }
    }
    Ok(out.done())
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
        for (key, statistic) in LATENCIES {
            let node = result.get(key)?;
            out.put(&data, statistic, node.exact()?, node.spot())?;
        }
    }
    for (key, quantity) in RATES {
        let node = result.get(key)?;
        let of = data.other(quantity, per_second());
        out.put(&of, Statistic::Rate, node.exact()?, node.spot())?;
    }
    for (key, quantity) in COUNTS {
        let node = result.get(key)?;
        let of = data.other(quantity, counted("messages"));
        out.put_named(&of, key, Statistic::Count, node.exact()?, node.spot())?;
    }
    out.holds(&data, "{lost} <= {expected}");
    Ok(())
}
