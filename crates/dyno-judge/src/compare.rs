//! Which of two is faster: every cell and figure as a ratio with an interval, and a verdict in words.
//!
//! All intervals of one table hold together with the confidence asked for (Bonferroni; Dunn, JASA 56,
//! 1961), so that a table of fifty rows without any difference says `faster` or `slower` anywhere in
//! at most 5 % of all cases. Two runs at different times also differ by what the machine did in
//! between; the floor, measured in both, is the control for that.

mod control;
mod export;
mod matching;
mod ratio;
mod render;
mod table;
mod within;
mod words;

pub use within::compare_within;

use crate::check::Status;
use crate::difference::{Aspect, Difference, Differences, Kernel, RunFacts, costs_apart, options};
use crate::figure::Figure;
use crate::origin::{added_later, untold};
use control::control;
use dyno_model::Experiment;
use dyno_model::plan::{Host, Plan, Reach};
use dyno_model::record::{Run, RunManifest};
use dyno_stats::{Pairing, Ratio};
use matching::{Matched, match_cells, one_stack_each};
use ratio::ends;
use table::Table;
pub use words::Headline;

/// How two sides are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareOptions {
    /// Confidence that all intervals of the table hold together, such as 0.95.
    pub confidence: f64,
    /// Ratios within `1/(1 + margin)` and `1 + margin` are the same, such as 0.05.
    pub margin: f64,
    /// The quantiles of the headline metric that are compared, 0 to 1 each.
    pub quantiles: Vec<f64>,
}

impl Default for CompareOptions {
    /// 95 % over the table, 5 %, p50, p90 and p99.
    fn default() -> Self {
        CompareOptions {
            confidence: 0.95,
            margin: 0.05,
            quantiles: vec![0.5, 0.9, 0.99],
        }
    }
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// What it is: the run, the stack, or the build.
    pub name: String,
    /// The run that its trials are in.
    pub run: String,
    /// When that run started, in milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
}

/// Two sides compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What is compared with.
    pub base: Side,
    /// What is judged.
    pub new: Side,
    /// How it was done.
    pub options: CompareOptions,
    /// Whether trials of both sides were measured next to each other and compared pair by pair.
    pub paired: bool,
    /// Everything recorded that differs between the two.
    pub differences: Vec<Difference>,
    /// What may differ as well, since one of the runs does not tell it, such as `the distribution of the base`.
    pub unknown: Vec<String>,
    /// The floor that moved most between two runs on the same machine, if one did beyond the margin.
    pub moved: Option<MovedFloor>,
    /// The cells that both sides have.
    pub cells: Vec<ComparedCell>,
    /// The cells that could not be compared, with the reason.
    pub left_out: Vec<LeftOut>,
    /// Number of intervals in the table.
    pub statements: usize,
    /// The confidence of each of them.
    pub each: f64,
    /// Further remarks on the whole.
    pub notes: Vec<String>,
}

/// A floor that shows that the machine itself changed between two runs.
#[derive(Debug, Clone, PartialEq)]
pub struct MovedFloor {
    /// The floor's stack.
    pub stack: String,
    /// New over base of its p50.
    pub ratio: f64,
}

/// A cell of both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedCell {
    /// Its experiment on the base side.
    pub base: Experiment,
    /// Its experiment on the new side.
    pub new: Experiment,
    /// It is a yardstick on both sides.
    pub is_floor: bool,
    /// Figure by figure.
    pub rows: Vec<Row>,
    /// What must be known of its trials.
    pub remarks: Vec<String>,
}

/// One figure of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The figure.
    pub figure: Figure,
    /// The comparison, or why there is none.
    pub result: Result<Compared, String>,
    /// Why a good finding does not stand, or where a bad one would: what failed, was lost or was left out says otherwise.
    pub but: Option<String>,
}

/// What a finding is worth for the new side, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Grade {
    Better,
    Same,
    Open,
    Worse,
}

/// A figure compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Geometric mean over the base's trials, in the figure's unit; infinite where one lost too much. Of losses the mean.
    pub base: f64,
    /// The same of the new side.
    pub new: f64,
    /// New over base with its interval at [`Comparison::each`]; of losses and failures none.
    pub ratio: Option<Ratio>,
    /// Trials of (new, base) that entered.
    pub trials: (usize, usize),
    /// What follows.
    pub finding: Finding,
}

/// What a comparison found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The new figure is lower.
    Lower,
    /// The new figure is higher.
    Higher,
    /// Both are the same within the margin.
    Same,
    /// The trials do not tell.
    Undecided {
        /// Further trials of each side that would; `None`: unknown or beyond 10,000.
        more: Option<u64>,
    },
    /// It differs, and so does the floor: the machine itself moved between the two runs.
    MachineMoved,
}

/// A cell that could not be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The cell.
    pub cell: String,
    /// Why.
    pub reason: String,
    /// The base has figures of it; the new side was asked for them and refused it, or failed in every trial.
    pub new_failed: bool,
    /// Nobody can tell how the sides compare, although both were asked for it.
    pub is_undecided: bool,
}

impl Comparison {
    /// What came of it as a gate: [`Status::Fail`] where the new side is slower, delivers less, loses more, stays deaf
    /// or fails more often; [`Status::Undecided`] where nobody can tell that of a headline, of what is delivered, of losses, of deaf
    /// trials or of failures, or of a cell, or where no cell was compared.
    pub fn status(&self) -> Status {
        let rows = self
            .judged()
            .flat_map(|c| c.rows.iter().map(|row| c.status(row)));
        let cells = self.left_out.iter().map(|l| match l.is_undecided {
            true => Status::Undecided,
            false => Status::Pass,
        });
        let none = self.cells.is_empty().then_some(Status::Undecided);
        let all = rows.chain(cells).chain(none);
        all.max().unwrap_or(Status::Undecided)
    }

    /// Of each row for which [`status`](Self::status) is undecided, how many further trials of each side would decide it.
    pub fn further(&self) -> Vec<Option<u64>> {
        let rows = self
            .judged()
            .flat_map(|c| c.rows.iter().map(move |r| (c, r)));
        let undecided = rows.filter(|(c, row)| c.status(row) == Status::Undecided);
        undecided
            .map(|(_, row)| match row.result.as_ref().ok()?.finding {
                Finding::Undecided { more } => more,
                _ => None,
            })
            .collect()
    }

    /// The cells that say something of what is compared. The floor tells of the machine: it counts only where
    /// there is nothing else.
    fn judged(&self) -> impl Iterator<Item = &ComparedCell> {
        let only_floors = self.cells.iter().all(|c| c.is_floor);
        let is_judged = move |c: &&ComparedCell| only_floors || !c.is_floor;
        self.cells.iter().filter(is_judged)
    }
}

impl ComparedCell {
    /// What a row of it comes to as a gate. What a message costs is no part of it.
    fn status(&self, row: &Row) -> Status {
        let is_headline = match row.figure {
            Figure::CpuPerMessage => return Status::Pass,
            Figure::Quantile { metric, .. } => self.new.headline().contains(&metric),
            Figure::Delivered | Figure::Lost | Figure::Deaf | Figure::Failed => true,
        };
        match row.grade() {
            Grade::Worse => Status::Fail,
            Grade::Open if is_headline || row.but.is_some() => Status::Undecided,
            _ => Status::Pass,
        }
    }
}

impl Row {
    /// Says nothing of it, for this reason.
    fn take_back(&mut self, why: &str) {
        if let Ok(compared) = &mut self.result {
            compared.finding = Finding::Undecided { more: None };
            self.but = Some(why.to_owned());
        }
    }

    pub(crate) fn grade(&self) -> Grade {
        let Ok(compared) = &self.result else {
            return Grade::Open;
        };
        match (compared.finding, self.figure.is_better_higher()) {
            (Finding::Same, _) => Grade::Same,
            (Finding::Lower, false) | (Finding::Higher, true) => Grade::Better,
            (Finding::Higher, false) | (Finding::Lower, true) => Grade::Worse,
            (Finding::Undecided { .. } | Finding::MachineMoved, _) => Grade::Open,
        }
    }
}

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
    let (a, b) = (&base.manifest, &new.manifest);
    let stacks = one_stack_each(&a.plan, &b.plan);
    let Matched {
        pairs,
        mut left_out,
    } = match_cells(&a.plan, &b.plan, stacks.as_ref());
    let mut found = Differences::default();
    if let Some((old, young)) = &stacks {
        found.note(Aspect::Stack, "stack", describe(a, old), describe(b, young));
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
    for (x, y) in &pairs {
        found.parameters(x, y);
    }
    let same = pairs.iter().filter(|(x, y)| x.stack == y.stack);
    let with_legs = same.flat_map(|(x, _)| {
        let chain = a.plan.stacks.get(&x.stack).and_then(|s| s.chain.as_ref());
        let legs = chain.into_iter().flat_map(|chain| &chain.legs);
        std::iter::once(x.stack.as_str()).chain(legs.map(|leg| leg.stack.as_str()))
    });
    found.texts(a, b, with_legs);
    let table = Table::new(base, new, &pairs, Pairing::Independent, how);
    left_out.extend(table.failed);
    let mut comparison = Comparison {
        base: side(a),
        new: side(b),
        options: how.clone(),
        paired: false,
        differences: found.0,
        unknown,
        moved: None,
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
        for row in rows.filter(|row| row.figure == Figure::CpuPerMessage) {
            row.take_back(&why);
        }
    }
    comparison
}

fn side(manifest: &RunManifest) -> Side {
    Side {
        name: manifest.id.clone(),
        run: manifest.id.clone(),
        started_unix_ms: manifest.started_unix_ms,
    }
}

/// A stack with its adapters, their versions, and its options.
fn describe(manifest: &RunManifest, name: &str) -> String {
    let Some(stack) = manifest.plan.stacks.get(name) else {
        return name.to_owned();
    };
    let with_version = |name: &str| {
        let known = manifest.adapters.iter().find(|a| a.name == name);
        known.map_or_else(|| name.to_owned(), |a| format!("{name} {}", a.version))
    };
    let adapters: Vec<String> = stack.adapters().into_iter().map(with_version).collect();
    let mut about = adapters.join(" > ");
    if !stack.options.is_empty() {
        about.push_str(&format!("; {}", options(&stack.options)));
    }
    format!("{name} ({about})")
}

fn testbed(plan: &Plan) -> String {
    let host = |host: &Host| match &host.reach {
        Reach::Vm(machine) => format!("{}: {machine}", host.name),
        _ => host.name.clone(),
    };
    let hosts: Vec<String> = plan.testbed.hosts.iter().map(host).collect();
    format!("{} ({})", plan.testbed.name, hosts.join(", "))
}
