//! What the machine itself did to a trial: gaps before it, foreign load during it, and where its
//! participants ran.

use crate::unit::{HdrText, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The time that one CPU lost while a thread on it only read the clock (a spin-gap probe). A gap is
/// the time between two readings that is too long for the loop itself: an interrupt, another thread,
/// the hypervisor.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CpuGaps {
    /// The CPU.
    pub cpu: u32,
    /// How long it was watched.
    pub watched: Nanos,
    /// Number of gaps.
    pub count: u64,
    /// The longest of them; zero without any.
    pub longest: Nanos,
    /// All of them together.
    pub lost: Nanos,
    /// Their lengths in nanoseconds.
    pub lengths: HdrText,
}

/// Who counted how long threads ran on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CountedBy {
    /// `cpuacct.usage_percpu` of the root control group, version 1.
    Cpuacct,
    /// `/proc/schedstat`.
    Schedstat,
}

/// What the kernel's counters say of an interval.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HostLoad {
    /// Length of the interval.
    pub wall: Nanos,
    /// The CPUs that the counters are of: those that the trial uses.
    pub cpus: Vec<u32>,
    /// Time that the hypervisor gave to others, all `cpus` together, in the kernel's ticks.
    pub stolen: Nanos,
    /// Time that threads of others ran on `cpus`: neither the trial's own, nor what `kernel` is of. In runs of before
    /// `counted_by` it was unexplained busy time, interrupts included.
    pub foreign: Nanos,
    /// Which count of the scheduler `foreign` is from. Without one it is the time of other processes, shared out evenly over
    /// the CPUs that each may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_by: Option<CountedBy>,
    /// Time of kernel threads that work off messages (softirqs, workers, vhost) and may have run on `cpus`. It is the
    /// trial's own or a stranger's; nobody knows whose. `None` where kernel threads are not in sight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Nanos>,
    /// Time that `cpus` had nothing to do, all together, in the kernel's ticks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Nanos>,
    /// Processes that are neither the trial's agents nor its runner, nor in `kernel`, with the processor time that
    /// they used anywhere on the machine, the hungriest first, at most three.
    pub hungriest: Vec<(String, Nanos)>,
    /// Interrupts on `cpus`.
    pub interrupts: u64,
    /// Context switches of the whole machine.
    pub context_switches: u64,
    /// Frequency in kHz by CPU, at the start and at the end; empty where the kernel shows none.
    pub frequency_khz: BTreeMap<u32, (u64, u64)>,
    /// Times that a CPU was slowed for heat; `None` where the kernel does not count.
    pub throttled: Option<u64>,
}

impl HostLoad {
    /// Time of others as a share of what `cpus` could give, 0 to 1.
    pub fn foreign_share(&self) -> f64 {
        self.share(self.foreign)
    }
    /// `kernel` as a share of what `cpus` could give, 0 to 1.
    pub fn kernel_share(&self) -> Option<f64> {
        self.kernel.map(|time| self.share(time))
    }
    /// Time in which `cpus` had something to do, stolen time included; all of it where idle time is not known.
    pub fn wanted(&self) -> Nanos {
        let all = self.wall.0.saturating_mul(self.cpus.len() as u64);
        Nanos(all.saturating_sub(self.idle.map_or(0, |idle| idle.0)))
    }
    /// Stolen time as a share of what `cpus` could give, 0 to 1.
    pub fn stolen_share(&self) -> f64 {
        self.share(self.stolen)
    }
    fn share(&self, part: Nanos) -> f64 {
        let all = self.wall.as_secs_f64() * self.cpus.len() as f64;
        if all > 0.0 {
            part.as_secs_f64() / all
        } else {
            0.0
        }
    }
}

/// The activity of the machine when nothing of a run is active: the yardstick for disturbed trials.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BareMachine {
    /// Gaps by CPU.
    pub gaps: Vec<CpuGaps>,
    /// Counters of the same interval, the probe's own time taken out.
    pub load: HostLoad,
}

/// The host's part in one trial.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HostNoise {
    /// Spin-gap probe of the CPUs used, just before the trial.
    pub gaps: Vec<CpuGaps>,
    /// One round trip of a bare cache line between the CPU of the first sender and that of the first
    /// receiver just before the trial, in nanoseconds (median); `None` where the trial is not pinned
    /// or both share a CPU. It shows when a hypervisor moves virtual CPUs.
    pub line_ns: Option<f64>,
    /// Counters from the start of the window to its end; `None` where the trial failed before.
    pub window: Option<HostLoad>,
}

/// A participant was on this CPU from an instant on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The participant.
    pub participant: u16,
    /// Since when, counted from the start of the window.
    pub since: Nanos,
    /// The CPU.
    pub cpu: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_counted_is_read_as_it_is_written_and_absent_from_older_records() {
        let load = HostLoad {
            wall: Nanos(10),
            cpus: vec![0, 1],
            counted_by: Some(CountedBy::Schedstat),
            kernel: Some(Nanos(5)),
            idle: Some(Nanos(8)),
            ..HostLoad::default()
        };
        let text = serde_json::to_string(&load).unwrap();
        assert!(
            text.contains(r#""counted_by":"schedstat","kernel":5,"idle":8"#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<HostLoad>(&text).unwrap(), load);
        assert_eq!(
            (load.wanted(), load.kernel_share()),
            (Nanos(12), Some(0.25))
        );
        let old = HostLoad {
            counted_by: None,
            kernel: None,
            idle: None,
            ..load
        };
        let text = serde_json::to_string(&old).unwrap();
        assert!(!text.contains("kernel") && !text.contains("idle"), "{text}");
        assert_eq!(serde_json::from_str::<HostLoad>(&text).unwrap(), old);
        assert_eq!((old.wanted(), old.kernel_share()), (Nanos(20), None));
    }
}
