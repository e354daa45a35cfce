//! Whether manifests are of one plan, what their parts leave open, and the plan of all together.

use dyno_model::plan::Reach;
use dyno_model::plan::{Experiment, ExperimentId, Plan, PlanWarning};
use dyno_model::record::RunManifest;
use dyno_model::{AdapterDescription, Cause, Origin};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Index and count of a manifest's part.
pub(super) fn part_of(manifest: &RunManifest) -> Option<(u32, u32)> {
    let part = manifest.plan.shard.as_ref();
    part.map(|part| (part.index, part.count))
}

/// What is the same in every part of a run. The CPUs that participants are pinned to are the machine's
/// matter, and remarks too.
fn essence(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.shard = None;
    plan.warnings.clear();
    plan.refused.clear();
    for e in &mut plan.experiments {
        e.cpus.clear();
        e.library_cpus.clear();
        e.daemon_cpus.clear();
        e.cpus_listed = false;
    }
    // Where a machine's kernel lies is the host's matter; which one it is, is the run's.
    for host in &mut plan.testbed.hosts {
        if let Reach::Vm(machine) = &mut host.reach {
            let kernel = machine.kernel.as_deref().and_then(Path::file_name);
            machine.kernel = kernel.map(PathBuf::from);
        }
    }
    plan
}

/// The first difference between two plans, if they are not of one run; the first plan's side first.
pub(super) fn difference(one: &Plan, other: &Plan) -> Option<String> {
    let counts = [one, other].map(|p| p.shard.as_ref().map(|s| s.count));
    if let [Some(a), Some(b)] = counts
        && a != b
    {
        return Some(format!(
            "the first was divided into {a} parts, the second into {b}"
        ));
    }
    let (a, b) = (essence(one), essence(other));
    if a == b {
        return None;
    }
    let sides = |what: &str, a: &dyn std::fmt::Display, b: &dyn std::fmt::Display| {
        Some(format!("{what} is {a} in the first and {b} in the second"))
    };
    if a.suite != b.suite {
        return sides("the suite", &a.suite, &b.suite);
    }
    if a.testbed.name != b.testbed.name {
        return sides("the testbed", &a.testbed.name, &b.testbed.name);
    }
    if a.testbed != b.testbed {
        return Some(format!("the testbed {} has changed", a.testbed.name));
    }
    if let Some(difference) = stacks(&a, &b) {
        return Some(difference);
    }
    if a.experiments.len() != b.experiments.len() {
        let (a, b) = (a.experiments.len(), b.experiments.len());
        return sides("the number of experiments", &a, &b);
    }
    let mut pairs = a.experiments.iter().zip(&b.experiments);
    if let Some((x, y)) = pairs.find(|(x, y)| x != y) {
        return Some(match (label(x), label(y)) {
            (x, y) if x != y => {
                format!("the first has {x} and the second has {y} in the same place")
            }
            (label, _) => format!("the settings of {label} differ"),
        });
    }
    if a.seed != b.seed {
        return sides("the seed", &a.seed, &b.seed);
    }
    Some("they differ in --against, --precision, --repeats or the suite's heading".into())
}

fn stacks(a: &Plan, b: &Plan) -> Option<String> {
    let names: BTreeSet<&String> = a.stacks.keys().chain(b.stacks.keys()).collect();
    names
        .into_iter()
        .find_map(|name| match (a.stacks.get(name), b.stacks.get(name)) {
            (Some(x), Some(y)) if x == y => None,
            (Some(_), Some(_)) => Some(format!("the stack {name} is configured differently")),
            _ => Some(format!("only one of them has the stack {name}")),
        })
}

fn label(e: &Experiment) -> String {
    format!(
        "{} on {} ({}, {}, {}, {}, {}, {}{})",
        e.name,
        e.stack,
        e.exchange(),
        e.payload,
        e.wait,
        e.access,
        e.placement,
        e.topology,
        if e.counted { ", counted" } else { "" },
    )
}

/// What no part holds.
pub(super) struct Missing {
    /// `part 2 of 3 is missing`.
    pub(super) parts: String,
    /// Experiments of which no trial is stored.
    pub(super) experiments: usize,
}

/// The parts that are not among these, unless their experiments were measured nevertheless.
pub(super) fn missing(
    parts: &[RunManifest],
    stored: &BTreeMap<ExperimentId, u32>,
) -> Option<Missing> {
    let known: Vec<(u32, u32)> = parts.iter().map(part_of).collect::<Option<_>>()?;
    let (_, count) = *known.first()?;
    let absent: Vec<String> = (1..=count)
        .filter(|index| known.iter().all(|(known, _)| known != index))
        .map(|index| index.to_string())
        .collect();
    let plan = &parts[0].plan;
    let without = |e: &&Experiment| stored.get(&e.id).copied().unwrap_or(0) == 0;
    let elsewhere = |e: &&Experiment| parts.iter().all(|m| !m.plan.is_here(e.id));
    let experiments = plan.experiments.iter().filter(elsewhere);
    let experiments = experiments.filter(without).count();
    if experiments == 0 {
        return None;
    }
    let (noun, verb) = match absent.len() {
        1 => ("part", "is"),
        _ => ("parts", "are"),
    };
    Some(Missing {
        parts: format!("{noun} {} of {count} {verb} missing", absent.join(", ")),
        experiments,
    })
}

/// A remark for each part of which planned trials are not stored.
pub(super) fn incomplete(
    parts: &[RunManifest],
    stored: &BTreeMap<ExperimentId, u32>,
) -> Vec<String> {
    let mut notes = Vec::new();
    for part in parts {
        let lacks = |e: &Experiment| {
            let have = stored.get(&e.id).copied().unwrap_or(0);
            e.trials.saturating_sub(have) as usize
        };
        let lacking: usize = part.plan.here().map(lacks).sum();
        if lacking > 0 {
            let all = part.plan.trial_count();
            notes.push(format!(
                "{}: {lacking} of {all} trials are not stored; `dyno run --resume` measures them",
                name(part)
            ));
        }
    }
    notes
}

fn name(part: &RunManifest) -> String {
    match &part.plan.shard {
        Some(shard) => shard.to_string(),
        None => format!("run {}", part.id),
    }
}

/// The plan of all parts, each experiment as the part that ran it had it, and in what the parts differ.
/// The differences stand among the plan's warnings too.
pub(super) fn merged(parts: &[RunManifest]) -> (Plan, Vec<PlanWarning>) {
    let mut plan = parts[0].plan.clone();
    plan.shard = None;
    let home = |id: ExperimentId| parts.iter().find(|m| m.plan.is_here(id));
    let machine = |m: &RunManifest| (m.environment.host.clone(), m.environment.cpu_model.clone());
    let mut floors_elsewhere = 0;
    for e in &mut plan.experiments {
        let Some(part) = home(e.id) else { continue };
        if let Some(own) = part.plan.experiment(e.id) {
            *e = own.clone();
        }
        let floor = e.floor.and_then(home);
        if floor.is_some_and(|floor| machine(floor) != machine(part)) {
            // A ratio of two machines says nothing of the stack.
            e.floor = None;
            floors_elsewhere += 1;
        }
    }
    for part in &parts[1..] {
        for refusal in &part.plan.refused {
            let known = |r: &&dyno_model::plan::Refusal| {
                (&r.experiment, &r.stack, &r.factors)
                    == (&refusal.experiment, &refusal.stack, &refusal.factors)
            };
            if !plan.refused.iter().any(|r| known(&r)) {
                plan.refused.push(refusal.clone());
            }
        }
        for warning in &part.plan.warnings {
            if !plan.warnings.contains(warning) {
                plan.warnings.push(warning.clone());
            }
        }
    }
    let mut differences = differences(parts);
    if floors_elsewhere > 0 {
        differences.push(PlanWarning::FloorElsewhere {
            experiments: floors_elsewhere,
        });
    }
    for difference in &differences {
        let warning = Cause::Known(difference.clone());
        if !plan.warnings.contains(&warning) {
            plan.warnings.push(warning);
        }
    }
    (plan, differences)
}

/// In what the machines and builds of the parts differ.
fn differences(parts: &[RunManifest]) -> Vec<PlanWarning> {
    let mut found = Vec::new();
    let mut compare = |what: &str, of: &dyn Fn(&RunManifest) -> String| {
        let mut values: Vec<(String, Vec<String>)> = Vec::new();
        for part in parts {
            let value = of(part);
            match values.iter_mut().find(|(known, _)| *known == value) {
                Some((_, parts)) => parts.push(name(part)),
                None => values.push((value, vec![name(part)])),
            }
        }
        if values.len() > 1 {
            found.push(PlanWarning::PartsDiffer {
                what: what.to_owned(),
                values,
            });
        }
    };
    compare("machine", &|m| {
        let e = &m.environment;
        format!("{}, {}, kernel {}", e.host, e.cpu_model, e.kernel)
    });
    compare("build of Dyno", &|m| {
        let e = &m.environment;
        format!("{} {}", e.dyno_version, e.build_profile)
    });
    compare("commit of the build", &|m| {
        let e = &m.environment;
        let commit = e.commit.as_deref().unwrap_or("unknown");
        match e.modified {
            Some(true) => format!("{commit}, modified"),
            _ => commit.to_owned(),
        }
    });
    let names: BTreeSet<&str> = parts
        .iter()
        .flat_map(|m| &m.adapters)
        .map(|a| a.name.as_str())
        .collect();
    for name in names {
        compare(&format!("adapter {name}"), &|m| {
            let mut all = m.adapters.iter();
            let own = all.find(|a| a.name == name);
            own.map_or("none".into(), |a| a.version.clone())
        });
    }
    found
}

/// The adapters of all parts, each name once.
pub(super) fn adapters(parts: &[RunManifest]) -> Vec<AdapterDescription> {
    let mut all: Vec<AdapterDescription> = Vec::new();
    for adapter in parts.iter().flat_map(|m| &m.adapters) {
        if all.iter().all(|known| known.name != adapter.name) {
            all.push(adapter.clone());
        }
    }
    all
}

/// What all parts were planned from: their request is the same, and a stack that one of them refused may be
/// among the texts of that one only.
pub(super) fn origin(parts: &[RunManifest]) -> Option<Origin> {
    let mut all = parts.iter().filter_map(|m| m.origin.clone());
    let mut first = all.next()?;
    for origin in all {
        for (name, text) in origin.stacks {
            first.stacks.entry(name).or_insert(text);
        }
    }
    Some(first)
}
