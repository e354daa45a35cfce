//! What experiments offer against what there is: bits on links, messages in memory, busy roles on
//! CPUs. Said before the run and kept with it; nothing is refused, because an overload may be what
//! somebody wants to see.

use crate::host::HostFacts;
use dyno_model::load::{Overload, overload};
use dyno_model::plan::{Experiment, Reach};
use dyno_model::unit::{counted, with_prefix};
use dyno_model::{
    Graph, OptionValue, Participant, Placement, Stack, Testbed, Topology, Wait, WorkloadKind,
};
use std::collections::BTreeMap;

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
    let graph_of = |flows: &[&Experiment]| graph_of(flows, stacks, testbed);
    for e in experiments.iter().filter(|e| !e.added) {
        if e.lead() != e.id {
            // Its load is told with that of the first.
            continue;
        }
        let flows = dyno_model::plan::together(experiments, e);
        let graph = graph_of(&flows);
        let stack = stacks.get(&e.stack);
        let overload = overload(&flows, stack, &graph, testbed);
        if let Some(overload) = &overload {
            remarks.add(e, overload.to_string());
        }
        let Some(free) = facts.memory_bytes.filter(|_| is_here(&graph, testbed)) else {
            continue;
        };
        remarks.add_if(e, stack.and_then(|s| history(e, &graph_of(&[e]), s, free)));
        remarks.add_if(e, overload.and_then(|o| backlog(&o, e, free)));
    }
    let mut lines = remarks.lines();
    lines.extend(busy(experiments, facts, graph_of));
    lines.extend(shared_cpus(experiments, testbed, facts, graph_of));
    lines
}

/// Who takes part in experiments that run at the same time.
pub(crate) fn graph_of(
    flows: &[&Experiment],
    stacks: &BTreeMap<String, Stack>,
    testbed: &Testbed,
) -> Graph {
    let stack = flows.first().and_then(|e| stacks.get(&e.stack));
    dyno_model::graph::of_all(flows, stack, testbed)
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

/// What waits for the link at the end of the window, where that is more than the memory that is
/// free: a stack that never drops must keep it.
fn backlog(overload: &Overload<'_>, e: &Experiment, free: u64) -> Option<String> {
    let excess = (overload.least - overload.capacity).max(0.0);
    let bytes = excess / 8.0 * e.paced_window()?.as_secs_f64();
    (bytes > free as f64).then(|| {
        format!(
            "a stack that drops nothing has {} waiting for the link at the end of the window, and main \
             memory has {} free; shorten the window, or choose a stack that may drop",
            size(bytes),
            size(free as f64)
        )
    })
}

/// A history that the stack's option of that name lets grow beyond the memory that is free.
fn history(e: &Experiment, graph: &Graph, stack: &Stack, free: u64) -> Option<String> {
    let Some(OptionValue::Int(depth)) = stack.options.get("history") else {
        return None;
    };
    let offered = e.workload.messages_per_second()? * e.paced_window()?.as_secs_f64();
    let kept = (*depth as f64).min(offered).floor();
    let copies = e.topology.copies;
    let (senders, receivers) = (copies * e.topology.senders, copies * e.topology.receivers);
    let bytes = kept * graph.least_messages() as f64 * e.payload.bytes() as f64;
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

/// Whether all participants have this machine's memory and CPUs.
fn is_here(graph: &Graph, testbed: &Testbed) -> bool {
    let hosts = graph.hosts();
    let mut hosts = hosts.iter().filter_map(|host| testbed.hosts.get(*host));
    hosts.all(|host| matches!(host.reach, Reach::Local | Reach::Namespace))
}

/// The most participants of those that are `asked` for that any experiment has, flows that run at the same time together;
/// how many have more than there are CPUs; and how many experiments there are.
fn crowded(
    experiments: &[Experiment],
    facts: &HostFacts,
    graph_of: impl Fn(&[&Experiment]) -> Graph,
    asked: impl Fn(&Experiment) -> bool,
) -> Option<(usize, usize, usize)> {
    let leads = || experiments.iter().filter(|e| e.lead() == e.id);
    let all = leads().map(|lead| {
        let flows = dyno_model::plan::together(experiments, lead);
        let participants = graph_of(&flows).participants.into_iter();
        let of = |p: &Participant| flows.get(usize::from(p.flow)).is_some_and(|e| asked(e));
        participants.filter(of).count()
    });
    let crowded: Vec<usize> = all.filter(|n| *n > facts.cpus.len()).collect();
    let most = crowded.iter().max().filter(|_| !facts.cpus.is_empty())?;
    Some((*most, crowded.len(), leads().count()))
}

/// Floods of more participants than CPUs. Those that spin have a remark of their own.
fn busy(
    experiments: &[Experiment],
    facts: &HostFacts,
    graph_of: impl Fn(&[&Experiment]) -> Graph,
) -> Option<String> {
    let floods = |e: &Experiment| e.workload.kind() == WorkloadKind::Flood && e.wait != Wait::Spin;
    let (most, n, all) = crowded(experiments, facts, graph_of, floods)?;
    Some(format!(
        "{n} of {all} experiments flood with more participants than CPUs (up to {most} on {}): all \
         participants are busy at once, so the rates are those of shared CPUs",
        facts.cpus.len()
    ))
}

/// Hosts that are namespaces share CPUs, which hosts apart do not.
fn shared_cpus(
    experiments: &[Experiment],
    testbed: &Testbed,
    facts: &HostFacts,
    graph_of: impl Fn(&[&Experiment]) -> Graph,
) -> Option<String> {
    let shares =
        |e: &Experiment| e.placement == Placement::Host && is_here(&graph_of(&[e]), testbed);
    let (most, n, all) = crowded(experiments, facts, &graph_of, shares)?;
    Some(format!(
        "{n} of {all} experiments have up to {most} participants on hosts that share {} CPUs: latencies \
         include waits for a CPU, which separate hosts would not have",
        facts.cpus.len()
    ))
}

/// `4.8 GB`.
fn size(bytes: f64) -> String {
    format!("{}B", with_prefix(bytes))
}

#[cfg(test)]
mod tests;
