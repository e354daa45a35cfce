//! A text that a run was planned from.

use serde::{Deserialize, Serialize};

/// A suite, stack or testbed as its author wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// The file it was read from, or `built-in …`.
    pub path: String,
    /// Its content, byte by byte.
    pub text: String,
}
