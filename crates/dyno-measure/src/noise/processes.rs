//! Processor time of every process by its CPU-time clock: exact to the nanosecond, where `/proc` counts
//! in ticks of 10 ms. Reading a clock is one system call and needs no right. What ended processes have
//! used is with their parents, in ticks.

use crate::cost;
use crate::procfile;
use dyno_model::unit::Nanos;
use rustix::thread::{CpuSet, sched_getaffinity};
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a process at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Process {
    /// Its processor time.
    pub(super) time: Nanos,
    pub(super) family: Family,
}

/// Whose child a process is, and what its own ended ones used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Family {
    pub(super) parent: u32,
    /// Processor time of its children that have ended and were waited for, and of theirs; user and
    /// system time are each rounded down to a tick.
    pub(super) ended_children: Nanos,
}

/// Every process in sight, kernel threads included, ascending: a trial's own are mostly young, and come last.
fn pids() -> BTreeSet<u32> {
    let entries = std::fs::read_dir("/proc");
    let pid = |e: std::fs::DirEntry| e.file_name().to_str()?.parse().ok();
    entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(pid)
        .collect()
}

/// Processor time of every process: a microsecond for each. One may end between the listing and the reading.
pub(super) fn times() -> BTreeMap<u32, Nanos> {
    let time = |pid| Some((pid, cost::cpu_time(pid).ok()?));
    pids().into_iter().filter_map(time).collect()
}

/// The family of every process: some ten microseconds for each.
pub(super) fn families(tick: Nanos) -> BTreeMap<u32, Family> {
    let family = |pid| {
        let (parent, ended) = family(&procfile::text(format!("/proc/{pid}/stat")))?;
        let ended_children = Nanos(ended.saturating_mul(tick.0));
        let family = Family {
            parent,
            ended_children,
        };
        Some((pid, family))
    };
    pids().into_iter().filter_map(family).collect()
}

/// Processes of which both are known.
pub(super) fn joined(
    times: BTreeMap<u32, Nanos>,
    families: &BTreeMap<u32, Family>,
) -> BTreeMap<u32, Process> {
    let join = |(pid, time)| {
        let family = *families.get(&pid)?;
        Some((pid, Process { time, family }))
    };
    times.into_iter().filter_map(join).collect()
}

/// Parent, and ticks of ended children, from `/proc/PID/stat` (proc_pid_stat(5), fields 4, 16 and 17). The
/// name in field 2 may hold blanks and parentheses; what follows the last closing one is field 3.
fn family(stat: &str) -> Option<(u32, u64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let field = |n: usize| rest.split_whitespace().nth(n - 3);
    let ticks = |n| field(n)?.parse::<u64>().ok();
    Some((
        field(4)?.parse().ok()?,
        ticks(16)?.saturating_add(ticks(17)?),
    ))
}

/// Processor time of all children of this process that have ended and were waited for.
pub(super) fn ended_children() -> Nanos {
    cost::ended_children()
}

/// `own` and all processes that descend from them at any of the instants.
pub(super) fn with_descendants(
    mut own: BTreeSet<u32>,
    instants: [&BTreeMap<u32, Process>; 2],
) -> BTreeSet<u32> {
    loop {
        let children = instants
            .iter()
            .flat_map(|all| all.iter())
            .filter(|(pid, process)| own.contains(&process.family.parent) && !own.contains(pid));
        let children: Vec<u32> = children.map(|(pid, _)| *pid).collect();
        if children.is_empty() {
            return own;
        }
        own.extend(children);
    }
}

/// What each process of `later` has used since `earlier`. One that began meanwhile counts whole; so
/// does one that got the number of another that has ended, which shows where its time is less.
pub(super) fn used(
    earlier: &BTreeMap<u32, Process>,
    later: &BTreeMap<u32, Process>,
) -> BTreeMap<u32, Nanos> {
    later
        .iter()
        .map(|(pid, now)| match earlier.get(pid) {
            Some(before) if before.time <= now.time => (*pid, now.time.saturating_sub(before.time)),
            _ => (*pid, now.time),
        })
        .collect()
}

/// What processes that have ended since `earlier` had used since then, at least: their parents have
/// inherited their whole time, of which what they had used before is taken off, and a tick times the
/// root of the number of such parents for the rounding. `own` processes and their children are left out.
pub(super) fn used_by_ended(
    earlier: &BTreeMap<u32, Process>,
    later: &BTreeMap<u32, Process>,
    own: &BTreeSet<u32>,
    tick: Nanos,
) -> Nanos {
    let inherited: Vec<u64> = later
        .iter()
        .filter(|(pid, _)| !own.contains(pid))
        // A parent that is new itself, or reads less, has inherited all of it meanwhile.
        .map(|(pid, now)| {
            let before = earlier.get(pid).map_or(0, |p| p.family.ended_children.0);
            let now = now.family.ended_children.0;
            now.checked_sub(before).unwrap_or(now)
        })
        .filter(|&time| time > 0)
        .collect();
    let before: u64 = earlier
        .iter()
        .filter(|(pid, p)| {
            !later.contains_key(pid) && !own.contains(pid) && !own.contains(&p.family.parent)
        })
        .map(|(_, p)| p.time.0 + p.family.ended_children.0)
        .sum();
    let rounding = (tick.0 as f64 * (inherited.len() as f64).sqrt()) as u64;
    let inherited: u64 = inherited.iter().sum();
    Nanos(inherited.saturating_sub(before.saturating_add(rounding)))
}

/// The name of a process, or its number where it has ended.
pub(super) fn name(pid: u32) -> String {
    let name = procfile::text(format!("/proc/{pid}/comm"));
    if name.is_empty() {
        format!("process {pid}")
    } else {
        name
    }
}

/// Which part of the CPUs that the process may use are among `cpus`, 0 to 1; zero where it has ended. Asks for the main
/// thread.
pub(super) fn part_on(pid: u32, cpus: &[u32]) -> f64 {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    let Some(Ok(set)) = pid.map(|p| sched_getaffinity(Some(p))) else {
        return 0.0;
    };
    let all = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu));
    let (here, all) = all.fold((0, 0), |(here, all), cpu| {
        (here + usize::from(cpus.contains(&(cpu as u32))), all + 1)
    });
    here as f64 / f64::from(all.max(1))
}

/// The sets of CPUs to which the threads of a process are confined, each ascending; `None` where the kernel does not tell
/// that of every thread, as where one ends meanwhile.
pub fn thread_cpus(pid: u32) -> Option<BTreeSet<Vec<u32>>> {
    let set = |thread: std::io::Result<std::fs::DirEntry>| {
        let thread = thread.ok()?.file_name().to_str()?.parse().ok();
        let set = sched_getaffinity(Some(thread.and_then(rustix::process::Pid::from_raw)?)).ok()?;
        let cpus = (0..CpuSet::MAX_CPU as u32).filter(|&cpu| set.is_set(cpu as usize));
        Some(cpus.collect())
    };
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    threads.map(set).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpus_of_every_thread_are_found() {
        let cpu = crate::host::allowed_cpus()[0];
        let (pinned, is_pinned) = std::sync::mpsc::channel();
        let (end, is_over) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            crate::host::pin(cpu).unwrap();
            pinned.send(()).unwrap();
            let _ = is_over.recv();
        });
        is_pinned.recv().unwrap();
        // Threads of other tests come and go.
        let all = std::iter::repeat_with(|| thread_cpus(std::process::id()));
        assert!(all.flatten().next().unwrap().contains(&vec![cpu]));
        drop(end);
        thread.join().unwrap();
        assert_eq!(thread_cpus(u32::MAX), None);
    }

    fn at(time: u64, parent: u32, ended_children: u64) -> Process {
        Process {
            time: Nanos(time),
            family: Family {
                parent,
                ended_children: Nanos(ended_children),
            },
        }
    }

    #[test]
    fn new_processes_count_whole_and_ended_ones_not_at_all() {
        let earlier = [(1, at(100, 0, 0)), (2, at(50, 0, 0)), (3, at(900, 0, 0))].into();
        let later = [(1, at(130, 0, 0)), (3, at(7, 0, 0)), (4, at(5, 0, 0))].into();
        let expected = BTreeMap::from([(1, Nanos(30)), (3, Nanos(7)), (4, Nanos(5))]);
        assert_eq!(used(&earlier, &later), expected);
    }

    #[test]
    fn whatever_the_trial_starts_is_its_own() {
        let earlier = [(5, at(0, 1, 0)), (6, at(0, 5, 0)), (8, at(0, 1, 0))].into();
        // 7 was started by 6, which has ended.
        let later = [(5, at(0, 1, 0)), (7, at(0, 6, 0)), (8, at(0, 1, 0))].into();
        let own = with_descendants([5].into(), [&earlier, &later]);
        assert_eq!(own, [5, 6, 7].into());
    }

    #[test]
    fn ended_processes_count_with_what_they_used_meanwhile() {
        let own = BTreeSet::from([9]);
        let tick = Nanos(10);
        // 2 had used 500, some of it in children; 3 came and went.
        let earlier = [
            (1, at(0, 0, 100)),
            (2, at(300, 1, 200)),
            (8, at(70, 9, 0)),
            (9, at(0, 0, 0)),
        ]
        .into();
        let later = [(1, at(0, 0, 800)), (9, at(0, 0, 90))].into();
        let used = used_by_ended(&earlier, &later, &own, tick);
        assert_eq!(used, Nanos(700 - 500 - 10));
        assert_eq!(used_by_ended(&earlier, &earlier, &own, tick), Nanos::ZERO);
        // One tick more may be nothing but rounding.
        let later = [(1, at(0, 0, 110)), (2, at(300, 1, 200)), (8, at(70, 9, 0))].into();
        assert_eq!(used_by_ended(&earlier, &later, &own, tick), Nanos::ZERO);
    }

    #[test]
    fn the_family_is_read_behind_a_hostile_name() {
        let stat = "7 (a) R 1 (b c) S 3 2 3 4 5 6 11 12 13 14 15 16 17 18 19 20";
        assert_eq!(family(stat), Some((3, 17 + 18)));
        assert_eq!(family("7 (a) R 1"), None);
        assert_eq!(family(""), None);
    }

    #[test]
    fn this_process_is_among_all() {
        let me = std::process::id();
        let first = times();
        assert!(first[&me] > Nanos::ZERO);
        let all = joined(times(), &families(Nanos(1)));
        assert!(all[&me].time > first[&me]);
        assert_eq!(all[&me].family.parent, std::os::unix::process::parent_id());
        assert_eq!(joined(first, &BTreeMap::new()), BTreeMap::new());
        assert!(!name(me).is_empty());
        assert_eq!(name(u32::MAX), format!("process {}", u32::MAX));
    }

    #[test]
    fn a_process_is_shared_out_over_the_cpus_that_it_may_use() {
        let cpus = crate::allowed_cpus();
        assert_eq!(part_on(std::process::id(), &cpus), 1.0);
        assert_eq!(part_on(std::process::id(), &[1_000]), 0.0);
        assert_eq!(part_on(u32::MAX, &cpus), 0.0);
        let one = part_on(std::process::id(), &cpus[..1]);
        assert_eq!(one, 1.0 / cpus.len() as f64);
    }
}
