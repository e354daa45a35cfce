//! One trial's file: the record without its raw samples, and how many of those lie beside it.

use crate::bounds;
use crate::layout;
use dyno_model::Plan;
use dyno_model::cause::{Cause, Warning};
use dyno_model::record::{FORMAT, TrialRecord};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// The content of a trial's file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct StoredTrial {
    #[serde(flatten)]
    pub(crate) record: TrialRecord,
    /// Samples in the trial's raw file; 0: there is no such file.
    pub(crate) raw_samples: u64,
}

impl StoredTrial {
    /// Reads the record and what stands beside it one after the other: the form in which serde keeps what it flattens
    /// is large, and cannot give back maps with numbers as keys (frequencies by CPU).
    ///
    /// Numbers are looked at before anything is kept of them.
    pub(crate) fn read(bytes: &[u8]) -> serde_json::Result<StoredTrial> {
        bounds::check(bytes)?;
        let Head { raw_samples, .. } = serde_json::from_slice(bytes)?;
        let mut record: TrialRecord = serde_json::from_slice(bytes)?;
        record.warnings.iter_mut().for_each(recall);
        Ok(StoredTrial {
            record,
            raw_samples,
        })
    }
}

/// Gives the sentence of an older run its cause where a summary asks for that one.
fn recall(warning: &mut Cause<Warning>) {
    if let Cause::Told(sentence) = warning
        && let Some(error) = sentence.strip_prefix("what it asks of the kernel is not counted: ")
    {
        let error = error.to_owned();
        *warning = Warning::NotCounted { error }.into();
    }
}

/// The part of every file that all formats share, and how many raw samples lie beside a trial.
#[derive(Debug, Deserialize)]
pub(crate) struct Head {
    pub(crate) format: u32,
    #[serde(default)]
    raw_samples: u64,
}

/// A file of a run that could not be used, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub what: String,
    /// What to do.
    pub advice: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.file.display(), self.what, self.advice)
    }
}

/// Why a trial's file is not used.
pub(crate) enum Unusable {
    /// Measured by a newer Dyno; must not be touched.
    Newer(u32),
    /// Damaged, or of another run.
    Damaged(String),
}

impl Unusable {
    pub(crate) fn problem(self, file: &Path, dir: &Path) -> Problem {
        let (what, advice) = match self {
            Unusable::Newer(found) => (
                format!("written by a newer Dyno (format {found}), this one reads up to {FORMAT}"),
                "update Dyno".to_owned(),
            ),
            Unusable::Damaged(reason) => (
                format!("not a readable trial: {reason}"),
                format!(
                    "delete it and measure that trial again with `dyno run --resume {}`",
                    dir.display()
                ),
            ),
        };
        Problem {
            file: file.to_owned(),
            what,
            advice,
        }
    }
}

/// Reads a trial's file: its format first, then all of it, then whether it belongs where it lies.
pub(crate) fn parse(bytes: &[u8], stem: &str, plan: &Plan) -> Result<StoredTrial, Unusable> {
    let damaged = |e: serde_json::Error| Unusable::Damaged(e.to_string());
    let head: Head = serde_json::from_slice(bytes).map_err(damaged)?;
    if head.format > FORMAT {
        return Err(Unusable::Newer(head.format));
    }
    let stored = StoredTrial::read(bytes).map_err(damaged)?;
    let id = stored.record.id;
    if layout::parse_trial_stem(stem) != Some(id) {
        return Err(Unusable::Damaged(format!("it holds trial {id}")));
    }
    if plan.experiment(id.experiment).is_none() {
        return Err(Unusable::Damaged(
            "the run's plan has no such experiment".to_owned(),
        ));
    }
    Ok(stored)
}
