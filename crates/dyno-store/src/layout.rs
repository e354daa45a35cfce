//! Names within a run directory.

use crate::error::StoreError;
use crate::files::{self, Place};
use dyno_model::plan::{ExperimentId, TrialId};
use std::path::{Path, PathBuf};

/// The manifest's file name.
pub const MANIFEST: &str = "run.json";
/// The directory of trials.
pub const TRIALS: &str = "trials";
/// The directory of raw samples.
pub const RAW: &str = "raw";
/// The directory of the manifests that a run was merged from.
pub const PARTS: &str = "parts";
/// The directory of what was printed of a large run; never needed to read it.
pub(crate) const SHOWN: &str = ".shown";
/// The lock file's name.
pub(crate) const LOCK: &str = ".lock";
/// What resuming adds to the name of a file that it could not read.
pub(crate) const DAMAGED: &str = "damaged";

pub(crate) fn manifest(dir: &Path) -> PathBuf {
    dir.join(MANIFEST)
}

pub(crate) fn trial(dir: &Path, id: TrialId) -> PathBuf {
    dir.join(TRIALS).join(format!("{id}.json"))
}

/// The manifest of the part with this number, from 1.
pub(crate) fn part(dir: &Path, number: usize) -> PathBuf {
    dir.join(PARTS).join(format!("{number}.json"))
}

pub(crate) fn raw(dir: &Path, id: TrialId) -> PathBuf {
    dir.join(RAW).join(format!("{id}.csv"))
}

/// The trial whose file has this stem: the exact inverse of [`TrialId`]'s text.
pub(crate) fn parse_trial_stem(stem: &str) -> Option<TrialId> {
    let (experiment, number) = stem.strip_prefix('e')?.split_once("-t")?;
    let id = TrialId {
        experiment: ExperimentId(experiment.parse().ok()?),
        number: number.parse().ok()?,
    };
    (id.to_string() == stem).then_some(id)
}

/// What ends in `.json` and is not hidden, by name; of a directory that does not exist, nothing.
pub(crate) fn json_files(dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut files = files::list(dir, Place::Folder).map_err(StoreError::io("read", dir))?;
    files.retain(|path| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        !name.starts_with(b".") && path.extension().is_some_and(|e| e == "json")
    });
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trial_file_names_are_read_back_exactly() {
        for (experiment, number) in [(0, 0), (3, 2), (12_345, 1_000)] {
            let id = TrialId {
                experiment: ExperimentId(experiment),
                number,
            };
            assert_eq!(parse_trial_stem(&id.to_string()), Some(id));
        }
        for wrong in ["", "e3-t2", "e0003-t002x", "x0003-t002", "e+003-t002"] {
            assert_eq!(parse_trial_stem(wrong), None, "{wrong}");
        }
    }
}
