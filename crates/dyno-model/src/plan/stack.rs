//! A stack as a plan has it: a ready configuration of an adapter, or a chain of others.

use crate::adapter::Options;
use crate::chain::Chain;
use crate::daemon::Daemon;
use crate::factor::{Placement, Wait};
use crate::unit::Nanos;
use serde::{Deserialize, Serialize};

/// A named, ready configuration of an adapter.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Stack {
    /// Its name, the stem of its file.
    pub name: String,
    /// The adapter it configures; of a chain those of its legs, joined by ` > `.
    pub adapter: String,
    /// A description in one line.
    pub description: String,
    /// The waits that a suite's `wait = "natural"` stands for.
    pub waits: Vec<Wait>,
    /// The adapter's options.
    pub options: Options,
    /// A yardstick: it can stand as × floor for experiments with its wait strategies.
    #[serde(default)]
    pub floor: bool,
    /// Its adapter has the `loopback` capability: one participant plays both sides.
    #[serde(default)]
    pub loopback: bool,
    /// A send only puts the message into a queue of the library's: how long senders were blocked is not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sends_later: bool,
    /// Its readers poll for the current value, and each answer is a read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// The most channels that one trial can have on it; `None`: as many as there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<u16>,
    /// Where it is meant to run; empty: wherever its adapter can.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<Placement>,
    /// The processes that it needs beside the participants, in the order of their start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub daemons: Vec<Daemon>,
    /// Times after which it takes a peer for gone or tries again, where they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeouts: Vec<Timeout>,
    /// The command that installs what it needs, where the stack file names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
    /// Its legs, where it is made of other stacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<Chain>,
}

/// A time after which a stack takes a peer for gone, or tries again: what an outage is held beside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeout {
    /// Its name in the stack file: `lease`, `keep-alive`.
    pub name: String,
    /// How long.
    pub time: Nanos,
    /// Who set it.
    pub by: TimeoutBy,
    /// What happens then, in half a sentence.
    pub text: String,
}

choice! {
    /// Who set a timeout.
    TimeoutBy, "setter of a timeout" {
        /// The stack file, or Dyno's adapter.
        Stack = "stack",
        /// The library or its daemon by itself.
        Library = "library",
        /// The kernel.
        Kernel = "kernel",
    }
}

impl Stack {
    /// The adapters that carry its messages, by leg; of a stack without legs the one that it has.
    pub fn adapters(&self) -> Vec<&str> {
        match &self.chain {
            Some(chain) => chain.legs.iter().map(|leg| leg.adapter.as_str()).collect(),
            None => vec![&self.adapter],
        }
    }

    /// The daemons that a leg needs; of a stack without legs all of its own.
    pub fn daemons_of(&self, leg: u16) -> &[Daemon] {
        match &self.chain {
            Some(chain) => chain
                .legs
                .get(usize::from(leg))
                .map_or(&[], |leg| &leg.daemons),
            None => &self.daemons,
        }
    }
}
