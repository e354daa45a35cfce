//! What a trial costs beside its agents: its daemons, the machines that it runs in, and all that the host does.

use crate::daemon::Daemon;
use dyno_measure::{Clock, HostMeter, LEAD_IN, Meter, Used};
use dyno_model::Nanos;
use dyno_model::record::{CpuInterrupts, ProcessCost};
use std::thread::JoinHandle;

/// Meters whose first reading may lie ahead.
pub(crate) enum Metering {
    Begun(Meters),
    Coming(JoinHandle<Meters>),
}

impl Metering {
    pub(crate) fn begun(self) -> Meters {
        match self {
            Metering::Begun(meters) => meters,
            Metering::Coming(thread) => match thread.join() {
                Ok(meters) => meters,
                Err(panic) => std::panic::resume_unwind(panic),
            },
        }
    }
}

/// What the daemons of a trial and the whole host use, read by the runner: once before the window, then again and
/// again from its end until the last message has arrived.
pub(crate) struct Meters {
    clock: Clock,
    daemons: Vec<(u32, Meter)>,
    /// Processes that virtual machines are made of, by what they are called.
    machines: Vec<(String, (u32, Meter))>,
    /// Whether somebody in them polls for messages.
    polls: bool,
    /// Not where the trial runs on other machines.
    host: Option<HostMeter>,
    /// Until when the first reading could be taken, where it was not in time; then nothing is known.
    late: Option<Nanos>,
}

impl Meters {
    pub(crate) fn new(
        clock: Clock,
        pids: &[u32],
        machines: Vec<(String, u32)>,
        polls: bool,
        host: bool,
    ) -> Meters {
        let machines = machines.into_iter();
        Meters {
            clock,
            daemons: pids.iter().map(|pid| (*pid, Meter::default())).collect(),
            machines: machines
                .map(|(label, pid)| (label, (pid, Meter::default())))
                .collect(),
            polls,
            host: host.then(HostMeter::default),
            late: None,
        }
    }

    /// Takes the first reading now.
    pub(crate) fn begin(mut self) -> Metering {
        self.note();
        Metering::Begun(self)
    }

    /// Takes the first reading shortly before the run's clock passes `window`, and none after that.
    pub(crate) fn begin_before(mut self, window: Nanos) -> Metering {
        Metering::Coming(std::thread::spawn(move || {
            let left = window
                .saturating_sub(LEAD_IN)
                .saturating_sub(self.clock.now());
            std::thread::sleep(left.into());
            self.note();
            self.late =
                Some(self.clock.now().saturating_sub(window)).filter(|late| *late > Nanos::ZERO);
            self
        }))
    }

    /// How much too late the first reading was, where it was.
    pub(crate) fn late(&self) -> Option<Nanos> {
        self.late
    }

    /// Takes a reading.
    pub(crate) fn note(&mut self) {
        let machines = self.machines.iter_mut().map(|(_, metered)| metered);
        for (pid, meter) in self.daemons.iter_mut().chain(machines) {
            // One that has ended fails the trial elsewhere.
            if let Ok(usage) = dyno_measure::usage_of(self.clock, *pid) {
                meter.note(usage);
            }
        }
        if let Some(host) = &mut self.host {
            host.note(self.clock);
        }
    }

    /// What each of `daemons` used from the first reading until `last`.
    pub(crate) fn costs(&self, daemons: &[Daemon], last: Nanos) -> Vec<ProcessCost> {
        let cost = |(daemon, (pid, meter)): (&Daemon, &(u32, Meter))| {
            // A daemon works for messages, whoever polls for them.
            let cost = meter.cost_until(last, used(daemon.label(), *pid, false))?;
            Some(ProcessCost {
                daemon: true,
                ..cost
            })
        };
        daemons.iter().zip(&self.daemons).filter_map(cost).collect()
    }

    /// What virtual machines used, as [`costs`](Meters::costs).
    pub(crate) fn of_machines(&self, last: Nanos) -> Vec<ProcessCost> {
        let cost = |(label, (pid, meter)): &(String, (u32, Meter))| {
            meter.cost_until(last, used(label, *pid, self.polls))
        };
        self.machines.iter().filter_map(cost).collect()
    }

    /// The time in which the CPUs of this machine worked, for whomever, from the first reading until `last`.
    pub(crate) fn host_cpu(&self, last: Nanos) -> Option<Nanos> {
        self.host.as_ref()?.busy_until(last)
    }

    /// The time that its CPUs spent in interrupts, where the kernel counts that apart.
    pub(crate) fn interrupts(&self, last: Nanos) -> Vec<CpuInterrupts> {
        let host = self.host.as_ref();
        host.map_or_else(Vec::new, |host| host.interrupts_until(last))
    }
}

fn used(label: &str, pid: u32, polls: bool) -> Used {
    Used {
        label: label.to_owned(),
        memory: dyno_measure::memory_of(pid),
        polls,
        ..Used::default()
    }
}
