//! Which machine measured what, of a run whose trials are of several.
//!
//! A machine is a factor: what was measured on one is never compared, ranked or divided with what was
//! measured on another as if only the stack differed. So whoever reads such a run gets each experiment with
//! its machine, and no reference from one machine to another.

use dyno_model::plan::{ExperimentId, Plan, TrialId};
use dyno_model::record::{Environment, Run, RunManifest};
use std::collections::BTreeMap;

/// A trial that another machine measured than the others of its experiment.
pub(crate) struct Stray {
    pub(crate) id: TrialId,
    pub(crate) machine: String,
    pub(crate) others: String,
}

/// Gives the experiments of `run` their machines, where it was merged from `parts` of several. Trials that
/// are not of their experiment's machine are taken out and returned.
pub(crate) fn tell_apart(run: &mut Run, parts: &[RunManifest]) -> Vec<Stray> {
    let own = std::slice::from_ref(&run.manifest);
    let known = match parts.is_empty() {
        true => own,
        false => parts,
    };
    let names = Names::of(known);
    let home: BTreeMap<ExperimentId, String> = run
        .manifest
        .plan
        .experiments
        .iter()
        .filter_map(|e| {
            let part = known.iter().find(|m| m.plan.is_here(e.id))?;
            Some((e.id, names.of_part(&part.environment)))
        })
        .collect();
    let mut strays = Vec::new();
    run.trials.retain(|t| {
        let Some(others) = home.get(&t.id.experiment) else {
            return true;
        };
        // Older records do not say it: they are of their part.
        let Some(host) = t.machines.first() else {
            return true;
        };
        let same = names
            .hosts
            .get(others)
            .is_some_and(|known| known == host || known.is_empty());
        if !same {
            strays.push(Stray {
                id: t.id,
                machine: host.clone(),
                others: others.clone(),
            });
        }
        same
    });
    if names.environments.len() < 2 {
        return strays;
    }
    for e in &mut run.manifest.plan.experiments {
        e.machine = home.get(&e.id).cloned();
    }
    cut_references(&mut run.manifest.plan);
    run.machines = names.environments;
    strays
}

/// Takes out what refers to another machine: a ratio of two says nothing of the stack.
fn cut_references(plan: &mut Plan) {
    let of: BTreeMap<ExperimentId, Option<String>> = plan
        .experiments
        .iter()
        .map(|e| (e.id, e.machine.clone()))
        .collect();
    for e in &mut plan.experiments {
        let same = |id: &ExperimentId| of.get(id) == Some(&e.machine);
        e.floor = e.floor.filter(same);
        e.base = e.base.filter(same);
    }
}

/// The machines of all parts by name.
struct Names {
    environments: BTreeMap<String, Environment>,
    /// The host name of each.
    hosts: BTreeMap<String, String>,
}

impl Names {
    /// A machine is told by its host name; of several with the same one, also by the processor.
    fn of(parts: &[RunManifest]) -> Names {
        let all: Vec<&Environment> = parts.iter().map(|m| &m.environment).collect();
        let mut names = Names {
            environments: BTreeMap::new(),
            hosts: BTreeMap::new(),
        };
        for e in &all {
            let namesake = |o: &&Environment| o.host == e.host && o.cpu_model != e.cpu_model;
            let name = match all.iter().any(namesake) {
                true => format!("{} ({})", e.host, e.cpu_model),
                false => e.host.clone(),
            };
            names.hosts.insert(name.clone(), e.host.clone());
            names
                .environments
                .entry(name)
                .or_insert_with(|| (*e).clone());
        }
        names
    }

    /// The name of the machine that a part was measured on.
    fn of_part(&self, part: &Environment) -> String {
        let is_it =
            |known: &Environment| known.host == part.host && known.cpu_model == part.cpu_model;
        let mut all = self.environments.iter();
        let found = all.find(|(_, known)| is_it(known));
        found.map_or_else(|| part.host.clone(), |(name, _)| name.clone())
    }
}
