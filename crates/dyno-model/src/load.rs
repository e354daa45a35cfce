//! What experiments with a pace offer to the links of a testbed.
//!
//! Only lower bounds are claimed. Payloads alone count, without acknowledgements and repetitions, and without headers where a
//! stack may put several messages into one packet; of one message to several receivers one copy leaves its host where the stack may
//! multicast, and the load with a copy for each receiver is named beside it.

use crate::factor::{Arrivals, Placement};
use crate::graph::Graph;
use crate::plan::{Experiment, Extent, Overload, Stack, Testbed};
use crate::unit::Nanos;
use crate::workload::Workload;
use std::collections::BTreeSet;

/// Adapters that send each message as a datagram of its own, or as several.
const OF_DATAGRAMS: [&str; 1] = ["udp"];

/// What the first packet of a datagram takes on a link beside the payload, in bytes: preamble 8, Ethernet header 14, frame check 4 and
/// gap 12 (IEEE 802.3), IPv4 20 (RFC 791), UDP 8 (RFC 768). Links of namespaces count the same.
const HEADERS: f64 = 66.0;

/// The headers of a message in bytes, as far as they are certain.
fn headers(stack: Option<&Stack>) -> f64 {
    let is_certain = stack.is_some_and(|s| OF_DATAGRAMS.contains(&s.adapter.as_str()));
    if is_certain { HEADERS } else { 0.0 }
}

impl Workload {
    /// Messages per second of one sender; `None` where the stack sets the pace.
    pub fn messages_per_second(&self) -> Option<f64> {
        match self {
            Workload::Stream { rate, .. } => Some(rate.hz()),
            Workload::Burst { messages, period } => {
                Some(f64::from(*messages) / period.as_secs_f64())
            }
            Workload::PingPong { .. }
            | Workload::Call { .. }
            | Workload::Flood
            | Workload::FirstMessage { .. }
            | Workload::Idle
            | Workload::Probe { .. } => None,
        }
    }

    /// How long after the first message of a sender its message `sequence`, from 0, is due; `None` where the gaps between
    /// them are not known beforehand.
    pub fn due_after(&self, sequence: u64) -> Option<Nanos> {
        match *self {
            // A product, so that the period's rounding does not add up.
            Workload::Stream {
                rate,
                arrivals: Arrivals::Fixed,
            } => Some(Nanos((sequence as f64 * rate.period_ns()).round() as u64)),
            Workload::Burst { messages, period } => {
                let group = sequence / u64::from(messages.max(1));
                Some(Nanos(group.saturating_mul(period.0)))
            }
            Workload::Stream { .. }
            | Workload::PingPong { .. }
            | Workload::Call { .. }
            | Workload::Flood
            | Workload::FirstMessage { .. }
            | Workload::Idle
            | Workload::Probe { .. } => None,
        }
    }
}

impl Experiment {
    /// From the first due time of the window to its end, where the workload has a pace. Of a number of
    /// messages it is nominal: what they take at that pace.
    pub fn paced_window(&self) -> Option<Nanos> {
        let rate = self.workload.messages_per_second()?;
        Some(match self.window {
            Extent::Duration(time) => time,
            Extent::Messages(n) => Nanos((n as f64 / rate * 1e9) as u64),
        })
    }

    /// How long the window is, where that is known beforehand.
    pub fn known_window(&self) -> Option<Nanos> {
        match self.window {
            Extent::Duration(time) => Some(time),
            Extent::Messages(_) => self.paced_window(),
        }
    }

    /// Bits per second that one sender has to send, whatever the stack does, with so many bytes of headers for each message.
    fn bits_per_sender(&self, headers: f64) -> Option<f64> {
        Some(self.workload.messages_per_second()? * (self.mean_bytes() + headers) * 8.0)
    }
}

/// Offered in one direction.
#[derive(Debug, Clone, Copy, Default)]
struct Direction {
    least: f64,
    copies: f64,
}

/// The link that experiments which run at the same time overload most: where multicast does not help, if there is one.
/// `stack` is that of all of them, and `graph` is theirs: what goes through gateways loads the links of their hosts.
pub fn overload(
    flows: &[&Experiment],
    stack: Option<&Stack>,
    graph: &Graph,
    testbed: &Testbed,
) -> Option<Overload> {
    let headers = headers(stack);
    let over_links = |e: &&&Experiment| e.placement == Placement::Host;
    let bits = |e: &&Experiment| e.bits_per_sender(headers);
    flows.iter().filter(over_links).find_map(&bits)?;
    // Where the stack sets the pace, nothing is known to be offered.
    let bits: Vec<f64> = flows.iter().map(|e| bits(e).unwrap_or(0.0)).collect();
    let loads = loads(graph, testbed, &bits);
    let loads = loads.into_iter().zip(&testbed.hosts);
    let mut over: Vec<Overload> = loads
        .flat_map(|(directions, host)| directions.map(|offered| (offered, host)))
        .filter_map(|(Direction { least, copies }, host)| {
            let capacity = host.link?.rate_bits as f64;
            (copies > capacity).then_some(Overload {
                host: host.name.clone(),
                least,
                copies,
                capacity,
                headers: headers > 0.0,
            })
        })
        .collect();
    let badness = |o: &Overload| ((o.least / o.capacity).max(1.0), o.copies / o.capacity);
    // Stable: of equals the first host, and what it sends before what it receives.
    over.sort_by(|a, b| {
        badness(b)
            .partial_cmp(&badness(a))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    over.into_iter().next()
}

/// What every host sends and receives over its link, where each sender of a flow sends so many `bits`.
fn loads(graph: &Graph, testbed: &Testbed, bits: &[f64]) -> Vec<[Direction; 2]> {
    let mut loads = vec![[Direction::default(); 2]; testbed.hosts.len()];
    for channel in &graph.channels {
        let host_of = |index: &u16| graph.participant(*index).map(|p| p.host);
        let Some(from) = host_of(&channel.writer) else {
            continue;
        };
        let flow = graph.participant(channel.writer).map_or(0, |p| p.flow);
        let bits = bits.get(usize::from(flow)).copied().unwrap_or(0.0);
        let mut reached = BTreeSet::new();
        for to in channel.readers.iter().filter_map(host_of) {
            if to == from {
                continue;
            }
            let first = f64::from(u8::from(reached.insert(to)));
            loads[from][0].copies += bits;
            loads[to][1].least += bits * first;
            loads[to][1].copies += bits;
        }
        if !reached.is_empty() {
            loads[from][0].least += bits;
        }
    }
    loads
}
