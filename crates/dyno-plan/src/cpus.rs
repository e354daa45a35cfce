//! Which CPUs participants, their libraries' threads and the stack's daemons get.
//!
//! A participant has a set of CPUs. Its own thread is pinned to one of them. Where that thread keeps its
//! CPU busy, because it spins until messages are due or arrive, the library's threads run beside it and
//! not under it: they would wait for it, and the stack would look slower than it is.

use crate::cell::Cell;
use crate::host::HostFacts;
use crate::matrix::Matrix;
use crate::parallel;
use crate::quantity::At;
use crate::remote;
use crate::sets::Cpus;
use dyno_model::graph::Shape;
use dyno_model::plan::{Experiment, Host, Reach};
use dyno_model::{Chain, Channel, Graph, Loop, Pacing, Participant, Stack, Testbed, Wait};
use dyno_toml::{Place, Problem, Problems};
use std::collections::BTreeSet;

/// Who of an experiment runs where.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) cpus: Vec<u32>,
    pub(crate) library_cpus: Vec<Vec<u32>>,
    pub(crate) daemon_cpus: Vec<u32>,
}

/// Refuses lists that do not match the number of participants.
pub(crate) fn check_count(matrix: &Matrix<'_>, problems: &mut Problems) {
    if matrix.flow.is_some() {
        // A list is refused with the flow.
        return;
    }
    let at = &matrix.conditions.cpus.at;
    let Cpus::Listed(listed) = &matrix.conditions.cpus.value else {
        return;
    };
    // Copies of a probe take theirs from the list, however many there are.
    let topologies = matrix.topologies().iter().filter(|_| !matrix.is_probe());
    for topology in topologies {
        let participants = topology.participants();
        if participants != listed.sets.len() {
            let found = match listed.sets.len() {
                1 => "1 set of CPUs".to_owned(),
                n => format!("{n} sets of CPUs"),
            };
            Problem::at(
                at,
                format!(
                    "`cpus` names {found}, but topology {} has {participants} participants",
                    topology.alone()
                ),
            )
            .label("one set, or one CPU, for each participant, senders first")
            .help("write as many as participants, or \"auto\"")
            .note(problems);
        }
    }
}

/// Refuses listed CPUs that the participants' hosts do not have. What a host that is reached by ssh has, the run asks
/// when it connects.
pub(crate) fn check_hosts(
    matrix: &Matrix<'_>,
    experiment: &Experiment,
    stack: &Stack,
    testbed: &Testbed,
    machine: &HostFacts,
    problems: &mut Problems,
) {
    let Cpus::Listed(listed) = &matrix.conditions.cpus.value else {
        return;
    };
    let mut wanted = experiment.cpus_by_participant(Some(stack), testbed);
    if matrix.is_probe() {
        // Any of them may be probed.
        wanted = vec![(experiment.on_host, listed.cpus().into_iter().collect())];
    }
    for (number, (host, cpus)) in wanted.iter().enumerate() {
        let Some(host) = testbed.hosts.get(*host) else {
            continue;
        };
        let Some(there) = remote::cpus_of(host, machine) else {
            continue;
        };
        if let Some(cpu) = cpus.difference(&there).next() {
            let names = |set: &&At<Vec<u32>>| set.value.contains(cpu);
            // Of a further copy the set that its own was made from.
            let own = listed.sets.get(number).filter(names);
            let Some(set) = own.or_else(|| listed.sets.iter().find(names)) else {
                continue;
            };
            problems.push(missing(&set.at, *cpu, host, &there));
        }
    }
}

fn missing(at: &Place, cpu: u32, host: &Host, there: &BTreeSet<u32>) -> Problem {
    let all: Vec<String> = there.iter().map(u32::to_string).collect();
    let all = all.join(", ");
    if let Reach::Vm(_) = host.reach {
        return Problem::at(
            at,
            format!("the host {} has no CPU {cpu} to run on", host.name),
        )
        .label("not a CPU of the virtual machine")
        .help(format!(
            "its CPUs: {all}; give it more with `cpus` in the testbed's file"
        ));
    }
    Problem::at(at, format!("there is no CPU {cpu} to run on"))
        .label("does not exist, or is not allowed to this process")
        .help(format!("CPUs: {all}"))
}

/// Who of `cell` runs where. Listed sets of one machine that overlap are refused, but for the same single
/// CPU written twice where nobody waits by spin, or where the list says that they are shared.
pub(crate) fn places(
    matrix: &Matrix<'_>,
    cell: &Cell,
    stack: &Stack,
    testbed: &Testbed,
    facts: &HostFacts,
    problems: &mut Problems,
) -> Places {
    let chain = stack.chain.as_ref();
    let legs = chain.map(Chain::placements).unwrap_or_default();
    let foreign = chain.map(Chain::foreign).unwrap_or_default();
    // A list has a set for each participant of the topology, also where one plays both sides.
    let shape = Shape {
        workload: cell.workload.kind(),
        topology: cell.topology,
        placement: cell.placement,
        loopback: false,
        legs: &legs,
        foreign: &foreign,
    };
    let graph = Graph::of(shape, testbed);
    let participants = &graph.participants;
    let wait = |channel: &Channel| {
        let leg = chain.and_then(|chain| chain.legs.get(usize::from(channel.leg_of_readers())));
        leg.and_then(|leg| leg.wait).unwrap_or(cell.wait)
    };
    let polls = |p: &Participant| graph.incoming(p.index).any(|c| wait(c) == Wait::Spin);
    let pacer = matrix.conditions.common.pacer;
    let spinning = participants.iter().map(|p| spins(cell, pacer, p, polls(p)));
    let spinning: Vec<bool> = spinning.collect();
    match &matrix.conditions.cpus.value {
        Cpus::None => Places::default(),
        Cpus::Auto => automatic(facts, &spinning),
        Cpus::Listed(listed) => {
            let machines = participants.iter().map(|p| machine(testbed, p));
            let machines: Vec<usize> = machines.collect();
            let sets = parallel::spread(listed, cell.topology.copies, facts);
            // An adapter that plays both sides itself has one thread for all.
            if !stack.loopback && !listed.share {
                refuse_overlaps(matrix.name, cell, &sets, &machines, problems);
            }
            let mut sets: Vec<Vec<u32>> = sets.into_iter().map(|s| s.value).collect();
            // The list is of senders and receivers. Gateways stand behind them and have what is left.
            let taken: BTreeSet<u32> = sets.iter().flatten().copied().collect();
            let left = without(&facts.cpus, &taken).unwrap_or_default();
            let gateways = participants.len().saturating_sub(sets.len());
            sets.extend(left.iter().cycle().take(gateways).map(|cpu| vec![*cpu]));
            as_listed(&sets, &machines, facts, &spinning)
        }
    }
}

/// Whether the participant's own thread leaves its CPU to nobody: it waits by spin (`polls`), spins until messages
/// are due, or sends as fast as it can.
pub(crate) fn spins(cell: &Cell, pacer: Pacing, participant: &Participant, polls: bool) -> bool {
    match cell.workload.kind().info().loop_kind {
        // Everybody sleeps until it is there, and the start has no time for moving threads.
        Loop::Start | Loop::Nothing => false,
        Loop::Closed | Loop::Silent => polls,
        Loop::Open => (participant.role.is_active() && pacer == Pacing::Spin) || polls,
    }
}

/// Participants with the same number share CPUs: namespaces have those of this machine, and hosts that ssh reaches by
/// the same destination are one.
fn machine(testbed: &Testbed, participant: &Participant) -> usize {
    match testbed.hosts.get(participant.host).map(|h| &h.reach) {
        Some(reach @ Reach::Ssh { .. }) => {
            let first = testbed.hosts.iter().position(|h| h.reach == *reach);
            1 + first.unwrap_or(participant.host)
        }
        Some(Reach::Vm(_)) => 1 + participant.host,
        _ => 0,
    }
}

fn refuse_overlaps(
    experiment: &str,
    cell: &Cell,
    sets: &[At<Vec<u32>>],
    machines: &[usize],
    problems: &mut Problems,
) {
    for (j, set) in sets.iter().enumerate() {
        let both = sets[..j].iter().enumerate().find_map(|(i, other)| {
            if machines.get(i) != machines.get(j) {
                return None;
            }
            let cpu = set.value.iter().find(|cpu| other.value.contains(cpu))?;
            Some((i, *cpu, other.value == set.value && set.value.len() == 1))
        });
        match both {
            Some((_, cpu, true)) if cell.wait == Wait::Spin => Problem::at(
                &set.at,
                format!("two roles share CPU {cpu} while they spin"),
            )
            .label(format!("experiment `{experiment}` waits by spin"))
            .help(
                "give each a CPU of its own, or wait by \"block\"; where they are to share it, \
                         write { sets = […], share = true }",
            )
            .note(problems),
            Some((_, _, true)) | None => {}
            Some((i, cpu, false)) => Problem::at(
                &set.at,
                format!("participants {i} and {j} both have CPU {cpu}"),
            )
            .label("overlaps an earlier set")
            .help(
                "give each participant CPUs of its own; where they are to share them, write \
                         { sets = […], share = true }",
            )
            .note(problems),
        }
    }
}

/// The CPUs of the list, and no others. Participants of the same machine get own threads apart as far as
/// their sets allow it.
fn as_listed(
    sets: &[Vec<u32>],
    machines: &[usize],
    facts: &HostFacts,
    spinning: &[bool],
) -> Places {
    let mut own: Vec<(usize, u32)> = Vec::new();
    for (set, &machine) in sets.iter().zip(machines) {
        let fresh = set.iter().find(|&&cpu| !own.contains(&(machine, cpu)));
        own.extend(fresh.or(set.first()).map(|&cpu| (machine, cpu)));
    }
    let libraries = sets.iter().zip(machines).zip(spinning);
    let libraries = libraries.map(|((set, machine), spins)| {
        let mut set = set.clone();
        set.sort_unstable();
        let here = own.iter().zip(spinning);
        let busy = here.filter(|((m, _), spins)| m == machine && **spins);
        let busy = busy.map(|((_, cpu), _)| *cpu).collect();
        match *spins {
            true => without(&set, &busy).unwrap_or(set),
            false => set,
        }
    });
    let cpus: Vec<u32> = own.iter().map(|(_, cpu)| *cpu).collect();
    Places {
        library_cpus: told_apart(&cpus, libraries.collect()),
        daemon_cpus: without(&facts.cpus, &sets.iter().flatten().copied().collect())
            .unwrap_or_default(),
        cpus,
    }
}

/// A whole core for each participant where there are as many, else a CPU, else the CPUs in turn; the first
/// core, which has most of the kernel's own work, only where no other is left. Libraries' threads that
/// cannot run under the participant's own have the rest of its core and one that is left, or else all CPUs
/// on which nobody spins.
pub(crate) fn automatic(facts: &HostFacts, spinning: &[bool]) -> Places {
    let participants = spinning.len();
    let singles = || facts.cpus.iter().map(|cpu| vec![*cpu]).collect();
    let cores: Vec<Vec<u32>> = match facts.cores.is_empty() {
        true => singles(),
        false => facts.cores.clone(),
    };
    let units: Vec<Vec<u32>> = match cores.len() >= participants {
        true => cores,
        false => singles(),
    };
    let has_cpu_0 = units.first().is_some_and(|unit| unit.contains(&0));
    let first = usize::from(has_cpu_0 && units.len() > participants);
    let sets: Vec<Vec<u32>> = match units.len() >= participants {
        true => units[first..].iter().take(participants).cloned().collect(),
        false => units.iter().cycle().take(participants).cloned().collect(),
    };
    let left = (first + participants).min(units.len());
    let mut left = units[left..].iter().chain(&units[..first]);
    let cpus: Vec<u32> = sets.iter().filter_map(|s| s.first().copied()).collect();
    let busy: BTreeSet<u32> = cpus
        .iter()
        .zip(spinning)
        .filter(|(_, spins)| **spins)
        .map(|(cpu, _)| *cpu)
        .collect();
    let libraries: Vec<Vec<u32>> = sets
        .iter()
        .zip(spinning)
        .map(|(set, spins)| {
            if !spins {
                return set.clone();
            }
            let mut near: Vec<u32> = set
                .iter()
                .chain(left.next().into_iter().flatten())
                .copied()
                .collect();
            near.sort_unstable();
            without(&near, &busy)
                .or_else(|| without(&facts.cpus, &busy))
                .unwrap_or_else(|| facts.cpus.clone())
        })
        .collect();
    let taken = sets.iter().chain(&libraries).flatten().copied().collect();
    Places {
        daemon_cpus: without(&facts.cpus, &taken).unwrap_or_default(),
        library_cpus: told_apart(&cpus, libraries),
        cpus,
    }
}

/// Those of `cpus` that are not among `others`, if there are any.
fn without(cpus: &[u32], others: &BTreeSet<u32>) -> Option<Vec<u32>> {
    let rest: Vec<u32> = cpus
        .iter()
        .filter(|cpu| !others.contains(cpu))
        .copied()
        .collect();
    (!rest.is_empty()).then_some(rest)
}

/// Nothing where every library's threads have the CPU of their participant's own thread.
fn told_apart(cpus: &[u32], libraries: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
    match cpus.iter().zip(&libraries).all(|(cpu, set)| *set == [*cpu]) {
        true => Vec::new(),
        false => libraries,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_model::cpus::ranges;

    fn machine(cores: &[&[u32]]) -> HostFacts {
        let mut cpus: Vec<u32> = cores.iter().copied().flatten().copied().collect();
        cpus.sort_unstable();
        HostFacts {
            cpus,
            cores: cores.iter().map(|c| c.to_vec()).collect(),
            ..HostFacts::default()
        }
    }

    fn text(places: &Places) -> String {
        let sets = |sets: &[Vec<u32>]| {
            let sets: Vec<String> = sets.iter().map(|s| ranges(s)).collect();
            sets.join(" | ")
        };
        format!(
            "{:?}; libraries {}; daemons {}",
            places.cpus,
            sets(&places.library_cpus),
            ranges(&places.daemon_cpus)
        )
    }

    fn auto(cores: &[&[u32]], spinning: &[bool]) -> String {
        text(&automatic(&machine(cores), spinning))
    }

    #[test]
    fn each_participant_gets_a_whole_core_and_not_the_first() {
        // As on machines whose second hardware threads are numbered after all of the first.
        let cores: &[&[u32]] = &[&[0, 4], &[1, 5], &[2, 6], &[3, 7]];
        assert_eq!(
            auto(cores, &[false, false]),
            "[1, 2]; libraries 1,5 | 2,6; daemons 0,3-4,7"
        );
        assert_eq!(
            auto(cores, &[true, false]),
            "[1, 2]; libraries 3,5,7 | 2,6; daemons 0,4"
        );
        assert_eq!(
            auto(cores, &[true; 4]),
            "[0, 1, 2, 3]; libraries 4 | 5 | 6 | 7; daemons "
        );
    }

    #[test]
    fn where_cores_do_not_suffice_each_gets_a_cpu() {
        assert_eq!(
            auto(&[&[0, 1]], &[false, false]),
            "[0, 1]; libraries ; daemons "
        );
        assert_eq!(
            auto(&[&[0, 1], &[2, 3]], &[false; 3]),
            "[1, 2, 3]; libraries ; daemons 0"
        );
        assert_eq!(
            auto(&[&[0], &[1]], &[false; 5]),
            "[0, 1, 0, 1, 0]; libraries ; daemons "
        );
    }

    #[test]
    fn a_library_runs_beside_a_spinning_thread_and_not_under_it() {
        let two: &[&[u32]] = &[&[0], &[1]];
        assert_eq!(
            auto(two, &[true, false]),
            "[0, 1]; libraries 1 | 1; daemons "
        );
        // There is no CPU on which nobody spins.
        assert_eq!(
            auto(two, &[true, true]),
            "[0, 1]; libraries 0-1 | 0-1; daemons "
        );
        assert_eq!(
            auto(&[&[0], &[1], &[2], &[3]], &[true, true]),
            "[1, 2]; libraries 3 | 0; daemons "
        );
        assert_eq!(auto(&[&[0]], &[true, true]), "[0, 0]; libraries ; daemons ");
    }

    #[test]
    fn a_first_cpu_that_is_not_cpu_0_is_used() {
        assert_eq!(
            auto(&[&[4], &[5], &[6]], &[false, false]),
            "[4, 5]; libraries ; daemons 6"
        );
    }

    #[test]
    fn a_host_that_is_not_known_pins_nobody() {
        assert_eq!(auto(&[], &[true, false]), "[]; libraries ; daemons ");
    }

    #[test]
    fn listed_sets_are_not_left() {
        let facts = machine(&[&[0], &[1], &[2], &[3], &[4]]);
        let listed = |machines: &[usize], sets: &[&[u32]], spinning: &[bool]| {
            let sets: Vec<Vec<u32>> = sets.iter().map(|s| s.to_vec()).collect();
            text(&as_listed(&sets, machines, &facts, spinning))
        };
        assert_eq!(
            listed(&[0, 0], &[&[1], &[0]], &[true, false]),
            "[1, 0]; libraries ; daemons 2-4"
        );
        assert_eq!(
            listed(&[0, 0], &[&[1, 0], &[3, 2]], &[true, false]),
            "[1, 3]; libraries 0 | 2-3; daemons 4"
        );
        // Shared: own threads apart as far as there are CPUs.
        assert_eq!(
            listed(&[0; 3], &[&[0, 1], &[0, 1], &[0, 1]], &[false; 3]),
            "[0, 1, 0]; libraries 0-1 | 0-1 | 0-1; daemons 2-4"
        );
        // CPUs of the same numbers on two machines.
        assert_eq!(
            listed(&[1, 2], &[&[0, 1], &[0, 1]], &[true, false]),
            "[0, 0]; libraries 1 | 0-1; daemons 2-4"
        );
    }
}
