//! The table of results: one row for each experiment × metric × trial. A trial without a measurement
//! has one row, of its experiment's headline metric, without figures; so has an experiment without
//! trials.

use super::columns::columns;
use super::properties::properties;
use super::row::{Ended, Row};
use super::table::TableWriter;
use crate::ExportError;
use crate::trials::{Samples, quantile, samples};
use dyno_model::Metric;
use dyno_model::record::{Outcome, Run};
use dyno_report::{ExperimentSummary, QUANTILES, Summary};
use dyno_stats::{Bootstrap, Latency, needed};
use std::io::Write;

/// Writes the run's results to `out`.
///
/// # Errors
/// `out` did not take what was written.
pub fn results(run: &Run, summary: &Summary, out: impl Write + Send) -> Result<(), ExportError> {
    let mut rows = Vec::new();
    for e in &summary.experiments {
        rows.extend(of_experiment(run, summary, e));
    }
    let mut table = TableWriter::new("results", columns(), properties(run), out)?;
    table.write(&rows)?;
    table.close()?;
    Ok(())
}

fn of_experiment<'a>(run: &'a Run, summary: &'a Summary, e: &'a ExperimentSummary) -> Vec<Row<'a>> {
    let stack = summary.run.stacks.get(&e.experiment.stack);
    let blank = |trial, ended| Row {
        summary,
        e,
        adapter: stack.map(|s| s.adapter.as_str()),
        metric: e.headline(),
        trial,
        ended,
        counted: false,
        figures: None,
        quantiles: [None; QUANTILES.len()],
    };
    let id = e.experiment.id;
    let counted: Vec<u32> = dyno_report::counted_trials(run, id)
        .iter()
        .map(|t| t.id.number)
        .collect();
    let mut rows = Vec::new();
    for trial in run.trials_of(id) {
        let of_metrics = match &trial.outcome {
            Outcome::Failed {
                kind,
                step,
                cause,
                stderr,
            } => Err(Ended::Failed {
                kind: *kind,
                step,
                cause,
                stderr,
            }),
            Outcome::Completed => samples(trial).map_err(|e| Ended::Unreadable(e.to_string())),
        };
        match of_metrics {
            Err(ended) => rows.push(blank(Some(trial), ended)),
            Ok(samples) if samples.is_empty() => rows.push(Row {
                counted: counted.contains(&trial.id.number),
                ..blank(Some(trial), Ended::Completed)
            }),
            Ok(samples) => {
                for (metric, distribution) in &trial.distributions {
                    rows.push(Row {
                        metric: *metric,
                        counted: counted.contains(&trial.id.number),
                        figures: Some(distribution),
                        quantiles: quantiles(&samples, *metric),
                        ..blank(Some(trial), Ended::Completed)
                    });
                }
            }
        }
    }
    if rows.is_empty() {
        rows.push(blank(None, Ended::Missing));
    }
    rows
}

/// The trial's own quantiles: those that so many samples bear, as everywhere.
fn quantiles(samples: &Samples, metric: Metric) -> [Option<f64>; QUANTILES.len()] {
    let how = Bootstrap::default();
    QUANTILES.map(|(_, _, rank)| {
        let samples = samples.get(&metric)?;
        if samples.n() < needed(rank, &how) {
            return None;
        }
        Some(match quantile(samples, rank)? {
            Latency::Finite(ns) => ns,
            Latency::Infinite => f64::INFINITY,
        })
    })
}
