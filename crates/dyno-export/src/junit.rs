//! JUnit XML, in the form that CI servers agree on: a test suite for the run, a test case for each
//! experiment. Failed trials are `failure` (counts that contradict each other) or `error` (all else)
//! with what the agents said; cells that could not be measured are `skipped`; key figures are
//! properties. Limits are not judged here: that is `dyno check`, which has JUnit XML of its own.

use crate::{factors, names};
use dyno_model::record::{FailureKind, Run};
use dyno_model::{Cause, TrialFigure};
use dyno_report::{
    ExperimentSummary, FailedAs, FailureGroup, JunitCase, JunitKind, JunitResult, JunitSuite,
    QUANTILES, Summary, clean, exported,
};
use dyno_stats::{Latency, Quantile};
use std::fmt::Display;
use std::io;

/// The run as a JUnit XML document, ended by a newline.
///
/// # Errors
/// None in practice: it is written into memory; what the XML writer reports is passed on.
pub fn render(run: &Run, summary: &Summary) -> io::Result<String> {
    JunitSuite {
        tool: "dyno",
        name: summary.run.suite.clone(),
        started_unix_ms: Some(summary.run.started_unix_ms),
        host: Some(summary.run.host_names()),
        properties: of_run(summary),
        is_timed: true,
        cases: cases(run, summary),
    }
    .xml()
}

fn of_run(summary: &Summary) -> Vec<(&'static str, String)> {
    let (run, e) = (&summary.run, &summary.run.environment);
    let all = [
        ("run", run.id.clone()),
        ("title", run.title.clone()),
        ("testbed", run.testbed.clone()),
        ("command", run.command.join(" ")),
        ("seed", run.seed.to_string()),
        ("dyno_version", e.dyno_version.clone()),
        ("build_profile", e.build_profile.clone()),
        ("cpu_model", e.cpu_model.clone()),
        ("kernel", e.kernel.clone()),
    ];
    let emulated = e.emulated.clone().map(|what| ("emulated", what));
    all.into_iter().chain(emulated).collect()
}

fn cases(run: &Run, summary: &Summary) -> Vec<JunitCase> {
    let class = |experiment: &str| format!("{}.{experiment}", summary.run.suite);
    let labels = names::labels(summary);
    let measured = summary.experiments.iter().zip(labels).map(|(e, name)| {
        let wall = run.trials_of(e.experiment.id).map(|t| t.wall.as_secs_f64());
        JunitCase {
            class: class(&e.experiment.name),
            name,
            seconds: wall.sum(),
            properties: figures(e),
            results: results(e),
            out: remarks(e),
        }
    });
    let refused = summary.refused.iter().map(|r| JunitCase {
        class: class(&r.experiment),
        name: format!("{}: {}", r.stack, r.factors),
        results: vec![skipped(format!("refused: {}", r.reason))],
        ..JunitCase::default()
    });
    measured.chain(refused).collect()
}

fn skipped(message: String) -> JunitResult {
    JunitResult {
        kind: JunitKind::Skipped,
        what: String::new(),
        message,
        text: String::new(),
    }
}

fn results(e: &ExperimentSummary) -> Vec<JunitResult> {
    let interrupted = |f: &&FailureGroup| f.kind == FailedAs::Trial(FailureKind::Interrupted);
    let failed: Vec<JunitResult> = e
        .failures
        .iter()
        .filter(|f| !interrupted(f))
        .map(|f| {
            let of = e.trials.completed + e.trials.failed;
            let mut text = vec![f.cause.to_string()];
            text.extend(f.stderr.iter().map(|line| clean(line)));
            JunitResult {
                kind: match f.kind {
                    FailedAs::Trial(FailureKind::Inconsistent) => JunitKind::Failure,
                    _ => JunitKind::Error,
                },
                what: f.kind.to_string(),
                message: format!(
                    "{} of {of} trials: {} in {}: {}",
                    f.count, f.kind, f.step, f.cause
                ),
                text: text.join("\n"),
            }
        })
        .collect();
    if !failed.is_empty() || e.trials.counted > 0 {
        return failed;
    }
    let message = match e.failures.first() {
        Some(_) => "interrupted while it was measured; `dyno run --resume` measures it",
        None => "not measured yet; `dyno run --resume` measures it",
    };
    vec![skipped(message.to_owned())]
}

/// Of the rates and costs.
const KEY_FIGURES: [TrialFigure; 3] = [
    TrialFigure::DeliveredHz,
    TrialFigure::CpuPerMessage,
    TrialFigure::PssBytes,
];

/// Factors and key figures; what is not known is left out.
fn figures(e: &ExperimentSummary) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = factors::all(&e.experiment)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            all.push((name.to_owned(), value));
        }
    };
    let t = &e.trials;
    for (name, n) in [
        ("trials", t.counted),
        ("planned_trials", t.planned),
        ("failed_trials", t.failed),
        ("disturbed_trials", t.disturbed),
    ] {
        add(name, Some(n.to_string()));
    }
    if let Some(o) = &e.outage {
        for (name, n) in [
            ("recovered_trials", o.recovered),
            ("deaf_trials", o.deaf()),
            ("half_deaf_trials", o.half_deaf),
        ] {
            add(name, Some(n.to_string()));
        }
    }
    add("metric", Some(e.headline().to_string()));
    if let Some(m) = e.headline_metric() {
        add("n", Some(m.n.to_string()));
        add("infinite", Some(m.infinite.to_string()));
        for ((name, _, _), q) in QUANTILES.iter().zip(&m.quantiles) {
            match q {
                Quantile::Estimated(estimate) => {
                    add(name, Some(latency(estimate.value)));
                    add(&format!("{name}_lo"), Some(latency(estimate.lo)));
                    add(&format!("{name}_hi"), Some(latency(estimate.hi)));
                }
                Quantile::Refused { have, need } => add(
                    &format!("{name}_refused"),
                    Some(format!("{have} samples of {need}")),
                ),
                Quantile::Wide { interval, .. } => {
                    let (lo, hi) = (latency(interval.lo), latency(interval.hi));
                    let text = format!("an interval from {lo} to {hi} is no figure");
                    add(&format!("{name}_refused"), Some(text));
                }
            }
        }
    }
    let ratio = e.floor.as_ref().and_then(|f| f.p50_ratio);
    add("floor_ratio", ratio.map(|r| latency(r.value)));
    add("delivered_ratio", e.delivered_ratio().map(number));
    for figure in KEY_FIGURES {
        add(figure.as_str(), e.median(figure).map(number));
    }
    all
}

/// What the host did to trials, and what trials remarked, in lines.
fn remarks(e: &ExperimentSummary) -> Option<String> {
    let disturbed = e.disturbances.iter().map(several);
    let all: Vec<String> = disturbed.chain(e.warnings.iter().map(several)).collect();
    (!all.is_empty()).then(|| all.join("\n"))
}

fn several<T: Display>((cause, trials): &(Cause<T>, u64)) -> String {
    match trials {
        1 => format!("1 trial: {cause}"),
        n => format!("{n} trials: {cause}"),
    }
}

fn latency(latency: Latency) -> String {
    number(latency.finite().unwrap_or(f64::INFINITY))
}

/// Without an exponent; `inf` for infinity.
fn number(value: f64) -> String {
    exported(value).to_string()
}
