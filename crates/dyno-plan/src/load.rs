//! What experiments offer against what there is: bits on links, messages in memory, busy roles on
//! CPUs. Said before the run and kept with it; nothing is refused, because an overload may be what
//! somebody wants to see.

use crate::host::HostFacts;
use dyno_model::load::overload;
use dyno_model::plan::{Cells, Crowded, Experiment, Overload, PlanWarning, Reach};
use dyno_model::{Graph, OptionValue, Participant, Placement, Stack, Testbed, Wait, WorkloadKind};
use std::collections::BTreeMap;

/// Remarks on loads that cannot be carried, one for each reason.
pub(crate) fn warnings(
    experiments: &[Experiment],
    testbed: &Testbed,
    stacks: &BTreeMap<String, Stack>,
    facts: &HostFacts,
) -> Vec<PlanWarning> {
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
            remarks.add(e, Reason::Overload(overload.clone()));
        }
        let Some(free) = facts.memory_bytes.filter(|_| is_here(&graph, testbed)) else {
            continue;
        };
        remarks.add_if(e, stack.and_then(|s| history(e, &graph_of(&[e]), s, free)));
        remarks.add_if(e, overload.and_then(|o| backlog(&o, e, free)));
    }
    let mut warnings = remarks.warnings();
    warnings.extend(busy(experiments, facts, graph_of).map(PlanWarning::CrowdedFlood));
    let shared = shared_cpus(experiments, testbed, facts, graph_of);
    warnings.extend(shared.map(PlanWarning::CrowdedHosts));
    warnings
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
struct Remarks(Vec<(Cells, Reason)>);

/// What the memory or a link has too little of.
#[derive(Clone, PartialEq)]
enum Reason {
    Overload(Overload),
    Backlog {
        waiting: f64,
        free: f64,
    },
    History {
        depth: i64,
        kept: f64,
        senders: u16,
        receivers: u16,
        free: f64,
    },
}

impl Remarks {
    fn add(&mut self, e: &Experiment, reason: Reason) {
        let same = |(cells, known): &&mut (Cells, Reason)| {
            cells.experiment == e.name && cells.topology == e.topology && *known == reason
        };
        match self.0.iter_mut().find(same) {
            Some((cells, _)) if cells.stacks.contains(&e.stack) => {}
            Some((cells, _)) => cells.stacks.push(e.stack.clone()),
            None => {
                let cells = Cells {
                    experiment: e.name.clone(),
                    topology: e.topology,
                    stacks: vec![e.stack.clone()],
                };
                self.0.push((cells, reason));
            }
        }
    }

    fn add_if(&mut self, e: &Experiment, reason: Option<Reason>) {
        if let Some(reason) = reason {
            self.add(e, reason);
        }
    }

    fn warnings(self) -> Vec<PlanWarning> {
        let warning = |(cells, reason)| match reason {
            Reason::Overload(overload) => PlanWarning::Overload { cells, overload },
            Reason::Backlog { waiting, free } => PlanWarning::Backlog {
                cells,
                waiting,
                free,
            },
            Reason::History {
                depth,
                kept,
                senders,
                receivers,
                free,
            } => PlanWarning::History {
                cells,
                depth,
                kept,
                senders,
                receivers,
                free,
            },
        };
        self.0.into_iter().map(warning).collect()
    }
}

/// What waits for the link at the end of the window, where that is more than the memory that is
/// free: a stack that never drops must keep it.
fn backlog(overload: &Overload, e: &Experiment, free: u64) -> Option<Reason> {
    let excess = (overload.least - overload.capacity).max(0.0);
    let waiting = excess / 8.0 * e.paced_window()?.as_secs_f64();
    let free = free as f64;
    (waiting > free).then_some(Reason::Backlog { waiting, free })
}

/// A history that the stack's option of that name lets grow beyond the memory that is free.
fn history(e: &Experiment, graph: &Graph, stack: &Stack, free: u64) -> Option<Reason> {
    let Some(OptionValue::Int(depth)) = stack.options.get("history") else {
        return None;
    };
    let offered = e.workload.messages_per_second()? * e.paced_window()?.as_secs_f64();
    let each = (*depth as f64).min(offered).floor();
    let copies = e.topology.copies;
    let kept = each * graph.least_messages() as f64 * e.payload.bytes() as f64;
    let free = free as f64;
    (kept > free).then_some(Reason::History {
        depth: *depth,
        kept,
        senders: copies * e.topology.senders,
        receivers: copies * e.topology.receivers,
        free,
    })
}

/// Whether all participants have this machine's memory and CPUs.
fn is_here(graph: &Graph, testbed: &Testbed) -> bool {
    let hosts = graph.hosts();
    let mut hosts = hosts.iter().filter_map(|host| testbed.hosts.get(*host));
    hosts.all(|host| matches!(host.reach, Reach::Local | Reach::Namespace))
}

/// Experiments with more participants of those that are `asked` for than there are CPUs, flows that run at the same time together.
fn crowded(
    experiments: &[Experiment],
    facts: &HostFacts,
    graph_of: impl Fn(&[&Experiment]) -> Graph,
    asked: impl Fn(&Experiment) -> bool,
) -> Option<Crowded> {
    let leads = || experiments.iter().filter(|e| e.lead() == e.id);
    let all = leads().map(|lead| {
        let flows = dyno_model::plan::together(experiments, lead);
        let participants = graph_of(&flows).participants.into_iter();
        let of = |p: &Participant| flows.get(usize::from(p.flow)).is_some_and(|e| asked(e));
        participants.filter(of).count()
    });
    let crowded: Vec<usize> = all.filter(|n| *n > facts.cpus.len()).collect();
    let most = crowded.iter().max().filter(|_| !facts.cpus.is_empty())?;
    Some(Crowded {
        experiments: crowded.len(),
        of: leads().count(),
        most: *most,
        cpus: facts.cpus.len(),
    })
}

/// Floods of more participants than CPUs. Those that spin have a remark of their own.
fn busy(
    experiments: &[Experiment],
    facts: &HostFacts,
    graph_of: impl Fn(&[&Experiment]) -> Graph,
) -> Option<Crowded> {
    let floods = |e: &Experiment| e.workload.kind() == WorkloadKind::Flood && e.wait != Wait::Spin;
    crowded(experiments, facts, graph_of, floods)
}

/// Hosts that are namespaces share CPUs, which hosts apart do not.
fn shared_cpus(
    experiments: &[Experiment],
    testbed: &Testbed,
    facts: &HostFacts,
    graph_of: impl Fn(&[&Experiment]) -> Graph,
) -> Option<Crowded> {
    let shares =
        |e: &Experiment| e.placement == Placement::Host && is_here(&graph_of(&[e]), testbed);
    crowded(experiments, facts, &graph_of, shares)
}

#[cfg(test)]
mod tests;
