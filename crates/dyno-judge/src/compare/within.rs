//! The two sides of a run that was measured with `--against`.

use super::comparison::{CompareOptions, Comparison, LeftOut, Side};
use super::matching::one_sided;
use super::table::Table;
use crate::cell;
use crate::difference::{Aspect, Differences};
use crate::number::counted;
use crate::origin::added_later;
use dyno_model::Experiment;
use dyno_model::plan::{Against, Plan, Refusal};
use dyno_model::record::Run;
use dyno_stats::Pairing;
use std::collections::BTreeSet;

/// Compares within a run that was measured with `--against`: experiments with a base, each pair of
/// trials of the same number. Without any the comparison is empty.
pub fn compare_within(run: &Run, how: &CompareOptions) -> Comparison {
    let manifest = &run.manifest;
    let plan = &manifest.plan;
    let mut pairs = Vec::new();
    let mut left_out = Vec::new();
    for new in plan.here() {
        let Some(id) = new.base else { continue };
        match plan.experiment(id) {
            Some(base) => pairs.push((base, new)),
            None => left_out.push(LeftOut {
                cell: cell::label(new),
                reason: format!("its base, experiment {}, is not in the plan", id.0),
                new_failed: false,
                is_undecided: true,
                is_worse: false,
            }),
        }
    }
    left_out.extend(unpaired(plan, &pairs));
    let mut found = Differences::default();
    let (mut base_name, mut new_name) = (String::new(), String::new());
    let mut notes: Vec<String> = added_later(&run.manifest).into_iter().collect();
    match &plan.against {
        None => notes.push(
            "the run was not measured with --against: name a second run to compare it with".into(),
        ),
        Some(Against::Same) => {
            (base_name, new_name) = ("the same".into(), "the same again".into());
        }
        Some(Against::Stack { name }) => {
            base_name.clone_from(name);
            let mut stacks: Vec<&str> = pairs.iter().map(|(_, new)| new.stack.as_str()).collect();
            stacks.sort_unstable();
            stacks.dedup();
            new_name = stacks.join(", ");
            for stack in stacks {
                found.stacks((manifest, name), (manifest, stack));
            }
        }
        Some(Against::Build { program, version }) => {
            base_name = program.display().to_string();
            new_name = "this build".into();
            let own = &manifest.environment;
            found.note(
                Aspect::Dyno,
                "build of Dyno",
                format!("{version} ({})", program.display()),
                format!("{} ({} build)", own.dyno_version, own.build_profile),
            );
            found.base_build(own);
        }
    }
    for (x, y) in &pairs {
        found.parameters(x, y);
    }
    notes.extend(in_slices(&pairs));
    notes.extend(on_neither_side(plan));
    let table = Table::new(run, run, &pairs, Pairing::Paired, how, None);
    left_out.extend(table.failed);
    let side = |name: String| Side {
        name,
        ..Side::of(manifest)
    };
    Comparison {
        base: side(base_name),
        new: side(new_name),
        options: how.clone(),
        paired: true,
        differences: found.0,
        unknown: Vec::new(),
        moved: None,
        history: None,
        cells: table.cells,
        left_out,
        statements: table.statements,
        each: table.each,
        notes,
    }
}

/// What this build refused was asked of no other build either.
fn on_neither_side(plan: &Plan) -> Option<String> {
    let Some(Against::Build { .. }) = &plan.against else {
        return None;
    };
    let is_floor = |r: &&Refusal| plan.stacks.get(&r.stack).is_some_and(|s| s.floor);
    let refused: Vec<&Refusal> = plan.refused.iter().filter(|r| !is_floor(r)).collect();
    let first = refused.first()?;
    Some(format!(
        "this build refused {} of the suite, so that neither side measured them and nothing is said of them; the first is {} on {} ({}): {}",
        counted(refused.len() as u64, "cell"),
        first.experiment,
        first.stack,
        first.factors,
        first.reason
    ))
}

/// How many of the pairs took turns within a trial, if any did.
fn in_slices(pairs: &[(&Experiment, &Experiment)]) -> Option<String> {
    let slices: Vec<_> = pairs.iter().filter_map(|(_, new)| new.slices).collect();
    let length = slices.first()?.length;
    let rest = match pairs.len() - slices.len() {
        0 => String::new(),
        whole => format!(
            "; in {whole} of {} cells whole trials are compared",
            pairs.len()
        ),
    };
    Some(format!(
        "both sides took turns within each trial, in slices of {length}: times are compared pair of slices by pair of slices{rest}"
    ))
}

/// The cells of a base that is another stack which a new side refused: nobody can tell what it would have done there.
fn unpaired(plan: &Plan, pairs: &[(&Experiment, &Experiment)]) -> Vec<LeftOut> {
    let Some(Against::Stack { name }) = &plan.against else {
        return Vec::new();
    };
    let all: BTreeSet<&str> = pairs.iter().map(|(_, new)| new.stack.as_str()).collect();
    let bases = cell::own(plan).filter(|e| e.stack == *name && e.base.is_none());
    let alone = bases.flat_map(|base| {
        let has = |stack: &str| {
            let mut both = pairs.iter();
            both.any(|(x, y)| x.id == base.id && y.stack == stack)
        };
        // A suite may list a stack for some of its experiments only.
        let was_asked = |stack: &str| {
            let mut refused = plan.refused.iter();
            refused.any(|r| r.stack == stack && r.experiment == base.name)
        };
        let is_without = |stack: &&str| !has(stack) && was_asked(stack);
        let without: Vec<&str> = all.iter().copied().filter(is_without).collect();
        without.into_iter().map(move |stack| LeftOut {
            is_undecided: true,
            ..one_sided(base, ["base", stack], plan, stack)
        })
    });
    alone.collect()
}
