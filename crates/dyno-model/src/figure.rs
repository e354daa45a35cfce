//! The figures of a trial beside its latencies: one table of its counts, and one of its rates and costs. Summaries,
//! exports, judgements, the page and the reference are loops over them.

use crate::metric::Better;
use crate::record::{Counts, ProcessCost, TrialRecord};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Static properties of a count of messages.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct CountInfo {
    /// In files and in JSON.
    pub name: &'static str,
    /// One line that says what it is.
    pub meaning: &'static str,
    /// Which of two values is the better one.
    pub better: Better,
    /// It, of a trial or of several together.
    #[serde(skip)]
    pub of: fn(&Counts) -> u64,
    /// Its place.
    #[serde(skip)]
    pub place: fn(&mut Counts) -> &mut u64,
}

macro_rules! counts {
    ($($field:ident: $better:ident, $meaning:literal;)+) => {
        /// Every count, in the order of tables. A message counts once for each receiver that should get it; a round
        /// trip counts once.
        pub const COUNTS: &[CountInfo] = &[$(CountInfo {
            name: stringify!($field),
            meaning: $meaning,
            better: Better::$better,
            of: |c| c.$field,
            place: |c| &mut c.$field,
        }),+];
    };
}

counts! {
    offered: Neither, "Due in the window.";
    sent: Neither, "Accepted by the stack.";
    received: Higher, "Arrived intact, each message once.";
    lost: Lower, "Offered and never arrived intact.";
    under_way: Lower, "Lost messages that were still under way when the drain ended.";
    duplicated: Lower, "Further copies of a message that had arrived.";
    reordered: Lower, "Arrived after a message with a higher sequence number.";
    corrupted: Lower, "Arrived with other content than was sent.";
    truncated: Lower, "Arrived shorter than sent.";
    refused: Lower, "Not accepted by the stack.";
    late: Lower, "Sent later than due by more than 10 µs.";
}

/// The object that a figure describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// Messages and bytes per wall second.
    Throughput,
    /// What all processes of the stack used.
    Cost,
    /// What they used and sent while nobody had anything to send.
    Idle,
}

/// Static properties of a rate or a cost.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct FigureInfo {
    /// In files and in JSON.
    pub name: &'static str,
    /// Where it stands alone.
    pub title: &'static str,
    /// One line that says what it is.
    pub meaning: &'static str,
    /// Unit of its values; empty: a number.
    pub unit: &'static str,
    /// What it is of.
    pub group: Group,
    /// Which of two values is the better one.
    pub better: Better,
    /// Whether it is a whole number.
    pub is_whole: bool,
    /// Whether it is known of all trials or not at all: those that happen to have it would be no fair sample.
    pub all_or_none: bool,
    /// It, of one trial; `None` where it is not known.
    #[serde(skip)]
    pub of: fn(&TrialRecord) -> Option<f64>,
}

macro_rules! figures {
    ($($variant:ident = $name:literal, $meaning:literal {
        $title:literal, $unit:literal, $group:ident, $better:ident $(, $flag:ident)*; $of:expr
    })+) => {
        /// A rate or a cost of a trial.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum TrialFigure {
            $(#[doc = $meaning] #[serde(rename = $name)] $variant,)+
        }

        impl TrialFigure {
            /// Every figure, in the order of tables.
            pub const ALL: &'static [TrialFigure] = &[$(TrialFigure::$variant),+];

            /// Its row of the table.
            pub const fn info(self) -> &'static FigureInfo {
                match self {
                    $(TrialFigure::$variant => const { &FigureInfo {
                        $($flag: true,)*
                        ..FigureInfo {
                            name: $name,
                            title: $title,
                            meaning: $meaning,
                            unit: $unit,
                            group: Group::$group,
                            better: Better::$better,
                            is_whole: false,
                            all_or_none: false,
                            of: $of,
                        }
                    } },)+
                }
            }
        }
    };
}

/// A sum over the processes of the stack; nothing where no process told what it used.
fn sum(t: &TrialRecord, of: fn(&ProcessCost) -> u64) -> Option<f64> {
    let all = t.cost.processes.iter().map(of);
    all.reduce(u64::saturating_add).map(|sum| sum as f64)
}

/// A total of the trial's processes; nothing where none of them told what it used.
fn known(t: &TrialRecord, total: u64) -> Option<f64> {
    (total > 0 || !t.cost.processes.is_empty()).then_some(total as f64)
}

/// Its CPU time without pacing.
fn own_cpu(p: &ProcessCost) -> u64 {
    let cpu = p.user.0.saturating_add(p.system.0);
    cpu.saturating_sub(p.pacing.0)
}

/// A counter of those processes that `keep` selects, each per nanosecond of its own time; nothing where no process told.
fn per_ns(
    t: &TrialRecord,
    keep: fn(&ProcessCost) -> bool,
    of: fn(&ProcessCost) -> u64,
) -> Option<f64> {
    let ran = || t.cost.processes.iter().filter(|p| p.wall.0 > 0);
    let own = ran().filter(|p| keep(p));
    let rates = own.map(|p| of(p) as f64 / p.wall.0 as f64);
    ran().next().map(|_| rates.sum())
}

/// CPUs kept busy: each process's CPU time, without pacing, over its own time.
fn busy_cpus(t: &TrialRecord) -> Option<f64> {
    per_ns(t, |_| true, own_cpu)
}

/// A counter of all processes of an idle trial per second.
fn idle_hz(t: &TrialRecord, of: fn(&ProcessCost) -> u64) -> Option<f64> {
    t.idle.as_ref()?;
    Some(1e9 * per_ns(t, |_| true, of)?)
}

/// A sum over the processes of an idle trial, where it is known of all of them: the kernel tells it of each, and so a `sign` of it
/// that no process is without.
fn idle_sum(
    t: &TrialRecord,
    sign: fn(&ProcessCost) -> u64,
    of: fn(&ProcessCost) -> u64,
) -> Option<f64> {
    t.idle.as_ref()?;
    let is_known = t.cost.processes.iter().all(|p| sign(p) > 0);
    sum(t, of).filter(|_| is_known)
}

/// The time in interrupts over that of the longest process.
fn interrupts(t: &TrialRecord) -> Option<f64> {
    t.idle.as_ref()?;
    let all = t.cost.interrupts.iter();
    let all = all.map(|i| i.irq.0.saturating_add(i.softirq.0));
    let all = all.reduce(u64::saturating_add)?;
    let wall = t.cost.processes.iter().map(|p| p.wall.0).max()?;
    (wall > 0).then(|| all as f64 / wall as f64)
}

fn each(t: &TrialRecord, total: Option<f64>) -> Option<f64> {
    t.idle.as_ref()?.each(total?)
}

figures! {
    OfferedHz = "offered_hz", "Due messages per second, all senders together." {
        "offered rate", "1/s", Throughput, Neither; |t| Some(t.throughput.offered_hz)
    }
    SentHz = "sent_hz", "Messages per second that the stack accepted, all senders together." {
        "sent rate", "1/s", Throughput, Neither; |t| Some(t.throughput.sent_hz)
    }
    DeliveredHz = "delivered_hz", "Intact messages per second, all receivers together." {
        "delivered rate", "1/s", Throughput, Higher; |t| Some(t.throughput.delivered_hz)
    }
    DeliveredBytesPerS = "delivered_bytes_per_s", "Intact payload bytes per second, all receivers together." {
        "delivered bytes", "B/s", Throughput, Higher; |t| Some(t.throughput.delivered_bytes_per_s)
    }
    BlockedShare = "blocked_share",
    "Share of the senders' time by which blocked sends took longer than the fastest one, 0 to 1." {
        "blocked share", "", Throughput, Lower; |t| t.throughput.blocked()
    }
    InWindowHz = "in_window_hz", "Intact messages that arrived within the window, per second of it." {
        "rate in the window", "1/s", Throughput, Higher; |t| t.throughput.in_window_hz
    }
    ReadsHz = "reads_hz", "For stacks whose readers ask: answered questions per second of the \
     window, whether the value was new or not, all readers together." {
        "answered reads", "1/s", Throughput, Higher; |t| t.throughput.reads_hz
    }
    CpuNs = "cpu_ns", "User and system time without Dyno's own pacing, and interrupts that the kernel counts apart." {
        "CPU", "ns", Cost, Lower, is_whole; |t| known(t, t.cost.cpu.0)
    }
    UserNs = "user_ns", "Time in user mode, pacing included." {
        "user time", "ns", Cost, Lower, is_whole; |t| sum(t, |p| p.user.0)
    }
    SystemNs = "system_ns", "Time in the kernel." {
        "system time", "ns", Cost, Lower, is_whole; |t| sum(t, |p| p.system.0)
    }
    PacingNs = "pacing_ns", "The part of the CPU time that Dyno itself used waiting for due times." {
        "pacing", "ns", Cost, Neither, is_whole; |t| sum(t, |p| p.pacing.0)
    }
    CpuPerMessage = "cpu_ns_per_message", "CPU time per message that arrived." {
        "CPU per message", "ns", Cost, Lower; |t| t.cost.cpu_ns_per_message
    }
    HostCpuPerMessage = "host_cpu_ns_per_message",
    "CPU time of the whole host without Dyno's own pacing, per message that arrived; of trials long enough for the \
     kernel's accounting." {
        "host CPU per message", "ns", Cost, Lower, all_or_none; |t| t.cost.host_cpu_figure()
    }
    BusyCpus = "busy_cpus", "CPUs kept busy, without Dyno's own pacing; 1 is one whole CPU." {
        "busy CPUs", "", Cost, Lower; busy_cpus
    }
    SwitchesPerMessage = "switches_per_message", "Context switches per message that arrived." {
        "switches per message", "", Cost, Lower; |t| t.cost.switches_per_message
    }
    VoluntarySwitches = "voluntary_switches", "Voluntary context switches of the processes." {
        "voluntary switches", "", Cost, Lower, is_whole; |t| sum(t, |p| p.voluntary_switches)
    }
    InvoluntarySwitches = "involuntary_switches", "Involuntary context switches of the processes." {
        "involuntary switches", "", Cost, Lower, is_whole; |t| sum(t, |p| p.involuntary_switches)
    }
    MinorFaults = "minor_faults", "Page faults served without I/O." {
        "minor faults", "", Cost, Lower, is_whole; |t| sum(t, |p| p.minor_faults)
    }
    MajorFaults = "major_faults", "Page faults that needed I/O." {
        "major faults", "", Cost, Lower, is_whole; |t| sum(t, |p| p.major_faults)
    }
    PssBytes = "pss_bytes", "Sum of the proportional set sizes at the end." {
        "memory", "B", Cost, Lower, is_whole; |t| known(t, t.cost.pss_bytes)
    }
    PeakRssBytes = "peak_rss_bytes", "Sum of the peak resident set sizes." {
        "peak memory", "B", Cost, Lower, is_whole; |t| known(t, t.cost.peak_rss_bytes)
    }
    Participants = "participants", "Participants, all of them matched and silent." {
        "participants", "", Idle, Neither, is_whole; |t| Some(t.idle.as_ref()?.participants as f64)
    }
    CpuEach = "cpu_each_ns_per_s", "User and system time per participant and second, daemons included, without Dyno's own timeouts." {
        "idle CPU", "ns/s", Idle, Lower; |t| each(t, busy_cpus(t).map(|busy| 1e9 * busy))
    }
    WakeUpsHz = "wakeups_hz", "Voluntary context switches per second of all processes, without those of Dyno's own timeouts." {
        "wake-ups", "1/s", Idle, Lower; |t| idle_hz(t, |p| p.voluntary_switches)
    }
    WakeUpsEach = "wakeups_each_hz", "The same per participant." {
        "wake-ups of each", "1/s", Idle, Lower; |t| each(t, idle_hz(t, |p| p.voluntary_switches))
    }
    SwitchesHz = "switches_hz", "Context switches per second of all processes, forced ones included." {
        "switches", "1/s", Idle, Lower; |t| idle_hz(t, |p| p.voluntary_switches.saturating_add(p.involuntary_switches))
    }
    DaemonCpus = "daemon_cpus", "CPUs that the stack's daemons keep busy; 1 is one whole CPU." {
        "busy CPUs of daemons", "", Idle, Lower; |t| { t.idle.as_ref()?; per_ns(t, |p| p.daemon, own_cpu) }
    }
    InterruptCpus = "interrupt_cpus", "CPUs that interrupts and softirqs of the whole host keep busy, whoever causes them; where the kernel counts them apart." {
        "interrupts", "", Idle, Neither; interrupts
    }
    PacketsHz = "packets_hz", "Packets per second that the network devices of all hosts sent, loopback among them, whoever made them do so." {
        "packets", "1/s", Idle, Lower; |t| t.idle.as_ref()?.per_second(|l| l.packets)
    }
    PacketBytesPerS = "packet_bytes_per_s", "Bytes of these packets per second." {
        "packet bytes", "B/s", Idle, Lower; |t| t.idle.as_ref()?.per_second(|l| l.bytes)
    }
    PssEach = "pss_each_bytes", "Sum of the proportional set sizes of all processes at the end of the window, per participant." {
        "memory of each", "B", Idle, Lower; |t| each(t, idle_sum(t, |p| p.pss_bytes, |p| p.pss_bytes))
    }
    SharedBytes = "shared_bytes", "The part of their proportional set sizes that is shared memory." {
        "shared memory", "B", Idle, Lower, is_whole; |t| idle_sum(t, |p| p.pss_bytes, |p| p.shared_bytes)
    }
    OpenFiles = "open_files", "Open files and sockets of all processes, those of Dyno among them." {
        "open files", "", Idle, Lower, is_whole; |t| idle_sum(t, |p| p.open_files, |p| p.open_files)
    }
    Threads = "threads", "Threads of all processes, those of Dyno among them." {
        "threads", "", Idle, Lower, is_whole; |t| idle_sum(t, |p| p.threads, |p| p.threads)
    }
}

impl TrialFigure {
    /// The name in files and in JSON, with its unit.
    pub const fn as_str(self) -> &'static str {
        self.info().name
    }

    /// It, of one trial; `None` where it is not known.
    pub fn of(self, trial: &TrialRecord) -> Option<f64> {
        (self.info().of)(trial)
    }

    /// The figures of a group, in the order of tables.
    pub fn all_of(group: Group) -> impl Iterator<Item = TrialFigure> {
        TrialFigure::ALL
            .iter()
            .copied()
            .filter(move |f| f.info().group == group)
    }
}

impl fmt::Display for TrialFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idle::{Idle, LinkTraffic};
    use crate::plan::{ExperimentId, TrialId};
    use crate::record::Outcome;
    use crate::unit::Nanos;

    #[test]
    fn figures_of_silence_are_of_all_processes_and_of_idle_trials_alone() {
        let id = TrialId {
            experiment: ExperimentId(0),
            number: 0,
        };
        let mut trial = TrialRecord::blank(id, 0, Outcome::Completed);
        let process = |user, pacing, switches, daemon| ProcessCost {
            user: Nanos::from_millis(user),
            pacing: Nanos::from_millis(pacing),
            wall: Nanos::from_secs(2),
            pss_bytes: 400,
            voluntary_switches: switches,
            threads: 3,
            daemon,
            ..ProcessCost::default()
        };
        trial.cost.processes = vec![process(30, 10, 40, false), process(20, 0, 60, true)];
        trial.cost.pss_bytes = 800;
        let of = |t: &TrialRecord, figure: TrialFigure| figure.of(t);
        assert_eq!(of(&trial, TrialFigure::WakeUpsHz), None);
        assert!(TrialFigure::all_of(Group::Idle).all(|f| f.of(&trial).is_none()));
        let link = |device: &str, packets| LinkTraffic {
            host: "a".into(),
            device: device.into(),
            packets,
            bytes: 100 * packets,
        };
        trial.idle = Some(Idle {
            participants: 4,
            wall: Nanos::from_secs(4),
            links: Some(vec![link("lo", 6), link("eth0", 2)]),
        });
        for (figure, value) in [
            (TrialFigure::Participants, 4.0),
            (TrialFigure::WakeUpsHz, 50.0),
            (TrialFigure::WakeUpsEach, 12.5),
            (TrialFigure::BusyCpus, 0.02),
            (TrialFigure::CpuEach, 5e6),
            (TrialFigure::DaemonCpus, 0.01),
            (TrialFigure::PacketsHz, 2.0),
            (TrialFigure::PacketBytesPerS, 200.0),
            (TrialFigure::PssEach, 200.0),
            (TrialFigure::Threads, 6.0),
        ] {
            let found = of(&trial, figure).unwrap();
            assert!((found - value).abs() < 1e-9, "{figure}: {found}");
        }
        // The kernel does not count interrupts apart.
        assert_eq!(of(&trial, TrialFigure::InterruptCpus), None);
        // Files and memory of a stranger's process are unknown, not none.
        assert_eq!(of(&trial, TrialFigure::OpenFiles), None);
        trial.cost.processes[0].pss_bytes = 0;
        assert_eq!(of(&trial, TrialFigure::PssEach), None);
        trial.idle.as_mut().unwrap().links = None;
        assert_eq!(of(&trial, TrialFigure::PacketsHz), None);
    }
}
