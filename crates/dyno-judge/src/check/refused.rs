//! Cells that limits select and that the plan refused: nothing is known of them, so they pass nothing.

use super::limits::Limit;
use super::report::{Checked, Status};
use super::select::selects;
use crate::cell;
use crate::standing::Standing;
use dyno_model::Experiment;
use dyno_model::plan::{Plan, Refusal};
use std::str::FromStr;

/// An undecided result for each refused cell that a limit asks for; `measured` are the results of the other cells.
pub(super) fn results(plan: &Plan, limits: &[Limit], measured: &[Checked]) -> Vec<Checked> {
    let refused = plan.refused.iter();
    let all: Vec<_> = refused.map(|r| (r, cells(plan, r))).collect();
    let of = |limit: &Limit| -> Vec<Checked> {
        let of_one = all.iter().flat_map(|(r, cells)| {
            let asked = cells
                .iter()
                .filter(|e| selects(limit, plan, e) && asks(limit, e, measured));
            asked.map(|e| result(limit, r, e.clone()))
        });
        of_one.collect()
    };
    limits.iter().flat_map(of).collect()
}

/// A limit that names stacks asks for all of their cells with a placement that they were measured with. Any other asks for what a stack refused of an
/// experiment that it measured with the same wait and placement: what it is not made for, nobody asked it for.
fn asks(limit: &Limit, e: &Experiment, measured: &[Checked]) -> bool {
    let others = measured
        .iter()
        .filter(|c| c.limit.name == limit.name && c.experiment.stack == e.stack);
    let others: Vec<&Experiment> = others.map(|c| &c.experiment).collect();
    let is_placed = |o: &&Experiment| o.placement == e.placement;
    match limit.selector.stack.is_empty() {
        true => others
            .iter()
            .any(|o| is_placed(o) && (&o.name, o.wait) == (&e.name, e.wait)),
        false => others.is_empty() || others.iter().any(is_placed),
    }
}

fn result(limit: &Limit, r: &Refusal, e: Experiment) -> Checked {
    let told = cell::listed(&e).join(", ");
    let factors = match cell::lists(r, &told) {
        true => String::new(),
        false => format!(" ({})", r.factors),
    };
    Checked {
        limit: limit.clone(),
        experiment: e,
        status: Status::Undecided,
        standing: Standing::Refused,
        found: None,
        reason: format!("refused when the run was planned{factors}: {}", r.reason),
        remarks: Vec::new(),
        further: None,
        all_disturbed: false,
    }
}

/// The experiments that the plan would have of a refused cell: the most similar ones with its stack and its factors, which a refusal
/// has as text. None where the run has no experiment of its kind.
fn cells(plan: &Plan, r: &Refusal) -> Vec<Experiment> {
    let words: Vec<&str> = r.factors.split(", ").collect();
    let own = || cell::own(plan).filter(|e| e.name == r.experiment);
    if words[0].ends_with(" flows") {
        let has_wait = |e: &&Experiment| e.flow.is_some() && words.contains(&e.wait.as_str());
        let mut flows: Vec<Experiment> = Vec::new();
        for e in own().filter(has_wait) {
            if flows.iter().all(|known| known.flow_name() != e.flow_name()) {
                flows.push(of_stack(e, r));
            }
        }
        return flows;
    }
    let is_of_kind = |e: &&Experiment| {
        let kind = e.workload.kind();
        r.factors.starts_with(kind.as_str())
    };
    let alike = |e: &&Experiment| {
        let told = |faults: &str| words.contains(&faults);
        let faults = e.faults.iter().map(ToString::to_string);
        let same = [
            words.contains(&e.workload.to_string().as_str()),
            faults.into_iter().all(|f| told(&f)),
            e.name == r.experiment,
            e.stack == r.stack,
        ];
        same.map(usize::from).iter().sum::<usize>()
    };
    let like = cell::own(plan).filter(is_of_kind).max_by_key(alike);
    like.map(|e| with(of_stack(e, r), &words))
        .into_iter()
        .collect()
}

fn of_stack(e: &Experiment, r: &Refusal) -> Experiment {
    Experiment {
        name: r.experiment.clone(),
        stack: r.stack.clone(),
        added: false,
        floor: None,
        base: None,
        ..e.clone()
    }
}

/// The experiment with every factor that one of the words tells.
fn with(mut e: Experiment, words: &[&str]) -> Experiment {
    fn told<T: FromStr>(words: &[&str], factor: &mut T) {
        if let Some(value) = words.iter().find_map(|w| w.parse().ok()) {
            *factor = value;
        }
    }
    told(words, &mut e.payload);
    told(words, &mut e.wait);
    told(words, &mut e.access);
    told(words, &mut e.placement);
    told(words, &mut e.topology);
    e
}
