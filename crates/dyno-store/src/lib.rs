//! The run directory: written trial by trial so that a crash at any instant leaves every finished
//! trial readable, versioned so that old runs stay readable, resumable.
//!
//! | path | what |
//! |---|---|
//! | `run.json` | the manifest: plan, environment, adapters; written first, never changed |
//! | `trials/e0003-t002.json` | one trial: trial 2 of experiment 3 |
//! | `raw/e0003-t002.csv` | its raw samples, where the experiment asked for them |
//! | `parts/1.json` | the manifests that it was merged from, if it was |
//! | `.lock` | held (flock) while a runner writes |
//! | `.shown/` | what `dyno show` printed of a large run; made anew wherever it does not fit |
//!
//! `docs/run-format.md` is the full description. Everything is plain JSON and CSV: a run is small,
//! and it must be readable in ten years without Dyno. The histograms inside are compressed already.

#![warn(clippy::too_many_lines)]

mod bounds;
mod error;
mod files;
mod follow;
mod layout;
mod locate;
mod machines;
mod merge;
mod raw;
mod reader;
mod shown;
mod tally;
mod trial;
mod writer;

pub use error::StoreError;
pub use follow::{News, RunFollower, has_runner};
pub use layout::{MANIFEST, PARTS, RAW, TRIALS};
pub use locate::{DEFAULT_RUNS_DIR, LATEST, locate, new_run_dir};
pub use merge::{MergeError, MergeOptions, Merged, merge};
pub use reader::{
    ReadRun, read_distributions, read_manifest, read_parts, read_raw, read_run, read_run_light,
    told,
};
pub use shown::{KEPT_FROM, Shown};
pub use tally::{Count, Stamp, Tally};
pub use trial::Problem;
pub use writer::{Redo, RunWriter};
