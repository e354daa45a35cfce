//! The roles that participants play.

use serde::{Deserialize, Serialize};

/// What a participant does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Sends on a schedule, or as fast as it can.
    Source,
    /// Receives and checks.
    Sink,
    /// Sends a ping and waits for the pongs.
    Initiator,
    /// Answers each ping with a pong.
    Echo,
    /// Both sides in one thread, for adapters with the `loopback` capability.
    Loopback,
    /// Measures the machine itself, with no channel.
    Probe,
    /// Takes from one leg of a chain and sends on the next.
    Gateway,
}

impl Role {
    /// Whether the role decides when the trial's window is over; the others take what comes.
    pub const fn is_active(self) -> bool {
        matches!(
            self,
            Role::Source | Role::Initiator | Role::Loopback | Role::Probe
        )
    }
    /// Whether what it receives is delivered. What an echo receives is half of a round trip, what a gateway receives is
    /// on its way.
    pub const fn is_destination(self) -> bool {
        matches!(
            self,
            Role::Sink | Role::Initiator | Role::Loopback | Role::Probe
        )
    }
    /// The text form.
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Source => "source",
            Role::Sink => "sink",
            Role::Initiator => "initiator",
            Role::Echo => "echo",
            Role::Loopback => "loopback",
            Role::Probe => "probe",
            Role::Gateway => "gateway",
        }
    }
}
