//! The names that an expression may use of an experiment: metrics, rates, costs and factors as in the JSON, and some more.

use super::expr::{Form, Kind};
use crate::cells::kind;
use crate::number::{duration, latency_ns, share, sig3, with_prefix};
use crate::summary::{
    ExperimentSummary, MetricSummary, QUANTILES, RunSummary, ScalingSummary, Spread, Summary,
};
use dyno_model::factors::{self, Of};
use dyno_model::probe::Probe;
use dyno_model::{Metric, TrialFigure, Workload};
use dyno_stats::Quantile;
use dyno_toml::suggest;

/// What an expression comes to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// A finite number; times are in nanoseconds, shares are of one.
    Number(f64),
    /// Words.
    Text(String),
    /// An estimate and the ends of its interval, infinite where messages were lost.
    Interval([f64; 3]),
}

/// Values that bind names, for one row.
pub(crate) type Bound = Vec<(String, Value)>;

impl Value {
    /// As a number that may be infinite; `None` of text.
    pub(crate) fn raw(&self) -> Option<f64> {
        match self {
            Value::Number(v) | Value::Interval([v, ..]) => Some(*v),
            Value::Text(_) => None,
        }
    }

    /// As a number; `None` of text and of what is infinite.
    pub(crate) fn number(&self) -> Option<f64> {
        self.raw().filter(|v| v.is_finite())
    }

    /// As a text that can be compared.
    pub(crate) fn word(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            Value::Number(v) | Value::Interval([v, ..]) => v.to_string(),
        }
    }

    /// As a cell has it; `None` where it has no such form.
    pub(crate) fn shown(&self, form: &Form) -> Option<String> {
        let one = |v: f64| number(v, form);
        let v = match (self, form.kind) {
            (Value::Text(text), _) => return Some(text.clone()),
            (Value::Interval(all), Kind::Plain) => {
                let [value, lo, hi] = all.map(time);
                return Some(format!("{value} [{lo}, {hi}]"));
            }
            (Value::Interval(all), Kind::Digits) => {
                let [value, lo, hi] = all.map(one);
                return Some(format!("{value} [{lo}, {hi}]"));
            }
            _ => self.number()?,
        };
        Some(if form.signed && v < 0.0 {
            format!("-{}", one(-v))
        } else if form.signed {
            format!("+{}", one(v))
        } else {
            one(v)
        })
    }
}

fn time(ns: f64) -> String {
    if ns.is_finite() {
        duration(ns)
    } else {
        "∞".to_owned()
    }
}

fn number(v: f64, form: &Form) -> String {
    match form.kind {
        Kind::Time => time(v),
        Kind::Share => share(v),
        Kind::Percent => format!("{:.1} %", 100.0 * v),
        Kind::Prefix => with_prefix(v, &form.unit),
        Kind::Whole => format!("{v:.0}"),
        Kind::Plain | Kind::Digits if form.unit.is_empty() => sig3(v),
        Kind::Plain | Kind::Digits => format!("{} {}", sig3(v), form.unit),
    }
}

/// What is known of a metric beside its quantiles.
const OF_METRIC: [&str; 12] = [
    "n",
    "lost",
    "mean",
    "min",
    "max",
    "sd",
    "lowest",
    "highest",
    "range",
    "median",
    "within_sd",
    "trials",
];

/// What is known of a rate or a cost; its name alone is its median.
const OF_FIGURE: [&str; 4] = ["median", "min", "max", "sd"];

type Own = fn(&Summary, &ExperimentSummary) -> Option<Value>;

fn yes(is: bool) -> Option<Value> {
    Some(Value::Text(if is { "yes" } else { "no" }.to_owned()))
}

fn text(text: impl ToString) -> Option<Value> {
    Some(Value::Text(text.to_string()))
}

fn count(n: impl Into<f64>) -> Option<Value> {
    Some(Value::Number(n.into()))
}

/// What the time over sizes came to, of which the experiment has the first size.
fn scaling<'s>(summary: &'s Summary, e: &ExperimentSummary) -> Option<&'s ScalingSummary> {
    let mut all = summary.scaling.iter();
    all.find(|scaling| scaling.first.id == e.experiment.id)
}

/// The p50 of its copies.
fn copies(e: &ExperimentSummary) -> Option<Spread> {
    Spread::with_infinite(e.copies.iter().map(|copy| copy.p50_ns.median))
}

/// What is no metric, rate, cost or factor.
const OWN: [(&str, Own); 45] = [
    ("stack", |_, e| text(&e.experiment.stack)),
    ("experiment", |_, e| text(&e.experiment.name)),
    ("payload", |_, e| text(e.experiment.payload)),
    ("exchange", |_, e| text(e.experiment.workload)),
    ("rate", |_, e| text(e.experiment.workload.numbers().rate?)),
    ("copies", |_, e| count(e.experiment.topology.copies)),
    ("host", |s, e| text(s.run.hosts.get(e.experiment.on_host)?)),
    ("guest", |_, e| yes(e.experiment.on_host > 0)),
    ("mark", |_, e| text(kind(e))),
    ("floor", |_, e| yes(e.is_floor)),
    ("leg", |_, e| yes(e.is_leg)),
    ("base", |_, e| yes(e.is_base)),
    ("added", |_, e| yes(e.experiment.added)),
    ("chain", |_, e| yes(e.chain.is_some())),
    ("emulated", |s, e| {
        let host = s.run.hosts.get(e.experiment.on_host);
        yes(host.is_some_and(|host| s.run.emulated_hosts.contains(host)))
    }),
    ("asks", |s, e| {
        yes(s
            .run
            .stacks
            .get(&e.experiment.stack)
            .is_some_and(|stack| stack.asks))
    }),
    ("written", |_, e| {
        // Whether a sender is due more than once within the window.
        let rate = e.experiment.workload.numbers().rate?;
        let window = e.experiment.paced_window()?;
        yes(window.as_secs_f64() * rate.hz() > 1.0)
    }),
    ("probe_kind", |_, e| match e.experiment.workload {
        Workload::Probe { probe, .. } => text(probe.kind()),
        _ => None,
    }),
    ("way", |_, e| match e.experiment.workload {
        Workload::Probe { probe, .. } => text(probe.way()?),
        _ => None,
    }),
    ("sides", |_, e| match e.experiment.workload {
        Workload::Probe {
            probe: Probe::Switch { sides, .. },
            ..
        } => text(sides),
        _ => None,
    }),
    ("cpus_of_probe", |_, e| match e.experiment.workload {
        Workload::Probe { each, .. } => count(each),
        _ => None,
    }),
    ("at_once", |_, e| count(e.experiment.at_once())),
    ("on_one_cpu", |_, e| {
        let cpus = e.experiment.cpus_of_one();
        yes(cpus.len() > 1 && cpus.iter().all(|cpu| *cpu == cpus[0]))
    }),
    ("core_cycles", |_, e| count(e.copies.first()?.core?[0])),
    ("core_instructions", |_, e| {
        count(e.copies.first()?.core?[1])
    }),
    ("scaled", |s, e| {
        let mut all = s.scaling.iter().flat_map(|of| &of.experiments);
        yes(all.any(|id| *id == e.experiment.id))
    }),
    ("slope", |s, e| {
        let slope = scaling(s, e)?.fit?.slope;
        let ends = [slope.value, slope.lo, slope.hi];
        Some(Value::Interval(ends.map(|l| latency_ns(&l))))
    }),
    ("intercept_ns", |s, e| count(scaling(s, e)?.fit?.intercept)),
    ("sizes", |s, e| count(scaling(s, e)?.sizes as f64)),
    ("sizes_offered", |s, e| count(scaling(s, e)?.offered as f64)),
    ("sizes_received", |s, e| {
        count(scaling(s, e)?.received as f64)
    }),
    ("no_slope", |s, e| text(scaling(s, e)?.reason.as_ref()?)),
    ("fastest_copy_ns", |_, e| {
        copies(e).map(|s| Value::Number(s.min))
    }),
    ("slowest_copy_ns", |_, e| {
        copies(e).map(|s| Value::Number(s.max))
    }),
    ("headline", |_, e| text(e.headline().info().name)),
    ("delivered", |_, e| count(e.delivered_ratio()?)),
    ("failure", |_, e| text(&e.failures.first()?.cause)),
    ("failed", |_, e| count(e.trials.failed as f64)),
    ("counted", |_, e| count(e.trials.counted as f64)),
    ("unstable", |_, e| yes(e.is_unstable())),
    ("clock_bound_ns", |_, e| count(e.clock_bound?.0 as f64)),
    ("chain_messages", |_, e| {
        count(e.chain.as_ref()?.messages as f64)
    }),
    ("chain_least_ns", |_, e| {
        count(e.chain.as_ref()?.least_ns? as f64)
    }),
    ("chain_residual_ns", |_, e| {
        count(e.chain.as_ref()?.residual_ns? as f64)
    }),
    ("id", |_, e| count(e.experiment.id.0)),
];

/// A value of the run.
type OfRun = fn(&RunSummary) -> Option<Value>;

/// What is known of the run, whatever the experiment.
const OF_RUN: [(&str, OfRun); 3] = [
    ("cpu_model", |run| text(&run.environment.cpu_model)),
    ("clock", |run| text(&run.environment.clock.source)),
    // The counter of Arm's timer counts no cycles.
    ("tsc_hz", |run| {
        let clock = &run.environment.clock;
        Some(Value::Number(
            clock.frequency_hz.filter(|_| clock.source == "tsc")?,
        ))
    }),
];

pub(crate) fn metric(name: &str) -> Option<Metric> {
    Metric::ALL.iter().copied().find(|m| m.info().name == name)
}

fn figure(name: &str) -> Option<TrialFigure> {
    let mut all = TrialFigure::ALL.iter().copied();
    all.find(|f| f.info().name == name)
}

fn factor(name: &str) -> Option<&'static Of> {
    let mut all = factors::all().flat_map(|f| f.columns);
    all.find(|(column, _)| *column == name).map(|(_, of)| of)
}

/// The value of a name of the run or of an experiment; `None` where there is none.
pub(crate) fn value(
    summary: &Summary,
    e: Option<&ExperimentSummary>,
    path: &[&str],
) -> Option<Value> {
    let (first, rest) = path.split_first()?;
    if let Some((_, of)) = OF_RUN.iter().find(|(name, _)| name == first) {
        return of(&summary.run);
    }
    let e = e?;
    if *first == "headline" && !rest.is_empty() {
        return of_metric(e, e.headline(), rest[0]);
    }
    if let Some(metric) = metric(first) {
        return of_metric(e, metric, rest.first()?);
    }
    if let Some(figure) = figure(first) {
        return of_figure(e, figure, rest.first().unwrap_or(&"median"));
    }
    if let Some((_, own)) = OWN.iter().find(|(name, _)| name == first) {
        return own(summary, e);
    }
    Some(match factor(first)?.value(&e.experiment)? {
        factors::Value::Text(text) => Value::Text(text),
        factors::Value::Count(n) => Value::Number(n as f64),
        factors::Value::Number(v) => Value::Number(v),
        factors::Value::Flag(is) => return yes(is),
    })
}

/// Whether the clocks of the hosts are known too badly for a figure of that name.
pub(crate) fn is_blurred(e: &ExperimentSummary, name: &str) -> bool {
    let metric = metric(name.split('.').next().unwrap_or(name));
    metric.and_then(|metric| e.is_resolvable(metric)) == Some(false)
}

/// The quantile that a name stands for, withheld or not.
pub(crate) fn quantile<'e>(e: &'e ExperimentSummary, name: &str) -> Option<&'e Quantile> {
    let (of, what) = name.split_once('.')?;
    let metric = match of {
        "headline" => e.headline(),
        of => metric(of)?,
    };
    let i = QUANTILES.iter().position(|(name, ..)| *name == what)?;
    Some(&e.metrics.get(&metric)?.quantiles[i])
}

/// The standard deviation of what several trials have.
fn sd(e: &ExperimentSummary, of: Spread) -> Option<f64> {
    (e.trials.counted > 1).then_some(of.sd)
}

fn of_metric(e: &ExperimentSummary, metric: Metric, what: &str) -> Option<Value> {
    let m: &MetricSummary = e.metrics.get(&metric)?;
    if let Some(i) = QUANTILES.iter().position(|(name, ..)| *name == what) {
        return match &m.quantiles[i] {
            Quantile::Estimated(q) => Some(Value::Interval(
                [q.value, q.lo, q.hi].map(|l| latency_ns(&l)),
            )),
            Quantile::Refused { .. } | Quantile::Wide { .. } => None,
        };
    }
    Some(Value::Number(match what {
        "n" => m.n as f64,
        "lost" => m.infinite as f64,
        "mean" => m.mean?,
        "min" => m.min? as f64,
        "max" => m.max? as f64,
        "sd" => sd(e, m.means?)?,
        "lowest" => m.means?.min,
        "highest" => m.means?.max,
        "range" => m.means?.max - m.means?.min,
        "median" => m.means?.median,
        "within_sd" => m.means?.within_sd as f64,
        _ => m.means?.n as f64,
    }))
}

fn of_figure(e: &ExperimentSummary, figure: TrialFigure, what: &str) -> Option<Value> {
    let spread = e.figure(figure)?;
    Some(Value::Number(match what {
        "min" => spread.min,
        "max" => spread.max,
        "sd" => sd(e, spread)?,
        _ => spread.median,
    }))
}

/// Whether it is a name of experiments.
///
/// # Errors
/// What is wrong, and what may have been meant. `others` are names that stand beside those of experiments.
pub(crate) fn check(path: &[&str], others: &[&str]) -> Result<(), (String, String)> {
    let Some((first, rest)) = path.split_first() else {
        return Ok(());
    };
    let quantiles = QUANTILES.map(|(name, ..)| name);
    let statistics: Vec<&str> = quantiles.into_iter().chain(OF_METRIC).collect();
    let (known, needed): (&[&str], bool) = if metric(first).is_some() {
        (&statistics, true)
    } else if *first == "headline" {
        (&statistics, false)
    } else if figure(first).is_some() {
        (&OF_FIGURE, false)
    } else if others_of(first) || factor(first).is_some() {
        (&[], false)
    } else {
        return Err((
            format!("there is no metric, figure or factor `{first}`"),
            nearest(first, others),
        ));
    };
    match rest {
        [] if needed => Err((
            format!("`{first}` is a metric, which has several figures"),
            format!("write for example `{first}.p50`; {}", known.join(", ")),
        )),
        [] => Ok(()),
        [what] if known.contains(what) => Ok(()),
        [what, ..] => Err((
            format!("`{first}` has no `{what}`"),
            suggest::instead(what, "figures of it", known.iter().copied()),
        )),
    }
}

/// Whether it is a name that is no metric, figure or factor.
fn others_of(name: &str) -> bool {
    OWN.iter().any(|(known, _)| *known == name) || OF_RUN.iter().any(|(known, _)| *known == name)
}

/// The nearest of all names, and where they are listed.
fn nearest(word: &str, others: &[&str]) -> String {
    let all = Metric::ALL.iter().map(|m| m.info().name);
    let all = all.chain(TrialFigure::ALL.iter().map(|f| f.info().name));
    let all = all
        .chain(OWN.map(|(name, _)| name))
        .chain(OF_RUN.map(|(name, _)| name));
    let all = all.chain(
        factors::all()
            .flat_map(|f| f.columns)
            .map(|(column, _)| *column),
    );
    let all: Vec<&str> = all.chain(others.iter().copied()).collect();
    // `rtt` is meant to be `rtt_ns`.
    let longer = all
        .iter()
        .copied()
        .find(|name| name.strip_suffix("_ns") == Some(word));
    let list = "docs/reference/study-files.md lists the names";
    match longer.or_else(|| suggest::nearest(word, &all)) {
        Some(near) => format!("did you mean `{near}`? {list}"),
        None => list.to_owned(),
    }
}
