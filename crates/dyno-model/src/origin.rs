//! Where the figures of a run come from: what was asked for, in the user's own words, and the files that
//! were executed. With both, somebody else can repeat the run and see what differs.

pub(crate) mod text;

pub use text::Text;

use crate::plan::{Against, Precision};
use crate::search::Search;
use crate::unit::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the user asks for: the suite, stacks and testbed by name, and what the command line changes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Request {
    /// The suite by name.
    pub suite: String,
    /// `--stack A,B`: these instead of the suite's own.
    pub stacks: Option<Vec<String>>,
    /// `--experiment A,B`: only those of the suite whose names are these; `*` stands for any text, `?`
    /// for any character.
    pub experiments: Option<Vec<String>>,
    /// The testbed by name.
    pub testbed: String,
    /// `--trials N`: for every experiment.
    pub trials: Option<u32>,
    /// `--set KEY=VALUE`, split at the first `=`; of two with the same key the last holds.
    #[serde(default)]
    pub set: Vec<(String, String)>,
    /// The seed of every random choice of the run.
    pub seed: u64,
    /// `--against BASE`: what each experiment is compared with.
    pub against: Option<Against>,
    /// `--slices`: both sides take turns within a trial, in slices of this length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices: Option<Nanos>,
    /// `dyno gate`: whole trials where slices cannot serve, and no floors, so that all of the time goes to the two
    /// sides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gate: bool,
    /// `--ground`: the ground is probed as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ground: bool,
    /// `--legs`: the legs of each chain are measured alone as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub legs: bool,
    /// `--alone`: each flow is measured by itself as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// `--precision SHARE`: when there are enough trials.
    pub precision: Option<Precision>,
    /// `--search FACTOR --until LIMITS.toml`: a factor is raised until a limit breaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// Repeats of disturbed trials, at most so many of each experiment.
    #[serde(default)]
    pub repeats: u32,
    /// `--clock`: what stamps are taken with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockChoice>,
}

/// Which clock to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockChoice {
    /// The processor's counter (the TSC, on arm64 CNTVCT) where its rate is constant and the kernel itself
    /// keeps time with it; else CLOCK_MONOTONIC.
    #[default]
    Auto,
    /// The processor's counter; refused where the processor does not declare it invariant.
    Tsc,
    /// CLOCK_MONOTONIC.
    Monotonic,
}

/// The request that a run was planned from, with the texts that its names stood for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// What was asked for.
    pub request: Request,
    /// The suite.
    pub suite: Text,
    /// The testbed.
    pub testbed: Text,
    /// Every stack that the plan has or refuses, by name.
    pub stacks: BTreeMap<String, Text>,
    /// The study file that the suite names as its table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<Text>,
}

/// A program or shared library that a run executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binary {
    /// Where it was found.
    pub path: PathBuf,
    /// SHA-256 of its content, in hexadecimal; `None` where the file could not be read, such as one that was
    /// replaced after it had been loaded.
    pub sha256: Option<String>,
}

impl Binary {
    /// The file's name without its directory, which differs from machine to machine.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }
}

/// The key of [`Binaries`] for the program itself and what it loads whatever the adapter.
pub const PROGRAM: &str = "dyno";

/// The key of [`Binaries`] for the program of another build that the run compares with.
pub const BASE: &str = "base";

/// What the key of [`Binaries`] for a daemon's program begins with, before its name.
pub const DAEMON: &str = "daemon ";

/// What was executed, by the adapter that loaded it; [`PROGRAM`] stands for Dyno's own program, which also
/// holds the adapters that are built in. An adapter's own library comes first.
pub type Binaries = BTreeMap<String, Vec<Binary>>;
