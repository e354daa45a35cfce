//! Several run directories of one plan become one: the parts of a sharded run, or what different
//! machines have of it. The trials' files are taken over byte by byte; the manifest of each part is
//! kept in `parts/`, because parts may be measured on different machines.

mod plan;

use crate::error::StoreError;
use crate::files::{self, MANIFEST_BYTES, Place, TEMPORARY, TRIAL_BYTES, sync_dir, write_whole};
use crate::layout::{self, LOCK, PARTS, RAW, TRIALS};
use crate::raw;
use crate::reader::{manifest_of, newer, read_manifest, read_parts, trial_files};
use crate::trial::{Problem, Unusable};
use crate::writer::{Layout, readable};
use dyno_model::plan::{ExperimentId, Plan, TrialId};
use dyno_model::record::{FORMAT, RunManifest};
use dyno_model::unit::counted;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Why run directories cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A directory cannot be read, or the new one not written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A runner is at work in one of them.
    #[error("a `dyno run` still writes to {dir}; wait for it to end")]
    Busy {
        /// The directory.
        dir: PathBuf,
    },
    /// They are not of one plan.
    #[error(
        "{one} and {other} are not parts of one run: {what}; merge only parts that were started \
         with the same arguments except for --shard and --out"
    )]
    Differ {
        /// The first directory.
        one: PathBuf,
        /// The one that does not fit to it.
        other: PathBuf,
        /// The first difference, with both sides in this order.
        what: String,
    },
    /// A trial was measured twice.
    #[error(
        "trial {id} is both in {one} and in {other}, with different content; leave one of the two out"
    )]
    Twice {
        /// The trial.
        id: TrialId,
        /// One directory.
        one: PathBuf,
        /// The other.
        other: PathBuf,
    },
    /// Not all parts are there.
    #[error(
        "{parts}: {}; name the directory of every part, or merge the given ones with --partial and \
         measure the rest with `dyno run --resume`",
        without_trials(*experiments)
    )]
    Missing {
        /// `part 2 of 3 is missing`.
        parts: String,
        /// Experiments of the plan that no trial is stored of.
        experiments: usize,
    },
}

fn without_trials(experiments: usize) -> String {
    format!(
        "{} without trials",
        counted(experiments as u64, "experiment")
    )
}

/// How to merge.
#[derive(Debug, Clone, Default)]
pub struct MergeOptions {
    /// Parts may be missing.
    pub partial: bool,
    /// The command line, for the manifest.
    pub command: Vec<String>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    /// Directories that were merged, those inside merged ones included.
    pub parts: usize,
    /// Experiments of the plan.
    pub experiments: usize,
    /// Trials stored.
    pub trials: usize,
    /// What a reader of the result must know: what is missing, and in what the parts differ.
    pub notes: Vec<String>,
    /// Files that were left out.
    pub problems: Vec<Problem>,
}

/// One of the directories.
struct Source {
    dir: PathBuf,
    /// The manifests of the runs that it holds: its own, or those that it was merged from.
    parts: Vec<RunManifest>,
    /// Its own plan.
    plan: Plan,
    /// Held while its files are read.
    _lock: Option<File>,
}

/// A trial's file and where it is from.
struct Found {
    source: usize,
    file: PathBuf,
    /// Its raw samples.
    raw: u64,
}

/// Merges the run directories `dirs` into the new directory `out`, which must not exist or be empty;
/// it appears whole or not at all. The directories stay as they are.
///
/// A trial that is in several of them must be the same in each. Damaged trials are left out and named.
///
/// # Errors
///
/// When the directories are not of one plan (but for the CPUs that participants are pinned to), when a
/// trial was measured twice, when a part is missing (unless [`MergeOptions::partial`]), when a runner
/// writes to one of them, or when something cannot be read or written.
pub fn merge(dirs: &[PathBuf], out: &Path, how: &MergeOptions) -> Result<Merged, MergeError> {
    refuse_occupied(out)?;
    let mut sources: Vec<Source> = dirs.iter().map(|d| open(d)).collect::<Result<_, _>>()?;
    // The order on the command line must not matter.
    sources.sort_by_key(|s| plan::part_of(&s.parts[0]).map_or(0, |p| p.0));
    for other in sources.iter().skip(1) {
        let one = &sources[0];
        let found = plan::difference(&one.parts[0].plan, &other.parts[0].plan);
        if let Some(what) = found {
            return Err(MergeError::Differ {
                one: one.dir.clone(),
                other: other.dir.clone(),
                what,
            });
        }
    }
    let mut problems = Vec::new();
    let trials = trials(&sources, &mut problems)?;
    let parts = parts(&sources);
    let mut notes = Vec::new();
    let missing = plan::missing(&parts, &stored(&trials));
    if let Some(missing) = missing {
        if !how.partial {
            return Err(MergeError::Missing {
                parts: missing.parts,
                experiments: missing.experiments,
            });
        }
        let without = without_trials(missing.experiments);
        notes.push(format!("{}: {without}", missing.parts));
    }
    notes.extend(plan::incomplete(&parts, &stored(&trials)));
    let (plan, differences) = plan::merged(&parts);
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    let manifest = RunManifest {
        format: FORMAT,
        id: name.into_owned(),
        started_unix_ms: parts.iter().map(|m| m.started_unix_ms).min().unwrap_or(0),
        command: how.command.clone(),
        plan,
        environment: parts[0].environment.clone(),
        adapters: plan::adapters(&parts),
        bare: parts[0].bare.clone(),
        origin: plan::origin(&parts),
    };
    write(out, &manifest, &parts, &sources, &trials)?;
    notes.extend(differences.iter().map(ToString::to_string));
    Ok(Merged {
        parts: parts.len(),
        experiments: manifest.plan.experiments.len(),
        trials: trials.len(),
        notes,
        problems,
    })
}

fn open(dir: &Path) -> Result<Source, MergeError> {
    let manifest = read_manifest(dir)?;
    let lock = share(dir)?;
    let parts = read_parts(dir)?;
    Ok(Source {
        dir: dir.to_owned(),
        plan: manifest.plan.clone(),
        parts: match parts.is_empty() {
            true => vec![manifest],
            false => parts,
        },
        _lock: lock,
    })
}

/// Keeps runners out while the directory is read. One without a lock file, such as a copy, has none.
fn share(dir: &Path) -> Result<Option<File>, MergeError> {
    let path = dir.join(LOCK);
    let file = match files::lock_file(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(StoreError::io("read", &path)(e).into()),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(MergeError::Busy {
            dir: dir.to_owned(),
        }),
        // A file system that cannot lock has no runner either: it would have refused to start.
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// The manifests of all parts, each once, in the order of their parts.
fn parts(sources: &[Source]) -> Vec<RunManifest> {
    let mut parts: Vec<RunManifest> = Vec::new();
    for part in sources.iter().flat_map(|s| &s.parts) {
        if !parts.contains(part) {
            parts.push(part.clone());
        }
    }
    parts.sort_by_key(|m| (plan::part_of(m), m.started_unix_ms));
    parts
}

fn trials(
    sources: &[Source],
    problems: &mut Vec<Problem>,
) -> Result<BTreeMap<TrialId, Found>, MergeError> {
    let mut trials: BTreeMap<TrialId, Found> = BTreeMap::new();
    for (number, source) in sources.iter().enumerate() {
        for (file, parsed) in trial_files(&source.dir, &source.plan)? {
            let stored = match parsed {
                Ok(stored) => stored,
                Err(Unusable::Newer(found)) => return Err(newer(&file, found).into()),
                Err(unusable) => {
                    problems.push(unusable.problem(&file, &source.dir));
                    continue;
                }
            };
            let id = stored.record.id;
            match trials.get(&id) {
                Some(known) if content(&known.file)? == content(&file)? => {}
                Some(known) => {
                    return Err(MergeError::Twice {
                        id,
                        one: sources[known.source].dir.clone(),
                        other: source.dir.clone(),
                    });
                }
                None => {
                    let raw = stored.raw_samples;
                    let source = number;
                    trials.insert(id, Found { source, file, raw });
                }
            }
        }
    }
    Ok(trials)
}

fn content(file: &Path) -> Result<Vec<u8>, StoreError> {
    files::read(file, Place::Folder, TRIAL_BYTES).map_err(StoreError::io("read", file))
}

/// How many trials of each experiment are stored.
fn stored(trials: &BTreeMap<TrialId, Found>) -> BTreeMap<ExperimentId, u32> {
    let mut stored = BTreeMap::new();
    for id in trials.keys() {
        *stored.entry(id.experiment).or_insert(0) += 1;
    }
    stored
}

/// Writes everything beside `out` and puts it in its place at the end.
fn write(
    out: &Path,
    manifest: &RunManifest,
    parts: &[RunManifest],
    sources: &[Source],
    trials: &BTreeMap<TrialId, Found>,
) -> Result<(), StoreError> {
    let parent = match out.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    let temporary = parent.join(format!("{TEMPORARY}{}-{name}", std::process::id()));
    fs::create_dir_all(parent).map_err(|e| failed("create", parent, e))?;
    fs::create_dir(&temporary).map_err(|e| failed("create", &temporary, e))?;
    let written = fill(&temporary, manifest, parts, sources, trials).and_then(|()| {
        fs::rename(&temporary, out).map_err(|e| failed("create", out, e))?;
        sync_dir(parent).map_err(StoreError::io("write", parent))
    });
    if written.is_err() {
        // The error that is reported matters. What lies there is our own.
        let _ = fs::remove_dir_all(&temporary);
    }
    written
}

fn fill(
    dir: &Path,
    manifest: &RunManifest,
    parts: &[RunManifest],
    sources: &[Source],
    trials: &BTreeMap<TrialId, Found>,
) -> Result<(), StoreError> {
    let folders: BTreeSet<&str> = trials
        .values()
        .filter(|found| found.raw > 0)
        .map(|_| RAW)
        .chain([TRIALS, PARTS])
        .collect();
    for folder in folders {
        let folder = dir.join(folder);
        fs::create_dir(&folder).map_err(|e| failed("create", &folder, e))?;
    }
    let whole = |path: &Path, bytes: &[u8]| {
        write_whole(path, Place::Folder, bytes).map_err(|e| failed("write", path, e))
    };
    let copy = |from: &Path, to: &Path, most: u64| {
        let file =
            files::open_to_read(from, Place::Folder, most).map_err(StoreError::io("read", from))?;
        // It may grow meanwhile.
        write_whole(to, Place::Folder, file.take(most)).map_err(|e| failed("write", to, e))
    };
    for (id, found) in trials {
        if found.raw > 0 {
            let from = layout::raw(&sources[found.source].dir, *id);
            copy(&from, &layout::raw(dir, *id), raw::most(found.raw))?;
        }
        copy(&found.file, &layout::trial(dir, *id), TRIAL_BYTES)?;
    }
    let text = |manifest: &RunManifest| {
        readable(manifest, Layout::Pretty, MANIFEST_BYTES, manifest_of)
            .map_err(|reason| StoreError::UnstorableManifest { reason })
    };
    for (i, part) in parts.iter().enumerate() {
        whole(&layout::part(dir, i + 1), &text(part)?)?;
    }
    whole(&layout::manifest(dir), &text(manifest)?)
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> StoreError {
    match crate::error::is_full(&source) {
        true => StoreError::NoSpaceToMerge {
            path: path.to_owned(),
            source,
        },
        false => StoreError::io(action, path)(source),
    }
}

/// A directory that holds anything cannot be replaced in one step.
fn refuse_occupied(dir: &Path) -> Result<(), StoreError> {
    let first = match fs::read_dir(dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(StoreError::io("read", dir))?.next(),
    };
    match first {
        None => Ok(()),
        Some(_) => Err(StoreError::NotEmpty {
            dir: dir.to_owned(),
            run: layout::manifest(dir).exists(),
        }),
    }
}
