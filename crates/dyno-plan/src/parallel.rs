//! Copies of an exchange at once: how many, and on which CPUs. Those of a probe have a module of their own.

use crate::cell::Cell;
use crate::host::HostFacts;
use crate::quantity::{At, Quantity};
use crate::sets::{Cpus, Listed};
use dyno_model::plan::{RefusalReason, Stack};
use dyno_model::unit::UnitError;
use dyno_model::{Placement, Topology};

/// Copies of a probe or an exchange at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parallel {
    /// As many as the CPUs have room for.
    EachCpu,
    /// So many.
    Copies(u16),
}

impl Quantity for Parallel {
    fn read(text: &str) -> Result<Self, UnitError> {
        match (text, text.parse()) {
            ("each-cpu", _) => Ok(Parallel::EachCpu),
            (_, Ok(n @ 1..=Topology::MAX_COPIES)) => Ok(Parallel::Copies(n)),
            _ => Err(UnitError {
                what: "number of copies",
                found: text.to_owned(),
                reason: "it is from 1 to 4096".into(),
                example: "1, 4 or \"each-cpu\"",
            }),
        }
    }
}

/// Each topology as often at once as asked for, each once. `each-cpu` is at least one.
pub(crate) fn topologies(
    alone: Vec<Topology>,
    asked: &[Parallel],
    cpus: &Cpus,
    facts: &HostFacts,
) -> Vec<Topology> {
    let mut all = Vec::new();
    for one in alone {
        for parallel in asked {
            let copies = match parallel {
                Parallel::Copies(n) => *n,
                Parallel::EachCpu => {
                    let room = there(&cpus.listed().unwrap_or_default(), facts).len()
                        / of_one(one, cpus).max(1);
                    // No machine of today has so many CPUs.
                    (room as u16).clamp(1, Topology::MAX_COPIES)
                }
            };
            let topology = Topology { copies, ..one };
            if !all.contains(&topology) {
                all.push(topology);
            }
        }
    }
    all
}

/// The CPUs that one exchange takes: those that are listed for it, else one for each participant.
fn of_one(topology: Topology, cpus: &Cpus) -> usize {
    match cpus.listed() {
        Some(listed) => listed.len(),
        None => topology.participants(),
    }
}

/// The CPUs for copies: those that are listed, then the others in ascending order.
fn there(listed: &[u32], facts: &HostFacts) -> Vec<u32> {
    let mut all = listed.to_vec();
    let others = facts.cpus.iter().filter(|cpu| !all.contains(cpu));
    let others: Vec<u32> = others.copied().collect();
    all.extend(others);
    all
}

/// Why so many exchanges cannot stand side by side.
pub(crate) fn refusal(
    cell: &Cell,
    stack: &Stack,
    cpus: &Cpus,
    facts: &HostFacts,
) -> Option<RefusalReason> {
    let topology = cell.topology;
    let copies = usize::from(topology.copies);
    if copies == 1 {
        return None;
    }
    if stack.loopback {
        return Some(RefusalReason::LoopbackCopies {
            stack: stack.name.clone(),
        });
    }
    if stack.chain.is_some() {
        return Some(RefusalReason::CopiesOverLegs);
    }
    if cell.placement == Placement::Host {
        return Some(RefusalReason::CopiesOfHosts);
    }
    let (wanted, cpus) = (
        copies * of_one(topology, cpus),
        there(&cpus.listed().unwrap_or_default(), facts).len(),
    );
    if wanted > cpus {
        return Some(RefusalReason::CopiesCpus { wanted, cpus });
    }
    // As many as a closed loop has: one there and one back.
    let channels = copies * usize::from(topology.senders) * (1 + usize::from(topology.receivers));
    let most = usize::from(u16::MAX);
    (channels > most).then_some(RefusalReason::CopiesChannels { channels, most })
}

/// The sets of CPUs of all copies: the first has those that are listed, each further one the same on CPUs that no other
/// has. [`refusal`] has seen that there are enough.
pub(crate) fn spread(listed: &Listed, copies: u16, facts: &HostFacts) -> Vec<At<Vec<u32>>> {
    let own = listed.cpus();
    let there = there(&own, facts);
    let mut all = Vec::new();
    for cpus in there
        .chunks_exact(own.len().max(1))
        .take(usize::from(copies))
    {
        let instead = |cpu: &u32| {
            let place = own.iter().position(|o| o == cpu);
            place.map_or(*cpu, |i| cpus[i])
        };
        all.extend(listed.sets.iter().map(|set| At {
            value: set.value.iter().map(instead).collect(),
            at: set.at.clone(),
        }));
    }
    all
}
