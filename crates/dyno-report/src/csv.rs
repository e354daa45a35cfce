//! CSV after RFC 4180: one row per experiment and metric, everything else in columns, so that
//! `pandas.read_csv` gives a frame to filter and plot without reshaping. `inf` is infinite, an empty
//! field is unknown or refused. `docs/reference/show-json.md` lists the columns.

use crate::carry::csv_line;
use crate::number::{exported, latency_ns};
use crate::summary::{
    ExperimentSummary, HostSummary, MetricSummary, OutageSummary, PrecisionSummary, QUANTILES,
    Spread, Summary,
};
use dyno_model::factors::{self, Factor, Value};
use dyno_model::{COUNTS, Metric, TrialFigure};
use dyno_stats::{Estimate, Latency, Quantile};

struct Row<'a> {
    summary: &'a Summary,
    e: &'a ExperimentSummary,
    metric: Metric,
    /// Missing where no trial completed.
    m: Option<&'a MetricSummary>,
}

struct Column {
    name: String,
    value: Box<dyn Fn(&Row<'_>) -> String>,
}

/// The header and all rows, each ended by CR LF.
pub(crate) fn render(summary: &Summary) -> String {
    let columns = columns();
    let mut out = csv_line(columns.iter().map(|c| c.name.clone()));
    for e in &summary.experiments {
        let row = |metric, m| Row {
            summary,
            e,
            metric,
            m,
        };
        let mut rows: Vec<Row<'_>> = e
            .metrics
            .iter()
            .map(|(metric, m)| row(*metric, Some(m)))
            .collect();
        if rows.is_empty() {
            rows.push(row(e.headline(), None));
        }
        for row in &rows {
            out.push_str(&csv_line(columns.iter().map(|c| (c.value)(row))));
        }
    }
    out
}

fn columns() -> Vec<Column> {
    let mut all = Vec::new();
    let mut add = |name: &str, value: Box<dyn Fn(&Row<'_>) -> String>| {
        all.push(Column {
            name: name.to_owned(),
            value,
        });
    };
    for (name, value) in OF_RUN {
        add(name, Box::new(value));
    }
    for (name, of) in factors::in_files().flat_map(Factor::plain) {
        let value = |r: &Row<'_>| match of.value(&r.e.experiment) {
            Some(Value::Number(value)) => number(value),
            value => shown(value),
        };
        add(name, Box::new(value));
    }
    for (name, value) in OF_EXPERIMENT {
        add(name, Box::new(value));
    }
    for (name, value) in METRIC {
        add(name, Box::new(move |r| r.m.map_or_else(String::new, value)));
    }
    for (i, (name, _, _)) in QUANTILES.iter().enumerate() {
        for (suffix, value) in QUANTILE {
            let value = move |r: &Row<'_>| r.m.map_or_else(String::new, |m| value(&m.quantiles[i]));
            add(&format!("{name}{suffix}"), Box::new(value));
        }
    }
    for (name, value) in FLOOR {
        // The ratio is that of the headline's p50, so it stands in the headline's row alone.
        let ratio = |r: &Row<'_>| match r.metric == r.e.headline() {
            true => r.e.floor.as_ref().and_then(|f| f.p50_ratio),
            false => None,
        };
        add(
            name,
            Box::new(move |r| ratio(r).map_or_else(String::new, |e| number(value(&e)))),
        );
    }
    for count in COUNTS {
        add(
            count.name,
            Box::new(|r| (count.of)(&r.e.counts).to_string()),
        );
    }
    // That of the window stands with what else is known of the load.
    let figures = TrialFigure::ALL.iter();
    for figure in figures.filter(|f| **f != TrialFigure::InWindowHz) {
        add(figure.as_str(), Box::new(|r| median(r.e.figure(*figure))));
    }
    add("open_ns", Box::new(|r| median(r.e.open_ns)));
    add("matching_ns", Box::new(|r| median(r.e.matching_ns)));
    for (name, value) in TRIALS {
        add(name, Box::new(value));
    }
    for (name, value) in OF_HEADLINE {
        let value = move |r: &Row<'_>| match r.metric == r.e.headline() {
            true => value(r.e).unwrap_or_default(),
            false => String::new(),
        };
        add(name, Box::new(value));
    }
    for (i, (quantile, _, _)) in QUANTILES.iter().enumerate().skip(1) {
        let tail = move |r: &Row<'_>| match r.metric == r.e.headline() {
            true => r.e.host.as_ref().and_then(|h| h.tail[i]),
            false => None,
        };
        let own = move |r: &Row<'_>| tail(r).map_or_else(String::new, |t| number(t.own_ns));
        add(&format!("host_{quantile}"), Box::new(own));
        let explained = move |r: &Row<'_>| {
            let share = tail(r).and_then(|t| t.explained);
            share.map_or_else(String::new, number)
        };
        add(&format!("host_explains_{quantile}"), Box::new(explained));
    }
    all
}

type RowText = fn(&Row<'_>) -> String;
type Of<T, R> = fn(&T) -> R;

const OF_RUN: [(&str, RowText); 7] = [
    ("run", |r| r.summary.run.id.clone()),
    ("suite", |r| r.summary.run.suite.clone()),
    ("testbed", |r| r.summary.run.testbed.clone()),
    ("emulated", |r| {
        shown(r.summary.run.environment.emulated.clone())
    }),
    ("id", |r| r.e.experiment.id.0.to_string()),
    ("experiment", |r| r.e.experiment.name.clone()),
    ("stack", |r| r.e.experiment.stack.clone()),
];

const OF_EXPERIMENT: [(&str, RowText); 10] = [
    ("machine", |r| {
        r.summary.run.machine_of(&r.e.experiment).to_owned()
    }),
    ("is_floor", |r| r.e.is_floor.to_string()),
    ("trials", |r| r.e.trials.counted.to_string()),
    ("failed_trials", |r| r.e.trials.failed.to_string()),
    ("planned_trials", |r| r.e.trials.planned.to_string()),
    ("failure", |r| match r.e.failures.first() {
        Some(f) => format!("{} in {}: {}", f.kind, f.step, f.cause),
        None => String::new(),
    }),
    ("unstable", |r| r.e.is_unstable().to_string()),
    ("is_headline", |r| (r.metric == r.e.headline()).to_string()),
    ("metric", |r| r.metric.to_string()),
    ("flow", |r| r.e.experiment.flow_text()),
];

const METRIC: [(&str, Of<MetricSummary, String>); 6] = [
    ("n", |m| m.n.to_string()),
    ("infinite", |m| m.infinite.to_string()),
    ("saturated", |m| m.saturated.to_string()),
    ("min", |m| m.min.map_or_else(String::new, |v| v.to_string())),
    ("mean", |m| m.mean.map_or_else(String::new, number)),
    ("max", |m| m.max.map_or_else(String::new, |v| v.to_string())),
];

const QUANTILE: [(&str, Of<Quantile, String>); 6] = [
    ("", |q| end(q, |e| e.value)),
    ("_lo", |q| end(q, |e| e.lo)),
    ("_hi", |q| end(q, |e| e.hi)),
    ("_have", |q| match q {
        Quantile::Refused { have, .. } => have.to_string(),
        Quantile::Estimated(_) | Quantile::Wide { .. } => String::new(),
    }),
    ("_need", |q| match q {
        Quantile::Refused { need, .. } => need.to_string(),
        Quantile::Estimated(_) | Quantile::Wide { .. } => String::new(),
    }),
    ("_need_trials", |q| match q {
        Quantile::Wide { need, .. } => need.map_or_else(|| "unknown".into(), |n| n.to_string()),
        Quantile::Estimated(_) | Quantile::Refused { .. } => String::new(),
    }),
];

const FLOOR: [(&str, Of<Estimate, f64>); 3] = [
    ("floor_ratio", |e| latency_ns(&e.value)),
    ("floor_ratio_lo", |e| latency_ns(&e.lo)),
    ("floor_ratio_hi", |e| latency_ns(&e.hi)),
];

/// The same in each row of an experiment, but for whether the clocks bear the row's metric.
const TRIALS: [(&str, RowText); 27] = [
    ("disturbed_trials", |r| r.e.trials.disturbed.to_string()),
    ("all_disturbed", |r| r.e.trials.all_disturbed().to_string()),
    ("is_base", |r| r.e.is_base.to_string()),
    ("is_leg", |r| r.e.is_leg.to_string()),
    ("base", |r| match r.e.experiment.base {
        Some(id) => id.0.to_string(),
        None => String::new(),
    }),
    ("warmup_ns", |r| median(r.e.warmup.map(|w| w.ns))),
    ("unsteady_trials", |r| match r.e.warmup {
        Some(w) => w.unsteady.to_string(),
        None => String::new(),
    }),
    ("foreign_share", |r| share(r, |h| h.foreign_share)),
    ("stolen_share", |r| share(r, |h| h.stolen_share)),
    ("gap_share", |r| share(r, |h| h.gap_share)),
    ("precision_metric", |r| {
        precision(r, |p| p.metric.to_string())
    }),
    ("precision_asked", |r| precision(r, |p| number(p.asked))),
    ("precision_got", |r| {
        precision(r, |p| p.got.map_or_else(String::new, number))
    }),
    ("precision_reached", |r| {
        precision(r, |p| p.reached().to_string())
    }),
    ("clock_bound_ns", |r| match r.e.clock_bound {
        Some(bound) => bound.0.to_string(),
        None => String::new(),
    }),
    ("one_way_resolvable", |r| {
        match r.e.is_resolvable(r.metric) {
            Some(is) => is.to_string(),
            None => String::new(),
        }
    }),
    ("load_outcome", |r| {
        r.e.load()
            .map_or_else(String::new, |l| l.as_str().to_owned())
    }),
    ("in_window_ratio", |r| {
        r.e.in_window_ratio().map_or_else(String::new, number)
    }),
    ("in_window_hz", |r| {
        median(r.e.figure(TrialFigure::InWindowHz))
    }),
    ("backlog_growth", |r| {
        r.e.saturated.map_or_else(String::new, number)
    }),
    ("recovered_trials", |r| {
        outage(r, |o| o.recovered.to_string())
    }),
    ("deaf_trials", |r| outage(r, |o| o.deaf().to_string())),
    ("half_deaf_trials", |r| {
        outage(r, |o| o.half_deaf.to_string())
    }),
    ("untold_trials", |r| outage(r, |o| o.untold.to_string())),
    ("outage_lost", |r| outage(r, |o| median(o.lost))),
    ("outage_repeated", |r| outage(r, |o| median(o.repeated))),
    ("outage_burst", |r| outage(r, |o| median(o.burst))),
];

/// In the headline's row alone.
const OF_HEADLINE: [(&str, Of<ExperimentSummary, Option<String>>); 7] = [
    ("mode_low", |e| Some(number(e.modes.as_ref()?.low_ns))),
    ("mode_high", |e| Some(number(e.modes.as_ref()?.high_ns))),
    ("mode_high_share", |e| {
        Some(number(e.modes.as_ref()?.high_share))
    }),
    ("mode_cause", |e| {
        let cause = e.modes.as_ref()?.cause()?;
        Some(cause.covariate.as_str().to_owned())
    }),
    ("drift", |e| Some(number(latency_ns(&e.drift?.value)))),
    ("drift_lo", |e| Some(number(latency_ns(&e.drift?.lo)))),
    ("drift_hi", |e| Some(number(latency_ns(&e.drift?.hi)))),
];

fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |v| v.to_string())
}

fn share(r: &Row<'_>, of: fn(&HostSummary) -> Option<Spread>) -> String {
    median(r.e.host.as_ref().and_then(of))
}

fn outage(r: &Row<'_>, of: fn(&OutageSummary) -> String) -> String {
    r.e.outage.as_ref().map_or_else(String::new, of)
}

fn precision(r: &Row<'_>, of: fn(&PrecisionSummary) -> String) -> String {
    r.e.precision.as_ref().map_or_else(String::new, of)
}

fn end(q: &Quantile, of: fn(&Estimate) -> Latency) -> String {
    q.estimate()
        .map_or_else(String::new, |e| number(latency_ns(&of(e))))
}

fn median(spread: Option<Spread>) -> String {
    spread.map_or_else(String::new, |s| number(s.median))
}

/// Without an exponent; `inf` for infinity.
fn number(value: f64) -> String {
    exported(value).to_string()
}
