//! Which experiments of two runs belong together.

use super::comparison::LeftOut;
use crate::cell;
use dyno_model::Experiment;
use dyno_model::factors::{apart, question};
use dyno_model::plan::Plan;
use std::collections::BTreeSet;

/// Cells of both plans, and those of one only.
pub(super) struct Matched<'a> {
    /// Base, new.
    pub(super) pairs: Vec<(&'a Experiment, &'a Experiment)>,
    pub(super) left_out: Vec<LeftOut>,
}

/// The stack of each plan that the other has not, if each has exactly one: then stacks are what is
/// compared. Yardsticks are passed over where that makes the choice unique.
pub(super) fn one_stack_each(base: &Plan, new: &Plan) -> Option<(String, String)> {
    let stacks = |plan: &Plan, floors: bool| -> BTreeSet<String> {
        cell::own(plan)
            .filter(|e| floors || !cell::is_floor(plan, e))
            .map(|e| e.stack.clone())
            .collect()
    };
    [true, false].into_iter().find_map(|floors| {
        let (a, b) = (stacks(base, floors), stacks(new, floors));
        let only = |x: &BTreeSet<String>, y: &BTreeSet<String>| {
            let mut only = x.difference(y);
            match (only.next(), only.next()) {
                (Some(one), None) => Some(one.clone()),
                _ => None,
            }
        };
        Some((only(&a, &b)?, only(&b, &a)?))
    })
}

/// Matches cells by factors and stack, in the order of the new plan. Cells that agree in all of that
/// (they differ in their window, say) are matched in the order of their suites. `stacks`: these two
/// stand for each other.
pub(super) fn match_cells<'a>(
    base: &'a Plan,
    new: &'a Plan,
    stacks: Option<&(String, String)>,
) -> Matched<'a> {
    let counterpart = |stack: &str| match stacks {
        Some((old, young)) if young == stack => old.clone(),
        _ => stack.to_owned(),
    };
    let mut rest: Vec<(String, &Experiment)> = cell::own(base).map(|e| (question(e), e)).collect();
    let mut pairs = Vec::new();
    let mut left_out = Vec::new();
    for e in cell::own(new) {
        let stack = counterpart(&e.stack);
        let asked = question(e);
        let found = rest
            .iter()
            .position(|(question, x)| x.stack == stack && *question == asked);
        match found {
            Some(i) => pairs.push((rest.remove(i).1, e)),
            None => left_out.push(one_sided(e, ["new run", "the base"], base, &stack)),
        }
    }
    let back = |stack: &str| match stacks {
        Some((old, young)) if old == stack => young.clone(),
        _ => stack.to_owned(),
    };
    for (_, e) in rest {
        left_out.push(one_sided(e, ["base", "the new run"], new, &back(&e.stack)));
    }
    Matched { pairs, left_out }
}

/// Of two plans of which no cells match: for each cell of the new one, the cell of the base with its name and stack that differs in the
/// fewest factors. What differs between the two is why they are not compared.
pub(super) fn most_alike<'a>(
    base: &'a Plan,
    new: &'a Plan,
    stacks: Option<&(String, String)>,
) -> Vec<(&'a Experiment, &'a Experiment)> {
    let is_alike = |x: &Experiment, y: &Experiment| {
        let stands_for = stacks.is_some_and(|(old, young)| (&x.stack, &y.stack) == (old, young));
        x.name == y.name && (x.stack == y.stack || stands_for)
    };
    let of = |y: &'a Experiment| {
        let alike = cell::own(base).filter(|x| is_alike(x, y));
        let nearest = alike.min_by_key(|x| apart().filter(|f| f.key(x) != f.key(y)).count());
        nearest.map(|x| (x, y))
    };
    cell::own(new).filter_map(of).collect()
}

/// A cell of the first side alone, with the reason for which the plan of the other refused it, if it
/// did.
pub(super) fn one_sided(
    e: &Experiment,
    [one, other]: [&str; 2],
    plan: &Plan,
    stack: &str,
) -> LeftOut {
    let refusal = cell::refusal(plan, e, stack);
    let asked = question(e);
    let is_it = |x: &&Experiment| x.stack == stack && question(x) == asked;
    let elsewhere = plan
        .shard
        .as_ref()
        .filter(|_| plan.experiments.iter().any(|x| is_it(&x)));
    let is_base = one == "base";
    LeftOut {
        cell: cell::label(e),
        reason: match refusal {
            Some(r) => format!(
                "only the {one} has it; {other} refused it ({}): {}",
                r.factors, r.reason
            ),
            None => match elsewhere {
                Some(part) => format!(
                    "only the {one} has it; {other} is {part}, and another part has it: merge the parts first"
                ),
                None => format!("only the {one} has it"),
            },
        },
        new_failed: refusal.is_some() && is_base,
        is_undecided: (refusal.is_some() || elsewhere.is_some()) && is_base,
        is_worse: false,
    }
}
