//! The runner's orders to a process that plays one conformance case, and the answers.

use crate::adapter::Options;
use crate::factor::Placement;
use crate::unit::Nanos;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// An adapter as it is to be examined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Examinee {
    /// Its name.
    pub adapter: String,
    /// The shared library that holds it; `None`: it is looked for by its name.
    pub library: Option<PathBuf>,
    /// The options of the stack.
    pub options: Options,
    /// Where the stack is meant to run; empty: wherever its adapter can.
    pub placements: Vec<Placement>,
    /// Whether its stack [`asks`](crate::adapter::Capabilities::asks).
    #[serde(default)]
    pub asks: bool,
    /// Messages may be lost with these options although the adapter can be reliable.
    pub best_effort: bool,
}

/// One case, ordered by the runner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseOrder {
    /// Its name.
    pub case: String,
    /// What to play it with.
    pub examinee: Examinee,
    /// Begins the names of all that others can see.
    pub session: String,
    /// An existing directory, which the runner removes.
    pub scratch: PathBuf,
    /// Daemons of the stack keep files in `scratch`, too.
    pub daemons: bool,
    /// After this long the case counts as hanging.
    pub limit: Nanos,
}

/// How a case went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", content = "reason", rename_all = "lowercase")]
pub enum CaseVerdict {
    /// The adapter behaves.
    Passed,
    /// It does not: what was seen.
    Failed(String),
    /// The case does not concern it: why.
    Skipped(String),
}
