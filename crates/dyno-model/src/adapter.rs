//! What an adapter says of itself: version, capabilities, options.

use crate::factor::{Placement, Wait};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// A value of a stack's option, as written in its TOML file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OptionValue {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// Text.
    Text(String),
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Bool(v) => write!(f, "{v}"),
            OptionValue::Int(v) => write!(f, "{v}"),
            OptionValue::Float(v) => write!(f, "{v}"),
            OptionValue::Text(v) => write!(f, "{v:?}"),
        }
    }
}

/// A stack's options by name.
pub type Options = BTreeMap<String, OptionValue>;

/// The type of an option.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "type", content = "values")]
pub enum OptionKind {
    /// `true` or `false`.
    Bool,
    /// A whole number, zero or more.
    Int,
    /// A number.
    Float,
    /// Any text.
    Text,
    /// One of these texts.
    OneOf(Vec<String>),
}

/// The option by which an adapter declares how many messages it may hold at most between a sender and a receiver,
/// wherever they wait. One that does not have it may hold any number. It is at least 1. A value set
/// by a stack applies to messages of every size; what holds without is fewer where a channel's messages would take more than [`QUEUE_BYTES`].
pub const QUEUE_DEPTH: &str = "queue_depth";

/// What a queue of default depth may take for all receivers of a channel together, and still hold as many messages as its
/// adapter declares: 16 of 4 MiB.
pub const QUEUE_BYTES: u64 = 64 << 20;

/// One option that an adapter understands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OptionSpec {
    /// Its key in the stack file.
    pub name: String,
    /// Its type.
    #[serde(flatten)]
    pub kind: OptionKind,
    /// What holds when it is left out; `None` where the library's own default does.
    pub default: Option<OptionValue>,
    /// The least value of a whole number; `None`: zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<i64>,
    /// The largest value of a whole number that it can have on this machine; `None`: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<i64>,
    /// One line: what it does, with its unit.
    pub doc: String,
}

impl OptionSpec {
    /// An option of the type of its `default`, with any value of that type.
    pub fn new(name: &str, default: OptionValue, doc: impl Into<String>) -> Self {
        OptionSpec {
            name: name.to_owned(),
            kind: match default {
                OptionValue::Bool(_) => OptionKind::Bool,
                OptionValue::Int(_) => OptionKind::Int,
                OptionValue::Float(_) => OptionKind::Float,
                OptionValue::Text(_) => OptionKind::Text,
            },
            default: Some(default),
            least: None,
            most: None,
            doc: doc.into(),
        }
    }
    /// An option that is one of `values`, and the first of them where it is left out.
    pub fn one_of(name: &str, values: &[&str], doc: impl Into<String>) -> Self {
        let default = values.first().copied().unwrap_or_default();
        let values = values.iter().map(|value| (*value).to_owned());
        OptionSpec {
            kind: OptionKind::OneOf(values.collect()),
            ..OptionSpec::new(name, OptionValue::Text(default.to_owned()), doc)
        }
    }
}

/// What an adapter can do, by default nothing. The planner refuses what it cannot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Capabilities {
    /// The payload is written in place into memory that the library lends: no copy on send.
    pub loan: bool,
    /// The wait strategies that its receivers support.
    pub waits: Vec<Wait>,
    /// It can be used so that no message is lost while both sides live.
    pub reliable: bool,
    /// It can be used so that a slow receiver loses messages instead of holding up the sender.
    pub best_effort: bool,
    /// It has a request-response exchange of its own.
    pub request_response: bool,
    /// Where the two sides may live.
    pub placements: Vec<Placement>,
    /// The largest message in bytes, fragments put together; `None`: no limit of its own.
    pub max_message: Option<u64>,
    /// Messages above this many bytes are cut into fragments by the adapter, because the
    /// mechanism cannot carry them whole.
    pub fragments_above: Option<u64>,
    /// The most receivers of one channel.
    pub max_receivers: Option<u16>,
    /// A send puts the message into a queue, from which a thread of the library's own sends it: how long a send
    /// takes says nothing of room further on.
    #[serde(default)]
    pub sends_later: bool,
    /// Receivers that wait by `spin` poll for the current value: each take is a question, and returns when it is answered. Stacks with
    /// `asks` have these receivers and no others, and other stacks of the adapter have none of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// The sender's own node gives the message back and no second participant takes part: only
    /// for measuring Dyno itself (`null`).
    pub loopback: bool,
}

impl Capabilities {
    /// The capabilities that remain on a stack that [`asks`](Self::asks), or on one that does not.
    pub fn of_stack(&self, asks: bool) -> Capabilities {
        let mut can = self.clone();
        can.asks &= asks;
        if self.asks || asks {
            can.waits.retain(|wait| (*wait == Wait::Spin) == asks);
            // Whoever asks for a value does not serve requests.
            can.request_response &= !asks;
        }
        can
    }
}

/// An adapter as `dyno list adapters` shows it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AdapterDescription {
    /// The name that stack files use.
    pub name: String,
    /// The version that the *loaded* library (or the kernel, or Dyno) reports.
    pub version: String,
    /// One or two sentences: the mechanism, and what the adapter adds to it (fragments, framing).
    pub summary: String,
    /// What it can do.
    pub capabilities: Capabilities,
    /// The options that it understands.
    pub options: Vec<OptionSpec>,
    /// Why it cannot be used on this machine, and the command that would change that.
    pub unavailable: Option<String>,
    /// The shared library that holds the adapter; `None`: it is built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<PathBuf>,
}

impl AdapterDescription {
    /// Whether the adapter could report its capabilities. One whose library is missing could not: its
    /// capabilities and options are empty, and [`unavailable`](Self::unavailable) says why.
    pub fn is_known(&self) -> bool {
        !self.capabilities.waits.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_has_the_readers_that_ask_or_the_others() {
        let of = |asks| Capabilities {
            loan: false,
            waits: Wait::ALL.to_vec(),
            reliable: true,
            best_effort: true,
            request_response: true,
            placements: Vec::new(),
            max_message: None,
            fragments_above: None,
            max_receivers: None,
            sends_later: false,
            asks,
            loopback: false,
        };
        let asking = of(true).of_stack(true);
        assert_eq!(
            (asking.waits, asking.request_response),
            (vec![Wait::Spin], false)
        );
        let others = of(true).of_stack(false);
        assert!(!others.asks && others.request_response);
        assert!(!others.waits.contains(&Wait::Spin));
        // Of an adapter without such readers nothing is taken away.
        assert_eq!(of(false).of_stack(false), of(false));
    }
}
