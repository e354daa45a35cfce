//! The table of raw samples: one row for each, in the order of trials and of arrival.

use super::properties::properties;
use super::table::{Column, Get, TableWriter, constructors};
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

constructors!('a, Row<'a>);

fn columns<'a>() -> Vec<Column<Row<'a>>> {
    vec![
        text("run", |r| Some(Cow::Borrowed(r.run))),
        count("id", |r| Some(u64::from(r.e.id.0))),
        text("experiment", |r| Some(Cow::Borrowed(r.e.name.as_str()))),
        text("stack", |r| Some(Cow::Borrowed(r.e.stack.as_str()))),
        count("payload_bytes", |r| Some(r.e.payload.bytes() as u64)),
        count("trial", |r| Some(u64::from(r.trial.id.number))),
        flag("disturbed", |r| Some(!r.trial.disturbed.is_empty())),
        count("channel", |r| Some(u64::from(r.sample.channel))),
        count("receiver", |r| Some(u64::from(r.sample.receiver))),
        count("sequence", |r| Some(r.sample.sequence)),
        count("intended_ns", |r| Some(r.sample.intended.0)),
        count("sent_ns", |r| Some(r.sample.sent.0)),
        count("arrival_ns", |r| Some(r.sample.arrival.0)),
        count("rtt_ns", |r| {
            (!r.is_one_way()).then(|| r.since(r.sample.sent.0))
        }),
        count("response_ns", |r| {
            r.is_one_way().then(|| r.since(r.sample.intended.0))
        }),
        count("service_ns", |r| {
            r.is_one_way().then(|| r.since(r.sample.sent.0))
        }),
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
