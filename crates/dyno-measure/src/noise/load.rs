//! Who used the CPUs of a trial between two instants, beside the trial itself.

use super::kernel::{self, CpuTimes, Stat};
use super::processes::{self, Family, Process};
use super::runtime::Runtime;
use crate::clock::monotonic;
use crate::probe::interrupts;
use crate::procfile;
use dyno_model::noise::{CountedBy, HostLoad};
use dyno_model::unit::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// Processes that used less than this are not named.
const MINOR: Nanos = Nanos::from_micros(100);
/// What stands for all processes that have ended.
pub(super) const ENDED: &str = "ended processes";
/// So many of the hungriest are named.
const NAMED: usize = 3;
/// The parent of all kernel threads, and what it is called; in a container another process has its number.
const KTHREADD: (u32, &str) = (2, "kthreadd");
/// Names of kernel threads that a message can pass through, or that are kept busy by wake-ups. Those of memory and disks
/// (`kswapd0`, `khugepaged`, `jbd2/…`) are not among them: no message needs them.
const WORKERS: [&str; 9] = [
    "ksoftirqd/",
    "kworker/",
    "napi/",
    "irq/",
    "vhost-",
    "rcu",
    "ktimers/",
    "migration/",
    "cpuhp/",
];

/// The counters of the machine and of all processes at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadReading {
    at: Nanos,
    cpus: Vec<u32>,
    own: BTreeSet<u32>,
    stat: Stat,
    /// As [`kernel::irq_time`].
    irq_time: Option<bool>,
    runtime: Option<Runtime>,
    processes: BTreeMap<u32, Process>,
    /// This process's children that have ended and were waited for, such as agents.
    ended_children: Nanos,
    interrupts: u64,
    frequency_khz: BTreeMap<u32, u64>,
    throttled: Option<u64>,
}

/// Reads the counters of `cpus` and the processor time of all processes, for [`LoadReading::until_now`]. `own` are the
/// processes of the trial beside this one, which is always its own; all their descendants, such as agents and daemons, are
/// too. Takes a millisecond or so: right before the warm-up. What the kernel does not show reads as zero or empty.
pub fn read_load(cpus: &[u32], own: &[u32]) -> LoadReading {
    let own = own.iter().copied().chain([std::process::id()]).collect();
    let cpus: BTreeSet<u32> = cpus.iter().copied().collect();
    LoadReading::take(cpus.into_iter().collect(), own, Turn::CountsLast)
}

/// What is read slowly is read outside of the interval: reading is work of the trial's own, on whichever CPU.
#[derive(Clone, Copy, PartialEq)]
enum Turn {
    CountsFirst,
    CountsLast,
}

/// What takes long to read, and is compared by ticks or not at all.
struct Surroundings {
    stat: Stat,
    families: BTreeMap<u32, Family>,
    interrupts: u64,
    frequency_khz: BTreeMap<u32, u64>,
    throttled: Option<u64>,
}

impl Surroundings {
    fn read(cpus: &[u32]) -> Self {
        Surroundings {
            stat: Stat::read(),
            families: processes::families(kernel::tick()),
            interrupts: interrupts::sum(&procfile::text("/proc/interrupts"), cpus),
            frequency_khz: kernel::frequencies(cpus),
            throttled: kernel::throttled(cpus),
        }
    }
}

/// A process that is not the trial's, and what it used.
struct Other {
    name: String,
    used: Nanos,
    /// Which part of the CPUs that it may use are the trial's.
    here: f64,
}

impl LoadReading {
    fn take(cpus: Vec<u32>, own: BTreeSet<u32>, turn: Turn) -> LoadReading {
        let early = (turn == Turn::CountsLast).then(|| Surroundings::read(&cpus));
        // What must agree is read together.
        let (mut at, mut times, mut ended_children) = Default::default();
        let runtime = Runtime::read(&cpus, || {
            at = monotonic();
            ended_children = processes::ended_children();
            times = processes::times();
        });
        let around = early.unwrap_or_else(|| Surroundings::read(&cpus));
        LoadReading {
            at,
            cpus,
            own,
            stat: around.stat,
            irq_time: kernel::irq_time(),
            runtime,
            processes: processes::joined(times, &around.families),
            ended_children,
            interrupts: around.interrupts,
            frequency_khz: around.frequency_khz,
            throttled: around.throttled,
        }
    }

    /// What happened since this reading; right after the window.
    pub fn until_now(&self) -> HostLoad {
        let later = LoadReading::take(self.cpus.clone(), self.own.clone(), Turn::CountsFirst);
        self.until(&later)
    }

    fn until(&self, later: &LoadReading) -> HostLoad {
        self.until_by(later, processes::thread_cpus)
    }

    /// What happened from this reading until `later`; `sets` are those of [`processes::thread_cpus`].
    ///
    /// `foreign` is exact where the scheduler counts what ran on each CPU: that, less what the trial's processes and kernel
    /// threads used. Where these may also have run on other CPUs, all of their time is taken off, so that `foreign` says too
    /// little rather than too much; nothing is taken off of processes that may run on other CPUs only. It is never less
    /// than the time of other processes that can have run nowhere else. Neither the trial's speed nor how it waits is in it.
    /// `hungriest` may hold `ended processes`, all together.
    fn until_by(
        &self,
        later: &LoadReading,
        sets: impl Fn(u32) -> Option<BTreeSet<Vec<u32>>>,
    ) -> HostLoad {
        let own_pids = processes::with_descendants(
            &self.own | &later.own,
            [&self.processes, &later.processes],
        );
        let used = processes::used(&self.processes, &later.processes);
        let (own, others): (Vec<_>, Vec<_>) = used
            .into_iter()
            .partition(|(pid, _)| own_pids.contains(pid));
        let of_all = self.stat.cpus.keys();
        let part = of_all.clone().filter(|cpu| self.cpus.contains(cpu)).count() as f64;
        let part = part / of_all.count().max(1) as f64;
        let own = self.own_here(&own, sets) + self.own_ended_since(later).0;

        let sees_kernel = processes::name(KTHREADD.0) == KTHREADD.1;
        let parent = |pid: &u32| later.processes.get(pid).map(|p| p.family.parent);
        let is_kernel = |pid: &u32| sees_kernel && parent(pid) == Some(KTHREADD.0);
        let (workers, others): (Vec<_>, Vec<_>) = others
            .into_iter()
            .filter(|(pid, used)| *used >= MINOR || (is_kernel(pid) && *used > Nanos::ZERO))
            .map(|(pid, used)| {
                let here = match part {
                    1.0 => 1.0,
                    _ => processes::part_on(pid, &self.cpus),
                };
                let name = processes::name(pid);
                let works = is_kernel(&pid) && WORKERS.iter().any(|w| name.starts_with(w));
                (works, Other { name, used, here })
            })
            .partition(|(works, _)| *works);
        let workers = workers.iter().map(|(_, other)| other);
        let kernel: u64 = workers.filter(|o| o.here > 0.0).map(|o| o.used.0).sum();
        let mut others: Vec<Other> = others.into_iter().map(|(_, other)| other).collect();
        let tick = kernel::tick();
        let ended = processes::used_by_ended(&self.processes, &later.processes, &own_pids, tick);
        if ended >= MINOR {
            others.push(Other {
                name: ENDED.into(),
                used: ended,
                here: part,
            });
        }
        others.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.name.cmp(&b.name)));
        let ran = self.ran_until(later);
        // Those that can have run nowhere else; without a count also a part of the time of all others.
        let least = others.iter().filter(|o| ran.is_none() || o.here == 1.0);
        let least = least.map(|o| (o.used.0 as f64 * o.here) as u64).sum();
        let counted = ran.map(|(_, ran)| ran.saturating_sub(Nanos(own + kernel)));
        HostLoad {
            wall: later.at.saturating_sub(self.at),
            cpus: self.cpus.clone(),
            stolen: Nanos(self.sum_until(later, |t| t.stolen)),
            foreign: Nanos(least).max(counted.unwrap_or_default()),
            counted_by: ran.map(|(by, _)| by),
            kernel: sees_kernel.then_some(Nanos(kernel)),
            idle: Some(Nanos(self.sum_until(later, |t| t.idle))),
            hungriest: others
                .into_iter()
                .filter(|o| o.used >= MINOR)
                .take(NAMED)
                .map(|o| (o.name, o.used))
                .collect(),
            interrupts: later.interrupts.saturating_sub(self.interrupts),
            context_switches: {
                let (from, to) = (self.stat.context_switches, later.stat.context_switches);
                to.saturating_sub(from)
            },
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

    /// What the trial's processes may have used on these CPUs. A process that may run on others only, such as a daemon on CPUs
    /// of its own, used nothing here.
    fn own_here(
        &self,
        own: &[(u32, Nanos)],
        sets: impl Fn(u32) -> Option<BTreeSet<Vec<u32>>>,
    ) -> u64 {
        let is_ours = |cpu: &u32| self.cpus.contains(cpu);
        let are_all = self.stat.cpus.keys().all(is_ours);
        let is_elsewhere = |sets: BTreeSet<Vec<u32>>| !sets.iter().flatten().any(is_ours);
        let is_here = |pid: u32| are_all || !sets(pid).is_some_and(is_elsewhere);
        let here = own.iter().filter(|(pid, _)| is_here(*pid));
        here.map(|(_, used)| used.0).sum()
    }

    /// What ran on the CPUs, and who counted it. The clocks of processes leave out what a hypervisor stole from a running
    /// thread and, where the kernel counts that apart, what interrupts did; `/proc/schedstat` does not, so all of both
    /// is taken off there, also where nobody knows.
    fn ran_until(&self, later: &LoadReading) -> Option<(CountedBy, Nanos)> {
        let (from, to) = (self.runtime.as_ref()?, later.runtime.as_ref()?);
        let ran = from.until(to)?;
        let apart = |t: &CpuTimes| match self.irq_time {
            Some(false) => t.stolen,
            _ => Nanos(t.stolen.0 + t.irq.0 + t.softirq.0),
        };
        let ran = match to.by {
            CountedBy::Cpuacct => ran,
            CountedBy::Schedstat => ran.saturating_sub(Nanos(self.sum_until(later, apart))),
        };
        Some((to.by, ran))
    }

    /// Processor time of the trial's processes that this process has waited for since: their whole
    /// time is among that of its ended children now, of which some was before this reading.
    fn own_ended_since(&self, later: &LoadReading) -> Nanos {
        let me = std::process::id();
        let before: u64 = self
            .processes
            .iter()
            .filter(|(pid, process)| {
                process.family.parent == me && !later.processes.contains_key(pid)
            })
            .map(|(_, process)| process.time.0)
            .sum();
        later
            .ended_children
            .saturating_sub(self.ended_children)
            .saturating_sub(Nanos(before))
    }

    /// Nanoseconds of one kind on the CPUs of the trial, in whole ticks.
    fn sum_until(&self, later: &LoadReading, kind: impl Fn(&CpuTimes) -> Nanos) -> u64 {
        let grown = |cpu| {
            let (from, to) = (self.stat.cpus.get(cpu)?, later.stat.cpus.get(cpu)?);
            Some(kind(to).saturating_sub(kind(from)).0)
        };
        self.cpus.iter().filter_map(grown).sum()
    }
}

#[cfg(test)]
mod tests;
