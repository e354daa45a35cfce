//! HdrHistogram's own files, two for each experiment and metric:
//!
//! - `….hlog`, an interval log (format version 1.3, histograms in V2 encoding with DEFLATE): a line for
//!   each block of each trial that counts, in order of time.
//! - `….hgrm`, a percentile file: all trials that count together.
//!
//! Trials that the host disturbed are in a log of their own, `…_disturbed.hlog`, with a tag on each line: some
//! readers leave tagged lines out and some do not know tags, so that in one log with the others they would
//! count for some.
//!
//! Neither can hold infinity. A log has the messages that arrived alone, and says so where some did not.
//! A percentile file counts lost messages in every percentile, as Dyno does everywhere: its rows end
//! where the lost messages begin.

mod head;
mod log;
mod percentiles;

use crate::ExportError;
use crate::names::file_stem;
use crate::trials::{counted, is_completed};
use dyno_model::record::Run;
use dyno_model::{Metric, TrialRecord};
use dyno_report::Summary;
use head::{Head, not_in_log};

/// Takes a file: its name and its content.
pub type Put<'a> = dyn FnMut(&str, &[u8]) -> Result<(), ExportError> + 'a;

/// Gives each file to `put`, with its name: logs and percentile files of every metric that a completed
/// trial has, in the order of experiments. Returns what had to be left out, in sentences.
///
/// # Errors
/// What `put` returns.
pub fn write(run: &Run, summary: &Summary, put: &mut Put<'_>) -> Result<Vec<String>, ExportError> {
    let mut left_out = Vec::new();
    for e in &summary.experiments {
        let id = e.experiment.id;
        let counted: Vec<&TrialRecord> = counted(run, id).into_iter().map(|(t, _)| t).collect();
        let (mut disturbed, mut damaged) = (Vec::new(), Vec::new());
        for trial in run.trials_of(id).filter(|t| is_completed(t)) {
            match () {
                () if counted.iter().any(|t| t.id == trial.id) => {}
                () if trial.disturbed.is_empty() => damaged.push(trial),
                () => disturbed.push(trial),
            }
        }
        left_out.extend(
            damaged
                .iter()
                .map(|t| not_in_log(t, "its histograms are damaged")),
        );
        for metric in Metric::ALL {
            let (counted, disturbed) = (having(&counted, *metric), having(&disturbed, *metric));
            let stem = file_stem(&e.experiment, *metric);
            let head = Head {
                summary,
                e,
                metric: *metric,
            };
            if !counted.is_empty() {
                let log = log::render(&counted, &head, log::Kind::Counted, &mut left_out)?;
                put(&format!("{stem}.hlog"), log.as_bytes())?;
                let percentiles = percentiles::render(&counted, &head, &mut left_out)?;
                put(&format!("{stem}.hgrm"), percentiles.as_bytes())?;
            }
            if !disturbed.is_empty() {
                let log = log::render(&disturbed, &head, log::Kind::Disturbed, &mut left_out)?;
                put(&format!("{stem}_disturbed.hlog"), log.as_bytes())?;
            }
        }
    }
    Ok(left_out)
}

/// Those of the trials that have the metric.
fn having<'a>(trials: &[&'a TrialRecord], metric: Metric) -> Vec<&'a TrialRecord> {
    let mut trials = trials.to_vec();
    trials.retain(|t| t.distributions.contains_key(&metric));
    trials
}
