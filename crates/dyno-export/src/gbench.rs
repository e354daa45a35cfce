//! Google Benchmark's JSON: what its library writes with `--benchmark_repetitions=N
//! --benchmark_out_format=json` (docs/user_guide.md and src/json_reporter.cc of google/benchmark), so
//! that its `tools/compare.py` and the services that read the format read a run.
//!
//! A trial is a repetition: `real_time` is its p50 of the headline metric, `cpu_time` its processor time
//! per message. Repetitions of one experiment have one name, which the U test of `compare.py` needs. What
//! has no figure stands in the context: as an entry without a time, or with a time of 0 as the library
//! writes it for errors, it would break or falsify the geometric mean that `compare.py` makes.

use crate::names;
use crate::trials::{counted, quantile};
use dyno_model::record::{Environment, Outcome, Run};
use dyno_model::{Metric, TrialFigure, TrialRecord};
use dyno_report::{ExperimentSummary, QUANTILES, Spread, Summary, exported, json_text};
use dyno_stats::{Latency, TrialSamples};
use jiff::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;

/// The run as an indented JSON document, ended by a newline.
pub fn render(run: &Run, summary: &Summary) -> String {
    let mut without_figure = Vec::new();
    let benchmarks = benchmarks(run, summary, &mut without_figure);
    let document = Document {
        context: context(summary, without_figure),
        benchmarks,
    };
    json_text(&document)
}

#[derive(Serialize)]
struct Document {
    context: Context,
    benchmarks: Vec<Benchmark>,
}

/// The library's own fields, then ours; it writes those of `AddCustomContext` there.
#[derive(Serialize)]
struct Context {
    date: String,
    host_name: String,
    executable: String,
    num_cpus: usize,
    mhz_per_cpu: u64,
    cpu_scaling_enabled: bool,
    /// Not recorded.
    caches: [(); 0],
    /// Not recorded.
    load_avg: [f64; 0],
    library_version: String,
    library_build_type: String,
    json_schema_version: u32,
    dyno_run: String,
    dyno_suite: String,
    dyno_testbed: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    dyno_emulated: Option<String>,
    dyno_seed: String,
    dyno_cpu_model: String,
    dyno_kernel: String,
    dyno_without_figure: Vec<WithoutFigure>,
}

/// A trial that cannot stand among the benchmarks.
#[derive(Serialize)]
struct WithoutFigure {
    /// The name that its repetition would have.
    name: String,
    trial: u32,
    reason: String,
}

/// One repetition or one figure over all of them; fields that the other kind has are left out.
#[derive(Serialize, Default)]
struct Benchmark {
    name: String,
    family_index: usize,
    per_family_instance_index: usize,
    run_name: String,
    run_type: &'static str,
    repetitions: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    repetition_index: Option<usize>,
    threads: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    aggregate_name: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aggregate_unit: Option<&'static str>,
    iterations: u64,
    real_time: f64,
    cpu_time: f64,
    time_unit: &'static str,
    #[serde(flatten)]
    counters: BTreeMap<&'static str, f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

fn context(summary: &Summary, without_figure: Vec<WithoutFigure>) -> Context {
    let run = &summary.run;
    let e = &run.environment;
    // Of a run that was merged from those of several machines, each with its own.
    let each = |of: fn(&Environment) -> &str| match run.machines.is_empty() {
        true => of(e).to_owned(),
        false => {
            let all = run.machines.iter();
            let all = all.map(|(name, e)| format!("{name}: {}", of(e)));
            all.collect::<Vec<_>>().join("; ")
        }
    };
    let date = i64::try_from(run.started_unix_ms)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok());
    Context {
        date: date.map_or_else(String::new, |t| {
            t.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string()
        }),
        host_name: run.host_names(),
        executable: run.command.first().cloned().unwrap_or_default(),
        num_cpus: e.cpus.len(),
        // The counter's rate, which is the nominal one of the processor; 0 where it is not known.
        mhz_per_cpu: e
            .clock
            .frequency_hz
            .map_or(0, |hz| (hz / 1e6).round() as u64),
        cpu_scaling_enabled: e.governors.values().any(|g| g != "performance"),
        caches: [],
        load_avg: [],
        library_version: format!("dyno {}", e.dyno_version),
        library_build_type: e.build_profile.clone(),
        json_schema_version: 1,
        dyno_run: run.id.clone(),
        dyno_suite: run.suite.clone(),
        dyno_testbed: run.testbed.clone(),
        dyno_emulated: run.environment.emulated.clone(),
        dyno_seed: run.seed.to_string(),
        dyno_cpu_model: each(|e| &e.cpu_model),
        dyno_kernel: each(|e| &e.kernel),
        dyno_without_figure: without_figure,
    }
}

/// What one trial gives.
struct Repetition {
    iterations: u64,
    real_time: f64,
    cpu_time: f64,
    counters: BTreeMap<&'static str, f64>,
}

fn benchmarks(
    run: &Run,
    summary: &Summary,
    without_figure: &mut Vec<WithoutFigure>,
) -> Vec<Benchmark> {
    let mut all = Vec::new();
    let names = names::paths(summary);
    for (family, (e, name)) in summary.experiments.iter().zip(&names).enumerate() {
        let headline = e.headline();
        let floor = floor_p50(summary, e);
        let mut good: Vec<Repetition> = Vec::new();
        let mut bad: Vec<(u32, String)> = failures(run, e);
        for (trial, samples) in counted(run, e.experiment.id) {
            let Some(samples) = samples.get(&headline) else {
                let text = format!("it has no samples of {headline}");
                bad.push((trial.id.number, text));
                continue;
            };
            match repetition(trial, headline, samples, floor) {
                Ok(repetition) => good.push(repetition),
                Err(text) => bad.push((trial.id.number, text)),
            }
        }
        bad.sort();
        let blank = || Benchmark {
            family_index: family,
            run_name: name.clone(),
            repetitions: good.len(),
            threads: 1,
            time_unit: "ns",
            ..Benchmark::default()
        };
        for (i, r) in good.iter().enumerate() {
            all.push(Benchmark {
                name: name.clone(),
                run_type: "iteration",
                repetition_index: Some(i),
                iterations: r.iterations,
                real_time: r.real_time,
                cpu_time: r.cpu_time,
                counters: r.counters.clone(),
                label: Some(format!("p50 of {headline}")),
                ..blank()
            });
        }
        // As the library: figures over several repetitions, none over one. Those of the trials that recovered say nothing of
        // those that never did.
        let is_whole = bad.is_empty() || !headline.info().of_faults;
        if good.len() > 1 && is_whole {
            all.extend(AGGREGATES.map(|a| aggregate(&a, name, &good, blank())));
        }
        without_figure.extend(bad.into_iter().map(|(trial, reason)| WithoutFigure {
            name: name.clone(),
            trial,
            reason,
        }));
    }
    all
}

fn failures(run: &Run, e: &ExperimentSummary) -> Vec<(u32, String)> {
    let failed = run.trials_of(e.experiment.id).filter_map(|t| {
        let Outcome::Failed {
            kind, step, cause, ..
        } = &t.outcome
        else {
            return None;
        };
        Some((t.id.number, format!("{kind} in {step}: {cause}")))
    });
    failed.collect()
}

/// The floor's p50 over all its trials, in nanoseconds; `None` where the two make no ratio.
fn floor_p50(summary: &Summary, e: &ExperimentSummary) -> Option<f64> {
    let id = e.floor.as_ref().filter(|f| f.p50_ratio.is_some())?.id;
    let floor = summary.experiments.iter().find(|f| f.experiment.id == id)?;
    let p50 = floor.metrics.get(&e.headline())?.quantiles[0].estimate()?;
    p50.value.finite().filter(|ns| *ns > 0.0)
}

fn repetition(
    trial: &TrialRecord,
    headline: Metric,
    samples: &TrialSamples,
    floor: Option<f64>,
) -> Result<Repetition, String> {
    let p50 = match quantile(samples, QUANTILES[0].2) {
        Some(Latency::Finite(ns)) => ns,
        Some(Latency::Infinite) if headline.info().of_faults => {
            return Err(format!(
                "a receiver never got a newer message: {headline} is infinite"
            ));
        }
        Some(Latency::Infinite) => {
            return Err(format!(
                "{} of {} messages never arrived: the p50 of {headline} is infinite",
                samples.infinite(),
                samples.n()
            ));
        }
        None => return Err(format!("it has no samples of {headline}")),
    };
    if trial.cost.processes.is_empty() {
        // The format has no word for what is not known, and zero would be the best of all.
        return Err(
            "it has no costs: its warnings say why, or it was measured in slices".to_owned(),
        );
    }
    let mut counters = BTreeMap::new();
    let mut add = |name: &'static str, value: Option<f64>| {
        if let Some(value) = value.filter(|v| v.is_finite()) {
            counters.insert(name, exported(value));
        }
    };
    if !headline.is_one_per_trial() {
        for (name, _, rank) in &QUANTILES[1..] {
            let value = quantile(samples, *rank).and_then(Latency::finite);
            add(name, value);
        }
    }
    let (offered, received) = (trial.counts.offered, trial.counts.received);
    add(
        "delivered_ratio",
        (offered > 0).then(|| received as f64 / offered as f64),
    );
    add("floor_ratio", floor.map(|floor| p50 / floor));
    add("messages_per_second", rate(trial.throughput.delivered_hz));
    add(
        "bytes_per_second",
        rate(trial.throughput.delivered_bytes_per_s),
    );
    let memory = TrialFigure::PssBytes;
    add(memory.as_str(), memory.of(trial));
    Ok(Repetition {
        iterations: samples.n(),
        real_time: exported(p50),
        // A probe sends no messages.
        cpu_time: trial.cost.cpu_ns_per_message.map_or(0.0, exported),
        counters,
    })
}

/// Starts have no rates.
fn rate(per_second: f64) -> Option<f64> {
    (per_second > 0.0).then_some(per_second)
}

struct Aggregate {
    name: &'static str,
    unit: &'static str,
    of: fn(&[f64]) -> f64,
}

/// In the library's order (src/statistics.cc).
const AGGREGATES: [Aggregate; 4] = [
    Aggregate {
        name: "mean",
        unit: "time",
        of: mean,
    },
    Aggregate {
        name: "median",
        unit: "time",
        of: median,
    },
    Aggregate {
        name: "stddev",
        unit: "time",
        of: stddev,
    },
    Aggregate {
        name: "cv",
        unit: "percentage",
        of: |v| stddev(v) / mean(v),
    },
];

fn aggregate(a: &Aggregate, name: &str, all: &[Repetition], blank: Benchmark) -> Benchmark {
    // Only counters that every repetition has; a cv of zeros is not a number.
    let over = |values: Vec<f64>| (a.of)(&values);
    let finite = |value: f64| match value.is_finite() {
        true => exported(value),
        false => 0.0,
    };
    let counters = all[0].counters.keys().filter_map(|counter| {
        let values: Option<Vec<f64>> = all
            .iter()
            .map(|r| r.counters.get(counter).copied())
            .collect();
        Some((*counter, finite(over(values?))))
    });
    Benchmark {
        name: format!("{name}_{}", a.name),
        run_type: "aggregate",
        aggregate_name: Some(a.name),
        aggregate_unit: Some(a.unit),
        iterations: all.len() as u64,
        real_time: finite(over(all.iter().map(|r| r.real_time).collect())),
        cpu_time: finite(over(all.iter().map(|r| r.cpu_time).collect())),
        counters: counters.collect(),
        ..blank
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn median(values: &[f64]) -> f64 {
    Spread::of(values.iter().copied()).map_or(0.0, |s| s.median)
}

/// Of a sample: over n - 1.
fn stddev(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (squares / (values.len() as f64 - 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_over_repetitions_are_those_of_the_library() {
        let values = [1.0, 2.0, 3.0, 4.0];
        assert_eq!((mean(&values), median(&values)), (2.5, 2.5));
        assert!((stddev(&values) - 1.290_994_448_7).abs() < 1e-9);
        assert_eq!(stddev(&[101.0; 4]), 0.0);
    }
}
