//! Settings of the kernel and of the container that bear on measurements, beside those of
//! [`machine`](super::machine) and [`limits`](super::limits).

use crate::host::allowed_cpus;
use crate::procfile;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

const CPUS: &str = "/sys/devices/system/cpu";
const CGROUP: &str = "/sys/fs/cgroup";

/// What the kernel says. What it does not show is empty or `None`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Settings {
    /// CPUs that the machine has switched on, also those that this process may not use.
    pub online: Vec<u32>,
    /// Whether CPUs may run above their nominal frequency (turbo, boost).
    pub boost: Option<Boost>,
    /// Frequency limits by CPU.
    pub frequencies: BTreeMap<u32, FrequencyRange>,
    /// Idle states of the first CPU in use, the lightest first.
    pub idle: Idle,
    /// Swapped out now, in bytes.
    pub swap_used_bytes: u64,
    /// Memory nodes of the machine.
    pub numa_nodes: usize,
    /// Whether the kernel moves pages between nodes on its own.
    pub numa_balancing: Option<bool>,
    /// Runnable and waiting threads on average over the last minute.
    pub load_average: Option<f64>,
    /// CPUs' worth of time that the container may use; `None`: no limit.
    pub cpu_quota: Option<f64>,
    /// The daemon that moves interrupts between CPUs, where it runs.
    pub irq_balancer: Option<u32>,
    /// Other clock sources of the kernel that could be chosen.
    pub clock_sources: Vec<String>,
    /// The parameters that the kernel was booted with.
    pub kernel_cmdline: String,
}

/// A switch for turbo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Boost {
    /// It is allowed.
    pub on: bool,
    /// The command that turns it off.
    pub off_command: &'static str,
}

/// Limits of one CPU's frequency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FrequencyRange {
    /// The least in kHz.
    pub min_khz: u64,
    /// The most in kHz.
    pub max_khz: u64,
}

/// How a CPU idles.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Idle {
    /// The driver, such as `intel_idle`, `acpi_idle` or `haltpoll`; empty where there is none.
    pub driver: String,
    /// The states, the lightest first.
    pub states: Vec<IdleState>,
}

/// One idle state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IdleState {
    /// Its name, such as `C6`.
    pub name: String,
    /// What the driver says that waking takes, in µs.
    pub latency_us: u64,
    /// It is switched off.
    pub disabled: bool,
}

/// Reads them.
pub fn settings() -> Settings {
    let cpus = allowed_cpus();
    let meminfo = procfile::text("/proc/meminfo");
    let swap = |key| procfile::kib_field(&meminfo, key).unwrap_or(0);
    Settings {
        online: procfile::cpu_list(&procfile::text(format!("{CPUS}/online"))),
        boost: boost(Path::new(CPUS)),
        frequencies: frequencies(Path::new(CPUS), &cpus),
        idle: idle(Path::new(CPUS), cpus.first().copied().unwrap_or(0)),
        swap_used_bytes: swap("SwapTotal").saturating_sub(swap("SwapFree")),
        numa_nodes: procfile::cpu_list(&procfile::text("/sys/devices/system/node/has_memory"))
            .len()
            .max(1),
        numa_balancing: match procfile::text("/proc/sys/kernel/numa_balancing").as_str() {
            "" => None,
            value => Some(value != "0"),
        },
        load_average: load_average(&procfile::text("/proc/loadavg")),
        cpu_quota: cpu_quota(Path::new(CGROUP), &procfile::text("/proc/self/cgroup")),
        irq_balancer: process_called("irqbalance"),
        clock_sources: procfile::text(
            "/sys/devices/system/clocksource/clocksource0/available_clocksource",
        )
        .split_whitespace()
        .map(str::to_owned)
        .collect(),
        kernel_cmdline: procfile::text("/proc/cmdline"),
    }
}

/// Both drivers that have a switch, each with its sense.
fn boost(root: &Path) -> Option<Boost> {
    let intel = procfile::text(root.join("intel_pstate/no_turbo"));
    if !intel.is_empty() {
        return Some(Boost {
            on: intel == "0",
            off_command: "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo",
        });
    }
    let other = procfile::text(root.join("cpufreq/boost"));
    (!other.is_empty()).then(|| Boost {
        on: other == "1",
        off_command: "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
    })
}

fn frequencies(root: &Path, cpus: &[u32]) -> BTreeMap<u32, FrequencyRange> {
    cpus.iter()
        .filter_map(|&cpu| {
            let khz = |end: &str| -> Option<u64> {
                let file = root.join(format!("cpu{cpu}/cpufreq/scaling_{end}_freq"));
                procfile::text(file).parse().ok()
            };
            let range = FrequencyRange {
                min_khz: khz("min")?,
                max_khz: khz("max")?,
            };
            Some((cpu, range))
        })
        .collect()
}

fn idle(root: &Path, cpu: u32) -> Idle {
    let folder = root.join(format!("cpu{cpu}/cpuidle"));
    let states = (0..)
        .map(|n| folder.join(format!("state{n}")))
        .take_while(|state| state.is_dir())
        .map(|state| IdleState {
            name: procfile::text(state.join("name")),
            latency_us: procfile::text(state.join("latency")).parse().unwrap_or(0),
            disabled: procfile::text(state.join("disable")) == "1",
        })
        .collect();
    Idle {
        driver: procfile::text(root.join("cpuidle/current_driver")),
        states,
    }
}

/// proc_loadavg(5): the first number.
fn load_average(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

/// The tightest quota of this process's groups, in CPUs. Version 2 has `cpu.max` in each group up to the
/// root (Linux, Documentation/admin-guide/cgroup-v2.rst); version 1 has `cpu.cfs_quota_us` and
/// `cpu.cfs_period_us`. In a container the groups above its own are out of sight.
fn cpu_quota(root: &Path, membership: &str) -> Option<f64> {
    let mut least: Option<f64> = None;
    for line in membership.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else {
            continue;
        };
        let mount = match controllers {
            "" => root.to_owned(),
            c if c.split(',').any(|c| c == "cpu") => root.join(c),
            _ => continue,
        };
        let group = mount.join(group.trim_start_matches('/'));
        for folder in group.ancestors().take_while(|f| f.starts_with(&mount)) {
            let quota = quota(&procfile::text(folder.join("cpu.max"))).or_else(|| {
                let read = |name| procfile::text(folder.join(name));
                let (quota, period) = (read("cpu.cfs_quota_us"), read("cpu.cfs_period_us"));
                self::quota(&format!("{quota} {period}"))
            });
            if let Some(quota) = quota {
                least = Some(least.map_or(quota, |l| l.min(quota)));
            }
        }
    }
    least
}

/// `50000 100000` is half a CPU; `max 100000` and `-1 100000` are no limit.
fn quota(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    let quota: u64 = quota.parse().ok()?;
    let period: u64 = period.trim().parse().ok()?;
    (period > 0).then(|| quota as f64 / period as f64)
}

fn process_called(name: &str) -> Option<u32> {
    std::fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok())
        .find(|pid| procfile::text(format!("/proc/{pid}/comm")) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of files that is removed at the end.
    struct Tree(std::path::PathBuf);

    impl Tree {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("dyno-{name}-{}", std::process::id()));
            for (file, text) in files {
                let file = root.join(file);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, text).unwrap();
            }
            Tree(root)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn turbo_has_two_switches_of_opposite_sense() {
        let intel = Tree::new("turbo", &[("intel_pstate/no_turbo", "0\n")]);
        let b = boost(&intel.0).unwrap();
        assert!(b.on && b.off_command.contains("no_turbo"));
        let other = Tree::new("boost", &[("cpufreq/boost", "0\n")]);
        let b = boost(&other.0).unwrap();
        assert!(!b.on && b.off_command.contains("cpufreq/boost"));
        assert_eq!(boost(Path::new("/nonexistent")), None);
    }

    #[test]
    fn frequency_limits_are_of_each_cpu() {
        let tree = Tree::new(
            "frequency",
            &[
                ("cpu1/cpufreq/scaling_min_freq", "800000\n"),
                ("cpu1/cpufreq/scaling_max_freq", "4700000\n"),
            ],
        );
        let range = FrequencyRange {
            min_khz: 800_000,
            max_khz: 4_700_000,
        };
        assert_eq!(frequencies(&tree.0, &[0, 1]), [(1, range)].into());
    }

    #[test]
    fn idle_states_come_in_their_order() {
        let tree = Tree::new(
            "idle",
            &[
                ("cpuidle/current_driver", "intel_idle\n"),
                ("cpu3/cpuidle/state0/name", "POLL\n"),
                ("cpu3/cpuidle/state0/latency", "0\n"),
                ("cpu3/cpuidle/state1/name", "C6\n"),
                ("cpu3/cpuidle/state1/latency", "133\n"),
                ("cpu3/cpuidle/state1/disable", "1\n"),
            ],
        );
        let i = idle(&tree.0, 3);
        assert_eq!((i.driver.as_str(), i.states.len()), ("intel_idle", 2));
        assert_eq!(
            (i.states[1].name.as_str(), i.states[1].latency_us),
            ("C6", 133)
        );
        assert!(i.states[1].disabled && !i.states[0].disabled);
        assert_eq!(idle(&tree.0, 0).states, []);
    }

    #[test]
    fn the_tightest_quota_counts() {
        let tree = Tree::new(
            "quota",
            &[
                ("a/cpu.max", "150000 100000\n"),
                ("a/b/cpu.max", "max 100000\n"),
                ("cpu,cpuacct/docker/x/cpu.cfs_quota_us", "50000\n"),
                ("cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n"),
                ("cpu,cpuacct/docker/y/cpu.cfs_quota_us", "-1\n"),
                ("cpu,cpuacct/docker/y/cpu.cfs_period_us", "100000\n"),
            ],
        );
        assert_eq!(cpu_quota(&tree.0, "0::/a/b\n"), Some(1.5));
        let first = "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n0::/\n";
        assert_eq!(cpu_quota(&tree.0, first), Some(0.5));
        assert_eq!(cpu_quota(&tree.0, "3:cpu,cpuacct:/docker/y\n"), None);
        assert_eq!(cpu_quota(&tree.0, ""), None);
        assert_eq!(quota("max 100000"), None);
    }

    #[test]
    fn the_load_average_is_of_a_minute() {
        assert_eq!(load_average("0.18 0.44 0.99 1/85 31843"), Some(0.18));
        assert_eq!(load_average(""), None);
    }

    #[test]
    fn this_machine_has_settings() {
        let s = settings();
        assert!(s.numa_nodes >= 1 && s.load_average.is_some(), "{s:?}");
        assert!(allowed_cpus().iter().all(|cpu| s.online.contains(cpu)));
        let me = procfile::text("/proc/self/comm");
        assert!(process_called(&me).is_some());
        assert_eq!(process_called("no such process"), None);
    }
}
