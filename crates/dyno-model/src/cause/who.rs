//! The owner of the thread in a cause.

use crate::role::Role;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The owner of the thread in a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(tag = "who", rename_all = "kebab-case")]
pub enum Who {
    /// A participant of the trial.
    #[error("participant {index} ({})", role.as_str())]
    Participant {
        /// Its number in the graph.
        index: u16,
        /// What it does.
        role: Role,
    },
    /// The agent's own, which hears the runner.
    #[error("control thread")]
    Control,
}
