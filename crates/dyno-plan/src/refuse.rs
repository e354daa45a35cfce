//! Why there is no plan at all: too many cells, none, a stack that can do nothing, or nothing to compare with.

use crate::catalog::Catalog;
use crate::configured::{Configured, Named};
use crate::matrix::{MOST_CELLS, Matrix};
use crate::mistakes::{PlanError, nothing_was_run};
use dyno_model::plan::{Experiment, Refusal};
use dyno_model::{Against, Request};
use dyno_toml::{Place, Problem, Problems};

/// A comparison in which nothing is compared is a mistake.
pub(crate) fn no_base(experiments: &[Experiment], against: &Against) -> Result<(), PlanError> {
    let mut problems = Problems::default();
    if let (Against::Stack { name }, false) =
        (against, experiments.iter().any(|e| e.base.is_some()))
    {
        Problem::at(
                &Place::flag("--against", name),
                format!("no experiment can be compared with {name:?}"),
            )
            .label("none of its experiments has the same factors as one of another stack")
            .help(
                "name both stacks, such as --stack tcp --against uds-stream, and give both the same wait with --set wait=block if their natural ones differ",
            ).note(&mut problems);
    }
    problems.check(nothing_was_run)
}

pub(crate) fn explosion(
    matrices: &[(Vec<Matrix<'_>>, Vec<&Configured<'_>>)],
    catalog: &Catalog,
    request: &Request,
) -> Result<(), PlanError> {
    let cells = |(flows, on): &(Vec<Matrix<'_>>, Vec<&Configured<'_>>)| {
        let sizes = on
            .iter()
            .flat_map(|c| flows.iter().map(|m| m.size(&c.stack.waits)));
        sizes.fold(0, usize::saturating_add)
    };
    let total = matrices.iter().map(cells).fold(0, usize::saturating_add);
    if total <= MOST_CELLS {
        return Ok(());
    }
    let largest = matrices.iter().max_by_key(|m| cells(m));
    let name = largest.and_then(|(flows, _)| flows.first());
    let name = name.map_or("", |matrix| matrix.name);
    let place = Place::top(catalog.suite(&request.suite)?);
    Err(Problem::at(
        &place,
        format!("the suite has {total} experiments; a run has at most {MOST_CELLS}"),
    )
    .label(format!("most of them come from the matrix of `{name}`"))
    .help("shorten its lists, write larger factors in its ranges, or choose fewer stacks")
    .into())
}

/// Refuses stacks that were asked for by name and cannot do anything of what they are asked for.
pub(crate) fn idle_stacks<'a>(
    named: impl Iterator<Item = &'a Named>,
    experiments: &[Experiment],
    refused: &[Refusal],
    problems: &mut Problems,
) {
    for name in named {
        if experiments.iter().any(|e| e.stack == name.value) {
            continue;
        }
        if let Some(refusal) = refused.iter().find(|r| r.stack == name.value) {
            Problem::at(
                &name.at,
                format!("`{}` can run none of these: {}", name.value, refusal.reason),
            )
            .label(format!("for example {}", refusal.factors))
            .help("leave the stack out, or change the settings that exclude it")
            .note(problems);
        }
    }
}

pub(crate) fn nothing(
    experiments: &[Experiment],
    refused: &[Refusal],
    catalog: &Catalog,
    request: &Request,
) -> Result<(), PlanError> {
    if !experiments.is_empty() {
        return Ok(());
    }
    let mut reasons: Vec<String> = Vec::new();
    for r in refused {
        let line = format!("{}: {}", r.stack, r.reason);
        if !reasons.contains(&line) && reasons.len() < 20 {
            reasons.push(line);
        }
    }
    let place = Place::top(catalog.suite(&request.suite)?);
    Err(
        Problem::at(&place, "no stack can run any experiment of this suite")
            .label("all of it is refused")
            .help(reasons.join("\n"))
            .into(),
    )
}
