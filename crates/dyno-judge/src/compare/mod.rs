//! Which of two is faster: every cell and figure as a ratio with an interval, and a verdict in words.
//!
//! All intervals of one table hold together with the confidence asked for (Bonferroni; Dunn, JASA 56,
//! 1961), so that a table of fifty rows without any difference says `faster` or `slower` anywhere in
//! at most 5 % of all cases. Two runs at different times also differ by what the machine did in
//! between; the floor, measured in both, is the control for that.

mod control;
mod export;
mod matching;
mod render;
mod words;

use crate::cell::{self, Factors};
use crate::difference::{Aspect, Difference, Differences, RunFacts, options};
use crate::figure::{Figure, Trials};
use crate::number::latency;
use control::moved_floor;
use dyno_model::plan::{Against, Plan};
use dyno_model::record::{Run, RunManifest};
use dyno_model::{Experiment, ExperimentId, Metric};
use dyno_stats::{Estimate, Latency, Pairing, Ratio, Verdict, ratio, simultaneous, verdict};
use matching::{Matched, match_cells, one_stack_each};
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
}

/// A figure compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Geometric mean over the base's trials, in the figure's unit; infinite where one lost too much.
    pub base: f64,
    /// The same of the new side.
    pub new: f64,
    /// New over base with its interval at [`Comparison::each`].
    pub ratio: Ratio,
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
}

impl Comparison {
    /// Whether something cannot be told at all: no cell was compared, or the new side refused one that the base
    /// measured, or failed in every trial of it.
    pub fn is_blind(&self) -> bool {
        self.cells.is_empty() || self.left_out.iter().any(|l| l.new_failed)
    }

    /// The cells that say something of what is compared. The floor tells of the machine: it counts only where
    /// there is nothing else.
    fn judged(&self) -> impl Iterator<Item = &ComparedCell> {
        let only_floors = self.cells.iter().all(|c| c.is_floor);
        let is_judged = move |c: &&ComparedCell| only_floors || !c.is_floor;
        self.cells.iter().filter(is_judged)
    }

    /// Whether a row says that the new side is slower: a higher latency, or less delivered.
    pub fn has_slower(&self) -> bool {
        let mut rows = self.judged().flat_map(|c| &c.rows);
        rows.any(|row| match (&row.result, row.figure) {
            (Ok(c), Figure::Quantile { .. }) => c.finding == Finding::Higher,
            (Ok(c), Figure::Delivered) => c.finding == Finding::Lower,
            _ => false,
        })
    }
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
        .filter_map(|(x, _)| Some(a.plan.stacks.get(&x.stack)?.adapter.as_str()))
        .collect();
    let (facts_a, facts_b) = (RunFacts::of(a), RunFacts::of(b));
    found.adapters(&facts_a, &facts_b, |name| adapters.contains(&name));
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
    let table = Table::new(base, new, &pairs, Pairing::Independent, how);
    left_out.extend(table.failed);
    let mut comparison = Comparison {
        base: side(a),
        new: side(b),
        options: how.clone(),
        paired: false,
        differences: found.0,
        moved: None,
        cells: table.cells,
        left_out,
        statements: table.statements,
        each: table.each,
        notes: Vec::new(),
    };
    control(&mut comparison, base, new, &pairs);
    comparison
}

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
            }),
        }
    }
    let mut found = Differences::default();
    let (mut base_name, mut new_name) = (String::new(), String::new());
    let mut notes = Vec::new();
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
                found.note(
                    Aspect::Stack,
                    "stack",
                    describe(manifest, name),
                    describe(manifest, stack),
                );
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
        }
    }
    for (x, y) in &pairs {
        found.parameters(x, y);
    }
    let table = Table::new(run, run, &pairs, Pairing::Paired, how);
    left_out.extend(table.failed);
    let side = |name: String| Side {
        name,
        ..side(manifest)
    };
    Comparison {
        base: side(base_name),
        new: side(new_name),
        options: how.clone(),
        paired: true,
        differences: found.0,
        moved: None,
        cells: table.cells,
        left_out,
        statements: table.statements,
        each: table.each,
        notes,
    }
}

/// Looks at the floors of two runs on the same machine, and takes back what they contradict.
fn control(
    comparison: &mut Comparison,
    base: &Run,
    new: &Run,
    pairs: &[(&Experiment, &Experiment)],
) {
    let other_machine = |d: &Difference| matches!(d.aspect, Aspect::Host | Aspect::Kernel);
    if comparison.differences.iter().any(other_machine) {
        return;
    }
    let floors: Vec<(ExperimentId, ExperimentId, &str)> = pairs
        .iter()
        .filter(|(x, y)| {
            x.stack == y.stack
                && cell::is_floor(&base.manifest.plan, x)
                && cell::is_floor(&new.manifest.plan, y)
        })
        .map(|(x, y)| (x.id, y.id, x.stack.as_str()))
        .collect();
    if floors.is_empty() {
        comparison.notes.push(
            "no floor was measured in both runs, so nothing shows whether the machine itself moved \
             between them; measure both interleaved with --against"
                .into(),
        );
        return;
    }
    comparison.moved = moved_floor(base, new, &floors, &comparison.options);
    if comparison.moved.is_none() {
        return;
    }
    for row in comparison.cells.iter_mut().flat_map(|c| &mut c.rows) {
        if let Ok(compared) = &mut row.result
            && matches!(compared.finding, Finding::Lower | Finding::Higher)
        {
            compared.finding = Finding::MachineMoved;
        }
    }
}

fn side(manifest: &RunManifest) -> Side {
    Side {
        name: manifest.id.clone(),
        run: manifest.id.clone(),
        started_unix_ms: manifest.started_unix_ms,
    }
}

/// A stack with its adapter, version and options.
fn describe(manifest: &RunManifest, name: &str) -> String {
    let Some(stack) = manifest.plan.stacks.get(name) else {
        return name.to_owned();
    };
    let mut about = manifest
        .adapters
        .iter()
        .find(|a| a.name == stack.adapter)
        .map_or_else(
            || stack.adapter.clone(),
            |a| format!("{} {}", a.name, a.version),
        );
    if !stack.options.is_empty() {
        about.push_str(&format!("; {}", options(&stack.options)));
    }
    format!("{name} ({about})")
}

fn testbed(plan: &Plan) -> String {
    let hosts: Vec<&str> = plan.testbed.hosts.iter().map(|h| h.name.as_str()).collect();
    format!("{} ({})", plan.testbed.name, hosts.join(", "))
}

/// The values of one figure on both sides.
struct Values {
    figure: Figure,
    /// New, base.
    sides: Result<(Vec<f64>, Vec<f64>), String>,
}

/// The compared cells and those without anything to compare.
struct Table {
    cells: Vec<ComparedCell>,
    failed: Vec<LeftOut>,
    statements: usize,
    each: f64,
}

impl Table {
    fn new(
        base: &Run,
        new: &Run,
        pairs: &[(&Experiment, &Experiment)],
        pairing: Pairing,
        how: &CompareOptions,
    ) -> Table {
        let (mut open, mut failed) = (Vec::new(), Vec::new());
        for (x, y) in pairs {
            let metrics = cell::headline_candidates(x.workload.kind());
            let a = Trials::read(base, x.id, metrics);
            let b = Trials::read(new, y.id, metrics);
            let remarks = both_remarks(&a, &b);
            if a.records().is_empty() || b.records().is_empty() {
                let side = match (a.records().is_empty(), b.records().is_empty()) {
                    (true, true) => "no trial of either side completed",
                    (true, false) => "no trial of the base completed",
                    _ => "no trial of the new side completed",
                };
                failed.push(LeftOut {
                    cell: pair_label(x, y),
                    reason: [vec![side.to_owned()], remarks].concat().join("; "),
                    new_failed: !a.records().is_empty(),
                });
                continue;
            }
            open.push((
                (*x).clone(),
                (*y).clone(),
                values(&a, &b, pairing, how),
                remarks,
            ));
        }
        let statements = open
            .iter()
            .flat_map(|(_, _, values, _)| values)
            .filter(|v| v.sides.is_ok())
            .count();
        let each = simultaneous(how.confidence, statements.max(1));
        let cells = open
            .into_iter()
            .map(|(x, y, values, remarks)| ComparedCell {
                is_floor: cell::is_floor(&base.manifest.plan, &x)
                    && cell::is_floor(&new.manifest.plan, &y),
                base: x,
                new: y,
                rows: values
                    .into_iter()
                    .map(|v| v.judge(pairing, how.margin, each))
                    .collect(),
                remarks,
            })
            .collect();
        Table {
            cells,
            failed,
            statements,
            each,
        }
    }
}

impl Values {
    fn judge(self, pairing: Pairing, margin: f64, each: f64) -> Row {
        let result = self.sides.and_then(|(new, base)| {
            let ratio = ratio_of(self.figure, &new, &base, pairing, each)?;
            let finding = match verdict(&ratio, margin, each) {
                Verdict::Lower => Finding::Lower,
                Verdict::Higher => Finding::Higher,
                Verdict::Same => Finding::Same,
                Verdict::Undecided { more } => Finding::Undecided {
                    more: more.map(|n| n.max(1)),
                },
            };
            Ok(Compared {
                base: geometric_mean(&base),
                new: geometric_mean(&new),
                ratio,
                finding,
            })
        });
        Row {
            figure: self.figure,
            result,
        }
    }
}

/// Every figure of a cell, with the values of the trials that are compared.
fn values(a: &Trials<'_>, b: &Trials<'_>, pairing: Pairing, how: &CompareOptions) -> Vec<Values> {
    let mut figures = Vec::new();
    if let (Some(metric), true) = (a.metric(), a.metric() == b.metric()) {
        // The one sample of a trial is its p50 and nothing else.
        let one = metric.is_one_per_trial() && how.quantiles.contains(&0.5);
        let quantiles = how.quantiles.iter().filter(|q| !one || **q == 0.5);
        figures.extend(quantiles.map(|q| Figure::Quantile { metric, q: *q }));
    }
    // A first message has no rate, and that of a closed loop is its round trip once more.
    if !matches!(a.metric(), Some(Metric::FirstMessage | Metric::Rtt)) {
        figures.push(Figure::Delivered);
    }
    figures.push(Figure::CpuPerMessage);
    let figures = figures.into_iter().map(|figure| Values {
        figure,
        sides: sides(a, b, figure, pairing).and_then(|(new, base)| {
            ratio_of(figure, &new, &base, pairing, how.confidence)?;
            Ok((new, base))
        }),
    });
    figures.collect()
}

/// The values of one figure: new, base. In pairs only where both trials of a number count.
fn sides(
    a: &Trials<'_>,
    b: &Trials<'_>,
    figure: Figure,
    pairing: Pairing,
) -> Result<(Vec<f64>, Vec<f64>), String> {
    let base = a.values(figure).map_err(|e| format!("base: {e}"))?;
    let new = b.values(figure).map_err(|e| format!("new: {e}"))?;
    let (base, new): (Vec<f64>, Vec<f64>) = match pairing {
        Pairing::Paired => base
            .iter()
            .filter_map(|(number, x)| {
                let (_, y) = new.iter().find(|(other, _)| other == number)?;
                Some((*x, *y))
            })
            .unzip(),
        Pairing::Independent => (
            base.into_iter().map(|(_, v)| v).collect(),
            new.into_iter().map(|(_, v)| v).collect(),
        ),
    };
    if base.len().min(new.len()) < 2 {
        return Err(match pairing {
            Pairing::Paired => format!(
                "it takes two pairs of trials in which both sides count, there {} {}",
                if base.len() == 1 { "is" } else { "are" },
                base.len()
            ),
            Pairing::Independent => format!(
                "it takes two trials of each side, there are {} and {}",
                base.len(),
                new.len()
            ),
        });
    }
    Ok((new, base))
}

/// A rate of zero is to rates what an infinite time is to times: it has no logarithm and is the worst there
/// is. So rates with a zero among them are compared by the times between two messages, whose ranks decide.
fn ratio_of(
    figure: Figure,
    new: &[f64],
    base: &[f64],
    pairing: Pairing,
    confidence: f64,
) -> Result<Ratio, String> {
    let zero = |v: &[f64]| v.contains(&0.0);
    let nothing = |v: &[f64]| v.iter().all(|rate| *rate == 0.0);
    let is_rate = figure == Figure::Delivered && !(nothing(base) && nothing(new));
    let ratio = match is_rate && (zero(base) || zero(new)) {
        true => {
            let gaps = |v: &[f64]| v.iter().map(|rate| 1.0 / rate).collect::<Vec<f64>>();
            ratio(&gaps(new), &gaps(base), pairing, confidence).map(inverse)
        }
        false => ratio(new, base, pairing, confidence),
    };
    ratio.ok_or_else(|| match (zero(base), zero(new)) {
        (true, _) => "a trial of the base has zero of it: there is no ratio".into(),
        (_, true) => "a trial of the new side has zero of it: there is no ratio".into(),
        _ => "the trials' values have no ratio".into(),
    })
}

/// The ratio of the inverse figures.
fn inverse(ratio: Ratio) -> Ratio {
    let turned = |l: Latency| match l {
        Latency::Finite(0.0) => Latency::Infinite,
        Latency::Finite(v) => Latency::Finite(1.0 / v),
        Latency::Infinite => Latency::Finite(0.0),
    };
    let Estimate { value, lo, hi } = ratio.estimate;
    Ratio {
        estimate: Estimate {
            value: turned(value),
            lo: turned(hi),
            hi: turned(lo),
        },
        ..ratio
    }
}

fn geometric_mean(values: &[f64]) -> f64 {
    let logs: f64 = values.iter().map(|v| v.ln()).sum();
    (logs / values.len() as f64).exp()
}

/// Remarks on the trials of both sides, and on messages that were lost.
fn both_remarks(a: &Trials<'_>, b: &Trials<'_>) -> Vec<String> {
    let mut remarks: Vec<String> = Vec::new();
    for (name, trials) in [("base", a), ("new", b)] {
        remarks.extend(trials.remarks.iter().map(|r| format!("{name}: {r}")));
    }
    let lost = |t: &Trials<'_>| {
        let counts = t.records().iter().map(|r| r.counts);
        counts.fold((0u64, 0u64), |(lost, offered), c| {
            (
                lost.saturating_add(c.lost),
                offered.saturating_add(c.offered),
            )
        })
    };
    let ((la, oa), (lb, ob)) = (lost(a), lost(b));
    if la > 0 || lb > 0 {
        remarks.push(format!(
            "messages lost: base {la} of {oa}, new {lb} of {ob}"
        ));
    }
    remarks
}

/// Names a cell whose stack may differ between the sides.
fn pair_label(base: &Experiment, new: &Experiment) -> String {
    match base.stack == new.stack {
        true => cell::label(new),
        false => format!(
            "{} → {}: {}",
            base.stack,
            new.stack,
            Factors::between(base, new).text()
        ),
    }
}

/// Value and ends of the ratio as numbers; infinite where lost messages make it so.
pub(crate) fn ends(ratio: &Ratio) -> (f64, f64, f64) {
    let e = &ratio.estimate;
    (latency(e.value), latency(e.lo), latency(e.hi))
}
