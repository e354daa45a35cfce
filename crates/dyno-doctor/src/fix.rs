//! What to do about a finding.

use serde::Serialize;

/// What to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    /// A command, to be typed as it is.
    Command(String),
    /// No command can fix it; what to do instead.
    Instead(String),
}
