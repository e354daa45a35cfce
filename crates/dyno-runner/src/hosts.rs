//! The hosts of a run: made ready before the first trial, namespaces before each, and gone when the run is
//! over.
//!
//! A [`Host`] says how a process is started on it and where a trial may put its files there. All of
//! the trial's code is the same for every kind. Dropping [`Hosts`] removes what they are made of; a
//! runner that is killed leaves nothing either, since the kernel removes it with the runner.

mod guest;
mod keeper;
mod ssh;
mod supplies;

use crate::agent::AgentCommand;
use crate::child::tie_to_runner;
use crate::error::HostsError;
use crate::machine::{self, Common, SharedMemory, Vsock};
use crate::network::namespace::Namespace;
use crate::network::xdp::Dropper;
use crate::network::{self, Network};
use crate::session::Session;
use dyno_measure::NetworkReading;
use dyno_model::cause::FailureCause;
use dyno_model::machine::Machine;
use dyno_model::plan::{Link, Reach};
use dyno_model::{Nanos, Testbed};
use guest::{Booting, Guest};
use ssh::Ssh;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
pub(crate) use supplies::Supplies;

/// Whether the hosts of `testbed` can be made ready, as far as that can be said at once: the rights
/// and the programs that they need. For before a run directory is made.
///
/// # Errors
///
/// What is missing, and what to do.
pub fn check_hosts(testbed: &Testbed) -> Result<(), HostsError> {
    if has_switch(testbed) {
        network::check(testbed)?;
    }
    Ok(machine::check(testbed)?)
}

/// Decides in `testbed` what it leaves to this machine: what executes virtual machines. `tell` hears where that is
/// emulation.
///
/// # Errors
///
/// Where it cannot be what the testbed asks for.
pub fn settle_hosts(testbed: &mut Testbed, tell: &mut dyn FnMut(String)) -> Result<(), HostsError> {
    Ok(machine::settle(testbed, tell)?)
}

/// The kernel that a virtual machine would boot here: the one that it names, or the one that is found. Nothing is started.
pub fn kernel_of(host: &str, machine: &Machine) -> Option<PathBuf> {
    let kernel = machine::Kernel::find(host, machine).ok()?;
    Some(kernel.path)
}

fn has_switch(testbed: &Testbed) -> bool {
    let mut hosts = testbed.hosts.iter();
    hosts.any(|h| matches!(h.reach, Reach::Namespace | Reach::Vm(_)))
}

/// One host of the testbed.
pub(crate) enum Host {
    /// The runner's machine as it is.
    Local,
    /// A network namespace of the runner's machine.
    Namespace(Namespace),
    /// Another machine.
    Ssh(Box<Ssh>),
    /// A virtual machine of the run's.
    Guest(Box<Guest>),
}

impl Host {
    /// The command that starts an agent there. Standard input, output and error are left to the
    /// caller; the process that it spawns dies with the runner.
    pub(crate) fn command(&self, agent: &AgentCommand) -> Result<Command, HostsError> {
        match self {
            Host::Local | Host::Namespace(_) => {
                let mut command = agent.command();
                self.admit(&mut command);
                Ok(command)
            }
            Host::Ssh(ssh) => Ok(ssh.command(agent)?),
            Host::Guest(guest) => guest.command(agent),
        }
    }

    /// Has a command of this machine run on the host, which [`is_local_machine`]; its process dies
    /// with the runner.
    ///
    /// [`is_local_machine`]: Host::is_local_machine
    pub(crate) fn admit(&self, command: &mut Command) {
        tie_to_runner(command);
        match self {
            Host::Namespace(namespace) => namespace.enter(command),
            Host::Local | Host::Ssh(_) | Host::Guest(_) => {}
        }
    }

    /// Does something in its network, where that is this machine's.
    pub(crate) fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        match self {
            Host::Namespace(namespace) => namespace.within(work),
            Host::Local | Host::Ssh(_) | Host::Guest(_) => Ok(work()),
        }
    }

    /// The directory of the session on that host, which exists when this returns. Hosts of one machine
    /// have one each, within that of the session: they share nothing that two machines would not.
    pub(crate) fn prepare_session(&self, session: &Session<'_>) -> Result<PathBuf, HostsError> {
        match self {
            Host::Local => Ok(session.scratch.clone()),
            Host::Namespace(namespace) => {
                let scratch = session.scratch.join(&namespace.name);
                std::fs::create_dir_all(&scratch)
                    .map_err(|e| HostsError::setup(format!("create {}", scratch.display()), e))?;
                Ok(scratch)
            }
            Host::Ssh(ssh) => {
                ssh.prepare_session(&session.name)
                    .map_err(|reason| HostsError::Host {
                        host: ssh.name.clone(),
                        reason,
                    })
            }
            Host::Guest(guest) => {
                guest
                    .prepare_session(&session.name)
                    .map_err(|reason| HostsError::Host {
                        host: guest.name.clone(),
                        reason,
                    })
            }
        }
    }

    /// Removes what the session left on the host. What lies on this machine is removed with the
    /// session itself.
    pub(crate) fn clear_session(&self, name: &str) {
        match self {
            Host::Local | Host::Namespace(_) => {}
            Host::Ssh(ssh) => ssh.clear_session(name),
            Host::Guest(guest) => guest.clear_session(name),
        }
    }

    /// What its network has counted and holds.
    pub(crate) fn read_network(&self) -> Result<NetworkReading, String> {
        match self {
            Host::Ssh(ssh) => ssh.read_network(),
            Host::Guest(guest) => guest.read_network(),
            Host::Local | Host::Namespace(_) => self
                .within(dyno_measure::read_network)
                .map_err(|e| e.to_string()),
        }
    }

    /// Whether its processes, files and memory are those of the runner's machine.
    pub(crate) fn is_local_machine(&self) -> bool {
        !matches!(self, Host::Ssh(_) | Host::Guest(_))
    }

    /// What has cut the host off since it was made ready.
    fn trouble(&self) -> Option<FailureCause> {
        match self {
            Host::Local => None,
            Host::Namespace(namespace) => namespace.trouble(),
            Host::Ssh(ssh) => ssh.trouble(),
            Host::Guest(guest) => guest.trouble(),
        }
    }
}

/// Boots the virtual machines, all at once, between the namespaces of the other hosts.
fn at_switch(
    testbed: &Testbed,
    namespaces: Vec<Option<Namespace>>,
    network: &Network,
    supplies: &mut Supplies<'_>,
    common: &mut Common,
    tell: &mut dyn FnMut(String),
) -> Result<Vec<Host>, HostsError> {
    let mut booting = Vec::new();
    for (number, host) in (1..).zip(&testbed.hosts) {
        if let Reach::Vm(machine) = &host.reach {
            let at = (&network.switch, network::port(number), number);
            let at = (at.0, at.1.as_str(), at.2);
            booting.push(Booting::start(host, machine, at, supplies, common)?);
        }
    }
    let mut booting = booting.into_iter();
    let mut hosts = Vec::new();
    for (namespace, host) in namespaces.into_iter().zip(&testbed.hosts) {
        hosts.push(match namespace {
            Some(mut namespace) => {
                namespace.environment = common.environment(&host.address);
                Host::Namespace(namespace)
            }
            None => match booting.next() {
                Some(machine) => Host::Guest(Box::new(machine.finish(supplies, tell)?)),
                None => continue,
            },
        });
    }
    Ok(hosts)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All hosts of a testbed, in its order.
pub(crate) struct Hosts {
    hosts: Vec<Host>,
    /// What joins the namespaces.
    network: Option<Network>,
    /// What joins virtual machines beside it.
    vsock: Option<Mutex<Vsock>>,
    /// Memory that is theirs together.
    shared: Option<SharedMemory>,
    /// They are made for each trial.
    of_one_trial: bool,
    /// A trial has been on them.
    used: bool,
}

impl Hosts {
    /// Makes all hosts of the testbed ready with what they need of the run. `tell` hears remarks for
    /// the user.
    pub(crate) fn open(
        testbed: &Testbed,
        supplies: &mut Supplies<'_>,
        tell: &mut dyn FnMut(String),
    ) -> Result<Self, HostsError> {
        let has_machines = testbed.machines().next().is_some();
        let has_switch = has_switch(testbed);
        let mut common = Common::make(testbed, supplies.place)?;
        let (hosts, network) = if has_switch {
            let (namespaces, network) = network::make(testbed)?;
            let hosts = at_switch(testbed, namespaces, &network, supplies, &mut common, tell)?;
            (hosts, Some(network))
        } else {
            let hosts = testbed.hosts.iter().enumerate();
            let hosts = hosts.map(|(index, host)| match &host.reach {
                Reach::Local | Reach::Namespace | Reach::Vm(_) => Ok::<_, HostsError>(Host::Local),
                Reach::Ssh { destination } => {
                    let ssh = Ssh::open((index, host), destination, supplies, tell)?;
                    Ok(Host::Ssh(Box::new(ssh)))
                }
            });
            (hosts.collect::<Result<_, _>>()?, None)
        };
        Ok(Hosts {
            hosts,
            network,
            vsock: common.vsock.map(Mutex::new),
            shared: common.shared,
            // A machine is booted once, and what it is joined to lives as long.
            of_one_trial: has_switch && !has_machines && !testbed.keeps_state,
            used: false,
        })
    }

    /// The host of that number.
    pub(crate) fn get(&self, index: usize) -> Option<&Host> {
        self.hosts.get(index)
    }

    /// Whether trials run on the runner's machine alone.
    pub(crate) fn is_local_machine(&self) -> bool {
        self.hosts.iter().all(Host::is_local_machine)
    }

    /// What has cut one of them off since they were made ready, if anything has.
    pub(crate) fn trouble(&self) -> Option<FailureCause> {
        let of_vsock = || {
            let mut vsock = locked(self.vsock.as_ref()?);
            vsock.trouble()
        };
        self.hosts.iter().find_map(Host::trouble).or_else(of_vsock)
    }

    /// As [`trouble`](Self::trouble), where an agent has ended and nobody says why.
    pub(crate) fn silence(&self) -> Option<FailureCause> {
        let silent = self.hosts.iter().find_map(|host| match host {
            Host::Ssh(ssh) => ssh.silence(),
            Host::Local | Host::Namespace(_) | Host::Guest(_) => None,
        });
        silent.or_else(|| self.trouble())
    }

    /// What the virtual machines among them are made of on this machine: what each process is, and its number.
    pub(crate) fn processes(&self) -> Vec<(String, u32)> {
        let monitors = self.hosts.iter().filter_map(|host| match host {
            Host::Guest(guest) => Some((format!("monitor of {}", guest.name), guest.pid())),
            _ => None,
        });
        let of_vsock = self
            .vsock
            .as_ref()
            .and_then(|vsock| locked(vsock).process());
        monitors.chain(of_vsock).collect()
    }

    /// What memory virtual machines have, in bytes, by what [`MemoryUse`](dyno_model::record::MemoryUse) calls it: what
    /// they are made of on this machine, and what is in use within them.
    pub(crate) fn memory(&self) -> Result<Vec<(String, u64)>, String> {
        let processes = self.processes().into_iter();
        let own = processes.map(|(label, pid)| Ok((label, dyno_measure::memory_of(pid).pss)));
        let within = self.hosts.iter().filter_map(|host| match host {
            Host::Guest(guest) => Some(guest),
            _ => None,
        });
        let within = within.map(|guest| {
            let name = &guest.name;
            let used = guest.used_memory();
            let used = used.map_err(|e| format!("{name} does not say what memory it uses: {e}"))?;
            Ok((format!("within {name}"), used))
        });
        own.chain(within).collect()
    }

    /// From the start of the monitor until an agent of Dyno's answered in the machine, by stages; of the machine that
    /// took longest, where they were booted for the trial that is on them.
    pub(crate) fn boot(&self) -> Option<[Nanos; 4]> {
        let guests = self.hosts.iter().filter_map(|host| match host {
            Host::Guest(guest) => Some(guest.boot),
            _ => None,
        });
        guests.max_by_key(|stages| stages.iter().map(|s| s.0).sum::<u64>())
    }

    /// Clears the memory that they share, if they do, and divides it among the channels of a trial that lead from one
    /// host to another.
    pub(crate) fn divide_memory(&self, channels: &[String]) -> Result<(), String> {
        match &self.shared {
            Some(shared) => shared.divide(channels),
            None => Ok(()),
        }
    }

    /// Whether they were made for the trial that is on them.
    pub(crate) fn are_fresh(&self) -> bool {
        self.of_one_trial
    }

    /// What the switch dropped in front of the link to each host; empty where Dyno makes no switch.
    pub(crate) fn dropped_by_switch(&self) -> std::io::Result<Vec<u64>> {
        let dropped = self.network.as_ref().map(|n| n.dropped(self.hosts.len()));
        dropped.unwrap_or_else(|| Ok(Vec::new()))
    }

    /// What can drop the packets that a host would receive, or with `out` those that it sends.
    pub(crate) fn dropper(&self, host: usize, out: bool) -> io::Result<Dropper> {
        match (self.get(host), &self.network, out) {
            (Some(Host::Namespace(namespace)), _, false) => namespace.dropper(),
            (Some(Host::Namespace(_)), Some(network), true) => network.dropper(host),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Gives the link of a host of the testbed another rate, or its own again where there is none.
    pub(crate) fn set_rate(
        &self,
        testbed: &Testbed,
        host: usize,
        rate_bits: Option<u64>,
    ) -> Result<(), HostsError> {
        let own = testbed.hosts.get(host).and_then(|host| host.link);
        let (Some(Host::Namespace(namespace)), Some(network), Some(own)) =
            (self.get(host), &self.network, own)
        else {
            let why = "no testbed gave it one";
            return Err(HostsError::setup("give a link another rate", why));
        };
        let link = Link {
            rate_bits: rate_bits.unwrap_or(own.rate_bits),
            ..own
        };
        network.reshape(host, namespace.network(), &link)
    }

    /// Before a trial: makes hosts anew where that can be done, so that nothing of an earlier trial is in
    /// them, and all of them where one was cut off, or where the trial asks for a `reboot`.
    pub(crate) fn renew(
        &mut self,
        testbed: &Testbed,
        reboot: bool,
        supplies: &mut Supplies<'_>,
        tell: &mut dyn FnMut(String),
    ) -> Result<(), HostsError> {
        if self.trouble().is_some() || (reboot || self.of_one_trial) && self.used {
            self.hosts.clear();
            self.network = None;
            self.vsock = None;
            self.shared = None;
            *self = Hosts::open(testbed, supplies, tell)?;
        }
        self.used = true;
        Ok(())
    }

    /// After a trial: ends what is made for one trial only, so that the kernel has removed it before the
    /// next one.
    pub(crate) fn release(&mut self) {
        if self.of_one_trial {
            self.hosts.clear();
            self.network = None;
        }
    }

    /// Removes what the session left on any host.
    pub(crate) fn clear_session(&self, name: &str) {
        for host in &self.hosts {
            host.clear_session(name);
        }
    }
}
