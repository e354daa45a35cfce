//! What the kernel counts per CPU: time by kind, interrupts, frequency, throttling. The parsers take
//! texts, so that they can be tried with those of other machines.

use crate::procfile;
use dyno_model::unit::Nanos;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

const CPUS: &str = "/sys/devices/system/cpu";

/// Where the time of one CPU went since boot, as far as processes had no part in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct CpuTimes {
    /// Nothing to do, waiting for a disk included.
    pub(super) idle: Nanos,
    /// In interrupts of devices, where the kernel measures that; else zero.
    pub(super) irq: Nanos,
    /// In softirqs: measured where that of interrupts is, else guessed at every tick.
    pub(super) softirq: Nanos,
    /// Given to others by the hypervisor.
    pub(super) stolen: Nanos,
}

/// What is used of `/proc/stat`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Stat {
    pub(super) cpus: BTreeMap<u32, CpuTimes>,
    pub(super) context_switches: u64,
}

/// One unit of `/proc/stat`: 10 ms on every Linux in use.
pub(super) fn tick() -> Nanos {
    // SAFETY: no pointers are involved; _SC_CLK_TCK is always known.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as u64;
    Nanos(1_000_000_000 / per_second)
}

/// Whether the kernel stops its tick on idle CPUs, which is when it measures how long they idle
/// (kernel/time/tick-sched.c). It does unless booted with `nohz=off`.
pub(super) fn idle_is_measured() -> bool {
    stops_tick(&procfile::text("/proc/cmdline"))
}

fn stops_tick(cmdline: &str) -> bool {
    let last = cmdline.split_whitespace().rfind(|w| w.starts_with("nohz="));
    !matches!(last, Some("nohz=off" | "nohz=0" | "nohz=n"))
}

/// So long after boot a kernel that counts the time of interrupts apart has counted [`SOME`] of it.
const COUNTED_BY_NOW: f64 = 600.0;
/// Less may be ticks that met an interrupt within another.
const SOME: Nanos = Nanos::from_millis(100);

/// Whether the kernel counts the time of interrupts apart from that of processes; `None`: not known.
pub(crate) fn irq_time() -> Option<bool> {
    static KNOWN: OnceLock<Option<bool>> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        let packed = std::fs::read("/proc/config.gz").unwrap_or_default();
        let mut config = String::new();
        let unpacked = flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut config);
        if unpacked.is_err() {
            let release = procfile::text("/proc/sys/kernel/osrelease");
            config = procfile::text(format!("/boot/config-{release}"));
        }
        let uptime = procfile::text("/proc/uptime");
        let seconds = uptime
            .split_whitespace()
            .next()
            .and_then(|s| s.parse().ok());
        counts_irq_time(&Stat::read(), &config, seconds.unwrap_or(0.0))
    })
}

/// By the kernel's configuration; where that is not known, or says yes, which `tsc=noirqtime` overrules, by what has been
/// counted. A few architectures do it by another option (`NATIVE`).
fn counts_irq_time(stat: &Stat, config: &str, uptime_s: f64) -> Option<bool> {
    let says = |line: &str| config.lines().any(|l| l == line);
    let is_on = says("CONFIG_IRQ_TIME_ACCOUNTING=y") || says("CONFIG_VIRT_CPU_ACCOUNTING_NATIVE=y");
    let counted: u64 = stat.cpus.values().map(|t| t.irq.0).sum();
    match (is_on, says("# CONFIG_IRQ_TIME_ACCOUNTING is not set")) {
        (false, true) => Some(false),
        (true, _) if counted > 0 => Some(true),
        (false, false) if counted >= SOME.0 => Some(true),
        _ => (uptime_s > COUNTED_BY_NOW).then_some(false),
    }
}

impl Stat {
    /// proc_stat(5); `tick` is the length of one of its units.
    pub(super) fn parse(text: &str, tick: Nanos) -> Stat {
        let mut stat = Stat::default();
        for line in text.lines() {
            let Some((name, rest)) = line.split_once(' ') else {
                continue;
            };
            if name == "ctxt" {
                stat.context_switches = rest.trim().parse().unwrap_or(0);
            } else if let Some(Ok(cpu)) = name.strip_prefix("cpu").map(str::parse::<u32>) {
                let mut times = [Nanos::ZERO; 8];
                for (time, field) in times.iter_mut().zip(rest.split_whitespace()) {
                    *time = Nanos(field.parse::<u64>().unwrap_or(0).saturating_mul(tick.0));
                }
                let [_user, _nice, _system, idle, iowait, irq, softirq, stolen] = times;
                stat.cpus.insert(
                    cpu,
                    CpuTimes {
                        idle: Nanos(idle.0 + iowait.0),
                        irq,
                        softirq,
                        stolen,
                    },
                );
            }
        }
        stat
    }

    pub(super) fn read() -> Stat {
        Stat::parse(&procfile::text("/proc/stat"), tick())
    }
}

/// The CPUs that this machine could ever have, ascending.
pub(super) fn possible() -> Vec<u32> {
    procfile::cpu_list(&procfile::text(format!("{CPUS}/possible")))
}

/// Frequency now in kHz by CPU; CPUs for which the kernel shows none are left out.
pub(super) fn frequencies(cpus: &[u32]) -> BTreeMap<u32, u64> {
    cpus.iter()
        .filter_map(|&cpu| {
            let path = format!("{CPUS}/cpu{cpu}/cpufreq/scaling_cur_freq");
            Some((cpu, procfile::text(path).parse().ok()?))
        })
        .collect()
}

/// Times that one of `cpus` or its package was slowed for heat since boot; `None` where the kernel
/// does not count (it does on Intel processors).
pub(super) fn throttled(cpus: &[u32]) -> Option<u64> {
    throttled_below(Path::new(CPUS), cpus)
}

fn throttled_below(root: &Path, cpus: &[u32]) -> Option<u64> {
    let count = |cpu: &u32, name: &str| {
        let file = root.join(format!("cpu{cpu}/thermal_throttle/{name}_throttle_count"));
        procfile::text(file).parse::<u64>().ok()
    };
    // Every CPU of a package shows the package's count; siblings share their core's. The largest of
    // each moves when any of them does, and nothing counts twice on a machine of one package.
    let package = cpus.iter().filter_map(|c| count(c, "package")).max();
    let cores = cpus.iter().filter_map(|c| count(c, "core"));
    let cores = cores.fold(None, |sum: Option<u64>, c| Some(sum.unwrap_or(0) + c));
    match (cores, package) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0) + b.unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "\
cpu  1195470 80503 348939 743365 3401 0 4370 4187 0 0
cpu0 585055 41271 184467 374472 888 0 1945 2122 0 0
cpu1 610414 39231 164471 368893 2512 7 2425 2065 50 3
intr 22901474 0 0 0 24
ctxt 701764239
btime 1760000000
procs_running 3
";

    #[test]
    fn time_is_read_by_cpu_and_kind() {
        let stat = Stat::parse(STAT, Nanos(10));
        assert_eq!(stat.context_switches, 701_764_239);
        assert_eq!(stat.cpus.keys().copied().collect::<Vec<_>>(), [0, 1]);
        let one = CpuTimes {
            idle: Nanos((368_893 + 2_512) * 10),
            irq: Nanos(70),
            softirq: Nanos(24_250),
            stolen: Nanos(20_650),
        };
        assert_eq!(stat.cpus[&1], one);
        assert_eq!(Stat::parse("", Nanos(10)), Stat::default());
    }

    #[test]
    fn this_machine_shows_the_cpus_that_it_has() {
        let stat = Stat::read();
        for cpu in crate::allowed_cpus() {
            assert!(stat.cpus[&cpu].idle > Nanos::ZERO);
        }
        assert!(stat.context_switches > 0 && tick() > Nanos::ZERO);
    }

    #[test]
    fn interrupts_count_apart_where_the_configuration_or_the_count_says_so() {
        let counted = |ms| Stat::parse(&format!("cpu0 1 2 3 4 5 {ms} 7 8"), Nanos::from_millis(1));
        let off = "CONFIG_HZ=250\n# CONFIG_IRQ_TIME_ACCOUNTING is not set\n";
        let on = "CONFIG_IRQ_TIME_ACCOUNTING=y\n";
        let native = format!("CONFIG_VIRT_CPU_ACCOUNTING_NATIVE=y\n{off}");
        for (ms, config, uptime_s, expected) in [
            (500, off, 9.0, Some(false)),
            (1, on, 9.0, Some(true)),
            (1, &native, 9.0, Some(true)),
            // Just booted, or turned off by `tsc=noirqtime`.
            (0, on, 9.0, None),
            (0, on, 3_600.0, Some(false)),
            (500, "", 9.0, Some(true)),
            (10, "", 9.0, None),
            (10, "", 3_600.0, Some(false)),
        ] {
            let found = counts_irq_time(&counted(ms), config, uptime_s);
            assert_eq!(found, expected, "{ms} {config} {uptime_s}");
        }
    }

    #[test]
    fn the_tick_stops_unless_told_otherwise() {
        assert!(stops_tick("ro quiet nohz_full=1-3 nohz=on"));
        assert!(!stops_tick("ro nohz=off quiet"));
        assert!(stops_tick(""));
    }

    #[test]
    fn throttling_of_cores_and_package_counts() {
        let dir = std::env::temp_dir().join(format!("dyno-throttle-{}", std::process::id()));
        for (cpu, core) in [(0, 3), (1, 4)] {
            let folder = dir.join(format!("cpu{cpu}/thermal_throttle"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("core_throttle_count"), format!("{core}\n")).unwrap();
            std::fs::write(folder.join("package_throttle_count"), "10\n").unwrap();
        }
        assert_eq!(throttled_below(&dir, &[0, 1]), Some(17));
        assert_eq!(throttled_below(&dir, &[1]), Some(14));
        assert_eq!(throttled_below(&dir, &[2]), None);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
