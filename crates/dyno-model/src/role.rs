//! The roles that participants play.

choice! {
    /// What a participant does.
    Role, "role" {
        /// Sends on a schedule, or as fast as it can.
        Source = "source",
        /// Receives and checks.
        Sink = "sink",
        /// Sends a ping and waits for the pongs.
        Initiator = "initiator",
        /// Answers each ping with a pong.
        Echo = "echo",
        /// Both sides in one thread, for adapters with the `loopback` capability.
        Loopback = "loopback",
        /// Measures the machine itself, with no channel.
        Probe = "probe",
        /// Takes from one leg of a chain and sends on the next.
        Gateway = "gateway",
    }
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
}
