//! Where a run takes place: hosts, how they are reached, and the links between them.

use crate::machine::Machine;
use serde::{Deserialize, Serialize};

/// How a host is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Reach {
    /// The machine that the runner is on.
    Local,
    /// A network namespace of the runner's machine, which Dyno makes for the run and removes. It has
    /// the machine's clock and memory, and a network of its own.
    Namespace,
    /// Another machine, through the user's own OpenSSH.
    Ssh {
        /// What `ssh` is given: `host`, `user@host`, or a name of the user's `ssh_config`.
        destination: String,
    },
    /// A virtual machine, which Dyno boots for the run and removes.
    Vm(Machine),
}

impl Reach {
    /// Whether the host has the runner's clock, so that stamps need no translation.
    pub const fn shares_clock(&self) -> bool {
        matches!(self, Reach::Local | Reach::Namespace)
    }
}

/// A host's link to the others: full duplex, the same in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Bits per second, all bytes of a frame counted. Namespaces are shaped to it; of other hosts it
    /// is what the testbed says.
    pub rate_bits: u64,
    /// Bytes that may wait for the link before frames are dropped; for shaped links.
    pub buffer_bytes: u64,
}

/// One host of a testbed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name within the testbed.
    pub name: String,
    /// How agents are started on it.
    pub reach: Reach,
    /// The address at which participants on other hosts reach it.
    pub address: String,
    /// Its link to the other hosts, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// Whatever its reach says, it is not trusted to have the runner's clock.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_clock: bool,
}

impl Host {
    /// Whether stamps of the host are on the run's clock without translation.
    pub const fn shares_clock(&self) -> bool {
        self.reach.shares_clock() && !self.own_clock
    }
}

/// Where a run takes place.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Testbed {
    /// Its name, the stem of its file.
    pub name: String,
    /// A description in one line.
    pub description: String,
    /// At least one host.
    pub hosts: Vec<Host>,
    /// A planted fault: trials find their hosts as the trial before left them. For studies of whether
    /// what ran before is seen in figures, never for measurements.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_state: bool,
}

impl Testbed {
    /// The hosts whose CPUs are those of `host`, itself among them: all that are on the runner's machine, or it alone. Nobody knows
    /// which of the hosts that ssh reaches are one machine.
    pub fn sharing_cpus(&self, host: usize) -> Vec<usize> {
        let is_here = |(_, h): &(usize, &Host)| h.reach.shares_clock();
        let here: Vec<usize> = self
            .hosts
            .iter()
            .enumerate()
            .filter(is_here)
            .map(|(i, _)| i)
            .collect();
        match here.contains(&host) {
            true => here,
            false => vec![host],
        }
    }

    /// The virtual machines, by the names of their hosts.
    pub fn machines(&self) -> impl Iterator<Item = (&str, &Machine)> {
        self.hosts.iter().filter_map(|host| match &host.reach {
            Reach::Vm(machine) => Some((host.name.as_str(), machine)),
            _ => None,
        })
    }

    /// What of it is emulated in software, in words; nothing where all of it is real or virtualised by the processor.
    /// Times of emulated machines are ratios at best: nothing holds them against real ones.
    pub fn emulated(&self) -> Option<String> {
        let of = |(name, machine): (&str, &Machine)| {
            let by = machine.emulated_by()?;
            Some(format!("{name} by {by}"))
        };
        let all: Vec<String> = self.machines().filter_map(of).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}
