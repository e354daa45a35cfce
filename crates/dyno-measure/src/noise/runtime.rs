//! How long threads ran on each CPU since boot, whosever they were, as the scheduler counts it in nanoseconds at every
//! switch. Nothing is read or switched on between two readings, so counting costs the window nothing.

use super::kernel;
use crate::procfile;
use dyno_model::noise::CountedBy;
use dyno_model::unit::Nanos;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

const CPUACCT: &str = "/sys/fs/cgroup/cpuacct";
const SCHEDSTAT: &str = "/proc/schedstat";
/// How long a thread may wait for its turn on a CPU. A real-time thread that spins gives it none.
const PATIENCE: Duration = Duration::from_millis(50);

/// Runtime of all threads by CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Runtime {
    pub(super) by: CountedBy,
    pub(super) on: BTreeMap<u32, Nanos>,
}

impl Runtime {
    /// The runtime on each of `cpus`; `None` where the kernel does not tell that of all of them. `just_before` reads what is
    /// to be compared with it. The time of a thread that runs on and on is brought up to date at ticks, for all counts at
    /// once: microseconds later a tick is unlikely to have come between.
    pub(super) fn read(cpus: &[u32], just_before: impl FnOnce()) -> Option<Runtime> {
        let root = Path::new(CPUACCT);
        if speaks_for_all(root) {
            just_before();
            return chosen(CountedBy::Cpuacct, &cpuacct(root), cpus);
        }
        // This count has a thread's time only once another has followed it: let one follow on each CPU.
        let is_there = Path::new(SCHEDSTAT).exists();
        let counts = is_there && switched(cpus).len() == cpus.len();
        just_before();
        let on = counts.then(|| schedstat(&procfile::text(SCHEDSTAT)));
        chosen(CountedBy::Schedstat, &on?, cpus)
    }

    /// What ran on all these CPUs from this reading until `later`; `None` where they were read from different sources.
    pub(super) fn until(&self, later: &Runtime) -> Option<Nanos> {
        let grown = self.on.iter().map(|(cpu, from)| {
            let to = later.on.get(cpu)?;
            Some(to.saturating_sub(*from).0)
        });
        (self.by == later.by)
            .then(|| grown.sum::<Option<u64>>().map(Nanos))
            .flatten()
    }
}

fn chosen(by: CountedBy, on: &BTreeMap<u32, Nanos>, cpus: &[u32]) -> Option<Runtime> {
    let on = cpus.iter().map(|cpu| Some((*cpu, *on.get(cpu)?)));
    Some(Runtime {
        by,
        on: on.collect::<Option<_>>()?,
    })
}

/// Whether a control group of `cpuacct`, version 1, has the time of all processes, not only of a container's: the root of
/// the hierarchy does, and only the root has a `release_agent`.
fn speaks_for_all(group: &Path) -> bool {
    group.join("release_agent").exists()
}

/// Documentation/admin-guide/cgroup-v1/cpuacct.rst: one number of nanoseconds for each possible CPU.
fn cpuacct(group: &Path) -> BTreeMap<u32, Nanos> {
    let text = procfile::text(group.join("cpuacct.usage_percpu"));
    let times = text
        .split_whitespace()
        .map_while(|n| n.parse().ok().map(Nanos));
    kernel::possible().into_iter().zip(times).collect()
}

/// The seventh number of each CPU of `/proc/schedstat` (Documentation/scheduler/sched-stats.rst, versions 14 to 17): the
/// time that threads ran, in nanoseconds. It is counted also where `kernel.sched_schedstats` is 0.
fn schedstat(text: &str) -> BTreeMap<u32, Nanos> {
    let cpu = |line: &str| {
        let mut fields = line.split_whitespace();
        let cpu = fields.next()?.strip_prefix("cpu")?.parse().ok()?;
        Some((cpu, Nanos(fields.nth(6)?.parse().ok()?)))
    };
    text.lines().filter_map(cpu).collect()
}

/// Those of `cpus` on which another thread took its turn just now.
fn switched(cpus: &[u32]) -> BTreeSet<u32> {
    let (turn, turns) = mpsc::channel();
    for &cpu in cpus {
        let turn = turn.clone();
        std::thread::spawn(move || {
            let mut set = CpuSet::new();
            if (cpu as usize) < CpuSet::MAX_CPU {
                set.set(cpu as usize);
            }
            if sched_setaffinity(None, &set).is_ok() {
                // Nobody listens any more where the turn came too late.
                let _ = turn.send(cpu);
            }
        });
    }
    drop(turn);
    let end = Instant::now() + PATIENCE;
    std::iter::from_fn(|| {
        turns
            .recv_timeout(end.saturating_duration_since(Instant::now()))
            .ok()
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::allowed_cpus;

    #[test]
    fn the_seventh_number_of_a_cpu_is_its_runtime() {
        let text = "version 15\ntimestamp 4295\ncpu0 0 0 0 0 0 0 98765 43 21\ndomain0 3 1 2 3 4 5 6 7 8\n\
                    cpu1 0 0 0 0 0 0 777 1 2\ncpux 1\ncpu2 1 2";
        let expected = BTreeMap::from([(0, Nanos(98_765)), (1, Nanos(777))]);
        assert_eq!(schedstat(text), expected);
        assert_eq!(schedstat(""), BTreeMap::new());
    }

    #[test]
    fn only_the_root_group_speaks_for_everybody() {
        let dir = std::env::temp_dir().join(format!("dyno-cpuacct-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let possible = kernel::possible();
        let numbers: Vec<String> = possible.iter().map(|cpu| (cpu + 5).to_string()).collect();
        let usage = dir.join("cpuacct.usage_percpu");
        std::fs::write(&usage, numbers.join(" ") + " \n").unwrap();
        let below = speaks_for_all(&dir);
        std::fs::write(dir.join("release_agent"), "\n").unwrap();
        let (root, times) = (speaks_for_all(&dir), cpuacct(&dir));
        std::fs::remove_dir_all(&dir).unwrap();
        assert!(root && !below);
        let expected = possible.iter().map(|&cpu| (cpu, Nanos(u64::from(cpu) + 5)));
        assert_eq!(times, expected.collect());
    }

    #[test]
    fn a_cpu_that_is_not_told_of_leaves_nothing_known() {
        let on = BTreeMap::from([(0, Nanos(5)), (1, Nanos(6))]);
        let one = chosen(CountedBy::Schedstat, &on, &[1]).unwrap();
        assert_eq!(one.on, [(1, Nanos(6))].into());
        assert_eq!(chosen(CountedBy::Schedstat, &on, &[1, 2]), None);
        let other = Runtime {
            by: CountedBy::Cpuacct,
            ..one.clone()
        };
        assert_eq!(one.until(&other), None);
        assert_eq!(one.until(&one), Some(Nanos::ZERO));
    }

    #[test]
    fn a_thread_takes_its_turn_on_each_cpu_that_there_is() {
        let cpus = allowed_cpus();
        // A loaded machine may need more than our patience.
        while switched(&cpus) != cpus.iter().copied().collect() {}
        assert_eq!(switched(&[100_000]), BTreeSet::new());
    }

    #[test]
    fn what_a_thread_uses_is_counted_on_its_cpu() {
        let cpu = allowed_cpus()[0];
        let Some(before) = Runtime::read(&[cpu], || {}) else {
            return;
        };
        let spin = move || {
            crate::host::pin(cpu).unwrap();
            let used = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            while used().tv_nsec < 30_000_000 && used().tv_sec == 0 {}
        };
        std::thread::spawn(spin).join().unwrap();
        // A loaded machine may need more than our patience.
        let after = std::iter::repeat_with(|| Runtime::read(&[cpu], || {}));
        let used = before.until(&after.flatten().next().unwrap()).unwrap();
        assert!(used >= Nanos::from_millis(30), "{used}");
    }
}
