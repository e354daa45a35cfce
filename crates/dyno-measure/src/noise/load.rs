//! Who used the CPUs of a trial between two instants, beside the trial itself.

use super::kernel::{self, CpuTimes, Stat};
use super::processes::{self, Process};
use crate::clock::monotonic;
use crate::probe::interrupts;
use crate::procfile;
use dyno_model::noise::HostLoad;
use dyno_model::unit::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// Processes that used less than this are not looked at more closely.
const MINOR: Nanos = Nanos::from_micros(100);
/// What the kernel spends on a context switch outside of any process, taken high: 0.9 µs in a guest
/// on Zen 5 whose two CPUs woke each other 90,000 times a second.
const SWITCH: Nanos = Nanos::from_micros(2);
/// What stands for all processes that have ended.
pub(super) const ENDED: &str = "ended processes";
/// So many of the hungriest are named.
const NAMED: usize = 3;

/// The counters of the machine and of all processes at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadReading {
    at: Nanos,
    cpus: Vec<u32>,
    own: BTreeSet<u32>,
    stat: Stat,
    /// Whether [`CpuTimes::idle`] is measured; else it is guessed at every tick.
    idle_is_measured: bool,
    processes: BTreeMap<u32, Process>,
    /// This process's children that have ended and were waited for, such as agents.
    ended_children: Nanos,
    interrupts: u64,
    frequency_khz: BTreeMap<u32, u64>,
    throttled: Option<u64>,
}

/// Reads the counters of `cpus` and the processor time of all processes. `own` are the processes of
/// the trial beside this one, which is always its own; all their descendants, such as agents and
/// daemons, are too. Takes a millisecond or so: right before the
/// warm-up and right after the window, with the same `cpus` and `own`. What the kernel does not show
/// reads as zero or empty.
pub fn read_load(cpus: &[u32], own: &[u32]) -> LoadReading {
    let cpus: BTreeSet<u32> = cpus.iter().copied().collect();
    let cpus: Vec<u32> = cpus.into_iter().collect();
    let frequency_khz = kernel::frequencies(&cpus);
    let throttled = kernel::throttled(&cpus);
    let interrupts = interrupts::sum(&procfile::text("/proc/interrupts"), &cpus);
    // What must agree is read last and together.
    let at = monotonic();
    let stat = Stat::read();
    let processes = processes::processes(kernel::tick());
    LoadReading {
        at,
        cpus,
        own: own.iter().copied().chain([std::process::id()]).collect(),
        stat,
        idle_is_measured: kernel::idle_is_measured(),
        processes,
        ended_children: processes::ended_children(),
        interrupts,
        frequency_khz,
        throttled,
    }
}

/// A process that is not the trial's, and what it used.
struct Other {
    name: String,
    used: Nanos,
    /// It cannot have run anywhere but on the CPUs of the trial.
    here: bool,
}

impl LoadReading {
    /// What happened from this reading until `later`.
    ///
    /// `foreign` is a cautious figure, the larger of two that rarely say too much. One is the time of those
    /// other processes that cannot have run elsewhere: exact, but for those that have ended. The other
    /// is unexplained time, which has interrupts too, but is rounded to the
    /// kernel's ticks. `ksoftirqd` is in neither: it works off the trial's own messages. `hungriest` may
    /// hold `ended processes`, all together.
    pub fn until(&self, later: &LoadReading) -> HostLoad {
        let own_pids = processes::with_descendants(
            &self.own | &later.own,
            [&self.processes, &later.processes],
        );
        let used = processes::used(&self.processes, &later.processes);
        let (own, others): (Vec<_>, Vec<_>) = used
            .into_iter()
            .partition(|(pid, _)| own_pids.contains(pid));
        let own: u64 = own.iter().map(|(_, used)| used.0).sum();
        let own = own + self.own_ended_since(later).0;

        let everywhere = self.stat.cpus.keys().all(|cpu| self.cpus.contains(cpu));
        let (softirq, mut others): (Vec<_>, Vec<_>) = others
            .into_iter()
            .filter(|(_, used)| *used >= MINOR)
            .map(|(pid, used)| Other {
                name: processes::name(pid),
                used,
                here: everywhere || processes::is_bound_to(pid, &self.cpus),
            })
            .partition(|other| other.name.starts_with("ksoftirqd/"));
        let tick = kernel::tick();
        let ended = processes::used_by_ended(&self.processes, &later.processes, &own_pids, tick);
        if ended >= MINOR {
            others.push(Other {
                name: ENDED.into(),
                used: ended,
                here: everywhere,
            });
        }
        others.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.name.cmp(&b.name)));
        let sum = |some: &[Other]| -> u64 {
            let here = some.iter().filter(|o| o.here);
            here.map(|o| o.used.0).sum()
        };
        let unexplained = self.unexplained(later, Nanos(own + sum(&softirq)));
        HostLoad {
            wall: later.at.saturating_sub(self.at),
            cpus: self.cpus.clone(),
            stolen: Nanos(self.sum_until(later, |t| t.stolen)),
            foreign: unexplained.max(Nanos(sum(&others))),
            hungriest: others
                .into_iter()
                .take(NAMED)
                .map(|o| (o.name, o.used))
                .collect(),
            interrupts: later.interrupts.saturating_sub(self.interrupts),
            context_switches: self.switches_until(later),
            frequency_khz: self
                .frequency_khz
                .iter()
                .filter_map(|(cpu, &from)| Some((*cpu, (from, *later.frequency_khz.get(cpu)?))))
                .collect(),
            throttled: match (self.throttled, later.throttled) {
                (Some(from), Some(to)) => Some(to.saturating_sub(from)),
                _ => None,
            },
        }
    }

    /// Time in which the CPUs were neither idle nor stolen nor working for `explained`, less what the
    /// reading itself may be wrong by.
    ///
    /// It starts from idle time, not from busy time. The kernel measures when a CPU goes idle and
    /// comes back, and only rounds the sum to ticks; busy time it guesses from who runs when the
    /// timer ticks, which was 40 % too little for an exchange that blocks. What is taken off: a tick
    /// times the root of the number of figures that were rounded (rounding both ends of each is off by
    /// 0.41 ticks in the root mean square, so this is 2.4 of these), and [`SWITCH`] for each context
    /// switch, which the kernel spends between idling and a process and charges to neither.
    fn unexplained(&self, later: &LoadReading, explained: Nanos) -> Nanos {
        if !self.idle_is_measured {
            return Nanos::ZERO;
        }
        let wall = later.at.saturating_sub(self.at).0;
        let away = self.sum_until(later, |t| Nanos(t.idle.0 + t.stolen.0));
        // A CPU that never idled, or that nobody ever stole from, has nothing to be rounded.
        let rested = self
            .each_until(later, |t| t.idle)
            .filter(|&t| t > 0)
            .count();
        let robbed = |cpu: &&u32| later.stat.cpus.get(cpu).is_some_and(|t| t.stolen.0 > 0);
        let rounded = rested + self.cpus.iter().filter(robbed).count();
        let rounding = (kernel::tick().0 as f64 * (rounded as f64).sqrt()) as u64;
        let switching = self.switches_until(later).saturating_mul(SWITCH.0);
        let busy = (wall * self.cpus.len() as u64).saturating_sub(away);
        Nanos(busy.saturating_sub(explained.0 + rounding + switching))
    }

    /// Processor time of the trial's processes that this process has waited for since: their whole
    /// time is among that of its ended children now, of which some was before this reading.
    fn own_ended_since(&self, later: &LoadReading) -> Nanos {
        let me = std::process::id();
        let before: u64 = self
            .processes
            .iter()
            .filter(|(pid, process)| process.parent == me && !later.processes.contains_key(pid))
            .map(|(_, process)| process.time.0)
            .sum();
        later
            .ended_children
            .saturating_sub(self.ended_children)
            .saturating_sub(Nanos(before))
    }

    fn switches_until(&self, later: &LoadReading) -> u64 {
        let (from, to) = (self.stat.context_switches, later.stat.context_switches);
        to.saturating_sub(from)
    }

    /// Nanoseconds of one kind on each CPU of the trial, in whole ticks.
    fn each_until(
        &self,
        later: &LoadReading,
        kind: impl Fn(&CpuTimes) -> Nanos,
    ) -> impl Iterator<Item = u64> {
        self.cpus.iter().filter_map(move |cpu| {
            let (from, to) = (self.stat.cpus.get(cpu)?, later.stat.cpus.get(cpu)?);
            Some(kind(to).saturating_sub(kind(from)).0)
        })
    }

    fn sum_until(&self, later: &LoadReading, kind: impl Fn(&CpuTimes) -> Nanos) -> u64 {
        self.each_until(later, kind).sum()
    }
}

#[cfg(test)]
mod tests;
