//! Causes as values: why a trial does not count, what its reader should know, why it failed. Each kind is a table of
//! variants with their numbers, and the sentence of each stands beside it; nobody reads a sentence.

mod daemon;
mod disturbance;
mod failure;
mod granted;
mod warning;
mod who;

pub use daemon::{DaemonTrouble, Exit, PrepareTrouble};
pub use disturbance::{BareShare, Disturbance};
pub use failure::{AgentTrouble, FailureCause, StuckCall};
pub use granted::NotGranted;
pub use warning::{Residue, Warning};
pub use who::Who;

use serde::{Deserialize, Serialize};
use std::fmt;

/// A cause, as a record stores it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cause<T> {
    /// Which one, with its numbers.
    Known(T),
    /// The sentence that a run of before format 4 keeps in its place.
    Told(String),
    /// One that this Dyno does not know: it holds all the same, and is kept as it is.
    Other(Box<Other>),
    /// So many causes that a summary leaves out.
    #[serde(skip)]
    More(u64),
}

/// A cause of a Dyno that knows more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Other {
    /// Its name.
    pub cause: String,
    /// Its numbers.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub values: serde_json::Value,
}

impl<T> Cause<T> {
    /// The cause with its numbers, where the run holds them.
    pub fn known(&self) -> Option<&T> {
        match self {
            Cause::Known(cause) => Some(cause),
            Cause::Told(_) | Cause::Other(_) | Cause::More(_) => None,
        }
    }
}

impl<T> From<T> for Cause<T> {
    fn from(cause: T) -> Self {
        Cause::Known(cause)
    }
}

impl<T: fmt::Display> fmt::Display for Cause<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(feature = "testing")]
        if MUTE.get() {
            let number = |cause| write!(f, "{:?}", std::mem::discriminant(cause));
            return self.known().map_or(Ok(()), number);
        }
        match self {
            Cause::Known(cause) => cause.fmt(f),
            Cause::Told(sentence) => f.write_str(sentence),
            Cause::Other(other) => write!(
                f,
                "`{}`, which this version of Dyno does not know",
                other.cause
            ),
            Cause::More(1) => f.write_str("1 more, which is left out here"),
            Cause::More(n) => write!(f, "{n} more, which are left out here"),
        }
    }
}

#[cfg(feature = "testing")]
thread_local! {
    /// While it is set, each sentence is the number of its variant: what then changes, beside texts, reads sentences.
    pub static MUTE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_that_is_not_known_is_kept_and_shown() {
        for text in [
            r#"{"cause":"moon","values":{"phase":3}}"#,
            r#"{"cause":"moon"}"#,
        ] {
            let cause: Cause<Disturbance> = serde_json::from_str(text).unwrap();
            assert_eq!(cause.known(), None);
            assert_eq!(
                cause.to_string(),
                "`moon`, which this version of Dyno does not know"
            );
            assert_eq!(serde_json::to_string(&cause).unwrap(), text);
        }
        assert!(serde_json::from_str::<Cause<Disturbance>>("3").is_err());
    }
}
