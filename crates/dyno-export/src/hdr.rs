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

mod log;
mod percentiles;

use crate::names::file_stem;
use crate::trials::{counted, is_completed};
use crate::{ExportError, factors};
use dyno_model::record::Run;
use dyno_model::{Metric, TrialRecord};
use dyno_report::{ExperimentSummary, Summary, is_hidden};

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

fn not_in_log(trial: &TrialRecord, reason: &str) -> String {
    format!("trial {}: {reason}; it is in no log", trial.id)
}

/// What both kinds of file say at their top.
struct Head<'a> {
    summary: &'a Summary,
    e: &'a ExperimentSummary,
    metric: Metric,
}

impl Head<'_> {
    /// The lines, without the `#` that makes comments of them.
    fn lines(&self) -> Vec<String> {
        let run = &self.summary.run;
        let x = &self.e.experiment;
        let factors: Vec<String> = factors::all(x)
            .into_iter()
            .map(|(name, value)| format!("{name}={}", value.replace(' ', ",")))
            .collect();
        let emulated = run.environment.emulated.as_deref();
        let emulated = emulated.map(|what| format!("emulated: {}", one_line(what)));
        let all = vec![
            format!(
                "written by dyno {}",
                one_line(&run.environment.dyno_version)
            ),
            format!("run: {}", one_line(&run.id)),
            format!("suite: {}", one_line(&run.suite)),
            format!("testbed: {}", one_line(&run.testbed)),
            format!("experiment: {} {}", x.id.0, one_line(&x.name)),
            format!("stack: {}", one_line(&x.stack)),
            format!("factors: {}", factors.join(" ")),
            format!("metric: {}", self.metric),
        ];
        all.into_iter().chain(emulated).collect()
    }
}

/// Messages of these trials that never arrived.
fn lost(trials: &[&TrialRecord], metric: Metric) -> u64 {
    let all = trials.iter().filter_map(|t| t.distributions.get(&metric));
    all.map(|d| d.infinite).fold(0, u64::saturating_add)
}

/// `text` without what ends a line, in any reader's eyes, and without what a terminal obeys: those are written as escapes, and so is
/// the backslash.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '\n' | '\t' => line.extend(c.escape_default()),
            c if is_hidden(c) => line.extend(c.escape_default()),
            c => line.push(c),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_can_begin_a_line_of_its_own() {
        let name = "a\r\n[StartTime: 0 (seconds since epoch)]\u{2028}b\u{85}\\n通信";
        assert_eq!(
            one_line(name),
            "a\\r\\n[StartTime: 0 (seconds since epoch)]\\u{2028}b\\u{85}\\\\n通信"
        );
    }
}
