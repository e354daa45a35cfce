//! Hosts that are other machines: what is not known of them while planning, and what Dyno does not do
//! there.

use crate::HostFacts;
use crate::cell::Cell;
use crate::configured::Configured;
use crate::matrix::{Conditions, Matrix};
use dyno_model::machine::{SHARING, VsockBackEnd};
use dyno_model::plan::{Experiment, Host, PlanWarning, Reach, RefusalReason};
use dyno_model::{AdapterDescription, Placement, Stack, Start, Testbed, Wait};
use std::collections::{BTreeMap, BTreeSet};

/// The adapter of what only virtual machines have.
const VSOCK: &str = "vsock";

/// Whether any host is another machine than the planner's.
fn is_remote(testbed: &Testbed) -> bool {
    let mut hosts = testbed.hosts.iter();
    hosts.any(|h| matches!(h.reach, Reach::Ssh { .. } | Reach::Vm(_)))
}

/// What is known of the machine that participants run on: of another one nothing, but that a virtual one has the CPUs
/// that it is given.
/// Of one that is named, what is known of it.
pub(crate) fn facts(testbed: &Testbed, host: Option<&str>, own: &HostFacts) -> HostFacts {
    let named = host.and_then(|_| testbed.hosts.get(index(host, testbed)?));
    let only = match testbed.hosts.as_slice() {
        [only] => Some(only),
        _ => named,
    };
    if only.is_some_and(|host| matches!(host.reach, Reach::Local | Reach::Namespace)) {
        return own.clone();
    }
    if let Some(host) = only
        && let Reach::Vm(machine) = &host.reach
    {
        return HostFacts {
            cpus: (0..machine.cpus).collect(),
            vsock: own.vsock,
            ..HostFacts::default()
        };
    }
    match is_remote(testbed) {
        true => HostFacts {
            vsock: own.vsock,
            ..HostFacts::default()
        },
        false => own.clone(),
    }
}

/// The CPUs that participants on a host may run on; `None` where that is not known before the run connects to it.
pub(crate) fn cpus_of(host: &Host, own: &HostFacts) -> Option<BTreeSet<u32>> {
    match &host.reach {
        Reach::Local | Reach::Namespace if own.cpus.is_empty() => None,
        Reach::Local | Reach::Namespace => {
            Some(own.cpus.iter().chain(&own.isolated).copied().collect())
        }
        Reach::Vm(machine) => Some((0..machine.cpus).collect()),
        Reach::Ssh { .. } => None,
    }
}

/// The number of a host by its name; the first one where none is named.
pub(crate) fn index(host: Option<&str>, testbed: &Testbed) -> Option<usize> {
    let Some(name) = host else { return Some(0) };
    testbed.hosts.iter().position(|h| h.name == name)
}

/// Why an experiment that names a host, or boots machines anew, cannot run on the testbed.
pub(crate) fn no_host(matrix: &Matrix<'_>, testbed: &Testbed) -> Option<RefusalReason> {
    let c = &matrix.conditions;
    if c.common.reboot && testbed.machines().next().is_none() {
        return Some(RefusalReason::NothingToBoot);
    }
    if index(c.host, testbed).is_none() {
        return Some(RefusalReason::NoSuchHost {
            host: c.host.unwrap_or_default().to_owned(),
            hosts: testbed.hosts.iter().map(|h| h.name.clone()).collect(),
        });
    }
    (c.host.is_some() && matrix.flow.is_some()).then_some(RefusalReason::HostOfFlow)
}

/// Why the start of participants cannot be measured as it is to be: whoever starts them is a process of this machine.
pub(crate) fn no_start(
    cell: &Cell,
    on: &Configured<'_>,
    conditions: &Conditions<'_>,
    testbed: &Testbed,
) -> Option<RefusalReason> {
    let start = conditions.common.start?;
    if !cell.workload.kind().is_start() {
        return Some(RefusalReason::StartOfOthers);
    }
    if conditions.common.reboot {
        return Some(RefusalReason::StartAndReboot);
    }
    let own = index(conditions.host, testbed).and_then(|host| testbed.hosts.get(host));
    let used = match cell.placement {
        Placement::Host => testbed.hosts.iter().collect(),
        Placement::Thread | Placement::Process => Vec::from_iter(own),
    };
    let is_other = |h: &&&Host| !matches!(h.reach, Reach::Local | Reach::Namespace);
    let Some(other) = used.iter().find(is_other) else {
        return lives_in_one_container(&on.stack, &on.adapters, Some(start));
    };
    Some(RefusalReason::StartElsewhere {
        host: other.name.clone(),
        start,
    })
}

/// Why participants that are each in a container cannot talk over the stack: all that containers share are files and the
/// network, and what needs no more goes between hosts.
pub(crate) fn lives_in_one_container(
    stack: &Stack,
    adapters: &[&AdapterDescription],
    start: Option<Start>,
) -> Option<RefusalReason> {
    let goes = |a: &&AdapterDescription| {
        a.capabilities.placements.contains(&Placement::Host) && a.name != SHARING
    };
    (start == Some(Start::Container) && !adapters.iter().all(goes)).then(|| {
        RefusalReason::Containers {
            stack: stack.name.clone(),
        }
    })
}

/// Whether the stack is of testbeds with virtual machines, and this is none.
pub(crate) fn is_out_of_place(stack: &Stack, testbed: &Testbed) -> bool {
    stack.adapters().contains(&VSOCK) && testbed.machines().next().is_none()
}

/// Gives the machines of a testbed the devices that stacks need of them, and no others.
pub(crate) fn equip(
    testbed: &mut Testbed,
    stacks: &BTreeMap<String, Stack>,
    experiments: &[Experiment],
    facts: &HostFacts,
) {
    let has_vsock = stacks.values().any(|s| s.adapters().contains(&VSOCK));
    let shares = |e: &Experiment| {
        let stack = stacks.get(&e.stack);
        stack.is_some_and(|s| !waits_in_memory(s, e.placement, e.wait).is_empty())
    };
    let has_memory = experiments.iter().any(shares);
    for host in &mut testbed.hosts {
        if let Reach::Vm(machine) = &mut host.reach {
            machine.vsock = facts.vsock.filter(|_| has_vsock);
            machine.shared_bytes = machine.shared_bytes.filter(|_| has_memory);
        }
    }
}

/// How receivers wait on the channels of a stack that go from one host to another in memory that both share.
fn waits_in_memory(stack: &Stack, placement: Placement, wait: Wait) -> Vec<Wait> {
    let Some(chain) = &stack.chain else {
        let crosses = stack.adapter == SHARING && placement == Placement::Host;
        return crosses.then_some(wait).into_iter().collect();
    };
    let legs = chain.legs.iter();
    let crossing = legs.filter(|l| l.adapter == SHARING && l.placement == Placement::Host);
    crossing.map(|leg| leg.wait.unwrap_or(wait)).collect()
}

/// Why the hosts of the testbed share no memory, where that is so.
fn no_memory(stack: &Stack, testbed: &Testbed) -> Option<RefusalReason> {
    let stack = stack.name.clone();
    let Some((_, machine)) = testbed.machines().next() else {
        return Some(RefusalReason::NoMachine { stack });
    };
    let none = machine.shared_bytes.is_none();
    none.then_some(RefusalReason::NoSharedMemory { stack })
}

/// Why `cell` cannot be measured on a stack that goes through memory which machines share.
pub(crate) fn lacks_memory(cell: &Cell, stack: &Stack, testbed: &Testbed) -> Option<RefusalReason> {
    let waits = waits_in_memory(stack, cell.placement, cell.wait);
    let sleeps = waits.iter().find(|wait| **wait != Wait::Spin);
    match (waits.is_empty(), sleeps) {
        (true, _) => None,
        (false, None) => no_memory(stack, testbed),
        // No testbed would help it.
        (false, Some(wait)) => Some(RefusalReason::Futex {
            stack: stack.name.clone(),
            wait: *wait,
        }),
    }
}

/// Whether the testbed's hosts share no memory, and `reason` is of a stack that needs it.
pub(crate) fn is_without_memory(reason: &RefusalReason, stack: &Stack, testbed: &Testbed) -> bool {
    let is_of_memory = match reason {
        RefusalReason::NoMachine { .. } | RefusalReason::NoSharedMemory { .. } => true,
        RefusalReason::Futex { wait, .. } => stack.waits.contains(wait),
        _ => false,
    };
    is_of_memory && no_memory(stack, testbed).is_some()
}

/// Why a stack of vsock cannot run here.
fn lacks_vsock(stack: &Stack, testbed: &Testbed, facts: &HostFacts) -> Option<RefusalReason> {
    if !stack.adapters().contains(&VSOCK) {
        return None;
    }
    let name = stack.name.clone();
    if is_out_of_place(stack, testbed) {
        return Some(RefusalReason::VsockWithoutMachine { stack: name });
    }
    let guests = testbed.hosts.iter();
    let guests = guests.filter(|h| matches!(h.reach, Reach::Vm(_))).count();
    match facts.vsock {
        Some(VsockBackEnd::Kernel) if guests == testbed.hosts.len() => {
            Some(RefusalReason::VsockOfGuests { stack: name })
        }
        Some(_) if testbed.hosts.len() - guests > 1 => {
            Some(RefusalReason::VsockOfHosts { stack: name })
        }
        Some(_) => None,
        None => Some(RefusalReason::NoVsock { stack: name }),
    }
}

/// Why the stack cannot run on the testbed's hosts.
pub(crate) fn refusal(
    stack: &Stack,
    testbed: &Testbed,
    facts: &HostFacts,
) -> Option<RefusalReason> {
    if let Some(reason) = lacks_vsock(stack, testbed, facts) {
        return Some(reason);
    }
    let daemon = stack.daemons.first().filter(|_| is_remote(testbed))?;
    Some(RefusalReason::DaemonElsewhere {
        stack: stack.name.clone(),
        daemon: daemon.name.clone(),
    })
}

/// Remarks on what is not measured there.
pub(crate) fn warnings(testbed: &Testbed) -> Option<PlanWarning> {
    is_remote(testbed).then(|| PlanWarning::NoiseNotMeasured {
        hosts: testbed.hosts.iter().map(|h| h.name.clone()).collect(),
    })
}
