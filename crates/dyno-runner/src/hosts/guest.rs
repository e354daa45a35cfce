//! A host that is a virtual machine: booted for the run, and again where it was lost.

use super::keeper::Keeper;
use super::supplies::Supplies;
use crate::agent::AgentCommand;
use crate::error::{HostsError, MachineError};
use crate::machine::{Common, Console, Devices, Kernel, Monitor, SharedMemory};
use crate::network::namespace::NetworkNamespace;
use crate::network::{PREFIX, ROUTE};
use dyno_measure::NetworkReading;
use dyno_model::cause::FailureCause;
use dyno_model::machine::Machine;
use dyno_model::{Nanos, plan};
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a machine may take until it answers: emulated, on a machine that is busy.
const BOOT: Duration = Duration::from_secs(120);
/// How often a machine is looked at that is to answer.
const LOOK: Duration = Duration::from_millis(2);
/// How long the keeper may take for an answer: emulated as well, beside others who spin.
const ANSWER: Duration = Duration::from_secs(60);

/// A machine that is up.
pub(crate) struct Guest {
    pub(crate) name: String,
    /// How long its start took: until its kernel's clock began, until its first process, until that was set up; and,
    /// from when an agent was started there, until it answered. Where several machines boot at once, that agent may
    /// have been started later, and the time between is part of none.
    pub(crate) boot: [Nanos; 4],
    /// The programs here, and what they are called there.
    programs: BTreeMap<PathBuf, PathBuf>,
    console: Console,
    keeper: Mutex<Keeper>,
    /// Last: the keeper is asked to end while the machine lives.
    monitor: Mutex<Monitor>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A machine that was started and has not answered yet.
pub(super) struct Booting {
    name: String,
    programs: BTreeMap<PathBuf, PathBuf>,
    console: Console,
    monitor: Monitor,
    began: Instant,
}

impl Booting {
    /// Starts the machine of `host`, whose device at the switch is `tap`, the `number`th one.
    pub(super) fn start(
        host: &plan::Host,
        machine: &Machine,
        (switch, tap, number): (&NetworkNamespace, &str, usize),
        supplies: &mut Supplies<'_>,
        common: &mut Common,
    ) -> Result<Self, HostsError> {
        let (vsock, peers) = match &mut common.vsock {
            Some(vsock) => (vsock.device(&host.address)?, vsock.peers_of(&host.address)),
            None => (None, String::new()),
        };
        let shared = common.shared.as_ref().map(SharedMemory::copy);
        let devices = Devices {
            vsock,
            shared: shared.transpose()?,
        };
        let kernel = Kernel::find(&host.name, machine)?;
        let own = supplies.agents.first().map(|a| a.program.clone());
        let image = supplies.image(&kernel)?;
        let programs = image.programs.clone();
        let failed = |e: std::io::Error| MachineError::Boot {
            host: host.name.clone(),
            reason: format!("its port cannot be made: {e}"),
        };
        let (port, theirs) = UnixStream::pair().map_err(failed)?;
        let began = Instant::now();
        let at = (switch, tap, number);
        let monitor = Monitor::start(&host.name, machine, &kernel, image, at, theirs, devices)?;
        let console = Console::new(port, &own.unwrap_or_default()).map_err(failed)?;
        let address = &host.address;
        let network = format!(
            "link set lo up\naddress add {address}/{PREFIX} dev eth0\nlink set eth0 up\n{ROUTE}"
        );
        console
            .set_up(&host.name, address, network, peers)
            .map_err(failed)?;
        Ok(Booting {
            name: host.name.clone(),
            programs,
            console,
            monitor,
            began,
        })
    }

    /// Waits until it answers.
    pub(super) fn finish(
        mut self,
        supplies: &Supplies<'_>,
        tell: &mut dyn FnMut(String),
    ) -> Result<Guest, HostsError> {
        let failed = |reason: String| MachineError::Boot {
            host: self.name.clone(),
            reason,
        };
        let (arrived, hello) = loop {
            if let Some(found) = self.console.hello() {
                break found;
            }
            if supplies.interrupt.load(Ordering::Relaxed) {
                return Err(MachineError::Interrupted.into());
            }
            if let Some(end) = self.monitor.ended() {
                return Err(failed(end).into());
            }
            if self.began.elapsed() > BOOT {
                let words = self.monitor.last_words();
                let within = BOOT.as_secs();
                return Err(failed(format!("no answer within {within} s{words}")).into());
            }
            std::thread::sleep(LOOK);
        };
        let heard = Nanos::from(arrived.saturating_duration_since(self.began));
        let own = supplies.agents.first();
        let program = own.and_then(|agent| self.programs.get(&agent.program));
        let program = program.cloned().unwrap_or_default();
        let command = self.console.command(&program, &["agent", "--keep"]);
        let command = command.map_err(|e| failed(format!("no way into it: {e}")))?;
        let asked = Instant::now();
        let keeper = Keeper::start(command, &self.name, supplies.interrupt, tell)?;
        let agent = Nanos::from(asked.elapsed());
        let [init, ready] = [hello.init_ns, hello.ready_ns].map(Nanos);
        let boot = [
            heard.saturating_sub(ready),
            init,
            ready.saturating_sub(init),
            agent,
        ];
        Ok(Guest {
            name: self.name,
            boot,
            programs: self.programs,
            console: self.console,
            keeper: Mutex::new(keeper),
            monitor: Mutex::new(self.monitor),
        })
    }
}

/// A machine that answers no more is looked at so often, to see whether it has ended: what was killed frees its memory
/// first, for seconds where others keep the CPUs busy.
const LOOKS: u32 = 5_000;

impl Guest {
    /// The command of a process here that stands for an agent there.
    pub(crate) fn command(&self, agent: &AgentCommand) -> Result<Command, HostsError> {
        let program = self.programs.get(&agent.program);
        let program = program.map_or(Path::new(""), PathBuf::as_path);
        let command = self.console.command(program, &["agent"]);
        command.map_err(|e| HostsError::setup(format!("start an agent on {}", self.name), e))
    }

    /// Makes the session's directory there.
    pub(crate) fn prepare_session(&self, session: &str) -> Result<PathBuf, String> {
        let answer = locked(&self.keeper).ask(&format!("open {session}"), ANSWER);
        answer.map(PathBuf::from)
    }

    /// Removes what the session left there. Its processes end with those that stand for them here.
    pub(crate) fn clear_session(&self, session: &str) {
        let mut keeper = locked(&self.keeper);
        if keeper.ask(&format!("clear {session}"), ANSWER).is_err() {
            // The next trial is to find a machine that works, or none.
            keeper.stop();
        }
    }

    /// What its network has counted and holds.
    pub(crate) fn read_network(&self) -> Result<NetworkReading, String> {
        let answer = locked(&self.keeper).ask("network", ANSWER)?;
        serde_json::from_str(&answer).map_err(|e| format!("{answer:?}: {e}"))
    }

    /// The bytes of memory that its kernel cannot give away.
    pub(crate) fn used_memory(&self) -> Result<u64, String> {
        let answer = locked(&self.keeper).ask("memory", ANSWER)?;
        answer.parse().map_err(|e| format!("{answer:?}: {e}"))
    }

    /// The number of its monitor's process.
    pub(crate) fn pid(&self) -> u32 {
        locked(&self.monitor).pid()
    }

    /// Why it cannot be used any more.
    pub(crate) fn trouble(&self) -> Option<FailureCause> {
        let machine = self.name.clone();
        let gone = || {
            let said = locked(&self.monitor).ended()?;
            let machine = machine.clone();
            Some(FailureCause::MachineGone { machine, said })
        };
        if let Some(gone) = gone() {
            return Some(gone);
        }
        let mut keeper = locked(&self.keeper);
        // An agent may have lost its connection before the keeper has, so that it is asked.
        let lost = match keeper.lost() {
            Some(lost) => lost,
            None => keeper.ask("network", ANSWER).err()?,
        };
        drop(keeper);
        // What was killed closes its files some time before it can be waited for.
        for _ in 0..LOOKS {
            std::thread::sleep(LOOK);
            if let Some(gone) = gone() {
                return Some(gone);
            }
        }
        let error = lost;
        Some(FailureCause::MachineSilent { machine, error })
    }
}
