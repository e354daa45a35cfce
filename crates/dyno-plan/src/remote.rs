//! Hosts that are other machines: what is not known of them while planning, and what Dyno does not do
//! there.

use crate::HostFacts;
use dyno_model::plan::Reach;
use dyno_model::{Stack, Testbed};

/// Whether any host is another machine than the planner's.
fn is_remote(testbed: &Testbed) -> bool {
    let mut hosts = testbed.hosts.iter();
    hosts.any(|h| matches!(h.reach, Reach::Ssh { .. } | Reach::Vm(_)))
}

/// What is known of the machine that participants run on: of another one nothing, but that a virtual one has the CPUs
/// that it is given.
pub(crate) fn facts(testbed: &Testbed, own: &HostFacts) -> HostFacts {
    if let [only] = testbed.hosts.as_slice()
        && let Reach::Vm(machine) = &only.reach
    {
        return HostFacts {
            cpus: (0..machine.cpus).collect(),
            ..HostFacts::default()
        };
    }
    match is_remote(testbed) {
        true => HostFacts::default(),
        false => own.clone(),
    }
}

/// Why the stack cannot run on the testbed's hosts.
pub(crate) fn refusal(stack: &Stack, testbed: &Testbed) -> Option<String> {
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
