//! What is known of each run without taking in what it measured: for the list, and for who follows one.
//!
//! Only files that changed are read again. A look is kept for a moment, so that many clients cost no more
//! than one, and the lock of a run that is just starting is not held by those who ask for it.

use crate::folder::{Closed, Folder};
use dyno_model::RunManifest;
use dyno_store::{Count, MANIFEST, RunFollower, Stamp, Tally, has_runner};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{BuildHasher, Hash, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a look is good for.
const GOOD_FOR: Duration = Duration::from_millis(250);
/// The next list waits so many times as long as the last one took, within [`LONGEST_LIST_PAUSE`].
const LIST_PAUSE: u32 = 10;
/// The first list of a folder reads every trial; later ones only what changed.
const LONGEST_LIST_PAUSE: Duration = Duration::from_secs(5);

/// What a run's manifest says that lists show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) id: String,
    pub(crate) suite: String,
    pub(crate) title: String,
    pub(crate) testbed: String,
    /// The machine's name.
    pub(crate) host: String,
    pub(crate) started_unix_ms: u64,
    /// In the plan's order, without those that were only added as floors.
    pub(crate) stacks: Vec<String>,
    /// Trials, without those that precision or repeats may add.
    pub(crate) planned: usize,
    /// `part 1 of 3`
    pub(crate) part: Option<String>,
}

impl Head {
    fn of(manifest: &RunManifest) -> Head {
        let plan = &manifest.plan;
        let mut stacks: Vec<String> = Vec::new();
        for experiment in plan.here().filter(|e| !e.added) {
            if !stacks.contains(&experiment.stack) {
                stacks.push(experiment.stack.clone());
            }
        }
        Head {
            id: manifest.id.clone(),
            suite: plan.suite.clone(),
            title: plan.title.clone(),
            testbed: plan.testbed.name.clone(),
            host: manifest.environment.host.clone(),
            started_unix_ms: manifest.started_unix_ms,
            stacks,
            planned: plan.trial_count(),
            part: plan.shard.as_ref().map(ToString::to_string),
        }
    }
}

/// One run at one instant.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    pub(crate) directory: PathBuf,
    pub(crate) head: Arc<Head>,
    pub(crate) count: Count,
    /// Whether a runner writes it; `None` where the file system does not tell.
    pub(crate) runner: Option<bool>,
    /// Names this state of the run among all that this process sees.
    pub(crate) version: u64,
}

impl Look {
    /// Trials that need not be run again: neither interrupted nor disturbed.
    pub(crate) fn done(&self) -> usize {
        self.count.stored - self.count.interrupted - self.count.disturbed
    }

    /// Whether every trial was run. How often disturbed ones are repeated is limited.
    pub(crate) fn is_complete(&self) -> bool {
        self.count.stored - self.count.interrupted >= self.head.planned
    }

    /// Whether more may come without anybody's doing.
    pub(crate) fn is_running(&self) -> bool {
        self.runner.unwrap_or_else(|| !self.is_complete())
    }
}

/// Why there is nothing to see of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unseen {
    /// There is no directory of that name.
    Missing,
    /// There is one that cannot be shown, and this is why.
    Unreadable(String),
}

impl From<Closed> for Unseen {
    fn from(closed: Closed) -> Unseen {
        match closed {
            Closed::Missing => Unseen::Missing,
            Closed::Refused(reason) => Unseen::Unreadable(reason),
        }
    }
}

/// All directories of the folder.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) runs: Vec<(OsString, Look)>,
    /// Name and reason, ordered by name.
    pub(crate) unreadable: Vec<(OsString, String)>,
}

/// The runs of a folder.
#[derive(Debug)]
pub(crate) struct Shelf {
    folder: Folder,
    known: Mutex<HashMap<OsString, Arc<Mutex<Known>>>>,
    listing: Mutex<Option<(Arc<Listing>, Instant)>>,
    /// Versions are of this process alone.
    state: RandomState,
}

/// What is kept of one run.
#[derive(Debug)]
struct Known {
    manifest: Option<(Stamp, Arc<Head>)>,
    tally: Tally,
    last: Option<(Instant, Look)>,
}

impl Shelf {
    pub(crate) fn new(folder: Folder) -> Shelf {
        Shelf {
            folder,
            known: Mutex::default(),
            listing: Mutex::default(),
            state: RandomState::new(),
        }
    }

    /// The run in the directory of that name, as it is now or was a moment ago.
    pub(crate) fn look(&self, name: &OsStr) -> Result<Look, Unseen> {
        let directory = self.folder.find(name)?;
        let known = {
            let mut all = lock(&self.known);
            let new = || {
                Arc::new(Mutex::new(Known {
                    manifest: None,
                    tally: Tally::new(&directory),
                    last: None,
                }))
            };
            all.entry(name.to_owned()).or_insert_with(new).clone()
        };
        let mut known = lock(&known);
        match &known.last {
            Some((at, look)) if at.elapsed() < GOOD_FOR => Ok(look.clone()),
            _ => self.look_again(&directory, &mut known),
        }
    }

    fn look_again(&self, directory: &Path, known: &mut Known) -> Result<Look, Unseen> {
        known.last = None;
        let unreadable = |e: dyno_store::StoreError| Unseen::Unreadable(self.told(&e.to_string()));
        let stamp = fs::metadata(directory.join(MANIFEST)).ok();
        let stamp = stamp.as_ref().map(Stamp::of);
        let head = match (&known.manifest, stamp) {
            (Some((before, head)), Some(now)) if *before == now => head.clone(),
            _ => {
                known.manifest = None;
                let follower = RunFollower::open(directory).map_err(unreadable)?;
                let head = Arc::new(Head::of(follower.manifest()));
                known.manifest = stamp.map(|stamp| (stamp, head.clone()));
                head
            }
        };
        // Before the count: what a runner stored last is then counted when it is seen to have ended.
        let runner = has_runner(directory);
        let count = known.tally.look().map_err(unreadable)?;
        let look = Look {
            directory: directory.to_owned(),
            head,
            count,
            runner,
            version: self.state.hash_one((stamp, count.state, runner)),
        };
        known.last = Some((Instant::now(), look.clone()));
        Ok(look)
    }

    /// All runs, as they are now or were a moment ago.
    pub(crate) fn list(&self) -> Result<Arc<Listing>, String> {
        let mut kept = lock(&self.listing);
        if let Some((listing, until)) = &*kept
            && Instant::now() < *until
        {
            return Ok(listing.clone());
        }
        let began = Instant::now();
        let mut names = self
            .folder
            .names()
            .map_err(|e| format!("cannot read the folder of runs: {e}; is it still there?"))?;
        names.sort();
        lock(&self.known).retain(|name, _| names.binary_search(name).is_ok());
        let (mut runs, mut unreadable) = (Vec::new(), Vec::new());
        for name in names {
            match self.look(&name) {
                Ok(look) => runs.push((name, look)),
                Err(Unseen::Unreadable(reason)) => unreadable.push((name, reason)),
                // Removed since the folder was read, or a link to a file.
                Err(Unseen::Missing) => {}
            }
        }
        let listing = Arc::new(Listing { runs, unreadable });
        let pause = (began.elapsed() * LIST_PAUSE).clamp(GOOD_FOR, LONGEST_LIST_PAUSE);
        *kept = Some((listing.clone(), Instant::now() + pause));
        Ok(listing)
    }

    /// A message for the page: paths in it begin at the folder.
    pub(crate) fn told(&self, message: &str) -> String {
        let root = self.folder.root().display().to_string();
        message.replace(&format!("{root}/"), "").replace(&root, ".")
    }

    /// One version for several runs.
    pub(crate) fn together(&self, versions: impl Hash) -> u64 {
        self.state.hash_one(versions)
    }
}

/// What a panicking thread left is as good as before: each value is replaced whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
