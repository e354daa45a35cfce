//! What log and percentile file share: the lines at their top, and text that keeps to one line.

use crate::factors;
use dyno_model::{Metric, TrialRecord};
use dyno_report::{ExperimentSummary, Summary, is_hidden};

/// What is said of a trial that a log leaves out.
pub(super) fn not_in_log(trial: &TrialRecord, reason: &str) -> String {
    format!("trial {}: {reason}; it is in no log", trial.id)
}

/// What both kinds of file say at their top.
pub(super) struct Head<'a> {
    pub(super) summary: &'a Summary,
    pub(super) e: &'a ExperimentSummary,
    pub(super) metric: Metric,
}

impl Head<'_> {
    /// The lines, without the `#` that makes comments of them.
    pub(super) fn lines(&self) -> Vec<String> {
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
pub(super) fn lost(trials: &[&TrialRecord], metric: Metric) -> u64 {
    let all = trials.iter().filter_map(|t| t.distributions.get(&metric));
    all.map(|d| d.infinite).fold(0, u64::saturating_add)
}

/// `text` without what ends a line, in any reader's eyes, and without what a terminal obeys: those are written as escapes, and so is
/// the backslash.
pub(super) fn one_line(text: &str) -> String {
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
