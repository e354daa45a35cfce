//! What a finding is about: one variant for each thing that was found, with its numbers. The sentences about it, how much it
//! matters and what would fix it are made here, from the value alone; nobody reads them.

use crate::fix::Fix;
use dyno_measure::probe::limits::Limit;
use dyno_model::Nanos;
use dyno_model::unit::percent;
use serde::Serialize;
use std::collections::BTreeMap;
use thiserror::Error;

/// What a socket is charged for one small datagram on 64-bit Linux (the truesize of its buffer: 512 B of
/// data room and shared info, 256 B of sk_buff).
const SMALL_DATAGRAM: u64 = 768;
/// The same for the largest one (65,507 B), as measured on Linux 6.18.
const LARGE_DATAGRAM: u64 = 66_700;
/// Datagrams of that size that carry 1 MB.
const MEGABYTE: u64 = 1_000_000 / 65_507 + 1;

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, Error)]
#[serde(tag = "cause", content = "values", rename_all = "kebab-case")]
pub enum Cause {
    /// Dyno is optimised.
    #[error("Dyno is an optimised build")]
    ReleaseBuild,
    /// Dyno is not optimised.
    #[error(
        "this is a debug build of Dyno: its own work between two time stamps is slower than in a release build"
    )]
    DebugBuild,
    /// What others use is not known.
    #[error("the load of other processes could not be measured")]
    ForeignLoadUnknown,
    /// Other processes ran on the CPUs.
    #[error("{}", match hungriest.as_slice() {
        [] => "no other process is active".to_owned(),
        _ => format!("other processes use {} of the CPUs", percent(*share)),
    })]
    ForeignLoad {
        /// Of the CPUs, 0 to 1.
        share: f64,
        /// The CPU time that they used.
        used: Nanos,
        /// The time it was watched for.
        wall: Nanos,
        /// Those that used most.
        hungriest: Vec<(String, Nanos)>,
    },
    /// The load average is not known.
    #[error("the kernel shows no load average")]
    LoadAverageUnknown,
    /// How many threads wanted to run in the last minute.
    #[error("{threads:.2} threads ran or waited on average during the last minute, on {cpus} CPUs")]
    LoadAverage {
        /// On average.
        threads: f64,
        /// CPUs that there are.
        cpus: usize,
    },
    /// Gaps are not known.
    #[error("gaps could not be measured")]
    GapsUnknown,
    /// CPUs stood still while a thread only read the clock.
    #[error("a thread that only reads the clock loses its CPU for up to {longest}")]
    Gaps {
        /// The longest gap of all.
        longest: Nanos,
        /// By CPU.
        each: Vec<CpuGap>,
        /// Others used so much that they are the likely cause.
        foreign_load: bool,
        /// The machine is a virtual one.
        virtual_machine: bool,
    },
    /// Interrupts are not known.
    #[error("interrupts could not be counted")]
    InterruptsUnknown,
    /// There is no CPU to look at.
    #[error("there is no CPU whose interrupts could be counted")]
    NoCpuToInterrupt,
    /// Devices interrupt the CPUs.
    #[error("devices interrupt CPU {cpu} {per_second:.0} times per second")]
    Interrupts {
        /// The one that is interrupted most.
        cpu: u32,
        /// How often, by all devices.
        per_second: f64,
        /// The first of those that do; none: none does.
        device: Option<Device>,
        /// A CPU that is not measured on.
        free_cpu: Option<u32>,
        /// Those that are.
        cpus: Vec<u32>,
    },
    /// Interrupts are moved between CPUs.
    #[error("irqbalance (process {pid}) moves interrupts between CPUs during a run")]
    IrqBalance {
        /// The process that moves them.
        pid: u32,
    },
    /// Interrupts stay where they are.
    #[error("irqbalance is not running")]
    NoIrqBalance,
    /// Slowing for heat is not known.
    #[error("the kernel does not count thermal throttling here")]
    ThrottlingUnknown,
    /// CPUs kept their frequency.
    #[error("no CPU was throttled because of heat")]
    NotThrottled,
    /// CPUs were slowed for heat.
    #[error("CPUs were throttled because of heat {times} times in {wall}")]
    Throttled {
        /// How often.
        times: u64,
        /// The time it was watched for.
        wall: Nanos,
    },
    /// The machine is none of a hypervisor's, as far as it shows.
    #[error("no hypervisor was found")]
    NoHypervisor,
    /// The machine is a virtual one.
    #[error(
        "this is a virtual machine ({hypervisor}): its host may stop or move any CPU at any time"
    )]
    VirtualMachine {
        /// What it runs on.
        hypervisor: String,
        /// CPU time that it did not get.
        stolen: Nanos,
        /// The time it was watched for.
        wall: Nanos,
        /// The longest gap of all CPUs.
        longest_gap: Nanos,
    },
    /// Nobody can steal time.
    #[error("there is no hypervisor that could take CPU time")]
    NoSteal,
    /// The hypervisor gave CPU time to others.
    #[error("the hypervisor took {} of the time of CPUs {}", percent(*share), list(cpus))]
    Steal {
        /// Of the whole time of these CPUs, 0 to 1.
        share: f64,
        /// The CPUs that were watched.
        cpus: Vec<u32>,
        /// All of them together.
        stolen: Nanos,
        /// The time it was watched for.
        wall: Nanos,
    },
    /// There is one CPU.
    #[error(
        "there is only one CPU: both sides of an exchange wait for each other's time slice, and spinning stacks cannot be measured"
    )]
    OneCpu,
    /// There are CPUs enough.
    #[error("{} CPUs: {}", cpus.len(), list(cpus))]
    Cpus {
        /// The CPUs.
        cpus: Vec<u32>,
    },
    /// Some CPUs are far from each other.
    #[error("some of the CPUs {} are far from each other", list(cpus))]
    FarCpus {
        /// The CPUs.
        cpus: Vec<u32>,
        /// A cache line there and back between the nearest two.
        nearest_ns: f64,
        /// The same between the farthest two.
        farthest_ns: f64,
    },
    /// No container limits CPU time.
    #[error("no CPU quota is set")]
    NoQuota,
    /// There is a limit, and it is not below the CPUs.
    #[error(
        "a CPU quota of {quota:.2} CPUs applies, and Dyno may use {cpus}: threads stop when their whole group has used the quota up"
    )]
    LooseQuota {
        /// CPUs that may be used.
        quota: f64,
        /// CPUs that there are.
        cpus: usize,
    },
    /// The container's limit is below the CPUs.
    #[error(
        "the container may use {quota:.2} of {cpus} CPUs: when this quota is used up, all its \
         threads stop for the rest of the period, up to 100 ms"
    )]
    Quota {
        /// CPUs that may be used.
        quota: f64,
        /// CPUs that there are.
        cpus: usize,
    },
    /// Each CPU is a core.
    #[error("no two of the CPUs share a core")]
    NoSiblings,
    /// CPUs share cores.
    #[error(
        "some CPUs share a core ({}): a thread on one slows down the other, and an exchange between siblings is faster than one between \
         cores",
        groups.join(" and ")
    )]
    Siblings {
        /// Those that share, such as `2-3`.
        groups: Vec<String>,
    },
    /// CPUs are isolated.
    #[error("CPUs {cpus} are isolated")]
    Isolated {
        /// Which, as the kernel writes them.
        cpus: String,
    },
    /// No CPU is isolated.
    #[error("no CPU is isolated: the scheduler may run any thread on the measured CPUs")]
    NotIsolated {
        /// The CPUs.
        cpus: Vec<u32>,
    },
    /// CPUs have no regular tick.
    #[error("CPUs {cpus} run without the regular timer tick")]
    Tickless {
        /// Which, as the kernel writes them.
        cpus: String,
    },
    /// Every CPU has a regular tick.
    #[error("the kernel's regular timer tick interrupts every CPU")]
    Ticks {
        /// The CPU with most of them, where they were counted.
        timer: Option<Tick>,
    },
    /// The governors are not known.
    #[error("the kernel shows no frequency governor{}", match virtual_machine {
        true => "; the host of this virtual machine sets the frequency",
        false => "",
    })]
    GovernorUnknown {
        /// The machine is a virtual one.
        virtual_machine: bool,
    },
    /// All CPUs run at their highest frequency.
    #[error("all CPUs run the performance governor")]
    Performance,
    /// Frequencies follow the load.
    #[error("the frequency follows the load ({}): a stack that sleeps is measured on a slower CPU",
        joined(others, |(cpu, g)| format!("CPU {cpu} {g}"))
    )]
    Governor {
        /// The governors of the CPUs whose frequency does.
        others: BTreeMap<u32, String>,
        /// The lowest and the highest frequency, where known.
        khz: Option<(u64, u64)>,
    },
    /// Turbo is not known.
    #[error("the kernel does not show whether turbo is on")]
    TurboUnknown,
    /// Turbo is off.
    #[error("turbo is off")]
    NoTurbo,
    /// Turbo is on.
    #[error("turbo is on: the frequency depends on heat and on how many CPUs work")]
    Turbo {
        /// What switches it off.
        off_command: &'static str,
    },
    /// Speeds are not known.
    #[error("the speed of the CPUs could not be measured")]
    SpeedUnknown,
    /// How unequal the CPUs are.
    #[error("the slowest CPU takes {:.1} % longer than the fastest for the same work", (spread - 1.0) * 100.0)]
    Speed {
        /// The slowest one's time over the fastest one's.
        spread: f64,
        /// The median of equal work by CPU.
        each: Vec<(u32, Nanos)>,
    },
    /// The cost of waking is not known.
    #[error("the cost of waking from idle could not be measured (this needs two CPUs)")]
    IdleUnknown,
    /// What waking a thread costs after its CPU has idled.
    #[error("waking a thread takes {} longer after its CPU has idled for 2 ms", asleep.saturating_sub(*awake))]
    IdleStates {
        /// The median after 2 ms of idling.
        asleep: Nanos,
        /// The same on a CPU that is kept awake.
        awake: Nanos,
        /// Those in use, with their latency in µs.
        states: Vec<(String, u64)>,
        /// The driver of idle states.
        driver: String,
        /// The kernel shows idle states, in use or not.
        has_states: bool,
    },
    /// The clock that stamps are taken with.
    #[error("time stamps come from {name}")]
    Clock {
        /// Which one.
        name: String,
        /// What one reading takes.
        cost_ns: f64,
        /// The finest step.
        step_ns: f64,
    },
    /// The counter of the processor is not used.
    #[error("the counter of the processor is not used: {why}")]
    OtherClock {
        /// What the kernel or the processor says.
        why: String,
        /// What one reading takes.
        cost_ns: f64,
        /// The finest step.
        step_ns: f64,
        /// The kernel knows the counter and uses another source.
        can_switch: bool,
    },
    /// Timers are not known.
    #[error("timers could not be measured")]
    TimersUnknown,
    /// How late sleeps end.
    #[error("a sleep ends late: p50 {p50}, p99 {p99}")]
    Timers {
        /// The median with the least slack.
        p50: Nanos,
        /// Its p99.
        p99: Nanos,
        /// The median with the kernel's own slack.
        usual_p50: Nanos,
    },
    /// Mitigations are not known.
    #[error("the kernel does not show its mitigations")]
    MitigationsUnknown {
        /// The cheapest system call, where it could be measured.
        syscall_ns: Option<f64>,
    },
    /// No mitigation is active.
    #[error("no mitigation of a processor bug is active")]
    NoMitigations {
        /// The cheapest system call, where it could be measured.
        syscall_ns: Option<f64>,
    },
    /// Mitigations are active.
    #[error("mitigations of processor bugs are active: {}", active.join(", "))]
    Mitigations {
        /// Which bugs they are for.
        active: Vec<String>,
        /// The cheapest system call, where it could be measured.
        syscall_ns: Option<f64>,
    },
    /// There is no swap.
    #[error("no swap")]
    NoSwap,
    /// There is swap.
    #[error("{}", match used_bytes {
        0 => format!("{} MiB of swap, unused so far", bytes >> 20),
        used => format!(
            "{} of {} MiB of swap are in use: a page that was swapped out must be read from disk",
            used >> 20,
            bytes >> 20
        ),
    })]
    Swap {
        /// Of it.
        bytes: u64,
        /// In use.
        used_bytes: u64,
    },
    /// Huge pages are not known.
    #[error("the kernel shows no transparent huge pages")]
    HugePagesUnknown,
    /// Huge pages are always on.
    #[error(
        "transparent huge pages are always on: the kernel may copy and clear 2 MiB at any time"
    )]
    HugePagesAlways,
    /// Huge pages are on request or off.
    #[error("transparent huge pages: {mode}")]
    HugePages {
        /// The kernel's word for it.
        mode: String,
    },
    /// There is one memory node.
    #[error("one memory node")]
    OneNode,
    /// Pages stay on their memory nodes.
    #[error("the kernel does not move pages between memory nodes")]
    PagesStay,
    /// Pages are moved between memory nodes.
    #[error(
        "the kernel moves pages between {nodes} memory nodes, and causes page faults to find out which ones \
         to move"
    )]
    PagesMove {
        /// How many there are.
        nodes: usize,
    },
    /// Whether pages are moved is not known.
    #[error("the kernel does not say whether it moves pages between its {nodes} memory nodes")]
    PagesUnknown {
        /// How many memory nodes there are.
        nodes: usize,
    },
    /// Realtime threads may be started.
    #[error("SCHED_FIFO is granted")]
    Fifo,
    /// Realtime threads may not be started.
    #[error(
        "SCHED_FIFO is not permitted: measured threads compete with all others for the CPU, and suites with `scheduling = \"fifo:…\"` run \
         without it"
    )]
    NoFifo,
    /// The limit of realtime threads is not known.
    #[error("the kernel shows no limit for realtime threads")]
    RealtimeUnknown,
    /// Realtime threads have no limit.
    #[error("realtime threads are never stopped")]
    RealtimeUnlimited,
    /// Realtime threads are stopped for a part of each period.
    #[error(
        "the kernel may stop a spinning SCHED_FIFO thread for {} ms in each {} ms",
        stopped_us / 1_000,
        period_us / 1_000
    )]
    RealtimeStopped {
        /// The part.
        stopped_us: u64,
        /// The period.
        period_us: u64,
    },
    /// Memory may be locked.
    #[error("memory may be locked")]
    Locked,
    /// Memory may not be locked.
    #[error(
        "memory cannot be locked: the kernel may take pages back, which causes page faults during a measurement, and suites with \
         `mlock = true` run without it"
    )]
    NotLocked,
    /// Limits are large enough.
    #[error("all {count} limits and buffer sizes are large enough")]
    LimitsEnough {
        /// How many were looked at.
        count: usize,
    },
    /// A limit is too small.
    #[error(
        "{} is {} ({}); {} would be enough",
        limit.name,
        limit.text(),
        limit.about,
        limit.advice.as_ref().map_or(0, |advice| advice.enough)
    )]
    SmallLimit {
        /// Which one, with what would be enough.
        limit: Limit,
    },
    /// A probe failed.
    #[error("{error}")]
    ProbeFailed {
        /// What it said.
        error: String,
    },
}

/// What one CPU lost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CpuGap {
    /// Which one.
    pub cpu: u32,
    /// Of its time, 0 to 1.
    pub share: f64,
    /// At once.
    pub longest: Nanos,
}

/// A device that interrupts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Device {
    /// The interrupt.
    pub irq: String,
    /// What it is, as the kernel names it.
    pub about: String,
    /// How often.
    pub per_second: f64,
}

/// The kernel's regular interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tick {
    /// On which CPU.
    pub cpu: u32,
    /// How often.
    pub per_second: f64,
}

impl Cause {
    /// The stable name of what was looked at.
    pub fn id(&self) -> &'static str {
        use Cause::*;
        match self {
            ReleaseBuild | DebugBuild => "build",
            ForeignLoadUnknown | ForeignLoad { .. } => "foreign-load",
            LoadAverageUnknown | LoadAverage { .. } => "load-average",
            GapsUnknown | Gaps { .. } => "gaps",
            InterruptsUnknown | NoCpuToInterrupt | Interrupts { .. } => "interrupts",
            IrqBalance { .. } | NoIrqBalance => "irqbalance",
            ThrottlingUnknown | NotThrottled | Throttled { .. } => "throttling",
            NoHypervisor | VirtualMachine { .. } => "virtual-machine",
            NoSteal | Steal { .. } => "steal",
            OneCpu | Cpus { .. } | FarCpus { .. } => "cpus",
            NoQuota | LooseQuota { .. } | Quota { .. } => "cpu-quota",
            NoSiblings | Siblings { .. } => "smt",
            Isolated { .. } | NotIsolated { .. } => "isolated-cpus",
            Tickless { .. } | Ticks { .. } => "nohz-full",
            GovernorUnknown { .. } | Performance | Governor { .. } => "governor",
            TurboUnknown | NoTurbo | Turbo { .. } => "turbo",
            SpeedUnknown | Speed { .. } => "speed",
            IdleUnknown | IdleStates { .. } => "idle-states",
            Clock { .. } | OtherClock { .. } => "clock-source",
            TimersUnknown | Timers { .. } => "timers",
            MitigationsUnknown { .. } | NoMitigations { .. } | Mitigations { .. } => "mitigations",
            NoSwap | Swap { .. } => "swap",
            HugePagesUnknown | HugePagesAlways | HugePages { .. } => "huge-pages",
            OneNode | PagesStay | PagesMove { .. } | PagesUnknown { .. } => "numa-balancing",
            Fifo | NoFifo => "realtime-right",
            RealtimeUnknown | RealtimeUnlimited | RealtimeStopped { .. } => "realtime-throttling",
            Locked | NotLocked => "locked-memory",
            LimitsEnough { .. } => "limits",
            SmallLimit { limit } => match limit.name.as_str() {
                "net.core.rmem_max" | "net.core.wmem_max" | "net.core.rmem_default" => {
                    "socket-buffers"
                }
                n if n.starts_with("fs.mqueue") || n == "RLIMIT_MSGQUEUE" => "message-queues",
                n if n.starts_with("/dev/shm") => "shared-memory",
                _ => "limits",
            },
            ProbeFailed { .. } => "probe",
        }
    }

    /// What was measured of its effect, in a sentence.
    pub fn how_much(&self) -> Option<String> {
        Some(match self {
            Cause::ForeignLoad {
                used,
                wall,
                hungriest,
                ..
            } => match hungriest.as_slice() {
                [] => format!("{used} of CPU time in {wall}"),
                all => format!(
                    "{used} of CPU time in {wall}, most of it by {}",
                    joined(all, |(name, used)| format!("`{name}` ({used})"))
                ),
            },
            Cause::Gaps { each, .. } => {
                let texts = each.iter().map(|g| {
                    let share = percent(g.share);
                    format!(
                        "on CPU {}, it lost {share} of the time (longest gap {})",
                        g.cpu, g.longest
                    )
                });
                texts.collect::<Vec<_>>().join("; ")
            }
            Cause::Interrupts {
                device:
                    Some(Device {
                        irq,
                        about,
                        per_second,
                    }),
                ..
            } => format!(
                "most often interrupt {irq} ({about}): {per_second:.0} times per second, a few microseconds each"
            ),
            Cause::VirtualMachine {
                stolen,
                wall,
                longest_gap,
                ..
            } => format!(
                "the kernel counted {stolen} of stolen CPU time in {wall}; the longest gap was {longest_gap}"
            ),
            Cause::Steal { stolen, wall, .. } => {
                format!("{stolen} of CPU time in {wall}; the CPUs idled for half of that time")
            }
            Cause::FarCpus {
                nearest_ns,
                farthest_ns,
                ..
            } => format!(
                "the round trip of a cache line takes {nearest_ns:.0} to {farthest_ns:.0} ns, depending on the pair of CPUs"
            ),
            Cause::Ticks {
                timer: Some(Tick { cpu, per_second }),
            } => format!(
                "up to {per_second:.0} timer interrupts per second on CPU {cpu}, a few microseconds each"
            ),
            Cause::Governor {
                khz: Some((low, high)),
                ..
            } => format!(
                "the frequency can be anywhere from {:.2} to {:.2} GHz",
                *low as f64 / 1e6,
                *high as f64 / 1e6
            ),
            _ => return self.how_much_of_settings(),
        })
    }

    /// The same of speeds, the kernel's settings and rights.
    fn how_much_of_settings(&self) -> Option<String> {
        Some(match self {
            Cause::Speed { each, .. } => {
                let each = joined(each, |(cpu, p50)| format!("CPU {cpu} {p50}"));
                format!("median times: {each}")
            }
            Cause::IdleStates {
                asleep,
                awake,
                states,
                driver,
                ..
            } => format!(
                "p50 {asleep} instead of {awake} on a CPU that is kept awake; idle states and their wake-up times: {}",
                match states.as_slice() {
                    [] => "the kernel shows none".to_owned(),
                    all => format!(
                        "{} (driver {driver})",
                        joined(all, |(name, latency)| format!("{name} {latency} µs"))
                    ),
                }
            ),
            Cause::Clock {
                cost_ns, step_ns, ..
            }
            | Cause::OtherClock {
                cost_ns, step_ns, ..
            } => {
                format!("one reading takes {cost_ns:.0} ns, and the finest step is {step_ns:.0} ns")
            }
            Cause::Timers { usual_p50, .. } => format!(
                "a sender with a schedule makes up for at most 200 µs of this, by spinning before each \
                 due time; with the kernel's default slack, p50 would be {usual_p50}"
            ),
            Cause::MitigationsUnknown { syscall_ns }
            | Cause::NoMitigations { syscall_ns }
            | Cause::Mitigations { syscall_ns, .. } => match syscall_ns {
                Some(ns) => format!(
                    "a system call takes at least {ns:.0} ns; a blocking exchange makes four or more"
                ),
                None => "the cost of a system call could not be measured".to_owned(),
            },
            // Only with SCHED_FIFO, so it is no delay of this host as such.
            Cause::RealtimeStopped { .. } => {
                "only experiments with both `scheduling = \"fifo:…\"` and `wait = \"spin\"` are affected".to_owned()
            }
            Cause::SmallLimit { limit } if self.id() == "socket-buffers" => {
                let bytes = limit.value?;
                match limit.name.as_str() {
                    "net.core.rmem_default" => format!(
                        "a message of 1 MB over udp takes about {} KB of buffer; this buffer holds {} of its {MEGABYTE} datagrams, and \
                         those that arrive while it is full are lost; the option `rcvbuf` of udp asks for a larger buffer",
                        MEGABYTE * LARGE_DATAGRAM / 1_000,
                        (bytes / LARGE_DATAGRAM).min(MEGABYTE),
                    ),
                    _ => format!(
                        "a socket that asks for the maximum holds about {} small datagrams (each takes {SMALL_DATAGRAM} B, and the kernel \
                         doubles the requested size); further datagrams are lost or block the sender",
                        2 * bytes / SMALL_DATAGRAM
                    ),
                }
            }
            _ => return None,
        })
    }

    /// What to do about it where it hurts.
    pub(crate) fn fix(&self) -> Option<Fix> {
        let command = |text: &str| Some(Fix::Command(text.to_owned()));
        match self {
            Cause::DebugBuild => command("cargo build --release"),
            Cause::Interrupts {
                device: Some(device),
                free_cpu: Some(free),
                ..
            } => Some(Fix::Command(device.to(*free))),
            Cause::IrqBalance { .. } => command("sudo systemctl stop irqbalance"),
            Cause::Siblings { .. } => {
                command("echo off | sudo tee /sys/devices/system/cpu/smt/control")
            }
            Cause::Governor { .. } => command(
                "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
            ),
            Cause::Turbo { off_command } => command(off_command),
            Cause::IdleStates { driver, .. } if driver == "haltpoll" => command(
                "echo 2000000 | sudo tee /sys/module/haltpoll/parameters/guest_halt_poll_ns",
            ),
            Cause::IdleStates {
                has_states: true, ..
            } => command("sudo cpupower idle-set --disable-by-latency 2"),
            Cause::OtherClock {
                can_switch: true, ..
            } => command(
                "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
            ),
            Cause::Swap { .. } => command("sudo swapoff -a"),
            Cause::HugePagesAlways => {
                command("echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled")
            }
            Cause::PagesMove { .. } => command("sudo sysctl -w kernel.numa_balancing=0"),
            Cause::NoFifo => command("sudo setcap cap_sys_nice+ep $(command -v dyno)"),
            Cause::RealtimeStopped { .. } => {
                command("sudo sysctl -w kernel.sched_rt_runtime_us=-1")
            }
            Cause::NotLocked => command("sudo setcap cap_ipc_lock+ep $(command -v dyno)"),
            Cause::SmallLimit { limit } => command(&limit.advice.as_ref()?.command),
            _ => self.instead().map(Fix::Instead),
        }
    }

    /// What to do where no command of this machine helps.
    fn instead(&self) -> Option<String> {
        Some(
            match self {
                Cause::Interrupts {
                    device: Some(device),
                    cpus,
                    ..
                } => match &cpus[..] {
                    [keeper, rest @ ..] if rest.len() >= 2 => {
                        return Some(format!(
                            "give all interrupts to one CPU (`{}`, and so on) and measure on the others: `taskset -c {} \
                             dyno …`",
                            device.to(*keeper),
                            list(rest)
                        ));
                    }
                    _ => "Dyno measures on every CPU: end the programs that cause the traffic, or use a machine with more CPUs",
                },
                Cause::NotIsolated { cpus } => match &cpus[..] {
                    // One keeps the rest of the system, two are measured on.
                    [_, rest @ ..] if rest.len() >= 2 => {
                        let rest = list(rest);
                        return Some(format!(
                            "add `isolcpus={rest} nohz_full={rest} rcu_nocbs={rest}` to the kernel's command line, boot \
                             again, and start `taskset -c {rest} dyno …`"
                        ));
                    }
                    _ => {
                        "this machine has too few CPUs: isolation needs at least three, one of them for the rest of the system"
                    }
                },
                Cause::ForeignLoad { .. } => {
                    "end them, or give them other CPUs with `taskset -acp CPUS PID`; `dyno run` flags and repeats \
                     the trials that such load disturbs"
                }
                Cause::LoadAverage { .. } => {
                    "wait until earlier programs have ended; `top` shows those that still run"
                }
                Cause::Gaps {
                    foreign_load: true, ..
                } => "end other programs (see foreign-load) and run `dyno doctor` again",
                Cause::Gaps {
                    virtual_machine: true,
                    ..
                } => {
                    "no stack can have a better tail than this: compare tails within one run only, or measure on \
                     bare metal"
                }
                Cause::Gaps { .. } => {
                    "move other work off these CPUs (see isolated-cpus and interrupts); on an idle machine look for \
                     firmware interrupts with `sudo hwlatdetect --duration=10`"
                }
                Cause::Throttled { .. } => {
                    "cool the machine, or lower its frequency to a level that it can sustain"
                }
                Cause::VirtualMachine { .. } => {
                    "measure tail latencies on bare metal; otherwise compare only within one run, \
                     and if you control the host, pin each virtual CPU to its own core (`virsh \
                     vcpupin`)"
                }
                Cause::Steal { .. } => {
                    "ask for a guest with dedicated CPUs, or measure when the host is quiet"
                }
                _ => return self.instead_of_setting().map(str::to_owned),
            }
            .to_owned(),
        )
    }

    /// The same of how CPUs and kernel are set up.
    fn instead_of_setting(&self) -> Option<&'static str> {
        Some(match self {
            Cause::OneCpu => "use a machine, or a container, with at least two CPUs",
            Cause::FarCpus { .. } => {
                "choose a pair in the suite (`cpus = [A, B]`) and use it for all runs; on a \
                 virtual machine the distances may also change while it runs"
            }
            Cause::LooseQuota { .. } => {
                "start the container without a CPU quota (`docker run` without --cpus)"
            }
            Cause::Quota { .. } => {
                "start the container without a CPU quota and give it CPUs of its own (`docker run \
                 --cpuset-cpus=…` without --cpus; in Kubernetes the static CPU manager)"
            }
            Cause::Ticks { .. } => {
                "boot a kernel that has CONFIG_NO_HZ_FULL with `nohz_full=…` for the measured CPUs \
                 (see isolated-cpus); for most stacks this matters only from p99.9 on"
            }
            Cause::Speed { .. } => {
                "look for different kinds of cores, heat, or other load on these CPUs; pin to CPUs of one kind \
                 (`cpus = [A, B]` in the suite)"
            }
            Cause::IdleStates { .. } => {
                "if you control the host, let it poll before it stops a CPU of the guest: run `echo 500000 | sudo tee \
                 /sys/module/kvm/parameters/halt_poll_ns` there; otherwise boot the guest with `idle=poll`"
            }
            Cause::OtherClock { .. } => {
                "Dyno uses CLOCK_MONOTONIC; consider its cost when you read figures below a microsecond"
            }
            Cause::Timers { .. } => {
                "boot a kernel with high-resolution timers (CONFIG_HIGH_RES_TIMERS, without `highres=off`); in a \
                 virtual machine see idle-states"
            }
            Cause::Mitigations { .. } => {
                "measure with the settings of the vehicle; to see what the mitigations cost, boot \
                 with `mitigations=off` on a machine that runs only trusted code"
            }
            _ => return None,
        })
    }
}

impl Device {
    /// The command that gives the interrupt to a CPU.
    fn to(&self, cpu: u32) -> String {
        format!(
            "echo {cpu} | sudo tee /proc/irq/{}/smp_affinity_list",
            self.irq
        )
    }
}

/// `0,1,2`, as the kernel and taskset write it.
pub fn list(cpus: &[u32]) -> String {
    let texts: Vec<String> = cpus.iter().map(ToString::to_string).collect();
    texts.join(",")
}

fn joined<T>(all: impl IntoIterator<Item = T>, text: impl Fn(T) -> String) -> String {
    let texts: Vec<String> = all.into_iter().map(text).collect();
    texts.join(", ")
}
