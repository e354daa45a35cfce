//! What experiments offer against what there is: bits on links, messages in memory, busy roles on
//! CPUs. Said before the run and kept with it; nothing is refused, because an overload may be what
//! somebody wants to see.
//!
//! Only lower bounds are claimed. Payloads alone count, without headers, acknowledgements and
//! repetitions; of one message to several receivers one copy leaves its host where the stack may
//! multicast, and the load with a copy for each receiver is named beside it.

use crate::host::HostFacts;
use dyno_model::plan::{Experiment, Extent, Reach};
use dyno_model::{OptionValue, Placement, Stack, Testbed, Topology, Wait, Workload, WorkloadKind};
use std::collections::{BTreeMap, BTreeSet};

/// Of more stacks only the first are named.
const MOST_NAMED: usize = 3;

/// Remarks on loads that cannot be carried, one line for each reason.
pub(crate) fn warnings(
    experiments: &[Experiment],
    testbed: &Testbed,
    stacks: &BTreeMap<String, Stack>,
    facts: &HostFacts,
) -> Vec<String> {
    let mut remarks = Remarks::default();
    for e in experiments.iter().filter(|e| !e.added) {
        let overload = overload(e, testbed);
        if let Some(overload) = &overload {
            remarks.add(e, overload.reason());
        }
        let Some(free) = facts.memory_bytes.filter(|_| is_here(e, testbed)) else {
            continue;
        };
        remarks.add_if(e, stacks.get(&e.stack).and_then(|s| history(e, s, free)));
        remarks.add_if(e, overload.and_then(|o| o.backlog(e, free)));
    }
    let mut lines = remarks.lines();
    lines.extend(busy(experiments, facts));
    lines.extend(shared_cpus(experiments, testbed, facts));
    lines
}

/// Reasons with the cells that they hold for, in the order of their first.
#[derive(Default)]
struct Remarks(Vec<Remark>);

struct Remark {
    experiment: String,
    topology: Topology,
    reason: String,
    stacks: Vec<String>,
}

impl Remarks {
    fn add(&mut self, e: &Experiment, reason: String) {
        let same = |r: &&mut Remark| {
            r.experiment == e.name && r.topology == e.topology && r.reason == reason
        };
        match self.0.iter_mut().find(same) {
            Some(remark) if remark.stacks.contains(&e.stack) => {}
            Some(remark) => remark.stacks.push(e.stack.clone()),
            None => self.0.push(Remark {
                experiment: e.name.clone(),
                topology: e.topology,
                reason,
                stacks: vec![e.stack.clone()],
            }),
        }
    }

    fn add_if(&mut self, e: &Experiment, reason: Option<String>) {
        if let Some(reason) = reason {
            self.add(e, reason);
        }
    }

    fn lines(self) -> Vec<String> {
        let line = |r: Remark| {
            let (named, rest) = r.stacks.split_at(r.stacks.len().min(MOST_NAMED));
            let more = match rest.len() {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            format!(
                "{} {} on {}{more}: {}",
                r.experiment,
                r.topology,
                named.join(", "),
                r.reason
            )
        };
        self.0.into_iter().map(line).collect()
    }
}

/// Payload bits per second that one sender has to send, whatever the stack does; `None` where the
/// stack sets the pace.
fn bits_per_sender(e: &Experiment) -> Option<f64> {
    Some(messages_per_second(&e.workload)? * e.payload.bytes() as f64 * 8.0)
}

fn messages_per_second(workload: &Workload) -> Option<f64> {
    match workload {
        Workload::Stream { rate, .. } => Some(rate.hz()),
        Workload::Burst { messages, period } => Some(f64::from(*messages) / period.as_secs_f64()),
        Workload::PingPong { .. }
        | Workload::Call { .. }
        | Workload::Flood
        | Workload::FirstMessage { .. } => None,
    }
}

/// One direction of a host's link, in bits per second.
#[derive(Debug, Clone, Copy, Default)]
struct Direction {
    /// With one copy of a message for all receivers.
    least: f64,
    /// With a copy for each receiver.
    copies: f64,
}

/// A direction that is offered more than its link carries.
struct Overload<'a> {
    host: &'a str,
    offered: Direction,
    capacity: f64,
}

/// The link that an experiment overloads most: where multicast does not help, if there is one.
fn overload<'a>(e: &Experiment, testbed: &'a Testbed) -> Option<Overload<'a>> {
    if e.placement != Placement::Host {
        return None;
    }
    let bits = bits_per_sender(e)?;
    let loads = loads(e, testbed, bits).into_iter().zip(&testbed.hosts);
    let mut over: Vec<Overload<'a>> = loads
        .flat_map(|(directions, host)| directions.map(|offered| (offered, host)))
        .filter_map(|(offered, host)| {
            let capacity = host.link?.rate_bits as f64;
            (offered.copies > capacity).then_some(Overload {
                host: &host.name,
                offered,
                capacity,
            })
        })
        .collect();
    let badness = |o: &Overload<'_>| {
        let least = o.offered.least / o.capacity;
        (least.max(1.0), o.offered.copies / o.capacity)
    };
    // Stable: of equals the first host, and what it sends before what it receives.
    over.sort_by(|a, b| {
        badness(b)
            .partial_cmp(&badness(a))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    over.into_iter().next()
}

/// What every host sends and receives over its link.
fn loads(e: &Experiment, testbed: &Testbed, bits: f64) -> Vec<[Direction; 2]> {
    let mut loads = vec![[Direction::default(); 2]; testbed.hosts.len()];
    let (senders, receivers) = (e.topology.senders, e.topology.receivers);
    let host_of = |participant| testbed.host_of(e.placement, e.topology, participant);
    for sender in 0..senders {
        let from = host_of(sender);
        let mut reached = BTreeSet::new();
        for to in (senders..senders + receivers).map(host_of) {
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

impl Overload<'_> {
    /// In words, with the share that can arrive at best.
    fn reason(&self) -> String {
        let Direction { least, copies } = self.offered;
        let link = format!("the {} link of {}", bit_rate(self.capacity), self.host);
        let share = |offered: f64| format!("{:.0} %", (100.0 * self.capacity / offered).floor());
        if least > self.capacity && copies > least {
            format!(
                "at least {} offered on {link}, {} where each receiver gets a copy of its own: at most {} \
                 can arrive",
                bit_rate(least),
                bit_rate(copies),
                share(least)
            )
        } else if least > self.capacity {
            format!(
                "{} offered on {link}: at most {} can arrive",
                bit_rate(least),
                share(least)
            )
        } else {
            format!(
                "{} offered on {link} where each receiver gets a copy of its own, of which at most {} can \
                 arrive; by multicast {}",
                bit_rate(copies),
                share(copies),
                bit_rate(least)
            )
        }
    }

    /// What waits for the link at the end of the window, where that is more than the memory that is
    /// free: a stack that never drops must keep it.
    fn backlog(&self, e: &Experiment, free: u64) -> Option<String> {
        let excess = (self.offered.least - self.capacity).max(0.0);
        let bytes = excess / 8.0 * window_seconds(e)?;
        (bytes > free as f64).then(|| {
            format!(
                "a stack that drops nothing has {} waiting for the link at the end of the window, and main \
                 memory has {} free; shorten the window, or choose a stack that may drop",
                size(bytes),
                size(free as f64)
            )
        })
    }
}

/// The nominal length of the window, where the workload has a pace.
fn window_seconds(e: &Experiment) -> Option<f64> {
    let rate = messages_per_second(&e.workload)?;
    Some(match e.window {
        Extent::Duration(time) => time.as_secs_f64(),
        Extent::Messages(n) => n as f64 / rate,
    })
}

/// A history that the stack's option of that name lets grow beyond the memory that is free.
fn history(e: &Experiment, stack: &Stack, free: u64) -> Option<String> {
    let Some(OptionValue::Int(depth)) = stack.options.get("history") else {
        return None;
    };
    let offered = messages_per_second(&e.workload)? * window_seconds(e)?;
    let kept = (*depth as f64).min(offered).floor();
    let (senders, receivers) = (e.topology.senders, e.topology.receivers);
    let places = f64::from(senders) * (1.0 + f64::from(receivers));
    let bytes = kept * places * e.payload.bytes() as f64;
    (bytes > free as f64).then(|| {
        format!(
            "a history of {depth} may keep {} of messages at {} and {}, and main memory has {} free; lower the \
             stack's `history`",
            size(bytes),
            counted(senders, "sender"),
            counted(receivers, "receiver"),
            size(free as f64)
        )
    })
}

fn counted(n: u16, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

/// Whether all participants have this machine's memory and CPUs.
fn is_here(e: &Experiment, testbed: &Testbed) -> bool {
    let participants = u16::try_from(e.participants()).unwrap_or(u16::MAX);
    (0..participants)
        .filter_map(|p| {
            testbed
                .hosts
                .get(testbed.host_of(e.placement, e.topology, p))
        })
        .all(|host| matches!(host.reach, Reach::Local | Reach::Namespace))
}

/// Floods of more participants than CPUs. Those that spin have a remark of their own.
fn busy(experiments: &[Experiment], facts: &HostFacts) -> Option<String> {
    let crowded = |e: &&Experiment| {
        e.workload.kind() == WorkloadKind::Flood
            && e.wait != Wait::Spin
            && e.participants() > facts.cpus.len()
    };
    let crowded: Vec<&Experiment> = experiments.iter().filter(crowded).collect();
    let most = crowded.iter().map(|e| e.participants()).max();
    most.filter(|_| !facts.cpus.is_empty()).map(|most| {
        format!(
            "{} of {} experiments flood with more participants than CPUs (up to {most} on {}): all of them are \
             busy at once, and the rates are those of shared CPUs",
            crowded.len(),
            experiments.len(),
            facts.cpus.len()
        )
    })
}

/// Hosts that are namespaces share CPUs, which hosts apart do not.
fn shared_cpus(experiments: &[Experiment], testbed: &Testbed, facts: &HostFacts) -> Option<String> {
    let crowded = |e: &&Experiment| {
        e.placement == Placement::Host && is_here(e, testbed) && e.participants() > facts.cpus.len()
    };
    let crowded: Vec<&Experiment> = experiments.iter().filter(crowded).collect();
    let most = crowded.iter().map(|e| e.participants()).max();
    most.filter(|_| !facts.cpus.is_empty()).map(|most| {
        format!(
            "{} of {} experiments have up to {most} participants on hosts that share {} CPUs: latencies hold \
             waits for a CPU that hosts of their own would not have",
            crowded.len(),
            experiments.len(),
            facts.cpus.len()
        )
    })
}

/// `1.6 Gbit/s`.
fn bit_rate(bits: f64) -> String {
    format!("{}bit/s", with_prefix(bits))
}

/// `4.8 GB`.
fn size(bytes: f64) -> String {
    format!("{}B", with_prefix(bytes))
}

/// Three significant digits without zeros at the end, and a decimal prefix.
fn with_prefix(value: f64) -> String {
    const PREFIXES: [(f64, &str); 4] = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];
    let fits = PREFIXES.iter().find(|(scale, _)| value >= *scale);
    let (scale, prefix) = *fits.unwrap_or(&(1.0, ""));
    let value = value / scale;
    let places = match value {
        v if v < 10.0 => 2,
        v if v < 100.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.places$}");
    let short = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{short} {prefix}")
}

#[cfg(test)]
mod tests;
