//! Requirements held against a run. A limit is passed only where the bad end of the figure's interval
//! keeps it, and broken only where even the good end does not; everything between is undecided, which
//! is not a pass. Where trials failed nothing is passed.

pub(crate) mod covers;
mod export;
mod judge;
mod junit;
mod limits;
mod loss;
mod measure;
mod quantity;
mod read;
mod render;
mod requirements;
mod scorecard;

pub(crate) use judge::{cpu_share, judge as judge_one, start, tails};
pub(crate) use junit::{junit_case, junit_suite};
pub(crate) use limits::nothing_was_checked;
pub use limits::{Bound, Limit, Limits, LimitsError};
pub use measure::Measure;
pub use quantity::{parse_quantile, parse_share};
pub use requirements::requirements;
pub use scorecard::{Candidate, Score, Scorecard};

use crate::cell;
use crate::origin::added_later;
use crate::standing::{Found, Standing};
use dyno_model::Experiment;
use dyno_model::plan::{Plan, Refusal};
use dyno_model::record::Run;
use dyno_toml::suggest::nearest;
use dyno_toml::{Place, Problem, Problems};
use limits::{Chosen, Selector};

/// How limits are checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CheckOptions {
    /// Confidence of each interval, such as 0.95.
    pub confidence: f64,
}

impl Default for CheckOptions {
    /// 95 %.
    fn default() -> Self {
        CheckOptions { confidence: 0.95 }
    }
}

/// What a judgement came to, such as that on one limit and one experiment; from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// The limit is kept, also by the bad end of the interval.
    Pass,
    /// The trials do not tell. Not a pass.
    Undecided,
    /// It is broken, also by the good end.
    Fail,
}

impl From<Standing> for Status {
    fn from(standing: Standing) -> Status {
        match standing {
            Standing::Keeps => Status::Pass,
            Standing::Breaks => Status::Fail,
            Standing::Between | Standing::Refused => Status::Undecided,
        }
    }
}

impl Status {
    /// `pass`, `fail` or `undecided`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Pass => "pass",
            Status::Fail => "fail",
            Status::Undecided => "undecided",
        }
    }
}

/// One limit held against one experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The limit.
    pub limit: Limit,
    /// The experiment.
    pub experiment: Experiment,
    /// What came of it.
    pub status: Status,
    /// Where the figure stands to the limit, whatever else keeps the limit from being passed.
    pub standing: Standing,
    /// What was measured; `None` where nothing can be said.
    pub found: Option<Found>,
    /// Why, in plain words.
    pub reason: String,
    /// What must be known of the trials.
    pub remarks: Vec<String>,
    /// So many further trials of the experiment would decide; `None`: it is decided, or nobody knows.
    pub further: Option<u64>,
}

/// All limits of a file held against a run.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckReport {
    /// The run.
    pub run: String,
    /// Its suite.
    pub suite: String,
    /// When it started, in milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
    /// What to read the verdicts with where trials were added to the run.
    pub added_later: Option<String>,
    /// The limits file.
    pub limits: String,
    /// Confidence of each interval.
    pub confidence: f64,
    /// Limit by limit, experiment by experiment.
    pub results: Vec<Checked>,
    /// What the plan left out.
    refused: Vec<Refusal>,
    /// Stacks on which nothing is put that does not name them.
    yardsticks: Vec<String>,
}

impl CheckReport {
    /// Number of results of a status.
    pub fn count(&self, status: Status) -> usize {
        self.results.iter().filter(|r| r.status == status).count()
    }

    /// Of each undecided result, how many further trials would decide it.
    pub fn further(&self) -> Vec<Option<u64>> {
        let undecided = self
            .results
            .iter()
            .filter(|r| r.status == Status::Undecided);
        undecided.map(|r| r.further).collect()
    }
}

/// Holds `limits` against `run`.
///
/// # Errors
/// A selector, or a limit as a whole, that selects nothing in this run.
pub fn check(run: &Run, limits: &Limits, how: &CheckOptions) -> Result<CheckReport, LimitsError> {
    let plan = &run.manifest.plan;
    let mut problems = Problems::default();
    let own: Vec<&Experiment> = cell::own(plan).collect();
    let mut selected = Vec::new();
    for limit in &limits.limits {
        let before = problems.len();
        strangers(limit, plan, &own, &mut problems);
        let chosen: Vec<&Experiment> = own
            .iter()
            .copied()
            .filter(|e| selects(limit, plan, e))
            .collect();
        if chosen.is_empty() && problems.len() == before {
            let message = format!(
                "the limit `{}` selects no experiment of this run",
                limit.name
            );
            problems.push(
                Problem::at(&limit.at, message)
                    .label("this one")
                    .help(nothing_selected(limit, plan)),
            );
        }
        selected.extend(chosen.into_iter().map(|e| (limit, e)));
    }
    problems.check(nothing_was_checked)?;
    Ok(CheckReport {
        run: run.manifest.id.clone(),
        suite: plan.suite.clone(),
        started_unix_ms: run.manifest.started_unix_ms,
        added_later: added_later(&run.manifest),
        limits: limits.name().to_owned(),
        confidence: how.confidence,
        results: selected
            .into_iter()
            .map(|(limit, e)| judge::judge(run, limit, e, how))
            .collect(),
        refused: plan.refused.clone(),
        yardsticks: plan
            .experiments
            .iter()
            .filter(|e| is_yardstick(plan, e))
            .map(|e| e.stack.clone())
            .collect(),
    })
}

fn allows<T: PartialEq>(chosen: &[Chosen<T>], value: &T) -> bool {
    chosen.is_empty() || chosen.iter().any(|c| c.value == *value)
}

/// A flow by itself is there for the ratio to it beside the others, and under no limit.
fn allows_flow(chosen: &[Chosen<String>], e: &Experiment) -> bool {
    match &e.flow {
        Some(flow) => !flow.by_itself && allows(chosen, &flow.name),
        None => chosen.is_empty(),
    }
}

/// Whether a limit is put on one of the run's [own](cell::own) experiments. Yardsticks and loopbacks are judged only where `stack`
/// names them: nobody's requirement is meant for them.
fn selects(limit: &Limit, plan: &Plan, e: &Experiment) -> bool {
    let s = &limit.selector;
    (!is_yardstick(plan, e) || !s.stack.is_empty())
        && limit.measure.applies_to(e)
        && allows(&s.suite, &plan.suite)
        && allows(&s.experiment, &e.name)
        && allows_flow(&s.flow, e)
        && allows(&s.stack, &e.stack)
        && allows(&s.workload, &e.workload.kind())
        && allows(&s.payload, &e.payload)
        && allows(&s.wait, &e.wait)
}

fn is_yardstick(plan: &Plan, e: &Experiment) -> bool {
    let stack = plan.stacks.get(&e.stack);
    e.added || stack.is_some_and(|s| s.floor || s.loopback)
}

/// Notes every word of a limit's selectors that nothing in the run answers to; `own` are the experiments that limits are
/// put on.
fn strangers(limit: &Limit, plan: &Plan, own: &[&Experiment], problems: &mut Problems) {
    let Selector {
        suite,
        experiment,
        flow,
        stack,
        workload,
        payload,
        wait,
    } = &limit.selector;
    let mut note = |text: &str, at: &Place, what: &str, all: Vec<String>| {
        let message = format!("no experiment of this run has the {what} `{text}`");
        if problems.is_full() {
            return problems.push(Problem::at(at, message));
        }
        let mut all = all;
        all.sort();
        all.dedup();
        let known: Vec<&str> = all.iter().map(String::as_str).collect();
        let near = nearest(text, &known);
        let mut help = format!("of this run: {}", first_of(&known));
        let mut refusals = plan
            .refused
            .iter()
            .filter(|r| r.stack == text || r.experiment == text);
        if let Some(refused) = refusals.next() {
            help = format!(
                "it was refused when the run was planned: {}; {help}",
                refused.reason
            );
        }
        problems.push(
            Problem::at(at, message)
                .label(match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "selects nothing".into(),
                })
                .help(help),
        );
    };
    let all = || own.iter();
    for c in suite.iter().filter(|c| c.value != plan.suite) {
        note(&c.text, &c.at, "suite", vec![plan.suite.clone()]);
    }
    for c in experiment
        .iter()
        .filter(|c| !all().any(|e| e.name == c.value))
    {
        note(
            &c.text,
            &c.at,
            "name",
            all().map(|e| e.name.clone()).collect(),
        );
    }
    let is_flow = |e: &Experiment, name: &str| e.flow_name() == Some(name);
    for c in flow.iter().filter(|c| !all().any(|e| is_flow(e, &c.value))) {
        let known = all().filter_map(|e| e.flow_name().map(str::to_owned));
        note(&c.text, &c.at, "flow", known.collect());
    }
    for c in stack.iter().filter(|c| !all().any(|e| e.stack == c.value)) {
        note(
            &c.text,
            &c.at,
            "stack",
            all().map(|e| e.stack.clone()).collect(),
        );
    }
    for c in workload
        .iter()
        .filter(|c| !all().any(|e| e.workload.kind() == c.value))
    {
        let known = all().map(|e| e.workload.kind().to_string()).collect();
        note(&c.text, &c.at, "workload", known);
    }
    for c in payload
        .iter()
        .filter(|c| !all().any(|e| e.payload == c.value))
    {
        note(
            &c.text,
            &c.at,
            "payload",
            all().map(|e| e.payload.to_string()).collect(),
        );
    }
    for c in wait.iter().filter(|c| !all().any(|e| e.wait == c.value)) {
        note(
            &c.text,
            &c.at,
            "wait",
            all().map(|e| e.wait.to_string()).collect(),
        );
    }
}

/// Names in a line, the first of very many.
fn first_of(names: &[&str]) -> String {
    const NAMED: usize = 50;
    match names.split_at_checked(NAMED) {
        Some((first, rest)) if !rest.is_empty() => {
            format!("{} and {} more", first.join(", "), rest.len())
        }
        _ => names.join(", "),
    }
}

/// Why a limit whose selectors all match something still selects nothing.
fn nothing_selected(limit: &Limit, plan: &Plan) -> String {
    let kinds = dyno_model::WorkloadKind::ALL;
    let applicable: Vec<&str> = kinds
        .iter()
        .filter(|k| limit.measure.applies_to_kind(**k))
        .map(|k| k.as_str())
        .collect();
    let mut all = cell::own(plan);
    if !all.any(|e| limit.measure.applies_to(e)) {
        if limit.measure.is_of_faults() {
            return format!(
                "`{}` is measured by experiments with faults only, and this run has none of them",
                limit.measure.text()
            );
        }
        return format!(
            "`{}` is measured by the workloads {} only, and this run has none of them",
            limit.measure.text(),
            applicable.join(", ")
        );
    }
    if limit.selector.stack.is_empty() {
        "no experiment matches all of its selectors and its metric; floors and loopbacks are \
         judged only if `stack` names them"
            .into()
    } else {
        "each of its selectors matches some experiment, but no experiment matches all of them and its metric"
            .into()
    }
}
