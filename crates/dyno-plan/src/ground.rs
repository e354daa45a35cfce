//! `--ground`: the probes that a run's own figures can be taken apart with, beside its experiments.

use crate::catalog::Catalog;
use crate::mistakes::PlanError;
use dyno_model::plan::{ExperimentId, PlanWarning, Scheduling};
use dyno_model::{Experiment, Placement, Plan, Request};
use std::collections::BTreeSet;

/// The name of the suite that is made here; no file has a blank in its name.
const SUITE: &str = "the ground of a run";

/// What stands in the way of every message: a system call, a wake-up on one CPU and, apart, on another.
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
"#;

/// Needs two CPUs.
const WAKE_UP: &str = r#"
[[experiment]]
name = "ground-wake-up"
workload = "probe"
probe = "ipi"
by = "futex"
"#;

/// Where the probes run, so that they are on the ground of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// As `--set` has it.
    scheduling: String,
    mlock: bool,
    /// The first two that the experiment has; empty: it is not pinned, or another host's.
    cpus: Vec<u32>,
}

impl Place {
    fn of(e: &Experiment) -> Place {
        let mut cpus: Vec<u32> = Vec::new();
        for cpu in e
            .cpus_of_one()
            .iter()
            .filter(|_| e.placement != Placement::Host)
        {
            if cpus.len() < 2 && !cpus.contains(cpu) {
                cpus.push(*cpu);
            }
        }
        Place {
            scheduling: match e.scheduling {
                Scheduling::Other => "other".into(),
                Scheduling::Fifo(priority) => format!("fifo:{priority}"),
                Scheduling::Deadline => "deadline".into(),
            },
            mlock: e.mlock,
            cpus,
        }
    }

    /// As settings of a request.
    fn settings(&self) -> Vec<(String, String)> {
        let mut set = vec![
            ("scheduling".to_owned(), self.scheduling.clone()),
            ("mlock".to_owned(), self.mlock.to_string()),
        ];
        if !self.cpus.is_empty() {
            set.push(("cpus".to_owned(), format!("{:?}", self.cpus)));
        }
        set
    }
}

/// Adds the probes to the plan, each marked as added, for every scheduling class, locking of memory and CPUs of its
/// experiments; copies are of the payloads that the plan has. What this machine cannot probe stands among the plan's
/// refusals. `planned` makes the plan of a suite of theirs. Each round trip gets a twin of one trial in which is counted what it asks of the kernel.
///
/// # Errors
///
/// Where a setting that the probes share with the run is none for them.
pub(crate) fn add(
    plan: &mut Plan,
    catalog: &Catalog,
    request: &Request,
    planned: impl Fn(&Catalog, &Request) -> Result<Plan, PlanError>,
) -> Result<(), PlanError> {
    let exchanges = || {
        let all = plan.experiments.iter();
        all.filter(|e| !e.workload.kind().is_probe())
    };
    let sizes: BTreeSet<usize> = exchanges().map(|e| e.payload.bytes()).collect();
    let places: BTreeSet<Place> = exchanges().map(Place::of).collect();
    let bases = plan.bases();
    let can_count = |e: &&Experiment| can_count(e) && !bases.contains(&e.id);
    let twins: Vec<Experiment> = exchanges().filter(can_count).map(twin).collect();
    if twins.is_empty() {
        plan.warnings.push(PlanWarning::NoBreakdown.into());
    }
    for place in places {
        let mut text = PROBES.to_owned();
        if place.cpus.len() != 1 {
            text.push_str(WAKE_UP);
        }
        let sizes: Vec<String> = sizes.iter().map(|bytes| format!("\"{bytes} B\"")).collect();
        // What a receiver copies its sender has written, on the one CPU of both or on another.
        let by = match place.cpus.len() {
            1 => "\"own\"",
            _ => "\"own\", \"other\"",
        };
        text.push_str(&format!(
            "[[experiment]]\nname = \"ground-copy\"\nworkload = \"probe\"\nprobe = \"copy\"\n\
             [experiment.matrix]\nby = [{by}]\npayload = [{}]\n",
            sizes.join(", ")
        ));
        let mut catalog = catalog.clone();
        catalog.add_suite(SUITE, "built-in probes of --ground", text);
        let request = Request {
            suite: SUITE.into(),
            testbed: request.testbed.clone(),
            set: place.settings(),
            seed: request.seed,
            ..Request::default()
        };
        let ground = planned(&catalog, &request)?;
        for mut probe in ground.experiments {
            probe.added = true;
            let is_it = |e: &Experiment| {
                Experiment {
                    id: probe.id,
                    ..e.clone()
                } == probe
            };
            if plan.experiments.iter().any(is_it) {
                continue;
            }
            // The number of cells of both is bounded.
            probe.id = ExperimentId(plan.experiments.len() as u32);
            plan.experiments.push(probe);
        }
        plan.stacks.extend(ground.stacks);
        for refusal in ground.refused {
            if !plan.refused.contains(&refusal) {
                plan.refused.push(refusal);
            }
        }
    }
    // Last, so that who leaves them out keeps the numbers of the others.
    for mut twin in twins {
        twin.id = ExperimentId(plan.experiments.len() as u32);
        plan.experiments.push(twin);
    }
    Ok(())
}

/// Round trips of one machine are taken apart.
fn can_count(e: &Experiment) -> bool {
    e.workload.kind().is_closed_loop() && e.placement != Placement::Host && e.flow.is_none()
}

/// The same once more, for its counts alone.
fn twin(e: &Experiment) -> Experiment {
    Experiment {
        trials: 1,
        raw_samples: 0,
        floor: None,
        base: None,
        added: true,
        counted: true,
        ..e.clone()
    }
}
