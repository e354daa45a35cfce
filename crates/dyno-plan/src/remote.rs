//! Hosts that are other machines: what is not known of them while planning, and what Dyno does not do
//! there.

use crate::HostFacts;
use crate::cell::Cell;
use crate::configured::Configured;
use crate::matrix::{Conditions, Matrix};
use dyno_model::machine::{SHARING, VsockBackEnd};
use dyno_model::plan::{Experiment, Host, Reach};
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
pub(crate) fn no_host(matrix: &Matrix<'_>, testbed: &Testbed) -> Option<String> {
    let c = &matrix.conditions;
    if c.common.reboot && testbed.machines().next().is_none() {
        return Some(
            "the testbed has no virtual machine to boot anew; choose for example --testbed vm"
                .into(),
        );
    }
    if index(c.host, testbed).is_none() {
        let names: Vec<&str> = testbed.hosts.iter().map(|h| h.name.as_str()).collect();
        let host = c.host.unwrap_or_default();
        return Some(format!(
            "the testbed has no host {host}; its hosts: {}",
            names.join(", ")
        ));
    }
    (c.host.is_some() && matrix.flow.is_some()).then(|| "a flow has no `host` of its own".into())
}

/// Why the start of participants cannot be measured as it is to be: whoever starts them is a process of this machine.
pub(crate) fn no_start(
    cell: &Cell,
    on: &Configured<'_>,
    conditions: &Conditions<'_>,
    testbed: &Testbed,
) -> Option<String> {
    let start = conditions.common.start?;
    if !cell.workload.kind().is_start() {
        return Some(
            "`start` is for first-message: whatever else is measured is over long after it".into(),
        );
    }
    if conditions.common.reboot {
        return Some("both `start` and `reboot` are recorded as `boot`; choose one".into());
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
    Some(format!(
        "participants on {} are not started as a {start} of this machine; leave `start` out there, or choose another `host`",
        other.name
    ))
}

/// Why participants that are each in a container cannot talk over the stack: all that containers share are files and the
/// network, and what needs no more goes between hosts.
pub(crate) fn lives_in_one_container(
    stack: &Stack,
    adapters: &[&AdapterDescription],
    start: Option<Start>,
) -> Option<String> {
    let goes = |a: &&AdapterDescription| {
        a.capabilities.placements.contains(&Placement::Host) && a.name != SHARING
    };
    (start == Some(Start::Container) && !adapters.iter().all(goes)).then(|| {
        format!(
            "{} goes between processes that see each other, and those in containers do not; choose a stack that goes between hosts",
            stack.name
        )
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
fn no_memory(stack: &Stack, testbed: &Testbed) -> Option<String> {
    let name = &stack.name;
    let Some((_, machine)) = testbed.machines().next() else {
        return Some(format!(
            "{name} goes from one host to another in memory that both share, as a virtual machine and its host do; choose for \
             example --testbed vm"
        ));
    };
    machine.shared_bytes.is_none().then(|| {
        format!(
            "{name} goes from one host to another in memory that both share, and the testbed says `shared_memory = \"none\"`; \
             write for example `shared_memory = \"64 MiB\"`"
        )
    })
}

/// Why `cell` cannot be measured on a stack that goes through memory which machines share.
pub(crate) fn lacks_memory(cell: &Cell, stack: &Stack, testbed: &Testbed) -> Option<String> {
    let waits = waits_in_memory(stack, cell.placement, cell.wait);
    let sleeps = waits.iter().find(|wait| **wait != Wait::Spin);
    match (waits.is_empty(), sleeps) {
        (true, _) => None,
        (false, None) => no_memory(stack, testbed),
        // No testbed would help it.
        (false, Some(wait)) => Some(asleep(stack, *wait)),
    }
}

/// Why a stack cannot wait so across the border.
fn asleep(stack: &Stack, wait: Wait) -> String {
    format!(
        "{} sleeps on a futex (wait by {wait}), which is of one machine; from one machine to another it spins: floor-spin",
        stack.name
    )
}

/// Whether the testbed's hosts share no memory, and `reason` is of a stack that needs it.
pub(crate) fn is_without_memory(reason: &str, stack: &Stack, testbed: &Testbed) -> bool {
    let is_asleep = |wait: &Wait| asleep(stack, *wait) == reason;
    no_memory(stack, testbed)
        .is_some_and(|without| without == reason || stack.waits.iter().any(is_asleep))
}

/// Why a stack of vsock cannot run here.
fn lacks_vsock(stack: &Stack, testbed: &Testbed, facts: &HostFacts) -> Option<String> {
    if !stack.adapters().contains(&VSOCK) {
        return None;
    }
    if is_out_of_place(stack, testbed) {
        return Some(format!(
            "{} crosses the border of a virtual machine, and the testbed has none; choose for example --testbed vm",
            stack.name
        ));
    }
    let guests = testbed.hosts.iter();
    let guests = guests.filter(|h| matches!(h.reach, Reach::Vm(_))).count();
    match facts.vsock {
        Some(VsockBackEnd::Kernel) if guests == testbed.hosts.len() => Some(format!(
            "{} joins a guest with its host here, and two guests only where its back end is a process",
            stack.name
        )),
        Some(_) if testbed.hosts.len() - guests > 1 => Some(format!(
            "{} joins each guest with one host, and the testbed has several beside its guests",
            stack.name
        )),
        Some(_) => None,
        None => Some(format!(
            "{} has no back end here: /dev/vhost-vsock is missing, and vhost-device-vsock is not installed; run \
             `cargo xtask daemons vsock`",
            stack.name
        )),
    }
}

/// Why the stack cannot run on the testbed's hosts.
pub(crate) fn refusal(stack: &Stack, testbed: &Testbed, facts: &HostFacts) -> Option<String> {
    if let Some(reason) = lacks_vsock(stack, testbed, facts) {
        return Some(reason);
    }
    let daemon = stack.daemons.first().filter(|_| is_remote(testbed))?;
    Some(format!(
        "{} needs the daemon {}, and dyno starts daemons on its own machine only; use a testbed of \
         namespaces",
        stack.name, daemon.name
    ))
}

/// Remarks on what is not measured there.
pub(crate) fn warnings(testbed: &Testbed) -> Option<String> {
    is_remote(testbed).then(|| {
        let names: Vec<&str> = testbed.hosts.iter().map(|h| &*h.name).collect();
        format!(
            "the noise of {} is not measured: no trial is marked as disturbed, and participants are pinned \
             only where `cpus` lists them; run `dyno doctor` there",
            names.join(", ")
        )
    })
}
