//! The requirements of a study, judged for its own table.

use crate::exit::{self, Result};
use dyno_judge::{CheckOptions, Limits};
use dyno_model::record::Run;
use dyno_report::Summary;

/// The limits of the study whose table it is: the file's name and its text.
fn limits_of(table: &str) -> Option<(&'static str, &'static str)> {
    let text = include_str!("../../../../limits/sodev.toml");
    (table == "sodev").then_some(("limits/sodev.toml", text))
}

/// Whether the table of the run's suite has verdicts, which take the run with its histograms.
pub(crate) fn has(table: &str) -> bool {
    limits_of(table).is_some()
}

/// Adds them to the summary of `run`.
pub(crate) fn judge(run: &Run, summary: &mut Summary) -> Result<()> {
    if let Some((name, text)) = limits_of(&summary.run.table) {
        let limits = Limits::parse(name, text).map_err(exit::of_plan)?;
        summary.requirements = dyno_judge::requirements(run, &limits, &CheckOptions::default());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_are_built_in_can_be_read() {
        let built_in = limits_of("sodev");
        let (name, text) = built_in.unwrap();
        let limits = Limits::parse(name, text).unwrap();
        assert!(limits.limits().iter().any(|l| l.source().is_some()));
        assert!(limits.limits().iter().any(|l| l.source().is_none()));
    }
}
