//! Which of two is faster: every cell and figure as a ratio with an interval, and a verdict in words.
//!
//! All intervals of one table hold together with the confidence asked for (Bonferroni; Dunn, JASA 56,
//! 1961), so that a table of fifty rows without any difference says `faster` or `slower` anywhere in
//! at most 5 % of all cases. Two runs at different times also differ because the machine may have
//! changed in between; the floor, measured in both, is the control for that.

mod comparison;
mod control;
mod export;
mod history;
mod matching;
mod ratio;
mod render;
mod table;
mod within;
mod words;

pub use comparison::{
    CompareOptions, Compared, ComparedCell, Comparison, Finding, LeftOut, MovedFloor, Row, Side,
};
pub use history::CompareHistory;
pub use within::compare_within;
pub use words::Headline;

use crate::difference::{Aspect, Differences, Kernel, RunFacts, costs_apart};
use crate::origin::{added_later, untold};
use control::control;
use dyno_model::Experiment;
use dyno_model::plan::{Host, Plan, Reach};
use dyno_model::record::Run;
use dyno_stats::Pairing;
use matching::{Matched, match_cells, most_alike, one_stack_each};
use table::Table;

/// Why two runs are not held against each other: one is of emulated machines, and the other is not of the same.
pub fn apart(base: &Run, new: &Run) -> Option<String> {
    let of = |run: &Run| run.manifest.environment.emulated.clone();
    let said = |run: &Run| {
        let id = &run.manifest.id;
        match of(run) {
            Some(what) => format!("{id} was measured with emulation ({what})"),
            None => format!("{id} on real machines"),
        }
    };
    (of(base) != of(new)).then(|| {
        format!(
            "{} and {}: times of an emulator do not represent a machine, so the two cannot be compared; measure both in the same way",
            said(base),
            said(new)
        )
    })
}

/// Compares two stored runs; their trials are independent. Equal runs and options give equal results.
pub fn compare(base: &Run, new: &Run, how: &CompareOptions) -> Comparison {
    runs(base, new, how, None)
}

/// The same with intervals that also cover what runs of one build differ by, as the history tells
/// ([`dyno_stats::across_runs`]). Where it has too few runs of a cell, nothing good is said of that cell.
pub fn compare_with_history(base: &Run, new: &Run, history: &CompareHistory) -> Comparison {
    let mut comparison = runs(base, new, &history.how, Some(history));
    comparison.history = Some(history.len());
    comparison
}

fn runs(
    base: &Run,
    new: &Run,
    how: &CompareOptions,
    history: Option<&CompareHistory>,
) -> Comparison {
    let (a, b) = (&base.manifest, &new.manifest);
    let stacks = one_stack_each(&a.plan, &b.plan);
    let Matched {
        pairs,
        mut left_out,
    } = match_cells(&a.plan, &b.plan, stacks.as_ref());
    let mut found = Differences::default();
    if let Some((old, young)) = &stacks {
        found.stacks((a, old), (b, young));
    }
    found.environments(&a.environment, &b.environment);
    let adapters: Vec<&str> = pairs
        .iter()
        .filter_map(|(x, _)| a.plan.stacks.get(&x.stack))
        .flat_map(|stack| stack.adapters())
        .collect();
    let (facts_a, facts_b) = (RunFacts::of(a), RunFacts::of(b));
    found.adapters(&facts_a, &facts_b, |name| adapters.contains(&name));
    let unknown = untold(a, b, |name| adapters.contains(&name));
    for (x, y) in &pairs {
        if x.stack == y.stack {
            found.stack_options(&a.plan, &b.plan, &x.stack);
        }
    }
    found.note(
        Aspect::Testbed,
        "testbed",
        testbed(&a.plan),
        testbed(&b.plan),
    );
    found.note(Aspect::Suite, "suite", &a.plan.suite, &b.plan.suite);
    asked(&mut found, &pairs, [&a.plan, &b.plan], stacks.as_ref());
    let same = pairs.iter().filter(|(x, y)| x.stack == y.stack);
    let with_legs = same.flat_map(|(x, _)| {
        let chain = a.plan.stacks.get(&x.stack).and_then(|s| s.chain.as_ref());
        let legs = chain.into_iter().flat_map(|chain| &chain.legs);
        std::iter::once(x.stack.as_str()).chain(legs.map(|leg| leg.stack.as_str()))
    });
    found.texts(a, b, with_legs);
    let table = Table::new(base, new, &pairs, Pairing::Independent, how, history);
    left_out.extend(table.failed);
    let mut comparison = Comparison {
        base: Side::of(a),
        new: Side::of(b),
        options: how.clone(),
        paired: false,
        differences: found.0,
        unknown,
        moved: None,
        history: None,
        cells: table.cells,
        left_out,
        statements: table.statements,
        each: table.each,
        notes: [base, new]
            .into_iter()
            .filter_map(|run| added_later(&run.manifest))
            .collect(),
    };
    control(&mut comparison, base, new, &pairs);
    for cell in &mut comparison.cells {
        let (a, b) = (
            base.environment_of(&cell.base),
            new.environment_of(&cell.new),
        );
        let Some(why) = costs_apart(&Kernel::of(a), &Kernel::of(b)) else {
            continue;
        };
        let rows = cell.rows.iter_mut();
        for row in rows.filter(|row| row.figure.is_cpu_time()) {
            row.take_back(&why);
        }
    }
    comparison
}

/// What the suites asked for otherwise in the cells that match, or, where none does, in the most alike ones.
fn asked(
    found: &mut Differences,
    pairs: &[(&Experiment, &Experiment)],
    [base, new]: [&Plan; 2],
    stacks: Option<&(String, String)>,
) {
    for (x, y) in pairs {
        found.parameters(x, y);
    }
    if pairs.is_empty() {
        for (x, y) in most_alike(base, new, stacks) {
            found.factors(x, y);
            found.parameters(x, y);
        }
    }
}

fn testbed(plan: &Plan) -> String {
    let host = |host: &Host| match &host.reach {
        Reach::Vm(machine) => format!("{}: {machine}", host.name),
        _ => host.name.clone(),
    };
    let hosts: Vec<String> = plan.testbed.hosts.iter().map(host).collect();
    format!("{} ({})", plan.testbed.name, hosts.join(", "))
}
