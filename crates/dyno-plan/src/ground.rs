//! `--ground`: the probes that a run's own figures can be taken apart with, beside its experiments.

use crate::catalog::Catalog;
use crate::host::HostFacts;
use crate::problem::PlanError;
use dyno_model::plan::ExperimentId;
use dyno_model::{AdapterDescription, Plan, Request};
use std::collections::BTreeSet;

/// The name of the suite that is made here; no file has a blank in its name.
const SUITE: &str = "the ground of a run";

/// What stands in the way of every message: a system call, a wake-up on one CPU and on another.
const PROBES: &str = r#"
title = "the ground of a run"
[defaults]
trials = 4
warmup = "20 ms"
window = "200 ms"
[[experiment]]
name = "ground-syscall"
workload = "probe"
probe = "syscall"
batch = 100
[[experiment]]
name = "ground-switch"
workload = "probe"
probe = "switch"
by = "futex"
[experiment.matrix]
sides = ["threads", "processes"]
[[experiment]]
name = "ground-wake-up"
workload = "probe"
probe = "ipi"
by = "futex"
"#;

/// Settings of the command line that probes share with the run.
const SHARED: [&str; 2] = ["scheduling", "mlock"];

/// Adds the probes to the plan, each marked as added; copies are of the payloads that the plan has. What this machine
/// cannot probe stands among the plan's refusals.
///
/// # Errors
///
/// Where a setting that the probes share with the run is none for them.
pub(crate) fn add(
    plan: &mut Plan,
    catalog: &Catalog,
    request: &Request,
    adapters: &[AdapterDescription],
    facts: &HostFacts,
) -> Result<(), PlanError> {
    let exchanges = plan
        .experiments
        .iter()
        .filter(|e| !e.workload.kind().is_probe());
    let sizes: BTreeSet<usize> = exchanges.map(|e| e.payload.bytes()).collect();
    let mut text = PROBES.to_owned();
    if !sizes.is_empty() {
        let sizes: Vec<String> = sizes.iter().map(|bytes| format!("\"{bytes} B\"")).collect();
        text.push_str(&format!(
            "[[experiment]]\nname = \"ground-copy\"\nworkload = \"probe\"\nprobe = \"copy\"\n\
             [experiment.matrix]\npayload = [{}]\n",
            sizes.join(", ")
        ));
    }
    let mut catalog = catalog.clone();
    catalog.add_suite(SUITE, "built-in probes of --ground", text);
    let shared = request
        .set
        .iter()
        .filter(|(key, _)| SHARED.contains(&key.as_str()));
    let request = Request {
        suite: SUITE.into(),
        testbed: request.testbed.clone(),
        set: shared.cloned().collect(),
        seed: request.seed,
        ..Request::default()
    };
    let ground = crate::plan(&catalog, &request, adapters, facts)?;
    for mut probe in ground.experiments {
        // The number of cells of both is bounded.
        probe.id = ExperimentId(plan.experiments.len() as u32);
        probe.added = true;
        plan.experiments.push(probe);
    }
    plan.stacks.extend(ground.stacks);
    plan.refused.extend(ground.refused);
    Ok(())
}
