//! What a run asks: the experiments whose conditions are the same in all but the stack. Only within a
//! question are stacks compared, so a polling reader never stands against a blocking one.

use dyno_model::plan::{Extent, Plan, Scheduling};
use dyno_model::{Access, Against, Experiment};
use dyno_report::{ExperimentSummary, Summary, clean};

/// Experiments that ask the same, each with its place in the summary, in the plan's order.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    /// The conditions that all share, in words; no other question of the run has the same words.
    pub(crate) text: String,
    /// At least one.
    pub(crate) experiments: Vec<(usize, &'a ExperimentSummary)>,
}

/// The questions of a run, in the plan's order. Yardsticks (floors, loopbacks) are part of none, and where a
/// run was measured against another build or itself, only one of the two sides is.
pub(crate) fn questions<'a>(summary: &'a Summary, plan: &Plan) -> Vec<Question<'a>> {
    let mut groups: Vec<Vec<(usize, &ExperimentSummary)>> = Vec::new();
    let all = summary.experiments.iter().enumerate();
    for (place, e) in all.filter(|(_, e)| stands_for_its_stack(plan, e)) {
        let same = |g: &&mut Vec<(usize, &ExperimentSummary)>| {
            g.first()
                .is_some_and(|(_, first)| asks_the_same(&first.experiment, &e.experiment))
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push((place, e)),
            None => groups.push(vec![(place, e)]),
        }
    }
    let firsts: Vec<&Experiment> = groups
        .iter()
        .filter_map(|g| g.first())
        .map(|(_, e)| &e.experiment)
        .collect();
    let texts = words(&firsts);
    groups
        .into_iter()
        .zip(texts)
        .map(|(experiments, text)| Question { text, experiments })
        .collect()
}

fn stands_for_its_stack(plan: &Plan, e: &ExperimentSummary) -> bool {
    let is_other_side = match plan.against {
        Some(Against::Same) => e.experiment.base.is_some(),
        Some(Against::Build { .. }) => e.is_base,
        Some(Against::Stack { .. }) | None => false,
    };
    !is_other_side && !e.is_floor && !e.is_loopback
}

/// Whether a call takes a pair of channels is the stack's own, like its options.
fn asks_the_same(a: &Experiment, b: &Experiment) -> bool {
    let factors = |e: &Experiment| {
        let where_and_how = (e.placement, e.topology, e.wait, e.access);
        (where_and_how, e.payload, e.scheduling, e.mlock, e.window)
    };
    let pinned = |e: &Experiment| (e.cpus.clone(), e.library_cpus.clone());
    a.machine == b.machine
        && a.name == b.name
        && a.workload == b.workload
        && factors(a) == factors(b)
        && pinned(a) == pinned(b)
}

/// The conditions of each, with as many of the rarer ones as it takes to tell them apart.
fn words(firsts: &[&Experiment]) -> Vec<String> {
    let mut texts: Vec<String> = firsts.iter().map(|e| usual(e)).collect();
    let more: [fn(&Experiment) -> String; 2] = [Experiment::cpus_text, window];
    for rarer in more {
        let before = texts.clone();
        for (text, e) in texts.iter_mut().zip(firsts) {
            if before.iter().filter(|t| **t == *text).count() > 1 {
                text.push_str(&format!(", {}", rarer(e)));
            }
        }
    }
    texts
}

/// Name, load and every factor; those that are hardly ever changed only where they are.
fn usual(e: &Experiment) -> String {
    let (name, workload) = (clean(&e.name), e.workload.to_string());
    let mut parts = vec![
        match workload.starts_with(&name) {
            true => workload,
            false => format!("{name}, {workload}"),
        },
        e.payload.to_string(),
        e.wait.to_string(),
        e.placement.to_string(),
        e.topology.to_string(),
    ];
    if e.access != Access::Stamp {
        parts.push(format!("access {}", e.access));
    }
    if let Scheduling::Fifo(priority) = e.scheduling {
        parts.push(format!("fifo {priority}"));
    }
    if e.mlock {
        parts.push("memory locked".into());
    }
    if let Some(machine) = &e.machine {
        parts.push(format!("on {}", clean(machine)));
    }
    parts.join(", ")
}

fn window(e: &Experiment) -> String {
    match e.window {
        Extent::Duration(time) => format!("window {time}"),
        Extent::Messages(n) => format!("{n} messages"),
    }
}
