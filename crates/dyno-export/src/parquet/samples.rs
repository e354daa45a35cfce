//! The table of raw samples: one row for each, in the order of trials and of arrival.

use super::properties;
use super::table::{Column, Get, TableWriter};
use crate::ExportError;
use dyno_model::plan::TrialId;
use dyno_model::record::{RawSample, Run};
use dyno_model::{Experiment, TrialRecord};
use std::borrow::Cow;
use std::io::Write;

/// Rows of one group: so many are in memory at a time, and no more.
const GROUP: usize = 256 * 1024;

struct Row<'a> {
    run: &'a str,
    e: &'a Experiment,
    trial: &'a TrialRecord,
    sample: RawSample,
}

impl Row<'_> {
    fn since(&self, from: u64) -> u64 {
        self.sample.arrival.0.saturating_sub(from)
    }

    /// Whether the sample is one way, so that it has a response and a service time.
    fn is_one_way(&self) -> bool {
        self.e.workload.is_one_way()
    }
}

fn column<'a>(name: &'static str, get: Get<Row<'a>>) -> Column<Row<'a>> {
    Column { name, get }
}

fn columns<'a>() -> Vec<Column<Row<'a>>> {
    vec![
        column("run", Get::Text(|r| Some(Cow::Borrowed(r.run)))),
        column("id", Get::Count(|r| Some(u64::from(r.e.id.0)))),
        column(
            "experiment",
            Get::Text(|r| Some(Cow::Borrowed(r.e.name.as_str()))),
        ),
        column(
            "stack",
            Get::Text(|r| Some(Cow::Borrowed(r.e.stack.as_str()))),
        ),
        column(
            "payload_bytes",
            Get::Count(|r| Some(r.e.payload.bytes() as u64)),
        ),
        column("trial", Get::Count(|r| Some(u64::from(r.trial.id.number)))),
        column(
            "disturbed",
            Get::Bool(|r| Some(!r.trial.disturbed.is_empty())),
        ),
        column("channel", Get::Count(|r| Some(u64::from(r.sample.channel)))),
        column(
            "receiver",
            Get::Count(|r| Some(u64::from(r.sample.receiver))),
        ),
        column("sequence", Get::Count(|r| Some(r.sample.sequence))),
        column("intended_ns", Get::Count(|r| Some(r.sample.intended.0))),
        column("sent_ns", Get::Count(|r| Some(r.sample.sent.0))),
        column("arrival_ns", Get::Count(|r| Some(r.sample.arrival.0))),
        column(
            "rtt_ns",
            Get::Count(|r| (!r.is_one_way()).then(|| r.since(r.sample.sent.0))),
        ),
        column(
            "response_ns",
            Get::Count(|r| r.is_one_way().then(|| r.since(r.sample.intended.0))),
        ),
        column(
            "service_ns",
            Get::Count(|r| r.is_one_way().then(|| r.since(r.sample.sent.0))),
        ),
    ]
}

/// Whether an experiment of the run was asked to keep raw samples.
pub fn has_samples(run: &Run) -> bool {
    run.manifest.plan.here().any(|e| e.raw_samples > 0)
}

/// Writes the raw samples of all completed trials to `out`; `raw` reads those of one trial, in arrival
/// order, and gives none where they cannot be read.
///
/// # Errors
/// `out` did not take what was written.
pub fn samples(
    run: &Run,
    out: impl Write + Send,
    raw: &mut dyn FnMut(TrialId) -> Vec<RawSample>,
) -> Result<(), ExportError> {
    let mut table = TableWriter::new("samples", columns(), properties(run), out)?;
    let mut rows = Vec::new();
    for e in run.manifest.plan.here().filter(|e| e.raw_samples > 0) {
        let completed = run
            .trials_of(e.id)
            .filter(|t| crate::trials::is_completed(t));
        for trial in completed {
            for sample in raw(trial.id) {
                rows.push(Row {
                    run: &run.manifest.id,
                    e,
                    trial,
                    sample,
                });
                if rows.len() == GROUP {
                    table.write(&rows)?;
                    rows.clear();
                }
            }
        }
    }
    table.write(&rows)?;
    table.close()?;
    Ok(())
}
