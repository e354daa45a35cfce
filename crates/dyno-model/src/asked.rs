//! What exchanges ask of the kernel, where that is counted.

use serde::{Deserialize, Serialize};

/// Counted events of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Asked {
    /// System calls, of all kinds.
    pub calls: u64,
    /// The calls that carry bytes into or out of the kernel.
    pub carriers: u64,
    /// Threads made runnable by it, its own or another's.
    pub wakings: u64,
}

/// The same of all agents of a trial for each message that arrived; of a round trip for each of these.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct AskedPerMessage {
    /// System calls.
    pub calls: f64,
    /// Those that carry bytes.
    pub carriers: f64,
    /// Wake-ups.
    pub wakings: f64,
}

impl AskedPerMessage {
    /// The sum of what processes asked for, over so many messages; `None` where one of them was not counted, or there is
    /// nothing to count.
    pub fn of(processes: impl Iterator<Item = Option<Asked>>, messages: u64) -> Option<Self> {
        let all: Vec<Asked> = processes.collect::<Option<_>>()?;
        let per =
            |get: fn(&Asked) -> u64| all.iter().map(get).sum::<u64>() as f64 / messages as f64;
        (messages > 0 && !all.is_empty()).then(|| AskedPerMessage {
            calls: per(|a| a.calls),
            carriers: per(|a| a.carriers),
            wakings: per(|a| a.wakings),
        })
    }
}
