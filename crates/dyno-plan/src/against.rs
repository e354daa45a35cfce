//! What `--against` adds to a plan: for each experiment the one that it is compared with.

use dyno_model::factors::question;
use dyno_model::plan::{ExperimentId, PlanWarning};
use dyno_model::{Against, Experiment};
use std::collections::BTreeMap;

/// Gives every experiment its base. For [`Against::Stack`] that is the experiment of the named stack
/// with the same factors; otherwise a second experiment with the same everything. Floors that were
/// only added stay without. Returns a remark for experiments that have no counterpart.
pub(crate) fn link(experiments: &mut Vec<Experiment>, against: &Against) -> Option<PlanWarning> {
    match against {
        Against::Stack { name } => link_stack(experiments, name),
        Against::Same | Against::Build { .. } => {
            double(experiments);
            None
        }
    }
}

fn double(experiments: &mut Vec<Experiment>) {
    for i in 0..experiments.len() {
        if experiments[i].added {
            continue;
        }
        // The number of cells is bounded by MOST_CELLS.
        let id = ExperimentId(experiments.len() as u32);
        let base = Experiment {
            id,
            ..experiments[i].clone()
        };
        experiments[i].base = Some(id);
        experiments.push(base);
    }
    // The flows of a base run with each other.
    let bases: BTreeMap<ExperimentId, ExperimentId> = experiments
        .iter()
        .filter_map(|e| Some((e.id, e.base?)))
        .collect();
    let is_base = |id: &ExperimentId| bases.values().any(|base| base == id);
    for e in experiments.iter_mut().filter(|e| is_base(&e.id)) {
        if let Some(flow) = &mut e.flow {
            flow.group = bases.get(&flow.group).copied().unwrap_or(flow.group);
            flow.alone = None;
        }
    }
}

fn link_stack(experiments: &mut [Experiment], name: &str) -> Option<PlanWarning> {
    let mut bases: BTreeMap<String, ExperimentId> = BTreeMap::new();
    for base in experiments.iter().filter(|e| e.stack == name) {
        bases.entry(question(base)).or_insert(base.id);
    }
    let mut alone = 0;
    for e in experiments.iter_mut() {
        if e.stack == name || e.added {
            continue;
        }
        e.base = bases.get(&question(e)).copied();
        alone += usize::from(e.base.is_none());
    }
    (alone > 0).then(|| PlanWarning::NoCounterpart {
        experiments: alone,
        base: name.to_owned(),
    })
}
