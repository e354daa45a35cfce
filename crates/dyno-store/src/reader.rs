//! Reading a run directory. One bad trial never hides the others.

use crate::bounds;
use crate::error::StoreError;
use crate::files::{self, MANIFEST_BYTES, Place, TRIAL_BYTES};
use crate::layout::{self, TRIALS};
use crate::machines;
use crate::raw;
use crate::trial::{Head, Problem, StoredTrial, Unusable, parse};
use dyno_model::Metric;
use dyno_model::plan::{Plan, TrialId};
use dyno_model::record::{Distribution, FORMAT, RawSample, Run, RunManifest};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

/// So many problems are told in full; a directory into which trials of another run were copied has thousands.
const TOLD: usize = 5;

/// Problems as lines for people: the first few in full, then how many more there are.
pub fn told(problems: &[Problem]) -> Vec<String> {
    let mut lines: Vec<String> = problems.iter().take(TOLD).map(Problem::to_string).collect();
    match problems.len().saturating_sub(TOLD) {
        0 => {}
        1 => lines.push("1 further file was left out for a reason of this kind".into()),
        more => lines.push(format!(
            "{more} further files were left out for reasons of this kind"
        )),
    }
    lines
}

/// A run, as far as it could be read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadRun {
    /// Manifest and readable trials, ordered by experiment and number. [`dyno_model::TrialRecord::raw`]
    /// is empty; see [`read_raw`].
    pub run: Run,
    /// The files that were left out, ordered by name.
    pub problems: Vec<Problem>,
}

/// Reads the run directory `dir`.
///
/// Damaged trials become [`Problem`]s; only a directory without a readable manifest is an error.
/// A run that is being written can be read; it then has the trials finished so far.
pub fn read_run(dir: &Path) -> Result<ReadRun, StoreError> {
    read_with(dir, |stored| stored)
}

/// [`read_run`] without the histograms of latencies, which are most of a run: [`read_distributions`] reads those of
/// one trial.
pub fn read_run_light(dir: &Path) -> Result<ReadRun, StoreError> {
    read_with(dir, |mut stored| {
        for d in stored.record.distributions.values_mut() {
            *d = d.without_histograms();
        }
        // A list as it is read has room for four at least; a copy has room for what is in it.
        stored.record = stored.record.clone();
        stored
    })
}

/// Reads the distributions of one trial, whatever else has become of it.
///
/// # Errors
///
/// When the trial's file cannot be read, or holds none.
pub fn read_distributions(
    dir: &Path,
    id: TrialId,
) -> Result<BTreeMap<Metric, Distribution>, StoreError> {
    #[derive(Deserialize)]
    struct Part {
        #[serde(default)]
        distributions: BTreeMap<Metric, Distribution>,
    }
    let path = layout::trial(dir, id);
    let bytes = read_trial(&path)?;
    let part: Part = serde_json::from_slice(&bytes)
        .map_err(|e| StoreError::io("read", &path)(io::Error::from(e)))?;
    Ok(part.distributions)
}

fn read_with(
    dir: &Path,
    of: impl Fn(StoredTrial) -> StoredTrial + Sync,
) -> Result<ReadRun, StoreError> {
    let manifest = read_manifest(dir)?;
    let files = trial_files_with(dir, &manifest.plan, of)?;
    let mut read = collect(dir, manifest, files);
    let apart = machines::tell_apart(&mut read.run, &read_parts(dir)?);
    read.problems.extend(apart.into_iter().map(|stray| Problem {
        file: layout::trial(dir, stray.id),
        what: format!(
            "it was measured on {}, the other trials of its experiment on {}",
            stray.machine, stray.others
        ),
        advice: "it is left out; measure a run on each machine and compare the two".into(),
    }));
    Ok(read)
}

/// Sorts trial files into trials and problems.
pub(crate) fn collect(dir: &Path, manifest: RunManifest, files: Vec<TrialFile>) -> ReadRun {
    let (mut trials, mut problems) = (Vec::new(), Vec::new());
    for (file, parsed) in files {
        match parsed {
            Ok(stored) => trials.push(stored.record),
            Err(unusable) => problems.push(unusable.problem(&file, dir)),
        }
    }
    trials.sort_by_key(|t| t.id);
    ReadRun {
        run: Run {
            manifest,
            trials,
            machines: Default::default(),
        },
        problems,
    }
}

fn read_trial(path: &Path) -> Result<Vec<u8>, StoreError> {
    files::read(path, Place::Folder, TRIAL_BYTES).map_err(StoreError::io("read", path))
}

/// Reads the raw samples of one trial, in arrival order; none where the experiment asked for none.
pub fn read_raw(dir: &Path, id: TrialId) -> Result<Vec<RawSample>, StoreError> {
    let manifest = read_manifest(dir)?;
    let trial = layout::trial(dir, id);
    let damaged = |path: &Path, reason: String| StoreError::Raw {
        path: path.to_owned(),
        reason,
    };
    let bytes = read_trial(&trial)?;
    let stored = match parse(&bytes, &id.to_string(), &manifest.plan) {
        Ok(stored) => stored,
        Err(Unusable::Newer(found)) => return Err(newer(&trial, found)),
        Err(Unusable::Damaged(reason)) => return Err(damaged(&trial, reason)),
    };
    if stored.raw_samples == 0 {
        return Ok(Vec::new());
    }
    let path = layout::raw(dir, id);
    let file = files::open_to_read(&path, Place::Folder, raw::most(stored.raw_samples))
        .map_err(StoreError::io("read", &path))?;
    raw::decode(BufReader::new(file), stored.raw_samples).map_err(|reason| damaged(&path, reason))
}

pub(crate) fn newer(path: &Path, found: u32) -> StoreError {
    StoreError::Newer {
        path: path.to_owned(),
        found,
        readable: FORMAT,
    }
}

/// Reads the manifest of the run directory `dir`, and nothing of its trials.
///
/// # Errors
///
/// When `dir` is no run directory, or its manifest is damaged or of a newer format.
pub fn read_manifest(dir: &Path) -> Result<RunManifest, StoreError> {
    let path = layout::manifest(dir);
    let not_a_run = |reason| StoreError::NotARun {
        dir: dir.to_owned(),
        reason,
    };
    let bytes = match files::read(&path, Place::Run, MANIFEST_BYTES) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotADirectory => {
            return Err(not_a_run("it is not a directory"));
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Err(not_a_run(if dir.exists() {
                "it has no run.json"
            } else {
                "it does not exist"
            }));
        }
        Err(source) => return Err(StoreError::io("read", &path)(source)),
    };
    decode_manifest(&path, &bytes)
}

/// The manifests of the runs that the directory was merged from, in the order of their parts; none for
/// a run that was not merged.
///
/// # Errors
///
/// When one of them cannot be read.
pub fn read_parts(dir: &Path) -> Result<Vec<RunManifest>, StoreError> {
    let mut parts = Vec::new();
    loop {
        let path = layout::part(dir, parts.len() + 1);
        if !path.exists() {
            return Ok(parts);
        }
        parts.push(read_manifest_file(&path)?);
    }
}

/// Reads the manifest of a part.
pub(crate) fn read_manifest_file(path: &Path) -> Result<RunManifest, StoreError> {
    let bytes =
        files::read(path, Place::Folder, MANIFEST_BYTES).map_err(StoreError::io("read", path))?;
    decode_manifest(path, &bytes)
}

fn decode_manifest(path: &Path, bytes: &[u8]) -> Result<RunManifest, StoreError> {
    let damaged = |e: serde_json::Error| StoreError::Manifest {
        path: path.to_owned(),
        reason: e.to_string(),
    };
    let head: Head = serde_json::from_slice(bytes).map_err(damaged)?;
    if head.format > FORMAT {
        return Err(newer(path, head.format));
    }
    let manifest = manifest_of(bytes).map_err(damaged)?;
    let plan = &manifest.plan;
    let misplaced = plan
        .experiments
        .iter()
        .zip(0..)
        .find(|(e, place)| e.id.0 != *place);
    match misplaced {
        None => Ok(manifest),
        Some((e, place)) => Err(StoreError::Manifest {
            path: path.to_owned(),
            reason: format!("its experiment at place {place} has the number {}", e.id.0),
        }),
    }
}

/// A manifest within the bounds.
pub(crate) fn manifest_of(bytes: &[u8]) -> serde_json::Result<RunManifest> {
    bounds::check_manifest(bytes)?;
    serde_json::from_slice(bytes)
}

/// A trial's file and its content, or why there is none.
pub(crate) type TrialFile = (PathBuf, Result<StoredTrial, Unusable>);

/// Every trial file, by name.
pub(crate) fn trial_files(dir: &Path, plan: &Plan) -> Result<Vec<TrialFile>, StoreError> {
    trial_files_with(dir, plan, |stored| stored)
}

fn trial_files_with(
    dir: &Path,
    plan: &Plan,
    of: impl Fn(StoredTrial) -> StoredTrial + Sync,
) -> Result<Vec<TrialFile>, StoreError> {
    let files = layout::json_files(&dir.join(TRIALS))?;
    let parsed = dyno_parallel::map(&files, |path| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        match files::read(path, Place::Folder, TRIAL_BYTES) {
            Ok(bytes) => parse(&bytes, &stem, plan).map(&of),
            Err(e) => Err(Unusable::Damaged(e.to_string())),
        }
    });
    Ok(files.into_iter().zip(parsed).collect())
}
